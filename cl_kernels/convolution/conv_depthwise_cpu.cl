/* conv_depthwise_cpu.cl: convolution and its data gradient with few channels in each group, for devices of class cpu, where a
 * work-item runs on a core with wide vectors. A group has WEFT_DEPTHWISE_WIDTH channels and as many filters: 1, 2, 4 or 8.
 *
 *     x: images, channels contiguous   w: any strides   result: stored by WEFT_STORE (the epilogue)
 *
 * pack: writes the weight as panels of 16 filters, panel[(tap * WIDTH + channel of the group) * 16 + lane], once a run; lanes past the
 * last filter are zero.
 *
 * rows: a work-item (no barriers, no local memory) computes a strip of tiles; a tile is 7 neighbouring positions of a row of the
 * result. For each 16 channels, the sums of a tile are 7 vectors:
 *
 *     pixels of a row, 16 channels each    p0 p1 p2 p3 p4 p5 p6 p7 p8     9 loads
 *     tap 0 of position 0 .. 6             *  *  *  *  *  *  *
 *     tap 1                                   *  *  *  *  *  *  *         21 multiply-adds
 *     tap 2                                      *  *  *  *  *  *  *
 *
 * With several channels in a group, a pixel is multiplied once for each of them: lane i takes channel j of its own group. For 4 channels
 * and j = 1 the lanes of a pixel are 1 1 1 1 5 5 5 5 9 9 9 9 d d d d.
 *
 * Neighbouring taps with stride 1 or 2 are computed in this way, three at a time, with one load for each pixel; other taps load a pixel
 * for each multiply-add. All channels of a tile are computed before the next tile, so that memory is read in its order; the weight
 * stays in the cache. Where a window leaves the row, the nearest pixel is read and its bits are cleared: a branch for each pixel would
 * take longer than the multiply-adds. A tile of the data gradient of stride s consists of positions of a row that have the same
 * remainder modulo s (a *phase*): they use the same taps, and no zeros between the elements are multiplied.
 *
 * The arguments are described in src/kernels/convolution/conv_product.h, the macros that the plan defines before each copy
 * (WEFT_NAME, WEFT_EPILOGUE_PARAMETERS, WEFT_STORE) in src/kernels/product/gemm.h. */

#ifndef WEFT_DEPTHWISE_CPU
#define WEFT_DEPTHWISE_CPU

#include "conv_groups_cpu.clh"

/* The `count` taps along an axis that positions of a phase use: `tap`, and others `every` apart. Tap number n reads the image at
 * index (position in the phase) * stride + base + n * step, where stride is 1 if the convolution is transposed; step is never
 * negative. */
typedef struct weft_depthwise_axis {
    int count, tap, every, base, step;
} weft_depthwise_axis;

static weft_depthwise_axis weft_depthwise_taps(
    int phase, int taps, int stride, int dilation, int before, int transposed) {
    weft_depthwise_axis axis = {taps, 0, 1, -before, dilation};
    if (!transposed) return axis;
    axis.count = axis.base = axis.step = 0;
    for (int tap = taps - 1; tap >= 0; --tap) { /* the last tap reads the lowest index of the image */
        const int reach = phase + before - tap * dilation;
        if (reach % stride != 0) continue;
        if (axis.count == 0) {
            axis.tap = tap;
            axis.base = reach / stride;
        } else if (axis.count == 1) {
            axis.every = tap - axis.tap;
            axis.step = reach / stride - axis.base;
        }
        ++axis.count;
    }
    return axis;
}

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix)    conv_##suffix
#define WEFT_DEPTHWISE_WIDTH 1
#define WEFT_DEPTHWISE_FORMS WEFT_GROUP_ALL_FORMS
#include "alone.clh"
#endif

/* The pixel at `from`, of which only `left` numbers may be read. */
static float16 WEFT_NAME(last_pixel)(WEFT_OPERANDS_A *from, long left) {
    float16 value = 0.0f;
    WEFT_ROLLED for (int lane = 0; lane < min(16L, left); ++lane)((float *)&value)[lane] =
        WEFT_OF_A(WEFT_GET_)(from, lane);
    return value;
}

/* sum[r] += pixel `i` for each position r and each of the `taps` neighbouring taps by which r reads it. From one position to the next,
 * the first pixel advances by `across` pixels. */
__attribute__((always_inline)) static inline void WEFT_NAME(add)(float16 *sum, const float16 pixel,
    const int i, const int taps, const int across, __global const float16 *weight) {
    WEFT_UNROLL for (int j = 0; j < WEFT_DEPTHWISE_WIDTH; ++j) {
        const float16 own = WEFT_GROUP_LANES(WEFT_DEPTHWISE_WIDTH)(pixel, j);
        WEFT_UNROLL for (int tap = 0; tap < taps; ++tap) {
            const int r = (i - tap) / across;
            if (i >= tap && (i - tap) % across == 0 && r < WEFT_DEPTHWISE_TILE)
                sum[r] = WEFT_MULTIPLY_ADD(own, weight[tap * WEFT_DEPTHWISE_WIDTH + j], sum[r]);
        }
    }
}

/* Adds `taps` neighbouring taps of one row of the window. inside: all pixels are in the row; pixel i is i * pixel numbers behind `from`.
 * Otherwise pixel i is that of entry + i * hop in `edge`. */
__attribute__((always_inline)) static inline void WEFT_NAME(sum)(float16 *sum, const int taps,
    const int across, WEFT_OPERANDS_A *from, long pixel, const weft_group_edge *edge, int entry, int hop,
    __global const float16 *weight, bool inside) {
    const int count = (WEFT_DEPTHWISE_TILE - 1) * across + taps;
    if (inside) {
        WEFT_UNROLL for (int i = 0; i < count; ++i)
            WEFT_NAME(add)(sum, WEFT_OF_A(WEFT_READ_)(from + i * pixel), i, taps, across, weight);
    } else {
        WEFT_UNROLL for (int i = 0; i < count; ++i) {
            const float16 value = WEFT_OF_A(WEFT_READ_)(from + edge->offset[entry + i * hop]);
            WEFT_NAME(add)
            (sum, as_float16(as_int16(value) & (int16)(edge->kept[entry + i * hop])), i, taps, across,
                weight);
        }
    }
}

/* All `taps` of one row of the window, for a row of pixels at the end of the memory, where sixteen numbers of a pixel may not exist. The
 * first position reads pixel `index` at `from`, and pixels step, 2 * step, ... behind it. */
static void WEFT_NAME(sum_at_end)(float16 *sum, int taps, int every, int step, int across,
    WEFT_OPERANDS_A *from, long pixel, int index, int read, __global const float16 *weight, long left) {
    WEFT_ROLLED for (int r = 0; r < WEFT_DEPTHWISE_TILE; ++r) {
        WEFT_ROLLED for (int tap = 0; tap < taps; ++tap) {
            const int at = r * across + tap * step;
            if ((uint)(index + at) >= (uint)read) continue;
            const float16 value = WEFT_NAME(last_pixel)(from + at * pixel, left - at * pixel);
            WEFT_UNROLL for (int j = 0; j < WEFT_DEPTHWISE_WIDTH; ++j) sum[r] =
                WEFT_MULTIPLY_ADD(WEFT_GROUP_LANES(WEFT_DEPTHWISE_WIDTH)(value, j),
                    weight[tap * every * WEFT_DEPTHWISE_WIDTH + j], sum[r]);
        }
    }
}

/* Work-item: 16 filters of all groups; `all` is their number. */
__kernel WEFT_ITEMS(1) void WEFT_NAME(pack)(WEFT_OPERANDS_B *w, long w_offset, __global float *panels,
    long panels_offset, long w_first, int all, int taps0, int taps1, int taps2, long w_group, long w_filter,
    long w_channel, long w0, long w1, long w2) {
    const int first = (int)get_global_id(0) * 16, lanes = min(16, all - first);
    const long panel = 16L * WEFT_DEPTHWISE_WIDTH * taps0 * taps1 * taps2;
    w += w_offset + w_first;
    panels += panels_offset + get_global_id(0) * panel;
    for (int t0 = 0; t0 < taps0; ++t0) {
        for (int t1 = 0; t1 < taps1; ++t1) {
            for (int t2 = 0; t2 < taps2; ++t2) {
                for (int j = 0; j < WEFT_DEPTHWISE_WIDTH; ++j) {
                    WEFT_OPERANDS_B *from = w + t0 * w0 + t1 * w1 + t2 * w2 + j * w_channel;
                    for (int lane = 0; lane < 16; ++lane) {
                        const int filter = first + lane;
                        panels[lane] = lane < lanes ? WEFT_OF_B(WEFT_GET_)(
                                                          from, filter / WEFT_DEPTHWISE_WIDTH * w_group +
                                                                    filter % WEFT_DEPTHWISE_WIDTH * w_filter)
                                                    : 0.0f;
                    }
                    panels += 16;
                }
            }
        }
    }
}

/* A work-item computes `strip` of all `tiles` tiles. A row of the result has `row_tiles` tiles for each phase. `all`: the channels of
 * all groups. */
__kernel WEFT_ITEMS(1) void WEFT_NAME(rows)(WEFT_OPERANDS_A *x, long x_offset, __global const float *panels,
    long panels_offset, long x_elements, int tiles, int strip, int row_tiles, int all, int images,
    int channels, int filters, int read0, int read1, int read2, int made0, int made1, int made2, int taps0,
    int taps1, int taps2, int stride0, int stride1, int stride2, int dilation0, int dilation1, int dilation2,
    int before0, int before1, int before2, int transposed, long x_image, long x0, long x1,
    long x2 WEFT_EPILOGUE_PARAMETERS) {
    const int begin = (int)get_global_id(0) * strip, end = min(tiles, begin + strip);
    const int phases = transposed ? stride2 : 1, in0 = transposed ? 1 : stride0,
              in1 = transposed ? 1 : stride1, in2 = transposed ? 1 : stride2;
    const int out0 = transposed ? stride0 : 1, out1 = transposed ? stride1 : 1;
    x += x_offset;
    panels += panels_offset;
    for (int tile = begin; tile < end; ++tile) {
        const int phase = tile / row_tiles % phases, line = tile / row_tiles / phases;
        const int at1 = line % made1, at0 = line / made1 % made0, image = line / made1 / made0;
        const int first = tile % row_tiles * WEFT_DEPTHWISE_TILE,
                  rows = min(WEFT_DEPTHWISE_TILE, (made2 - phase + phases - 1) / phases - first);
        const weft_depthwise_axis a0 =
            weft_depthwise_taps(at0 % out0, taps0, stride0, dilation0, before0, transposed);
        const weft_depthwise_axis a1 =
            weft_depthwise_taps(at1 % out1, taps1, stride1, dilation1, before1, transposed);
        const weft_depthwise_axis a2 =
            weft_depthwise_taps(phase, taps2, stride2, dilation2, before2, transposed);
        const int i0 = at0 / out0 * in0 + a0.base, i1 = at1 / out1 * in1 + a1.base,
                  i2 = first * in2 + a2.base;
        const bool near = a2.every == 1 && a2.step == 1 && in2 <= 2;
        const int last = i2 + (WEFT_DEPTHWISE_TILE - 1) * in2 + (a2.count - 1) * a2.step;
        const bool inside = i2 >= 0 && last < read2;
        weft_group_edge edge;
        const bool slow = !inside && weft_group_fill_edge(&edge, near, WEFT_DEPTHWISE_TILE, a2.count, a2.step,
                                         in2, i2, read2, x2) > WEFT_GROUP_EDGE;
        for (int channel = 0; channel < all && rows > 0; channel += 16) {
            float16 sum[WEFT_DEPTHWISE_TILE];
            WEFT_UNROLL for (int r = 0; r < WEFT_DEPTHWISE_TILE; ++r) sum[r] = 0.0f;
            for (int n0 = 0; n0 < a0.count; ++n0) {
                const int p0 = i0 + n0 * a0.step;
                if (p0 < 0 || p0 >= read0) continue;
                for (int n1 = 0; n1 < a1.count; ++n1) {
                    const int p1 = i1 + n1 * a1.step;
                    if (p1 < 0 || p1 >= read1) continue;
                    const long from = image * x_image + p0 * x0 + p1 * x1 + i2 * x2 + channel;
                    const int row = (a0.tap + n0 * a0.every) * taps1 + a1.tap + n1 * a1.every;
                    __global const float16 *weight =
                        (__global const float16 *)panels +
                        ((long)channel / 16 * taps0 * taps1 + row) * taps2 * WEFT_DEPTHWISE_WIDTH;
                    if (slow || from + (min(last, read2 - 1) - i2) * x2 + 16 > x_elements) {
                        WEFT_NAME(sum_at_end)
                        (sum, a2.count, a2.every, a2.step, in2, x + from, x2, i2, read2,
                            weight + a2.tap * WEFT_DEPTHWISE_WIDTH, x_elements - from);
                        continue;
                    }
                    for (int n2 = 0; n2 < a2.count;) {
                        /* A call of `sum` computes three taps, or one. */
                        const bool three = near && a2.count - n2 >= 3;
                        const int entry = near ? n2 : n2 * WEFT_DEPTHWISE_TILE;
                        WEFT_OPERANDS_A *first_pixel = x + from + (inside ? n2 * a2.step * x2 : 0);
                        __global const float16 *taps =
                            weight + (a2.tap + n2 * a2.every) * WEFT_DEPTHWISE_WIDTH;
                        if (WEFT_DEPTHWISE_FORMS & WEFT_GROUP_STRIDE_1 && three && in2 == 1) {
                            WEFT_NAME(sum)(sum, 3, 1, first_pixel, x2, &edge, entry, 1, taps, inside);
                        } else if (WEFT_DEPTHWISE_FORMS & WEFT_GROUP_STRIDE_2 && three) {
                            WEFT_NAME(sum)(sum, 3, 2, first_pixel, x2, &edge, entry, 1, taps, inside);
                        } else if (WEFT_DEPTHWISE_FORMS & WEFT_GROUP_SINGLE) {
                            WEFT_NAME(sum)
                            (sum, 1, 1, first_pixel, in2 * x2, &edge, entry, near ? in2 : 1, taps, inside);
                        }
                        n2 += three ? 3 : 1;
                    }
                }
            }
            for (int r = 0; r < rows; ++r)
                WEFT_STORE(sum[r], line, (first + r) * phases + phase, channel, min(16, all - channel));
        }
    }
}
