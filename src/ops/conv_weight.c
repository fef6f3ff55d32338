/* See conv_weight.h. Class cpu: conv_weight_cpu.cl; else conv_weight_naive.cl. */
#include "ops/conv_weight.h"
#include "base/integers.h"
#include "ops/conv.h"

static void add_ints(wi_kernel_launch *launch, const int64_t *numbers, int count) {
    for (int i = 0; i < count; i++) wi_kernel_int(launch, numbers[i]);
}

static void add_sizes(wi_kernel_launch *launch, const wi_conv *conv) {
    add_ints(launch, (const int64_t[]){conv->images, conv->channels, conv->filters, conv->groups}, 4);
    add_ints(launch, conv->image, 3);
    add_ints(launch, conv->result, 3);
    add_ints(launch, conv->taps, 3);
    add_ints(launch, conv->stride, 3);
    add_ints(launch, conv->dilation, 3);
    add_ints(launch, conv->before, 3);
}

static weft_status naive(const wi_conv *conv, wi_kernel_plan *plan) {
    const int64_t weights =
        conv->groups * conv->filters * conv->channels * conv->taps[0] * conv->taps[1] * conv->taps[2];
    plan->file = "conv_weight_naive.cl";
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, "naive", weights, 0);
    wi_kernel_input(launch, 0);
    wi_kernel_input(launch, 1);
    wi_kernel_result(launch);
    add_sizes(launch, conv);
    return WEFT_OK;
}

weft_status wi_conv_weight_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_conv conv =
        wi_conv_of(&site->node->attributes, &site->inputs[0], &site->inputs[1], &site->node->shape);
    plan->flops = wi_conv_flops(&conv);
    return naive(&conv, plan);
}
