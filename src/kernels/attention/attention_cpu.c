/* Attention and its gradient where a work-item keeps a block in private memory: attention_cpu.cl. */
#include "base/integers.h"
#include "kernels/attention/attention_kernels.h"

/* QUERIES of a block, one a lane; ROWS of a tile of registers; SUMMED: elements that an item adds up over the
 * ranges of keys. */
enum { QUERIES, ROWS, SUMMED };

static const char *const parameters[] = {
    [QUERIES] = "WEFT_QUERIES", [ROWS] = "WEFT_ATTENTION_ROWS", [SUMMED] = "WEFT_SUMMED", NULL};

static const wi_variant variants[] = {{"f32", {[QUERIES] = 64, [ROWS] = 13, [SUMMED] = 16384}}, {0}};

/* One program serves all widths up to it. */
static int64_t width_of(const wi_attention_sizes *s) {
    const int64_t widest = wi_max64(s->d, s->dv);
    return widest <= 64 ? 64 : widest <= 128 ? 128 : 256;
}

/* Keys of a block: 8 or 4 tiles, so that what a core works on stays in its second-level cache. */
static int64_t keys_of(const wi_kernel_site *site, const wi_attention_sizes *s) {
    return site->values[ROWS] * (wi_max64(s->d, s->dv) <= 128 ? 8 : 4);
}

static void macros(const wi_kernel_site *site, wi_kernel_plan *plan, const wi_attention_sizes *s) {
    wi_kernel_macro_int(plan, "WEFT_DROP", site->node->attributes.attention.dropout > 0);
    wi_kernel_macro_int(plan, "WEFT_WIDTH", width_of(s));
    wi_kernel_macro_int(plan, "WEFT_KEYS", keys_of(site, s));
}

static weft_status prepare_forward(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_attention_sizes s = wi_attention_sizes_of(site);
    macros(site, plan, &s);
    plan->flops = wi_attention_forward_flops(&s);
    wi_attention_forward_arguments(
        wi_attention_launch(plan, "forward", wi_divide_up(s.queries, site->values[QUERIES]), 1, &s), site,
        &s);
    return WEFT_OK;
}

/* Keys of the ranges that items own: enough of them to keep the device busy, as each range costs a gradient of
 * all queries. */
static int64_t range_of(const wi_kernel_site *site, const wi_attention_sizes *s) {
    const int64_t block = keys_of(site, s), wanted = wi_divide_up(2 * site->device->units, s->n0 * s->n1),
                  ranges = wi_min64(wanted, wi_divide_up(s->keys, block));
    return wi_divide_up(wi_divide_up(s->keys, ranges), block) * block;
}

static void add_sum(const wi_kernel_site *site, wi_kernel_plan *plan, int64_t count, int64_t ranges) {
    wi_kernel_launch *const launch =
        wi_kernel_launch_1d(plan, "sum", wi_divide_up(count, site->values[SUMMED]), 1);
    wi_kernel_result(launch);
    wi_kernel_scratch(launch, 0);
    wi_kernel_long(launch, count);
    wi_kernel_int(launch, ranges);
}

static weft_status prepare_gradient(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_attention_sizes s = wi_attention_sizes_of(site);
    const int64_t count = s.n0 * s.n1 * s.queries * s.d;
    const int64_t range = range_of(site, &s), ranges = wi_divide_up(s.keys, range);
    macros(site, plan, &s);
    plan->flops = wi_attention_gradient_flops(&s);
    wi_attention_gradient_arguments(
        wi_attention_launch(plan, "backward", ranges, 1, &s), site, &s, ranges > 1, range);
    if (ranges == 1) return WEFT_OK;
    plan->scratch_bytes = (size_t)(ranges * count) * sizeof(float);
    add_sum(site, plan, count, ranges);
    return WEFT_OK;
}

const wi_implementation wi_attention_cpu = {.name = "attention_cpu",
    .ops = {&wi_op_attention_forward},
    .file = "attention_cpu.cl",
    .parameters = parameters,
    .variants = variants,
    .needs = {.classes = WI_ON_CPU},
    .prepare = prepare_forward};

const wi_implementation wi_attention_cpu_gradient = {.name = "attention_gradient_cpu",
    .ops = {&wi_op_attention_gradient},
    .file = "attention_cpu.cl",
    .parameters = parameters,
    .variants = variants,
    .needs = {.classes = WI_ON_CPU},
    .prepare = prepare_gradient};
