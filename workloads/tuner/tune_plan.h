/* Tuning what a plan computes: the sites of its contractions, the most expensive first by the estimates. */
#ifndef TUNE_PLAN_H
#define TUNE_PLAN_H

#include "tuner/tuner.h"
#include <weft/plan.h>

/* Has tuning made a choice for the site of that name? */
bool tuner_has_choice(const kernel_tuner *tuner, const char *site);
/* For each step whose site has no choice yet: the site's name, and the step's estimated seconds in a run. The name is gone after the call. */
weft_status tune_visit_untuned(const weft_plan *plan, const kernel_tuner *tuner,
    weft_status (*visit)(void *user, const char *site, double seconds), void *user);
/* The plan was made while choices were not in use. Sites that have a choice already, or whose memory is too little, are
 * passed over; the rest waits for the next time when the deadline comes. */
weft_status tune_plan(const weft_plan *plan, kernel_tuner *tuner);
/* Has a site of the plan, which was made while choices were not in use, one that is not the plan's? */
bool tune_has_other_choices(const weft_plan *plan, kernel_tuner *tuner);
/* Compares whole runs of a plan with the built-in choices (plans[0], made while choices were not in use) and of one with those
 * of its sites, in turn, until the deadline; at least one of each after one that compiles. Where the choices make the median
 * longer, the built-in ones take their place. */
weft_status tune_judge(weft_plan *const plans[2], kernel_tuner *tuner, double medians[2]);

#endif
