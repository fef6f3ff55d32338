/* Optimizers, schedules, state that moves, what plans tell of themselves, profiles, metrics: a loop of the program's own. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

enum { BATCH = 8, WIDTH = 4 };

static weft_optimizer rule_named(const char *name) {
    const struct {
        const char *name;
        weft_optimizer rule;
    } rules[] = {{"sgd", weft_sgd(0.1f)}, {"momentum", weft_sgd_momentum(0.1f, 0.9f, 0)},
        {"adam", weft_adam(1e-3f)}, {"adamw", weft_adamw(1e-3f, 0.01f)}, {"nadam", weft_nadam(1e-3f)},
        {"rmsprop", weft_rmsprop(1e-2f)}, {"adagrad", weft_adagrad(1e-2f)}, {"adadelta", weft_adadelta(1)},
        {"lamb", weft_lamb(1e-3f, 0.01f)}, {"lion", weft_lion(1e-4f, 0.01f)}};
    size_t i = 0;
    while (i + 1 < sizeof rules / sizeof *rules && strcmp(rules[i].name, name) != 0) i++;
    return rules[i].rule;
}

static weft_status print_schedules(void) {
    const uint64_t milestones[] = {30, 60};
    const weft_schedule schedules[] = {weft_step_schedule(30, 0.1f),
        weft_multi_step_schedule(milestones, 2, 0.1f), weft_exponential_schedule(0.95f),
        weft_cosine_schedule(90, 0), weft_cosine_restarts_schedule(10, 2, 0), weft_one_cycle_schedule(90),
        weft_polynomial_schedule(90, 2), weft_warmup(weft_cosine_schedule(80, 0), 10, 0.1f)};
    weft_status status = WEFT_OK;
    float rate = 0;
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules && !status; i++) {
        status = weft_schedule_rate(&schedules[i], 0.1f, 45, &rate);
        printf("schedule %zu: %g\n", i, (double)rate);
    }
    const weft_schedule plateau = weft_plateau_schedule(0.5f, 2);
    weft_plateau so_far = {0};
    for (int epoch = 0; epoch < 5 && !status; epoch++)
        status = weft_plateau_rate(&plateau, &so_far, 0.1f, 1.0, &rate);
    return status;
}

/* Each function of a step by gradients of the program's own; freezing; the average of the weights. */
static weft_status train(weft_graph *graph, weft_tensor *loss, weft_plan **plan, weft_tensor **rate) {
    weft_optimizer rule = rule_named("adam");
    rule.average_decay = 0.99f;
    rule.schedule = weft_per_step(weft_cosine_schedule(1000, 1e-4f));
    weft_tensor *parameters[4], *gradients[4], *outputs[3] = {loss};
    weft_status status = weft_freeze(graph, "linear1.bias", true);
    if (!status) status = weft_freeze(graph, "linear1.bias", false);
    const size_t count = weft_graph_parameter_count(graph);
    for (size_t i = 0; i < count && i < 4; i++) parameters[i] = weft_graph_parameter(graph, i);
    if (!status) status = weft_gradients(loss, parameters, count, gradients);
    if (status) return status;
    gradients[0] = weft_add(
        gradients[0], weft_mul_number(weft_gradient(weft_sum(weft_abs(parameters[0])), parameters[0]), 1e-4));
    weft_optimizer_state *optimizer = weft_optimizer_create(graph, &rule);
    outputs[1] = weft_optimizer_step(optimizer, parameters, gradients, count);
    outputs[2] = weft_assign_after(parameters[0], weft_clamp(parameters[0], -1, 1));
    *rate = weft_optimizer_rate(optimizer);
    const weft_plan_options size = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    return weft_plan_create(plan, outputs, 3, &size);
}

/* A test of rates that leaves no trace, then an update with the best of them. */
static weft_status choose_rate(weft_graph *graph, weft_plan *plan, weft_tensor *loss, weft_tensor *rate) {
    weft_snapshot *before = NULL;
    weft_status status = weft_snapshot_create(&before, graph);
    float best = 1e-3f, least = INFINITY, now = 0;
    if (!status) status = weft_snapshot_take(before);
    for (float trial = 1e-4f; trial < 1 && !status; trial *= 10) {
        if (!status) status = weft_scalar_set(rate, trial);
        for (int step = 0; step < 3 && !status; step++) status = weft_plan_run(plan);
        if (!status) status = weft_plan_read(plan, loss, &now, sizeof now);
        if (now < least) best = trial, least = now;
        if (!status) status = weft_snapshot_restore(before);
    }
    if (!status) status = weft_scalar_set(rate, best);
    if (!status) status = weft_scalar_get(rate, &best);
    if (!status) status = weft_plan_run(plan);
    printf("rate %g, loss %g\n", (double)best, (double)least);
    weft_snapshot_release(before);
    return status;
}

static weft_status describe(weft_plan *plan) {
    weft_profile *profile = NULL;
    weft_profile_info times;
    weft_profile_row row;
    weft_plan_info info;
    char text[4096];
    size_t length;
    weft_status status = weft_plan_get_info(plan, &info);
    if (!status) status = weft_plan_describe(plan, WEFT_FORMAT_TEXT, text, sizeof text, &length);
    if (!status) status = weft_profile_run(&profile, plan);
    if (!status) status = weft_profile_get_info(profile, &times);
    if (!status) status = weft_profile_get_row(profile, 0, &row);
    if (!status) status = weft_profile_describe(profile, WEFT_FORMAT_JSON, NULL, text, sizeof text, &length);
    if (!status)
        printf("%zu steps, %zu bytes, %g s, the first one %s\n", info.steps, info.total_bytes,
            times.wall_seconds, row.ops);
    const char *folder = getenv("TMPDIR");
    char path[512];
    (void)snprintf(path, sizeof path, "%s/example_training.json", folder ? folder : "/tmp");
    if (!status) status = weft_profile_trace(profile, path); /* for ui.perfetto.dev */
    (void)remove(path);
    weft_profile_release(weft_profile_retain(profile));
    weft_profile_release(profile);
    return status;
}

/* A curve through points by L-BFGS, then a step of gradient descent by the program's own arithmetic. */
static weft_status fit(weft_context *context) {
    static const float xs[4][1] = {{0}, {1}, {2}, {3}}, ys[4][1] = {{1}, {3}, {2}, {5}};
    weft_graph *graph = NULL;
    weft_lbfgs *optimizer = NULL;
    weft_plan *plan = NULL;
    weft_lbfgs_info info = {0};
    float numbers[2], slopes[2], first = 0;
    size_t size = 0;
    weft_status status = weft_graph_create(&graph, context);
    if (status) return status;
    weft_tensor *x = weft_input(graph, "x", WEFT_F32, 1), *y = weft_input(graph, "y", WEFT_F32, 1);
    weft_tensor *loss = weft_mse(weft_linear(x, 1), y), *slope = weft_gradient_vector(loss, NULL);
    const weft_value values[] = {
        weft_value_in(x, xs, sizeof xs), weft_value_in(y, ys, sizeof ys), {slope, slopes, sizeof slopes}};
    status = weft_lbfgs_create(&optimizer, loss, WEFT_WITH(lbfgs, .batch = 4));
    if (!status) status = weft_lbfgs_step(optimizer, values, 2, &first);
    weft_lbfgs_get_info(optimizer, &info);
    printf("loss %g, then %g after %zu evaluations\n", (double)first, info.loss, info.evaluations);
    if (!status) status = weft_plan_create(&plan, &slope, 1, WEFT_WITH(plan, .batch = 4));
    if (!status) status = weft_plan_step(plan, values, 3);
    if (!status) status = weft_vector_size(graph, NULL, &size);
    if (!status) status = weft_vector_read(graph, NULL, numbers, size);
    for (size_t i = 0; i < size; i++) numbers[i] -= 0.01f * slopes[i];
    if (!status) status = weft_vector_write(graph, NULL, numbers, size);
    weft_plan_release(plan), weft_lbfgs_release(optimizer), weft_graph_release(graph);
    return status;
}

static bool stop_after_two(void *trainer, const weft_epoch *e) {
    if (e->epoch == 2) (void)weft_trainer_cancel(*(weft_trainer **)trainer); /* from any thread, too */
    return true;
}

/* How the training in f16 scales its losses. */
static weft_status print_scale(weft_graph *graph) {
    weft_loss_scale now;
    const weft_status status = weft_graph_loss_scale(graph, &now);
    if (!status)
        printf("loss scale %g, %u of %u steps skipped\n", (double)now.scale, (unsigned)now.skipped_steps,
            (unsigned)now.steps);
    return status;
}

/* A trainer runs the loop, in f16; it keeps the best weights, and an interrupted run is an error that says so. */
static weft_status let_train(weft_context *context) {
    float numbers[16][WIDTH], sums[16][1];
    for (int i = 0; i < 16; i++) {
        sums[i][0] = 0;
        for (int k = 0; k < WIDTH; k++) sums[i][0] += numbers[i][k] = sinf((float)(i * WIDTH + k));
    }
    const weft_column columns[] = {
        {.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {WIDTH}, .data = numbers},
        {.name = "sum", .dtype = WEFT_F32, .rank = 1, .dims = {1}, .data = sums}};
    weft_graph *graph = NULL;
    weft_dataset *dataset = NULL;
    weft_trainer *trainer = NULL;
    weft_status status = weft_graph_create(&graph, context);
    if (!status) status = weft_dataset_from_memory(&dataset, context, 16, columns, 2);
    weft_tensor *loss = weft_mse(weft_linear(weft_keep_f32(weft_input(graph, "x", WEFT_F32, WIDTH)), 1),
        weft_input(graph, "sum", WEFT_F32, 1));
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = weft_sgd(0.1f), .epochs = 5,
        .batch = 8, .early_stopping = {.keep_best = true}, .on_epoch = stop_after_two, .user = &trainer,
        .precision = WEFT_PRECISION_F16};
    const weft_loss_scaling scaling = {WEFT_LOSS_SCALING_INIT, .initial = 1024};
    if (!status) status = weft_graph_set_loss_scaling(graph, &scaling);
    if (!status) status = weft_trainer_create(&trainer, loss, &options);
    if (!status) status = weft_trainer_run(trainer, dataset);
    if (status == WEFT_ERROR_CANCELLED) status = weft_trainer_restore_best(trainer);
    if (!status) status = print_scale(graph);
    weft_trainer_release(weft_trainer_retain(trainer));
    weft_trainer_release(trainer), weft_dataset_release(dataset), weft_graph_release(graph);
    return status;
}

static weft_status measure(weft_context *context) {
    const weft_metric metrics[] = {weft_metric_accuracy(), weft_metric_top_k(2), weft_metric_confusion(),
        weft_metric_precision(WEFT_AVERAGE_MACRO), weft_metric_recall(WEFT_AVERAGE_MICRO),
        weft_metric_f1(WEFT_AVERAGE_WEIGHTED), weft_metric_perplexity(), weft_metric_mean_absolute_error(),
        weft_metric_r_squared()};
    const float outputs[2][3] = {{0, 1, 2}, {3, 1, 0}}, targets[2][3] = {{0, 1, 1}, {2, 1, 0}};
    const int32_t labels[] = {2, 1};
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < 9 && !status; i++) {
        weft_metric_state *state = NULL;
        double value = 0, all[9];
        size_t count;
        status = weft_metric_create(&state, context, &metrics[i], 3);
        weft_metric_reset(state);
        if (!status)
            status = i < 7 ? weft_metric_update(state, 2, &outputs[0][0], labels)
                           : weft_metric_update_values(state, 2, &outputs[0][0], &targets[0][0]);
        const weft_metric_rows half = {WEFT_METRIC_ROWS_INIT, .rows = 2, .outputs = &outputs[0][0],
            .labels = i < 7 ? labels : NULL, .targets = i < 7 ? NULL : &targets[0][0],
            .weights = (const float[]){0.5f, 0.5f}};
        if (!status) status = weft_metric_add(state, &half);
        if (!status) status = weft_metric_result(state, &value);
        if (!status) status = weft_metric_values(state, all, 9, &count);
        printf("metric %zu: %g\n", i, value);
        weft_metric_release(state);
    }
    return status;
}

int main(void) {
    weft_context *context = NULL;
    weft_plan *plan = NULL;
    weft_tensor *rate = NULL;
    float numbers[BATCH * WIDTH];
    for (int i = 0; i < BATCH * WIDTH; i++) numbers[i] = sinf((float)i);
    weft_status status = weft_context_create(&context, NULL);
    if (status) goto done;
    weft_graph *graph = weft_context_graph(context);
    weft_tensor *x = weft_input(graph, "x", WEFT_F32, WIDTH),
                *y = weft_linear(weft_tanh(weft_linear(x, 16)), 1);
    weft_tensor *loss =
        weft_mean(weft_square(weft_sub(y, weft_sum_axes(x, (const int64_t[]){1, WEFT_END}, true))));
    if ((status = train(graph, loss, &plan, &rate))) goto done;
    if ((status = weft_plan_write(plan, weft_graph_find_input(graph, "x"), numbers, sizeof numbers)))
        goto done;
    if ((status = choose_rate(graph, plan, loss, rate))) goto done;
    if ((status = weft_accumulation_end(graph))) goto done; /* before the last run of an epoch */
    if ((status = weft_average_swap(graph)) || (status = weft_average_swap(graph)))
        goto done; /* to the average, and back */
    if ((status = describe(plan)) || (status = print_schedules())) goto done;
    if ((status = fit(context)) || (status = let_train(context))) goto done;
    status = measure(context);
done:
    if (status) fprintf(stderr, "training: %s\n", weft_last_error());
    weft_plan_release(plan);
    weft_context_release(context);
    return status != WEFT_OK;
}
