/* Attention and its gradient where groups share tiles in local memory: attention_gpu.cl. */
#include "base/integers.h"
#include "cl/quirks.h"
#include "kernels/attention/attention_kernels.h"

/* GROUP: work-items of a group, one for each of its queries or keys. Local memory holds a tile of one operand and one of
 * another, FOURS times four floats in all, of at most ROWS rows, and two floats a row. */
enum { GROUP, FOURS };
enum { ROWS = 32 };

static const char *const parameters[] = {
    [GROUP] = "WEFT_ATTENTION_GROUP", [FOURS] = "WEFT_ATTENTION_FOURS", NULL};

static const wi_variant variants[] = {
    {"64", {[GROUP] = 64, [FOURS] = 1024}}, {"little_local", {[GROUP] = 64, [FOURS] = 512}}, {0}};

static wi_limits limits(const int *p) {
    const size_t group = (size_t)p[GROUP];
    return (wi_limits){.group = group,
        .items = {group, 1},
        .local_bytes = ((size_t)p[FOURS] * 4 + 2 * ROWS) * sizeof(float)};
}

/* A width in fours, of few kinds: a program for each. */
static int64_t fours_of(int64_t width) {
    const int64_t fours = wi_divide_up(width, 4), unit = fours <= 4 ? 2 : fours <= 16 ? 4 : 16;
    return wi_divide_up(fours, unit) * unit;
}

/* Rows that come through local memory together; a multiple of 4. */
static int64_t tile_of(const wi_kernel_site *site, const wi_attention_sizes *s) {
    return wi_min64(ROWS, site->values[FOURS] / (fours_of(s->d) + fours_of(s->dv)) / 4 * 4);
}

static void macros(const wi_kernel_site *site, wi_kernel_plan *plan, const wi_attention_sizes *s) {
    wi_kernel_macro_int(plan, "WEFT_DROP", site->node->attributes.attention.dropout > 0);
    wi_kernel_macro_int(plan, "WEFT_D", fours_of(s->d));
    wi_kernel_macro_int(plan, "WEFT_DV", fours_of(s->dv));
    wi_kernel_macro_int(plan, "WEFT_TILE", tile_of(site, s));
}

static weft_status prepare_forward(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_attention_sizes s = wi_attention_sizes_of(site);
    macros(site, plan, &s);
    plan->flops = wi_attention_forward_flops(&s);
    wi_attention_forward_arguments(
        wi_attention_launch(plan, "forward", s.queries, site->values[GROUP], &s), site, &s);
    return WEFT_OK;
}

static weft_status prepare_gradient(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_attention_sizes s = wi_attention_sizes_of(site);
    macros(site, plan, &s);
    plan->flops = wi_attention_gradient_flops(&s);
    wi_attention_gradient_arguments(
        wi_attention_launch(plan, "backward_queries", s.queries, site->values[GROUP], &s), site, &s, false,
        0);
    wi_attention_gradient_arguments(
        wi_attention_launch(plan, "backward_keys", s.keys, site->values[GROUP], &s), site, &s, false, 0);
    return WEFT_OK;
}

const wi_implementation wi_attention_gpu = {.name = "attention_gpu",
    .ops = {&wi_op_attention_forward},
    .file = "attention_gpu.cl",
    .parameters = parameters,
    .variants = variants,
    .needs = {.classes = WI_ON_GPU, .without = WI_QUIRK_WORK_ITEM_LOOPS, .limits = limits},
    .prepare = prepare_forward};

const wi_implementation wi_attention_gpu_gradient = {.name = "attention_gradient_gpu",
    .ops = {&wi_op_attention_gradient},
    .file = "attention_gpu.cl",
    .parameters = parameters,
    .variants = variants,
    .needs = {.classes = WI_ON_GPU, .without = WI_QUIRK_WORK_ITEM_LOOPS, .limits = limits},
    .prepare = prepare_gradient};
