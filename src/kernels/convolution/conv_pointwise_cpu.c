/* Pointwise convolution (windows of one element, stride 1) on class cpu: a matrix product of the image, which is not copied. See
 * cl_kernels/product/gemm_cpu_direct.cl. */
#include "base/integers.h"
#include "cl/quirks.h"
#include "kernels/convolution/conv_product.h"
#include "kernels/product/gemm_shared.h"

/* Is there one stride between all neighbouring pixels, also from one row or image to the next? */
static bool has_even_pixels(const wi_conv_geometry *w) {
    return w->step[1] == w->step[2] * w->read[2] &&
           (w->read[0] == 1 || w->step[0] == w->step[1] * w->read[1]) &&
           w->image == w->step[2] * w->read[2] * w->read[1] * w->read[0];
}

static wi_gemm_shape product_of(const wi_conv_geometry *w) {
    return (wi_gemm_shape){.batch = w->groups,
        .m = w->images * w->read[0] * w->read[1] * w->read[2],
        .n = w->filters,
        .k = w->channels,
        .a_batch = w->channels,
        .a_row = w->step[2],
        .a_column = 1,
        .b_batch = w->w_group,
        .b_row = w->w_channel,
        .b_column = w->w_filter};
}

static bool accepts(const wi_kernel_site *site) {
    const wi_conv_geometry *const w = site->product->convolution;
    const wi_conv conv = wi_conv_of_geometry(w);
    const wi_gemm_shape product = product_of(w);
    return wi_conv_is_pointwise(&conv) && has_even_pixels(w) && wi_gemm_direct_accepts(&product);
}

static double cost(const wi_kernel_site *site) {
    const wi_gemm_shape product = product_of(site->product->convolution);
    return wi_gemm_direct_cost(site, &product);
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_conv_geometry *const w = site->product->convolution;
    const wi_gemm_shape product = product_of(w);
    const int64_t columns = wi_gemm_direct_columns(plan->values);
    /* The number of vectors in the last panel: code for last panels of other widths is then not compiled. */
    wi_kernel_macro_int(plan, "WEFT_DIRECT_LAST", wi_divide_up((w->filters - 1) % columns + 1, 16));
    return wi_gemm_direct_prepare(site, &product, w->read[2], w->filters, plan);
}

const wi_implementation wi_conv_pointwise_cpu = {.name = "pointwise",
    .ops = {&wi_op_conv, &wi_op_conv_data},
    .needs = {.classes = WI_ON_CPU, .without = WI_QUIRK_SCALAR_COMPILER},
    .file = "gemm_cpu_direct.cl",
    .parameters = wi_gemm_direct_parameters,
    .variants = wi_gemm_direct_variants,
    .accepts = accepts,
    .cost = cost,
    .prepare = prepare,
    WI_GEMM_FORMATS};
