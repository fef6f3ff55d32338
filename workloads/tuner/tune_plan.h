/* Tunes the sites of a plan's contractions, those with the longest estimated time first.
 *
 * "Without choices" means: created while choices were not in use (wi_choices_use), so that the plan uses the built-in choice of each
 * site. */
#ifndef TUNE_PLAN_H
#define TUNE_PLAN_H

#include "tuner/tuner.h"
#include <weft/plan.h>

/* Has tuning made a choice for the site of this name? */
bool tuner_has_choice(const kernel_tuner *tuner, const char *site);
/* Calls `visit` for each step whose site has no choice yet, with the site's name, which is valid during the call, and the step's estimated
 * seconds in a run. */
weft_status tune_visit_untuned(const weft_plan *plan, const kernel_tuner *tuner,
    weft_status (*visit)(void *user, const char *site, double seconds), void *user);
/* Tunes the sites of a plan that was created without choices. Sites that already have a choice, or for which memory does not suffice, are
 * skipped. Sites that are not tuned by the deadline are left to a later call. */
weft_status tune_plan(const weft_plan *plan, kernel_tuner *tuner);
/* The plan was created without choices. Does one of its sites have a choice that differs from the plan's kernel? */
bool tune_has_other_choices(const weft_plan *plan, kernel_tuner *tuner);
/* Compares whole runs of plans[0], created without choices, and plans[1], the same plan with choices. The plans run in turn until the
 * deadline: first once without being timed, because that run may compile, then at least once each. medians: seconds of a run. If plans[1]
 * is slower, the built-in choices become the choices of the sites. */
weft_status tune_judge(weft_plan *const plans[2], kernel_tuner *tuner, double medians[2]);

#endif
