/* Convolutions and weights' gradients whose sub-groups read rows of A together, the variant `together`
 * (docs/decisions/0175-rows-read-together.md), against the naive kernel: tiles in local memory, with k whole
 * and split, and Winograd's products. A tuning choice for each site brings the variant into the plan,
 * whatever the cost model says of these sizes. As in test_gemm, plain reads of local memory stand for those
 * of sub-groups: the layout is the same.
 *
 * Numbers are small multiples of 1/8, so sums are exact in float32, whatever their order; Winograd's
 * transforms round. */
#include "support/fixture.h"

#include "cl/choices.h"
#include "cl/context.h"
#include "kernels/product/gemm_tile_gpu.h"
#include "kernels/site_name.h"
#include "ops/convolution/conv.h"
#include "ops/op_table.h"
#include "plan/compiled_plan.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* PASSES: forward, and the gradient of the image. OUTPUTS: of each its result, and the sums of its columns
 * (not where the gradient is that of the weight).
 * UNITS: so many that k is split. */
enum { MOST = 1 << 18, MOST_CASES = 8, INPUTS = 4, PASSES = 2, OUTPUTS = 2 * PASSES, UNITS = 512 };

typedef struct test_case {
    const char *what;
    int64_t images, channels, height, width, filters, taps, stride, dilation, padding, groups;
} test_case;

/* A tile has 64 x 64 results, and a block 8 steps. */
static const test_case direct_cases[] = {
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
static const test_case split_cases[] = {
    {"many channels", 1, 256, 7, 7, 68, 3, 1, 1, 1, 1},
    {"blocks that splits share unequally", 2, 500, 5, 6, 131, 1, 1, 1, 0, 1},
    {"odd channels, a copy of the image", 1, 259, 6, 5, 67, 3, 1, 1, 1, 1},
    {"stride 2, phases of 1, 2 and 4 taps", 2, 64, 13, 12, 130, 3, 2, 1, 1, 1},
    {"stride 2, dilation 2", 1, 45, 11, 12, 64, 3, 2, 2, 1, 1},
    {"groups of odd channels", 1, 57, 9, 7, 51, 3, 2, 1, 1, 3},
};
/* Positions, of which a block has 8, in rows that end in a block, before and after others: as many in an image as in a block, fewer,
 * and many. Filters are rows, taps and channels are columns. */
static const test_case weight_cases[] = {
    {"less than a tile and a block", 1, 3, 5, 4, 6, 1, 1, 1, 0, 1},
    {"several tiles each way", 2, 24, 9, 11, 130, 3, 1, 1, 1, 1},
    {"odd channels and filters, copies of both", 2, 21, 9, 8, 67, 3, 1, 1, 1, 1},
    {"stride 2, dilation 2", 1, 28, 14, 13, 68, 3, 2, 2, 1, 1},
    {"images of fewer positions than a block", 19, 12, 4, 3, 72, 3, 2, 1, 1, 1},
    {"one position of an image", 21, 16, 3, 3, 64, 3, 1, 1, 0, 1},
    {"stride 3 beyond the window", 3, 8, 17, 16, 12, 2, 3, 1, 0, 1},
    {"groups of odd channels", 2, 57, 9, 7, 51, 3, 2, 1, 1, 3},
};
/* A row of the product is a tile of 4 x 4 results. */
static const test_case winograd_cases[] = {
    {"one tile", 1, 8, 4, 4, 12, 3, 1, 1, 1, 1},
    {"several tiles each way", 2, 24, 25, 27, 130, 3, 1, 1, 1, 1},
    {"odd channels, no padding", 1, 21, 18, 31, 67, 3, 1, 1, 0, 1},
    {"groups", 2, 34, 13, 23, 70, 3, 1, 1, 1, 2},
};

/* tolerance: of a result's root mean square. */
typedef struct kernel {
    const char *name;
    bool of_weight; /* the gradient of the weight; otherwise the convolution and the gradient of the image */
    const test_case *cases;
    size_t count;
    double tolerance;
} kernel;

#define CASES(list) list, sizeof list / sizeof *list
static const kernel direct = {"conv_gpu", false, CASES(direct_cases), 0.0},
                    split = {"split_gpu", false, CASES(split_cases), 0.0},
                    winograd = {"winograd_gpu", false, CASES(winograd_cases), 2e-5},
                    weight = {"conv_gpu_weight", true, CASES(weight_cases), 0.0};

typedef struct net {
    const kernel *kernel;
    weft_context *context;
    weft_graph *graph;
    weft_tensor *inputs[MOST_CASES * INPUTS]; /* of each case image, weight, bias and slope */
    weft_tensor *outputs[MOST_CASES * OUTPUTS];
} net;

static size_t outputs_of(const kernel *k) {
    return k->of_weight ? PASSES : OUTPUTS;
}

/* ---- the graph ---- */

static weft_tensor *result_of(const test_case *c, weft_tensor *const *in) {
    const weft_conv_options options = {WEFT_CONV_OPTIONS_INIT, .stride = WEFT_ALL(c->stride),
        .dilation = WEFT_ALL(c->dilation), .padding = WEFT_ALL(c->padding), .groups = c->groups};
    return wi_channels_last(weft_conv_with(wi_channels_first(in[0]), in[1], in[2], &options));
}

static void add_case(const net *n, const test_case *c, weft_tensor **in, weft_tensor **out) {
    in[0] = weft_input_shape(
        n->graph, "x", WEFT_F32, 4, (const int64_t[]){c->images, c->height, c->width, c->channels});
    in[1] = weft_input_shape(
        n->graph, "w", WEFT_F32, 4, (const int64_t[]){c->filters, c->channels / c->groups, c->taps, c->taps});
    in[2] = weft_input_shape(n->graph, "bias", WEFT_F32, 1, &c->filters);
    out[0] = result_of(c, in);
    assert_weft_ok(weft_graph_status(n->graph));
    int64_t size[4];
    for (int d = 0; d < 4; d++) size[d] = weft_tensor_dimension(out[0], d);
    in[3] = weft_input_shape(n->graph, "slope", WEFT_F32, 4, size);
    weft_tensor *const loss = weft_sum(weft_mul(out[0], in[3]));
    assert_weft_ok(weft_gradients(loss, &in[n->kernel->of_weight], 1, &out[1]));
    for (int i = 0; i < PASSES && !n->kernel->of_weight; i++) out[PASSES + i] = weft_sum(out[i], 0, 1, 2);
}

static net make_net(const kernel *k) {
    net n = {.kernel = k,
        .context = test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .work_units = UNITS})};
    wi_context_device(n.context)->profile.block_reads = true;
    n.graph = weft_context_graph(n.context);
    assert_in_range(k->count, 1, MOST_CASES);
    for (size_t i = 0; i < k->count; i++)
        add_case(&n, &k->cases[i], &n.inputs[i * INPUTS], &n.outputs[i * outputs_of(k)]);
    return n;
}

static size_t count_of(const weft_tensor *tensor) {
    size_t count = 1;
    for (int i = 0; i < weft_tensor_rank(tensor); i++) count *= (size_t)weft_tensor_dimension(tensor, i);
    return count;
}

/* ---- plans ---- */

static weft_plan *make_plan(const net *n) {
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, n->outputs, n->kernel->count * outputs_of(n->kernel), NULL));
    return plan;
}

static bool is_wanted(const net *n, const wi_partition *p, const wi_step *step) {
    if (n->kernel->of_weight)
        return step->kind == WI_STEP_KERNEL && p->values[step->members[0]].node->op == &wi_op_conv_weight;
    return step->kind == WI_STEP_PRODUCT && step->gemm.convolution;
}

/* From here on the variant serves the sites of the plan. */
static void choose_together(const net *n, const weft_plan *plan) {
    const wi_partition *const p = &plan->partition;
    char site_name[WI_SITE_NAME], name[WI_KERNEL_NAME];
    snprintf(name, sizeof name, "%s/together", n->kernel->name);
    for (size_t i = 0; i < p->step_count; i++) {
        if (!is_wanted(n, p, p->steps[i])) continue;
        const wi_kernel_site site = wi_step_site(p, p->steps[i]);
        wi_site_name(site_name, site.node->op, &site);
        assert_weft_ok(wi_choices_set(wi_context_device(n->context),
            &(wi_choice){.site = site_name, .kernel = name, .seconds = 1, .usual = 1}));
    }
}

/* Its last launch adds up the splits. */
static void assert_split(const wi_partition *p, const wi_step *step) {
    const wi_kernel_site site = wi_step_site(p, step);
    wi_arena arena;
    wi_kernel_plan launches;
    wi_arena_init(&arena, wi_context_device(test_context())->host.allocator);
    assert_weft_ok(wi_implementation_prepare(
        step->selection->chosen, step->selection->variant, &site, &arena, &launches));
    assert_string_equal(launches.launches[launches.count - 1]->suffix, "finish");
    wi_arena_clear(&arena);
}

static void assert_together(const net *n, const weft_plan *plan) {
    const wi_partition *const p = &plan->partition;
    const bool sums = wi_context_device(n->context)->profile.loops.sums;
    size_t steps = 0;
    for (size_t i = 0; i < p->step_count; i++) {
        const wi_step *const step = p->steps[i];
        if (!is_wanted(n, p, step)) continue;
        ++steps;
        assert_string_equal(step->selection->chosen->name, n->kernel->name);
        assert_string_equal(step->selection->variant->name, "together");
        assert_int_equal(step->selection->variant->values[WI_TILE_SUB_GROUP], 8);
        assert_int_equal(step->sums, sums && !n->kernel->of_weight);
        if (n->kernel == &split) assert_split(p, step);
    }
    assert_int_equal(steps, n->kernel->count * (n->kernel->of_weight ? 1 : PASSES));
}

static void write_inputs(const net *n, weft_plan *plan) {
    static float values[MOST];
    for (size_t i = 0; i < n->kernel->count * INPUTS; i++) {
        const size_t count = count_of(n->inputs[i]);
        test_random random = test_random_named("conv sub-groups", i);
        assert_in_range(count, 1, MOST);
        for (size_t e = 0; e < count; e++) values[e] = (float)(test_random_below(&random, 17) - 8) / 8.0f;
        assert_weft_ok(weft_plan_write(plan, n->inputs[i], values, count * sizeof *values));
    }
}

static void read(weft_plan *plan, weft_tensor *output, float *values) {
    const size_t count = count_of(output);
    assert_in_range(count, 1, MOST);
    assert_weft_ok(weft_plan_read(plan, output, values, count * sizeof *values));
}

static void compare(const net *n, size_t index, const float *got, const float *wanted) {
    const size_t count = count_of(n->outputs[index]), outputs = outputs_of(n->kernel);
    double squares = 0;
    for (size_t e = 0; e < count; e++) squares += (double)wanted[e] * (double)wanted[e];
    const double allowed = n->kernel->tolerance * sqrt(squares / (double)count);
    for (size_t e = 0; e < count; e++) {
        if (fabs((double)got[e] - (double)wanted[e]) <= allowed) continue;
        fail_msg("%s, %s: element %zu of the %s%s is %g instead of %g", n->kernel->name,
            n->kernel->cases[index / outputs].what, e, index % outputs / PASSES ? "sums of the " : "",
            index % PASSES ? "gradient" : "result", (double)got[e], (double)wanted[e]);
    }
}

static void run(const net *n, weft_plan *plan) {
    write_inputs(n, plan);
    assert_weft_ok(weft_plan_run(plan));
}

/* ---- the tests ---- */

static void try(const kernel *k) {
    static float got[MOST], wanted[MOST];
    const bool is_cpu = wi_context_device(test_context())->caps.device_class == WEFT_CLASS_CPU;
    if (is_cpu || test_reduced()) {
        print_message("skipped: %s\n",
            is_cpu ? "a kernel of class gpu" : "WEFT_TEST_REDUCED asks for shapes of less than a tile");
        skip();
    }
    const net n = make_net(k);
    assert_int_equal(setenv("WEFT_CONV", "conv_naive", 1), 0);
    weft_plan *const naive = make_plan(&n);
    unsetenv("WEFT_CONV");
    choose_together(&n, naive);
    weft_plan *const together = make_plan(&n);
    assert_together(&n, together);
    run(&n, naive);
    run(&n, together);
    for (size_t i = 0; i < k->count * outputs_of(k); i++) {
        read(naive, n.outputs[i], wanted);
        read(together, n.outputs[i], got);
        compare(&n, i, got, wanted);
    }
    weft_plan_release(naive);
    weft_plan_release(together);
    weft_context_release(n.context);
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tiles_are_right), cmocka_unit_test(splits_are_right),
        cmocka_unit_test(winograd_is_right), cmocka_unit_test(weights_are_right)};
    setenv("WEFT_SELF_TEST", "0", 1); /* a choice of what is wrong is compared here, and not left out */
    return test_finish(cmocka_run_group_tests_name("conv sub-groups", tests, NULL, NULL));
}
