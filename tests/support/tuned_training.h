/* A training that is tuned between its runs, by a clock that the test moves. */
#ifndef TUNED_TRAINING_H
#define TUNED_TRAINING_H

#include <weft/weft.h>

/* Seconds that a look at the clock takes, and so does a measurement, between two of them; a run takes one second. */
extern const double tuned_look;
double tuned_clock(void);

typedef struct tuned_training {
    weft_context *context;
    weft_graph *graph;
    weft_tensor *x, *outputs[1 + WEFT_MAX_UPDATES];
    size_t count;
    weft_plan *plan;
} tuned_training;

/* What `options` leaves open is that of a test; a plan that is tuned has the clock. */
tuned_training tuned_training_begin(weft_context_options options);
weft_plan *tuned_training_plan(const tuned_training *t);
void tuned_training_run(tuned_training *t, int steps, float *losses);
void tuned_training_end(tuned_training *t);

#endif
