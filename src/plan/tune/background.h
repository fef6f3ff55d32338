/* Tuning while a plan is at work: between its runs, for a share of their time, kernels of its contractions are measured as
 * `weft tune` does (kernels/tuner.h), one candidate at a time.
 *
 * The plan itself keeps its kernels, and with them the bits of its results; what was found is kept in the tuning file and for
 * plans that are made later. Measuring is in this process: a kernel that is wrong, fails or hangs is remembered and does no harm, but
 * that tuning ends where something hangs; one that ends the process does, once: while it is tried the file says that it is bad. A
 * run fails only where a kernel that hangs leaves the device no room for anything else (cl/trial.h). */
#ifndef WI_BACKGROUND_H
#define WI_BACKGROUND_H

#include "kernels/tuner.h"
#include <weft/plan.h>

/* The account of time. Intervals between runs count, measurements do not, and an interval only up to wi_share_longest: a
 * program that pauses leaves nothing to catch up with. */
typedef struct wi_share {
    double share;          /* of the time of runs that measurements may take */
    double elapsed, spent; /* seconds of runs, and of measurements */
    double last;           /* when the last interval began */
    bool begun;
} wi_share;

extern const double wi_share_longest; /* seconds */

/* A run begins. true: measurements took less than their share so far, so there is one due. What one takes is not known before:
 * the next waits until the share is kept again, so they never exceed it by more than the last one. */
bool wi_share_run(wi_share *share, double now);
/* It was made between these times. */
void wi_share_measured(wi_share *share, double began, double ended);

typedef struct wi_background {
    wi_share share;
    double (*clock)(void); /* wi_clock_seconds; tests have another */
    wi_tuner tuner;
    const struct wi_step **steps; /* that are tuned, the most expensive first */
    size_t count, next;
    wi_site_tuning *site;       /* that is being measured; NULL: none */
    double limit;               /* seconds that a kernel may take */
    char tried[WI_KERNEL_NAME]; /* the last candidate */
    bool marked;                /* the tuning file says that it is being tried */
    int pieces;                 /* measurements so far */
    bool ended;                 /* there is no more, or something failed */
} wi_background;

/* For a plan on one device whose context gives a share; *background stays NULL for others. */
weft_status wi_background_make(wi_background **background, const weft_plan *plan);
void wi_background_clear(wi_background *background, const weft_plan *plan); /* NULL is fine */
/* A run of the plan begins: waits for what is enqueued, and measures, if that is due. Fails where the waiting does, before or after. */
weft_status wi_background_run(wi_background *background, const weft_plan *plan);

#endif
