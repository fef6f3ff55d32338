/* Convolutions whose sub-groups read rows of A together, the variant `together`
 * (docs/decisions/products.md), against the naive kernel: tiles in local memory, with k whole
 * and split, and Winograd's products. A tuning choice for each site brings the variant into the plan,
 * whatever the cost model says of these sizes. As in test_gemm, plain reads of local memory stand for those
 * of sub-groups: the layout is the same. */
/* test gpu:optimised */
#include "kernels/candidates.h"
#include "support/fixture.h"

#include "cl/context.h"
#include "kernels/product/gemm_tile_gpu.h"
#include "support/conv_cases.h"
#include <stdlib.h>

/* So many that k is split. */
enum { UNITS = 512 };

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
    {"groups of quads, results that end in a tile", 2, 32, 14, 23, 72, 3, 1, 1, 1, 2},
};

static const conv_cases winograd = {"winograd_gpu", CONV_BIAS, CONV_CASES(winograd_cases)},
                        solid = {"conv_gpu", CONV_BIAS | CONV_3D, CONV_CASES(solid_cases)},
                        solid_weight = {"conv_gpu_weight", CONV_OF_WEIGHT | CONV_3D, CONV_CASES(solid_cases)};

static void look(const conv_cases *k, const weft_plan *plan, const wi_step *step) {
    assert_int_equal(step->selection->variant->values[WI_TILE_SUB_GROUP], 8);
    if (k == &conv_split) assert_in_range(conv_net_splits(plan, step), 2, 32);
}

/* ---- the tests ---- */

static void try(const conv_cases *k) {
    const bool is_cpu = wi_context_device(test_context())->caps.device_class == WEFT_CLASS_CPU;
    if (is_cpu || test_reduced()) {
        print_message("skipped: %s\n",
            is_cpu ? "a kernel of class gpu" : "WEFT_TEST_REDUCED asks for shapes of less than a tile");
        skip();
    }
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .work_units = UNITS});
    wi_context_device(context)->profile.block_reads = true;
    conv_cases_compare(k, "together", context, look);
    weft_context_release(context);
}

static void tiles_are_right(void **state) {
    (void)state;
    try(&conv_direct);
}

static void splits_are_right(void **state) {
    (void)state;
    try(&conv_split);
}

static void weights_are_right(void **state) {
    (void)state;
    try(&conv_weight);
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
