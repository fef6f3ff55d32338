/* Waits for a plan and checks for faults of its runs. */
#include "cl/quirks.h"
#include "cl/uploads.h"
#include "plan/compiled_plan.h"

weft_status wi_plan_check_faults(weft_plan *plan) {
    for (int d = 0; d < plan->request.devices.count; d++)
        WI_TRY(wi_uploads_finish(plan->request.devices.of[d]));
    for (int d = 0; d < plan->request.devices.count; d++) WI_TRY(wi_plan_check_device_faults(plan, d));
    if (plan->after) WI_TRY(wi_plan_check_faults(plan->after));
    return wi_plan_check_overflow(plan);
}

/* Reading the faults waits for everything before it in the queue and takes no longer than waiting alone. False if a separate wait is
 * necessary. */
static bool reading_waits(const weft_plan *plan) {
    return plan->request.devices.count == 1 && plan->partition.faults[0] >= 0 &&
           !(plan->request.devices.of[0]->caps.quirks & WI_QUIRK_EARLY_FINISH);
}

weft_status weft_plan_wait(weft_plan *plan) {
    if (!plan) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plan_wait: plan is NULL");
    const bool reading = reading_waits(plan);
    if (!reading) WI_TRY(wi_plan_finish_queues(plan));
    const weft_status status = wi_plan_check_faults(plan);
    if (status != WEFT_OK && reading) wi_plan_finish_after_error(plan);
    return status;
}
