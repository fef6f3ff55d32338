/* Matrix products, batched and broadcast, and the linear map. */
#include "ops/op_table.h"

static weft_tensor *fail_shapes(
    const char *op, const weft_tensor *a, const weft_tensor *b, const char *rule) {
    char text_a[WI_SHAPE_TEXT], text_b[WI_SHAPE_TEXT];
    return wi_graph_fail(a->graph, WEFT_ERROR_SHAPE, "%s: shapes %s and %s: %s", op,
        wi_shape_print(&a->shape, text_a), wi_shape_print(&b->shape, text_b), rule);
}

static void matmul_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    gradients[0] = weft_matmul(g, weft_transpose(y->inputs[1]));
    gradients[1] = weft_matmul(weft_transpose(y->inputs[0]), g);
}

const wi_op wi_op_matmul = {.name = "matmul", .kind = WI_PRODUCT, .backward = matmul_backward};

weft_tensor *weft_matmul(weft_tensor *a, weft_tensor *b) {
    weft_tensor *inputs[] = {a, b};
    weft_graph *graph = wi_inputs_graph("matmul", inputs, 2);
    if (!graph) return NULL;
    if (a->dtype != WEFT_F32 || b->dtype != WEFT_F32)
        return wi_graph_fail(graph, WEFT_ERROR_DTYPE, "matmul: takes f32, not (%s, %s)",
            weft_dtype_name(a->dtype), weft_dtype_name(b->dtype));
    const int rank_a = a->shape.rank, rank_b = b->shape.rank;
    if (rank_a < 2 || rank_b < 2) return fail_shapes("matmul", a, b, "each needs rank 2 or more");
    if (a->shape.dims[rank_a - 1] != b->shape.dims[rank_b - 2])
        return fail_shapes(
            "matmul", a, b, "the last dimension of the first is not the last but one of the second");
    wi_shape lead_a = a->shape, lead_b = b->shape, shape;
    lead_a.rank -= 2;
    lead_b.rank -= 2;
    if (!wi_shape_broadcast(&lead_a, &lead_b, &shape))
        return fail_shapes("matmul", a, b, "the leading dimensions do not broadcast");
    shape.dims[shape.rank] = a->shape.dims[rank_a - 2];
    shape.dims[shape.rank + 1] = b->shape.dims[rank_b - 1];
    shape.rank += 2;
    return wi_node(graph, &wi_op_matmul, inputs, 2, WEFT_F32, &shape, NULL);
}

/* The product is made of two matrices, so that all leading dimensions are rows of one large product. */
weft_tensor *weft_linear_with(weft_tensor *x, weft_tensor *weight, weft_tensor *bias) {
    weft_tensor *inputs[] = {x, weight};
    weft_graph *graph = wi_inputs_graph("linear", inputs, 2);
    if (!graph) return NULL;
    if (weight->shape.rank != 2 || x->shape.rank < 1 ||
        x->shape.dims[x->shape.rank - 1] != weight->shape.dims[1])
        return fail_shapes("linear", x, weight, "needs x (..., in) and weight (out, in)");
    if (bias && (bias->shape.rank != 1 || bias->shape.dims[0] != weight->shape.dims[0]))
        return fail_shapes("linear", weight, bias, "the bias is not (out)");
    wi_shape rows = {.rank = x->shape.rank - 1}, result = x->shape;
    for (int i = 0; i < rows.rank; i++) rows.dims[i] = x->shape.dims[i];
    int64_t count;
    int power;
    wi_shape_count(&rows, &count, &power);
    weft_tensor *flat = x;
    if (x->shape.rank != 2 && power <= 1)
        flat = weft_reshape_shape(x, 2, (const int64_t[]){power ? -count : count, weight->shape.dims[1]});
    weft_tensor *y = weft_matmul(flat, weft_transpose(weight));
    if (bias) y = weft_add(y, bias);
    result.dims[result.rank - 1] = weight->shape.dims[0];
    return y ? weft_reshape_shape(y, result.rank, result.dims) : NULL;
}

/* ---- vectors ---- */

weft_tensor *weft_outer(weft_tensor *a, weft_tensor *b) {
    weft_tensor *inputs[] = {a, b};
    if (!wi_inputs_graph("outer", inputs, 2)) return NULL;
    if (a->shape.rank != 1 || b->shape.rank != 1) return fail_shapes("outer", a, b, "each needs rank 1");
    return weft_mul(weft_unsqueeze(a, 1), weft_unsqueeze(b, 0));
}

weft_tensor *weft_dot(weft_tensor *a, weft_tensor *b) {
    weft_tensor *inputs[] = {a, b};
    if (!wi_inputs_graph("dot", inputs, 2)) return NULL;
    if (a->shape.rank != 1 || !wi_shape_equal(&a->shape, &b->shape))
        return fail_shapes("dot", a, b, "needs two vectors of one length");
    return weft_sum_axes(weft_mul(a, b), NULL, false);
}

weft_tensor *weft_mv(weft_tensor *a, weft_tensor *x) {
    weft_tensor *inputs[] = {a, x};
    if (!wi_inputs_graph("mv", inputs, 2)) return NULL;
    if (a->shape.rank < 2 || x->shape.rank != 1 || a->shape.dims[a->shape.rank - 1] != x->shape.dims[0])
        return fail_shapes("mv", a, x, "needs a matrix (..., m, k) and a vector (k)");
    weft_tensor *y = weft_matmul(a, weft_unsqueeze(x, 1));
    return y ? weft_squeeze_axes(y, (const int64_t[]){-1, WEFT_END}) : NULL;
}

/* ---- bilinear ---- */

/* All products x1[i]·x2[j] are one long row for a linear map, whose weight needs no copy for it. */
weft_tensor *weft_bilinear_with(weft_tensor *x1, weft_tensor *x2, weft_tensor *weight, weft_tensor *bias) {
    weft_tensor *inputs[] = {x1, x2, weight};
    weft_graph *graph = wi_inputs_graph("bilinear", inputs, 3);
    if (!graph) return NULL;
    const int rank = x1->shape.rank;
    if (rank < 1 || rank >= WEFT_MAX_RANK || x2->shape.rank != rank)
        return fail_shapes("bilinear", x1, x2, "needs (..., in1) and (..., in2), of rank 7 at most");
    for (int i = 0; i < rank - 1; i++) {
        if (x1->shape.dims[i] != x2->shape.dims[i])
            return fail_shapes("bilinear", x1, x2, "the leading dimensions differ");
    }
    const int64_t in1 = x1->shape.dims[rank - 1], in2 = x2->shape.dims[rank - 1];
    if (weight->shape.rank != 3 || weight->shape.dims[1] != in1 || weight->shape.dims[2] != in2 || in1 < 0 ||
        in2 < 0)
        return fail_shapes("bilinear", x1, weight, "the weight is not (out, in1, in2)");
    weft_tensor *pairs = weft_mul(weft_unsqueeze(x1, rank), weft_unsqueeze(x2, rank - 1));
    weft_tensor *flat = weft_reshape_shape(weight, 2, (const int64_t[]){weight->shape.dims[0], in1 * in2});
    return weft_linear_with(weft_flatten_axes(pairs, rank - 1, rank), flat, bias);
}
