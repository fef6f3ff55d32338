/* For tests of the plans' verifier: a plan that has steps of all kinds, and checks that the verifier finds each kind of damage. */
#ifndef BROKEN_PLAN_H
#define BROKEN_PLAN_H

#include "support/fixture.h"

#include "plan/compiled_plan.h"
#include "plan/verify/verify.h"

/* `damage` breaks an invariant of the plan after the pass; `line` is part of the error that the verifier must then return. */
typedef struct breakage {
    wi_plan_pass pass;
    void (*damage)(weft_plan *plan);
    const char *line;
} breakage;

/* Tests each breakage on a new plan, which must be valid before the damage. repair (may be NULL) is called before the plan is released. */
void broken_plan_check(const breakage *breakages, size_t count, void (*repair)(weft_plan *plan));

/* ---- finding a step to damage: the test fails if there is none ---- */
wi_step *broken_plan_step(weft_plan *plan, wi_step_kind kind);
/* A loop that reads memory, writes it, and has several members. */
wi_step *broken_plan_loop(weft_plan *plan);

#endif
