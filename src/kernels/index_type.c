/* The type of a kernel's indices (contract in index_type.h). */
#include "kernels/index_type.h"

/* Half of the range is left for rounding up to whole groups, ranges and tiles. */
static const double most_of_32_bits = INT32_MAX / 2;

void wi_kernel_index_type(wi_kernel_plan *plan, const wi_kernel_site *site, double most) {
    plan->narrow = !site->device->item_walks && site->device->loops.narrow && most <= most_of_32_bits;
    wi_kernel_macro_text(plan, "WEFT_INDEX", plan->narrow ? "int" : "long");
}

void wi_kernel_indices(
    const wi_kernel_plan *plan, wi_kernel_launch *launch, const int64_t *numbers, size_t count) {
    if (plan->narrow)
        wi_kernel_ints(launch, numbers, count);
    else
        wi_kernel_longs(launch, numbers, count);
}
