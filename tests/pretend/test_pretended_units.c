/* Drivers count compute units in their own ways: Intel's 512 are 32 of those that others report. Products of networks must not
 * fall to small tiles for it. */
/* test optimised */
#include "bench_networks.h"
#include "cl/context.h"
#include "cl/program.h"
#include "graph/weft_graph.h"
#include "kernels/convolution/conv_weight.h"
#include "kernels/product/gemm_tile_gpu.h"
#include "kernels/selection.h"
#include "ops/op_descriptors.h"
#include "plan/compiled_plan.h"
#include "pretended.h"
#include "support/fixture.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_named(const wi_selection *selection, const char *variant) {
    return strcmp(selection->variant->name, variant) == 0;
}

/* Portable kernels, and the smallest tiles where they reach less than half of the speed of the large one, by what of an item's
 * instructions multiplies; that of products is counted whatever it reaches. */
static bool is_small(
    const wi_device_profile *device, const wi_selection *selection, const wi_variant *large) {
    const double share = wi_tile_useful_part(device, selection->variant->values);
    return strstr(selection->chosen->name, "naive") || is_named(selection, "flat") ||
           (is_named(selection, "small") && 2.0 * share < wi_tile_useful_part(device, large->values));
}

/* Is there a kernel that a large tile fits, and is it not the one? */
static bool is_slow(const wi_device_profile *device, const wi_selection *selection) {
    const wi_variant *large = NULL;
    for (int i = 0; i < selection->count; i++) {
        const wi_candidate *const candidate = &selection->candidates[i];
        if (candidate->verdict != WI_VERDICT_REFUSED && strcmp(candidate->variant->name, "large") == 0)
            large = candidate->variant;
    }
    return large && is_small(device, selection, large);
}

/* Of products and convolutions: all, on a slow kernel, with a split k; launches of the plan. */
typedef struct counts {
    int products, slow, split;
    size_t launches;
} counts;

static void count_products(const weft_plan *plan, counts *got) {
    weft_plan_info info;
    assert_ok(weft_plan_get_info(plan, &info));
    const wi_partition *const p = &plan->partition;
    *got = (counts){.launches = info.launches};
    for (size_t i = 0; i < p->step_count; i++) {
        const wi_step *const step = p->steps[i];
        if (!step->selection) continue;
        const bool weight = p->values[step->members[0]].node->op == &wi_op_conv_weight;
        if (step->kind != WI_STEP_PRODUCT && !weight) continue;
        ++got->products;
        got->slow += is_slow(&plan->request.devices.of[0]->profile, step->selection);
        got->split += strstr(step->selection->chosen->name, "split") != NULL;
    }
}

/* The context of the device that the tests look at now, which they share: opening one takes longer than planning. */
static struct {
    weft_context *context;
    const char *device;
} here;

static weft_context *context_of(const char *device) {
    if (here.device && strcmp(here.device, device) == 0) return here.context;
    weft_context_release(here.context);
    here.device = device;
    return here.context = pretended_open(device);
}

static void count(const char *device, const char *network, const bench_setting *setting, counts *got) {
    weft_context *const context = context_of(device);
    bench_model model;
    pretend_layer_skip(true);
    assert_ok(bench_model_create(&model, context, bench_network_find(network), setting));
    count_products(model.plan, got);
    bench_model_clear(&model);
    pretend_layer_skip(false);
}

/* 109 million numbers of FCN-S need not be drawn for each device to choose kernels. */
static void begin_with_zeros(weft_graph *graph) {
    for (size_t i = 0; i < weft_graph_parameter_count(graph); i++)
        weft_graph_parameter(graph, i)->variable->initialiser = weft_zeros();
}

static void count_example(const char *device, counts *got) {
    const bench_network *const network = bench_network_find("FCN-S");
    weft_graph *const graph = weft_context_graph(context_of(device));
    weft_tensor *const y = network->build(weft_input(graph, "x", WEFT_F32, network->dims[0]));
    weft_plan *plan = NULL;
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 1, .inference = true};
    pretend_layer_skip(true);
    assert_ok(weft_graph_status(graph));
    begin_with_zeros(graph);
    assert_ok(weft_plan_create(&plan, &y, 1, &options));
    count_products(plan, got);
    weft_plan_release(plan);
    pretend_layer_skip(false);
}

/* What nothing but units is known of, then what the table of devices has rows of; and those with smaller groups, of few units. */
static const char *const pretended[] = {"units48", "units108", "units132", "units512", "A100", "H100-SXM",
    "RX-7900", "MI210", "A770", "groups64", "local16", "plain", "least"};
enum { DEVICES = 9, ALL_DEVICES = sizeof pretended / sizeof *pretended };

/* Of a training step; few of its convolutions gain by splits. */
static void few_products_are_slow(const char *device) {
    counts got;
    count(device, "ResNet-50", &(bench_setting){0}, &got);
    printf("%-9s %3d products, %3d of them on a slow kernel, %2d split, %zu launches\n", device, got.products,
        got.slow, got.split, got.launches);
    assert_true(got.products > 100);
    assert_true(20 * got.slow <= got.products);
    assert_true(20 * got.split <= got.products);
}

/* One image has few tiles. */
static void one_image_is_split(const char *device) {
    counts got;
    count(device, "ResNet-50", &(bench_setting){.batch = 1, .inference = true}, &got);
    printf("%-9s one image: %2d products, %2d of them split, %zu launches\n", device, got.products, got.split,
        got.launches);
    assert_true(got.split >= 5);
}

/* The three hidden layers of FCN-S, whose sums are of many elements. */
static void one_example_is_split(const char *device) {
    counts got;
    count_example(device, &got);
    printf("%-9s one example: %d products, %d of them split, %zu launches\n", device, got.products, got.split,
        got.launches);
    assert_int_equal(got.split, 3);
}

static const char *tile_on(const char *device) {
    weft_context *const context = context_of(device);
    const wi_gemm_shape shape = {1, 2048, 2048, 2048, 0, 2048, 1, 0, 2048, 1, NULL};
    const wi_kernel_site site = {.device = &wi_context_device(context)->profile, .product = &shape};
    wi_selection selection;
    setenv("WEFT_GEMM", "gpu_tiled", 1); /* a platform of another name may have a library's */
    assert_ok(wi_select(&selection, wi_context_device(context), &wi_op_matmul, &site));
    unsetenv("WEFT_GEMM");
    return selection.variant->name;
}

/* Weights' gradients of a training step, and how many of them have the tile. */
static void count_weights(const char *device, const char *tile, int *weights, int *with_tile) {
    weft_context *const context = context_of(device);
    bench_model model;
    pretend_layer_skip(true);
    assert_ok(bench_model_create(&model, context, bench_network_find("AlexNet-R"), &(bench_setting){0}));
    const wi_partition *const p = &model.plan->partition;
    *weights = *with_tile = 0;
    for (size_t i = 0; i < p->step_count; i++) {
        const wi_step *const step = p->steps[i];
        if (!step->selection || p->values[step->members[0]].node->op != &wi_op_conv_weight) continue;
        ++*weights;
        *with_tile += is_named(step->selection, tile);
    }
    bench_model_clear(&model);
    pretend_layer_skip(false);
}

/* Does a program that begins with these lines compile on the device? */
static bool compiles(const char *device, const char *lines) {
    char source[256];
    wi_program *program;
    snprintf(source, sizeof source, "%s\n__kernel void none(void) {}\n", lines);
    return wi_program_get(&program, wi_context_device(context_of(device)), "sub-groups", source, NULL) ==
           WEFT_OK;
}

/* What a driver reports is seen, and the tile that needs it is the cheapest there, and refused elsewhere. The least size that a kernel may
 * require is known in all programs. */
static void sub_groups_of_eight_read_together(void **state) {
    int weights, together;
    (void)state;
    assert_string_equal(tile_on("eights"), "together");
    count_weights("eights", "together", &weights, &together);
    assert_true(together > 0 && together <= weights);
    assert_true(compiles("eights", "#if WEFT_SUB_GROUP != 8\n#error\n#endif"));
}

/* units108 has the sizes of sub-groups of the machine's driver, where there are any. */
static void others_do_not(void **state) {
    char lines[64] = "#ifdef WEFT_SUB_GROUP\n#error\n#endif";
    int weights, together;
    (void)state;
    assert_string_not_equal(tile_on("units108"), "together");
    count_weights("units108", "together", &weights, &together);
    assert_true(weights > 0);
    assert_int_equal(together, 0);
    const size_t least = wi_context_device(context_of("units108"))->caps.sub_group;
    if (least > 0) snprintf(lines, sizeof lines, "#if WEFT_SUB_GROUP != %zu\n#error\n#endif", least);
    assert_true(compiles("units108", lines));
}

/* Of a training step of the LSTM network: launches, its recurrent scans with their gradients, and those that the engine
 * computes. */
typedef struct scan_counts {
    size_t launches;
    int scans, by_engine;
} scan_counts;

/* By the model of an engine in bf16; NULL: in f32. */
static scan_counts scans_of_lstm(const char *device, const char *engine) {
    if (engine) setenv("WEFT_MATRIX_ENGINES", engine, 1);
    weft_context *const context = engine ? pretended_open(device) : context_of(device);
    setenv("WEFT_MATRIX_ENGINES", "0", 1);
    const bench_setting setting = {.precision = engine ? WEFT_PRECISION_BF16 : WEFT_PRECISION_F32};
    weft_plan_info info;
    bench_model model;
    assert_ok(bench_model_create(&model, context, bench_network_find("LSTM"), &setting));
    assert_ok(weft_plan_get_info(model.plan, &info));
    scan_counts got = {.launches = info.launches};
    for (size_t i = 0; i < model.plan->partition.step_count; i++) {
        const wi_step *const step = model.plan->partition.steps[i];
        const char *const name = wi_step_implementation_name(model.plan, step);
        if (!name || strncmp(name, "recurrent_", 10) != 0) continue;
        ++got.scans;
        if (engine && strstr(name, strchr(engine, '-') + 1)) ++got.by_engine;
    }
    bench_model_clear(&model);
    if (engine) weft_context_release(context);
    return got;
}

enum { MOST_LAUNCHES = 60 };

/* In f32 groups have so few rows that walking through time keeps enough units busy. */
static void scans_walk_through_time(const char *device) {
    const scan_counts got = scans_of_lstm(device, NULL);
    printf("%-9s LSTM: %zu launches in f32\n", device, got.launches);
    assert_int_equal(got.scans, 4);
    assert_true(got.launches <= MOST_LAUNCHES);
}

/* Reduced tests plan the training step of every fourth device only: the host's code is the same for all. */
static void plans_fit_the_device(void **state) {
    const size_t i = *(const size_t *)*state;
    if (i < DEVICES) {
        if (!test_reduced() || i % 4 == 0) few_products_are_slow(pretended[i]);
        one_example_is_split(pretended[i]);
    }
    if (i < 2) one_image_is_split(pretended[i]);
    scans_walk_through_time(pretended[i]);
}

/* So do scans in mixed precision: by a fast engine, or in f32 where an engine of 16 rows would take longer. Reduced tests have one of each kind. */
static void mixed_scans_walk_through_time(void **state) {
    static const char *const devices[] = {"units48", "units108", "A100-48", "A100-108"};
    (void)state;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i += test_reduced() ? 2 : 1) {
        const scan_counts got = scans_of_lstm(devices[i], "model-mma");
        printf("%-9s LSTM: %zu launches in bf16, %d of %d scans by the engine\n", devices[i], got.launches,
            got.by_engine, got.scans);
        assert_int_equal(got.scans, 4);
        assert_int_equal(got.by_engine, devices[i][0] == 'A' ? 4 : 0);
        assert_true(got.launches <= MOST_LAUNCHES);
    }
}

int main(int argc, char **argv) {
    static size_t numbers[ALL_DEVICES];
    struct CMUnitTest tests[ALL_DEVICES + 3] = {cmocka_unit_test(sub_groups_of_eight_read_together),
        cmocka_unit_test(others_do_not), cmocka_unit_test(mixed_scans_walk_through_time)};
    for (size_t i = 0; i < ALL_DEVICES; i++) {
        numbers[i] = i;
        tests[3 + i] =
            (struct CMUnitTest){pretended[i], plans_fit_the_device, NULL, NULL, (void *)&numbers[i]};
    }
    (void)argc;
    pretended_start(argv);
    const int failed = _cmocka_run_group_tests("units", tests, ALL_DEVICES + 3, NULL, NULL);
    weft_context_release(here.context);
    return failed;
}
