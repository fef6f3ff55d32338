/* Reports of a trainer for its page (contract in trainer_page.h). */
#include "train/trainer_page.h"
#include "plan/compiled_plan.h"
#include "plan/run/profiler.h"
#include "train/event_put.h"
#include <string.h>

enum { PROFILED_RUN = 2, LISTED_ROWS = 40, PICTURE_SIDE = 48 };

/* ---- the profile ---- */

/* Copies the rows with the most time to `rows`, in the order of their times, and returns their number. */
static size_t choose_rows(const weft_profile *profile, size_t count, weft_profile_row rows[LISTED_ROWS]) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const weft_profile_row *const row = &profile->rows[i];
        size_t at = kept;
        if (kept == LISTED_ROWS && row->seconds <= rows[--at].seconds) continue;
        for (; at > 0 && rows[at - 1].seconds < row->seconds; at--) rows[at] = rows[at - 1];
        rows[at] = *row;
        kept += kept < LISTED_ROWS;
    }
    return kept;
}

static weft_status fill_profile(wi_event *event, const weft_profile *profile) {
    weft_profile_row *const rows = wi_event_take(event, LISTED_ROWS * sizeof *rows);
    if (!rows) return WEFT_ERROR_MEMORY;
    const size_t count = choose_rows(profile, profile->info.rows, rows);
    for (size_t i = 0; i < count; i++) {
        const char **const texts[] = {&rows[i].kind, &rows[i].implementation, &rows[i].shape, &rows[i].ops};
        for (size_t k = 0; k < 4; k++)
            if (!(*texts[k] = wi_event_string(event, *texts[k]))) return WEFT_ERROR_MEMORY;
    }
    event->of.profile = (wi_event_profile){profile->info, rows, count};
    return WEFT_OK;
}

weft_status wi_trainer_page_run(weft_trainer *trainer, weft_plan *plan) {
    const bool is_due = trainer->options.html && trainer->events && plan && plan == trainer->training.full &&
                        plan->run_count == PROFILED_RUN;
    bool has_run = false;
    weft_profile *profile = NULL;
    if (!is_due) return weft_plan_run(plan);
    const weft_status status = wi_profile_run(&profile, plan, &has_run);
    if (status != WEFT_OK && plan->run_count != PROFILED_RUN && !has_run) return status;
    if (status != WEFT_OK) {
        wi_log_line(&trainer->context->log, WEFT_LOG_INFO, "the page has no profile of a step: %s",
            weft_last_error());
        return has_run ? WEFT_OK : weft_plan_run(plan);
    }
    wi_event *const event = wi_events_new(trainer->events, WI_EVENT_PROFILE, "", trainer->steps + 1, 0);
    const weft_status filled = event ? fill_profile(event, profile) : WEFT_ERROR_MEMORY;
    weft_profile_release(profile);
    return wi_events_put(trainer->events, event, filled);
}

/* ---- mistakes ---- */

weft_status wi_trainer_page_init(weft_trainer *trainer) {
    const weft_tensor *const logits = trainer->options.logits;
    if (!trainer->options.html || !trainer->options.validation || !logits || weft_tensor_rank(logits) > 2 ||
        weft_distributed_size(trainer->options.distributed) > 1)
        return WEFT_OK;
    const int64_t width = weft_tensor_rank(logits) == 2 ? weft_tensor_dimension(logits, 1) : 1;
    if (width < 1 || width > WI_MISTAKES_CLASSES) return WEFT_OK;
    return wi_mistakes_create(&trainer->mistakes, trainer->context->allocator, (size_t)width, PICTURE_SIDE);
}

weft_status wi_trainer_page_begin(weft_trainer *trainer) {
    const wi_pass *const pass = &trainer->validation;
    return trainer->mistakes ? wi_mistakes_begin(trainer->mistakes, &pass->feed, pass->dataset) : WEFT_OK;
}

static weft_status fill_names(wi_event *event, const weft_trainer *trainer) {
    const size_t classes = event->of.mistakes.classes;
    const char *const labels = trainer->options.labels;
    if (weft_graph_category_count(trainer->graph, labels) != classes) return WEFT_OK;
    const char **const names = wi_event_take(event, classes * sizeof *names);
    if (!names) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < classes; i++) {
        const char *const name = weft_graph_category(trainer->graph, labels, (int32_t)i);
        if (!(names[i] = wi_event_string(event, name))) return WEFT_ERROR_MEMORY;
    }
    event->of.mistakes.names = names;
    return WEFT_OK;
}

static weft_status fill_mistakes(wi_event *event, const weft_trainer *trainer) {
    const wi_event_mistakes *const found = &trainer->mistakes->found;
    const size_t cells = found->classes * found->classes,
                 picture = (size_t)(found->height * found->width * found->channels);
    uint32_t *const counts = wi_event_take(event, cells * sizeof *counts);
    wi_event_mistake *const worst = wi_event_take(event, (found->count + 1) * sizeof *worst);
    unsigned char *const pixels = wi_event_take(event, (found->count + 1) * (picture + 1));
    if (!counts || !worst || !pixels) return WEFT_ERROR_MEMORY;
    event->of.mistakes = *found;
    event->of.mistakes.counts = memcpy(counts, found->counts, cells * sizeof *counts);
    event->of.mistakes.worst = worst;
    for (size_t i = 0; i < found->count; i++) {
        worst[i] = found->worst[i];
        if (worst[i].pixels) worst[i].pixels = memcpy(pixels + i * picture, worst[i].pixels, picture);
    }
    return fill_names(event, trainer);
}

weft_status wi_trainer_page_epoch(const weft_trainer *trainer) {
    if (!trainer->events || !trainer->mistakes) return WEFT_OK;
    wi_event *const event = wi_events_new(trainer->events, WI_EVENT_MISTAKES, "", trainer->steps, 0);
    return wi_events_put(trainer->events, event, event ? fill_mistakes(event, trainer) : WEFT_ERROR_MEMORY);
}
