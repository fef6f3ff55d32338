/* How much memory convolutions of class cpu work in at once, and what they cost, go by the near cache that the device's profile has.
 * No kernel runs, and the class of the device does not matter. */
#include "support/fixture.h"

#include "cl/context.h"
#include "cl/matrix_engine.h"
#include "kernels/convolution/conv_product.h"
#include "kernels/registry.h"
#include "ops/convolution/conv.h"
#include <stdlib.h>
#include <string.h>

/* Of 64 x 64 pixels in the images that a convolution reads and makes. */
enum { SIZE = 64, IMAGES = 8, UNITS = 2 };

static wi_device_profile profile_of(size_t near_cache) {
    wi_device_profile device = *wi_device_kind_named("cpu");
    device.units = UNITS;
    device.near_cache = near_cache;
    return device;
}

static const wi_implementation *named(const char *name) {
    for (const wi_family *family = wi_families; *family; family++) {
        for (int i = 0; (*family)[i]; i++)
            if (strcmp((*family)[i]->name, name) == 0) return (*family)[i];
    }
    fail_msg("there is no %s", name);
    return NULL;
}

/* A convolution of stride 1, or with a node the gradient of its weight. */
typedef struct conv_site {
    wi_device_profile device;
    wi_conv_geometry geometry;
    wi_gemm_shape shape;
    wi_attributes attributes;
    weft_tensor *node;
    wi_kernel_site site;
} conv_site;

static void begin(conv_site *s, size_t near_cache, int64_t channels, int64_t filters, int64_t taps) {
    const int64_t padding = taps / 2, squares = taps * taps;
    *s = (conv_site){.device = profile_of(near_cache)};
    s->geometry = (wi_conv_geometry){.images = IMAGES,
        .groups = 1,
        .channels = channels,
        .filters = filters,
        .read = {1, SIZE, SIZE},
        .made = {1, SIZE, SIZE},
        .taps = {1, taps, taps},
        .stride = {1, 1, 1},
        .dilation = {1, 1, 1},
        .before = {0, padding, padding},
        .image = SIZE * SIZE * channels,
        .step = {0, SIZE * channels, channels},
        .w_filter = channels * squares,
        .w_channel = squares,
        .w_tap = {0, taps, 1}};
    s->shape = (wi_gemm_shape){.batch = IMAGES * SIZE,
        .m = SIZE,
        .n = filters,
        .k = channels * squares,
        .convolution = &s->geometry};
    s->site = (wi_kernel_site){
        .device = &s->device, .product = &s->shape, .formats = {WEFT_F32, WEFT_F32}, .precision = WEFT_F32};
}

static void begin_weight(conv_site *s, size_t near_cache, int64_t channels, int64_t filters, int64_t taps) {
    const wi_shape x = {.rank = 4, .dims = {IMAGES, SIZE, SIZE, channels}};
    const wi_shape y = {.rank = 4, .dims = {IMAGES, SIZE, SIZE, filters}};
    const int32_t window = (int32_t)taps, padding = (int32_t)(taps / 2);
    *s = (conv_site){.device = profile_of(near_cache)};
    s->node = calloc(1, sizeof *s->node + 2 * sizeof(weft_tensor *));
    assert_non_null(s->node);
    s->attributes = (wi_attributes){.conv = {.window = {.size = {1, window, window},
                                                 .stride = {1, 1, 1},
                                                 .dilation = {1, 1, 1},
                                                 .padding = {0, padding, padding}},
                                        .groups = 1}};
    s->node->op = &wi_op_conv_weight;
    s->node->input_count = 2;
    s->node->shape = (wi_shape){.rank = 4, .dims = {filters, channels, taps, taps}};
    s->node->attributes = &s->attributes;
    s->site = (wi_kernel_site){.node = s->node,
        .device = &s->device,
        .inputs = {wi_extent_of(&x, 1), wi_extent_of(&y, 1)},
        .result = wi_extent_of(&s->node->shape, 1)};
    for (int i = 0; i < 2; i++) s->site.layouts[i] = wi_layout_contiguous(&s->site.inputs[i]);
}

static size_t scratch_of(const char *name, conv_site *s) {
    const wi_implementation *const implementation = named(name);
    wi_arena arena;
    wi_kernel_plan plan;
    assert_true(
        wi_implementation_accepts(implementation, wi_implementation_variant(implementation, 0), &s->site));
    wi_arena_init(&arena, wi_context_device(test_context())->host.allocator);
    assert_weft_ok(wi_implementation_prepare(
        implementation, wi_implementation_variant(implementation, 0), &s->site, &arena, &plan));
    const size_t bytes = plan.scratch_bytes;
    wi_arena_clear(&arena);
    free(s->node);
    return bytes;
}

enum { MIB = 1 << 20 };

/* Both beside few weights, whose room stays near, and beside many. */
static void rooms_fit_the_near_cache(void **state) {
    static const int64_t channels[] = {16, 256};
    (void)state;
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        conv_site small, usual;
        begin(&small, MIB / 4, channels[i], channels[i], 3);
        begin(&usual, MIB, channels[i], channels[i], 3);
        assert_true(scratch_of("winograd", &small) < scratch_of("winograd", &usual));
        begin(&small, MIB / 4, channels[i], channels[i], 5);
        begin(&usual, MIB, channels[i], channels[i], 5);
        assert_true(scratch_of("winograd_row", &small) < scratch_of("winograd_row", &usual));
    }
}

static void rooms_of_weights_fit_the_near_cache(void **state) {
    conv_site small, usual;
    (void)state;
    begin_weight(&small, MIB / 4, 16, 16, 3);
    begin_weight(&usual, MIB, 16, 16, 3);
    assert_true(scratch_of("winograd_weight", &small) < scratch_of("winograd_weight", &usual));
}

/* The next block is fetched beside one that leaves room for it; converted blocks are taken in no other case. */
static void blocks_are_fetched_ahead_where_two_fit(void **state) {
    const wi_implementation *const pointwise = named("pointwise_weight");
    (void)state;
    for (int i = 0; i < 2; i++) {
        conv_site s;
        begin_weight(&s, i ? MIB : MIB / 8, 128, 128, 1);
        s.site.formats[0] = WEFT_BF16;
        assert_int_equal(
            wi_implementation_accepts(pointwise, wi_implementation_variant(pointwise, 0), &s.site), i);
        free(s.node);
    }
}

/* A weight of 1.1 MiB in bf16. */
static void weights_beyond_the_near_cache_are_dear(void **state) {
    const wi_implementation *const rows = named("amx_rows");
    double seconds[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        conv_site s;
        begin(&s, i ? MIB : MIB / 2, 256, 256, 3);
        s.device.engines = WI_ENGINE_AMX_BF16;
        s.site.precision = WEFT_BF16;
        seconds[i] = wi_implementation_cost(rows, wi_implementation_variant(rows, 0), &s.site);
    }
    assert_true(seconds[0] > 1.02 * seconds[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rooms_fit_the_near_cache),
        cmocka_unit_test(rooms_of_weights_fit_the_near_cache),
        cmocka_unit_test(blocks_are_fetched_ahead_where_two_fit),
        cmocka_unit_test(weights_beyond_the_near_cache_are_dear)};
    return test_finish(cmocka_run_group_tests_name("near cache", tests, NULL, NULL));
}
