/* Attention and its gradient on class gpu: work-groups share tiles in local memory. See cl_kernels/attention/attention_gpu.cl. */
#include "kernels/attention/attention_gpu.h"
#include "base/integers.h"
#include "cl/quirks.h"
#include "kernels/cost.h"
#include <stdlib.h>

/* GROUP: work-items of a group. LANES: the items that share 4 rows. STEP: numbers of the width of a head that are in local memory
 * at a time. CHUNK: quads of the rows of the others that are in local memory at a time. WIDER: the variant is only for heads with
 * more columns than this. "Rows" and "others" are those of attention_gpu.h. */
enum { GROUP, LANES, STEP, CHUNK, WIDER };

static const char *const parameters[] = {[GROUP] = "WEFT_ATTENTION_GROUP",
    [LANES] = "WEFT_ATTENTION_LANES",
    [STEP] = "WEFT_ATTENTION_STEP",
    [CHUNK] = "WEFT_ATTENTION_CHUNK",
    [WIDER] = "WEFT_ATTENTION_WIDER",
    NULL};

/* `wide` has half as many sums per item as "256", and `widest` a quarter, for GPUs with few registers. */
static const wi_variant variants[] = {
    {"widest", {[GROUP] = 256, [LANES] = 64, [STEP] = 16, [CHUNK] = 256, [WIDER] = 128}},
    {"wide", {[GROUP] = 256, [LANES] = 32, [STEP] = 16, [CHUNK] = 256, [WIDER] = 64}},
    {"256", {[GROUP] = 256, [LANES] = 16, [STEP] = 16, [CHUNK] = 256}},
    {"64", {[GROUP] = 64, [LANES] = 16, [STEP] = 16, [CHUNK] = 128}}, {0}};

/* Local memory holds either the weights (with a quad of padding for each of the 4 others of a lane) and two chunks, or two steps
 * and a quad per item. It also holds six offsets and strides. */
static wi_limits limits(const int *p) {
    const size_t group = (size_t)p[GROUP], lanes = (size_t)p[LANES], pitch = group / lanes + 1;
    const size_t weights = 4 * lanes * pitch + 2 * (size_t)p[CHUNK];
    const size_t steps = 2 * (size_t)p[STEP] * (pitch + lanes + 1) + group;
    return (wi_limits){.group = group,
        .items = {group, 1},
        .local_bytes = (weights > steps ? weights : steps) * 4 * sizeof(float) + 6 * sizeof(int64_t)};
}

int64_t wi_attention_gpu_columns(int64_t width) {
    return width <= 32 ? 32 : width <= 64 ? 64 : width <= 128 ? 128 : 256;
}

static int64_t forward_columns(const wi_kernel_site *site) {
    return wi_attention_gpu_columns(wi_attention_sizes_of(site).dv);
}

static int64_t gradient_columns(const wi_kernel_site *site) {
    const wi_attention_sizes s = wi_attention_sizes_of(site);
    return wi_attention_gpu_columns(wi_max64(s.d, s.dv));
}

bool wi_attention_gpu_fits(const wi_kernel_site *site) {
    bool fits = true;
    for (int i = 0; i < site->node->input_count && i <= WI_ATTENTION_OUTPUT_GRADIENT; i++) {
        const wi_size *const strides = site->layouts[i].strides;
        fits = fits && llabs(strides[2].actual) <= INT32_MAX / 1024 &&
               llabs(strides[3].actual) <= INT32_MAX / 1024;
    }
    return fits;
}

/* GPUs with few registers hold at most 16 sums per item. Others do not need `widest`, which reads local memory more often. */
static bool suits(const wi_kernel_site *site, int64_t columns) {
    const int64_t lanes = site->values[LANES], sums = 4 * columns / lanes;
    const bool few = site->device->quirks & WI_QUIRK_FEW_REGISTERS;
    return columns > site->values[WIDER] && (few ? sums <= 16 : lanes < 64) && wi_attention_gpu_fits(site);
}

static bool accepts_forward(const wi_kernel_site *site) {
    return suits(site, forward_columns(site));
}

static bool accepts_gradient(const wi_kernel_site *site) {
    return suits(site, gradient_columns(site));
}

static void macros(const wi_kernel_site *site, wi_kernel_plan *plan, int64_t columns) {
    wi_attention_dropout_macro(plan, site);
    wi_kernel_macro_int(plan, "WEFT_ATTENTION_WIDTH", columns);
}

/* A launch with a work-group for each block of rows of each head. */
static wi_kernel_launch *blocks(wi_kernel_plan *plan, const char *suffix, int64_t rows,
    const wi_attention_groups *groups, const wi_attention_sizes *s) {
    return wi_attention_launch(
        plan, suffix, wi_divide_up(rows, groups->rows) * groups->items, groups->items, s);
}

void wi_attention_groups_forward(
    const wi_kernel_site *site, wi_kernel_plan *plan, const wi_attention_groups *groups) {
    const wi_attention_sizes s = wi_attention_sizes_of(site);
    plan->flops = wi_attention_forward_flops(&s);
    wi_attention_forward_arguments(blocks(plan, "forward", s.queries, groups, &s), site, &s);
}

/* The parts of the gradient, by their numbers in attention_gpu.cl. */
enum { DQ, DK, DV, PARTS };

/* The five operands of a part. Operands 0 and 1 ("rows" and "others"): their products are the scores. Operands 2 and 3: their
 * products are the gradients of the attention weights. Operand 4 is multiplied by the numbers that follow from both, and summed. */
static const int operands[PARTS][5] = {
    [DQ] = {WI_ATTENTION_QUERY, WI_ATTENTION_KEY, WI_ATTENTION_OUTPUT_GRADIENT, WI_ATTENTION_VALUE,
        WI_ATTENTION_KEY},
    [DK] = {WI_ATTENTION_KEY, WI_ATTENTION_QUERY, WI_ATTENTION_VALUE, WI_ATTENTION_OUTPUT_GRADIENT,
        WI_ATTENTION_QUERY},
    [DV] = {WI_ATTENTION_KEY, WI_ATTENTION_QUERY, WI_ATTENTION_VALUE, WI_ATTENTION_OUTPUT_GRADIENT,
        WI_ATTENTION_OUTPUT_GRADIENT}};

static void add_part(const wi_kernel_site *site, wi_kernel_plan *plan, int part,
    const wi_attention_groups *groups, const wi_attention_sizes *s) {
    const int64_t n = s->n0 * s->n1, length = part == DQ ? s->queries : s->keys;
    const int64_t width = part == DV ? s->dv : s->d, dq = n * s->queries * s->d, dk = n * s->keys * s->d;
    wi_kernel_launch *const launch = blocks(plan, "backward", length, groups, s);
    for (int i = 0; i < 5; i++) {
        wi_kernel_input(launch, operands[part][i]);
        wi_attention_strides(launch, site, operands[part][i]);
    }
    wi_kernel_input(launch, WI_ATTENTION_FORWARD);
    wi_kernel_scratch(launch, 0);
    wi_kernel_result(launch);
    wi_attention_mask(launch, site, WI_ATTENTION_GRADIENT_MASK);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(s->n1, s->queries, s->keys, s->d, s->dv, width));
    wi_kernel_longs(launch, WI_KERNEL_NUMBERS(n * s->queries * s->dv, part == DQ   ? 0
                                                                      : part == DK ? dq
                                                                                   : dq + dk));
    wi_attention_section_strides(launch, site, s, length, width);
    wi_kernel_int(launch, part);
    wi_attention_scale_and_dropout(launch, site);
}

static void add_inner(const wi_kernel_site *site, wi_kernel_plan *plan, const wi_attention_groups *groups,
    const wi_attention_sizes *s) {
    wi_kernel_launch *const launch = wi_attention_launch(plan, "inner", s->queries, groups->items, s);
    wi_kernel_input(launch, WI_ATTENTION_FORWARD);
    wi_kernel_input(launch, WI_ATTENTION_OUTPUT_GRADIENT);
    wi_kernel_scratch(launch, 0);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(s->n1, s->queries, s->dv));
    wi_attention_section_strides(launch, site, s, s->queries, s->dv);
    wi_attention_strides(launch, site, WI_ATTENTION_OUTPUT_GRADIENT);
}

void wi_attention_groups_gradient(
    const wi_kernel_site *site, wi_kernel_plan *plan, const wi_attention_groups *groups) {
    const wi_attention_sizes s = wi_attention_sizes_of(site);
    plan->flops = wi_attention_gradient_flops(&s);
    plan->scratch_bytes = (size_t)(s.n0 * s.n1 * s.queries) * sizeof(float);
    add_inner(site, plan, groups, &s);
    for (int part = 0; part < PARTS; part++) add_part(site, plan, part, groups, &s);
}

static wi_attention_groups groups_of(const wi_kernel_site *site) {
    const wi_attention_sizes s = wi_attention_sizes_of(site);
    return (wi_attention_groups){.rows = site->values[GROUP] / site->values[LANES] * 4,
        .others = 4 * site->values[LANES],
        .items = site->values[GROUP],
        .d = (double)s.d,
        .dv = (double)s.dv,
        .share = 0.5};
}

static weft_status prepare_forward(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_attention_groups groups = groups_of(site);
    macros(site, plan, forward_columns(site));
    wi_attention_groups_forward(site, plan, &groups);
    return WEFT_OK;
}

static weft_status prepare_gradient(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_attention_groups groups = groups_of(site);
    macros(site, plan, gradient_columns(site));
    wi_attention_groups_gradient(site, plan, &groups);
    return WEFT_OK;
}

/* The number of scores, with rows and others rounded up to whole blocks. */
static double pairs_of(int64_t rows, int64_t others, const wi_attention_groups *groups) {
    return (double)(wi_divide_up(rows, groups->rows) * groups->rows) *
           (double)(wi_divide_up(others, groups->others) * groups->others);
}

double wi_attention_groups_forward_seconds(const wi_kernel_site *site, const wi_attention_groups *groups) {
    const wi_attention_sizes s = wi_attention_sizes_of(site);
    const double n = (double)(s.n0 * s.n1), pairs = n * pairs_of(s.queries, s.keys, groups);
    return wi_work_seconds(
        site->device, &(wi_work){.operations = 2.0 * pairs * (groups->d + groups->dv) / groups->share,
                          .groups = n * (double)wi_divide_up(s.queries, groups->rows),
                          .launches = 1,
                          .build_seconds = 1.0});
}

/* For each score, the parts dq and dk take products of d, dv and d numbers, and the part dv takes products of d and dv
 * numbers. */
double wi_attention_groups_gradient_seconds(const wi_kernel_site *site, const wi_attention_groups *groups) {
    const wi_attention_sizes s = wi_attention_sizes_of(site);
    const double n = (double)(s.n0 * s.n1), d = groups->d, dv = groups->dv;
    const double products = pairs_of(s.queries, s.keys, groups) * (2.0 * d + dv) +
                            pairs_of(s.keys, s.queries, groups) * (3.0 * d + 2.0 * dv);
    return wi_work_seconds(
        site->device, &(wi_work){.operations = 2.0 * n * products / groups->share,
                          .groups = n * (double)wi_divide_up(s.queries + s.keys, groups->rows),
                          .launches = 1 + PARTS,
                          .build_seconds = 1.0});
}

static double forward_cost(const wi_kernel_site *site) {
    const wi_attention_groups groups = groups_of(site);
    return wi_attention_groups_forward_seconds(site, &groups);
}

static double gradient_cost(const wi_kernel_site *site) {
    const wi_attention_groups groups = groups_of(site);
    return wi_attention_groups_gradient_seconds(site, &groups);
}

const wi_implementation wi_attention_gpu = {.name = "attention_gpu",
    .ops = {&wi_op_attention_forward},
    .file = "attention_gpu.cl",
    .parameters = parameters,
    .variants = variants,
    .needs = {.classes = WI_ON_GPU, .limits = limits},
    .accepts = accepts_forward,
    .cost = forward_cost,
    .prepare = prepare_forward};

const wi_implementation wi_attention_gpu_gradient = {.name = "attention_gradient_gpu",
    .ops = {&wi_op_attention_gradient},
    .file = "attention_gpu.cl",
    .parameters = parameters,
    .variants = variants,
    .needs = {.classes = WI_ON_GPU, .limits = limits},
    .accepts = accepts_gradient,
    .cost = gradient_cost,
    .prepare = prepare_gradient};
