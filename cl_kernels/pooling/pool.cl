/* pool.cl: max and mean pooling over windows of images, and the gradients.
 *
 *     x, dx (N, D, H, W, C)   y, g (N, OD, OH, OW, C)   all contiguous: channels last
 *
 *     y[n][o][c] = max or mean over taps t of window o of x[n][t][c]
 *
 * Along an axis, window o has the taps o·stride - padding + k·dilation, k < size, that are inside the image. Stride 0 means adaptive
 * pooling: the window has all elements from floor(o·in / out) to ceil((o + 1)·in / out) - 1.
 *
 *         padding   x                     Max: a NaN is the maximum; of equal taps the first is chosen.
 *          . . | a b c d e | . .          The gradient goes to the first tap that equals y, or, if y is
 *         [  o=0  ]                       NaN, to the last tap that is NaN (as in PyTorch).
 *             [  o=1  ]                   There are no atomics, and each sum has one fixed order.
 *                 [  o=2  ]
 *
 * Class cpu: an item computes `share` pixels of the result, 16 channels at a time. If fewer than 16 channels remain, the other lanes read
 * the pixels that follow, and the results of these lanes are overwritten when the item computes the next pixel. At the end of the item's
 * pixels, or of memory, the remaining channels are computed one by one. Gradients scatter: an item has whole images, or 16 or more of their
 * channels, and visits the windows in order. Class gpu: an item computes one element, and neighbouring items have neighbouring channels.
 * Gradients gather: an element of dx visits the windows that contain it.
 *
 * WEFT_FORMAT_A, _B and _C are the formats of the inputs in the order of a kernel's arguments, WEFT_FORMAT_RESULT is the format of the
 * result. Sums are f32 and rounded once. A maximum is exact unless the result's format has fewer bits than x.
 *
 * WEFT_PASS chooses the kernel, -1 compiles all. WEFT_POOL_ADAPTIVE is 1 if strides may be 0. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix)  pool_##suffix
#define WEFT_PASS          (-1)
#define WEFT_POOL_ADAPTIVE 1
#ifndef WEFT_INDEX
#define WEFT_INDEX long
#endif
#include "alone.clh"
#endif

#ifndef WEFT_POOL_CL
#define WEFT_POOL_CL
typedef struct weft_window {
    int in, out, size, stride, padding, dilation;
} weft_window;

/* The taps of a window along an axis: count elements from, from + step, ...; counted: the number of taps including those in the padding. */
typedef struct weft_taps {
    int from, count, step, counted;
} weft_taps;

/* The windows first .. last along an axis. */
typedef struct weft_range {
    int first, last;
} weft_range;

static inline bool weft_window_holds(int o, int i, weft_window a) {
    return a.dilation == 1 || (i + a.padding - o * a.stride) % a.dilation == 0;
}

/* The number by which the sum of a window's taps is divided. */
static inline float weft_divisor(weft_taps d, weft_taps h, weft_taps w, int padding_counts, int divisor) {
    if (divisor > 0) return (float)divisor;
    if (padding_counts) return (float)d.counted * (float)h.counted * (float)w.counted;
    return max((float)d.count * (float)h.count * (float)w.count, 1.0f);
}

/* The pooled image: the axes, and the number of channels. */
typedef struct weft_pooled {
    weft_window d, h, w;
    int channels;
} weft_pooled;

/* The taps of a window in memory: elements at + i·d_step + j·h_step + k·w_step for i < d, j < h, k < w. */
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

/* Pointer types of the operands, and loads in any format. */
#define WEFT_OPERANDS_C                      __global const WEFT_JOIN(WEFT_T_, WEFT_FORMAT_C)
#define WEFT_POOL_RESULT                     __global WEFT_JOIN(WEFT_T_, WEFT_FORMAT_RESULT)
#define WEFT_POOL_LOAD_float(format, p, i)   WEFT_JOIN(WEFT_GET_, format)(p, i)
#define WEFT_POOL_LOAD_float16(format, p, i) WEFT_JOIN(WEFT_READ_, format)((p) + (i))

/* Rounding to the nearest number of a format. */
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

/* The pixels first .. end - 1 of the result, which the item computes; class gpu: one pixel, of which it computes one channel. */
typedef struct weft_pool_pixels {
    long first, end;
    int channel;
} weft_pool_pixels;
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

/* The windows that may contain element i; with a dilation above 1, weft_window_holds decides which of them do. */
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

static inline weft_pool_pixels WEFT_NAME(pixels_of)(WEFT_INDEX pixels, int channels, int share) {
#if WEFT_LANES == 16
    const WEFT_INDEX first = (WEFT_INDEX)get_global_id(0) * share;
    return (weft_pool_pixels){first, min(first + share, pixels), 0};
#else
    const WEFT_INDEX first = (WEFT_INDEX)get_global_id(0) / channels;
    return (weft_pool_pixels){
        first, min(first + 1, pixels), (int)((WEFT_INDEX)get_global_id(0) - first * channels)};
#endif
}

static inline void WEFT_NAME(put_float)(float v, WEFT_POOL_RESULT *p, long i) {
    WEFT_JOIN(WEFT_PUT_, WEFT_FORMAT_RESULT)(p, i, WEFT_POOL_ROUND_float(WEFT_FORMAT_RESULT, v));
}
#if WEFT_LANES == 16
static inline void WEFT_NAME(put_float16)(float16 v, WEFT_POOL_RESULT *p, long i) {
    WEFT_JOIN(weft_store_, WEFT_FORMAT_RESULT)(WEFT_POOL_ROUND_float16(WEFT_FORMAT_RESULT, v), p, i);
}
#endif

/* Does the program compute this pass? `pass` is the pass of the kernel, a constant. In a program of one pass the compiler sees no function of
 * the others. */
#define WEFT_POOL_IS(number) (WEFT_PASS == (number) || (WEFT_PASS < 0 && pass == (number)))

/* The second input of passes 1 and 4, and the gradient of the result in passes 1 and 3. */
#if WEFT_PASS == 1 || WEFT_PASS == 4 || WEFT_PASS < 0
#define WEFT_OF_OTHER WEFT_OF_B
#else
#define WEFT_OF_OTHER WEFT_OF_A
#endif
#if WEFT_PASS == 1 || WEFT_PASS < 0
#define WEFT_OF_GIVEN(name) WEFT_JOIN(name, WEFT_FORMAT_C)
#else
#define WEFT_OF_GIVEN WEFT_OF_A
#endif

/* A tap of x for the comparison with y: rounded to the format of y, because y was rounded if its format has fewer bits than x. */
#if WEFT_OF_A(WEFT_PLAIN_) && (WEFT_PASS == 1 || WEFT_PASS < 0)
#define WEFT_POOL_TAP(T, x, at) WEFT_POOL_ROUND_##T(WEFT_FORMAT_B, WEFT_POOL_LOAD_##T(WEFT_FORMAT_A, x, at))
#else
#define WEFT_POOL_TAP(T, x, at) WEFT_POOL_LOAD_##T(WEFT_FORMAT_A, x, at)
#endif

#define WEFT_T            float
#define WEFT_T_MASK       int
#define WEFT_TYPED(name)  WEFT_NAME(name##_float)
#define WEFT_T_ANY(mask)  ((mask) != 0)
#define WEFT_T_LOAD       WEFT_POOL_LOAD_float
#define WEFT_T_TAP(x, at) WEFT_POOL_TAP(float, x, at)
#define WEFT_T_SUM(p, i)  (p)[i]
#include "pool_windows.clh"
#if WEFT_LANES == 16
#define WEFT_T            float16
#define WEFT_T_MASK       int16
#define WEFT_TYPED(name)  WEFT_NAME(name##_float16)
#define WEFT_T_ANY(mask)  any(mask)
#define WEFT_T_LOAD       WEFT_POOL_LOAD_float16
#define WEFT_T_TAP(x, at) WEFT_POOL_TAP(float16, x, at)
#define WEFT_T_SUM(p, i)  WEFT_LANES_WRITE(f32, (p) + (i))
#include "pool_windows.clh"
#endif

#if WEFT_PASS % 2 == 0 || WEFT_PASS < 0
/* Computes the item's pixels of the result of pass 0 (max), 2 (mean) or 4 (winners, which reads `other`). */
__attribute__((always_inline)) static inline void WEFT_NAME(forward)(WEFT_OPERANDS_A *x,
    __global const WEFT_OF_OTHER(WEFT_T_) * other, WEFT_POOL_RESULT *y, weft_pooled s, WEFT_INDEX pixels,
    int share, int padding_counts, int divisor, const int pass) {
    const int channels = s.channels;
    const weft_pool_pixels item = WEFT_NAME(pixels_of)(pixels, channels, share);
    WEFT_INDEX p = (WEFT_INDEX)item.first;
    const WEFT_INDEX end = (WEFT_INDEX)item.end;
    const WEFT_INDEX image_size = (WEFT_INDEX)s.d.in * s.h.in * s.w.in * channels,
                     rows = (WEFT_INDEX)s.d.out * s.h.out;
    const WEFT_INDEX limit = pixels / (rows * s.w.out) * image_size;
    WEFT_ROLLED while (p < end) {
        const WEFT_INDEX row = p / s.w.out, n = row / rows;
        const int in_image = (int)(row - n * rows);
        const weft_taps d = WEFT_NAME(taps_of)(in_image / s.h.out, s.d),
                        h = WEFT_NAME(taps_of)(in_image % s.h.out, s.h);
        const int first = (int)(p - row * s.w.out), stop = (int)min((WEFT_INDEX)s.w.out, first + end - p);
        WEFT_ROLLED for (int o = first; o < stop; o++, p++) {
            const weft_taps w = WEFT_NAME(taps_of)(o, s.w);
            const weft_walk t = weft_walk_of(s, d, h, w, n * image_size);
            const float by = weft_divisor(d, h, w, padding_counts, divisor);
#if WEFT_LANES == 16
            /* A last vector extends past the channels of this pixel; it must only read elements inside the input. */
            const long more = weft_walk_end(t) + 16;
            WEFT_ROLLED for (int c = 0; c < channels; c += 16) {
                if (c + 16 <= channels || (p * channels + c + 16 <= end * channels && more + c <= limit))
                    WEFT_NAME(put_float16)
                (WEFT_NAME(value_float16)(x, other, t, c, by, pass), y, p * channels + c);
                else WEFT_ROLLED for (const int last = channels; c < last; c++) WEFT_NAME(put_float)(
                    WEFT_NAME(value_float)(x, other, t, c, by, pass), y, p * channels + c);
            }
#else
            WEFT_NAME(put_float)
            (WEFT_NAME(value_float)(x, other, t, item.channel, by, pass), y, p * channels + item.channel);
#endif
        }
    }
}
#endif

#if WEFT_PASS == 0 || WEFT_PASS < 0
__kernel void WEFT_NAME(max)(WEFT_OPERANDS_A *restrict x, long x_offset, WEFT_POOL_RESULT *restrict y,
    long y_offset, WEFT_POOLED_PARAMETERS) {
    const weft_pooled s = WEFT_POOLED;
    WEFT_NAME(forward)(x + x_offset, 0, y + y_offset, s, pixels, share, padding_counts, divisor, 0);
}
#endif

#if WEFT_PASS == 2 || WEFT_PASS < 0
__kernel void WEFT_NAME(mean)(WEFT_OPERANDS_A *restrict x, long x_offset, WEFT_POOL_RESULT *restrict y,
    long y_offset, WEFT_POOLED_PARAMETERS) {
    const weft_pooled s = WEFT_POOLED;
    WEFT_NAME(forward)(x + x_offset, 0, y + y_offset, s, pixels, share, padding_counts, divisor, 2);
}
#endif

#if WEFT_PASS == 4 || WEFT_PASS < 0
/* The gradient of max pooling's gradient:
 *
 *     y[n][o][c] = other[n][t][c], where t is the tap of window o at which x has its maximum */
__kernel void WEFT_NAME(winners)(WEFT_OPERANDS_A *restrict x, long x_offset, WEFT_OPERANDS_B *restrict other,
    long other_offset, WEFT_POOL_RESULT *restrict y, long y_offset, WEFT_POOLED_PARAMETERS) {
    const weft_pooled s = WEFT_POOLED;
    WEFT_NAME(forward)
    (x + x_offset, other + other_offset, y + y_offset, s, pixels, share, padding_counts, divisor, 4);
}
#endif

#if WEFT_PASS == 1 || WEFT_PASS == 3 || WEFT_PASS < 0
/* Class cpu: the scratch memory in which a result of fewer bits than f32 is summed. */
#if WEFT_LANES == 16 && !WEFT_JOIN(WEFT_PLAIN_, WEFT_FORMAT_RESULT)
#define WEFT_POOL_SUMS , __global float *room, long room_offset
#define WEFT_POOL_ROOM (room + room_offset)
#else
#define WEFT_POOL_SUMS
#define WEFT_POOL_ROOM 0
#endif
#if WEFT_LANES == 16
#include "pool_scatter.clh"
#else
#include "pool_gather.clh"
#endif

#if WEFT_PASS == 1 || WEFT_PASS < 0
__kernel void WEFT_NAME(max_gradient)(WEFT_OPERANDS_A *restrict x, long x_offset, WEFT_OPERANDS_B *restrict y,
    long y_offset, WEFT_OPERANDS_C *restrict g, long g_offset, WEFT_POOL_RESULT *restrict dx, long dx_offset,
    WEFT_POOLED_PARAMETERS, int groups, int blocks WEFT_POOL_SUMS) {
    const weft_pooled s = WEFT_POOLED;
    WEFT_NAME(backward)
    (x + x_offset, y + y_offset, g + g_offset, dx + dx_offset, WEFT_POOL_ROOM, s, pixels, share,
        padding_counts, divisor, groups, blocks, 1);
}
#endif

#if WEFT_PASS == 3 || WEFT_PASS < 0
__kernel void WEFT_NAME(mean_gradient)(WEFT_OPERANDS_A *restrict g, long g_offset,
    WEFT_POOL_RESULT *restrict dx, long dx_offset, WEFT_POOLED_PARAMETERS, int groups,
    int blocks WEFT_POOL_SUMS) {
    const weft_pooled s = WEFT_POOLED;
    WEFT_NAME(backward)
    (0, 0, g + g_offset, dx + dx_offset, WEFT_POOL_ROOM, s, pixels, share, padding_counts, divisor, groups,
        blocks, 3);
}
#endif
#endif

#undef WEFT_POOL_TAP
#undef WEFT_POOL_SUMS
#undef WEFT_POOL_ROOM
#undef WEFT_OF_OTHER
#undef WEFT_OF_GIVEN
