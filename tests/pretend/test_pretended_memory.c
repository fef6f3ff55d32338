/* A device whose largest buffer is smaller than what a network takes: parameters and intermediates are split over
 * buffers, with the same numbers, and what cannot be split is an error. */
#include "pretended.h"
#include <math.h>
#include <stdio.h>

enum { BATCH = 16, WIDTH = 500, STEPS = 3 };

typedef struct outcome {
    float losses[STEPS], last[WIDTH]; /* of each step; of the last parameter */
    pretend_record record;
} outcome;

/* Three parameters of 1,000,000 bytes, and intermediates of 32,000. */
static weft_tensor *loss_of(weft_tensor *x) {
    weft_tensor *h = x;
    for (int i = 0; i < 3; i++) h = weft_tanh(weft_linear(h, WIDTH));
    return weft_mean(weft_square(h));
}

static void train(outcome *o, weft_context *context, const weft_optimizer *optimizer) {
    static float x[BATCH * WIDTH];
    weft_tensor *outputs[1 + WEFT_MAX_UPDATES];
    weft_plan *plan = NULL;
    size_t count = 0;
    weft_graph *graph = NULL;
    assert_ok(weft_graph_create(&graph, context));
    weft_tensor *const input = weft_input(graph, "x", WEFT_F32, WIDTH);
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    for (size_t i = 0; i < BATCH * WIDTH; i++) x[i] = (float)(i * 2654435761u % 1000u) / 500.0f - 1.0f;
    outputs[0] = loss_of(input);
    assert_ok(weft_minimize(outputs[0], optimizer, outputs + 1, WEFT_MAX_UPDATES, &count));
    assert_ok(weft_plan_create(&plan, outputs, 1 + count, &options));
    assert_ok(weft_plan_write(plan, input, x, sizeof x));
    for (int i = 0; i < STEPS; i++) {
        assert_ok(weft_plan_run(plan));
        assert_ok(weft_plan_read(plan, outputs[0], &o->losses[i], sizeof *o->losses));
    }
    weft_tensor *const bias = weft_graph_parameter(graph, weft_graph_parameter_count(graph) - 1);
    assert_ok(weft_tensor_read(bias, o->last, sizeof o->last));
    weft_plan_release(plan);
    weft_graph_release(graph);
}

typedef struct training {
    weft_optimizer optimizer;
    float tolerance;
} training;
enum { TRAININGS = 2 };

static void train_all(outcome o[TRAININGS], const char *device, const training *trainings) {
    weft_context *const context = pretended_open(device);
    for (int i = 0; i < TRAININGS; i++) {
        pretend_layer_begin();
        train(&o[i], context, &trainings[i].optimizer);
        o[i].record = pretend_layer_record();
    }
    weft_context_release(context);
}

static void assert_same(const outcome *whole, const outcome *split, float tolerance) {
    assert_int_equal(split->record.above, 0);
    assert_true(whole->record.largest > 3000000); /* one buffer of all parameters */
    assert_true(split->record.largest > 900000 && split->record.largest <= 1 << 20);
    for (int i = 0; i < STEPS; i++)
        assert_true(fabsf(split->losses[i] - whole->losses[i]) <= tolerance * fabsf(whole->losses[i]));
    for (int i = 0; i < WIDTH; i++) assert_true(fabsf(split->last[i] - whole->last[i]) <= tolerance);
    assert_true(whole->losses[STEPS - 1] < whole->losses[0]);
}

/* The norm is one of all parameters, added up in another order. */
static void parameters_are_split_over_buffers(void **state) {
    training trainings[TRAININGS] = {{weft_adam(1e-3f), 0}, {weft_sgd_momentum(0.1f, 0.9f, 0), 1e-6f}};
    outcome whole[TRAININGS], split[TRAININGS];
    (void)state;
    trainings[1].optimizer.clip_norm = 0.01f;
    trainings[1].optimizer.average_decay = 0.9f;
    train_all(whole, "largest256", trainings);
    train_all(split, "tiny", trainings);
    for (int i = 0; i < TRAININGS; i++) assert_same(&whole[i], &split[i], trainings[i].tolerance);
}

/* What is not computed example by example, an example alone, a row of a parameter, and a parameter that is read whole. */
static void a_tensor_above_the_limit_is_an_error(void **state) {
    weft_context *const context = pretended_open("tiny");
    weft_graph *const graph = weft_context_graph(context);
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 1000);
    weft_plan *plan = NULL;
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 300};
    (void)state;
    weft_tensor *const y = weft_cumsum(x, 0);
    assert_fails(weft_plan_create(&plan, &y, 1, &options), WEFT_ERROR_DEVICE_MEMORY,
        "plan: input 'x' (batch, 1000), which cumsum needs in one buffer, of 1200000 bytes is too large: the "
        "largest "
        "buffer of Pretended tiny has 1048576 bytes; use a smaller batch");
    weft_tensor *const wide = weft_exp(weft_input(graph, "wide", WEFT_F32, 300000));
    assert_fails(weft_plan_create(&plan, &wide, 1, &options), WEFT_ERROR_DEVICE_MEMORY,
        "(batch, 300000) of 360000000 bytes is too large: the largest");
    weft_tensor *const rows = weft_sum(weft_parameter(graph, "rows", weft_zeros(), 2, 300000));
    assert_fails(weft_plan_create(&plan, &rows, 1, NULL), WEFT_ERROR_DEVICE_MEMORY,
        "parameter 'rows' (2, 300000) of 2400000 bytes is too large: the largest");
    weft_tensor *const table = weft_parameter(graph, "table", weft_zeros(), 600, 1000);
    weft_tensor *const sums = weft_sum(weft_cumsum(table, 0));
    assert_fails(weft_plan_create(&plan, &sums, 1, NULL), WEFT_ERROR_DEVICE_MEMORY,
        "plan: parameter 'table' (600, 1000), which cumsum needs in one buffer, of 2400000 bytes is too "
        "large: the "
        "largest");
    weft_tensor *const index = weft_array(graph, WEFT_I32, (int32_t[]){1}, 1, (int64_t[]){1});
    weft_tensor *const line = weft_parameter(graph, "line", weft_zeros(), 1, 300000);
    weft_tensor *const added = weft_sum(weft_index_sum(line, 0, index, 2));
    assert_fails(weft_plan_create(&plan, &added, 1, NULL), WEFT_ERROR_DEVICE_MEMORY,
        "plan: index_sum (2, 300000), which the plan needs in one buffer, of 2400000 bytes is too large: the "
        "largest");
    weft_tensor *const turned = weft_neg(weft_transpose(table));
    assert_fails(weft_plan_create(&plan, &turned, 1, NULL), WEFT_ERROR_DEVICE_MEMORY,
        "plan: neg (1000, 600), which the caller needs in one buffer, of 2400000 bytes is too large: the "
        "largest");
    assert_ok(weft_graph_status(graph));
    assert_int_equal(pretend_layer_record().above, 0);
    weft_context_release(context);
}

static weft_context *open_large(const char *device) {
    weft_context *context = NULL;
    assert_true(pretend_layer_choose(device));
    pretend_layer_begin();
    const weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT, .large_buffers = true};
    assert_ok(weft_context_create(&context, &options));
    return context;
}

/* y = 2 x of so many numbers. */
static weft_status compute_large(weft_context *context, int64_t count) {
    weft_plan *plan = NULL;
    weft_tensor *const x = weft_input(weft_context_graph(context), "x", WEFT_F32, count);
    weft_tensor *const y = weft_add(x, x);
    float *const values = malloc((size_t)count * sizeof *values);
    assert_non_null(values);
    for (int64_t i = 0; i < count; i++) values[i] = (float)i;
    weft_status status = weft_plan_create(&plan, &y, 1, NULL);
    if (status == WEFT_OK) status = weft_plan_write(plan, x, values, (size_t)count * sizeof *values);
    if (status == WEFT_OK) status = weft_plan_run(plan);
    if (status == WEFT_OK) status = weft_plan_read(plan, y, values, (size_t)count * sizeof *values);
    for (int64_t i = 0; i < count && status == WEFT_OK; i++) assert_true(values[i] == 2 * (float)i);
    free(values);
    weft_plan_release(plan);
    return status;
}

/* Such a driver has a flag for them, and an option of its compiler. */
static void large_buffers_are_asked_for(void **state) {
    (void)state;
    weft_context *context = open_large("flagged");
    assert_ok(compute_large(context, 300000));
    const pretend_record record = pretend_layer_record();
    assert_int_equal(record.above, 0);
    assert_true(record.flags > 0 && record.options == record.builds);
    assert_fails(compute_large(context, 20000000), WEFT_ERROR_DEVICE_MEMORY, "the device has no more memory");
    weft_context_release(context);
    context = pretended_open("flagged"); /* not asked for */
    assert_fails(compute_large(context, 300000), WEFT_ERROR_DEVICE_MEMORY, "the option large_buffers");
    assert_int_equal(pretend_layer_record().options + pretend_layer_record().flags, 0);
    weft_context_release(context);
}

/* Asked for, and refused by a driver that means it. */
static void refused_buffers_are_an_error(void **state) {
    (void)state;
    weft_context *const context = open_large("tiny");
    assert_fails(compute_large(context, 300000), WEFT_ERROR_DEVICE_MEMORY, "CL_INVALID_BUFFER_SIZE");
    assert_true(pretend_layer_record().above > 0);
    weft_context_release(context);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_split_over_buffers),
        cmocka_unit_test(a_tensor_above_the_limit_is_an_error),
        cmocka_unit_test(large_buffers_are_asked_for),
        cmocka_unit_test(refused_buffers_are_an_error),
    };
    (void)argc;
    pretended_start(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
