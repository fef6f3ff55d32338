/* The inputs that decide which examples of a loss count and how much (contract in loss_inputs.h). */
#include "train/loss_inputs.h"
#include "ops/op_table.h"

enum { MOST_MASKS = 16, CONDITION_DEPTH = 12, LOSS_DEPTH = 6 };

const weft_tensor *wi_fed_labels(const weft_tensor *labels) {
    for (int depth = 0; depth < MOST_MASKS; depth++) {
        if (labels->op == &wi_op_input) return labels;
        if (labels->op == &wi_op_reshape)
            labels = labels->inputs[0];
        else if (labels->op == &wi_op_where)
            labels = labels->inputs[labels->inputs[1]->op == &wi_op_constant ? 2 : 1];
        else
            return NULL;
    }
    return NULL;
}

/* The first input that a condition depends on, within `depth` nodes, other than the labels; NULL: there is none. */
static const weft_tensor *other_input(const weft_tensor *node, const weft_tensor *labels, int depth) {
    if (node->op == &wi_op_input) return node == labels ? NULL : node;
    const weft_tensor *found = NULL;
    for (int i = 0; i < node->input_count && !found && depth > 0; i++)
        found = other_input(node->inputs[i], labels, depth - 1);
    return found;
}

const weft_tensor *wi_mask_of_labels(const weft_tensor *labels) {
    const weft_tensor *const fed = wi_fed_labels(labels), *mask = NULL;
    while (fed && labels != fed && !mask) {
        const bool masked = labels->op == &wi_op_where;
        if (masked) mask = other_input(labels->inputs[0], fed, CONDITION_DEPTH);
        labels = labels->inputs[!masked ? 0 : labels->inputs[1]->op == &wi_op_constant ? 2 : 1];
    }
    return mask;
}

static const weft_tensor *behind_views(const weft_tensor *node) {
    while (node->op->kind == WI_VIEW || node->op == &wi_op_cast) node = node->inputs[0];
    return node;
}

const weft_tensor *wi_weights_of_product(const weft_tensor *product, const weft_tensor **losses) {
    if (product->op != &wi_op_mul) return NULL;
    for (int side = 0; side < 2; side++) {
        const weft_tensor *const weights = behind_views(product->inputs[side]);
        *losses = behind_views(product->inputs[1 - side]);
        if (weights->op == &wi_op_input && wi_dtype_is_float(weights->dtype) && (*losses)->op != &wi_op_input)
            return weights;
    }
    return NULL;
}

static bool reaches(const weft_tensor *node, const weft_tensor *target, int depth) {
    bool found = node == target;
    for (int i = 0; i < node->input_count && !found && depth > 0; i++)
        found = reaches(node->inputs[i], target, depth - 1);
    return found;
}

bool wi_compares(const weft_tensor *losses, const weft_tensor *target) {
    return losses != target && reaches(losses, target, LOSS_DEPTH);
}
