/* The index arithmetic of products by the matrix engines of GPUs: each engine's instruction is replaced by a model in plain
 * OpenCL C (cl_kernels/product/engine_model.clh), which finds the numbers of a matrix in the lanes that the vendor's document
 * says; the template around it, with the engine's own table of what lanes hold, runs on any device of class gpu. */
#include "graph/dtype.h"
#include "kernels/product/gemm.h"
#include "kernels/product/gemm_product.h"
#include "support/checks.h"
#include "support/engine_numbers.h"
#include "support/fixture.h"
#include <stdio.h>
#include <string.h>

/* Multiples of no tile; two work-groups each way of the smaller ones, and k longer than local memory holds at once. */
enum { ROWS = 67, COLUMNS = 75, DEPTH = 45, BATCH = 2 };

static const char *const models[][2] = {{"gpu_mma", "mma_model.clh"}, {"gpu_wmma", "wmma_model.clh"},
    {"gpu_wmma12", "wmma12_model.clh"}, {"gpu_mfma", "mfma_model.clh"}};
enum { MODELS = sizeof models / sizeof *models };

/* The record with its model in place of the last header, which is the instruction. */
static wi_implementation modelled(const char *name, const char *header, const char **headers) {
    for (int i = 0; wi_product_family[i]; i++) {
        if (strcmp(wi_product_family[i]->name, name) != 0) continue;
        wi_implementation model = *wi_product_family[i];
        headers[0] = model.headers[0];
        headers[1] = header;
        model.headers = headers;
        model.needs.engines = 0;
        return model;
    }
    fail_msg("there is no %s", name);
    return (wi_implementation){0};
}

static size_t count_of_a(const wi_gemm_shape *s) {
    return wi_gemm_extent((int64_t[]){s->batch, s->m, s->k}, (int64_t[]){s->a_batch, s->a_row, s->a_column});
}

static size_t count_of_b(const wi_gemm_shape *s) {
    return wi_gemm_extent((int64_t[]){s->batch, s->k, s->n}, (int64_t[]){s->b_batch, s->b_row, s->b_column});
}

static void check(const float *c, const wi_gemm_shape *s, size_t b_first) {
    for (int64_t e = 0; e < s->batch * s->m * s->n; e++) {
        const int64_t j = e % s->n, i = e / s->n % s->m, batch = e / s->n / s->m;
        double sum = 0.0;
        for (int64_t p = 0; p < s->k; p++)
            sum += (double)engine_number((size_t)(batch * s->a_batch + i * s->a_row + p * s->a_column)) *
                   (double)engine_number(
                       b_first + (size_t)(batch * s->b_batch + p * s->b_row + j * s->b_column));
        if ((double)c[e] != sum)
            fail_msg(
                "batch %d, row %d, column %d is %g, not %g", (int)batch, (int)i, (int)j, (double)c[e], sum);
    }
}

/* With formats of A and B; factors of f16 if `precision` says so. */
static void multiply(const wi_implementation *model, const wi_variant *variant, const wi_gemm_shape *shape,
    const weft_dtype *formats, weft_dtype precision) {
    static float c[BATCH * ROWS * COLUMNS];
    wi_device *const device = wi_context_device(test_context());
    wi_buffer buffers[3] = {0};
    wi_gemm_product product;
    const size_t a_count = count_of_a(shape);
    const size_t b_count = count_of_b(shape);
    const size_t bytes = (size_t)(shape->batch * shape->m * shape->n) * sizeof *c;
    upload_engine_numbers(&buffers[0], formats[0], a_count, 0);
    upload_engine_numbers(&buffers[1], formats[1], b_count, a_count);
    assert_ok(wi_buffer_create(&buffers[2], device, bytes));
    assert_ok(wi_gemm_product_create(&product, device, model, variant, shape,
        &(wi_gemm_operands){.a = buffers[0].memory,
            .b = buffers[1].memory,
            .c = buffers[2].memory,
            .formats = {formats[0], formats[1]},
            .precision = precision},
        NULL));
    assert_ok(wi_gemm_product_run(&product, device));
    assert_ok(wi_buffer_read(device, buffers[2].memory, 0, c, bytes));
    wi_gemm_product_clear(&product, device);
    for (int i = 0; i < 3; i++) wi_buffer_release(&buffers[i], device);
    check(c, shape, a_count);
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
        const char *headers[3] = {NULL};
        const wi_implementation model = modelled(models[engine][0], models[engine][1], headers);
        const wi_variant *const small = wi_implementation_variant(&model, 1);
        for (int i = 0; i < 4; i++) {
            const wi_gemm_shape odd = shape_of(ROWS, COLUMNS, DEPTH, i & 1, i & 2);
            const wi_gemm_shape wide = shape_of(ROWS, COLUMNS, 48, false, true);
            multiply(&model, small, &odd, formats[i], precisions[i]);
            multiply(&model, small, &wide, formats[i], precisions[i]);
        }
    }
}

static void every_variant(void **state) {
    static const weft_dtype formats[] = {WEFT_BF16, WEFT_F32};
    (void)state;
    if (!is_of_class_gpu() || test_reduced()) skip();
    for (int engine = 0; engine < MODELS; engine++) {
        const char *headers[3] = {NULL};
        const wi_implementation model = modelled(models[engine][0], models[engine][1], headers);
        const wi_variant *variant;
        for (int v = 0; (variant = wi_implementation_variant(&model, v)) != NULL; v++) {
            const wi_gemm_shape shape = shape_of(ROWS, COLUMNS, DEPTH, v & 1, !(v & 1));
            multiply(&model, variant, &shape, formats, WEFT_BF16);
        }
    }
}

/* For interpreters: one work-group and a tail in each direction. */
static void one_group(void **state) {
    static const weft_dtype formats[] = {WEFT_BF16, WEFT_F16};
    (void)state;
    if (!is_of_class_gpu()) skip();
    for (int engine = 0; engine < MODELS; engine++) {
        const char *headers[3] = {NULL};
        const wi_implementation model = modelled(models[engine][0], models[engine][1], headers);
        wi_gemm_shape shape = shape_of(33, 19, 18, false, false);
        shape.batch = 1;
        multiply(&model, wi_implementation_variant(&model, 1), &shape, formats, WEFT_BF16);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_engine_layout_and_format),
        cmocka_unit_test(every_variant), cmocka_unit_test(one_group)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
