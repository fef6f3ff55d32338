/* The candidates for a site: every implementation of the op in each of its variants, with what it is expected to cost. */
#ifndef WI_CANDIDATES_H
#define WI_CANDIDATES_H

#include "kernels/implementation.h"

enum { WI_CANDIDATES = 128 };

typedef enum wi_verdict {
    WI_VERDICT_REFUSED, /* the device lacks something, or the implementation does not accept the site */
    WI_VERDICT_SLOWER,  /* another candidate is expected to be faster, or is forced */
    WI_VERDICT_MARGIN,  /* expected to be faster than the chosen one, but not by its margin */
    WI_VERDICT_CHOSEN,
    WI_VERDICT_FORCED,     /* chosen by the environment */
    WI_VERDICT_TUNED,      /* chosen by a tuning file for this site */
    WI_VERDICT_UNMEASURED, /* serves only if the tuner measured it at this site, which it did not */
    WI_VERDICT_QUARANTINE  /* failed its self-test on this device and driver */
} wi_verdict;

typedef struct wi_candidate {
    const wi_implementation *implementation;
    const wi_variant *variant;
    wi_verdict verdict;
    double seconds; /* 0: refused, or a library, which has no estimate */
    double margin;
    bool tuned; /* `seconds` was measured */
} wi_candidate;

typedef struct wi_selection {
    const wi_implementation *chosen; /* NULL until one is chosen */
    const wi_variant *variant;       /* of `chosen` */
    wi_candidate candidates[WI_CANDIDATES];
    int count;
} wi_selection;

/* Lists the candidates in the order of the families, with their costs. Verdicts are REFUSED, UNMEASURED, or SLOWER for those
 * that may serve. */
weft_status wi_find_candidates(
    wi_selection *selection, wi_device *device, const wi_op *op, const wi_kernel_site *site);

/* Is the candidate neither refused, nor unmeasured, nor in quarantine? */
bool wi_may_serve(const wi_candidate *candidate);
/* Returns the cheapest candidate that may serve, the first one if several cost the same, or NULL if there is none. forced: NULL,
 * or the name that a candidate must have (forced.h). A library, which has no estimate, is returned only if its name is forced. */
wi_candidate *wi_cheapest_candidate(wi_selection *selection, const wi_op *op, const char *forced);

/* "chosen", "slower", ... */
const char *wi_verdict_name(wi_verdict verdict);

#endif
