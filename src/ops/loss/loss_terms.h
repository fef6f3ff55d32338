/* Means over a number of elements that depends on the data, and what a loss is composed of.
 *
 * A mean over labels that are not ignored, or over what a mask lets through, is a sum divided by a total. The mean of two
 * batches is not the mean of their means, so the graph notes the total of each such mean. A loss is then looked at as a
 * sum of terms, each of them a noted mean times a factor that does not depend on the batch, and of a rest:
 *
 *     loss = factor₁·mean₁ + ... + rest
 *
 * Over several batches a term is the mean of its values weighted by their totals, and the rest the mean weighted by
 * examples. A batch in which all totals are 0, and no other part of the loss depends on the batch, is empty. */
#ifndef WI_LOSS_TERMS_H
#define WI_LOSS_TERMS_H

#include "graph/nodes.h"

enum { WI_LOSS_TERMS = 8 };

/* 1 / total, and 0 where that is 0. */
weft_tensor *wi_share_of_total(weft_tensor *total);
/* Notes what a mean of one element was divided by; returns the mean, NULL after an error. */
weft_tensor *wi_note_mean(weft_tensor *mean, weft_tensor *total);

typedef struct wi_loss_term {
    weft_tensor *value; /* factor · mean, one element; the loss itself where it is that one term */
    weft_tensor *total; /* rank 0, f32 */
} wi_loss_term;

typedef struct wi_loss_terms {
    wi_loss_term of[WI_LOSS_TERMS];
    size_t count;   /* further terms are part of the rest */
    bool has_rest;  /* there is one that is not 0 */
    bool is_always; /* part of the rest depends on the batch: no batch is empty */
} wi_loss_terms;

weft_status wi_loss_terms_find(wi_loss_terms *terms, weft_tensor *loss);
/* bool, rank 0: the batch is not empty; NULL: none can be, or an error of the graph. */
weft_tensor *wi_loss_terms_count(const wi_loss_terms *terms);

#endif
