/* Drivers count compute units in their own ways: Intel's 512 are 32 of those that others report. Products of networks must not
 * fall to small tiles for it. */
#include "bench_networks.h"
#include "cl/context.h"
#include "kernels/convolution/conv_weight.h"
#include "plan/compiled_plan.h"
#include "pretended.h"
#include <stdio.h>

/* The smallest tiles, of convolutions and of products, and portable kernels: they reach about half of the speed of a large
 * tile, or less. */
static bool is_small(const wi_selection *selection) {
    const char *const variant = selection->variant->name;
    return strcmp(variant, "small") == 0 || strcmp(variant, "flat") == 0 ||
           strstr(selection->chosen->name, "naive") != NULL;
}

/* Is there a kernel that a large tile fits, and is it not the one? */
static bool is_slow(const wi_selection *selection) {
    bool large = false;
    for (int i = 0; i < selection->count; i++) {
        const wi_candidate *const candidate = &selection->candidates[i];
        large = large ||
                (candidate->verdict != WI_VERDICT_REFUSED && strcmp(candidate->variant->name, "large") == 0);
    }
    return large && is_small(selection);
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
