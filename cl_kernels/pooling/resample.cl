/* resample.cl: resizes images, by the nearest element or by linear interpolation along each axis, and the gradients.
 *
 *     x, dx (N, D, H, W, C)   y, g (N, OD, OH, OW, C)   all contiguous: channels last
 *
 *     y[n][o][c] = sum over the one or two elements i of each axis of weight(o, i) · x[n][i][c]
 *
 * Along an axis, element o of the result reads x at the position o·scale (nearest: the element at or before this position; aligned corners:
 * interpolation between this element and the next) or (o + 1/2)·scale - 1/2, but at least 0 (linear). The gradient gathers: element i of dx
 * visits all o whose weight for i is not 0. These are consecutive, because the position grows with o. There are no atomics, and each sum
 * has one fixed order.
 *
 *     o    0     1     2     3     4           weight(1, 0) = 1 - f, weight(1, 1) = f,
 *     i    0       1       2       3           where f is the distance of the position of o = 1 from i = 0
 *
 * Class cpu: an item computes `share` pixels of the result, 16 channels at a time, and the remaining channels one by one. Class gpu: an
 * item computes one element, and neighbouring items have neighbouring channels. WEFT_PASS chooses the kernel, -1 compiles both. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) resample_##suffix
#define WEFT_PASS         (-1)
#ifndef WEFT_INDEX
#define WEFT_INDEX long
#endif
#endif

#ifndef WEFT_RESAMPLE_CL
#define WEFT_RESAMPLE_CL
/* A resized axis. The parameter `mode` of the functions is 0: nearest; 1: linear; 2: linear with aligned corners. */
typedef struct weft_resized {
    int in, out;
    float scale;
} weft_resized;

/* The elements from and from + more (more is 0 or 1), with the weights 1 - part and part. */
typedef struct weft_between {
    int from, more;
    float part;
} weft_between;

/* The same bits as PyTorch: an fma and a single product are operations that a compiler cannot contract further. */
static inline weft_between weft_between_of(int o, weft_resized a, int mode) {
    weft_between p = {0, 0, 0.0f};
    const float x = mode == 1 ? max(fma(a.scale, (float)o + 0.5f, -0.5f), 0.0f) : a.scale * (float)o;
    p.from = min((int)x, a.in - 1);
    if (mode == 0) return p;
    p.more = p.from < a.in - 1;
    p.part = clamp(x - (float)p.from, 0.0f, 1.0f);
    return p;
}

static inline float weft_weight(weft_between p, int i) {
    return p.more == 0 ? 1.0f : p.from == i ? 1.0f - p.part : p.part;
}

/* The first and the last element of the result that read element i; last < first if there is none. */
typedef struct weft_users {
    int first, last;
} weft_users;

static inline weft_users weft_users_of(int i, weft_resized a, int mode) {
    weft_users u;
    u.first = a.scale > 0.0f ? clamp((int)((float)i / a.scale), 0, a.out - 1) : 0;
    WEFT_ROLLED while (u.first > 0) {
        const weft_between p = weft_between_of(u.first - 1, a, mode);
        if (p.from + p.more < i) break;
        u.first--;
    }
    WEFT_ROLLED while (u.first < a.out) {
        const weft_between p = weft_between_of(u.first, a, mode);
        if (p.from + p.more >= i) break;
        u.first++;
    }
    u.last = u.first - 1;
    WEFT_ROLLED while (u.last + 1 < a.out && weft_between_of(u.last + 1, a, mode).from <= i) u.last++;
    return u;
}

/* Distances in elements between planes, lines and pixels of an image. */
typedef struct weft_steps {
    long plane, line, pixel;
} weft_steps;

static inline weft_steps weft_steps_of(weft_resized h, weft_resized w, int channels, bool of_result) {
    weft_steps s;
    s.pixel = channels;
    s.line = s.pixel * (of_result ? w.out : w.in);
    s.plane = s.line * (of_result ? h.out : h.in);
    return s;
}

#define WEFT_T            float
#define WEFT_T_LOAD(p, i) ((p)[i])
#define WEFT_TYPED(name)  weft_##name##_float
#include "resample_taps.clh"
#if WEFT_LANES == 16
#define WEFT_T            float16
#define WEFT_T_LOAD(p, i) vload16(0, (p) + (i))
#define WEFT_TYPED(name)  weft_##name##_float16
#include "resample_taps.clh"
#endif

#define WEFT_RESAMPLE_PARAMETERS                                                                             \
    WEFT_INDEX pixels, int channels, int share, int mode, int d_in, int d_out, float d_scale, int h_in,      \
        int h_out, float h_scale, int w_in, int w_out, float w_scale
#define WEFT_RESAMPLE_CHANNEL(p) ((int)((WEFT_INDEX)get_global_id(0) - (p)*channels))
#endif

/* The first pixel of the result that the item computes, and the end of its pixels. Class gpu: an item computes one channel of a pixel. */
static inline WEFT_INDEX WEFT_NAME(first_pixel)(int channels, int share) {
    return WEFT_LANES == 16 ? (WEFT_INDEX)get_global_id(0) * share : (WEFT_INDEX)get_global_id(0) / channels;
}
static inline WEFT_INDEX WEFT_NAME(end_of_pixels)(WEFT_INDEX first, WEFT_INDEX pixels, int share) {
    return min(first + (WEFT_LANES == 16 ? share : 1), pixels);
}

#if WEFT_PASS == 0 || WEFT_PASS < 0
__kernel void WEFT_NAME(mix)(__global const float *restrict x, long x_offset, __global float *restrict y,
    long y_offset, WEFT_RESAMPLE_PARAMETERS) {
    const weft_resized d = {d_in, d_out, d_scale}, h = {h_in, h_out, h_scale}, w = {w_in, w_out, w_scale};
    WEFT_INDEX p = WEFT_NAME(first_pixel)(channels, share);
    const WEFT_INDEX end = WEFT_NAME(end_of_pixels)(p, pixels, share);
#if WEFT_LANES != 16
    const int c = WEFT_RESAMPLE_CHANNEL(p);
#endif
    const weft_steps s = weft_steps_of(h, w, channels, false);
    x += x_offset;
    y += y_offset;
    WEFT_ROLLED while (p < end) {
        const WEFT_INDEX row = p / w.out, n = row / ((WEFT_INDEX)d.out * h.out);
        const int in_image = (int)(row - n * d.out * h.out);
        const weft_between at_d = weft_between_of(in_image / h.out, d, mode),
                           at_h = weft_between_of(in_image % h.out, h, mode);
        const int first = (int)(p - row * w.out), stop = (int)min((WEFT_INDEX)w.out, first + end - p);
        WEFT_ROLLED for (int o = first; o < stop; o++, p++) {
            const weft_between at_w = weft_between_of(o, w, mode);
            const long at = (n * d.in + at_d.from) * s.plane + at_h.from * s.line + at_w.from * s.pixel;
#if WEFT_LANES == 16
            int c = 0;
            WEFT_ROLLED for (; c + 16 <= channels; c += 16)
                vstore16(weft_mix_float16(x, at + c, s, at_d, at_h, at_w), 0, y + p * channels + c);
            WEFT_ROLLED for (; c < channels; c++) y[p * channels + c] =
                weft_mix_float(x, at + c, s, at_d, at_h, at_w);
#else
            y[p * channels + c] = weft_mix_float(x, at + c, s, at_d, at_h, at_w);
#endif
        }
    }
}
#endif

#if WEFT_PASS == 1 || WEFT_PASS < 0
__kernel void WEFT_NAME(gather)(__global const float *restrict g, long g_offset, __global float *restrict dx,
    long dx_offset, WEFT_RESAMPLE_PARAMETERS) {
    const weft_resized d = {d_in, d_out, d_scale}, h = {h_in, h_out, h_scale}, w = {w_in, w_out, w_scale};
    WEFT_INDEX p = WEFT_NAME(first_pixel)(channels, share);
    const WEFT_INDEX end = WEFT_NAME(end_of_pixels)(p, pixels, share);
#if WEFT_LANES != 16
    const int c = WEFT_RESAMPLE_CHANNEL(p);
#endif
    const weft_steps s = weft_steps_of(h, w, channels, true);
    g += g_offset;
    dx += dx_offset;
    WEFT_ROLLED while (p < end) {
        const WEFT_INDEX row = p / w.in, n = row / ((WEFT_INDEX)d.in * h.in);
        const int in_image = (int)(row - n * d.in * h.in), i = in_image / h.in, j = in_image % h.in;
        const weft_users in_d = weft_users_of(i, d, mode), in_h = weft_users_of(j, h, mode);
        const int first = (int)(p - row * w.in), stop = (int)min((WEFT_INDEX)w.in, first + end - p);
        WEFT_ROLLED for (int k = first; k < stop; k++, p++) {
            const weft_users in_w = weft_users_of(k, w, mode);
            const long at = n * d.out * s.plane;
#if WEFT_LANES == 16
            int c = 0;
            WEFT_ROLLED for (; c + 16 <= channels; c += 16)
                vstore16(weft_gather_float16(g, at + c, s, in_d, in_h, in_w, d, h, w, i, j, k, mode), 0,
                    dx + p * channels + c);
            WEFT_ROLLED for (; c < channels; c++) dx[p * channels + c] =
                weft_gather_float(g, at + c, s, in_d, in_h, in_w, d, h, w, i, j, k, mode);
#else
            dx[p * channels + c] = weft_gather_float(g, at + c, s, in_d, in_h, in_w, d, h, w, i, j, k, mode);
#endif
        }
    }
}
#endif
