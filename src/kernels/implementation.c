/* What an implementation accepts and costs (contract in implementation.h). */
#include "kernels/implementation.h"

static const wi_variant no_parameters = {.name = ""};

const wi_variant *wi_implementation_variant(const wi_implementation *implementation, int index) {
    const wi_variant *tuned = implementation->tuned_variants;
    int own = 0;
    if (!implementation->variants) return index == 0 ? &no_parameters : NULL;
    while (own < index && implementation->variants[own].name) own++;
    if (implementation->variants[own].name) return &implementation->variants[own];
    for (index -= own; tuned && index > 0 && tuned->name; index--) tuned++;
    return tuned && tuned->name ? tuned : NULL;
}

bool wi_variant_is_tuned(const wi_implementation *implementation, const wi_variant *variant) {
    const wi_variant *const tuned = implementation->tuned_variants;
    for (int i = 0; tuned && tuned[i].name; i++) {
        if (&tuned[i] == variant) return true;
    }
    return false;
}

static const int *values_of(const wi_implementation *implementation, const wi_variant *variant) {
    return variant ? variant->values : wi_implementation_variant(implementation, 0)->values;
}

static wi_kernel_site with_variant(
    const wi_kernel_site *site, const wi_implementation *implementation, const wi_variant *variant) {
    wi_kernel_site own = *site;
    own.values = values_of(implementation, variant);
    return own;
}

static bool has_limits(const wi_device_profile *device, const wi_limits *limits) {
    return device->max_group >= limits->group && device->max_items[0] >= limits->items[0] &&
           device->max_items[1] >= limits->items[1] && device->local_bytes >= limits->local_bytes;
}

bool wi_implementation_has_needs(
    const wi_implementation *implementation, const wi_variant *variant, const wi_device_profile *device) {
    const wi_needs *const needs = &implementation->needs;
    const int *const values = values_of(implementation, variant);
    const wi_limits limits = needs->limits ? needs->limits(values) : (wi_limits){0};
    return (needs->classes == 0 || (needs->classes >> device->device_class & 1)) &&
           !(device->quirks & needs->without) && !(needs->engines & ~device->engines) &&
           (device->async_copies || !needs->copies || !needs->copies(values)) && has_limits(device, &limits);
}

/* A contraction outside of a plan has two inputs. */
static int inputs_of(const wi_kernel_site *site) {
    return site->node ? site->node->input_count : 2;
}

/* The dtype of sums of products of the inputs. */
static weft_dtype sums_of(const wi_kernel_site *site) {
    weft_dtype widest = site->formats[0];
    for (int i = 1; i < inputs_of(site); i++) widest = wi_dtype_wider(widest, site->formats[i]);
    return wi_format_of(widest)->compute;
}

/* Does a kernel with these formats multiply the numbers of the site without rounding more than is allowed? Products of numbers in
 * a format that both operands have are exact in the wider format of the sums. */
static bool multiplies(const wi_formats *formats, const wi_kernel_site *site, weft_dtype wide) {
    const weft_dtype a = site->formats[0], b = site->formats[1];
    return formats->compute == wide || (formats->compute == a && formats->compute == b) ||
           (formats->compute == site->precision && wide == wi_format_of(site->precision)->compute);
}

static bool stores_all(const wi_formats *formats, const wi_kernel_site *site) {
    bool all = site->product || wi_formats_store(formats, site->result_format);
    for (int i = 0; i < inputs_of(site); i++) all = all && wi_formats_store(formats, site->formats[i]);
    return all;
}

/* Are all inputs and the result of a kernel op stored in the dtypes of their nodes? */
static bool is_plain(const wi_kernel_site *site) {
    bool plain = !wi_dtype_rounds(site->result_format) || site->result_format == site->node->dtype;
    for (int i = 0; i < site->node->input_count; i++)
        plain =
            plain && (!wi_dtype_rounds(site->formats[i]) || site->formats[i] == site->node->inputs[i]->dtype);
    return plain;
}

static bool has_format(const wi_implementation *implementation, const wi_kernel_site *site) {
    static const wi_formats plain = {WEFT_F32, WEFT_F32, WEFT_F32};
    const wi_formats *const all = implementation->formats ? implementation->formats : &plain;
    const int count = implementation->formats ? implementation->format_count : 1;
    if (!site->product && !implementation->formats) return is_plain(site);
    const weft_dtype wide = sums_of(site);
    for (int i = 0; i < count; i++) {
        if (stores_all(&all[i], site) && multiplies(&all[i], site, wide) && all[i].accumulation == wide)
            return true;
    }
    return false;
}

bool wi_implementation_accepts(
    const wi_implementation *implementation, const wi_variant *variant, const wi_kernel_site *site) {
    if (!wi_implementation_has_needs(implementation, variant, site->device) ||
        !has_format(implementation, site))
        return false;
    if (!implementation->accepts) return true;
    const wi_kernel_site own = with_variant(site, implementation, variant);
    return implementation->accepts(&own);
}

double wi_implementation_cost(
    const wi_implementation *implementation, const wi_variant *variant, const wi_kernel_site *site) {
    const wi_kernel_site own = with_variant(site, implementation, variant);
    return implementation->cost ? implementation->cost(&own) : 0.0;
}

double wi_implementation_margin(
    const wi_implementation *implementation, const wi_variant *variant, const wi_kernel_site *site) {
    const wi_kernel_site own = with_variant(site, implementation, variant);
    return implementation->margin ? implementation->margin(&own) : 1.0;
}

/* Defines the macros that templates need to read several formats. */
static void define_formats(const wi_kernel_site *site, wi_kernel_plan *plan) {
    static const char *const inputs[] = {"WEFT_FORMAT_A", "WEFT_FORMAT_B", "WEFT_FORMAT_C"};
    const wi_format *const sums = wi_format_of(sums_of(site));
    for (int i = 0; i < inputs_of(site) && i < 3; i++)
        wi_kernel_macro_text(plan, inputs[i], wi_format_of(site->formats[i])->name);
    if (!site->product) {
        wi_kernel_macro_text(plan, "WEFT_FORMAT_RESULT", wi_format_of(site->result_format)->name);
        return;
    }
    wi_kernel_macro_text(plan, "WEFT_SUM", sums->scalar);
    wi_kernel_macro_text(plan, "WEFT_SUMS", sums->registers);
}

weft_status wi_implementation_prepare(const wi_implementation *implementation, const wi_variant *variant,
    const wi_kernel_site *site, wi_arena *arena, wi_kernel_plan *plan) {
    const wi_kernel_site own = with_variant(site, implementation, variant);
    *plan = (wi_kernel_plan){.file = implementation->file,
        .headers = implementation->headers,
        .parameters = implementation->parameters,
        .values = own.values,
        .arena = arena};
    if (site->product || implementation->formats) define_formats(site, plan);
    WI_TRY(implementation->prepare(&own, plan));
    return wi_kernel_plan_check(plan, implementation->name);
}

bool wi_implementation_computes(const wi_implementation *implementation, const wi_op *op) {
    for (int i = 0; i < WI_IMPLEMENTATION_OPS; i++) {
        if (op && implementation->ops[i] == op) return true;
    }
    return false;
}

bool wi_kernel_op_is_f32(const wi_kernel_site *site) {
    bool is = site->result_format == WEFT_F32;
    for (int i = 0; i < site->node->input_count; i++) is = is && !wi_dtype_rounds(site->formats[i]);
    return is;
}
