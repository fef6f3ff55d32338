/* See tune_measure.h. */
#include "tune_measure.h"
#include "base/platform.h"
#include "base/system_file.h"
#include "cl/choices.h"
#include "cl/context.h"
#include "cl/disk_cache.h"
#include "show_warning.h"
#include "tune_sizes.h"
#include "tuner/tune_plan.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void send_line(int to, const char *line) {
    if (!wi_write_all(to, line, strlen(line))) _Exit(3); /* the parent is gone */
}

static void trying(void *user, const char *site, const char *kernel) {
    char line[TUNE_LINE] = "\n";
    if (site) snprintf(line, sizeof line, "bad\t%s\t%s\n", site, kernel);
    send_line(*(const int *)user, line);
}

static void introduce(int to, wi_device *device) {
    char path[WI_PATH_CAPACITY];
    wi_text text;
    wi_text_init(&text, NULL);
    wi_disk_cache_file(device, "tuning.txt", true, path, sizeof path);
    wi_text_append(&text, "%s\n", path);
    wi_choices_append_device(device, &text);
    if (text.data) send_line(to, text.data);
    wi_text_clear(&text);
}

/* One run of the command. */
typedef struct tune_run {
    weft_context *context;
    const tune_options *options;
    kernel_tuner tuner;
    tune_sizes sizes;
    tune_model model; /* of one of the works, */
    int planned;      /* this one; -1: of none */
    int changed[TUNE_MOST_WORKS];
    bool others[TUNE_MOST_WORKS]; /* it has choices of an earlier run */
    double end;
} tune_run;

static tune_work work_of(const tune_run *r, int work) {
    tune_work own = r->options->works[work];
    own.batch = r->options->batch;
    own.precision = r->options->precision;
    return own;
}

/* Its plan is the one that there is: those of several networks do not fit into a device's memory. */
static weft_status plan_work(tune_run *r, int work) {
    const tune_work own = work_of(r, work);
    if (r->planned == work) return WEFT_OK;
    tune_model_clear(&r->model);
    r->planned = -1;
    WI_TRY(tune_model_create(&r->model, r->context, &own));
    r->planned = work;
    return WEFT_OK;
}

/* ---- the sizes ---- */

static weft_status list_sizes(tune_run *r) {
    for (int i = 0; i < r->options->count; i++) {
        if (wi_clock_seconds() >= r->end) {
            printf("%-13s not measured: the budget is used up\n", r->options->works[i].text);
            continue;
        }
        WI_TRY(plan_work(r, i));
        r->sizes.work = i;
        WI_TRY(tune_visit_untuned(r->model.plan, &r->tuner, tune_sizes_add, &r->sizes));
        r->others[i] = tune_has_other_choices(r->model.plan, &r->tuner);
    }
    tune_sizes_sort(&r->sizes);
    return WEFT_OK;
}

static weft_status measure_size(tune_run *r, tune_size *size) {
    const int changed = r->tuner.changed;
    size->tried = true;
    WI_TRY(plan_work(r, size->work));
    r->tuner.only = size->site;
    WI_TRY(tune_plan(r->model.plan, &r->tuner));
    size->measured = tuner_has_choice(&r->tuner, size->site);
    r->changed[size->work] += r->tuner.changed - changed;
    if (size->measured)
        printf("%zu of %zu  %s: %s\n", tune_sizes_count(&r->sizes, -1, true), r->sizes.count, size->site,
            r->tuner.changed > changed ? "another kernel is faster" : "the built-in choice is kept");
    return WEFT_OK;
}

static void print_counts(const tune_run *r, int work) {
    const size_t measured = tune_sizes_count(&r->sizes, work, true),
                 left = tune_sizes_count(&r->sizes, work, false);
    printf("%-13s %zu size%s measured, %d with another kernel than the built-in choice",
        r->options->works[work].text, measured, measured == 1 ? "" : "s", r->changed[work]);
    if (left > 0) printf("; no time was left for %zu", left);
    printf("\n");
}

/* Three tenths of the time that there is are left for the comparison of whole runs, if there is anything to compare. */
static double deadline_of(const tune_run *r, double begin) {
    for (int i = 0; i < r->options->count; i++)
        if (r->changed[i] > 0 || r->others[i]) return begin + 0.7 * (r->end - begin);
    return r->end;
}

static weft_status measure_sizes(tune_run *r) {
    const double begin = wi_clock_seconds();
    tune_size *size;
    while ((size = tune_sizes_next(&r->sizes, r->planned)) != NULL) {
        r->tuner.deadline = deadline_of(r, begin);
        if (wi_clock_seconds() >= r->tuner.deadline) break;
        WI_TRY(measure_size(r, size));
    }
    for (int i = 0; i < r->options->count; i++) print_counts(r, i);
    if (r->options->count > 1)
        printf("%zu of %zu sizes measured; they are expected to take %.0f %% of the time of all sizes\n",
            tune_sizes_count(&r->sizes, -1, true), r->sizes.count, 1e2 * tune_sizes_share(&r->sizes));
    return WEFT_OK;
}

/* ---- whole runs ---- */

/* The whole run with the choices and without them; choices that make it slower are dropped. */
static weft_status judge(tune_run *r, const tune_work *work) {
    tune_model tuned;
    double medians[2];
    wi_choices_use(r->tuner.device, true);
    weft_status status = tune_model_create(&tuned, r->context, work);
    wi_choices_use(r->tuner.device, false);
    WI_TRY_DONE(status);
    r->tuner.deadline = r->end;
    WI_TRY_DONE(tune_judge((weft_plan *const[]){r->model.plan, tuned.plan}, &r->tuner, medians));
    printf("%-13s built-in choices %.3f ms per run, tuned choices %.3f ms per run\n", work->text,
        1e3 * medians[0], 1e3 * medians[1]);
    if (medians[1] > medians[0]) printf("%-13s not faster, so the built-in choices are kept\n", work->text);
done:
    tune_model_clear(&tuned);
    return status;
}

/* Of what has choices of this run, or of one that ended before it compared them. */
static weft_status judge_all(tune_run *r) {
    for (int i = 0; i < r->options->count; i++) {
        const tune_work work = work_of(r, i);
        if (r->changed[i] == 0 && !r->others[i]) continue;
        if (wi_clock_seconds() >= r->end) {
            printf("%-13s no time was left to compare whole runs; run weft tune again to compare them\n",
                work.text);
            continue;
        }
        WI_TRY(plan_work(r, i));
        if (tune_has_other_choices(r->model.plan, &r->tuner)) WI_TRY(judge(r, &work));
        WI_TRY(wi_choices_save(r->tuner.device, NULL));
    }
    return WEFT_OK;
}

static weft_status tune_all(tune_run *r, int to) {
    wi_device *const device = r->tuner.device;
    const char *const file = r->options->file;
    WI_TRY(wi_choices_save(device, NULL)); /* what cannot be kept is not measured */
    if (file) WI_TRY(wi_choices_save(device, file));
    introduce(to, device);
    wi_choices_use(device, false);
    WI_TRY(list_sizes(r));
    WI_TRY(measure_sizes(r));
    WI_TRY(judge_all(r));
    if (tune_sizes_count(&r->sizes, -1, false) > 0)
        puts("Sizes that were not measured keep the built-in choices; run weft tune again, or with a larger "
             "--budget, to measure them.");
    WI_TRY(wi_choices_save(device, NULL));
    return file ? wi_choices_save(device, file) : WEFT_OK;
}

int tune_measure(const tune_options *options, double end, int to) {
    weft_context *context = NULL;
    const weft_context_options how = {TOOL_CONTEXT_OPTIONS_INIT, .device = options->device};
    weft_status status = weft_context_create(&context, &how);
    tune_run r = {.context = context, .options = options, .planned = -1, .end = end};
    if (status == WEFT_OK) {
        r.tuner = (kernel_tuner){
            .device = wi_context_device(context), .gain = TUNER_GAIN, .trying = trying, .user = &to};
        status = tune_all(&r, to);
    }
    if (status != WEFT_OK) fprintf(stderr, "weft: %s\n", weft_last_error());
    tune_model_clear(&r.model);
    tune_sizes_clear(&r.sizes);
    weft_context_release(context);
    fflush(stdout);
    return status == WEFT_OK ? 0 : 1;
}
