/* Convolutions whose sub-groups read rows of A together, the variant `together`
 * (docs/decisions/0175-rows-read-together.md), against the naive kernel: tiles in local memory, with k whole
 * and split, and Winograd's products. A tuning choice for each site brings the variant into the plan,
 * whatever the cost model says of these sizes. As in test_gemm, plain reads of local memory stand for those
 * of sub-groups: the layout is the same. */
#include "support/fixture.h"

#include "cl/context.h"
#include "kernels/product/gemm_tile_gpu.h"
#include "support/conv_net.h"
#include <stdlib.h>

/* So many that k is split. */
enum { UNITS = 512 };

/* A tile has 64 x 64 results, and a block 8 steps. */
static const conv_case direct_cases[] = {
    {"less than a tile and a block", 1, 3, 5, 4, 6, 1, 1, 1, 0, 1},
    {"several tiles each way", 2, 24, 9, 11, 130, 3, 1, 1, 1, 1},
    {"odd channels, a copy of the image", 2, 21, 9, 8, 67, 3, 1, 1, 1, 1},
    {"stride 2, phases of 1, 2 and 4 taps", 2, 40, 13, 11, 70, 3, 2, 1, 1, 1},
    {"stride 3 over one tap, phases without taps", 1, 36, 14, 13, 66, 1, 3, 1, 0, 1},
    {"stride 2, dilation 2", 1, 28, 14, 13, 68, 3, 2, 2, 1, 1},
    {"groups", 2, 40, 7, 6, 136, 3, 1, 1, 1, 2},
    {"groups of odd channels", 2, 57, 9, 7, 51, 3, 2, 1, 1, 3},
};
/* Enough steps for all phases to be split. */
static const conv_case split_cases[] = {
    {"many channels", 1, 256, 7, 7, 68, 3, 1, 1, 1, 1},
    {"blocks that splits share unequally", 2, 500, 5, 6, 131, 1, 1, 1, 0, 1},
    {"odd channels, a copy of the image", 1, 259, 6, 5, 67, 3, 1, 1, 1, 1},
    {"stride 2, phases of 1, 2 and 4 taps", 2, 64, 13, 12, 130, 3, 2, 1, 1, 1},
    {"stride 2, dilation 2", 1, 45, 11, 12, 64, 3, 2, 2, 1, 1},
    {"groups of odd channels", 1, 57, 9, 7, 51, 3, 2, 1, 1, 3},
};
/* Positions, of which a block has 8, in rows that end in a block, before and after others: as many in an image as in a block, fewer,
 * and many. Filters are rows, taps and channels are columns. */
static const conv_case weight_cases[] = {
    {"less than a tile and a block", 1, 3, 5, 4, 6, 1, 1, 1, 0, 1},
    {"several tiles each way", 2, 24, 9, 11, 130, 3, 1, 1, 1, 1},
    {"odd channels and filters, copies of both", 2, 21, 9, 8, 67, 3, 1, 1, 1, 1},
    {"stride 2, dilation 2", 1, 28, 14, 13, 68, 3, 2, 2, 1, 1},
    {"images of fewer positions than a block", 19, 12, 4, 3, 72, 3, 2, 1, 1, 1},
    {"one position of an image", 21, 16, 3, 3, 64, 3, 1, 1, 0, 1},
    {"stride 3 beyond the window", 3, 8, 17, 16, 12, 2, 3, 1, 0, 1},
    {"groups of odd channels", 2, 57, 9, 7, 51, 3, 2, 1, 1, 3},
};
/* Images of three axes: walks and windows that pass the ends of two and of all three. Filters are more than a tile has. */
static const conv_case solid_cases[] = {
    {"three axes", 2, 12, 4, 5, 67, 3, 1, 1, 1, 1},
    {"three axes, stride 2, images of few positions", 3, 8, 5, 3, 68, 3, 2, 1, 1, 1},
};
/* A row of the product is a tile of 4 x 4 results. */
static const conv_case winograd_cases[] = {
    {"one tile", 1, 8, 4, 4, 12, 3, 1, 1, 1, 1},
    {"several tiles each way", 2, 24, 25, 27, 130, 3, 1, 1, 1, 1},
    {"odd channels, no padding", 1, 21, 18, 31, 67, 3, 1, 1, 0, 1},
    {"groups", 2, 34, 13, 23, 70, 3, 1, 1, 1, 2},
};

typedef struct kernel {
    const char *name;
    int extras; /* of conv_net_in */
    const conv_case *cases;
    size_t count;
} kernel;

#define CASES(list) list, sizeof list / sizeof *list
static const kernel direct = {"conv_gpu", CONV_BIAS | CONV_SUMS, CASES(direct_cases)},
                    split = {"split_gpu", CONV_BIAS | CONV_SUMS, CASES(split_cases)},
                    winograd = {"winograd_gpu", CONV_BIAS | CONV_SUMS, CASES(winograd_cases)},
                    weight = {"conv_gpu_weight", CONV_OF_WEIGHT, CASES(weight_cases)},
                    solid = {"conv_gpu", CONV_BIAS | CONV_3D, CASES(solid_cases)},
                    solid_weight = {"conv_gpu_weight", CONV_OF_WEIGHT | CONV_3D, CASES(solid_cases)};

/* The steps that the kernel is for. */
static size_t steps_of(const kernel *k, const weft_plan *plan, const wi_step **steps) {
    return k->extras & CONV_OF_WEIGHT ? conv_net_weight_steps(plan, steps) : conv_net_steps(plan, steps);
}

static void assert_together(const wi_device *device, const kernel *k, const weft_plan *plan) {
    const wi_step *steps[CONV_MOST_CASES * CONV_PASSES];
    const size_t count = steps_of(k, plan, steps);
    assert_int_equal(count, k->count * (k->extras & CONV_OF_WEIGHT ? 1 : CONV_PASSES));
    for (size_t i = 0; i < count; i++) {
        const wi_selection *const selection = steps[i]->selection;
        assert_string_equal(selection->chosen->name, k->name);
        assert_string_equal(selection->variant->name, "together");
        assert_int_equal(selection->variant->values[WI_TILE_SUB_GROUP], 8);
        assert_int_equal(steps[i]->sums, k->extras & CONV_SUMS && device->profile.loops.sums);
        if (k == &split) assert_in_range(conv_net_splits(plan, steps[i]), 2, 32);
    }
}

/* ---- the tests ---- */

static void try(const kernel *k) {
    const bool is_cpu = wi_context_device(test_context())->caps.device_class == WEFT_CLASS_CPU;
    if (is_cpu || test_reduced()) {
        print_message("skipped: %s\n",
            is_cpu ? "a kernel of class gpu" : "WEFT_TEST_REDUCED asks for shapes of less than a tile");
        skip();
    }
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .work_units = UNITS});
    wi_device *const device = wi_context_device(context);
    device->profile.block_reads = true;
    const conv_net net = conv_net_in(weft_context_graph(context), k->cases, k->count, k->extras);
    weft_plan *const naive = conv_net_plan(&net, "conv_naive");
    const wi_step *steps[CONV_MOST_CASES * CONV_PASSES];
    conv_net_choose(device, k->name, "together", naive, steps, steps_of(k, naive, steps));
    weft_plan *const together = conv_net_plan(&net, NULL);
    assert_together(device, k, together);
    float *const wanted = conv_net_run(&net, naive), *const got = conv_net_run(&net, together);
    conv_net_compare(&net, k->name, got, wanted, NULL);
    free(wanted);
    free(got);
    weft_plan_release(naive);
    weft_plan_release(together);
    weft_context_release(context);
}

static void tiles_are_right(void **state) {
    (void)state;
    try(&direct);
}

static void splits_are_right(void **state) {
    (void)state;
    try(&split);
}

static void weights_are_right(void **state) {
    (void)state;
    try(&weight);
}

static void winograd_is_right(void **state) {
    (void)state;
    try(&winograd);
}

static void three_axes_are_right(void **state) {
    (void)state;
    try(&solid);
    try(&solid_weight);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tiles_are_right), cmocka_unit_test(splits_are_right),
        cmocka_unit_test(winograd_is_right), cmocka_unit_test(weights_are_right),
        cmocka_unit_test(three_axes_are_right)};
    setenv("WEFT_SELF_TEST", "0", 1); /* a choice of what is wrong is compared here, and not left out */
    return test_finish(cmocka_run_group_tests_name("conv sub-groups", tests, NULL, NULL));
}
