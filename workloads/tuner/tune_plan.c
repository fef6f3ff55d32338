/* Tuning the sites of a plan (contract in tune_plan.h). */
#include "tuner/tune_plan.h"
#include "base/median.h"
#include "cl/choices.h"
#include "cl/context.h"
#include "kernels/site_name.h"
#include "ops/convolution/conv.h"
#include "plan/compiled_plan.h"
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5 };

/* ---- steps whose kernels are tuned ---- */

typedef struct tuned_step {
    const wi_step *step;
    double seconds; /* estimated */
} tuned_step;

/* Is the step on the plan's first device, and does it have a site that can be tuned? */
static bool may_be_tuned(const wi_partition *p, const wi_step *step) {
    const wi_op *const op = p->values[step->members[0]].node->op;
    return step->selection && step->device == 0 &&
           ((step->kind == WI_STEP_PRODUCT && !step->by_segments) || op == &wi_op_conv_weight);
}

static int more_first(const void *a, const void *b) {
    const double one = ((const tuned_step *)a)->seconds, other = ((const tuned_step *)b)->seconds;
    return (one < other) - (one > other);
}

/* Lists the steps that can be tuned, the most expensive first. The caller releases the list. */
static weft_status list_steps(const weft_plan *plan, tuned_step **steps, size_t *count) {
    const wi_partition *const p = &plan->partition;
    *count = 0;
    *steps = wi_allocate_array(plan->request.context->allocator, p->step_count + 1, sizeof **steps);
    if (!*steps) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < p->step_count; i++) {
        if (may_be_tuned(p, p->steps[i]))
            (*steps)[(*count)++] = (tuned_step){p->steps[i], plan->schedule.of[i].seconds};
    }
    qsort(*steps, *count, sizeof **steps, more_first);
    return WEFT_OK;
}

/* ---- sites ---- */

bool tuner_has_choice(const kernel_tuner *tuner, const char *site) {
    wi_choices_use(tuner->device, true);
    const wi_choice *const known = wi_choices_find(tuner->device, site);
    wi_choices_use(tuner->device, false);
    return known && !known->built_in;
}

static weft_status tune_step(const wi_partition *p, const wi_step *step, kernel_tuner *tuner) {
    char name[WI_SITE_NAME];
    const wi_kernel_site site = wi_step_site(p, step);
    const wi_op *const op = site.node->op;
    wi_site_name(name, op, &site);
    if (tuner->only && strcmp(name, tuner->only) != 0) return WEFT_OK;
    if (tuner_has_choice(tuner, name)) return WEFT_OK;
    const weft_status status = tune_site(tuner, op, &site);
    return tuner_passes_over(status) ? WEFT_OK : status;
}

weft_status tune_plan(const weft_plan *plan, kernel_tuner *tuner) {
    tuned_step *steps;
    size_t count;
    WI_TRY(list_steps(plan, &steps, &count));
    weft_status status = WEFT_OK;
    for (size_t i = 0; status == WEFT_OK && i < count; i++)
        status = tune_step(&plan->partition, steps[i].step, tuner);
    wi_release(plan->request.context->allocator, steps);
    return status;
}

weft_status tune_visit_untuned(const weft_plan *plan, const kernel_tuner *tuner,
    weft_status (*visit)(void *user, const char *site, double seconds), void *user) {
    const wi_partition *const p = &plan->partition;
    tuned_step *steps;
    size_t count;
    WI_TRY(list_steps(plan, &steps, &count));
    weft_status status = WEFT_OK;
    for (size_t i = 0; status == WEFT_OK && i < count; i++) {
        char name[WI_SITE_NAME];
        const wi_kernel_site site = wi_step_site(p, steps[i].step);
        wi_site_name(name, site.node->op, &site);
        if (!tuner_has_choice(tuner, name)) status = visit(user, name, steps[i].seconds);
    }
    wi_release(plan->request.context->allocator, steps);
    return status;
}

/* ---- whole runs ---- */

static weft_status time_run(weft_plan *plan, const kernel_tuner *tuner, double *seconds) {
    const double begin = tuner_now(tuner);
    WI_TRY(weft_plan_run(plan));
    WI_TRY(weft_plan_wait(plan));
    *seconds = tuner_now(tuner) - begin;
    return WEFT_OK;
}

static weft_status compare_runs(weft_plan *const plans[2], const kernel_tuner *tuner, double medians[2]) {
    double seconds[2][ROUNDS];
    size_t rounds = 0;
    for (int i = 0; i < 2; i++) WI_TRY(time_run(plans[i], tuner, &seconds[i][0]));
    do {
        for (int i = 0; i < 2; i++) WI_TRY(time_run(plans[i], tuner, &seconds[i][rounds]));
        rounds++;
    } while (rounds < ROUNDS && tuner_now(tuner) < tuner->deadline);
    for (int i = 0; i < 2; i++) medians[i] = wi_median(seconds[i], rounds);
    return WEFT_OK;
}

/* ---- the choices of a plan's sites ---- */

/* The choice of tuning for the step's site, if it differs from the kernel that the plan uses; otherwise NULL. *own gets the site's name
 * and the plan's kernel. */
static const wi_choice *other_choice(
    const wi_partition *p, const wi_step *step, kernel_tuner *tuner, wi_choice *own) {
    const wi_kernel_site site = wi_step_site(p, step);
    wi_site_name(own->site, site.node->op, &site);
    wi_kernel_name(own->kernel, step->selection->chosen, step->selection->variant);
    wi_choices_use(tuner->device, true);
    const wi_choice *const known = wi_choices_find(tuner->device, own->site);
    wi_choices_use(tuner->device, false);
    return known && !known->built_in && strcmp(known->kernel, own->kernel) != 0 ? known : NULL;
}

bool tune_has_other_choices(const weft_plan *plan, kernel_tuner *tuner) {
    const wi_partition *const p = &plan->partition;
    char name[WI_SITE_NAME], kernel[WI_KERNEL_NAME];
    wi_choice own = {.site = name, .kernel = kernel};
    for (size_t i = 0; i < p->step_count; i++) {
        if (may_be_tuned(p, p->steps[i]) && other_choice(p, p->steps[i], tuner, &own)) return true;
    }
    return false;
}

/* Makes the plan's kernels the choices of its sites, where tuning had chosen other kernels. */
static weft_status keep_own(const wi_partition *p, kernel_tuner *tuner) {
    char name[WI_SITE_NAME], kernel[WI_KERNEL_NAME];
    wi_choice own = {.site = name, .kernel = kernel};
    for (size_t i = 0; i < p->step_count; i++) {
        const wi_choice *const other =
            may_be_tuned(p, p->steps[i]) ? other_choice(p, p->steps[i], tuner, &own) : NULL;
        if (!other) continue;
        own.seconds = own.usual = other->usual;
        WI_TRY(wi_choices_set(tuner->device, &own));
    }
    return WEFT_OK;
}

weft_status tune_judge(weft_plan *const plans[2], kernel_tuner *tuner, double medians[2]) {
    WI_TRY(compare_runs(plans, tuner, medians));
    return medians[1] <= medians[0] ? WEFT_OK : keep_own(&plans[0]->partition, tuner);
}
