/* Convolution in bf16 by the matrix engine AMX: the weight is packed, then one launch computes strips of the result. See
 * cl_kernels/convolution/conv_cpu_amx.cl. */
#include "base/integers.h"
#include "cl/matrix_engine.h"
#include "kernels/convolution/conv_product.h"
#include "kernels/cost.h"
#include "kernels/product/gemm_shared.h"

/* DEPTH: after this many steps of k the sums are stored in private memory, so that the windows of 32 rows (42 KB) stay in the
 * nearest caches. SUMS: the most floats of these sums; 512 KB stay in the second-level cache, beside the part of the weight that
 * is read again and again. PACKED: blocks of k that a work-item packs. SIDE: rows and columns of a block, which are those of two
 * tiles of the engine. */
enum { DEPTH, SUMS, PACKED, SIDE };

static const char *const parameters[] = {[DEPTH] = "WEFT_CONV_AMX_DEPTH",
    [SUMS] = "WEFT_CONV_AMX_SUMS",
    [PACKED] = "WEFT_CONV_AMX_PACKED",
    [SIDE] = "WEFT_CONV_AMX_SIDE",
    NULL};

/* BLOCK: rows, columns or steps of k of a block. SPAN: the most columns of a work-item. STRIP: the most rows of a work-item. */
enum { BLOCK = 32, SPAN = 512, STRIP = 1024, BLOCK_WORDS = BLOCK * BLOCK / 2 };

static const wi_variant variants[] = {
    {"bf16", {[DEPTH] = 640, [SUMS] = 128 << 10, [PACKED] = 4, [SIDE] = BLOCK}}, {0}};

/* Seconds that it takes to begin the copy of a line of a window, to copy 32 elements of the line, to store an element of the
 * result, to pack an element of the weight, and to start a work-item; and to compile the kernels. */
static const double line_seconds = 6e-9, copy_seconds = 1.5e-9, store_seconds = 0.12e-9,
                    pack_seconds = 0.8e-9, item_seconds = 2e-6, build_seconds = 0.6;

/* The words of a packed panel. Each phase of a data gradient begins a new block. */
static int64_t panel_words(const wi_conv_geometry *w) {
    return (wi_divide_up(wi_conv_terms(w), BLOCK) + wi_conv_phases(w)) * BLOCK_WORDS;
}

/* How the work is divided: a work-item computes `strip` rows and `span` panels. */
typedef struct wi_cut {
    int64_t strip, strips, span, spans;
} wi_cut;

/* Chooses the smallest number of strips that gives every core the same number of work-items. */
static wi_cut cut_of(const wi_conv_geometry *w, const int *p, int64_t units) {
    const int64_t panels = wi_divide_up(w->filters, BLOCK), rows = wi_conv_phase_positions(w);
    wi_cut cut = {.spans = wi_divide_up(w->filters, SPAN)};
    cut.span = wi_divide_up(panels, cut.spans);
    cut.spans = wi_divide_up(panels, cut.span);
    const int64_t most = wi_min64(STRIP, p[SUMS] / (cut.span * BLOCK)) / BLOCK;
    const int64_t blocks = wi_divide_up(rows, BLOCK), others = cut.spans * w->groups * wi_conv_phases(w);
    cut.strips = wi_divide_up(blocks, most);
    while (cut.strips < blocks && cut.strips * others % units != 0) cut.strips++;
    cut.strip = wi_divide_up(blocks, cut.strips) * BLOCK;
    cut.strips = wi_divide_up(rows, cut.strip);
    return cut;
}

static bool accepts(const wi_kernel_site *site) {
    const wi_conv_geometry *const w = site->product->convolution;
    const double most = INT32_MAX - 4096;
    const double positions = wi_conv_positions(w);
    return positions <= most && (double)wi_conv_terms(w) * BLOCK <= most &&
           (double)w->filters * (double)w->groups <= most && (double)wi_conv_phases(w) * positions <= most;
}

/* Bytes of memory traffic. Each element of the result is counted as 16 bits. */
static double bytes_of(const wi_kernel_site *site, const wi_conv_geometry *w) {
    double read = (double)w->images * (double)(w->channels * w->groups);
    for (int i = 0; i < 3; i++) read *= (double)w->read[i];
    const double made = wi_conv_positions(w) * (double)(w->filters * w->groups);
    const double weight = (double)(w->groups * w->filters) * (double)wi_conv_terms(w);
    return read * (double)weft_dtype_size(site->formats[0]) + 2.0 * made +
           weight * ((double)weft_dtype_size(site->formats[1]) + 4.0);
}

/* Seconds of multiplying, copying and storing on one unit. */
static double multiplying(const wi_conv_geometry *w, const wi_cut *cut, const wi_device_profile *device) {
    const double rows = (double)wi_divide_up((int64_t)wi_conv_positions(w), BLOCK) * (double)w->groups;
    const double steps = wi_conv_steps(w), blocks = steps / BLOCK + 1.0;
    const bool joined = !w->transposed && w->dilation[2] == 1 && w->step[2] == w->channels;
    const double lines = steps / (double)w->channels / (joined ? (double)w->taps[2] : 1.0);
    const double multiply = 2.0 * BLOCK * BLOCK * BLOCK / device->peak_engine;
    const double panels = (double)wi_divide_up(w->filters, BLOCK / 2) / 2.0;
    const double copying =
        BLOCK * (line_seconds * (lines + 1.0) + copy_seconds * blocks) * (double)cut->spans;
    return rows * (blocks * panels * multiply + copying + BLOCK * store_seconds * (double)w->filters);
}

static double cost(const wi_kernel_site *site) {
    int64_t first;
    const wi_conv_geometry w = wi_conv_straightened(site->product->convolution, &first);
    const wi_device_profile *const device = site->device;
    const wi_cut cut = cut_of(&w, site->values, device->units);
    const int64_t items = cut.strips * cut.spans * w.groups * wi_conv_phases(&w);
    const double used = (double)wi_divide_up(items, device->units) / (double)items;
    const double weight = (double)(w.groups * w.filters) * (double)wi_conv_terms(&w);
    const double arithmetic = used * (multiplying(&w, &cut, device) + (double)items * item_seconds);
    const double traffic = wi_traffic_seconds(device, bytes_of(site, &w), 0.0);
    const bool fixed = site->fixed & WI_CONV_WEIGHT;
    const double packing = fixed ? 0.0 : pack_seconds * weight / (double)device->units;
    return (fixed ? 1.0 : 2.0) * (device->launch_seconds + device->wake_seconds) +
           wi_build_fraction(device, build_seconds) + packing + (arithmetic > traffic ? arithmetic : traffic);
}

static void pack(const wi_conv_geometry *w, int64_t first, const int *p, wi_kernel_plan *plan) {
    const int64_t panels = wi_divide_up(w->filters, BLOCK), phases = wi_conv_phases(w);
    plan->scratch_bytes = (size_t)(w->groups * panels * panel_words(w)) * sizeof(uint32_t);
    wi_kernel_launch *const launch = wi_kernel_launch_3d(plan, "pack", panels,
        wi_divide_up(wi_divide_up(wi_conv_terms(w), BLOCK), p[PACKED]), w->groups * phases);
    wi_kernel_input(launch, 1);
    wi_kernel_scratch(launch, 0);
    wi_kernel_longs(launch, WI_KERNEL_NUMBERS(panel_words(w), first));
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(phases, w->channels, w->filters));
    wi_conv_add_weight(launch, w);
    wi_kernel_packs(plan, WI_CONV_WEIGHT, plan->scratch_bytes);
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    int64_t first;
    const wi_conv_geometry w = wi_conv_straightened(site->product->convolution, &first);
    const wi_cut cut = cut_of(&w, site->values, site->device->units);
    wi_conv_add_macros(plan, &w);
    pack(&w, first, site->values, plan);
    wi_kernel_launch *const launch =
        wi_kernel_launch_3d(plan, "windows", wi_conv_phases(&w) * cut.strips, cut.spans, w.groups);
    launch->has_epilogue = true;
    wi_kernel_input(launch, 0);
    wi_kernel_scratch(launch, 0);
    wi_kernel_longs(launch, WI_KERNEL_NUMBERS(panel_words(&w), wi_conv_read_elements(&w)));
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(cut.strips, cut.strip, cut.span * BLOCK));
    wi_conv_add_geometry(launch, &w);
    return WEFT_OK;
}

static const char *const headers[] = {"amx.clh", "conv_walk_cpu.clh", "conv_cpu_amx.clh", NULL};

const wi_implementation wi_conv_cpu_amx = {.name = "amx",
    .ops = {&wi_op_conv, &wi_op_conv_data},
    WI_AMX_FORMATS,
    .needs = {.classes = WI_ON_CPU, .engines = WI_ENGINE_AMX_BF16},
    .file = "conv_cpu_amx.cl",
    .headers = headers,
    .parameters = parameters,
    .variants = variants,
    .accepts = accepts,
    .cost = cost,
    .prepare = prepare};
