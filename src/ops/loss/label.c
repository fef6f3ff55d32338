/* Labels: a map that returns its input, and records a label that is out of range (cl_kernels/common.clh), so that the next read or wait
 * of the plan fails. */
#include "graph/formula.h"
#include "ops/loss/loss.h"
#include "ops/movement/memory_order.h"
#include <inttypes.h>

static weft_status fail(const weft_tensor *node, int32_t found) {
    static const char *const names[] = {[WI_LABEL_CROSS_ENTROPY] = "cross_entropy: a label",
        [WI_LABEL_NLL] = "nll: a label",
        [WI_LABEL_MULTI_MARGIN] = "multi_margin: a label",
        [WI_LABEL_ADAPTIVE_SOFTMAX] = "adaptive_softmax: a label",
        [WI_LABEL_SAMPLED_SOFTMAX] = "sampled_softmax: a label",
        [WI_LABEL_MACH] = "mach: a label",
        [WI_LABEL_LENGTH] = "sequence_cross_entropy: a length",
        [WI_LABEL_CACHED] = "attention_cached: a position"};
    const wi_label_attributes *const label = &node->attributes->label;
    WI_FAIL(WEFT_ERROR_ARGUMENT, "%s is %" PRId32 ", not in 0..%" PRId64 "%s", names[label->kind], found,
        label->count - 1,
        label->kind == WI_LABEL_CACHED && found >= label->count ? ": the cache is full" : "");
}

static const wi_formula label_itself = {.kind = WI_FORMULA_INPUT};

static const wi_op op_label = {.name = "label",
    .kind = WI_MAP,
    .attribute_bytes = sizeof(wi_label_attributes),
    .dimensions = WI_DIMENSION(wi_label_attributes, count),
    .int_formula = &label_itself,
    .zero_gradient = true,
    .fail_label = fail};

weft_tensor *wi_label(weft_tensor *x, wi_label_kind kind, int64_t count, int64_t ignored) {
    const wi_attributes attributes = {.label = {.count = count, .ignored = ignored, .kind = kind}};
    return x ? wi_node(x->graph, &op_label, &x, 1, WEFT_I32, &x->shape, &attributes) : NULL;
}

const wi_op_rules wi_label_rules[] = {{.op = &op_label, .rewrites = wi_memory_order_rewrites}, {0}};
