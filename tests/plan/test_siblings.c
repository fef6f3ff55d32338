/* Loops over one space that need nothing of one another are one step (plan/improve/join_siblings.c): fewer launches, and the same bits as
 * a plan that has them apart. */
/* test slow */
#include "support/fixture.h"

#include "plan/compiled_plan.h"
#include <stdlib.h>
#include <string.h>

enum { BATCH = 8, SIDE = 6, CHANNELS = 16, STEPS = 3, IMAGE = BATCH * CHANNELS * SIDE * SIDE };

typedef struct training {
    weft_graph *graph;
    weft_tensor *outputs[1 + 16]; /* the loss, updates */
    weft_plan *plan;
    float losses[STEPS];
} training;

/* Two branches with a norm each, whose results meet. */
static weft_tensor *make_loss(weft_tensor *x) {
    weft_tensor *const through = weft_batch_norm(weft_conv2d(x, CHANNELS, 3));
    weft_tensor *const beside = weft_batch_norm(weft_conv2d(x, CHANNELS, 3));
    return weft_mean(weft_square(weft_relu(weft_add(through, beside))));
}

static void begin(training *t, bool joins) {
    const weft_optimizer rule = weft_sgd(0.5f);
    size_t count = 0;
    test_random random = test_random_named("siblings", 1);
    float image[IMAGE];
    for (int i = 0; i < IMAGE; i++) image[i] = (float)test_random_between(&random, -1, 1);
    t->graph = test_graph();
    wi_loop_profile *const loops = &wi_context_device(test_context())->profile.loops;
    const bool before = loops->joins;
    loops->joins = joins;
    weft_tensor *const x = weft_input(t->graph, "x", WEFT_F32, CHANNELS, SIDE, SIDE);
    t->outputs[0] = make_loss(x);
    assert_weft_ok(weft_minimize(t->outputs[0], &rule, t->outputs + 1, 16, &count));
    assert_weft_ok(weft_plan_create(
        &t->plan, t->outputs, 1 + count, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = BATCH}));
    loops->joins = before;
    assert_weft_ok(weft_plan_write(t->plan, x, image, sizeof image));
    for (int i = 0; i < STEPS; i++) {
        assert_weft_ok(weft_plan_run(t->plan));
        assert_weft_ok(weft_plan_read(t->plan, t->outputs[0], &t->losses[i], sizeof t->losses[i]));
    }
}

static void end(training *t) {
    weft_plan_release(t->plan);
    weft_graph_release(t->graph);
}

/* Where divisions and square roots need not be exact, an optimiser may compute those of one program in another way than those of
 * the other (losses differ on Intel's CPU runtime): both are compiled without it. */
static void compile_alike(void) {
    cl_device_fp_config floats = 0;
    assert_int_equal(clGetDeviceInfo(wi_context_device(test_context())->id, CL_DEVICE_SINGLE_FP_CONFIG,
                         sizeof floats, &floats, NULL),
        CL_SUCCESS);
    if (!(floats & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT))
        assert_int_equal(setenv("WEFT_BUILD_OPTIONS", "-cl-opt-disable", 1), 0);
}

static void test_the_same_bits(void **state) {
    training joined, apart;
    weft_plan_info info, other;
    (void)state;
    compile_alike();
    begin(&joined, true);
    begin(&apart, false);
    assert_weft_ok(weft_plan_get_info(joined.plan, &info));
    assert_weft_ok(weft_plan_get_info(apart.plan, &other));
    print_message("%zu launches, %zu apart\n", info.launches, other.launches);
    /* The norms' sums, and the gradients of both images. */
    assert_int_equal(joined.plan->partition.step_count + 2, apart.plan->partition.step_count);
    assert_int_equal(joined.plan->transfers, apart.plan->transfers);
    assert_true(apart.losses[0] != apart.losses[STEPS - 1]);
    assert_memory_equal(joined.losses, apart.losses, sizeof apart.losses);
    end(&joined);
    end(&apart);
}

/* The second loop over x reads what the first makes of it, behind what another loop makes beside it in one memory. */
static void read_joined(bool joins, float *sums) {
    enum { ROWS = 6, COLUMNS = 40 };
    weft_graph *const graph = test_graph();
    weft_plan *plan = NULL;
    test_random random = test_random_named("joined", 1);
    float values[ROWS * COLUMNS];
    wi_loop_profile *const loops = &wi_context_device(test_context())->profile.loops;
    const bool before = loops->joins;
    const int64_t dims[] = {ROWS, COLUMNS}, other_dims[] = {ROWS + 1, COLUMNS};
    for (int i = 0; i < ROWS * COLUMNS; i++) values[i] = (float)test_random_between(&random, -1, 1);
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 2, dims);
    weft_tensor *const other = weft_normal(graph, 0, 1, 2, other_dims);
    weft_tensor *const both[] = {weft_max_axes(x, (const int64_t[]){1, WEFT_END}, true),
        weft_max_axes(other, (const int64_t[]){1, WEFT_END}, true)};
    weft_tensor *const largest = weft_concat(both, 2, 0);
    weft_tensor *const y = weft_sum(weft_exp(weft_sub(x, weft_slice(largest, 0, 0, ROWS))), 1);
    loops->joins = joins;
    assert_weft_ok(weft_plan_create(&plan, &y, 1, NULL));
    loops->joins = before;
    assert_weft_ok(weft_plan_write(plan, x, values, sizeof values));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, y, sums, ROWS * sizeof *sums));
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static void test_joins_are_waited_for(void **state) {
    float joined[6], apart[6];
    (void)state;
    compile_alike();
    read_joined(true, joined);
    read_joined(false, apart);
    assert_memory_equal(joined, apart, sizeof apart);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_bits), cmocka_unit_test(test_joins_are_waited_for)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
