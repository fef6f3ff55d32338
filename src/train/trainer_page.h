/* What a trainer with the option `html` reports for the page alone: the profile of one step, and what validation got
 * wrong. Without the option these functions only do what they do otherwise. */
#ifndef WI_TRAINER_PAGE_H
#define WI_TRAINER_PAGE_H

#include "train/trainer_shared.h"

/* In place of weft_plan_run. Records the times of one step, the third of its plan, as drivers compile kernels in the first
 * ones. A device that records no times is not an error; the log has a line. */
weft_status wi_trainer_page_run(weft_trainer *trainer, weft_plan *plan);
/* Before the passes are built: creates trainer->mistakes if validation has logits of one row for each example, in the
 * order of the dataset, in this process. */
weft_status wi_trainer_page_init(weft_trainer *trainer);
/* Before validation, and after it. */
weft_status wi_trainer_page_begin(weft_trainer *trainer);
weft_status wi_trainer_page_epoch(const weft_trainer *trainer);

#endif
