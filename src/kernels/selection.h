/* Which implementation serves a site: all candidates are asked, and the answer says why one won.
 *
 * Candidates come in their family's order, best first. The first that accepts the site, and for which it pays,
 * is chosen, unless the environment forces one ($WEFT_GEMM by name for matrix products, $WEFT_CONV by the
 * beginning of the name for convolutions and their gradients). A library is measured against the kernel of ours
 * that would have been chosen, once for each class of sizes on a device (product/gemm_trial.h). */
#ifndef WI_SELECTION_H
#define WI_SELECTION_H

#include "kernels/registry.h"

enum { WI_CANDIDATES = 16 };

typedef enum wi_verdict {
    WI_VERDICT_REFUSED, /* the device lacks something, or the sizes are not for it */
    WI_VERDICT_NO_GAIN, /* it could, but another is expected to be faster */
    WI_VERDICT_LATER,   /* it could, but one before it in the order is chosen */
    WI_VERDICT_CHOSEN,
    WI_VERDICT_FORCED,  /* by the environment */
    WI_VERDICT_MEASURED /* chosen after a measurement on this device */
} wi_verdict;

typedef struct wi_candidate {
    const wi_implementation *implementation;
    const wi_variant *variant;
    wi_verdict verdict;
} wi_candidate;

typedef struct wi_selection {
    const wi_implementation *chosen;
    const wi_variant *variant; /* of it */
    wi_candidate candidates[WI_CANDIDATES];
    int count;
} wi_selection;

/* The implementations of an op, in order. WEFT_ERROR_ARGUMENT: the environment forces a name that no matrix
 * product has; WEFT_ERROR_INTERNAL: no implementation takes the site. */
weft_status wi_select(
    wi_selection *selection, weft_context *context, const wi_op *op, const wi_kernel_site *site);

/* "chosen", "no gain", ... */
const char *wi_verdict_name(wi_verdict verdict);

#endif
