/* Waits for the queues of a plan's devices. */
#include "cl/waiting.h"
#include "plan/compiled_plan.h"

/* A queue may wait for an event of another queue that was not flushed because a run failed; waiting for the first queue would then never
 * end. A failed flush is tried a second time. */
static weft_status flush_queues(const weft_plan *plan) {
    weft_status status = WEFT_OK;
    for (int d = 0; d < plan->request.devices.count && plan->request.devices.count > 1; d++) {
        const weft_status flushed = wi_queue_flush(plan->request.devices.of[d]);
        if (flushed != WEFT_OK) (void)wi_queue_flush(plan->request.devices.of[d]);
        if (status == WEFT_OK) status = flushed;
    }
    return status;
}

/* Keeps the message of the error that is being returned. */
static void finish_queue(wi_device *device) {
    char error[WI_ERROR_LINE];
    wi_error_save(error, sizeof error);
    (void)wi_queue_finish(device);
    wi_error_restore(error);
}

weft_status wi_plan_finish_queues(const weft_plan *plan) {
    weft_status status = flush_queues(plan);
    for (int d = 0; d < plan->request.devices.count; d++) {
        if (status == WEFT_OK)
            status = wi_queue_finish(plan->request.devices.of[d]);
        else
            finish_queue(plan->request.devices.of[d]);
    }
    return status;
}

void wi_plan_finish_after_error(const weft_plan *plan) {
    char error[WI_ERROR_LINE];
    wi_error_save(error, sizeof error);
    (void)wi_plan_finish_queues(plan);
    wi_error_restore(error);
}
