/* Convolutions with one channel a group in class gpu, their data gradients and their weights' gradients, against the naive kernel:
 * every variant, those with offsets of 64 bits and those of single channels included, which a tuning choice for each site brings
 * into the plan. Numbers are small, so that sums are exact, and all bits are compared. */
#include "support/fixture.h"

#include "cl/context.h"
#include "kernels/convolution/conv_product.h"
#include "kernels/registry.h"
#include "support/conv_cases.h"
#include <stdlib.h>
#include <string.h>

/* An item has 4 places of a row and up to 7 taps of it; where its pixels are more than 32, or a data gradient's stride is more than
 * its places or its taps do not fit, it has one place. A weight's gradient has up to 12 taps in registers. */
static const conv_case quad_cases[] = {
    {"rows of whole strips", 2, 8, 7, 16, 8, 3, 1, 1, 1, 8},
    {"more channels than a group has", 2, 36, 9, 13, 36, 3, 1, 1, 1, 36},
    {"groups inside of rows, and one whose last pixel is outside", 1, 32, 5, 24, 32, 3, 1, 1, 1, 32},
    {"stride 2", 2, 12, 11, 29, 12, 3, 2, 1, 1, 12},
    {"stride 3, three places", 1, 12, 14, 17, 12, 3, 3, 1, 1, 12},
    {"stride 4", 1, 4, 13, 39, 4, 5, 4, 1, 2, 4},
    {"stride 5 beyond the window, walked", 1, 8, 13, 39, 8, 3, 5, 1, 1, 8},
    {"stride 12, walked", 1, 4, 14, 62, 4, 3, 12, 1, 1, 4},
    {"dilation 2, stride 2", 1, 8, 13, 20, 8, 3, 2, 2, 2, 8},
    {"dilation 12, walked", 1, 4, 27, 31, 4, 3, 1, 12, 12, 4},
    {"padding over the window", 1, 8, 5, 3, 8, 3, 1, 1, 4, 8},
    {"one tap", 2, 8, 5, 6, 8, 1, 1, 1, 0, 8},
    {"one tap, stride 3", 2, 8, 7, 10, 8, 1, 3, 1, 0, 8},
    {"four taps, no padding", 1, 8, 9, 11, 8, 4, 1, 1, 0, 8},
    {"seven taps", 1, 8, 9, 15, 8, 7, 1, 1, 3, 8},
    {"nine taps, three at a time", 1, 4, 10, 14, 4, 9, 1, 1, 4, 4},
    {"nine taps, stride 2, walked", 1, 4, 10, 14, 4, 9, 2, 1, 4, 4},
    {"eleven taps, one at a time", 1, 4, 13, 14, 4, 11, 1, 1, 5, 4},
    {"an image of one pixel", 2, 4, 1, 1, 4, 3, 1, 1, 1, 4},
};
static const conv_case odd_cases[] = {
    {"one channel", 2, 1, 7, 16, 1, 3, 1, 1, 1, 1},
    {"three channels, stride 2", 1, 3, 8, 13, 3, 3, 2, 1, 1, 3},
    {"five channels", 2, 5, 7, 10, 5, 3, 1, 1, 1, 5},
    {"33 channels, dilation 2", 1, 33, 9, 12, 33, 3, 1, 2, 2, 33},
    {"six channels, five taps, stride 3", 1, 6, 10, 14, 6, 5, 3, 1, 1, 6},
};
static const conv_case tiny_cases[] = {
    {"rows of whole strips", 1, 8, 3, 8, 8, 3, 1, 1, 1, 8},
    {"stride 2", 1, 4, 5, 7, 4, 3, 2, 1, 1, 4},
};
/* Three axes, each with the taps, stride and dilation of the case. */
static const conv_case solid_cases[] = {
    {"three axes", 1, 8, 4, 9, 8, 3, 1, 1, 1, 8},
    {"three axes, stride 2", 2, 4, 5, 8, 4, 3, 2, 1, 1, 4},
};

/* A choice takes the place of an earlier one for the same site. */
static void try(const conv_cases *k, const char *variant) {
    conv_cases_compare(k, variant, test_context(), NULL);
}

static void leave_unless_gpu(void) {
    if (wi_context_device(test_context())->caps.device_class == WEFT_CLASS_GPU) return;
    print_message("skipped: kernels of class gpu\n");
    skip();
}

static void quads_are_right(void **state) {
    (void)state;
    leave_unless_gpu();
    const conv_cases all = {"depthwise_gpu", CONV_BIAS, CONV_CASES(quad_cases)},
                     tiny = {"depthwise_gpu", CONV_BIAS, CONV_CASES(tiny_cases)},
                     solid = {"depthwise_gpu", CONV_3D, CONV_CASES(solid_cases)};
    try(test_reduced() ? &tiny : &all, "f32");
    if (test_reduced()) return;
    try(&tiny, "long");
    try(&solid, "f32");
}

static void single_channels_are_right(void **state) {
    (void)state;
    leave_unless_gpu();
    const conv_cases odd = {"depthwise_gpu_each", CONV_BIAS, CONV_CASES(odd_cases)},
                     tiny = {"depthwise_gpu_each", CONV_BIAS, CONV_CASES(tiny_cases)};
    try(test_reduced() ? &tiny : &odd, "f32");
    if (!test_reduced()) try(&tiny, "long");
}

static void weights_of_quads_are_right(void **state) {
    (void)state;
    leave_unless_gpu();
    const conv_cases all = {"depthwise_gpu_weight", CONV_OF_WEIGHT, CONV_CASES(quad_cases)},
                     tiny = {"depthwise_gpu_weight", CONV_OF_WEIGHT, CONV_CASES(tiny_cases)},
                     solid = {"depthwise_gpu_weight", CONV_OF_WEIGHT | CONV_3D, CONV_CASES(solid_cases)};
    try(test_reduced() ? &tiny : &all, "f32");
    if (test_reduced()) return;
    try(&tiny, "long");
    try(&solid, "f32");
}

static void weights_of_single_channels_are_right(void **state) {
    (void)state;
    leave_unless_gpu();
    const conv_cases odd = {"depthwise_gpu_weight", CONV_OF_WEIGHT, CONV_CASES(odd_cases)},
                     tiny = {"depthwise_gpu_weight", CONV_OF_WEIGHT, CONV_CASES(tiny_cases)};
    try(test_reduced() ? &tiny : &odd, "each");
    if (!test_reduced()) try(&tiny, "each_long");
}

/* ---- which variant serves ---- */

static bool takes(const char *name, int variant, const wi_kernel_site *site) {
    for (int i = 0; wi_convolution_family[i]; i++) {
        const wi_implementation *const one = wi_convolution_family[i];
        if (strcmp(one->name, name) == 0)
            return wi_implementation_accepts(one, wi_implementation_variant(one, variant), site);
    }
    fail_msg("no convolution is called %s", name);
    return false;
}

/* Quads begin at multiples of their size, and offsets of more than 32 bits, or below the first pixel, need the long form. */
static void variants_take_what_they_can(void **state) {
    (void)state;
    wi_conv_geometry w = conv_geometry_in_memory(2, 32, 32, 8, 3);
    w.groups = 32;
    w.channels = w.filters = 1;
    const wi_gemm_shape shape = {.convolution = &w};
    wi_device_profile device = *wi_device_kind_named("gpu");
    device.max_group = device.max_items[0] = device.max_items[1] = 256;
    device.local_bytes = 32 << 10;
    wi_kernel_site site = {.device = &device, .product = &shape, .formats = {WEFT_F32, WEFT_F32}};
    assert_true(takes("depthwise_gpu", 0, &site));
    site.layouts[0].offset.actual = 2;
    assert_false(takes("depthwise_gpu", 0, &site));
    assert_true(takes("depthwise_gpu_each", 0, &site));
    site.layouts[0].offset.actual = 0;
    w.step[2] = 33;
    assert_false(takes("depthwise_gpu", 0, &site));
    assert_true(takes("depthwise_gpu_each", 0, &site));
    w.step[2] = -32;
    assert_false(takes("depthwise_gpu", 0, &site));
    assert_true(takes("depthwise_gpu", 1, &site));
    w.step[2] = 32;
    w.images = (INT64_C(1) << 30) / (8 * 8 * 32);
    assert_true(takes("depthwise_gpu", 0, &site));
    w.images++;
    assert_false(takes("depthwise_gpu", 0, &site));
    assert_true(takes("depthwise_gpu", 1, &site));
    w.filters = 2;
    assert_false(takes("depthwise_gpu", 1, &site));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(quads_are_right),
        cmocka_unit_test(single_channels_are_right), cmocka_unit_test(weights_of_quads_are_right),
        cmocka_unit_test(weights_of_single_channels_are_right),
        cmocka_unit_test(variants_take_what_they_can)};
    return test_finish(cmocka_run_group_tests_name("depthwise of class gpu", tests, NULL, NULL));
}
