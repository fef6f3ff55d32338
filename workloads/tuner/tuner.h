/* The tuner: measures which kernel is the fastest at a site.
 *
 * A candidate first passes the self-test (self_test.h). Then it computes the site in its own sizes, and its result must agree
 * with that of the built-in choice. Its time is that of a run with all its launches (packing, and a library's padding and
 * transposes), plus the share of the first run, which compiles, that counts for one run (wi_build_fraction), times the margin of
 * the record (implementation.h). The fastest candidate is then run in turn with the built-in choice. It replaces the built-in
 * choice if it wins all rounds but one, and if the medians differ by more than noise. Candidates that fail or compute wrong
 * numbers are recorded as bad (cl/choices.h), and are not tried again. */
#ifndef TUNER_H
#define TUNER_H

#include "kernels/selection.h"
#include "kernels/site_name.h"

typedef struct kernel_tuner {
    wi_device *device;
    double (*clock)(void); /* NULL: wi_clock_seconds; tests have another */
    double deadline;       /* by this clock: no candidate is begun later */
    double gain;           /* a candidate must take less than this share of the built-in choice's time */
    /* Called before each candidate, which may hang or end the process, and before the best candidate is compared with the built-in
     * choice in turn; after each with NULL names. May be NULL. */
    void (*trying)(void *user, const char *site, const char *kernel);
    void *user;
    const char *only; /* the name of the only site of a plan to tune; NULL: all sites */
    /* ---- counts ---- */
    int sites, changed; /* sites with a choice; of these, sites whose choice is not the built-in one */
    int tried;          /* candidates */
    int left;           /* sites for which there was no time */
} kernel_tuner;

/* The time by the tuner's clock. */
double tuner_now(const kernel_tuner *tuner);

/* The default of `gain`: a smaller difference may be noise. */
#define TUNER_GAIN 0.95

/* Does the failure concern only one site, so that the other sites can be tuned? */
bool tuner_passes_over(weft_status status);

/* Keeps the fastest as the choice for the site, in the cache folder's file, too. Choices must not be in use
 * (wi_choices_use). A site for which time runs out has no choice, unless one that is faster was found. */
weft_status tune_site(kernel_tuner *tuner, const wi_op *op, const wi_kernel_site *site);

#endif
