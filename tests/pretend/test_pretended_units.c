/* Drivers count compute units in their own ways: Intel's 512 are 32 of those that others report. Products of networks must not
 * fall to small tiles for it. */
#include "bench_networks.h"
#include "cl/context.h"
#include "kernels/convolution/conv_weight.h"
#include "kernels/product/gemm_tile_gpu.h"
#include "plan/compiled_plan.h"
#include "pretended.h"
#include <stdio.h>
#include <string.h>

static bool is_named(const wi_selection *selection, const char *variant) {
    return strcmp(selection->variant->name, variant) == 0;
}

/* Portable kernels, and the smallest tiles where they reach less than half of the speed of the large one, by what of an item's
 * instructions multiplies; that of products is counted whatever it reaches. */
static bool is_small(const wi_selection *selection, const wi_variant *large) {
    const double share = wi_tile_useful_part(selection->variant->values);
    return strstr(selection->chosen->name, "naive") || is_named(selection, "flat") ||
           (is_named(selection, "small") && 2.0 * share < wi_tile_useful_part(large->values));
}

/* Is there a kernel that a large tile fits, and is it not the one? */
static bool is_slow(const wi_selection *selection) {
    const wi_variant *large = NULL;
    for (int i = 0; i < selection->count; i++) {
        const wi_candidate *const candidate = &selection->candidates[i];
        if (candidate->verdict != WI_VERDICT_REFUSED && strcmp(candidate->variant->name, "large") == 0)
            large = candidate->variant;
    }
    return large && is_small(selection, large);
}

static void count(const char *device, const char *network, int *products, int *slow) {
    weft_context *const context = pretended_open(device);
    const bench_setting setting = {0};
    bench_model model;
    pretend_layer_skip(true);
    assert_ok(bench_model_create(&model, context, bench_network_find(network), &setting));
    const wi_partition *const p = &model.plan->partition;
    *products = *slow = 0;
    for (size_t i = 0; i < p->step_count; i++) {
        const wi_step *const step = p->steps[i];
        if (!step->selection) continue;
        const bool weight = p->values[step->members[0]].node->op == &wi_op_conv_weight;
        if (step->kind != WI_STEP_PRODUCT && !weight) continue;
        ++*products;
        *slow += is_slow(step->selection);
    }
    bench_model_clear(&model);
    weft_context_release(context);
    pretend_layer_skip(false);
}

static void few_products_are_slow(void **state) {
    static const char *const pretended[] = {"units48", "units108", "units132", "units512"};
    (void)state;
    for (size_t i = 0; i < sizeof pretended / sizeof *pretended; i++) {
        int products, slow;
        count(pretended[i], "ResNet-50", &products, &slow);
        printf("%-9s %3d products, %3d of them on a slow kernel\n", pretended[i], products, slow);
        assert_true(products > 100);
        assert_true(20 * slow <= products);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(few_products_are_slow)};
    (void)argc;
    pretended_start(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
