/* Sums of more than a block with an infinity among the elements, or a total beyond the largest number: the result is
 * infinite, not NaN, in all formats, along rows and columns, with maps fused into the loop, and in running sums. */
/* test slow */
#include "support/fixture.h"

#include "cl/context.h"
#include <math.h>
#include <stdlib.h>

enum { MOST = 16384 };

typedef enum kind { INFINITE, NEGATIVE, TOO_LARGE, KINDS } kind;

typedef struct reduction {
    const char *name;
    weft_tensor *(*build)(weft_tensor *x, const int64_t *axes);
    int signs[KINDS]; /* of the infinity that is right; 0: none is */
} reduction;

static weft_tensor *sum(weft_tensor *x, const int64_t *axes) {
    return weft_sum_axes(x, axes, false);
}
static weft_tensor *mean(weft_tensor *x, const int64_t *axes) {
    return weft_mean_axes(x, axes, false);
}
static weft_tensor *fused(weft_tensor *x, const int64_t *axes) {
    return weft_sum_axes(weft_mul(weft_square(x), weft_sign(x)), axes, false);
}
static weft_tensor *norm1(weft_tensor *x, const int64_t *axes) {
    return weft_norm_with(x, 1, axes, false);
}
static weft_tensor *norm2(weft_tensor *x, const int64_t *axes) {
    return weft_norm_with(x, 2, axes, false);
}
static weft_tensor *logsumexp(weft_tensor *x, const int64_t *axes) {
    return weft_logsumexp_axes(x, axes, false);
}
static weft_tensor *last_of_cumsum(weft_tensor *x, const int64_t *axes) {
    const int axis = (int)axes[0];
    weft_tensor *const all = weft_cumsum(x, axis);
    return all ? weft_squeeze(weft_slice(all, axis, weft_tensor_dimension(x, axis) - 1,
                                  weft_tensor_dimension(x, axis)),
                     axis)
               : NULL;
}

static const reduction reductions[] = {{"sum", sum, {1, -1, 1}}, {"mean", mean, {1, -1, 0}},
    {"sum of a map", fused, {1, -1, 1}}, {"norm 1", norm1, {1, 1, 1}}, {"norm 2", norm2, {1, 1, 1}},
    {"logsumexp", logsumexp, {1, 0, 0}}, {"cumsum", last_of_cumsum, {1, -1, 1}}};
enum { REDUCTIONS = sizeof reductions / sizeof reductions[0] };

/* Each line of n elements has two that make it infinite; all others are small. */
static void fill(
    float *data, kind what, size_t lines, size_t n, size_t line_stride, size_t stride, float large) {
    for (size_t i = 0; i < lines; i++) {
        for (size_t k = 0; k < n; k++)
            data[i * line_stride + k * stride] = (float)((i + k) % 5) * 0.25f - 0.375f;
        float *const line = data + i * line_stride;
        const float special = what == INFINITE ? INFINITY : what == NEGATIVE ? -INFINITY : large;
        line[(i + n / 3) % n * stride] = special;
        if (what == TOO_LARGE) line[(i + n / 3 + 1) % n * stride] = special;
    }
}

static void check(const reduction *r, weft_plan *plan, weft_tensor *y, kind what, size_t lines) {
    static float got[MOST];
    assert_weft_ok(weft_plan_read(plan, y, got, lines * sizeof *got));
    for (size_t i = 0; r->signs[what] != 0 && i < lines; i++)
        if (!isinf(got[i]) || (got[i] > 0) != (r->signs[what] > 0))
            fail_msg(
                "%s: result %zu is %g, not %sinf", r->name, i, (double)got[i], r->signs[what] > 0 ? "" : "-");
}

/* In that format; the input's large numbers are multiplied to reach its end. */
static void check_shape(
    weft_dtype dtype, float large, double factor, int64_t rows, int64_t columns, int axis) {
    static float data[MOST];
    const int64_t axes[] = {axis, WEFT_END};
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){rows, columns});
    weft_tensor *const cast = weft_cast(x, dtype), *outputs[REDUCTIONS];
    weft_tensor *const in_format =
        weft_where(weft_less_number(weft_abs(cast), 1e4), cast, weft_mul_number(cast, factor));
    const size_t count = REDUCTIONS - (dtype == WEFT_F64); /* f64 has no scans */
    for (size_t i = 0; i < count; i++) outputs[i] = weft_cast(reductions[i].build(in_format, axes), WEFT_F32);
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, count, NULL));
    const size_t lines = (size_t)(axis ? rows : columns), n = (size_t)(axis ? columns : rows);
    for (kind what = INFINITE; what < KINDS; what++) {
        fill(data, what, lines, n, axis ? n : 1, axis ? 1 : lines, large);
        assert_weft_ok(weft_plan_write(plan, x, data, lines * n * sizeof *data));
        assert_weft_ok(weft_plan_run(plan));
        for (size_t i = 0; i < count; i++) check(&reductions[i], plan, outputs[i], what, lines);
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static void check_format(weft_dtype dtype, float large, double factor) {
    check_shape(dtype, large, factor, 1, 5000, 1);
    check_shape(dtype, large, factor, 5000, 3, 0);
    check_shape(dtype, large, factor, 16, 700, 1);
    check_shape(dtype, large, factor, 700, 20, 0);
}

static void test_f32(void **state) {
    (void)state;
    check_format(WEFT_F32, 3e38f, 1);
}
static void test_f16(void **state) {
    (void)state;
    check_format(WEFT_F16, 6e4f, 1);
}
static void test_bf16(void **state) {
    (void)state;
    check_format(WEFT_BF16, 3e38f, 1);
}
static void test_f64(void **state) {
    (void)state;
    if (!wi_context_device(test_context())->caps.fp64) skip();
    check_format(WEFT_F64, 1e38f, 1e270);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_f32), cmocka_unit_test(test_f16),
        cmocka_unit_test(test_bf16), cmocka_unit_test(test_f64)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
