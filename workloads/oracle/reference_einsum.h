/* Einstein summation in float64. */
#ifndef ORACLE_REFERENCE_EINSUM_H
#define ORACLE_REFERENCE_EINSUM_H

#include "oracle/reference.h"

enum {
    F64_LABELS = 128,
    F64_EQUATION = 40
}; /* the numbers of labels, and of characters with the last '\0' */

/* What the axes of each operand and of the result are called. The axes of an ellipsis get the digits up to '9', which is the
 * last one's, so that ellipses of different ranks broadcast. */
typedef struct f64_equation {
    char of[2][F64_EQUATION], out[F64_EQUATION];
    int operands;
} f64_equation;
f64_equation f64_equation_of(const char *text, int rank_a, int rank_b);
/* The number of letters of an operand's term, which ends with a comma, the arrow or the text. */
int f64_equation_letters(const char *term, bool *ellipsis);

/* b: NULL for an equation of one operand. */
f64_array *f64_einsum(const char *text, const f64_array *a, const f64_array *b);

#endif
