/* The tuner: which kernel is the fastest at a site, by measurement.
 *
 * Every candidate passes the self-test (self_test.h), then computes the site itself, and its result is compared with that of
 * the built-in choice, before its time counts. The time is that of a run with all that it launches (packing, a library's
 * padding and transposes), and the part of its first run, which compiles, that one run pays (wi_build_fraction). It is multiplied
 * by the margin of the record (registry.h). The fastest is then compared with the built-in choice by medians of runs in turn, and
 * must win by more than noise to replace it. What fails or is wrong is kept as bad (cl/choices.h), and not tried again. */
#ifndef WI_TUNER_H
#define WI_TUNER_H

#include "kernels/selection.h"

typedef struct wi_tuner {
    wi_device *device;
    double deadline; /* by wi_clock_seconds: no candidate is begun after it */
    /* Called before each candidate, which may hang or end the process, and with NULL names after it. NULL: nobody asks. */
    void (*trying)(void *user, const char *site, const char *kernel);
    void *user;
    int sites, changed, tried; /* so far */
} wi_tuner;

/* Keeps the fastest as the choice for the site, in the cache folder's file, too. Choices must not be in use
 * (wi_choices_use). A site for which time runs out has no choice, unless one that is faster was found. */
weft_status wi_tune_site(wi_tuner *tuner, const wi_op *op, const wi_kernel_site *site);

#endif
