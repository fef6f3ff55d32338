/* The choice of an implementation for a site, with the values of its parameters, and with the reason why each other candidate
 * was not chosen.
 *
 * In this order:
 *   1. The environment may force a name (forced.h): the cheapest candidate of this name serves, if one accepts the site.
 *   2. A tuning file (cl/choices.h) may name a kernel for this very site. Only a tuning file chooses libraries and the
 *      `tuned_variants` of a record.
 *   3. The candidate with the least estimate (cost.h), multiplied by its margin, serves.
 * A candidate that is not forced passes a self-test before it serves (self_test.h). If it fails, the next cheapest is tried. */
#ifndef WI_SELECTION_H
#define WI_SELECTION_H

#include "kernels/candidates.h"

/* WEFT_ERROR_UNSUPPORTED: no implementation accepts the site, or those that do compute wrong numbers on this driver. */
weft_status wi_select(
    wi_selection *selection, wi_device *device, const wi_op *op, const wi_kernel_site *site);

#endif
