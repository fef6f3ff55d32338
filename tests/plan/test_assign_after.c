/* Assignments after the update: the order, what they see, mixed precision, and what is refused. */
#include "support/fixture.h"
#include <math.h>
#include <string.h>

enum { SIZE = 5 };

/* A parameter whose gradient is the program's, and one beside it whose gradient is -1. */
typedef struct net {
    weft_graph *graph;
    weft_tensor *x, *p, *other, *train;
} net;

static net make_net(weft_optimizer rule, weft_precision precision) {
    net n = {.graph = test_graph()};
    assert_weft_ok(weft_graph_set_precision(n.graph, precision));
    n.x = weft_input_shape(n.graph, "x", WEFT_F32, 1, (const int64_t[]){SIZE});
    n.p = weft_parameter(n.graph, "p", weft_fill(0.5f), SIZE);
    n.other = weft_parameter(n.graph, "other", weft_zeros(), 3);
    weft_tensor *const loss = weft_sub(weft_sum(weft_mul(n.p, n.x)), weft_sum(n.other));
    n.train = weft_train_step(loss, rule, NULL);
    return n;
}

static void run(weft_plan *plan, const net *n, float gradient) {
    float x[SIZE];
    for (int i = 0; i < SIZE; i++) x[i] = gradient;
    assert_weft_ok(weft_plan_write(plan, n->x, x, sizeof x));
    assert_weft_ok(weft_plan_run(plan));
}

static void expect(weft_tensor *variable, float wanted) {
    float values[SIZE];
    const size_t count = (size_t)weft_tensor_dimension(variable, 0);
    assert_weft_ok(weft_tensor_read(variable, values, count * sizeof *values));
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(values[i] - wanted) <= 1e-6f))
            fail_msg("%s is %g, not %g", weft_tensor_name(variable), (double)values[i], (double)wanted);
}

static void clamped_in(weft_precision precision) {
    const net n = make_net(weft_sgd(0.25f), precision);
    weft_plan *plan = NULL;
    weft_tensor *const outputs[] = {weft_assign_after(n.p, weft_clamp(n.p, 0, 1)), n.train};
    assert_weft_ok(weft_plan_create(&plan, outputs, 2, NULL));
    const float gradients[] = {-1, -1, -1, 2, 2, 2}, wanted[] = {0.75f, 1, 1, 0.5f, 0, 0};
    for (int i = 0; i < 6; i++) {
        run(plan, &n, gradients[i]);
        expect(n.p, wanted[i]);
        expect(n.other, 0.25f * (float)(i + 1));
    }
    weft_plan_release(plan);
    weft_graph_release(n.graph);
}

static void parameters_stay_within_bounds(void **state) {
    (void)state;
    clamped_in(WEFT_PRECISION_F32);
    clamped_in(WEFT_PRECISION_BF16);
    clamped_in(WEFT_PRECISION_F16);
}

/* Both see what the update left, and neither the other; a value that is read is that of before. */
static void all_see_what_the_update_left(void **state) {
    (void)state;
    const net n = make_net(weft_sgd(0.5f), WEFT_PRECISION_F32);
    weft_tensor *const copy =
        weft_state_shape(n.graph, "copy", WEFT_F32, weft_zeros(), 1, (const int64_t[]){SIZE});
    weft_tensor *const count =
        weft_state_shape(n.graph, "count", WEFT_F32, weft_zeros(), 1, (const int64_t[]){1});
    weft_tensor *const seen = weft_add_number(n.p, 0);
    weft_tensor *const outputs[] = {seen, weft_assign(count, weft_add_number(count, 1)), n.train,
        weft_assign_after(n.p, weft_mul_number(n.p, 2)), weft_assign_after(copy, n.p),
        weft_assign_after(count, weft_mul_number(count, 10))};
    weft_plan *plan = NULL;
    float before[SIZE];
    assert_weft_ok(weft_plan_create(&plan, outputs, 6, NULL));
    run(plan, &n, -1);
    assert_weft_ok(weft_plan_read(plan, seen, before, sizeof before));
    assert_true(before[0] == 0.5f);
    expect(copy, 1);
    expect(n.p, 2);
    expect(count, 10);
    run(plan, &n, -1);
    expect(copy, 2.5f);
    expect(n.p, 5);
    expect(count, 110);
    weft_plan_release(plan);
    weft_graph_release(n.graph);
}

static void a_skipped_step_skips_them(void **state) {
    (void)state;
    const net n = make_net(weft_sgd(0.5f), WEFT_PRECISION_F16);
    weft_tensor *const outputs[] = {n.train, weft_assign_after(n.p, weft_mul_number(n.p, 2))};
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, 2, NULL));
    run(plan, &n, INFINITY);
    expect(n.p, 0.5f);
    expect(n.other, 0);
    run(plan, &n, -1);
    expect(n.p, 2);
    weft_plan_release(plan);
    weft_graph_release(n.graph);
}

static void figures_count_both(void **state) {
    (void)state;
    const net n = make_net(weft_sgd(0.5f), WEFT_PRECISION_F32);
    weft_tensor *const outputs[] = {n.train, weft_assign_after(n.p, weft_clamp(n.p, 0, 1))};
    weft_plan *alone = NULL, *both = NULL;
    weft_plan_info one, two;
    assert_weft_ok(weft_plan_create(&alone, outputs, 1, NULL));
    assert_weft_ok(weft_plan_create(&both, outputs, 2, NULL));
    assert_weft_ok(weft_plan_get_info(alone, &one));
    assert_weft_ok(weft_plan_get_info(both, &two));
    assert_int_equal(two.launches, one.launches + 1);
    assert_true(two.total_bytes >= one.total_bytes && two.total_bytes == two.arena_bytes + two.io_bytes);
    weft_plan_release(alone);
    weft_plan_release(both);
    assert_weft_ok(weft_plan_create(
        &both, outputs, 2, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .memory_limit = two.total_bytes}));
    weft_plan_release(both);
    weft_graph_release(n.graph);
}

static void they_may_be_alone_and_are_refused(void **state) {
    (void)state;
    const net n = make_net(weft_sgd(0.5f), WEFT_PRECISION_F32);
    weft_plan *plan = NULL;
    weft_tensor *const twice = weft_assign_after(n.p, weft_mul_number(n.p, 2));
    assert_weft_ok(weft_plan_create(&plan, &twice, 1, NULL));
    assert_weft_ok(weft_plan_run(plan));
    expect(n.p, 1);
    weft_plan_release(plan);
    weft_tensor *const of_input[] = {n.train, weft_assign_after(n.p, weft_mul(n.p, n.x))};
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_create(&plan, of_input, 2, NULL), "the input 'x'");
    weft_tensor *const two[] = {n.train, twice, weft_assign_after(n.p, weft_neg(n.p))};
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_create(&plan, two, 3, NULL), "'p' is assigned twice");
    weft_tensor *const missing[] = {twice, NULL};
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_create(&plan, missing, 2, NULL), "output 1 is NULL");
    assert_null(weft_assign_after(n.x, n.x));
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_graph_status(n.graph), "neither a parameter nor a state");
    weft_graph_release(n.graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_stay_within_bounds),
        cmocka_unit_test(all_see_what_the_update_left),
        cmocka_unit_test(a_skipped_step_skips_them),
        cmocka_unit_test(figures_count_both),
        cmocka_unit_test(they_may_be_alone_and_are_refused),
    };
    return test_finish(cmocka_run_group_tests_name("assign after", tests, NULL, NULL));
}
