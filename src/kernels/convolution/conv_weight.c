/* What the kernels of weights' gradients share (contract in conv_weight.h). */
#include "kernels/convolution/conv_weight.h"

wi_conv wi_conv_weight_of(const wi_kernel_site *site) {
    return wi_conv_of(&site->node->attributes->conv, &site->inputs[0], &site->inputs[1], &site->node->shape);
}

void wi_conv_weight_add_sizes(wi_kernel_launch *launch, const wi_conv *conv) {
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(conv->images, conv->channels, conv->filters, conv->groups));
    wi_kernel_ints(launch, conv->image, 3);
    wi_kernel_ints(launch, conv->result, 3);
    wi_kernel_ints(launch, conv->taps, 3);
    wi_kernel_ints(launch, conv->stride, 3);
    wi_kernel_ints(launch, conv->dilation, 3);
    wi_kernel_ints(launch, conv->before, 3);
}

void wi_conv_weight_combine(wi_kernel_plan *plan, const wi_conv *conv, int64_t splits, int64_t group) {
    const int64_t weights = wi_conv_weight_elements(conv);
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, "combine", weights, group);
    wi_kernel_scratch(launch, 0);
    wi_kernel_result(launch);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(weights, splits, conv->channels, wi_conv_taps(conv->taps)));
}

double wi_conv_weight_multiplications(const wi_conv *conv) {
    double all = (double)conv->images * (double)conv->groups * (double)conv->channels * (double)conv->filters;
    for (int i = 0; i < 3; i++) all *= (double)conv->result[i] * (double)conv->taps[i];
    return all;
}

double wi_conv_weight_bytes(const wi_conv *conv) {
    double image = (double)conv->images * (double)conv->channels,
           result = (double)conv->images * (double)conv->filters,
           weight = (double)conv->channels * (double)conv->filters;
    for (int i = 0; i < 3; i++) {
        image *= (double)conv->image[i];
        result *= (double)conv->result[i];
        weight *= (double)conv->taps[i];
    }
    return (double)conv->groups * (image + result + weight) * (double)sizeof(float);
}

int64_t wi_conv_weight_elements(const wi_conv *conv) {
    return conv->groups * conv->filters * conv->channels * wi_conv_taps(conv->taps);
}

int64_t wi_conv_weight_positions(const wi_conv *conv) {
    return conv->images * conv->result[0] * conv->result[1] * conv->result[2];
}
