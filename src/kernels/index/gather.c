/* Elements and rows picked by index: gather.cl. */
#include "kernels/index/index_launches.h"
#include "kernels/index_type.h"
#include "kernels/work_split.h"
#include <math.h>

static void add_arguments(const wi_kernel_site *site, const wi_kernel_plan *plan, wi_kernel_launch *launch,
    const wi_around *x, const wi_around *y, int64_t an_item) {
    wi_kernel_input(launch, 0);
    wi_kernel_input(launch, 1);
    wi_kernel_result(launch);
    wi_kernel_faults(launch);
    wi_kernel_indices(
        plan, launch, WI_KERNEL_NUMBERS(y->outer * y->along, y->along, x->along, y->inner, an_item));
    wi_kernel_long(launch, site->node->attributes->index.skipped);
}

/* Where items walk, each takes whole rows; else an item takes an element, or items beside each other a row. */
static weft_status pick(const wi_kernel_site *site, wi_kernel_plan *plan, bool each) {
    const wi_device_profile *const device = site->device;
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
    add_arguments(site, plan, launch, &x, &y, an_item);
    return WEFT_OK;
}

static weft_status prepare_gather(const wi_kernel_site *site, wi_kernel_plan *plan) {
    return pick(site, plan, true);
}

static weft_status prepare_select(const wi_kernel_site *site, wi_kernel_plan *plan) {
    return pick(site, plan, false);
}

const wi_implementation wi_gather = {
    .name = "gather", .ops = {&wi_op_gather}, .file = "gather.cl", .prepare = prepare_gather};

const wi_implementation wi_index_select = {.name = "index_select",
    .ops = {&wi_op_index_select, &wi_op_embedding, &wi_op_segment_select},
    .file = "gather.cl",
    .prepare = prepare_select};
