/* The op of a recorded case with given inputs, each as it was recorded or of the case's format. */
#ifndef RECORDED_EXPRESSION_H
#define RECORDED_EXPRESSION_H

#include "recorded_ops.h"

/* NULL: the op is not known here, or the graph has an error. */
weft_tensor *recorded_expression(const recorded_case *r, weft_graph *graph, weft_tensor *const *x);

#endif
