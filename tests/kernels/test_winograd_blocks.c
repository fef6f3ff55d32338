/* Winograd's convolutions whose tiles do not fit into one block of memory between the transforms, against those that sum
 * directly: the blocks follow each other in the same memory. */
#include "support/fixture.h"

#include "cl/context.h"
#include "ops/op_table.h"
#include "plan/compiled_plan.h"
#include <math.h>
#include <stdlib.h>

/* 1024 tiles of 36 points, of which a block holds 910. */
enum { HEIGHT = 125, WIDTH = 121, CHANNELS = 256, GROUPS = 32, ELEMENTS = HEIGHT * WIDTH * CHANNELS };
enum { WEIGHTS = CHANNELS * (CHANNELS / GROUPS) * 9, RESULTS = 2 };

typedef struct net {
    weft_graph *graph;
    weft_tensor *inputs[3],
        *outputs[RESULTS]; /* image, weight and slope; the result, and the gradient of the image */
} net;

static net make_net(void) {
    const int64_t image[] = {1, HEIGHT, WIDTH, CHANNELS}, weight[] = {CHANNELS, CHANNELS / GROUPS, 3, 3};
    const weft_conv_options options = {WEFT_CONV_OPTIONS_INIT, .padding = WEFT_ALL(1), .groups = GROUPS};
    net n = {.graph = test_graph()};
    n.inputs[0] = weft_input_shape(n.graph, "x", WEFT_F32, 4, image);
    n.inputs[1] = weft_input_shape(n.graph, "w", WEFT_F32, 4, weight);
    n.inputs[2] = weft_input_shape(n.graph, "slope", WEFT_F32, 4, image);
    n.outputs[0] =
        wi_channels_last(weft_conv_with(wi_channels_first(n.inputs[0]), n.inputs[1], NULL, &options));
    weft_tensor *const loss = weft_sum(weft_mul(n.outputs[0], n.inputs[2]));
    assert_weft_ok(weft_gradients(loss, n.inputs, 1, &n.outputs[1]));
    return n;
}

static void write_inputs(const net *n, weft_plan *plan, float *values) {
    for (size_t i = 0; i < 3; i++) {
        const size_t count = i == 1 ? WEIGHTS : ELEMENTS;
        test_random random = test_random_named("winograd blocks", i);
        for (size_t e = 0; e < count; e++) values[e] = (float)(test_random_below(&random, 17) - 8) / 8.0f;
        assert_weft_ok(weft_plan_write(plan, n->inputs[i], values, count * sizeof *values));
    }
}

/* Both results: new memory. */
static float *compute(const net *n, const char *forced, size_t *launches) {
    weft_plan *plan = NULL;
    weft_plan_info info;
    float *const values = malloc(RESULTS * ELEMENTS * sizeof *values);
    assert_non_null(values);
    assert_int_equal(setenv("WEFT_CONV", forced, 1), 0);
    assert_weft_ok(weft_plan_create(&plan, n->outputs, RESULTS, NULL));
    unsetenv("WEFT_CONV");
    assert_weft_ok(weft_plan_get_info(plan, &info));
    *launches = info.launches;
    write_inputs(n, plan, values);
    assert_weft_ok(weft_plan_run(plan));
    for (size_t i = 0; i < RESULTS; i++)
        assert_weft_ok(weft_plan_read(plan, n->outputs[i], values + i * ELEMENTS, ELEMENTS * sizeof *values));
    weft_plan_release(plan);
    return values;
}

static void blocks_follow_each_other(void **state) {
    (void)state;
    const bool is_cpu = wi_context_device(test_context())->caps.device_class == WEFT_CLASS_CPU;
    size_t launches, direct_launches;
    const net n = make_net();
    float *const got = compute(&n, is_cpu ? "winograd" : "winograd_gpu", &launches);
    float *const wanted = compute(&n, is_cpu ? "conv_cpu" : "conv_gpu", &direct_launches);
    print_message("%zu launches, %zu of direct sums\n", launches, direct_launches);
    if (!is_cpu)
        assert_in_range(launches, direct_launches + 2 * 5, SIZE_MAX); /* weights, and two blocks of three */
    for (size_t r = 0; r < RESULTS; r++) {
        double squares = 0;
        for (size_t e = r * ELEMENTS; e < (r + 1) * ELEMENTS; e++)
            squares += (double)wanted[e] * (double)wanted[e];
        const double allowed = 2e-5 * sqrt(squares / ELEMENTS);
        for (size_t e = r * ELEMENTS; e < (r + 1) * ELEMENTS; e++)
            if (fabs((double)got[e] - (double)wanted[e]) > allowed)
                fail_msg("result %zu, element %zu is %g instead of %g", r, e % ELEMENTS, (double)got[e],
                    (double)wanted[e]);
    }
    free(got);
    free(wanted);
    weft_graph_release(n.graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(blocks_follow_each_other)};
    return test_finish(cmocka_run_group_tests_name("winograd blocks", tests, NULL, NULL));
}
