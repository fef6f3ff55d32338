/* The rows that a mask chooses: select_rows.cl. One group does it all. */
#include "base/integers.h"
#include "kernels/index/index_launches.h"

/* Work-items of the group, where neighbouring ones share the mask. */
enum { ITEMS = 256 };

static weft_status select_rows_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    int64_t items = site->device->item_walks ? 1 : ITEMS;
    while (items > (int64_t)site->device->max_group) items /= 2;
    wi_kernel_macro_int(plan, "WEFT_SELECT_ITEMS", items);
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, "rows", items, items);
    wi_kernel_input(launch, 0);
    wi_kernel_result(launch);
    wi_kernel_faults(launch);
    wi_kernel_long(launch, site->inputs[0].dims[0].actual);
    wi_kernel_long(launch, site->result.dims[0].actual);
    return WEFT_OK;
}

const wi_implementation wi_select_rows_kernel = {.name = "select_rows",
    .file = "select_rows.cl",
    .ops = {&wi_op_select_rows},
    .prepare = select_rows_kernel};
