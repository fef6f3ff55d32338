/* The choice among candidates (contract in selection.h). */
#include "kernels/selection.h"
#include "base/log.h"
#include "cl/async_copies.h"
#include "cl/choices.h"
#include "kernels/forced.h"
#include "kernels/product/gemm_check.h"
#include "kernels/registry.h"
#include "kernels/self_test.h"
#include "kernels/site_name.h"
#include "ops/convolution/conv.h"
#include "ops/op_descriptors.h"
#include <string.h>

/* ---- the cheapest ---- */

static void choose(wi_selection *selection, wi_candidate *candidate, wi_verdict verdict) {
    selection->chosen = candidate->implementation;
    selection->variant = candidate->variant;
    candidate->verdict = verdict;
}

/* Do the asynchronous copies and matrix engines that the variant uses work? Engines are tested by a matrix product: by this
 * implementation if it computes matrix products, otherwise by the first implementation that does so with these engines. */
static bool has_right_instructions(
    wi_device *device, const wi_implementation *implementation, const wi_variant *variant) {
    const unsigned engines = implementation->needs.engines;
    if (implementation->needs.copies && implementation->needs.copies(variant->values))
        return wi_async_copies_are_right(device);
    if (engines == 0) return true;
    if (wi_implementation_computes(implementation, &wi_op_matmul))
        return wi_gemm_is_right(device, implementation, variant);
    for (int i = 0; wi_product_family[i]; i++) {
        if (wi_product_family[i]->needs.engines == engines)
            return wi_gemm_is_right(
                device, wi_product_family[i], wi_implementation_variant(wi_product_family[i], 0));
    }
    return false;
}

/* Returns the cheapest candidate whose instructions work and that passes its self-test, or NULL if there is none. forced: if not
 * NULL, only candidates with this name are considered, and they need not pass a self-test. Candidates are tested from the
 * cheapest on, so that nothing is compiled for a candidate that would not be chosen. */
static wi_candidate *cheapest_right(wi_selection *selection, wi_device *device, const wi_op *op,
    const wi_kernel_site *site, const char *forced) {
    wi_candidate *best;
    while ((best = wi_cheapest_candidate(selection, op, forced)) != NULL) {
        if (!has_right_instructions(device, best->implementation, best->variant))
            best->verdict = WI_VERDICT_REFUSED;
        else if (!forced && wi_is_in_quarantine(device, best->implementation, best->variant, op, site))
            best->verdict = WI_VERDICT_QUARANTINE;
        else
            break;
    }
    return best;
}

static void say_why_not(wi_selection *selection, const wi_candidate *best) {
    for (int i = 0; i < selection->count; i++) {
        wi_candidate *const other = &selection->candidates[i];
        if (other == best || !wi_may_serve(other)) continue;
        other->verdict = other->seconds < best->seconds ? WI_VERDICT_MARGIN : WI_VERDICT_SLOWER;
    }
}

/* ---- tuning files ---- */

static bool is_contraction(const wi_op *op, const wi_kernel_site *site) {
    return site->product || op == &wi_op_conv_weight;
}

/* Puts candidates in quarantine that failed, hung or computed wrong numbers when the tuner tried them at this site. */
static void refuse_bad(wi_selection *selection, wi_device *device, const char *name) {
    char kernel[WI_KERNEL_NAME];
    for (int i = 0; i < selection->count; i++) {
        wi_candidate *const candidate = &selection->candidates[i];
        wi_kernel_name(kernel, candidate->implementation, candidate->variant);
        if (candidate->verdict != WI_VERDICT_REFUSED && wi_choices_fault(device, name, kernel))
            candidate->verdict = WI_VERDICT_QUARANTINE;
    }
}

static wi_candidate *candidate_named(wi_selection *selection, const char *name) {
    char kernel[WI_KERNEL_NAME];
    for (int i = 0; i < selection->count; i++) {
        wi_candidate *const candidate = &selection->candidates[i];
        wi_kernel_name(kernel, candidate->implementation, candidate->variant);
        if (strcmp(kernel, name) == 0) return candidate;
    }
    return NULL;
}

/* The candidate that a tuning file names for the site. NULL: there is none, or it cannot serve, which is logged once. */
static wi_candidate *tuned_choice(
    wi_selection *selection, wi_device *device, const wi_op *op, const wi_kernel_site *site) {
    char name[WI_SITE_NAME];
    if (!is_contraction(op, site)) return NULL;
    wi_site_name(name, op, site);
    refuse_bad(selection, device, name);
    wi_choice *const choice = wi_choices_find(device, name);
    if (!choice) return NULL;
    wi_candidate *const candidate = candidate_named(selection, choice->kernel);
    if (candidate && (wi_may_serve(candidate) || candidate->verdict == WI_VERDICT_UNMEASURED) &&
        has_right_instructions(device, candidate->implementation, candidate->variant) &&
        !wi_self_test_fails(device, candidate->implementation, candidate->variant, op, site)) {
        candidate->seconds = choice->seconds;
        candidate->tuned = true;
        return candidate;
    }
    if (!choice->noted)
        wi_log_line(device->host.log, WEFT_LOG_WARNING,
            "tuning file: kernel %s cannot compute %s, so its line is ignored", choice->kernel, name);
    choice->noted = true;
    return NULL;
}

static weft_status fail_none(
    const wi_selection *selection, const wi_device_profile *device, const wi_op *op) {
    for (int i = 0; i < selection->count; i++) {
        if (selection->candidates[i].verdict == WI_VERDICT_QUARANTINE)
            WI_FAIL(WEFT_ERROR_UNSUPPORTED,
                "%s: every kernel for this op computes wrong numbers on this device and driver; 'weft check' "
                "shows details",
                op->name);
    }
    WI_FAIL(WEFT_ERROR_UNSUPPORTED,
        "%s: no kernel supports these sizes on a device with work-groups of %zu work-items and %zu bytes of "
        "local memory",
        op->name, device->max_group, device->local_bytes);
}

weft_status wi_select(
    wi_selection *selection, wi_device *device, const wi_op *op, const wi_kernel_site *site) {
    const char *const forced = wi_forced_name(op);
    WI_TRY(wi_find_candidates(selection, device, op, site));
    wi_candidate *const named = forced ? cheapest_right(selection, device, op, site, forced) : NULL;
    wi_candidate *const tuned = named ? NULL : tuned_choice(selection, device, op, site);
    if (tuned) {
        say_why_not(selection, tuned);
        choose(selection, tuned, WI_VERDICT_TUNED);
        return WEFT_OK;
    }
    wi_candidate *const best = named ? named : cheapest_right(selection, device, op, site, NULL);
    /* Select without the limit. The planner then reports that the scratch memory is too large, or finds another way to need
     * less. */
    if (!best && site->most_scratch) {
        wi_kernel_site any = *site;
        any.most_scratch = 0;
        return wi_select(selection, device, op, &any);
    }
    if (!best) return fail_none(selection, site->device, op);
    say_why_not(selection, best);
    choose(selection, best, named ? WI_VERDICT_FORCED : WI_VERDICT_CHOSEN);
    return WEFT_OK;
}
