/* weft_stop_gradient, and the zeros that are the gradient of a tensor which the loss does not depend on. */
#include "ops/movement/memory_order.h"
#include "ops/op_table.h"

/* ---- stop_gradient ---- */

static const wi_op stop_gradient = {
    .name = "stop_gradient", .kind = WI_VIEW, .zero_gradient = true, .view = wi_same_view};

weft_tensor *weft_stop_gradient(weft_tensor *x) {
    weft_graph *graph = wi_inputs_graph("stop_gradient", &x, 1);
    return graph ? wi_node(graph, &stop_gradient, &x, 1, x->dtype, &x->shape, NULL) : NULL;
}

/* ---- zeros ---- */

/* This op distinguishes these zeros from zeros that the program creates. */
static const wi_op unreached = {
    .name = "zero gradient", .kind = WI_VIEW, .zero_gradient = true, .view = wi_same_view};

weft_tensor *wi_unreached_gradient(weft_tensor *wrt) {
    weft_tensor *zeros = weft_expand(weft_number(wrt, 0), wrt->shape.rank, wrt->shape.dims);
    return zeros ? wi_node(wrt->graph, &unreached, &zeros, 1, wrt->dtype, &wrt->shape, NULL) : NULL;
}

bool wi_gradient_is_unreached(const weft_tensor *gradient) {
    const wi_op *const op = gradient->op;
    weft_tensor *const *const in = gradient->inputs;
    if (op == &unreached) return true;
    if (op == &wi_op_add || op == &wi_op_sub)
        return wi_gradient_is_unreached(in[0]) && wi_gradient_is_unreached(in[1]);
    if (op == &wi_op_mul) return wi_gradient_is_unreached(in[in[0]->shape.rank == 0]);
    const bool keeps_zeros = op->kind == WI_VIEW || op == &wi_op_div || op == &wi_op_neg || op == &wi_op_cast;
    return keeps_zeros && wi_gradient_is_unreached(in[0]);
}

const wi_op_rules wi_zero_gradient_rules[] = {{.op = &stop_gradient, .rewrites = wi_memory_order_rewrites},
    {.op = &unreached, .rewrites = wi_memory_order_rewrites}, {0}};
