/* conv_depthwise_gpu.cl: convolution and its data gradient with one channel in each group, for devices of class gpu.
 *
 *     x: images, channels contiguous   w: any strides   result: stored by WEFT_STORE (the epilogue)
 *
 * pack: writes the weight as panels[tap][channel], f32, once a run, so that an item reads a tap of its channels as one vector.
 *
 * depthwise: a work-item computes PLACES neighbouring positions of a row of the result, for a quad of channels. For each row of
 * taps it reads each pixel once:
 *
 *     pixels of a row, a quad each       p0 p1 p2 p3 p4 p5      6 reads
 *     tap 0 of position 0 .. 3           *  *  *  *
 *     tap 1                                 *  *  *  *          48 multiply-adds
 *     tap 2                                    *  *  *  *
 *
 * For the data gradient of stride s, PLACES is a multiple of s, and a position uses every s-th tap; no zeros between the elements
 * are multiplied. If that would need too many places, or pixels are far apart, an item has one position and walks over the taps
 * that the position uses.
 *
 * Division of work: a group has WIDE items along channels, whose reads are contiguous, and ROWS rows; the other items are strips of
 * PLACES positions. The rows of the image that the windows of a group share come from the group's cache. Only groups at the border
 * of an image test whether each pixel is inside.
 *
 * The arguments are described in src/kernels/convolution/conv_product.h, the macros that the plan defines before each copy
 * (WEFT_NAME, WEFT_EPILOGUE_PARAMETERS, WEFT_STORE) in src/kernels/product/gemm.h, the other macros in conv_depthwise_gpu.clh. */

#ifndef WEFT_DEPTHWISE_AXIS
#define WEFT_DEPTHWISE_AXIS

/* The taps along an axis that a position uses: `tap`, and others `every` apart. `index` is the first tap's index in the image,
 * `step` the distance to the index of the next tap. */
typedef struct weft_depthwise_axis {
    int tap, every, index, step;
} weft_depthwise_axis;

static weft_depthwise_axis weft_depthwise_taps(
    int at, int taps, int stride, int dilation, int before, int every, int transposed) {
    weft_depthwise_axis axis = {0, 1, at * stride - before, dilation};
    if (!transposed) return axis;
    axis.every = every;
    axis.step = -(every * dilation / stride);
    while (axis.tap < taps && (at + before - axis.tap * dilation) % stride != 0)
        axis.tap = axis.tap + 1 < every ? axis.tap + 1 : taps;
    axis.index = (at + before - axis.tap * dilation) / stride;
    return axis;
}

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) conv_##suffix
#ifndef WEFT_DEPTHWISE_STRIDE
#define WEFT_DEPTHWISE_STRIDE 1
#endif
#ifndef WEFT_DEPTHWISE_TRANSPOSED
#define WEFT_DEPTHWISE_TRANSPOSED 0
#endif
#define WEFT_DEPTHWISE_PLACES   4
#define WEFT_DEPTHWISE_TAPS     3
#define WEFT_DEPTHWISE_DILATION 1
#define WEFT_DEPTHWISE_ORIGIN   (-2)
#define WEFT_DEPTHWISE_WIDE     8
#include "alone.clh"
#endif

#include "conv_depthwise_gpu.clh"

/* MEETS: does place r use pixel j at this tap? PIXELS: the number of pixels that the places use. If transposed, r is a position
 * of the image, j one of the result, and r = j * stride + tap * dilation + ORIGIN. */
#if WEFT_DEPTHWISE_TRANSPOSED
#define WEFT_DEPTHWISE_MEETS(j, r, tap)                                                                      \
    ((j)*WEFT_DEPTHWISE_STRIDE + (tap)*WEFT_DEPTHWISE_DILATION + WEFT_DEPTHWISE_ORIGIN == (r))
#define WEFT_DEPTHWISE_PIXELS                                                                                \
    ((WEFT_DEPTHWISE_PLACES - 1 - (WEFT_DEPTHWISE_ORIGIN)) / WEFT_DEPTHWISE_STRIDE + 1)
#else
#define WEFT_DEPTHWISE_MEETS(j, r, tap) ((r)*WEFT_DEPTHWISE_STRIDE + (tap)*WEFT_DEPTHWISE_DILATION == (j))
#define WEFT_DEPTHWISE_PIXELS                                                                                \
    ((WEFT_DEPTHWISE_PLACES - 1) * WEFT_DEPTHWISE_STRIDE +                                                   \
        (WEFT_DEPTHWISE_TAPS - 1) * WEFT_DEPTHWISE_DILATION + 1)
#endif

/* WALKS: items with one position walk over the taps that their position uses. STRIPS: strips of PLACES positions in a group. */
#define WEFT_DEPTHWISE_WALKS  (WEFT_DEPTHWISE_TRANSPOSED && WEFT_DEPTHWISE_PLACES == 1)
#define WEFT_DEPTHWISE_STRIPS (WEFT_DEPTHWISE_GROUP / WEFT_DEPTHWISE_WIDE / WEFT_DEPTHWISE_ROWS)

/* sum += the pixels of a row from i2 on times the weights of the taps. inside: all of these pixels are inside the image, which has `read2`
 * pixels in a row. */
__attribute__((always_inline)) static inline void WEFT_NAME(add_row)(WEFT_DEPTHWISE_VALUE *sum,
    const WEFT_DEPTHWISE_VALUE *tap, WEFT_OPERANDS_A *x, WEFT_DEPTHWISE_OFFSET row,
    WEFT_DEPTHWISE_OFFSET step2, int i2, int read2, const int inside) {
    WEFT_UNROLL for (int j = 0; j < WEFT_DEPTHWISE_PIXELS; ++j) {
        const WEFT_DEPTHWISE_OFFSET at =
            inside ? (WEFT_DEPTHWISE_OFFSET)(i2 + j) : WEFT_DEPTHWISE_NEAREST(i2 + j, read2);
        const WEFT_DEPTHWISE_VALUE read = WEFT_DEPTHWISE_LOAD(WEFT_OF_A, x, row + at * step2);
        const WEFT_DEPTHWISE_VALUE pixel = inside ? read : WEFT_DEPTHWISE_INSIDE(read, i2 + j, read2);
        WEFT_UNROLL for (int t = 0; t < WEFT_DEPTHWISE_TAPS; ++t) {
            WEFT_UNROLL for (int r = 0; r < WEFT_DEPTHWISE_PLACES; ++r) {
                if (WEFT_DEPTHWISE_MEETS(j, r, t)) sum[r] = WEFT_MULTIPLY_ADD(pixel, tap[t], sum[r]);
            }
        }
    }
}

#if WEFT_DEPTHWISE_LANES == 4 && WEFT_LANES == 1
#define WEFT_DEPTHWISE_STORE(value, batch, row, column)                                                      \
    WEFT_STORE((value).s0, batch, row, column, 1);                                                           \
    WEFT_STORE((value).s1, batch, row, (column) + 1, 1);                                                     \
    WEFT_STORE((value).s2, batch, row, (column) + 2, 1);                                                     \
    WEFT_STORE((value).s3, batch, row, (column) + 3, 1);
#else
#define WEFT_DEPTHWISE_STORE(value, batch, row, column)                                                      \
    WEFT_STORE(value, batch, row, column, WEFT_DEPTHWISE_LANES);
#endif

/* Work-item (tap, channel). */
__kernel __attribute__((reqd_work_group_size(WEFT_DEPTHWISE_GROUP, 1, 1))) void WEFT_NAME(pack)(
    WEFT_OPERANDS_B *w, long w_offset, __global float *panels, long panels_offset, int groups, int taps0,
    int taps1, int taps2, long w_group, long w0, long w1, long w2) {
    const int item = (int)get_global_id(0), channel = item % groups, tap = item / groups;
    if (tap >= taps0 * taps1 * taps2) return;
    panels[panels_offset + item] =
        WEFT_OF_B(WEFT_GET_)(w, w_offset + channel * w_group + tap / taps2 / taps1 * w0 +
                                    tap / taps2 % taps1 * w1 + tap % taps2 * w2);
}

/* Work-group (channels, strips, rows). first2: the first pixel of the first strip; advance2: pixels from one strip to the next;
 * every0 .. every2: if transposed, the distance between the taps that a position uses. */
__kernel __attribute__((reqd_work_group_size(WEFT_DEPTHWISE_GROUP, 1, 1))) WEFT_NARROW void WEFT_NAME(
    depthwise)(WEFT_OPERANDS_A *x, long x_offset, __global const float *panels, long panels_offset,
    int groups, int lines, int first2, int advance2, int every0, int every1, int every2, int images,
    int channels, int filters, int read0, int read1, int read2, int made0, int made1, int made2, int taps0,
    int taps1, int taps2, int stride0, int stride1, int stride2, int dilation0, int dilation1, int dilation2,
    int before0, int before1, int before2, int transposed, long x_image, long x0, long x1,
    long x2 WEFT_EPILOGUE_PARAMETERS) {
    const int item = (int)get_local_id(0), across = item / WEFT_DEPTHWISE_WIDE % WEFT_DEPTHWISE_STRIPS;
    const int channel =
        ((int)get_group_id(0) * WEFT_DEPTHWISE_WIDE + item % WEFT_DEPTHWISE_WIDE) * WEFT_DEPTHWISE_LANES;
    const int strip = (int)get_group_id(1) * WEFT_DEPTHWISE_STRIPS + across;
    const int line =
        (int)get_group_id(2) * WEFT_DEPTHWISE_ROWS + item / (WEFT_DEPTHWISE_WIDE * WEFT_DEPTHWISE_STRIPS);
    const int at2 = strip * WEFT_DEPTHWISE_PLACES;
    if (channel >= groups || line >= lines || at2 >= made2) return;
    const int plane = line / made1, at1 = line % made1, at0 = plane % made0, image = plane / made0;
    const weft_depthwise_axis a0 =
        weft_depthwise_taps(at0, taps0, stride0, dilation0, before0, every0, WEFT_DEPTHWISE_TRANSPOSED);
    const weft_depthwise_axis a1 =
        weft_depthwise_taps(at1, taps1, stride1, dilation1, before1, every1, WEFT_DEPTHWISE_TRANSPOSED);
    const int size = (int)sizeof(WEFT_OF_A(WEFT_T_));
    const WEFT_DEPTHWISE_OFFSET step0 = (WEFT_DEPTHWISE_OFFSET)x0 * size,
                                step1 = (WEFT_DEPTHWISE_OFFSET)x1 * size,
                                step2 = (WEFT_DEPTHWISE_OFFSET)x2 * size;
    const WEFT_DEPTHWISE_OFFSET begin = (WEFT_DEPTHWISE_OFFSET)x_image * size * image + channel * size;
#if WEFT_DEPTHWISE_WALKS
    const weft_depthwise_axis a2 = weft_depthwise_taps(at2, taps2, stride2, dilation2, before2, every2, 1);
#else
    const weft_depthwise_axis a2 = {0, WEFT_DEPTHWISE_TAPS, strip * advance2 + first2,
        WEFT_DEPTHWISE_TRANSPOSED ? -WEFT_DEPTHWISE_TAPS * dilation2 : WEFT_DEPTHWISE_TAPS * dilation2};
#endif
    x += x_offset;
    panels += panels_offset + channel;
    WEFT_DEPTHWISE_VALUE sum[WEFT_DEPTHWISE_PLACES];
    WEFT_UNROLL for (int r = 0; r < WEFT_DEPTHWISE_PLACES; ++r) sum[r] = 0.0f;
    for (int t0 = a0.tap, i0 = a0.index; t0 < taps0; t0 += a0.every, i0 += a0.step) {
        if ((uint)i0 >= (uint)read0) continue;
        for (int t1 = a1.tap, i1 = a1.index; t1 < taps1; t1 += a1.every, i1 += a1.step) {
            if ((uint)i1 >= (uint)read1) continue;
            const WEFT_DEPTHWISE_OFFSET row = begin + i0 * step0 + i1 * step1;
            for (int t2 = a2.tap, i2 = a2.index; t2 < taps2; t2 += a2.every, i2 += a2.step) {
                __global const float *from = panels + ((t0 * taps1 + t1) * taps2 + t2) * groups;
                WEFT_DEPTHWISE_VALUE tap[WEFT_DEPTHWISE_TAPS];
                WEFT_UNROLL for (int t = 0; t < WEFT_DEPTHWISE_TAPS; ++t) tap[t] =
                    *(__global const WEFT_DEPTHWISE_VALUE *)(from + t * groups);
                /* The condition is the same for all items of a group, except for the last taps of a row. */
                const int first = i2 - across * advance2,
                          last = first + (WEFT_DEPTHWISE_STRIPS - 1) * advance2 + WEFT_DEPTHWISE_PIXELS - 1;
                if (!WEFT_DEPTHWISE_WALKS && first >= 0 && last < read2)
                    WEFT_NAME(add_row)(sum, tap, x, row, step2, i2, read2, 1);
                else
                    WEFT_NAME(add_row)(sum, tap, x, row, step2, i2, read2, 0);
            }
        }
    }
    /* With the condition at2 + r < made2, LLVM 18 of PoCL 6.0 aborts on stores to an image that is one pixel wide. */
    const int places = made2 - at2;
    WEFT_UNROLL for (int r = 0; r < WEFT_DEPTHWISE_PLACES; ++r) {
        if (r < places) {
            WEFT_DEPTHWISE_STORE(sum[r], line, at2 + r, channel)
        }
    }
}

#undef WEFT_DEPTHWISE_MEETS
#undef WEFT_DEPTHWISE_PIXELS
#undef WEFT_DEPTHWISE_WALKS
#undef WEFT_DEPTHWISE_STRIPS
#undef WEFT_DEPTHWISE_STORE
