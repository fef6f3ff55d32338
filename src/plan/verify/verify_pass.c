/* Dumps and checks the result of each pass (contract in verify.h). */
#include "plan/compiled_plan.h"
#include "plan/verify/verify.h"

weft_status wi_verify_pass(const weft_plan *plan, wi_plan_pass pass) {
    switch (pass) {
    case WI_PASS_REWRITES: /* checked with the order */ break;
    case WI_PASS_ORDER: return wi_verify_order(&plan->order);
    case WI_PASS_PARTITION: return wi_verify_partition(&plan->partition);
    case WI_PASS_SELECT: return wi_verify_selection(&plan->partition);
    case WI_PASS_LOOPS: /* may have added steps to the partition */
        WI_TRY(wi_verify_partition(&plan->partition));
        return wi_verify_loops(&plan->loops);
    case WI_PASS_CODE: return wi_verify_code(&plan->code);
    case WI_PASS_SCHEDULE: return wi_verify_schedule(&plan->schedule);
    case WI_PASS_MATERIALISE: return wi_verify_runs(&plan->runs);
    case WI_PASS_MEMORY: return wi_verify_placement(&plan->placement);
    case WI_PASS_LAUNCHES: return wi_verify_launches(&plan->launches);
    case WI_PASSES: break;
    }
    return WEFT_OK;
}

weft_status wi_plan_end_pass(const weft_plan *plan, wi_plan_pass pass) {
    WI_TRY(wi_dump_pass(plan, pass));
    return plan->verifies ? wi_verify_pass(plan, pass) : WEFT_OK;
}
