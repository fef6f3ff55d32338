/* Steps of kernel ops (kernels/registry.h): a step has one op, whose result is stored. */
#include "plan/group/partition.h"

/* The value of the input, in memory, and contiguous if the op's descriptor asks for that. */
static weft_status find_source(wi_partition *p, const weft_tensor *node, int input, int *value) {
    *value = wi_value_index(p, node->inputs[input]);
    WI_TRY(wi_in_memory(p, value));
    return node->op->contiguous >> input & 1 ? wi_contiguous(p, value) : WEFT_OK;
}

weft_status wi_group_kernel(wi_partition *p, int value) {
    const weft_tensor *node = p->values[value].node;
    if (wi_is_of_segments(p, value)) return wi_group_segment_rows(p, value);
    int sources[WI_KERNEL_INPUTS], index;
    if (node->input_count > WI_KERNEL_INPUTS)
        WI_FAIL(WEFT_ERROR_INTERNAL, "%s: more than %d inputs", node->op->name, WI_KERNEL_INPUTS);
    for (int i = 0; i < node->input_count; i++) WI_TRY(find_source(p, node, i, &sources[i]));
    WI_TRY(wi_new_step(p, WI_STEP_KERNEL, &node->shape, &index));
    wi_step *step = p->steps[index];
    for (int i = 0; i < node->input_count; i++) step->sources[i] = sources[i];
    wi_add_member(p, index, value);
    if (node->op->fault) WI_TRY(wi_reserve_fault(p, value, step->device, 1));
    WI_TRY(wi_select_for(p, step));
    return wi_in_memory(p, &value);
}
