/* The ranges of parameters that a step of an optimizer updates together. */
#ifndef WI_UPDATE_RANGES_H
#define WI_UPDATE_RANGES_H

#include "nn/update_rules.h"

typedef struct wi_update_step {
    weft_optimizer_state *optimizer;
    weft_tensor *const *gradients; /* by parameter number; NULL: the step does not update the parameter */
    weft_tensor *counts;           /* bool, rank 0: the run is not empty; NULL: no run is empty */
    wi_divided_update *divided;
    wi_update *ranges;
    size_t count;
    int64_t most_rows; /* a range with more rows is split; INT64_MAX: no range is */
} wi_update_step;
/* Lists the ranges. s->ranges has room for one for each parameter. */
weft_status wi_find_ranges(wi_update_step *s);
/* Divides the ranges into smaller ones if a memory limit requires this. Called after the gradients are computed, so that a norm over the
 * gradients adds them up in an order that does not depend on the limit. */
weft_status wi_split_begun_ranges(wi_update_step *s);

#endif
