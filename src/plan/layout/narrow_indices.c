/* Finds loops whose indices fit in 32 bits. A GPU needs several instructions for an address of 64 bits, and about a hundred for a
 * remainder. */
#include "base/integers.h"
#include "cl/opened_device.h"
#include "graph/shape.h"
#include "plan/layout/loops.h"

/* Do the indices of the operand's elements, without its offset, fit in 32 bits? */
static bool fits_without_offset(const wi_loop *loop, const wi_operand *operand) {
    int64_t farthest = 0;
    for (int d = 0; d < loop->space.rank; d++) {
        const int64_t stride = wi_magnitude(operand->layout.strides[d].actual);
        int64_t count = loop->space.dims[d].actual;
        if (operand->padding && operand->padding[d].mode)
            count = wi_max64(count, operand->padding[d].size.actual);
        if (count > 0 && stride > INT32_MAX / count) return false;
        farthest += count * stride;
    }
    return farthest <= INT32_MAX;
}

/* If the operand is a table of gathered rows: do all indices of the table fit in 32 bits? A gathered row may be any row. */
static bool fits_in_32_bits(const wi_partition *p, const wi_operand *operand) {
    return !operand->pick || wi_extent_count(p->values[operand->value].extent).actual <= INT32_MAX;
}

bool wi_has_narrow_indices(const wi_partition *p, const wi_loop *loop) {
    const wi_device_profile *const device = &wi_step_device(p, loop->step)->profile;
    int64_t rounds = 1;
    if (device->item_walks || !device->loops.narrow || loop->step->kind != WI_STEP_LOOP) return false;
    for (int d = 0; d < loop->space.rank; d++) {
        if (!loop->space.reduced[d]) continue;
        if (loop->space.dims[d].actual > INT32_MAX / 2 / rounds) return false;
        rounds *= wi_max64(1, loop->space.dims[d].actual);
    }
    for (int i = 0; i < loop->operand_count; i++)
        if (!fits_without_offset(loop, &loop->operands[i]) || !fits_in_32_bits(p, &loop->operands[i]))
            return false;
    return true;
}
