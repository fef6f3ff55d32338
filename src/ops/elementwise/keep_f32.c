/* weft_keep_f32: a view that mixed precision stores in f32 (plan/rewrite/order_formats.c). */
#include "ops/movement/memory_order.h"
#include "ops/op_table.h"

static void keep_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    (void)y;
    gradients[0] = weft_keep_f32(g);
}

static weft_tensor *is_f32_anyway(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    (void)y;
    return wi_dtype_rounds(rewrite->graph->precision) ? NULL : inputs[0];
}

static const wi_rule keep_rewrites[] = {{"keep_f32 without effect", WI_STAGE_FORM, is_f32_anyway},
    {"memory order", WI_STAGE_FORM, wi_elementwise_in_memory_order}, {0}};

const wi_op wi_op_keep_f32 = {.name = "keep_f32", .kind = WI_VIEW, .view = wi_same_view};

weft_tensor *weft_keep_f32(weft_tensor *x) {
    weft_graph *graph = wi_inputs_graph("keep_f32", &x, 1);
    if (!graph) return NULL;
    if (x->dtype != WEFT_F32)
        return wi_graph_fail(graph, WEFT_ERROR_DTYPE, "keep_f32: takes f32, not %s; weft_cast converts",
            weft_dtype_name(x->dtype));
    return x->op == &wi_op_keep_f32 ? x : wi_node(graph, &wi_op_keep_f32, &x, 1, x->dtype, &x->shape, NULL);
}

const wi_op_rules wi_keep_f32_rules[] = {
    {.op = &wi_op_keep_f32, .backward = keep_backward, .rewrites = keep_rewrites}, {0}};
