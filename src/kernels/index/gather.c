/* Elements and rows that are read by index. See cl_kernels/index/gather.cl. */
#include "kernels/index/index_launches.h"
#include "kernels/index_type.h"
#include "kernels/work_split.h"
#include "ops/op_descriptors.h"
#include <math.h>

/* On devices whose items walk (item_walks) an item computes whole rows. On others an item computes one element if each element
 * has an index, and neighbouring items compute a row if each row has one. */
static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_device_profile *const device = site->device;
    const bool each = site->node->op == &wi_op_gather; /* does each element have an index, not each row? */
    const wi_around x = wi_around_axis(site, &site->inputs[0]), y = wi_around_axis(site, &site->result);
    const int64_t rows = y.outer * y.along, elements = rows * y.inner;
    const int64_t an_item = device->item_walks ? wi_divide_up(rows, wi_work_items(device, elements)) : 1;
    const char *const suffix = each ? "pick" : "rows";
    wi_kernel_index_type(plan, site, fmax(wi_around_count(&x), wi_around_count(&y)));
    wi_kernel_macro_bits(plan, "WEFT_ELEMENT", site->node->dtype);
    wi_kernel_macro_int(plan, "WEFT_EACH", each);
    wi_kernel_macro_int(plan, "WEFT_WHOLE_ROWS", device->item_walks);
    wi_kernel_launch *const launch =
        !device->item_walks && !each
            ? wi_launch_rows(site, plan, suffix, rows, y.inner)
            : wi_kernel_launch_1d(
                  plan, suffix, device->item_walks ? wi_divide_up(rows, an_item) : elements, device->group);
    wi_kernel_inputs(launch, 2);
    wi_kernel_result(launch);
    wi_kernel_faults(launch);
    wi_kernel_indices(plan, launch, WI_KERNEL_NUMBERS(rows, y.along, x.along, y.inner, an_item));
    wi_kernel_long(launch, site->node->attributes->index.skipped);
    return WEFT_OK;
}

const wi_implementation wi_gather = {
    .name = "gather", .ops = {&wi_op_gather}, .file = "gather.cl", .prepare = prepare};

const wi_implementation wi_index_select = {.name = "index_select",
    .ops = {&wi_op_index_select, &wi_op_embedding, &wi_op_segment_select},
    .file = "gather.cl",
    .prepare = prepare};
