/* The steps of a plan whose kernels tuning chooses (contract in tune_plan.h). */
#include "ops/convolution/conv.h"
#include "plan/compiled_plan.h"
#include "plan/tune/tune_plan.h"
#include <stdlib.h>

typedef struct tuned_step {
    const wi_step *step;
    double seconds; /* estimated */
} tuned_step;

bool wi_may_be_tuned(const wi_partition *p, const wi_step *step) {
    const wi_op *const op = p->values[step->members[0]].node->op;
    return step->selection && step->device == 0 &&
           ((step->kind == WI_STEP_PRODUCT && !step->by_segments) || op == &wi_op_conv_weight);
}

static int more_first(const void *a, const void *b) {
    const double one = ((const tuned_step *)a)->seconds, other = ((const tuned_step *)b)->seconds;
    return (one < other) - (one > other);
}

/* The steps in order; the caller releases them. */
static weft_status list_steps(const weft_plan *plan, tuned_step **steps, size_t *count) {
    const wi_partition *const p = &plan->partition;
    *count = 0;
    *steps = wi_allocate_array(plan->request.context->allocator, p->step_count + 1, sizeof **steps);
    if (!*steps) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < p->step_count; i++) {
        if (wi_may_be_tuned(p, p->steps[i]))
            (*steps)[(*count)++] = (tuned_step){p->steps[i], plan->schedule.of[i].seconds};
    }
    qsort(*steps, *count, sizeof **steps, more_first);
    return WEFT_OK;
}

weft_status wi_plan_list_tuned(const weft_plan *plan, const struct wi_step ***steps, size_t *count) {
    const weft_allocator *const allocator = plan->request.context->allocator;
    tuned_step *listed;
    WI_TRY(list_steps(plan, &listed, count));
    *steps = wi_allocate_array(allocator, *count + 1, sizeof(const wi_step *));
    for (size_t i = 0; *steps && i < *count; i++) (*steps)[i] = listed[i].step;
    wi_release(allocator, listed);
    return *steps ? WEFT_OK : WEFT_ERROR_MEMORY;
}
