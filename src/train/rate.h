/* A trainer's learning rate: the schedule sets the rate of the updates between epochs or steps, after the callbacks, so
 * that callbacks see the rate that was used. */
#ifndef WI_RATE_H
#define WI_RATE_H

#include <weft/train.h>

typedef struct wi_rate {
    weft_schedule schedule; /* CONSTANT: the rate is not changed */
    float base;
    uint64_t accumulate; /* steps per update */
    weft_plateau plateau;
    weft_tensor *scalar; /* the rate of the updates, or of the graph's latest optimizer if they have none */
} wi_rate;

/* Finds the scalar and checks the schedule. WEFT_ERROR_ARGUMENT: a schedule out of range, without a rate or for several
 * rates, or a plateau without a validation dataset. */
weft_status wi_rate_init(wi_rate *rate, weft_graph *graph, weft_tensor *const *updates, size_t count,
    const weft_trainer_options *options);
/* These functions set the rate. epochs, windows: how many epochs or windows of accumulation have been finished, over
 * all runs. skipped: for how many of these windows the update did not happen. */
weft_status wi_rate_before_epoch(const wi_rate *rate, uint64_t epochs);
weft_status wi_rate_after_step(const wi_rate *rate, uint64_t windows, uint64_t skipped);
weft_status wi_rate_after_validation(wi_rate *rate, double loss);

#endif
