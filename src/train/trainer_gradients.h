/* Distributions of the gradients of a training step, for events. */
#ifndef WI_TRAINER_GRADIENTS_H
#define WI_TRAINER_GRADIENTS_H

#include "train/trainer_shared.h"

/* Computes the gradients of the loss in this batch by a separate plan, and reports one distribution per parameter that is not
 * frozen. Everything that the run of the plan changes, such as running statistics and the counter of random numbers, is
 * restored, so that the training computes the same bits as without this call. If batches are divided into shards, reports the
 * gradients of the step in progress instead, after they were added up. */
weft_status wi_trainer_gradients(const weft_trainer *trainer, const void *const *columns, size_t examples);

#endif
