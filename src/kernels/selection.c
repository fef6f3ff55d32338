/* The choice among candidates (contract in selection.h). */
#include "kernels/selection.h"
#include "kernels/product/gemm_trial.h"
#include "ops/convolution/conv.h"
#include <string.h>

static void add_variants(wi_selection *selection, const wi_implementation *implementation) {
    const wi_variant *variant;
    for (int v = 0; (variant = wi_implementation_variant(implementation, v)) != NULL; v++) {
        if (selection->count < WI_CANDIDATES)
            selection->candidates[selection->count++] =
                (wi_candidate){.implementation = implementation, .variant = variant};
    }
}

static void list_candidates(wi_selection *selection, const wi_op *op) {
    *selection = (wi_selection){0};
    for (const wi_family *family = wi_families; *family; family++) {
        for (int i = 0; (*family)[i]; i++) {
            if (wi_implementation_computes((*family)[i], op)) add_variants(selection, (*family)[i]);
        }
    }
}

static bool is_convolution(const wi_op *op) {
    return op == &wi_op_conv || op == &wi_op_conv_data || op == &wi_op_conv_weight;
}

/* A name that no matrix product has is a mistake; that of a convolution may fit another of its three ops. */
static weft_status find_forced(const wi_selection *selection, const wi_op *op, const char *name) {
    for (int i = 0; i < selection->count; i++) {
        if (strcmp(selection->candidates[i].implementation->name, name) == 0) return WEFT_OK;
    }
    if (is_convolution(op)) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_ARGUMENT, "WEFT_GEMM=%s names no matrix product", name);
}

static const char *forced_name(const wi_op *op) {
    if (is_convolution(op)) return wi_environment("WEFT_CONV");
    return op == &wi_op_matmul ? wi_environment("WEFT_GEMM") : NULL;
}

static bool is_forced(const wi_implementation *implementation, const wi_op *op, const char *name) {
    return is_convolution(op) ? strncmp(implementation->name, name, strlen(name)) == 0
                              : strcmp(implementation->name, name) == 0;
}

static wi_verdict judge(const wi_candidate *candidate, const wi_kernel_site *site) {
    const wi_implementation *const implementation = candidate->implementation;
    if (implementation->run || !wi_implementation_accepts(implementation, candidate->variant, site))
        return WI_VERDICT_REFUSED;
    wi_kernel_site own = *site;
    own.values = candidate->variant->values;
    if (implementation->pays && !implementation->pays(&own)) return WI_VERDICT_NO_GAIN;
    return WI_VERDICT_LATER;
}

static void choose(wi_selection *selection, wi_candidate *candidate, wi_verdict verdict) {
    for (int i = 0; i < selection->count; i++) {
        wi_candidate *const before = &selection->candidates[i];
        if (before->implementation == selection->chosen && before->variant == selection->variant)
            before->verdict = WI_VERDICT_NO_GAIN;
    }
    selection->chosen = candidate->implementation;
    selection->variant = candidate->variant;
    candidate->verdict = verdict;
}

/* A library, where the build and the device have one. */
static void try_libraries(wi_selection *selection, weft_context *context, const wi_kernel_site *site) {
    for (int i = 0; i < selection->count; i++) {
        wi_candidate *const candidate = &selection->candidates[i];
        const wi_implementation *const library = candidate->implementation;
        if (!library->run || !wi_implementation_accepts(library, NULL, site)) continue;
        if (wi_gemm_faster(context, site->product, selection->chosen, selection->variant, library))
            choose(selection, candidate, WI_VERDICT_MEASURED);
        else
            candidate->verdict = WI_VERDICT_NO_GAIN;
    }
}

static bool choose_forced(
    wi_selection *selection, const wi_op *op, const wi_kernel_site *site, const char *name) {
    for (int i = 0; i < selection->count; i++) {
        wi_candidate *const candidate = &selection->candidates[i];
        if (!is_forced(candidate->implementation, op, name) ||
            !wi_implementation_accepts(candidate->implementation, candidate->variant, site))
            continue;
        choose(selection, candidate, WI_VERDICT_FORCED);
        return true;
    }
    return false;
}

weft_status wi_select(
    wi_selection *selection, weft_context *context, const wi_op *op, const wi_kernel_site *site) {
    const char *const forced = forced_name(op);
    list_candidates(selection, op);
    if (forced) WI_TRY(find_forced(selection, op, forced));
    if (forced && choose_forced(selection, op, site, forced)) return WEFT_OK;
    for (int i = 0; i < selection->count; i++) {
        wi_candidate *const candidate = &selection->candidates[i];
        candidate->verdict = judge(candidate, site);
        if (candidate->verdict == WI_VERDICT_LATER && !selection->chosen)
            choose(selection, candidate, WI_VERDICT_CHOSEN);
    }
    if (!selection->chosen)
        WI_FAIL(WEFT_ERROR_INTERNAL, "%s: no implementation takes these sizes on this device", op->name);
    try_libraries(selection, context, site);
    return WEFT_OK;
}

const char *wi_verdict_name(wi_verdict verdict) {
    static const char *const names[] = {[WI_VERDICT_REFUSED] = "refused",
        [WI_VERDICT_NO_GAIN] = "no gain",
        [WI_VERDICT_LATER] = "later in the order",
        [WI_VERDICT_CHOSEN] = "chosen",
        [WI_VERDICT_FORCED] = "forced",
        [WI_VERDICT_MEASURED] = "measured faster"};
    return names[verdict];
}
