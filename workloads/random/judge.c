/* Judges values and gradients: see random_program.h. */
#include "oracle/dtype_values.h"
#include "random/random_program.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- values ---- */

static bool is_whole(weft_dtype dtype) {
    return dtype == WEFT_I32 || dtype == WEFT_BOOL;
}

/* The root of the mean square of what is finite. */
static double spread_of(const f64_array *a) {
    double squares = 0;
    for (size_t i = 0; i < a->count; i++)
        if (isfinite(a->value[i])) squares += a->value[i] * a->value[i];
    return a->count ? sqrt(squares / (double)a->count) : 0;
}

/* How far the element may be off; negative where that is so far that nothing is judged by it. */
static double allowance(weft_dtype dtype, double wanted, double error, double spread) {
    if (is_whole(dtype)) return error < 0.5 ? 0 : -1;
    if (isfinite(wanted) && fabs(wanted) + error > program_largest(dtype)) return -1;
    if (isnan(error) || error > 0.05 * fmax(fabs(wanted), spread)) return error < 1e-30 ? 1e-30 : -1;
    return error + 2 * program_rounding(dtype, wanted) + 1e-37;
}

static bool agrees(double got, double wanted, double allowed) {
    if (isnan(wanted) || isnan(got)) return isnan(wanted) && isnan(got);
    if (isinf(wanted) || isinf(got)) return got == wanted;
    return fabs(got - wanted) <= allowed;
}

static void index_text(const f64_array *array, size_t at, char *text, size_t capacity) {
    int64_t index[WEFT_MAX_RANK] = {0};
    for (int i = array->rank - 1; i >= 0; i--) {
        index[i] = (int64_t)(at % (size_t)array->dims[i]);
        at /= (size_t)array->dims[i];
    }
    size_t length = 0;
    text[0] = '\0';
    for (int i = 0; i < array->rank && length < capacity; i++)
        length += (size_t)snprintf(text + length, capacity - length, "%s%lld/%lld", i ? ", " : "",
            (long long)index[i], (long long)array->dims[i]);
}

bool program_judge(
    const char *what, weft_dtype dtype, const void *got, const f64_array *wanted, program_result *result) {
    double *const values = calloc(wanted->count + 1, sizeof *values);
    if (!values) return true;
    f64_from_dtype(dtype, got, wanted->count, values);
    const double spread = spread_of(wanted);
    size_t wrong = 0, worst_at = 0;
    double worst = -1;
    for (size_t i = 0; i < wanted->count; i++) {
        const double allowed = allowance(dtype, wanted->value[i], wanted->error[i], spread);
        result->tally.judged += allowed >= 0;
        result->tally.unjudged += allowed < 0;
        if (allowed < 0 || agrees(values[i], wanted->value[i], allowed)) continue;
        wrong++;
        const double off = fabs(values[i] - wanted->value[i]);
        if (!(off <= worst)) worst = isnan(off) ? INFINITY : off, worst_at = i;
    }
    if (wrong) {
        char index[160];
        index_text(wanted, worst_at, index, sizeof index);
        snprintf(result->line, sizeof result->line,
            "%s: %zu of %zu wrong, worst at (%s): %.9g instead of %.9g (allowed %.3g)", what, wrong,
            wanted->count, index, values[worst_at], wanted->value[worst_at], wanted->error[worst_at]);
    }
    free(values);
    return wrong == 0;
}

/* ---- gradients ---- */

f64_array *program_direction(const program *p, int source, const f64_array *values) {
    f64_array *const direction = f64_zeros(values->rank, values->dims);
    program_random random = program_random_of(p->seed, p->number, 3000 + (uint64_t)source);
    for (size_t i = 0; i < direction->count; i++)
        direction->value[i] = program_nearest(program_stored(p), program_random_between(&random, -1, 1));
    return direction;
}

typedef struct slope_of {
    const program *p;
    const oracle_sizes *sizes;
    f64_array *const *sources;
    int source;
    const f64_array *direction;
    const f64_array *across; /* of second gradients: the direction of the first; NULL: there is none */
    const f64_array
        *shift; /* where the point is: so far away from the source, times `shifted`; NULL: there */
    double shifted;
    weft_context *context;
    bool cancels; /* a slope of the loss may be what rounding leaves where it cancels out */
    f64_array *
        *stored; /* the gradient in f32, then at rounded results (program_stored_gradient), once asked for */
    double noise;
    uint64_t noise_seed;
} slope_of;

/* By how much the loss grows: large terms that do not depend on the source take no digits from the difference, and terms
 * that are not finite hide no others. Also the sum of its terms by absolute value, where `size` is not NULL. */
static double loss_with_size(const slope_of *s, double along, double across, double *size) {
    const f64_mark mark = f64_pool_mark();
    f64_array *values[PROGRAM_VALUES];
    memcpy(values, s->sources, (size_t)s->p->count * sizeof *values);
    f64_array *const moved = f64_copy(values[s->source]);
    for (size_t i = 0; i < moved->count; i++) {
        moved->value[i] += along * s->direction->value[i];
        if (s->across) moved->value[i] += across * s->across->value[i];
        if (s->shift) moved->value[i] += s->shifted * s->shift->value[i];
    }
    values[s->source] = moved;
    program_evaluate(s->p, s->sizes, values, s->noise, s->noise_seed);
    double loss = 0;
    for (int term = 0; term < s->p->loss_count; term++) {
        if (!program_depends(s->p, s->p->loss[term], s->source)) continue;
        const f64_array *const value = values[s->p->loss[term]], *const before = s->sources[s->p->loss[term]];
        const f64_array *const weights = program_loss_weights(s->p, term, before);
        for (size_t i = 0; i < value->count; i++) {
            if (!isfinite(before->value[i])) continue;
            loss += (value->value[i] - before->value[i]) * weights->value[i];
            if (size) *size += fabs(value->value[i] * weights->value[i]);
        }
    }
    f64_pool_release(mark);
    return loss;
}

static double loss_at(const slope_of *s, double along, double across) {
    return loss_with_size(s, along, across, NULL);
}

/* The larger one; NaN where one of them is NaN, which says that nothing is known. */
static double most_of(double a, double b) {
    return isnan(a) || isnan(b) ? NAN : fmax(a, b);
}

/* The second difference with steps of this width in both directions, at a point that is moved along them. */
static double mixed(const slope_of *s, double along, double across, double h) {
    return (loss_at(s, along + h, across + h) - loss_at(s, along + h, across - h) -
               loss_at(s, along - h, across + h) + loss_at(s, along - h, across - h)) /
           (4 * h * h);
}

enum { STORED_SAMPLES = 5 }; /* the first is not rounded */

#define STEP        1e-6
#define SECOND_STEP 1e-4

static double step_of(const slope_of *s) {
    return s->across ? SECOND_STEP : STEP;
}

static double difference(const slope_of *s, double h) {
    return s->across ? mixed(s, 0, 0, h) : (loss_at(s, h, 0) - loss_at(s, -h, 0)) / (2 * h);
}

static double measure(const slope_of *s) {
    return difference(s, step_of(s));
}

/* What roundings of float64 losses of this size are in a difference. */
static double lost(const slope_of *s, double size, double h) {
    return 1e-15 * size / (s->across ? h * h : h);
}

/* What roundings are in slopes: those of float64 losses in their difference; and where the slope of a large loss cancels out, those that
 * float32 leaves of it, as what is added to a mask of all keys moves no attention. */
static double rounded(const slope_of *s) {
    double size = 0;
    (void)loss_with_size(s, 0, 0, &size);
    const double cancelled = s->across ? 0 : 1.2e-6 * size / fmax(spread_of(s->sources[s->source]), 1e-3);
    return lost(s, size, step_of(s)) + cancelled;
}

/* Where a function bends within less than a step, as a softplus of 10^12 times the source, its difference grows as the step becomes
 * shorter, and is none of its slope. That of a function which the steps resolve changes less with each shorter one. */
static bool settles(const slope_of *s, double value) {
    const double h = step_of(s), change = fabs(difference(s, h / 2) - value);
    double size = 0;
    (void)loss_with_size(s, 0, 0, &size);
    const double noise = fmax(16 * lost(s, size, h / 2), 0.01 * fabs(value));
    return change <= fmax(fabs(value - difference(s, 2 * h)), noise);
}

/* The second difference of steps to either side in one direction. */
static double pure(const slope_of *s, double along, double across, double h) {
    return (loss_at(s, along * h, across * h) - 2 * loss_at(s, 0, 0) + loss_at(s, -along * h, -across * h)) /
           (h * h);
}

/* A corner of the first slope that the steps of a second difference reach gives other widths and other points another value, as does a
 * slope that bends much within the steps; the end of the domain makes it NaN. A jump at the point itself may cancel out of
 * these, as that of a remainder of equal numbers, and not of differences in one direction. */
static double second_bend(const slope_of *s, double value) {
    const double h = SECOND_STEP, far = 4 * h;
    const double others[] = {mixed(s, 0, 0, 2 * h), mixed(s, 0, 0, 0.5 * h), mixed(s, far, 0, h),
        mixed(s, -far, 0, h), mixed(s, 0, far, h), mixed(s, 0, -far, h)};
    double bend = 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) bend = most_of(bend, fabs(others[i] - value));
    const double jumps[] = {pure(s, 1, 0, h) - pure(s, 1, 0, h / 2), pure(s, 0, 1, h) - pure(s, 0, 1, h / 2)};
    for (int i = 0; i < 2; i++) bend = most_of(bend, fabs(jumps[i]));
    return bend;
}

/* By how much the slope differs at other steps: by most of it at a longer one where values jump, and at a shorter one where they jump so
 * often that a step meets many jumps, as those of the whole part of a large exponential. Differences below `least` may be roundings. */
static double jump(const slope_of *s, double value, double least) {
    static const double steps[] = {4 * STEP, STEP / 64, STEP / 4096, STEP / 262144};
    double size = 0, most = 0;
    (void)loss_with_size(s, 0, 0, &size);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        const double h = steps[i];
        if (h < STEP && 1e-15 * size / h > 0.1 * least) continue;
        most = most_of(most, fabs((loss_at(s, h, 0) - loss_at(s, -h, 0)) / (2 * h) - value));
    }
    return most;
}

/* By which slopes on either side differ: large where the loss has a corner. */
static double bend_of(const slope_of *s, double value, double least) {
    if (s->across) return second_bend(s, value);
    return most_of(fabs(loss_at(s, STEP, 0) - 2 * loss_at(s, 0, 0) + loss_at(s, -STEP, 0)) / STEP,
        jump(s, value, least));
}

/* By how much the slopes at two points to either side of this one differ. */
static double apart(slope_of s, double by) {
    s.shifted = by;
    const double there = measure(&s);
    s.shifted = -by;
    return (there - measure(&s)) / 2;
}

/* By how much corners at the point turn the slope. Corners of several elements may cancel out of differences in one direction, but not
 * of the slopes at all points that are moved by other signs in each element. What a smooth slope changes by grows with the distance, and
 * is taken off. */
static double turn(const slope_of *s) {
    enum { POINTS = 8 };
    const f64_mark mark = f64_pool_mark();
    f64_array *const shift = f64_copy(s->direction);
    slope_of beside = *s;
    double most = 0;
    beside.shift = shift;
    for (uint64_t point = 0; point < POINTS; point++) {
        program_random random = program_random_of(s->p->seed, s->p->number, 7000 + point);
        for (size_t i = 0; i < shift->count; i++)
            shift->value[i] = step_of(s) * program_random_between(&random, 4, 8) *
                              (program_random_bits(&random) & 1 ? 1 : -1);
        most = most_of(most, fabs(2 * apart(beside, 0.5) - apart(beside, 1)));
    }
    f64_pool_release(mark);
    return most;
}

/* How far the slope moves where results are rounded as f32, or the format, rounds them. NaN: some of it is NaN then. */
static double conditioned(slope_of s, double value) {
    double most = 0;
    const weft_dtype stored = program_stored(s.p);
    s.noise = stored == WEFT_F32 ? 4e-7 : stored == WEFT_BF16 ? 8e-3 : 1e-3;
    for (s.noise_seed = 1; s.noise_seed <= 2; s.noise_seed++) most = most_of(most, fabs(measure(&s) - value));
    return 6 * most;
}

static double product_of(const f64_array *a, const f64_array *b) {
    double sum = 0;
    for (size_t i = 0; i < a->count; i++) sum += a->value[i] * b->value[i];
    return sum;
}

/* How far the slope moves where the library's own rules read results that are rounded to the format. NaN: some of it is NaN then, or it
 * cannot be told. */
static double stored_interval(const slope_of *s) {
    double most = 0;
    if (!s->context) return NAN;
    for (uint64_t i = 0; i < STORED_SAMPLES; i++) {
        if (!s->stored[i])
            s->stored[i] = program_stored_gradient(
                s->p, s->context, s->sizes, s->sources, s->source, s->across != NULL, i);
        if (!s->stored[i]) return NAN;
        most = most_of(
            most, fabs(product_of(s->stored[i], s->direction) - product_of(s->stored[0], s->direction)));
    }
    return 4 * most;
}

/* Is something NaN between the source and the loss? A comparison or a maximum may hide it: the loss's differences are those of another
 * function then. With `unknown`: or something of which nothing is known in f32, as where numbers on the way are beyond its range. */
static bool hides_nan(const slope_of *s, bool unknown) {
    const f64_mark mark = f64_pool_mark();
    f64_array *values[PROGRAM_VALUES];
    bool nan = false;
    memcpy(values, s->sources, (size_t)s->p->count * sizeof *values);
    f64_track_errors(unknown);
    program_evaluate(s->p, s->sizes, values, 0, 0);
    f64_track_errors(false);
    for (int i = s->source; i < s->p->count; i++) {
        if (!program_depends(s->p, i, s->source)) continue;
        for (size_t k = 0; k < values[i]->count; k++)
            nan = nan || isnan(values[i]->value[k]) ||
                  (unknown && isfinite(values[i]->value[k]) && !isfinite(values[i]->error[k]));
    }
    f64_pool_release(mark);
    return nan;
}

typedef enum slope_verdict { SLOPE_RIGHT, SLOPE_UNJUDGED, SLOPE_WRONG } slope_verdict;

/* Is an interval of this width small beside the slope, so that it says something of a slope that lies in it? */
static bool is_small(double interval, double expected, double size) {
    return interval <= 0.3 * fmax(fabs(expected), size);
}

/* size: of the gradient whose slope this is. */
static slope_verdict judge_slope(const slope_of *s, double along, double expected, double size) {
    const weft_dtype stored = program_stored(s->p);
    const double rough = stored == WEFT_F32 ? 1e-4 : stored == WEFT_BF16 ? 4e-2 : 5e-3;
    const double allowed = rough * size + 1e-7 + (s->across ? 1e-3 * fabs(expected) + 1e-4 : 0);
    const double off = fabs(along - expected);
    if (off <= allowed || (isnan(along) && (isnan(expected) || hides_nan(s, false)))) return SLOPE_RIGHT;
    const double uncertain = allowed + conditioned(*s, expected), interval = uncertain + rounded(s);
    if (!is_small(uncertain, expected, size)) return SLOPE_UNJUDGED;
    if (off <= interval) return SLOPE_RIGHT;
    if (!(bend_of(s, expected, 0.2 * off) <= 0.2 * off) || hides_nan(s, true)) return SLOPE_UNJUDGED;
    if (s->cancels || !settles(s, expected) || !(turn(s) <= 0.2 * off)) return SLOPE_UNJUDGED;
    const double stored_too = stored_interval(s);
    if (isnan(stored_too) && stored == WEFT_F32) return SLOPE_WRONG;
    if (!is_small(uncertain + stored_too, expected, size)) return SLOPE_UNJUDGED;
    return off <= interval + stored_too ? SLOPE_RIGHT : SLOPE_WRONG;
}

static bool judge_along(
    const slope_of *s, double along, double size, const char *where, program_result *result) {
    const double expected = measure(s);
    const slope_verdict verdict = judge_slope(s, along, expected, size);
    result->tally.slopes++;
    result->tally.unjudged_slopes += verdict == SLOPE_UNJUDGED;
    if (verdict == SLOPE_WRONG)
        snprintf(result->line, sizeof result->line,
            "%sgradient of v%d %s: %.9g instead of %.9g (its size %.3g)", s->across ? "second " : "",
            s->source, where, along, expected, size);
    return verdict != SLOPE_WRONG;
}

/* Does the loss depend on the source by a call whose slopes cancel out? */
static bool cancels(const program *p, const oracle_sizes *sizes, f64_array *const *values, int source) {
    for (int i = source + 1; i < p->count; i++) {
        const oracle_call *const call = &p->values[i].call;
        const f64_array *in[ORACLE_INPUTS] = {NULL};
        if (!p->values[i].is_call || !call->op->cancels || !program_depends(p, i, source)) continue;
        for (int k = 0; k < call->input_count; k++)
            if (call->inputs[k] >= 0) in[k] = values[call->inputs[k]];
        if (call->op->cancels(call, in, sizes)) return true;
    }
    return false;
}

bool program_judge_gradient(const program *p, weft_context *context, const oracle_sizes *sizes,
    f64_array *const *sources, int source, const double *gradient, bool second, program_result *result) {
    const f64_mark mark = f64_pool_mark();
    f64_array *const direction = f64_copy(sources[source]);
    program_random random = program_random_of(p->seed, p->number, 4000 + (uint64_t)source);
    double along = 0, squares = 0;
    for (size_t i = 0; i < direction->count; i++) {
        direction->value[i] = program_random_between(&random, -1, 1);
        along += direction->value[i] * gradient[i];
        squares += gradient[i] * gradient[i];
    }
    f64_array *stored[STORED_SAMPLES] = {NULL};
    const slope_of s = {.p = p,
        .context = context,
        .stored = stored,
        .cancels = cancels(p, sizes, sources, source),
        .sizes = sizes,
        .sources = sources,
        .source = source,
        .direction = direction,
        .across = second ? program_direction(p, source, sources[source]) : NULL};
    f64_track_errors(false);
    if (isnan(squares)) squares = 0; /* elements that are NaN say nothing of the others */
    bool right = judge_along(&s, along, sqrt(squares), "along a direction", result);
    /* Where the whole direction says nothing, single elements may. */
    const uint64_t undecided = result->tally.unjudged_slopes;
    for (int k = 0; right && undecided && k < 4; k++) {
        const size_t at = program_random_bits(&random) % direction->count;
        memset(direction->value, 0, direction->count * sizeof(double));
        direction->value[at] = 1;
        char where[40];
        snprintf(where, sizeof where, "at element %zu", at);
        right = judge_along(
            &s, gradient[at], fabs(gradient[at]) + sqrt(squares / (double)direction->count), where, result);
    }
    f64_track_errors(true);
    f64_pool_release(mark);
    return right;
}
