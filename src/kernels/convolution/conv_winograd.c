/* What the kernels of Winograd's convolutions share (contract in conv_winograd.h). */
#include "kernels/convolution/conv_winograd.h"

int64_t wi_conv_before(const wi_conv_geometry *w, int axis) {
    return w->transposed ? w->taps[axis] - 1 - w->before[axis] : w->before[axis];
}

bool wi_conv_is_square_of_three(const wi_conv_geometry *w) {
    bool is = wi_conv_is_flat(w) && w->taps[1] == 3 && w->taps[2] == 3;
    for (int i = 0; i < 3; i++) is = is && w->stride[i] == 1 && w->dilation[i] == 1;
    return is;
}

bool wi_conv_meets_image(const wi_conv_geometry *w, int axis) {
    const int64_t before = wi_conv_before(w, axis);
    return before < w->taps[axis] && w->made[axis] - before <= w->read[axis];
}

const char *const wi_conv_winograd_headers[] = {"winograd.clh", "winograd_cpu.clh", NULL};

const char *const wi_conv_winograd_parameters[] = {[WI_WINOGRAD_ROWS] = "WEFT_WINOGRAD_ROWS",
    [WI_WINOGRAD_COLUMNS] = "WEFT_WINOGRAD_COLUMNS",
    [WI_WINOGRAD_STEP] = "WEFT_WINOGRAD_STEP",
    NULL};

const wi_variant wi_conv_winograd_variants[] = {
    {"f32", {[WI_WINOGRAD_ROWS] = 13, [WI_WINOGRAD_COLUMNS] = 32, [WI_WINOGRAD_STEP] = 4}}, {0}};

double wi_conv_winograd_margin(const wi_kernel_site *site) {
    return wi_dtype_rounds(site->precision) ? 1.0 : 1.25;
}

wi_kernel_launch *wi_conv_winograd_weights_launch(
    wi_kernel_plan *plan, const wi_conv_geometry *geometry, int64_t panels) {
    wi_kernel_launch *const launch = wi_conv_panels_launch(plan, "weights", geometry, panels);
    wi_kernel_int(launch, geometry->transposed);
    wi_kernel_longs(launch, WI_KERNEL_NUMBERS(geometry->w_group, geometry->w_filter, geometry->w_channel,
                                geometry->w_tap[1], geometry->w_tap[2]));
    return launch;
}

wi_kernel_launch *wi_conv_winograd_tiles_launch(wi_kernel_plan *plan, const wi_conv_geometry *geometry,
    int64_t strips, int64_t spans, int64_t weights, int64_t room) {
    const int64_t items = strips * spans * geometry->groups;
    plan->scratch_bytes = (size_t)(weights + items * room) * sizeof(float);
    wi_kernel_packs(plan, WI_CONV_WEIGHT, (size_t)weights * sizeof(float));
    wi_kernel_launch *const launch = wi_kernel_launch_3d(plan, "tiles", strips, spans, geometry->groups);
    launch->has_epilogue = true;
    wi_kernel_input(launch, 0);
    wi_kernel_scratch(launch, 0);
    wi_kernel_scratch(launch, weights);
    wi_kernel_longs(launch, WI_KERNEL_NUMBERS(room, wi_conv_read_elements(geometry)));
    return launch;
}
