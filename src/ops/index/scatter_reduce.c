/* Elements of a source reduced into the elements of x that an index names: sums, means, maxima and minima. Kernel: scatter.cl. */
#include "ops/index/index.h"
#include "ops/op_table.h"

/* ---- maxima and minima ---- */

/* Equal extremes share the gradient. A result of NaN equals no element, and 0/0 makes the gradient NaN, as in weft_max. */
static void extreme_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const int axis = y->attributes->index.axis;
    weft_tensor *const source = y->inputs[0], *const index = y->inputs[1];
    weft_tensor *const hit = weft_cast(weft_equal(source, weft_gather(y, axis, index)), source->dtype);
    weft_tensor *const hits = weft_scatter_sum(hit, axis, index, y->shape.dims[axis]);
    weft_tensor *const share = weft_div(weft_gather(g, axis, index), weft_gather(hits, axis, index));
    gradients[0] = weft_mul(hit, share);
}

#define EXTREME_OP(op)                                                                                       \
    const wi_op wi_op_##op = {.name = #op,                                                                   \
        .kind = WI_KERNEL,                                                                                   \
        .attribute_bytes = sizeof(wi_index_attributes),                                                      \
        .along = wi_index_axis,                                                                              \
        .contiguous = 3,                                                                                     \
        .fault = "an index is out of range"};
EXTREME_OP(scatter_max)
EXTREME_OP(scatter_min)

typedef struct reduction {
    const char *op;
    weft_tensor *x, *index, *source; /* the index has the shape of the source */
    int axis;
    bool largest;
} reduction;

/* With include_self, the elements of x are appended to the source, so that they share the gradient of equal extremes. */
static weft_tensor *extreme(const reduction *r, bool include_self) {
    weft_tensor *source = wi_wide(r->source), *index = r->index;
    if (include_self) {
        weft_tensor *const places = wi_coordinate(r->x->graph, &r->x->shape, r->axis);
        source = weft_concat((weft_tensor *const[]){wi_wide(r->x), source}, 2, r->axis);
        index = weft_concat((weft_tensor *const[]){places, index}, 2, r->axis);
    }
    if (!source || !index) return NULL;
    weft_tensor *const inputs[] = {source, index};
    const wi_attributes attributes = {.index = {.axis = r->axis}};
    weft_tensor *const y = wi_node(r->x->graph, r->largest ? &wi_op_scatter_max : &wi_op_scatter_min, inputs,
        2, source->dtype, &r->x->shape, &attributes);
    return weft_cast(y, r->x->dtype);
}

/* The number of elements of the source that are reduced into each element, in the dtype of x. */
static weft_tensor *counts_of(const reduction *r) {
    const wi_shape *const shape = &r->index->shape;
    weft_tensor *const ones = weft_expand(weft_number(r->index, 1), shape->rank, shape->dims);
    return weft_scatter_sum(ones, r->axis, r->index, r->x->shape.dims[r->axis]);
}

static weft_tensor *total(const reduction *r, bool include_self) {
    weft_tensor *const sum =
        weft_scatter_sum(wi_wide(r->source), r->axis, r->index, r->x->shape.dims[r->axis]);
    return include_self ? weft_add(wi_wide(r->x), sum) : sum;
}

static weft_tensor *mean(const reduction *r, bool include_self) {
    weft_tensor *const sum = total(r, include_self), *const counts = counts_of(r);
    weft_tensor *const of = include_self ? weft_add_number(counts, 1) : weft_maximum_number(counts, 1);
    return sum ? weft_div(sum, weft_cast(of, sum->dtype)) : NULL;
}

static weft_tensor *reduce(reduction *r, weft_scatter_kind kind, bool include_self) {
    weft_tensor *y;
    r->largest = kind == WEFT_SCATTER_MAX;
    if (kind == WEFT_SCATTER_SUM)
        y = total(r, include_self);
    else if (kind == WEFT_SCATTER_MEAN)
        y = mean(r, include_self);
    else
        y = extreme(r, include_self);
    if (!y) return NULL;
    y = weft_cast(y, r->x->dtype);
    if (include_self) return y;
    weft_tensor *const counts = counts_of(r);
    return weft_where(weft_equal(counts, weft_number(counts, 0)), r->x, y);
}

/* ---- checks ---- */

static weft_tensor *fail_shapes(const reduction *r, const char *rule) {
    char x[WI_SHAPE_TEXT], index[WI_SHAPE_TEXT], source[WI_SHAPE_TEXT];
    return wi_graph_fail(r->x->graph, WEFT_ERROR_SHAPE, "%s: x %s, index %s and source %s: %s", r->op,
        wi_shape_print(r->x->graph, &r->x->shape, x),
        wi_shape_print(r->index->graph, &r->index->shape, index),
        wi_shape_print(r->source->graph, &r->source->shape, source), rule);
}

static bool check(reduction *r, int axis, weft_scatter_kind kind) {
    weft_tensor *const inputs[] = {r->x, r->index, r->source};
    weft_graph *const graph = wi_inputs_graph(r->op, inputs, 3);
    if (!graph || (r->axis = wi_axis_index(r->x, r->op, axis)) < 0) return false;
    const bool floats = kind == WEFT_SCATTER_MEAN;
    if ((unsigned)kind > WEFT_SCATTER_MIN)
        wi_graph_fail(
            graph, WEFT_ERROR_ARGUMENT, "%s: kind is %d, which is not a weft_scatter_kind", r->op, (int)kind);
    else if (r->index->dtype != WEFT_I32)
        wi_graph_fail(graph, WEFT_ERROR_DTYPE, "%s: indices are i32, not %s; weft_cast converts", r->op,
            weft_dtype_name(r->index->dtype));
    else if (!wi_takes_dtype(r->x, r->op, WI_TAKES_FLOATS | (floats ? 0 : WI_TAKES_INTEGERS)))
        return false;
    else if (r->x->dtype != r->source->dtype)
        wi_graph_fail(graph, WEFT_ERROR_DTYPE, "%s: x is %s, but the source is %s; weft_cast converts", r->op,
            weft_dtype_name(r->x->dtype), weft_dtype_name(r->source->dtype));
    else
        return true;
    return false;
}

/* Has the source the shape of x, except for the axis of the index? */
static bool fits(const reduction *r) {
    wi_shape wanted = r->x->shape;
    if (r->source->shape.rank == wanted.rank) wanted.dims[r->axis] = r->source->shape.dims[r->axis];
    return wi_shape_equal(&wanted, &r->source->shape);
}

static weft_tensor *build_scatter_reduce(weft_tensor *x, int axis, weft_tensor *index, weft_tensor *source,
    weft_scatter_kind kind, bool include_self) {
    reduction r = {.op = "scatter_reduce", .x = x, .index = index, .source = source};
    if (!check(&r, axis, kind)) return NULL;
    if (!wi_shape_equal(&index->shape, &source->shape))
        return fail_shapes(&r, "the index and the source must have the same shape");
    if (!fits(&r)) return fail_shapes(&r, "x and the source differ in axes other than the indexed one");
    return reduce(&r, kind, include_self);
}

weft_tensor *weft_scatter_reduce(weft_tensor *x, int axis, weft_tensor *index, weft_tensor *source,
    weft_scatter_kind kind, bool include_self) {
    return WI_CALL(
        x, "weft_scatter_reduce", build_scatter_reduce(x, axis, index, source, kind, include_self));
}

static weft_tensor *build_index_reduce(weft_tensor *x, int axis, weft_tensor *index, weft_tensor *source,
    weft_scatter_kind kind, bool include_self) {
    reduction r = {.op = "index_reduce", .x = x, .index = index, .source = source};
    if (!check(&r, axis, kind)) return NULL;
    if (!fits(&r)) return fail_shapes(&r, "x and the source differ in axes other than the indexed one");
    if (index->shape.rank != 1 || index->shape.dims[0] != source->shape.dims[r.axis])
        return fail_shapes(&r, "the index must have one axis, as long as that axis of the source");
    int64_t dims[WEFT_MAX_RANK];
    for (int i = 0; i < x->shape.rank; i++) dims[i] = i == r.axis ? index->shape.dims[0] : 1;
    weft_tensor *const line = weft_reshape_shape(index, x->shape.rank, dims);
    r.index = weft_expand(line, source->shape.rank, source->shape.dims);
    return r.index ? reduce(&r, kind, include_self) : NULL;
}

weft_tensor *weft_index_reduce(weft_tensor *x, int axis, weft_tensor *index, weft_tensor *source,
    weft_scatter_kind kind, bool include_self) {
    return WI_CALL(x, "weft_index_reduce", build_index_reduce(x, axis, index, source, kind, include_self));
}

const wi_op_rules wi_scatter_reduce_rules[] = {{.op = &wi_op_scatter_max, .backward = extreme_backward},
    {.op = &wi_op_scatter_min, .backward = extreme_backward}, {0}};
