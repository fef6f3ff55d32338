/* The choice between the values of both forms of a norm with running statistics: a node that a plan replaces by one of them, because
 * only a plan knows its form. Gradients of any order exist, because the gradient of a choice is a choice. */
#include "ops/normalization/normalization_shared.h"

enum { TRAINING, RUNNING, MEAN, INPUTS };

static weft_tensor *choice_lower(weft_tensor *y, bool inference) {
    return y->inputs[inference || y->inputs[MEAN]->variable->frozen ? RUNNING : TRAINING];
}

static void choice_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    weft_tensor *const none = weft_expand(weft_number(g, 0), y->shape.rank, y->shape.dims);
    gradients[TRAINING] = wi_norm_choice(g, none, y->inputs[MEAN]);
    gradients[RUNNING] = wi_norm_choice(none, g, y->inputs[MEAN]);
}

static const wi_op norm_choice = {.name = "norm choice", .kind = WI_COMPOSITE, .lower = choice_lower};

weft_tensor *wi_norm_choice(weft_tensor *training, weft_tensor *running, weft_tensor *mean) {
    weft_tensor *const inputs[INPUTS] = {training, running, mean};
    if (!training || !running) return NULL;
    return wi_node(training->graph, &norm_choice, inputs, INPUTS, training->dtype, &training->shape, NULL);
}

const wi_op_rules wi_normalization_choice_rules[] = {{.op = &norm_choice, .backward = choice_backward}, {0}};
