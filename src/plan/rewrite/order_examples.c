/* Finds the axis of the examples of each node, and how the node can be computed in micro-batches (contract in order_micro_batches.h). */
#include "ops/op_descriptors.h"
#include "plan/rewrite/order_micro_batches.h"
#include <weft/ops.h>

/* ---- the axis of the examples ---- */

static int axis_of_examples(const wi_shape *shape) {
    int axis = WI_NO_EXAMPLES;
    for (int i = 0; i < shape->rank; i++)
        if (shape->dims[i] < 0) axis = axis == WI_NO_EXAMPLES ? i : WI_SEVERAL;
    return axis;
}

/* Finds `outer` of the result of a reshape: the input repeats the sequence of all examples `in` times, and the result has `out` indices
 * before the axis of its examples. False unless each of these indices has a whole number of repetitions. */
static bool find_outer_of_reshape(const weft_tensor *y, const wi_batched_image *x, wi_batched_image *own) {
    const int64_t in = wi_elements_before(&y->inputs[0]->shape, x->axis) * x->outer,
                  out = wi_elements_before(&y->shape, own->axis);
    if (in % out != 0 || -y->shape.dims[own->axis] % (in / out) != 0) return false;
    own->outer = in / out;
    return true;
}

/* A slice of a packed result is one section, or several sections that a later slice separates (outer 0). */
static void find_outer_of_section(const weft_tensor *y, const wi_batched_image *x, wi_batched_image *own) {
    const int64_t length = -y->shape.dims[0];
    own->flat = x->flat;
    own->start = x->start - y->attributes->slice.start;
    const int64_t row = x->flat->op->section_row(x->flat, own->start),
                  last = x->flat->op->section_row(x->flat, own->start + length - 1);
    if (row == 0)
        own->outer = 1;
    else
        own->outer = row == last && row > 0 && length % row == 0 ? length / row : 0;
}

static bool is_section(const weft_tensor *y, const wi_batched_image *x, const wi_batched_image *own) {
    return y->op == &wi_op_slice && x->flat && own->axis == 0 && y->attributes->slice.step == 1 &&
           y->attributes->slice.start <= 0;
}

/* Fills `outer` from the inputs that have examples, which must agree; false: they do not. */
static bool find_outer(const wi_batching *c, const weft_tensor *y, wi_batched_image *own) {
    own->outer = 0;
    for (int i = 0; i < y->input_count; i++) {
        const wi_batched_image *const x = wi_batched_image_of(c, y->inputs[i]);
        if (x->axis == WI_NO_EXAMPLES || (y->op->section_row && x->flat == y->inputs[i])) continue;
        if (is_section(y, x, own)) {
            find_outer_of_section(y, x, own);
            return true;
        }
        if (x->axis == WI_SEVERAL || x->outer == 0 || (own->outer && own->outer != x->outer)) return false;
        if (y->op == &wi_op_reshape && own->axis >= 0) return find_outer_of_reshape(y, x, own);
        own->outer = x->outer;
    }
    if (own->outer == 0) own->outer = 1;
    return true;
}

void wi_find_examples(const wi_batching *c, const weft_tensor *y, wi_batched_image *own) {
    own->axis = axis_of_examples(&y->shape);
    if (!find_outer(c, y, own)) own->axis = WI_SEVERAL;
    if (y->op->section_row) own->flat = y;
}

/* ---- how a node is computed ---- */

double wi_batched_bytes(const wi_batching *c, const weft_tensor *node) {
    return wi_node_bytes(node, c->request->batch);
}

bool wi_exceeds_buffer(const wi_batching *c, const weft_tensor *node) {
    return wi_batched_bytes(c, node) > (double)c->buffer;
}

bool wi_is_large(const wi_batching *c, const weft_tensor *node) {
    return wi_batched_bytes(c, node) > (double)c->largest;
}

/* The axis of the examples, counted from the last axis. */
static int from_the_end(const weft_tensor *node, const wi_batched_image *own) {
    return node->shape.rank - own->axis;
}

static wi_way way_of_matmul(const wi_batching *c, const weft_tensor *y, const wi_batched_image *own) {
    const weft_tensor *const a = y->inputs[0], *const b = y->inputs[1];
    const wi_batched_image *const of_a = wi_batched_image_of(c, a), *const of_b = wi_batched_image_of(c, b);
    if (own->axis == WI_NO_EXAMPLES)
        return of_a->axis == a->shape.rank - 1 && of_b->axis == b->shape.rank - 2 ? WI_COMBINED : WI_WHOLE;
    for (int i = 0; i < 2; i++) {
        const wi_batched_image *const x = wi_batched_image_of(c, y->inputs[i]);
        if (x->axis >= 0 && from_the_end(y->inputs[i], x) != from_the_end(y, own)) return WI_WHOLE;
    }
    return WI_APART;
}

/* A packed result is divided only if each reader reads the parts as they were written: the sections of a micro-batch have other offsets
 * than the sections of all examples. */
static wi_way way_of_sections(const wi_batching *c, const weft_tensor *y, const wi_batched_image *own) {
    if (own->axis != 0 || own->outer != 1 || y->op->section_row(y, 0) < 0) return WI_WHOLE;
    for (int i = 0; i < y->input_count; i++) {
        const wi_batched_image *const x = wi_batched_image_of(c, y->inputs[i]);
        const bool is_flat = x->flat == y->inputs[i];
        if (is_flat ? !x->parts : y->op->takes_examples && x->axis > 0) return WI_WHOLE;
    }
    return WI_APART;
}

static bool reads_examples(const wi_batching *c, const weft_tensor *y) {
    for (int i = 0; i < y->input_count; i++)
        if (wi_batched_image_of(c, y->inputs[i])->axis != WI_NO_EXAMPLES) return true;
    return false;
}

/* The axis of the result for an axis of an input; an input of another rank is an index tensor, whose axes correspond to
 * the axis `along` of the result. */
static int axis_in_result(const weft_tensor *y, int input, int axis, int along) {
    return y->inputs[input]->shape.rank == y->shape.rank ? axis : along;
}

/* For ops whose elements depend on one another along one axis, `along`. If the examples are on another axis, each micro-batch is
 * computed apart. If they are on this axis, micro-batches are possible only if an index with examples gathers from an input without
 * examples. If the result has no examples, it may be a sum of the results of the micro-batches. */
static wi_way way_along(const wi_batching *c, const weft_tensor *y, const wi_batched_image *own) {
    const int along = y->op->along(y), axis = own->axis == WI_NO_EXAMPLES ? along : own->axis;
    const bool picks = own->axis == along, adds = own->axis == WI_NO_EXAMPLES;
    if (adds && !(y->op->takes_examples && reads_examples(c, y))) return WI_WHOLE;
    for (int i = 0; i < y->input_count; i++) {
        const wi_batched_image *const x = wi_batched_image_of(c, y->inputs[i]);
        const bool has_examples = x->axis != WI_NO_EXAMPLES;
        if (has_examples && axis_in_result(y, i, x->axis, along) != axis) return WI_WHOLE;
        if (picks && has_examples == (i == 0)) return WI_WHOLE;
    }
    return adds ? WI_COMBINED : WI_APART;
}

static wi_way way_of_kernel(const wi_batching *c, const weft_tensor *y, const wi_batched_image *own) {
    if (y->op->section_row) return way_of_sections(c, y, own);
    if (y->op->along) return way_along(c, y, own);
    if (y->op->takes_any_axis) return own->axis >= 0 && own->outer == 1 ? WI_APART : WI_WHOLE;
    if (!y->op->takes_examples || own->outer != 1) return WI_WHOLE;
    for (int i = 0; i < y->input_count; i++)
        if (wi_batched_image_of(c, y->inputs[i])->axis > 0) return WI_WHOLE;
    if (own->axis == WI_NO_EXAMPLES) return reads_examples(c, y) ? WI_COMBINED : WI_WHOLE;
    return own->axis == 0 ? WI_APART : WI_WHOLE;
}

wi_combiner wi_combiner_of(const wi_op *op) {
    return op->kind == WI_REDUCE ? op->combine : weft_add;
}

static wi_way way_of_reduction(const wi_batching *c, const weft_tensor *y) {
    const wi_batched_image *const x = wi_batched_image_of(c, y->inputs[0]);
    if (x->axis < 0) return WI_WHOLE;
    if (!(y->attributes->over.axes >> x->axis & 1)) return WI_APART;
    return wi_combiner_of(y->op) ? WI_COMBINED : WI_WHOLE;
}

/* Does each index of this axis of the result depend only on the same index of the inputs? */
static bool is_beside(const weft_tensor *y, int axis) {
    if (y->op->reads_padded) return y->attributes->padding.mode[axis] == WI_PADDING_NONE;
    if (y->op == &wi_op_slice) return y->attributes->slice.axis != axis;
    if (y->op == &wi_op_flip) return !(y->attributes->over.axes >> axis & 1);
    if (y->op->kind == WI_JOIN) return y->op == &wi_op_concat && y->attributes->along.axis != axis;
    return y->op != &wi_op_diagonal;
}

int64_t wi_micro_batch_of_slice(const wi_batching *c, const weft_tensor *y) {
    const wi_slice_attributes *const a = &y->attributes->slice;
    const wi_batched_image *const x = wi_batched_image_of(c, y->inputs[0]);
    const int64_t length = y->shape.dims[a->axis];
    if (x->axis != a->axis || x->outer != 1 || x->flat || length < 0) return -1;
    const int64_t inner = -y->inputs[0]->shape.dims[a->axis], last = a->start + (length - 1) * a->step;
    for (int64_t i = 0; i < c->count; i++)
        if (a->start >= wi_micro_batch_begin(c, i) * inner && last < wi_micro_batch_begin(c, i + 1) * inner)
            return i;
    return -1;
}

wi_way wi_way_of(const wi_batching *c, const weft_tensor *y, const wi_batched_image *own) {
    if (y->op == &wi_op_slice && wi_micro_batch_of_slice(c, y) >= 0) return WI_WITHIN;
    if (own->axis == WI_SEVERAL) return WI_WHOLE;
    if (own->flat && own->flat != y) return wi_batched_image_of(c, y->inputs[0])->parts ? WI_APART : WI_WHOLE;
    switch (y->op->kind) {
    case WI_MAP:
    case WI_VIEW:
    case WI_JOIN: return own->axis >= 0 && is_beside(y, own->axis) ? WI_APART : WI_WHOLE;
    case WI_REDUCE: return way_of_reduction(c, y);
    case WI_PRODUCT: return y->op == &wi_op_matmul ? way_of_matmul(c, y, own) : way_of_kernel(c, y, own);
    case WI_KERNEL: return way_of_kernel(c, y, own);
    case WI_SOURCE: return y->op == &wi_op_input && own->axis == 0 ? WI_APART : WI_WHOLE;
    default: return WI_WHOLE;
    }
}
