/* Compares the results of the plans of a suite of op cases with the references: values and gradients. */
#include "support/op_case_shared.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { DIRECTIONS = 3 };

/* ---- values ---- */

static void index_text(const f64_array *array, size_t at, char *text, size_t capacity) {
    size_t length = 0;
    int64_t index[WEFT_MAX_RANK];
    for (int i = array->rank - 1; i >= 0; i--) {
        index[i] = (int64_t)(at % (size_t)array->dims[i]);
        at /= (size_t)array->dims[i];
    }
    text[0] = '\0';
    for (int i = 0; i < array->rank && length < capacity; i++)
        length += (size_t)snprintf(text + length, capacity - length, "%s%lld/%lld", i ? ", " : "",
            (long long)index[i], (long long)array->dims[i]);
}

/* The error of an element divided by its allowed error; above 1 the element fails. */
static double excess(weft_dtype dtype, double got, double wanted, double error, double more) {
    const op_format *const format = op_format_of(dtype);
    const double rounded = format ? op_nearest(dtype, wanted) : wanted;
    if (format) error = error * format->value + op_rounding(dtype, wanted) + more;
    if (!isfinite(rounded) && test_device_loose()) return 0;
    if (isnan(got) || isnan(rounded)) return isnan(got) && isnan(rounded) ? 0 : INFINITY;
    if (got == rounded) return 0;
    if (isinf(got) || isinf(rounded)) return INFINITY;
    if (!format) error = floor(error);
    if (format && test_device_flushes()) error += 0x1p-126;
    return fabs(got - wanted) <= error ? 0 : fabs(got - wanted) / error;
}

void op_assert_values(
    const char *what, weft_dtype dtype, const void *got, const f64_array *wanted, double roundings) {
    double largest = 0;
    for (size_t i = 0; i < wanted->count; i++)
        if (isfinite(wanted->value[i])) largest = fmax(largest, fabs(wanted->value[i]));
    const double more = roundings * op_rounding(dtype, largest);
    double *const values = op_take(wanted->count, sizeof *values);
    f64_from_dtype(dtype, got, wanted->count, values);
    double worst = 1;
    size_t worst_at = 0, wrong = 0;
    for (size_t i = 0; i < wanted->count; i++) {
        const double e = excess(dtype, values[i], wanted->value[i], wanted->error[i], more);
        if (!(e > 1)) continue;
        if (e > worst) worst_at = i;
        worst = fmax(worst, e);
        wrong++;
    }
    char index[200];
    index_text(wanted, worst_at, index, sizeof index);
    if (wrong)
        print_error("%s: %zu of %zu wrong, worst at (%s): %.9g instead of %.9g, %.3g of %.3g allowed\n", what,
            wrong, wanted->count, index, values[worst_at], wanted->value[worst_at],
            fabs(values[worst_at] - wanted->value[worst_at]), wanted->error[worst_at]);
    free(values);
    assert_int_equal(wrong, 0);
}

void op_assert_close(const char *what, weft_dtype dtype, const void *got, const f64_array *wanted) {
    op_assert_values(what, dtype, got, wanted, 0);
}

/* ---- gradients ---- */

/* Returns sum(output · weights). *size: the sum of the absolute values; *weight: the norm of the weights (either may be NULL). */
static double loss_of(const op_state *s, f64_array *const *sources, double *size, double *weight) {
    const f64_mark mark = f64_pool_mark();
    const f64_array *const output = op_reference_value(s, sources), *const weights =
                                                                        op_weight_values(s, output);
    double loss = 0, squares = 0, sizes = 0;
    for (size_t i = 0; i < output->count; i++) {
        loss += output->value[i] * weights->value[i];
        sizes += fabs(output->value[i] * weights->value[i]);
        squares += weights->value[i] * weights->value[i];
    }
    if (size) *size = sizes;
    if (weight) *weight = sqrt(squares);
    f64_pool_release(mark);
    return loss;
}

/* The difference of the loss along a direction of one source, divided by the step. */
static double slope(const op_state *s, f64_array **sources, int which, const double *direction, double step) {
    f64_array *const source = sources[which], *const moved = f64_copy(source);
    sources[which] = moved;
    double losses[2];
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < source->count; i++)
            moved->value[i] = source->value[i] + (side ? step : -step) * direction[i];
        losses[side] = loss_of(s, sources, NULL, NULL);
    }
    sources[which] = source;
    return (losses[1] - losses[0]) / (2 * step);
}

/* Prints the element whose gradient is worst. Called only after a direction has failed, because it computes the loss for each element. */
static void blame(const op_state *s, f64_array **sources, int which, const double *gradient) {
    f64_array *const direction = f64_zeros(sources[which]->rank, sources[which]->dims);
    size_t worst_at = 0;
    double worst = -1, worst_slope = 0;
    for (size_t i = 0; i < direction->count; i++) {
        direction->value[i] = 1;
        const double d = slope(s, sources, which, direction->value, 1e-5);
        direction->value[i] = 0;
        const double wrong = fabs(d - gradient[i]);
        if (!(wrong > worst) && !isnan(wrong)) continue;
        worst = isnan(wrong) ? INFINITY : wrong;
        worst_at = i;
        worst_slope = d;
    }
    char index[200];
    index_text(direction, worst_at, index, sizeof index);
    print_error("  worst at (%s): %.9g instead of %.9g\n", index, gradient[worst_at], worst_slope);
}

void op_check_gradient(
    const op_state *s, int64_t batch, f64_array **sources, int which, const double *gradient) {
    const double step = 1e-5;
    double size = 0, weight = 0;
    loss_of(s, sources, &size, &weight);
    /* Gradients are computed from rounded results (as that of tanh), and as sums of terms that nearly cancel (over broadcast axes). */
    const double rounded = op_tested_format()->precision < 24 || op_tests_mixed()
                               ? 0.25 * op_tested_format()->gradient * weight
                               : 0;
    f64_array *const direction = f64_zeros(sources[which]->rank, sources[which]->dims);
    test_random random = test_random_named(s->title, 1000 + (uint64_t)which);
    for (int round = 0; round < (test_reduced() ? 1 : DIRECTIONS); round++) {
        double along = 0, squares = 0;
        for (size_t i = 0; i < direction->count; i++) {
            direction->value[i] = test_random_between(&random, -1, 1);
            const double part = direction->value[i] * gradient[i];
            along += part;
            squares += part * part;
        }
        const double expected = slope(s, sources, which, direction->value, step);
        /* 1e-9 · size: the rounding error of the difference of two large, nearly equal losses in float64. */
        const double allowed =
            op_tested_format()->gradient * sqrt(squares) + 1e-9 * size + rounded + s->c->gradient_error;
        if (fabs(along - expected) <= allowed) continue;
        print_error("%s: batch %lld: gradient of input %d along direction %d: %.9g instead of %.9g, "
                    "%.3g of %.3g allowed\n",
            s->title, (long long)batch, which, round, along, expected, fabs(along - expected), allowed);
        blame(s, sources, which, gradient);
        fail();
    }
}
