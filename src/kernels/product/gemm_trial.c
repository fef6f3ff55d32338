/* Measuring a library's matrix product against a kernel of ours (contract in gemm_trial.h). */
#include "kernels/product/gemm_trial.h"
#include "cl/program.h"
#include "kernels/product/gemm_product.h"
#include <math.h>
#include <stdio.h>

/* A ratio of times that no measurement gives: CLBlast cannot be used. */
static const double never = 1e30;

/* What a measurement holds. C is there twice: ours and CLBlast's. */
typedef struct wi_trial {
    wi_device *device;
    const wi_gemm_shape *shape;
    wi_buffer a, b, c[2];
    float *host[2];
    double seconds[2];
} wi_trial;

static weft_status fill(wi_trial *trial, wi_buffer *buffer, size_t count) {
    wi_device *const device = trial->device;
    float *const values = wi_allocate_array(device->host.allocator, count, sizeof *values);
    if (!values) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++) values[i] = (float)((i * 2654435761u >> 7) % 17) / 8.0f - 1.0f;
    weft_status status = wi_buffer_create(buffer, device, count * sizeof *values);
    if (status == WEFT_OK)
        status = wi_buffer_write(device, buffer->memory, 0, values, count * sizeof *values);
    wi_release(device->host.allocator, values);
    return status;
}

/* The best of three runs after one that pays for compiling. */
static weft_status time_product(double *seconds, const wi_gemm_product *product, wi_device *device) {
    *seconds = HUGE_VAL;
    for (int run = 0; run < 4; run++) {
        const double begin = wi_clock_seconds();
        WI_TRY(wi_gemm_product_run(product, device));
        WI_TRY(wi_queue_finish(device));
        if (run > 0) *seconds = fmin(*seconds, wi_clock_seconds() - begin);
    }
    return WEFT_OK;
}

static weft_status try_one(
    wi_trial *trial, int which, const wi_implementation *implementation, const wi_variant *variant) {
    const size_t bytes = (size_t)(trial->shape->batch * trial->shape->m * trial->shape->n) * sizeof(float);
    wi_gemm_product product = {0};
    weft_status status;
    WI_TRY(wi_buffer_create(&trial->c[which], trial->device, bytes));
    WI_TRY_DONE(wi_gemm_product_create(&product, trial->device, implementation, variant, trial->shape,
        &(wi_gemm_operands){.a = trial->a.memory, .b = trial->b.memory, .c = trial->c[which].memory}, NULL));
    WI_TRY_DONE(time_product(&trial->seconds[which], &product, trial->device));
    trial->host[which] = wi_allocate(trial->device->host.allocator, bytes);
    if (!trial->host[which]) WI_FAIL_DONE(WEFT_ERROR_MEMORY, "no memory to compare matrix products");
    status = wi_buffer_read(trial->device, trial->c[which].memory, 0, trial->host[which], bytes);
done:
    wi_gemm_product_clear(&product, trial->device);
    return status;
}

static bool agree(const wi_trial *trial) {
    const size_t count = (size_t)(trial->shape->batch * trial->shape->m * trial->shape->n);
    const double tolerance = 1e-5 * (double)trial->shape->k + 1e-5; /* elements of A and B are at most 1 */
    for (size_t i = 0; i < count; i++) {
        if (!(fabs((double)trial->host[0][i] - (double)trial->host[1][i]) <= tolerance)) return false;
    }
    return true;
}

/* CLBlast's time over ours; infinite where it fails or gives other numbers. */
static weft_status measure(double *ratio, wi_device *device, const wi_gemm_shape *shape,
    const wi_implementation *kernel, const wi_variant *variant, const wi_implementation *library) {
    wi_trial trial = {.device = device, .shape = shape};
    const size_t a_count = wi_gemm_extent((int64_t[]){shape->batch, shape->m, shape->k},
        (int64_t[]){shape->a_batch, shape->a_row, shape->a_column});
    const size_t b_count = wi_gemm_extent((int64_t[]){shape->batch, shape->k, shape->n},
        (int64_t[]){shape->b_batch, shape->b_row, shape->b_column});
    weft_status status;
    *ratio = never;
    if (a_count == 0 || b_count == 0) return WEFT_OK;
    WI_TRY_DONE(fill(&trial, &trial.a, a_count));
    WI_TRY_DONE(fill(&trial, &trial.b, b_count));
    WI_TRY_DONE(try_one(&trial, 0, kernel, variant));
    if (try_one(&trial, 1, library, NULL) != WEFT_OK || !agree(&trial))
        wi_log_line(device->host.log, WEFT_LOG_WARNING, "%s is not used: it failed or gave wrong numbers",
            library->name);
    else
        *ratio = trial.seconds[1] / trial.seconds[0];
done:
    for (int i = 0; i < 2; i++) {
        wi_release(device->host.allocator, trial.host[i]);
        wi_buffer_release(&trial.c[i], device);
    }
    wi_buffer_release(&trial.a, device);
    wi_buffer_release(&trial.b, device);
    return status;
}

static int magnitude(int64_t number) {
    int bits = 0;
    while (number > 1) {
        number = (number + 1) / 2;
        bits++;
    }
    return bits;
}

double wi_gemm_ratio(wi_device *device, const wi_gemm_shape *shape, const wi_implementation *kernel,
    const wi_variant *variant, const wi_implementation *library) {
    char name[128];
    double ratio = never;
    snprintf(name, sizeof name, "gemm %s/%s/%s batch 2^%d m 2^%d n 2^%d k 2^%d %c%c", library->name,
        kernel->name, variant->name, magnitude(shape->batch), magnitude(shape->m), magnitude(shape->n),
        magnitude(shape->k), shape->a_column == 1 ? 'n' : 't', shape->b_column == 1 ? 'n' : 't');
    if (!wi_tuning_get(device, name, &ratio)) {
        if (measure(&ratio, device, shape, kernel, variant, library) != WEFT_OK) return never;
        wi_tuning_set(device, name, ratio);
    }
    return ratio;
}
