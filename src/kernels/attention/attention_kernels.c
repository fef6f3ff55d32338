/* The launches of attention and its gradient: attention_cpu.cl and attention_gpu.cl. */
#include "base/integers.h"
#include "kernels/families.h"
#include "ops/attention/attention.h"

enum { LANE_QUERIES = 64, GROUP = 64 };

/* ---- sizes and arguments ---- */

typedef struct sizes {
    int64_t n0, n1, queries, keys, d, dv;
} sizes;

static sizes sizes_of(const wi_kernel_site *site) {
    const wi_extent *q = &site->inputs[WI_ATTENTION_QUERY], *v = &site->inputs[WI_ATTENTION_VALUE];
    return (sizes){q->dims[0].actual, q->dims[1].actual, q->dims[2].actual, v->dims[2].actual,
        q->dims[3].actual, v->dims[3].actual};
}

/* One program serves all widths up to it. */
static int64_t cpu_width(const sizes *s) {
    const int64_t widest = wi_max64(s->d, s->dv);
    return widest <= 64 ? 64 : widest <= 128 ? 128 : 256;
}

/* Keys of a block: 8 or 4 tiles of 13, so that what a core works on stays in its second-level cache. */
static int64_t cpu_keys(const sizes *s) {
    return wi_max64(s->d, s->dv) <= 128 ? 104 : 52;
}

/* A width in fours, of few kinds: a program for each. */
static int64_t gpu_fours(int64_t width) {
    const int64_t fours = wi_divide_up(width, 4), unit = fours <= 4 ? 2 : fours <= 16 ? 4 : 16;
    return wi_divide_up(fours, unit) * unit;
}

/* Rows that come through 16 KiB of local memory together; a multiple of 4. */
static int64_t gpu_tile(const sizes *s) {
    return wi_min64(32, 1024 / (gpu_fours(s->d) + gpu_fours(s->dv)) / 4 * 4);
}

static void macros(const wi_kernel_site *site, wi_kernel_plan *plan, const sizes *s) {
    const bool cpu = site->device->device_class == WEFT_CLASS_CPU;
    wi_kernel_macro_int(plan, "WEFT_DROP", site->node->attributes.number2 > 0);
    if (!cpu) {
        wi_kernel_macro_int(plan, "WEFT_D", gpu_fours(s->d));
        wi_kernel_macro_int(plan, "WEFT_DV", gpu_fours(s->dv));
        wi_kernel_macro_int(plan, "WEFT_TILE", gpu_tile(s));
        return;
    }
    wi_kernel_macro_int(plan, "WEFT_WIDTH", cpu_width(s));
    wi_kernel_macro_int(plan, "WEFT_KEYS", cpu_keys(s));
    wi_kernel_macro_int(plan, "WEFT_QUERIES", LANE_QUERIES);
}

static void strides(wi_kernel_launch *launch, const wi_kernel_site *site, int input) {
    for (int i = 0; i < 4; i++) wi_kernel_long(launch, site->layouts[input].strides[i].actual);
}

/* Of a part of a packed result: n0, n1, row. */
static void part_strides(
    wi_kernel_launch *launch, const wi_kernel_site *site, const sizes *s, int64_t length, int64_t width) {
    const bool inside = site->node->attributes.axis == 2;
    wi_kernel_long(launch, s->n1 * length * width);
    wi_kernel_long(launch, inside ? width : length * width);
    wi_kernel_long(launch, inside ? s->n1 * width : width);
}

/* Kind, memory and strides (of anything when there is none), causal. */
static void mask_input(wi_kernel_launch *launch, const wi_kernel_site *site, int mask) {
    const bool has_mask = site->node->input_count > mask;
    wi_kernel_int(launch, !has_mask ? 0 : site->node->inputs[mask]->dtype == WEFT_BOOL ? 1 : 2);
    wi_kernel_input(launch, has_mask ? mask : WI_ATTENTION_QUERY);
    strides(launch, site, has_mask ? mask : WI_ATTENTION_QUERY);
    wi_kernel_int(launch, site->node->attributes.power);
}

static void size_arguments(wi_kernel_launch *launch, const sizes *s) {
    wi_kernel_int(launch, s->n1);
    wi_kernel_int(launch, s->queries);
    wi_kernel_int(launch, s->keys);
    wi_kernel_int(launch, s->d);
    wi_kernel_int(launch, s->dv);
}

/* Behind all others, where weights are dropped. */
static void dropout_arguments(wi_kernel_launch *launch, const wi_kernel_site *site) {
    const wi_attributes *attributes = &site->node->attributes;
    if (attributes->number2 <= 0) return;
    wi_kernel_float(launch, attributes->number2);
    wi_kernel_float(launch, 1 / (1 - attributes->number2));
    wi_kernel_int(launch, attributes->stream);
    wi_kernel_random(launch);
}

static wi_kernel_launch *launch_each(
    wi_kernel_plan *plan, const char *suffix, int64_t items, int64_t group, const sizes *s) {
    wi_kernel_launch *launch = wi_kernel_launch_1d(plan, suffix, items, group);
    launch->dimensions = 2;
    launch->global[1] = (size_t)(s->n0 * s->n1);
    return launch;
}

/* ---- forward ---- */

static weft_status forward_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const sizes s = sizes_of(site);
    const bool cpu = site->device->device_class == WEFT_CLASS_CPU;
    const int64_t n = s.n0 * s.n1;
    macros(site, plan, &s);
    plan->flops = 2.0 * (double)(n * s.queries) * (double)(s.keys * (s.d + s.dv));
    wi_kernel_launch *launch = launch_each(
        plan, "forward", cpu ? wi_divide_up(s.queries, LANE_QUERIES) : s.queries, cpu ? 1 : GROUP, &s);
    for (int i = WI_ATTENTION_QUERY; i <= WI_ATTENTION_VALUE; i++) wi_kernel_input(launch, i);
    wi_kernel_result(launch);
    mask_input(launch, site, WI_ATTENTION_MASK);
    size_arguments(launch, &s);
    for (int i = WI_ATTENTION_QUERY; i <= WI_ATTENTION_VALUE; i++) strides(launch, site, i);
    part_strides(launch, site, &s, s.queries, s.dv);
    wi_kernel_long(launch, n * s.queries * s.dv);
    wi_kernel_float(launch, site->node->attributes.number);
    dropout_arguments(launch, site);
    return WEFT_OK;
}

/* ---- gradients ---- */

/* Ranges of keys that items of a cpu-class device own: enough to keep it busy, as each costs a dq. */
static int64_t cpu_ranges(const wi_kernel_site *site, const sizes *s) {
    const int64_t wanted = wi_divide_up(2 * wi_max64(1, site->device->units), s->n0 * s->n1);
    return wi_min64(wanted, wi_divide_up(s->keys, cpu_keys(s)));
}

static void gradient_arguments(
    wi_kernel_launch *launch, const wi_kernel_site *site, const sizes *s, bool to_scratch, int64_t range) {
    const int64_t n = s->n0 * s->n1, dq = n * s->queries * s->d, dk = n * s->keys * s->d;
    for (int i = WI_ATTENTION_QUERY; i <= WI_ATTENTION_SLOPE; i++) wi_kernel_input(launch, i);
    wi_kernel_result(launch);
    if (to_scratch)
        wi_kernel_scratch(launch, 0);
    else
        wi_kernel_result(launch);
    mask_input(launch, site, WI_ATTENTION_SLOPE_MASK);
    size_arguments(launch, s);
    for (int i = WI_ATTENTION_QUERY; i <= WI_ATTENTION_VALUE; i++) strides(launch, site, i);
    strides(launch, site, WI_ATTENTION_SLOPE);
    part_strides(launch, site, s, s->queries, s->dv);
    wi_kernel_long(launch, n * s->queries * s->dv);
    wi_kernel_int(launch, range);
    wi_kernel_long(launch, dq);
    part_strides(launch, site, s, s->queries, s->d);
    wi_kernel_long(launch, dq);
    part_strides(launch, site, s, s->keys, s->d);
    wi_kernel_long(launch, dq + dk);
    part_strides(launch, site, s, s->keys, s->dv);
    wi_kernel_float(launch, site->node->attributes.number);
    dropout_arguments(launch, site);
}

static void cpu_gradient(const wi_kernel_site *site, wi_kernel_plan *plan, const sizes *s) {
    const int64_t wanted = cpu_ranges(site, s), count = s->n0 * s->n1 * s->queries * s->d;
    const int64_t range = wi_divide_up(wi_divide_up(s->keys, wanted), cpu_keys(s)) * cpu_keys(s);
    const int64_t ranges = wi_divide_up(s->keys, range);
    gradient_arguments(launch_each(plan, "backward", ranges, 1, s), site, s, ranges > 1, range);
    if (ranges == 1) return;
    plan->scratch_bytes = (size_t)(ranges * count) * sizeof(float);
    wi_kernel_launch *launch = wi_kernel_launch_1d(plan, "sum", wi_divide_up(count, 16384), 1);
    wi_kernel_result(launch);
    wi_kernel_scratch(launch, 0);
    wi_kernel_long(launch, count);
    wi_kernel_int(launch, ranges);
}

static weft_status gradient_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const sizes s = sizes_of(site);
    macros(site, plan, &s);
    plan->flops = 2.0 * (double)(s.n0 * s.n1 * s.queries) * (double)(s.keys * (3 * s.d + 2 * s.dv));
    if (site->device->device_class == WEFT_CLASS_CPU) {
        cpu_gradient(site, plan, &s);
        return WEFT_OK;
    }
    gradient_arguments(launch_each(plan, "backward_queries", s.queries, GROUP, &s), site, &s, false, 0);
    gradient_arguments(launch_each(plan, "backward_keys", s.keys, GROUP, &s), site, &s, false, 0);
    return WEFT_OK;
}

static const wi_implementation forward_cpu = {.name = "attention_cpu",
    .ops = {&wi_op_attention_forward},
    .needs = {.classes = WI_ON_CPU},
    .file = "attention_cpu.cl",
    .prepare = forward_kernel};
static const wi_implementation forward_gpu = {.name = "attention_gpu",
    .ops = {&wi_op_attention_forward},
    .needs = {.classes = WI_ON_GPU},
    .file = "attention_gpu.cl",
    .prepare = forward_kernel};
static const wi_implementation gradient_cpu = {.name = "attention_gradient_cpu",
    .ops = {&wi_op_attention_gradient},
    .needs = {.classes = WI_ON_CPU},
    .file = "attention_cpu.cl",
    .prepare = gradient_kernel};
static const wi_implementation gradient_gpu = {.name = "attention_gradient_gpu",
    .ops = {&wi_op_attention_gradient},
    .needs = {.classes = WI_ON_GPU},
    .file = "attention_gpu.cl",
    .prepare = gradient_kernel};

const wi_implementation *const wi_attention_family[] = {
    &forward_cpu, &forward_gpu, &gradient_cpu, &gradient_gpu, NULL};
