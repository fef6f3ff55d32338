/* Resampling, pixel shuffles and local response normalisation in float64: see reference_pooling.h. */
#include "oracle/reference_pooling.h"
#include <assert.h>
#include <math.h>

enum { MOST_SIZE = 4096 };

/* What element o of an axis is: (1 - part) · element from + part · the next one. */
typedef struct mix {
    int64_t from;
    double part, error; /* error: of part, as places are float32 numbers */
} mix;

/* The nearest element is PyTorch's: both multiply in float32, which decides where o · n / size is a whole number. */
static mix nearest_at(double factor, int64_t n, int64_t size, int64_t o) {
    const float step = factor > 0 ? (float)(1 / factor) : (float)n / (float)size;
    const int64_t from = (int64_t)floorf(step * (float)o);
    return (mix){from < n ? from : n - 1, 0, 0};
}

static mix mix_at(const weft_resample_options *options, int axis, int64_t n, int64_t size, int64_t o) {
    const double factor = options->factors[axis];
    if (options->mode == WEFT_RESAMPLE_NEAREST) return nearest_at(factor, n, size, o);
    const double step = factor > 0 ? 1 / factor : (double)n / (double)size;
    const double corner = size > 1 ? (double)(o * (n - 1)) / (double)(size - 1) : 0;
    const double at = options->align_corners ? corner : fmax(((double)o + 0.5) * step - 0.5, 0);
    const double error = n > 1 ? 3e-7 * (1 + at) : 0;
    const int64_t from = (int64_t)at;
    return from >= n - 1 ? (mix){n - 1, 0, error} : (mix){from, at - (double)from, error};
}

/* An element of the result. */
typedef struct mixed {
    const mix *axes[3];
    const double *value, *error; /* of the channel */
    const int64_t *n;
    double most; /* its greatest size in the channel */
} mixed;

static void mix_element(const mixed *m, double *value, double *error) {
    double unsure = 0;
    for (int corner = 0; corner < 8; corner++) {
        int64_t from = 0;
        double weight = 1;
        for (int i = 0; i < 3 && weight > 0; i++) {
            const bool next = corner >> i & 1;
            weight *= next ? m->axes[i]->part : 1 - m->axes[i]->part;
            from = from * m->n[i] + m->axes[i]->from + next;
        }
        if (!(weight > 0)) continue;
        *value += weight * m->value[from];
        *error += weight * (m->error[from] + (weight < 1 ? 1e-6 * fabs(m->value[from]) : 0));
    }
    for (int i = 0; i < 3; i++) unsure += m->axes[i]->error;
    *error += unsure * m->most;
}

static void resample_channel(const f64_array *x, f64_array *y, size_t channel, mix (*mixes)[MOST_SIZE]) {
    int64_t n[3] = {1, 1, 1}, out[3] = {1, 1, 1}, o[3] = {0};
    for (int i = 2; i < x->rank; i++) n[i + 3 - x->rank] = x->dims[i], out[i + 3 - x->rank] = y->dims[i];
    const size_t read = (size_t)(n[0] * n[1] * n[2]);
    size_t at = channel * (size_t)(out[0] * out[1] * out[2]);
    mixed m = {.value = x->value + channel * read, .error = x->error + channel * read, .n = n};
    for (size_t i = 0; i < read; i++) m.most = fmax(m.most, fabs(m.value[i]));
    do {
        for (int i = 0; i < 3; i++) m.axes[i] = &mixes[i][o[i]];
        mix_element(&m, &y->value[at], &y->error[at]);
        at++;
    } while (f64_next(o, 3, out));
}

f64_array *f64_resample(const f64_array *x, const weft_resample_options *options) {
    static mix mixes[3][MOST_SIZE];
    int64_t dims[WEFT_MAX_RANK] = {x->dims[0], x->dims[1]};
    for (int i = 0; i < 3; i++) mixes[i][0] = (mix){0, 0, 0};
    for (int i = 0; i < x->rank - 2; i++) {
        const int64_t n = x->dims[2 + i];
        const int64_t size =
            options->sizes[i] ? options->sizes[i] : (int64_t)floor((double)n * options->factors[i]);
        assert(size <= MOST_SIZE);
        for (int64_t o = 0; o < size; o++) mixes[i + 5 - x->rank][o] = mix_at(options, i, n, size, o);
        dims[2 + i] = size;
    }
    f64_array *const y = f64_zeros(x->rank, dims);
    for (size_t channel = 0; channel < (size_t)(x->dims[0] * x->dims[1]); channel++)
        resample_channel(x, y, channel, mixes);
    return y;
}

f64_array *f64_upsample_nearest(const f64_array *x, int64_t factor) {
    const double f = (double)factor;
    return f64_resample(x, &(const weft_resample_options){.factors = {f, f, f}});
}
f64_array *f64_upsample_linear(const f64_array *x, int64_t factor, bool align_corners) {
    const double f = (double)factor;
    return f64_resample(
        x, &(const weft_resample_options){
               .mode = WEFT_RESAMPLE_LINEAR, .factors = {f, f, f}, .align_corners = align_corners});
}

/* ---- pixel shuffles ---- */

static bool shuffled_place(const void *context, const f64_array *a, const int64_t *to, int64_t *from) {
    (void)a;
    const int64_t r = *(const int64_t *)context;
    from[0] = to[0];
    from[1] = (to[1] * r + to[2] % r) * r + to[3] % r;
    from[2] = to[2] / r;
    from[3] = to[3] / r;
    return true;
}
static bool unshuffled_place(const void *context, const f64_array *a, const int64_t *to, int64_t *from) {
    (void)a;
    const int64_t r = *(const int64_t *)context;
    from[0] = to[0];
    from[1] = to[1] / (r * r);
    from[2] = to[2] * r + to[1] / r % r;
    from[3] = to[3] * r + to[1] % r;
    return true;
}

f64_array *f64_pixel_shuffle(const f64_array *x, int64_t r) {
    const int64_t dims[] = {x->dims[0], x->dims[1] / (r * r), x->dims[2] * r, x->dims[3] * r};
    return f64_pick(x, 4, dims, shuffled_place, &r, 0);
}
f64_array *f64_pixel_unshuffle(const f64_array *x, int64_t r) {
    const int64_t dims[] = {x->dims[0], x->dims[1] * r * r, x->dims[2] / r, x->dims[3] / r};
    return f64_pick(x, 4, dims, unshuffled_place, &r, 0);
}

/* ---- local response normalisation ---- */

/* x / s^beta with s = k + alpha / size · the sum of squares. */
f64_array *f64_local_response_norm(const f64_array *x, int64_t size, double alpha, double beta, double k) {
    f64_array *const y = f64_copy(x);
    const int64_t channels = x->dims[1], inner = (int64_t)x->count / (x->dims[0] * channels);
    const double share = alpha / (double)size, allowed = 1e-6 * log2((double)size);
    for (int64_t at = 0; at < (int64_t)x->count; at++) {
        const int64_t channel = at / inner % channels, first = channel - size / 2;
        double sum = 0, carried = 0;
        for (int64_t j = first < 0 ? 0 : first; j < first + size && j < channels; j++) {
            const int64_t other = at + (j - channel) * inner;
            sum += x->value[other] * x->value[other];
            carried += (2 * fabs(x->value[other]) + x->error[other]) * x->error[other];
        }
        const double s = k + share * sum, power = pow(s, -beta);
        y->value[at] = x->value[at] * power;
        y->error[at] = x->error[at] * power + 4e-6 * fabs(y->value[at]) +
                       fabs(y->value[at] * beta / s * share) * (carried + allowed * sum) + f64_overflow(sum);
    }
    return y;
}
