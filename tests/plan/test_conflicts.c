/* Plans whose meaning would depend on the order of their outputs are refused, in one line that names both sides. */
/* test once */
#include "support/fixture.h"

static weft_status plan_of(weft_tensor *a, weft_tensor *b) {
    weft_plan *plan = NULL;
    weft_tensor *const outputs[] = {a, b};
    const weft_status status = weft_plan_create(&plan, outputs, 2, NULL);
    weft_plan_release(plan);
    return status;
}

typedef struct training {
    weft_graph *graph;
    weft_tensor *w, *other, *loss, *update, *assign;
} training;

static training make_training(const char *frozen) {
    training t = {.graph = test_graph()};
    weft_tensor *const x = weft_input(t.graph, "x", WEFT_F32, 4);
    t.w = weft_parameter(t.graph, "w", weft_glorot_uniform(), 4, 4);
    t.other = weft_parameter(t.graph, "other", weft_glorot_uniform(), 3, 4);
    t.loss = weft_mse(weft_matmul(x, weft_matmul(t.w, weft_transpose(t.other))), weft_number(x, 0));
    if (frozen) assert_weft_ok(weft_freeze(t.graph, frozen, true));
    const weft_optimizer sgd = weft_sgd(0.1f);
    size_t count = 0;
    weft_tensor *updates[WEFT_MAX_UPDATES];
    assert_weft_ok(weft_minimize(t.loss, &sgd, updates, WEFT_MAX_UPDATES, &count));
    assert_int_equal(count, 1);
    t.update = updates[0];
    t.assign = weft_assign(t.w, weft_mul_number(t.w, 0.5));
    return t;
}

static void an_update_and_an_assignment(void **state) {
    const training t = make_training(NULL);
    (void)state;
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, plan_of(t.update, t.assign), "weft_minimize", "write 'w'", "weft_assign_after");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, plan_of(t.assign, t.update), "weft_minimize", "write 'w'");
    assert_weft_ok(plan_of(t.update, t.loss));
    assert_weft_ok(plan_of(t.assign, t.loss));
    weft_graph_release(t.graph);
}

/* The update does not write a frozen parameter. */
static void a_frozen_parameter_may_be_assigned(void **state) {
    const training t = make_training("w");
    (void)state;
    assert_weft_ok(plan_of(t.update, t.assign));
    weft_graph_release(t.graph);
}

static void two_assignments_and_two_updates(void **state) {
    const training t = make_training(NULL);
    weft_tensor *const twice = weft_assign(t.w, weft_neg(t.w)), *const else_where =
                                                                    weft_assign(t.other, weft_neg(t.other));
    const weft_optimizer sgd = weft_adam(0.2f);
    size_t count = 0;
    weft_tensor *updates[WEFT_MAX_UPDATES];
    (void)state;
    assert_weft_fails(WEFT_ERROR_ARGUMENT, plan_of(t.assign, twice),
        "'w' is assigned twice in one plan (by its outputs 0 and 1)", "weft_assign_after");
    assert_weft_ok(plan_of(t.assign, t.assign));
    assert_weft_ok(plan_of(t.assign, else_where));
    assert_weft_ok(weft_minimize(t.loss, &sgd, updates, WEFT_MAX_UPDATES, &count));
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, plan_of(t.update, updates[0]), "is updated twice in one plan (by weft_minimize");
    weft_graph_release(t.graph);
}

static void a_norm_and_an_assignment(void **state) {
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){4, 3});
    weft_tensor *const y = weft_batch_norm(x), *const mean =
                                                   weft_graph_find(graph, "batchnorm1.running_mean");
    (void)state;
    assert_weft_fails(WEFT_ERROR_ARGUMENT, plan_of(y, weft_assign(mean, weft_neg(mean))),
        "'batchnorm1.running_mean' is assigned twice in one plan (by its output 1 and by a layer");
    weft_graph_release(graph);
}

/* Its memory has what was there before. */
static void an_input_that_was_never_written(void **state) {
    weft_graph *const graph = test_graph();
    weft_tensor *const a = weft_input(graph, "a", WEFT_F32, 2), *const b =
                                                                    weft_input(graph, "b", WEFT_F32, 2);
    weft_tensor *const y = weft_add(a, b);
    const float numbers[2] = {1, 2};
    float got[2];
    weft_plan *plan = NULL;
    weft_profile *profile = NULL;
    (void)state;
    assert_weft_ok(weft_plan_create(&plan, &y, 1, NULL));
    assert_weft_fails(WEFT_ERROR_STATE, weft_plan_run(plan), "input 'a' was never written");
    weft_tensor *const unused = weft_input(graph, "unused", WEFT_F32, 2);
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_write(plan, unused, numbers, sizeof numbers),
        "'unused' is not one of the plan's inputs: no output of the plan depends on it");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_read(plan, b, got, sizeof got),
        "'b' is not one of the plan's outputs; pass it to weft_plan_create");
    assert_weft_ok(weft_plan_write(plan, a, numbers, sizeof numbers));
    assert_weft_fails(WEFT_ERROR_STATE, weft_plan_run(plan), "input 'b' was never written");
    assert_weft_fails(WEFT_ERROR_STATE, weft_profile_run(&profile, plan), "input 'b'");
    assert_weft_ok(weft_plan_write_async(plan, b, numbers, sizeof numbers));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, y, got, sizeof got));
    assert_true(got[0] == 2 && got[1] == 4);
    assert_weft_ok(weft_plan_run(plan)); /* what was written stays */
    weft_plan_release(plan);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_update_and_an_assignment),
        cmocka_unit_test(a_frozen_parameter_may_be_assigned),
        cmocka_unit_test(two_assignments_and_two_updates),
        cmocka_unit_test(a_norm_and_an_assignment),
        cmocka_unit_test(an_input_that_was_never_written),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
