/* The rules of reshape, expand and concat. */
#include "graph/sizes.h"
#include "ops/movement/movement.h"
#include "ops/op_table.h"
#include <string.h>

/* ---- reshape ---- */

static void reshape_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const wi_shape *shape = &y->inputs[0]->shape;
    gradients[0] = weft_reshape_shape(g, shape->rank, shape->dims);
}

/* A group of axes that the reshape merges and splits: axes [x, x_end) of the input, [y, y_end) of the result. */
typedef struct group {
    int x, x_end, y, y_end;
    int place; /* position in memory order of the group's first axis that is not of size 1 */
} group;

/* Writes the groups in the order of their places, and returns their number. Axes of size 1 belong to the group behind them. */
static int groups_of(
    group *groups, const weft_tensor *x, const wi_memory_order *order, const wi_shape *shape) {
    const wi_extent from = wi_extent_of(&x->shape, 1), to = wi_extent_of(shape, 1);
    wi_reshape_run r = {0};
    int count = 0, x_end = 0, y_end = 0;
    while (wi_reshape_next_run(&r, &from, &to)) {
        const group own = {x_end, r.i_end, y_end, r.j_end, order->axes[r.i]};
        x_end = r.i_end;
        y_end = r.j_end;
        groups[count++] = own;
    }
    if (count == 0) return 0;
    groups[count - 1].x_end = x->shape.rank;
    groups[count - 1].y_end = shape->rank;
    for (int i = 1; i < count; i++) {
        const group own = groups[i];
        int k = i;
        for (; k > 0 && groups[k - 1].place > own.place; k--) groups[k] = groups[k - 1];
        groups[k] = own;
    }
    return count;
}

/* The memory order of x, an image of y's input. If the user has permuted a view of memory, x is a permute of the memory itself. */
static wi_memory_order order_beneath(
    const wi_rewrite *rewrite, const weft_tensor *y, const weft_tensor *x, bool *is_user) {
    const weft_tensor *const input = y->inputs[0];
    wi_memory_order order = wi_memory_order_of(x);
    *is_user = order.rank == 0;
    if (!*is_user || x->op != &wi_op_permute || input->op != &wi_op_permute) return order;
    const wi_rewritten *const known = wi_rewrite_known(rewrite, input->inputs[0]);
    if (!known || !known->image || wi_memory_order_of(known->image).rank == 0 ||
        known->image->inputs[0] != x->inputs[0])
        return order;
    order.rank = x->shape.rank;
    memcpy(order.axes, x->attributes->permute.axes, sizeof order.axes);
    return order;
}

/* x is a view of memory in another order. The rule reshapes the memory and returns a view of it: from (N, C, H, W) over (N, H, W, C) to
 * (N, C, HW) over (N, HW, C). If the axes of a group are not adjacent in memory, they are first moved to the place of the group's first
 * axis, unless the result would then have the usual order: channels that are shuffled stay the last in memory. */
static weft_tensor *reshape_in_order(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    const weft_tensor *const x = inputs[0];
    const wi_shape *const shape = &y->shape;
    bool is_user;
    const wi_memory_order order = order_beneath(rewrite, y, x, &is_user);
    if (order.rank == 0) return NULL;
    weft_tensor *const memory = x->inputs[0];
    if (!wi_memory_order_moves(&memory->shape, order.axes))
        return is_user ? NULL : weft_reshape_shape(memory, shape->rank, shape->dims);
    group groups[WEFT_MAX_RANK];
    const int count = groups_of(groups, x, &order, shape);
    wi_shape stored = {.rank = shape->rank};
    int8_t moved[WEFT_MAX_RANK], axes[WEFT_MAX_RANK];
    int from = 0, to = 0;
    for (int g = 0; g < count; g++) {
        for (int i = groups[g].x; i < groups[g].x_end; i++) moved[from++] = order.axes[i];
        for (int j = groups[g].y; j < groups[g].y_end; j++) {
            stored.dims[to] = shape->dims[j];
            axes[j] = (int8_t)to++;
        }
    }
    const bool moves = wi_memory_order_moves(&memory->shape, moved);
    if (count == 0 || (moves ? !wi_memory_order_moves(&stored, axes) : is_user)) return NULL;
    return wi_permute_through(
        weft_reshape_shape(wi_permute_through(memory, moved, WI_TO_MEMORY_ORDER), stored.rank, stored.dims),
        axes, WI_FROM_MEMORY_ORDER);
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
    int64_t start = 0;
    for (int i = 0; i < y->input_count; i++) {
        const int64_t size = y->inputs[i]->shape.dims[axis];
        gradients[i] = wi_slice_dims(g, axis, start, size, 1);
        start = wi_dim_add(y->graph, start, size);
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
