/* Convolutions of class gpu whose sum over channels and taps is split between work-groups: against the naive kernel, as cut for
 * devices of many compute units, with an epilogue; and when they are chosen.
 *
 * Numbers are small multiples of 1/8, so sums are exact in float32, whatever their order. */
#include "support/fixture.h"

#include "cl/context.h"
#include "kernels/convolution/conv_product.h"
#include "kernels/selection.h"
#include "ops/op_table.h"
#include "plan/compiled_plan.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 18, PASSES = 2, UNITS = 512 };

typedef struct test_case {
    const char *what;
    int64_t images, channels, height, width, filters, taps, stride, dilation, padding, groups;
} test_case;

static const test_case cases[] = {
    {"7 x 7, many channels", 1, 256, 7, 7, 68, 3, 1, 1, 1, 1},
    {"one tap, blocks that splits share unequally", 2, 500, 5, 6, 33, 1, 1, 1, 0, 1},
    {"odd channels, a copy of the image", 1, 259, 6, 5, 35, 3, 1, 1, 1, 1},
    {"stride 2, phases of 1, 2 and 4 taps", 2, 64, 9, 8, 130, 3, 2, 1, 1, 1},
    {"stride 2, phases with fewer blocks than splits", 1, 4, 9, 7, 4, 3, 2, 1, 1, 1},
    {"stride 3 over one tap, phases without taps", 1, 100, 8, 10, 96, 1, 3, 1, 0, 1},
    {"dilation 2", 1, 96, 9, 8, 40, 3, 1, 2, 2, 1},
    {"stride 2, dilation 2", 1, 45, 11, 12, 64, 3, 2, 2, 1, 1},
    {"groups", 2, 102, 5, 6, 68, 5, 1, 1, 2, 2},
    {"groups of odd channels", 1, 57, 7, 5, 51, 3, 2, 1, 1, 3},
};
enum { CASES = sizeof cases / sizeof *cases };

typedef struct net {
    weft_context *context;
    weft_graph *graph;
    weft_tensor *inputs[CASES][4], *outputs[CASES * PASSES]; /* inputs: image, weight, bias, slope */
} net;

static weft_tensor *result_of(const test_case *c, weft_tensor *const *in) {
    const weft_conv_options options = {WEFT_CONV_OPTIONS_INIT, .stride = WEFT_ALL(c->stride),
        .dilation = WEFT_ALL(c->dilation), .padding = WEFT_ALL(c->padding), .groups = c->groups};
    return wi_channels_last(weft_relu(weft_conv_with(wi_channels_first(in[0]), in[1], in[2], &options)));
}

/* The result with bias and relu, and the gradient of the image. */
static net make_net(void) {
    net n = {
        .context = test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .work_units = UNITS})};
    n.graph = weft_context_graph(n.context);
    for (size_t i = 0; i < CASES; i++) {
        const test_case *const c = &cases[i];
        weft_tensor **const in = n.inputs[i];
        in[0] = weft_input_shape(
            n.graph, "x", WEFT_F32, 4, (const int64_t[]){c->images, c->height, c->width, c->channels});
        in[1] = weft_input_shape(n.graph, "w", WEFT_F32, 4,
            (const int64_t[]){c->filters, c->channels / c->groups, c->taps, c->taps});
        in[2] = weft_input_shape(n.graph, "bias", WEFT_F32, 1, &c->filters);
        weft_tensor *const y = result_of(c, in);
        assert_weft_ok(weft_graph_status(n.graph));
        int64_t size[4];
        for (int d = 0; d < 4; d++) size[d] = weft_tensor_dimension(y, d);
        in[3] = weft_input_shape(n.graph, "slope", WEFT_F32, 4, size);
        n.outputs[PASSES * i] = y;
        assert_weft_ok(weft_gradients(weft_sum(weft_mul(y, in[3])), in, 1, &n.outputs[PASSES * i + 1]));
    }
    return n;
}

static size_t count_of(const weft_tensor *tensor) {
    size_t count = 1;
    for (int i = 0; i < weft_tensor_rank(tensor); i++) count *= (size_t)weft_tensor_dimension(tensor, i);
    return count;
}

static void write_inputs(const net *n, weft_plan *plan) {
    static float values[MOST];
    for (size_t i = 0; i < CASES * 4; i++) {
        weft_tensor *const input = n->inputs[i / 4][i % 4];
        const size_t count = count_of(input);
        test_random random = test_random_named("conv split", i);
        assert_in_range(count, 1, MOST);
        for (size_t e = 0; e < count; e++) values[e] = (float)(test_random_below(&random, 17) - 8) / 8.0f;
        assert_weft_ok(weft_plan_write(plan, input, values, count * sizeof *values));
    }
}

static weft_plan *make_plan(const net *n, const char *forced) {
    weft_plan *plan = NULL;
    assert_int_equal(setenv("WEFT_CONV", forced, 1), 0);
    assert_weft_ok(weft_plan_create(&plan, n->outputs, CASES * PASSES, NULL));
    unsetenv("WEFT_CONV");
    write_inputs(n, plan);
    return plan;
}

/* The results, one after the other: new memory. */
static float *run(const net *n, weft_plan *plan, size_t total) {
    float *const values = calloc(total, sizeof *values);
    assert_non_null(values);
    assert_weft_ok(weft_plan_run(plan));
    for (size_t i = 0, at = 0; i < CASES * PASSES; at += count_of(n->outputs[i]), i++)
        assert_weft_ok(
            weft_plan_read(plan, n->outputs[i], values + at, count_of(n->outputs[i]) * sizeof *values));
    return values;
}

/* The splits of a step: work-groups along the third dimension of its tiles, for each group of channels. */
static int splits_of(const wi_partition *p, const wi_step *step) {
    const wi_selection *const selection = step->selection;
    const wi_kernel_site site = wi_step_site(p, step);
    wi_arena arena;
    wi_kernel_plan launches;
    wi_arena_init(&arena, wi_context_device(test_context())->host.allocator);
    assert_weft_ok(
        wi_implementation_prepare(selection->chosen, selection->variant, &site, &arena, &launches));
    const wi_kernel_launch *tiles = launches.launches[launches.count - 2];
    assert_string_equal(tiles->suffix, "tiles");
    assert_false(tiles->has_epilogue);
    assert_string_equal(launches.launches[launches.count - 1]->suffix, "finish");
    const int splits = (int)tiles->global[2] / (int)step->gemm.convolution->groups;
    wi_arena_clear(&arena);
    return splits;
}

static void assert_splits(const weft_plan *plan) {
    int steps = 0, most = 0;
    for (size_t i = 0; i < plan->partition.step_count; i++) {
        const wi_step *const step = plan->partition.steps[i];
        if (step->kind != WI_STEP_PRODUCT || !step->gemm.convolution) continue;
        ++steps;
        assert_string_equal(step->selection->chosen->name, "split_gpu");
        const int splits = splits_of(&plan->partition, step);
        print_message("%d%s", splits, steps < CASES * PASSES ? ", " : " splits\n");
        assert_in_range(splits, 2, 32);
        most = splits > most ? splits : most;
    }
    assert_int_equal(steps, CASES * PASSES);
    assert_int_equal(most, 32);
}

static void compare(const net *n, const float *got, const float *wanted) {
    size_t at = 0;
    for (size_t i = 0; i < CASES * PASSES; i++) {
        const size_t count = count_of(n->outputs[i]);
        for (size_t e = 0; e < count; e++, at++) {
            if (got[at] == wanted[at]) continue;
            fail_msg("%s, %s: element %zu is %g instead of %g", cases[i / PASSES].what,
                i % PASSES ? "data" : "forward", e, (double)got[at], (double)wanted[at]);
        }
    }
}

static void splits_are_added_up(void **state) {
    (void)state;
    if (wi_context_device(test_context())->caps.device_class == WEFT_CLASS_CPU) {
        print_message("skipped: a kernel of class gpu\n");
        skip();
    }
    const net n = make_net();
    size_t total = 0;
    for (size_t i = 0; i < CASES * PASSES; i++) total += count_of(n.outputs[i]);
    weft_plan *const naive = make_plan(&n, "conv_naive"), *const split = make_plan(&n, "split_gpu");
    assert_splits(split);
    float *const wanted = run(&n, naive, total), *const got = run(&n, split, total),
                 *const again = run(&n, split, total);
    compare(&n, got, wanted);
    assert_memory_equal(got, again, total * sizeof *got);
    free(wanted);
    free(got);
    free(again);
    weft_plan_release(naive);
    weft_plan_release(split);
    weft_context_release(n.context);
}

/* ---- the choice, on devices of so many units ---- */

static wi_conv_geometry layer_of(
    int64_t images, int64_t size, int64_t channels, int64_t filters, int64_t taps) {
    return (wi_conv_geometry){.images = images,
        .groups = 1,
        .channels = channels,
        .filters = filters,
        .read = {1, size, size},
        .made = {1, size, size},
        .taps = {1, taps, taps},
        .stride = {1, 1, 1},
        .dilation = {1, 1, 1},
        .before = {0, taps / 2, taps / 2},
        .image = size * size * channels,
        .step = {0, size * channels, channels}};
}

/* The expected time of the cheapest variant of the implementation of this name. */
static double seconds_of(const char *name, int64_t units, const wi_conv_geometry *layer) {
    const wi_gemm_shape shape = {.convolution = layer};
    wi_device_profile profile = *wi_device_kind_named("gpu");
    profile.units = units;
    profile.max_group = profile.max_items[0] = profile.max_items[1] = 1024;
    profile.local_bytes = 48 << 10;
    const wi_kernel_site site = {.device = &profile, .product = &shape};
    double least = INFINITY;
    for (int i = 0; wi_convolution_family[i]; i++) {
        const wi_implementation *const one = wi_convolution_family[i];
        const wi_variant *variant;
        if (strcmp(one->name, name) != 0) continue;
        for (int v = 0; (variant = wi_implementation_variant(one, v)) != NULL; v++)
            if (wi_implementation_accepts(one, variant, &site))
                least = fmin(least, wi_implementation_cost(one, variant, &site));
    }
    return least;
}

static double gain(int64_t units, const wi_conv_geometry *layer) {
    return seconds_of("conv_gpu", units, layer) / seconds_of("split_gpu", units, layer);
}

/* Deep layers at batch 1 win, and more so with more units; where tiles are enough for all units, nothing is split. */
static void few_tiles_are_split(void **state) {
    static const int64_t units[] = {48, 108, 512};
    (void)state;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const wi_conv_geometry deep = layer_of(1, 7, 2048, 512, 1), wide = layer_of(16, 28, 256, 512, 1),
                               square = layer_of(1, 14, 256, 256, 3);
        print_message(
            "%3d units: 1x7x7, 2048 to 512: %.2f; 1x14x14, 3x3, 256 to 256: %.2f; 16x28x28, 256 to 512: "
            "%.2f times as fast with splits\n",
            (int)units[i], gain(units[i], &deep), gain(units[i], &square), gain(units[i], &wide));
        assert_true(gain(units[i], &deep) > 1.3);
        assert_true(gain(units[i], &square) > 1.3);
        assert_true(gain(units[i], &wide) < 1.0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_are_added_up), cmocka_unit_test(few_tiles_are_split)};
    return test_finish(cmocka_run_group_tests_name("conv split", tests, NULL, NULL));
}
