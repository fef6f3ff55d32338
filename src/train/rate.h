/* A trainer's learning rate: the schedule that moves the graph's rate between epochs or steps, after the
 * callbacks, which so see the rate that was used. */
#ifndef WI_RATE_H
#define WI_RATE_H

#include <weft/train.h>

typedef struct wi_rate {
    weft_schedule schedule; /* CONSTANT: the rate is left alone */
    float base;
    uint64_t accumulate; /* steps an update */
    weft_plateau plateau;
    weft_tensor *scalar;
} wi_rate;

/* The rate that the updates move with; that of the graph's latest optimizer if they have none of their own. Checks the
 * schedule; a plateau needs a validation dataset. */
weft_status wi_rate_init(wi_rate *rate, weft_graph *graph, weft_tensor *const *updates, size_t count,
    const weft_trainer_options *options);
/* epochs and steps: done so far, over all runs; skipped: updates among them that did not happen. */
weft_status wi_rate_before_epoch(const wi_rate *rate, uint64_t epochs);
weft_status wi_rate_after_step(const wi_rate *rate, uint64_t windows, uint64_t skipped);
weft_status wi_rate_after_validation(wi_rate *rate, double loss);

#endif
