/* The trainer: epochs of passes over a dataset, validation, callbacks, cancelling, and what a loss that is
 * not finite does. One thread at a time uses a trainer; weft_trainer_cancel may come from any. */
#include "base/platform.h"
#include "graph/nodes.h"
#include "train/metrics.h"
#include "train/pass.h"
#include "train/rate.h"
#include <math.h>
#include <stdlib.h>

enum { MAX_TIMES = 65536 };

struct weft_trainer {
    weft_graph *graph;
    weft_context *context;
    weft_trainer_options options;
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
    return WEFT_OK;
}

static void init_pass_options(weft_trainer *trainer) {
    wi_pass *const passes[] = {&trainer->training, &trainer->validation, &trainer->evaluation};
    for (size_t i = 0; i < 3; i++) {
        passes[i]->batch = trainer->options.batch;
        passes[i]->seed = trainer->options.seed;
    }
    trainer->training.shuffle = !trainer->options.keep_order;
}

static weft_status build(weft_trainer *trainer, weft_tensor *loss) {
    const weft_allocator *const allocator = trainer->context->allocator;
    weft_tensor *updates[WEFT_MAX_UPDATES] = {NULL}, *correct = NULL;
    size_t count = 0;
    WI_TRY(weft_graph_status(trainer->graph));
    if (trainer->options.logits)
        WI_TRY(wi_correct_count(&correct, allocator, loss, trainer->options.logits, trainer->options.labels));
    WI_TRY(weft_minimize(loss, &trainer->options.optimizer, updates, WEFT_MAX_UPDATES, &count));
    WI_TRY(wi_rate_init(&trainer->rate, trainer->graph, &trainer->options));
    WI_TRY(wi_pass_init(&trainer->training, allocator, loss, correct, updates, count));
    WI_TRY(wi_pass_init(&trainer->validation, allocator, loss, correct, NULL, 0));
    WI_TRY(wi_pass_init(&trainer->evaluation, allocator, loss, correct, NULL, 0));
    return wi_pass_plan(&trainer->training, trainer->options.batch);
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
    made->info.not_finite_step = SIZE_MAX;
    atomic_init(&made->references, 1);
    atomic_init(&made->cancelled, false);
    init_pass_options(made);
    const weft_status status = build(made, loss);
    made->options.labels = NULL; /* the caller's, not needed any more */
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

static void update_state(weft_trainer *trainer) {
    trainer->state.step = trainer->steps;
    trainer->state.loss = wi_pass_loss(&trainer->training);
    trainer->state.accuracy = wi_pass_accuracy(&trainer->training);
    trainer->state.seconds = wi_clock_seconds() - trainer->run_began;
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

static weft_status after_window(void *user, const wi_record *records, size_t count) {
    weft_trainer *const trainer = user;
    note_time(trainer, count);
    for (size_t i = 0; i < count; i++) {
        const size_t step = trainer->examined++;
        if (!isfinite(records[i].loss)) WI_TRY(not_finite(trainer, records[i].loss, step));
    }
    return WEFT_OK;
}

static weft_status validate(weft_trainer *trainer) {
    trainer->state.validation_loss = trainer->state.validation_accuracy = (double)NAN;
    if (!trainer->options.validation) return WEFT_OK;
    WI_TRY(wi_pass_run(&trainer->validation, 0, NULL));
    trainer->state.validation_loss = wi_pass_loss(&trainer->validation);
    trainer->state.validation_accuracy = wi_pass_accuracy(&trainer->validation);
    return wi_rate_after_validation(&trainer->rate, trainer->state.validation_loss);
}

/* stop: a callback asked for the end. */
static weft_status run_epoch(weft_trainer *trainer, bool *stop) {
    const wi_pass_hooks hooks = {trainer, after_step, after_window};
    trainer->window_began = wi_clock_seconds();
    trainer->state.step_in_epoch = 0;
    trainer->state.validation_loss = trainer->state.validation_accuracy = (double)NAN;
    WI_TRY(wi_rate_before_epoch(&trainer->rate, trainer->epochs));
    WI_TRY(wi_pass_run(&trainer->training, trainer->epochs++, &hooks));
    *stop = trainer->state.step_in_epoch < trainer->state.steps_per_epoch;
    if (*stop) return WEFT_OK;
    WI_TRY(validate(trainer));
    update_state(trainer);
    if (trainer->options.on_epoch) *stop = !trainer->options.on_epoch(trainer->options.user, &trainer->state);
    return WEFT_OK;
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
        .steps_per_epoch = wi_pass_steps(&trainer->training)};
    return prepare_times(trainer);
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
    WI_TRY(wi_pass_run(pass, 0, NULL));
    if (loss) *loss = wi_pass_loss(pass);
    if (accuracy) *accuracy = wi_pass_accuracy(pass);
    return WEFT_OK;
}

void weft_trainer_get_info(const weft_trainer *trainer, weft_training_info *info) {
    if (!info) return;
    *info = trainer ? trainer->info : (weft_training_info){.not_finite_step = SIZE_MAX};
    if (trainer) info->steps = trainer->steps;
}
