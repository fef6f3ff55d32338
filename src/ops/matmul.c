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
