/* Number of elements that an item computes together. On devices where neighbouring items have neighbouring elements, an item of a map or
 * an epilogue can compute a quad, with vector loads and stores. */
#include "cl/opened_device.h"
#include "kernels/candidates.h"
#include "kernels/convolution/conv_product.h"
#include "plan/layout/loops.h"

static bool is_multiple(wi_size size, int count) {
    return size.general % count == 0 && size.actual % count == 0;
}

/* Are the elements contiguous, or one element for all? Then the quad needs no gathered load. */
static bool is_contiguous(const wi_loop *loop, const wi_operand *operand) {
    const int last = loop->space.rank - 1;
    const wi_size stride = operand->layout.strides[last];
    const bool pads = operand->padding && operand->padding[last].mode;
    return !pads && (operand->value < 0 || wi_size_is(stride, 0) || wi_size_is(stride, 1));
}

static bool has_doubles(const wi_partition *p, const wi_loop *loop) {
    for (int i = 0; i < loop->operand_count; i++)
        if (loop->operands[i].dtype == WEFT_F64) return true;
    for (int i = 0; i < loop->step->member_count; i++)
        if (p->values[loop->step->members[i]].node->dtype == WEFT_F64) return true;
    return false;
}

/* Maps, and products whose template stores quads. Most templates store each group of a convolution separately. */
static bool may_have_quads(const wi_step *step, int count) {
    const wi_conv_geometry *const geometry = step->gemm.convolution;
    switch (step->kind) {
    case WI_STEP_LOOP: return !step->reduced;
    case WI_STEP_PRODUCT:
        return step->selection->chosen->quads &&
               (!geometry || geometry->filters % count == 0 || step->selection->chosen->joins);
    default: return false;
    }
}

/* If the row length were not a multiple of a quad, rows would begin in the middle of a quad. Only a map with a single row can have a
 * tail. */
int wi_step_elements(const wi_partition *p, const wi_loop *loop) {
    const wi_device_profile *const device = &wi_step_device(p, loop->step)->profile;
    const wi_space *const space = &loop->space;
    const int count = device->loops.map_elements;
    const bool is_row = space->rank == 1 && loop->step->kind == WI_STEP_LOOP;
    if (count <= 1 || !may_have_quads(loop->step, count)) return 1;
    if (!is_row && !is_multiple(space->dims[space->rank - 1], count)) return 1;
    if (space->dims[space->rank - 1].general < count || has_doubles(p, loop)) return 1;
    for (int i = 0; i < loop->operand_count; i++)
        if (!is_contiguous(loop, &loop->operands[i])) return 1;
    return count;
}

/* Memory that a program binds as an input may begin at any element. */
bool wi_has_aligned_quads(const wi_partition *p, const wi_loop *loop, const wi_operand *operand, int count) {
    const size_t quad = (size_t)count * weft_dtype_size(operand->dtype);
    int storage = wi_base_storage(p, operand->value);
    for (; p->storages[storage].alias >= 0; storage = p->storages[storage].alias)
        if (p->storages[storage].alias_offset % quad != 0) return false;
    if (p->storages[storage].kind == WI_STORAGE_INPUT || !is_multiple(operand->layout.offset, count))
        return false;
    if (operand->pick && !is_multiple(operand->pick->width, count)) return false;
    for (int d = 0; d < loop->space.rank - 1; d++)
        if (!is_multiple(operand->layout.strides[d], count)) return false;
    return true;
}
