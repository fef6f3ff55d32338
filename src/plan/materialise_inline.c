/* Which values are inline: never stored, computed in each step that reads them. That decides what the steps are
 * made of, so this half of materialisation runs while the partition is made, and knows no limit of memory:
 * an inline value takes none.
 *
 * Values that are the same everywhere cost nothing. Other maps of generators, inputs, parameters and states are
 * inline when computing them costs less than storing them and reading them back: that is a launch and two walks
 * over memory, against reading their operands once more in each step. */
#include "plan/loops.h"
#include "plan/partition.h"
#include <string.h>

/* Each operand that a step gets more is read from memory; with more than these, storing is cheaper. */
enum { MOST_OPERANDS = 6 };

/* No function of elementwise.clh, division or root, which cost more than reading the result. */
static bool is_cheap(const wi_op *op) {
    return !op->float_code ||
           !(wi_code_calls(op->float_code) || strchr(op->float_code, '/') || strstr(op->float_code, "sqrt"));
}

bool wi_is_inline(const wi_partition *p, const weft_tensor *node) {
    bool reads = false;
    for (int i = 0; i < node->input_count; i++) {
        const wi_value *input = &p->values[wi_value_index(p, node->inputs[i])];
        const bool source = input->state == WI_VALUE_MEMORY && input->step < 0;
        if (input->state != WI_VALUE_INLINE && !source) return false;
        reads = reads || !wi_is_uniform_inline(input);
    }
    return !reads || (is_cheap(node->op) && wi_new_operands(p, node, -1) <= MOST_OPERANDS);
}
