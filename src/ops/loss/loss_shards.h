/* The part of a loss that a shard, a range of the batch's examples, contributes.
 *
 * A plan for a shard sees the examples of the shard alone. The loss that it computes is a mean over these examples, and the mean of such
 * means is not the loss of the batch if shards have different numbers of examples or labels. wi_loss_of_shard therefore multiplies each
 * summand of the loss by its share, so that the loss of the batch is the sum over its shards, and so is its gradient. */
#ifndef WI_LOSS_SHARDS_H
#define WI_LOSS_SHARDS_H

#include "ops/loss/loss_terms.h"

/* Scalars that the host sets before a run. */
typedef struct wi_shard_shares {
    weft_tensor *examples; /* examples of the shard / examples of the batch */
    weft_tensor
        *totals[WI_LOSS_TERMS]; /* of each term: total of the shard / total of the batch; 0 if that is 0 */
} wi_shard_shares;

/* Creates *part and the scalars. is_fixed: the inputs have a fixed number of examples. The number of examples is then a number like any other
 * in the loss, and the loss counts as a mean over the examples. WEFT_ERROR_UNSUPPORTED: a summand is not a sum or mean over the examples. */
weft_status wi_loss_of_shard(weft_tensor **part, wi_shard_shares *shares, const wi_loss_terms *terms,
    weft_tensor *loss, bool is_fixed);

#endif
