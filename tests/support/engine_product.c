/* See engine_product.h. */
#include "support/engine_product.h"
#include "graph/dtype.h"
#include "kernels/product/gemm_product.h"
#include "kernels/product/gemm_shared.h"
#include "support/checks.h"
#include "support/engine_numbers.h"
#include "support/fixture.h"
#include <stdlib.h>

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

void check_engine_product(const wi_implementation *model, const wi_variant *variant,
    const wi_gemm_shape *shape, const weft_dtype formats[2], weft_dtype precision) {
    wi_device *const device = wi_context_device(test_context());
    wi_buffer buffers[3] = {0};
    wi_gemm_product product;
    const size_t a_count = count_of_a(shape);
    const size_t b_count = count_of_b(shape);
    const size_t bytes = (size_t)(shape->batch * shape->m * shape->n) * sizeof(float);
    float *const c = malloc(bytes);
    assert_non_null(c);
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
    assert_ok(wi_gemm_product_run(&product));
    assert_ok(wi_buffer_read(device, buffers[2].memory, 0, c, bytes));
    wi_gemm_product_clear(&product);
    for (int i = 0; i < 3; i++) wi_buffer_release(&buffers[i], device);
    check(c, shape, a_count);
    free(c);
}
