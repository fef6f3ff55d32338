/* The events of an invented training run, with everything that an HTML page of events can show. */
#ifndef MADE_UP_RUN_H
#define MADE_UP_RUN_H

#include "train/event_sink.h"

enum { MADE_UP_EPOCHS = 200, MADE_UP_STEPS = 390 };
/* The only step whose loss is MADE_UP_PEAK. */
enum { MADE_UP_PEAK_STEP = 50001 };
#define MADE_UP_PEAK 7.654321

/* Sends the events of the steps first + 1 to last of the run, and those of their epochs. */
void made_up_run_steps(wi_event_sink *sink, size_t first, size_t last);
/* Sends what comes once or sometimes: settings, network, profile, mistakes, pictures, texts. */
void made_up_run_rest(wi_event_sink *sink);

#endif
