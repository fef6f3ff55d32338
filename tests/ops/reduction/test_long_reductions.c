/* Reductions of a million elements, which are cut into parts and put together again, against float64: whole
 * rows, columns, and the same in rows that are too many to be cut. All of a shape share their loops, so that
 * few kernels are compiled. */
#include "support/fixture.h"

#include <math.h>
#include <stdlib.h>
#include <weft/weft.h>

enum { SUM, PROD, MAX, MIN, ARGMAX, ARGMIN, VAR, NORM1, NORM2, LOGSUMEXP, COUNT };
static const char *const names[COUNT] = {
    "sum", "prod", "max", "min", "argmax", "argmin", "var", "norm 1", "norm 2", "logsumexp"};

/* One result in float64, over `count` elements that lie `stride` apart. */
static double exact(int what, const float *x, size_t count, size_t stride) {
    double sum = 0, product = 1, ones = 0, squares = 0, exponentials = 0, spread = 0;
    size_t most = 0, least = 0;
    for (size_t i = 0; i < count; i++) {
        const double v = (double)x[i * stride];
        sum += v;
        product *= v;
        ones += fabs(v);
        squares += v * v;
        exponentials += exp(v);
        if (v > (double)x[most * stride]) most = i;
        if (v < (double)x[least * stride]) least = i;
    }
    for (size_t i = 0; what == VAR && i < count; i++)
        spread += pow((double)x[i * stride] - sum / (double)count, 2);
    const double results[COUNT] = {sum, product, (double)x[most * stride], (double)x[least * stride],
        (double)most, (double)least, spread / (double)(count - 1), ones, sqrt(squares), log(exponentials)};
    return results[what];
}

static weft_tensor *build(int what, weft_tensor *x, const int64_t *axes) {
    switch (what) {
    case SUM: return weft_sum_axes(x, axes, false);
    case PROD: return weft_prod_axes(x, axes, false);
    case MAX: return weft_max_axes(x, axes, false);
    case MIN: return weft_min_axes(x, axes, false);
    case ARGMAX: return weft_cast(weft_argmax_axes(x, axes, false), WEFT_F32);
    case ARGMIN: return weft_cast(weft_argmin_axes(x, axes, false), WEFT_F32);
    case VAR: return weft_var_axes(x, axes, false);
    case NORM1: return weft_norm_with(x, 1, axes, false);
    case NORM2: return weft_norm_axes(x, axes, false);
    default: return weft_logsumexp_axes(x, axes, false);
    }
}

/* x (rows, columns), reduced along `axis`; both all the same and random numbers. */
static void check(int64_t rows, int64_t columns, int axis, float low, float high) {
    const size_t count = (size_t)(rows * columns);
    float *const data = malloc(count * sizeof *data);
    assert_non_null(data);
    test_random random = test_random_named("long", (uint64_t)count);
    for (size_t i = 0; i < count; i++)
        data[i] = low == high ? low : (float)test_random_between(&random, (double)low, (double)high);
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){rows, columns});
    const int64_t axes[] = {axis, WEFT_END};
    weft_tensor *outputs[COUNT];
    for (int i = 0; i < COUNT; i++) outputs[i] = build(i, x, axes);
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, COUNT, NULL));
    assert_weft_ok(weft_plan_write(plan, x, data, count * sizeof *data));
    assert_weft_ok(weft_plan_run(plan));
    const size_t results = (size_t)(axis ? rows : columns), length = (size_t)(axis ? columns : rows);
    const size_t next = axis ? (size_t)columns : 1, stride = axis ? 1 : (size_t)columns;
    float *const got = malloc(results * sizeof *got);
    assert_non_null(got);
    for (int i = 0; i < COUNT; i++) {
        assert_weft_ok(weft_plan_read(plan, outputs[i], got, results * sizeof *got));
        for (size_t k = 0; k < results; k += 1 + results / 5) {
            const double wanted = exact(i, data + k * next, length, stride);
            const double allowed = i >= MAX && i <= ARGMIN ? 0 : 1e-6 * log2((double)length) * fabs(wanted);
            if (!(fabs((double)got[k] - wanted) <= allowed))
                fail_msg("%s of %lld × %lld, axis %d, result %zu: %.9g instead of %.9g", names[i],
                    (long long)rows, (long long)columns, axis, k, (double)got[k], wanted);
        }
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
    free(got);
    free(data);
}

enum { MILLION = 1000003 };

static void test_one_row(void **state) {
    (void)state;
    check(1, MILLION, 1, 0.99999f, 1.00001f);
    check(1, MILLION, 1, 1.0000001f, 1.0000001f); /* roundings that all go one way */
    check(1, MILLION, 1, -0.0999f, 0.1f);
    check(1, MILLION, 1, 0.1f, 0.1f);
}

static void test_few_rows(void **state) {
    (void)state;
    check(3, MILLION / 3, 1, 1, 1.0001f);
}

static void test_few_columns(void **state) {
    (void)state;
    check(MILLION / 17, 17, 0, 0.999f, 1.001f);
    check(MILLION / 17, 17, 0, 0.1f, 0.1f);
}

/* Too many to be cut on a cpu; read twice by one work-item. */
static void test_many_rows(void **state) {
    (void)state;
    check(64, MILLION / 64, 1, 0.999f, 1.001f);
}

static void test_many_columns(void **state) {
    (void)state;
    check(601, MILLION / 601, 0, 0.99f, 1.01f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_row), cmocka_unit_test(test_few_rows),
        cmocka_unit_test(test_few_columns), cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_many_columns)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
