/* Tuning what a plan computes (contract in tune_plan.h). */
#include "plan/tune/tune_plan.h"
#include "base/median.h"
#include "cl/choices.h"
#include "kernels/site_name.h"
#include "plan/compiled_plan.h"
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5 };

bool wi_tuner_has_choice(const wi_tuner *tuner, const char *site) {
    wi_choices_use(tuner->device, true);
    const wi_choice *const known = wi_choices_find(tuner->device, site);
    wi_choices_use(tuner->device, false);
    return known && !known->built_in;
}

static weft_status tune_step(const wi_partition *p, const wi_step *step, wi_tuner *tuner) {
    char name[WI_SITE_NAME];
    const wi_kernel_site site = wi_step_site(p, step);
    const wi_op *const op = site.node->op;
    wi_site_name(name, op, &site);
    if (tuner->only && strcmp(name, tuner->only) != 0) return WEFT_OK;
    if (wi_tuner_has_choice(tuner, name)) return WEFT_OK;
    const weft_status status = wi_tune_site(tuner, op, &site);
    return wi_tuner_passes_over(status) ? WEFT_OK : status;
}

weft_status wi_plan_tune(const weft_plan *plan, wi_tuner *tuner) {
    const wi_step **steps;
    size_t count;
    WI_TRY(wi_plan_list_tuned(plan, &steps, &count));
    weft_status status = WEFT_OK;
    for (size_t i = 0; status == WEFT_OK && i < count; i++)
        status = tune_step(&plan->partition, steps[i], tuner);
    wi_release(plan->request.context->allocator, steps);
    return status;
}

weft_status wi_plan_visit_untuned(const weft_plan *plan, const wi_tuner *tuner,
    weft_status (*visit)(void *user, const char *site, double seconds), void *user) {
    const wi_partition *const p = &plan->partition;
    const wi_step **steps;
    size_t count;
    WI_TRY(wi_plan_list_tuned(plan, &steps, &count));
    weft_status status = WEFT_OK;
    for (size_t i = 0; status == WEFT_OK && i < count; i++) {
        char name[WI_SITE_NAME];
        const wi_kernel_site site = wi_step_site(p, steps[i]);
        wi_site_name(name, site.node->op, &site);
        if (!wi_tuner_has_choice(tuner, name))
            status = visit(user, name, plan->schedule.of[steps[i]->index].seconds);
    }
    wi_release(plan->request.context->allocator, steps);
    return status;
}

/* ---- whole runs ---- */

static weft_status time_run(weft_plan *plan, const wi_tuner *tuner, double *seconds) {
    const double begin = wi_tuner_now(tuner);
    WI_TRY(weft_plan_run(plan));
    WI_TRY(weft_plan_wait(plan));
    *seconds = wi_tuner_now(tuner) - begin;
    return WEFT_OK;
}

static weft_status compare_runs(weft_plan *const plans[2], const wi_tuner *tuner, double medians[2]) {
    double seconds[2][ROUNDS];
    size_t rounds = 0;
    for (int i = 0; i < 2; i++) WI_TRY(time_run(plans[i], tuner, &seconds[i][0]));
    do {
        for (int i = 0; i < 2; i++) WI_TRY(time_run(plans[i], tuner, &seconds[i][rounds]));
        rounds++;
    } while (rounds < ROUNDS && wi_tuner_now(tuner) < tuner->deadline);
    for (int i = 0; i < 2; i++) medians[i] = wi_median(seconds[i], rounds);
    return WEFT_OK;
}

/* ---- the choices of a plan's sites ---- */

/* What tuning chose for the step's site, if the plan was made with something else; NULL: it was not, or nothing was tuned. */
static const wi_choice *other_choice(
    const wi_partition *p, const wi_step *step, wi_tuner *tuner, wi_choice *own) {
    const wi_kernel_site site = wi_step_site(p, step);
    wi_site_name(own->site, site.node->op, &site);
    wi_kernel_name(own->kernel, step->selection->chosen, step->selection->variant);
    wi_choices_use(tuner->device, true);
    const wi_choice *const known = wi_choices_find(tuner->device, own->site);
    wi_choices_use(tuner->device, false);
    return known && !known->built_in && strcmp(known->kernel, own->kernel) != 0 ? known : NULL;
}

bool wi_plan_has_other_choices(const weft_plan *plan, wi_tuner *tuner) {
    const wi_partition *const p = &plan->partition;
    char name[WI_SITE_NAME], kernel[WI_KERNEL_NAME];
    wi_choice own = {.site = name, .kernel = kernel};
    for (size_t i = 0; i < p->step_count; i++) {
        if (wi_may_be_tuned(p, p->steps[i]) && other_choice(p, p->steps[i], tuner, &own)) return true;
    }
    return false;
}

/* What the plan was made with becomes the choice of its sites. */
static weft_status keep_own(const wi_partition *p, wi_tuner *tuner) {
    char name[WI_SITE_NAME], kernel[WI_KERNEL_NAME];
    wi_choice own = {.site = name, .kernel = kernel};
    for (size_t i = 0; i < p->step_count; i++) {
        const wi_choice *const other =
            wi_may_be_tuned(p, p->steps[i]) ? other_choice(p, p->steps[i], tuner, &own) : NULL;
        if (!other) continue;
        own.seconds = own.usual = other->usual;
        WI_TRY(wi_choices_set(tuner->device, &own));
    }
    return WEFT_OK;
}

weft_status wi_plan_judge(weft_plan *const plans[2], wi_tuner *tuner, double medians[2]) {
    WI_TRY(compare_runs(plans, tuner, medians));
    return medians[1] <= medians[0] ? WEFT_OK : keep_own(&plans[0]->partition, tuner);
}
