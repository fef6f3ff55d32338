/* Convolution with one channel per group on class gpu: the weight is packed, then each item computes a strip of the result, for a
 * quad of channels or, if quads cannot be read at once, for one channel. See cl_kernels/convolution/conv_depthwise_gpu.cl. */
#include "kernels/convolution/conv_depthwise_gpu.h"
#include "base/integers.h"
#include "kernels/convolution/conv_product.h"
#include "kernels/cost.h"
#include "kernels/product/gemm_shared.h"
#include <math.h>

/* GROUP: work-items of a group. ROWS: rows of the result that a group computes. LANES: channels of an item. LONG: do offsets have
 * 64 bits? */
enum { GROUP, ROWS, LANES, LONG };

static const char *const parameters[] = {[GROUP] = "WEFT_DEPTHWISE_GROUP",
    [ROWS] = "WEFT_DEPTHWISE_ROWS",
    [LANES] = "WEFT_DEPTHWISE_LANES",
    [LONG] = "WEFT_DEPTHWISE_LONG",
    NULL};
static const wi_variant variants[] = {{"f32", {64, 4, 4, 0}}, {"long", {64, 4, 4, 1}}, {0}};
static const wi_variant each_variants[] = {{"f32", {64, 4, 1, 0}}, {"long", {64, 4, 1, 1}}, {0}};

static wi_limits limits(const int *p) {
    return (wi_limits){.group = (size_t)p[GROUP], .items = {(size_t)p[GROUP]}};
}

int64_t wi_depthwise_taps(int64_t taps) {
    int64_t most = wi_min64(taps, WI_DEPTHWISE_MOST_TAPS);
    while (taps % most != 0) most--;
    return most;
}

int64_t wi_depthwise_wide(int64_t items, int64_t most, int64_t lanes) {
    int64_t wide = 1;
    while (wide < items && wide < most && wide * lanes < 32) wide *= 2;
    return wide;
}

/* Rows of the result in all images. */
static double lines_of(const wi_conv_geometry *w) {
    return (double)w->images * (double)w->made[0] * (double)w->made[1];
}

/* The part of a row of the result that an item computes. `places`: its positions. `taps`: the taps of a row for which the loop is
 * unrolled; `stride` and `dilation`: their stride and dilation in pixels. `first`: the first pixel that the first strip reads.
 * `advance`: pixels from one strip to the next. `origin`: the macro ORIGIN of the template, which says where position 0 of a data
 * gradient is among the pixels. */
typedef struct strip {
    int64_t places, taps, stride, dilation, first, advance, origin;
} strip;

/* A strip of one position and one unrolled tap, for windows whose pixels are too far apart for larger strips. */
static strip walk_of(const wi_conv_geometry *w) {
    return (strip){.places = 1,
        .taps = 1,
        .stride = 1,
        .dilation = 1,
        .first = w->transposed ? 0 : -w->before[2],
        .advance = w->transposed ? 0 : w->stride[2]};
}

static strip strip_of(const wi_conv_geometry *w) {
    const int64_t stride = w->stride[2], dilation = w->dilation[2];
    strip s = {.places = WI_DEPTHWISE_PLACES,
        .taps = wi_depthwise_taps(w->taps[2]),
        .stride = stride,
        .dilation = dilation};
    const int64_t reach = (s.taps - 1) * dilation;
    if (!w->transposed) {
        s.first = -w->before[2];
        s.advance = s.places * stride;
        return (s.places - 1) * stride + reach < WI_DEPTHWISE_PIXELS ? s : walk_of(w);
    }
    if (stride > s.places || (stride > 1 && s.taps < w->taps[2]) || reach >= WI_DEPTHWISE_PIXELS)
        return walk_of(w);
    s.places -= s.places % stride;
    s.advance = s.places / stride;
    const int64_t lowest = w->before[2] - reach, below = (lowest % stride + stride) % stride;
    s.first = (lowest - below) / stride;
    s.origin = s.first * stride - w->before[2];
    return s;
}

/* Do offsets of the image, in bytes, fit in 32 bits? */
static bool is_short(const wi_kernel_site *site) {
    const wi_conv_geometry *const w = site->product->convolution;
    double last = (double)(w->images - 1) * (double)w->image + (double)w->groups;
    bool forward = w->image >= 0;
    for (int i = 0; i < 3; i++) {
        last += (double)(w->read[i] - 1) * (double)w->step[i];
        forward = forward && w->step[i] >= 0;
    }
    return forward && last * (double)weft_dtype_size(site->formats[0]) <= WI_DEPTHWISE_SHORT;
}

/* Are the offsets of all pixels multiples of an item's channels? */
static bool is_aligned(const wi_kernel_site *site) {
    const wi_conv_geometry *const w = site->product->convolution;
    int64_t bits = w->groups | w->image | site->layouts[0].offset.actual;
    for (int i = 0; i < 3; i++) bits |= w->step[i];
    return bits % site->values[LANES] == 0;
}

static bool accepts(const wi_kernel_site *site) {
    const wi_conv_geometry *const w = site->product->convolution;
    const double most = INT32_MAX - 4096;
    return w->channels == 1 && w->filters == 1 && lines_of(w) <= most && (double)w->made[2] <= most &&
           (double)w->groups * (double)wi_conv_taps(w->taps) <= most && is_aligned(site) &&
           (site->values[LONG] || is_short(site));
}

/* stride / gcd(stride, dilation) */
static int64_t taps_between(int64_t stride, int64_t dilation) {
    int64_t divisor = stride, rest = dilation;
    while (rest != 0) {
        const int64_t next = divisor % rest;
        divisor = rest;
        rest = next;
    }
    return stride / divisor;
}

/* Sets the numbers of work-groups along channels, strips and rows. */
static void groups_of(const wi_kernel_site *site, const strip *s, int64_t groups[3]) {
    const wi_conv_geometry *const w = site->product->convolution;
    const int *const p = site->values;
    const int64_t items = w->groups / p[LANES], wide = wi_depthwise_wide(items, p[GROUP] / p[ROWS], p[LANES]);
    groups[0] = wi_divide_up(items, wide);
    groups[1] = wi_divide_up(wi_divide_up(w->made[2], s->places), p[GROUP] / p[ROWS] / wide);
    groups[2] = wi_divide_up((int64_t)lines_of(w), p[ROWS]);
}

/* In the estimate, `each` is the number of instructions per multiply-add. */
static double cost(const wi_kernel_site *site) {
    const wi_conv_geometry *const w = site->product->convolution;
    const strip s = strip_of(w);
    const double each =
        (site->values[LANES] == 1 ? 5.0 : 2.5) + site->values[LONG] + (s.places == 1 ? 2.5 : 0.0);
    int64_t groups[3];
    groups_of(site, &s, groups);
    return wi_work_seconds(site->device,
        &(wi_work){.operations = each * 2.0 * wi_conv_positions(w) * (double)w->groups * wi_conv_steps(w),
            .bytes = wi_conv_bytes(w),
            .groups = (double)groups[0] * (double)groups[1] * (double)groups[2],
            .launches = 2,
            .build_seconds = 0.3});
}

static void add_pack(wi_kernel_plan *plan, const wi_conv_geometry *w, int64_t group) {
    wi_kernel_launch *const launch =
        wi_kernel_launch_1d(plan, "pack", w->groups * wi_conv_taps(w->taps), group);
    wi_kernel_input(launch, 1);
    wi_kernel_scratch(launch, 0);
    wi_kernel_int(launch, w->groups);
    wi_kernel_ints(launch, w->taps, 3);
    wi_kernel_long(launch, w->w_group);
    wi_kernel_longs(launch, w->w_tap, 3);
    plan->scratch_bytes = (size_t)(w->groups * wi_conv_taps(w->taps)) * sizeof(float);
    wi_kernel_packs(plan, WI_CONV_WEIGHT, plan->scratch_bytes);
}

static void add_macros(wi_kernel_plan *plan, const wi_kernel_site *site, const strip *s) {
    const wi_conv_geometry *const w = site->product->convolution;
    const int *const p = site->values;
    wi_kernel_macro_int(plan, "WEFT_DEPTHWISE_TRANSPOSED", w->transposed);
    wi_kernel_macro_int(plan, "WEFT_DEPTHWISE_PLACES", s->places);
    wi_kernel_macro_int(plan, "WEFT_DEPTHWISE_TAPS", s->taps);
    wi_kernel_macro_int(plan, "WEFT_DEPTHWISE_STRIDE", s->stride);
    wi_kernel_macro_int(plan, "WEFT_DEPTHWISE_DILATION", s->dilation);
    wi_kernel_macro_int(plan, "WEFT_DEPTHWISE_ORIGIN", s->origin);
    wi_kernel_macro_int(
        plan, "WEFT_DEPTHWISE_WIDE", wi_depthwise_wide(w->groups / p[LANES], p[GROUP] / p[ROWS], p[LANES]));
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_conv_geometry *const w = site->product->convolution;
    const int64_t group = site->values[GROUP];
    const strip s = strip_of(w);
    int64_t groups[3];
    groups_of(site, &s, groups);
    add_macros(plan, site, &s);
    add_pack(plan, w, group);
    wi_kernel_launch *const launch =
        wi_kernel_launch_3d(plan, "depthwise", groups[0] * group, groups[1], groups[2]);
    launch->local[0] = (size_t)group;
    launch->has_epilogue = true;
    wi_kernel_input(launch, 0);
    wi_kernel_scratch(launch, 0);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(w->groups, (int64_t)lines_of(w), s.first, s.advance));
    for (int i = 0; i < 3; i++) wi_kernel_int(launch, taps_between(w->stride[i], w->dilation[i]));
    wi_conv_add_geometry(launch, w);
    return WEFT_OK;
}

#define DEPTHWISE(suffix, own, has_quads)                                                                    \
    const wi_implementation wi_conv_depthwise_##suffix = {.name = "depthwise_" #suffix,                      \
        .ops = {&wi_op_conv, &wi_op_conv_data},                                                              \
        .needs = {.classes = WI_ON_GPU, .limits = limits},                                                   \
        .file = "conv_depthwise_gpu.cl",                                                                     \
        .parameters = parameters,                                                                            \
        .variants = own,                                                                                     \
        .quads = has_quads,                                                                                  \
        .joins = has_quads,                                                                                  \
        .accepts = accepts,                                                                                  \
        .cost = cost,                                                                                        \
        .prepare = prepare,                                                                                  \
        WI_GEMM_FORMATS}

DEPTHWISE(gpu, variants, true);
DEPTHWISE(gpu_each, each_variants, false);
