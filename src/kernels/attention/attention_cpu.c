/* Attention and its gradient on class cpu: a work-item has a block of scores in private memory. The products are computed by
 * vector units, or by the matrix engine AMX. See cl_kernels/attention/attention_cpu.cl. */
#include "base/integers.h"
#include "cl/matrix_engine.h"
#include "kernels/attention/attention_arguments.h"
#include "kernels/cost.h"

/* QUERIES: queries of a block, one per lane. ROWS: rows of a tile in registers or of a tile of the engine. SUMMED: elements that
 * an item of the kernel "sum" adds up over the ranges of keys. ENGINE: 1 if the matrix engine multiplies. */
enum { QUERIES, ROWS, SUMMED, ENGINE };

static const char *const parameters[] = {[QUERIES] = "WEFT_QUERIES",
    [ROWS] = "WEFT_ATTENTION_ROWS",
    [SUMMED] = "WEFT_SUMMED",
    [ENGINE] = "WEFT_ENGINE",
    NULL};

static const wi_variant variants[] = {{"f32", {[QUERIES] = 64, [ROWS] = 13, [SUMMED] = 16384}}, {0}};
static const wi_variant engine_variants[] = {
    {"bf16", {[QUERIES] = 64, [ROWS] = 16, [SUMMED] = 16384, [ENGINE] = 1}}, {0}};

/* The speed of the kernels, as a multiple of the units' f32 peak. It counts the products' operations, but the time of everything.
 * engine_share is the speed for widths that are multiples of 32. */
static const double units_share = 0.35, engine_share = 0.7, build_seconds = 0.5;

/* The largest width that a program computes; programs are compiled for three widths. */
static int64_t width_of(const wi_attention_sizes *s) {
    const int64_t widest = wi_max64(s->d, s->dv);
    return widest <= 64 ? 64 : widest <= 128 ? 128 : 256;
}

/* Keys of a block: 8 or 4 tiles, so that the data of a core stays in its second-level cache. */
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

/* The number of keys of a range. A work-item computes one range. There are as many ranges as keep the device busy, and no more,
 * because scratch memory holds a gradient of all queries for each range. */
static int64_t range_of(const wi_kernel_site *site, const wi_attention_sizes *s) {
    const int64_t block = keys_of(site, s), wanted = wi_divide_up(2 * site->device->units, s->n0 * s->n1),
                  ranges = wi_min64(wanted, wi_divide_up(s->keys, block));
    return wi_divide_up(wi_divide_up(s->keys, ranges), block) * block;
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
    wi_kernel_launch *const sum =
        wi_kernel_launch_1d(plan, "sum", wi_divide_up(count, site->values[SUMMED]), 1);
    wi_kernel_result(sum);
    wi_kernel_scratch(sum, 0);
    wi_kernel_long(sum, count);
    wi_kernel_int(sum, ranges);
    return WEFT_OK;
}

static double seconds_of(const wi_kernel_site *site, double flops) {
    const wi_attention_sizes s = wi_attention_sizes_of(site);
    const bool engine = site->values[ENGINE];
    const int64_t filled = wi_divide_up(s.d, 32) * 32 + wi_divide_up(s.dv, 32) * 32;
    const double waste = engine ? (double)filled / (double)(s.d + s.dv) : 1.0;
    return wi_build_fraction(site->device, build_seconds) +
           flops * waste / (site->device->peak_f32 * (engine ? engine_share : units_share));
}

/* Each lane computes a query, and two vectors are computed at a time, so queries are counted in multiples of 32. */
static double forward_cost(const wi_kernel_site *site) {
    wi_attention_sizes s = wi_attention_sizes_of(site);
    s.queries = wi_divide_up(s.queries, 32) * 32;
    return seconds_of(site, wi_attention_forward_flops(&s));
}

static double gradient_cost(const wi_kernel_site *site) {
    const wi_attention_sizes s = wi_attention_sizes_of(site);
    return seconds_of(site, wi_attention_gradient_flops(&s));
}

#define RECORD(spelling, op, way)                                                                            \
    .name = (spelling), .ops = {&(op)}, .file = "attention_cpu.cl", .parameters = parameters,                \
    .cost = way##_cost, .prepare = prepare_##way
#define UNITS .variants = variants, .needs = {.classes = WI_ON_CPU}
#define ENGINES                                                                                              \
    WI_AMX_FORMATS, .headers = engine_headers, .variants = engine_variants, .accepts = wi_kernel_op_is_f32,  \
                    .needs = {.classes = WI_ON_CPU, .engines = WI_ENGINE_AMX_BF16}

static const char *const engine_headers[] = {"amx.clh", NULL};

const wi_implementation wi_attention_amx = {
    RECORD("attention_amx", wi_op_attention_forward, forward), ENGINES};
const wi_implementation wi_attention_amx_gradient = {
    RECORD("attention_gradient_amx", wi_op_attention_gradient, gradient), ENGINES};
const wi_implementation wi_attention_cpu = {RECORD("attention_cpu", wi_op_attention_forward, forward), UNITS};
const wi_implementation wi_attention_cpu_gradient = {
    RECORD("attention_gradient_cpu", wi_op_attention_gradient, gradient), UNITS};
