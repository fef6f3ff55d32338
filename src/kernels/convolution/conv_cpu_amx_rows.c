/* Convolution in bf16 by the matrix engine AMX, which reads rows of the image instead of copied windows: the weight is packed,
 * then one launch computes strips of the result. See cl_kernels/convolution/conv_cpu_amx_rows.cl. */
#include "base/integers.h"
#include "cl/matrix_engine.h"
#include "kernels/convolution/conv_product.h"
#include "kernels/cost.h"
#include "kernels/product/gemm_shared.h"

/* RING: how many numbers of the image's rows fit in private memory (96 KB), where the rows form a ring. Most shapes need far
 * less. */
enum { RING };

static const char *const parameters[] = {[RING] = "WEFT_CONV_AMX_RING", NULL};
static const wi_variant variants[] = {{"bf16", {[RING] = 48 << 10}}, {0}};

/* TILE: the most positions of a tile. BLOCK: steps of k, or columns, of a block. ROOM: numbers that the copy of a row may write
 * behind the row's end. STRIP: the most pairs of tiles of a work-item. */
enum { TILE = 16, BLOCK = 32, BLOCK_WORDS = BLOCK * BLOCK / 2, ROOM = 32, STRIP = 64 };

/* Seconds that it takes to begin the copy of a row of the image, to copy 32 numbers of the row, or one number if pixels cannot be
 * copied together; to begin a tile of sums; to store an element; to read a byte of a weight that does not fit in the second-level
 * cache; to pack an element of the weight; to start a work-item; and to compile the kernels. */
static const double line_seconds = 20e-9, copy_seconds = 1.5e-9, element_seconds = 0.4e-9,
                    tile_seconds = 20e-9, store_seconds = 0.12e-9, far_seconds = 0.016e-9,
                    pack_seconds = 0.8e-9, item_seconds = 2e-6, build_seconds = 0.6;
/* The measured time of a tile, as a share of the time at the engine's peak. A tile with fewer positions takes less time; with
 * vectors instead of an engine, the time is proportional to the positions. */
static const double engine_part = 0.75, vectors_part = 1.1;

/* How the result is divided: tiles of `height` positions, `across` of them in a row of the result. `line`: numbers of a row of taps.
 * `extent`: rows of the image that the taps span. The ring has `rows` rows, a power of two, `pitch` numbers apart. A work-item
 * computes `strip` of the `pairs` of tiles. */
typedef struct wi_cut {
    int64_t height, across, line, extent, rows, pitch, pairs, strip, strips;
} wi_cut;

static int64_t even(int64_t channels) {
    return channels + channels % 2;
}

/* Chooses the smallest number of strips that gives every core the same number of strips. */
static void cut_strips(wi_cut *cut, int64_t units) {
    cut->strips = wi_divide_up(cut->pairs, STRIP);
    while (cut->strips < cut->pairs && cut->strips % units != 0) cut->strips++;
    cut->strip = wi_divide_up(cut->pairs, cut->strips);
    cut->strips = wi_divide_up(cut->pairs, cut->strip);
}

static wi_cut cut_of(const wi_conv_geometry *w, int64_t units) {
    wi_cut cut = {.across = wi_divide_up(w->made[2], TILE), .line = w->taps[2] * even(w->channels)};
    cut.height = wi_divide_up(w->made[2], cut.across);
    cut.extent = (w->taps[1] - 1) * w->dilation[1] + 1;
    /* The tiles of a pair are in the same row of the result, or in neighbouring rows. */
    while (cut.rows < cut.extent + w->stride[1]) cut.rows = cut.rows ? 2 * cut.rows : 1;
    const int64_t pixels = (cut.across * cut.height - 1) * w->stride[2] + w->taps[2];
    cut.pitch = wi_divide_up(pixels * even(w->channels), BLOCK) * BLOCK + ROOM;
    cut.pairs = w->images * wi_divide_up(cut.across * w->made[1], 2);
    cut_strips(&cut, units);
    return cut;
}

static int64_t panel_words(const wi_conv_geometry *w) {
    return w->taps[1] * wi_divide_up(w->taps[2] * even(w->channels), BLOCK) * BLOCK_WORDS;
}

static bool accepts(const wi_kernel_site *site) {
    int64_t first;
    const wi_conv_geometry w = wi_conv_straightened(site->product->convolution, &first);
    const double most = INT32_MAX - 4096;
    if (w.transposed || !wi_conv_is_flat(&w) || w.groups > 1 || w.dilation[2] > 1 || w.made[2] < 1)
        return false;
    const double row = ((double)w.made[2] + TILE) * (double)w.stride[2] + (double)w.taps[2];
    const double rows = (double)w.taps[1] * (double)w.dilation[1] + (double)w.stride[1];
    if (row * rows * (double)(w.channels + 1) > most) return false;
    const wi_cut cut = cut_of(&w, site->device->units);
    return cut.rows * cut.pitch <= site->values[RING] && wi_conv_positions(&w) <= most &&
           wi_conv_steps(&w) * BLOCK <= most && (double)w.filters <= most;
}

/* Bytes of memory traffic. Each element of the result is counted as 16 bits. */
static double bytes_of(const wi_kernel_site *site, const wi_conv_geometry *w) {
    const double read = (double)w->images * (double)w->channels * (double)w->read[1] * (double)w->read[2];
    const double weight = wi_conv_steps(w) * (double)w->filters;
    return read * (double)weft_dtype_size(site->formats[0]) +
           2.0 * wi_conv_positions(w) * (double)w->filters +
           weight * ((double)weft_dtype_size(site->formats[1]) + 2.0);
}

/* Seconds of copying the rows of all images on one unit. */
static double copying(const wi_conv_geometry *w, const wi_cut *cut) {
    const double rows =
        (double)w->images * (double)(w->made[1] * wi_min64(w->stride[1], cut->extent) + cut->extent);
    const bool whole = w->step[2] == w->channels && w->channels % 2 == 0;
    const double row = whole ? copy_seconds * (double)cut->pitch / BLOCK
                             : element_seconds * (double)(w->read[2] * w->channels);
    return rows * (line_seconds + row);
}

/* Seconds of multiplying and storing on one unit. */
static double multiplying(const wi_conv_geometry *w, const wi_cut *cut, const wi_device_profile *device) {
    const double blocks = (double)(w->taps[1] * wi_divide_up(cut->line, BLOCK));
    const double panels = (double)wi_divide_up(w->filters, BLOCK / 2);
    const bool vectors = device->engines & WI_ENGINE_AVX512_BF16;
    const double rows =
        vectors ? vectors_part * 2.0 * (double)cut->height : engine_part * (double)(TILE + cut->height);
    const double multiply = rows * TILE * BLOCK / device->peak_engine;
    const double weight = 2.0 * blocks * BLOCK * (double)w->filters;
    const bool far = weight > 1.5 * (double)device->near_cache;
    const double pair =
        2.0 * panels * (tile_seconds + blocks * multiply) + (far ? weight * far_seconds : 0.0);
    return (double)cut->pairs * pair + store_seconds * wi_conv_positions(w) * (double)w->filters;
}

static double cost(const wi_kernel_site *site) {
    int64_t first;
    const wi_conv_geometry w = wi_conv_straightened(site->product->convolution, &first);
    const wi_device_profile *const device = site->device;
    const wi_cut cut = cut_of(&w, device->units);
    const double used = (double)wi_divide_up(cut.strips, device->units) / (double)cut.strips;
    const double arithmetic =
        used * (copying(&w, &cut) + multiplying(&w, &cut, device) + (double)cut.strips * item_seconds);
    const double traffic = wi_traffic_seconds(device, bytes_of(site, &w), 0.0);
    const bool fixed = site->fixed & WI_CONV_WEIGHT;
    const double packing =
        fixed ? 0.0 : pack_seconds * wi_conv_steps(&w) * (double)w.filters / (double)device->units;
    return (fixed ? 1.0 : 2.0) * (device->launch_seconds + device->wake_seconds) +
           wi_build_fraction(device, build_seconds) + packing + (arithmetic > traffic ? arithmetic : traffic);
}

static void pack(const wi_conv_geometry *w, int64_t first, wi_kernel_plan *plan) {
    const int64_t panels = wi_divide_up(w->filters, BLOCK);
    plan->scratch_bytes = (size_t)(panels * panel_words(w)) * sizeof(uint32_t);
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, "pack", panels, 1);
    launch->dimensions = 2;
    launch->global[1] = (size_t)w->taps[1];
    wi_kernel_input(launch, 1);
    wi_kernel_scratch(launch, 0);
    wi_kernel_longs(launch, WI_KERNEL_NUMBERS(panel_words(w), first));
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(w->channels, w->filters));
    wi_conv_add_weight(launch, w);
    wi_kernel_packs(plan, WI_CONV_WEIGHT, plan->scratch_bytes);
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    int64_t first;
    const wi_conv_geometry w = wi_conv_straightened(site->product->convolution, &first);
    const wi_cut cut = cut_of(&w, site->device->units);
    pack(&w, first, plan);
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, "rows", cut.strips, 1);
    launch->has_epilogue = true;
    wi_kernel_input(launch, 0);
    wi_kernel_scratch(launch, 0);
    wi_kernel_longs(launch, WI_KERNEL_NUMBERS(panel_words(&w), wi_conv_read_elements(&w)));
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(cut.strip, cut.height, cut.across, cut.rows - 1, cut.pitch));
    wi_conv_add_geometry(launch, &w);
    return WEFT_OK;
}

static const char *const headers[] = {"amx.clh", "conv_walk_cpu.clh", "conv_cpu_amx.clh", NULL};

const wi_implementation wi_conv_cpu_amx_rows = {.name = "amx_rows",
    .ops = {&wi_op_conv, &wi_op_conv_data},
    WI_AMX_FORMATS,
    .needs = {.classes = WI_ON_CPU, .engines = WI_ENGINE_AMX_BF16},
    .file = "conv_cpu_amx_rows.cl",
    .headers = headers,
    .parameters = parameters,
    .variants = variants,
    .accepts = accepts,
    .cost = cost,
    .prepare = prepare};
