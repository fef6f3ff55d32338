/* Weights' gradients of convolutions whose work is cut into several blocks, shares and spans, against sums in
 * float64: with the kernels that a plan takes, and with Winograd's products forced where they accept the
 * shape. Small shapes are in test_conv. */
/* test slow gpu:optimised */
/* test.indices64.gpu WEFT_TEST_INDICES=64 WEFT_CONV=conv_naive reduced */
/* test.{least,processor} device={} reduced short_launches */
#include "kernels/candidates.h"
#include "support/fixture.h"

#include "cl/context.h"
#include "cl/quirks.h"
#include "plan/compiled_plan.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <weft/convolution.h>

typedef struct test_case {
    const char *what;
    int64_t images, channels, height, width, filters, taps, padding, groups;
} test_case;

static const test_case cases[] = {
    {"3 taps, several blocks of lines in a share", 2, 16, 60, 60, 20, 3, 1, 1},
    {"3 taps, spans of panels", 1, 176, 8, 7, 180, 3, 1, 1},
    {"5 taps, several blocks of images in a share", 7, 20, 30, 13, 16, 5, 2, 1},
    {"5 taps of few channels, pixels side by side", 2, 3, 20, 23, 20, 5, 2, 1},
    {"5 taps, spans of panels", 2, 160, 6, 5, 180, 5, 1, 1},
    {"1 tap, a panel, shares of several blocks", 3, 64, 40, 37, 64, 1, 0, 1},
    {"1 tap, spans of panels, the last one of a column", 5, 70, 16, 17, 321, 1, 0, 1},
    {"1 tap, few of all", 2, 7, 5, 3, 9, 1, 0, 1},
    {"1 tap, many channels, long blocks in a share", 1, 300, 40, 57, 261, 1, 0, 1},
    {"1 tap, groups", 2, 42, 20, 9, 51, 1, 0, 3},
};
enum { CASES = sizeof cases / sizeof *cases, ROUNDS = 2 };

static float *random_values(const char *name, size_t seed, size_t count) {
    float *const values = malloc(count * sizeof *values);
    test_random random = test_random_named(name, seed);
    assert_non_null(values);
    for (size_t i = 0; i < count; i++) values[i] = (float)test_random_between(&random, -1.0, 1.0);
    return values;
}

/* (images, channels, height, width) at a pixel that may be outside. */
static double pixel(
    const test_case *c, const float *x, int64_t image, int64_t channel, int64_t row, int64_t column) {
    if (row < 0 || row >= c->height || column < 0 || column >= c->width) return 0.0;
    return (double)x[((image * c->channels + channel) * c->height + row) * c->width + column];
}

/* at: filter, channel in its group, tap. */
static double reference(const test_case *c, const float *x, const float *slope, const int64_t at[4]) {
    const int64_t down = c->height + 2 * c->padding - c->taps + 1,
                  across = c->width + 2 * c->padding - c->taps + 1;
    const int64_t channel = at[0] / (c->filters / c->groups) * (c->channels / c->groups) + at[1];
    double sum = 0.0;
    for (int64_t image = 0; image < c->images; image++) {
        for (int64_t i = 0; i < down; i++) {
            for (int64_t j = 0; j < across; j++)
                sum += (double)slope[((image * c->filters + at[0]) * down + i) * across + j] *
                       pixel(c, x, image, channel, i + at[2] - c->padding, j + at[3] - c->padding);
        }
    }
    return sum;
}

/* Every seventh element and the last ones; errors beside the root mean square. */
static void compare(const test_case *c, const float *x, const float *slope, const float *got) {
    const int64_t channels = c->channels / c->groups;
    const size_t taps = (size_t)(c->taps * c->taps), count = (size_t)(c->filters * channels) * taps;
    double squares = 0.0, worst = 0.0;
    size_t seen = 0, worst_at = 0;
    for (size_t e = 0; e < count; e += e + 40 < count ? 7 : 1, seen++) {
        const int64_t at[4] = {(int64_t)(e / taps) / channels, (int64_t)(e / taps) % channels,
            (int64_t)(e % taps) / c->taps, (int64_t)(e % taps) % c->taps};
        const double wanted = reference(c, x, slope, at), error = fabs((double)got[e] - wanted);
        squares += wanted * wanted;
        if (!(error <= worst)) {
            worst = error;
            worst_at = e;
        }
    }
    const double allowed = 2e-5 * sqrt(squares / (double)seen);
    if (!(worst <= allowed))
        fail_msg("%s: element %zu is %g away, %g are allowed", c->what, worst_at, worst, allowed);
}

static bool takes(const weft_plan *plan, const char *name) {
    for (size_t i = 0; i < plan->partition.step_count; i++) {
        const wi_step *step = plan->partition.steps[i];
        if (step->kind == WI_STEP_KERNEL && strcmp(step->selection->chosen->name, name) == 0) return true;
    }
    return false;
}

/* name: of the implementation that must be taken; NULL: any. */
static void check(const test_case *c, size_t number, const char *name) {
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(
        graph, "x", WEFT_F32, 4, (const int64_t[]){c->images, c->channels, c->height, c->width});
    weft_tensor *const w = weft_input_shape(
        graph, "w", WEFT_F32, 4, (const int64_t[]){c->filters, c->channels / c->groups, c->taps, c->taps});
    const weft_conv_options options = {WEFT_CONV_OPTIONS_INIT, .padding = c->padding, .groups = c->groups};
    weft_tensor *const y = weft_conv_with(x, w, NULL, &options);
    assert_weft_ok(weft_graph_status(graph));
    size_t slopes = 1;
    int64_t dims[4];
    for (int i = 0; i < 4; i++) slopes *= (size_t)(dims[i] = weft_tensor_dimension(y, i));
    weft_tensor *const slope = weft_input_shape(graph, "slope", WEFT_F32, 4, dims);
    weft_tensor *gradient = NULL;
    assert_weft_ok(weft_gradients(weft_sum(weft_mul(y, slope)), &w, 1, &gradient));
    const size_t pixels = (size_t)(c->images * c->channels * c->height * c->width),
                 count = (size_t)(c->filters * (c->channels / c->groups) * c->taps * c->taps);
    float *const x_values = random_values("weights' image", number, pixels),
                 *const slope_values = random_values("weights' slope", number, slopes),
                 *const got = malloc(count * sizeof *got), *const first = malloc(count * sizeof *first);
    assert_true(got && first);
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, &gradient, 1, NULL));
    if (name) assert_true(takes(plan, name));
    assert_weft_ok(weft_plan_write(plan, x, x_values, pixels * sizeof *x_values));
    assert_weft_ok(weft_plan_write(plan, slope, slope_values, slopes * sizeof *slope_values));
    for (int round = 0; round < ROUNDS; round++) {
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_plan_read(plan, gradient, round == 0 ? first : got, count * sizeof *got));
    }
    assert_memory_equal(first, got, count * sizeof *got);
    compare(c, x_values, slope_values, got);
    weft_plan_release(plan);
    weft_graph_release(graph);
    free(x_values);
    free(slope_values);
    free(got);
    free(first);
}

static void sums_are_right(void **state) {
    (void)state;
    for (size_t i = 0; i < CASES; i++) check(&cases[i], i, NULL);
}

/* Class cpu alone has more than one kernel to choose from, and not where its vectors are unrolled. */
static void skip_without_choice(void) {
    const weft_context *const context = test_context();
    if (wi_context_device(context)->caps.device_class != WEFT_CLASS_CPU ||
        wi_context_device(context)->caps.quirks & WI_QUIRK_SCALAR_COMPILER) {
        print_message("skipped: this device has no choice of kernels\n");
        skip();
    }
}

/* Windows of several taps: those of one have a kernel of their own. */
static void check_forced(const char *implementation, const char *name) {
    skip_without_choice();
    assert_int_equal(setenv("WEFT_CONV", implementation, 1), 0);
    for (size_t i = 0; i < CASES; i++) {
        if (cases[i].taps > 1) check(&cases[i], i, name);
    }
    unsetenv("WEFT_CONV");
}

static void pointwise_sums_are_right(void **state) {
    (void)state;
    skip_without_choice();
    assert_int_equal(setenv("WEFT_CONV", "pointwise", 1), 0);
    for (size_t i = 0; i < CASES; i++) {
        if (cases[i].taps == 1) check(&cases[i], i, "pointwise_weight");
    }
    unsetenv("WEFT_CONV");
}

static void winograds_sums_are_right(void **state) {
    (void)state;
    check_forced("winograd", "winograd_weight");
}

static void direct_sums_are_right(void **state) {
    (void)state;
    check_forced("conv_cpu", "conv_cpu_weight");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_right),
        cmocka_unit_test(winograds_sums_are_right),
        cmocka_unit_test(direct_sums_are_right),
        cmocka_unit_test(pointwise_sums_are_right),
    };
    return test_finish(cmocka_run_group_tests_name("conv weight", tests, NULL, NULL));
}
