/* The launch of choosing rows by a mask: partition.cl. */
#include "kernels/registry.h"
#include "ops/index/index.h"

enum { GROUP = 256 };

static weft_status partition_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const bool cpu = site->device->device_class == WEFT_CLASS_CPU;
    wi_kernel_launch *launch = wi_kernel_launch_1d(plan, "rows", cpu ? 1 : GROUP, cpu ? 1 : GROUP);
    wi_kernel_input(launch, 0);
    wi_kernel_result(launch);
    wi_kernel_faults(launch);
    wi_kernel_long(launch, site->inputs[0].dims[0].actual);
    wi_kernel_long(launch, site->result.dims[0].actual);
    return WEFT_OK;
}

const wi_implementation wi_partition_kernel = {
    .name = "partition", .file = "partition.cl", .ops = {&wi_op_partition}, .prepare = partition_kernel};
