/* Events for the page of the option `html` alone: the profile of one step, and the mistakes in validation. Without the option nothing is
 * reported. */
#ifndef WI_TRAINER_PAGE_H
#define WI_TRAINER_PAGE_H

#include "train/trainer_shared.h"

/* Runs the plan, and profiles one run: the third run of the plan, because drivers compile kernels in the first ones. If the device
 * records no times, this is logged, and is not an error. */
weft_status wi_trainer_page_run(weft_trainer *trainer, weft_plan *plan);
/* Before the passes are built: creates trainer->mistakes if validation has logits of one row for each example, in the
 * order of the dataset, in this process. */
weft_status wi_trainer_page_init(weft_trainer *trainer);
/* Called before validation, and after it. */
weft_status wi_trainer_page_begin(weft_trainer *trainer);
weft_status wi_trainer_page_epoch(const weft_trainer *trainer);

#endif
