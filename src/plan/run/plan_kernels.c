/* Creates the launches of a plan when they are first needed. */
#include "plan/compiled_plan.h"
#include "plan/verify/verify.h"

weft_status wi_plan_compile(weft_plan *plan) {
    if (plan->compiled) return WEFT_OK;
    weft_status status = wi_plan_launches(&plan->code, &plan->memory, &plan->launches);
    if (status == WEFT_OK) status = wi_plan_end_pass(plan, WI_PASS_LAUNCHES);
    if (status != WEFT_OK) {
        wi_launches_clear(&plan->launches);
        return status;
    }
    plan->compiled = true;
    return WEFT_OK;
}
