/* conv_weight_depthwise_gpu.cl: the weight's gradient of a convolution with one channel a group, for devices
 * with many work-items.
 *
 *     x (images, image..., channels)   y (images, result..., channels)
 *     -> w (channels, 1, taps...): w[c][k] = sum over positions (image, o) of
 *        x[image][o * stride + k * dilation - before][c] * y[image][o][c]
 *
 * sums: a work-item sums one tap of one channel over a share of the positions; neighbours are neighbouring
 * channels, so that every read is of words side by side.
 * combine: adds the splits of an element in their order. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) conv_weight_##suffix
#define WEFT_FORMAT_A     f32
#define WEFT_FORMAT_B     f32
#define WEFT_CONV_WEIGHT_ALONE
#endif

/* Work-item (channel, tap, split). */
__kernel __attribute__((reqd_work_group_size(WEFT_WEIGHT_DEPTHWISE_WIDE, 1, 1))) void WEFT_NAME(sums)(
    WEFT_OPERANDS_A *x, long x_offset, WEFT_OPERANDS_B *y, long y_offset, __global float *sums,
    long sums_offset, int positions, int share, int images, int channels, int filters, int groups, int image0,
    int image1, int image2, int result0, int result1, int result2, int taps0, int taps1, int taps2,
    int stride0, int stride1, int stride2, int dilation0, int dilation1, int dilation2, int before0,
    int before1, int before2) {
    const int channel = (int)get_global_id(0), tap = (int)get_global_id(1);
    if (channel >= groups) return;
    const int begin = (int)get_global_id(2) * share, end = min(positions, begin + share);
    const int reach2 = tap % taps2 * dilation2 - before2, reach1 = tap / taps2 % taps1 * dilation1 - before1,
              reach0 = tap / taps2 / taps1 * dilation0 - before0;
    int o2 = begin % result2, line = begin / result2;
    float sum = 0.0f;
    x += x_offset + channel;
    y += y_offset + channel;
    for (int position = begin; position < end; ++line) {
        const int o1 = line % result1, o0 = line / result1 % result0, image = line / result1 / result0;
        const int i0 = o0 * stride0 + reach0, i1 = o1 * stride1 + reach1;
        const int count = min(end - position, result2 - o2);
        if (i0 >= 0 && i0 < image0 && i1 >= 0 && i1 < image1) {
            const long row = (((long)image * image0 + i0) * image1 + i1) * image2;
            float part = 0.0f;
            for (int i = 0; i < count; ++i) {
                const int i2 = (o2 + i) * stride2 + reach2;
                if (i2 >= 0 && i2 < image2)
                    part = WEFT_MULTIPLY_ADD(WEFT_OF_A(WEFT_GET_)(x, (row + i2) * groups),
                        WEFT_OF_B(WEFT_GET_)(y, (long)(position + i) * groups), part);
            }
            sum += part;
        }
        position += count;
        o2 = 0;
    }
    sums[sums_offset + ((long)get_global_id(2) * get_global_size(1) + tap) * groups + channel] = sum;
}

/* Work-item: an element of w. */
__kernel __attribute__((reqd_work_group_size(WEFT_WEIGHT_DEPTHWISE_COMBINED, 1, 1))) void WEFT_NAME(combine)(
    __global const float *sums, long sums_offset, __global float *w, long w_offset, int splits, int groups,
    int taps) {
    const int element = (int)get_global_id(0);
    if (element >= groups * taps) return;
    sums += sums_offset + (long)(element % taps) * groups + element / taps;
    float sum = 0.0f;
    for (int split = 0; split < splits; ++split) sum += sums[(long)split * groups * taps];
    w[w_offset + element] = sum;
}

#ifdef WEFT_CONV_WEIGHT_ALONE
#undef WEFT_CONV_WEIGHT_ALONE
#undef WEFT_FORMAT_A
#undef WEFT_FORMAT_B
#undef WEFT_NAME
#endif
