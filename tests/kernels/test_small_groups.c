/* A device whose groups hold 64 work-items at most: no launch asks for more, and the numbers are those of a device
 * with larger groups. What the kernels of class cpu ask for is 1. */
/* test slow */
#include "cl/context.h"
#include "support/fixture.h"

#include "ops/index/index.h"
#include "plan/compiled_plan.h"
#include <math.h>
#include <stdlib.h>

enum { STEPS = 5, BATCH = 37, UNITS = 19, FEATURES = 3, OUTPUTS = 5, MOST = 64, RESULTS = 20000 };

typedef struct network {
    weft_graph *graph;
    weft_tensor *x, *outputs[OUTPUTS];
} network;

/* An LSTM with its gradient, attention, a sort, and rows chosen by a mask. */
static network make_network(weft_context *context) {
    network n = {0};
    assert_weft_ok(weft_graph_create(&n.graph, context));
    n.x = weft_input_shape(n.graph, "x", WEFT_F32, 3, (const int64_t[]){BATCH, STEPS, FEATURES});
    const weft_initialiser uniform = weft_init_uniform(-0.5f, 0.5f);
    const weft_recurrent_weights w = {
        .weight_ih = weft_parameter_shape(n.graph, "ih", uniform, 2, (const int64_t[]){4 * UNITS, FEATURES}),
        .weight_hh = weft_parameter_shape(n.graph, "hh", uniform, 2, (const int64_t[]){4 * UNITS, UNITS})};
    weft_tensor *const y = weft_lstm_with(n.x, &w, NULL).y;
    weft_tensor *const first =
        weft_reshape_shape(weft_slice(n.x, 2, 0, 1), 1, (const int64_t[]){BATCH * STEPS});
    n.outputs[0] = y;
    n.outputs[1] = weft_gradient(weft_sum(weft_square(y)), w.weight_hh);
    n.outputs[2] = weft_attention(y, y, y, NULL);
    n.outputs[3] = weft_cast(weft_argsort(first, 0, false), WEFT_F32);
    weft_tensor *const mask = weft_cast(weft_greater(first, weft_number(first, 0)), WEFT_I32);
    n.outputs[4] = weft_cast(wi_chosen_rows(mask, BATCH * STEPS), WEFT_F32);
    assert_weft_ok(weft_graph_status(n.graph));
    return n;
}

static size_t elements_of(const weft_tensor *x) {
    size_t count = 1;
    for (int i = 0; i < weft_tensor_rank(x); i++) count *= (size_t)weft_tensor_dimension(x, i);
    return count;
}

static size_t largest_group(const weft_plan *plan) {
    size_t largest = 0;
    for (size_t i = 0; i < plan->launches.count; i++) {
        const size_t *const local = plan->launches.launches[i].launch.local;
        const size_t group = local[0] * local[1] * local[2];
        if (group > largest) largest = group;
    }
    return largest;
}

/* All outputs one after the other, on a device with groups of `most`; 0: as the driver says. */
static size_t compute(float *results, size_t most, size_t *largest) {
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .seed = 3});
    wi_device *const device = wi_context_device(context);
    if (most) device->profile.max_group = most;
    const network n = make_network(context);
    float x[BATCH * STEPS * FEATURES];
    test_random random = test_random_named("small groups", 0);
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = (float)test_random_between(&random, -1, 1);
    weft_plan *plan = NULL;
    size_t count = 0;
    assert_weft_ok(weft_plan_create(&plan, n.outputs, OUTPUTS, NULL));
    assert_weft_ok(weft_plan_write(plan, n.x, x, sizeof x));
    assert_weft_ok(weft_plan_run(plan));
    for (int i = 0; i < OUTPUTS; i++) {
        const size_t elements = elements_of(n.outputs[i]);
        assert_true(count + elements <= RESULTS);
        assert_weft_ok(weft_plan_read(plan, n.outputs[i], results + count, elements * sizeof *results));
        count += elements;
    }
    *largest = largest_group(plan);
    weft_plan_release(plan);
    weft_graph_release(n.graph);
    weft_context_release(context);
    return count;
}

static void groups_of_64_give_the_same_numbers(void **state) {
    (void)state;
    static float large[RESULTS], small[RESULTS];
    size_t largest, least;
    const size_t count = compute(large, 0, &largest);
    assert_int_equal(compute(small, MOST, &least), count);
    assert_true(least <= MOST);
    for (size_t i = 0; i < count; i++)
        assert_true(fabsf(small[i] - large[i]) <= 1e-5f * (1 + fabsf(large[i])));
    if (!wi_context_device(test_context())->profile.item_walks)
        assert_true(largest > MOST); /* else it shows nothing */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(groups_of_64_give_the_same_numbers)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
