/* Elements picked by index, and added up by index: each is the other's gradient. Kernels: gather.cl,
 * scatter.cl and segments.cl. */
#include "ops/index.h"
#include "base/integers.h"

/* attributes.flags of index_sum: attributes.start is an index to leave out. */
enum { SKIPS = 1 };
/* Rows of fewer elements are not worth a list; an index of fewer is not worth being sorted. */
enum { WIDE_ROW = 16, SHORT_INDEX = 256, GROUP = 64 };

/* ---- what the kernels are told ---- */

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
    const bool cpu = site->device_class == WEFT_CLASS_CPU;
    const int axis = site->node->attributes.axis;
    const around x = around_axis(&site->inputs[0], axis), y = around_axis(&site->result, axis);
    const int64_t rows = y.outer * y.along;
    const int64_t worth = wi_max64(1, wi_min64(site->compute_units * 4, rows * y.inner / 4096));
    const int64_t rows_an_item = cpu ? wi_divide_up(rows, worth) : 1;
    const char *suffix = each ? "pick" : "rows";
    plan->file = "gather.cl";
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
weft_status wi_index_select_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    return pick(site, plan, false);
}

static bool skips(const weft_tensor *node) {
    return node->attributes.flags & SKIPS;
}

/* An item walks through the whole index, so there are only as many ranges of rows as keep the device busy. */
static weft_status add_up(const wi_kernel_site *site, wi_kernel_plan *plan, bool each) {
    const bool cpu = site->device_class == WEFT_CLASS_CPU;
    const int axis = site->node->attributes.axis;
    const around source = around_axis(&site->inputs[0], axis), y = around_axis(&site->result, axis);
    const int64_t width = cpu ? wi_min64(y.inner, 256) : 1, columns = wi_divide_up(y.inner, width);
    const int64_t wanted = cpu ? site->compute_units * 4 : 16384;
    const int64_t ranges = wi_min64(y.along, wi_max64(1, wanted / wi_max64(1, columns * y.outer)));
    const int64_t rows_a_range = wi_divide_up(y.along, ranges);
    const int64_t items = y.outer * columns * wi_divide_up(y.along, rows_a_range);
    plan->file = "scatter.cl";
    plan->flops = (double)(source.outer * source.along * source.inner);
    wi_kernel_macro_text(plan, "WEFT_ELEMENT", site->node->dtype == WEFT_F32 ? "float" : "int");
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
    const bool real = site->node->dtype == WEFT_F32;
    plan->file = "segments.cl";
    wi_kernel_macro_text(plan, "WEFT_ELEMENT", real ? "float" : "int");
    wi_kernel_macro_text(plan, "WEFT_ELEMENTS", real ? "float16" : "int16");
    wi_kernel_macro_int(plan, "WEFT_SKIPS", skips(site->node));
}

/* An item owns rows of the result, and walks through the index once. */
static weft_status add_lists(const wi_kernel_site *site, wi_kernel_plan *plan, around source, around y) {
    const int64_t rows_an_item = wi_divide_up(y.along, wi_min64(site->compute_units * 4, y.along));
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
static weft_status index_sum_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const weft_tensor *node = site->node;
    const int axis = node->attributes.axis;
    const around source = around_axis(&site->inputs[0], axis), y = around_axis(&site->result, axis);
    if (node->input_count == 3) return add_segments(site, plan, source, y);
    const bool lists = site->device_class == WEFT_CLASS_CPU && axis == 0 && is_wide(node);
    return lists ? add_lists(site, plan, source, y) : add_up(site, plan, false);
}

/* ---- gradients ---- */

static void gather_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const int axis = y->attributes.axis;
    gradients[0] = weft_scatter_sum(g, axis, y->inputs[1], y->inputs[0]->shape.dims[axis]);
}
static void index_select_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const int axis = y->attributes.axis;
    gradients[0] = weft_index_sum(g, axis, y->inputs[1], y->inputs[0]->shape.dims[axis]);
}
static void scatter_sum_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    gradients[0] = weft_gather(g, y->attributes.axis, y->inputs[1]);
}
/* The index as (count, 1, ...): beside the rows of a tensor whose first axis it names. */
static weft_tensor *beside_rows(weft_tensor *index, int rank) {
    int64_t dims[WEFT_MAX_RANK] = {index->shape.dims[0]};
    for (int i = 1; i < rank; i++) dims[i] = 1;
    return weft_reshape_shape(index, rank, dims);
}

static void index_sum_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *index = y->inputs[1];
    if (!skips(y)) {
        gradients[0] = weft_index_select(g, y->attributes.axis, index);
        return;
    }
    weft_tensor *left_out = weft_equal(index, weft_number(index, (double)y->attributes.start));
    weft_tensor *rows = weft_index_select(g, 0, weft_where(left_out, weft_number(index, 0), index));
    gradients[0] =
        rows ? weft_where(beside_rows(left_out, rows->shape.rank), weft_number(rows, 0), rows) : NULL;
}

#define index_select_kernel wi_index_select_kernel
#define KERNEL_OP(op)                                                                                        \
    const wi_op wi_op_##op = {.name = #op,                                                                   \
        .kind = WI_KERNEL,                                                                                   \
        .backward = op##_backward,                                                                           \
        .kernel = op##_kernel,                                                                               \
        .contiguous = 7,                                                                                     \
        .fault = "an index is out of range"};
KERNEL_OP(gather)
KERNEL_OP(index_select)
KERNEL_OP(scatter_sum)
KERNEL_OP(index_sum)

/* ---- checks ---- */

static weft_tensor *fail_shapes(
    const char *op, const weft_tensor *x, const weft_tensor *index, const char *rule) {
    char text_x[WI_SHAPE_TEXT], text_index[WI_SHAPE_TEXT];
    return wi_graph_fail(x->graph, WEFT_ERROR_SHAPE, "%s: shape %s and index %s: %s", op,
        wi_shape_print(&x->shape, text_x), wi_shape_print(&index->shape, text_index), rule);
}

/* Index i32, an axis of x; the graph, or NULL with the error recorded. */
static weft_graph *check(const wi_op *op, weft_tensor *x, weft_tensor *index, int axis, int *found) {
    weft_tensor *inputs[] = {x, index};
    weft_graph *graph = wi_inputs_graph(op->name, inputs, 2);
    if (!graph) return NULL;
    if (index->dtype != WEFT_I32) {
        wi_graph_fail(graph, WEFT_ERROR_DTYPE, "%s: indices are i32, not %s; weft_cast converts", op->name,
            weft_dtype_name(index->dtype));
        return NULL;
    }
    *found = wi_axis_index(x, op->name, axis);
    return *found < 0 ? NULL : graph;
}

static weft_graph *check_sum(const wi_op *op, weft_tensor *source, weft_tensor *index, int axis, int64_t size,
    int *found, wi_shape *shape) {
    weft_graph *graph = check(op, source, index, axis, found);
    if (!graph) return NULL;
    if (source->dtype != WEFT_F32 && source->dtype != WEFT_I32) {
        wi_graph_fail(graph, WEFT_ERROR_DTYPE, "%s: takes f32 or i32, not %s", op->name,
            weft_dtype_name(source->dtype));
        return NULL;
    }
    *shape = source->shape;
    shape->dims[*found] = size;
    if (wi_shape_check(shape, op->name) == WEFT_OK) return graph;
    wi_graph_fail_recorded(graph, WEFT_ERROR_SHAPE);
    return NULL;
}

static weft_tensor *make(
    const wi_op *op, weft_tensor *x, weft_tensor *index, const wi_shape *shape, int axis) {
    weft_tensor *inputs[] = {x, index};
    return wi_node(x->graph, op, inputs, 2, x->dtype, shape, &(wi_attributes){.axis = axis});
}

/* ---- picking ---- */

weft_tensor *weft_gather(weft_tensor *x, int axis, weft_tensor *index) {
    int a;
    if (!check(&wi_op_gather, x, index, axis, &a)) return NULL;
    if (index->shape.rank != x->shape.rank) return fail_shapes("gather", x, index, "the ranks differ");
    for (int i = 0; i < x->shape.rank; i++) {
        const int64_t have = x->shape.dims[i], want = index->shape.dims[i];
        if (i == a || have == want) continue;
        if (have < 1 || want < 1 || want > have)
            return fail_shapes("gather", x, index, "the index is larger along another axis");
        x = weft_slice(x, i, 0, want);
    }
    return x ? make(&wi_op_gather, x, index, &index->shape, a) : NULL;
}

static bool one_axis(const wi_shape *shape, int64_t *length) {
    int64_t count;
    int power;
    wi_shape_count(shape, &count, &power);
    *length = power ? -count : count;
    return power <= 1;
}

weft_tensor *weft_index_select(weft_tensor *x, int axis, weft_tensor *index) {
    int a;
    if (!check(&wi_op_index_select, x, index, axis, &a)) return NULL;
    int64_t length;
    if (!one_axis(&index->shape, &length))
        return fail_shapes("index_select", x, index, "the index has a size of batch^2");
    const int more = index->shape.rank;
    if (x->shape.rank - 1 + more > WEFT_MAX_RANK)
        return fail_shapes("index_select", x, index, "the result has too many axes");
    wi_shape shape = x->shape, whole = {.rank = x->shape.rank - 1 + more};
    shape.dims[a] = length;
    if (wi_shape_check(&shape, "index_select") != WEFT_OK)
        return wi_graph_fail_recorded(x->graph, WEFT_ERROR_SHAPE);
    for (int i = 0; i < whole.rank; i++)
        whole.dims[i] = i < a          ? x->shape.dims[i]
                        : i < a + more ? index->shape.dims[i - a]
                                       : x->shape.dims[i - more + 1];
    weft_tensor *line = weft_reshape_shape(index, 1, &length);
    weft_tensor *y = line ? make(&wi_op_index_select, x, line, &shape, a) : NULL;
    return y ? weft_reshape_shape(y, whole.rank, whole.dims) : NULL;
}

/* ---- adding up ---- */

weft_tensor *weft_scatter_sum(weft_tensor *source, int axis, weft_tensor *index, int64_t size) {
    int a;
    wi_shape shape;
    if (!check_sum(&wi_op_scatter_sum, source, index, axis, size, &a, &shape)) return NULL;
    if (!wi_shape_equal(&source->shape, &index->shape))
        return fail_shapes("scatter_sum", source, index, "they differ");
    return make(&wi_op_scatter_sum, source, index, &shape, a);
}

/* On gpu-class devices a long index is sorted first; the order is shared by all sums of one index. */
static weft_tensor *sum_node(
    weft_tensor *source, weft_tensor *index, const wi_shape *shape, wi_attributes attributes) {
    weft_tensor *inputs[] = {source, index, NULL};
    const int64_t count = index->shape.dims[0];
    const bool gpu = source->graph->context->caps.device_class == WEFT_CLASS_GPU;
    const bool sorted = gpu && attributes.axis == 0 && (count < 0 || count > SHORT_INDEX);
    if (sorted && !(inputs[2] = weft_argsort(index, 0, false))) return NULL;
    return wi_node(
        source->graph, &wi_op_index_sum, inputs, sorted ? 3 : 2, source->dtype, shape, &attributes);
}

weft_tensor *weft_index_sum(weft_tensor *source, int axis, weft_tensor *index, int64_t size) {
    int a;
    wi_shape shape;
    if (!check_sum(&wi_op_index_sum, source, index, axis, size, &a, &shape)) return NULL;
    if (index->shape.rank != 1 || index->shape.dims[0] != source->shape.dims[a])
        return fail_shapes("index_sum", source, index, "the index is not one axis as long as the source's");
    return sum_node(source, index, &shape, (wi_attributes){.axis = a});
}

weft_tensor *wi_index_sum_skipping(weft_tensor *source, weft_tensor *index, int64_t size, int64_t skipped) {
    int a;
    wi_shape shape;
    if (!check_sum(&wi_op_index_sum, source, index, 0, size, &a, &shape)) return NULL;
    return sum_node(source, index, &shape, (wi_attributes){.flags = SKIPS, .start = skipped});
}

static weft_tensor *add_to(const char *op, weft_tensor *x, weft_tensor *sum, weft_tensor *source, int axis) {
    char text_x[WI_SHAPE_TEXT], text_source[WI_SHAPE_TEXT];
    if (!sum) return NULL;
    if (!wi_shape_equal(&x->shape, &sum->shape))
        return wi_graph_fail(x->graph, WEFT_ERROR_SHAPE, "%s: %s and source %s differ outside axis %d", op,
            wi_shape_print(&x->shape, text_x), wi_shape_print(&source->shape, text_source), axis);
    return weft_add(x, sum);
}

static weft_graph *check_add(
    const char *op, weft_tensor *x, weft_tensor *index, weft_tensor *source, int axis, int64_t *size) {
    weft_tensor *inputs[] = {x, index, source};
    weft_graph *graph = wi_inputs_graph(op, inputs, 3);
    const int a = graph ? wi_axis_index(x, op, axis) : -1;
    if (a < 0) return NULL;
    *size = x->shape.dims[a];
    return graph;
}

weft_tensor *weft_scatter_add(weft_tensor *x, int axis, weft_tensor *index, weft_tensor *source) {
    int64_t size;
    if (!check_add("scatter_add", x, index, source, axis, &size)) return NULL;
    return add_to("scatter_add", x, weft_scatter_sum(source, axis, index, size), source, axis);
}

weft_tensor *weft_index_add(weft_tensor *x, int axis, weft_tensor *index, weft_tensor *source) {
    int64_t size;
    if (!check_add("index_add", x, index, source, axis, &size)) return NULL;
    return add_to("index_add", x, weft_index_sum(source, axis, index, size), source, axis);
}
