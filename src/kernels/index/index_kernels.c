/* The launches of picking by index and of adding up by index: gather.cl, scatter.cl and segments.cl. */
#include "base/integers.h"
#include "kernels/families.h"
#include "ops/index/index.h"
#include <stdio.h>

/* Rows of fewer elements are not worth a list. */
enum { WIDE_ROW = 16, GROUP = 64 };

/* A tensor as (outer, along, inner) around the axis, at the actual batch. */
typedef struct around {
    int64_t outer, along, inner;
} around;

static around around_axis(const wi_extent *extent, int axis) {
    around a = {1, extent->dims[axis].actual, 1};
    for (int i = 0; i < extent->rank; i++) {
        if (i < axis) a.outer *= extent->dims[i].actual;
        if (i > axis) a.inner *= extent->dims[i].actual;
    }
    return a;
}

static const char *element_type(weft_dtype dtype) {
    switch (weft_dtype_size(dtype)) {
    case 1: return "uchar";
    case 2: return "ushort";
    case 8: return "ulong";
    default: return "uint";
    }
}

static void add_longs(wi_kernel_launch *launch, const int64_t *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) wi_kernel_long(launch, numbers[i]);
}
#define ADD_LONGS(launch, ...)                                                                               \
    add_longs(                                                                                               \
        launch, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

/* Groups of neighbouring items for the elements of a row, gpu: as many as the row has use for. */
static wi_kernel_launch *launch_rows(wi_kernel_plan *plan, const char *suffix, int64_t rows, int64_t inner) {
    size_t lanes = 1;
    while ((int64_t)lanes < inner && lanes < GROUP) lanes *= 2;
    wi_kernel_launch *launch = wi_kernel_launch_1d(plan, suffix, (int64_t)lanes, (int64_t)lanes);
    const size_t beside = GROUP / lanes;
    launch->dimensions = 2;
    launch->local[1] = beside;
    launch->global[1] = ((size_t)rows + beside - 1) / beside * beside;
    return launch;
}

static weft_status pick(const wi_kernel_site *site, wi_kernel_plan *plan, bool each) {
    const bool cpu = site->device->device_class == WEFT_CLASS_CPU;
    const int axis = site->node->attributes.axis;
    const around x = around_axis(&site->inputs[0], axis), y = around_axis(&site->result, axis);
    const int64_t rows = y.outer * y.along;
    const int64_t worth = wi_max64(1, wi_min64(site->device->units * 4, rows * y.inner / 4096));
    const int64_t rows_an_item = cpu ? wi_divide_up(rows, worth) : 1;
    const char *suffix = each ? "pick" : "rows";
    wi_kernel_macro_text(plan, "WEFT_ELEMENT", element_type(site->node->dtype));
    wi_kernel_macro_int(plan, "WEFT_EACH", each);
    wi_kernel_macro_int(plan, "WEFT_WHOLE_ROWS", cpu);
    wi_kernel_launch *launch = cpu    ? wi_kernel_launch_1d(plan, suffix, wi_divide_up(rows, rows_an_item), 1)
                               : each ? wi_kernel_launch_1d(plan, suffix, rows * y.inner, GROUP)
                                      : launch_rows(plan, suffix, rows, y.inner);
    wi_kernel_input(launch, 0);
    wi_kernel_input(launch, 1);
    wi_kernel_result(launch);
    wi_kernel_faults(launch);
    ADD_LONGS(launch, rows, y.along, x.along, y.inner, rows_an_item);
    return WEFT_OK;
}

static weft_status gather_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    return pick(site, plan, true);
}
static weft_status index_select_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    return pick(site, plan, false);
}

static bool skips(const weft_tensor *node) {
    return node->attributes.flags & WI_INDEX_SKIPS;
}

/* An item walks through the whole index, so there are only as many ranges of rows as keep the device busy. */
static weft_status add_up(const wi_kernel_site *site, wi_kernel_plan *plan, bool each) {
    const bool cpu = site->device->device_class == WEFT_CLASS_CPU;
    const int axis = site->node->attributes.axis;
    const around source = around_axis(&site->inputs[0], axis), y = around_axis(&site->result, axis);
    const int64_t width = cpu ? wi_min64(y.inner, 256) : 1, columns = wi_divide_up(y.inner, width);
    const int64_t wanted = cpu ? site->device->units * 4 : 16384;
    const int64_t ranges = wi_min64(y.along, wi_max64(1, wanted / wi_max64(1, columns * y.outer)));
    const int64_t rows_a_range = wi_divide_up(y.along, ranges);
    const int64_t items = y.outer * columns * wi_divide_up(y.along, rows_a_range);
    plan->flops = (double)(source.outer * source.along * source.inner);
    wi_kernel_macro_text(plan, "WEFT_ELEMENT", wi_format_of(site->node->dtype)->scalar);
    wi_kernel_macro_int(plan, "WEFT_EACH", each);
    wi_kernel_macro_int(plan, "WEFT_SKIPS", skips(site->node));
    wi_kernel_launch *launch = wi_kernel_launch_1d(plan, "sum", items, cpu ? 1 : 64);
    wi_kernel_input(launch, 0);
    wi_kernel_input(launch, 1);
    wi_kernel_result(launch);
    wi_kernel_faults(launch);
    ADD_LONGS(launch, items, source.along, y.along, y.inner, width, columns,
        wi_divide_up(y.along, rows_a_range), rows_a_range, site->node->attributes.start);
    return WEFT_OK;
}

static weft_status scatter_sum_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    return add_up(site, plan, true);
}

/* Rows of the first axis that are long enough for kernels that write each once. */
static bool is_wide(const weft_tensor *node) {
    int64_t inner = 1;
    for (int i = 1; i < node->shape.rank; i++) {
        if (node->shape.dims[i] < 0) return true;
        inner *= node->shape.dims[i];
    }
    return inner >= WIDE_ROW;
}

static void begin_segments(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const char *const scalar = wi_format_of(site->node->dtype)->scalar;
    char vector[16];
    snprintf(vector, sizeof vector, "%s16", scalar);
    wi_kernel_macro_text(plan, "WEFT_ELEMENT", scalar);
    wi_kernel_macro_text(plan, "WEFT_ELEMENTS", vector);
    wi_kernel_macro_int(plan, "WEFT_SKIPS", skips(site->node));
}

/* An item owns rows of the result, and walks through the index once. */
static weft_status add_lists(const wi_kernel_site *site, wi_kernel_plan *plan, around source, around y) {
    const int64_t rows_an_item = wi_divide_up(y.along, wi_min64(site->device->units * 4, y.along));
    begin_segments(site, plan);
    plan->flops = (double)(source.along * source.inner);
    plan->scratch_bytes = (size_t)(y.along + source.along) * sizeof(cl_int);
    wi_kernel_launch *launch = wi_kernel_launch_1d(plan, "lists", wi_divide_up(y.along, rows_an_item), 1);
    wi_kernel_input(launch, 0);
    wi_kernel_input(launch, 1);
    wi_kernel_result(launch);
    wi_kernel_scratch(launch, 0);
    wi_kernel_scratch(launch, y.along);
    wi_kernel_faults(launch);
    ADD_LONGS(launch, source.along, y.along, y.inner, rows_an_item, site->node->attributes.start);
    return WEFT_OK;
}

/* The index comes with its order. */
static weft_status add_segments(const wi_kernel_site *site, wi_kernel_plan *plan, around source, around y) {
    const int64_t skipped = site->node->attributes.start;
    begin_segments(site, plan);
    plan->flops = (double)(source.along * source.inner);
    plan->scratch_bytes = (size_t)(y.along + 1) * sizeof(cl_int);
    wi_kernel_launch *starts =
        wi_kernel_launch_1d(plan, "starts", wi_max64(y.along + 1, source.along), GROUP);
    wi_kernel_input(starts, 1);
    wi_kernel_input(starts, 2);
    wi_kernel_scratch(starts, 0);
    wi_kernel_faults(starts);
    ADD_LONGS(starts, source.along, y.along, skipped);
    wi_kernel_launch *segments = launch_rows(plan, "segments", y.along, y.inner);
    wi_kernel_input(segments, 0);
    wi_kernel_input(segments, 2);
    wi_kernel_scratch(segments, 0);
    wi_kernel_result(segments);
    ADD_LONGS(segments, y.along, y.inner, skipped);
    return WEFT_OK;
}

/* Structure depends on sizes that are not the batch's: the axis around, never the length of the index. */
static bool has_segments(const wi_kernel_site *site) {
    const weft_tensor *node = site->node;
    return node->input_count == 3 ||
           (site->device->device_class == WEFT_CLASS_CPU && node->attributes.axis == 0 && is_wide(node));
}

static weft_status index_segments_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const weft_tensor *node = site->node;
    const int axis = node->attributes.axis;
    const around source = around_axis(&site->inputs[0], axis), y = around_axis(&site->result, axis);
    return node->input_count == 3 ? add_segments(site, plan, source, y) : add_lists(site, plan, source, y);
}

static weft_status index_sum_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    return add_up(site, plan, false);
}

static const wi_implementation wi_gather_kernel = {
    .name = "gather", .file = "gather.cl", .ops = {&wi_op_gather}, .prepare = gather_kernel};
static const wi_implementation wi_index_select_kernel = {.name = "index_select",
    .file = "gather.cl",
    .ops = {&wi_op_index_select, &wi_op_embedding},
    .prepare = index_select_kernel};
static const wi_implementation wi_scatter_sum_kernel = {
    .name = "scatter_sum", .file = "scatter.cl", .ops = {&wi_op_scatter_sum}, .prepare = scatter_sum_kernel};
static const wi_implementation wi_index_segments_kernel = {.name = "index_segments",
    .ops = {&wi_op_index_sum},
    .file = "segments.cl",
    .accepts = has_segments,
    .prepare = index_segments_kernel};
static const wi_implementation wi_index_sum_kernel = {
    .name = "index_sum", .file = "scatter.cl", .ops = {&wi_op_index_sum}, .prepare = index_sum_kernel};

extern const wi_implementation wi_partition_kernel;

const wi_implementation *const wi_index_family[] = {&wi_gather_kernel, &wi_index_select_kernel,
    &wi_scatter_sum_kernel, &wi_index_segments_kernel, &wi_index_sum_kernel, &wi_partition_kernel, NULL};
