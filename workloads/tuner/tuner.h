/* The tuner: measures which kernel is the fastest at a site.
 *
 * A candidate first passes the self-test (self_test.h). Then it computes the site in the site's sizes, and its result must agree
 * with the result of the built-in choice. The time of a candidate is the time of a run with all launches (packing, and a library's
 * padding and transposes), plus the part of the first run's compilation that counts for one run (wi_build_fraction), multiplied by
 * the margin of the record (implementation.h). The fastest candidate then runs in turn with the built-in choice, and replaces it if
 * the candidate wins all rounds but at most one, and if the medians differ by more than noise. Candidates that fail or compute
 * wrong numbers are recorded as bad (cl/choices.h), and are not tried again. */
#ifndef TUNER_H
#define TUNER_H

#include "kernels/selection.h"
#include "kernels/site_name.h"

typedef struct kernel_tuner {
    wi_device *device;
    double (*clock)(void); /* NULL: wi_clock_seconds; tests set another clock */
    double deadline;       /* a time of this clock, after which no candidate is begun */
    double gain;           /* a candidate must take less than this fraction of the built-in choice's time */
    /* Called before each candidate runs, because it may hang or end the process, and before the best candidate runs in turn with the
     * built-in choice; called with NULL names after each of these. May be NULL. */
    void (*trying)(void *user, const char *site, const char *kernel);
    void *user;
    const char *only; /* the name of the only site of a plan to tune; NULL: all sites */
    /* ---- counts ---- */
    int sites, changed; /* sites that got a choice; of these, sites whose choice is not the built-in one */
    int tried;          /* candidates that were run */
    int left;           /* sites for which there was no time */
} kernel_tuner;

/* The time by the tuner's clock. */
double tuner_now(const kernel_tuner *tuner);

/* The default of `gain`: a smaller difference may be noise. */
#define TUNER_GAIN 0.95

/* Does the failure concern only one site, so that the other sites can be tuned? */
bool tuner_passes_over(weft_status status);

/* Tunes the site: makes the fastest candidate its choice, and saves the choices in the cache folder. Choices must not be in use
 * (wi_choices_use). A site for which time runs out gets a choice only if a faster candidate was found. */
weft_status tune_site(kernel_tuner *tuner, const wi_op *op, const wi_kernel_site *site);

#endif
