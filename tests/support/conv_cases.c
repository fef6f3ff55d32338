/* See conv_cases.h. */
#include "support/conv_cases.h"
#include "kernels/candidates.h"
#include "support/fixture.h"

#include "cl/context.h"
#include <stdlib.h>

static const conv_case conv_direct_cases[] = {
    {"less than a tile and a block", 1, 3, 5, 4, 6, 1, 1, 1, 0, 1},
    {"several tiles each way", 2, 24, 9, 11, 130, 3, 1, 1, 1, 1},
    {"taps of four channels, two in a block", 2, 4, 12, 11, 20, 3, 1, 1, 1, 1},
    {"odd channels, a copy of the image", 2, 21, 9, 8, 67, 3, 1, 1, 1, 1},
    {"stride 2, phases of 1, 2 and 4 taps", 2, 40, 13, 11, 70, 3, 2, 1, 1, 1},
    {"stride 3 over one tap, phases without taps", 1, 36, 14, 13, 66, 1, 3, 1, 0, 1},
    {"stride 2, dilation 2", 1, 28, 14, 13, 68, 3, 2, 2, 1, 1},
    {"groups", 2, 40, 7, 6, 136, 3, 1, 1, 1, 2},
    {"groups of odd channels", 2, 57, 9, 7, 51, 3, 2, 1, 1, 3},
};
/* The sums have so many terms that each phase is split even on a device with many compute units. */
static const conv_case conv_split_cases[] = {
    {"many channels", 1, 256, 7, 7, 68, 3, 1, 1, 1, 1},
    {"blocks that splits share unequally", 2, 500, 5, 6, 131, 1, 1, 1, 0, 1},
    {"odd channels, a copy of the image", 1, 259, 6, 5, 67, 3, 1, 1, 1, 1},
    {"stride 2, phases of 1, 2 and 4 taps", 2, 64, 13, 12, 130, 3, 2, 1, 1, 1},
    {"stride 2, dilation 2", 1, 45, 11, 12, 64, 3, 2, 2, 1, 1},
    {"groups of odd channels", 1, 57, 9, 7, 51, 3, 2, 1, 1, 3},
};
/* Gradients of weights: sums over positions, in blocks of 8. Image rows end within a block and at its end; images have fewer
 * positions than a block, as many, and more. Filters are rows of the result, taps and channels are its columns. */
static const conv_case conv_weight_cases[] = {
    {"less than a tile and a block", 1, 3, 5, 4, 6, 1, 1, 1, 0, 1},
    {"several tiles each way", 2, 24, 9, 11, 130, 3, 1, 1, 1, 1},
    {"odd channels and filters, copies of both", 2, 21, 9, 8, 67, 3, 1, 1, 1, 1},
    {"stride 2, dilation 2", 1, 28, 14, 13, 68, 3, 2, 2, 1, 1},
    {"images of fewer positions than a block", 19, 12, 4, 3, 72, 3, 2, 1, 1, 1},
    {"one position of an image", 21, 16, 3, 3, 64, 3, 1, 1, 0, 1},
    {"stride 3 beyond the window", 3, 8, 17, 16, 12, 2, 3, 1, 0, 1},
    {"groups of odd channels", 2, 57, 9, 7, 51, 3, 2, 1, 1, 3},
};

const conv_cases conv_direct = {"conv_gpu", CONV_BIAS, CONV_CASES(conv_direct_cases)},
                 conv_split = {"split_gpu", CONV_BIAS, CONV_CASES(conv_split_cases)},
                 conv_weight = {"conv_gpu_weight", CONV_OF_WEIGHT, CONV_CASES(conv_weight_cases)};

/* Writes the steps of the plan that the kernel can execute to steps (see conv_net_steps), and returns their number. */
static size_t steps_of(const conv_cases *k, const weft_plan *plan, const wi_step **steps) {
    return k->extras & CONV_OF_WEIGHT ? conv_net_weight_steps(plan, steps) : conv_net_steps(plan, steps);
}

static void look_at_all(const conv_cases *k, const char *variant, const weft_plan *plan, conv_look *look) {
    const wi_step *steps[CONV_MOST_CASES * CONV_PASSES];
    const size_t count = steps_of(k, plan, steps);
    assert_int_equal(count, k->count * (k->extras & CONV_OF_WEIGHT ? 1 : CONV_PASSES));
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(steps[i]->selection->chosen->name, k->kernel);
        assert_string_equal(steps[i]->selection->variant->name, variant);
        if (look) look(k, plan, steps[i]);
    }
}

void conv_cases_compare(const conv_cases *k, const char *variant, weft_context *context, conv_look *look) {
    const wi_step *steps[CONV_MOST_CASES * CONV_PASSES];
    const conv_net net = conv_net_in(weft_context_graph(context), k->cases, k->count, k->extras);
    weft_plan *const naive = conv_net_plan(&net, "conv_naive");
    conv_net_choose(wi_context_device(context), k->kernel, variant, naive, steps, steps_of(k, naive, steps));
    weft_plan *const plan = conv_net_plan(&net, NULL);
    look_at_all(k, variant, plan, look);
    float *const wanted = conv_net_run(&net, naive), *const got = conv_net_run(&net, plan);
    conv_net_compare(&net, k->kernel, got, wanted, NULL);
    free(wanted);
    free(got);
    weft_plan_release(naive);
    weft_plan_release(plan);
}
