/* Sums over all axes but the last in the epilogue of the product that makes what they add up (plan/improve/column_sums.c): values against
 * float64, of products and convolutions of odd sizes, whatever computes them, and that plans have no launch for such sums. */
/* test slow */
/* test.{model,model-wmma,model-wmma12,model-mfma,model-xmx8,model-xmx16}.gpu WEFT_MATRIX_ENGINES={} */
#include "support/engine_choice.h"
#include "support/fixture.h"
#include "support/product_net.h"

#include "cl/context.h"
#include "ops/op_table.h"
#include "plan/compiled_plan.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sums of an epilogue at most, and where they begin among the outputs. */
enum { SUMS = 3, SUMS_BEGIN = 2, OUTPUTS = SUMS_BEGIN + SUMS };
/* Columns or channels that a reduced run adds up at most: several blocks. */
enum { REDUCED_DEPTH = 75 };

typedef struct test_case {
    const char *what, *forced; /* the implementation, in class gpu */
    bool convolution, data;    /* data: its data gradient */
    /* Of products batch, m, k and n; of convolutions images, height, width and channels, filters. */
    int64_t sizes[5], taps, stride, groups;
    bool tiny; /* for interpreters */
} test_case;

static const test_case cases[] = {
    {"one element", "gpu_tiled", false, false, {1, 1, 1, 1}, 0, 0, 0, true},
    {"one column", "gpu_tiled", false, false, {1, 301, 5, 1}, 0, 0, 0, false},
    {"one row", "gpu_tiled", false, false, {1, 1, 7, 133}, 0, 0, 0, true},
    {"several tiles", "gpu_tiled", false, false, {1, 1037, 19, 131}, 0, 0, 0, false},
    {"a batch of odd products", "gpu_tiled", false, false, {3, 67, 9, 37}, 0, 0, 0, false},
    {"a batch, columns in quads", "gpu_tiled", false, false, {3, 67, 9, 36}, 0, 0, 0, true},
    {"two columns an item", "gpu_rows", false, false, {1, 19, 19, 131}, 0, 0, 0, true},
    {"two columns an item, in quads", "gpu_rows", false, false, {3, 31, 9, 260}, 0, 0, 0, false},
    {"two columns an item, split", "gpu_rows_split", false, false, {1, 29, 90, 132}, 0, 0, 0, false},
    {"one row, split", "gpu_split", false, false, {1, 1, 300, 133}, 0, 0, 0, true},
    {"shares of rows, split", "gpu_split", false, false, {1, 307, 203, 35}, 0, 0, 0, false},
    {"a batch of odd products, split", "gpu_split", false, false, {3, 67, 90, 37}, 0, 0, 0, false},
    {"shares of rows in quads, split", "gpu_split", false, false, {1, 307, 203, 36}, 0, 0, 0, false},
    {"a batch, columns in quads, split", "gpu_split", false, false, {3, 17, 90, 12}, 0, 0, 0, true},
    {"one tap", "conv_gpu", true, false, {2, 13, 11, 20, 33}, 1, 1, 1, false},
    {"many tiles", "conv_gpu", true, false, {4, 33, 31, 4, 36}, 1, 1, 1, false},
    {"odd channels", "conv_gpu", true, false, {3, 9, 7, 5, 7}, 3, 1, 1, true},
    {"groups", "conv_gpu", true, false, {2, 9, 7, 8, 10}, 3, 1, 2, false},
    {"groups of quads", "conv_gpu", true, false, {2, 9, 7, 8, 16}, 3, 1, 2, true},
    {"few positions, split", "split_gpu", true, false, {1, 3, 3, 300, 35}, 1, 1, 1, true},
    {"shares of positions, split", "split_gpu", true, false, {3, 9, 7, 90, 17}, 3, 1, 1, false},
    {"shares of positions in quads, split", "split_gpu", true, false, {3, 9, 7, 90, 20}, 3, 1, 1, false},
    {"groups, split", "split_gpu", true, false, {2, 9, 7, 62, 10}, 3, 1, 2, false},
    {"stride 2, data, split", "split_gpu", true, true, {2, 15, 12, 33, 128}, 3, 2, 1, false},
    {"Winograd", "winograd_gpu", true, false, {3, 13, 11, 8, 37}, 3, 1, 1, false},
    {"Winograd, quads", "winograd_gpu", true, false, {2, 5, 6, 8, 12}, 3, 1, 1, true},
    {"Winograd, many tiles", "winograd_gpu", true, false, {8, 33, 30, 8, 12}, 3, 1, 1, false},
    {"Winograd, groups, data", "winograd_gpu", true, true, {2, 9, 7, 16, 18}, 3, 1, 2, false},
    {"one tap, data", "conv_gpu", true, true, {3, 14, 13, 37, 20}, 1, 1, 1, false},
    {"stride 2, data", "conv_gpu", true, true, {2, 15, 12, 33, 8}, 3, 2, 1, false},
    {"phases without taps, data", "conv_gpu", true, true, {2, 9, 10, 12, 8}, 1, 2, 1, false},
};
enum { CASES = sizeof cases / sizeof *cases };

static weft_tensor *product_of(product_net *n, const test_case *c) {
    const int64_t *const s = c->sizes;
    weft_tensor *const a = product_net_input(n, 3, (const int64_t[]){WEFT_BATCH, s[1], s[2]});
    return weft_matmul(a, product_net_input(n, 2, (const int64_t[]){s[2], s[3]}));
}

/* (images, height, width, channels) */
static weft_tensor *convolution_of(product_net *n, const test_case *c) {
    const int64_t *const s = c->sizes;
    const weft_conv_options options = {
        WEFT_CONV_OPTIONS_INIT, .stride = c->stride, .padding = c->taps / 2, .groups = c->groups};
    weft_tensor *const image = product_net_input(n, 4, (const int64_t[]){WEFT_BATCH, s[1], s[2], s[3]});
    weft_tensor *const weight =
        product_net_input(n, 4, (const int64_t[]){s[4], s[3] / c->groups, c->taps, c->taps});
    weft_tensor *const y = wi_channels_last(weft_conv_with(wi_channels_first(image), weight, NULL, &options));
    if (!c->data) return y;
    int64_t sizes[4];
    weft_tensor *gradient = NULL;
    for (int d = 0; d < 4; d++) sizes[d] = weft_tensor_dimension(y, d);
    weft_tensor *const slope = product_net_input(n, 4, sizes);
    assert_weft_ok(weft_gradients(weft_sum(weft_mul(y, slope)), &image, 1, &gradient));
    n->inputs[0] = weight; /* the gradient does not depend on the image */
    n->inputs[1] = slope;
    n->input_count = 2;
    return gradient;
}

/* The epilogue adds a row to all, and has relu; one sum is of what it stores, the others of more. Outputs are y, what is computed from
 * the first sum, and the sums. */
static product_net make_net(const test_case *c, int sums, weft_matmul_precision precision) {
    product_net n = {.graph = test_graph(), .batch = c->sizes[0]};
    assert_weft_ok(weft_graph_set_matmul_precision(n.graph, precision));
    weft_tensor *const made = c->convolution ? convolution_of(&n, c) : product_of(&n, c);
    const int last = weft_tensor_rank(made) - 1;
    const int64_t width = weft_tensor_dimension(made, last);
    weft_tensor *const beside = product_net_input_like(&n, made, 0, 0);
    weft_tensor *const row = product_net_input(&n, 1, &width);
    weft_tensor *const y = weft_relu(weft_add(made, row)), *const sum = product_net_column_sums(y);
    product_net_output(&n, y);
    product_net_output(&n, weft_add(weft_mul(sum, row), weft_number(row, 3)));
    product_net_output(&n, sum);
    product_net_output(&n, product_net_column_sums(weft_mul(y, weft_sub(beside, row))));
    if (sums > 2) product_net_output(&n, product_net_column_sums(weft_mul(y, beside)));
    assert_weft_ok(weft_graph_status(n.graph));
    return n;
}

static void fill(int input, float *values, size_t count) {
    test_random random = test_random_named("product sums", (uint64_t)input);
    for (size_t i = 0; i < count; i++) values[i] = (float)test_random_between(&random, -1, 1);
}

/* Sums of so many numbers may be wrong by 2e-7 of the sum of all absolute values for each doubling, as those of the reference
 * in tests/support. */
static void assert_near(const char *what, float got, double wanted, double absolute, size_t count) {
    const double most = 1e-6 * (1.0 + log2((double)count)) * absolute + 1e-30;
    if (fabs((double)got - wanted) > most)
        fail_msg("%s: %.9g instead of %.9g, which may differ by %.2g", what, (double)got, wanted, most);
}

/* All sums of each column, of what the plan has stored. */
static void assert_sums(const test_case *c, const product_net *n, weft_plan *plan) {
    float *values[OUTPUTS];
    size_t bytes[OUTPUTS];
    for (int i = 0; i < n->output_count; i++) values[i] = product_net_read(n, plan, i, &bytes[i]);
    float *const beside = product_net_numbers(n, n->input_count - 2, fill);
    float *const row = product_net_numbers(n, n->input_count - 1, fill);
    const size_t columns = bytes[SUMS_BEGIN] / sizeof(float), rows = bytes[0] / bytes[SUMS_BEGIN];
    for (size_t j = 0; j < columns; j++) {
        double sums[SUMS] = {0}, absolute[SUMS] = {0};
        for (size_t i = 0; i < rows; i++) {
            const double y = (double)values[0][i * columns + j], other = (double)beside[i * columns + j];
            const double added[SUMS] = {y, y * (other - (double)row[j]), y * other};
            for (int s = 0; s < SUMS; s++) sums[s] += added[s], absolute[s] += fabs(added[s]);
        }
        for (int s = 0; s < n->output_count - SUMS_BEGIN; s++)
            assert_near(c->what, values[SUMS_BEGIN + s][j], sums[s], absolute[s], rows);
        const double computed = (double)values[SUMS_BEGIN][j] * (double)row[j] + 3.0;
        assert_near(c->what, values[1][j], computed, 4.0 + absolute[0], 1);
    }
    for (int i = 0; i < n->output_count; i++) free(values[i]);
    free(beside);
    free(row);
}

/* Runs again, and compares all bits. */
static void assert_repeats(const product_net *n, weft_plan *plan) {
    void *before[OUTPUTS];
    size_t bytes;
    for (int i = 0; i < n->output_count; i++) before[i] = product_net_read(n, plan, i, &bytes);
    assert_weft_ok(weft_plan_run(plan));
    for (int i = 0; i < n->output_count; i++) {
        void *const after = product_net_read(n, plan, i, &bytes);
        assert_memory_equal(after, before[i], bytes);
        free(after);
        free(before[i]);
    }
}

/* The product's step has all sums, and no loop reduces anything. */
static void assert_epilogue(const test_case *c, int wanted, const weft_plan *plan) {
    int sums = 0, reductions = 0;
    for (size_t i = 0; i < plan->partition.step_count; i++) {
        const wi_step *const step = plan->partition.steps[i];
        sums += step->sums;
        reductions += step->kind == WI_STEP_LOOP && step->reduced != 0;
        if (c->forced && step->kind == WI_STEP_PRODUCT)
            assert_string_equal(step->selection->chosen->name, c->forced);
    }
    if (sums != wanted || reductions != 0) fail_msg("%s: %d sums, %d reductions", c->what, sums, reductions);
}

static void try_case(const test_case *c, int sums, weft_matmul_precision precision) {
    const bool gives = wi_context_device(test_context())->profile.loops.sums;
    if (!c->tiny && (test_reduced() || sums > 2)) return;
    const product_net n = make_net(c, sums, precision);
    weft_plan *const plan =
        product_net_plan(&n, c->convolution ? "WEFT_CONV" : "WEFT_GEMM", gives ? c->forced : NULL, fill);
    print_message("%s\n", c->what);
    if (gives) assert_epilogue(c, sums, plan);
    assert_weft_ok(weft_plan_run(plan));
    assert_sums(c, &n, plan);
    if (!test_reduced()) assert_repeats(&n, plan);
    weft_plan_release(plan);
    weft_graph_release(n.graph);
}

static void test_values(void **state) {
    (void)state;
    if (wi_context_device(test_context())->caps.engine_model) {
        print_message("skipped: of kernels without an engine\n");
        skip();
    }
    for (int sums = test_reduced() ? SUMS : 2; sums <= SUMS; sums++)
        for (size_t i = 0; i < CASES; i++) {
            test_case own = cases[i];
            int64_t *const depth = &own.sizes[own.convolution ? 3 : 2];
            if (test_reduced() && *depth > REDUCED_DEPTH) *depth = REDUCED_DEPTH;
            try_case(&own, sums, WEFT_MATMUL_PRECISION_HIGHEST);
        }
}

/* In `medium`, which rounds images and weights to bf16. */
static void test_engine(void **state) {
    const char *const engine = engine_of_device();
    char name[32];
    (void)state;
    if (!engine) skip();
    snprintf(name, sizeof name, "conv_%s", engine);
    for (size_t i = 0; i < 2 * CASES; i++) {
        test_case own = cases[i % CASES];
        if (!own.convolution || strcmp(own.forced, "conv_gpu") != 0) continue;
        own.forced = name;
        try_case(&own, i < CASES ? 2 : SUMS, WEFT_MATMUL_PRECISION_MEDIUM);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_engine)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
