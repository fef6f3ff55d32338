/* Counts layout conversions: operands that a step reads through a permute to or from memory order (glossary), and results that a step
 * stores in the memory order of their readers. */
#include "ops/movement/memory_order.h"
#include "ops/op_descriptors.h"
#include "plan/layout/loops.h"

/* The permute between a value and the node whose memory it views: WI_TO_MEMORY_ORDER, WI_FROM_MEMORY_ORDER or 0 for none. */
static uint32_t order_view(const wi_partition *p, int value) {
    const weft_tensor *const base = p->values[wi_base_of(p, value)].node;
    for (const weft_tensor *node = p->values[value].node; node != base && node->op->kind == WI_VIEW;
         node = node->inputs[0]) {
        if (node->op == &wi_op_permute && node->attributes->permute.direction &&
            wi_memory_order_moves(&node->inputs[0]->shape, node->attributes->permute.axes))
            return node->attributes->permute.direction;
    }
    return 0;
}

wi_layout_conversions wi_count_layout_conversions(const wi_loops *loops, const wi_step *step) {
    const wi_partition *p = loops->partition;
    const wi_loop *loop = &loops->of[step->index];
    wi_layout_conversions found = {0};
    for (int o = 0; o < loop->operand_count; o++) {
        const wi_operand *operand = &loop->operands[o];
        if (operand->value < 0) continue;
        const wi_value *const base = &p->values[wi_base_of(p, operand->value)];
        const bool permuted = base->state == WI_VALUE_MEMBER && base->member.permuted;
        const uint32_t view = operand->is_output ? 0 : order_view(p, operand->value);
        found.to_last += operand->is_output ? permuted : view == WI_TO_MEMORY_ORDER && !permuted;
        found.to_first += !operand->is_output && (permuted ? view == 0 : view == WI_FROM_MEMORY_ORDER);
    }
    return found;
}
