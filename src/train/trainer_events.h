/* What a trainer reports to its weft_events: the settings and the network when they are opened, then values and
 * distributions of steps and epochs. Without the options `events` and `html` these functions do nothing. */
#ifndef WI_TRAINER_EVENTS_H
#define WI_TRAINER_EVENTS_H

#include "train/trainer_shared.h"

/* Opens the files, unless they are open. */
weft_status wi_trainer_events_open(weft_trainer *trainer);
/* Before the first step of an epoch, with its batch: the distributions of gradients. */
weft_status wi_trainer_events_batch(const weft_trainer *trainer, const void *const *columns, size_t examples);
/* The values of trainer->step_report, and those of trainer->report with the distributions of the parameters. */
weft_status wi_trainer_events_step(const weft_trainer *trainer, const wi_log_event *event);
weft_status wi_trainer_events_epoch(const weft_trainer *trainer, const wi_log_event *event);
/* Brings the events to the files. The log has an error already; the thread's error line is kept. */
void wi_trainer_events_flush(const weft_trainer *trainer);

#endif
