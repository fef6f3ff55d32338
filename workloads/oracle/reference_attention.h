/* Attention in float64, by its definition. */
#ifndef ORACLE_REFERENCE_ATTENTION_H
#define ORACLE_REFERENCE_ATTENTION_H

#include "oracle/reference.h"

typedef struct f64_attention_options {
    const f64_array *mask; /* broadcasts to the scores; NULL: none */
    bool bool_mask;        /* 0: the key is not attended to; otherwise the mask is added to the scores */
    bool causal;
    double scale; /* 0: 1/sqrt(d) */
    double
        rounding; /* of the operands of its products, relative: the scaled queries, and the weights of keys */
} f64_attention_options;
f64_array *f64_attention(
    const f64_array *q, const f64_array *k, const f64_array *v, const f64_attention_options *options);

#endif
