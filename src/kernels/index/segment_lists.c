/* The segments of equal numbers of an index. One item, or one work-group, computes everything. See
 * cl_kernels/index/segment_lists.cl. */
#include "base/integers.h"
#include "kernels/index/index_launches.h"

static void add_arguments(const wi_kernel_site *site, wi_kernel_launch *launch) {
    wi_kernel_faults(launch);
    wi_kernel_long(launch, site->inputs[0].dims[0].actual);
    wi_kernel_long(launch, site->node->attributes->index.size);
}

/* ---- class cpu ---- */

enum { DIGIT = 11 }; /* the most bits of a digit */

/* The numbers that are sorted are from 0 to the table's size: each index plus 1, because an index may be -1. */
static weft_status prepare_cpu(const wi_kernel_site *site, wi_kernel_plan *plan) {
    int64_t bits = 1;
    while (site->node->attributes->index.size >> bits) bits++;
    const int64_t passes = wi_divide_up(bits, DIGIT);
    wi_kernel_macro_int(plan, "WEFT_SEGMENT_DIGIT", DIGIT);
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, "lists", 1, 1);
    plan->scratch_bytes = (size_t)site->inputs[0].dims[0].actual * 2 * sizeof(cl_ulong);
    wi_kernel_input(launch, 0);
    wi_kernel_result(launch);
    wi_kernel_scratch(launch, 0);
    add_arguments(site, launch);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(passes, wi_divide_up(bits, passes)));
    return WEFT_OK;
}

const wi_implementation wi_segment_lists_cpu = {.name = "segment_lists_cpu",
    .ops = {&wi_op_segments},
    .needs = {.classes = WI_ON_CPU},
    .file = "segment_lists.cl",
    .prepare = prepare_cpu};

/* ---- class gpu ---- */

enum { INDEX, ORDER, SORTED };
enum { ITEMS = 256 }; /* of the work-group */

static bool accepts(const wi_kernel_site *site) {
    return site->node->input_count == SORTED;
}

/* Replaces a node whose only input is the index by a node that has the order of the index as a second input. */
static weft_tensor *rewrite(const wi_kernel_site *site) {
    if (accepts(site)) return (weft_tensor *)site->node;
    return wi_index_with_order(site->node, INDEX);
}

static weft_status prepare_gpu(const wi_kernel_site *site, wi_kernel_plan *plan) {
    int64_t items = ITEMS;
    while (items > (int64_t)site->device->max_group) items /= 2;
    wi_kernel_macro_int(plan, "WEFT_SEGMENT_ITEMS", items);
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, "lists", items, items);
    wi_kernel_inputs(launch, SORTED);
    wi_kernel_result(launch);
    add_arguments(site, launch);
    return WEFT_OK;
}

const wi_implementation wi_segment_lists_gpu = {.name = "segment_lists_gpu",
    .ops = {&wi_op_segments},
    .needs = {.classes = WI_ON_GPU},
    .file = "segment_lists.cl",
    .rewrite = rewrite,
    .accepts = accepts,
    .prepare = prepare_gpu};
