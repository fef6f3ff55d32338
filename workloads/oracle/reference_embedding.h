/* Sums of the rows of a table, in float64. */
#ifndef REFERENCE_EMBEDDING_H
#define REFERENCE_EMBEDDING_H

#include "oracle/reference.h"
#include <weft/ops.h>

typedef struct f64_bags {
    weft_bag_mode mode;
    const f64_array *offsets, *weights; /* NULL: none */
    int64_t padding; /* the token that is in no bag, counted from the beginning; -1: none */
} f64_bags;
/* The rows of each bag of tokens: their mean, sum or largest elements; zeros for a bag without tokens. */
f64_array *f64_embedding_bag(const f64_array *table, const f64_array *tokens, const f64_bags *bags);

#endif
