/* Tuning what a plan computes: the sites of its contractions, the most expensive first by the estimates. */
#ifndef WI_TUNE_PLAN_H
#define WI_TUNE_PLAN_H

#include "kernels/tuner.h"
#include <weft/plan.h>

struct wi_step;

/* The plan was made while choices were not in use. Sites that have a choice already, or whose memory is too little, are
 * passed over; the rest waits for the next time when the deadline comes. */
weft_status wi_plan_tune(const weft_plan *plan, wi_tuner *tuner);
/* The steps whose sites are tuned, in that order; the caller releases them by the context's allocator. */
weft_status wi_plan_list_tuned(const weft_plan *plan, const struct wi_step ***steps, size_t *count);
/* Makes the choices that the plan was made with those of its sites. */
weft_status wi_plan_keep_choices(const weft_plan *plan, wi_tuner *tuner);

#endif
