/* The index arithmetic of products by a matrix engine: the engine's instructions are replaced by a model in plain OpenCL C
 * (cl_kernels/product/amx_model.clh), so that the kernel runs on any device of class cpu, and under interpreters that see
 * every access. */
#include "graph/dtype.h"
#include "kernels/product/gemm.h"
#include "kernels/product/gemm_product.h"
#include "support/checks.h"
#include "support/engine_numbers.h"
#include "support/fixture.h"
#include <string.h>

/* Multiples of no tile, more than one panel, and k longer than the kernel takes at once. */
enum { ROWS = 35, COLUMNS = 45, DEPTH = 515 };

static const char *const model_headers[] = {"amx_model.clh", NULL};

static wi_implementation modelled(void) {
    for (int i = 0; wi_product_family[i]; i++) {
        if (strcmp(wi_product_family[i]->name, "cpu_amx") != 0) continue;
        wi_implementation model = *wi_product_family[i];
        model.headers = model_headers;
        model.needs.engines = 0;
        return model;
    }
    fail_msg("there is no cpu_amx");
    return (wi_implementation){0};
}

static void check(const float *c, const wi_gemm_shape *s) {
    for (int64_t i = 0; i < s->m; i++) {
        for (int64_t j = 0; j < s->n; j++) {
            double sum = 0.0;
            for (int64_t p = 0; p < s->k; p++)
                sum += (double)engine_number((size_t)(i * s->a_row + p * s->a_column)) *
                       (double)engine_number((size_t)(s->m * s->k + p * s->b_row + j * s->b_column));
            assert_true((double)c[i * s->n + j] == sum);
        }
    }
}

static void multiply(const wi_implementation *model, const wi_variant *variant, const wi_gemm_shape *shape,
    const weft_dtype *formats) {
    static float c[ROWS * COLUMNS];
    wi_device *const device = wi_context_device(test_context());
    wi_buffer buffers[3] = {0};
    wi_gemm_product product;
    const size_t inputs = (size_t)(shape->m * shape->k), bytes = (size_t)(shape->m * shape->n) * sizeof *c;
    upload_engine_numbers(&buffers[0], formats[0], inputs, 0);
    upload_engine_numbers(&buffers[1], formats[1], (size_t)(shape->k * shape->n), inputs);
    assert_ok(wi_buffer_create(&buffers[2], device, bytes));
    assert_ok(wi_gemm_product_create(&product, device, model, variant, shape,
        &(wi_gemm_operands){.a = buffers[0].memory,
            .b = buffers[1].memory,
            .c = buffers[2].memory,
            .formats = {formats[0], formats[1]},
            .precision = WEFT_BF16},
        NULL));
    assert_ok(wi_gemm_product_run(&product, device));
    assert_ok(wi_buffer_read(device, buffers[2].memory, 0, c, bytes));
    wi_gemm_product_clear(&product, device);
    for (int i = 0; i < 3; i++) wi_buffer_release(&buffers[i], device);
    check(c, shape);
}

static void every_layout_and_variant(void **state) {
    static const weft_dtype formats[][2] = {
        {WEFT_BF16, WEFT_BF16}, {WEFT_BF16, WEFT_F32}, {WEFT_F32, WEFT_BF16}, {WEFT_F32, WEFT_F16}};
    const wi_implementation model = modelled();
    const wi_variant *variant;
    (void)state;
    if (wi_context_device(test_context())->caps.device_class != WEFT_CLASS_CPU) {
        print_message("skipped: the kernel is one of class cpu\n");
        skip();
    }
    const int64_t m = ROWS, n = COLUMNS, k = test_reduced() ? 37 : DEPTH;
    for (int v = 0; (variant = wi_implementation_variant(&model, v)) != NULL; v++) {
        for (int i = 0; i < 4; i++) {
            const bool a = i & 1, b = i & 2;
            const wi_gemm_shape shape = {1, m, n, k, 0, a ? 1 : k, a ? m : 1, 0, b ? 1 : n, b ? k : 1, NULL};
            multiply(&model, variant, &shape, formats[(i + v) % 4]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_layout_and_variant)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
