/* The state of a trainer in checkpoints, in addition to the state of the graph (io/graph_state.h): its position, sums,
 * schedule and early stopping.
 *
 * Strings trainer.* in the metadata, and tensors weft.trainer.metric.N, the sums of the training metrics in the middle
 * of an epoch; weft.best.NAME, the weights of the best epoch if they are kept; weft.extra.NAME, the caller's. */
#ifndef WI_TRAINER_STATE_H
#define WI_TRAINER_STATE_H

#include "train/trainer_shared.h"

/* Before a run: allocates the memory for checkpoints, if the option checkpoint is set. */
weft_status wi_trainer_reserve(weft_trainer *trainer);
/* Saves a checkpoint of the state after the steps so far. best: the last epoch was the best. */
weft_status wi_trainer_save(weft_trainer *trainer, bool best);

#endif
