/* See prediction_form.h. */
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
        "%s: the logits are probabilities, which %s gives, and %s converts logits itself; give it what %s is "
        "given",
        op, made_by, op, made_by);
    return false;
}

bool wi_takes_log_probabilities(const char *op, const weft_tensor *x) {
    const char *const made_by = wi_probabilities_of(x);
    if (!made_by) return true;
    wi_graph_fail(x->graph, WEFT_ERROR_ARGUMENT,
        "%s: takes logarithms of probabilities, and %s gives probabilities; weft_log_softmax gives their "
        "logarithms",
        op, made_by);
    return false;
}
