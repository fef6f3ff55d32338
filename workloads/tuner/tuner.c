/* The tuner (contract in tuner.h). */
#include "tuner/tuner.h"
#include "base/integers.h"
#include "base/median.h"
#include "base/platform.h"
#include "cl/choices.h"
#include "kernels/cost.h"
#include "kernels/product/gemm_product.h"
#include "kernels/self_test.h"
#include "kernels/site_name.h"
#include "tuner/site_operands.h"
#include <math.h>
#include <stdio.h>

/* A candidate whose second run takes longer than this many times the best time is not measured again. */
static const double hopeless = 1.5;
/* A candidate is not tried if its estimate exceeds `longest_hopeless` seconds and is more than `out_of_reach` times that of the
 * built-in choice. */
static const double longest_hopeless = 0.05, out_of_reach = 10;

enum { TRIAL_RUNS = 3, ROUNDS = 7 };

typedef struct tuning {
    kernel_tuner *tuner;
    const wi_op *op;
    wi_kernel_site site;
    wi_selection selection; /* the built-in choice */
    site_operands operands;
    char name[WI_SITE_NAME];
    const wi_candidate *usual, *best; /* the built-in choice, and the fastest candidate so far */
    double first, seconds;            /* times of `usual` and of `best`, multiplied by their margins */
} tuning;

bool tuner_passes_over(weft_status status) {
    return status == WEFT_ERROR_DEVICE_MEMORY || status == WEFT_ERROR_MEMORY_LIMIT ||
           status == WEFT_ERROR_UNSUPPORTED;
}

/* ---- times ---- */

double tuner_now(const kernel_tuner *tuner) {
    return tuner->clock ? tuner->clock() : wi_clock_seconds();
}

static weft_status make_product(wi_gemm_product *product, const tuning *t, const wi_candidate *candidate) {
    return wi_gemm_product_create_at(product, t->tuner->device, candidate->implementation, candidate->variant,
        &t->site,
        &(wi_gemm_operands){.a = t->operands.buffers[0].memory,
            .b = t->operands.buffers[1].memory,
            .c = t->operands.buffers[2].memory});
}

static weft_status time_run(const wi_gemm_product *product, const kernel_tuner *tuner, double *seconds) {
    const double begin = tuner_now(tuner);
    WI_TRY(wi_gemm_product_run(product));
    WI_TRY(wi_queue_finish(tuner->device));
    *seconds = tuner_now(tuner) - begin;
    return WEFT_OK;
}

/* *seconds: the shortest of some runs, plus the part of the first run's compilation that counts for one run. A hopeless candidate runs only
 * once after the first run. */
static weft_status time_runs(
    const wi_gemm_product *product, const kernel_tuner *tuner, double best, double *seconds) {
    double first, one;
    WI_TRY(time_run(product, tuner, &first));
    WI_TRY(time_run(product, tuner, seconds));
    for (int i = 1; i < TRIAL_RUNS && *seconds <= hopeless * best; i++) {
        WI_TRY(time_run(product, tuner, &one));
        *seconds = fmin(*seconds, one);
    }
    *seconds += wi_build_fraction(&tuner->device->profile, fmax(0.0, first - *seconds));
    return WEFT_OK;
}

static weft_status time_candidate(tuning *t, const wi_candidate *candidate, double best, double *seconds) {
    wi_device *const device = t->tuner->device;
    wi_gemm_product product = {0};
    weft_status status;
    bool right = true;
    WI_TRY_DONE(site_operands_spoil(&t->operands, device));
    WI_TRY_DONE(make_product(&product, t, candidate));
    WI_TRY_DONE(time_runs(&product, t->tuner, best, seconds));
    status = site_operands_check(&t->operands, device, &right);
    if (status == WEFT_OK && !right)
        WI_FAIL_DONE(WEFT_ERROR_UNSUPPORTED, "it computes other numbers than the built-in choice");
done:
    wi_gemm_product_clear(&product);
    return status;
}

/* ---- candidates ---- */

static double margin_of(const wi_candidate *candidate) {
    return candidate->margin > 0.0 ? candidate->margin : 1.0;
}

/* Records that the kernel computes wrong numbers or fails at this site. `why` becomes one line. */
static weft_status keep_bad(tuning *t, char *kernel, const char *why) {
    char line[512];
    snprintf(line, sizeof line, "%s", why);
    for (char *at = line; *at; at++) {
        if ((unsigned char)*at < ' ') *at = ' ';
    }
    return wi_choices_set(t->tuner->device, &(wi_choice){.site = t->name, .kernel = kernel, .fault = line});
}

/* At large sizes a slow kernel could run for minutes, and would seem to hang. */
static bool is_out_of_reach(const tuning *t, const wi_candidate *candidate) {
    return candidate->seconds > longest_hopeless && candidate->seconds > out_of_reach * t->usual->seconds;
}

static bool may_be_tried(tuning *t, const wi_candidate *candidate, const char *kernel) {
    return candidate->verdict != WI_VERDICT_REFUSED && candidate->verdict != WI_VERDICT_QUARANTINE &&
           !is_out_of_reach(t, candidate) && tuner_now(t->tuner) < t->tuner->deadline &&
           !wi_choices_fault(t->tuner->device, t->name, kernel);
}

static void say(const kernel_tuner *tuner, const char *site, const char *kernel) {
    if (tuner->trying) tuner->trying(tuner->user, site, kernel);
}

/* Measures a candidate. If the candidate fails or computes wrong numbers, it is recorded as bad, and *seconds stays infinite. Failures of
 * the self-test are recorded by the self-test itself. */
static weft_status measure(
    tuning *t, const wi_candidate *candidate, char *kernel, double best, double *seconds) {
    char error[WI_ERROR_LINE];
    if (wi_self_test_fails(t->tuner->device, candidate->implementation, candidate->variant, t->op, &t->site))
        return WEFT_OK;
    wi_error_save(error, sizeof error);
    const weft_status status = time_candidate(t, candidate, best, seconds);
    if (status == WEFT_OK) return WEFT_OK;
    *seconds = HUGE_VAL;
    if (wi_is_lack_of_memory(status)) return status;
    const weft_status kept = keep_bad(t, kernel, weft_last_error());
    wi_error_restore(error);
    return kept;
}

/* *seconds: the candidate's time, multiplied by its margin; infinite if it was not tried or is bad. */
static weft_status try_candidate(tuning *t, const wi_candidate *candidate, double best, double *seconds) {
    char kernel[WI_KERNEL_NAME];
    const double margin = margin_of(candidate);
    *seconds = HUGE_VAL;
    wi_kernel_name(kernel, candidate->implementation, candidate->variant);
    if (!may_be_tried(t, candidate, kernel)) return WEFT_OK;
    say(t->tuner, t->name, kernel);
    t->tuner->tried++;
    const weft_status status = measure(t, candidate, kernel, best / margin, seconds);
    *seconds *= margin;
    say(t->tuner, NULL, NULL);
    return status;
}

/* Runs both products in turn. *wins: the number of rounds in which the second product was faster. */
static weft_status run_rounds(
    const wi_gemm_product pair[2], const kernel_tuner *tuner, double medians[2], int *wins) {
    double seconds[2][ROUNDS];
    *wins = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 2; i++) WI_TRY(time_run(&pair[i], tuner, &seconds[i][round]));
        *wins += seconds[1][round] < seconds[0][round];
    }
    for (int i = 0; i < 2; i++) medians[i] = wi_median(seconds[i], ROUNDS);
    return WEFT_OK;
}

/* Runs both candidates in turn. *faster: `other` wins all rounds but at most one, and its median, with margins, is shorter by more than
 * noise. */
static weft_status confirm(
    tuning *t, const wi_candidate *usual, const wi_candidate *other, double medians[2], bool *faster) {
    wi_gemm_product pair[2] = {{0}, {0}};
    char kernel[WI_KERNEL_NAME];
    weft_status status;
    int wins;
    wi_kernel_name(kernel, other->implementation, other->variant);
    say(t->tuner, t->name, kernel);
    WI_TRY_DONE(make_product(&pair[0], t, usual));
    WI_TRY_DONE(make_product(&pair[1], t, other));
    WI_TRY_DONE(run_rounds(pair, t->tuner, medians, &wins));
    *faster =
        wins >= ROUNDS - 1 && medians[1] * margin_of(other) < t->tuner->gain * medians[0] * margin_of(usual);
done:
    for (int i = 0; i < 2; i++) wi_gemm_product_clear(&pair[i]);
    say(t->tuner, NULL, NULL);
    return status;
}

static weft_status keep(tuning *t, const wi_candidate *candidate, double seconds, double usual) {
    char kernel[WI_KERNEL_NAME];
    wi_kernel_name(kernel, candidate->implementation, candidate->variant);
    return wi_choices_set(t->tuner->device,
        &(wi_choice){.site = t->name, .kernel = kernel, .seconds = seconds, .usual = usual});
}

/* ---- sites ---- */

static const wi_candidate *chosen_of(const wi_selection *selection) {
    int i = 0;
    while (selection->candidates[i].implementation != selection->chosen ||
           selection->candidates[i].variant != selection->variant)
        i++;
    return &selection->candidates[i];
}

static weft_status try_others(tuning *t) {
    for (int i = 0; i < t->selection.count; i++) {
        const wi_candidate *const candidate = &t->selection.candidates[i];
        double one;
        if (candidate == t->usual) continue;
        WI_TRY(try_candidate(t, candidate, t->seconds, &one));
        if (one >= t->seconds) continue;
        t->seconds = one;
        t->best = candidate;
    }
    return WEFT_OK;
}

static weft_status decide(tuning *t) {
    const double first = t->first / margin_of(t->usual);
    double medians[2] = {first, first};
    bool faster = false;
    if (t->best != t->usual) WI_TRY(confirm(t, t->usual, t->best, medians, &faster));
    if (!faster && tuner_now(t->tuner) >= t->tuner->deadline) {
        t->tuner->left++;
        return WEFT_OK;
    }
    t->tuner->sites++;
    t->tuner->changed += faster;
    return keep(t, faster ? t->best : t->usual, medians[faster], medians[0]);
}

/* If the built-in choice itself fails, the site is not tuned, because there is no result with which others could be compared. */
static weft_status tune(tuning *t) {
    WI_TRY(site_operands_make(&t->operands, t->tuner->device, &t->site));
    WI_TRY(try_candidate(t, t->usual, HUGE_VAL, &t->first));
    if (t->first == HUGE_VAL) return WEFT_OK;
    t->seconds = t->first;
    WI_TRY(site_operands_take(&t->operands, t->tuner->device));
    WI_TRY(try_others(t));
    return decide(t);
}

weft_status tune_site(kernel_tuner *tuner, const wi_op *op, const wi_kernel_site *site) {
    tuning t = {.tuner = tuner, .op = op, .site = *site};
    if (tuner_now(tuner) >= tuner->deadline) {
        tuner->left++;
        return WEFT_OK;
    }
    wi_site_name(t.name, op, site);
    WI_TRY(wi_select(&t.selection, tuner->device, op, site));
    t.usual = t.best = chosen_of(&t.selection);
    weft_status status = tune(&t);
    if (status == WEFT_OK) status = wi_choices_save(tuner->device, NULL);
    site_operands_clear(&t.operands, tuner->device);
    return status;
}
