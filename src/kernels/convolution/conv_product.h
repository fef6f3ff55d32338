/* Convolutions as matrix products over windows: C = A · B. A row of A is the window of the image that one element of the
 * result reads, and B is the weight. A is never stored.
 *
 *   forward     row (n, o), step of k (tap, c):  A = x[n][o·stride + tap·dilation - before][c], 0 outside of the image
 *   transposed  row (n, i), step of k (tap, f):  A = y[n][(i + before - tap·dilation) / stride][f] if the quotient is an integer and
 *               inside of y, else 0: the data gradient, which is the gradient of the image
 *
 * "Image" means what is read: x, or y of a data gradient. The epilogue (gemm.h) sees a product whose batch is images · all
 * spatial axes but the last, whose rows are the last spatial axis, and whose columns are the channels of the result. */
#ifndef WI_CONV_PRODUCT_H
#define WI_CONV_PRODUCT_H

#include "kernels/implementation.h"
#include "kernels/product/gemm.h"
#include "ops/convolution/conv.h"

typedef struct wi_conv_geometry {
    bool transposed;
    int64_t images, groups;
    int64_t channels, filters; /* channels of the image and of the result in one group */
    int64_t read[3], made[3];  /* spatial sizes of the image and of the result */
    int64_t taps[3], stride[3], dilation[3], before[3];
    int64_t image, step[3]; /* strides of the image, between images and along the axes; 1 between channels */
    int64_t w_filter, w_channel, w_tap[3]; /* strides of the weight: filters are channels of the result */
    int64_t w_group;
    double flops;
} wi_conv_geometry;

/* The weight as a bit among the inputs that are packed. */
#define WI_CONV_WEIGHT (UINT32_C(1) << 1)

/* The geometry of a conv or conv_data node. False: the channels of the image are not adjacent in memory. */
bool wi_conv_geometry_of(wi_conv_geometry *geometry, const weft_tensor *node, const wi_extent *read,
    const wi_layout *read_layout, const wi_extent *weight, const wi_layout *weight_layout,
    const wi_extent *made);
/* Returns the convolution that a geometry describes; for a data gradient, the convolution of which it is the gradient. */
wi_conv wi_conv_of_geometry(const wi_conv_geometry *geometry);
/* Returns a data gradient of stride 1 as a convolution whose taps have the reverse order; its first tap begins at element *first
 * of the weight. Returns any other geometry unchanged. */
wi_conv_geometry wi_conv_straightened(const wi_conv_geometry *from, int64_t *first);

/* ---- sizes ---- */

/* The number of elements in memory from the first to the last element of the image. */
int64_t wi_conv_read_elements(const wi_conv_geometry *geometry);
/* A data gradient with strides consists of several products, its phases (conv_cpu.cl). These functions return the number of
 * phases, and the number of positions of the largest phase. */
int64_t wi_conv_phases(const wi_conv_geometry *geometry);
int64_t wi_conv_phase_positions(const wi_conv_geometry *geometry);
/* The number of steps of k, including steps that multiply zeros. */
int64_t wi_conv_terms(const wi_conv_geometry *geometry);
/* The average number of steps of k, without those that multiply the zeros between the elements of a data gradient. */
double wi_conv_steps(const wi_conv_geometry *geometry);
/* Positions of the result in all images. */
double wi_conv_positions(const wi_conv_geometry *geometry);
/* Bytes of image, weight and result in f32. */
double wi_conv_bytes(const wi_conv_geometry *geometry);
/* Has the convolution at most two spatial axes? Then the first of the three axes has size 1, one tap and no padding. */
bool wi_conv_is_flat(const wi_conv_geometry *geometry);
/* Do the kernels for few channels per group compute groups of this width (conv_groups_cpu.clh)? They are unrolled for each channel, so
 * wider groups would take seconds to compile. */
bool wi_conv_has_few_channels(int64_t width);
/* Defines the macros of these kernels, for windows of `taps` along the last axis. A form is the code for one kind of row of taps (stride 1,
 * stride 2, single taps). For several channels only the forms that this window needs are compiled. For one channel, whose forms compile
 * quickly, all are, so that one program serves all windows. */
void wi_conv_few_channels_macros(
    wi_kernel_plan *plan, int64_t width, int64_t taps, int64_t stride, int64_t dilation);
/* In estimates for kernels of class cpu with tiles of 13 x 32, a multiply-add counts as this many operations (cost.h). */
#define WI_CONV_TILE_OPERATIONS 2.4

/* ---- launches ---- */

/* Defines the macros by which conv_cpu.cl and conv_cpu_amx.cl leave out code that this geometry does not need. */
void wi_conv_add_macros(wi_kernel_plan *plan, const wi_conv_geometry *geometry);

/* Appends the fields of the geometry, which all kernels over windows take as arguments: ints images, channels, filters, read (3),
 * made (3), taps (3), stride (3), dilation (3), before (3), transposed; longs image, step (3). */
void wi_conv_add_geometry(wi_kernel_launch *launch, const wi_conv_geometry *geometry);
/* Appends ints taps (3), stride (3), dilation (3), before (3), transposed; longs w_group, w_filter, w_channel, w_tap (3). */
void wi_conv_add_weight(wi_kernel_launch *launch, const wi_conv_geometry *geometry);
/* Appends longs w_group, w_filter, w_channel, w_tap (3). */
void wi_conv_add_weight_strides(wi_kernel_launch *launch, const wi_conv_geometry *geometry);
/* A launch of class cpu that packs the weight into panels of filters at the beginning of the scratch memory. Work-items are
 * (panel, sixteen channels, group). Arguments: ints channels and filters. */
wi_kernel_launch *wi_conv_panels_launch(
    wi_kernel_plan *plan, const char *kernel, const wi_conv_geometry *geometry, int64_t panels);

#endif
