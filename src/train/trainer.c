/* The trainer: options, creation and release; trainer_run.c runs it. Only one thread at a time may use a trainer, but
 * any thread may call weft_trainer_cancel and weft_trainer_stop. */
#include "base/options.h"
#include "base/platform.h"
#include "cl/context.h"
#include "graph/attempt.h"
#include "graph/sizes.h"
#include "ops/op_descriptors.h"
#include "ops/prediction_form.h"
#include "plan/compiled_plan.h"
#include "train/trainer_page.h"
#include <math.h>

/* Checks the lists of options. what: "update" or "carry". most: the largest count. */
static weft_status check_assignments(
    const weft_tensor *loss, const char *what, weft_tensor *const *assignments, size_t count, size_t most) {
    if (count > most || (count && !assignments))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_trainer_create: the option %s_count is %zu, expected at most %zu, and the array must not "
            "be NULL",
            what, count, most);
    for (size_t i = 0; i < count; i++) {
        const weft_tensor *const assignment = assignments[i];
        if (!assignment) return wi_fail_null("weft_trainer_create", *what == 'u' ? "an update" : "a carry");
        if (assignment->op->kind != WI_ASSIGN || assignment->graph != weft_tensor_graph(loss))
            WI_FAIL(WEFT_ERROR_ARGUMENT,
                "weft_trainer_create: %s %zu, '%s', is not a weft_assign in the graph of the loss", what, i,
                assignment->op->name);
    }
    return WEFT_OK;
}

static weft_status check_options(weft_tensor *loss, const weft_trainer_options *options) {
    if (options->not_finite != WEFT_NOT_FINITE_STOP && options->not_finite != WEFT_NOT_FINITE_CONTINUE)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_trainer_create: not_finite is %d, which is not a weft_not_finite",
            (int)options->not_finite);
    WI_TRY(WI_CHECK_NUMBERS("weft_trainer_create", {"epochs", (double)options->epochs},
        {"batch", (double)options->batch}, {"ignored_label", (double)options->ignored_label},
        {"loader_threads", (double)options->loader_threads},
        {"checkpoint_every.steps", (double)options->checkpoint_every.steps},
        {"checkpoint_every.epochs", (double)options->checkpoint_every.epochs},
        {"checkpoint_every.seconds", options->checkpoint_every.seconds},
        {"checkpoint_keep", (double)options->checkpoint_keep},
        {"histogram_epochs", (double)options->histogram_epochs},
        {"gradient_shards", (double)options->gradient_shards}));
    if (options->exchange != WEFT_F32 && options->exchange != WEFT_BF16)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_trainer_create: exchange is %s, expected f32 or bf16",
            weft_dtype_name(options->exchange));
    if (options->batch > INT32_MAX)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_trainer_create: batch is %zu, expected at most 2^31 - 1",
            options->batch);
    if (options->logits && weft_tensor_graph(options->logits) != weft_tensor_graph(loss))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_trainer_create: loss and logits belong to different graphs");
    if (options->metric_count > WEFT_MAX_METRICS || (options->metric_count && !options->metrics))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_trainer_create: metric_count is %zu, expected at most %d, and metrics must not be NULL",
            options->metric_count, WEFT_MAX_METRICS);
    if (options->checkpoint_extra_count > WEFT_MAX_EXTRAS ||
        (options->checkpoint_extra_count && !options->checkpoint_extras))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_trainer_create: checkpoint_extra_count is %zu, expected at most %d, and checkpoint_extras "
            "must not be NULL",
            options->checkpoint_extra_count, WEFT_MAX_EXTRAS);
    WI_TRY(check_assignments(loss, "update", options->updates, options->update_count, WEFT_MAX_UPDATES));
    return check_assignments(loss, "carry", options->carries, options->carry_count, WEFT_MAX_CARRIES);
}

static void init_pass_options(weft_trainer *trainer) {
    wi_pass *const passes[] = {&trainer->training, &trainer->validation, &trainer->evaluation};
    for (size_t i = 0; i < 3; i++) {
        passes[i]->batch = trainer->options.batch;
        passes[i]->seed = trainer->options.seed;
        passes[i]->threads = trainer->options.loader_threads;
        passes[i]->known = trainer->graph;
    }
    trainer->training.shuffle = !trainer->options.keep_order;
    trainer->training.drop_last = trainer->options.drop_last;
}

static const char *kept_string(weft_trainer *trainer, const char *text, bool *failed) {
    const char *const copy = text ? wi_arena_string(&trainer->arena, text) : NULL;
    *failed = *failed || (text && !copy);
    return copy;
}

/* Copies the strings of the options: the caller may free them after the call. */
static weft_status keep_strings(weft_trainer *trainer) {
    weft_trainer_options *const options = &trainer->options;
    bool failed = false;
    options->labels = kept_string(trainer, options->labels, &failed);
    options->weights = kept_string(trainer, options->weights, &failed);
    options->lengths = kept_string(trainer, options->lengths, &failed);
    options->csv_log = kept_string(trainer, options->csv_log, &failed);
    options->json_log = kept_string(trainer, options->json_log, &failed);
    options->events = kept_string(trainer, options->events, &failed);
    options->html = kept_string(trainer, options->html, &failed);
    options->command = kept_string(trainer, options->command, &failed);
    options->early_stopping.monitor = kept_string(trainer, options->early_stopping.monitor, &failed);
    options->early_stopping.best_file = kept_string(trainer, options->early_stopping.best_file, &failed);
    options->checkpoint = kept_string(trainer, options->checkpoint, &failed);
    for (size_t i = 0; i < options->checkpoint_extra_count; i++) {
        trainer->extras[i] = options->checkpoint_extras[i];
        trainer->extras[i].name = kept_string(trainer, trainer->extras[i].name, &failed);
    }
    options->checkpoint_extras = trainer->extras;
    return failed ? WEFT_ERROR_MEMORY : WEFT_OK;
}

/* Copies the given metric to *metric. Names that it lacks are taken from the options, or are the default of its
 * kind. */
static weft_status keep_metric(weft_trainer *trainer, const weft_metric *given, weft_metric *metric) {
    const weft_trainer_options *const options = &trainer->options;
    char name[WI_METRIC_NAME];
    bool failed = false;
    *metric = *given;
    WI_TRY(wi_metric_check(metric));
    wi_metric_name(metric, name);
    metric->name = kept_string(trainer, name, &failed);
    metric->target = metric->target ? kept_string(trainer, metric->target, &failed) : options->labels;
    metric->weights = metric->weights ? kept_string(trainer, metric->weights, &failed) : options->weights;
    metric->lengths = metric->lengths ? kept_string(trainer, metric->lengths, &failed) : options->lengths;
    if (!metric->ignore && options->ignore) {
        metric->ignore = true;
        metric->ignored_label = options->ignored_label;
    }
    return failed ? WEFT_ERROR_MEMORY : WEFT_OK;
}

/* Copies the metrics with their defaults filled in; after them comes the accuracy, if there are logits. */
static weft_status keep_metrics(weft_trainer *trainer) {
    weft_trainer_options *const options = &trainer->options;
    const weft_metric accuracy = {.kind = WEFT_ACCURACY, .output = options->logits};
    trainer->has_accuracy = options->logits != NULL;
    if (trainer->has_accuracy)
        WI_TRY(keep_metric(trainer, &accuracy, &trainer->metrics[options->metric_count]));
    for (size_t i = 0; i < options->metric_count; i++) {
        weft_metric *const metric = &trainer->metrics[i];
        WI_TRY(keep_metric(trainer, &options->metrics[i], metric));
        if (!metric->output) metric->output = options->output ? options->output : options->logits;
        if (!metric->output)
            WI_FAIL(WEFT_ERROR_ARGUMENT,
                "weft_trainer_create: the metric '%s' has no output to measure; set its field output, or the "
                "option output or logits",
                metric->name);
        if (weft_tensor_graph(metric->output) != trainer->graph)
            WI_FAIL(WEFT_ERROR_ARGUMENT,
                "weft_trainer_create: the loss and the output of the metric '%s' belong to different graphs",
                metric->name);
    }
    options->metrics = trainer->metrics;
    return WEFT_OK;
}

/* Metrics with one output per row compare the output with 0, and perplexity takes the softmax of its outputs. With the
 * results of a sigmoid or softmax as outputs, they would be wrong without any sign, so that this is an error. */
static weft_status check_output_form(const char *metric, const weft_tensor *output, bool is_perplexity) {
    const char *const made_by = wi_probabilities_of(output);
    const bool single = weft_tensor_rank(output) == 0 || weft_tensor_dimension(output, -1) == 1;
    if (!made_by || !(single || is_perplexity)) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_ARGUMENT,
        "weft_trainer_create: the metric '%s' takes logits, but its output comes from %s; give it the input "
        "of %s instead",
        metric, made_by, made_by);
}

static weft_status check_output_forms(const weft_trainer *trainer) {
    const weft_trainer_options *const options = &trainer->options;
    if (options->logits) WI_TRY(check_output_form("accuracy", options->logits, false));
    for (size_t i = 0; i < options->metric_count; i++) {
        const weft_metric *const metric = &trainer->metrics[i];
        if (metric->kind == WEFT_MEAN_ABSOLUTE_ERROR || metric->kind == WEFT_R_SQUARED) continue;
        WI_TRY(check_output_form(metric->name, metric->output, metric->kind == WEFT_PERPLEXITY));
    }
    return WEFT_OK;
}

static weft_status prepare_reports(weft_trainer *trainer) {
    const weft_trainer_options *const options = &trainer->options;
    const wi_report_options given = {.accuracy = options->logits,
        .training_metrics = options->training_metrics,
        .validation = options->validation,
        .metrics = trainer->metrics,
        .metric_count = options->metric_count};
    WI_TRY(wi_report_init(&trainer->report, &given));
    trainer->step_report = trainer->report;
    for (size_t i = 0; i < trainer->step_report.count; i++)
        trainer->step_report.values[i].value = (double)NAN;
    wi_training_log_init(&trainer->log, trainer->context->allocator, options);
    return wi_watch_init(&trainer->watch, trainer->graph, &options->early_stopping, &trainer->report);
}

/* Training measures only the accuracy, unless the option training_metrics is set. */
static weft_status build_passes(weft_trainer *trainer, wi_pass_options given, const wi_feed *of_loss) {
    const weft_allocator *const allocator = trainer->context->allocator;
    const size_t metrics = trainer->options.metric_count;
    const wi_measure_list measured = {
        trainer->context, trainer->metrics, metrics + trainer->has_accuracy, of_loss, NULL};
    given.terms = &trainer->terms;
    given.counts = trainer->has_accuracy;
    given.measured = measured;
    if (!trainer->options.training_metrics) {
        given.measured.metrics += metrics;
        given.measured.count -= metrics;
    }
    given.partial = trainer->options.step != NULL;
    given.shards = trainer->divided_by.count > 1 ? &trainer->shards[0] : NULL;
    given.memory_limit = trainer->options.memory_limit;
    WI_TRY(wi_pass_init(&trainer->training, allocator, &given));
    wi_shards *const divided = trainer->divided_by.count > 1 ? trainer->shards : NULL;
    for (size_t i = 1; i < 3 && divided; i++)
        WI_TRY(wi_shards_divide(&divided[i], given.loss, &trainer->terms, of_loss->fixed != 0, NULL));
    given = (wi_pass_options){.loss = given.loss,
        .shards = divided ? &divided[1] : NULL,
        .terms = given.terms,
        .counts = given.counts,
        .rate = given.rate,
        .measured = measured,
        .memory_limit = trainer->options.memory_limit,
        .updates = trainer->options.carries,
        .update_count = trainer->options.carry_count};
    WI_TRY(wi_trainer_page_init(trainer));
    given.measured.mistakes = trainer->mistakes;
    WI_TRY(wi_pass_init(&trainer->validation, allocator, &given));
    given.measured.mistakes = NULL;
    if (divided) given.shards = &divided[2];
    WI_TRY(wi_pass_init(&trainer->evaluation, allocator, &given));
    return wi_pass_plan(&trainer->training, trainer->options.batch);
}

/* The updates of parameters are computed from the gradients of all shards, and then assignments that come after them (weft_assign_after). The loss
 * of a shard makes the other assignments of the program, of states. */
static weft_status divide_updates(
    weft_trainer *trainer, weft_tensor *loss, bool is_fixed, wi_pass_options *given, weft_tensor **updates) {
    const weft_trainer_options *const options = &trainer->options;
    wi_shards *const shards = &trainer->shards[0];
    weft_tensor *of_parameters[WEFT_MAX_UPDATES], *after[WEFT_MAX_UPDATES];
    size_t after_count = 0;
    wi_shard_updates by = {.given = of_parameters, .optimizer = &options->optimizer};
    for (size_t i = 0; i < options->update_count; i++) {
        weft_tensor *const update = options->updates[i];
        if (update->op == &wi_op_assign_after)
            after[after_count++] = update;
        else if (wi_updates_parameters(update))
            of_parameters[by.count++] = update;
        else
            updates[given->update_count++] = update;
    }
    if (options->update_count && by.count == 0)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED, "weft_trainer_create: no assignment of the option updates changes "
                                        "parameters: use one gradient shard");
    WI_TRY(wi_shards_divide(shards, loss, &trainer->terms, is_fixed, &by));
    if (shards->update_count + after_count > WEFT_MAX_UPDATES)
        WI_FAIL(
            WEFT_ERROR_ARGUMENT, "weft_trainer_create: there are more than %d assignments", WEFT_MAX_UPDATES);
    for (size_t i = 0; i < after_count; i++) shards->updates[shards->update_count++] = after[i];
    return WEFT_OK;
}

/* Lists the updates that the training pass computes. */
static weft_status make_updates(
    weft_trainer *trainer, weft_tensor *loss, bool is_fixed, wi_pass_options *given, weft_tensor **updates) {
    const weft_trainer_options *const options = &trainer->options;
    wi_shards *const shards = trainer->divided_by.count > 1 ? &trainer->shards[0] : NULL;
    weft_tensor *const *const rated = shards ? shards->updates : updates;
    if (shards) {
        WI_TRY(divide_updates(trainer, loss, is_fixed, given, updates));
    } else if (options->update_count == 0) {
        WI_TRY(weft_minimize(loss, &options->optimizer, updates, WEFT_MAX_UPDATES, &given->update_count));
    } else {
        for (size_t i = 0; i < options->update_count; i++) updates[i] = options->updates[i];
        given->update_count = options->update_count;
    }
    return wi_rate_init(
        &trainer->rate, trainer->graph, rated, shards ? shards->update_count : given->update_count, options);
}

/* Creates the gradients and updates, and the passes. of_loss: the inputs of the loss. */
static weft_status build_training(weft_trainer *trainer, weft_tensor *loss, const wi_feed *of_loss) {
    const weft_trainer_options *const options = &trainer->options;
    weft_tensor *updates[WEFT_MAX_UPDATES + WEFT_MAX_CARRIES] = {NULL};
    wi_pass_options given = {.loss = loss, .updates = updates};
    const bool is_divided = trainer->divided_by.count > 1;
    if (options->gradient_histograms && options->step && !is_divided)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED, "weft_trainer_create: gradient_histograms cannot be used with a step "
                                        "callback, which writes further inputs");
    WI_TRY(make_updates(trainer, loss, of_loss->fixed != 0, &given, updates));
    given.rate = trainer->rate.scalar;
    if (trainer->graph->scaling.scale) given.scaling = &trainer->graph->scaling;
    for (size_t i = 0; i < options->carry_count; i++) updates[given.update_count++] = options->carries[i];
    if (is_divided)
        WI_TRY(wi_carries_init(&trainer->carries, trainer->context->allocator, options->carries,
            options->carry_count, trainer->divided_by.count));
    return build_passes(trainer, given, of_loss);
}

static weft_status build(weft_trainer *trainer, weft_tensor *loss) {
    const weft_trainer_options *const options = &trainer->options;
    const weft_allocator *const allocator = trainer->context->allocator;
    if (options->precision != WEFT_PRECISION_F32)
        WI_TRY(weft_graph_set_precision(trainer->graph, options->precision));
    if (options->matmul_precision != WEFT_MATMUL_PRECISION_HIGHEST)
        WI_TRY(weft_graph_set_matmul_precision(trainer->graph, options->matmul_precision));
    WI_TRY(weft_graph_status(trainer->graph));
    WI_TRY(wi_trainer_divide(trainer));
    WI_TRY(keep_strings(trainer));
    WI_TRY(keep_metrics(trainer));
    WI_TRY(check_output_forms(trainer));
    WI_TRY(wi_checkpointer_init(&trainer->checkpointer, allocator, options));
    WI_TRY(prepare_reports(trainer));
    WI_TRY(wi_loss_terms_find(&trainer->terms, loss));
    wi_feed of_loss = {0};
    WI_TRY(wi_feed_collect(&of_loss, allocator, &loss, 1));
    const weft_status status = build_training(trainer, loss, &of_loss);
    wi_feed_clear(&of_loss);
    return status;
}

static weft_status create(weft_trainer **trainer, weft_tensor *loss, const weft_trainer_options *given) {
    weft_trainer_options options;
    const double created = wi_clock_seconds();
    if (!trainer) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_trainer_create: trainer is NULL");
    *trainer = NULL;
    if (!loss) return wi_fail_null("weft_trainer_create", "loss");
    WI_TRY(WI_OPTIONS(&options, given, "weft_trainer_create", WEFT_TRAINER_OPTIONS_INIT));
    WI_TRY(check_options(loss, &options));
    weft_graph *const graph = weft_tensor_graph(loss);
    weft_trainer *const made = wi_allocate(graph->context->allocator, sizeof *made);
    if (!made) return WEFT_ERROR_MEMORY;
    made->graph = weft_graph_retain(graph);
    made->context = weft_context_retain(graph->context);
    made->options = options;
    made->options.validation = weft_dataset_retain(options.validation);
    made->options.distributed = weft_distributed_retain(options.distributed);
    if (!made->options.optimizer.kind) made->options.optimizer = weft_adam(1e-3f);
    made->options.epochs = WI_OPTION(made->options.epochs, 1);
    if (!made->options.batch) made->options.batch = 32;
    if (!made->options.labels) made->options.labels = "label";
    made->created = created;
    wi_arena_init(&made->arena, graph->context->allocator);
    made->info.not_finite_step = made->info.best_epoch = SIZE_MAX;
    made->info.best = (double)NAN;
    atomic_init(&made->references, 1);
    atomic_init(&made->cancelled, false);
    atomic_init(&made->stopping, false);
    init_pass_options(made);
    const wi_attempt attempt = wi_attempt_begin(graph);
    const weft_status status = build(made, loss);
    made->options.updates = made->options.carries = NULL; /* the caller may free them */
    made->options.optimizer.groups = NULL;
    if (status != WEFT_OK) {
        weft_trainer_release(made); /* first, as its plans use nodes that the attempt removes */
        return wi_attempt_end(&attempt, status);
    }
    *trainer = made;
    return WEFT_OK;
}

weft_status weft_trainer_create(
    weft_trainer **trainer, weft_tensor *loss, const weft_trainer_options *options) {
    return WI_STATUS_CALL(weft_tensor_graph(loss), "weft_trainer_create", create(trainer, loss, options));
}

weft_trainer *weft_trainer_retain(weft_trainer *trainer) {
    if (trainer) atomic_fetch_add(&trainer->references, 1);
    return trainer;
}

void weft_trainer_release(weft_trainer *trainer) {
    if (!trainer || atomic_fetch_sub(&trainer->references, 1) != 1) return;
    weft_context *const context = trainer->context;
    wi_checkpointer_clear(&trainer->checkpointer);
    wi_pass_clear(&trainer->training);
    wi_pass_clear(&trainer->validation);
    wi_pass_clear(&trainer->evaluation);
    for (size_t i = 0; i < 3; i++)
        if (trainer->shards[i].allocator || trainer->shards[i].count) wi_shards_clear(&trainer->shards[i]);
    wi_carries_clear(&trainer->carries);
    wi_watch_clear(&trainer->watch);
    wi_training_log_clear(&trainer->log);
    weft_events_release(trainer->events);
    wi_mistakes_free(trainer->mistakes);
    wi_arena_clear(&trainer->arena);
    weft_dataset_release(trainer->options.validation);
    if (trainer->options.distributed) trainer->options.distributed->stops = NULL;
    weft_distributed_release(trainer->options.distributed);
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

weft_status weft_trainer_stop(weft_trainer *trainer) {
    if (!trainer) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_trainer_stop: trainer is NULL");
    atomic_store(&trainer->stopping, true);
    return WEFT_OK;
}
