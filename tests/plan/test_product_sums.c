/* Sums over all axes but the last in the epilogue of the product that makes what they add up (plan/partition_sums.c): values against
 * float64, of products and convolutions of odd sizes, whatever computes them, and that plans have no launch for such sums. */
#include "support/fixture.h"

#include "cl/context.h"
#include "cl/matrix_engine.h"
#include "ops/op_table.h"
#include "plan/compiled_plan.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 18, OUTPUTS = 4 };

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
    {"Winograd, many tiles", "winograd_gpu", true, false, {8, 33, 30, 8, 12}, 3, 1, 1, false},
    {"Winograd, groups, data", "winograd_gpu", true, true, {2, 9, 7, 16, 18}, 3, 1, 2, false},
    {"one tap, data", "conv_gpu", true, true, {3, 14, 13, 37, 20}, 1, 1, 1, false},
    {"stride 2, data", "conv_gpu", true, true, {2, 15, 12, 33, 8}, 3, 2, 1, false},
    {"phases without taps, data", "conv_gpu", true, true, {2, 9, 10, 12, 8}, 1, 2, 1, false},
};
enum { CASES = sizeof cases / sizeof *cases };

typedef struct net {
    weft_graph *graph;
    int64_t batch;          /* the first axis of all but weights and rows */
    weft_tensor *inputs[5]; /* of the product: two; beside its result, as wide, a row, a column's scale */
    int input_count;
    weft_tensor *outputs[OUTPUTS]; /* y, the sums of y and of y · beside, and what is computed from a sum */
} net;

static int64_t dimension(const net *n, const weft_tensor *tensor, int axis) {
    const int64_t size = weft_tensor_dimension(tensor, axis);
    return size == WEFT_BATCH ? n->batch : size;
}

static size_t count_of(const net *n, const weft_tensor *tensor) {
    size_t count = 1;
    for (int i = 0; i < weft_tensor_rank(tensor); i++) count *= (size_t)dimension(n, tensor, i);
    return count;
}

static weft_tensor *input(net *n, int rank, const int64_t *sizes) {
    char name[8] = {(char)('a' + n->input_count), 0};
    return n->inputs[n->input_count++] = weft_input_shape(n->graph, name, WEFT_F32, rank, sizes);
}

static weft_tensor *product_of(net *n, const test_case *c) {
    const int64_t *const s = c->sizes;
    weft_tensor *const a = input(n, 3, (const int64_t[]){WEFT_BATCH, s[1], s[2]});
    return weft_matmul(a, input(n, 2, (const int64_t[]){s[2], s[3]}));
}

/* (images, height, width, channels) */
static weft_tensor *convolution_of(net *n, const test_case *c) {
    const int64_t *const s = c->sizes;
    const weft_conv_options options = {WEFT_CONV_OPTIONS_INIT, .stride = WEFT_ALL(c->stride),
        .padding = WEFT_ALL(c->taps / 2), .groups = c->groups};
    weft_tensor *const image = input(n, 4, (const int64_t[]){WEFT_BATCH, s[1], s[2], s[3]});
    weft_tensor *const weight = input(n, 4, (const int64_t[]){s[4], s[3] / c->groups, c->taps, c->taps});
    weft_tensor *const y = wi_channels_last(weft_conv_with(wi_channels_first(image), weight, NULL, &options));
    if (!c->data) return y;
    int64_t sizes[4];
    weft_tensor *gradient = NULL;
    for (int d = 0; d < 4; d++) sizes[d] = weft_tensor_dimension(y, d);
    weft_tensor *const slope = input(n, 4, sizes);
    assert_weft_ok(weft_gradients(weft_sum(weft_mul(y, slope)), &image, 1, &gradient));
    n->inputs[0] = weight; /* the gradient does not depend on the image */
    n->inputs[1] = slope;
    n->input_count = 2;
    return gradient;
}

static weft_tensor *sum_of(weft_tensor *x) {
    return weft_tensor_rank(x) == 3 ? weft_sum(x, 0, 1) : weft_sum(x, 0, 1, 2);
}

/* The epilogue adds a row to all, and has relu; one sum is of what it stores, the other of more. */
static net make_net(const test_case *c, weft_matmul_precision precision) {
    net n = {.graph = test_graph(), .batch = c->sizes[0]};
    assert_weft_ok(weft_graph_set_matmul_precision(n.graph, precision));
    weft_tensor *const made = c->convolution ? convolution_of(&n, c) : product_of(&n, c);
    int64_t sizes[4];
    const int rank = weft_tensor_rank(made);
    for (int d = 0; d < rank; d++) sizes[d] = weft_tensor_dimension(made, d);
    weft_tensor *const beside = input(&n, rank, sizes), *const row = input(&n, 1, &sizes[rank - 1]);
    weft_tensor *const y = weft_relu(weft_add(made, row));
    n.outputs[0] = y;
    n.outputs[1] = sum_of(y);
    n.outputs[2] = sum_of(weft_mul(y, weft_sub(beside, row)));
    n.outputs[3] = weft_add(weft_mul(n.outputs[1], row), weft_number(row, 3));
    assert_weft_ok(weft_graph_status(n.graph));
    return n;
}

static float *numbers_of(const net *n, int which) {
    const size_t count = count_of(n, n->inputs[which]);
    float *const values = calloc(count, sizeof *values);
    test_random random = test_random_named("product sums", (uint64_t)which);
    assert_non_null(values);
    assert_in_range(count, 1, MOST);
    for (size_t i = 0; i < count; i++) values[i] = (float)test_random_between(&random, -1, 1);
    return values;
}

static weft_plan *make_plan(const net *n, const test_case *c, const char *forced) {
    const char *const variable = c->convolution ? "WEFT_CONV" : "WEFT_GEMM";
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = n->batch};
    weft_plan *plan = NULL;
    if (forced) assert_int_equal(setenv(variable, forced, 1), 0);
    assert_weft_ok(weft_plan_create(&plan, n->outputs, OUTPUTS, &options));
    unsetenv(variable);
    for (int i = 0; i < n->input_count; i++) {
        float *const values = numbers_of(n, i);
        assert_weft_ok(
            weft_plan_write(plan, n->inputs[i], values, count_of(n, n->inputs[i]) * sizeof *values));
        free(values);
    }
    return plan;
}

static float *read(const net *n, weft_plan *plan, weft_tensor *output) {
    float *const values = calloc(count_of(n, output), sizeof *values);
    assert_non_null(values);
    assert_weft_ok(weft_plan_read(plan, output, values, count_of(n, output) * sizeof *values));
    return values;
}

/* Sums of so many numbers may be wrong by 2e-7 of the sum of all absolute values for each doubling, as those of the reference
 * in tests/support. */
static void assert_near(const char *what, float got, double wanted, double absolute, size_t count) {
    const double most = 1e-6 * (1.0 + log2((double)count)) * absolute + 1e-30;
    if (fabs((double)got - wanted) > most)
        fail_msg("%s: %.9g instead of %.9g, which may differ by %.2g", what, (double)got, wanted, most);
}

/* Both sums of each column, of what the plan has stored. */
static void assert_sums(const test_case *c, const net *n, weft_plan *plan) {
    float *values[OUTPUTS];
    for (int i = 0; i < OUTPUTS; i++) values[i] = read(n, plan, n->outputs[i]);
    float *const beside = numbers_of(n, n->input_count - 2), *const row = numbers_of(n, n->input_count - 1);
    const size_t columns = count_of(n, n->outputs[1]), rows = count_of(n, n->outputs[0]) / columns;
    for (size_t j = 0; j < columns; j++) {
        double sums[2] = {0, 0}, absolute[2] = {0, 0};
        for (size_t i = 0; i < rows; i++) {
            const double y = (double)values[0][i * columns + j];
            const double other = y * ((double)beside[i * columns + j] - (double)row[j]);
            sums[0] += y;
            sums[1] += other;
            absolute[0] += fabs(y);
            absolute[1] += fabs(other);
        }
        for (int s = 0; s < 2; s++) assert_near(c->what, values[1 + s][j], sums[s], absolute[s], rows);
        assert_near(c->what, values[3][j], (double)values[1][j] * (double)row[j] + 3.0, 4.0 + absolute[0], 1);
    }
    for (int i = 0; i < OUTPUTS; i++) free(values[i]);
    free(beside);
    free(row);
}

/* Runs again, and compares all bits. */
static void assert_repeats(const net *n, weft_plan *plan) {
    float *before[OUTPUTS];
    for (int i = 0; i < OUTPUTS; i++) before[i] = read(n, plan, n->outputs[i]);
    assert_weft_ok(weft_plan_run(plan));
    for (int i = 0; i < OUTPUTS; i++) {
        float *const after = read(n, plan, n->outputs[i]);
        assert_memory_equal(after, before[i], count_of(n, n->outputs[i]) * sizeof *after);
        free(after);
        free(before[i]);
    }
}

/* The product's step has both sums, and no loop reduces anything. */
static void assert_epilogue(const test_case *c, const weft_plan *plan) {
    int sums = 0, reductions = 0;
    for (size_t i = 0; i < plan->partition.step_count; i++) {
        const wi_step *const step = plan->partition.steps[i];
        sums += step->sums;
        reductions += step->kind == WI_STEP_LOOP && step->reduced != 0;
        if (c->forced && step->kind == WI_STEP_PRODUCT)
            assert_string_equal(step->selection->chosen->name, c->forced);
    }
    if (sums != 2 || reductions != 0) fail_msg("%s: %d sums, %d reductions", c->what, sums, reductions);
}

static void try_case(const test_case *c, weft_matmul_precision precision) {
    const bool gives = wi_context_device(test_context())->profile.loops.sums;
    if (test_reduced() && !c->tiny) return;
    const net n = make_net(c, precision);
    weft_plan *const plan = make_plan(&n, c, gives ? c->forced : NULL);
    print_message("%s\n", c->what);
    if (gives) assert_epilogue(c, plan);
    assert_weft_ok(weft_plan_run(plan));
    assert_sums(c, &n, plan);
    assert_repeats(&n, plan);
    weft_plan_release(plan);
    weft_graph_release(n.graph);
}

static void test_values(void **state) {
    (void)state;
    if (wi_context_device(test_context())->caps.engine_model) {
        print_message("skipped: of kernels without an engine\n");
        skip();
    }
    for (size_t i = 0; i < CASES; i++) try_case(&cases[i], WEFT_MATMUL_PRECISION_HIGHEST);
}

/* The convolution of the device's engine, or of a model of it; NULL: a GPU has none. */
static const char *convolution_of_engine(void) {
    static const struct {
        unsigned engine;
        const char *name;
    } engines[] = {{WI_ENGINE_MMA, "conv_mma"}, {WI_ENGINE_WMMA, "conv_wmma"},
        {WI_ENGINE_WMMA12, "conv_wmma12"}, {WI_ENGINE_MFMA, "conv_mfma"}, {WI_ENGINE_XMX8, "conv_xmx8"},
        {WI_ENGINE_XMX16, "conv_xmx16"}};
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        if (wi_context_device(test_context())->caps.engines & engines[i].engine) return engines[i].name;
    return NULL;
}

/* In `medium`, which rounds images and weights to bf16. */
static void test_engine(void **state) {
    const char *const name = convolution_of_engine();
    (void)state;
    if (!name) {
        print_message("skipped: no engine of a GPU, and no model of one (WEFT_MATRIX_ENGINES=model)\n");
        skip();
    }
    for (size_t i = 0; i < CASES; i++) {
        test_case own = cases[i];
        if (!own.convolution || strcmp(own.forced, "conv_gpu") != 0) continue;
        own.forced = name;
        try_case(&own, WEFT_MATMUL_PRECISION_MEDIUM);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_engine)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
