/* Writes a profile as a table, as JSON, and as a trace. */
#include "base/platform.h"
#include "cl/context.h"
#include "plan/run/profiler.h"
#include <cjson/cJSON.h>
#include <string.h>

/* ---- text ---- */

/* The shortest time that the roofline allows for the row's operations and bytes, divided by the measured time. */
static double roofline_share(const weft_profile_row *row, const weft_roofline *roofline) {
    const double compute = row->flops / roofline->flops_per_second;
    const double memory = row->bytes / roofline->bytes_per_second;
    return row->seconds > 0 ? (compute > memory ? compute : memory) / row->seconds : 0;
}

static double rate(double amount, double seconds) {
    return seconds > 0 ? amount / seconds * 1e-9 : 0;
}

static void append_numbers(const weft_profile_row *row, const weft_roofline *roofline, wi_text *text) {
    wi_text_append(text, "%9zu %11.4f %6.1f%% %9.1f %7.1f", row->launches, 1e3 * row->seconds,
        100 * row->share, rate(row->flops, row->seconds), rate(row->bytes, row->seconds));
    if (roofline) wi_text_append(text, " %8.0f%%", 100 * roofline_share(row, roofline));
}

static void describe_text(const weft_profile *profile, const weft_roofline *roofline, wi_text *text) {
    const weft_profile_info *const info = &profile->info;
    wi_text_append(text, "profile for batch %lld on %s\n%4s  %-8s%-22s%9s %11s %7s %9s %7s",
        (long long)profile->batch, wi_context_device(profile->context)->info.name, "step", "kind",
        "implementation", "launches", "ms", "share", "GFLOP/s", "GB/s");
    wi_text_append(text, "%s  shape, ops\n", roofline ? " roofline" : "");
    for (size_t i = 0; i < info->rows; i++) {
        const weft_profile_row *const row = &profile->rows[i];
        wi_text_append(text, "%4zu  %-8s%-22s", i, row->kind, row->implementation);
        append_numbers(row, roofline, text);
        wi_text_append(text, "  %s %s\n", row->shape, row->ops);
    }
    const weft_profile_row sum = {.launches = info->launches,
        .seconds = info->device_seconds,
        .share = 1,
        .flops = info->flops,
        .bytes = info->bytes};
    wi_text_append(text, "%-36s", "all steps");
    append_numbers(&sum, roofline, text);
    wi_text_append(text, "\nwall time %.4f ms, of which the host spent %.4f ms on enqueueing\n",
        1e3 * info->wall_seconds, 1e3 * info->enqueue_seconds);
}

/* ---- JSON ---- */

static bool add_number(cJSON *object, const char *name, double number) {
    return cJSON_AddNumberToObject(object, name, number) != NULL;
}

/* Appends a new object to an array; NULL if memory ran out. */
static cJSON *add_object(cJSON *array) {
    cJSON *const object = cJSON_CreateObject();
    if (object && cJSON_AddItemToArray(array, object)) return object;
    cJSON_Delete(object);
    return NULL;
}

static bool add_names(cJSON *object, const weft_profile_row *row) {
    return cJSON_AddStringToObject(object, "kind", row->kind) &&
           cJSON_AddStringToObject(object, "implementation", row->implementation) &&
           cJSON_AddStringToObject(object, "shape", row->shape) &&
           cJSON_AddStringToObject(object, "ops", row->ops);
}

static bool add_row(const weft_profile_row *row, const weft_roofline *roofline, cJSON *rows) {
    cJSON *const object = add_object(rows);
    return object && add_names(object, row) && add_number(object, "launches", (double)row->launches) &&
           add_number(object, "seconds", row->seconds) && add_number(object, "share", row->share) &&
           add_number(object, "flops", row->flops) && add_number(object, "bytes", row->bytes) &&
           (!roofline || add_number(object, "roofline", roofline_share(row, roofline)));
}

static bool fill_json(const weft_profile *profile, const weft_roofline *roofline, cJSON *root) {
    const weft_profile_info *const info = &profile->info;
    bool added = cJSON_AddStringToObject(root, "device", wi_context_device(profile->context)->info.name) &&
                 add_number(root, "batch", (double)profile->batch) &&
                 add_number(root, "launches", (double)info->launches) &&
                 add_number(root, "wall_seconds", info->wall_seconds) &&
                 add_number(root, "device_seconds", info->device_seconds) &&
                 add_number(root, "enqueue_seconds", info->enqueue_seconds) &&
                 add_number(root, "flops", info->flops) && add_number(root, "bytes", info->bytes);
    cJSON *const rows = added ? cJSON_AddArrayToObject(root, "rows") : NULL;
    added = rows != NULL;
    for (size_t i = 0; added && i < info->rows; i++) added = add_row(&profile->rows[i], roofline, rows);
    return added;
}

static weft_status describe_json(const weft_profile *profile, const weft_roofline *roofline, wi_text *text) {
    cJSON *const root = cJSON_CreateObject();
    char *const printed = root && fill_json(profile, roofline, root) ? cJSON_Print(root) : NULL;
    if (printed) wi_text_append(text, "%s\n", printed);
    cJSON_free(printed);
    cJSON_Delete(root);
    if (!printed) WI_FAIL(WEFT_ERROR_MEMORY, "weft_profile_describe: out of memory");
    return WEFT_OK;
}

weft_status weft_profile_describe(const weft_profile *profile, weft_format format,
    const weft_roofline *roofline, char *buffer, size_t capacity, size_t *length) {
    if (!profile || (!buffer && capacity > 0))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_profile_describe: profile or buffer is NULL");
    if (format != WEFT_FORMAT_TEXT && format != WEFT_FORMAT_JSON)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_profile_describe: format is %d, which is not a weft_format",
            (int)format);
    if (roofline && !(roofline->flops_per_second > 0 && roofline->bytes_per_second > 0))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_profile_describe: the roofline is %g flops and %g bytes per second, expected numbers above "
            "0",
            roofline->flops_per_second, roofline->bytes_per_second);
    wi_text text;
    wi_text_init(&text, profile->context->allocator);
    weft_status status = WEFT_OK;
    if (format == WEFT_FORMAT_JSON)
        status = describe_json(profile, roofline, &text);
    else
        describe_text(profile, roofline, &text);
    if (status == WEFT_OK) status = wi_text_deliver(&text, buffer, capacity, length);
    wi_text_clear(&text);
    return status;
}

/* ---- the trace: the format of chrome://tracing, which Perfetto also reads; times in microseconds ---- */

enum { HOST_TRACK = 1, DEVICE_TRACK = 2 };

static cJSON *add_event(cJSON *events, const char *phase, const char *name, int track) {
    cJSON *const event = add_object(events);
    const bool added = event && cJSON_AddStringToObject(event, "ph", phase) &&
                       cJSON_AddStringToObject(event, "name", name) && add_number(event, "pid", 1) &&
                       add_number(event, "tid", track);
    return added ? event : NULL;
}

static bool add_track_name(cJSON *events, const char *what, const char *name, int track) {
    cJSON *const event = add_event(events, "M", what, track);
    cJSON *const arguments = event ? cJSON_AddObjectToObject(event, "args") : NULL;
    return arguments && cJSON_AddStringToObject(arguments, "name", name);
}

static bool add_span(cJSON *events, const weft_profile *profile, const wi_profiled *noted, int track) {
    const bool host = track == HOST_TRACK;
    const double begin = host ? noted->begin : noted->start, end = host ? noted->end : noted->stop;
    cJSON *const event = add_event(events, "X", noted->name, track);
    cJSON *const arguments = event && add_number(event, "ts", 1e6 * (begin - profile->began)) &&
                                     add_number(event, "dur", 1e6 * (end - begin))
                                 ? cJSON_AddObjectToObject(event, "args")
                                 : NULL;
    return arguments && add_number(arguments, "step", (double)noted->row) &&
           add_names(arguments, &profile->rows[noted->row]);
}

/* An arrow from the enqueueing call to the launch on the device. */
static bool add_arrow(cJSON *events, const weft_profile *profile, const wi_profiled *noted, size_t number) {
    cJSON *const from = add_event(events, "s", "launch", HOST_TRACK);
    const bool begun = from && cJSON_AddStringToObject(from, "cat", "launch") &&
                       add_number(from, "id", (double)number) &&
                       add_number(from, "ts", 1e6 * (noted->begin - profile->began));
    cJSON *const to = begun ? add_event(events, "f", "launch", DEVICE_TRACK) : NULL;
    return to && cJSON_AddStringToObject(to, "cat", "launch") && cJSON_AddStringToObject(to, "bp", "e") &&
           add_number(to, "id", (double)number) &&
           add_number(to, "ts", 1e6 * (noted->start - profile->began));
}

static bool fill_trace(const weft_profile *profile, cJSON *root) {
    cJSON *const events = cJSON_AddArrayToObject(root, "traceEvents");
    bool added =
        events && cJSON_AddStringToObject(root, "displayTimeUnit", "ms") &&
        add_track_name(events, "process_name", "weft", HOST_TRACK) &&
        add_track_name(events, "thread_name", "host: enqueueing", HOST_TRACK) &&
        add_track_name(events, "thread_name", wi_context_device(profile->context)->info.name, DEVICE_TRACK);
    for (size_t i = 0; added && i < profile->info.launches; i++) {
        const wi_profiled *const noted = &profile->launches[i];
        added = add_span(events, profile, noted, HOST_TRACK) &&
                add_span(events, profile, noted, DEVICE_TRACK) && add_arrow(events, profile, noted, i);
    }
    return added;
}

weft_status weft_profile_trace(const weft_profile *profile, const char *path) {
    if (!profile || !path) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_profile_trace: profile or path is NULL");
    cJSON *const root = cJSON_CreateObject();
    char *const printed = root && fill_trace(profile, root) ? cJSON_PrintUnformatted(root) : NULL;
    cJSON_Delete(root);
    if (!printed) WI_FAIL(WEFT_ERROR_MEMORY, "weft_profile_trace: out of memory");
    const weft_status status = wi_file_write_atomic(path, printed, strlen(printed));
    cJSON_free(printed);
    return status;
}
