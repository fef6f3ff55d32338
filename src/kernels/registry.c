/* Questions about all implementations (contract in registry.h). */
#include "kernels/registry.h"

static wi_kernel_site ordered_site(
    const weft_tensor *node, const wi_device_profile *device, int64_t batch, bool inference) {
    wi_kernel_site site = {.node = node, .device = device, .inference = inference};
    site.result = wi_extent_of(&node->shape, batch);
    for (int i = 0; i < node->input_count && i < WI_KERNEL_INPUTS; i++)
        site.inputs[i] = wi_extent_of(&node->inputs[i]->shape, batch);
    return site;
}

weft_tensor *wi_kernel_rewrite(
    weft_tensor *node, const wi_device_profile *device, int64_t batch, bool inference) {
    for (const wi_family *family = wi_families; *family; family++) {
        for (int i = 0; (*family)[i]; i++) {
            const wi_implementation *const implementation = (*family)[i];
            if (!implementation->rewrite || !wi_implementation_computes(implementation, node->op)) continue;
            if (!wi_implementation_has_needs(implementation, NULL, device)) continue;
            const wi_kernel_site site = ordered_site(node, device, batch, inference);
            weft_tensor *const other = implementation->rewrite(&site);
            if (other != node) return other;
        }
    }
    return node;
}

bool wi_engines_multiply(const wi_device_profile *device, weft_dtype format) {
    for (int i = 0; wi_product_family[i]; i++) {
        const wi_implementation *const product = wi_product_family[i];
        for (int k = 0; k < product->format_count; k++)
            if (product->formats[k].compute == format && product->needs.engines &&
                !(product->needs.engines & ~device->engines))
                return true;
    }
    return false;
}

static bool takes(const wi_implementation *implementation, weft_dtype format) {
    for (int i = 0; i < implementation->format_count; i++) {
        const wi_formats *const row = &implementation->formats[i];
        if (row->compute == WEFT_F32 && wi_formats_store(row, format)) return true;
    }
    return false;
}

bool wi_kernels_multiply(const wi_op *op, weft_dtype format) {
    for (const wi_family *family = wi_families; *family; family++)
        for (int i = 0; (*family)[i]; i++) {
            const wi_implementation *const implementation = (*family)[i];
            if (!wi_implementation_computes(implementation, op)) continue;
            for (int k = 0; k < implementation->format_count; k++)
                if (implementation->formats[k].compute == format) return true;
        }
    return false;
}

bool wi_kernels_accept_format(const wi_op *op, weft_dtype format) {
    const wi_implementation *portable = NULL;
    for (const wi_family *family = wi_families; *family; family++) {
        for (int i = 0; (*family)[i]; i++) {
            if (wi_implementation_computes((*family)[i], op)) portable = (*family)[i];
        }
    }
    return portable && takes(portable, format);
}
