/* The choice among candidates (contract in selection.h). */
#include "kernels/selection.h"
#include "cl/async_copies.h"
#include "cl/choices.h"
#include "cl/program.h"
#include "cl/quirks.h"
#include "kernels/forced.h"
#include "kernels/product/gemm_check.h"
#include "kernels/self_test.h"
#include "kernels/site_name.h"
#include "ops/convolution/conv.h"
#include <string.h>

/* ---- candidates ---- */

static weft_status add_variants(
    wi_selection *selection, const wi_op *op, const wi_implementation *implementation) {
    const wi_variant *variant;
    for (int v = 0; (variant = wi_implementation_variant(implementation, v)) != NULL; v++) {
        if (selection->count == WI_CANDIDATES)
            WI_FAIL(WEFT_ERROR_INTERNAL, "%s has more than %d candidates", op->name, WI_CANDIDATES);
        selection->candidates[selection->count++] =
            (wi_candidate){.implementation = implementation, .variant = variant};
    }
    return WEFT_OK;
}

static weft_status list_candidates(wi_selection *selection, const wi_op *op) {
    *selection = (wi_selection){0};
    for (const wi_family *family = wi_families; *family; family++) {
        for (int i = 0; (*family)[i]; i++) {
            if (wi_implementation_computes((*family)[i], op))
                WI_TRY(add_variants(selection, op, (*family)[i]));
        }
    }
    return WEFT_OK;
}

/* ---- judgement ---- */

static void choose(wi_selection *selection, wi_candidate *candidate, wi_verdict verdict) {
    selection->chosen = candidate->implementation;
    selection->variant = candidate->variant;
    candidate->verdict = verdict;
}

/* Do asynchronous copies, and the engines that it uses, what they should? Any of our products by engines tells, of the first variant. */
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

static bool fits_scratch(const wi_candidate *candidate, wi_device *device, const wi_kernel_site *site) {
    wi_arena arena;
    wi_kernel_plan plan;
    if (site->most_scratch == 0 || candidate->implementation->run) return true;
    wi_arena_init(&arena, device->host.allocator);
    const weft_status status =
        wi_implementation_prepare(candidate->implementation, candidate->variant, site, &arena, &plan);
    wi_arena_clear(&arena);
    return status == WEFT_OK && plan.scratch_bytes <= site->most_scratch;
}

/* Fills in what each candidate costs. */
static void estimate(wi_selection *selection, wi_device *device, const wi_kernel_site *site) {
    for (int i = 0; i < selection->count; i++) {
        wi_candidate *const candidate = &selection->candidates[i];
        const wi_implementation *const implementation = candidate->implementation;
        candidate->verdict = WI_VERDICT_REFUSED;
        if (!wi_implementation_accepts(implementation, candidate->variant, site)) continue;
        if (!fits_scratch(candidate, device, site)) continue;
        const bool waits = implementation->run || wi_variant_is_tuned(implementation, candidate->variant);
        candidate->verdict = waits ? WI_VERDICT_UNMEASURED : WI_VERDICT_SLOWER;
        if (implementation->run) continue;
        candidate->seconds = wi_implementation_cost(implementation, candidate->variant, site);
        candidate->margin = wi_implementation_margin(implementation, candidate->variant, site);
    }
}

static bool may_serve(const wi_candidate *candidate) {
    return candidate->verdict != WI_VERDICT_REFUSED && candidate->verdict != WI_VERDICT_QUARANTINE &&
           candidate->verdict != WI_VERDICT_UNMEASURED;
}

/* A library has no estimate, and serves by its name all the same. */
static bool may_be_forced(const wi_candidate *candidate, const wi_op *op, const char *name) {
    const bool is_library = candidate->implementation->run && candidate->verdict == WI_VERDICT_UNMEASURED;
    return (may_serve(candidate) || is_library) &&
           wi_forced_fits(name, op, candidate->implementation, candidate->variant);
}

/* The cheapest of those that `only` names (NULL: all); of equal ones the first. NULL: none. */
static wi_candidate *cheapest(wi_selection *selection, const wi_op *op, const char *only) {
    wi_candidate *best = NULL;
    for (int i = 0; i < selection->count; i++) {
        wi_candidate *const candidate = &selection->candidates[i];
        if (only ? !may_be_forced(candidate, op, only) : !may_serve(candidate)) continue;
        if (!best || candidate->seconds * candidate->margin < best->seconds * best->margin) best = candidate;
    }
    return best;
}

/* The cheapest of those that `only` names (NULL: all) whose engine computes what it should and, unless it is named, that
 * passes its self-test: nothing is compiled for what would not be chosen anyway. NULL: none. */
static wi_candidate *cheapest_right(wi_selection *selection, wi_device *device, const wi_op *op,
    const wi_kernel_site *site, const char *only) {
    wi_candidate *best;
    while ((best = cheapest(selection, op, only)) != NULL) {
        if (!has_right_instructions(device, best->implementation, best->variant))
            best->verdict = WI_VERDICT_REFUSED;
        else if (!only && wi_is_in_quarantine(device, best->implementation, best->variant, op, site))
            best->verdict = WI_VERDICT_QUARANTINE;
        else
            break;
    }
    return best;
}

static void say_why_not(wi_selection *selection, const wi_candidate *best) {
    for (int i = 0; i < selection->count; i++) {
        wi_candidate *const other = &selection->candidates[i];
        if (other == best || !may_serve(other)) continue;
        other->verdict = other->seconds < best->seconds ? WI_VERDICT_MARGIN : WI_VERDICT_SLOWER;
    }
}

/* ---- tuning files ---- */

static bool is_contraction(const wi_op *op, const wi_kernel_site *site) {
    return site->product || op == &wi_op_conv_weight;
}

/* What failed, hung or was wrong when the tuner tried it at this site. */
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

/* The candidate that a tuning file names for the site; NULL: none, or it cannot serve, which is logged once. */
static wi_candidate *tuned_choice(
    wi_selection *selection, wi_device *device, const wi_op *op, const wi_kernel_site *site) {
    char name[WI_SITE_NAME];
    if (!is_contraction(op, site)) return NULL;
    wi_site_name(name, op, site);
    refuse_bad(selection, device, name);
    wi_choice *const choice = wi_choices_find(device, name);
    if (!choice) return NULL;
    wi_candidate *const candidate = candidate_named(selection, choice->kernel);
    if (candidate && (may_serve(candidate) || candidate->verdict == WI_VERDICT_UNMEASURED) &&
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
    WI_TRY(list_candidates(selection, op));
    estimate(selection, device, site);
    wi_candidate *const named = forced ? cheapest_right(selection, device, op, site, forced) : NULL;
    wi_candidate *const tuned = named ? NULL : tuned_choice(selection, device, op, site);
    if (tuned) {
        say_why_not(selection, tuned);
        choose(selection, tuned, WI_VERDICT_TUNED);
        return WEFT_OK;
    }
    wi_candidate *const best = named ? named : cheapest_right(selection, device, op, site, NULL);
    if (!best && site->most_scratch) { /* the plan says what is too large, or needs less */
        wi_kernel_site any = *site;
        any.most_scratch = 0;
        return wi_select(selection, device, op, &any);
    }
    if (!best) return fail_none(selection, site->device, op);
    say_why_not(selection, best);
    choose(selection, best, named ? WI_VERDICT_FORCED : WI_VERDICT_CHOSEN);
    return WEFT_OK;
}

/* ---- text ---- */

const char *wi_verdict_name(wi_verdict verdict) {
    static const char *const names[] = {[WI_VERDICT_REFUSED] = "refused",
        [WI_VERDICT_SLOWER] = "slower",
        [WI_VERDICT_MARGIN] = "not faster by its margin",
        [WI_VERDICT_CHOSEN] = "chosen",
        [WI_VERDICT_FORCED] = "forced",
        [WI_VERDICT_TUNED] = "tuned",
        [WI_VERDICT_UNMEASURED] = "for the tuner",
        [WI_VERDICT_QUARANTINE] = "in quarantine"};
    return names[verdict];
}
