/* Attention and its gradient where a work-item keeps a block in private memory: attention_cpu.cl; products by the vector
 * units, or by a matrix engine. */
#include "base/integers.h"
#include "cl/matrix_engine.h"
#include "kernels/attention/attention_arguments.h"
#include "kernels/cost.h"

/* QUERIES of a block, one a lane; ROWS of a tile of registers, or of the engine; SUMMED: elements that an item adds up over
 * the ranges of keys; ENGINE: 1 where products are its. */
enum { QUERIES, ROWS, SUMMED, ENGINE };

static const char *const parameters[] = {[QUERIES] = "WEFT_QUERIES",
    [ROWS] = "WEFT_ATTENTION_ROWS",
    [SUMMED] = "WEFT_SUMMED",
    [ENGINE] = "WEFT_ENGINE",
    NULL};

static const wi_variant variants[] = {{"f32", {[QUERIES] = 64, [ROWS] = 13, [SUMMED] = 16384}}, {0}};
static const wi_variant engine_variants[] = {
    {"bf16", {[QUERIES] = 64, [ROWS] = 16, [SUMMED] = 16384, [ENGINE] = 1}}, {0}};

/* The fraction of the units' peak that f32 products with all around them reach; the engine's kernel, as a multiple of that
 * peak, where widths are multiples of 32. */
static const double units_share = 0.35, engine_share = 0.7, build_seconds = 0.5;

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
    wi_attention_dropout_macro(plan, site);
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

static double seconds_of(const wi_kernel_site *site, double flops) {
    const wi_attention_sizes s = wi_attention_sizes_of(site);
    const double engine = site->values[ENGINE] ? 1.0 : 0.0;
    const int64_t filled = wi_divide_up(s.d, 32) * 32 + wi_divide_up(s.dv, 32) * 32;
    const double waste = engine > 0 ? (double)filled / (double)(s.d + s.dv) : 1.0;
    return wi_build_fraction(site->device, build_seconds) +
           flops * waste / (site->device->peak_f32 * (engine > 0 ? engine_share : units_share));
}

/* Queries are lanes, two vectors of them at a time. */
static double forward_cost(const wi_kernel_site *site) {
    wi_attention_sizes s = wi_attention_sizes_of(site);
    s.queries = wi_divide_up(s.queries, 32) * 32;
    return seconds_of(site, wi_attention_forward_flops(&s));
}

static double gradient_cost(const wi_kernel_site *site) {
    const wi_attention_sizes s = wi_attention_sizes_of(site);
    return seconds_of(site, wi_attention_gradient_flops(&s));
}

static const char *const engine_headers[] = {"amx.clh", NULL};
static const wi_formats engine_formats[] = {{WI_ANY_STORAGE, WEFT_BF16, WEFT_F32}};

const wi_implementation wi_attention_amx = {.name = "attention_amx",
    .ops = {&wi_op_attention_forward},
    .file = "attention_cpu.cl",
    .headers = engine_headers,
    .parameters = parameters,
    .variants = engine_variants,
    .formats = engine_formats,
    .format_count = 1,
    .needs = {.classes = WI_ON_CPU, .engines = WI_ENGINE_AMX_BF16},
    .accepts = wi_kernel_op_is_f32,
    .cost = forward_cost,
    .prepare = prepare_forward};

const wi_implementation wi_attention_amx_gradient = {.name = "attention_gradient_amx",
    .ops = {&wi_op_attention_gradient},
    .file = "attention_cpu.cl",
    .headers = engine_headers,
    .parameters = parameters,
    .variants = engine_variants,
    .formats = engine_formats,
    .format_count = 1,
    .needs = {.classes = WI_ON_CPU, .engines = WI_ENGINE_AMX_BF16},
    .accepts = wi_kernel_op_is_f32,
    .cost = gradient_cost,
    .prepare = prepare_gradient};

const wi_implementation wi_attention_cpu = {.name = "attention_cpu",
    .ops = {&wi_op_attention_forward},
    .file = "attention_cpu.cl",
    .parameters = parameters,
    .variants = variants,
    .needs = {.classes = WI_ON_CPU},
    .cost = forward_cost,
    .prepare = prepare_forward};

const wi_implementation wi_attention_cpu_gradient = {.name = "attention_gradient_cpu",
    .ops = {&wi_op_attention_gradient},
    .file = "attention_cpu.cl",
    .parameters = parameters,
    .variants = variants,
    .needs = {.classes = WI_ON_CPU},
    .cost = gradient_cost,
    .prepare = prepare_gradient};
