/* Names of sites and kernels (contract in site_name.h). */
#include "kernels/site_name.h"
#include "kernels/convolution/conv_product.h"
#include "kernels/convolution/conv_weight.h"
#include <stdio.h>

static void append_numbers(wi_text *text, const char *what, const int64_t *numbers, int count) {
    wi_text_append(text, " %s", what);
    for (int i = 0; i < count; i++) wi_text_append(text, "%s%lld", i ? "," : "", (long long)numbers[i]);
}

static void append_conv(wi_text *text, const wi_conv *conv) {
    const int64_t counts[] = {conv->images, conv->groups, conv->channels, conv->filters};
    append_numbers(text, "n", counts, 4);
    append_numbers(text, "image ", conv->image, 3);
    append_numbers(text, "taps ", conv->taps, 3);
    append_numbers(text, "stride ", conv->stride, 3);
    append_numbers(text, "dilation ", conv->dilation, 3);
    append_numbers(text, "before ", conv->before, 3);
    append_numbers(text, "result ", conv->result, 3);
}

static void append_product(wi_text *text, const wi_gemm_shape *shape) {
    const int64_t sizes[] = {shape->batch, shape->m, shape->n, shape->k};
    append_numbers(text, "", sizes, 4);
    wi_text_append(text, " %c%c", shape->a_column == 1 ? 'n' : 't', shape->b_column == 1 ? 'n' : 't');
}

static void append_sizes(wi_text *text, const wi_kernel_site *site) {
    if (site->product && !site->product->convolution) {
        append_product(text, site->product);
        return;
    }
    const wi_conv conv =
        site->product ? wi_conv_of_geometry(site->product->convolution) : wi_conv_weight_of(site);
    append_conv(text, &conv);
}

static void append_rest(wi_text *text, const wi_kernel_site *site) {
    for (int i = 0; i < 2; i++) wi_text_append(text, " %s", wi_format_of(site->formats[i])->name);
    wi_text_append(text, " %s", wi_format_of(site->precision)->name);
    if (site->products) wi_text_append(text, " precision %d", (int)site->products);
    if (site->inference) wi_text_append(text, " inference");
    if (site->fixed) wi_text_append(text, " fixed %u", (unsigned)site->fixed);
}

void wi_site_name(char name[WI_SITE_NAME], const wi_op *op, const wi_kernel_site *site) {
    wi_text text;
    wi_text_init(&text, NULL);
    wi_text_append(&text, "%s", op->name);
    append_sizes(&text, site);
    append_rest(&text, site);
    snprintf(name, WI_SITE_NAME, "%s", text.data ? text.data : "");
    wi_text_clear(&text);
}

void wi_kernel_name(
    char name[WI_KERNEL_NAME], const wi_implementation *implementation, const wi_variant *variant) {
    snprintf(name, WI_KERNEL_NAME, "%s/%s", implementation->name, variant ? variant->name : "");
}
