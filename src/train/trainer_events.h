/* The events that a trainer reports: the settings and the network at the beginning of the first run, then values and distributions of
 * steps and epochs. Without the options `events` and `html` these functions do nothing. */
#ifndef WI_TRAINER_EVENTS_H
#define WI_TRAINER_EVENTS_H

#include "train/trainer_shared.h"

/* Opens the files, unless they are open. */
weft_status wi_trainer_events_open(weft_trainer *trainer);
/* Reports the distributions of the gradients in this batch. Called before the first step of an epoch. */
weft_status wi_trainer_events_batch(const weft_trainer *trainer, const void *const *columns, size_t examples);
/* Report the values of trainer->step_report, and those of trainer->report with the distributions of the parameters. */
weft_status wi_trainer_events_step(const weft_trainer *trainer, const wi_log_event *event);
weft_status wi_trainer_events_epoch(const weft_trainer *trainer, const wi_log_event *event);
/* Writes all queued events to the files. Errors are only logged, and the thread's error message does not change. */
void wi_trainer_events_flush(const weft_trainer *trainer);

#endif
