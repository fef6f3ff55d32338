/* Epilogues of products and convolutions of class gpu that get four neighbouring columns at once, where rows are multiples of four
 * long and all that the epilogue reads and writes is contiguous: results against those of the portable kernels, whose epilogues get
 * one element. Numbers are small integers, so that sums are exact, and all bits are compared. Of Winograd's convolutions that holds for
 * tiles of 2 x 2 results, which these images take; test_conv_sub_groups has those of 4 x 4. */
/* test slow */
/* test.model.gpu WEFT_MATRIX_ENGINES=model */
/* test.model-{wmma,wmma12,mfma,xmx8,xmx16}.gpu WEFT_MATRIX_ENGINES=model-{} reduced */
#include "kernels/candidates.h"
#include "support/engine_choice.h"
#include "support/fixture.h"

#include "cl/context.h"
#include "ops/op_table.h"
#include "plan/compiled_plan.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What follows the product. */
typedef enum variant {
    PLAIN,     /* nothing */
    BIAS,      /* a row that the plan has stored, and relu */
    RESIDUAL,  /* another product, which the plan has stored: quads at multiples of their size */
    BOUND,     /* inputs as wide as the result, and a row: they may be bound anywhere */
    SLICED,    /* columns of a wider product from the second one on */
    PER_ROW,   /* one number of each row */
    ACROSS,    /* a matrix whose columns are contiguous */
    FORMATS,   /* also stored in other formats */
    JOINED,    /* stored as a part of wider rows */
    DROPPED,   /* dropout */
    GRADIENTS, /* of both factors */
} variant;

typedef struct test_case {
    const char *what, *forced; /* the implementation, in class gpu */
    variant after;
    /* Of products batch, m, k and n; of convolutions images, height, width and channels, filters. */
    int64_t sizes[5], groups; /* groups: of a convolution; 0: a product */
    bool quads;               /* do all epilogues get four columns? */
    bool tiny;                /* for interpreters */
} test_case;

static const test_case cases[] = {
    {"plain", "gpu_tiled", PLAIN, {1, 37, 19, 36}, 0, true, true},
    {"plain, odd", "gpu_tiled", PLAIN, {1, 37, 19, 35}, 0, false, false},
    {"bias", "gpu_tiled", BIAS, {1, 37, 19, 132}, 0, true, false},
    {"bias, one quad", "gpu_tiled", BIAS, {2, 5, 7, 4}, 0, true, true},
    {"bias, odd", "gpu_tiled", BIAS, {1, 37, 19, 131}, 0, false, false},
    {"bias, two columns", "gpu_tiled", BIAS, {1, 67, 19, 2}, 0, false, true},
    {"bias, no steps of k", "gpu_tiled", BIAS, {1, 5, 1, 8}, 0, true, false},
    {"residual", "gpu_tiled", RESIDUAL, {2, 37, 19, 36}, 0, true, true},
    {"residual, odd", "gpu_tiled", RESIDUAL, {2, 37, 19, 35}, 0, false, false},
    {"bound anywhere", "gpu_tiled", BOUND, {1, 37, 19, 36}, 0, true, true},
    {"a slice", "gpu_tiled", SLICED, {1, 37, 19, 36}, 0, true, true},
    {"a number for each row", "gpu_tiled", PER_ROW, {1, 37, 19, 36}, 0, true, false},
    {"columns apart", "gpu_tiled", ACROSS, {1, 37, 19, 36}, 0, false, false},
    {"formats", "gpu_tiled", FORMATS, {1, 37, 19, 36}, 0, true, true},
    {"formats, odd", "gpu_tiled", FORMATS, {1, 37, 19, 35}, 0, false, false},
    {"a part of rows", "gpu_tiled", JOINED, {1, 37, 19, 36}, 0, true, false},
    {"dropout", "gpu_tiled", DROPPED, {1, 37, 19, 36}, 0, true, false},
    {"gradients", "gpu_tiled", GRADIENTS, {1, 40, 20, 36}, 0, true, false},
    {"gradients, odd", "gpu_tiled", GRADIENTS, {1, 37, 19, 35}, 0, false, false},
    {"residual, few rows", "gpu_rows", RESIDUAL, {1, 19, 19, 132}, 0, true, true},
    {"bias, few rows, odd", "gpu_rows", BIAS, {1, 31, 19, 131}, 0, false, false},
    {"residual, few rows, split", "gpu_rows_split", RESIDUAL, {1, 31, 40, 36}, 0, true, false},
    {"residual, split", "gpu_split", RESIDUAL, {2, 37, 40, 36}, 0, true, true},
    {"residual, split, odd", "gpu_split", RESIDUAL, {2, 37, 40, 35}, 0, false, false},
    {"formats, split", "gpu_split", FORMATS, {1, 37, 40, 36}, 0, true, false},
    {"convolution", "conv_gpu", BIAS, {2, 9, 7, 8, 36}, 1, true, true},
    {"convolution, odd", "conv_gpu", BIAS, {2, 9, 7, 7, 35}, 1, false, true},
    {"convolution, residual", "conv_gpu", RESIDUAL, {2, 9, 7, 8, 132}, 1, true, false},
    {"convolution, bound anywhere", "conv_gpu", BOUND, {2, 9, 7, 8, 12}, 1, true, false},
    {"convolution, groups of a quad", "conv_gpu", RESIDUAL, {2, 9, 7, 8, 8}, 2, true, true},
    {"convolution, groups that end in a quad", "conv_gpu", RESIDUAL, {2, 9, 7, 8, 12}, 2, false, false},
    {"convolution, formats", "conv_gpu", FORMATS, {2, 9, 7, 8, 12}, 1, true, false},
    {"convolution, split", "split_gpu", RESIDUAL, {1, 5, 5, 40, 36}, 1, true, true},
    {"one channel a group", "depthwise_gpu", BIAS, {2, 9, 7, 8, 8}, 8, true, true},
    {"one channel a group, residual", "depthwise_gpu", RESIDUAL, {2, 9, 7, 12, 12}, 12, true, false},
    {"one channel a group, formats", "depthwise_gpu", FORMATS, {2, 9, 7, 12, 12}, 12, true, false},
    {"one channel a group, odd", "depthwise_gpu_each", RESIDUAL, {2, 9, 7, 7, 7}, 7, false, false},
    {"one channel a group, columns of many", "conv_gpu", BIAS, {2, 9, 7, 8, 8}, 8, false, false},
    {"convolution, groups, split", "split_gpu", BIAS, {1, 5, 5, 80, 12}, 2, false, false},
    {"Winograd", "winograd_gpu", RESIDUAL, {2, 6, 5, 8, 12}, 1, true, true},
    {"Winograd, odd", "winograd_gpu", BIAS, {2, 5, 6, 9, 11}, 1, false, true},
    {"Winograd, bound anywhere", "winograd_gpu", BOUND, {3, 9, 10, 8, 68}, 1, true, false},
    {"Winograd, formats", "winograd_gpu", FORMATS, {2, 6, 9, 8, 12}, 1, true, false},
    {"Winograd, formats, odd", "winograd_gpu", FORMATS, {2, 6, 9, 8, 10}, 1, false, false},
    {"Winograd, dropout", "winograd_gpu", DROPPED, {2, 6, 9, 8, 12}, 1, true, false},
    {"Winograd, a part of rows", "winograd_gpu", JOINED, {2, 6, 9, 8, 12}, 1, true, false},
    {"Winograd, groups", "winograd_gpu", BIAS, {1, 12, 15, 16, 24}, 2, true, false},
    {"Winograd, groups that end in a quad", "winograd_gpu", RESIDUAL, {1, 12, 15, 16, 20}, 2, false, false},
    {"Winograd, gradients", "winograd_gpu", GRADIENTS, {1, 16, 12, 8, 12}, 1, true, false},
};
enum { CASES = sizeof cases / sizeof *cases };

/* ---- graphs ---- */

enum { INPUTS = 8, OUTPUTS = 6 };

typedef struct product_net {
    weft_graph *graph;
    int64_t batch; /* of a plan: what WEFT_BATCH stands for */
    weft_tensor *inputs[INPUTS], *outputs[OUTPUTS];
    int input_count, output_count;
} product_net;

/* An f32 input, named by its number. */
static weft_tensor *add_input(product_net *n, int rank, const int64_t *sizes) {
    const char name[] = {(char)('a' + n->input_count), 0};
    assert_in_range(n->input_count, 0, INPUTS - 1);
    return n->inputs[n->input_count++] = weft_input_shape(n->graph, name, WEFT_F32, rank, sizes);
}

/* One of the shape of x, but for so many more along an axis. */
static weft_tensor *add_input_like(product_net *n, const weft_tensor *x, int axis, int64_t more) {
    int64_t sizes[4];
    const int rank = weft_tensor_rank(x);
    assert_in_range(rank, 1, 4);
    for (int d = 0; d < rank; d++) sizes[d] = weft_tensor_dimension(x, d);
    sizes[axis] += more;
    return add_input(n, rank, sizes);
}

static void add_output(product_net *n, weft_tensor *tensor) {
    assert_in_range(n->output_count, 0, OUTPUTS - 1);
    n->outputs[n->output_count++] = tensor;
}

static weft_tensor *first_factor(product_net *n, const test_case *c) {
    const int64_t *const s = c->sizes;
    if (!c->groups) return add_input(n, 3, (const int64_t[]){WEFT_BATCH, s[1], s[2]});
    return add_input(n, 4, (const int64_t[]){WEFT_BATCH, s[1], s[2], s[3]});
}

/* The product of x and weights of its own, images with the channels last. The rows of all examples are multiplied by one matrix as one product,
 * whose epilogue takes no matrix for each example: then the weights have a matrix for each, too. */
static weft_tensor *product_of(product_net *n, const test_case *c, weft_tensor *x) {
    const int64_t *const s = c->sizes;
    if (c->after == ACROSS) return weft_matmul(x, add_input(n, 3, (const int64_t[]){WEFT_BATCH, s[2], s[3]}));
    if (!c->groups) return weft_matmul(x, add_input(n, 2, (const int64_t[]){s[2], s[3]}));
    const weft_conv_options options = {WEFT_CONV_OPTIONS_INIT, .padding = 1, .groups = c->groups};
    weft_tensor *const weight = add_input(n, 4, (const int64_t[]){s[4], s[3] / c->groups, 3, 3});
    return wi_channels_last(weft_conv_with(wi_channels_first(x), weight, NULL, &options));
}

static void add_gradients(product_net *n, weft_tensor *x, weft_tensor *made) {
    weft_tensor *const of[] = {x, n->inputs[1]};
    weft_tensor *const loss = weft_sum(weft_mul(weft_square(made), add_input_like(n, made, 0, 0)));
    assert_weft_ok(weft_gradients(loss, of, 2, n->outputs + n->output_count));
    n->output_count += 2;
}

static void add_formats(product_net *n, weft_tensor *y) {
    static const weft_dtype formats[] = {WEFT_F16, WEFT_BF16, WEFT_I32, WEFT_U8};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) add_output(n, weft_cast(y, formats[i]));
}

static void add_epilogue(product_net *n, const test_case *c, weft_tensor *x, weft_tensor *made) {
    const int last = weft_tensor_rank(made) - 1;
    const int64_t width = weft_tensor_dimension(made, last);
    weft_tensor *other;
    switch (c->after) {
    case PLAIN: add_output(n, made); break;
    case BIAS:
        other = add_input_like(n, made, 0, 0);
        other = last == 2 ? weft_sum(other, 0, 1) : weft_sum(other, 0, 1, 2);
        add_output(n, other);
        add_output(n, weft_relu(weft_add(made, other)));
        break;
    case RESIDUAL:
        other = product_of(n, c, x);
        add_output(n, other);
        add_output(n, weft_relu(weft_add(made, other)));
        break;
    case BOUND:
        other = weft_add(add_input_like(n, made, 0, 0), add_input(n, 1, &width));
        add_output(n, weft_relu(weft_add(made, other)));
        break;
    case SLICED:
        other = weft_matmul(x, add_input(n, 2, (const int64_t[]){c->sizes[2], width + 4}));
        add_output(n, other);
        add_output(n, weft_add(made, weft_slice(other, last, 1, 1 + width)));
        break;
    case PER_ROW: add_output(n, weft_mul(made, add_input_like(n, made, last, 1 - width))); break;
    case ACROSS:
        add_output(n, weft_add(made, weft_transpose(add_input_like(n, weft_transpose(made), 0, 0))));
        break;
    case FORMATS: add_formats(n, weft_relu(weft_add(made, add_input(n, 1, &width)))); break;
    case JOINED:
        other = weft_relu(made);
        add_output(n, weft_concat(WEFT_TENSORS(other, add_input_like(n, made, last, 3 - width)), last));
        break;
    case DROPPED: add_output(n, weft_dropout(made, 0.5f)); break;
    case GRADIENTS: add_gradients(n, x, made); break;
    }
}

static product_net make_net(const test_case *c, weft_matmul_precision precision) {
    product_net n = {.graph = test_graph(), .batch = c->sizes[0]};
    assert_weft_ok(weft_graph_set_matmul_precision(n.graph, precision));
    weft_tensor *const x = first_factor(&n, c);
    add_epilogue(&n, c, x, product_of(&n, c, x));
    assert_weft_ok(weft_graph_status(n.graph));
    return n;
}

/* ---- plans ---- */

static void fill(int input, float *values, size_t count) {
    test_random random = test_random_named("epilogue quads", (uint64_t)input);
    for (size_t e = 0; e < count; e++) values[e] = (float)(test_random_below(&random, 5) - 2);
}

static size_t count_of(const product_net *n, const weft_tensor *tensor) {
    size_t count = 1;
    for (int d = 0; d < weft_tensor_rank(tensor); d++) {
        const int64_t size = weft_tensor_dimension(tensor, d);
        count *= (size_t)(size == WEFT_BATCH ? n->batch : size);
    }
    return count;
}

/* A plan by the implementation that is forced (NULL: whichever), after a run. */
static weft_plan *make_plan(const product_net *n, const test_case *c, const char *forced) {
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = n->batch};
    const char *const variable = c->groups ? "WEFT_CONV" : "WEFT_GEMM";
    weft_plan *plan = NULL;
    if (forced) assert_int_equal(setenv(variable, forced, 1), 0);
    assert_weft_ok(weft_plan_create(&plan, n->outputs, (size_t)n->output_count, &options));
    if (forced) unsetenv(variable);
    for (int i = 0; i < n->input_count; i++) {
        const size_t count = count_of(n, n->inputs[i]);
        float *const values = malloc(count * sizeof *values);
        assert_non_null(values);
        fill(i, values, count);
        assert_weft_ok(weft_plan_write(plan, n->inputs[i], values, count * sizeof *values));
        free(values);
    }
    n->graph->draws = 0; /* both plans have the same random numbers */
    assert_weft_ok(weft_plan_run(plan));
    return plan;
}

/* All products are computed as the case says, and their epilogues get so many columns. */
static void assert_columns(const test_case *c, const weft_plan *plan) {
    const int most = wi_context_device(test_context())->profile.loops.map_elements;
    int products = 0;
    for (size_t i = 0; i < plan->partition.step_count; i++) {
        const wi_step *const step = plan->partition.steps[i];
        if (step->kind != WI_STEP_PRODUCT) continue;
        const int columns = wi_step_elements(&plan->partition, &plan->loops.of[i]);
        products++;
        assert_string_equal(step->selection->chosen->name, c->forced);
        if (columns != (c->quads && most > 1 ? most : 1))
            fail_msg("%s: %d columns at once", c->what, columns);
    }
    assert_true(products > 0);
}

/* The bytes of an output: new memory. */
static void *read_output(const product_net *n, weft_plan *plan, int output, size_t *bytes) {
    weft_tensor *const tensor = n->outputs[output];
    *bytes = count_of(n, tensor) * weft_dtype_size(weft_tensor_dtype(tensor));
    void *const values = malloc(*bytes);
    assert_non_null(values);
    assert_weft_ok(weft_plan_read(plan, tensor, values, *bytes));
    return values;
}

static void compare(const product_net *n, const test_case *c, weft_plan *plan, weft_plan *portable) {
    for (int i = 0; i < n->output_count; i++) {
        size_t bytes;
        void *const got = read_output(n, plan, i, &bytes);
        void *const wanted = read_output(n, portable, i, &bytes);
        if (memcmp(got, wanted, bytes) != 0) fail_msg("%s: output %d differs", c->what, i);
        free(got);
        free(wanted);
    }
}

static void try_case(const test_case *c, weft_matmul_precision precision) {
    const bool is_gpu = wi_context_device(test_context())->caps.device_class == WEFT_CLASS_GPU;
    const product_net n = make_net(c, precision);
    weft_plan *const plan = make_plan(&n, c, is_gpu ? c->forced : NULL);
    weft_plan *const portable = make_plan(&n, c, c->groups ? "conv_naive" : "naive");
    print_message("%s\n", c->what);
    if (is_gpu) assert_columns(c, plan);
    compare(&n, c, plan, portable);
    weft_plan_release(portable);
    weft_plan_release(plan);
    weft_graph_release(n.graph);
}

static void test_values(void **state) {
    (void)state;
    if (wi_context_device(test_context())->caps.engine_model) {
        print_message("skipped: of kernels without an engine\n");
        skip();
    }
    for (size_t i = 0; i < CASES; i++)
        if (cases[i].tiny || !test_reduced()) try_case(&cases[i], WEFT_MATMUL_PRECISION_HIGHEST);
}

/* The kernel of the device's engine that computes what this one computes; NULL: there is none. */
static const char *kernel_of_engine(const char *engine, const char *kernel) {
    static char name[32];
    if (strcmp(kernel, "conv_gpu") == 0)
        snprintf(name, sizeof name, "conv_%s", engine);
    else if (strcmp(kernel, "gpu_tiled") == 0)
        snprintf(name, sizeof name, "gpu_%s", engine);
    else if (strcmp(kernel, "gpu_split") == 0)
        snprintf(name, sizeof name, "gpu_%s_split", engine);
    else
        return NULL;
    return name;
}

/* In `medium`, which rounds factors to bf16: these are small enough to stay as they are, but not those of gradients. */
static void test_engine(void **state) {
    const char *const engine = engine_of_device();
    (void)state;
    if (!engine) skip();
    for (size_t i = 0; i < CASES; i++) {
        test_case own = cases[i];
        own.forced = kernel_of_engine(engine, own.forced);
        if (!own.forced || own.after == GRADIENTS || (test_reduced() && !own.tiny)) continue;
        try_case(&own, WEFT_MATMUL_PRECISION_MEDIUM);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_engine)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
