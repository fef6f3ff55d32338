/* Reductions of losses, and losses of numbers and of probabilities: see reference_loss.h. */
#include "oracle/reference_loss.h"
#include <math.h>

f64_array *f64_loss_reduced(const f64_array *losses, weft_loss_reduction reduction) {
    switch (reduction) {
    case WEFT_LOSS_MEAN: return f64_mean(losses, NULL, false);
    case WEFT_LOSS_SUM: return f64_sum(losses, NULL, false);
    case WEFT_LOSS_NONE: return f64_copy(losses);
    case WEFT_LOSS_BATCH_MEAN: break;
    }
    return f64_div(f64_sum(losses, NULL, false), f64_number(losses->rank ? (double)losses->dims[0] : 1));
}

/* A formula over x, y, z, as one elementwise function. */
#define FORMULA(name, formula)                                                                               \
    static double formula_##name(double x, double y, double z) {                                             \
        (void)x, (void)y, (void)z;                                                                           \
        return formula;                                                                                      \
    }
FORMULA(abs, fabs(x))
FORMULA(huber, fabs(x) < y ? x * x / 2 : y * (fabs(x) - y / 2))
FORMULA(smooth_l1, fabs(x) < y ? x * x / (2 * y) : fabs(x) - y / 2)
FORMULA(log_factorial, x > 1 ? x * log(x) - x + log(2 * acos(-1) * x) / 2 : 0)
FORMULA(bounded_variance, x < 0 ? NAN : fmax(x, 1e-6))
FORMULA(log_unless_zero, x == 0 ? 0 : log(x))
FORMULA(softplus, fmax(x, 0) + log1p(exp(-fabs(x))))
FORMULA(bounded_log, x < 0 ? NAN : fmax(log(x), -100))
FORMULA(bounded_log1p, x < -1 ? NAN : fmax(log1p(x), -100))
FORMULA(bce, -y *formula_bounded_log(x, 0, 0) - (1 - y) * formula_bounded_log1p(-x, 0, 0))
FORMULA(bce_with_logits, (1 - y) * formula_softplus(x, 0, 0) + z * y * formula_softplus(-x, 0, 0))
/* A target may be outside 0 .. 1, and a weight below 0: the two terms then have other signs. */
FORMULA(bce_size, fabs(y *formula_bounded_log(x, 0, 0)) + fabs((1 - y) * formula_bounded_log1p(-x, 0, 0)))
FORMULA(
    bce_with_logits_size, fabs(1 - y) * formula_softplus(x, 0, 0) + fabs(z * y) * formula_softplus(-x, 0, 0))
#define MAP1(formula, x)          f64_map(formula_##formula, x, NULL, NULL)
#define MAP2(formula, x, y)       f64_map(formula_##formula, x, y, NULL)
#define MAP_SUM(formula, x, y, z) f64_map_sum(formula_##formula, formula_##formula##_size, x, y, z)

f64_array *f64_mse(const f64_array *a, const f64_array *b) {
    return f64_square(f64_sub(a, b));
}
f64_array *f64_l1(const f64_array *a, const f64_array *b) {
    return MAP1(abs, f64_sub(a, b));
}
f64_array *f64_huber(const f64_array *a, const f64_array *b, double delta) {
    return MAP2(huber, f64_sub(a, b), f64_number(delta));
}
f64_array *f64_smooth_l1(const f64_array *a, const f64_array *b, double beta) {
    return MAP2(smooth_l1, f64_sub(a, b), f64_number(beta));
}

f64_array *f64_poisson_nll(const f64_array *x, const f64_array *count, bool log_input, bool full) {
    const f64_array *const log_rate = log_input ? x : f64_log(f64_add(x, f64_number(1e-8)));
    f64_array *const losses = f64_sub(log_input ? f64_exp(x) : x, f64_mul(count, log_rate));
    return full ? f64_add(losses, MAP1(log_factorial, count)) : losses;
}

f64_array *f64_gaussian_nll(
    const f64_array *mean, const f64_array *target, const f64_array *variance, bool full) {
    int64_t dims[WEFT_MAX_RANK];
    for (int i = 0; i < mean->rank; i++) dims[i] = i < variance->rank ? variance->dims[i] : 1;
    const f64_array *const given = f64_reshape(variance, mean->rank, dims);
    f64_array *const v = MAP1(bounded_variance, given);
    for (size_t i = 0; i < v->count; i++) /* one that may be negative may give NaN */
        if (given->error[i] > 0 && given->value[i] <= given->error[i]) v->error[i] = INFINITY;
    const f64_array *const square = f64_div(f64_square(f64_sub(mean, target)), v);
    const double constant = full ? log(2 * acos(-1)) / 2 : 0;
    return f64_add(f64_mul(f64_add(f64_log(v), square), f64_number(0.5)), f64_number(constant));
}

f64_array *f64_bce(const f64_array *p, const f64_array *t) {
    return MAP_SUM(bce, p, t, NULL);
}
f64_array *f64_bce_with_logits(const f64_array *x, const f64_array *t, const f64_array *positive_weight) {
    return MAP_SUM(bce_with_logits, x, t, positive_weight ? positive_weight : f64_number(1));
}
f64_array *f64_kl_div(const f64_array *x, const f64_array *t, bool log_target) {
    if (log_target) return f64_mul(f64_exp(t), f64_sub(t, x));
    return f64_mul(t, f64_sub(MAP1(log_unless_zero, t), x));
}
