/* The list of the ops that are recognised when they are written by parts (graph/op_rules.h). */
#include "ops/parts.h"

const wi_recogniser wi_recognisers[] = {{&wi_op_matmul, "attention by parts", wi_attention_recognise},
    {&wi_op_mul, "GELU by parts", wi_gelu_recognise}, {&wi_op_div, "GELU by parts", wi_gelu_recognise},
    {&wi_op_mul, "norm by parts", wi_norm_recognise}, {&wi_op_div, "norm by parts", wi_norm_recognise}, {0}};
