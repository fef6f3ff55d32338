/* Gathers and sums by index, which are the gradients of each other. Kernels: gather.cl, scatter.cl, lists_cpu.cl, and segments_gpu.cl,
 * which reads the order of the index as a third input. */
#include "ops/index/index.h"
#include "graph/sizes.h"
#include "ops/op_table.h"

/* ---- gradients ---- */

static bool skips(const weft_tensor *node) {
    return node->attributes->index.skips;
}

static void gather_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const int axis = y->attributes->index.axis;
    gradients[0] = weft_scatter_sum(g, axis, y->inputs[1], y->inputs[0]->shape.dims[axis]);
}
static void index_select_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const int axis = y->attributes->index.axis;
    gradients[0] = weft_index_sum(g, axis, y->inputs[1], y->inputs[0]->shape.dims[axis]);
}
static void scatter_sum_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    gradients[0] = weft_gather(g, y->attributes->index.axis, y->inputs[1]);
}

weft_tensor *wi_beside_rows(weft_tensor *index, int rank) {
    if (!index) return NULL;
    int64_t dims[WEFT_MAX_RANK] = {index->shape.dims[0]};
    for (int i = 1; i < rank; i++) dims[i] = 1;
    return weft_reshape_shape(index, rank, dims);
}

static void index_sum_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *index = y->inputs[1];
    if (!skips(y)) {
        gradients[0] = weft_index_select(g, y->attributes->index.axis, index);
        return;
    }
    weft_tensor *left_out = weft_equal(index, weft_number(index, (double)y->attributes->index.skipped));
    weft_tensor *rows = weft_index_select(g, 0, weft_where(left_out, weft_number(index, 0), index));
    gradients[0] =
        rows ? weft_where(wi_beside_rows(left_out, rows->shape.rank), weft_number(rows, 0), rows) : NULL;
}

/* The gradient of x is g, but 0 at the replaced rows. The gradient of the source is g at the replaced rows. */
static void index_copy_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const int axis = y->attributes->index.axis;
    const wi_shape *const shape = &y->inputs[2]->shape;
    weft_tensor *const zeros = weft_expand(weft_number(g, 0), shape->rank, shape->dims);
    gradients[0] = weft_index_copy(g, axis, y->inputs[1], zeros);
    gradients[2] = weft_index_select(g, axis, y->inputs[1]);
}

/* Creates the node again at a plan's length. If kernels read the order of the index as a third input
 * (kernels/index/segments_gpu.c), the order is created from the new index. */
static weft_tensor *index_sum_again(const weft_tensor *y, weft_tensor *const *inputs, const wi_shape *shape,
    const wi_attributes *attributes) {
    weft_tensor *given[3] = {inputs[0], inputs[1]};
    if (y->input_count == 3 && !(given[2] = wi_node_over(y->inputs[2], &inputs[1], &inputs[1]->shape)))
        return NULL;
    return wi_node(y->graph, y->op, given, y->input_count, y->dtype, shape, attributes);
}

#define KERNEL_OP(op, axis_of, adds_up, again, in_place)                                                     \
    const wi_op wi_op_##op = {.name = #op,                                                                   \
        .kind = WI_KERNEL,                                                                                   \
        .attribute_bytes = sizeof(wi_index_attributes),                                                      \
        .along = (axis_of),                                                                                  \
        .takes_examples = (adds_up),                                                                         \
        .remake = (again),                                                                                   \
        .contiguous = 7,                                                                                     \
        .fault = "an index is out of range",                                                                 \
        .replaces = (in_place)};
KERNEL_OP(gather, wi_index_axis, false, NULL, false)
KERNEL_OP(index_select, wi_index_axis, false, NULL, false)
KERNEL_OP(scatter_sum, wi_index_axis, true, NULL, false)
KERNEL_OP(index_sum, wi_index_axis, true, index_sum_again, false)
KERNEL_OP(index_copy, NULL, false, NULL, true)

/* ---- checks ---- */

static weft_tensor *fail_shapes(
    const char *op, const weft_tensor *x, const weft_tensor *index, const char *rule) {
    char text_x[WI_SHAPE_TEXT], text_index[WI_SHAPE_TEXT];
    return wi_graph_fail(x->graph, WEFT_ERROR_SHAPE, "%s: shape %s and index %s: %s", op,
        wi_shape_print(x->graph, &x->shape, text_x), wi_shape_print(index->graph, &index->shape, text_index),
        rule);
}

/* Checks that the index is i32, and writes the index of the axis. NULL: an error is recorded. */
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
    if (!wi_takes_dtype(source, op->name, WI_TAKES_FLOATS | WI_TAKES_INTEGERS)) return NULL;
    *shape = source->shape;
    shape->dims[*found] = size;
    if (wi_shape_check(graph, shape, op->name) == WEFT_OK) return graph;
    wi_graph_fail_recorded(graph, WEFT_ERROR_SHAPE);
    return NULL;
}

static weft_tensor *make(const wi_op *op, weft_tensor *x, weft_tensor *index, const wi_shape *shape,
    wi_index_attributes attributes) {
    weft_tensor *inputs[] = {x, index};
    if (!x) return NULL;
    return wi_node(x->graph, op, inputs, 2, x->dtype, shape, &(wi_attributes){.index = attributes});
}

/* ---- gather ---- */

weft_tensor *weft_gather(weft_tensor *x, int axis, weft_tensor *index) {
    int a;
    if (!check(&wi_op_gather, x, index, axis, &a)) return NULL;
    if (index->shape.rank != x->shape.rank) return fail_shapes("gather", x, index, "the ranks differ");
    for (int i = 0; i < x->shape.rank; i++) {
        const int64_t have = x->shape.dims[i], want = index->shape.dims[i];
        if (i == a || have == want) continue;
        if (have < 1 || want < 1 || wi_position_is_less(x->graph, have, want))
            return fail_shapes("gather", x, index, "the index is larger along another axis");
        if (!(x = weft_slice(x, i, 0, want))) return NULL;
    }
    return make(&wi_op_gather, x, index, &index->shape, (wi_index_attributes){.axis = a});
}

static bool one_axis(weft_graph *graph, const wi_shape *shape, int64_t *length) {
    int64_t count;
    int power;
    wi_shape_count(graph, shape, &count, &power);
    *length = power ? -count : count;
    return power <= 1;
}

weft_tensor *weft_index_select(weft_tensor *x, int axis, weft_tensor *index) {
    int a;
    if (!check(&wi_op_index_select, x, index, axis, &a)) return NULL;
    int64_t length;
    if (!one_axis(x->graph, &index->shape, &length))
        return fail_shapes("index_select", x, index, "the index has more than one batch axis");
    const int more = index->shape.rank;
    if (x->shape.rank - 1 + more > WEFT_MAX_RANK)
        return fail_shapes("index_select", x, index, "the result has too many axes");
    wi_shape shape = x->shape, whole = {.rank = x->shape.rank - 1 + more};
    shape.dims[a] = length;
    if (wi_shape_check(x->graph, &shape, "index_select") != WEFT_OK)
        return wi_graph_fail_recorded(x->graph, WEFT_ERROR_SHAPE);
    for (int i = 0; i < whole.rank; i++)
        whole.dims[i] = i < a          ? x->shape.dims[i]
                        : i < a + more ? index->shape.dims[i - a]
                                       : x->shape.dims[i - more + 1];
    weft_tensor *line = weft_reshape_shape(index, 1, &length);
    weft_tensor *y =
        line ? make(&wi_op_index_select, x, line, &shape, (wi_index_attributes){.axis = a}) : NULL;
    return y ? weft_reshape_shape(y, whole.rank, whole.dims) : NULL;
}

/* ---- index_copy ---- */

static bool check_copy(weft_tensor *x, int axis, weft_tensor *index, weft_tensor *source, int *found) {
    weft_tensor *inputs[] = {x, index, source};
    if (!wi_inputs_graph("index_copy", inputs, 3) || !check(&wi_op_index_copy, x, index, axis, found))
        return false;
    if (source->dtype != x->dtype) {
        wi_graph_fail(x->graph, WEFT_ERROR_DTYPE,
            "index_copy: x is %s, but the source is %s; weft_cast converts", weft_dtype_name(x->dtype),
            weft_dtype_name(source->dtype));
        return false;
    }
    wi_shape wanted = x->shape;
    if (index->shape.rank == 1) wanted.dims[*found] = index->shape.dims[0];
    if (index->shape.rank == 1 && wi_shape_equal(&wanted, &source->shape)) return true;
    char text_x[WI_SHAPE_TEXT], text_index[WI_SHAPE_TEXT], text_source[WI_SHAPE_TEXT];
    wi_graph_fail(x->graph, WEFT_ERROR_SHAPE,
        "index_copy: shape %s, index %s and source %s: expected an index of one axis, and a source "
        "of the shape of x with as many elements along axis %d",
        wi_shape_print(x->graph, &x->shape, text_x), wi_shape_print(index->graph, &index->shape, text_index),
        wi_shape_print(source->graph, &source->shape, text_source), *found);
    return false;
}

static weft_tensor *replace(
    weft_tensor *x, weft_tensor *index, weft_tensor *source, wi_index_attributes attributes) {
    weft_tensor *inputs[] = {x, index, source};
    return wi_node(
        x->graph, &wi_op_index_copy, inputs, 3, x->dtype, &x->shape, &(wi_attributes){.index = attributes});
}

weft_tensor *weft_index_copy(weft_tensor *x, int axis, weft_tensor *index, weft_tensor *source) {
    int a;
    if (!check_copy(x, axis, index, source, &a)) return NULL;
    return replace(x, index, source, (wi_index_attributes){.axis = a});
}

weft_tensor *wi_replace_rows(weft_tensor *table, weft_tensor *index, weft_tensor *rows) {
    int a;
    if (!check_copy(table, 0, index, rows, &a)) return NULL;
    return replace(table, index, rows, (wi_index_attributes){.skips = true, .skipped = -1});
}

/* ---- sums ---- */

weft_tensor *weft_scatter_sum(weft_tensor *source, int axis, weft_tensor *index, int64_t size) {
    int a;
    wi_shape shape;
    if (!check_sum(&wi_op_scatter_sum, source, index, axis, size, &a, &shape)) return NULL;
    if (!wi_shape_equal(&source->shape, &index->shape))
        return fail_shapes("scatter_sum", source, index, "the shapes must be equal");
    weft_tensor *sum =
        make(&wi_op_scatter_sum, wi_wide(source), index, &shape, (wi_index_attributes){.axis = a});
    return weft_cast(sum, source->dtype);
}

weft_tensor *weft_index_sum(weft_tensor *source, int axis, weft_tensor *index, int64_t size) {
    int a;
    wi_shape shape;
    if (!check_sum(&wi_op_index_sum, source, index, axis, size, &a, &shape)) return NULL;
    if (index->shape.rank != 1 || index->shape.dims[0] != source->shape.dims[a])
        return fail_shapes(
            "index_sum", source, index, "the index must have one axis, as long as that axis of the source");
    weft_tensor *sum =
        make(&wi_op_index_sum, wi_wide(source), index, &shape, (wi_index_attributes){.axis = a});
    return weft_cast(sum, source->dtype);
}

weft_tensor *wi_index_sum_skipping(weft_tensor *source, weft_tensor *index, int64_t size, int64_t skipped) {
    int a;
    wi_shape shape;
    if (!check_sum(&wi_op_index_sum, source, index, 0, size, &a, &shape)) return NULL;
    const wi_index_attributes attributes = {.skips = true, .skipped = skipped};
    return weft_cast(make(&wi_op_index_sum, wi_wide(source), index, &shape, attributes), source->dtype);
}

/* inputs: x, index, source. scatters: weft_scatter_add, otherwise weft_index_add. */
static weft_tensor *add(const char *op, bool scatters, weft_tensor *const inputs[3], int axis) {
    weft_tensor *const x = inputs[0], *const index = inputs[1], *const source = inputs[2];
    const int a = wi_inputs_graph(op, inputs, 3) ? wi_axis_index(x, op, axis) : -1;
    if (a < 0) return NULL;
    const int64_t size = x->shape.dims[a];
    weft_tensor *const sum =
        scatters ? weft_scatter_sum(source, axis, index, size) : weft_index_sum(source, axis, index, size);
    char text_x[WI_SHAPE_TEXT], text_source[WI_SHAPE_TEXT];
    if (!sum) return NULL;
    if (!wi_shape_equal(&x->shape, &sum->shape))
        return wi_graph_fail(x->graph, WEFT_ERROR_SHAPE,
            "%s: x %s and source %s differ in axes other than %d", op,
            wi_shape_print(x->graph, &x->shape, text_x),
            wi_shape_print(source->graph, &source->shape, text_source), axis);
    return weft_add(x, sum);
}

weft_tensor *weft_scatter_add(weft_tensor *x, int axis, weft_tensor *index, weft_tensor *source) {
    weft_tensor *const inputs[] = {x, index, source};
    return WI_CALL(x, "weft_scatter_add", add("scatter_add", true, inputs, axis));
}

weft_tensor *weft_index_add(weft_tensor *x, int axis, weft_tensor *index, weft_tensor *source) {
    weft_tensor *const inputs[] = {x, index, source};
    return WI_CALL(x, "weft_index_add", add("index_add", false, inputs, axis));
}

const wi_op_rules wi_index_rules[] = {{.op = &wi_op_gather, .backward = gather_backward},
    {.op = &wi_op_index_select, .backward = index_select_backward},
    {.op = &wi_op_scatter_sum, .backward = scatter_sum_backward},
    {.op = &wi_op_index_sum, .backward = index_sum_backward},
    {.op = &wi_op_index_copy, .backward = index_copy_backward}, {0}};
