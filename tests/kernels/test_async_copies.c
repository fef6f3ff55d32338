/* Tiles whose blocks come by asynchronous copies (docs/decisions/products.md), against the naive kernels, by both
 * models of the instructions: what is right when all copies are made at once and when they are made at the last moment needs no luck.
 * And what serves where the instructions fail. A tuning choice for each site brings the variant into the plan. */
#include "kernels/selection.h"
#include "support/fixture.h"

#include "cl/async_copies.h"
#include "cl/context.h"
#include "cl/kernel_source.h"
#include "kernels/product/gemm_tile_gpu.h"
#include "ops/op_table.h"
#include "support/conv_cases.h"
#include "support/scratch.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* So many units that k is split. */
enum { UNITS = 512, MOST = 1 << 18 };

static const char *const models[] = {"model", "model-late"};
enum { MODELS = sizeof models / sizeof *models };

/* ---- convolutions ---- */

static bool is_on_processor(void) {
    const bool is = wi_context_device(test_context())->caps.device_class == WEFT_CLASS_CPU;
    if (is) print_message("skipped: kernels of class gpu\n");
    return is;
}

static bool skipped(void) {
    if (is_on_processor()) return true;
    if (test_reduced()) print_message("skipped: WEFT_TEST_REDUCED asks for shapes of less than a tile\n");
    return test_reduced();
}

static weft_context *context_with(const char *copies, scratch_log *log) {
    if (copies)
        setenv("WEFT_ASYNC_COPIES", copies, 1);
    else
        unsetenv("WEFT_ASYNC_COPIES");
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .work_units = UNITS,
            .cache_dir = test_path("cache"), .log = log ? scratch_log_line : NULL, .log_user = log});
    unsetenv("WEFT_ASYNC_COPIES");
    return context;
}

/* Opening a context takes longer than most kernels: the tests share one of each model. */
static weft_context *shared[MODELS];

static weft_context *context_of(int model) {
    if (!shared[model]) shared[model] = context_with(models[model], NULL);
    return shared[model];
}

static int close_contexts(void **state) {
    (void)state;
    for (int i = 0; i < MODELS; i++) weft_context_release(shared[i]);
    return 0;
}

static void has_stages(const wi_step *step) {
    assert_int_equal(step->selection->variant->values[WI_TILE_STAGES], 3);
}

static void look(const conv_cases *k, const weft_plan *plan, const wi_step *step) {
    has_stages(step);
    if (k == &conv_split) assert_in_range(conv_net_splits(plan, step), 2, 32);
}

static void try_all(const conv_cases *k) {
    if (skipped()) skip();
    for (int i = 0; i < MODELS; i++) conv_cases_compare(k, "async", context_of(i), look);
}

static void convolutions_are_right(void **state) {
    (void)state;
    try_all(&conv_direct);
}

static void split_convolutions_are_right(void **state) {
    (void)state;
    try_all(&conv_split);
}

static void weights_are_right(void **state) {
    (void)state;
    try_all(&conv_weight);
}

/* ---- products ---- */

/* gap: columns of A and B that are not theirs, in each row of their memory. */
typedef struct product_case {
    int64_t batch, m, n, k;
    bool a_transposed, b_transposed;
    int64_t gap;
} product_case;

/* Blocks from none to many, with and without a rest; tiles with and without; operands in both directions, and at places where quads
 * cannot be read at once. A reduced run has the first three. */
static const product_case products[] = {{1, 1, 1, 1, false, false, 0}, {1, 128, 128, 8, false, false, 0},
    {2, 36, 40, 32, true, true, 0}, {1, 132, 260, 16, false, true, 0}, {1, 130, 132, 24, true, false, 0},
    {3, 129, 132, 301, false, false, 0}, {1, 260, 136, 300, false, true, 4}, {1, 136, 72, 67, true, false, 4},
    {1, 132, 140, 264, true, false, 0}, {2, 51, 67, 83, false, true, 3}};
enum { PRODUCTS = sizeof products / sizeof *products, REDUCED = 3 };

static int product_count(void) {
    return test_reduced() ? REDUCED : PRODUCTS;
}

typedef struct product_net {
    weft_tensor *inputs[PRODUCTS][2], *outputs[PRODUCTS];
} product_net;

static weft_tensor *matrix_of(weft_graph *graph, weft_tensor **input, const product_case *c, int64_t rows,
    int64_t columns, bool transposed) {
    const int64_t across = transposed ? rows : columns;
    *input = weft_input_shape(
        graph, "x", WEFT_F32, 3, (const int64_t[]){c->batch, transposed ? columns : rows, across + c->gap});
    weft_tensor *const own = c->gap > 0 ? weft_slice(*input, 2, 0, across) : *input;
    return transposed ? weft_transpose(own) : own;
}

static product_net products_in(weft_graph *graph) {
    product_net net;
    for (int i = 0; i < product_count(); i++) {
        const product_case *const c = &products[i];
        weft_tensor *const a = matrix_of(graph, &net.inputs[i][0], c, c->m, c->k, c->a_transposed);
        weft_tensor *const b = matrix_of(graph, &net.inputs[i][1], c, c->k, c->n, c->b_transposed);
        net.outputs[i] = weft_relu(weft_matmul(a, b));
    }
    assert_weft_ok(weft_graph_status(graph));
    return net;
}

static size_t count_of(const weft_tensor *tensor) {
    size_t count = 1;
    for (int i = 0; i < weft_tensor_rank(tensor); i++) count *= (size_t)weft_tensor_dimension(tensor, i);
    return count;
}

/* Small multiples of 1/8, whose sums are exact in any order. */
static weft_plan *plan_of(product_net *net, const char *forced) {
    static float numbers[MOST];
    weft_plan *plan = NULL;
    if (forced) setenv("WEFT_GEMM", forced, 1);
    assert_weft_ok(weft_plan_create(&plan, net->outputs, (size_t)product_count(), NULL));
    unsetenv("WEFT_GEMM");
    for (int i = 0; i < 2 * product_count(); i++) {
        weft_tensor *const input = net->inputs[i / 2][i % 2];
        const size_t count = count_of(input);
        test_random random = test_random_named("asynchronous copies", (uint64_t)i);
        assert_in_range(count, 1, MOST);
        for (size_t e = 0; e < count; e++) numbers[e] = (float)(test_random_below(&random, 17) - 8) / 8.0f;
        assert_weft_ok(weft_plan_write(plan, input, numbers, count * sizeof *numbers));
    }
    assert_weft_ok(weft_plan_run(plan));
    return plan;
}

static size_t product_steps(const weft_plan *plan, const wi_step **steps) {
    size_t count = 0;
    for (size_t i = 0; i < plan->partition.step_count; i++) {
        const wi_step *const step = plan->partition.steps[i];
        if (step->selection && wi_step_site(&plan->partition, step).node->op == &wi_op_matmul)
            steps[count++] = step;
    }
    assert_int_equal(count, product_count());
    return count;
}

static void assert_chosen(const char *own, const wi_step *const *steps, size_t count) {
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(steps[i]->selection->chosen->name, own);
        assert_string_equal(steps[i]->selection->variant->name, "async");
        has_stages(steps[i]);
    }
}

static void try_products(int model, const char *own) {
    static float wanted[MOST], got[MOST];
    const wi_step *steps[PRODUCTS];
    weft_context *const context = context_of(model);
    product_net net = products_in(weft_context_graph(context));
    weft_plan *const naive = plan_of(&net, "naive");
    conv_net_choose(wi_context_device(context), own, "async", naive, steps, product_steps(naive, steps));
    weft_plan *const tiles = plan_of(&net, NULL);
    assert_chosen(own, steps, product_steps(tiles, steps));
    for (int i = 0; i < product_count(); i++) {
        const size_t bytes = count_of(net.outputs[i]) * sizeof(float);
        assert_weft_ok(weft_plan_read(naive, net.outputs[i], wanted, bytes));
        assert_weft_ok(weft_plan_read(tiles, net.outputs[i], got, bytes));
        for (size_t e = 0; e < bytes / sizeof(float); e++)
            if (got[e] != wanted[e])
                fail_msg("%s: product %d, element %zu is %g, not %g", models[model], i, e, (double)got[e],
                    (double)wanted[e]);
    }
    weft_plan_release(naive);
    weft_plan_release(tiles);
}

static void products_are_right(void **state) {
    (void)state;
    if (is_on_processor()) skip();
    for (int i = 0; i < MODELS; i++) try_products(i, "gpu_tiled");
}

/* ---- which kernels serve ---- */

static const wi_gemm_shape large = {1, 4096, 4096, 4096, 0, 4096, 1, 0, 4096, 1, NULL};

/* The variant that serves a large product in these formats on a GPU. */
static const char *chosen(weft_context *context, const weft_dtype formats[2]) {
    wi_device *const device = wi_context_device(context);
    const wi_kernel_site site = {.device = &device->profile,
        .product = &large,
        .formats = {formats[0], formats[1]},
        .precision = WEFT_F32};
    static wi_selection selection;
    const bool is_processor = device->profile.is_processor;
    device->profile.is_processor = false;
    setenv("WEFT_GEMM", "gpu_tiled", 1);
    assert_weft_ok(wi_select(&selection, device, &wi_op_matmul, &site));
    unsetenv("WEFT_GEMM");
    device->profile.is_processor = is_processor;
    return selection.variant->name;
}

static const weft_dtype whole[] = {WEFT_F32, WEFT_F32}, narrow[] = {WEFT_F32, WEFT_BF16};

/* Operands that must be converted on the way come through registers. */
static void they_serve_large_products_of_f32(void **state) {
    (void)state;
    if (skipped()) skip();
    for (int i = 0; i < MODELS; i++) {
        assert_string_equal(chosen(context_of(i), whole), "async");
        assert_string_not_equal(chosen(context_of(i), narrow), "async");
    }
    assert_string_not_equal(chosen(test_context(), whole), "async");
}

/* The second start knows it from the file. */
static void assert_refused(const char *copies, const char *why, int starts) {
    for (int start = 0; start < starts; start++) {
        scratch_log log = {0};
        weft_context *const context = context_with(copies, &log);
        wi_device *const device = wi_context_device(context);
        device->profile.async_copies = true;
        assert_string_not_equal(chosen(context, whole), "async");
        assert_string_not_equal(chosen(context, whole), "async");
        assert_false(wi_async_copies_are_right(device));
        assert_int_equal(strstr(log.text, "are not used: ") != NULL, start == 0);
        if (start == 0) assert_non_null(strstr(log.text, why));
        weft_context_release(context);
    }
}

/* A device that seems to have the instructions, with a compiler of another processor. */
static void a_compiler_without_them_does_not_have_to_take_them(void **state) {
    (void)state;
    if (skipped()) skip();
    assert_refused(NULL, "asynchronous copies are not used: ", 2);
}

/* The file with another text where the part is, in a folder that takes the place of cl_kernels. */
static void replace_kernel(const char *name, const char *part, const char *other) {
    char folder[4096], path[4200];
    const wi_kernel_file *file = wi_kernel_files;
    while (strcmp(file->name, name) != 0) file++;
    char *text;
    assert_weft_ok(wi_kernel_file_text(&text, file, NULL));
    const char *const at = strstr(text, part);
    assert_non_null(at);
    snprintf(folder, sizeof folder, "%s", test_path("kernels"));
    assert_int_equal(mkdir(folder, 0700), 0);
    snprintf(path, sizeof path, "%s/product", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/%s", folder, file->path);
    FILE *const out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out, "%.*s%s%s", (int)(at - text), text, other, at + strlen(part));
    assert_int_equal(fclose(out), 0);
    wi_release(NULL, text);
    setenv("WEFT_KERNEL_DIR", folder, 1);
}

/* What is not there is no zero. The answer to the right model, which the folder has, is not taken for that to another text. */
static void wrong_numbers_are_found(void **state) {
    (void)state;
    if (skipped()) skip();
    replace_kernel("async_copy_model.clh", ": 0.0f;", ": 1.0f;");
    assert_refused("model", "asynchronous copies by a model are not used: they write wrong numbers", 1);
    unsetenv("WEFT_KERNEL_DIR");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(convolutions_are_right),
        cmocka_unit_test(split_convolutions_are_right), cmocka_unit_test(weights_are_right),
        cmocka_unit_test(products_are_right), cmocka_unit_test(they_serve_large_products_of_f32),
        cmocka_unit_test(a_compiler_without_them_does_not_have_to_take_them),
        cmocka_unit_test(wrong_numbers_are_found)};
    setenv("WEFT_SELF_TEST", "0", 1); /* a choice of what is wrong is compared here, and not left out */
    return test_finish(cmocka_run_group_tests_name("asynchronous copies", tests, NULL, close_contexts));
}
