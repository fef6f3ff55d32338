/* Elements that are added up by index along any axis, in an order that does not depend on the launch. See
 * cl_kernels/index/scatter.cl. */
#include "base/integers.h"
#include "kernels/index/index_launches.h"
#include "kernels/index_type.h"
#include "ops/op_descriptors.h"
#include <math.h>

/* WIDTH: the most columns of an item on devices whose items walk (item_walks). ITEMS: a number of items, each with one column,
 * that keeps other devices busy. */
enum { WIDTH = 256, ITEMS = 16384 };

/* Defines the value with which a result begins: 0 for a sum, the smallest number for a maximum, the largest for a minimum. */
static void add_macros(wi_kernel_plan *plan, const wi_op *op, weft_dtype dtype) {
    const int extreme = op == &wi_op_scatter_max ? 1 : op == &wi_op_scatter_min ? -1 : 0;
    const char *const ends[][3] = {{"INFINITY", "0", "-INFINITY"}, {"INT_MAX", "0", "INT_MIN"}};
    wi_kernel_macro_int(plan, "WEFT_EXTREME", extreme);
    wi_kernel_macro_text(plan, "WEFT_START", ends[dtype == WEFT_I32][extreme + 1]);
}

/* An item reads the whole index, so there are only as many ranges of rows as keep the device busy. */
static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_device_profile *const device = site->device;
    const wi_around source = wi_around_axis(site, &site->inputs[0]), y = wi_around_axis(site, &site->result);
    const int64_t width = device->item_walks ? wi_min64(y.inner, WIDTH) : 1,
                  columns = wi_divide_up(y.inner, width);
    const int64_t wanted = device->item_walks ? device->units * device->items_a_unit : ITEMS;
    const int64_t ranges = wi_min64(y.along, wi_max64(1, wanted / wi_max64(1, columns * y.outer)));
    const int64_t rows_a_range = wi_divide_up(y.along, ranges), whole = wi_divide_up(y.along, rows_a_range);
    const int64_t items = y.outer * columns * whole;
    plan->flops = (double)(source.outer * source.along * source.inner);
    wi_kernel_index_type(plan, site, fmax(plan->flops, wi_around_count(&y)));
    wi_kernel_macro_text(plan, "WEFT_ELEMENT", wi_format_of(site->node->dtype)->scalar);
    add_macros(plan, site->node->op, site->node->dtype);
    wi_kernel_macro_int(plan, "WEFT_EACH", site->node->op != &wi_op_index_sum);
    wi_index_skips_macro(plan, site);
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, "sum", items, device->group);
    wi_kernel_inputs(launch, 2);
    wi_kernel_result(launch);
    wi_kernel_faults(launch);
    wi_kernel_indices(plan, launch,
        WI_KERNEL_NUMBERS(items, source.along, y.along, y.inner, width, columns, whole, rows_a_range));
    wi_kernel_long(launch, site->node->attributes->index.skipped);
    return WEFT_OK;
}

const wi_implementation wi_scatter_sum = {.name = "scatter_sum",
    .ops = {&wi_op_scatter_sum, &wi_op_scatter_max, &wi_op_scatter_min},
    .file = "scatter.cl",
    .prepare = prepare};

const wi_implementation wi_index_scatter = {
    .name = "index_scatter", .ops = {&wi_op_index_sum}, .file = "scatter.cl", .prepare = prepare};
