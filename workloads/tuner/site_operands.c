/* Operands and result of a site (contract in site_operands.h). */
#include "tuner/site_operands.h"
#include "cl/opened_device.h"
#include "kernels/contraction_case.h"
#include "kernels/convolution/conv_weight.h"
#include "kernels/product/gemm_shared.h"
#include <math.h>

/* ---- sizes ---- */

/* Elements for the gradient of a convolution's weight, whose op is not a product step. */
static void count_of_weight(const wi_kernel_site *site, size_t counts[SITE_ARRAYS]) {
    const wi_conv conv = wi_conv_weight_of(site);
    const int64_t images = conv.images * conv.groups;
    counts[0] = (size_t)(images * conv.image[0] * conv.image[1] * conv.image[2] * conv.channels);
    counts[1] = (size_t)(wi_conv_weight_positions(&conv) * conv.groups * conv.filters);
    counts[2] = (size_t)wi_conv_weight_elements(&conv);
}

static void count_elements(const wi_kernel_site *site, size_t counts[SITE_ARRAYS]) {
    const wi_gemm_shape *const s = site->product;
    if (!s) {
        count_of_weight(site, counts);
        return;
    }
    counts[2] = (size_t)(s->batch * s->m * s->n);
    if (s->convolution) {
        const wi_conv_geometry *const w = s->convolution;
        counts[0] = (size_t)wi_conv_read_elements(w);
        counts[1] = (size_t)(w->groups * w->filters * wi_conv_terms(w));
        return;
    }
    counts[0] =
        wi_gemm_extent((int64_t[]){s->batch, s->m, s->k}, (int64_t[]){s->a_batch, s->a_row, s->a_column});
    counts[1] =
        wi_gemm_extent((int64_t[]){s->batch, s->k, s->n}, (int64_t[]){s->b_batch, s->b_row, s->b_column});
}

/* The number of products in the sum of an element of the result. */
static double terms_of(const wi_kernel_site *site) {
    const wi_gemm_shape *const s = site->product;
    if (s) return s->convolution ? (double)wi_conv_terms(s->convolution) : (double)s->k;
    const wi_conv conv = wi_conv_weight_of(site);
    return (double)wi_conv_weight_positions(&conv);
}

/* ---- operands ---- */

weft_status site_operands_make(site_operands *operands, wi_device *device, const wi_kernel_site *site) {
    *operands = (site_operands){.allowed = wi_contraction_error_allowed(site, terms_of(site))};
    if (site->formats[0] == WEFT_F64 || site->formats[1] == WEFT_F64)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED, "products of f64 are not tuned");
    count_elements(site, operands->counts);
    for (int i = 0; i < SITE_ARRAYS; i++) {
        if (operands->counts[i] == 0)
            WI_FAIL(WEFT_ERROR_UNSUPPORTED, "products with negative strides are not tuned");
    }
    for (int i = 0; i < 2; i++)
        WI_TRY(wi_case_upload(&operands->buffers[i], device, site->formats[i], operands->counts[i]));
    return wi_buffer_create(&operands->buffers[2], device, operands->counts[2] * sizeof(float));
}

void site_operands_clear(site_operands *operands, wi_device *device) {
    for (int i = 0; i < SITE_ARRAYS; i++) wi_buffer_release(&operands->buffers[i], device);
    wi_release(device->host.allocator, operands->expected);
    *operands = (site_operands){0};
}

/* ---- windows of the result ---- */

/* Returns the first element of a window. Windows are spaced evenly over the result, from its first element to its last. */
static size_t window_at(const site_operands *o, int window, size_t *count) {
    const size_t all = o->counts[2];
    *count = all < SITE_WINDOW ? all : SITE_WINDOW;
    return (all - *count) * (size_t)window / (SITE_WINDOWS - 1);
}

weft_status site_operands_spoil(const site_operands *operands, wi_device *device) {
    float none[SITE_WINDOW];
    for (int i = 0; i < SITE_WINDOW; i++) none[i] = NAN;
    for (int window = 0; window < SITE_WINDOWS; window++) {
        size_t count;
        const size_t at = window_at(operands, window, &count);
        WI_TRY(wi_buffer_write(
            device, operands->buffers[2].memory, at * sizeof *none, none, count * sizeof *none));
    }
    return WEFT_OK;
}

static weft_status read_window(
    const site_operands *o, wi_device *device, int window, float *numbers, size_t *count) {
    const size_t at = window_at(o, window, count);
    return wi_buffer_read(
        device, o->buffers[2].memory, at * sizeof *numbers, numbers, *count * sizeof *numbers);
}

weft_status site_operands_take(site_operands *operands, wi_device *device) {
    size_t count;
    operands->expected = wi_allocate_array(
        device->host.allocator, (size_t)SITE_WINDOWS * SITE_WINDOW, sizeof *operands->expected);
    if (!operands->expected) return WEFT_ERROR_MEMORY;
    for (int window = 0; window < SITE_WINDOWS; window++)
        WI_TRY(read_window(operands, device, window, operands->expected + window * SITE_WINDOW, &count));
    return WEFT_OK;
}

weft_status site_operands_check(const site_operands *operands, wi_device *device, bool *right) {
    float numbers[SITE_WINDOW];
    *right = true;
    for (int window = 0; window < SITE_WINDOWS; window++) {
        const float *const expected =
            operands->expected ? operands->expected + window * SITE_WINDOW : numbers;
        size_t count;
        WI_TRY(read_window(operands, device, window, numbers, &count));
        for (size_t i = 0; i < count; i++)
            *right = *right && fabs((double)numbers[i] - (double)expected[i]) <= operands->allowed;
    }
    return WEFT_OK;
}
