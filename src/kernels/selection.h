/* Which implementation serves a site, with which values of its parameters: all candidates are asked, and the answer
 * says why one won.
 *
 * Every implementation of the op is a candidate in each of its variants. Of those that accept the site the cheapest
 * is chosen by its own estimate (kernels/cost.h); of equal ones the first in the order of the family. An estimate is
 * multiplied by the implementation's margin before it is compared. A tuning file (cl/choices.h) that names a kernel for the
 * very site has the first word, and it alone chooses a record's variants for the tuner. What is chosen passes a self-test
 * before it serves (self_test.h); in the place of what does not, the next cheapest is taken. The environment may force
 * names (forced.h): then the cheapest of that name is taken, where one accepts the site. A library has no estimate: it serves
 * where it is forced, or where a tuning file names it. */
#ifndef WI_SELECTION_H
#define WI_SELECTION_H

#include "kernels/registry.h"

enum { WI_CANDIDATES = 128 };

typedef enum wi_verdict {
    WI_VERDICT_REFUSED, /* the device lacks something, or the sizes are not for it */
    WI_VERDICT_SLOWER,  /* it could, but another is expected to be faster, or is forced */
    WI_VERDICT_MARGIN,  /* it is expected to be faster, but not by its margin */
    WI_VERDICT_CHOSEN,
    WI_VERDICT_FORCED,     /* by the environment */
    WI_VERDICT_TUNED,      /* chosen by a tuning file for these sizes */
    WI_VERDICT_UNMEASURED, /* only a measurement by the tuner chooses it, and there is none */
    WI_VERDICT_QUARANTINE  /* it failed its self-test on this device and driver */
} wi_verdict;

typedef struct wi_candidate {
    const wi_implementation *implementation;
    const wi_variant *variant;
    wi_verdict verdict;
    double seconds; /* 0: refused, or nobody estimates them */
    double margin;
    bool tuned; /* the seconds were measured */
} wi_candidate;

typedef struct wi_selection {
    const wi_implementation *chosen;
    const wi_variant *variant; /* of it */
    wi_candidate candidates[WI_CANDIDATES];
    int count;
} wi_selection;

/* The implementations of an op, in order. WEFT_ERROR_UNSUPPORTED: no implementation takes the site, or a fault of the driver
 * rules out those that would. */
weft_status wi_select(
    wi_selection *selection, wi_device *device, const wi_op *op, const wi_kernel_site *site);

/* "chosen", "slower", ... */
const char *wi_verdict_name(wi_verdict verdict);

#endif
