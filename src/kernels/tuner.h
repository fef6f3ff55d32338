/* The tuner: which kernel is the fastest at a site, by measurement.
 *
 * Every candidate passes the self-test (self_test.h), then computes the site itself, and its result is compared with that of
 * the built-in choice, before its time counts. The time is that of a run with all that it launches (packing, a library's
 * padding and transposes), and the part of its first run, which compiles, that one run pays (wi_build_fraction). It is multiplied
 * by the margin of the record (registry.h). The fastest is then compared with the built-in choice by runs in turn. To replace it,
 * it must win all of them but one, and by medians that differ by more than noise. What fails or is wrong is kept as bad
 * (cl/choices.h), and not tried again. */
#ifndef WI_TUNER_H
#define WI_TUNER_H

#include "kernels/selection.h"
#include "kernels/site_name.h"

typedef struct wi_tuner {
    wi_device *device;
    double (*clock)(void); /* NULL: wi_clock_seconds; tests have another */
    double deadline;       /* by the clock: no candidate is begun after it */
    double gain;           /* what replaces the built-in choice takes less than so much of its time */
    /* Called before each candidate, which may hang or end the process, and before the best one is compared with the built-in choice in turn;
     * with NULL names after it. NULL: nobody asks. */
    void (*trying)(void *user, const char *site, const char *kernel);
    void *user;
    const char *only;          /* a plan's site of this name alone; NULL: all of them */
    int sites, changed, tried; /* so far */
    int left;                  /* sites that the deadline left without a choice */
} wi_tuner;

/* By its clock. */
double wi_tuner_now(const wi_tuner *tuner);

/* A gain of less may be noise. */
#define WI_TUNER_GAIN 0.95

/* Does the failure say something of one site, so that others are tuned all the same? */
bool wi_tuner_passes_over(weft_status status);

/* Keeps the fastest as the choice for the site, in the cache folder's file, too. Choices must not be in use
 * (wi_choices_use). A site for which time runs out has no choice, unless one that is faster was found. */
weft_status wi_tune_site(wi_tuner *tuner, const wi_op *op, const wi_kernel_site *site);

#endif
