/* The index arithmetic of weights' gradients by a matrix engine: the engine's instructions are replaced by a model in plain
 * OpenCL C (cl_kernels/product/amx_model.clh), so that the kernel runs on any device of class cpu, and under interpreters that
 * see every access; and by the engine itself where there is one. */
#include "kernels/convolution/conv_weight_check.h"
#include "support/checks.h"
#include "support/fixture.h"
#include <string.h>

typedef struct test_case {
    const char *what;
    wi_conv_weight_case problem;
} test_case;

#define FORMATS(x, y)                                                                                        \
    { WEFT_##x, WEFT_##y }

/* images, channels, filters, groups; image, taps, stride, dilation, padding; formats. The first ones are for interpreters. */
static const test_case cases[] = {
    {"3 x 3, a tile of filters", {2, 16, 9, 1, {5, 4}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, FORMATS(BF16, F32)}},
    {"lines of 3 channels, stride 2",
        {1, 3, 17, 1, {9, 11}, {3, 5}, {2, 2}, {1, 1}, {1, 2}, FORMATS(F32, BF16)}},
    {"1 x 1, stride 2", {2, 33, 18, 1, {5, 7}, {1, 1}, {2, 2}, {1, 1}, {0, 0}, FORMATS(BF16, BF16)}},
    {"no padding, odd everything",
        {3, 37, 50, 1, {7, 9}, {3, 3}, {1, 1}, {1, 1}, {0, 0}, FORMATS(BF16, BF16)}},
    {"5 x 5 with less padding than it has room for",
        {2, 20, 32, 1, {8, 6}, {5, 5}, {1, 1}, {1, 1}, {1, 2}, FORMATS(F32, F32)}},
    {"strides and dilations that differ",
        {2, 32, 40, 1, {13, 17}, {3, 2}, {2, 3}, {2, 1}, {2, 1}, FORMATS(BF16, F16)}},
    {"dilated by its stride", {1, 16, 16, 1, {12, 12}, {3, 3}, {2, 2}, {2, 2}, {2, 2}, FORMATS(BF16, BF16)}},
    {"groups", {2, 60, 42, 3, {6, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, FORMATS(BF16, BF16)}},
    {"an even window", {2, 32, 32, 1, {7, 7}, {2, 4}, {1, 2}, {1, 1}, {1, 1}, FORMATS(BF16, BF16)}},
    {"more padding than image", {2, 16, 32, 1, {2, 1}, {5, 5}, {1, 1}, {1, 1}, {4, 4}, FORMATS(BF16, BF16)}},
    {"11 x 11 lines, stride 4",
        {1, 3, 96, 1, {51, 47}, {11, 11}, {4, 4}, {1, 1}, {2, 2}, FORMATS(F32, BF16)}},
    {"7 x 7 of one channel", {2, 1, 20, 1, {15, 16}, {7, 7}, {1, 1}, {1, 1}, {3, 3}, FORMATS(BF16, BF16)}},
    {"rows alone", {3, 48, 32, 1, {1, 40}, {1, 5}, {1, 1}, {1, 1}, {0, 2}, FORMATS(BF16, BF16)}},
    {"columns alone", {3, 24, 32, 1, {40, 1}, {5, 1}, {1, 1}, {1, 1}, {2, 0}, FORMATS(BF16, BF16)}},
    {"1 x 1, many", {4, 130, 260, 1, {14, 14}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, FORMATS(BF16, BF16)}},
    {"blocks of positions", {4, 64, 48, 1, {57, 33}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, FORMATS(BF16, BF16)}},
    {"many filters, few positions",
        {1, 160, 520, 1, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, FORMATS(BF16, BF16)}},
};
enum { CASES = sizeof cases / sizeof *cases, FEW_CASES = 3 };

static const wi_implementation *the_kernel(void) {
    for (int i = 0; wi_convolution_weight_family[i]; i++) {
        if (strcmp(wi_convolution_weight_family[i]->name, "amx_weight") == 0)
            return wi_convolution_weight_family[i];
    }
    fail_msg("there is no amx_weight");
    return NULL;
}

static void check(const wi_implementation *implementation, size_t count) {
    wi_device *const device = wi_context_device(test_context());
    for (size_t i = 0; i < count; i++) {
        bool right = false;
        assert_ok(wi_conv_weight_compare(
            &right, device, implementation, wi_implementation_variant(implementation, 0), &cases[i].problem));
        if (!right) fail_msg("%s: the weight's gradient is wrong", cases[i].what);
    }
}

static void skip_without_vectors(void) {
    if (wi_context_device(test_context())->caps.device_class == WEFT_CLASS_CPU) return;
    print_message("skipped: the kernel is one of class cpu\n");
    skip();
}

static void the_model_is_exact(void **state) {
    static const char *const headers[] = {"amx_model.clh", NULL};
    wi_implementation model = *the_kernel();
    (void)state;
    skip_without_vectors();
    model.headers = headers;
    model.needs.engines = 0;
    check(&model, test_reduced() ? FEW_CASES : CASES - 2);
}

static void the_engine_is_exact(void **state) {
    (void)state;
    skip_without_vectors();
    if (!wi_context_device(test_context())->caps.engines) {
        print_message("skipped: no matrix engine here\n");
        skip();
    }
    check(the_kernel(), CASES);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_is_exact),
        cmocka_unit_test(the_engine_is_exact),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
