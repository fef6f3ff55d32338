/* The implementation of each contraction and kernel op (kernels/selection.h): where the step stands in the plan,
 * and what was considered, which weft_plan_describe shows. A step is decided when its operands are laid out and
 * before epilogues join it: whether they may depends on what was chosen. */
#include "plan/steps.h"

/* inputs: of the step's node, already in memory. */
wi_kernel_site wi_step_site(const weft_plan *plan, const wi_step *step) {
    const wi_value *result = &plan->values[step->members[0]];
    wi_kernel_site site = {.node = result->node,
        .device = &wi_context_device(plan->context)->profile,
        .inference = plan->inference,
        .result = result->extent,
        .product = step->kind == WI_STEP_PRODUCT ? &step->gemm : NULL};
    for (int i = 0; i < result->node->input_count; i++) {
        site.inputs[i] = plan->values[step->sources[i]].extent;
        site.layouts[i] = plan->values[step->sources[i]].layout;
    }
    return site;
}

weft_status wi_step_select(weft_plan *plan, wi_step *step) {
    wi_selection *selection = wi_arena_take(&plan->arena, sizeof *selection);
    if (!selection) return WEFT_ERROR_MEMORY;
    const wi_kernel_site site = wi_step_site(plan, step);
    WI_TRY(wi_select(selection, plan->context, site.node->op, &site));
    step->selection = selection;
    step->implementation = selection->chosen;
    return WEFT_OK;
}
