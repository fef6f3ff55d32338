/* The gradient of prod: for each element the product of the others along the axes. This is a composite. Its gradient passes through
 * products of the elements before and behind each element, because a division would fail for an element 0. */
#include "ops/reduction/reduce.h"

/* ---- the value ---- */

/* 0 if another element is 0; otherwise the product of all elements that are not 0, divided by this one unless it is 0. */
static weft_tensor *others_lower(weft_tensor *y, bool inference) {
    (void)inference;
    weft_tensor *x = y->inputs[0];
    const uint32_t axes = y->attributes->over.axes;
    weft_tensor *is_zero = weft_equal(x, weft_number(x, 0));
    weft_tensor *zero = weft_cast(is_zero, x->dtype);
    weft_tensor *factor = weft_where(is_zero, weft_number(x, 1), x);
    weft_tensor *others = weft_div(wi_prod_keep(factor, axes), factor);
    weft_tensor *no_zero = weft_equal(wi_sum_keep(zero, axes), zero);
    return weft_where(no_zero, others, weft_number(x, 0));
}

/* ---- composed, for gradients ---- */

/* x: the tensor with the reduced axes last. merged: x with two axes, the merged kept axes and the merged reduced axes.
 * Axis i of x is axis order[i] of the tensor; kept: the number of kept axes. */
typedef struct moved {
    int order[WEFT_MAX_RANK], back[WEFT_MAX_RANK], kept;
    weft_tensor *x, *merged;
} moved;

static moved move_axes(weft_tensor *x, uint32_t axes) {
    moved m = {.kept = 0};
    int next = 0;
    for (int reduced = 0; reduced < 2; reduced++) {
        if (reduced) m.kept = next;
        for (int i = 0; i < x->shape.rank; i++) {
            if ((int)(axes >> i & 1) != reduced) continue;
            m.back[i] = next;
            m.order[next++] = i;
        }
    }
    m.x = weft_permute_axes(x, x->shape.rank, m.order);
    m.merged = m.x && m.kept + 1 < x->shape.rank ? weft_flatten_axes(m.x, m.kept, -1) : m.x;
    if (m.merged && m.kept > 1) m.merged = weft_flatten_axes(m.merged, 0, m.kept - 1);
    return m;
}

/* f64 has no scans: multiplies the rows of an (n, n) table of factors with 1 in the diagonal, which is never stored. */
static weft_tensor *by_table(weft_tensor *x) {
    wi_shape shape = x->shape, square = {.rank = 2};
    const int64_t n = shape.dims[shape.rank - 1];
    square.dims[0] = square.dims[1] = n;
    shape.dims[shape.rank++] = n;
    weft_tensor *itself =
        weft_equal(wi_coordinate(x->graph, &square, 0), wi_coordinate(x->graph, &square, 1));
    weft_tensor *factors = weft_expand(weft_unsqueeze(x, -1), shape.rank, shape.dims);
    weft_tensor *others =
        wi_prod_keep(weft_where(itself, weft_number(x, 1), factors), 1u << (shape.rank - 2));
    return others ? weft_reshape_shape(others, x->shape.rank, x->shape.dims) : NULL;
}

static weft_tensor *by_scans(weft_tensor *x) {
    return weft_mul(weft_cumprod_with(x, -1, true, false), weft_cumprod_with(x, -1, true, true));
}

static weft_tensor *others_composed(weft_tensor *y, weft_tensor *leaves[WI_COMPOSED_LEAVES]) {
    weft_tensor *x = leaves[0] = y->inputs[0];
    const moved m = move_axes(x, y->attributes->over.axes);
    if (!m.merged) return NULL;
    weft_tensor *others = (x->dtype == WEFT_F64 ? by_table : by_scans)(m.merged);
    others = others ? weft_reshape_shape(others, m.x->shape.rank, m.x->shape.dims) : NULL;
    return others ? weft_permute_axes(others, m.x->shape.rank, m.back) : NULL;
}

static const wi_op product_of_others = {.name = "prod gradient",
    .kind = WI_COMPOSITE,
    .attribute_bytes = sizeof(wi_over_attributes),
    .lower = others_lower,
    .composed = others_composed};

static void prod_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *x = wi_wide(y->inputs[0]);
    if (!x) return;
    weft_tensor *slope = wi_node(x->graph, &product_of_others, &x, 1, x->dtype, &x->shape, y->attributes);
    gradients[0] = weft_cast(weft_mul(wi_wide(g), slope), y->dtype);
}

const wi_op_rules wi_product_others_rules[] = {
    {.op = &wi_op_prod, .backward = prod_backward, .rewrites = wi_reduce_rewrites}, {0}};
