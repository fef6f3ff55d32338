/* Means over a number of elements that depends on the data, and the terms of a loss.
 *
 * A mean over labels that are not ignored, or over elements that a mask selects, is a sum divided by a total. The mean over two
 * batches is not the mean of their means, so the graph records the total of each such mean. A loss is then a sum of terms, each a
 * recorded mean times a factor that does not depend on the batch, and of a rest:
 *
 *     loss = factor₁·mean₁ + ... + rest
 *
 * Over several batches, a term is the mean of its values weighted by their totals, and the rest is the mean weighted by the numbers of
 * examples. A batch is empty if all totals are 0 and the rest does not depend on the batch. */
#ifndef WI_LOSS_TERMS_H
#define WI_LOSS_TERMS_H

#include "graph/weft_graph.h"

enum { WI_LOSS_TERMS = 8 };

/* 1 / total, or 0 if the total is 0. */
weft_tensor *wi_share_of_total(weft_tensor *total);
/* Records the divisor of a mean of one element, and returns the mean; NULL after an error. */
weft_tensor *wi_note_mean(weft_tensor *mean, weft_tensor *total);

typedef struct wi_loss_term {
    weft_tensor *value; /* factor · mean, one element; the loss itself if it has only this term */
    weft_tensor *total; /* rank 0, f32 */
} wi_loss_term;

typedef struct wi_loss_terms {
    wi_loss_term of[WI_LOSS_TERMS];
    size_t count;   /* further terms belong to the rest */
    bool has_rest;  /* the rest is not 0 */
    bool is_always; /* the rest depends on the batch, so that no batch is empty */
} wi_loss_terms;

weft_status wi_loss_terms_find(wi_loss_terms *terms, weft_tensor *loss);

/* A summand of the rest: factor · value, where the factor does not depend on the data of the batch. */
typedef struct wi_loss_summand {
    weft_tensor *factor; /* NULL: 1 */
    weft_tensor *value;
    bool varies; /* the value depends on the batch */
} wi_loss_summand;

/* The terms of the loss and the summands of its rest; some may be 0. Not in the order of the loss. */
enum { WI_LOSS_SUMMANDS = 64 };
typedef struct wi_loss_sum {
    wi_loss_terms terms;
    wi_loss_summand rest[WI_LOSS_SUMMANDS];
    size_t count;     /* of summands */
    bool is_too_long; /* the loss has more summands, which are not in the list */
} wi_loss_sum;

weft_status wi_loss_sum_find(wi_loss_sum *sum, weft_tensor *loss);
/* Is the batch not empty? bool of rank 0; NULL: no batch is empty, or the graph has an error. */
weft_tensor *wi_loss_terms_count(const wi_loss_terms *terms);

#endif
