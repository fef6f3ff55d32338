/* See gemm_check.h. */
#include "kernels/product/gemm_check.h"
#include "cl/matrix_engine.h"
#include "cl/program.h"
#include "graph/dtype.h"
#include "kernels/product/gemm_product.h"
#include <stdio.h>

/* No multiples of a tile, and k longer than any kernel takes at once. Numbers are eighths up to 1: every product and
 * sum is exact in f32, in any order. */
enum { ROWS = 37, COLUMNS = 70, DEPTH = 600 };

typedef struct wi_matrices {
    wi_buffer a, b, c;
    float *numbers; /* of A, B, C, one after another */
} wi_matrices;

static weft_status upload(
    wi_buffer *buffer, wi_device *device, weft_dtype dtype, const float *numbers, size_t count) {
    const wi_format *const format = wi_format_of(dtype);
    void *const data = wi_allocate_array(device->host.allocator, count, format->size);
    if (!data) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++) format->put(data, i, (double)numbers[i]);
    weft_status status = wi_buffer_create(buffer, device, count * format->size);
    if (status == WEFT_OK) status = wi_buffer_write(device, buffer->memory, 0, data, count * format->size);
    wi_release(device->host.allocator, data);
    return status;
}

static weft_status multiply(wi_matrices *at, wi_device *device, const wi_implementation *implementation,
    const wi_variant *variant, weft_dtype dtype) {
    const wi_gemm_shape shape = {.batch = 1,
        .m = ROWS,
        .n = COLUMNS,
        .k = DEPTH,
        .a_row = DEPTH,
        .a_column = 1,
        .b_row = COLUMNS,
        .b_column = 1};
    float *const a = at->numbers, *const b = a + ROWS * DEPTH, *const c = b + DEPTH * COLUMNS;
    wi_gemm_product product = {0};
    weft_status status;
    WI_TRY(upload(&at->a, device, dtype, a, ROWS * DEPTH));
    WI_TRY(upload(&at->b, device, dtype, b, DEPTH * COLUMNS));
    WI_TRY(wi_buffer_create(&at->c, device, ROWS * COLUMNS * sizeof *c));
    WI_TRY_DONE(wi_gemm_product_create(&product, device, implementation, variant, &shape,
        &(wi_gemm_operands){
            .a = at->a.memory, .b = at->b.memory, .c = at->c.memory, .formats = {dtype, dtype}},
        NULL));
    WI_TRY_DONE(wi_gemm_product_run(&product, device));
    status = wi_buffer_read(device, at->c.memory, 0, c, ROWS * COLUMNS * sizeof *c);
done:
    wi_gemm_product_clear(&product, device);
    return status;
}

static bool agrees(const float *numbers) {
    const float *const a = numbers, *const b = a + ROWS * DEPTH, *const c = b + DEPTH * COLUMNS;
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++) {
            double sum = 0.0;
            for (int p = 0; p < DEPTH; p++) sum += (double)a[i * DEPTH + p] * (double)b[p * COLUMNS + j];
            if ((double)c[i * COLUMNS + j] != sum) return false;
        }
    }
    return true;
}

/* Of operands in the format of the engine's factors. */
static weft_status compare(bool *right, wi_device *device, const wi_implementation *implementation,
    const wi_variant *variant, weft_dtype dtype) {
    const size_t inputs = ROWS * DEPTH + DEPTH * COLUMNS;
    wi_matrices at = {
        .numbers = wi_allocate_array(device->host.allocator, inputs + ROWS * COLUMNS, sizeof(float))};
    *right = false;
    if (!at.numbers) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < inputs; i++) at.numbers[i] = (float)((i * 2654435761u >> 7) % 17) / 8.0f - 1.0f;
    const weft_status status = multiply(&at, device, implementation, variant, dtype);
    *right = status == WEFT_OK && agrees(at.numbers);
    wi_buffer_release(&at.a, device);
    wi_buffer_release(&at.b, device);
    wi_buffer_release(&at.c, device);
    wi_release(device->host.allocator, at.numbers);
    return status;
}

/* In each format that it multiplies; false with the first that is wrong. */
static weft_status compare_all(
    bool *right, wi_device *device, const wi_implementation *implementation, const wi_variant *variant) {
    *right = true;
    for (int i = 0; i < implementation->format_count && *right; i++)
        WI_TRY(compare(right, device, implementation, variant, implementation->formats[i].compute));
    return WEFT_OK;
}

/* What has nothing to do with the implementation may be otherwise next time. */
static bool may_pass(weft_status status) {
    return status == WEFT_ERROR_MEMORY || status == WEFT_ERROR_DEVICE_MEMORY ||
           status == WEFT_ERROR_MEMORY_LIMIT;
}

bool wi_gemm_is_right(wi_device *device, const wi_implementation *implementation, const wi_variant *variant) {
    char name[128], error[2048];
    double known = 0.0;
    bool right = false;
    snprintf(name, sizeof name, "right %s/%s%s", implementation->name, variant->name,
        device->caps.engine_model                      ? " by a model"
        : device->caps.engines & WI_ENGINE_AVX512_BF16 ? " by vectors"
                                                       : "");
    if (wi_tuning_get(device, name, &known)) return known == 1.0;
    wi_error_save(error, sizeof error);
    const weft_status status = compare_all(&right, device, implementation, variant);
    if (!right)
        wi_log_line(device->host.log, WEFT_LOG_WARNING, "%s is not used: %s", implementation->name,
            status == WEFT_OK ? "it computes wrong numbers" : weft_last_error());
    if (status == WEFT_OK || !may_pass(status)) wi_tuning_set(device, name, right ? 1.0 : 0.0);
    wi_error_restore(error);
    return right;
}
