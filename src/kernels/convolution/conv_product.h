/* Convolutions as matrix products over windows: C = A · B, where a row of A is the window of the image that
 * one element of the result looks at, and B is the weight. A is never written down.
 *
 *   forward     row (n, o), step of k (tap, c):  A = x[n][o·stride + tap·dilation - before][c], 0 outside
 *   transposed  row (n, i), step of k (tap, f):  A = y[n][(i + before - tap·dilation) / stride][f] where the
 *               quotient is whole and inside, else 0: the data gradient
 *
 * The product's space is (images · outer axes, last axis, channels made), for the epilogue as gemm.h has it.
 */
#ifndef WI_CONV_PRODUCT_H
#define WI_CONV_PRODUCT_H

#include "kernels/product/gemm.h"
#include "ops/convolution/conv.h"

typedef struct wi_conv_geometry {
    bool transposed;
    int64_t images, groups;
    int64_t channels, filters; /* of a group: read, made */
    int64_t read[3], made[3], taps[3], stride[3], dilation[3], before[3];
    int64_t image, step[3];                /* strides of the image read: images, axes; channels have 1 */
    int64_t w_filter, w_channel, w_tap[3]; /* strides of the weight, by what is made and read */
    int64_t w_group;
    double flops;
} wi_conv_geometry;

/* The weight among a site's inputs, as the bit of one that is packed. */
#define WI_CONV_WEIGHT (UINT32_C(1) << 1)

/* The geometry of a conv or conv_data node. False: channels of the image are not side by side in memory. */
bool wi_conv_geometry_of(wi_conv_geometry *geometry, const weft_tensor *node, const wi_extent *read,
    const wi_layout *read_layout, const wi_extent *weight, const wi_layout *weight_layout,
    const wi_extent *made);

/* The convolution that a geometry is of, or is the data gradient of. */
wi_conv wi_conv_of_geometry(const wi_conv_geometry *geometry);

/* Elements from the first of the image read to its last, both included. */
int64_t wi_conv_read_elements(const wi_conv_geometry *geometry);

/* Products that a data gradient with strides is taken apart into (conv_cpu.cl); positions of the largest. */
int64_t wi_conv_phases(const wi_conv_geometry *geometry);
int64_t wi_conv_phase_positions(const wi_conv_geometry *geometry);
/* The macros of conv_cpu.cl and conv_cpu_amx.cl, of what is known before: the code for all else takes most of the time to
 * compile. */
void wi_conv_add_macros(wi_kernel_plan *plan, const wi_conv_geometry *geometry);

/* Terms of the sum that an element of the result is, those with zeros included. */
int64_t wi_conv_terms(const wi_conv_geometry *geometry);
/* Positions of the result in all images; multiply-adds for each of them, channel made, and group. */
double wi_conv_positions(const wi_conv_geometry *geometry);
double wi_conv_steps(const wi_conv_geometry *geometry);
/* Operations that the kernels of class cpu with tiles of 13 x 32 spend on so many multiply-adds of their estimates. */
#define WI_CONV_TILE_OPERATIONS 2.4
/* Bytes of the image read, the weight, and the result, f32. */
double wi_conv_bytes(const wi_conv_geometry *geometry);

/* Of stride 1: zeros before an axis, a transposed one taken as a convolution with the taps from the last to
 * the first; and is there no window that sees nothing of the image? */
int64_t wi_conv_before(const wi_conv_geometry *geometry, int axis);
bool wi_conv_meets_image(const wi_conv_geometry *geometry, int axis);
/* 3 x 3 taps over two axes, of stride and dilation 1. */
bool wi_conv_is_square_of_three(const wi_conv_geometry *geometry);

/* The arguments of every kernel over windows, in this order: ints images, channels, filters, read (3), made (3),
 * taps (3), stride (3), dilation (3), before (3), transposed; longs image, step (3). */
void wi_conv_add_geometry(wi_kernel_launch *launch, const wi_conv_geometry *geometry);
/* Ints taps (3), stride (3), dilation (3), before (3), transposed; longs w_group, w_filter, w_channel, w_tap
 * (3). */
void wi_conv_add_weight(wi_kernel_launch *launch, const wi_conv_geometry *geometry);
/* A launch that lays the weight out in panels of filters for class cpu, the first of a product's scratch: a
 * work-item (panel, sixteen channels read, group); arguments: ints channels and filters. */
wi_kernel_launch *wi_conv_panels_launch(
    wi_kernel_plan *plan, const char *kernel, const wi_conv_geometry *geometry, int64_t panels);
/* The same of Winograd's, "weights"; arguments besides: int reversed (taps from the last to the first), longs w_group,
 * w_filter, w_channel, w_tap[1], w_tap[2]. */
wi_kernel_launch *wi_conv_winograd_weights_launch(
    wi_kernel_plan *plan, const wi_conv_geometry *geometry, int64_t panels);
/* What follows it in class cpu, "tiles": items (strip, span, group), of which each has `room` floats behind the `weights` floats of the
 * weights. Arguments: the image, the weights and the room, longs room and how many elements are read. */
wi_kernel_launch *wi_conv_winograd_tiles_launch(wi_kernel_plan *plan, const wi_conv_geometry *geometry,
    int64_t strips, int64_t spans, int64_t weights, int64_t room);

#endif
