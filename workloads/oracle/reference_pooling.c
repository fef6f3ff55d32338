/* Pooling in float64: see reference_pooling.h. */
#include "oracle/reference_pooling.h"
#include <math.h>

/* The elements of one axis that a place sees, first, first + step, ..., and how many it counts with its padding. */
typedef struct seen {
    int64_t first, step, count, counted;
} seen;

/* One of options and sizes is NULL; sizes: adaptive. */
typedef struct pooling {
    const weft_pool_options *options;
    const int64_t *sizes;
    bool maximum, exclude_padding;
    int64_t divisor; /* 0: the elements that are counted */
} pooling;

static int64_t or_else(int64_t value, int64_t otherwise) {
    return value ? value : otherwise;
}

/* What the options say of an axis, for it or for all of them. */
typedef struct pooled_axis {
    int64_t window, stride, padding, dilation;
} pooled_axis;

static pooled_axis axis_of(const weft_pool_options *o, int axis) {
    const int64_t window = or_else(o->windows[axis], o->window);
    return (pooled_axis){.window = window,
        .stride = or_else(or_else(o->strides[axis], o->stride), window),
        .padding = or_else(o->paddings[axis], o->padding),
        .dilation = or_else(or_else(o->dilations[axis], o->dilation), 1)};
}

static seen seen_by(const pooling *p, int axis, int64_t n, int64_t place) {
    seen s = {.first = -1, .step = 1};
    if (p->sizes) {
        for (int64_t i = 0; i < n; i++) { /* (place / size, (place + 1) / size) meets (i / n, (i + 1) / n) */
            if (place * n >= (i + 1) * p->sizes[axis] || i * p->sizes[axis] >= (place + 1) * n) continue;
            if (s.first < 0) s.first = i;
            s.count++;
        }
        s.counted = s.count;
        return s;
    }
    const pooled_axis a = axis_of(p->options, axis);
    s.step = a.dilation;
    for (int64_t k = 0; k < a.window; k++) {
        const int64_t at = place * a.stride - a.padding + k * s.step;
        s.counted += at < n + a.padding;
        if (at < 0 || at >= n) continue;
        if (s.first < 0) s.first = at;
        s.count++;
    }
    return s;
}

/* Places are added as long as the window fits, or with ceil_mode: as something is left to see. */
static int64_t places(const pooling *p, int axis, int64_t n) {
    const weft_pool_options *const o = p->options;
    if (p->sizes) return p->sizes[axis];
    const pooled_axis a = axis_of(o, axis);
    const int64_t stride = a.stride, padding = a.padding, reach = a.dilation * (a.window - 1) + 1;
    int64_t count = 1;
    for (;; count++) {
        const int64_t begin = count * stride - padding, left = n + padding - (begin - stride + reach);
        if (o->ceil_mode ? left <= 0 || begin >= n : begin + reach > n + padding) return count;
    }
}

/* The elements of a window in a channel of these sizes. */
typedef struct window {
    const double *value, *error;
    const seen *axes; /* three */
    const int64_t *n;
} window;

static size_t offset_in(const window *w, int64_t d, int64_t h) {
    const seen *const s = w->axes;
    return (
        size_t)(((s[0].first + d * s[0].step) * w->n[1] + s[1].first + h * s[1].step) * w->n[2] + s[2].first);
}

/* Padding is never the maximum. Any element may be the greatest that is, within its error. */
static void find_maximum(const window *w, double *value, double *error) {
    const seen *const s = w->axes;
    *value = -INFINITY;
    for (int64_t d = 0; d < s[0].count; d++) {
        for (int64_t h = 0; h < s[1].count; h++) {
            const size_t at = offset_in(w, d, h);
            for (int64_t i = 0; i < s[2].count; i++) {
                const double x = w->value[at + (size_t)(i * s[2].step)],
                             e = w->error[at + (size_t)(i * s[2].step)];
                if (x > *value || isnan(x)) *value = x;
                *error = fmax(*error, e);
            }
        }
    }
}

static void find_mean(const window *w, double divisor, double *value, double *error) {
    const seen *const s = w->axes;
    double sum = 0, size = 0, carried = 0;
    for (int64_t d = 0; d < s[0].count; d++) {
        for (int64_t h = 0; h < s[1].count; h++) {
            const size_t at = offset_in(w, d, h);
            for (int64_t i = 0; i < s[2].count; i++) {
                const double x = w->value[at + (size_t)(i * s[2].step)];
                sum += x;
                size += fabs(x);
                carried += w->error[at + (size_t)(i * s[2].step)];
            }
        }
    }
    const double count = (double)(s[0].count * s[1].count * s[2].count);
    *value = sum / divisor;
    *error = count > 0 ? (carried + 1e-6 * (1 + log2(count)) * size) / divisor + f64_overflow(size) : 0;
}

/* Three spatial sizes of x and of the result. */
typedef struct sides {
    int64_t n[3], out[3];
} sides;

static void pool_channel(const pooling *p, const f64_array *x, f64_array *y, size_t channel, const sides *s) {
    const int64_t *const n = s->n, *const out = s->out;
    const size_t read = (size_t)(n[0] * n[1] * n[2]);
    size_t at = channel * (size_t)(out[0] * out[1] * out[2]);
    const int first = 5 - x->rank;
    int64_t o[3] = {0};
    seen axes[3] = {{0, 1, 1, 1}, {0, 1, 1, 1}, {0, 1, 1, 1}};
    do {
        for (int i = first; i < 3; i++) axes[i] = seen_by(p, i - first, n[i], o[i]);
        const window w = {x->value + channel * read, x->error + channel * read, axes, n};
        const int64_t count = axes[0].count * axes[1].count * axes[2].count,
                      counted = axes[0].counted * axes[1].counted * axes[2].counted;
        const int64_t divisor = or_else(p->divisor, p->exclude_padding ? count : counted);
        if (p->maximum)
            find_maximum(&w, &y->value[at], &y->error[at]);
        else
            find_mean(&w, (double)divisor, &y->value[at], &y->error[at]);
        at++;
    } while (f64_next(o, 3, out));
}

static f64_array *pooled(const pooling *p, const f64_array *x) {
    int64_t dims[WEFT_MAX_RANK] = {x->dims[0], x->dims[1]};
    sides s = {{1, 1, 1}, {1, 1, 1}};
    for (int i = 2; i < x->rank; i++) {
        dims[i] = places(p, i - 2, x->dims[i]);
        s.n[i + 3 - x->rank] = x->dims[i];
        s.out[i + 3 - x->rank] = dims[i];
    }
    f64_array *const y = f64_zeros(x->rank, dims);
    for (size_t channel = 0; channel < (size_t)(x->dims[0] * x->dims[1]); channel++)
        pool_channel(p, x, y, channel, &s);
    return y;
}

f64_array *f64_max_pool(const f64_array *x, const weft_pool_options *options) {
    return pooled(&(pooling){.options = options, .maximum = true}, x);
}
f64_array *f64_avg_pool(const f64_array *x, const weft_pool_options *options) {
    return pooled(
        &(pooling){
            .options = options, .exclude_padding = options->exclude_padding, .divisor = options->divisor},
        x);
}
f64_array *f64_adaptive_max_pool(const f64_array *x, const int64_t *sizes) {
    return pooled(&(pooling){.sizes = sizes, .maximum = true}, x);
}
f64_array *f64_adaptive_avg_pool(const f64_array *x, const int64_t *sizes) {
    return pooled(&(pooling){.sizes = sizes}, x);
}
f64_array *f64_global_max_pool(const f64_array *x) {
    return f64_adaptive_max_pool(x, (const int64_t[]){1, 1, 1});
}
f64_array *f64_global_avg_pool(const f64_array *x) {
    return f64_adaptive_avg_pool(x, (const int64_t[]){1, 1, 1});
}

static double to_power(double a, double b, double c) {
    (void)c;
    return b == 2 ? a * a : pow(a, b);
}
static double to_root(double a, double b, double c) {
    (void)c;
    return a == 0 ? 0 : pow(a, 1 / b);
}

/* By the mean, times the window's whole size. */
f64_array *f64_lp_pool(const f64_array *x, double p, const weft_pool_options *options) {
    double size = 1;
    for (int i = 0; i < x->rank - 2; i++) size *= (double)axis_of(options, i).window;
    const f64_array *const order = f64_number(p), *const powers = f64_map(to_power, x, order, NULL);
    return f64_map(to_root, f64_mul(f64_avg_pool(powers, options), f64_number(size)), order, NULL);
}
