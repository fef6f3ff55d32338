/* Convolution on class cpu: the weight is packed, then one launch computes strips of the result. See
 * cl_kernels/convolution/conv_cpu.cl. */
#include "base/integers.h"
#include "cl/quirks.h"
#include "kernels/convolution/conv_product.h"
#include "kernels/cost.h"
#include "kernels/product/gemm_shared.h"

/* A tile is ROWS x COLUMNS, as in gemm_cpu.c. DEPTH: the most steps of k for which windows are copied at once. STRIP: the most
 * rows of a work-item. PANELS: the most panels of COLUMNS filters of a work-item. */
enum { ROWS, COLUMNS, DEPTH, STRIP, PANELS };

static const char *const parameters[] = {[ROWS] = "WEFT_CONV_ROWS",
    [COLUMNS] = "WEFT_CONV_COLUMNS",
    [DEPTH] = "WEFT_CONV_DEPTH",
    [STRIP] = "WEFT_CONV_STRIP",
    [PANELS] = "WEFT_CONV_PANELS",
    NULL};

static const wi_variant variants[] = {
    {"f32", {[ROWS] = 13, [COLUMNS] = 32, [DEPTH] = 256, [STRIP] = 520, [PANELS] = 8}}, {0}};

/* FEW: with at most this many tiles per core, the work is also divided along the filters. SMALL: convolutions with at most this
 * many multiply-adds are too small to wake another core. ITEM: operations that each work-item costs besides its multiply-adds. */
enum { FEW = 8, SMALL = 1 << 18, ITEM = 1 << 16 };

static bool accepts(const wi_kernel_site *site) {
    const wi_conv_geometry *const w = site->product->convolution;
    const double most = INT32_MAX - 4096;
    const double positions = wi_conv_positions(w);
    return positions <= most && (double)wi_conv_terms(w) * site->values[COLUMNS] <= most &&
           (double)w->filters * (double)w->groups <= most && (double)wi_conv_phases(w) * positions <= most;
}

/* The kernel copies windows before it multiplies them: a whole row of taps at once, or in a data gradient each tap alone. */
static double cost(const wi_kernel_site *site) {
    const wi_conv_geometry *const w = site->product->convolution;
    const int *const p = site->values;
    const double positions = (double)w->groups * wi_conv_positions(w), steps = wi_conv_steps(w);
    const double columns = (double)(wi_divide_up(w->filters, p[COLUMNS]) * p[COLUMNS]);
    const double copies = steps / (double)w->channels / (w->transposed ? 1.0 : (double)w->taps[2]);
    const bool large = positions * steps * (double)w->filters > SMALL;
    const double items = (large ? 2.0 * (double)site->device->units : 1.0);
    const double packed =
        (double)(wi_divide_up(w->filters, p[COLUMNS]) * wi_divide_up(w->channels, 16) * w->groups);
    const bool fixed = site->fixed & WI_CONV_WEIGHT;
    const double work = WI_CONV_TILE_OPERATIONS * positions * (1.1 * steps * columns + 600.0 * copies);
    return wi_work_seconds(
        site->device, &(wi_work){.operations = work + ITEM * (items + (fixed ? 0.0 : packed)),
                          .bytes = wi_conv_bytes(w),
                          .groups = items,
                          .launches = fixed ? 1 : 2,
                          .build_seconds = 0.5});
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_conv_geometry *const w = site->product->convolution;
    const int *const p = site->values;
    const int64_t units = site->device->units;
    const int64_t panels = wi_divide_up(w->filters, p[COLUMNS]), steps = wi_conv_terms(w),
                  phases = wi_conv_phases(w), tiles = wi_divide_up(wi_conv_phase_positions(w), p[ROWS]);
    int64_t spans = wi_divide_up(panels, p[PANELS]);
    /* With few rows the work is divided along the filters, so that each part of the weight is read by one core only. */
    if (tiles <= FEW * units && w->groups * phases == 1 && w->flops / 2 > SMALL)
        spans = wi_min64(panels, wi_divide_up(spans, units) * units);
    const int64_t span = wi_divide_up(panels, spans) * p[COLUMNS], others = spans * w->groups * phases;
    /* The smallest number of strips that gives every core the same number of work-items. */
    int64_t strips = wi_divide_up(tiles, p[STRIP] / p[ROWS]);
    const int64_t least = tiles <= FEW * units ? units : 2 * units;
    if (w->flops / 2 > SMALL) {
        while (strips < tiles && (strips * others < least || strips * others % units != 0)) strips++;
    }
    const int64_t strip = wi_divide_up(tiles, strips) * p[ROWS];
    strips = wi_divide_up(tiles * p[ROWS], strip);
    wi_conv_add_macros(plan, w);
    plan->scratch_bytes = (size_t)(w->groups * panels * steps * p[COLUMNS]) * sizeof(float);
    wi_kernel_launch *const pack = wi_conv_panels_launch(plan, "pack", w, panels);
    wi_conv_add_weight(pack, w);
    wi_kernel_packs(plan, WI_CONV_WEIGHT, plan->scratch_bytes);
    wi_kernel_launch *const launch = wi_kernel_launch_3d(plan, "windows", phases * strips, spans, w->groups);
    launch->has_epilogue = true;
    wi_kernel_input(launch, 0);
    wi_kernel_scratch(launch, 0);
    wi_kernel_long(launch, wi_conv_read_elements(w));
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(strips, strip, span));
    wi_conv_add_geometry(launch, w);
    return WEFT_OK;
}

static const char *const headers[] = {"conv_walk_cpu.clh", NULL};

const wi_implementation wi_conv_cpu = {.name = "conv_cpu",
    .ops = {&wi_op_conv, &wi_op_conv_data},
    .needs = {.classes = WI_ON_CPU, .without = WI_QUIRK_SCALAR_COMPILER},
    .file = "conv_cpu.cl",
    .headers = headers,
    .parameters = parameters,
    .variants = variants,
    .accepts = accepts,
    .cost = cost,
    .prepare = prepare,
    WI_GEMM_FORMATS};
