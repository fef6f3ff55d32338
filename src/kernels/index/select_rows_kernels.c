/* The rows that a mask selects. One item, or one work-group, computes everything. See cl_kernels/index/select_rows.cl. */
#include "base/integers.h"
#include "kernels/index/index_launches.h"

enum { ITEMS = 256 }; /* of the work-group */

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
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

const wi_implementation wi_select_rows_kernel = {
    .name = "select_rows", .file = "select_rows.cl", .ops = {&wi_op_select_rows}, .prepare = prepare};
