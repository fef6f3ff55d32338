/* The index arithmetic of products by the matrix engines of GPUs: each engine's instruction is replaced by a model in plain
 * OpenCL C (cl_kernels/product/engine_model.clh), which finds the numbers of a matrix in the lanes that the vendor's document
 * says; the template around it, with the engine's own table of what lanes hold, runs on any device of class gpu. */
#include "cl/context.h"
#include "kernels/product/gemm.h"
#include "kernels/registry.h"
#include "support/checks.h"
#include "support/engine_product.h"
#include "support/fixture.h"
#include <stdio.h>
#include <string.h>

/* Multiples of no tile; two work-groups each way of the smaller ones, and k longer than local memory holds at once. */
enum { ROWS = 67, COLUMNS = 75, DEPTH = 45, BATCH = 2 };

static const char *const models[] = {
    "gpu_mma", "gpu_wmma", "gpu_wmma12", "gpu_mfma", "gpu_xmx8", "gpu_xmx16"};
enum { MODELS = sizeof models / sizeof *models };
/* Those whose k is split, and a product from parts. */
static const char *const split_models[] = {"gpu_mma_split", "gpu_wmma_split", "gpu_wmma12_split",
    "gpu_mfma_split", "gpu_xmx8_split", "gpu_xmx16_split", "gpu_mma_parts_split"};
enum { SPLIT_MODELS = sizeof split_models / sizeof *split_models };

/* The record with models in place of the engines' instructions. */
static wi_implementation modelled(const char *name) {
    static const char *const headers[] = {"engine_modelled.clh", NULL};
    for (int i = 0; wi_product_family[i]; i++) {
        if (strcmp(wi_product_family[i]->name, name) != 0) continue;
        wi_implementation model = *wi_product_family[i];
        model.headers = headers;
        model.needs.engines = 0;
        return model;
    }
    fail_msg("there is no %s", name);
    return (wi_implementation){0};
}

static wi_gemm_shape shape_of(int64_t m, int64_t n, int64_t k, bool a_transposed, bool b_transposed) {
    return (wi_gemm_shape){BATCH, m, n, k, m * k, a_transposed ? 1 : k, a_transposed ? m : 1, k * n,
        b_transposed ? 1 : n, b_transposed ? k : 1, NULL};
}

static bool is_of_class_gpu(void) {
    if (wi_context_device(test_context())->caps.device_class == WEFT_CLASS_GPU) return true;
    print_message("skipped: the kernels are of class gpu\n");
    return false;
}

/* Layouts and formats, chunks that are read at once (k of 48 in rows) and number by number. */
static void every_engine_layout_and_format(void **state) {
    static const weft_dtype formats[][2] = {
        {WEFT_BF16, WEFT_BF16}, {WEFT_F16, WEFT_F16}, {WEFT_F32, WEFT_BF16}, {WEFT_BF16, WEFT_F16}};
    static const weft_dtype precisions[] = {WEFT_BF16, WEFT_F16, WEFT_F16, WEFT_BF16};
    (void)state;
    if (!is_of_class_gpu() || test_reduced()) skip();
    for (int engine = 0; engine < MODELS; engine++) {
        const wi_implementation model = modelled(models[engine]);
        const wi_variant *const small = wi_implementation_variant(&model, 1);
        const int tried = engine == 0 ? 4 : 2; /* what rounds other formats is the same text for all */
        for (int i = 0; i < tried; i++) {
            const wi_gemm_shape wide = shape_of(ROWS, COLUMNS, 48, false, true);
            check_engine_product(&model, small, &wide, formats[i], precisions[i]);
            for (int layout = 0; layout < 4; layout++) {
                const wi_gemm_shape odd = shape_of(ROWS, COLUMNS, DEPTH, layout & 1, layout & 2);
                check_engine_product(&model, small, &odd, formats[i], precisions[i]);
            }
        }
    }
}

/* Of every second engine; those of the others are tried with k split, and small tiles above. */
static void large_tiles(void **state) {
    static const weft_dtype formats[] = {WEFT_BF16, WEFT_F32};
    (void)state;
    if (!is_of_class_gpu() || test_reduced()) skip();
    for (int engine = 0; engine < MODELS; engine += 2) {
        const wi_implementation model = modelled(models[engine]);
        const wi_variant *const large = wi_implementation_variant(&model, 0);
        assert_string_equal(large->name, "large");
        for (int layout = 1; layout < 3; layout++) {
            const wi_gemm_shape shape = shape_of(ROWS, COLUMNS, DEPTH, layout & 1, layout & 2);
            check_engine_product(&model, large, &shape, formats, WEFT_BF16);
        }
    }
}

/* For interpreters: one work-group and a tail in each direction. Reduced runs have one engine, unless another is asked for. Others have
 * larger products by the same kernels, above and in test_gemm_parts. */
static void check_one_group(
    const char *engine, const char *ending, int64_t depth, const weft_dtype formats[2]) {
    char name[32];
    if (!is_of_class_gpu()) skip();
    if (!test_selects_some() && (!test_reduced() || strcmp(engine, "mma") != 0)) skip();
    snprintf(name, sizeof name, "gpu_%s%s", engine, ending);
    const wi_implementation model = modelled(name);
    wi_gemm_shape shape = shape_of(33, 19, depth, false, false);
    shape.batch = 1;
    check_engine_product(&model, wi_implementation_variant(&model, 1), &shape, formats, WEFT_BF16);
}

static void one_group(void **state) {
    check_one_group(*state, "", 18, (const weft_dtype[]){WEFT_BF16, WEFT_F16});
}

/* Two blocks of k. */
static void one_group_of_parts(void **state) {
    check_one_group(*state, "_parts", 35, (const weft_dtype[]){WEFT_F32, WEFT_F32});
}

/* Two splits, the second with the tail of k, and blocks that splits share unequally; large tiles of every second engine. */
static void splits_of_k(void **state) {
    (void)state;
    if (!is_of_class_gpu() || test_reduced()) skip();
    for (int engine = 0; engine < SPLIT_MODELS; engine++) {
        const wi_implementation model = modelled(split_models[engine]);
        const weft_dtype format = strstr(model.name, "_parts") ? WEFT_F32 : WEFT_BF16;
        const wi_variant *const variant = wi_implementation_variant(&model, engine % 2 ? 0 : 1);
        for (int64_t depth = DEPTH; depth < 200; depth += 89) {
            const wi_gemm_shape shape = shape_of(ROWS, COLUMNS, depth, depth == DEPTH, true);
            check_engine_product(&model, variant, &shape, (const weft_dtype[]){format, format}, WEFT_BF16);
        }
    }
}

#define BY_ENGINE(engine)                                                                                    \
    {"one_group." engine, one_group, NULL, NULL, engine}, {                                                  \
        "one_group_of_parts." engine, one_group_of_parts, NULL, NULL, engine                                 \
    }

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_engine_layout_and_format),
        cmocka_unit_test(large_tiles), cmocka_unit_test(splits_of_k), BY_ENGINE("mma"), BY_ENGINE("wmma"),
        BY_ENGINE("wmma12"), BY_ENGINE("mfma"), BY_ENGINE("xmx8"), BY_ENGINE("xmx16")};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
