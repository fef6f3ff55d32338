/* Sizes and arguments of attention's kernels (contract in attention_arguments.h). */
#include "kernels/attention/attention_arguments.h"
#include <math.h>

wi_attention_sizes wi_attention_sizes_of(const wi_kernel_site *site) {
    const wi_extent *q = &site->inputs[WI_ATTENTION_QUERY], *v = &site->inputs[WI_ATTENTION_VALUE];
    return (wi_attention_sizes){q->dims[0].actual, q->dims[1].actual, q->dims[2].actual, v->dims[2].actual,
        q->dims[3].actual, v->dims[3].actual};
}

double wi_attention_forward_flops(const wi_attention_sizes *s) {
    return 2.0 * (double)(s->n0 * s->n1 * s->queries) * (double)(s->keys * (s->d + s->dv));
}

double wi_attention_gradient_flops(const wi_attention_sizes *s) {
    return 2.0 * (double)(s->n0 * s->n1 * s->queries) * (double)(s->keys * (3 * s->d + 2 * s->dv));
}

wi_kernel_launch *wi_attention_launch(
    wi_kernel_plan *plan, const char *suffix, int64_t items, int64_t group, const wi_attention_sizes *s) {
    wi_kernel_launch *launch = wi_kernel_launch_1d(plan, suffix, items, group);
    launch->dimensions = 2;
    launch->global[1] = (size_t)(s->n0 * s->n1);
    return launch;
}

void wi_attention_dropout_macro(wi_kernel_plan *plan, const wi_kernel_site *site) {
    wi_kernel_macro_int(plan, "WEFT_DROP", site->node->attributes->attention.dropout > 0);
}

/* ---- arguments ---- */

void wi_attention_strides(wi_kernel_launch *launch, const wi_kernel_site *site, int input) {
    for (int i = 0; i < 4; i++) wi_kernel_long(launch, site->layouts[input].strides[i].actual);
}

void wi_attention_section_strides(wi_kernel_launch *launch, const wi_kernel_site *site,
    const wi_attention_sizes *s, int64_t length, int64_t width) {
    const bool inside = site->node->attributes->attention.heads_inside;
    wi_kernel_longs(launch, WI_KERNEL_NUMBERS(s->n1 * length * width, inside ? width : length * width,
                                inside ? s->n1 * width : width));
}

void wi_attention_mask(wi_kernel_launch *launch, const wi_kernel_site *site, int mask) {
    const bool has_mask = site->node->input_count > mask;
    wi_kernel_int(launch, !has_mask ? 0 : site->node->inputs[mask]->dtype == WEFT_BOOL ? 1 : 2);
    wi_kernel_input(launch, has_mask ? mask : WI_ATTENTION_QUERY);
    wi_attention_strides(launch, site, has_mask ? mask : WI_ATTENTION_QUERY);
    wi_kernel_int(launch, site->node->attributes->attention.causal);
}

static void size_arguments(wi_kernel_launch *launch, const wi_attention_sizes *s) {
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(s->n1, s->queries, s->keys, s->d, s->dv));
}

void wi_attention_scale_and_dropout(wi_kernel_launch *launch, const wi_kernel_site *site) {
    const wi_attention_attributes *const a = &site->node->attributes->attention;
    wi_kernel_float(launch, a->scale);
    if (a->dropout <= 0) return;
    wi_kernel_int(launch, a->first_head);
    wi_kernel_float(launch, a->dropout);
    wi_kernel_float(launch, 1 / (1 - (double)a->dropout));
    wi_kernel_int(launch, a->stream);
    wi_kernel_random(launch);
}

void wi_attention_forward_arguments(
    wi_kernel_launch *launch, const wi_kernel_site *site, const wi_attention_sizes *s) {
    wi_kernel_inputs(launch, WI_ATTENTION_VALUE + 1);
    wi_kernel_result(launch);
    wi_attention_mask(launch, site, WI_ATTENTION_MASK);
    size_arguments(launch, s);
    for (int i = WI_ATTENTION_QUERY; i <= WI_ATTENTION_VALUE; i++) wi_attention_strides(launch, site, i);
    wi_attention_section_strides(launch, site, s, s->queries, s->dv);
    wi_kernel_long(launch, s->n0 * s->n1 * s->queries * s->dv);
    wi_kernel_float(launch, site->node->attributes->attention.nan_if_unseen ? (double)NAN : 0);
    wi_attention_scale_and_dropout(launch, site);
}

void wi_attention_gradient_arguments(wi_kernel_launch *launch, const wi_kernel_site *site,
    const wi_attention_sizes *s, bool to_scratch, int64_t range) {
    const int64_t n = s->n0 * s->n1, dq = n * s->queries * s->d, dk = n * s->keys * s->d;
    wi_kernel_inputs(launch, WI_ATTENTION_OUTPUT_GRADIENT + 1);
    wi_kernel_result(launch);
    if (to_scratch)
        wi_kernel_scratch(launch, 0);
    else
        wi_kernel_result(launch);
    wi_attention_mask(launch, site, WI_ATTENTION_GRADIENT_MASK);
    size_arguments(launch, s);
    for (int i = WI_ATTENTION_QUERY; i <= WI_ATTENTION_VALUE; i++) wi_attention_strides(launch, site, i);
    wi_attention_strides(launch, site, WI_ATTENTION_OUTPUT_GRADIENT);
    wi_attention_section_strides(launch, site, s, s->queries, s->dv);
    wi_kernel_long(launch, n * s->queries * s->dv);
    wi_kernel_int(launch, range);
    wi_kernel_long(launch, dq);
    wi_attention_section_strides(launch, site, s, s->queries, s->d);
    wi_kernel_long(launch, dq);
    wi_attention_section_strides(launch, site, s, s->keys, s->d);
    wi_kernel_long(launch, dq + dk);
    wi_attention_section_strides(launch, site, s, s->keys, s->dv);
    wi_attention_scale_and_dropout(launch, site);
}
