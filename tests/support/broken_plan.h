/* What tests of the plans' verifier share: a plan with everything in it, and breaking it. */
#ifndef BROKEN_PLAN_H
#define BROKEN_PLAN_H

#include "support/fixture.h"

#include "plan/compiled_plan.h"
#include "plan/verify/verify.h"

/* How an invariant of a pass's result is broken, and what the verifier says then. */
typedef struct breakage {
    wi_plan_pass pass;
    void (*damage)(weft_plan *plan);
    const char *line;
} breakage;

/* Each on a plan of its own, which holds before. repair (may be NULL) is called before the plan is released. */
void broken_plan_check(const breakage *breakages, size_t count, void (*repair)(weft_plan *plan));

/* ---- finding something to break: the test fails where there is none ---- */
wi_step *broken_plan_step(weft_plan *plan, wi_step_kind kind);
/* A loop that reads memory, writes it, and has several members. */
wi_step *broken_plan_loop(weft_plan *plan);

#endif
