/* The self-test of kernels: it passes right ones, and finds wrong ones and those that do not compile; another kernel
 * serves then, the log says why, and another version of the driver is tested anew. */
/* test slow not_optimised */
#include "ops/op_descriptors.h"
#include "support/broken_kernel.h"
#include "support/checks.h"
#include "support/scratch.h"

#include "cl/context.h"
#include "cl/disk_cache.h"
#include "cl/findings.h"
#include "kernels/convolution/conv_product.h"
#include "kernels/convolution/conv_weight.h"
#include "kernels/registry.h"
#include "kernels/selection.h"
#include "kernels/self_test.h"
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>

enum { SIZE = 96, MOST_TEXT = 1 << 16 };

/* ---- right kernels ---- */

/* Opening a context takes longer than most kernels: tests share one with right kernels, whose cache is in the group's folder. */
static char *right_folder;
static weft_context *right_context;

static int open_right(void **state) {
    (void)state;
    setenv("WEFT_SELF_TEST", "1", 1);
    right_folder = scratch_make();
    right_context = scratch_context(right_folder, NULL);
    return 0;
}

static int close_right(void **state) {
    (void)state;
    weft_context_release(right_context);
    scratch_remove(right_folder);
    return 0;
}

typedef struct tested_kernel {
    const wi_implementation *implementation;
    const wi_variant *variant;
    const wi_op *op;
} tested_kernel;

/* Has it not been asked for before? */
static bool is_new(tested_kernel kernel) {
    static tested_kernel known[1024];
    static size_t count;
    for (size_t i = 0; i < count; i++)
        if (known[i].implementation == kernel.implementation && known[i].variant == kernel.variant &&
            known[i].op == kernel.op)
            return false;
    assert_true(count < sizeof known / sizeof *known);
    known[count++] = kernel;
    return true;
}

/* Of each implementation the first variant that takes the site, and those that have taken none before: variants are one text, and the
 * numbers that they are compared with are the site's. */
static int test_all(wi_device *device, const wi_op *op, const wi_kernel_site *site) {
    int tested = 0;
    for (const wi_family *family = wi_families; *family; family++) {
        for (int i = 0; (*family)[i]; i++) {
            const wi_implementation *const implementation = (*family)[i];
            const wi_variant *variant;
            bool first = true;
            if (!wi_implementation_computes(implementation, op)) continue;
            for (int v = 0; (variant = wi_implementation_variant(implementation, v)) != NULL; v++) {
                if (implementation->run || !wi_implementation_accepts(implementation, variant, site))
                    continue;
                if (!is_new((tested_kernel){implementation, variant, op}) && !first) continue;
                first = false;
                if (wi_is_in_quarantine(device, implementation, variant, op, site))
                    fail_msg("%s/%s is in quarantine", implementation->name, variant->name);
                tested++;
            }
        }
    }
    return tested;
}

/* The first one alone in class gpu, whose kernels take long to compile on processors: what depends on the format is how far
 * results may be apart, and that does not depend on the class. */
static const weft_dtype formats[][3] = {
    {WEFT_F32, WEFT_F32, WEFT_F32}, {WEFT_BF16, WEFT_BF16, WEFT_BF16}, {WEFT_F16, WEFT_F32, WEFT_F32}};

static size_t format_count(const wi_device *device) {
    return device->caps.device_class == WEFT_CLASS_GPU ? 1 : sizeof formats / sizeof *formats;
}

static void right_products_pass(void **state) {
    static const int64_t sizes[][4] = {{1, 256, 256, 256}, {1, 4, 300, 200}, {3, 40, 50, 60}, {1, 1, 9, 7}};
    wi_device *const device = wi_context_device(right_context);
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (size_t way = 0; way < 4 * format_count(device); way++) {
            const int64_t b = sizes[i][0], m = sizes[i][1], n = sizes[i][2], k = sizes[i][3];
            const wi_gemm_shape shape = {b, m, n, k, m * k, way & 1 ? 1 : k, way & 1 ? m : 1, k * n,
                way & 2 ? 1 : n, way & 2 ? k : 1, NULL};
            const weft_dtype *const format = formats[way >> 2];
            const wi_kernel_site site = {.device = &device->profile,
                .product = &shape,
                .formats = {format[0], format[1]},
                .precision = format[2]};
            assert_true(test_all(device, &wi_op_matmul, &site) > 0);
        }
    }
}

typedef struct conv_case {
    int64_t size, channels, filters, groups, window, stride, padding; /* channels and filters of a group */
} conv_case;

static const conv_case convolutions[] = {{14, 64, 64, 1, 3, 1, 1}, {9, 3, 20, 1, 5, 2, 2},
    {13, 32, 48, 1, 1, 1, 0}, {10, 1, 1, 32, 3, 1, 1}, {23, 3, 16, 1, 11, 4, 2}, {8, 6, 5, 3, 3, 1, 0}};

/* Image (2, size, size, groups · channels), weight (groups · filters, channels, window, window). */
static wi_conv_geometry geometry_of(const conv_case *c, bool transposed) {
    const int64_t result = (c->size + 2 * c->padding - c->window) / c->stride + 1;
    const int64_t read = transposed ? result : c->size, made = transposed ? c->size : result;
    const int64_t taps = c->window * c->window, step = c->groups * (transposed ? c->filters : c->channels);
    return (wi_conv_geometry){.transposed = transposed,
        .images = 2,
        .groups = c->groups,
        .channels = transposed ? c->filters : c->channels,
        .filters = transposed ? c->channels : c->filters,
        .read = {1, read, read},
        .made = {1, made, made},
        .taps = {1, c->window, c->window},
        .stride = {1, c->stride, c->stride},
        .dilation = {1, 1, 1},
        .before = {0, c->padding, c->padding},
        .image = read * read * step,
        .step = {0, read * step, step},
        .w_filter = transposed ? taps : c->channels * taps,
        .w_channel = transposed ? c->channels * taps : taps,
        .w_tap = {0, c->window, 1},
        .w_group = c->filters * c->channels * taps};
}

static void test_convolution(wi_device *device, const conv_case *c, bool transposed) {
    const wi_conv_geometry w = geometry_of(c, transposed);
    const wi_gemm_shape shape = {.batch = w.images * w.made[1],
        .m = w.made[2],
        .n = w.filters * w.groups,
        .k = w.channels * w.taps[1] * w.taps[2],
        .convolution = &w};
    for (size_t f = 0; f < format_count(device); f++) {
        const wi_kernel_site site = {.device = &device->profile,
            .product = &shape,
            .formats = {formats[f][0], formats[f][1]},
            .precision = formats[f][2]};
        assert_true(test_all(device, transposed ? &wi_op_conv_data : &wi_op_conv, &site) > 0);
    }
}

static void test_weight(wi_device *device, const conv_case *c, weft_tensor *node) {
    const int64_t result = (c->size + 2 * c->padding - c->window) / c->stride + 1;
    const wi_shape x = {.rank = 4, .dims = {2, c->size, c->size, c->groups * c->channels}};
    const wi_shape y = {.rank = 4, .dims = {2, result, result, c->groups * c->filters}};
    const int32_t window = (int32_t)c->window, stride = (int32_t)c->stride, padding = (int32_t)c->padding;
    node->op = &wi_op_conv_weight;
    node->input_count = 2;
    node->shape = (wi_shape){.rank = 4, .dims = {c->groups * c->filters, c->channels, window, window}};
    const wi_attributes attributes = {.conv = {.window = {.size = {1, window, window},
                                                   .stride = {1, stride, stride},
                                                   .dilation = {1, 1, 1},
                                                   .padding = {0, padding, padding}},
                                          .groups = (int32_t)c->groups}};
    node->attributes = &attributes;
    wi_kernel_site site = {.node = node,
        .device = &device->profile,
        .inputs = {wi_extent_of(&x, 1), wi_extent_of(&y, 1)},
        .result = wi_extent_of(&node->shape, 1)};
    for (int i = 0; i < 2; i++) site.layouts[i] = wi_layout_contiguous(&site.inputs[i]);
    assert_true(test_all(device, &wi_op_conv_weight, &site) > 0);
}

static void right_convolutions_pass(void **state) {
    wi_device *const device = wi_context_device(right_context);
    (void)state;
    weft_tensor *const node = calloc(1, sizeof *node + 2 * sizeof(weft_tensor *));
    for (size_t i = 0; i < sizeof convolutions / sizeof *convolutions; i++) {
        test_convolution(device, &convolutions[i], false);
        test_convolution(device, &convolutions[i], true);
        test_weight(device, &convolutions[i], node);
    }
    free(node);
}

/* ---- wrong kernels ---- */

static const wi_gemm_shape square = {1, SIZE, SIZE, SIZE, 0, SIZE, 1, 0, SIZE, 1, NULL};

static wi_selection choose(weft_context *context) {
    const wi_kernel_site site = {.device = &wi_context_device(context)->profile, .product = &square};
    wi_selection selection;
    assert_ok(wi_select(&selection, wi_context_device(context), &wi_op_matmul, &site));
    return selection;
}

/* C = A · B for A of ones and B of twos, through a plan. */
static void product_is_right(weft_context *context) {
    static float a[SIZE * SIZE], b[SIZE * SIZE], c[SIZE * SIZE];
    weft_graph *graph = NULL;
    weft_plan *plan = NULL;
    assert_ok(weft_graph_create(&graph, context));
    const int64_t dims[] = {SIZE, SIZE};
    weft_tensor *const x = weft_input_shape(graph, "a", WEFT_F32, 2, dims);
    weft_tensor *const y = weft_input_shape(graph, "b", WEFT_F32, 2, dims);
    weft_tensor *product = weft_matmul(x, y);
    assert_ok(weft_plan_create(&plan, &product, 1, NULL));
    for (int i = 0; i < SIZE * SIZE; i++) {
        a[i] = 1.0f;
        b[i] = 2.0f;
    }
    assert_ok(weft_plan_write(plan, x, a, sizeof a));
    assert_ok(weft_plan_write(plan, y, b, sizeof b));
    assert_ok(weft_plan_run(plan));
    assert_ok(weft_plan_read(plan, product, c, sizeof c));
    for (int i = 0; i < SIZE * SIZE; i++) assert_true(c[i] == 2.0f * SIZE);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static size_t faults_of(weft_context *context) {
    size_t count, faults = 0;
    const wi_finding *const all = wi_findings_all(wi_context_device(context), &count);
    for (size_t i = 0; i < count; i++) faults += all[i].fault != NULL;
    return faults;
}

/* Of all implementations that have the file, of which the usual one is the first. A second start knows it from the cache. */
static void expect_quarantine(
    const char *folder, const wi_implementation *usual, const char *why, int starts) {
    for (int start = 0; start < starts; start++) {
        scratch_log log = {0};
        weft_context *const context = scratch_context(folder, &log);
        product_is_right(context);
        const wi_selection selection = choose(context);
        assert_string_not_equal(selection.chosen->file, usual->file);
        int quarantined = 0;
        for (int i = 0; i < selection.count; i++) {
            if (selection.candidates[i].verdict != WI_VERDICT_QUARANTINE) continue;
            assert_string_equal(selection.candidates[i].implementation->file, usual->file);
            quarantined++;
        }
        assert_true(quarantined > 0 && (size_t)quarantined == faults_of(context));
        assert_non_null(strstr(log.text, "quarantine: matmul by "));
        assert_non_null(strstr(log.text, usual->name));
        assert_non_null(strstr(log.text, wi_context_device(context)->info.driver));
        assert_non_null(strstr(log.text, why));
        weft_context_release(context);
    }
}

static void a_wrong_kernel_does_not_serve(void **state) {
    const wi_implementation *const usual = choose(right_context).chosen;
    /* The multiply-adds of a kernel of class gpu stand in a header. */
    const bool multiplies = kernel_has(usual->file, "WEFT_MULTIPLY_ADD(");
    break_kernel(
        scratch_path(*state, "kernels"), usual->file, multiplies ? "WEFT_MULTIPLY_ADD(" : "acc[i / 4 *", "-");
    expect_quarantine(*state, usual, "it computes wrong numbers", 2);
    unsetenv("WEFT_KERNEL_DIR"); /* the finding is of that text */
    weft_context *const context = scratch_context(*state, NULL);
    assert_ptr_equal(choose(context).chosen, usual);
    weft_context_release(context);
}

static void a_kernel_that_does_not_compile_does_not_serve(void **state) {
    const wi_implementation *const usual = choose(right_context).chosen;
    break_kernel(scratch_path(*state, "kernels"), usual->file, "__kernel", "no such type ");
    expect_quarantine(*state, usual, "it fails: ", 1);
}

/* When every product is in quarantine, that is an error, not a wrong result. It is the last test of the shared context. */
static void no_right_kernel_is_an_error(void **state) {
    wi_device *const device = wi_context_device(right_context);
    (void)state;
    const wi_kernel_site site = {.device = &device->profile, .product = &square};
    wi_selection selection;
    while (wi_select(&selection, device, &wi_op_matmul, &site) == WEFT_OK) {
        char name[WI_SELF_TEST_NAME];
        wi_self_test_name(name, device, selection.chosen, selection.variant, &wi_op_matmul, &site);
        wi_findings_add(device, name, "somebody\tsays\nso");
    }
    assert_fails(wi_select(&selection, device, &wi_op_matmul, &site), WEFT_ERROR_UNSUPPORTED,
        "matmul: every kernel for this op computes wrong numbers on this device and driver");
}

static void another_driver_is_tested_anew(void **state) {
    const wi_implementation *const usual = choose(right_context).chosen;
    weft_context *const context = scratch_context(*state, NULL);
    wi_device *const device = wi_context_device(context);
    const wi_kernel_site site = {.device = &device->profile, .product = &square};
    char name[WI_SELF_TEST_NAME];
    const wi_selection first = choose(context);
    wi_self_test_name(name, device, first.chosen, first.variant, &wi_op_matmul, &site);
    wi_findings_add(device, name, "the old driver was wrong");
    assert_true(choose(context).chosen != usual || choose(context).variant != first.variant);
    wi_findings_close(device);
    wi_disk_cache_close(device);
    strcat(device->info.driver, "+new");
    assert_ok(wi_disk_cache_open(device, *state));
    assert_null(wi_findings_find(device, name));
    assert_true(choose(context).chosen == usual && choose(context).variant == first.variant);
    assert_null(wi_findings_find(device, name)->fault); /* tested again */
    weft_context_release(context);
}

/* ---- engines that compute wrong numbers ---- */

enum { ENGINE_LOCAL = 48 << 10 };

/* Of a product in bf16 that is large enough for an engine. */
static bool engine_serves(weft_context *context) {
    static const wi_gemm_shape large = {1, 512, 512, 512, 0, 512, 1, 0, 512, 1, NULL};
    wi_device *const device = wi_context_device(context);
    const wi_kernel_site site = {.device = &device->profile,
        .product = &large,
        .formats = {WEFT_BF16, WEFT_BF16},
        .precision = WEFT_BF16};
    wi_selection selection;
    assert_true(device->profile.engines != 0);
    assert_ok(wi_select(&selection, device, &wi_op_matmul, &site));
    return selection.chosen->needs.engines != 0;
}

/* The compiler takes the instruction, and the sums are not what they should be: as with a driver that knows it wrongly. */
static void a_wrong_engine_does_not_serve(void **state) {
    if (wi_context_device(right_context)->profile.local_bytes < ENGINE_LOCAL) {
        print_message(
            "skipped: the device has less local memory than an engine's kernels take by its model\n");
        skip();
    }
    setenv("WEFT_MATRIX_ENGINES", "model", 1);
    weft_context *context = scratch_context(*state, NULL);
    const bool gpu = wi_context_device(context)->caps.device_class == WEFT_CLASS_GPU;
    assert_true(engine_serves(context));
    weft_context_release(context);
    if (gpu)
        break_kernel(scratch_path(*state, "kernels"), "engine_tile.clh", "sum += WEFT_JOIN(weft_model_",
            "sum += 0.125f; ");
    else
        break_kernel(scratch_path(*state, "kernels"), "amx_model.clh", "even + odd", "0.125f + ");
    for (int start = 0; start < 2; start++) { /* the second time from the cache */
        scratch_log log = {0};
        context = scratch_context(scratch_path(*state, "wrong"), &log);
        assert_false(engine_serves(context));
        assert_int_equal(strstr(log.text, "is not used: it computes wrong numbers") != NULL, start == 0);
        if (start == 0) product_is_right(context);
        weft_context_release(context);
    }
}

/* A driver on which the suite passes is trusted, until somebody changes kernels. */
static void proven_drivers_are_trusted(void **state) {
    unsetenv("WEFT_SELF_TEST");
    weft_context *const context = scratch_context(*state, NULL);
    wi_device *const device = wi_context_device(context);
    size_t count;
    strcpy(device->info.platform, "Portable Computing Language");
    strcpy(device->info.driver, "3.1+debian");
    (void)choose(context);
    (void)wi_findings_all(device, &count);
    assert_int_equal(count, 0);
    strcpy(device->info.driver, "3.10");
    (void)choose(context);
    (void)wi_findings_all(device, &count);
    assert_true(count > 0);
    weft_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_products_pass),
        cmocka_unit_test(right_convolutions_pass),
        SELF_TEST(a_wrong_kernel_does_not_serve),
        SELF_TEST(a_kernel_that_does_not_compile_does_not_serve),
        SELF_TEST(a_wrong_engine_does_not_serve),
        SELF_TEST(another_driver_is_tested_anew),
        SELF_TEST(proven_drivers_are_trusted),
        SELF_TEST(no_right_kernel_is_an_error),
    };
    return cmocka_run_group_tests(tests, open_right, close_right);
}
