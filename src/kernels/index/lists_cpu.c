/* Rows that are added up by index, along lists of the source rows for each row of the result. See cl_kernels/index/lists_cpu.cl. */
#include "base/integers.h"
#include "kernels/index/index_launches.h"
#include "ops/op_descriptors.h"
#include <stdio.h>

/* For shorter rows it is faster to do without lists. */
enum { WIDE_ROW = 16 };

/* Uses general sizes only, so that all batch sizes have the same kernel. */
static bool accepts(const wi_kernel_site *site) {
    int64_t inner = 1;
    for (int i = 1; i < site->result.rank; i++) inner *= site->result.dims[i].general;
    return site->node->attributes->index.axis == 0 && inner >= WIDE_ROW;
}

/* An item computes some rows of the result, and reads the index once. */
static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_around source = wi_around_axis(site, &site->inputs[0]), y = wi_around_axis(site, &site->result);
    const int64_t items = site->device->units * site->device->items_a_unit;
    const int64_t rows_an_item = wi_divide_up(y.along, wi_min64(items, y.along));
    const char *const scalar = wi_format_of(site->node->dtype)->scalar;
    char vector[16];
    plan->flops = (double)(source.along * source.inner);
    plan->scratch_bytes = (size_t)(y.along + source.along) * sizeof(cl_int);
    snprintf(vector, sizeof vector, "%s16", scalar);
    wi_kernel_macro_text(plan, "WEFT_ELEMENT", scalar);
    wi_kernel_macro_text(plan, "WEFT_ELEMENTS", vector);
    wi_index_skips_macro(plan, site);
    wi_kernel_launch *const launch =
        wi_kernel_launch_1d(plan, "lists", wi_divide_up(y.along, rows_an_item), 1);
    wi_kernel_inputs(launch, 2);
    wi_kernel_result(launch);
    wi_kernel_scratch(launch, 0);
    wi_kernel_scratch(launch, y.along);
    wi_kernel_faults(launch);
    wi_kernel_longs(launch, WI_KERNEL_NUMBERS(source.along, y.along, y.inner, rows_an_item,
                                site->node->attributes->index.skipped));
    return WEFT_OK;
}

const wi_implementation wi_index_lists_cpu = {.name = "index_lists_cpu",
    .ops = {&wi_op_index_sum},
    .needs = {.classes = WI_ON_CPU},
    .file = "lists_cpu.cl",
    .accepts = accepts,
    .prepare = prepare};
