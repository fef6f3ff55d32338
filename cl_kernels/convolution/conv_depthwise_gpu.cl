/* conv_depthwise_gpu.cl: convolution and its data gradient with one channel a group, for devices with many
 * work-items.
 *
 *     x: images, channels side by side   w: any strides   result: whatever WEFT_STORE makes of an element
 *
 * Work split: a work-item makes one element of the result; neighbours are neighbouring channels of one
 * position, so that every read of the image is of words side by side. It walks the taps that its position
 * meets and no others: of the data gradient of stride s, along each axis every s-th.
 *
 *     image, channels ->  c0 c1 c2 ..        each item a tap after the other
 *     pixel of tap 0      *  *  *            of its own channel
 *     pixel of tap 1      *  *  *
 *
 * The arguments are described in src/kernels/convolution/conv_product.h, the macros before an inclusion
 * (WEFT_NAME, WEFT_EPILOGUE_PARAMETERS, WEFT_STORE) in src/kernels/product/gemm.h. */

#ifndef WEFT_DEPTHWISE_GPU
#define WEFT_DEPTHWISE_GPU

/* The taps along an axis that a position meets, from the first, each `every` after the one before; the
 * first's index in the image, and how far the next is. */
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
#define WEFT_NAME(suffix)                          conv_##suffix
#define WEFT_EPILOGUE_PARAMETERS                   , __global float *c, long c_batch, long c_row
#define WEFT_STORE(acc, batch, row, column, lanes) c[(batch)*c_batch + (row)*c_row + (column)] = (acc)
#define WEFT_FORMAT_A                              f32
#define WEFT_FORMAT_B                              f32
#define WEFT_CONV_ALONE
#endif

/* every0 .. 2: how many taps lie from one that meets a position to the next, of a transposed one. */
__kernel __attribute__((reqd_work_group_size(WEFT_DEPTHWISE_GROUP, 1, 1))) void WEFT_NAME(depthwise)(
    WEFT_OPERANDS_A *x, long x_offset, WEFT_OPERANDS_B *w, long w_offset, int elements, int groups,
    int every0, int every1, int every2, int images, int channels, int filters, int read0, int read1,
    int read2, int made0, int made1, int made2, int taps0, int taps1, int taps2, int stride0, int stride1,
    int stride2, int dilation0, int dilation1, int dilation2, int before0, int before1, int before2,
    int transposed, long x_image, long x0, long x1, long x2, long w_group, long w0, long w1,
    long w2 WEFT_EPILOGUE_PARAMETERS) {
    const int element = (int)get_global_id(0);
    if (element >= elements) return;
    const int position = element / groups, channel = element % groups;
    const int line = position / made2, at2 = position % made2;
    const int at1 = line % made1, at0 = line / made1 % made0, image = line / made1 / made0;
    const weft_depthwise_axis a0 =
        weft_depthwise_taps(at0, taps0, stride0, dilation0, before0, every0, transposed);
    const weft_depthwise_axis a1 =
        weft_depthwise_taps(at1, taps1, stride1, dilation1, before1, every1, transposed);
    const weft_depthwise_axis a2 =
        weft_depthwise_taps(at2, taps2, stride2, dilation2, before2, every2, transposed);
    x += x_offset + image * x_image + channel;
    w += w_offset + channel * w_group;
    float sum = 0.0f;
    for (int t0 = a0.tap, i0 = a0.index; t0 < taps0; t0 += a0.every, i0 += a0.step) {
        if (i0 < 0 || i0 >= read0) continue;
        for (int t1 = a1.tap, i1 = a1.index; t1 < taps1; t1 += a1.every, i1 += a1.step) {
            if (i1 < 0 || i1 >= read1) continue;
            for (int t2 = a2.tap, i2 = a2.index; t2 < taps2; t2 += a2.every, i2 += a2.step) {
                if (i2 >= 0 && i2 < read2)
                    sum = WEFT_MULTIPLY_ADD(WEFT_OF_A(WEFT_GET_)(x, i0 * x0 + i1 * x1 + i2 * x2),
                        WEFT_OF_B(WEFT_GET_)(w, t0 * w0 + t1 * w1 + t2 * w2), sum);
            }
        }
    }
    WEFT_STORE(sum, line, at2, channel, 1);
}

#ifdef WEFT_CONV_ALONE
#undef WEFT_CONV_ALONE
#undef WEFT_FORMAT_A
#undef WEFT_FORMAT_B
#undef WEFT_NAME
#undef WEFT_EPILOGUE_PARAMETERS
#undef WEFT_STORE
#endif
