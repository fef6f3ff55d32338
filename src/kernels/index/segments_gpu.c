/* Rows that are added up by a sorted index. A node whose index is not sorted is replaced by one with the order of the index as
 * its third input. See cl_kernels/index/segments_gpu.cl. */
#include "base/integers.h"
#include "kernels/index/index_launches.h"
#include "ops/op_descriptors.h"

enum { SOURCE, INDEX, ORDER, SORTED };

static bool accepts(const wi_kernel_site *site) {
    return site->node->attributes->index.axis == 0 && site->node->input_count == SORTED;
}

/* Is it faster to sort the index first? Without an order, each work-item reads the whole index, one element after the other. With
 * an order there are at least two more launches, which sort the index and find where segments begin. */
static bool is_worth_sorting(const wi_kernel_site *site) {
    const wi_device_profile *const device = site->device;
    const double walk = (double)site->inputs[INDEX].dims[0].general * device->read_seconds;
    return walk > 2 * device->launch_seconds;
}

static weft_tensor *rewrite(const wi_kernel_site *site) {
    const weft_tensor *const node = site->node;
    if (node->input_count == SORTED || node->attributes->index.axis != 0 || !is_worth_sorting(site))
        return (weft_tensor *)node;
    return wi_index_with_order(node, INDEX);
}

static void add_starts(const wi_kernel_site *site, wi_kernel_plan *plan, int64_t count, int64_t size) {
    wi_kernel_launch *const launch =
        wi_kernel_launch_1d(plan, "starts", wi_max64(size + 1, count), site->device->group);
    wi_kernel_input(launch, INDEX);
    wi_kernel_input(launch, ORDER);
    wi_kernel_scratch(launch, 0);
    wi_kernel_faults(launch);
    wi_kernel_longs(launch, WI_KERNEL_NUMBERS(count, size, site->node->attributes->index.skipped));
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_around source = wi_around_axis(site, &site->inputs[SOURCE]),
                    y = wi_around_axis(site, &site->result);
    plan->flops = (double)(source.along * source.inner);
    plan->scratch_bytes = (size_t)(y.along + 1) * sizeof(cl_int);
    wi_kernel_macro_text(plan, "WEFT_ELEMENT", wi_format_of(site->node->dtype)->scalar);
    wi_index_skips_macro(plan, site);
    add_starts(site, plan, source.along, y.along);
    wi_kernel_launch *const launch = wi_launch_rows(site, plan, "segments", y.along, y.inner);
    wi_kernel_input(launch, SOURCE);
    wi_kernel_input(launch, ORDER);
    wi_kernel_scratch(launch, 0);
    wi_kernel_result(launch);
    wi_kernel_longs(launch, WI_KERNEL_NUMBERS(y.along, y.inner, site->node->attributes->index.skipped));
    return WEFT_OK;
}

const wi_implementation wi_index_segments_gpu = {.name = "index_segments_gpu",
    .ops = {&wi_op_index_sum},
    .needs = {.classes = WI_ON_GPU},
    .file = "segments_gpu.cl",
    .rewrite = rewrite,
    .accepts = accepts,
    .prepare = prepare};
