/* Parameters that are updated where their gradient is computed: the same as when all gradients are written
 * down first, which a norm to be clipped asks for. Two large weights have a small one before, between and
 * behind them, so that the flat tensors are cut at each. */
/* test slow */
#include "support/checks.h"
#include "support/fixture.h"
#include <math.h>
#include <stdlib.h>
#include <weft/weft.h>

enum { BATCH = 3, WIDE = 1040, DEEP = 1024, CLASSES = 7, STEPS = 3 };
static const char *const names[] = {
    "first.weight", "first.bias", "second.weight", "second.bias", "third.weight", "third.bias", "scale"};
static const int64_t sizes[] = {DEEP * WIDE, DEEP, WIDE *DEEP, WIDE, CLASSES *WIDE, CLASSES, 1};
enum { NAMES = sizeof names / sizeof *names };

typedef struct network {
    weft_graph *graph;
    weft_tensor *x, *labels, *loss;
    weft_plan *plan;
} network;

static weft_tensor *layer(weft_tensor *x, const char *weight, const char *bias, int64_t out, int64_t in) {
    weft_graph *const graph = weft_tensor_graph(x);
    weft_tensor *const w = weft_parameter(graph, weight, weft_glorot_uniform(), out, in);
    return weft_linear_with(x, w, weft_parameter(graph, bias, weft_fill(0.1f), out));
}

static void make(network *net, const weft_optimizer *optimizer) {
    assert_ok(weft_graph_create(&net->graph, test_context()));
    net->x = weft_input(net->graph, "x", WEFT_F32, WIDE);
    net->labels = weft_input(net->graph, "labels", WEFT_I32);
    weft_tensor *const scale = weft_parameter(net->graph, names[6], weft_fill(0.5f), 1);
    weft_tensor *h = weft_tanh(layer(weft_mul(net->x, scale), names[0], names[1], DEEP, WIDE));
    h = weft_tanh(layer(h, names[2], names[3], WIDE, DEEP));
    net->loss = weft_cross_entropy(layer(h, names[4], names[5], CLASSES, WIDE), net->labels);
    weft_tensor *outputs[1 + WEFT_MAX_UPDATES] = {net->loss};
    size_t count = 0;
    assert_ok(weft_minimize(net->loss, optimizer, outputs + 1, WEFT_MAX_UPDATES, &count));
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    assert_ok(weft_plan_create(&net->plan, outputs, 1 + count, &options));
}

/* The same first values in both networks, whatever numbers their initialisers draw. */
static void copy_parameters(const network *from, const network *to) {
    for (int i = 0; i < NAMES; i++) {
        const size_t bytes = (size_t)sizes[i] * sizeof(float);
        float *const values = malloc(bytes);
        assert_non_null(values);
        assert_ok(weft_tensor_read(weft_graph_find(from->graph, names[i]), values, bytes));
        assert_ok(weft_tensor_write(weft_graph_find(to->graph, names[i]), values, bytes));
        free(values);
    }
}

static void step(const network *net, int number) {
    static float x[BATCH * WIDE];
    int32_t labels[BATCH];
    for (int i = 0; i < BATCH * WIDE; i++) x[i] = (float)((i * 7 + number * 5) % 23) / 11.0f - 1.0f;
    for (int i = 0; i < BATCH; i++) labels[i] = (i + number) % CLASSES;
    assert_ok(weft_plan_write(net->plan, net->x, x, sizeof x));
    assert_ok(weft_plan_write(net->plan, net->labels, labels, sizeof labels));
    assert_ok(weft_plan_run(net->plan));
}

static void compare(const network *got, const network *expected, const char *what) {
    for (int i = 0; i < NAMES; i++) {
        const size_t bytes = (size_t)sizes[i] * sizeof(float);
        float *const a = malloc(bytes), *const b = malloc(bytes);
        assert_true(a && b);
        assert_ok(weft_tensor_read(weft_graph_find(got->graph, names[i]), a, bytes));
        assert_ok(weft_tensor_read(weft_graph_find(expected->graph, names[i]), b, bytes));
        for (int64_t k = 0; k < sizes[i]; k++) {
            if (fabsf(a[k] - b[k]) <= 2e-6f * fmaxf(1.0f, fabsf(b[k]))) continue;
            print_error(
                "%s: %s[%lld] is %.9g, not %.9g\n", what, names[i], (long long)k, (double)a[k], (double)b[k]);
            fail();
        }
        free(a);
        free(b);
    }
}

static void both_ways_agree(const char *what, weft_optimizer optimizer) {
    network in_place, written;
    make(&in_place, &optimizer);
    optimizer.clip_norm = 1e30f; /* so large that nothing is clipped */
    make(&written, &optimizer);
    copy_parameters(&in_place, &written);
    for (int i = 0; i < STEPS; i++) {
        step(&in_place, i);
        step(&written, i);
    }
    compare(&in_place, &written, what);
    /* Neither of the two gradients is ever in memory: the arena has not even room for one. */
    weft_plan_info apart, whole;
    assert_ok(weft_plan_get_info(in_place.plan, &apart));
    assert_ok(weft_plan_get_info(written.plan, &whole));
    assert_true(whole.arena_bytes >= (size_t)(sizes[0] + sizes[2]) * sizeof(float));
    assert_true(apart.arena_bytes < (size_t)sizes[0] * sizeof(float));
    weft_plan_release(in_place.plan);
    weft_plan_release(written.plan);
    weft_graph_release(in_place.graph);
    weft_graph_release(written.graph);
}

static void large_parameters_are_updated_in_place(void **state) {
    (void)state;
    weft_optimizer clipped = weft_adam(1e-3f), decayed = weft_sgd_momentum(0.05f, 0.9f, 1e-3f);
    clipped.clip_value = 1e-3f;
    decayed.nesterov = true;
    both_ways_agree("SGD", weft_sgd(0.05f));
    both_ways_agree("SGD with momentum and decay", decayed);
    both_ways_agree("Adam with clipped values", clipped);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(large_parameters_are_updated_in_place)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
