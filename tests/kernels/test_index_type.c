/* The type of kernels' indices: 32 bits on devices that prefer them, where nothing that a kernel counts needs more; 64 bits above, on other
 * devices, and where a profile says so. Sites have sizes that no memory holds: launches are prepared, and nothing runs. */
#include "support/fixture.h"

#include "base/memory.h"
#include "kernels/convolution/conv_product.h"
#include "kernels/registry.h"
#include <stdio.h>
#include <string.h>

enum { WIDTH = 1024, SIDE = 32, STEPS = 8, CLASSES = 16, LABELS = 4, MOST = 64 };

/* ---- the nodes ---- */

typedef struct test_nodes {
    const weft_tensor *nodes[MOST];
    int count;
} test_nodes;

static void gather_nodes(test_nodes *all, const weft_tensor *node) {
    for (int i = 0; i < all->count; i++)
        if (all->nodes[i] == node) return;
    assert_true(all->count < MOST);
    all->nodes[all->count++] = node;
    for (int i = 0; i < node->input_count; i++) gather_nodes(all, node->inputs[i]);
}

/* y and what its gradient with respect to x needs. */
static void add(test_nodes *all, weft_tensor *y, weft_tensor *x) {
    assert_non_null(y);
    gather_nodes(all, y);
    if (!x) return;
    weft_tensor *const loss = weft_tensor_rank(y) ? weft_sum(y) : y, *const gradient = weft_gradient(loss, x);
    assert_non_null(gradient);
    gather_nodes(all, gradient);
}

static void add_rows(test_nodes *all, weft_graph *graph) {
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, WIDTH),
                       *const decay = weft_input(graph, "decay", WEFT_F32, WIDTH),
                       *const index = weft_input(graph, "index", WEFT_I32, WIDTH);
    add(all, weft_argsort(x, 1, false), NULL);
    add(all, weft_topk(x, 4, 1, true), x);
    add(all, weft_cumsum(x, 1), x);
    add(all, weft_cumprod(x, 1), NULL);
    add(all, weft_linear_scan(decay, x, 1, false), x);
    add(all, weft_gather(x, 1, index), x);
    add(all, weft_scatter_sum(x, 1, index, WIDTH), NULL);
}

static void add_picks(test_nodes *all, weft_graph *graph) {
    const int64_t length = WIDTH;
    weft_tensor *const x = weft_input(graph, "picked", WEFT_F32, WIDTH), *const index =
                                                                             weft_input_shape(graph, "picks",
                                                                                 WEFT_I32, 1, &length);
    add(all, weft_index_select(x, 1, index), x);
    add(all, weft_index_copy(x, 1, index, x), NULL);
}

static void add_images(test_nodes *all, weft_graph *graph) {
    const weft_resample_options twice = {WEFT_RESAMPLE_OPTIONS_INIT, .factors = {2.0, 2.0}};
    weft_tensor *const image = weft_input(graph, "image", WEFT_F32, 1, SIDE, SIDE);
    add(all, weft_max_pool2d(image, 2), image);
    add(all, weft_avg_pool2d(image, 2), image);
    add(all, weft_resample(image, &twice), image);
}

static void add_ctc(test_nodes *all, weft_graph *graph) {
    const int64_t probabilities[] = {STEPS, WEFT_BATCH, CLASSES}, lengths[] = {WEFT_BATCH};
    weft_tensor *const x = weft_input_shape(graph, "log_probs", WEFT_F32, 3, probabilities);
    add(all,
        weft_ctc_loss(x, weft_input(graph, "targets", WEFT_I32, LABELS),
            weft_input_shape(graph, "input_lengths", WEFT_I32, 1, lengths),
            weft_input_shape(graph, "target_lengths", WEFT_I32, 1, lengths), NULL),
        x);
}

/* ---- their kernels ---- */

static const char *index_type(const wi_kernel_plan *plan) {
    for (int i = 0; i < plan->macro_count; i++)
        if (strcmp(plan->macros[i].name, "WEFT_INDEX") == 0) return plan->macros[i].value;
    return NULL;
}

static bool has_arguments(const wi_kernel_launch *launch, wi_kernel_argument_kind kind) {
    for (int i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].kind == kind) return true;
    return false;
}

static void fill_site(
    wi_kernel_site *site, const weft_tensor *node, const wi_device_profile *device, int64_t batch) {
    *site = (wi_kernel_site){.node = node, .device = device, .result_format = node->dtype};
    site->result = wi_extent_of(&node->shape, batch);
    for (int i = 0; i < node->input_count; i++) {
        site->inputs[i] = wi_extent_of(&node->inputs[i]->shape, batch);
        site->layouts[i] = wi_layout_contiguous(&site->inputs[i]);
        site->formats[i] = node->inputs[i]->dtype;
    }
}

static void check_plan(
    const wi_implementation *implementation, const wi_kernel_site *site, const char *wanted) {
    wi_arena arena;
    wi_kernel_plan plan;
    wi_arena_init(&arena, NULL);
    assert_weft_ok(wi_implementation_prepare(implementation, NULL, site, &arena, &plan));
    assert_non_null(index_type(&plan));
    if (strcmp(index_type(&plan), wanted) != 0)
        fail_msg("%s has indices of %s, not %s", implementation->name, index_type(&plan), wanted);
    for (int i = 0; i < plan.count; i++) {
        const bool whole =
            has_arguments(plan.launches[i], strcmp(wanted, "int") == 0 ? WI_KERNEL_INT : WI_KERNEL_LONG);
        if (!whole) fail_msg("%s: launch %d has no argument of %s", implementation->name, i, wanted);
    }
    wi_arena_clear(&arena);
}

/* Those whose templates count in WEFT_INDEX, with a kernel for GPUs. */
static const char *const indexed[] = {"gather", "index_select", "scatter_sum", "index_scatter", "index_copy",
    "order_gpu", "put", "cumsum", "cumprod", "linear_scan", "max_pool", "max_pool_gradient", "avg_pool",
    "avg_pool_gradient", "resample", "resample_gradient", "ctc_table", "ctc_gradient"};
enum { INDEXED = sizeof indexed / sizeof *indexed };

static void check_node(const weft_tensor *node, const wi_device_profile *device, int64_t batch,
    const char *wanted, bool *found) {
    for (const wi_family *family = wi_families; *family; family++) {
        for (int i = 0; (*family)[i]; i++) {
            const wi_implementation *const one = (*family)[i];
            for (int k = 0; k < INDEXED; k++) {
                if (strcmp(one->name, indexed[k]) != 0 || !wi_implementation_computes(one, node->op))
                    continue;
                wi_kernel_site site;
                fill_site(&site, node, device, batch);
                check_plan(one, &site, wanted);
                found[k] = true;
            }
        }
    }
}

static void check_all(
    const test_nodes *all, const wi_device_profile *device, int64_t batch, const char *wanted) {
    bool found[INDEXED] = {false};
    for (int i = 0; i < all->count; i++) check_node(all->nodes[i], device, batch, wanted, found);
    for (int k = 0; k < INDEXED; k++)
        if (!found[k]) fail_msg("no node has the kernel %s", indexed[k]);
}

/* Of a batch of 2^17 the largest tensor has 2^29 elements, of one of 2^24 the smallest more than 2^30. */
static void sizes_decide(void **state) {
    test_nodes all = {.count = 0};
    weft_graph *const graph = test_graph();
    wi_device_profile device = *wi_device_kind_named("gpu");
    (void)state;
    device.units = 108;
    device.max_group = device.max_items[0] = device.max_items[1] = 1024;
    add_rows(&all, graph);
    add_picks(&all, graph);
    add_images(&all, graph);
    add_ctc(&all, graph);
    check_all(&all, &device, 1 << 17, "int");
    check_all(&all, &device, 1 << 24, "long");
    device.loops.narrow = false;
    check_all(&all, &device, 1 << 17, "long");
    weft_graph_release(graph);
}

/* One element before, at and behind the limit. */
static void the_limit_is_exact(void **state) {
    static const struct {
        int64_t elements;
        const char *index;
    } rows[] = {{(1 << 30) - 2, "int"}, {(1 << 30) - 1, "int"}, {1 << 30, "long"}};
    wi_device_profile device = *wi_device_kind_named("gpu");
    (void)state;
    device.units = 108;
    device.max_group = device.max_items[0] = 1024;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const wi_conv_geometry geometry = {.images = 1,
            .groups = 1,
            .channels = 1,
            .filters = 1,
            .read = {1, 1, rows[i].elements},
            .made = {1, 1, rows[i].elements},
            .taps = {1, 1, 1},
            .stride = {1, 1, 1},
            .dilation = {1, 1, 1}};
        const wi_gemm_shape shape = {.convolution = &geometry};
        const wi_kernel_site site = {.device = &device, .product = &shape};
        for (int k = 0; wi_convolution_family[k]; k++)
            if (strcmp(wi_convolution_family[k]->name, "conv_naive") == 0)
                check_plan(wi_convolution_family[k], &site, rows[i].index);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes_decide), cmocka_unit_test(the_limit_is_exact)};
    return test_finish(cmocka_run_group_tests_name("index type", tests, NULL, NULL));
}
