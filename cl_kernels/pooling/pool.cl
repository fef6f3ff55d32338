/* pool.cl: windows over images: the greatest element or the mean, and their gradients.
 *
 *     x, dx (N, D, H, W, C)   y, g (N, OD, OH, OW, C)   all contiguous: channels last
 *
 *     y[n][o][c] = max or mean over taps t of window o of x[n][t][c]
 *
 * Along an axis, window o has the taps o·stride - padding + k·dilation, k < size, as far as they are inside;
 * with stride 0 (adaptive) all elements from floor(o·in / out) to ceil((o + 1)·in / out) - 1.
 *
 *         padding   x                     Maxima: NaN wins, then the first in window order.
 *          . . | a b c d e | . .          The gradient goes to the element that won: the first
 *         [  o=0  ]                       that equals y; of several NaN the last (as PyTorch).
 *             [  o=1  ]                   No atomics, and one order of every sum.
 *                 [  o=2  ]
 *
 * Class cpu: an item takes `share` pixels of the result, 16 channels at a time. Where fewer than 16 channels
 * are left, the other lanes read the next pixels, and what they make of them is overwritten by the next
 * pixels' own; where memory, or the item's share of it, ends before, channels are taken one by one. Gradients
 * scatter: an item owns whole images, or 16 channels or more of them, and goes through the windows in order.
 * Class gpu: an item takes one element, neighbours having neighbouring channels. Gradients gather: an element
 * of dx looks at the windows that hold it.
 *
 * WEFT_PASS chooses the kernel, -1 all of them. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) pool_##suffix
#define WEFT_PASS         (-1)
#endif

#ifndef WEFT_POOL_CL
#define WEFT_POOL_CL
typedef struct weft_window {
    int in, out, size, stride, padding, dilation;
} weft_window;

/* The elements from, from + step, ... of an axis; counted: with those in the padding. */
typedef struct weft_taps {
    int from, count, step, counted;
} weft_taps;

/* Windows first .. last of an axis. */
typedef struct weft_range {
    int first, last;
} weft_range;

static inline weft_taps weft_taps_of(int o, weft_window a) {
    weft_taps t;
    t.step = a.dilation;
    if (a.stride == 0) {
        t.from = (int)((long)o * a.in / a.out);
        t.count = t.counted = (int)((((long)o + 1) * a.in + a.out - 1) / a.out) - t.from;
        return t;
    }
    const int start = o * a.stride - a.padding, last = start + (a.size - 1) * a.dilation;
    const int outside = start < 0 ? (a.dilation - 1 - start) / a.dilation : 0;
    const int inside = last < a.in ? a.size : (a.in - start + a.dilation - 1) / a.dilation;
    const int end = a.in + a.padding;
    t.counted = last < end ? a.size : (end - start + a.dilation - 1) / a.dilation;
    t.from = start + outside * a.dilation;
    t.count = max(inside - outside, 0);
    return t;
}

/* The windows that may hold element i; with dilation not all of them do. */
static inline weft_range weft_windows_of(int i, weft_window a) {
    weft_range r;
    if (a.stride == 0) {
        r.first = (int)((long)i * a.out / a.in);
        r.last = (int)((((long)i + 1) * a.out + a.in - 1) / a.in) - 1;
        return r;
    }
    const int reach = i + a.padding - (a.size - 1) * a.dilation;
    r.first = reach > 0 ? (reach + a.stride - 1) / a.stride : 0;
    r.last = min((i + a.padding) / a.stride, a.out - 1);
    return r;
}

static inline bool weft_window_holds(int o, int i, weft_window a) {
    return a.dilation == 1 || (i + a.padding - o * a.stride) % a.dilation == 0;
}

/* What the sum of a window's taps is divided by. */
static inline float weft_divisor(weft_taps d, weft_taps h, weft_taps w, int padding_counts, int divisor) {
    if (divisor > 0) return (float)divisor;
    if (padding_counts) return (float)d.counted * (float)h.counted * (float)w.counted;
    return max((float)d.count * (float)h.count * (float)w.count, 1.0f);
}

/* The pooled image: its axes, and the size of a pixel. */
typedef struct weft_pooled {
    weft_window d, h, w;
    int channels;
} weft_pooled;

/* Taps in memory: elements at + i·d_step + j·h_step + k·w_step for i < d, j < h, k < w. */
typedef struct weft_walk {
    long at, d_step, h_step, w_step;
    int d, h, w;
} weft_walk;

static inline weft_walk weft_walk_of(weft_pooled s, weft_taps d, weft_taps h, weft_taps w, long image) {
    const long pixel = s.channels, line = pixel * s.w.in, plane = line * s.h.in;
    weft_walk t;
    t.at = image + d.from * plane + h.from * line + w.from * pixel;
    t.d_step = d.step * plane;
    t.h_step = h.step * line;
    t.w_step = w.step * pixel;
    t.d = d.count;
    t.h = h.count;
    t.w = w.count;
    return t;
}

static inline long weft_walk_end(weft_walk t) {
    return t.at + (t.d - 1) * t.d_step + (t.h - 1) * t.h_step + (t.w - 1) * t.w_step;
}

#define WEFT_DEFINE_POOL(T, I, LOAD)                                                                         \
    inline T weft_max_of_##T(__global const float *x, weft_walk t) {                                         \
        T best = (T)(-INFINITY);                                                                             \
        for (int i = 0; i < t.d; i++, t.at += t.d_step) {                                                    \
            long line = t.at;                                                                                \
            for (int j = 0; j < t.h; j++, line += t.h_step) {                                                \
                long at = line;                                                                              \
                WEFT_ROLLED for (int k = 0; k < t.w; k++, at += t.w_step) {                                  \
                    const T v = LOAD(x, at);                                                                 \
                    best = select(v, best, (I)((best >= v) | isnan(best)));                                  \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
        return best;                                                                                         \
    }                                                                                                        \
    /* A line of taps is summed by itself, which keeps the error of large windows small. */                  \
    inline T weft_sum_of_##T(__global const float *x, weft_walk t) {                                         \
        T total = (T)(0.0f);                                                                                 \
        for (int i = 0; i < t.d; i++, t.at += t.d_step) {                                                    \
            long line = t.at;                                                                                \
            for (int j = 0; j < t.h; j++, line += t.h_step) {                                                \
                long at = line;                                                                              \
                T part = (T)(0.0f);                                                                          \
                WEFT_ROLLED for (int k = 0; k < t.w; k++, at += t.w_step) part += LOAD(x, at);               \
                total += part;                                                                               \
            }                                                                                                \
        }                                                                                                    \
        return total;                                                                                        \
    }
#define WEFT_POOL_LOAD_1(p, i) ((p)[i])
WEFT_DEFINE_POOL(float, int, WEFT_POOL_LOAD_1)
#if WEFT_LANES == 16
#define WEFT_POOL_LOAD_16(p, i) vload16(0, (p) + (i))
WEFT_DEFINE_POOL(float16, int16, WEFT_POOL_LOAD_16)
#endif

#define WEFT_AXIS_PARAMETERS(a)                                                                              \
    int a##_in, int a##_out, int a##_size, int a##_stride, int a##_padding, int a##_dilation
#define WEFT_POOLED_PARAMETERS                                                                               \
    long pixels, int channels, int share, int padding_counts, int divisor, WEFT_AXIS_PARAMETERS(d),          \
        WEFT_AXIS_PARAMETERS(h), WEFT_AXIS_PARAMETERS(w)
#define WEFT_POOLED                                                                                          \
    {                                                                                                        \
        {d_in, d_out, d_size, d_stride, d_padding, d_dilation},                                              \
            {h_in, h_out, h_size, h_stride, h_padding, h_dilation},                                          \
            {w_in, w_out, w_size, w_stride, w_padding, w_dilation}, channels                                 \
    }

/* Pixels p .. end - 1 of the result. */
#if WEFT_LANES == 16
#define WEFT_POOL_PIXELS                                                                                     \
    long p = (long)get_global_id(0) * share;                                                                 \
    const long end = min(p + share, pixels)
/* result[at + c] = value for all channels c, as a vector where 16 elements of what is read lie before the
 * ends: inside says so for a last, partial block. value_16 and value_1 use c. */
#define WEFT_POOL_EACH(result, at, inside, value_16, value_1)                                                \
    WEFT_ROLLED for (int c = 0; c < channels; c += 16) {                                                     \
        if (c + 16 <= channels || ((at) + c + 16 <= end * channels && (inside)))                             \
            vstore16(value_16, 0, (result) + (at) + c);                                                      \
        else                                                                                                 \
            WEFT_ROLLED for (const int stop = channels; c < stop; c++)(result)[(at) + c] = value_1;          \
    }
#else
#define WEFT_POOL_PIXELS                                                                                     \
    long p = (long)get_global_id(0) / channels;                                                              \
    const long end = min(p + 1, pixels);                                                                     \
    const int c = (int)((long)get_global_id(0) - p * channels)
#define WEFT_POOL_EACH(result, at, inside, value_16, value_1) (result)[(at) + c] = value_1
#endif
#endif

#if WEFT_PASS == 0 || WEFT_PASS == 2 || WEFT_PASS == 4 || WEFT_PASS < 0
/* VALUE(T) of the walk t, which already begins at channel c. */
#define WEFT_POOL_FORWARD(VALUE)                                                                             \
    const weft_pooled s = WEFT_POOLED;                                                                       \
    WEFT_POOL_PIXELS;                                                                                        \
    x += x_offset;                                                                                           \
    y += y_offset;                                                                                           \
    const long image_size = (long)s.d.in * s.h.in * s.w.in * channels, rows = (long)s.d.out * s.h.out;       \
    const long limit = pixels / (rows * s.w.out) * image_size;                                               \
    WEFT_ROLLED while (p < end) {                                                                            \
        const long row = p / s.w.out, n = row / rows;                                                        \
        const int in_image = (int)(row - n * rows);                                                          \
        const weft_taps d = weft_taps_of(in_image / s.h.out, s.d),                                           \
                        h = weft_taps_of(in_image % s.h.out, s.h);                                           \
        const int first = (int)(p - row * s.w.out), stop = (int)min((long)s.w.out, first + end - p);         \
        WEFT_ROLLED for (int o = first; o < stop; o++, p++) {                                                \
            const weft_taps w = weft_taps_of(o, s.w);                                                        \
            weft_walk t = weft_walk_of(s, d, h, w, n * image_size);                                          \
            const float by = weft_divisor(d, h, w, padding_counts, divisor);                                 \
            const long begin = t.at, more = weft_walk_end(t) + 16;                                           \
            WEFT_POOL_EACH(y, p *channels, more + c <= limit, VALUE(float16), VALUE(float));                 \
        }                                                                                                    \
    }
#endif

#if WEFT_PASS == 0 || WEFT_PASS < 0
__kernel void WEFT_NAME(max)(__global const float *restrict x, long x_offset, __global float *restrict y,
    long y_offset, WEFT_POOLED_PARAMETERS){
#define WEFT_MAX_AT(T) (t.at = begin + c, weft_max_of_##T(x, t))
    WEFT_POOL_FORWARD(WEFT_MAX_AT)}
#endif

#if WEFT_PASS == 2 || WEFT_PASS < 0
__kernel void WEFT_NAME(mean)(__global const float *restrict x, long x_offset, __global float *restrict y,
    long y_offset, WEFT_POOLED_PARAMETERS){
#define WEFT_MEAN_AT(T) (t.at = begin + c, weft_sum_of_##T(x, t) / (T)(by))
    WEFT_POOL_FORWARD(WEFT_MEAN_AT)}
#endif

#if WEFT_PASS == 4 || WEFT_PASS < 0
#include "pool_winners.clh"
#endif

#if WEFT_LANES == 16 && (WEFT_PASS == 1 || WEFT_PASS == 3 || WEFT_PASS < 0)
#ifndef WEFT_POOL_SCATTER
#define WEFT_POOL_SCATTER
#define WEFT_POOL_STORE_1(v, p, i)  ((p)[i] = (v))
#define WEFT_POOL_STORE_16(v, p, i) vstore16(v, 0, (p) + (i))
#define WEFT_SOME(mask)             ((mask) != 0)
#define WEFT_DEFINE_SCATTER(T, I, LOAD, STORE, ANY)                                                          \
    inline void weft_scatter_sum_##T(__global float *dx, weft_walk t, T g) {                                 \
        WEFT_ROLLED for (int i = 0; i < t.d; i++, t.at += t.d_step) {                                        \
            long line = t.at;                                                                                \
            WEFT_ROLLED for (int j = 0; j < t.h; j++, line += t.h_step) {                                    \
                long at = line;                                                                              \
                WEFT_ROLLED for (int k = 0; k < t.w; k++, at += t.w_step) STORE(LOAD(dx, at) + g, dx, at);   \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    /* The first tap that equals best gets g; where best is NaN, the last one: there we walk backwards. */   \
    inline void weft_scatter_max_##T(                                                                        \
        __global const float *x, __global float *dx, weft_walk t, T best, T g) {                             \
        const I nan = (I)(best != best);                                                                     \
        I open = (I)(best == best);                                                                          \
        WEFT_ROLLED for (int backwards = 0; backwards < 2; backwards++) {                                    \
            WEFT_ROLLED for (int i = 0; i < t.d; i++, t.at += t.d_step) {                                    \
                long line = t.at;                                                                            \
                WEFT_ROLLED for (int j = 0; j < t.h; j++, line += t.h_step) {                                \
                    long at = line;                                                                          \
                    WEFT_ROLLED for (int k = 0; k < t.w; k++, at += t.w_step) {                              \
                        const T v = LOAD(x, at);                                                             \
                        const I hit = ((I)(v == best) | ((I)(v != v) & nan)) & open;                         \
                        open &= ~hit;                                                                        \
                        STORE(LOAD(dx, at) + select((T)(0.0f), g, hit), dx, at);                             \
                    }                                                                                        \
                }                                                                                            \
            }                                                                                                \
            if (!ANY(nan)) return;                                                                           \
            open = nan;                                                                                      \
            t.at -= t.d_step;                                                                                \
            t.at += (t.h - 1) * t.h_step + (t.w - 1) * t.w_step;                                             \
            t.d_step = -t.d_step;                                                                            \
            t.h_step = -t.h_step;                                                                            \
            t.w_step = -t.w_step;                                                                            \
        }                                                                                                    \
    }
WEFT_DEFINE_SCATTER(float, int, WEFT_POOL_LOAD_1, WEFT_POOL_STORE_1, WEFT_SOME)
    WEFT_DEFINE_SCATTER(float16, int16, WEFT_POOL_LOAD_16, WEFT_POOL_STORE_16, any)

    /* Zeros for channels c_begin .. c_end - 1 of pixels first .. last - 1. */
    inline void weft_clear(__global float *dx, long first, long last, int channels, int c_begin, int c_end) {
    if (c_begin == 0 && c_end == channels) { /* one piece */
        first *= channels;
        last *= channels;
        for (; first + 16 <= last; first += 16) vstore16((float16)(0.0f), 0, dx + first);
        WEFT_ROLLED for (; first < last; first++) dx[first] = 0.0f;
        return;
    }
    WEFT_ROLLED for (; first < last; first++) {
        int c = c_begin;
        for (; c + 16 <= c_end; c += 16) vstore16((float16)(0.0f), 0, dx + first * channels + c);
        WEFT_ROLLED for (; c < c_end; c++) dx[first * channels + c] = 0.0f;
    }
}
#endif

/* Images n .. n_end - 1, channels c_begin .. c_end - 1; blocks of 16 but for the last item's, which has all
 * that are left. Of 16 or more channels the last block reaches back to the one before, whose lanes then add
 * 0; of fewer it reaches into the next pixel. SCATTER(T, c) adds `window` o of the walk t, with `keep` the
 * lanes that count. */
#define WEFT_POOL_BACKWARD(SCATTER)                                                                          \
    const weft_pooled s = WEFT_POOLED;                                                                       \
    g += g_offset;                                                                                           \
    dx += dx_offset;                                                                                         \
    const int item = (int)get_global_id(0), c_begin = item % groups * blocks * 16;                           \
    const int c_end = item % groups + 1 == groups ? channels : c_begin + blocks * 16;                        \
    const long pixels_in = (long)s.d.in * s.h.in * s.w.in, pixels_out = (long)s.d.out * s.h.out * s.w.out;   \
    const long images = pixels / pixels_in, n_end = min((long)(item / groups + 1) * share, images);          \
    const long limit = n_end * pixels_in * channels, out_limit = images * pixels_out * channels;             \
    WEFT_ROLLED for (long n = (long)(item / groups) * share; n < n_end; n++) {                               \
        long cleared = n * pixels_in, window = n * pixels_out;                                               \
        WEFT_ROLLED for (int row = 0; row < s.d.out * s.h.out; row++) {                                      \
            const weft_taps d = weft_taps_of(row / s.h.out, s.d), h = weft_taps_of(row % s.h.out, s.h);      \
            const long lines =                                                                               \
                (long)(d.from + (d.count - 1) * d.step) * s.h.in + h.from + (h.count - 1) * h.step + 1;      \
            const long clear = min(n * pixels_in + lines * s.w.in, (n + 1) * pixels_in);                     \
            weft_clear(dx, cleared, clear, channels, c_begin, c_end);                                        \
            cleared = max(clear, cleared);                                                                   \
            WEFT_ROLLED for (int o = 0; o < s.w.out; o++, window++) {                                        \
                const weft_taps w = weft_taps_of(o, s.w);                                                    \
                weft_walk t = weft_walk_of(s, d, h, w, n * pixels_in * channels);                            \
                const float by = weft_divisor(d, h, w, padding_counts, divisor);                             \
                const long first = t.at, more = weft_walk_end(t) + 16;                                       \
                if (channels >= 16 || (more <= limit && window * channels + 16 <= out_limit)) {              \
                    WEFT_ROLLED for (int at = c_begin; at < c_end; at += 16) {                               \
                        const int c = max(min(at, channels - 16), 0);                                        \
                        const int16 keep =                                                                   \
                            WEFT_LANE_INDEX + (int16)(c) >= (int16)(at)&WEFT_LANE_INDEX < (int16)(c_end);    \
                        SCATTER(float16, keep, c);                                                           \
                    }                                                                                        \
                } else {                                                                                     \
                    WEFT_ROLLED for (int c = 0; c < channels; c++) {                                         \
                        SCATTER(float, 1, c);                                                                \
                    }                                                                                        \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
        weft_clear(dx, cleared, (n + 1) * pixels_in, channels, c_begin, c_end);                              \
    }
#define WEFT_POOL_LOAD_float   WEFT_POOL_LOAD_1
#define WEFT_POOL_LOAD_float16 WEFT_POOL_LOAD_16
/* g of the window at channel c. */
#define WEFT_GIVEN(T, keep, c) select((T)(0.0f), WEFT_POOL_LOAD_##T(g, window *channels + (c)), keep)

#if WEFT_PASS == 1 || WEFT_PASS < 0
__kernel void WEFT_NAME(max_gradient)(__global const float *restrict x, long x_offset,
    __global const float *restrict y, long y_offset, __global const float *restrict g, long g_offset,
    __global float *restrict dx, long dx_offset, WEFT_POOLED_PARAMETERS, int groups, int blocks) {
    x += x_offset;
    y += y_offset;
#define WEFT_SCATTER_MAX(T, keep, c)                                                                         \
    t.at = first + (c);                                                                                      \
    weft_scatter_max_##T(x, dx, t, WEFT_POOL_LOAD_##T(y, window *channels + (c)), WEFT_GIVEN(T, keep, c))
    WEFT_POOL_BACKWARD(WEFT_SCATTER_MAX)
}
#endif

#if WEFT_PASS == 3 || WEFT_PASS < 0
__kernel void WEFT_NAME(mean_gradient)(__global const float *restrict g, long g_offset,
    __global float *restrict dx, long dx_offset, WEFT_POOLED_PARAMETERS, int groups, int blocks) {
#define WEFT_SCATTER_MEAN(T, keep, c)                                                                        \
    t.at = first + (c);                                                                                      \
    weft_scatter_sum_##T(dx, t, WEFT_GIVEN(T, keep, c) / (T)(by))
    WEFT_POOL_BACKWARD(WEFT_SCATTER_MEAN)
}
#endif
#endif

#if WEFT_LANES == 1 && (WEFT_PASS == 1 || WEFT_PASS == 3 || WEFT_PASS < 0)
#ifndef WEFT_POOL_GATHER
#define WEFT_POOL_GATHER
/* Is e, which equals the window's maximum, the first tap that does, or if it is NaN, the last one? Window
 * order is the order of addresses. */
static inline bool weft_wins(__global const float *x, weft_walk t, long e, float best) {
    for (int i = 0; i < t.d; i++, t.at += t.d_step) {
        long line = t.at;
        for (int j = 0; j < t.h; j++, line += t.h_step) {
            long at = line;
            for (int k = 0; k < t.w; k++, at += t.w_step) {
                const float v = x[at];
                if (at == e && best == best) return true;
                if (at < e && v == best) return false;
                if (at > e && v != v) return false;
            }
        }
    }
    return true;
}
#endif

/* TERM: what element e of dx gets of window o, of d, h, w of image n. */
#define WEFT_POOL_BACKWARD(TERM)                                                                             \
    const weft_pooled s = WEFT_POOLED;                                                                       \
    WEFT_POOL_PIXELS;                                                                                        \
    if (p >= end) return;                                                                                    \
    g += g_offset;                                                                                           \
    dx += dx_offset;                                                                                         \
    const long e = p * channels + c, row = p / s.w.in, n = row / ((long)s.d.in * s.h.in);                    \
    const long in = n * s.d.in * s.h.in * s.w.in * channels + c;                                             \
    const int at_w = (int)(p - row * s.w.in), in_image = (int)(row - n * s.d.in * s.h.in);                   \
    const int at_d = in_image / s.h.in, at_h = in_image % s.h.in;                                            \
    const weft_range in_d = weft_windows_of(at_d, s.d), in_h = weft_windows_of(at_h, s.h),                   \
                     in_w = weft_windows_of(at_w, s.w);                                                      \
    float total = 0.0f;                                                                                      \
    for (int d = in_d.first; d <= in_d.last; d++) {                                                          \
        if (!weft_window_holds(d, at_d, s.d)) continue;                                                      \
        for (int h = in_h.first; h <= in_h.last; h++) {                                                      \
            if (!weft_window_holds(h, at_h, s.h)) continue;                                                  \
            for (int w = in_w.first; w <= in_w.last; w++) {                                                  \
                if (!weft_window_holds(w, at_w, s.w)) continue;                                              \
                const long o = (((n * s.d.out + d) * s.h.out + h) * s.w.out + w) * channels + c;             \
                const weft_taps td = weft_taps_of(d, s.d), th = weft_taps_of(h, s.h),                        \
                                tw = weft_taps_of(w, s.w);                                                   \
                TERM;                                                                                        \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    dx[e] = total

#if WEFT_PASS == 1 || WEFT_PASS < 0
__kernel void WEFT_NAME(max_gradient)(__global const float *restrict x, long x_offset,
    __global const float *restrict y, long y_offset, __global const float *restrict g, long g_offset,
    __global float *restrict dx, long dx_offset, WEFT_POOLED_PARAMETERS, int groups, int blocks) {
    x += x_offset;
    y += y_offset;
#define WEFT_GATHER_MAX                                                                                      \
    if ((x[e] == y[o] || (x[e] != x[e] && y[o] != y[o])) &&                                                  \
        weft_wins(x, weft_walk_of(s, td, th, tw, in), e, y[o]))                                              \
    total += g[o]
    WEFT_POOL_BACKWARD(WEFT_GATHER_MAX);
}
#endif

#if WEFT_PASS == 3 || WEFT_PASS < 0
__kernel void WEFT_NAME(mean_gradient)(__global const float *restrict g, long g_offset,
    __global float *restrict dx, long dx_offset, WEFT_POOLED_PARAMETERS, int groups, int blocks) {
#define WEFT_GATHER_MEAN total += g[o] / weft_divisor(td, th, tw, padding_counts, divisor)
    WEFT_POOL_BACKWARD(WEFT_GATHER_MEAN);
}
#endif
#endif

#undef WEFT_POOL_FORWARD
#undef WEFT_POOL_BACKWARD
#undef WEFT_GIVEN
#undef WEFT_MAX_AT
#undef WEFT_MEAN_AT
#undef WEFT_SCATTER_MAX
#undef WEFT_SCATTER_MEAN
#undef WEFT_GATHER_MAX
#undef WEFT_GATHER_MEAN
