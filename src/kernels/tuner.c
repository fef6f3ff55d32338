/* The tuner (contract in tuner.h). */
#include "kernels/tuner.h"
#include "base/integers.h"
#include "cl/choices.h"
#include "kernels/cost.h"
#include "kernels/product/gemm_product.h"
#include "kernels/self_test.h"
#include "kernels/site_name.h"
#include "kernels/site_operands.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A gain of less may be noise; what takes longer than so many times the best at its second run is out. */
static const double noise = 0.95, hopeless = 1.5;

enum { TRIAL_RUNS = 3, ROUNDS = 7 };

typedef struct tuning {
    wi_tuner *tuner;
    const wi_op *op;
    const wi_kernel_site *site;
    wi_selection selection; /* the built-in choice */
    wi_site_operands operands;
    char name[WI_SITE_NAME];
} tuning;

/* ---- times ---- */

static weft_status make_product(wi_gemm_product *product, const tuning *t, const wi_candidate *candidate) {
    const wi_kernel_site *const site = t->site;
    return wi_gemm_product_create_at(product, t->tuner->device, candidate->implementation, candidate->variant,
        site,
        &(wi_gemm_operands){.a = t->operands.buffers[0].memory,
            .b = t->operands.buffers[1].memory,
            .c = t->operands.buffers[2].memory,
            .formats = {site->formats[0], site->formats[1]},
            .precision = site->precision,
            .products = site->products});
}

static weft_status time_run(const wi_gemm_product *product, wi_device *device, double *seconds) {
    const double begin = wi_clock_seconds();
    WI_TRY(wi_gemm_product_run(product, device));
    WI_TRY(wi_queue_finish(device));
    *seconds = wi_clock_seconds() - begin;
    return WEFT_OK;
}

/* The least of some runs, with a part of the first; of one only where that is hopeless beside `best`. */
static weft_status time_runs(
    const wi_gemm_product *product, wi_device *device, double best, double *seconds) {
    double first, one;
    WI_TRY(time_run(product, device, &first));
    WI_TRY(time_run(product, device, seconds));
    for (int i = 1; i < TRIAL_RUNS && *seconds <= hopeless * best; i++) {
        WI_TRY(time_run(product, device, &one));
        *seconds = fmin(*seconds, one);
    }
    *seconds += wi_build_fraction(&device->profile, fmax(0.0, first - *seconds));
    return WEFT_OK;
}

static weft_status time_candidate(tuning *t, const wi_candidate *candidate, double best, double *seconds) {
    wi_device *const device = t->tuner->device;
    wi_gemm_product product = {0};
    weft_status status;
    bool right = true;
    WI_TRY_DONE(wi_site_operands_spoil(&t->operands, device));
    WI_TRY_DONE(make_product(&product, t, candidate));
    WI_TRY_DONE(time_runs(&product, device, best, seconds));
    status = wi_site_operands_check(&t->operands, device, &right);
    if (status == WEFT_OK && !right)
        WI_FAIL_DONE(WEFT_ERROR_UNSUPPORTED, "it computes other numbers than the built-in choice");
done:
    wi_gemm_product_clear(&product, device);
    return status;
}

/* ---- candidates ---- */

static double margin_of(const wi_candidate *candidate) {
    return candidate->margin > 0.0 ? candidate->margin : 1.0;
}

static weft_status keep_bad(tuning *t, char *kernel, const char *why) {
    char line[512];
    snprintf(line, sizeof line, "%s", why);
    for (char *at = line; *at; at++) {
        if ((unsigned char)*at < ' ') *at = ' ';
    }
    return wi_choices_set(t->tuner->device, &(wi_choice){.site = t->name, .kernel = kernel, .fault = line});
}

static bool is_memory(weft_status status) {
    return status == WEFT_ERROR_MEMORY || status == WEFT_ERROR_DEVICE_MEMORY ||
           status == WEFT_ERROR_MEMORY_LIMIT;
}

static bool may_be_tried(tuning *t, const wi_candidate *candidate, const char *kernel) {
    return candidate->verdict != WI_VERDICT_REFUSED && candidate->verdict != WI_VERDICT_QUARANTINE &&
           wi_clock_seconds() < t->tuner->deadline && !wi_choices_fault(t->tuner->device, t->name, kernel);
}

static void say(const wi_tuner *tuner, const char *site, const char *kernel) {
    if (tuner->trying) tuner->trying(tuner->user, site, kernel);
}

/* Fails with what is wrong with it. A kernel in quarantine is remembered by its self-test. */
static weft_status judge(
    tuning *t, const wi_candidate *candidate, char *kernel, double best, double *seconds) {
    char error[2048];
    if (wi_self_test_fails(t->tuner->device, candidate->implementation, candidate->variant, t->op, t->site))
        return WEFT_OK;
    wi_error_save(error, sizeof error);
    const weft_status status = time_candidate(t, candidate, best, seconds);
    if (status == WEFT_OK) return WEFT_OK;
    *seconds = HUGE_VAL;
    if (is_memory(status)) return status;
    const weft_status kept = keep_bad(t, kernel, weft_last_error());
    wi_error_restore(error);
    return kept;
}

/* Its time by its margin, if it computes right; else infinite. */
static weft_status try_candidate(tuning *t, const wi_candidate *candidate, double best, double *seconds) {
    char kernel[WI_KERNEL_NAME];
    const double margin = margin_of(candidate);
    *seconds = HUGE_VAL;
    wi_kernel_name(kernel, candidate->implementation, candidate->variant);
    if (!may_be_tried(t, candidate, kernel)) return WEFT_OK;
    say(t->tuner, t->name, kernel);
    t->tuner->tried++;
    const weft_status status = judge(t, candidate, kernel, best / margin, seconds);
    *seconds *= margin;
    say(t->tuner, NULL, NULL);
    return status;
}

static int ascending(const void *a, const void *b) {
    const double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static weft_status run_rounds(const wi_gemm_product pair[2], wi_device *device, double medians[2]) {
    double seconds[2][ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 2; i++) WI_TRY(time_run(&pair[i], device, &seconds[i][round]));
    }
    for (int i = 0; i < 2; i++) {
        qsort(seconds[i], ROUNDS, sizeof seconds[i][0], ascending);
        medians[i] = seconds[i][ROUNDS / 2];
    }
    return WEFT_OK;
}

/* Both in turn: is the other faster by more than noise, and by its margin? */
static weft_status confirm(
    tuning *t, const wi_candidate *usual, const wi_candidate *other, double medians[2], bool *faster) {
    wi_device *const device = t->tuner->device;
    wi_gemm_product pair[2] = {{0}, {0}};
    weft_status status;
    WI_TRY_DONE(make_product(&pair[0], t, usual));
    WI_TRY_DONE(make_product(&pair[1], t, other));
    WI_TRY_DONE(run_rounds(pair, device, medians));
    *faster = medians[1] * margin_of(other) < noise * medians[0] * margin_of(usual);
done:
    for (int i = 0; i < 2; i++) wi_gemm_product_clear(&pair[i], device);
    return status;
}

static weft_status keep(tuning *t, const wi_candidate *candidate, double seconds, double usual) {
    char kernel[WI_KERNEL_NAME];
    wi_kernel_name(kernel, candidate->implementation, candidate->variant);
    return wi_choices_set(t->tuner->device,
        &(wi_choice){.site = t->name, .kernel = kernel, .seconds = seconds, .usual = usual});
}

/* The fastest of the others, in *best, and its time by its margin; *best stays `usual` where none is faster. */
static weft_status find_best(
    tuning *t, const wi_candidate *usual, const wi_candidate **best, double *seconds) {
    double one;
    for (int i = 0; i < t->selection.count; i++) {
        const wi_candidate *const candidate = &t->selection.candidates[i];
        if (candidate == usual) continue;
        WI_TRY(try_candidate(t, candidate, *seconds, &one));
        if (one >= *seconds) continue;
        *seconds = one;
        *best = candidate;
    }
    return WEFT_OK;
}

static weft_status compare_all(tuning *t, const wi_candidate *usual) {
    const wi_candidate *best = usual;
    double first, seconds;
    bool faster = false;
    WI_TRY(try_candidate(t, usual, HUGE_VAL, &first));
    if (first == HUGE_VAL) return WEFT_OK;
    WI_TRY(wi_site_operands_take(&t->operands, t->tuner->device));
    seconds = first;
    WI_TRY(find_best(t, usual, &best, &seconds));
    double medians[2] = {first / margin_of(usual), first / margin_of(usual)};
    if (best != usual) WI_TRY(confirm(t, usual, best, medians, &faster));
    if (!faster && wi_clock_seconds() >= t->tuner->deadline) return WEFT_OK;
    t->tuner->sites++;
    t->tuner->changed += faster;
    return keep(t, faster ? best : usual, medians[faster], medians[0]);
}

static const wi_candidate *chosen_of(const wi_selection *selection) {
    int i = 0;
    while (selection->candidates[i].implementation != selection->chosen ||
           selection->candidates[i].variant != selection->variant)
        i++;
    return &selection->candidates[i];
}

weft_status wi_tune_site(wi_tuner *tuner, const wi_op *op, const wi_kernel_site *site) {
    tuning t = {.tuner = tuner, .op = op, .site = site};
    weft_status status;
    if (wi_clock_seconds() >= tuner->deadline) return WEFT_OK;
    wi_site_name(t.name, op, site);
    WI_TRY(wi_select(&t.selection, tuner->device, op, site));
    WI_TRY_DONE(wi_site_operands_make(&t.operands, tuner->device, site));
    WI_TRY_DONE(compare_all(&t, chosen_of(&t.selection)));
    status = wi_choices_save(tuner->device, NULL);
done:
    wi_site_operands_clear(&t.operands, tuner->device);
    return status;
}
