/* Matrix products, batched and broadcast, and the linear map. */
#include "ops/op_table.h"

static weft_tensor *fail_shapes(
    const char *op, const weft_tensor *a, const weft_tensor *b, const char *rule) {
    char text_a[WI_SHAPE_TEXT], text_b[WI_SHAPE_TEXT];
    return wi_graph_fail(a->graph, WEFT_ERROR_SHAPE, "%s: shapes %s and %s: %s", op,
        wi_shape_print(a->graph, &a->shape, text_a), wi_shape_print(b->graph, &b->shape, text_b), rule);
}

/* ---- gradients ---- */

/* Do all axes but the last have a single stride in memory? Values that are not views are taken as contiguous; strides cannot be
 * calculated before sizes are known. */
static bool rows_are_merged(const weft_tensor *x) {
    enum { MOST_VIEWS = 16 };
    if (x->is_symbolic) return x->op->kind != WI_VIEW || x->op == &wi_op_reshape;
    const weft_tensor *views[MOST_VIEWS];
    int count = 0;
    for (; x->op->kind == WI_VIEW && count < MOST_VIEWS; x = x->inputs[0]) views[count++] = x;
    wi_extent extent = wi_extent_of(&x->shape, 1);
    wi_layout layout = wi_layout_contiguous(&extent);
    while (count-- > 0) {
        const wi_extent from = extent;
        const wi_layout in = layout;
        extent = wi_extent_of(&views[count]->shape, 1);
        if (!views[count]->op->view(views[count], &from, &in, &extent, &layout))
            layout = wi_layout_contiguous(&extent);
    }
    int inner = -1;
    for (int i = extent.rank - 2; i >= 0; i--) {
        if (wi_size_is(extent.dims[i], 1)) continue;
        if (inner >= 0 &&
            !wi_size_equal(layout.strides[i], wi_size_mul(layout.strides[inner], extent.dims[inner])))
            return false;
        inner = i;
    }
    return true;
}

static bool has_leading_axes(const weft_tensor *x) {
    for (int i = 0; i < x->shape.rank - 2; i++)
        if (x->shape.dims[i] != 1) return true;
    return false;
}

/* The gradient of the matrix B of A (..., m, k) times B (k, n) is one product over all rows of A and g (..., m, n), unless copies of
 * operands whose rows cannot be merged are larger than the products of the leading axes, which would be added up. Returns NULL then. */
static weft_tensor *gradient_of_matrix(weft_tensor *a, weft_tensor *g, const weft_tensor *b) {
    const int rank = g->shape.rank;
    if (a->shape.rank != rank || has_leading_axes(b) || !has_leading_axes(g)) return NULL;
    const int64_t m = wi_magnitude(g->shape.dims[rank - 2]), n = wi_magnitude(g->shape.dims[rank - 1]),
                  k = wi_magnitude(a->shape.dims[rank - 1]);
    const double copied =
        (double)m * ((rows_are_merged(a) ? 0 : (double)k) + (rows_are_merged(g) ? 0 : (double)n));
    if (copied > (double)k * (double)n) return NULL;
    int64_t rows[2], count;
    int power[2];
    weft_tensor *const operands[] = {a, g}, *flat[2];
    for (int i = 0; i < 2; i++) {
        wi_shape shape = operands[i]->shape;
        shape.rank--;
        wi_shape_count(a->graph, &shape, &count, &power[i]);
        rows[i] = power[i] ? -count : count;
        if (power[i] > 1 || count == INT64_MAX || rows[i] != rows[0]) return NULL;
        flat[i] =
            weft_reshape_shape(operands[i], 2, (const int64_t[]){rows[i], operands[i]->shape.dims[rank - 1]});
    }
    return weft_reshape_shape(weft_matmul(weft_transpose(flat[0]), flat[1]), b->shape.rank, b->shape.dims);
}

/* The product of 16-bit floats has an f32 gradient, which is cast to the dtype of the other factor. */
static void matmul_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *const a = y->inputs[0], *const b = y->inputs[1];
    g = weft_cast(g, a->dtype);
    gradients[0] = weft_matmul(g, weft_transpose(b));
    gradients[1] = g ? gradient_of_matrix(a, g, b) : NULL;
    if (!gradients[1]) gradients[1] = weft_matmul(weft_transpose(a), g);
}

const wi_op wi_op_matmul = {.name = "matmul", .kind = WI_PRODUCT};

/* Casts both factors to the wider dtype. */
static bool common_dtype(weft_tensor **a, weft_tensor **b, weft_dtype *dtype) {
    if (!wi_dtype_is_float((*a)->dtype) || !wi_dtype_is_float((*b)->dtype)) {
        wi_graph_fail((*a)->graph, WEFT_ERROR_DTYPE, "matmul: takes %s, not (%s, %s)",
            wi_dtypes_text(WI_TAKES_FLOATS), weft_dtype_name((*a)->dtype), weft_dtype_name((*b)->dtype));
        return false;
    }
    *dtype = wi_dtype_wider((*a)->dtype, (*b)->dtype);
    *a = weft_cast(*a, *dtype);
    *b = weft_cast(*b, *dtype);
    return *a && *b;
}

/* The product in the dtype of accumulation, f32 for 16-bit floats; *dtype is the dtype of the factors. */
static weft_tensor *product(weft_tensor *a, weft_tensor *b, weft_dtype *dtype) {
    weft_graph *graph = wi_inputs_graph("matmul", (weft_tensor *[]){a, b}, 2);
    if (!graph || !common_dtype(&a, &b, dtype)) return NULL;
    weft_tensor *inputs[] = {a, b};
    const int rank_a = a->shape.rank, rank_b = b->shape.rank;
    if (rank_a < 2 || rank_b < 2) return fail_shapes("matmul", a, b, "both must have rank 2 or more");
    if (a->shape.dims[rank_a - 1] != b->shape.dims[rank_b - 2])
        return fail_shapes(
            "matmul", a, b, "the last dimension of the first must equal the second-to-last of the second");
    wi_shape lead_a = a->shape, lead_b = b->shape, shape;
    lead_a.rank -= 2;
    lead_b.rank -= 2;
    if (!wi_shape_broadcast(&lead_a, &lead_b, &shape))
        return fail_shapes("matmul", a, b, "the leading dimensions do not broadcast");
    shape.dims[shape.rank] = a->shape.dims[rank_a - 2];
    shape.dims[shape.rank + 1] = b->shape.dims[rank_b - 1];
    shape.rank += 2;
    return wi_node(graph, &wi_op_matmul, inputs, 2, wi_format_of(*dtype)->compute, &shape, NULL);
}

weft_tensor *weft_matmul(weft_tensor *a, weft_tensor *b) {
    weft_dtype dtype;
    weft_tensor *y = product(a, b, &dtype);
    return y ? weft_cast(y, dtype) : NULL;
}

/* Merges all leading dimensions to the rows of one large product. */
static weft_tensor *build_linear_with(weft_tensor *x, weft_tensor *weight, weft_tensor *bias) {
    weft_tensor *inputs[] = {x, weight};
    weft_graph *graph = wi_inputs_graph("linear", inputs, 2);
    if (!graph) return NULL;
    if (weight->shape.rank != 2 || x->shape.rank < 1 ||
        x->shape.dims[x->shape.rank - 1] != weight->shape.dims[1])
        return fail_shapes("linear", x, weight, "expected x (..., in) and weight (out, in)");
    if (bias && (bias->shape.rank != 1 || bias->shape.dims[0] != weight->shape.dims[0]))
        return fail_shapes("linear", weight, bias, "the bias must be (out)");
    wi_shape rows = {.rank = x->shape.rank - 1}, result = x->shape;
    for (int i = 0; i < rows.rank; i++) rows.dims[i] = x->shape.dims[i];
    int64_t count;
    int power;
    wi_shape_count(graph, &rows, &count, &power);
    weft_tensor *flat = x;
    if (x->shape.rank != 2 && power <= 1)
        flat = weft_reshape_shape(x, 2, (const int64_t[]){power ? -count : count, weight->shape.dims[1]});
    weft_dtype dtype;
    weft_tensor *y = product(flat, weft_transpose(weight), &dtype);
    if (!y) return NULL;
    if (bias && wi_dtype_is_float(bias->dtype)) dtype = wi_dtype_wider(dtype, bias->dtype);
    if (bias) y = weft_add(y, wi_wide(bias));
    y = weft_cast(y, dtype);
    result.dims[result.rank - 1] = weight->shape.dims[0];
    return y ? weft_reshape_shape(y, result.rank, result.dims) : NULL;
}

weft_tensor *weft_linear_with(weft_tensor *x, weft_tensor *weight, weft_tensor *bias) {
    return WI_CALL(x, "weft_linear_with", build_linear_with(x, weight, bias));
}

/* ---- vectors ---- */

static weft_tensor *build_outer(weft_tensor *a, weft_tensor *b) {
    weft_tensor *inputs[] = {a, b};
    if (!wi_inputs_graph("outer", inputs, 2)) return NULL;
    if (a->shape.rank != 1 || b->shape.rank != 1) return fail_shapes("outer", a, b, "both must have rank 1");
    return weft_mul(weft_unsqueeze(a, 1), weft_unsqueeze(b, 0));
}

weft_tensor *weft_outer(weft_tensor *a, weft_tensor *b) {
    return WI_CALL(a, "weft_outer", build_outer(a, b));
}

static weft_tensor *build_dot(weft_tensor *a, weft_tensor *b) {
    weft_tensor *inputs[] = {a, b};
    if (!wi_inputs_graph("dot", inputs, 2)) return NULL;
    if (a->shape.rank != 1 || !wi_shape_equal(&a->shape, &b->shape))
        return fail_shapes("dot", a, b, "expected two vectors of equal length");
    weft_tensor *sum = weft_sum_axes(weft_mul(wi_wide(a), wi_wide(b)), NULL, false);
    const bool floats = wi_dtype_is_float(a->dtype) && wi_dtype_is_float(b->dtype);
    return floats ? weft_cast(sum, wi_dtype_wider(a->dtype, b->dtype)) : sum;
}

weft_tensor *weft_dot(weft_tensor *a, weft_tensor *b) {
    return WI_CALL(a, "weft_dot", build_dot(a, b));
}

static weft_tensor *build_mv(weft_tensor *a, weft_tensor *x) {
    weft_tensor *inputs[] = {a, x};
    if (!wi_inputs_graph("mv", inputs, 2)) return NULL;
    if (a->shape.rank < 2 || x->shape.rank != 1 || a->shape.dims[a->shape.rank - 1] != x->shape.dims[0])
        return fail_shapes("mv", a, x, "expected a matrix (..., m, k) and a vector (k)");
    weft_tensor *y = weft_matmul(a, weft_unsqueeze(x, 1));
    return y ? weft_squeeze_axes(y, (const int64_t[]){-1, WEFT_END}) : NULL;
}

weft_tensor *weft_mv(weft_tensor *a, weft_tensor *x) {
    return WI_CALL(a, "weft_mv", build_mv(a, x));
}

/* ---- bilinear ---- */

/* A linear map of the products x1[i]·x2[j] as one long row; the reshaped weight is a view. */
static weft_tensor *build_bilinear_with(
    weft_tensor *x1, weft_tensor *x2, weft_tensor *weight, weft_tensor *bias) {
    weft_tensor *inputs[] = {x1, x2, weight};
    weft_graph *graph = wi_inputs_graph("bilinear", inputs, 3);
    if (!graph) return NULL;
    const int rank = x1->shape.rank;
    if (rank < 1 || rank >= WEFT_MAX_RANK || x2->shape.rank != rank)
        return fail_shapes("bilinear", x1, x2, "expected (..., in1) and (..., in2), of rank 7 at most");
    for (int i = 0; i < rank - 1; i++) {
        if (x1->shape.dims[i] != x2->shape.dims[i])
            return fail_shapes("bilinear", x1, x2, "the leading dimensions differ");
    }
    const int64_t in1 = x1->shape.dims[rank - 1], in2 = x2->shape.dims[rank - 1];
    if (weight->shape.rank != 3 || weight->shape.dims[1] != in1 || weight->shape.dims[2] != in2 || in1 < 0 ||
        in2 < 0)
        return fail_shapes("bilinear", x1, weight, "the weight must be (out, in1, in2)");
    weft_tensor *pairs = weft_mul(weft_unsqueeze(x1, rank), weft_unsqueeze(x2, rank - 1));
    weft_tensor *flat = weft_reshape_shape(weight, 2, (const int64_t[]){weight->shape.dims[0], in1 * in2});
    return weft_linear_with(weft_flatten_axes(pairs, rank - 1, rank), flat, bias);
}

weft_tensor *weft_bilinear_with(weft_tensor *x1, weft_tensor *x2, weft_tensor *weight, weft_tensor *bias) {
    return WI_CALL(x1, "weft_bilinear_with", build_bilinear_with(x1, x2, weight, bias));
}

const wi_op_rules wi_matmul_rules[] = {{.op = &wi_op_matmul, .backward = matmul_backward}, {0}};
