/* See tune_measure.h. */
#include "tune_measure.h"
#include "cl/choices.h"
#include "cl/context.h"
#include "cl/disk_cache.h"
#include "plan/tune_plan.h"
#include "show_warning.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void send_line(int to, const char *line) {
    if (write(to, line, strlen(line)) < 0) _exit(3); /* the parent is gone */
}

static void trying(void *user, const char *site, const char *kernel) {
    char line[TUNE_LINE] = "\n";
    if (site) snprintf(line, sizeof line, "bad\t%s\t%s\n", site, kernel);
    send_line(*(const int *)user, line);
}

static void introduce(int to, wi_device *device) {
    char path[PATH_MAX];
    wi_text text;
    wi_text_init(&text, NULL);
    wi_disk_cache_file(device, "tuning.txt", true, path, sizeof path);
    wi_text_append(&text, "%s\n", path);
    wi_choices_append_device(device, &text);
    if (text.data) send_line(to, text.data);
    wi_text_clear(&text);
}

/* The whole run with the choices and without them; choices that make it slower are dropped. */
static weft_status judge(
    weft_context *context, wi_tuner *tuner, const tune_model *usual, const tune_work *work, double end) {
    tune_model tuned;
    double medians[2];
    wi_choices_use(tuner->device, true);
    weft_status status = tune_model_create(&tuned, context, work);
    wi_choices_use(tuner->device, false);
    WI_TRY_DONE(status);
    tuner->deadline = end;
    WI_TRY_DONE(wi_plan_judge((weft_plan *const[]){usual->plan, tuned.plan}, tuner, medians));
    printf("%-13s built-in %.3f ms, tuned %.3f ms a run\n", work->text, 1e3 * medians[0], 1e3 * medians[1]);
    if (medians[1] > medians[0]) printf("%-13s not faster: the built-in choices stay\n", work->text);
done:
    tune_model_clear(&tuned);
    return status;
}

static void print_counts(const tune_work *work, int measured, int changed, int left) {
    printf("%-13s %d size%s measured, %d with another kernel than the built-in choice", work->text, measured,
        measured == 1 ? "" : "s", changed);
    if (left > 0) printf("; no time for %d", left);
    printf("\n");
}

/* Three tenths of the time that there is for it are left for the comparison of whole runs, which also judges what a process
 * that has ended chose before. */
static weft_status tune_one(weft_context *context, wi_tuner *tuner, const tune_work *work, double end) {
    tune_model model;
    const int sites = tuner->sites, changed = tuner->changed, left = tuner->left;
    const double now = wi_clock_seconds();
    weft_status status = tune_model_create(&model, context, work);
    tuner->deadline = now + 0.7 * (end - now);
    if (status == WEFT_OK) status = wi_plan_tune(model.plan, tuner);
    if (status == WEFT_OK)
        print_counts(work, tuner->sites - sites, tuner->changed - changed, tuner->left - left);
    if (status == WEFT_OK && wi_plan_has_other_choices(model.plan, tuner))
        status = judge(context, tuner, &model, work, end);
    tune_model_clear(&model);
    return status;
}

static weft_status tune_all(weft_context *context, const tune_options *options, double end, int to) {
    wi_device *const device = wi_context_device(context);
    wi_tuner tuner = {.device = device, .gain = WI_TUNER_GAIN, .trying = trying, .user = &to};
    WI_TRY(wi_choices_save(device, NULL)); /* what cannot be kept is not measured */
    if (options->file) WI_TRY(wi_choices_save(device, options->file));
    introduce(to, device);
    wi_choices_use(device, false);
    for (int i = 0; i < options->count; i++) {
        const double now = wi_clock_seconds(), left = end - now;
        tune_work work = options->works[i];
        if (left <= 0.0) {
            printf("%-13s not measured: the budget is used up\n", work.text);
            continue;
        }
        work.batch = options->batch;
        work.precision = options->precision;
        WI_TRY(tune_one(context, &tuner, &work, now + left / (options->count - i)));
        WI_TRY(wi_choices_save(device, NULL));
    }
    if (tuner.left > 0)
        puts("Sizes that there was no time for keep the built-in choices: a second run, or a larger "
             "--budget, measures them.");
    return options->file ? wi_choices_save(device, options->file) : WEFT_OK;
}

int tune_measure(const tune_options *options, double end, int to) {
    weft_context *context = NULL;
    const weft_context_options how = {
        TOOL_CONTEXT_OPTIONS_INIT, .device = options->device, .tuning_share = -1};
    weft_status status = weft_context_create(&context, &how);
    if (status == WEFT_OK) status = tune_all(context, options, end, to);
    if (status != WEFT_OK) fprintf(stderr, "weft: %s\n", weft_last_error());
    weft_context_release(context);
    fflush(stdout);
    return status == WEFT_OK ? 0 : 1;
}
