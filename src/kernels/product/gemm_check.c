/* The check of kernels that use matrix engines (contract in gemm_check.h). */
#include "kernels/product/gemm_check.h"
#include "cl/matrix_engine.h"
#include "cl/probe.h"
#include "graph/dtype.h"
#include "kernels/contraction_case.h"
#include "kernels/product/gemm_product.h"
#include "kernels/self_test.h"
#include <math.h>
#include <stdio.h>

/* Sizes that are not multiples of a tile, and a k that is longer than the blocks of all kernels. */
enum { ROWS = 37, COLUMNS = 70, DEPTH = 600, MOST_DEPTH = 4096 };

typedef struct wi_matrices {
    wi_buffer a, b, c;
    int k;
    float *numbers; /* of A, B, C, one after another */
} wi_matrices;

static float *right_of(const wi_matrices *at) {
    return at->numbers + ROWS * at->k;
}

static float *result_of(const wi_matrices *at) {
    return right_of(at) + at->k * COLUMNS;
}

static weft_status matrices_create(wi_matrices *at, wi_device *device, int k) {
    const size_t count = (size_t)(ROWS * k + k * COLUMNS + ROWS * COLUMNS);
    *at = (wi_matrices){
        .k = k, .numbers = wi_allocate_array(device->host.allocator, count, sizeof *at->numbers)};
    return at->numbers ? WEFT_OK : WEFT_ERROR_MEMORY;
}

static void matrices_clear(wi_matrices *at, wi_device *device) {
    wi_buffer_release(&at->a, device);
    wi_buffer_release(&at->b, device);
    wi_buffer_release(&at->c, device);
    wi_release(device->host.allocator, at->numbers);
}

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

static wi_gemm_shape shape_of(int64_t k) {
    return (wi_gemm_shape){.batch = 1,
        .m = ROWS,
        .n = COLUMNS,
        .k = k,
        .a_row = k,
        .a_column = 1,
        .b_row = COLUMNS,
        .b_column = 1};
}

static weft_status upload_all(wi_matrices *at, wi_device *device, weft_dtype dtype) {
    WI_TRY(upload(&at->a, device, dtype, at->numbers, (size_t)(ROWS * at->k)));
    WI_TRY(upload(&at->b, device, dtype, right_of(at), (size_t)(at->k * COLUMNS)));
    return wi_buffer_create(&at->c, device, ROWS * COLUMNS * sizeof(float));
}

static weft_status multiply(wi_matrices *at, wi_device *device, const wi_implementation *implementation,
    const wi_variant *variant, weft_dtype dtype) {
    const wi_gemm_shape shape = shape_of(at->k);
    wi_gemm_product product = {0};
    weft_status status;
    WI_TRY_DONE(wi_gemm_product_create(&product, device, implementation, variant, &shape,
        &(wi_gemm_operands){
            .a = at->a.memory, .b = at->b.memory, .c = at->c.memory, .formats = {dtype, dtype}},
        NULL));
    WI_TRY_DONE(wi_gemm_product_run(&product));
    status = wi_buffer_read(device, at->c.memory, 0, result_of(at), ROWS * COLUMNS * sizeof(float));
done:
    wi_gemm_product_clear(&product);
    return status;
}

/* ---- exact products ---- */

static bool agrees(const wi_matrices *at) {
    const float *const a = at->numbers, *const b = right_of(at), *const c = result_of(at);
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++) {
            double sum = 0.0;
            for (int p = 0; p < at->k; p++) sum += (double)a[i * at->k + p] * (double)b[p * COLUMNS + j];
            if ((double)c[i * COLUMNS + j] != sum) return false;
        }
    }
    return true;
}

/* Multiplies eighths in one format. Their products and sums are exact in f32, in any order. */
static weft_status compare(bool *right, wi_device *device, const wi_implementation *implementation,
    const wi_variant *variant, weft_dtype dtype) {
    wi_matrices at;
    *right = false;
    WI_TRY(matrices_create(&at, device, DEPTH));
    for (size_t i = 0; i < ROWS * DEPTH + DEPTH * COLUMNS; i++) at.numbers[i] = (float)wi_case_number(i);
    weft_status status = upload_all(&at, device, dtype);
    if (status == WEFT_OK) status = multiply(&at, device, implementation, variant, dtype);
    *right = status == WEFT_OK && agrees(&at);
    matrices_clear(&at, device);
    return status;
}

/* Compares in each format that the implementation multiplies, and stops at the first format with wrong results. */
static weft_status compare_all(
    bool *right, wi_device *device, const wi_implementation *implementation, const wi_variant *variant) {
    *right = true;
    for (int i = 0; i < implementation->format_count && *right; i++)
        WI_TRY(compare(right, device, implementation, variant, implementation->formats[i].compute));
    return WEFT_OK;
}

/* ---- rounding errors of f32 products ---- */

/* Numbers of similar magnitudes, of very different ones, and numbers whose products nearly cancel. */
typedef enum wi_numbers { ALIKE, MIXED, CANCELLING } wi_numbers;

static uint32_t scramble(uint32_t bits) {
    for (int round = 0; round < 3; round++) bits = (bits ^ bits >> 15) * 2246822519u;
    return bits;
}

/* A pseudo-random number that uses all bits of the fraction. */
static float number(uint32_t i, wi_numbers kind) {
    const uint32_t bits = scramble(i * 2654435761u);
    const float value = (float)(bits >> 8) / 8388608.0f - 1.0f;
    return kind == MIXED ? ldexpf(value, (int)(scramble(bits) % 32) - 16) : value;
}

static void fill(wi_matrices *at, wi_numbers kind) {
    float *const a = at->numbers, *const b = right_of(at);
    const int k = at->k;
    for (int i = 0; i < ROWS * k + k * COLUMNS; i++) a[i] = number((uint32_t)i, kind);
    for (int p = 1; p < k && kind == CANCELLING; p += 2) {
        for (int i = 0; i < ROWS; i++) a[i * k + p] = a[i * k + p - 1];
        for (int j = 0; j < COLUMNS; j++)
            b[p * COLUMNS + j] = b[p * COLUMNS + j] * 0x1p-12f - b[(p - 1) * COLUMNS + j];
    }
}

/* The sums of the squared errors of the device, and of a host that adds up in one f32; each error is relative to the sum of the
 * magnitudes of its products. */
typedef struct errors {
    double device, host;
} errors;

static errors errors_of(const wi_matrices *at) {
    const float *const a = at->numbers, *const b = right_of(at), *const c = result_of(at);
    errors e = {0};
    for (int i = 0; i < ROWS; i += 4) {
        for (int j = 0; j < COLUMNS; j++) {
            double sum = 0.0, magnitude = 0.0;
            float running = 0.0f;
            for (int p = 0; p < at->k; p++) {
                const float x = a[i * at->k + p], y = b[p * COLUMNS + j];
                sum += (double)x * (double)y;
                magnitude += fabs((double)x * (double)y);
                running = fmaf(x, y, running);
            }
            e.device += pow(((double)c[i * COLUMNS + j] - sum) / magnitude, 2.0);
            e.host += pow(((double)running - sum) / magnitude, 2.0);
        }
    }
    return e;
}

/* *right: are the rounding errors of the implementation at most those of multiply-adds in f32, one after the other? */
static weft_status compare_to_multiply_adds(bool *right, wi_matrices *at, wi_device *device,
    const wi_implementation *implementation, const wi_variant *variant) {
    *right = false;
    WI_TRY(upload_all(at, device, WEFT_F32));
    WI_TRY(multiply(at, device, implementation, variant, WEFT_F32));
    const errors e = errors_of(at);
    *right = e.device <= e.host; /* false if one of them is NaN */
    return WEFT_OK;
}

static weft_status compare_errors(
    bool *right, wi_device *device, const wi_implementation *implementation, const wi_variant *variant) {
    static const struct {
        int k;
        wi_numbers numbers;
    } cases[] = {{256, ALIKE}, {MOST_DEPTH, ALIKE}, {1024, MIXED}, {1024, CANCELLING}};
    *right = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases && *right; i++) {
        wi_matrices at;
        *right = false;
        WI_TRY(matrices_create(&at, device, cases[i].k));
        fill(&at, cases[i].numbers);
        const weft_status status = compare_to_multiply_adds(right, &at, device, implementation, variant);
        matrices_clear(&at, device);
        WI_TRY(status);
    }
    return WEFT_OK;
}

/* Does the implementation multiply f32 matrices with the precision `highest`, where factors must not be rounded? */
static bool replaces_multiply_adds(
    const wi_device *device, const wi_implementation *implementation, const wi_variant *variant) {
    const wi_gemm_shape shape = shape_of(MOST_DEPTH);
    const wi_kernel_site site = {.device = &device->profile, .product = &shape};
    return wi_implementation_accepts(implementation, variant, &site);
}

/* ---- questions and answers ---- */

typedef weft_status wi_comparison(
    bool *right, wi_device *device, const wi_implementation *implementation, const wi_variant *variant);

typedef struct wi_trial {
    const wi_implementation *implementation;
    const wi_variant *variant;
    wi_comparison *compare;
} wi_trial;

static weft_status try(bool *right, wi_device *device, const void *user) {
    const wi_trial *const trial = user;
    return trial->compare(right, device, trial->implementation, trial->variant);
}

void wi_gemm_check_name(char name[WI_GEMM_CHECK_NAME], const wi_device *device, const char *question,
    const wi_implementation *implementation, const wi_variant *variant) {
    snprintf(name, WI_GEMM_CHECK_NAME, "%s %s/%s%s", question, implementation->name, variant->name,
        device->caps.engine_model                      ? " by a model"
        : device->caps.engines & WI_ENGINE_AVX512_BF16 ? " by vectors"
                                                       : "");
}

/* Runs the check, unless the cache folder has its result. The key of a result is the text of the kernel, the variant, and whether
 * the engine, a model of it, or vectors compute the kernel's instruction. */
static bool passes(wi_device *device, const wi_implementation *implementation, const wi_variant *variant,
    const char *question, wi_comparison *comparison, const char *fault) {
    char name[WI_GEMM_CHECK_NAME], unused[128], parameters[256] = "";
    const wi_trial trial = {implementation, variant, comparison};
    size_t length = 0;
    wi_gemm_check_name(name, device, question, implementation, variant);
    snprintf(unused, sizeof unused, "%s is not used", implementation->name);
    for (int i = 0; implementation->parameters && implementation->parameters[i] && length < sizeof parameters;
         i++)
        length +=
            (size_t)snprintf(parameters + length, sizeof parameters - length, " %d", variant->values[i]);
    return wi_probe_passes(device, &(wi_question){.name = name,
                                       .unused = unused,
                                       .fault = fault,
                                       .headers = implementation->headers,
                                       .file = implementation->file,
                                       .text = parameters,
                                       .answer = try,
                                       .user = &trial});
}

bool wi_gemm_is_right(wi_device *device, const wi_implementation *implementation, const wi_variant *variant) {
    if (!passes(device, implementation, variant, "right", compare_all, "it computes wrong numbers"))
        return false;
    return !replaces_multiply_adds(device, implementation, variant) ||
           passes(device, implementation, variant, "as exact as multiply-adds", compare_errors,
               "its rounding errors are larger than those of multiply-adds in f32");
}
