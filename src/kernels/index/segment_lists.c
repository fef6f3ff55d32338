/* The segments of equal numbers of an index: segment_lists.cl. One group does it all. */
#include "kernels/index/index_kernels.h"

/* Work-items of the group, where neighbouring ones share the order. */
enum { ITEMS = 256 };

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    int64_t items = site->device->item_walks ? 1 : ITEMS;
    while (items > (int64_t)site->device->max_group) items /= 2;
    wi_kernel_macro_int(plan, "WEFT_SEGMENT_ITEMS", items);
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, "lists", items, items);
    wi_kernel_input(launch, 0);
    wi_kernel_input(launch, 1);
    wi_kernel_result(launch);
    wi_kernel_faults(launch);
    wi_kernel_long(launch, site->inputs[0].dims[0].actual);
    wi_kernel_long(launch, site->node->attributes.index.size);
    return WEFT_OK;
}

const wi_implementation wi_segment_lists = {
    .name = "segment_lists", .ops = {&wi_op_segments}, .file = "segment_lists.cl", .prepare = prepare};
