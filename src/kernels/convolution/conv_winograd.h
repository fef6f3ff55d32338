/* What the kernels of Winograd's convolutions share. */
#ifndef WI_CONV_WINOGRAD_H
#define WI_CONV_WINOGRAD_H

#include "kernels/convolution/conv_product.h"

/* ---- convolutions of stride 1, and their data gradients with the taps in reverse order ---- */

/* The padding before the first pixel of an axis. */
int64_t wi_conv_before(const wi_conv_geometry *geometry, int axis);
/* Does every window along the axis read a part of the image? The result of a window that reads only padding must be exactly zero,
 * but Winograd's transforms would give it the rounding errors of the other elements of its tile. */
bool wi_conv_meets_image(const wi_conv_geometry *geometry, int axis);
/* Are there 3 x 3 taps over two axes, with stride and dilation 1? */
bool wi_conv_is_square_of_three(const wi_conv_geometry *geometry);

/* ---- class cpu ---- */

/* Products between the transforms have tiles of ROWS x COLUMNS, as in gemm_cpu.c. STEP: results of a tile of the image along an
 * axis. */
enum { WI_WINOGRAD_ROWS, WI_WINOGRAD_COLUMNS, WI_WINOGRAD_STEP };

extern const char *const wi_conv_winograd_headers[], *const wi_conv_winograd_parameters[];
extern const wi_variant wi_conv_winograd_variants[];

/* The margin of kernels whose rounding errors are larger than those of a direct convolution: they must save a fifth of the time. */
double wi_conv_winograd_margin(const wi_kernel_site *site);

/* The launch "weights", which transforms the weight as wi_conv_panels_launch packs it. Further arguments: int reversed (the
 * taps), longs w_group, w_filter, w_channel, w_tap[1], w_tap[2]. */
wi_kernel_launch *wi_conv_winograd_weights_launch(
    wi_kernel_plan *plan, const wi_conv_geometry *geometry, int64_t panels);
/* The launch "tiles", which follows the launch "weights". Its work-items are (strip, span, group). Each work-item has a *room* of
 * `room` floats in scratch memory, behind the `weights` floats of the transformed weights. Arguments: the image, the weights, the
 * rooms; longs room and the number of elements of the image. */
wi_kernel_launch *wi_conv_winograd_tiles_launch(wi_kernel_plan *plan, const wi_conv_geometry *geometry,
    int64_t strips, int64_t spans, int64_t weights, int64_t room);

#endif
