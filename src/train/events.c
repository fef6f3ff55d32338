/* weft_events: checks the arguments of calls, copies them to events and puts these into the queue. */
#include "base/options.h"
#include "base/process.h"
#include "cl/context.h"
#include "graph/dtype.h"
#include "graph/weft_graph.h"
#include "io/image_grid.h"
#include "train/event_graph.h"
#include "train/event_measures.h"
#include "train/event_put.h"
#include <stdio.h>
#include <string.h>

struct weft_events {
    weft_context *context;
    wi_event_queue *queue;
    atomic_int references;
};

/* ---- the object ---- */

enum { MOST_FACTS = 6 };

static size_t list_facts(
    weft_hyperparameter facts[MOST_FACTS], const weft_context *context, const weft_events_options *options) {
    const weft_device_info *const device = weft_context_device(context);
    const weft_hyperparameter all[MOST_FACTS] = {{.name = "Weft", .text = weft_version()},
        {.name = "device", .text = device->name}, {.name = "platform", .text = device->platform},
        {.name = "driver", .text = device->driver}, {.name = "OpenCL", .text = device->opencl},
        {.name = "command", .text = options->command}};
    memcpy(facts, all, sizeof all);
    return options->command ? MOST_FACTS : MOST_FACTS - 1;
}

static weft_status open_sinks(
    wi_event_sink *sinks[WI_EVENT_SINKS], weft_context *context, const weft_events_options *options) {
    weft_hyperparameter facts[MOST_FACTS];
    wi_event_output output = {.allocator = context->allocator,
        .first_step = options->first_step,
        .facts = facts,
        .fact_count = list_facts(facts, context, options)};
    if (options->folder) {
        output.path = options->folder;
        WI_TRY(wi_event_file_open(&sinks[0], &output));
    }
    if (options->html) {
        output.path = options->html;
        WI_TRY(wi_event_page_open(&sinks[1], &output));
    }
    return WEFT_OK;
}

static weft_status start(weft_events *events, const weft_events_options *options) {
    wi_event_sink *sinks[WI_EVENT_SINKS] = {NULL};
    weft_context *const context = events->context;
    const weft_status status = open_sinks(sinks, context, options);
    if (status == WEFT_OK)
        return wi_event_queue_create(&events->queue, context->allocator, &context->log, sinks);
    for (size_t i = 0; i < WI_EVENT_SINKS; i++)
        if (sinks[i]) sinks[i]->close(sinks[i]);
    return status;
}

weft_status weft_events_create(
    weft_events **events, weft_context *context, const weft_events_options *given) {
    weft_events_options options;
    if (events) *events = NULL;
    if (!events || !context)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_events_create: events and context must not be NULL");
    WI_TRY(WI_OPTIONS(&options, given, "weft_events_create", WEFT_EVENTS_OPTIONS_INIT));
    WI_TRY(wi_process_check_driver());
    weft_events *const made = wi_allocate(context->allocator, sizeof *made);
    if (!made) return WEFT_ERROR_MEMORY;
    made->context = weft_context_retain(context);
    atomic_init(&made->references, 1);
    const weft_status status = start(made, &options);
    if (status == WEFT_OK)
        *events = made;
    else
        weft_events_release(made);
    return status;
}

weft_events *weft_events_retain(weft_events *events) {
    if (events) atomic_fetch_add(&events->references, 1);
    return events;
}

void weft_events_release(weft_events *events) {
    if (!events || atomic_fetch_sub(&events->references, 1) != 1) return;
    weft_context *const context = events->context;
    wi_event_queue_close(events->queue);
    wi_release(context->allocator, events);
    weft_context_release(context);
}

weft_status weft_events_flush(weft_events *events) {
    if (!events) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_events_flush: events is NULL");
    return wi_event_queue_flush(events->queue);
}

/* ---- events ---- */

static weft_status check(const char *call, const weft_events *events, const char *tag, const void *data) {
    if (events && tag && data) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: %s is NULL", call, !events ? "events" : !tag ? "the tag" : "an array");
}

wi_event *wi_events_new(
    const weft_events *events, wi_event_kind kind, const char *tag, size_t step, size_t room) {
    return wi_event_create(events->context->allocator, kind, tag, step, room);
}

/* Puts an event into the queue, or frees it if filling it has failed. */
weft_status wi_events_put(weft_events *events, wi_event *event, weft_status filled) {
    if (filled == WEFT_OK) return wi_event_queue_put(events->queue, event);
    wi_event_free(events->context->allocator, event);
    return filled;
}

weft_status weft_events_scalar(weft_events *events, const char *tag, size_t step, double value) {
    WI_TRY(check("weft_events_scalar", events, tag, tag));
    return weft_events_scalars(events, step, &(weft_event_value){tag, value}, 1);
}

static weft_status fill_scalars(wi_event *event, const weft_event_value *values, size_t count) {
    weft_event_value *const copies = wi_event_take(event, count * sizeof *copies);
    if (!copies) return WEFT_ERROR_MEMORY;
    event->of.scalars.values = copies;
    event->of.scalars.count = count;
    for (size_t i = 0; i < count; i++) {
        copies[i] = (weft_event_value){wi_event_string(event, values[i].tag), values[i].value};
        if (!copies[i].tag) return WEFT_ERROR_MEMORY;
    }
    return WEFT_OK;
}

weft_status weft_events_scalars(
    weft_events *events, size_t step, const weft_event_value *values, size_t count) {
    size_t room = count * sizeof *values;
    WI_TRY(check("weft_events_scalars", events, "", values));
    for (size_t i = 0; i < count; i++) {
        WI_TRY(check("weft_events_scalars", events, values[i].tag, values));
        room += strlen(values[i].tag) + 16;
    }
    wi_event *const event = wi_events_new(events, WI_EVENT_SCALARS, "", step, room);
    return event ? wi_events_put(events, event, fill_scalars(event, values, count)) : WEFT_ERROR_MEMORY;
}

weft_status weft_events_histogram(
    weft_events *events, const char *tag, size_t step, const float *values, size_t count) {
    WI_TRY(check("weft_events_histogram", events, tag, count ? values : (const void *)tag));
    wi_event *const event = wi_events_new(events, WI_EVENT_HISTOGRAM, tag, step, sizeof *event->of.histogram);
    if (!event) return WEFT_ERROR_MEMORY;
    event->of.histogram = wi_event_take(event, sizeof *event->of.histogram);
    if (event->of.histogram && !wi_event_histogram_fill(event->of.histogram, values, count)) {
        wi_event_free(events->context->allocator, event);
        return WEFT_OK;
    }
    return wi_events_put(events, event, event->of.histogram ? WEFT_OK : WEFT_ERROR_MEMORY);
}

weft_status weft_events_pr_curve(weft_events *events, const char *tag, size_t step, const float *scores,
    const int32_t *labels, size_t count) {
    WI_TRY(check("weft_events_pr_curve", events, tag, scores));
    WI_TRY(check("weft_events_pr_curve", events, tag, labels));
    wi_event *const event = wi_events_new(events, WI_EVENT_PR_CURVE, tag, step, sizeof *event->of.pr_curve);
    if (!event) return WEFT_ERROR_MEMORY;
    event->of.pr_curve = wi_event_take(event, sizeof *event->of.pr_curve);
    if (!event->of.pr_curve) return wi_events_put(events, event, WEFT_ERROR_MEMORY);
    return wi_events_put(events, event, wi_event_pr_curve_fill(event->of.pr_curve, scores, labels, count));
}

weft_status weft_events_text(weft_events *events, const char *tag, size_t step, const char *text) {
    WI_TRY(check("weft_events_text", events, tag, text));
    wi_event *const event = wi_events_new(events, WI_EVENT_TEXT, tag, step, strlen(text) + 1);
    if (!event) return WEFT_ERROR_MEMORY;
    event->of.text = wi_event_string(event, text);
    return wi_events_put(events, event, event->of.text ? WEFT_OK : WEFT_ERROR_MEMORY);
}

/* Encodes the images in the calling thread, as a compressed picture takes far less of the queue than its pixels. */
weft_status weft_events_images(
    weft_events *events, const char *tag, size_t step, const void *pixels, const weft_png_options *options) {
    wi_text png;
    WI_TRY(check("weft_events_images", events, tag, pixels));
    wi_text_init(&png, events->context->allocator);
    weft_status status = wi_image_grid_write(&png, tag, pixels, options);
    wi_event *const event =
        status == WEFT_OK ? wi_events_new(events, WI_EVENT_IMAGE, tag, step, png.length) : NULL;
    unsigned char *const copy = event ? wi_event_take(event, png.length) : NULL;
    if (status == WEFT_OK && !copy) status = WEFT_ERROR_MEMORY;
    if (status == WEFT_OK) {
        memcpy(copy, png.data, png.length);
        event->of.image = (wi_event_image){copy, png.length};
    }
    wi_text_clear(&png);
    return wi_events_put(events, event, status);
}

/* ---- tensors, settings, networks ---- */

/* Reads a tensor as f32. Elements of 16 bits are read to the end of `values` and converted in place, from the first on, so that no
 * element is overwritten before it is converted. */
static weft_status read_floats(weft_tensor *variable, float *values, size_t count) {
    const wi_format *const format = wi_format_of(variable->dtype);
    unsigned char *const data = (unsigned char *)values + count * (sizeof *values - format->size);
    WI_TRY(weft_tensor_read(variable, data, count * format->size));
    for (size_t i = 0; format->size < sizeof *values && i < count; i++)
        values[i] = (float)format->get(data, i);
    return WEFT_OK;
}

/* "block.conv1.weight" as "block/conv1/weight", or `tag` unless it is NULL. */
static weft_status print_tag(char *text, size_t capacity, const char *tag, const weft_tensor *variable) {
    const int length = snprintf(text, capacity, "%s", tag ? tag : weft_tensor_name(variable));
    for (char *c = text; !tag && *c; c++)
        if (*c == '.') *c = '/';
    if (length > 0 && (size_t)length < capacity) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_events_tensor: the tag has %d bytes, expected 1 to %zu", length,
        capacity - 1);
}

weft_status weft_events_tensor(weft_events *events, const char *tag, size_t step, weft_tensor *variable) {
    char text[1024];
    if (!events) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_events_tensor: events is NULL");
    if (!variable) return wi_fail_null("weft_events_tensor", "variable");
    if (!variable->variable || !wi_dtype_is_float(variable->dtype) || variable->dtype == WEFT_F64)
        WI_FAIL(WEFT_ERROR_DTYPE,
            "weft_events_tensor: '%s' is of op %s and dtype %s, expected a parameter or state of f32, f16 or "
            "bf16",
            weft_tensor_name(variable), variable->op->name, weft_dtype_name(variable->dtype));
    WI_TRY(print_tag(text, sizeof text, tag, variable));
    const weft_allocator *const allocator = events->context->allocator;
    const size_t count = variable->variable->bytes / weft_dtype_size(variable->dtype);
    float *const values = wi_allocate_array(allocator, count, sizeof *values);
    weft_status status = values ? read_floats(variable, values, count) : WEFT_ERROR_MEMORY;
    if (status == WEFT_OK) status = weft_events_histogram(events, text, step, values, count);
    wi_release(allocator, values);
    return status;
}

static weft_status check_settings(
    const weft_hyperparameter *settings, size_t count, const char *const *metrics, size_t metric_count) {
    bool is_complete = (settings || !count) && (metrics || !metric_count);
    for (size_t i = 0; is_complete && i < count; i++) is_complete = settings[i].name != NULL;
    for (size_t i = 0; is_complete && i < metric_count; i++) is_complete = metrics[i] != NULL;
    if (is_complete) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_events_hyperparameters: a list, a name or a metric is NULL");
}

static weft_status fill_settings(wi_event *event, const wi_event_settings *given) {
    weft_hyperparameter *const settings = wi_event_take(event, (given->count + 1) * sizeof *settings);
    const char **const metrics = wi_event_take(event, (given->metric_count + 1) * sizeof *metrics);
    bool failed = !settings || !metrics;
    for (size_t i = 0; !failed && i < given->count; i++) {
        const weft_hyperparameter *const from = &given->settings[i];
        settings[i] = (weft_hyperparameter){.name = wi_event_string(event, from->name),
            .text = from->text ? wi_event_string(event, from->text) : NULL,
            .number = from->number};
        failed = !settings[i].name || (from->text && !settings[i].text);
    }
    for (size_t i = 0; !failed && i < given->metric_count; i++)
        failed = (metrics[i] = wi_event_string(event, given->metrics[i])) == NULL;
    event->of.settings = (wi_event_settings){settings, given->count, metrics, given->metric_count};
    return failed ? WEFT_ERROR_MEMORY : WEFT_OK;
}

weft_status weft_events_hyperparameters(weft_events *events, const weft_hyperparameter *settings,
    size_t count, const char *const *metrics, size_t metric_count) {
    WI_TRY(check("weft_events_hyperparameters", events, "", ""));
    WI_TRY(check_settings(settings, count, metrics, metric_count));
    const wi_event_settings given = {settings, count, metrics, metric_count};
    wi_event *const event = wi_events_new(events, WI_EVENT_SETTINGS, "", 0, 0);
    return event ? wi_events_put(events, event, fill_settings(event, &given)) : WEFT_ERROR_MEMORY;
}

weft_status weft_events_graph(weft_events *events, weft_tensor *const *outputs, size_t count) {
    WI_TRY(check("weft_events_graph", events, "", outputs));
    for (size_t i = 0; i < count; i++)
        if (!outputs[i]) return wi_fail_null("weft_events_graph", "an output");
    wi_event *const event = wi_events_new(events, WI_EVENT_GRAPH, "", 0, 0);
    return event ? wi_events_put(events, event, wi_event_graph_fill(event, outputs, count))
                 : WEFT_ERROR_MEMORY;
}
