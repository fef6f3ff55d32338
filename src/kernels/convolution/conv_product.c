/* Convolutions as matrix products (contract in conv_product.h). */
#include "kernels/convolution/conv_product.h"
#include "base/integers.h"
#include "kernels/product/gemm_shared.h"
#include <string.h>

bool wi_conv_geometry_of(wi_conv_geometry *geometry, const weft_tensor *node, const wi_extent *read,
    const wi_layout *read_layout, const wi_extent *weight, const wi_layout *weight_layout,
    const wi_extent *made) {
    const bool transposed = node->op == &wi_op_conv_data;
    const wi_conv conv = transposed
                             ? wi_conv_of(&node->attributes->conv, made, read, &node->inputs[1]->shape)
                             : wi_conv_of(&node->attributes->conv, read, made, &node->inputs[1]->shape);
    const int axes = weight->rank - 2;
    const int64_t w_first = weight_layout->strides[0].actual, w_second = weight_layout->strides[1].actual;
    int64_t strides[4];
    const bool together = wi_conv_strides(read, read_layout, strides);
    *geometry = (wi_conv_geometry){.transposed = transposed,
        .images = conv.images,
        .groups = conv.groups,
        .channels = transposed ? conv.filters : conv.channels,
        .filters = transposed ? conv.channels : conv.filters,
        .image = strides[0],
        .w_filter = transposed ? w_second : w_first,
        .w_channel = transposed ? w_first : w_second,
        .w_group = conv.filters * w_first,
        .flops = wi_conv_flops(&conv)};
    for (int i = 0; i < 3; i++) {
        geometry->read[i] = transposed ? conv.result[i] : conv.image[i];
        geometry->made[i] = transposed ? conv.image[i] : conv.result[i];
        geometry->taps[i] = conv.taps[i];
        geometry->stride[i] = conv.stride[i];
        geometry->dilation[i] = conv.dilation[i];
        geometry->before[i] = conv.before[i];
        geometry->step[i] = strides[1 + i];
        geometry->w_tap[i] = i < 3 - axes ? 0 : weight_layout->strides[2 + i - (3 - axes)].actual;
    }
    return together;
}

wi_conv wi_conv_of_geometry(const wi_conv_geometry *w) {
    wi_conv conv = {.images = w->images,
        .groups = w->groups,
        .channels = w->transposed ? w->filters : w->channels,
        .filters = w->transposed ? w->channels : w->filters};
    memcpy(conv.image, w->transposed ? w->made : w->read, sizeof conv.image);
    memcpy(conv.result, w->transposed ? w->read : w->made, sizeof conv.result);
    memcpy(conv.taps, w->taps, sizeof conv.taps);
    memcpy(conv.stride, w->stride, sizeof conv.stride);
    memcpy(conv.dilation, w->dilation, sizeof conv.dilation);
    memcpy(conv.before, w->before, sizeof conv.before);
    return conv;
}

wi_conv_geometry wi_conv_straightened(const wi_conv_geometry *from, int64_t *first) {
    wi_conv_geometry w = *from;
    *first = 0;
    if (!w.transposed || wi_conv_phases(&w) > 1) return w;
    w.transposed = false;
    for (int i = 0; i < 3; i++) {
        w.before[i] = (w.taps[i] - 1) * w.dilation[i] - w.before[i];
        *first += (w.taps[i] - 1) * w.w_tap[i];
        w.w_tap[i] = -w.w_tap[i];
    }
    return w;
}

static void add_taps(wi_kernel_launch *launch, const wi_conv_geometry *geometry) {
    wi_kernel_ints(launch, geometry->taps, 3);
    wi_kernel_ints(launch, geometry->stride, 3);
    wi_kernel_ints(launch, geometry->dilation, 3);
    wi_kernel_ints(launch, geometry->before, 3);
    wi_kernel_int(launch, geometry->transposed);
}

void wi_conv_add_geometry(wi_kernel_launch *launch, const wi_conv_geometry *geometry) {
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(geometry->images, geometry->channels, geometry->filters));
    wi_kernel_ints(launch, geometry->read, 3);
    wi_kernel_ints(launch, geometry->made, 3);
    add_taps(launch, geometry);
    wi_kernel_long(launch, geometry->image);
    wi_kernel_longs(launch, geometry->step, 3);
}

void wi_conv_add_weight_strides(wi_kernel_launch *launch, const wi_conv_geometry *geometry) {
    wi_kernel_longs(launch, WI_KERNEL_NUMBERS(geometry->w_group, geometry->w_filter, geometry->w_channel));
    wi_kernel_longs(launch, geometry->w_tap, 3);
}

void wi_conv_add_weight(wi_kernel_launch *launch, const wi_conv_geometry *geometry) {
    add_taps(launch, geometry);
    wi_conv_add_weight_strides(launch, geometry);
}

wi_kernel_launch *wi_conv_panels_launch(
    wi_kernel_plan *plan, const char *kernel, const wi_conv_geometry *geometry, int64_t panels) {
    wi_kernel_launch *const launch =
        wi_kernel_launch_3d(plan, kernel, panels, wi_divide_up(geometry->channels, 16), geometry->groups);
    wi_kernel_input(launch, 1);
    wi_kernel_scratch(launch, 0);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(geometry->channels, geometry->filters));
    return launch;
}

int64_t wi_conv_read_elements(const wi_conv_geometry *w) {
    int64_t last = (w->images - 1) * w->image + w->groups * w->channels - 1;
    for (int i = 0; i < 3; i++) last += (w->read[i] - 1) * w->step[i];
    return last + 1;
}

int64_t wi_conv_phases(const wi_conv_geometry *w) {
    return w->transposed ? w->stride[0] * w->stride[1] * w->stride[2] : 1;
}

int64_t wi_conv_phase_positions(const wi_conv_geometry *w) {
    int64_t count = w->images;
    for (int i = 0; i < 3; i++) count *= w->transposed ? wi_divide_up(w->made[i], w->stride[i]) : w->made[i];
    return count;
}

void wi_conv_add_macros(wi_kernel_plan *plan, const wi_conv_geometry *w) {
    wi_kernel_macro_int(plan, "WEFT_CONV_AXES", wi_conv_is_flat(w) ? 2 : 3);
    wi_kernel_macro_int(plan, "WEFT_CONV_TRANSPOSED", w->transposed);
    wi_kernel_macro_int(plan, "WEFT_CONV_PHASES", wi_conv_phases(w) > 1);
    wi_kernel_macro_int(
        plan, "WEFT_CONV_JOINED", !w->transposed && w->dilation[2] == 1 && w->step[2] == w->channels);
}

bool wi_conv_has_few_channels(int64_t width) {
    return width == 1 || width == 2 || width == 4 || width == 8;
}

void wi_conv_few_channels_macros(
    wi_kernel_plan *plan, int64_t width, int64_t taps, int64_t stride, int64_t dilation) {
    enum { STRIDE_1 = 1, STRIDE_2 = 2, SINGLE = 4 }; /* as in conv_groups_cpu.clh */
    const bool near = dilation == 1 && stride <= 2 && taps >= 3;
    const int needed = (near ? stride == 1 ? STRIDE_1 : STRIDE_2 : 0) | (near && taps % 3 == 0 ? 0 : SINGLE);
    wi_kernel_macro_int(plan, "WEFT_DEPTHWISE_WIDTH", width);
    wi_kernel_macro_int(plan, "WEFT_DEPTHWISE_FORMS", width > 1 ? needed : STRIDE_1 | STRIDE_2 | SINGLE);
}

int64_t wi_conv_terms(const wi_conv_geometry *w) {
    return wi_conv_taps(w->taps) * w->channels;
}

double wi_conv_positions(const wi_conv_geometry *w) {
    return (double)w->images * (double)w->made[0] * (double)w->made[1] * (double)w->made[2];
}

double wi_conv_steps(const wi_conv_geometry *w) {
    double steps = (double)w->channels;
    for (int i = 0; i < 3; i++) steps *= (double)w->taps[i] / (w->transposed ? (double)w->stride[i] : 1.0);
    return steps;
}

bool wi_conv_is_flat(const wi_conv_geometry *w) {
    return w->taps[0] == 1 && w->read[0] == 1 && w->made[0] == 1 && w->before[0] == 0;
}

double wi_conv_bytes(const wi_conv_geometry *w) {
    double read = (double)w->images, taps = 1.0;
    for (int i = 0; i < 3; i++) {
        read *= (double)w->read[i];
        taps *= (double)w->taps[i];
    }
    const double channels = (double)w->channels, filters = (double)w->filters;
    const double elements = read * channels + wi_conv_positions(w) * filters + taps * channels * filters;
    return (double)w->groups * elements * (double)sizeof(float);
}
