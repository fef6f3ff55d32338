/* Tuning what a plan computes: the sites of its contractions, the most expensive first by the estimates. */
#ifndef WI_TUNE_PLAN_H
#define WI_TUNE_PLAN_H

#include "kernels/tuner.h"
#include <weft/plan.h>

struct wi_step;
struct wi_partition;

/* Has tuning made a choice for the site of that name? */
bool wi_tuner_has_choice(const wi_tuner *tuner, const char *site);
/* For each step whose site has no choice yet: the site's name, and the step's estimated seconds in a run. The name is gone after the call. */
weft_status wi_plan_visit_untuned(const weft_plan *plan, const wi_tuner *tuner,
    weft_status (*visit)(void *user, const char *site, double seconds), void *user);
/* The plan was made while choices were not in use. Sites that have a choice already, or whose memory is too little, are
 * passed over; the rest waits for the next time when the deadline comes. */
weft_status wi_plan_tune(const weft_plan *plan, wi_tuner *tuner);
/* tuned_steps.c: has the step, of the plan's first device, a site that may have a choice? */
bool wi_may_be_tuned(const struct wi_partition *p, const struct wi_step *step);
/* The steps whose sites are tuned, in that order; the caller releases them by the context's allocator. */
weft_status wi_plan_list_tuned(const weft_plan *plan, const struct wi_step ***steps, size_t *count);
/* Has a site of the plan, which was made while choices were not in use, one that is not the plan's? */
bool wi_plan_has_other_choices(const weft_plan *plan, wi_tuner *tuner);
/* Compares whole runs of a plan with the built-in choices (plans[0], made while choices were not in use) and of one with those
 * of its sites, in turn, until the deadline; at least one of each after one that compiles. Where the choices make the median
 * longer, the built-in ones take their place. */
weft_status wi_plan_judge(weft_plan *const plans[2], wi_tuner *tuner, double medians[2]);

#endif
