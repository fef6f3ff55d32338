/* The rows that a mask chooses, in order, as an index of fixed length. Kernel: partition.cl. Internal: it
 * stands behind layers that work on a part of their rows whose number only the data tells. */
#include "ops/index.h"

enum { GROUP = 256 };

static weft_status partition_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const bool cpu = site->device_class == WEFT_CLASS_CPU;
    plan->file = "partition.cl";
    wi_kernel_launch *launch = wi_kernel_launch_1d(plan, "rows", cpu ? 1 : GROUP, cpu ? 1 : GROUP);
    wi_kernel_input(launch, 0);
    wi_kernel_result(launch);
    wi_kernel_faults(launch);
    wi_kernel_long(launch, site->inputs[0].dims[0].actual);
    wi_kernel_long(launch, site->result.dims[0].actual);
    return WEFT_OK;
}

static const wi_op op_partition = {.name = "adaptive_softmax",
    .kind = WI_KERNEL,
    .kernel = partition_kernel,
    .contiguous = 1,
    .fault = "a cluster has more labels than its capacity",
    .fault_place = "of the labels"};

weft_tensor *wi_chosen_rows(weft_tensor *mask, int64_t most) {
    const wi_shape shape = {.rank = 1, .dims = {most}};
    return mask ? wi_node(mask->graph, &op_partition, &mask, 1, WEFT_I32, &shape, NULL) : NULL;
}
