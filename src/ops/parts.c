/* The list of the ops that are recognised when they are written by parts, and functions for their recognisers. */
#include "ops/parts.h"

const wi_recogniser wi_recognisers[] = {{&wi_op_matmul, "attention by parts", wi_attention_recognise},
    {&wi_op_mul, "GELU by parts", wi_gelu_recognise}, {&wi_op_div, "GELU by parts", wi_gelu_recognise},
    {&wi_op_mul, "norm by parts", wi_norm_recognise}, {&wi_op_div, "norm by parts", wi_norm_recognise}, {0}};

bool wi_parts_note(wi_recognised *found, weft_tensor *part) {
    if (found->part_count == WI_MOST_PARTS) return false;
    found->parts[found->part_count++] = part;
    return true;
}

bool wi_parts_number(const weft_tensor *x, double *number) {
    int power;
    return wi_is_constant(x, number, &power) && power == 0;
}
