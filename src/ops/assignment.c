/* Assignments to variables, and the gradients of parameters as one tensor, which updates read. */
#include "base/names.h"
#include "ops/op_table.h"

static const char what_is_assigned[] = "use the gradient of the assigned value";
const wi_op wi_op_assign = {.name = "assign", .kind = WI_ASSIGN, .no_gradient = what_is_assigned};

const wi_op wi_op_assign_all = {.name = "assign all", .kind = WI_ASSIGN, .no_gradient = what_is_assigned};

weft_tensor *wi_assign_view(weft_tensor *view, weft_tensor *value) {
    weft_tensor *inputs[] = {view, value};
    weft_graph *graph = wi_inputs_graph("assign", inputs, 2);
    return graph ? wi_node(graph, &wi_op_assign, inputs, 2, value->dtype, &value->shape, NULL) : NULL;
}

weft_tensor *wi_assign_all(weft_tensor *const *assignments, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!assignments[i]) return NULL;
    }
    const weft_tensor *const first = assignments[0];
    if (first->graph->status != WEFT_OK) return NULL;
    return count == 1 ? assignments[0]
                      : wi_node(first->graph, &wi_op_assign_all, assignments, (int)count, first->dtype,
                            &first->shape, NULL);
}

static weft_tensor *assign(const wi_op *op, weft_tensor *variable, weft_tensor *value) {
    weft_tensor *inputs[] = {variable, value};
    weft_graph *graph = wi_inputs_graph("assign", inputs, 2);
    if (!graph) return NULL;
    char text_a[WI_SHAPE_TEXT], text_b[WI_SHAPE_TEXT];
    if (!variable->variable && variable->op != &wi_op_flat)
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT, "assign: %s %s is neither a parameter nor a state",
            wi_article(variable->op->name), variable->op->name);
    if (variable->dtype != value->dtype || !wi_shape_equal(&variable->shape, &value->shape))
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE, "assign: '%s' is %s %s, but the value is %s %s",
            weft_tensor_name(variable), weft_dtype_name(variable->dtype),
            wi_shape_print(variable->graph, &variable->shape, text_a), weft_dtype_name(value->dtype),
            wi_shape_print(value->graph, &value->shape, text_b));
    weft_tensor *const made = wi_node(graph, op, inputs, 2, value->dtype, &value->shape, NULL);
    if (made && variable->variable) variable->variable->assigned = true;
    return made;
}

weft_tensor *weft_assign(weft_tensor *variable, weft_tensor *value) {
    return WI_CALL(variable, "weft_assign", assign(&wi_op_assign, variable, value));
}

/* A plan replaces this node by an ordinary assignment before it runs its passes (plan/create.c). */
const wi_op wi_op_assign_after = {.name = "assign after", .kind = WI_ASSIGN, .no_gradient = what_is_assigned};

weft_tensor *weft_assign_after(weft_tensor *variable, weft_tensor *value) {
    return WI_CALL(variable, "weft_assign_after", assign(&wi_op_assign_after, variable, value));
}

/* ---- gradients as one tensor ---- */

const wi_op wi_op_flat_gradients = {.name = "flat gradients",
    .kind = WI_JOIN,
    .attribute_bytes = sizeof(wi_flat_gradients_attributes),
    .no_gradient = "use the gradients that weft_gradients returns"};

weft_tensor *wi_flat_gradients(
    weft_graph *graph, weft_tensor *const *gradients, size_t first, size_t count, int64_t rows) {
    const wi_shape shape = {.rank = 2, .dims = {rows, WI_FLAT_ROW}};
    const wi_attributes attributes = {.flat_gradients = {.first = (int64_t)first}};
    if (!gradients || !wi_inputs_graph("flat gradients", gradients, (int)count)) return NULL;
    return wi_node(graph, &wi_op_flat_gradients, gradients, (int)count, WEFT_F32, &shape, &attributes);
}
