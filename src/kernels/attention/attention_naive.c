/* The portable kernels of attention and of its gradient: they accept every site on every device. See
 * cl_kernels/attention/attention_naive.cl. */
#include "base/integers.h"
#include "kernels/attention/attention_arguments.h"
#include "kernels/cost.h"

/* Every multiplication reads its factors from memory, so the kernels reach a hundredth of the peak. */
static const double slowness = 100.0;

static double seconds_of(const wi_kernel_site *site, double flops, int64_t rows, int launches) {
    return wi_work_seconds(site->device, &(wi_work){.operations = slowness * flops,
                                             .groups = (double)wi_divide_up(rows, site->device->group),
                                             .launches = launches,
                                             .build_seconds = 0.1});
}

/* Each score is computed twice. */
static double forward_cost(const wi_kernel_site *site) {
    const wi_attention_sizes s = wi_attention_sizes_of(site);
    return seconds_of(site, 2.0 * wi_attention_forward_flops(&s), s.n0 * s.n1 * s.queries, 1);
}

static double gradient_cost(const wi_kernel_site *site) {
    const wi_attention_sizes s = wi_attention_sizes_of(site);
    return seconds_of(
        site, 2.0 * wi_attention_gradient_flops(&s), s.n0 * s.n1 * wi_max64(s.queries, s.keys), 2);
}

/* A work-item for each row of each head. */
static wi_kernel_launch *rows(const wi_kernel_site *site, wi_kernel_plan *plan, const char *suffix,
    int64_t count, const wi_attention_sizes *s) {
    const int64_t group = wi_min64(site->device->group, (int64_t)site->device->max_group);
    return wi_attention_launch(plan, suffix, count, group, s);
}

static weft_status prepare_forward(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_attention_sizes s = wi_attention_sizes_of(site);
    wi_attention_dropout_macro(plan, site);
    plan->flops = wi_attention_forward_flops(&s);
    wi_attention_forward_arguments(rows(site, plan, "forward", s.queries, &s), site, &s);
    return WEFT_OK;
}

static weft_status prepare_gradient(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_attention_sizes s = wi_attention_sizes_of(site);
    wi_attention_dropout_macro(plan, site);
    plan->flops = wi_attention_gradient_flops(&s);
    wi_attention_gradient_arguments(rows(site, plan, "queries", s.queries, &s), site, &s, false, s.keys);
    wi_attention_gradient_arguments(rows(site, plan, "keys", s.keys, &s), site, &s, false, s.keys);
    return WEFT_OK;
}

const wi_implementation wi_attention_naive = {.name = "attention_naive",
    .ops = {&wi_op_attention_forward},
    .file = "attention_naive.cl",
    .cost = forward_cost,
    .margin = wi_last_resort_margin,
    .prepare = prepare_forward};

const wi_implementation wi_attention_naive_gradient = {.name = "attention_gradient_naive",
    .ops = {&wi_op_attention_gradient},
    .file = "attention_naive.cl",
    .cost = gradient_cost,
    .margin = wi_last_resort_margin,
    .prepare = prepare_gradient};
