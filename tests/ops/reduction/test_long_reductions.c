/* Reductions of a million elements, which are cut into parts and put together again, against float64: whole
 * rows, columns, and the same in rows that are too many to be cut. All of a shape share their loops, so that
 * few kernels are compiled. */
/* test slow gpu:optimised */
/* test.model-32.gpu WEFT_SUB_GROUPS=model-32 reduced */
#include "support/fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

enum { SUM, PROD, MAX, MIN, VAR, NORM1, NORM2, LOGSUMEXP, ARGMAX, ARGMIN, COUNT };
static const char *const names[COUNT] = {
    "sum", "prod", "max", "min", "var", "norm 1", "norm 2", "logsumexp", "argmax", "argmin"};

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
        spread / (double)(count - 1), ones, sqrt(squares), log(exponentials), (double)most, (double)least};
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

/* x (rows, columns), reduced along `axis`; count: of x; results: of each reduction, of `length` elements. */
typedef struct reductions {
    weft_plan *plan;
    weft_tensor *x, *outputs[COUNT];
    float *data;
    int64_t rows, columns;
    int axis, first, after; /* of the kinds */
    size_t count, results, length;
} reductions;

static void run(const reductions *r, float *data, float *results) {
    assert_weft_ok(weft_plan_write(r->plan, r->x, data, r->count * sizeof *data));
    assert_weft_ok(weft_plan_run(r->plan));
    for (int i = r->first; i < r->after; i++)
        assert_weft_ok(weft_plan_read(r->plan, r->outputs[i - r->first],
            results + (size_t)(i - r->first) * r->results, r->results * sizeof *results));
}

static void check_results(const reductions *r, const float *got) {
    const size_t next = r->axis ? (size_t)r->columns : 1, stride = r->axis ? 1 : (size_t)r->columns;
    for (int i = r->first; i < r->after; i++, got += r->results) {
        for (size_t k = 0; k < r->results; k += 1 + r->results / 5) {
            const double wanted = exact(i, r->data + k * next, r->length, stride);
            const double allowed =
                i == MAX || i == MIN || i >= ARGMAX ? 0 : 1e-6 * log2((double)r->length) * fabs(wanted);
            if (!(fabs((double)got[k] - wanted) <= allowed))
                fail_msg("%s of %lld × %lld, axis %d, result %zu: %.9g instead of %.9g", names[i],
                    (long long)r->rows, (long long)r->columns, r->axis, k, (double)got[k], wanted);
        }
    }
}

/* The NaN whose bits mean an empty cell where a launch joins its splits (reduce.clh), then the numbers once more: the same
 * bits, since nothing is left of the run before. */
static void check_again(const reductions *r, float *room, const float *got) {
    const uint32_t bits = 0x7FC5A5A5;
    const float number = r->data[0];
    memcpy(r->data, &bits, sizeof bits);
    run(r, r->data, room);
    for (int i = r->first; i < r->after && i < ARGMAX; i++)
        if (!isnan(room[(size_t)(i - r->first) * r->results]) && !test_device_loose())
            fail_msg("%s of NaN is none", names[i]);
    r->data[0] = number;
    run(r, r->data, room);
    assert_memory_equal(room, got, (size_t)(r->after - r->first) * r->results * sizeof *got);
}

/* Of the kinds from `first` on: indices are reduced by kernels of their own. */
static void check_kinds(reductions *r, int first, int after) {
    r->first = first, r->after = after;
    weft_graph *const graph = test_graph();
    r->x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){r->rows, r->columns});
    const int64_t axes[] = {r->axis, WEFT_END};
    for (int i = first; i < after; i++) r->outputs[i - first] = build(i, r->x, axes);
    assert_weft_ok(weft_plan_create(&r->plan, r->outputs, (size_t)(after - first), NULL));
    const size_t all = (size_t)(after - first) * r->results;
    float *const got = malloc(2 * all * sizeof *got);
    assert_non_null(got);
    run(r, r->data, got);
    check_results(r, got);
    check_again(r, got + all, got);
    weft_plan_release(r->plan);
    weft_graph_release(graph);
    free(got);
}

/* All the same, or random numbers. */
static void check(int64_t rows, int64_t columns, int axis, float low, float high) {
    reductions r = {.rows = rows,
        .columns = columns,
        .axis = axis,
        .count = (size_t)(rows * columns),
        .results = (size_t)(axis ? rows : columns),
        .length = (size_t)(axis ? columns : rows)};
    r.data = malloc(r.count * sizeof *r.data);
    assert_non_null(r.data);
    test_random random = test_random_named("long", (uint64_t)r.count);
    for (size_t i = 0; i < r.count; i++)
        r.data[i] = low == high ? low : (float)test_random_between(&random, (double)low, (double)high);
    check_kinds(&r, 0, ARGMAX);
    check_kinds(&r, ARGMAX, COUNT);
    free(r.data);
}

/* A million, or, for interpreters of OpenCL, what is cut all the same: a third of it is more than 8192. */
static int many(void) {
    return test_reduced() ? 26001 : 1000003;
}

static void test_one_row(void **state) {
    (void)state;
    check(1, many(), 1, 0.99999f, 1.00001f);
    check(1, many(), 1, 1.0000001f, 1.0000001f); /* roundings that all go one way */
    check(1, many(), 1, -0.0999f, 0.1f);
    check(1, many(), 1, 0.1f, 0.1f);
}

static void test_few_rows(void **state) {
    (void)state;
    check(3, many() / 3, 1, 1, 1.0001f);
}

static void test_few_columns(void **state) {
    (void)state;
    const int columns = test_reduced() ? 3 : 17;
    check(many() / columns, columns, 0, 0.999f, 1.001f);
    if (!test_selects_some()) check(many() / columns, columns, 0, 0.1f, 0.1f);
}

/* Too many to be cut on a cpu; read twice by one work-item. */
static void test_many_rows(void **state) {
    (void)state;
    check(64, many() / 64, 1, 0.999f, 1.001f);
}

static void test_many_columns(void **state) {
    (void)state;
    check(601, many() / 601, 0, 0.99f, 1.01f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_row), cmocka_unit_test(test_few_rows),
        cmocka_unit_test(test_few_columns), cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_many_columns)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
