/* Attention of few queries to many keys, at the speed of memory. See cl_kernels/attention/attention_few_cpu.cl. */
#include "kernels/attention/attention_arguments.h"
#include "kernels/cost.h"

/* Each query reads all keys again. With more queries than this, kernels that read the keys once for a block of queries are
 * faster. */
enum { MOST_QUERIES = 8, WIDEST = 256 };

static bool accepts(const wi_kernel_site *site) {
    const wi_attention_sizes s = wi_attention_sizes_of(site);
    bool plain = site->result_format == WEFT_F32 && site->node->attributes->attention.dropout == 0;
    for (int i = WI_ATTENTION_QUERY; i <= WI_ATTENTION_VALUE; i++)
        plain = plain && !wi_dtype_rounds(site->formats[i]) && site->layouts[i].strides[3].actual == 1;
    return plain && s.queries <= MOST_QUERIES && s.d % 16 == 0 && s.dv % 16 == 0 && s.d <= WIDEST &&
           s.dv <= WIDEST;
}

/* Besides its multiply-adds, each score needs a sum over the lanes of a vector, which takes about twelve instructions. */
static double cost(const wi_kernel_site *site) {
    const wi_attention_sizes s = wi_attention_sizes_of(site);
    const double pairs = (double)(s.n0 * s.n1 * s.queries) * (double)s.keys;
    return wi_work_seconds(site->device,
        &(wi_work){.operations = pairs * ((double)(s.d + s.dv) / 16 + 12) * 2.0 * site->device->lanes,
            .bytes = 4.0 * (double)(s.n0 * s.n1 * s.keys) * (double)(s.d + s.dv),
            .groups = (double)(s.n0 * s.n1 * s.queries),
            .launches = 1,
            .build_seconds = 0.1});
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_attention_sizes s = wi_attention_sizes_of(site);
    wi_kernel_macro_int(plan, "WEFT_FEW_D", s.d / 16);
    wi_kernel_macro_int(plan, "WEFT_FEW_DV", s.dv / 16);
    plan->flops = wi_attention_forward_flops(&s);
    wi_attention_forward_arguments(wi_attention_launch(plan, "few", s.queries, 1, &s), site, &s);
    return WEFT_OK;
}

const wi_implementation wi_attention_few = {.name = "attention_few",
    .ops = {&wi_op_attention_forward},
    .file = "attention_few_cpu.cl",
    .needs = {.classes = WI_ON_CPU},
    .accepts = accepts,
    .cost = cost,
    .prepare = prepare};
