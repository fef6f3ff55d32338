/* Second gradients of norms with running statistics, whose form only a plan knows. */
/* test once slow */
#include "support/fixture.h"

#include <math.h>
#include <stdio.h>

enum { SECONDS = 6 * 6 * 5 };

/* d/dx of the sum of the squares of d sum(y³) / d x, weight and bias of the layer, which pass through the gradients of the
 * norm. */
static weft_tensor *second_of(weft_tensor *y, weft_tensor *x, const char *layer) {
    weft_graph *const graph = weft_tensor_graph(x);
    char weight[64], bias[64];
    snprintf(weight, sizeof weight, "%s.weight", layer);
    snprintf(bias, sizeof bias, "%s.bias", layer);
    weft_tensor *const wrt[] = {x, weft_graph_find(graph, weight), weft_graph_find(graph, bias)};
    weft_tensor *first[3], *total = NULL;
    assert_weft_ok(weft_gradients(weft_sum(weft_mul(weft_square(y), y)), wrt, 3, first));
    for (int i = 0; i < 3; i++) {
        weft_tensor *const sum = weft_sum(weft_square(first[i]));
        total = total ? weft_add(total, sum) : sum;
    }
    return weft_gradient(total, x);
}

static void write_statistics(weft_graph *graph, const char *layer) {
    static const float mean[] = {-1, 0, 0.5f, 1, 2, 0.25f}, var[] = {0.5f, 1, 2, 4, 0.25f, 1};
    char name[64];
    snprintf(name, sizeof name, "%s.running_mean", layer);
    assert_weft_ok(weft_tensor_write(weft_graph_find(graph, name), mean, sizeof mean));
    snprintf(name, sizeof name, "%s.running_var", layer);
    assert_weft_ok(weft_tensor_write(weft_graph_find(graph, name), var, sizeof var));
}

/* Fails where two tensors are not alike in a plan of that form. */
static void assert_alike(weft_tensor *x, weft_tensor *a, weft_tensor *b, bool inference) {
    float values[SECONDS], got[SECONDS], wanted[SECONDS], largest = 0;
    test_random random = test_random_named("second gradients", 0);
    for (int i = 0; i < SECONDS; i++) values[i] = (float)test_random_between(&random, -2, 2);
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 6, .inference = inference};
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, (weft_tensor *[]){a, b}, 2, &options));
    assert_weft_ok(weft_plan_step(plan,
        (weft_value[]){{x, values, sizeof values}, {a, got, sizeof got}, {b, wanted, sizeof wanted}}, 3));
    for (int i = 0; i < SECONDS; i++) largest = fmaxf(largest, fabsf(wanted[i]));
    assert_true(largest > 0.1f);
    for (int i = 0; i < SECONDS; i++) assert_true(fabsf(got[i] - wanted[i]) <= 1e-5f * largest);
    weft_plan_release(plan);
}

/* In training those of a norm without running statistics, which tests/golden/ops has from PyTorch; in inference, and
 * where the statistics are frozen, those of a norm with fixed ones, which is linear. */
static void check_seconds(weft_tensor *x, weft_tensor *running, weft_tensor *forgetful, weft_tensor *fixed) {
    weft_graph *const graph = weft_tensor_graph(x);
    assert_weft_ok(weft_graph_status(graph));
    assert_alike(x, running, forgetful, false);
    write_statistics(graph, "moving");
    write_statistics(graph, "still");
    assert_alike(x, running, fixed, true);
    assert_weft_ok(weft_freeze(graph, "moving.running*", true));
    assert_alike(x, running, fixed, false);
    assert_weft_ok(weft_freeze(graph, "moving.running*", false));
    assert_alike(x, running, forgetful, false);
}

#define BATCH(...)                                                                                           \
    weft_batch_norm_layer(x, &(weft_batch_norm_options){WEFT_BATCH_NORM_OPTIONS_INIT, __VA_ARGS__})
#define INSTANCE(...)                                                                                        \
    weft_instance_norm_layer(x, &(weft_instance_norm_options){WEFT_INSTANCE_NORM_OPTIONS_INIT, __VA_ARGS__})

static void second_gradients_of_batch_norm(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 6, 5);
    check_seconds(x, second_of(BATCH(.name = "moving"), x, "moving"),
        second_of(BATCH(.name = "forgetful", .no_running = true), x, "forgetful"),
        second_of(BATCH(.name = "still", .fixed = true), x, "still"));
    weft_graph_release(graph);
}

/* A fixed batch norm is what an instance norm is in inference. */
static void second_gradients_of_instance_norm(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 6, 5);
    check_seconds(x, second_of(INSTANCE(.name = "moving", .affine = true, .running = true), x, "moving"),
        second_of(INSTANCE(.name = "forgetful", .affine = true), x, "forgetful"),
        second_of(BATCH(.name = "still", .fixed = true), x, "still"));
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_gradients_of_batch_norm),
        cmocka_unit_test(second_gradients_of_instance_norm),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
