/* Mixed precision: every kernel of convolutions and their gradients reads images and gradients that are stored in 16 bits.
 * Numbers are small integers, exact in bf16 with all their sums in f32, so results are those of f32, bit for bit; but
 * those of Winograd's kernels, which transform the numbers, are near them. */
/* test slow not_optimised */
/* test.engine.gpu WEFT_MATRIX_ENGINES=model optimised */
#include "cl/context.h"
#include "cl/matrix_engine.h"
#include "cl/quirks.h"
#include "kernels/selection.h"
#include "plan/compiled_plan.h"
#include "support/fixture.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

enum { RESULTS = 3, MOST = 1 << 15 };

typedef struct shape {
    const char *name;
    int64_t batch, channels, image[2], filters, taps[2];
    weft_conv_options options;
} shape;

#define OPTIONS(...)                                                                                         \
    { WEFT_CONV_OPTIONS_INIT, __VA_ARGS__ }

static const shape shapes[] = {
    {"first layer", 2, 3, {19, 17}, 18, {7, 7}, OPTIONS(.stride = {2, 2}, .padding = {3, 3})},
    {"3 by 3", 3, 33, {9, 7}, 35, {3, 3}, OPTIONS(.padding = {1, 1})},
    {"one image, stride 2", 1, 40, {8, 9}, 70, {3, 3}, OPTIONS(.stride = {2, 2}, .padding = {1, 1})},
    {"stride over the window", 2, 17, {11, 10}, 5, {2, 1}, OPTIONS(.stride = {3, 4})},
    {"dilated, one row of taps", 2, 6, {4, 13}, 9, {1, 5}, OPTIONS(.dilation = {1, 2}, .padding = {0, 3})},
    {"1 by 1", 2, 70, {5, 7}, 34, {1, 1}, OPTIONS(.groups = 1)},
    {"1 by 1, two groups", 2, 36, {5, 7}, 38, {1, 1}, OPTIONS(.groups = 2)},
    {"1 by 1, stride 2", 2, 18, {5, 7}, 34, {1, 1}, OPTIONS(.stride = {2, 2})},
    {"1 by 1, zeros at the end alone", 2, 40, {5, 7}, 34, {1, 1},
        OPTIONS(.mode = WEFT_PADDING_EACH, .padding_after = {0, 1})},
    {"two groups", 2, 36, {6, 5}, 38, {3, 3}, OPTIONS(.groups = 2, .padding = {1, 1})},
    {"a channel a group", 2, 21, {9, 8}, 21, {3, 3}, OPTIONS(.groups = 21, .padding = {1, 1})},
};

/* Of Winograd's kernels, and how many of the three results they compute. */
static const shape straight[] = {
    {"3 by 3, two groups", 3, 36, {9, 7}, 38, {3, 3}, OPTIONS(.groups = 2, .padding = {1, 1})},
    {"5 by 5", 2, 17, {6, 9}, 19, {5, 5}, OPTIONS(.padding = {2, 2})},
    {"one pixel", 1, 16, {1, 1}, 17, {3, 3}, OPTIONS(.padding = {1, 1})},
};
static const int straight_results[] = {3, 3, 2};
/* In class gpu, where it has no weights' gradients and no rows of 5. */
static const int straight_results_gpu[] = {2, 0, 2};

static void fill(float *numbers, size_t count, uint32_t bits) {
    for (size_t i = 0; i < count; i++) {
        bits = bits * 1664525u + 1013904223u;
        numbers[i] = (float)((int)(bits >> 16) % 5 - 2);
    }
}

static weft_tensor *identity(weft_graph *graph, int64_t channels) {
    static float numbers[128 * 128];
    assert_true(channels <= 128);
    memset(numbers, 0, sizeof numbers);
    for (int64_t i = 0; i < channels; i++) numbers[i * channels + i] = 1.0f;
    return weft_array(graph, WEFT_F32, numbers, 4, (const int64_t[]){channels, channels, 1, 1});
}

static weft_tensor *weights(weft_graph *graph, const shape *s, const int64_t *dims) {
    static float numbers[MOST];
    const size_t count = (size_t)(dims[0] * dims[1] * dims[2] * dims[3]);
    assert_true(count <= MOST);
    fill(numbers, count, (uint32_t)s->channels);
    return weft_array(graph, WEFT_F32, numbers, 4, dims);
}

/* x passes a contraction before the convolution and the gradient another one, so that both are stored in 16 bits. */
typedef struct network {
    weft_graph *graph;
    weft_plan *plan;
    weft_tensor *x, *factors, *results[RESULTS];
} network;

static size_t elements(const shape *s, const weft_tensor *t) {
    size_t count = 1;
    for (int i = 0; i < weft_tensor_rank(t); i++) {
        const int64_t size = weft_tensor_dimension(t, i);
        count *= (size_t)(size < 0 ? s->batch : size);
    }
    assert_true(count <= MOST);
    return count;
}

static void build(network *n, const shape *s, weft_precision precision) {
    const int64_t groups = s->options.groups ? s->options.groups : 1;
    const int64_t dims[] = {WEFT_BATCH, s->channels, s->image[0], s->image[1]};
    int64_t made[4];
    assert_weft_ok(weft_graph_create(&n->graph, test_context()));
    assert_weft_ok(weft_graph_set_precision(n->graph, precision));
    /* Gradients that are scaled up would be infinite in f16. */
    assert_weft_ok(
        weft_graph_set_loss_scaling(n->graph, &(weft_loss_scaling){WEFT_LOSS_SCALING_INIT, .initial = 1.0f}));
    n->x = weft_input_shape(n->graph, "x", WEFT_F32, 4, dims);
    weft_tensor *const h = weft_conv_with(n->x, identity(n->graph, s->channels), NULL, NULL);
    weft_tensor *const w =
        weights(n->graph, s, (const int64_t[]){s->filters, s->channels / groups, s->taps[0], s->taps[1]});
    n->results[0] = weft_conv_with(h, w, NULL, &s->options);
    assert_weft_ok(weft_graph_status(n->graph));
    for (int i = 0; i < 4; i++) made[i] = weft_tensor_dimension(n->results[0], i);
    n->factors = weft_input_shape(n->graph, "factors", WEFT_F32, 4, made);
    weft_tensor *const z = weft_conv_with(n->results[0], identity(n->graph, s->filters), NULL, NULL);
    assert_weft_ok(
        weft_gradients(weft_sum(weft_mul(z, n->factors)), (weft_tensor *[]){h, w}, 2, n->results + 1));
    assert_weft_ok(weft_plan_create(
        &n->plan, n->results, RESULTS, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = s->batch}));
}

static void feed(const network *n, const shape *s, weft_tensor *input) {
    static float numbers[MOST];
    const size_t count = elements(s, input);
    fill(numbers, count, (uint32_t)count);
    assert_weft_ok(weft_plan_write(n->plan, input, numbers, count * sizeof *numbers));
}

static size_t narrow_values(const weft_plan *plan, weft_precision precision) {
    const weft_dtype narrow = precision == WEFT_PRECISION_F16 ? WEFT_F16 : WEFT_BF16;
    const wi_partition *const p = &plan->partition;
    size_t count = 0;
    for (size_t i = 0; i < p->value_count; i++)
        count += p->values[i].format == narrow && p->values[i].storage >= 0;
    return count;
}

static bool is_gpu(void) {
    return wi_context_device(test_context())->caps.device_class == WEFT_CLASS_GPU;
}

static void skip_with_model(void) {
    if (!wi_context_device(test_context())->caps.engine_model) return;
    print_message("skipped: of kernels without an engine\n");
    skip();
}

/* That kernels compute whose names begin with this. */
static int steps_of(const weft_plan *plan, const char *kernel) {
    int count = 0;
    for (size_t i = 0; i < plan->partition.step_count; i++) {
        const wi_selection *const selection = plan->partition.steps[i]->selection;
        count += selection && strncmp(selection->chosen->name, kernel, strlen(kernel)) == 0;
    }
    return count;
}

/* On class cpu with wide vectors pointwise computes the first identity, the gradient of the second, and what is 1 by 1 without
 * stride and zeros around the image, but for weights' gradients of groups. */
static void check_pointwise(const weft_plan *plan, const shape *s) {
    const bool own = s->taps[0] == 1 && s->taps[1] == 1 && s->options.stride[0] <= 1 &&
                     s->options.mode == WEFT_PADDING_EQUAL;
    if (is_gpu() || wi_context_device(test_context())->caps.quirks & WI_QUIRK_SCALAR_COMPILER) return;
    assert_int_equal(steps_of(plan, "pointwise"), 2 + (own ? RESULTS - (s->options.groups > 1) : 0));
}

static bool has_mma(void) {
    return (wi_context_device(test_context())->caps.engines & WI_ENGINE_MMA) != 0;
}

/* Numbers of all results, one after another; ends[i]: where those of result i end. */
static size_t run(
    const shape *s, weft_precision precision, const char *kernel, float *numbers, size_t ends[RESULTS]) {
    network n;
    size_t count = 0;
    assert_int_equal(setenv("WEFT_CONV", kernel, 1), 0);
    build(&n, s, precision);
    unsetenv("WEFT_CONV");
    assert_int_equal(narrow_values(n.plan, precision) >= 2, precision != WEFT_PRECISION_F32);
    if (strcmp(kernel, "winograd") == 0)
        assert_int_equal(steps_of(n.plan, kernel),
            is_gpu() ? straight_results_gpu[s - straight] : straight_results[s - straight]);
    if (strcmp(kernel, "pointwise") == 0) check_pointwise(n.plan, s);
    if (strcmp(kernel, "conv_mma") == 0) assert_true(steps_of(n.plan, kernel) >= RESULTS);
    feed(&n, s, n.x);
    feed(&n, s, n.factors);
    assert_weft_ok(weft_plan_run(n.plan));
    for (int i = 0; i < RESULTS; i++) {
        const size_t own = elements(s, n.results[i]);
        assert_weft_ok(weft_plan_read(n.plan, n.results[i], numbers + count, own * sizeof *numbers));
        ends[i] = count += own;
    }
    weft_plan_release(n.plan);
    weft_graph_release(n.graph);
    return count;
}

/* What Winograd's kernels may be away, as in test_conv_choice.c. */
static double allowed(const char *kernel, const float *expected, size_t count) {
    double squares = 0.0;
    for (size_t i = 0; i < count; i++) squares += (double)expected[i] * (double)expected[i];
    return strcmp(kernel, "winograd") == 0 ? 2e-5 * sqrt(squares / (double)count) : 0.0;
}

static void compare(const shape *s, weft_precision precision, const char *kernel, const float *expected) {
    static float numbers[RESULTS * MOST];
    size_t ends[RESULTS];
    (void)run(s, precision, kernel, numbers, ends);
    for (size_t result = 0, i = 0; result < RESULTS; result++) {
        const double away = allowed(kernel, expected + i, ends[result] - i);
        for (; i < ends[result]; i++) {
            if (!(fabs((double)numbers[i] - (double)expected[i]) <= away))
                fail_msg("%s, %s: number %zu is %g, not %g", s->name, kernel, i, (double)numbers[i],
                    (double)expected[i]);
        }
    }
}

static void every_kernel_reads_16_bits(void **state) {
    static const char *const kernels[] = {
        "conv_naive", "amx", "conv_cpu", "conv_gpu", "split_gpu", "depthwise", "pointwise"};
    static float expected[RESULTS * MOST];
    size_t ends[RESULTS];
    (void)state;
    skip_with_model();
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        (void)run(&shapes[i], WEFT_PRECISION_F32, "conv_naive", expected, ends);
        for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
            compare(&shapes[i], WEFT_PRECISION_BF16, kernels[k], expected);
        compare(&shapes[i], WEFT_PRECISION_F16, is_gpu() ? "split_gpu" : "pointwise", expected);
    }
}

/* NVIDIA's, on that GPU or by a model; rounded to bf16 and to f16. */
static void an_engine_reads_16_bits(void **state) {
    static float expected[RESULTS * MOST];
    size_t ends[RESULTS];
    (void)state;
    if (!has_mma()) {
        print_message(
            "skipped: the device has no tensor cores, and no model of them (WEFT_MATRIX_ENGINES=model)\n");
        skip();
    }
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        (void)run(&shapes[i], WEFT_PRECISION_F32, "conv_naive", expected, ends);
        compare(&shapes[i], WEFT_PRECISION_BF16, "conv_mma", expected);
        compare(&shapes[i], WEFT_PRECISION_F16, "conv_mma", expected);
    }
}

enum { WINOGRAD_GROUP = 64 };

static void winograd_reads_16_bits(void **state) {
    static float expected[RESULTS * MOST];
    size_t ends[RESULTS];
    const wi_capabilities *const caps = &wi_context_device(test_context())->caps;
    (void)state;
    skip_with_model();
    if (!is_gpu() && caps->quirks & WI_QUIRK_SCALAR_COMPILER) {
        print_message("skipped: Winograd's kernels of class cpu have wide vectors\n");
        skip();
    }
    if (is_gpu() && caps->max_work_group_size < WINOGRAD_GROUP) {
        print_message("skipped: Winograd's kernels of class gpu have groups of %d items\n", WINOGRAD_GROUP);
        skip();
    }
    for (size_t i = 0; i < sizeof straight / sizeof *straight; i++) {
        (void)run(&straight[i], WEFT_PRECISION_F32, "conv_naive", expected, ends);
        compare(&straight[i], WEFT_PRECISION_BF16, "winograd", expected);
    }
    (void)run(&straight[0], WEFT_PRECISION_F32, "conv_naive", expected, ends);
    compare(&straight[0], WEFT_PRECISION_F16, "winograd", expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kernel_reads_16_bits),
        cmocka_unit_test(an_engine_reads_16_bits), cmocka_unit_test(winograd_reads_16_bits)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
