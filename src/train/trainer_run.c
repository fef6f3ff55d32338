/* The runs of a trainer: epochs, validation, callbacks, cancelling, and losses that are not finite. Metrics, early
 * stopping, logs and checkpoints are in other files. */
#include "base/median.h"
#include "base/platform.h"
#include "base/process.h"
#include "io/output_check.h"
#include "train/trainer_events.h"
#include "train/trainer_page.h"
#include "train/trainer_state.h"
#include <math.h>

enum { MAX_TIMES = 65536 };

static double learning_rate(const weft_trainer *trainer) {
    const weft_tensor *const rate = trainer->rate.scalar;
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

/* Is a checkpoint saved after this step? A checkpoint that is due is not saved before the previous file is written. At
 * the end of an epoch, save_epoch saves the checkpoint after validation. */
static bool saves_now(const weft_trainer *trainer) {
    const wi_checkpointer *const checkpointer = &trainer->checkpointer;
    if (trainer->ends) return checkpointer->folder != NULL;
    return trainer->state.step_in_epoch < trainer->state.steps_per_epoch &&
           wi_checkpointer_is_due(checkpointer) && wi_checkpointer_is_idle(checkpointer);
}

/* Does the schedule take skipped steps into account after this step? It does so after multiples of WI_PASS_INTERVAL steps. */
static bool schedule_looks(const weft_trainer *trainer) {
    const wi_loss_terms *const terms = &trainer->terms;
    const bool may_be_empty = terms->count > 0 && !terms->is_always;
    return (trainer->training.scaling || may_be_empty) && trainer->steps % WI_PASS_INTERVAL == 0;
}

static weft_status after_step(void *user, bool *finish, bool *stop) {
    weft_trainer *const trainer = user;
    trainer->steps++;
    trainer->state.step_in_epoch++;
    WI_TRY(wi_checkpointer_step(&trainer->checkpointer));
    if (atomic_exchange(&trainer->cancelled, false))
        WI_FAIL(WEFT_ERROR_CANCELLED, "training was cancelled after step %zu", trainer->steps);
    if (trainer->options.on_step) {
        update_state(trainer);
        if (!trainer->options.on_step(trainer->options.user, &trainer->state)) trainer->ends = true;
    }
    if (atomic_exchange(&trainer->stopping, false)) trainer->ends = true;
    WI_TRY(wi_trainer_agree(trainer, &trainer->ends));
    *stop = trainer->ends;
    trainer->save_now = saves_now(trainer);
    WI_TRY(wi_shards_gather_states(&trainer->shards[0], trainer->save_now));
    WI_TRY(wi_shards_join_early(&trainer->training, trainer->save_now));
    /* The first step is waited for, as its time is measured separately. */
    *finish = trainer->steps == 1 || trainer->save_now || schedule_looks(trainer);
    return wi_rate_after_step(&trainer->rate, trainer->windows, trainer->scheduled_skips);
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
    if (trainer->examined == 0) /* the first step, which includes the compilation of kernels */
        trainer->info.first_step_seconds = now - trainer->created;
    else if (trainer->time_count < trainer->time_capacity)
        trainer->times[trainer->time_count++] = (now - trainer->interval_began) / (double)steps;
    trainer->interval_began = now;
}

static weft_status log_step(weft_trainer *trainer, const wi_record *record, size_t step) {
    const wi_log_event event = {.is_step = true,
        .epoch = trainer->state.epoch + 1,
        .step = step + 1,
        .learning_rate = (double)record->rate,
        .seconds = wi_clock_seconds() - trainer->run_began};
    wi_report_set(&trainer->step_report, "loss", (double)record->loss);
    wi_report_set(&trainer->step_report, "accuracy",
        record->counted > 0.0 ? record->right / record->counted : (double)NAN);
    WI_TRY(wi_trainer_events_step(trainer, &event));
    return wi_training_log_write(&trainer->log, &event, &trainer->step_report);
}

static weft_status note_skipped(weft_trainer *trainer, const wi_record *record, size_t step) {
    trainer->info.skipped_steps++;
    wi_log_line(&trainer->context->log, WEFT_LOG_INFO,
        "step %zu was skipped because its gradients have inf or NaN; the loss scale is now %g", step,
        (double)record->scale);
    return WEFT_OK;
}

/* Counts empty steps, and the windows that have only empty steps, whose update does not happen. */
static void count_window(weft_trainer *trainer, const wi_record *record) {
    trainer->info.empty_steps += record->is_empty;
    trainer->window_counts = trainer->window_counts || !record->is_empty;
    if (!record->ends_window) return;
    trainer->empty_windows += !trainer->window_counts;
    trainer->window_counts = false;
}

static weft_status examine(weft_trainer *trainer, const wi_record *record, size_t step) {
    count_window(trainer, record);
    if (trainer->options.log_steps) WI_TRY(log_step(trainer, record, step));
    if (trainer->training.scaling) trainer->info.loss_scale = (double)record->scale;
    if (wi_record_is_skipped(record)) return note_skipped(trainer, record, step);
    return isfinite(record->loss) ? WEFT_OK : not_finite(trainer, record->loss, step);
}

static weft_status after_interval(void *user, const wi_record *records, size_t count) {
    weft_trainer *const trainer = user;
    note_time(trainer, count);
    for (size_t i = 0; i < count; i++) WI_TRY(examine(trainer, &records[i], trainer->examined++));
    if (schedule_looks(trainer)) {
        trainer->scheduled_skips = trainer->info.skipped_steps + trainer->empty_windows;
        WI_TRY(wi_rate_after_step(&trainer->rate, trainer->windows, trainer->scheduled_skips));
    }
    if (!trainer->save_now) return WEFT_OK;
    trainer->save_now = false;
    return wi_trainer_save(trainer, false);
}

/* The number of metrics without the accuracy, which is read separately. */
static size_t metrics_of(const wi_pass *pass) {
    return pass->measures.count - pass->counts;
}

static weft_status read_metrics(const wi_pass *pass, double *values) {
    for (size_t i = 0; i < metrics_of(pass); i++)
        WI_TRY(weft_metric_result(pass->measures.items[i].state, &values[i]));
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
    WI_TRY(wi_trainer_page_begin(trainer));
    WI_TRY(wi_pass_run(&trainer->validation, 0, NULL, NULL));
    WI_TRY(wi_trainer_page_epoch(trainer));
    trainer->state.validation_loss = wi_pass_loss(&trainer->validation);
    trainer->state.validation_accuracy = wi_pass_accuracy(&trainer->validation);
    WI_TRY(read_metrics(&trainer->validation, trainer->validation_values));
    return wi_rate_after_validation(&trainer->rate, trainer->state.validation_loss);
}

/* Passes the values of an epoch on to early stopping, the logs and the callback. */
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
    WI_TRY(wi_trainer_events_epoch(trainer, &event));
    if (trainer->options.on_epoch && !trainer->options.on_epoch(trainer->options.user, &trainer->state))
        trainer->ends = true;
    if (atomic_exchange(&trainer->stopping, false)) trainer->ends = true;
    return wi_trainer_agree(trainer, &trainer->ends);
}

/* Moves the position to the beginning of the next epoch. Saves a checkpoint if one is due, or the epoch was the best. */
static weft_status save_epoch(weft_trainer *trainer) {
    wi_checkpointer *const checkpointer = &trainer->checkpointer;
    const bool best = trainer->watch.active && trainer->watch.best_epoch == trainer->state.epoch;
    trainer->state.step_in_epoch = 0;
    trainer->state.epoch++;
    wi_checkpointer_epoch(checkpointer);
    const bool saves = checkpointer->folder && (best || wi_checkpointer_is_due(checkpointer));
    WI_TRY(wi_shards_gather_states(&trainer->shards[0], saves));
    return saves ? wi_trainer_save(trainer, best) : WEFT_OK;
}

/* Runs the steps of an epoch: all, or those after a checkpoint that was saved in the middle of the epoch. */
static weft_status train_epoch(weft_trainer *trainer) {
    const wi_pass_hooks hooks = {trainer, wi_trainer_step, trainer->options.step ? wi_trainer_shard : NULL,
        after_step, after_interval};
    const wi_pass_start start = trainer->resume.start;
    double *const sums = wi_pass_accuracy_sums(&trainer->training);
    if (sums && start.step) {
        sums[0] = trainer->resume.right;
        sums[1] = trainer->resume.counted;
    }
    trainer->resume = (wi_resume){0};
    trainer->state.step_in_epoch = start.step;
    if (start.step == 0) WI_TRY(wi_rate_before_epoch(&trainer->rate, trainer->epochs));
    return wi_pass_run(&trainer->training, trainer->epochs++, start.step ? &start : NULL, &hooks);
}

/* Runs one epoch. Sets *stop if a callback or weft_trainer_stop ends the run, or if the patience of early stopping is
 * over. */
static weft_status run_epoch(weft_trainer *trainer, bool *stop) {
    trainer->interval_began = wi_clock_seconds();
    forget_metrics(trainer);
    WI_TRY(train_epoch(trainer));
    *stop = trainer->ends;
    if (*stop) return WEFT_OK;
    WI_TRY(read_metrics(&trainer->training, trainer->training_values));
    WI_TRY(validate(trainer));
    WI_TRY(finish_epoch(trainer, stop));
    WI_TRY(save_epoch(trainer));
    *stop = *stop || trainer->ends;
    return WEFT_OK;
}

/* Allocates the times of all intervals, so that steps allocate nothing. */
static weft_status prepare_times(weft_trainer *trainer) {
    const size_t intervals = trainer->state.steps_per_epoch / trainer->training.interval + 2;
    const size_t needed =
        trainer->options.epochs < MAX_TIMES / intervals ? trainer->options.epochs * intervals : MAX_TIMES;
    trainer->time_count = 0;
    if (needed <= trainer->time_capacity) return WEFT_OK;
    wi_release(trainer->context->allocator, trainer->times);
    trainer->time_capacity = 0;
    trainer->times = wi_allocate_array(trainer->context->allocator, needed, sizeof *trainer->times);
    if (!trainer->times) return WEFT_ERROR_MEMORY;
    trainer->time_capacity = needed;
    return WEFT_OK;
}

/* Tests whether the files of the run can be written, before any of them is changed and before kernels are compiled.
 * Files in a folder that the run creates can be written then. */
static weft_status try_outputs(const weft_trainer *trainer) {
    const weft_trainer_options *const o = &trainer->options;
    const char *const folders[] = {o->checkpoint, o->events};
    const char *const files[] = {o->early_stopping.best_file, o->html, o->csv_log, o->json_log};
    for (size_t i = 0; i < 2; i++)
        if (folders[i]) WI_TRY(wi_folder_output_check(folders[i]));
    for (size_t i = 0; i < 4; i++)
        if (files[i] && !wi_is_in_new_folder(files[i], o->checkpoint) &&
            !wi_is_in_new_folder(files[i], o->events))
            WI_TRY(i < 2 ? weft_output_check(files[i]) : wi_line_output_check(files[i]));
    return WEFT_OK;
}

static weft_status prepare_passes(weft_trainer *trainer, weft_dataset *dataset) {
    WI_TRY(wi_pass_prepare(&trainer->training, dataset));
    if (!trainer->knows) WI_TRY(wi_pass_keep_encodings(&trainer->training, trainer->graph));
    return trainer->options.validation ? wi_pass_prepare(&trainer->validation, trainer->options.validation)
                                       : WEFT_OK;
}

static void forget_plans(weft_trainer *trainer) {
    wi_pass_forget_plans(&trainer->training);
    wi_pass_forget_plans(&trainer->validation);
    wi_pass_forget_plans(&trainer->evaluation);
}

/* A plan may take all that the context's memory limit leaves. If another plan then does not fit, the plans are created again, of which those of
 * validation, which need less, come first. */
static weft_status prepare_within_limit(weft_trainer *trainer, weft_dataset *dataset) {
    const weft_status status = prepare_passes(trainer, dataset);
    if (status != WEFT_ERROR_MEMORY_LIMIT) return status;
    forget_plans(trainer);
    if (!trainer->knows) WI_TRY(wi_pass_keep_encodings(&trainer->training, trainer->graph));
    if (trainer->options.validation)
        WI_TRY(wi_pass_prepare(&trainer->validation, trainer->options.validation));
    return prepare_passes(trainer, dataset);
}

static weft_status prepare_run(weft_trainer *trainer, weft_dataset *dataset) {
    if (trainer->resume.pending && trainer->resume.examples != dataset->examples)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_trainer_run: the checkpoint comes from a training with %zu examples, but the dataset has "
            "%zu",
            trainer->resume.examples, dataset->examples);
    if (!trainer->knows) trainer->training.known = NULL;
    WI_TRY(prepare_within_limit(trainer, dataset));
    trainer->state = (weft_epoch){.epochs = trainer->options.epochs,
        .step = trainer->steps,
        .steps_per_epoch = wi_pass_steps(&trainer->training),
        .metric_count = trainer->options.metric_count,
        .training_metrics = trainer->training_values,
        .validation_metrics = trainer->validation_values,
        .epoch = trainer->resume.epoch};
    WI_TRY(prepare_times(trainer));
    WI_TRY(wi_watch_begin(&trainer->watch, trainer->resume.pending));
    trainer->info.stopped_early = trainer->info.stopped = trainer->ends = trainer->save_now = false;
    trainer->state.best_epoch = trainer->info.best_epoch = trainer->watch.best_epoch;
    trainer->state.best = trainer->info.best = trainer->watch.best;
    WI_TRY(wi_checkpointer_begin(&trainer->checkpointer));
    WI_TRY(wi_trainer_events_open(trainer)); /* before the logs, which may lie in its folder */
    WI_TRY(wi_training_log_open(&trainer->log, &trainer->report));
    WI_TRY(wi_trainer_reserve(trainer));
    trainer->knows = true; /* last, so that a run that could not begin leaves no encodings to compare with */
    return WEFT_OK;
}

static weft_status run_epochs(weft_trainer *trainer) {
    bool stop = wi_watch_is_over(&trainer->watch); /* a resumed run that early stopping had ended */
    trainer->info.stopped_early = stop;
    while (trainer->state.epoch < trainer->options.epochs && !stop) WI_TRY(run_epoch(trainer, &stop));
    trainer->resume = (wi_resume){0};
    trainer->info.stopped = trainer->ends;
    const bool saves = trainer->checkpointer.folder && !trainer->checkpointer.is_current;
    WI_TRY(wi_shards_gather_states(&trainer->shards[0], saves));
    return saves ? wi_trainer_save(trainer, false) : WEFT_OK;
}

/* Ends a run, also after an error: waits for the checkpoint, restores the best weights, sets the info. */
static weft_status end_run(weft_trainer *trainer, weft_status status) {
    char line[WI_CHECKPOINT_LINE];
    wi_error_save(line, sizeof line);
    const weft_status written = wi_checkpointer_wait(&trainer->checkpointer);
    if (status == WEFT_OK)
        status = written;
    else
        wi_error_restore(line);
    const weft_status restored = wi_watch_end(&trainer->watch);
    if (status == WEFT_OK) status = restored;
    wi_trainer_events_flush(trainer);
    trainer->examined = trainer->steps; /* after an error, some steps were not examined */
    trainer->info.seconds += wi_clock_seconds() - trainer->run_began;
    wi_shards_exchange_seconds(
        &trainer->shards[0], &trainer->info.exchange_seconds, &trainer->info.exposed_exchange_seconds);
    if (trainer->time_count)
        trainer->info.median_step_seconds = wi_median(trainer->times, trainer->time_count);
    return status;
}

weft_status weft_trainer_run(weft_trainer *trainer, weft_dataset *dataset) {
    if (!trainer || !dataset)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_trainer_run: trainer and dataset must not be NULL");
    WI_TRY(wi_process_check_driver()); /* before files are changed */
    trainer->run_began = wi_clock_seconds();
    weft_status status = try_outputs(trainer);
    if (status == WEFT_OK) status = prepare_run(trainer, dataset);
    WI_TRY(wi_trainer_begin_group(trainer, dataset, status));
    return end_run(trainer, wi_trainer_end_group(trainer, run_epochs(trainer)));
}

weft_status weft_trainer_evaluate(
    weft_trainer *trainer, weft_dataset *dataset, double *loss, double *accuracy) {
    if (!trainer || !dataset)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_trainer_evaluate: trainer and dataset must not be NULL");
    const bool known = trainer->options.validation == dataset; /* its plans exist already */
    wi_pass *const pass = known ? &trainer->validation : &trainer->evaluation;
    weft_status prepared = wi_pass_prepare(pass, dataset);
    if (prepared == WEFT_ERROR_MEMORY_LIMIT) { /* the next run creates the other plans again */
        forget_plans(trainer);
        prepared = wi_pass_prepare(pass, dataset);
    }
    WI_TRY(wi_group_meet(trainer->options.distributed, WI_MEET_PASS, prepared));
    trainer->last_measured = pass;
    WI_TRY(wi_pass_run(pass, 0, NULL, NULL));
    if (loss) *loss = wi_pass_loss(pass);
    if (accuracy) *accuracy = wi_pass_accuracy(pass);
    return WEFT_OK;
}

const weft_metric_state *weft_trainer_metric(const weft_trainer *trainer, size_t index, bool training) {
    if (!trainer) return NULL;
    const wi_pass *const pass = training ? &trainer->training : trainer->last_measured;
    return pass && index < metrics_of(pass) ? pass->measures.items[index].state : NULL;
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
