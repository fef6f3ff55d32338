/* Tuning what a plan computes (contract in tune_plan.h). */
#include "plan/tune_plan.h"
#include "cl/choices.h"
#include "kernels/site_name.h"
#include "ops/convolution/conv.h"
#include "plan/compiled_plan.h"
#include <stdlib.h>

typedef struct tuned_step {
    const wi_step *step;
    double seconds; /* estimated */
} tuned_step;

static bool is_tuned(const wi_partition *p, const wi_step *step) {
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
        if (is_tuned(p, p->steps[i]))
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

static weft_status tune_step(const wi_partition *p, const wi_step *step, wi_tuner *tuner) {
    char name[WI_SITE_NAME];
    const wi_kernel_site site = wi_step_site(p, step);
    const wi_op *const op = site.node->op;
    wi_site_name(name, op, &site);
    wi_choices_use(tuner->device, true);
    const wi_choice *const known = wi_choices_find(tuner->device, name);
    wi_choices_use(tuner->device, false);
    if (known && !known->built_in) return WEFT_OK;
    const weft_status status = wi_tune_site(tuner, op, &site);
    const bool passed_over = status == WEFT_ERROR_DEVICE_MEMORY || status == WEFT_ERROR_MEMORY_LIMIT ||
                             status == WEFT_ERROR_UNSUPPORTED;
    return passed_over ? WEFT_OK : status;
}

weft_status wi_plan_tune(const weft_plan *plan, wi_tuner *tuner) {
    tuned_step *steps;
    size_t count;
    WI_TRY(list_steps(plan, &steps, &count));
    weft_status status = WEFT_OK;
    for (size_t i = 0; status == WEFT_OK && i < count; i++)
        status = tune_step(&plan->partition, steps[i].step, tuner);
    wi_release(plan->request.context->allocator, steps);
    return status;
}

static weft_status keep_choice(const wi_partition *p, const wi_step *step, wi_tuner *tuner) {
    char name[WI_SITE_NAME], kernel[WI_KERNEL_NAME];
    const wi_kernel_site site = wi_step_site(p, step);
    wi_site_name(name, site.node->op, &site);
    wi_kernel_name(kernel, step->selection->chosen, step->selection->variant);
    wi_choices_use(tuner->device, true);
    const wi_choice *const known = wi_choices_find(tuner->device, name);
    const double usual = known ? known->usual : 0.0;
    const weft_status status =
        known && !known->built_in
            ? wi_choices_set(tuner->device,
                  &(wi_choice){.site = name, .kernel = kernel, .seconds = usual, .usual = usual})
            : WEFT_OK;
    wi_choices_use(tuner->device, false);
    return status;
}

weft_status wi_plan_keep_choices(const weft_plan *plan, wi_tuner *tuner) {
    const wi_partition *const p = &plan->partition;
    for (size_t i = 0; i < p->step_count; i++) {
        if (is_tuned(p, p->steps[i])) WI_TRY(keep_choice(p, p->steps[i], tuner));
    }
    return WEFT_OK;
}
