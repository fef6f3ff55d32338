/* Ops that are recognised when they are written by parts (wi_recogniser in graph/op_rules.h). */
#ifndef WI_PARTS_H
#define WI_PARTS_H

#include "ops/op_table.h"

bool wi_attention_recognise(weft_tensor *y, wi_recognised *found); /* attention/attention_parts.c */
bool wi_gelu_recognise(weft_tensor *y, wi_recognised *found);      /* elementwise/gelu_parts.c */
bool wi_norm_recognise(weft_tensor *y, wi_recognised *found);      /* normalization/norm_parts.c */

/* Adds a part. False: there are too many. */
bool wi_parts_note(wi_recognised *found, weft_tensor *part);
/* Is x a constant that does not depend on the batch? */
bool wi_parts_number(const weft_tensor *x, double *number);

#endif
