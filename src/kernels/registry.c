/* The list of families (contract in registry.h). */
#include "kernels/registry.h"
#include "kernels/families.h"

const wi_family wi_families[] = {wi_product_family, wi_convolution_family, wi_convolution_weight_family,
    wi_recurrent_family, wi_attention_family, wi_scan_family, wi_sort_family, wi_index_family,
    wi_pooling_family, wi_loss_family, NULL};

static bool has_needs(const wi_device_profile *device, const wi_needs *needs) {
    return (needs->classes == 0 || (needs->classes >> device->device_class & 1)) &&
           !(device->quirks & needs->without) && device->max_group >= needs->group &&
           device->max_items[0] >= needs->items[0] && device->max_items[1] >= needs->items[1] &&
           device->local_bytes >= needs->local_bytes;
}

bool wi_implementation_accepts(const wi_implementation *implementation, const wi_kernel_site *site) {
    return has_needs(site->device, &implementation->needs) &&
           (!implementation->accepts || implementation->accepts(site));
}

bool wi_implementation_computes(const wi_implementation *implementation, const wi_op *op) {
    for (int i = 0; i < WI_IMPLEMENTATION_OPS; i++) {
        if (op && implementation->ops[i] == op) return true;
    }
    return false;
}
