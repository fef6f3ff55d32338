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
#include "kernels/site_operands.h"

typedef struct wi_tuner {
    wi_device *device;
    double (*clock)(void); /* NULL: wi_clock_seconds; tests have another */
    double deadline;       /* by the clock: no candidate is begun after it */
    double gain;           /* what replaces the built-in choice takes less than so much of its time */
    /* Called before each candidate, which may hang or end the process, and with NULL names after it. NULL: nobody asks. */
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

/* A site in pieces of one candidate each, between which the device does other work. It stays where it is. */
typedef struct wi_site_tuning {
    wi_tuner *tuner;
    const wi_op *op;
    wi_kernel_site site;    /* what it points to must stay */
    wi_selection selection; /* the built-in choice */
    wi_site_operands operands;
    char name[WI_SITE_NAME];
    const wi_candidate *usual, *best; /* of the selection */
    double first, seconds;            /* of the usual one and of the best, by their margins */
    int next;                         /* candidate */
    bool begun, ended;                /* ended: it has its choice, or will have none */
} wi_site_tuning;

/* Choices must not be in use. End it also after a failure of the others. */
weft_status wi_site_tuning_begin(
    wi_site_tuning *t, wi_tuner *tuner, const wi_op *op, const wi_kernel_site *site);
/* The next piece; the last one keeps the choice in memory (wi_choices_set). */
weft_status wi_site_tuning_advance(wi_site_tuning *t);
/* Gives the memory of operands back until the next piece. */
void wi_site_tuning_rest(wi_site_tuning *t);
void wi_site_tuning_end(wi_site_tuning *t);

/* Keeps the fastest as the choice for the site, in the cache folder's file, too. Choices must not be in use
 * (wi_choices_use). A site for which time runs out has no choice, unless one that is faster was found. */
weft_status wi_tune_site(wi_tuner *tuner, const wi_op *op, const wi_kernel_site *site);

#endif
