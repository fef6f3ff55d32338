/* Convolutions of class gpu whose sum over channels and taps is split between work-groups: against the naive kernel, as cut for
 * devices of many compute units, with an epilogue; and when they are chosen. */
/* test gpu:optimised */
#include "support/fixture.h"

#include "cl/context.h"
#include "kernels/convolution/conv_product.h"
#include "kernels/registry.h"
#include "kernels/selection.h"
#include "support/conv_net.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { UNITS = 512 };

static const conv_case cases[] = {
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

static void assert_splits(const weft_plan *plan) {
    const wi_step *steps[CONV_MOST_CASES * CONV_PASSES];
    const size_t count = conv_net_steps(plan, steps);
    int most = 0;
    assert_int_equal(count, CASES * CONV_PASSES);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(steps[i]->selection->chosen->name, "split_gpu");
        const int splits = conv_net_splits(plan, steps[i]);
        print_message("%d%s", splits, i + 1 < count ? ", " : " splits\n");
        assert_in_range(splits, 2, 32);
        most = splits > most ? splits : most;
    }
    assert_int_equal(most, 32);
}

static void splits_are_added_up(void **state) {
    (void)state;
    if (wi_context_device(test_context())->caps.device_class == WEFT_CLASS_CPU) {
        print_message("skipped: a kernel of class gpu\n");
        skip();
    }
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .work_units = UNITS});
    const conv_net net = conv_net_in(weft_context_graph(context), cases, CASES, CONV_BIAS | CONV_RELU);
    weft_plan *const naive = conv_net_plan(&net, "conv_naive"), *const split =
                                                                    conv_net_plan(&net, "split_gpu");
    assert_splits(split);
    float *const wanted = conv_net_run(&net, naive), *const got = conv_net_run(&net, split),
                 *const again = conv_net_run(&net, split);
    conv_net_compare(&net, "split_gpu", got, wanted, NULL);
    assert_memory_equal(got, again, conv_net_size(&net) * sizeof *got);
    free(wanted);
    free(got);
    free(again);
    weft_plan_release(naive);
    weft_plan_release(split);
    weft_context_release(context);
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
