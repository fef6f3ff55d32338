/* Norms in float64: see reference_normalization.h. */
#include "oracle/reference_normalization.h"
#include <math.h>

/* Which elements are normalised together. Images are seen as (N, C, inner), what has rows as (rows, inner). */
typedef struct sets {
    int64_t channels, inner; /* channels 0: rows */
    int64_t groups;          /* of an example; each channel is one for batch norm */
    bool batch, centred;
} sets;

static int64_t set_of(const sets *s, int64_t i) {
    if (s->channels == 0) return i / s->inner;
    const int64_t group = i / s->inner % s->channels / (s->channels / s->groups);
    return s->batch ? group : i / (s->inner * s->channels) * s->groups + group;
}

/* Which weight an element has. */
static int64_t weight_of(const sets *s, int64_t i) {
    return s->channels == 0 ? i % s->inner : i / s->inner % s->channels;
}

static sets image_sets(const f64_array *x, int64_t groups, bool batch) {
    const int64_t channels = x->dims[1];
    return (sets){channels, (int64_t)x->count / (x->dims[0] * channels), groups, batch, true};
}

static sets row_sets(const f64_array *x, int axes, bool centred) {
    int64_t inner = 1;
    for (int i = x->rank - axes; i < x->rank; i++) inner *= x->dims[i];
    return (sets){0, inner, 0, false, centred};
}

/* Arrays with an element for each set; errors of mean and variance are how far the inputs' errors and rounding may move them. */
typedef struct statistics {
    f64_array *count, *mean, *variance;
} statistics;

static f64_array *one_a_set(const f64_array *x, const sets *s) {
    const int64_t count = set_of(s, (int64_t)x->count - 1) + 1;
    return f64_zeros(1, &count);
}

static statistics statistics_of(const f64_array *x, const sets *s) {
    const statistics t = {one_a_set(x, s), one_a_set(x, s), one_a_set(x, s)};
    f64_array *const sizes = one_a_set(x, s);
    double *const count = t.count->value, *const mean = t.mean->value, *const variance = t.variance->value;
    for (size_t i = 0; i < x->count; i++) {
        const int64_t set = set_of(s, (int64_t)i);
        count[set]++;
        if (!s->centred) continue;
        mean[set] += x->value[i];
        t.mean->error[set] += x->error[i];
        sizes->value[set] += fabs(x->value[i]);
    }
    for (size_t i = 0; i < t.mean->count; i++) {
        mean[i] /= count[i];
        t.mean->error[i] = t.mean->error[i] / count[i] + f64_overflow(sizes->value[i]);
    }
    for (size_t i = 0; i < x->count; i++) {
        const int64_t set = set_of(s, (int64_t)i);
        const double near = x->value[i] - mean[set], error = x->error[i] + t.mean->error[set];
        variance[set] += near * near / count[set];
        t.variance->error[set] += (2 * fabs(near) + error) * error / count[set];
    }
    for (size_t i = 0; i < t.mean->count; i++)
        t.variance->error[i] += 1e-6 * log2(count[i]) * variance[i] + f64_overflow(count[i] * variance[i]);
    return t;
}

/* The numbers that an element is normalised with. */
typedef struct scale {
    double mean, mean_error, root, most_root; /* 1 / sqrt(v + epsilon), and the most that it may be */
    double least_root;
} scale;

static scale scale_of(const statistics *t, int64_t set, double epsilon) {
    const double v = t->variance->value[set], e = t->variance->error[set];
    return (scale){.mean = t->mean->value[set],
        .mean_error = t->mean->error[set],
        .root = 1 / sqrt(v + epsilon),
        .most_root = 1 / sqrt(fmax(v - e, 0) + epsilon),
        .least_root = 1 / sqrt(v + e + epsilon)};
}

/* Rounding does not depend on the mean: x - m is exact where they are close. */
static f64_array *normalised(const f64_array *x, const sets *s, const f64_norm *norm) {
    const statistics t = statistics_of(x, s);
    f64_array *const y = f64_copy(x);
    for (size_t i = 0; i < x->count; i++) {
        const scale c = scale_of(&t, set_of(s, (int64_t)i), norm->epsilon);
        const int64_t at = weight_of(s, (int64_t)i);
        const double near = x->value[i] - c.mean, hat = near * c.root;
        const double weight = norm->weight ? norm->weight->value[at] : 1,
                     bias = norm->bias ? norm->bias->value[at] : 0;
        const double carried = (x->error[i] + c.mean_error) * c.most_root +
                               fabs(near) * fmax(c.most_root - c.root, c.root - c.least_root);
        y->value[i] = hat * weight + bias;
        y->error[i] = carried * fabs(weight) + 4e-6 * (fmax(fabs(hat), 1) * fabs(weight) + fabs(bias));
        if (norm->weight) y->error[i] += norm->weight->error[at] * fabs(hat);
        if (norm->bias) y->error[i] += norm->bias->error[at];
    }
    return y;
}

f64_array *f64_batch_norm(const f64_array *x, const f64_norm *norm) {
    const sets s = image_sets(x, x->dims[1], true);
    return normalised(x, &s, norm);
}
f64_array *f64_instance_norm(const f64_array *x, const f64_norm *norm) {
    const sets s = image_sets(x, x->dims[1], false);
    return normalised(x, &s, norm);
}
f64_array *f64_group_norm(const f64_array *x, int64_t groups, const f64_norm *norm) {
    const sets s = image_sets(x, groups, false);
    return normalised(x, &s, norm);
}
f64_array *f64_layer_norm(const f64_array *x, int axes, const f64_norm *norm) {
    const sets s = row_sets(x, axes, true);
    return normalised(x, &s, norm);
}
f64_array *f64_rms_norm(const f64_array *x, int axes, const f64_norm *norm) {
    const sets s = row_sets(x, axes, false);
    return normalised(x, &s, norm);
}

/* ---- running statistics ---- */

/* Seen as a·x + (bias - a·mean), as which it is often fused, so that what cancels counts for rounding. */
f64_array *f64_running_norm(
    const f64_array *x, const f64_array *mean, const f64_array *variance, const f64_norm *norm) {
    const sets s = image_sets(x, x->dims[1], true);
    f64_array *const y = f64_copy(x);
    for (size_t i = 0; i < x->count; i++) {
        const int64_t at = weight_of(&s, (int64_t)i);
        const double root = 1 / sqrt(variance->value[at] + norm->epsilon),
                     near = x->value[i] - mean->value[at];
        const double weight = norm->weight ? norm->weight->value[at] : 1,
                     bias = norm->bias ? norm->bias->value[at] : 0;
        y->value[i] = near * root * weight + bias;
        y->error[i] =
            (x->error[i] + 1e-6 * (fabs(x->value[i]) + fabs(mean->value[at]))) * root * fabs(weight) +
            1e-6 * fabs(bias);
        if (norm->weight) y->error[i] += norm->weight->error[at] * fabs(near) * root;
        if (norm->bias) y->error[i] += norm->bias->error[at];
    }
    return y;
}

/* How far a set's mean, or its unbiased variance, may be away. */
static double error_of(const statistics *t, bool variance, int64_t set) {
    const double count = t->count->value[set];
    if (variance) return t->variance->error[set] * count / (count - 1);
    return t->mean->error[set] + 1e-6 * log2(count) * sqrt(t->variance->value[set]) +
           1e-6 * fabs(t->mean->value[set]);
}

f64_array *f64_move_running(const f64_array *x, const f64_running *r) {
    const sets s = image_sets(x, x->dims[1], !r->per_example);
    const statistics t = statistics_of(x, &s);
    f64_array *const y = f64_copy(r->running);
    const int64_t channels = x->dims[1], examples = r->per_example ? x->dims[0] : 1;
    for (int64_t c = 0; c < channels; c++) {
        double value = 0, error = 0;
        for (int64_t n = 0; n < examples; n++) {
            const int64_t set = n * channels + c;
            const double count = t.count->value[set];
            value += r->variance ? t.variance->value[set] * count / (count - 1) : t.mean->value[set];
            error += error_of(&t, r->variance, set);
        }
        value /= (double)examples;
        y->value[c] = (1 - r->momentum) * r->running->value[c] + r->momentum * value;
        y->error[c] = (1 - r->momentum) * r->running->error[c] + r->momentum * error / (double)examples +
                      1e-6 * (fabs(r->running->value[c]) + fabs(value));
    }
    return y;
}
