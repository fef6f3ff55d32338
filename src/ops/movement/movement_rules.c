/* The rules of reshape, expand and concat. */
#include "ops/movement/movement.h"
#include "ops/op_table.h"

/* ---- reshape ---- */

static void reshape_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const wi_shape *shape = &y->inputs[0]->shape;
    gradients[0] = weft_reshape_shape(g, shape->rank, shape->dims);
}

/* Writes the memory axis of the first axis of the run. False: the axes of the run are not adjacent in memory order. */
static bool run_in_memory(
    const wi_reshape_run *r, const wi_extent *x, const wi_memory_order *order, int *first) {
    const wi_memory_order inverse = wi_inverse_order(order->rank, order->axes);
    int last = -1;
    for (int k = r->i; k < r->i_end; k++) {
        if (wi_size_is(x->dims[k], 1)) continue;
        const int here = order->axes[k];
        if (last < 0) *first = here;
        if (last >= here) return false;
        for (int m = last + 1; last >= 0 && m < here; m++) {
            if (!wi_size_is(x->dims[inverse.axes[m]], 1)) return false;
        }
        last = here;
    }
    return last >= 0;
}

/* x is a view of memory in another order. If the axes of each group that the reshape merges or splits are adjacent in memory, the
 * rule reshapes the memory and returns a view of it: from (N, C, H, W) over (N, H, W, C) to (N, C, HW) over (N, HW, C). */
static weft_tensor *reshape_in_order(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    (void)rewrite;
    const weft_tensor *const x = inputs[0];
    const wi_shape *const shape = &y->shape;
    const wi_memory_order order = wi_memory_order_of(x);
    if (order.rank == 0) return NULL;
    weft_tensor *memory = x->inputs[0];
    if (!wi_memory_order_moves(&memory->shape, order.axes))
        return weft_reshape_shape(memory, shape->rank, shape->dims);
    const wi_extent from = wi_extent_of(&x->shape, 1), to = wi_extent_of(shape, 1);
    int begins[WEFT_MAX_RANK] = {0},
        ends[WEFT_MAX_RANK] = {0}; /* axes of the result, for each axis of memory */
    int next = 0, first = 0;
    wi_reshape_run r = {0};
    while (wi_reshape_next_run(&r, &from, &to)) {
        if (!run_in_memory(&r, &from, &order, &first)) return NULL;
        begins[first] = next; /* axes of size 1 go with the axes behind them */
        ends[first] = next = r.j_end;
    }
    ends[first] = shape->rank;
    wi_shape stored = {.rank = shape->rank};
    int8_t axes[WEFT_MAX_RANK];
    int place = 0;
    for (int i = 0; i < order.rank; i++) {
        for (int j = begins[i]; j < ends[i]; j++) {
            stored.dims[place] = shape->dims[j];
            axes[j] = (int8_t)place++;
        }
    }
    return wi_permute_through(
        weft_reshape_shape(memory, stored.rank, stored.dims), axes, WI_FROM_MEMORY_ORDER);
}

static weft_tensor *reshape_of_reshape(
    wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    (void)rewrite;
    weft_tensor *const x = inputs[0];
    return x->op == &wi_op_reshape ? weft_reshape_shape(x->inputs[0], y->shape.rank, y->shape.dims) : NULL;
}

static const wi_rule reshape_rewrites[] = {{"reshape of reshape", WI_STAGE_FORM, reshape_of_reshape},
    {"memory order", WI_STAGE_FORM, reshape_in_order}, {0}};

/* ---- expand ---- */

static void expand_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    gradients[0] = wi_sum_to(g, &y->inputs[0]->shape);
}

static weft_tensor *expand_of_expand(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    (void)rewrite;
    weft_tensor *const x = inputs[0];
    return x->op == &wi_op_expand ? weft_expand(x->inputs[0], y->shape.rank, y->shape.dims) : NULL;
}

static weft_tensor *expand_in_order(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    (void)rewrite;
    const wi_memory_order order = wi_memory_order_of(inputs[0]);
    if (order.rank == 0 || order.rank != y->shape.rank) return NULL;
    const wi_shape stored = wi_shape_in_memory(&order, &y->shape);
    return wi_from_memory(&order, weft_expand(inputs[0]->inputs[0], stored.rank, stored.dims));
}

static const wi_rule expand_rewrites[] = {{"memory order", WI_STAGE_FORM, expand_in_order},
    {"expand of expand", WI_STAGE_FORM, expand_of_expand}, {0}};

/* ---- concat ---- */

static void concat_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const int axis = y->attributes->along.axis;
    const bool mixes = wi_concat_mixes_batch(y->inputs, (size_t)y->input_count, axis);
    int64_t start = 0;
    for (int i = 0; i < y->input_count; i++) {
        const int64_t size = y->inputs[i]->shape.dims[axis];
        gradients[i] = wi_slice_dims(g, axis, start, size, 1);
        start += mixes ? wi_counted(y->graph, size) : size;
    }
}

/* Joins in the memory order of the first input that has one. */
static weft_tensor *concat_in_order(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    wi_memory_order order = {0};
    for (int i = 0; i < y->input_count && order.rank == 0; i++) order = wi_memory_order_of(inputs[i]);
    if (order.rank == 0) return NULL;
    const size_t count = (size_t)y->input_count;
    weft_tensor **stored = wi_arena_take(&y->graph->arena, count * sizeof *stored);
    if (!stored) return wi_graph_fail_recorded(y->graph, WEFT_ERROR_MEMORY);
    for (size_t i = 0; i < count; i++) stored[i] = wi_to_memory(rewrite, &order, inputs[i]);
    return wi_from_memory(&order, weft_concat(stored, count, order.axes[y->attributes->along.axis]));
}

static const wi_rule concat_rewrites[] = {{"memory order", WI_STAGE_FORM, concat_in_order}, {0}};

const wi_op_rules wi_movement_rules[] = {
    {.op = &wi_op_reshape, .backward = reshape_backward, .rewrites = reshape_rewrites},
    {.op = &wi_op_expand, .backward = expand_backward, .rewrites = expand_rewrites},
    {.op = &wi_op_concat, .backward = concat_backward, .rewrites = concat_rewrites}, {0}};
