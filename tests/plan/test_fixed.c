/* What an inference plan computes once: packed weights and steps on variables alone. Every way to write a variable must
 * reach a plan that has run before: its results are compared, bit by bit, with those of a plan made after the write. */
/* test slow */
#include "ops/op_table.h"
#include "support/fixture.h"

#include "plan/compiled_plan.h"
#include <stdlib.h>
#include <string.h>
#include <weft/profile.h>

enum { BATCH = 3, SIDE = 12, CHANNELS = 8, CLASSES = 40, IMAGE = BATCH * CHANNELS * SIDE * SIDE };

typedef struct network {
    weft_graph *graph;
    weft_tensor *x, *y;
    weft_tensor *updates[16];
    size_t update_count;
} network;

/* Windows, a norm with running statistics, a pointwise convolution and a matrix product. */
static network make_network(void) {
    network n = {.graph = test_graph()};
    weft_optimizer rule = weft_sgd(0.05f);
    rule.average_decay = 0.5f;
    n.x = weft_input(n.graph, "x", WEFT_F32, CHANNELS, SIDE, SIDE);
    weft_tensor *h = weft_relu(weft_batch_norm(weft_conv2d(n.x, 32, 3)));
    h = weft_relu(weft_conv2d(h, 48, 1));
    n.y = weft_linear(weft_flatten(h), CLASSES);
    weft_tensor *const loss = weft_mean(weft_square(n.y));
    assert_weft_ok(weft_minimize(loss, &rule, n.updates, 16, &n.update_count));
    return n;
}

static const float *image(void) {
    static float values[IMAGE];
    test_random random = test_random_named("fixed", 1);
    for (int i = 0; i < IMAGE; i++) values[i] = (float)test_random_between(&random, -1, 1);
    return values;
}

static weft_plan *new_plan(const network *n, size_t memory_limit) {
    weft_plan *plan = NULL;
    const weft_plan_options options = {
        WEFT_PLAN_OPTIONS_INIT, .batch = BATCH, .inference = true, .memory_limit = memory_limit};
    assert_weft_ok(weft_plan_create(&plan, &n->y, 1, &options));
    assert_weft_ok(weft_plan_write(plan, n->x, image(), IMAGE * sizeof(float)));
    return plan;
}

static void predict(weft_plan *plan, const network *n, float *y) {
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, n->y, y, BATCH * CLASSES * sizeof *y));
}

/* A plan that has run. */
static weft_plan *plan_that_ran(const network *n, float *y) {
    weft_plan *const plan = new_plan(n, 0);
    predict(plan, n, y);
    return plan;
}

/* The plan computes what a new one does, and something else than `before`, which becomes it. */
static void expect_change(weft_plan *plan, const network *n, float *before, const char *what) {
    float got[BATCH * CLASSES], again[BATCH * CLASSES], wanted[BATCH * CLASSES];
    weft_plan *const other = new_plan(n, 0);
    predict(other, n, wanted);
    predict(plan, n, got);
    predict(plan, n, again);
    weft_plan_release(other);
    if (memcmp(got, wanted, sizeof got) != 0) fail_msg("%s did not reach the plan", what);
    if (memcmp(got, before, sizeof got) == 0) fail_msg("%s changed nothing", what);
    assert_memory_equal(again, got, sizeof got);
    memcpy(before, got, sizeof got);
}

static void write_variable(weft_tensor *variable) {
    const size_t bytes = variable->variable->bytes, count = bytes / sizeof(float);
    float *const values = malloc(bytes);
    assert_non_null(values);
    assert_weft_ok(weft_tensor_read(variable, values, bytes));
    for (size_t i = 0; i < count; i++) values[i] = 0.9f * values[i] + 0.01f;
    assert_weft_ok(weft_tensor_write(variable, values, bytes));
    free(values);
}

static void train(const network *n) {
    weft_plan *plan = NULL;
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    assert_weft_ok(weft_plan_create(&plan, n->updates, n->update_count, &options));
    assert_weft_ok(weft_plan_write(plan, n->x, image(), IMAGE * sizeof(float)));
    for (int i = 0; i < 3; i++) assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_wait(plan));
    weft_plan_release(plan);
}

static void test_writes_reach_a_plan(void **state) {
    (void)state;
    const network n = make_network();
    float y[BATCH * CLASSES];
    weft_plan *const plan = plan_that_ran(&n, y);
    for (size_t i = 0; i < weft_graph_parameter_count(n.graph); i++) {
        write_variable(weft_graph_parameter(n.graph, i));
        expect_change(plan, &n, y, weft_tensor_name(weft_graph_parameter(n.graph, i)));
    }
    for (size_t i = 0; i < 2; i++) { /* mean and variance of the norm */
        write_variable(weft_graph_state(n.graph, i));
        expect_change(plan, &n, y, weft_tensor_name(weft_graph_state(n.graph, i)));
    }
    weft_plan_release(plan);
    weft_graph_release(n.graph);
}

static void test_copies_reach_a_plan(void **state) {
    (void)state;
    const network n = make_network();
    float y[BATCH * CLASSES];
    weft_plan *const plan = plan_that_ran(&n, y);
    weft_snapshot *snapshot = NULL;
    assert_weft_ok(weft_snapshot_create(&snapshot, n.graph));
    assert_weft_ok(weft_snapshot_take(snapshot));
    weft_tensor *const mean = weft_graph_state(n.graph, 0), *const variance = weft_graph_state(n.graph, 1);
    assert_weft_ok(weft_tensor_copy(mean, variance));
    expect_change(plan, &n, y, "a copy");
    assert_weft_ok(weft_snapshot_restore(snapshot));
    expect_change(plan, &n, y, "a snapshot");
    weft_snapshot_release(snapshot);
    weft_plan_release(plan);
    weft_graph_release(n.graph);
}

static void test_other_writers_reach_a_plan(void **state) {
    (void)state;
    const network n = make_network();
    float y[BATCH * CLASSES];
    weft_plan *const plan = plan_that_ran(&n, y);
    assert_weft_ok(weft_weights_save(n.graph, test_path("fixed.safetensors")));
    train(&n);
    expect_change(plan, &n, y, "a step of training");
    assert_weft_ok(weft_average_swap(n.graph));
    expect_change(plan, &n, y, "the average");
    assert_weft_ok(weft_average_swap(n.graph));
    expect_change(plan, &n, y, "the end of the average");
    assert_weft_ok(weft_weights_load(n.graph, test_path("fixed.safetensors"), NULL));
    expect_change(plan, &n, y, "a file");
    weft_plan_release(plan);
    weft_graph_release(n.graph);
}

/* A state that the plan itself assigns is read anew in every run. */
static void test_carried_state(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 4);
    weft_tensor *const carried =
        weft_state_shape(graph, "carried", WEFT_F32, weft_fill(1.0f), 2, (const int64_t[]){4, 4});
    weft_tensor *const doubled = weft_mul(carried, weft_constant(graph, WEFT_F32, 2));
    weft_tensor *const outputs[] = {weft_matmul(x, doubled), weft_assign(carried, doubled)};
    const float ones[4] = {1, 1, 1, 1};
    float y[4];
    weft_plan *plan = NULL;
    assert_weft_ok(
        weft_plan_create(&plan, outputs, 2, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .inference = true}));
    assert_weft_ok(weft_plan_write(plan, x, ones, sizeof ones));
    for (int run = 1; run < 5; run++) {
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_plan_read(plan, outputs[0], y, sizeof y));
        assert_float_equal(y[0], 4.0f * (float)(1 << run), 0);
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static void expect_launches(weft_plan *plan, size_t launches) {
    weft_profile *profile = NULL;
    weft_profile_info info;
    assert_weft_ok(weft_profile_run(&profile, plan));
    assert_weft_ok(weft_profile_get_info(profile, &info));
    assert_int_equal(info.launches, launches);
    weft_profile_release(profile);
}

static size_t count_fixed(const weft_plan *plan) {
    size_t count = 0;
    for (size_t i = 0; i < plan->launches.count; i++) count += plan->launches.launches[i].is_fixed;
    return count;
}

/* Launches of a run are those that are not fixed; what these keep counts as the plan's memory, and under a limit that it
 * does not fit into every launch runs every time, with the same bits. */
static void test_launches_and_memory(void **state) {
    (void)state;
    const network n = make_network();
    weft_plan *const plan = new_plan(&n, 0);
    weft_plan_info info, small_info;
    assert_weft_ok(weft_plan_get_info(plan, &info));
    weft_plan *const small = new_plan(&n, info.total_bytes - 1);
    assert_weft_ok(weft_plan_get_info(small, &small_info));
    assert_true(small_info.total_bytes < info.total_bytes);
    assert_true(count_fixed(plan) >= 1);
    assert_int_equal(count_fixed(small), 0);
    assert_int_equal(small_info.launches, info.launches + count_fixed(plan));
    float y[BATCH * CLASSES], wanted[BATCH * CLASSES];
    predict(small, &n, wanted);
    for (int run = 0; run < 3; run++) {
        predict(plan, &n, y);
        assert_memory_equal(y, wanted, sizeof y);
    }
    expect_launches(plan, info.launches);
    weft_plan_release(plan);
    weft_plan_release(small);
    weft_graph_release(n.graph);
}

/* What a list of assignments writes is fixed no more; the weights, which it does not write, are. */
static void test_list_of_assignments(void **state) {
    (void)state;
    const network n = make_network();
    weft_tensor *counts[2], *parts[2];
    for (int i = 0; i < 2; i++) {
        counts[i] = weft_state_shape(
            n.graph, i ? "second" : "first", WEFT_F32, weft_zeros(), 1, (const int64_t[]){3});
        parts[i] = weft_assign(counts[i], weft_add_number(counts[i], 1));
    }
    weft_tensor *const outputs[] = {n.y, wi_assign_all(parts, 2)};
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH, .inference = true};
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, 2, &options));
    assert_true(plan->partition.assigned[counts[0]->variable->block]);
    assert_true(plan->partition.assigned[counts[1]->variable->block]);
    assert_false(plan->partition.assigned[weft_graph_parameter(n.graph, 0)->variable->block]);
    assert_true(count_fixed(plan) >= 1);
    weft_plan_release(plan);
    weft_graph_release(n.graph);
}

/* Weights of a scan are packed once, its first states are set in every run: other rows give what a new plan gives. */
static void expect_scan(int64_t hidden, int64_t projection, int64_t batch) {
    enum { STEPS = 5, WIDTH = 6, MOST = 256 };
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, STEPS, WIDTH);
    const weft_recurrent_options options = {WEFT_RECURRENT_OPTIONS_INIT, .projection = projection};
    weft_tensor *const y = weft_lstm(x, hidden, &options).y;
    const size_t bytes = sizeof(float) * (size_t)(batch * STEPS * (projection ? projection : hidden));
    const weft_plan_options plans = {WEFT_PLAN_OPTIONS_INIT, .batch = batch, .inference = true};
    static float values[3 * STEPS * WIDTH], got[3 * STEPS * MOST], wanted[3 * STEPS * MOST];
    test_random random = test_random_named("scans", 1);
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, &y, 1, &plans));
    assert_true(count_fixed(plan) >= 1);
    for (int run = 0; run < 3; run++) {
        weft_plan *other = NULL;
        for (int i = 0; i < batch * STEPS * WIDTH; i++)
            values[i] = (float)test_random_between(&random, -1, 1);
        assert_weft_ok(weft_plan_create(&other, &y, 1, &plans));
        weft_plan *const both[] = {plan, other};
        float *const results[] = {got, wanted};
        for (int i = 0; i < 2; i++) {
            assert_weft_ok(
                weft_plan_write(both[i], x, values, sizeof(float) * (size_t)(batch * STEPS * WIDTH)));
            assert_weft_ok(weft_plan_run(both[i]));
            assert_weft_ok(weft_plan_read(both[i], y, results[i], bytes));
        }
        assert_memory_equal(got, wanted, bytes);
        weft_plan_release(other);
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static void test_scans_pack_once(void **state) {
    (void)state;
    expect_scan(40, 0, 3);
    expect_scan(40, 24, 3);
    expect_scan(256, 0, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_writes_reach_a_plan),
        cmocka_unit_test(test_copies_reach_a_plan), cmocka_unit_test(test_other_writers_reach_a_plan),
        cmocka_unit_test(test_carried_state), cmocka_unit_test(test_launches_and_memory),
        cmocka_unit_test(test_list_of_assignments), cmocka_unit_test(test_scans_pack_once)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
