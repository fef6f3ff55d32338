/* Events of a trainer (contract in trainer_events.h). */
#include "train/trainer_events.h"
#include "train/trainer_gradients.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    RUN_VALUES = 4,
    MOST_VALUES = WI_REPORT_VALUES + RUN_VALUES,
    MOST_SETTINGS = 16,
    TAG = WI_REPORT_NAME + 16
};

/* "loss" as "loss/training", and "validation_loss" as "loss/validation", so that both curves are in one group. */
static void print_tag(char tag[TAG], const char *name, const char *of_training) {
    static const char prefix[] = "validation_";
    const bool is_validation = strncmp(name, prefix, sizeof prefix - 1) == 0;
    snprintf(tag, TAG, "%s/%s", name + (is_validation ? sizeof prefix - 1 : 0),
        is_validation ? "validation" : of_training);
}

/* ---- settings ---- */

static const char *optimizer_name(weft_optimizer_kind kind) {
    static const char *const names[] = {[WEFT_SGD] = "sgd",
        [WEFT_ADAM] = "adam",
        [WEFT_ADAMW] = "adamw",
        [WEFT_NADAM] = "nadam",
        [WEFT_RMSPROP] = "rmsprop",
        [WEFT_ADAGRAD] = "adagrad",
        [WEFT_ADADELTA] = "adadelta",
        [WEFT_LAMB] = "lamb",
        [WEFT_LION] = "lion"};
    return names[kind];
}

static size_t list_settings(const weft_trainer *trainer, weft_hyperparameter settings[MOST_SETTINGS]) {
    static const char *const precisions[] = {"f32", "bf16", "f16"};
    const weft_trainer_options *const o = &trainer->options;
    const weft_optimizer *const rule = &o->optimizer;
    const weft_hyperparameter all[] = {
        {.name = "batch", .number = (double)o->batch},
        {.name = "epochs", .number = (double)o->epochs},
        {.name = "seed", .number = (double)o->seed},
        {.name = "parameters", .number = (double)weft_graph_element_count(trainer->graph, NULL)},
        {.name = "precision", .text = precisions[o->precision]},
        {.name = "device", .text = weft_context_device(trainer->context)->name},
        {.name = "weft", .text = weft_version()},
        /* The settings from here on are left out if the option updates is set. */
        {.name = "optimizer", .text = optimizer_name(rule->kind)},
        {.name = "learning_rate", .number = (double)rule->rate},
        {.name = "momentum", .number = (double)rule->momentum},
        {.name = "weight_decay", .number = (double)rule->weight_decay},
        {.name = "clip_norm", .number = (double)rule->clip_norm},
        {.name = "accumulate", .number = rule->accumulate > 1 ? (double)rule->accumulate : 1.0},
    };
    memcpy(settings, all, sizeof all);
    return o->update_count ? 7 : sizeof all / sizeof *all;
}

static weft_status report_settings(const weft_trainer *trainer) {
    const wi_report *const report = &trainer->report;
    weft_hyperparameter settings[MOST_SETTINGS];
    char tags[WI_REPORT_VALUES][TAG];
    const char *metrics[WI_REPORT_VALUES];
    for (size_t i = 0; i < report->count; i++) {
        print_tag(tags[i], report->values[i].name, "training");
        metrics[i] = tags[i];
    }
    const size_t count = list_settings(trainer, settings);
    return weft_events_hyperparameters(trainer->events, settings, count, metrics, report->count);
}

weft_status wi_trainer_events_open(weft_trainer *trainer) {
    const weft_trainer_options *const o = &trainer->options;
    if (trainer->events || (!o->events && !o->html)) return WEFT_OK;
    const weft_events_options options = {WEFT_EVENTS_OPTIONS_INIT, .folder = o->events, .html = o->html,
        .command = o->command, .first_step = trainer->resume.pending ? trainer->steps + 1 : 0};
    WI_TRY(weft_events_create(&trainer->events, trainer->context, &options));
    WI_TRY(report_settings(trainer));
    return weft_events_graph(trainer->events, trainer->training.outputs, 1); /* the loss */
}

/* ---- values ---- */

typedef struct value_list {
    char tags[MOST_VALUES][TAG];
    weft_event_value values[MOST_VALUES];
    size_t count;
} value_list;

/* Values that do not exist are NaN, and left out; a loss that became NaN is shown. */
static void add_report(value_list *list, const wi_report *report, const char *of_training) {
    for (size_t i = 0; i < report->count; i++) {
        const wi_report_value *const from = &report->values[i];
        if (isnan(from->value) && strcmp(from->name, "loss") != 0) continue;
        print_tag(list->tags[list->count], from->name, of_training);
        list->values[list->count] = (weft_event_value){list->tags[list->count], from->value};
        list->count++;
    }
}

static void add_value(value_list *list, const char *tag, double value) {
    if (!isnan(value)) list->values[list->count++] = (weft_event_value){tag, value};
}

weft_status wi_trainer_events_step(const weft_trainer *trainer, const wi_log_event *event) {
    value_list list = {.count = 0};
    if (!trainer->events) return WEFT_OK;
    add_report(&list, &trainer->step_report, "step");
    add_value(&list, "run/learning_rate", event->learning_rate);
    return weft_events_scalars(trainer->events, event->step, list.values, list.count);
}

static weft_status report_parameters(const weft_trainer *trainer, size_t step) {
    for (size_t i = 0; i < weft_graph_parameter_count(trainer->graph); i++) {
        weft_tensor *const parameter = weft_graph_parameter(trainer->graph, i);
        if (weft_tensor_dtype(parameter) != WEFT_F64)
            WI_TRY(weft_events_tensor(trainer->events, NULL, step, parameter));
    }
    return WEFT_OK;
}

/* Are the distributions of this epoch, counted from 1, reported? */
static bool has_histograms(const weft_trainer *trainer, size_t epoch) {
    const size_t every = trainer->options.histogram_epochs;
    return trainer->events && every && epoch % every == 0;
}

weft_status wi_trainer_events_batch(
    const weft_trainer *trainer, const void *const *columns, size_t examples) {
    if (!trainer->options.gradient_histograms || !has_histograms(trainer, trainer->state.epoch + 1))
        return WEFT_OK;
    return wi_trainer_gradients(trainer, columns, examples);
}

weft_status wi_trainer_events_epoch(const weft_trainer *trainer, const wi_log_event *event) {
    value_list list = {.count = 0};
    size_t memory = 0;
    if (!trainer->events) return WEFT_OK;
    weft_context_memory(trainer->context, &memory, NULL);
    add_report(&list, &trainer->report, "training");
    if (!trainer->options.log_steps) add_value(&list, "run/learning_rate", event->learning_rate);
    add_value(&list, "run/epoch", (double)event->epoch);
    add_value(&list, "run/seconds", trainer->info.seconds + event->seconds);
    add_value(&list, "run/device_memory", (double)memory);
    WI_TRY(weft_events_scalars(trainer->events, event->step, list.values, list.count));
    return has_histograms(trainer, event->epoch) ? report_parameters(trainer, event->step) : WEFT_OK;
}

void wi_trainer_events_flush(const weft_trainer *trainer) {
    char line[WI_ERROR_LINE];
    if (!trainer->events) return;
    wi_error_save(line, sizeof line);
    (void)weft_events_flush(trainer->events);
    wi_error_restore(line);
}

weft_events *weft_trainer_events(const weft_trainer *trainer) {
    return trainer ? trainer->events : NULL;
}
