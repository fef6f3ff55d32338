/* Sizes and launches of kernels by index (contract in index_launches.h). */
#include "kernels/index/index_launches.h"
#include "ops/op_table.h"

wi_around wi_around_axis(const wi_kernel_site *site, const wi_extent *extent) {
    const int axis = site->node->attributes->index.axis;
    wi_around a = {1, extent->dims[axis].actual, 1};
    for (int i = 0; i < extent->rank; i++) {
        if (i < axis) a.outer *= extent->dims[i].actual;
        if (i > axis) a.inner *= extent->dims[i].actual;
    }
    return a;
}

wi_kernel_launch *wi_launch_rows(
    const wi_kernel_site *site, wi_kernel_plan *plan, const char *suffix, int64_t rows, int64_t inner) {
    const size_t group = (size_t)site->device->group;
    size_t lanes = 1;
    while ((int64_t)lanes < inner && lanes < group) lanes *= 2;
    wi_kernel_launch *launch = wi_kernel_launch_1d(plan, suffix, (int64_t)lanes, (int64_t)lanes);
    const size_t beside = group / lanes;
    launch->dimensions = 2;
    launch->local[1] = beside;
    launch->global[1] = ((size_t)rows + beside - 1) / beside * beside;
    return launch;
}

void wi_index_skips_macro(wi_kernel_plan *plan, const wi_kernel_site *site) {
    wi_kernel_macro_int(plan, "WEFT_SKIPS", site->node->attributes->index.skips);
}

weft_tensor *wi_index_with_order(const weft_tensor *node, int index) {
    weft_tensor *inputs[WI_KERNEL_INPUTS];
    const int count = node->input_count + 1;
    for (int i = 0; i < node->input_count; i++) inputs[i] = node->inputs[i];
    inputs[count - 1] = weft_argsort(node->inputs[index], 0, false);
    if (!inputs[count - 1]) return NULL;
    return wi_node(node->graph, node->op, inputs, count, node->dtype, &node->shape, node->attributes);
}
