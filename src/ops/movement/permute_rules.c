/* The rules of permute. */
#include "ops/movement/memory_order.h"
#include "ops/op_table.h"

static void permute_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    static const uint32_t back[] = {0, WI_TO_MEMORY_ORDER, WI_FROM_MEMORY_ORDER};
    const wi_memory_order inverse = wi_inverse_order(y->shape.rank, y->attributes->permute.axes);
    gradients[0] = wi_permute(g, inverse.axes, back[y->attributes->permute.direction]);
}

static weft_tensor *permute_of_permute(
    wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    (void)rewrite;
    return wi_permute_through(inputs[0], y->attributes->permute.axes, y->attributes->permute.direction);
}

static bool swaps_last_two(const int8_t *order, int rank) {
    for (int i = 0; i < rank; i++) {
        const int wanted = i == rank - 2 ? rank - 1 : i == rank - 1 ? rank - 2 : i;
        if (order[i] != wanted) return false;
    }
    return rank >= 2;
}

/* Permutes the input of an expand instead of its larger result. */
static weft_tensor *permute_of_expand(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    (void)rewrite;
    if (y->attributes->permute.direction != WI_TO_MEMORY_ORDER || inputs[0]->op != &wi_op_expand) return NULL;
    weft_tensor *const x = inputs[0]->inputs[0];
    const wi_shape wide = wi_shape_of_rank(&x->shape, y->shape.rank);
    weft_tensor *const small = wi_permute_through(
        weft_reshape_shape(x, wide.rank, wide.dims), y->attributes->permute.axes, WI_TO_MEMORY_ORDER);
    return small ? weft_expand(small, y->shape.rank, y->shape.dims) : NULL;
}

static weft_tensor *transpose_last_two(weft_tensor *x) {
    int8_t order[WEFT_MAX_RANK];
    const int rank = x->shape.rank;
    for (int i = 0; i < rank; i++) order[i] = (int8_t)i;
    order[rank - 2] = (int8_t)(rank - 1);
    order[rank - 1] = (int8_t)(rank - 2);
    return wi_permute_through(x, order, 0);
}

/* (A·B)ᵀ = Bᵀ·Aᵀ: the product is computed transposed if nothing else reads it. */
static weft_tensor *transposed_product(
    wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    const weft_tensor *const x = inputs[0];
    if (x->op != &wi_op_matmul || y->attributes->permute.direction == WI_FROM_MEMORY_ORDER ||
        !swaps_last_two(y->attributes->permute.axes, y->shape.rank) ||
        !wi_rewrite_has_one_reader(rewrite, y->inputs[0]))
        return NULL;
    return weft_matmul(transpose_last_two(x->inputs[1]), transpose_last_two(x->inputs[0]));
}

/* ---- created in the order of the only reader ---- */

/* Does conversion to memory order move any axis of x that is not of size 1, after x is broadcast to the rank of the
 * order? */
static bool is_moved(const wi_memory_order *order, const weft_tensor *x) {
    const wi_shape wide = wi_shape_of_rank(&x->shape, order->rank);
    return wi_memory_order_moves(&wide, wi_inverse_order(order->rank, order->axes).axes);
}

/* Does the op keep the axes of its inputs, and does it have a rule that computes the result in memory order? */
static bool keeps_axes(const wi_op *op) {
    return op->kind == WI_MAP || op->kind == WI_REDUCE || op == &wi_op_in_memory || op == &wi_op_slice ||
           op == &wi_op_flip;
}

/* Can x, and what it is computed from, be computed in memory order without any strided read, and has x no other reader? */
static bool is_free(
    const wi_rewrite *rewrite, const wi_memory_order *order, const weft_tensor *x, int *budget) {
    if (--*budget < 0) return false;
    if (!is_moved(order, x) || wi_is_index(rewrite, order, x)) return true;
    if (x->op == &wi_op_expand) return is_free(rewrite, order, x->inputs[0], budget);
    if (!keeps_axes(x->op) || !wi_rewrite_has_one_reader(rewrite, x)) return false;
    for (int i = 0; i < x->input_count; i++) {
        if (!is_free(rewrite, order, x->inputs[i], budget)) return false;
    }
    return true;
}

/* Computes the input of a permute to memory order in that order, if this costs nothing. */
static weft_tensor *made_for_reader(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    enum { MOST_FREE = 32 };
    const weft_tensor *const x = inputs[0];
    int budget = MOST_FREE;
    if (y->attributes->permute.direction != WI_TO_MEMORY_ORDER || !keeps_axes(x->op)) return NULL;
    const wi_memory_order order = wi_inverse_order(y->shape.rank, y->attributes->permute.axes);
    if (!is_free(rewrite, &order, x, &budget)) return NULL;
    weft_tensor *seen[WI_KERNEL_INPUTS];
    for (int i = 0; i < x->input_count; i++) {
        weft_tensor *const stored = wi_to_memory(rewrite, &order, x->inputs[i]);
        seen[i] =
            stored && stored->shape.rank > 0 ? wi_permute(stored, order.axes, WI_FROM_MEMORY_ORDER) : stored;
    }
    weft_tensor *const made = wi_rewrite_apply(rewrite, x, seen);
    return made ? wi_permute_through(made, y->attributes->permute.axes, WI_TO_MEMORY_ORDER) : NULL;
}

static const wi_rule permute_rewrites[] = {{"transposed product", WI_STAGE_MATCH, transposed_product},
    {"created in memory order", WI_STAGE_MATCH, made_for_reader},
    {"permute of expand", WI_STAGE_FORM, permute_of_expand},
    {"permute of permute", WI_STAGE_FORM, permute_of_permute}, {0}};

const wi_op_rules wi_permute_rules[] = {
    {.op = &wi_op_permute, .backward = permute_backward, .rewrites = permute_rewrites}, {0}};
