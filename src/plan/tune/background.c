/* Tuning while a plan is at work (contract in background.h). */
#include "plan/tune/background.h"
#include "cl/choices.h"
#include "cl/trial.h"
#include "plan/compiled_plan.h"
#include "plan/tune/tune_plan.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

const double wi_share_longest = 10.0;

/* No whole run is compared at the end, as `weft tune` does: a choice must win by more here. */
static const double gain = 0.9;

/* Seconds that a kernel may take, with what a driver compiles at its first launch. */
static const double limit = 30.0;

/* ---- time ---- */

bool wi_share_run(wi_share *share, double now) {
    if (share->begun) share->elapsed += fmax(0.0, fmin(now - share->last, wi_share_longest));
    share->begun = true;
    share->last = now;
    return share->spent < share->share * share->elapsed;
}

void wi_share_measured(wi_share *share, double began, double ended) {
    share->spent += fmax(0.0, ended - began);
    share->last = ended;
}

/* ---- measurements ---- */

/* The next start should know what ended the process. The built-in choice has run in the plan already, and must not be
 * lost because a user has stopped the program. What the disk refuses here is noticed when the choice is saved. */
static void trying(void *user, const char *site, const char *kernel) {
    wi_background *const b = user;
    char usual[WI_KERNEL_NAME];
    if (!site) {
        if (b->marked) (void)wi_choices_end_trial(b->tuner.device, b->site->name, b->tried);
        b->marked = false;
        return;
    }
    wi_kernel_name(usual, b->site->usual->implementation, b->site->usual->variant);
    snprintf(b->tried, sizeof b->tried, "%s", kernel);
    b->marked = strcmp(kernel, usual) != 0;
    if (b->marked) (void)wi_choices_begin_trial(b->tuner.device, site, kernel);
}

weft_status wi_background_make(wi_background **background, const weft_plan *plan) {
    const weft_allocator *const allocator = plan->request.context->allocator;
    wi_device *const device = plan->request.devices.of[0];
    *background = NULL;
    if (device->tuning_share <= 0.0 || plan->request.devices.count > 1) return WEFT_OK;
    wi_background *const made = wi_allocate(allocator, sizeof *made);
    if (!made) return WEFT_ERROR_MEMORY;
    made->share.share = device->tuning_share;
    made->clock = wi_clock_seconds;
    made->limit = limit;
    made->tuner =
        (wi_tuner){.device = device, .deadline = HUGE_VAL, .gain = gain, .trying = trying, .user = made};
    const weft_status status = wi_plan_list_tuned(plan, &made->steps, &made->count);
    if (status == WEFT_OK)
        *background = made;
    else
        wi_release(allocator, made);
    return status;
}

static void end_site(wi_background *b, const weft_plan *plan) {
    if (b->site) wi_site_tuning_end(b->site);
    wi_release(plan->request.context->allocator, b->site);
    b->site = NULL;
}

void wi_background_clear(wi_background *background, const weft_plan *plan) {
    if (!background) return;
    end_site(background, plan);
    wi_release(plan->request.context->allocator, background->steps);
    wi_release(plan->request.context->allocator, background);
}

static bool is_known(wi_device *device, const wi_kernel_site *site) {
    char name[WI_SITE_NAME];
    wi_site_name(name, site->node->op, site);
    const wi_choice *const choice = wi_choices_find(device, name);
    return choice && !choice->built_in;
}

/* Candidates are compared with the built-in choice, whatever files say of others. */
static weft_status begin(wi_background *b, const weft_plan *plan, const wi_kernel_site *site) {
    b->site = wi_allocate(plan->request.context->allocator, sizeof *b->site);
    if (!b->site) return WEFT_ERROR_MEMORY;
    wi_choices_use(b->tuner.device, false);
    const weft_status status = wi_site_tuning_begin(b->site, &b->tuner, site->node->op, site);
    wi_choices_use(b->tuner.device, true);
    return status;
}

/* The next site without a choice. *found is false where there is none. */
static weft_status begin_next(wi_background *b, const weft_plan *plan, bool *found) {
    *found = false;
    while (b->next < b->count) {
        const wi_kernel_site site = wi_step_site(&plan->partition, b->steps[b->next++]);
        if (is_known(b->tuner.device, &site)) continue;
        *found = true;
        return begin(b, plan, &site);
    }
    return WEFT_OK;
}

/* Without a cache folder choices are for this context alone. */
static weft_status save(wi_device *device) {
    const weft_status status = wi_choices_save(device, NULL);
    return status == WEFT_ERROR_STATE ? WEFT_OK : status;
}

/* Beside what still runs nothing can be timed: no plan of the device goes on with it. */
static void leave_hung(wi_background *b) {
    wi_device *const device = b->tuner.device;
    wi_log_line(device->host.log, WEFT_LOG_WARNING,
        "tuning between runs has stopped: kernel %s at site '%s' did not finish within %g seconds", b->tried,
        b->site->name, b->limit);
    device->tuning_share = 0.0;
    b->site->ended = b->ended = true;
}

/* The next candidate of the site, which may hang. */
static weft_status advance(wi_background *b) {
    wi_device *const device = b->tuner.device;
    WI_TRY(wi_trial_begin(device, b->limit));
    const weft_status status = wi_site_tuning_advance(b->site);
    wi_site_tuning_rest(b->site);
    if (!wi_trial_end(device, b->limit)) return status;
    leave_hung(b);
    return WEFT_OK;
}

static weft_status measure(wi_background *b, const weft_plan *plan) {
    bool found = true;
    if (!b->site) WI_TRY(begin_next(b, plan, &found));
    b->ended = !found;
    if (!found) return WEFT_OK;
    b->pieces++;
    WI_TRY(advance(b));
    if (!b->site->ended) return WEFT_OK;
    end_site(b, plan);
    return save(b->tuner.device);
}

/* What fails does not fail the run: a site is passed over, other failures end the tuning. */
static void measure_one(wi_background *b, const weft_plan *plan) {
    char error[WI_ERROR_LINE];
    wi_error_save(error, sizeof error);
    const weft_status status = measure(b, plan);
    if (status != WEFT_OK) {
        end_site(b, plan);
        b->ended = !wi_tuner_passes_over(status);
    }
    if (b->ended && status != WEFT_OK)
        wi_log_line(b->tuner.device->host.log, WEFT_LOG_WARNING, "tuning between runs has stopped: %s",
            weft_last_error());
    wi_error_restore(error);
}

/* A device that computes nothing any more is an error of the run. */
weft_status wi_background_run(wi_background *b, const weft_plan *plan) {
    wi_device *const device = b->tuner.device;
    if (b->ended || device->tuning_share <= 0.0 || !wi_share_run(&b->share, b->clock())) return WEFT_OK;
    WI_TRY(wi_plan_finish_queues(plan));
    const double began = b->clock();
    measure_one(b, plan);
    wi_share_measured(&b->share, began, b->clock());
    return device->trial.hangs ? wi_plan_finish_queues(plan) : WEFT_OK;
}
