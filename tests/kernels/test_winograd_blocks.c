/* Winograd's convolutions whose tiles do not fit into one block of memory between the transforms, against those that sum
 * directly: the blocks follow each other in the same memory. */
/* test slow */
#include "support/fixture.h"

#include "cl/context.h"
#include "support/conv_net.h"
#include <stdlib.h>

/* 1024 tiles of 36 points, of which a block holds 910. */
static const conv_case large = {"groups of 8 channels", 1, 256, 125, 121, 256, 3, 1, 1, 1, 32};

static float *compute(const conv_net *net, const char *forced, size_t *launches) {
    weft_plan *const plan = conv_net_plan(net, forced);
    weft_plan_info info;
    assert_weft_ok(weft_plan_get_info(plan, &info));
    *launches = info.launches;
    float *const values = conv_net_run(net, plan);
    weft_plan_release(plan);
    return values;
}

static void blocks_follow_each_other(void **state) {
    (void)state;
    const bool is_cpu = wi_context_device(test_context())->caps.device_class == WEFT_CLASS_CPU;
    const char *const name = is_cpu ? "winograd" : "winograd_gpu";
    size_t launches, direct_launches;
    weft_graph *const graph = test_graph();
    const conv_net net = conv_net_in(graph, &large, 1, 0);
    float *const got = compute(&net, name, &launches);
    float *const wanted = compute(&net, is_cpu ? "conv_cpu" : "conv_gpu", &direct_launches);
    print_message("%zu launches, %zu of direct sums\n", launches, direct_launches);
    if (!is_cpu)
        assert_in_range(launches, direct_launches + 2 * 5, SIZE_MAX); /* weights, and two blocks of three */
    conv_net_compare(&net, name, got, wanted, NULL);
    free(got);
    free(wanted);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(blocks_follow_each_other)};
    return test_finish(cmocka_run_group_tests_name("winograd blocks", tests, NULL, NULL));
}
