/* A plan's launches that do not end: what waits say of them, and what later starts know. */
#include "cl/choices.h"
#include "cl/waiting.h"
#include "kernels/site_name.h"
#include "plan/compiled_plan.h"
#include "plan/tune_plan.h"
#include <stdio.h>

static bool is_tuned(const wi_selection *selection) {
    const wi_candidate *candidate = selection->candidates;
    while (candidate->implementation != selection->chosen || candidate->variant != selection->variant)
        candidate++;
    return candidate->tuned;
}

/* Plans of later starts take another kernel for the site. Steps that are no contractions have no choice. Of several suspects
 * those that were tuned lose their place to the built-in choice, which is hardly slower; built-in choices keep theirs. */
static bool remember_step(const weft_plan *plan, const wi_step *step, bool is_sure, char *fault) {
    wi_device *const device = wi_step_device(&plan->partition, step);
    char name[WI_SITE_NAME], kernel[WI_KERNEL_NAME];
    if (!wi_step_may_be_tuned(&plan->partition, step)) return false;
    if (!is_sure && !is_tuned(step->selection)) return false;
    const wi_kernel_site site = wi_step_site(&plan->partition, step);
    wi_site_name(name, site.node->op, &site);
    wi_kernel_name(kernel, step->selection->chosen, step->selection->variant);
    return wi_choices_set(device, &(wi_choice){.site = name, .kernel = kernel, .fault = fault}) == WEFT_OK;
}

static void remember(const weft_plan *plan, const wi_suspects *suspects) {
    const bool is_sure = suspects->count == 1;
    bool known = false;
    char fault[64];
    snprintf(fault, sizeof fault, "it did not finish within %g seconds of a run", suspects->seconds);
    for (size_t i = 0; i < suspects->count; i++) {
        const wi_plan_launch *const launch = suspects->launches[i];
        known |= remember_step(plan, launch->run->step, is_sure, fault);
    }
    if (known) (void)wi_choices_save(plan->request.devices.of[0], NULL);
}

/* "the kernel NAME/VARIANT (FUNCTION)" */
static void describe(const weft_plan *plan, const wi_plan_launch *launch, char *text, size_t capacity) {
    const wi_step *const step = launch->run->step;
    const bool varies = step->selection && *step->selection->variant->name;
    const char *const name = launch->launch.name ? launch->launch.name : "a kernel of another library";
    if (step->kind == WI_STEP_TRANSFER)
        snprintf(text, capacity, "the copy between devices");
    else
        snprintf(text, capacity, "the kernel %s%s%s (%s)", wi_step_implementation_name(plan, step),
            varies ? "/" : "", varies ? step->selection->variant->name : "", name);
}

static weft_status fail(void *user, const wi_suspects *suspects) {
    const weft_plan *const plan = user;
    const wi_plan_launch *const first = suspects->launches[0];
    const wi_plan_launch *const last = suspects->launches[suspects->count - 1];
    char kernel[320], others[96] = "";
    describe(plan, first, kernel, sizeof kernel);
    if (suspects->error) return wi_plan_name_step(plan, first->run, wi_cl_check(suspects->error, kernel));
    remember(plan, suspects);
    if (last != first)
        snprintf(others, sizeof others, ", or one of the %zu launches after it up to step %d,",
            suspects->count - 1, last->run->step->index);
    wi_note_hung(first->device, "%s%s", kernel, others);
    const weft_status status =
        wi_fail(WEFT_ERROR_OPENCL, "%s%s did not finish within %g seconds, and %s can no longer be used",
            kernel, others, suspects->seconds, first->device->info.name);
    return wi_plan_name_step(plan, first->run, status);
}

weft_status wi_plan_check_devices(const weft_plan *plan) {
    for (int d = 0; d < plan->request.devices.count; d++)
        WI_TRY(wi_check_computing(plan->request.devices.of[d]));
    return WEFT_OK;
}

weft_status wi_plan_note_launch(weft_plan *plan, const wi_plan_launch *launch, cl_event event) {
    plan->owner = (wi_pending_owner){.fail = fail, .user = plan};
    return wi_pending_add(launch->device, event, &plan->owner, launch, plan->run_count);
}
