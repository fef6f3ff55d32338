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
 *             [  o=1  ]                   Gradients gather: an element of dx looks at the windows
 *                 [  o=2  ]               that hold it. No atomics, one order of every sum.
 *
 * Work split: an item takes `share` pixels of the result, WEFT_LANES channels at a time; on gpu-class devices
 * one element, neighbours having neighbouring channels. WEFT_PASS chooses the kernel, -1 all of them. */

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

inline weft_taps weft_taps_of(int o, weft_window a) {
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
inline weft_range weft_windows_of(int i, weft_window a) {
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

inline bool weft_window_holds(int o, int i, weft_window a) {
    return a.dilation == 1 || (i + a.padding - o * a.stride) % a.dilation == 0;
}

/* What the sum of a window's taps is divided by. */
inline float weft_divisor(weft_taps d, weft_taps h, weft_taps w, int padding_counts, int divisor) {
    if (divisor > 0) return (float)divisor;
    if (padding_counts) return (float)d.counted * (float)h.counted * (float)w.counted;
    return max((float)d.count * (float)h.count * (float)w.count, 1.0f);
}

#if WEFT_LANES == 16
#define WEFT_ANY(mask) any(mask)
#else
#define WEFT_ANY(mask) ((mask) != 0)
#endif

/* The lanes of `hit` (x[e] equals the window's maximum) in which no earlier tap does, and those of `nan` in
 * which no later tap is NaN. Window order is the order of addresses. */
inline WI weft_wins(__global const float *x, long limit, long image, long e, WF best, WI hit, WI nan,
    weft_taps d, weft_taps h, weft_taps w, int height, int width, int channels) {
    for (int i = 0; i < d.count; i++) {
        for (int j = 0; j < h.count; j++) {
            const long row = (long)(d.from + i * d.step) * height + h.from + j * h.step;
            long at = image + (row * width + w.from) * channels;
            for (int k = 0; k < w.count; k++) {
                const WF v = weft_load_block(x, at, limit);
                if (at < e)
                    hit &= v != best;
                else if (!WEFT_ANY(nan))
                    return hit;
                else if (at > e)
                    nan &= v == v;
                at += (long)w.step * channels;
            }
        }
    }
    return hit | nan;
}

#define WEFT_AXIS_PARAMETERS(a)                                                                              \
    int a##_in, int a##_out, int a##_size, int a##_stride, int a##_padding, int a##_dilation
#define WEFT_WINDOW_PARAMETERS                                                                               \
    long pixels, int channels, int share, int padding_counts, int divisor, WEFT_AXIS_PARAMETERS(d),          \
        WEFT_AXIS_PARAMETERS(h), WEFT_AXIS_PARAMETERS(w)
#define WEFT_WINDOWS                                                                                         \
    const weft_window d = {d_in, d_out, d_size, d_stride, d_padding, d_dilation};                            \
    const weft_window h = {h_in, h_out, h_size, h_stride, h_padding, h_dilation};                            \
    const weft_window w = {w_in, w_out, w_size, w_stride, w_padding, w_dilation}

/* Pixels p .. end - 1 of the result, channels c_begin, c_begin + WEFT_LANES, ... before c_end. */
#if WEFT_LANES == 16
#define WEFT_SHARE                                                                                           \
    long p = (long)get_global_id(0) * share;                                                                 \
    const long end = min(p + share, pixels);                                                                 \
    const int c_begin = 0, c_end = channels
#else
#define WEFT_SHARE                                                                                           \
    long p = (long)get_global_id(0) / channels;                                                              \
    const long end = min(p + 1, pixels);                                                                     \
    const int c_begin = (int)((long)get_global_id(0) % channels), c_end = c_begin + 1
#endif
#endif

#if WEFT_PASS == 0 || WEFT_PASS < 0
__kernel void WEFT_NAME(max)(__global const float *restrict x, long x_offset, __global float *restrict y,
    long y_offset, WEFT_WINDOW_PARAMETERS) {
    WEFT_WINDOWS;
    WEFT_SHARE;
    x += x_offset;
    y += y_offset;
    const long image_size = (long)d.in * h.in * w.in * channels, row_of_images = (long)d.out * h.out;
    const long limit = pixels / (row_of_images * w.out) * image_size;
    while (p < end) {
        const long row = p / w.out, n = row / row_of_images;
        const int in_image = (int)(row - n * row_of_images);
        const weft_taps td = weft_taps_of(in_image / h.out, d), th = weft_taps_of(in_image % h.out, h);
        int ow = (int)(p - row * w.out);
        const int stop = (int)min((long)w.out, ow + end - p);
        for (; ow < stop; ow++, p++) {
            const weft_taps tw = weft_taps_of(ow, w);
            for (int c = c_begin; c < c_end; c += WEFT_LANES) {
                WF best = (WF)(-INFINITY);
                for (int i = 0; i < td.count; i++) {
                    for (int j = 0; j < th.count; j++) {
                        const long line = (long)(td.from + i * td.step) * h.in + th.from + j * th.step;
                        long at = n * image_size + (line * w.in + tw.from) * channels + c;
                        for (int k = 0; k < tw.count; k++) {
                            const WF v = weft_load_block(x, at, limit);
                            best = select(v, best, (WI)((best >= v) | isnan(best)));
                            at += (long)tw.step * channels;
                        }
                    }
                }
                weft_store_block(best, y, p * channels + c, end * channels);
            }
        }
    }
}
#endif

#if WEFT_PASS == 1 || WEFT_PASS < 0
__kernel void WEFT_NAME(max_gradient)(__global const float *restrict x, long x_offset,
    __global const float *restrict y, long y_offset, __global const float *restrict g, long g_offset,
    __global float *restrict dx, long dx_offset, WEFT_WINDOW_PARAMETERS) {
    WEFT_WINDOWS;
    WEFT_SHARE;
    x += x_offset;
    y += y_offset;
    g += g_offset;
    dx += dx_offset;
    const long rows_in = (long)d.in * h.in, pixels_in = rows_in * w.in, rows_out = (long)d.out * h.out;
    const long limit = pixels * channels, limit_out = pixels / pixels_in * rows_out * w.out * channels;
    while (p < end) {
        const long row = p / w.in, n = row / rows_in;
        const int in_image = (int)(row - n * rows_in), id = in_image / h.in, ih = in_image % h.in;
        const weft_range rd = weft_windows_of(id, d), rh = weft_windows_of(ih, h);
        int iw = (int)(p - row * w.in);
        const int stop = (int)min((long)w.in, iw + end - p);
        for (; iw < stop; iw++, p++) {
            const weft_range rw = weft_windows_of(iw, w);
            for (int c = c_begin; c < c_end; c += WEFT_LANES) {
                const long e = p * channels + c;
                const WF own = weft_load_block(x, e, limit);
                WF total = (WF)(0.0f);
                for (int od = rd.first; od <= rd.last; od++) {
                    if (!weft_window_holds(od, id, d)) continue;
                    for (int oh = rh.first; oh <= rh.last; oh++) {
                        if (!weft_window_holds(oh, ih, h)) continue;
                        const long line = n * rows_out + (long)od * h.out + oh;
                        for (int ow = rw.first; ow <= rw.last; ow++) {
                            if (!weft_window_holds(ow, iw, w)) continue;
                            const long o = (line * w.out + ow) * channels + c;
                            const WF best = weft_load_block(y, o, limit_out);
                            const WI hit = (WI)(own == best), nan = (WI)(isnan(own) & isnan(best));
                            if (!WEFT_ANY(hit | nan)) continue;
                            const WI wins = weft_wins(x, limit, n * pixels_in * channels + c, e, best, hit,
                                nan, weft_taps_of(od, d), weft_taps_of(oh, h), weft_taps_of(ow, w), h.in,
                                w.in, channels);
                            total += select((WF)(0.0f), weft_load_block(g, o, limit_out), wins);
                        }
                    }
                }
                weft_store_block(total, dx, e, end * channels);
            }
        }
    }
}
#endif

#if WEFT_PASS == 2 || WEFT_PASS < 0
/* A row of taps is summed by itself, which keeps the error of large windows small. */
__kernel void WEFT_NAME(mean)(__global const float *restrict x, long x_offset, __global float *restrict y,
    long y_offset, WEFT_WINDOW_PARAMETERS) {
    WEFT_WINDOWS;
    WEFT_SHARE;
    x += x_offset;
    y += y_offset;
    const long image_size = (long)d.in * h.in * w.in * channels, row_of_images = (long)d.out * h.out;
    const long limit = pixels / (row_of_images * w.out) * image_size;
    while (p < end) {
        const long row = p / w.out, n = row / row_of_images;
        const int in_image = (int)(row - n * row_of_images);
        const weft_taps td = weft_taps_of(in_image / h.out, d), th = weft_taps_of(in_image % h.out, h);
        int ow = (int)(p - row * w.out);
        const int stop = (int)min((long)w.out, ow + end - p);
        for (; ow < stop; ow++, p++) {
            const weft_taps tw = weft_taps_of(ow, w);
            const WF by = (WF)(weft_divisor(td, th, tw, padding_counts, divisor));
            for (int c = c_begin; c < c_end; c += WEFT_LANES) {
                WF total = (WF)(0.0f);
                for (int i = 0; i < td.count; i++) {
                    for (int j = 0; j < th.count; j++) {
                        const long line = (long)(td.from + i * td.step) * h.in + th.from + j * th.step;
                        long at = n * image_size + (line * w.in + tw.from) * channels + c;
                        WF part = (WF)(0.0f);
                        for (int k = 0; k < tw.count; k++) {
                            part += weft_load_block(x, at, limit);
                            at += (long)tw.step * channels;
                        }
                        total += part;
                    }
                }
                weft_store_block(total / by, y, p * channels + c, end * channels);
            }
        }
    }
}
#endif

#if WEFT_PASS == 3 || WEFT_PASS < 0
__kernel void WEFT_NAME(mean_gradient)(__global const float *restrict g, long g_offset,
    __global float *restrict dx, long dx_offset, WEFT_WINDOW_PARAMETERS) {
    WEFT_WINDOWS;
    WEFT_SHARE;
    g += g_offset;
    dx += dx_offset;
    const long rows_in = (long)d.in * h.in, pixels_in = rows_in * w.in, rows_out = (long)d.out * h.out;
    const long limit_out = pixels / pixels_in * rows_out * w.out * channels;
    while (p < end) {
        const long row = p / w.in, n = row / rows_in;
        const int in_image = (int)(row - n * rows_in), id = in_image / h.in, ih = in_image % h.in;
        const weft_range rd = weft_windows_of(id, d), rh = weft_windows_of(ih, h);
        int iw = (int)(p - row * w.in);
        const int stop = (int)min((long)w.in, iw + end - p);
        for (; iw < stop; iw++, p++) {
            const weft_range rw = weft_windows_of(iw, w);
            for (int c = c_begin; c < c_end; c += WEFT_LANES) {
                WF total = (WF)(0.0f);
                for (int od = rd.first; od <= rd.last; od++) {
                    if (!weft_window_holds(od, id, d)) continue;
                    for (int oh = rh.first; oh <= rh.last; oh++) {
                        if (!weft_window_holds(oh, ih, h)) continue;
                        const long line = n * rows_out + (long)od * h.out + oh;
                        for (int ow = rw.first; ow <= rw.last; ow++) {
                            if (!weft_window_holds(ow, iw, w)) continue;
                            const float by = weft_divisor(weft_taps_of(od, d), weft_taps_of(oh, h),
                                weft_taps_of(ow, w), padding_counts, divisor);
                            const long o = (line * w.out + ow) * channels + c;
                            total += weft_load_block(g, o, limit_out) / (WF)(by);
                        }
                    }
                }
                weft_store_block(total, dx, p * channels + c, end * channels);
            }
        }
    }
}
#endif
