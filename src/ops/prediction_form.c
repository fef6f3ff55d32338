/* The form of predictions (contract in prediction_form.h). */
#include "ops/prediction_form.h"
#include "ops/op_table.h"

const char *wi_probabilities_of(const weft_tensor *x) {
    while (x->op->kind == WI_VIEW || x->op == &wi_op_cast) x = x->inputs[0];
    return x->op == &wi_op_softmax || x->op == &wi_op_sigmoid ? x->op->name : NULL;
}

bool wi_takes_logits(const char *op, const weft_tensor *x) {
    const char *const made_by = wi_probabilities_of(x);
    if (!made_by) return true;
    wi_graph_fail(x->graph, WEFT_ERROR_ARGUMENT,
        "%s: expected logits, but the input is the output of %s, which are probabilities; %s converts logits "
        "itself: pass the input of %s instead",
        op, made_by, op, made_by);
    return false;
}

bool wi_takes_log_probabilities(const char *op, const weft_tensor *x) {
    const char *const made_by = wi_probabilities_of(x);
    if (!made_by) return true;
    wi_graph_fail(x->graph, WEFT_ERROR_ARGUMENT,
        "%s: expected log-probabilities, but the input is the output of %s, which are probabilities; use "
        "weft_log_softmax instead",
        op, made_by);
    return false;
}
