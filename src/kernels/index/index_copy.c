/* Rows that are replaced by index. See cl_kernels/index/index_copy.cl. */
#include "base/integers.h"
#include "kernels/index/index_launches.h"
#include "kernels/index_type.h"
#include "kernels/work_split.h"
#include "ops/op_descriptors.h"
#include <math.h>

/* WIDTH: the most columns of an item on devices whose items walk (item_walks). ITEMS: a number of items that keeps other devices
 * busy. */
enum { WIDTH = 256, ITEMS = 16384 };

static void add_base(const wi_kernel_site *site, wi_kernel_plan *plan, const wi_around *y) {
    const wi_device_profile *const device = site->device;
    const int64_t elements = y->outer * y->along * y->inner;
    const int64_t items = wi_min64(wi_work_items(device, elements), ITEMS);
    wi_kernel_launch *const launch =
        wi_kernel_launch_1d(plan, "base", items, device->item_walks ? 1 : device->group);
    wi_kernel_input(launch, 0);
    wi_kernel_result(launch);
    wi_kernel_indices(plan, launch, WI_KERNEL_NUMBERS(items, elements));
    launch->copies = true;
}

static void add_arguments(wi_kernel_launch *launch) {
    wi_kernel_input(launch, 1);
    wi_kernel_input(launch, 2);
    wi_kernel_result(launch);
    wi_kernel_faults(launch);
}

/* Appends the launch for an index without equal numbers, in which each row is copied independently of the others. */
static void add_each(const wi_kernel_site *site, wi_kernel_plan *plan, int64_t count, const wi_around *y) {
    const wi_device_profile *const device = site->device;
    const int64_t an_item = wi_divide_up(count, wi_work_items(device, count * y->inner));
    wi_kernel_launch *const launch = device->item_walks
                                         ? wi_kernel_launch_1d(plan, "each", wi_divide_up(count, an_item), 1)
                                         : wi_launch_rows(site, plan, "each", count, y->inner);
    add_arguments(launch);
    wi_kernel_indices(plan, launch, WI_KERNEL_NUMBERS(count, y->along, y->inner, an_item));
    wi_kernel_long(launch, site->node->attributes->index.skipped);
}

static void add_rows(const wi_kernel_site *site, wi_kernel_plan *plan, int64_t count, const wi_around *y) {
    const wi_device_profile *const device = site->device;
    const int64_t width = device->item_walks ? wi_min64(y->inner, WIDTH) : 1,
                  columns = wi_divide_up(y->inner, width);
    const int64_t wanted = device->item_walks ? device->units * device->items_a_unit : ITEMS;
    const int64_t ranges = wi_min64(y->along, wi_max64(1, wanted / wi_max64(1, columns * y->outer)));
    const int64_t rows_a_range = wi_divide_up(y->along, ranges), whole = wi_divide_up(y->along, rows_a_range);
    const int64_t items = y->outer * columns * whole;
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, "rows", items, device->group);
    add_arguments(launch);
    wi_kernel_indices(plan, launch,
        WI_KERNEL_NUMBERS(items, count, y->along, y->inner, width, columns, whole, rows_a_range));
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_around y = wi_around_axis(site, &site->result);
    const wi_around source = wi_around_axis(site, &site->inputs[2]);
    wi_kernel_index_type(plan, site, fmax(wi_around_count(&source), wi_around_count(&y)));
    wi_kernel_macro_bits(plan, "WEFT_ELEMENT", site->node->dtype);
    wi_index_skips_macro(plan, site);
    wi_kernel_macro_int(plan, "WEFT_WHOLE_ROWS", site->device->item_walks);
    add_base(site, plan, &y);
    if (site->node->attributes->index.skips)
        add_each(site, plan, source.along, &y);
    else
        add_rows(site, plan, source.along, &y);
    return WEFT_OK;
}

const wi_implementation wi_index_copy = {.name = "index_copy",
    .ops = {&wi_op_index_copy, &wi_op_segment_copy},
    .file = "index_copy.cl",
    .prepare = prepare};
