/* The trainer: epochs of passes over a dataset, validation, callbacks, cancelling, and what a loss that is
 * not finite does. What is measured, watched and logged stands in files of its own. One thread at a time uses
 * a trainer; weft_trainer_cancel may come from any. */
#include "base/platform.h"
#include "graph/nodes.h"
#include "plan/compiled_plan.h"
#include "train/correct_count.h"
#include "train/early_stopping.h"
#include "train/pass.h"
#include "train/rate.h"
#include "train/training_log.h"
#include <math.h>
#include <stdlib.h>

enum { MAX_TIMES = 65536 };

struct weft_trainer {
    weft_graph *graph;
    weft_context *context;
    weft_trainer_options options;
    wi_arena arena; /* the options' strings */
    weft_metric metrics[WEFT_MAX_METRICS];
    double training_values[WEFT_MAX_METRICS], validation_values[WEFT_MAX_METRICS];
    const wi_pass *last_measured; /* validation or evaluation; NULL: neither yet */
    wi_report report, step_report;
    wi_watch watch;
    wi_training_log log;
    atomic_int references;
    atomic_bool cancelled;
    wi_pass training, validation, evaluation;
    wi_rate rate;
    uint64_t epochs; /* begun so far, over all runs: the shuffle's number */
    size_t steps;    /* enqueued */
    size_t examined; /* of these, with known loss */
    weft_training_info info;
    double created, window_began;
    double *times; /* seconds a step, a window each; of the last run */
    size_t time_count, time_capacity;
    weft_epoch state; /* of the run under way */
    double run_began;
};

/* what: "update" or "carry". */
static weft_status check_assignments(
    const weft_tensor *loss, const char *what, weft_tensor *const *assignments, size_t count, size_t most) {
    if (count > most || (count && !assignments))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_trainer_create: %zu %ss, expected at most %zu and not NULL", count,
            what, most);
    for (size_t i = 0; i < count; i++) {
        const weft_tensor *const assignment = assignments[i];
        if (!assignment)
            return wi_missing_tensor("weft_trainer_create", *what == 'u' ? "an update" : "a carry");
        if (assignment->op->kind != WI_ASSIGN || assignment->graph != weft_tensor_graph(loss))
            WI_FAIL(WEFT_ERROR_ARGUMENT,
                "weft_trainer_create: %s %zu, '%s', is not a weft_assign in the graph of the loss", what, i,
                assignment->op->name);
    }
    return WEFT_OK;
}

static weft_status check_options(weft_tensor *loss, const weft_trainer_options *options) {
    if (options->struct_size != sizeof *options)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_trainer_create: options of %zu bytes, expected %zu (use the _INIT macro)",
            options->struct_size, sizeof *options);
    if (options->not_finite != WEFT_NOT_FINITE_STOP && options->not_finite != WEFT_NOT_FINITE_CONTINUE)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_trainer_create: not_finite is %d", (int)options->not_finite);
    if (options->batch > INT32_MAX)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_trainer_create: a batch of %zu", options->batch);
    if (options->logits && weft_tensor_graph(options->logits) != weft_tensor_graph(loss))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_trainer_create: loss and logits are of different graphs");
    if (options->metric_count > WEFT_MAX_METRICS || (options->metric_count && !options->metrics))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_trainer_create: %zu metrics, expected at most %d and not NULL",
            options->metric_count, WEFT_MAX_METRICS);
    WI_TRY(check_assignments(loss, "update", options->updates, options->update_count, WEFT_MAX_UPDATES));
    return check_assignments(loss, "carry", options->carries, options->carry_count, WEFT_MAX_CARRIES);
}

static void init_pass_options(weft_trainer *trainer) {
    wi_pass *const passes[] = {&trainer->training, &trainer->validation, &trainer->evaluation};
    for (size_t i = 0; i < 3; i++) {
        passes[i]->batch = trainer->options.batch;
        passes[i]->seed = trainer->options.seed;
        passes[i]->threads = trainer->options.loader_threads;
    }
    trainer->training.shuffle = !trainer->options.keep_order;
}

static const char *kept_string(weft_trainer *trainer, const char *text, bool *failed) {
    const char *const copy = text ? wi_arena_string(&trainer->arena, text) : NULL;
    *failed = *failed || (text && !copy);
    return copy;
}

/* The caller's strings may go once the trainer is made. */
static weft_status keep_strings(weft_trainer *trainer) {
    weft_trainer_options *const options = &trainer->options;
    bool failed = false;
    options->labels = kept_string(trainer, options->labels, &failed);
    options->csv_log = kept_string(trainer, options->csv_log, &failed);
    options->json_log = kept_string(trainer, options->json_log, &failed);
    options->early_stopping.monitor = kept_string(trainer, options->early_stopping.monitor, &failed);
    options->early_stopping.best_file = kept_string(trainer, options->early_stopping.best_file, &failed);
    return failed ? WEFT_ERROR_MEMORY : WEFT_OK;
}

/* Copies the metrics, with what they leave to the options and to their kind. */
static weft_status keep_metrics(weft_trainer *trainer) {
    weft_trainer_options *const options = &trainer->options;
    bool failed = false;
    for (size_t i = 0; i < options->metric_count; i++) {
        weft_metric *const metric = &trainer->metrics[i];
        char name[WI_METRIC_NAME];
        *metric = options->metrics[i];
        WI_TRY(wi_metric_check(metric));
        wi_metric_name(metric, name);
        metric->name = kept_string(trainer, name, &failed);
        metric->target = metric->target ? kept_string(trainer, metric->target, &failed) : options->labels;
        if (failed) return WEFT_ERROR_MEMORY;
        if (!metric->output) metric->output = options->output ? options->output : options->logits;
        if (!metric->output)
            WI_FAIL(WEFT_ERROR_ARGUMENT,
                "weft_trainer_create: the metric '%s' has no output, and there is no option output nor "
                "logits",
                metric->name);
        if (weft_tensor_graph(metric->output) != trainer->graph)
            WI_FAIL(WEFT_ERROR_ARGUMENT,
                "weft_trainer_create: loss and the output of the metric '%s' are of "
                "different graphs",
                metric->name);
    }
    options->metrics = trainer->metrics;
    return WEFT_OK;
}

static weft_status prepare_reports(weft_trainer *trainer) {
    const weft_trainer_options *const options = &trainer->options;
    const wi_report_parts parts = {.accuracy = options->logits,
        .training_metrics = options->training_metrics,
        .validation = options->validation,
        .metrics = trainer->metrics,
        .metric_count = options->metric_count};
    WI_TRY(wi_report_init(&trainer->report, &parts));
    trainer->step_report = trainer->report;
    for (size_t i = 0; i < trainer->step_report.count; i++)
        trainer->step_report.values[i].value = (double)NAN;
    wi_training_log_init(&trainer->log, trainer->context->allocator, options);
    return wi_watch_init(&trainer->watch, trainer->graph, &options->early_stopping, &trainer->report);
}

static weft_status build_passes(weft_trainer *trainer, wi_pass_parts parts) {
    const weft_allocator *const allocator = trainer->context->allocator;
    const wi_measure_list measured = {trainer->context, trainer->metrics, trainer->options.metric_count};
    if (trainer->options.training_metrics) parts.measured = measured;
    parts.partial = trainer->options.step != NULL;
    parts.memory_limit = trainer->options.memory_limit;
    WI_TRY(wi_pass_init(&trainer->training, allocator, &parts));
    parts = (wi_pass_parts){.loss = parts.loss,
        .correct = parts.correct,
        .measured = measured,
        .memory_limit = trainer->options.memory_limit,
        .updates = trainer->options.carries,
        .update_count = trainer->options.carry_count};
    WI_TRY(wi_pass_init(&trainer->validation, allocator, &parts));
    WI_TRY(wi_pass_init(&trainer->evaluation, allocator, &parts));
    return wi_pass_plan(&trainer->training, trainer->options.batch);
}

static weft_status build(weft_trainer *trainer, weft_tensor *loss) {
    const weft_trainer_options *const options = &trainer->options;
    const weft_allocator *const allocator = trainer->context->allocator;
    weft_tensor *updates[WEFT_MAX_UPDATES + WEFT_MAX_CARRIES] = {NULL};
    wi_pass_parts parts = {.loss = loss, .updates = updates, .update_count = options->update_count};
    WI_TRY(weft_graph_status(trainer->graph));
    WI_TRY(keep_strings(trainer));
    WI_TRY(keep_metrics(trainer));
    WI_TRY(prepare_reports(trainer));
    if (options->logits)
        WI_TRY(wi_correct_count(&parts.correct, allocator, loss, options->logits, options->labels));
    for (size_t i = 0; i < options->update_count; i++) updates[i] = options->updates[i];
    if (options->update_count == 0)
        WI_TRY(weft_minimize(loss, &options->optimizer, updates, WEFT_MAX_UPDATES, &parts.update_count));
    for (size_t i = 0; i < options->carry_count; i++) updates[parts.update_count++] = options->carries[i];
    WI_TRY(wi_rate_init(&trainer->rate, trainer->graph, options));
    return build_passes(trainer, parts);
}

weft_status weft_trainer_create(
    weft_trainer **trainer, weft_tensor *loss, const weft_trainer_options *options) {
    static const weft_trainer_options defaults = {WEFT_TRAINER_OPTIONS_INIT};
    const double created = wi_clock_seconds();
    if (!trainer) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_trainer_create: trainer is NULL");
    *trainer = NULL;
    if (!loss) return wi_missing_tensor("weft_trainer_create", "loss");
    if (!options) options = &defaults;
    WI_TRY(check_options(loss, options));
    weft_graph *const graph = weft_tensor_graph(loss);
    weft_trainer *const made = wi_allocate(graph->context->allocator, sizeof *made);
    if (!made) return WEFT_ERROR_MEMORY;
    made->graph = weft_graph_retain(graph);
    made->context = weft_context_retain(graph->context);
    made->options = *options;
    made->options.validation = weft_dataset_retain(options->validation);
    if (!made->options.optimizer.kind) made->options.optimizer = weft_adam(1e-3f);
    if (!made->options.epochs) made->options.epochs = 1;
    if (!made->options.batch) made->options.batch = 32;
    if (!made->options.labels) made->options.labels = "label";
    made->created = created;
    wi_arena_init(&made->arena, graph->context->allocator);
    made->info.not_finite_step = made->info.best_epoch = SIZE_MAX;
    made->info.best = (double)NAN;
    atomic_init(&made->references, 1);
    atomic_init(&made->cancelled, false);
    init_pass_options(made);
    const weft_status status = build(made, loss);
    made->options.updates = made->options.carries = NULL; /* the caller's, not needed any more */
    made->options.optimizer.groups = NULL;
    if (status != WEFT_OK) {
        weft_trainer_release(made);
        return status;
    }
    *trainer = made;
    return WEFT_OK;
}

weft_trainer *weft_trainer_retain(weft_trainer *trainer) {
    if (trainer) atomic_fetch_add(&trainer->references, 1);
    return trainer;
}

void weft_trainer_release(weft_trainer *trainer) {
    if (!trainer || atomic_fetch_sub(&trainer->references, 1) != 1) return;
    weft_context *const context = trainer->context;
    wi_pass_clear(&trainer->training);
    wi_pass_clear(&trainer->validation);
    wi_pass_clear(&trainer->evaluation);
    wi_watch_clear(&trainer->watch);
    wi_training_log_clear(&trainer->log);
    wi_arena_clear(&trainer->arena);
    weft_dataset_release(trainer->options.validation);
    weft_graph_release(trainer->graph);
    wi_release(context->allocator, trainer->times);
    wi_release(context->allocator, trainer);
    weft_context_release(context);
}

weft_status weft_trainer_cancel(weft_trainer *trainer) {
    if (!trainer) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_trainer_cancel: trainer is NULL");
    atomic_store(&trainer->cancelled, true);
    return WEFT_OK;
}

/* ---- a run ---- */

static double learning_rate(const weft_trainer *trainer) {
    const weft_tensor *const rate = weft_minimize_rate(trainer->graph);
    float value = NAN;
    return rate && weft_scalar_get(rate, &value) == WEFT_OK ? (double)value : (double)NAN;
}

static void update_state(weft_trainer *trainer) {
    trainer->state.learning_rate = learning_rate(trainer);
    trainer->state.step = trainer->steps;
    trainer->state.loss = wi_pass_loss(&trainer->training);
    trainer->state.accuracy = wi_pass_accuracy(&trainer->training);
    trainer->state.seconds = wi_clock_seconds() - trainer->run_began;
}

/* The caller's own step in place of weft_plan_run. */
static weft_status run_step(
    void *user, weft_plan *plan, const void *const *columns, size_t examples, bool *has_loss, float *loss) {
    weft_trainer *const trainer = user;
    weft_step step = {.trainer = trainer,
        .plan = plan,
        .step = trainer->steps,
        .epoch = trainer->state.epoch,
        .examples = examples,
        .dataset = trainer->training.dataset,
        .columns = columns};
    const size_t runs = plan->run_count;
    wi_error_restore("");
    const weft_status status = trainer->options.step(trainer->options.user, &step);
    if (status != WEFT_OK && *weft_last_error() == '\0')
        WI_FAIL(status, "the step callback gave %s at step %zu", weft_status_name(status), step.step);
    if (status == WEFT_OK && !step.has_loss && plan->run_count == runs)
        WI_FAIL(WEFT_ERROR_STATE, "the step callback neither ran the plan nor gave a loss at step %zu",
            step.step);
    *has_loss = step.has_loss;
    *loss = step.loss;
    return status;
}

static weft_status after_step(void *user, bool *finish, bool *stop) {
    weft_trainer *const trainer = user;
    trainer->steps++;
    trainer->state.step_in_epoch++;
    *finish = trainer->steps == 1; /* the end of the very first step is wanted at once */
    if (atomic_exchange(&trainer->cancelled, false))
        WI_FAIL(WEFT_ERROR_CANCELLED, "training was cancelled after step %zu", trainer->steps);
    if (trainer->options.on_step) {
        update_state(trainer);
        *stop = !trainer->options.on_step(trainer->options.user, &trainer->state);
    }
    return wi_rate_after_step(&trainer->rate, trainer->steps);
}

static weft_status not_finite(weft_trainer *trainer, float loss, size_t step) {
    if (trainer->info.not_finite_step == SIZE_MAX) {
        trainer->info.not_finite_step = step;
        wi_log_line(
            &trainer->context->log, WEFT_LOG_WARNING, "the loss became %g at step %zu", (double)loss, step);
    }
    if (trainer->options.not_finite == WEFT_NOT_FINITE_CONTINUE) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_NOT_FINITE, "the loss became %g at step %zu (counted from 0), in epoch %zu",
        (double)loss, step, trainer->state.epoch);
}

static void note_time(weft_trainer *trainer, size_t steps) {
    const double now = wi_clock_seconds();
    if (trainer->examined == 0) /* it compiled kernels: no ordinary step */
        trainer->info.first_step_seconds = now - trainer->created;
    else if (trainer->time_count < trainer->time_capacity)
        trainer->times[trainer->time_count++] = (now - trainer->window_began) / (double)steps;
    trainer->window_began = now;
}

static weft_status log_step(weft_trainer *trainer, const wi_record *record, size_t step) {
    const bool counted = trainer->training.counts && record->measured;
    const wi_log_event event = {.is_step = true,
        .epoch = trainer->state.epoch + 1,
        .step = step + 1,
        .learning_rate = (double)record->rate,
        .seconds = wi_clock_seconds() - trainer->run_began};
    wi_report_set(&trainer->step_report, "loss", (double)record->loss);
    wi_report_set(&trainer->step_report, "accuracy",
        counted ? (double)record->correct / (double)record->examples : (double)NAN);
    return wi_training_log_write(&trainer->log, &event, &trainer->step_report);
}

static weft_status after_window(void *user, const wi_record *records, size_t count) {
    weft_trainer *const trainer = user;
    note_time(trainer, count);
    for (size_t i = 0; i < count; i++) {
        const size_t step = trainer->examined++;
        if (trainer->options.log_steps) WI_TRY(log_step(trainer, &records[i], step));
        if (!isfinite(records[i].loss)) WI_TRY(not_finite(trainer, records[i].loss, step));
    }
    return WEFT_OK;
}

static weft_status read_metrics(const wi_measures *measures, double *values) {
    for (size_t i = 0; i < measures->count; i++)
        WI_TRY(weft_metric_result(measures->items[i].state, &values[i]));
    return WEFT_OK;
}

static void forget_metrics(weft_trainer *trainer) {
    trainer->state.validation_loss = trainer->state.validation_accuracy = (double)NAN;
    for (size_t i = 0; i < WEFT_MAX_METRICS; i++)
        trainer->training_values[i] = trainer->validation_values[i] = (double)NAN;
}

static weft_status validate(weft_trainer *trainer) {
    if (!trainer->options.validation) return WEFT_OK;
    trainer->last_measured = &trainer->validation;
    WI_TRY(wi_pass_run(&trainer->validation, 0, NULL));
    trainer->state.validation_loss = wi_pass_loss(&trainer->validation);
    trainer->state.validation_accuracy = wi_pass_accuracy(&trainer->validation);
    WI_TRY(read_metrics(&trainer->validation.measures, trainer->validation_values));
    return wi_rate_after_validation(&trainer->rate, trainer->state.validation_loss);
}

/* What follows from an epoch's values: the watch, the log, the callback. */
static weft_status finish_epoch(weft_trainer *trainer, bool *stop) {
    update_state(trainer);
    wi_report_fill(&trainer->report, &trainer->state, trainer->metrics);
    WI_TRY(wi_watch_epoch(&trainer->watch, trainer->state.epoch, &trainer->report, stop));
    trainer->info.stopped_early = *stop;
    trainer->state.best = trainer->info.best = trainer->watch.best;
    trainer->state.best_epoch = trainer->info.best_epoch = trainer->watch.best_epoch;
    const wi_log_event event = {.epoch = trainer->state.epoch + 1,
        .step = trainer->steps,
        .learning_rate = trainer->state.learning_rate,
        .seconds = trainer->state.seconds};
    WI_TRY(wi_training_log_write(&trainer->log, &event, &trainer->report));
    if (trainer->options.on_epoch && !trainer->options.on_epoch(trainer->options.user, &trainer->state))
        *stop = true;
    return WEFT_OK;
}

/* stop: a callback asked for the end, or the patience is over. */
static weft_status run_epoch(weft_trainer *trainer, bool *stop) {
    const wi_pass_hooks hooks = {trainer, trainer->options.step ? run_step : NULL, after_step, after_window};
    trainer->window_began = wi_clock_seconds();
    trainer->state.step_in_epoch = 0;
    forget_metrics(trainer);
    WI_TRY(wi_rate_before_epoch(&trainer->rate, trainer->epochs));
    WI_TRY(wi_pass_run(&trainer->training, trainer->epochs++, &hooks));
    *stop = trainer->state.step_in_epoch < trainer->state.steps_per_epoch;
    if (*stop) return WEFT_OK;
    WI_TRY(read_metrics(&trainer->training.measures, trainer->training_values));
    WI_TRY(validate(trainer));
    return finish_epoch(trainer, stop);
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Room for the windows' times, so that the steps need none. */
static weft_status prepare_times(weft_trainer *trainer) {
    const size_t windows = trainer->state.steps_per_epoch / trainer->training.window + 2;
    const size_t needed =
        trainer->options.epochs < MAX_TIMES / windows ? trainer->options.epochs * windows : MAX_TIMES;
    trainer->time_count = 0;
    if (needed <= trainer->time_capacity) return WEFT_OK;
    wi_release(trainer->context->allocator, trainer->times);
    trainer->time_capacity = 0;
    trainer->times = wi_allocate_array(trainer->context->allocator, needed, sizeof *trainer->times);
    if (!trainer->times) return WEFT_ERROR_MEMORY;
    trainer->time_capacity = needed;
    return WEFT_OK;
}

static weft_status prepare_run(weft_trainer *trainer, weft_dataset *dataset) {
    WI_TRY(wi_pass_prepare(&trainer->training, dataset));
    if (trainer->options.validation)
        WI_TRY(wi_pass_prepare(&trainer->validation, trainer->options.validation));
    trainer->state = (weft_epoch){.epochs = trainer->options.epochs,
        .step = trainer->steps,
        .steps_per_epoch = wi_pass_steps(&trainer->training),
        .metric_count = trainer->options.metric_count,
        .training_metrics = trainer->training_values,
        .validation_metrics = trainer->validation_values,
        .best_epoch = SIZE_MAX,
        .best = (double)NAN};
    trainer->info.stopped_early = false;
    trainer->info.best_epoch = SIZE_MAX;
    trainer->info.best = (double)NAN;
    WI_TRY(prepare_times(trainer));
    WI_TRY(wi_watch_begin(&trainer->watch));
    return wi_training_log_open(&trainer->log, &trainer->report);
}

weft_status weft_trainer_run(weft_trainer *trainer, weft_dataset *dataset) {
    if (!trainer || !dataset)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_trainer_run: trainer and dataset must not be NULL");
    trainer->run_began = wi_clock_seconds();
    WI_TRY(prepare_run(trainer, dataset));
    weft_status status = WEFT_OK;
    bool stop = false;
    for (size_t epoch = 0; epoch < trainer->options.epochs && !stop && status == WEFT_OK; epoch++) {
        trainer->state.epoch = epoch;
        status = run_epoch(trainer, &stop);
    }
    const weft_status restored = wi_watch_end(&trainer->watch);
    if (status == WEFT_OK) status = restored;
    trainer->examined = trainer->steps; /* after an error, some steps were never looked at */
    trainer->info.seconds += wi_clock_seconds() - trainer->run_began;
    if (trainer->time_count) {
        qsort(trainer->times, trainer->time_count, sizeof *trainer->times, by_value);
        trainer->info.median_step_seconds = trainer->times[trainer->time_count / 2];
    }
    return status;
}

weft_status weft_trainer_evaluate(
    weft_trainer *trainer, weft_dataset *dataset, double *loss, double *accuracy) {
    if (!trainer || !dataset)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_trainer_evaluate: trainer and dataset must not be NULL");
    const bool known = trainer->options.validation == dataset; /* its plans are there already */
    wi_pass *const pass = known ? &trainer->validation : &trainer->evaluation;
    WI_TRY(wi_pass_prepare(pass, dataset));
    trainer->last_measured = pass;
    WI_TRY(wi_pass_run(pass, 0, NULL));
    if (loss) *loss = wi_pass_loss(pass);
    if (accuracy) *accuracy = wi_pass_accuracy(pass);
    return WEFT_OK;
}

const weft_metric_state *weft_trainer_metric(const weft_trainer *trainer, size_t index, bool training) {
    if (!trainer) return NULL;
    const wi_pass *const pass = training ? &trainer->training : trainer->last_measured;
    return pass && index < pass->measures.count ? pass->measures.items[index].state : NULL;
}

weft_status weft_trainer_restore_best(weft_trainer *trainer) {
    if (!trainer) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_trainer_restore_best: trainer is NULL");
    return wi_snapshot_restore(&trainer->watch.snapshot);
}

void weft_trainer_get_info(const weft_trainer *trainer, weft_training_info *info) {
    if (!info) return;
    *info = trainer ? trainer->info
                    : (weft_training_info){
                          .not_finite_step = SIZE_MAX, .best_epoch = SIZE_MAX, .best = (double)NAN};
    if (trainer) info->steps = trainer->steps;
}
