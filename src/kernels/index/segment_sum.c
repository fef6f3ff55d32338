/* Rows that are added up by segments, with an epilogue. See cl_kernels/index/segment_sum.cl. */
#include "base/integers.h"
#include "kernels/index/index_launches.h"
#include "kernels/work_split.h"

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_device_profile *const device = site->device;
    const int64_t count = site->result.dims[0].actual, width = site->result.dims[1].actual;
    int64_t items = wi_min64(count, wi_work_items(device, count * width));
    wi_kernel_launch *const launch = device->item_walks ? wi_kernel_launch_1d(plan, "rows", items, 1)
                                                        : wi_launch_rows(site, plan, "rows", count, width);
    if (!device->item_walks) items = (int64_t)launch->global[0];
    plan->flops = (double)(count * width);
    launch->has_epilogue = true;
    wi_kernel_input(launch, 1); /* the source is a parameter of the epilogue */
    wi_kernel_longs(launch, WI_KERNEL_NUMBERS(count, width, items));
    return WEFT_OK;
}

const wi_implementation wi_segment_sum_rows = {
    .name = "segment_sum", .ops = {&wi_op_segment_sum}, .file = "segment_sum.cl", .prepare = prepare};
