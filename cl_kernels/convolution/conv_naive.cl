/* conv_naive.cl: convolution and its data gradient, the portable form: no local memory, no barriers, no
 * tuning.
 *
 *     x: images, channels contiguous   w: any strides   result: stored by WEFT_STORE (the epilogue)
 *
 * Division of work: a work-item computes WEFT_LANES neighbouring channels of one element of the result (one on devices of class
 * gpu, sixteen on devices of class cpu). Neighbouring items compute the next channels or the next group. An item walks over the
 * taps of its window; a tap outside the image counts as zero.
 *
 *          image          result
 *        . . . . .        . . .
 *        . t t t .   ->   . f .     one work-item
 *        . t t t .        . . .
 *
 * The arguments are described in src/kernels/convolution/conv_product.h, the macros that the plan defines before each copy
 * (WEFT_NAME, WEFT_EPILOGUE_PARAMETERS, WEFT_STORE) in src/kernels/product/gemm.h. */

#ifndef WEFT_CONV_NAIVE
#define WEFT_CONV_NAIVE

#ifndef WEFT_LANES
#define WEFT_LANES 16
#endif

#if WEFT_LANES == 1
typedef float weft_conv_value;
#else
typedef float16 weft_conv_value;
#endif

/* The index along an axis of the image that a tap reads for position `at` of the result; -1 if the tap reads nothing. */
static int weft_conv_index(int at, int tap, int size, int stride, int dilation, int before, int transposed) {
    int index;
    if (transposed) {
        const int reach = at + before - tap * dilation;
        if (reach < 0 || reach % stride != 0) return -1;
        index = reach / stride;
    } else {
        index = at * stride + tap * dilation - before;
    }
    return index >= 0 && index < size ? index : -1;
}

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) conv_##suffix
#ifndef WEFT_INDEX
#define WEFT_INDEX long
#endif
#include "alone.clh"
#endif

__kernel void WEFT_NAME(naive)(WEFT_OPERANDS_A *x, long x_offset, WEFT_OPERANDS_B *w, long w_offset,
    int groups, int images, int channels, int filters, int read0, int read1, int read2, int made0, int made1,
    int made2, int taps0, int taps1, int taps2, int stride0, int stride1, int stride2, int dilation0,
    int dilation1, int dilation2, int before0, int before1, int before2, int transposed, long x_image,
    long x0, long x1, long x2, long w_group, long w_filter, long w_channel, long w0, long w1,
    long w2 WEFT_EPILOGUE_PARAMETERS) {
    const int blocks = (filters + WEFT_LANES - 1) / WEFT_LANES;
    const WEFT_INDEX item = (WEFT_INDEX)get_global_id(0), rows = (WEFT_INDEX)images * made0 * made1 * made2;
    if (item >= rows * groups * blocks) return;
    const int first = (int)(item % blocks) * WEFT_LANES, lanes = min(WEFT_LANES, filters - first);
    const int group = (int)(item / blocks % groups), row = (int)(item / blocks / groups);
    const int line = row / made2, at2 = row % made2;
    const int at1 = line % made1, at0 = line / made1 % made0, image = line / made1 / made0;
    x += x_offset + image * x_image + (long)group * channels;
    w += w_offset + group * w_group + first * w_filter;
    weft_conv_value acc = 0.0f;
#if WEFT_LANES != 1
    float16 values = 0.0f; /* lanes past the last channel stay zero */
#endif
    for (int k0 = 0; k0 < taps0; ++k0) {
        const int i0 = weft_conv_index(at0, k0, read0, stride0, dilation0, before0, transposed);
        if (i0 < 0) continue;
        for (int k1 = 0; k1 < taps1; ++k1) {
            const int i1 = weft_conv_index(at1, k1, read1, stride1, dilation1, before1, transposed);
            if (i1 < 0) continue;
            for (int k2 = 0; k2 < taps2; ++k2) {
                const int i2 = weft_conv_index(at2, k2, read2, stride2, dilation2, before2, transposed);
                if (i2 < 0) continue;
                WEFT_OPERANDS_A *from = x + i0 * x0 + i1 * x1 + i2 * x2;
                WEFT_OPERANDS_B *weight = w + k0 * w0 + k1 * w1 + k2 * w2;
                for (int c = 0; c < channels; ++c) {
#if WEFT_LANES == 1
                    acc = WEFT_MULTIPLY_ADD(
                        WEFT_OF_A(WEFT_GET_)(from, c), WEFT_OF_B(WEFT_GET_)(weight, c * w_channel), acc);
#else
                    for (int lane = 0; lane < lanes; ++lane)
                        ((float *)&values)[lane] =
                            WEFT_OF_B(WEFT_GET_)(weight, c * w_channel + lane * w_filter);
                    acc = WEFT_MULTIPLY_ADD((float16)WEFT_OF_A(WEFT_GET_)(from, c), values, acc);
#endif
                }
            }
        }
    }
    WEFT_STORE(acc, line, at2, group * filters + first, lanes);
}
