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
 * Inputs are in formats of their own, WEFT_FORMAT_A, _B and _C in the order of a kernel's arguments, the result in
 * WEFT_FORMAT_RESULT; sums are f32 and rounded once. A maximum is exact but where the result has fewer bits.
 *
 * WEFT_PASS chooses the kernel, -1 all of them; WEFT_POOL_ADAPTIVE: may strides be 0? */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) pool_##suffix
#define WEFT_PASS         (-1)
#ifndef WEFT_INDEX
#define WEFT_INDEX long
#endif
#define WEFT_POOL_ADAPTIVE 1
#define WEFT_FORMAT_A      f32
#define WEFT_FORMAT_B      f32
#define WEFT_FORMAT_C      f32
#define WEFT_FORMAT_RESULT f32
#define WEFT_POOL_ALONE
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

/* Operands of this inclusion, and the formats of all. */
#define WEFT_OPERANDS_C                      __global const WEFT_JOIN(WEFT_T_, WEFT_FORMAT_C)
#define WEFT_POOL_RESULT                     __global WEFT_JOIN(WEFT_T_, WEFT_FORMAT_RESULT)
#define WEFT_POOL_LOAD_float(format, p, i)   WEFT_JOIN(WEFT_GET_, format)(p, i)
#define WEFT_POOL_LOAD_float16(format, p, i) WEFT_JOIN(WEFT_READ_, format)((p) + (i))

/* The nearest number of a format. */
static inline WF weft_round_f32(WF v) {
    return v;
}
#define WEFT_POOL_ROUND_float16(format, v) WEFT_JOIN(weft_round_, format)(v)
#if WEFT_LANES == 16
#define WEFT_POOL_ROUND_float(format, v) (WEFT_JOIN(weft_round_, format)((float16)(v)).s0)
#else
#define WEFT_POOL_ROUND_float(format, v) WEFT_JOIN(weft_round_, format)(v)
#endif

#define WEFT_AXIS_PARAMETERS(a)                                                                              \
    int a##_in, int a##_out, int a##_size, int a##_stride, int a##_padding, int a##_dilation
#define WEFT_POOLED_PARAMETERS                                                                               \
    WEFT_INDEX pixels, int channels, int share, int padding_counts, int divisor, WEFT_AXIS_PARAMETERS(d),    \
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
    WEFT_INDEX p = (WEFT_INDEX)get_global_id(0) * share;                                                     \
    const WEFT_INDEX end = min(p + share, pixels)
/* result[at + c] = value for all channels c, as a vector where 16 elements of what is read lie before the
 * ends: inside says so for a last, partial block. value_16 and value_1 use c. */
#define WEFT_POOL_EACH(result, at, inside, value_16, value_1)                                                \
    WEFT_ROLLED for (int c = 0; c < channels; c += 16) {                                                     \
        if (c + 16 <= channels || ((at) + c + 16 <= end * channels && (inside)))                             \
            WEFT_NAME(put_float16)(value_16, result, (at) + c);                                              \
        else                                                                                                 \
            WEFT_ROLLED for (const int stop = channels; c < stop; c++)                                       \
                WEFT_NAME(put_float)(value_1, result, (at) + c);                                             \
    }
#else
#define WEFT_POOL_PIXELS                                                                                     \
    WEFT_INDEX p = (WEFT_INDEX)get_global_id(0) / channels;                                                  \
    const WEFT_INDEX end = min(p + 1, pixels);                                                               \
    const int c = (int)((WEFT_INDEX)get_global_id(0) - p * channels)
#define WEFT_POOL_EACH(result, at, inside, value_16, value_1) WEFT_NAME(put_float)(value_1, result, (at) + c)
#endif
#endif

static inline weft_taps WEFT_NAME(taps_of)(int o, weft_window a) {
    weft_taps t;
    t.step = a.dilation;
    if (WEFT_POOL_ADAPTIVE && a.stride == 0) {
        t.from = (int)((WEFT_INDEX)o * a.in / a.out);
        t.count = t.counted = (int)((((WEFT_INDEX)o + 1) * a.in + a.out - 1) / a.out) - t.from;
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
static inline weft_range WEFT_NAME(windows_of)(int i, weft_window a) {
    weft_range r;
    if (WEFT_POOL_ADAPTIVE && a.stride == 0) {
        r.first = (int)((WEFT_INDEX)i * a.out / a.in);
        r.last = (int)((((WEFT_INDEX)i + 1) * a.out + a.in - 1) / a.in) - 1;
        return r;
    }
    const int reach = i + a.padding - (a.size - 1) * a.dilation;
    r.first = reach > 0 ? (reach + a.stride - 1) / a.stride : 0;
    r.last = min((i + a.padding) / a.stride, a.out - 1);
    return r;
}

static inline void WEFT_NAME(put_float)(float v, WEFT_POOL_RESULT *p, long i) {
    WEFT_JOIN(WEFT_PUT_, WEFT_FORMAT_RESULT)(p, i, WEFT_POOL_ROUND_float(WEFT_FORMAT_RESULT, v));
}
#if WEFT_LANES == 16
static inline void WEFT_NAME(put_float16)(float16 v, WEFT_POOL_RESULT *p, long i) {
    WEFT_JOIN(weft_store_, WEFT_FORMAT_RESULT)(WEFT_POOL_ROUND_float16(WEFT_FORMAT_RESULT, v), p, i);
}
#endif

#if WEFT_PASS == 0 || WEFT_PASS == 2 || WEFT_PASS < 0
#define WEFT_DEFINE_POOL(T, I)                                                                               \
    static inline T WEFT_NAME(max_of_##T)(WEFT_OPERANDS_A * x, weft_walk t) {                                \
        T best = (T)(-INFINITY);                                                                             \
        for (int i = 0; i < t.d; i++, t.at += t.d_step) {                                                    \
            long line = t.at;                                                                                \
            for (int j = 0; j < t.h; j++, line += t.h_step) {                                                \
                long at = line;                                                                              \
                WEFT_ROLLED for (int k = 0; k < t.w; k++, at += t.w_step) {                                  \
                    const T v = WEFT_POOL_LOAD_##T(WEFT_FORMAT_A, x, at);                                    \
                    best = select(v, best, (I)((best >= v) | isnan(best)));                                  \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
        return best;                                                                                         \
    }                                                                                                        \
    /* A line of taps is summed by itself, which keeps the error of large windows small. */                  \
    static inline T WEFT_NAME(sum_of_##T)(WEFT_OPERANDS_A * x, weft_walk t) {                                \
        T total = (T)(0.0f);                                                                                 \
        for (int i = 0; i < t.d; i++, t.at += t.d_step) {                                                    \
            long line = t.at;                                                                                \
            for (int j = 0; j < t.h; j++, line += t.h_step) {                                                \
                long at = line;                                                                              \
                T part = (T)(0.0f);                                                                          \
                WEFT_ROLLED for (int k = 0; k < t.w; k++, at += t.w_step) part +=                            \
                    WEFT_POOL_LOAD_##T(WEFT_FORMAT_A, x, at);                                                \
                total += part;                                                                               \
            }                                                                                                \
        }                                                                                                    \
        return total;                                                                                        \
    }
WEFT_DEFINE_POOL(float, int)
#if WEFT_LANES == 16
WEFT_DEFINE_POOL(float16, int16)
#endif
#endif

#if WEFT_PASS == 0 || WEFT_PASS == 2 || WEFT_PASS == 4 || WEFT_PASS < 0
/* VALUE(T) of the walk t, which already begins at channel c. */
#define WEFT_POOL_FORWARD(VALUE)                                                                             \
    const weft_pooled s = WEFT_POOLED;                                                                       \
    WEFT_POOL_PIXELS;                                                                                        \
    x += x_offset;                                                                                           \
    y += y_offset;                                                                                           \
    const WEFT_INDEX image_size = (WEFT_INDEX)s.d.in * s.h.in * s.w.in * channels,                           \
                     rows = (WEFT_INDEX)s.d.out * s.h.out;                                                   \
    const WEFT_INDEX limit = pixels / (rows * s.w.out) * image_size;                                         \
    WEFT_ROLLED while (p < end) {                                                                            \
        const WEFT_INDEX row = p / s.w.out, n = row / rows;                                                  \
        const int in_image = (int)(row - n * rows);                                                          \
        const weft_taps d = WEFT_NAME(taps_of)(in_image / s.h.out, s.d),                                     \
                        h = WEFT_NAME(taps_of)(in_image % s.h.out, s.h);                                     \
        const int first = (int)(p - row * s.w.out), stop = (int)min((WEFT_INDEX)s.w.out, first + end - p);   \
        WEFT_ROLLED for (int o = first; o < stop; o++, p++) {                                                \
            const weft_taps w = WEFT_NAME(taps_of)(o, s.w);                                                  \
            weft_walk t = weft_walk_of(s, d, h, w, n * image_size);                                          \
            const float by = weft_divisor(d, h, w, padding_counts, divisor);                                 \
            const long begin = t.at, more = weft_walk_end(t) + 16;                                           \
            WEFT_POOL_EACH(y, p *channels, more + c <= limit, VALUE(float16), VALUE(float));                 \
        }                                                                                                    \
    }
#endif

#if WEFT_PASS == 0 || WEFT_PASS < 0
__kernel void WEFT_NAME(max)(WEFT_OPERANDS_A *restrict x, long x_offset, WEFT_POOL_RESULT *restrict y,
    long y_offset, WEFT_POOLED_PARAMETERS){
#define WEFT_MAX_AT(T) (t.at = begin + c, WEFT_NAME(max_of_##T)(x, t))
    WEFT_POOL_FORWARD(WEFT_MAX_AT)}
#endif

#if WEFT_PASS == 2 || WEFT_PASS < 0
__kernel void WEFT_NAME(mean)(WEFT_OPERANDS_A *restrict x, long x_offset, WEFT_POOL_RESULT *restrict y,
    long y_offset, WEFT_POOLED_PARAMETERS) {
#define WEFT_MEAN_AT(T) (t.at = begin + c, WEFT_NAME(sum_of_##T)(x, t) / (T)(by))
    WEFT_POOL_FORWARD(WEFT_MEAN_AT)
}
#endif

#if WEFT_PASS == 4 || WEFT_PASS < 0
#include "pool_winners.clh"
#endif

#if WEFT_PASS == 1 || WEFT_PASS == 3 || WEFT_PASS < 0
/* A tap of x as it is compared with a maximum: as the numbers of y, which may have been rounded from those of x. */
#if WEFT_OF_A(WEFT_PLAIN_) && WEFT_PASS != 3
#define WEFT_POOL_TAP(T, x, at) WEFT_POOL_ROUND_##T(WEFT_FORMAT_B, WEFT_POOL_LOAD_##T(WEFT_FORMAT_A, x, at))
#else
#define WEFT_POOL_TAP(T, x, at) WEFT_POOL_LOAD_##T(WEFT_FORMAT_A, x, at)
#endif
/* What class cpu sums in, if the result has fewer bits. */
#if WEFT_LANES == 16 && !WEFT_JOIN(WEFT_PLAIN_, WEFT_FORMAT_RESULT)
#define WEFT_POOL_SUMS , __global float *room, long room_offset
#else
#define WEFT_POOL_SUMS
#endif
#if WEFT_LANES == 16
#include "pool_scatter.clh"
#else
#include "pool_gather.clh"
#endif
#endif

#undef WEFT_POOL_FORWARD
#undef WEFT_POOL_BACKWARD
#undef WEFT_POOL_TAPS_OF
#undef WEFT_GIVEN
#undef WEFT_MAX_AT
#undef WEFT_MEAN_AT
#undef WEFT_SCATTER_MAX
#undef WEFT_SCATTER_MEAN
#undef WEFT_GATHER_MAX
#undef WEFT_GATHER_MEAN
#undef WEFT_DEFINE_POOL
#undef WEFT_POOL_TAP
#undef WEFT_POOL_SUMS
#ifdef WEFT_POOL_ALONE
#undef WEFT_POOL_ALONE
#undef WEFT_NAME
#undef WEFT_PASS
#undef WEFT_INDEX
#undef WEFT_POOL_ADAPTIVE
#undef WEFT_FORMAT_A
#undef WEFT_FORMAT_B
#undef WEFT_FORMAT_C
#undef WEFT_FORMAT_RESULT
#endif
