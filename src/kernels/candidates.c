/* Candidates and their costs (contract in candidates.h). */
#include "kernels/candidates.h"
#include "cl/opened_device.h"
#include "kernels/forced.h"
#include "kernels/registry.h"

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

static void estimate(wi_candidate *candidate, wi_device *device, const wi_kernel_site *site) {
    const wi_implementation *const implementation = candidate->implementation;
    if (!wi_implementation_accepts(implementation, candidate->variant, site) ||
        !fits_scratch(candidate, device, site))
        return;
    const bool waits = implementation->run || wi_variant_is_tuned(implementation, candidate->variant);
    candidate->verdict = waits ? WI_VERDICT_UNMEASURED : WI_VERDICT_SLOWER;
    if (implementation->run) return;
    candidate->seconds = wi_implementation_cost(implementation, candidate->variant, site);
    candidate->margin = wi_implementation_margin(implementation, candidate->variant, site);
}

weft_status wi_find_candidates(
    wi_selection *selection, wi_device *device, const wi_op *op, const wi_kernel_site *site) {
    *selection = (wi_selection){0};
    for (const wi_family *family = wi_families; *family; family++) {
        for (int i = 0; (*family)[i]; i++) {
            if (wi_implementation_computes((*family)[i], op))
                WI_TRY(add_variants(selection, op, (*family)[i]));
        }
    }
    for (int i = 0; i < selection->count; i++) estimate(&selection->candidates[i], device, site);
    return WEFT_OK;
}

bool wi_may_serve(const wi_candidate *candidate) {
    return candidate->verdict != WI_VERDICT_REFUSED && candidate->verdict != WI_VERDICT_QUARANTINE &&
           candidate->verdict != WI_VERDICT_UNMEASURED;
}

static bool may_be_forced(const wi_candidate *candidate, const wi_op *op, const char *name) {
    const bool is_library = candidate->implementation->run && candidate->verdict == WI_VERDICT_UNMEASURED;
    return (wi_may_serve(candidate) || is_library) &&
           wi_forced_fits(name, op, candidate->implementation, candidate->variant);
}

wi_candidate *wi_cheapest_candidate(wi_selection *selection, const wi_op *op, const char *forced) {
    wi_candidate *best = NULL;
    for (int i = 0; i < selection->count; i++) {
        wi_candidate *const candidate = &selection->candidates[i];
        if (forced ? !may_be_forced(candidate, op, forced) : !wi_may_serve(candidate)) continue;
        if (!best || candidate->seconds * candidate->margin < best->seconds * best->margin) best = candidate;
    }
    return best;
}

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
