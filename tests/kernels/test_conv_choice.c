/* Convolutions: every implementation that accepts a shape against the naive one, which test_conv proves; the
 * choice among them, and that two runs give the same bits. */
/* test slow gpu:optimised */
#include "support/fixture.h"

#include "cl/context.h"
#include "cl/matrix_engine.h"
#include "cl/quirks.h"
#include "kernels/convolution/conv_product.h"
#include "kernels/registry.h"
#include "kernels/selection.h"
#include "ops/op_table.h"
#include "support/conv_net.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Channels and filters are 16 or more, so that few forms of the epilogue are compiled. */
static const conv_case cases[] = {
    {"tiles of 64 to the edge", 1, 16, 8, 8, 64, 3, 1, 1, 1, 1},
    {"over a tile", 2, 17, 9, 8, 65, 3, 1, 1, 1, 1},
    {"weights of megabytes once transformed", 1, 128, 5, 6, 256, 3, 1, 1, 1, 1},
    {"many tiles, no padding", 2, 16, 39, 30, 20, 3, 1, 1, 0, 1},
    {"5 taps, tiles of 13 over lines", 3, 16, 7, 7, 40, 5, 1, 1, 2, 1},
    {"5 taps, bands of lines", 1, 96, 70, 30, 17, 5, 1, 1, 2, 1},
    {"padding over the window", 1, 16, 5, 2, 17, 3, 1, 1, 4, 1},
    {"stride 2", 2, 19, 11, 13, 33, 3, 2, 1, 1, 1},
    {"stride 3, dilation 2", 1, 21, 17, 16, 20, 3, 3, 2, 2, 1},
    {"stride 2, dilation 2", 1, 21, 14, 15, 20, 3, 2, 2, 1, 1},
    {"stride over the window", 2, 20, 9, 7, 17, 1, 3, 1, 0, 1},
    {"one tap, a panel and a column", 2, 19, 7, 9, 65, 1, 1, 1, 0, 1},
    {"one tap, panels of 64 and 48", 1, 64, 6, 7, 112, 1, 1, 1, 0, 1},
    {"one tap, few positions", 1, 96, 2, 2, 300, 1, 1, 1, 0, 1},
    {"one tap, many positions", 3, 20, 29, 31, 24, 1, 1, 1, 0, 1},
    {"one tap, groups", 2, 34, 5, 6, 36, 1, 1, 1, 0, 2},
    {"groups", 2, 34, 7, 6, 36, 3, 1, 1, 1, 2},
    {"groups of 16, many tiles", 1, 256, 49, 41, 256, 3, 1, 1, 1, 16},
    {"groups of two channels", 1, 36, 5, 6, 18, 3, 1, 1, 1, 18},
    {"groups of four, 32 in all", 1, 32, 5, 6, 32, 3, 1, 1, 1, 8},
    {"one channel, two filters", 2, 18, 7, 8, 36, 3, 2, 1, 1, 18},
    {"depthwise of 16", 1, 16, 8, 7, 16, 3, 1, 1, 1, 16},
    {"depthwise of 17, stride 2", 2, 17, 15, 29, 17, 3, 2, 1, 1, 17},
    {"depthwise of 33", 2, 33, 6, 23, 33, 3, 1, 1, 1, 33},
    {"depthwise of 33, stride 3", 1, 33, 16, 25, 33, 3, 3, 1, 0, 33},
    {"depthwise of 5 by 5", 1, 20, 9, 18, 20, 5, 1, 1, 2, 20},
    {"depthwise of 5 by 5, stride 2", 1, 20, 9, 18, 20, 5, 2, 1, 2, 20},
    {"depthwise, dilation 2", 1, 18, 12, 19, 18, 3, 1, 2, 2, 18},
    {"depthwise, dilation 2, stride 2", 1, 18, 13, 20, 18, 3, 2, 2, 2, 18},
    {"depthwise, dilation 3, stride 2", 1, 18, 13, 20, 18, 3, 2, 3, 2, 18},
};
enum { CASES = sizeof cases / sizeof *cases };

/* Steps that this implementation computes. */
static int steps_of(const weft_plan *plan, const char *name) {
    const wi_step *steps[CONV_MOST_CASES * CONV_PASSES];
    const size_t count = conv_net_steps(plan, steps);
    int own = 0;
    for (size_t i = 0; i < count; i++) own += strcmp(steps[i]->selection->chosen->name, name) == 0;
    return own;
}

/* All results with this implementation where it accepts a shape: new memory; NULL where it accepts none. */
static float *compute(const conv_net *net, const char *forced, int *how_many) {
    weft_plan *const plan = conv_net_plan(net, forced);
    float *values = NULL;
    *how_many = steps_of(plan, forced);
    if (*how_many > 0) {
        values = conv_net_run(net, plan);
        float *const again = conv_net_run(net, plan);
        assert_memory_equal(values, again, conv_net_size(net) * sizeof *values);
        free(again);
    }
    weft_plan_release(plan);
    return values;
}

/* May the case be of Winograd's products where this one is forced? Those of depthwise and pointwise leave what
 * they do not take to the choice by cost, which may be these; the others accept every case. */
static bool is_rounded(const char *name, const conv_case *c) {
    const bool depthwise = strncmp(name, "depthwise", strlen("depthwise")) == 0;
    const bool taken = depthwise ? c->groups == c->channels && c->filters == c->channels : c->taps == 1;
    const bool left = (depthwise || strcmp(name, "pointwise") == 0) && !taken;
    const bool straight = c->taps > 1 && c->stride == 1 && c->dilation == 1;
    return strncmp(name, "winograd", strlen("winograd")) == 0 || (left && straight);
}

static void every_implementation_computes_the_same(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    const conv_net net = conv_net_in(graph, cases, CASES, 0);
    int count;
    float *const wanted = compute(&net, "conv_naive", &count);
    assert_int_equal(count, 2 * CASES);
    bool taken = false;
    for (int i = 0; wi_convolution_family[i]; i++) {
        const char *const name = wi_convolution_family[i]->name;
        float *const got = compute(&net, name, &count);
        if (got) conv_net_compare(&net, name, got, wanted, is_rounded);
        free(got);
        print_message("%s: %d of %d products\n", name, count, 2 * CASES);
        taken = taken || (count > 0 && strcmp(name, "conv_naive") != 0);
    }
    const bool scalar = wi_context_device(test_context())->caps.quirks & WI_QUIRK_SCALAR_COMPILER;
    assert_true(taken || (scalar && wi_context_device(test_context())->caps.device_class == WEFT_CLASS_CPU));
    free(wanted);
    weft_graph_release(graph);
}

static bool accepts(const wi_implementation *implementation, const wi_conv_geometry *geometry) {
    const wi_gemm_shape shape = {.convolution = geometry};
    const wi_kernel_site site = {.device = &wi_context_device(test_context())->profile, .product = &shape};
    return wi_implementation_accepts(implementation, NULL, &site);
}

static const char *choice(const wi_conv_geometry *geometry) {
    const wi_gemm_shape shape = {.convolution = geometry};
    const wi_kernel_site site = {.device = &wi_context_device(test_context())->profile, .product = &shape};
    wi_selection selection;
    assert_weft_ok(wi_select(&selection, wi_context_device(test_context()), &wi_op_conv, &site));
    return selection.chosen->name;
}

/* What a plan takes without being told, a convolution of several channels and one of one channel a group. */
static void the_fast_ones_come_first(void **state) {
    (void)state;
    weft_context *const context = test_context();
    if (wi_context_device(context)->caps.quirks & WI_QUIRK_SCALAR_COMPILER &&
        wi_context_device(context)->caps.device_class == WEFT_CLASS_CPU) {
        print_message("skipped: kernels of wide vectors take minutes to compile here\n");
        skip();
    }
    const bool is_cpu = wi_context_device(context)->caps.device_class == WEFT_CLASS_CPU;
    wi_conv_geometry wide = conv_geometry_of(2, 16, 32, 8, 3), thin = wide;
    thin.groups = 16;
    thin.channels = thin.filters = 1;
    assert_string_equal(choice(&wide), is_cpu ? "conv_cpu" : "conv_gpu");
    assert_string_equal(choice(&thin), is_cpu ? "depthwise_cpu" : "depthwise_gpu");
    wi_conv_geometry pointwise = wide;
    pointwise.taps[1] = pointwise.taps[2] = 1;
    pointwise.before[1] = pointwise.before[2] = 0;
    pointwise.step[2] = 16;
    pointwise.step[1] = 8 * pointwise.step[2];
    pointwise.image = 8 * pointwise.step[1];
    assert_string_equal(choice(&pointwise), is_cpu ? "pointwise" : "conv_gpu");
    wide.images = wide.channels = wide.filters = 64; /* products that are worth the transforms */
    assert_string_equal(choice(&wide), is_cpu ? "winograd" : "winograd_gpu");
    wide.taps[1] = wide.taps[2] = 5;
    wide.before[1] = wide.before[2] = 2;
    assert_string_equal(choice(&wide), is_cpu ? "winograd_row" : "conv_gpu");
}

static const wi_implementation *named(const char *name) {
    for (int i = 0; wi_convolution_family[i]; i++) {
        if (strcmp(wi_convolution_family[i]->name, name) == 0) return wi_convolution_family[i];
    }
    fail_msg("no convolution is called %s", name);
    return NULL;
}

/* What an implementation is compared by. */
static double judged(const char *name, const wi_kernel_site *site) {
    assert_true(wi_implementation_accepts(named(name), NULL, site));
    return wi_implementation_margin(named(name), NULL, site) *
           wi_implementation_cost(named(name), NULL, site);
}

/* A 3 x 3 layer of ResNet-56 on two cores in mixed precision: Winograd's products in f32 cost less than those of all
 * windows by AVX-512 BF16, and than f32 ones; AMX multiplies all windows sooner. */
static void winograd_serves_mixed_precision(void **state) {
    (void)state;
    wi_conv_geometry layer = conv_geometry_in_memory(128, 32, 32, 16, 3);
    layer.flops = 2.0 * 128 * 16 * 16 * 9 * 32 * 32;
    const wi_gemm_shape shape = {.convolution = &layer};
    wi_device_profile profile = *wi_device_kind_named("cpu");
    profile.units = 2;
    profile.engines = WI_ENGINE_AMX_BF16;
    const wi_kernel_site site = {
        .device = &profile, .product = &shape, .formats = {WEFT_BF16, WEFT_F32}, .precision = WEFT_BF16};
    assert_true(judged("amx_rows", &site) < judged("winograd", &site));
    profile.engines |= WI_ENGINE_AVX512_BF16;
    profile.peak_engine = profile.peak_vectors;
    assert_true(judged("winograd", &site) < judged("amx_rows", &site));
    assert_true(judged("winograd", &site) < judged("amx", &site));
    assert_true(judged("winograd", &site) < judged("conv_cpu", &site));
}

/* Rows of 16 bits are converted up to a length; an engine multiplies them sooner. */
static void pointwise_convolutions_take_16_bits(void **state) {
    wi_conv_geometry layer = {.images = 16,
        .groups = 1,
        .channels = 2048,
        .filters = 512,
        .read = {1, 7, 7},
        .made = {1, 7, 7},
        .taps = {1, 1, 1},
        .stride = {1, 1, 1},
        .dilation = {1, 1, 1},
        .image = 7 * 7 * 2049,
        .step = {0, 7 * 2049, 2049},
        .w_filter = 2049,
        .w_channel = 1};
    const wi_gemm_shape shape = {.convolution = &layer};
    wi_device_profile profile = *wi_device_kind_named("cpu");
    profile.units = 2;
    wi_kernel_site site = {
        .device = &profile, .product = &shape, .formats = {WEFT_BF16, WEFT_F32}, .precision = WEFT_BF16};
    (void)state;
    assert_true(judged("pointwise", &site) < judged("conv_cpu", &site));
    profile.engines = WI_ENGINE_AMX_BF16;
    assert_true(judged("amx", &site) < judged("pointwise", &site));
    profile.engines |= WI_ENGINE_AVX512_BF16;
    profile.peak_engine = profile.peak_vectors;
    assert_true(judged("amx", &site) < judged("pointwise", &site));
}

/* A layer of 3 x 3 taps in class gpu, on a device of so many units with these engines, in this format. */
static wi_selection judged_layer_in(
    weft_dtype format, unsigned engines, int64_t units, int64_t size, int64_t channels, int64_t filters) {
    const wi_conv_geometry layer = conv_geometry_in_memory(16, channels, filters, size, 3);
    const wi_gemm_shape shape = {.convolution = &layer};
    wi_device_profile profile = *wi_device_kind_named("gpu");
    wi_selection best = {0};
    double least = INFINITY;
    profile.units = units;
    profile.engines = engines;
    profile.max_group = profile.max_items[0] = profile.max_items[1] = 1024;
    profile.local_bytes = 48 << 10;
    const wi_kernel_site site = {
        .device = &profile, .product = &shape, .formats = {format, WEFT_F32}, .precision = format};
    for (int i = 0; wi_convolution_family[i]; i++) {
        const wi_implementation *const one = wi_convolution_family[i];
        const wi_variant *variant;
        for (int v = 0; (variant = wi_implementation_variant(one, v)) != NULL; v++) {
            if (!wi_implementation_accepts(one, variant, &site)) continue;
            const double cost =
                wi_implementation_margin(one, variant, &site) * wi_implementation_cost(one, variant, &site);
            if (cost >= least) continue;
            least = cost;
            best.chosen = one;
            best.variant = variant;
        }
    }
    return best;
}

static wi_selection judged_layer(int64_t units, int64_t size, int64_t channels, int64_t filters) {
    return judged_layer_in(WEFT_F32, 0, units, size, channels, filters);
}

/* In mixed precision alone, in either format, and from layers of one channel on. */
static void engines_of_gpus_serve_mixed_precision(void **state) {
    static const struct {
        unsigned engine;
        const char *name;
    } engines[] = {{WI_ENGINE_MMA, "conv_mma"}, {WI_ENGINE_WMMA, "conv_wmma"},
        {WI_ENGINE_WMMA12, "conv_wmma12"}, {WI_ENGINE_MFMA, "conv_mfma"}, {WI_ENGINE_XMX8, "conv_xmx8"},
        {WI_ENGINE_XMX16, "conv_xmx16"}};
    (void)state;
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
        const unsigned engine = engines[i].engine;
        for (int64_t channels = 64; channels <= 512; channels *= 2) {
            const int64_t size = 56 * 64 / channels;
            const wi_selection bf16 = judged_layer_in(WEFT_BF16, engine, 48, size, channels, channels),
                               f16 = judged_layer_in(WEFT_F16, engine, 48, size, channels, channels),
                               f32 = judged_layer_in(WEFT_F32, engine, 48, size, channels, channels),
                               none = judged_layer_in(WEFT_BF16, 0, 48, size, channels, channels);
            assert_string_equal(bf16.chosen->name, engines[i].name);
            assert_string_equal(f16.chosen->name, engines[i].name);
            assert_null(strstr(f32.chosen->name, engines[i].name));
            assert_null(strstr(none.chosen->name, engines[i].name));
        }
        assert_string_equal(judged_layer_in(WEFT_BF16, engine, 48, 224, 3, 64).chosen->name, engines[i].name);
    }
}

/* It pays for many channels, and never for the few of a first layer; images that tiles of 4 x 4 results waste have 2 x 2. */
static void winograd_of_gpus_needs_channels(void **state) {
    static const int64_t units[] = {2, 8, 32};
    (void)state;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        assert_string_equal(judged_layer(units[i], 28, 256, 256).chosen->name, "winograd_gpu");
        assert_int_equal(strchr(judged_layer(units[i], 28, 256, 256).variant->name, '2') != NULL, 0);
        for (int64_t channels = 3; channels <= 4; channels++) {
            assert_string_equal(judged_layer(units[i], 224, channels, 64).chosen->name, "conv_gpu");
            assert_string_equal(judged_layer(units[i], 224, 64, channels).chosen->name, "conv_gpu");
        }
    }
    const wi_selection small = judged_layer(8, 6, 512, 512);
    assert_string_equal(small.chosen->name, "winograd_gpu");
    assert_non_null(strstr(small.variant->name, "_2"));
}

/* Sizes that its ints do not hold are left to others; the naive one is last and accepts everything. */
static void sizes_over_an_int_are_left(void **state) {
    (void)state;
    const wi_conv_geometry huge = {.images = INT64_C(1) << 40,
        .groups = 1,
        .channels = 1,
        .filters = 1,
        .read = {1, 1, 1},
        .made = {1, 1, 1},
        .taps = {1, 1, 1},
        .stride = {1, 1, 1},
        .dilation = {1, 1, 1}};
    int last = 0;
    while (wi_convolution_family[last + 1]) last++;
    assert_string_equal(wi_convolution_family[last]->name, "conv_naive");
    for (int i = 0; i < last; i++) assert_false(accepts(wi_convolution_family[i], &huge));
    assert_true(accepts(wi_convolution_family[last], &huge));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_implementation_computes_the_same),
        cmocka_unit_test(the_fast_ones_come_first),
        cmocka_unit_test(winograd_serves_mixed_precision),
        cmocka_unit_test(pointwise_convolutions_take_16_bits),
        cmocka_unit_test(winograd_of_gpus_needs_channels),
        cmocka_unit_test(engines_of_gpus_serve_mixed_precision),
        cmocka_unit_test(sizes_over_an_int_are_left),
    };
    return test_finish(cmocka_run_group_tests_name("conv choice", tests, NULL, NULL));
}
