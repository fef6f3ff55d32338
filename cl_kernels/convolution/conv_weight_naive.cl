/* conv_weight_naive.cl: the weight gradient of a convolution, the portable form. x is the image, y the gradient of the result.
 *
 *     x (images, image..., groups * channels)   y (images, result..., groups * filters)
 *     -> w (groups * filters, channels, taps...): w[f][c][k] = sum over images, o of
 *        x[.][o * stride + k * dilation - before][c] * y[.][o][f]
 *
 * Division of work: a work-item computes one element of w. All three tensors are contiguous. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) conv_weight_##suffix
#ifndef WEFT_INDEX
#define WEFT_INDEX long
#endif
#include "alone.clh"
#endif

__kernel void WEFT_NAME(naive)(WEFT_OPERANDS_A *x, long x_offset, WEFT_OPERANDS_B *y, long y_offset,
    __global float *w, long w_offset, int images, int channels, int filters, int groups, int image0,
    int image1, int image2, int result0, int result1, int result2, int taps0, int taps1, int taps2,
    int stride0, int stride1, int stride2, int dilation0, int dilation1, int dilation2, int before0,
    int before1, int before2) {
    const WEFT_INDEX item = (WEFT_INDEX)get_global_id(0);
    if (item >= (WEFT_INDEX)groups * filters * channels * taps0 * taps1 * taps2) return;
    const int k2 = (int)(item % taps2), k1 = (int)(item / taps2 % taps1),
              k0 = (int)(item / taps2 / taps1 % taps0);
    const WEFT_INDEX row = item / taps2 / taps1 / taps0;
    const int c = (int)(row % channels), f = (int)(row / channels), group = f / filters;
    const long x_step = (long)groups * channels, y_step = (long)groups * filters;
    x += x_offset + (long)group * channels + c;
    y += y_offset + f;
    float sum = 0.0f;
    for (int n = 0; n < images; ++n) {
        for (int o0 = 0; o0 < result0; ++o0) {
            const int i0 = o0 * stride0 + k0 * dilation0 - before0;
            if (i0 < 0 || i0 >= image0) continue;
            for (int o1 = 0; o1 < result1; ++o1) {
                const int i1 = o1 * stride1 + k1 * dilation1 - before1;
                if (i1 < 0 || i1 >= image1) continue;
                const long x_line = (((long)n * image0 + i0) * image1 + i1) * image2;
                const long y_line = (((long)n * result0 + o0) * result1 + o1) * result2;
                float line = 0.0f;
                for (int o2 = 0; o2 < result2; ++o2) {
                    const int i2 = o2 * stride2 + k2 * dilation2 - before2;
                    if (i2 >= 0 && i2 < image2)
                        line = WEFT_MULTIPLY_ADD(WEFT_OF_A(WEFT_GET_)(x, (x_line + i2) * x_step),
                            WEFT_OF_B(WEFT_GET_)(y, (y_line + o2) * y_step), line);
                }
                sum += line;
            }
        }
    }
    w[w_offset + item] = sum;
}
