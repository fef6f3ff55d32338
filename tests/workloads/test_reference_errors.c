/* The float64 references carry the errors of their inputs: inputs that are moved by no more than their errors move no result by more
 * than its own. Errors are not needlessly large either, and what is exact stays exact. */
#include "support/fixture.h"

#include "oracle/reference_activation.h"
#include "oracle/reference_attention.h"
#include "oracle/reference_ctc.h"
#include "oracle/reference_einsum.h"
#include "oracle/reference_embedding.h"
#include "oracle/reference_index.h"
#include "oracle/reference_loss.h"
#include "oracle/reference_pooling.h"
#include "oracle/reference_product.h"
#include "oracle/reference_reduce.h"
#include "oracle/reference_scan.h"
#include "oracle/reference_sort.h"
#include <math.h>
#include <string.h>

enum { INPUTS = 4, N = 4, MOVES = 200 };

typedef f64_array *reference(const f64_array *const *x); /* of matrices of N rows and N columns */

static const int64_t last[] = {1, WEFT_END}, lead[] = {0, WEFT_END};
static const f64_scan forward = {.axis = 0}, backward = {.axis = -1, .exclusive = true, .reverse = true};

static double is_positive(double a, double b, double c) {
    (void)b, (void)c;
    return a > 0;
}
static f64_array *positive(const f64_array *x) {
    return f64_map(is_positive, x, NULL, NULL);
}

#define ROWS(X)                                                                                              \
    X(sum, f64_sum(x[0], last, false))                                                                       \
    X(max, f64_max(x[0], lead, true))                                                                        \
    X(argmax, f64_argmax(x[0], last, false))                                                                 \
    X(argmin, f64_argmin(x[0], NULL, false))                                                                 \
    X(prod, f64_prod(x[0], last, false))                                                                     \
    X(var, f64_var(x[0], 1, last, false))                                                                    \
    X(std, f64_std(x[0], 0, lead, true))                                                                     \
    X(norm1, f64_norm(x[0], 1, last, false))                                                                 \
    X(norm2, f64_norm(x[0], 2, NULL, false))                                                                 \
    X(logsumexp, f64_logsumexp(x[0], last, false))                                                           \
    X(any, f64_any(x[1], last, false))                                                                       \
    X(all, f64_all(x[1], last, false))                                                                       \
    X(count_nonzero, f64_count_nonzero(x[1], last, false))                                                   \
    X(softmax, f64_softmax(x[0], -1))                                                                        \
    X(log_softmax, f64_log_softmax(x[0], 0))                                                                 \
    X(matmul, f64_matmul(x[0], x[1]))                                                                        \
    X(linear, f64_linear(x[0], x[1], NULL))                                                                  \
    X(bilinear, f64_bilinear(x[0], x[1], f64_reshape(x[2], 3, (const int64_t[]){1, N, N}), NULL))            \
    X(einsum, f64_einsum("ij,kj->ik", x[0], x[1]))                                                           \
    X(diagonal, f64_einsum("ii,ij", x[0], x[1]))                                                             \
    X(cumsum, f64_cumsum(x[0], forward))                                                                     \
    X(cumprod, f64_cumprod(x[0], backward))                                                                  \
    X(linear_scan, f64_linear_scan(x[0], x[1], 1, false))                                                    \
    X(sort, f64_sorted(x[0], (f64_order){.axis = 0}))                                                        \
    X(argsort, f64_sorted_places(x[0], (f64_order){.axis = 1, .descending = true}))                          \
    X(topk_indices, f64_sorted_places(x[1], (f64_order){.axis = 1, .k = 2}))                                 \
    X(attention, f64_attention(x[0], x[1], x[2], &(f64_attention_options){.mask = x[3]}))                    \
    X(hidden, f64_attention(x[0], x[1], x[2],                                                                \
                  &(f64_attention_options){                                                                  \
                      .mask = positive(x[3]), .bool_mask = true, .causal = true, .scale = 0.4}))
#define FUNCTION(name, formula)                                                                              \
    static f64_array *apply_##name(const f64_array *const *x) {                                              \
        return formula;                                                                                      \
    }
ROWS(FUNCTION)

static const struct row {
    const char *name;
    reference *apply;
} rows[] = {
#define ROW(name, formula) {#name, apply_##name},
    ROWS(ROW)};

/* Quarters, so that there are ties and zeros. */
static f64_array *draw(test_random *random, double error) {
    f64_array *const x = f64_zeros(2, (const int64_t[]){N, N});
    for (size_t i = 0; i < x->count; i++) {
        x->value[i] = floor(test_random_between(random, -8, 9)) / 4;
        x->error[i] = test_random_between(random, 0, 1) < 0.7 ? error * test_random_between(random, 0, 1) : 0;
    }
    return x;
}

static f64_array *moved(test_random *random, const f64_array *x) {
    f64_array *const y = f64_copy(x);
    for (size_t i = 0; i < x->count; i++) y->value[i] += test_random_between(random, -1, 1) * x->error[i];
    return y;
}

static void assert_within(const char *name, const f64_array *got, const f64_array *y) {
    assert_int_equal(got->count, y->count);
    for (size_t i = 0; i < y->count; i++)
        if (!(fabs(got->value[i] - y->value[i]) <= y->error[i]))
            fail_msg("%s: element %zu moves from %.9g to %.9g, error %.3g", name, i, y->value[i],
                got->value[i], y->error[i]);
}

static void move_inputs(const struct row *row, double error) {
    test_random random = test_random_named(row->name, 0);
    const f64_mark mark = f64_pool_mark();
    for (int move = 0; move < MOVES; move++) {
        const f64_array *x[INPUTS], *other[INPUTS];
        for (int i = 0; i < INPUTS; i++) x[i] = draw(&random, error), other[i] = moved(&random, x[i]);
        assert_within(row->name, row->apply(other), row->apply(x));
        f64_pool_release(mark);
    }
}

static void test_errors_are_carried(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        move_inputs(&rows[i], 0.3);
        move_inputs(&rows[i], 1e-4);
    }
}

/* Exact inputs leave roundings, and places and truths are certain. */
static void test_exact_inputs(void **state) {
    (void)state;
    const f64_mark mark = f64_pool_mark();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_random random = test_random_named(rows[i].name, 1);
        const f64_array *x[INPUTS];
        for (int k = 0; k < INPUTS; k++) x[k] = draw(&random, 0);
        const f64_array *const y = rows[i].apply(x);
        for (size_t k = 0; k < y->count; k++)
            if (!(y->error[k] < 2e-4)) fail_msg("%s: an error of %g", rows[i].name, y->error[k]);
    }
    f64_pool_release(mark);
}

/* Zeros that were computed are ties as those that were given are: errors of denormal size are none. */
static void test_computed_zeros(void **state) {
    (void)state;
    const f64_mark mark = f64_pool_mark();
    f64_array *const x = f64_zeros(1, (const int64_t[]){3});
    memcpy(x->value, (const double[]){0, 0, 1}, 3 * sizeof(double));
    for (int i = 0; i < 3; i++) x->error[i] = 0x1p-147;
    const f64_array *const places = f64_sorted_places(x, (f64_order){.axis = 0});
    for (int i = 0; i < 3; i++) assert_true(places->value[i] == i && places->error[i] == 0);
    assert_true(f64_argmin(x, NULL, false)->error[0] == 0);
    assert_true(f64_count_nonzero(x, NULL, false)->error[0] < 0.5);
    f64_pool_release(mark);
}

/* ---- beyond the range of float32 ---- */

static f64_array *mean_by_index(const f64_array *x) {
    const f64_array *const first = f64_zeros(1, (const int64_t[]){N});
    return f64_slice(f64_reduce_by_index(x, 0, first, x, WEFT_SCATTER_MEAN, false), 0, 0, 1);
}
static f64_array *mean_of_bags(const f64_array *x) {
    f64_array *const tokens = f64_zeros(2, (const int64_t[]){1, N});
    for (size_t i = 0; i < N; i++) tokens->value[i] = (double)(i % 2);
    return f64_embedding_bag(x, tokens, &(f64_bags){.mode = WEFT_BAG_MEAN, .padding = -1});
}
static f64_array *image(const f64_array *x) {
    return f64_reshape(x, 4, (const int64_t[]){1, 1, N, N});
}
static f64_array *channels(const f64_array *x) {
    return f64_reshape(x, 4, (const int64_t[]){1, N * N, 1, 1});
}

#define WIDE(X)                                                                                              \
    X(wide_sum, f64_sum(x, NULL, false))                                                                     \
    X(wide_mean, f64_mean(x, last, false))                                                                   \
    X(wide_var, f64_var(x, 0, last, false))                                                                  \
    X(wide_std, f64_std(x, 1, NULL, false))                                                                  \
    X(wide_norm, f64_norm(x, 2, lead, false))                                                                \
    X(wide_exp, f64_exp(f64_log(f64_mul(x, f64_number(3)))))                                                 \
    X(wide_matmul, f64_matmul(x, f64_sub(f64_number(2), x)))                                                 \
    X(wide_einsum, f64_einsum("ij,jk->ik", x, x))                                                            \
    X(wide_cumsum, f64_slice(f64_cumsum(x, forward), 0, 1, N))                                               \
    X(wide_scan, f64_slice(f64_linear_scan(f64_div(x, x), x, 0, false), 0, 1, N))                            \
    X(wide_pool, f64_avg_pool(image(x), &(weft_pool_options){WEFT_POOL_OPTIONS_INIT, .window = 2}))          \
    X(wide_response, f64_local_response_norm(channels(x), 5, 1e-30, 0.25, 1))                                \
    X(wide_index, mean_by_index(x))                                                                          \
    X(wide_bags, mean_of_bags(x))
#define WIDE_FUNCTION(name, formula)                                                                         \
    static f64_array *apply_##name(const f64_array *x) {                                                     \
        return formula;                                                                                      \
    }
WIDE(WIDE_FUNCTION)

static const struct wide {
    const char *name;
    f64_array *(*apply)(const f64_array *x);
} wide[] = {
#define WIDE_ROW(name, formula) {#name, apply_##name},
    WIDE(WIDE_ROW)};

/* Sums and squares of 2·10^38 are beyond float32, whose result may be infinite, however small the result is in float64. */
static void test_beyond_float32(void **state) {
    (void)state;
    const f64_mark mark = f64_pool_mark();
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        for (int beyond = 0; beyond < 2; beyond++) {
            f64_array *const x = f64_zeros(2, (const int64_t[]){N, N});
            for (size_t k = 0; k < x->count; k++)
                x->value[k] = (beyond ? 2e38 : 2) * (1 + 0.1 * (double)(k % 3) + 0.05 * (double)(k / N));
            const f64_array *const y = wide[i].apply(x);
            for (size_t k = 0; k < y->count; k++)
                if (beyond ? !isinf(y->error[k]) : !(y->error[k] < 1e-4 * fmax(fabs(y->value[k]), 1)))
                    fail_msg("%s: an error of %g of %g", wide[i].name, y->error[k], y->value[k]);
        }
    }
    f64_pool_release(mark);
}

/* No maximum or bound hides a NaN, and a mean over no label is 0. */
static void test_nan_and_nothing(void **state) {
    (void)state;
    const f64_mark mark = f64_pool_mark();
    const double infinity = (double)INFINITY;
    assert_true(isnan(f64_clamp(f64_number((double)NAN), -1, 1)->value[0]));
    assert_true(isnan(ctc_log_sum((double)NAN, -infinity)) && isnan(ctc_log_sum(-infinity, (double)NAN)));
    f64_array *const logs = f64_zeros(2, (const int64_t[]){1, 2});
    const f64_class_options ignoring = {.reduction = WEFT_LOSS_MEAN, .ignore = true, .ignored = 1};
    assert_true(f64_nll(logs, f64_number(1), &ignoring)->value[0] == 0);
    f64_pool_release(mark);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_errors_are_carried),
        cmocka_unit_test(test_exact_inputs), cmocka_unit_test(test_computed_zeros),
        cmocka_unit_test(test_beyond_float32), cmocka_unit_test(test_nan_and_nothing)};
    return test_finish(cmocka_run_group_tests_name("errors of references", tests, NULL, NULL));
}
