/* The state of a trainer in checkpoints: its position, sums, schedule and watch, beside the graph's state.
 *
 * Names: strings trainer.* in the metadata; "trainer.metric.N", the sums of the training metrics in the middle of an
 * epoch; "best.NAME", the weights of the best epoch where they are kept; "extra.NAME". */
#ifndef WI_TRAINER_STATE_H
#define WI_TRAINER_STATE_H

#include "train/trainer_shared.h"

/* Before a run: takes the memory for checkpoints, if they are to be saved. */
weft_status wi_trainer_reserve(weft_trainer *trainer);
/* Saves a checkpoint of the state after the steps so far. best: after the best epoch so far. */
weft_status wi_trainer_save(weft_trainer *trainer, bool best);

#endif
