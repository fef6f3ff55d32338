/* Rows added up by index along lists of what falls into each: lists_cpu.cl. */
#include "base/integers.h"
#include "kernels/index/index_launches.h"
#include <stdio.h>

/* Rows of fewer elements are not worth a list. */
enum { WIDE_ROW = 16 };

/* Structure depends on sizes that are not the batch's: the axis around, never the length of the index. */
static bool accepts(const wi_kernel_site *site) {
    int64_t inner = 1;
    for (int i = 1; i < site->result.rank; i++) inner *= site->result.dims[i].general;
    return site->node->attributes->index.axis == 0 && inner >= WIDE_ROW;
}

/* An item owns rows of the result, and walks through the index once. */
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
    wi_kernel_macro_int(plan, "WEFT_SKIPS", wi_index_skips(site));
    wi_kernel_launch *const launch =
        wi_kernel_launch_1d(plan, "lists", wi_divide_up(y.along, rows_an_item), 1);
    wi_kernel_input(launch, 0);
    wi_kernel_input(launch, 1);
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
