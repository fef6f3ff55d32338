/* Convolutions in float64: see reference_convolution.h. A transposed convolution runs over the same triples of an element, a tap and
 * another element as the convolution that it transposes; the two sides exchange their parts. */
#include "oracle/reference_convolution.h"
#include <math.h>

/* Element o of the short side meets, by tap k, element o·stride + k·dilation - before of the long side. A convolution reads the long
 * side and writes the short one. */
typedef struct conv_axis {
    int64_t shorter, longer, taps, stride, dilation, before;
} conv_axis;

typedef struct conv_shape {
    conv_axis axes[3];
    int64_t images, groups, in, out; /* channels read and written in a group */
    int64_t read, written, taps;     /* elements of a channel, of a filter's channel */
    bool transposed;
} conv_shape;

static int64_t or_one(int64_t number) {
    return number ? number : 1;
}

/* The number of an axis, or that of all axes. */
static int64_t number_of(int64_t one, const int64_t each[3], int axis) {
    return each[axis] ? each[axis] : one;
}

static conv_axis axis_of(const weft_conv_options *o, int i, int64_t size, int64_t taps, bool transposed) {
    conv_axis a = {.taps = taps,
        .stride = or_one(number_of(o->stride, o->strides, i)),
        .dilation = or_one(number_of(o->dilation, o->dilations, i)),
        .before = number_of(o->padding, o->paddings, i)};
    const int64_t reach = a.dilation * (taps - 1) + 1; /* a result that has no room is empty */
    int64_t both =
        a.before +
        (o->mode == WEFT_PADDING_EACH ? number_of(o->padding_after, o->paddings_after, i) : a.before);
    if (transposed) {
        a.shorter = size;
        a.longer = (size - 1) * a.stride - both + reach + number_of(o->output_padding, o->output_paddings, i);
        a.longer = a.longer < 0 ? 0 : a.longer;
        return a;
    }
    if (o->mode == WEFT_PADDING_SAME) {
        both = ((size + a.stride - 1) / a.stride - 1) * a.stride + reach - size;
        both = both > 0 ? both : 0;
        a.before = both / 2;
    }
    a.longer = size;
    a.shorter = size + both < reach ? 0 : (size + both - reach) / a.stride + 1;
    return a;
}

static conv_shape shape_of(
    const f64_array *x, const f64_array *weight, const weft_conv_options *o, bool transposed) {
    conv_shape s = {.images = x->dims[0],
        .groups = or_one(o->groups),
        .transposed = transposed,
        .read = 1,
        .written = 1,
        .taps = 1};
    s.in = x->dims[1] / s.groups;
    s.out = transposed ? weight->dims[1] : weight->dims[0] / s.groups;
    for (int i = 0; i < 3; i++) {
        const int axis = i - (5 - x->rank); /* axes that do not exist have one element */
        s.axes[i] = axis < 0 ? (conv_axis){1, 1, 1, 1, 1, 0}
                             : axis_of(o, axis, x->dims[2 + axis], weight->dims[2 + axis], transposed);
        s.read *= transposed ? s.axes[i].shorter : s.axes[i].longer;
        s.written *= transposed ? s.axes[i].longer : s.axes[i].shorter;
        s.taps *= s.axes[i].taps;
    }
    return s;
}

/* The elements of the short side, first .. last - 1, that meet, by tap k, an element of the long side. */
static void meet(const conv_axis *a, int64_t k, int64_t *first, int64_t *last) {
    const int64_t shift = a->before - k * a->dilation, most = a->longer - 1 + shift;
    *first = shift > 0 ? (shift + a->stride - 1) / a->stride : 0;
    *last = most < 0 ? 0 : most / a->stride + 1;
    if (*last > a->shorter) *last = a->shorter;
}

/* One tap, and one channel that is read and one that is written. */
typedef struct conv_tap {
    double weight, error; /* error: of the weight, with what the sum's rounding adds to it */
    size_t from, to;      /* where the channels begin in x and y */
} conv_tap;

static void add_line(
    const conv_tap *t, const f64_array *x, f64_array *y, const int64_t steps[2], int64_t count) {
    const double *const value = x->value + t->from, *const error = x->error + t->from;
    double *const sum = y->value + t->to, *const sum_error = y->error + t->to;
    for (int64_t i = 0; i < count; i++) sum[i * steps[1]] += t->weight * value[i * steps[0]];
    if (!f64_tracks_errors()) return;
    for (int64_t i = 0; i < count; i++)
        sum_error[i * steps[1]] +=
            t->error * fabs(value[i * steps[0]]) + fabs(t->weight) * error[i * steps[0]];
}

static void add_tap(
    const conv_shape *s, const f64_array *x, f64_array *y, const int64_t k[3], const conv_tap *tap) {
    const conv_axis *const d = &s->axes[0], *const h = &s->axes[1], *const w = &s->axes[2];
    int64_t first[3], last[3];
    for (int i = 0; i < 3; i++) meet(&s->axes[i], k[i], &first[i], &last[i]);
    const int64_t steps[2] = {s->transposed ? 1 : w->stride, s->transposed ? w->stride : 1};
    for (int64_t i = first[0]; i < last[0]; i++) {
        for (int64_t j = first[1]; j < last[1]; j++) {
            const int64_t far = ((i * d->stride + k[0] * d->dilation - d->before) * h->longer +
                                    j * h->stride + k[1] * h->dilation - h->before) *
                                    w->longer +
                                first[2] * w->stride + k[2] * w->dilation - w->before;
            const int64_t near = (i * h->shorter + j) * w->shorter + first[2];
            conv_tap line = *tap;
            line.from += (size_t)(s->transposed ? near : far);
            line.to += (size_t)(s->transposed ? far : near);
            add_line(&line, x, y, steps, last[2] - first[2]);
        }
    }
}

/* What channel `from` of x adds to channel `to` of y, both counted in their group of image n. */
static void add_channel(
    const conv_shape *s, const f64_array *x, const f64_array *weight, f64_array *y, const int64_t at[4]) {
    const int64_t n = at[0], g = at[1], to = at[2], from = at[3];
    const int64_t filter =
        s->transposed ? (g * s->in + from) * s->out + to : (g * s->out + to) * s->in + from;
    const double allowed = 1e-6 * log2((double)(s->in * s->taps));
    const int64_t taps[3] = {s->axes[0].taps, s->axes[1].taps, s->axes[2].taps};
    int64_t k[3] = {0, 0, 0}, at_tap = filter * s->taps;
    do {
        const conv_tap tap = {.weight = weight->value[at_tap],
            .error = weight->error[at_tap] + allowed * fabs(weight->value[at_tap]),
            .from = (size_t)(((n * s->groups + g) * s->in + from) * s->read),
            .to = (size_t)(((n * s->groups + g) * s->out + to) * s->written)};
        add_tap(s, x, y, k, &tap);
        at_tap++;
    } while (f64_next(k, 3, taps));
}

/* Windows of three by three, and rows of five, may be computed by Winograd's transforms (Lavin and Gray 2016), which add and subtract all elements of a tile: what
 * they round is in proportion to the largest of these, not to the window's own terms. */
static double transform_error(const conv_shape *s) {
    const conv_axis *const h = &s->axes[1], *const w = &s->axes[2];
    if (w->stride != 1 || w->dilation != 1) return 0;
    if (w->taps == 5) return 1.5e-6; /* eight points, of which the largest is 2 */
    return h->taps == 3 && w->taps == 3 && h->stride == 1 && h->dilation == 1 ? 4e-7 : 0;
}

static double largest(const double *values, int64_t count) {
    double most = 0;
    for (int64_t i = 0; i < count; i++) most = fmax(most, fabs(values[i]));
    return most;
}

static double sum_of_sizes(const double *values, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += fabs(values[i]);
    return sum;
}

static void add_tile_errors(const conv_shape *s, const f64_array *x, const f64_array *weight, f64_array *y) {
    const int64_t pairs[4] = {s->images, s->groups, s->out, s->in};
    int64_t at[4] = {0};
    do {
        const int64_t image = at[0] * s->groups + at[1];
        const int64_t filter = s->transposed ? (at[1] * s->in + at[3]) * s->out + at[2]
                                             : (at[1] * s->out + at[2]) * s->in + at[3];
        const double error = transform_error(s) *
                             largest(x->value + (image * s->in + at[3]) * s->read, s->read) *
                             sum_of_sizes(weight->value + filter * s->taps, s->taps);
        double *const errors = y->error + (image * s->out + at[2]) * s->written;
        for (int64_t i = 0; i < s->written; i++) errors[i] += error;
    } while (f64_next(at, 4, pairs));
}

static f64_array *convolve(
    const f64_array *x, const f64_array *weight, const weft_conv_options *given, bool transposed) {
    static const weft_conv_options none = {WEFT_CONV_OPTIONS_INIT};
    const conv_shape s = shape_of(x, weight, given ? given : &none, transposed);
    int64_t dims[WEFT_MAX_RANK] = {s.images, s.groups * s.out}, at[4] = {0};
    for (int i = 2; i < x->rank; i++) {
        const conv_axis *const a = &s.axes[i + 3 - x->rank];
        dims[i] = transposed ? a->longer : a->shorter;
    }
    f64_array *const y = f64_zeros(x->rank, dims);
    const int64_t pairs[4] = {s.images, s.groups, s.out, s.in};
    do add_channel(&s, x, weight, y, at);
    while (f64_next(at, 4, pairs));
    if (f64_tracks_errors() && transform_error(&s) > 0) add_tile_errors(&s, x, weight, y);
    for (size_t i = 0; i < y->count; i++)
        y->error[i] += f64_ulp(y->value[i]) + f64_stored_rounding(y->value[i]);
    return y;
}

static f64_array *with_bias(f64_array *y, const f64_array *bias) {
    int64_t dims[WEFT_MAX_RANK] = {1, y->dims[1], 1, 1, 1};
    return bias ? f64_add(y, f64_reshape(bias, y->rank, dims)) : y;
}

/* A part of an array that has one for each example, without this axis. */
static f64_array *of_example(const f64_array *a, int64_t n) {
    return f64_reshape(f64_slice(a, 0, n, n + 1), a->rank - 1, a->dims + 1);
}

/* Kernels, and perhaps biases, for each example. */
static f64_array *convolve_each(
    const f64_array *x, const f64_array *weight, const f64_array *bias, const weft_conv_options *options) {
    f64_array *y = NULL;
    for (int64_t n = 0; n < x->dims[0]; n++) {
        const f64_array *const b = bias && bias->rank == 2 ? of_example(bias, n) : bias;
        f64_array *const part = f64_conv(f64_slice(x, 0, n, n + 1), of_example(weight, n), b, options);
        y = y ? f64_concat((const f64_array *[]){y, part}, 2, 0) : part;
    }
    return y;
}

f64_array *f64_conv(
    const f64_array *x, const f64_array *weight, const f64_array *bias, const weft_conv_options *options) {
    if (weight->rank > x->rank) return convolve_each(x, weight, bias, options);
    return with_bias(convolve(x, weight, options, false), bias);
}

f64_array *f64_conv_transpose(
    const f64_array *x, const f64_array *weight, const f64_array *bias, const weft_conv_options *options) {
    return with_bias(convolve(x, weight, options, true), bias);
}
