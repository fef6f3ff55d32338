/* 3 x 3 convolutions of stride 1 on class cpu by Winograd's F(4 x 4, 3 x 3): the weight is transformed, then one launch computes
 * strips of tiles. See cl_kernels/convolution/conv_winograd_cpu.cl. */
#include "base/integers.h"
#include "cl/quirks.h"
#include "kernels/convolution/conv_winograd.h"
#include "kernels/cost.h"
#include "kernels/product/gemm_shared.h"

enum { ROWS = WI_WINOGRAD_ROWS, COLUMNS = WI_WINOGRAD_COLUMNS, STEP = WI_WINOGRAD_STEP };

/* Transformed weights with more floats than this are *large*: they do not fit in a near cache. */
static int64_t large_floats(const wi_kernel_site *site) {
    return 4 * wi_device_near_floats(site->device);
}

/* The most floats of the room of a work-item: a part of a near cache, or ten near caches if the weights are large. */
static int64_t most_of_room(const wi_kernel_site *site, bool large) {
    const int64_t near = wi_device_near_floats(site->device);
    return large ? 10 * near : near * 5 / 16;
}

/* The points of a tile, whose side has STEP results, of three taps each. */
static int64_t points_of(const int *p) {
    return (int64_t)(p[STEP] + 2) * (p[STEP] + 2);
}

/* How the work is divided. A work-item has a room in scratch memory for the pixels and products of a block of tiles. */
typedef struct wi_winograd {
    int64_t panels, tiles, strips, strip, spans, span;
    int64_t block, together; /* tiles and panels that are computed at once */
    bool panels_near;        /* do all panels stay in a near cache? */
    int64_t weights, room;   /* floats */
} wi_winograd;

static int64_t tiles_of(const wi_conv_geometry *w, const int *p) {
    return w->images * wi_divide_up(w->made[1], p[STEP]) * wi_divide_up(w->made[2], p[STEP]);
}

/* Channels of a tile's pixels, rounded up to vectors of 16. */
static int64_t width_of(const wi_conv_geometry *w) {
    return wi_divide_up(w->channels, 16) * 16;
}

/* Small weights are read from a near cache again and again, and the room fits in the nearest cache. Large weights come from
 * memory; then a room that does not fit in a cache is faster, because the weights are read less often. */
static wi_winograd winograd_of(const wi_kernel_site *site, const wi_conv_geometry *w) {
    const int *const p = site->values;
    wi_winograd cut = {.panels = wi_divide_up(w->filters, p[COLUMNS]), .tiles = tiles_of(w, p)};
    cut.weights = w->groups * cut.panels * points_of(p) * (w->channels * p[COLUMNS] + 16);
    const bool large = cut.weights > large_floats(site);
    cut.panels_near = cut.weights <= wi_device_near_floats(site->device);
    const int64_t units = wi_max64(1, site->device->units / w->groups);
    cut.strips = wi_max64(1, wi_min64(units, cut.tiles / (large ? 5 * p[ROWS] : p[ROWS])));
    while (units % cut.strips != 0) cut.strips--;
    cut.strip = wi_divide_up(cut.tiles, cut.strips);
    cut.strips = wi_divide_up(cut.tiles, cut.strip);
    cut.span = wi_divide_up(cut.panels, wi_min64(cut.panels, units / cut.strips));
    cut.spans = wi_divide_up(cut.panels, cut.span);
    cut.together = wi_min64(cut.span, large ? 8 : 2);
    const int64_t tile = points_of(p) * (width_of(w) + cut.together * p[COLUMNS]); /* elements */
    const int64_t fits = wi_max64(1, most_of_room(site, large) / tile / p[ROWS]);
    cut.block =
        wi_divide_up(wi_divide_up(cut.strip, wi_divide_up(cut.strip, fits * p[ROWS])), p[ROWS]) * p[ROWS];
    cut.room = points_of(p) * (cut.block * (width_of(w) + cut.together * p[COLUMNS]) + 2 * 16);
    return cut;
}

static bool accepts(const wi_kernel_site *site) {
    const wi_conv_geometry *const w = site->product->convolution;
    const int *const p = site->values;
    const double limit = INT32_MAX - 4096;
    bool fits = wi_conv_is_square_of_three(w);
    for (int i = 1; i < 3; i++) fits = fits && wi_conv_meets_image(w, i);
    return fits && (double)tiles_of(w, p) * p[STEP] * p[STEP] <= limit &&
           (double)w->channels * (double)w->channels <= limit &&
           (double)w->filters * (double)w->groups <= limit;
}

/* The factors count in multiply-adds of the products, and are from measurements. The cost of the transforms is proportional to
 * the number of pixels and of products. */
static double cost(const wi_kernel_site *site) {
    const wi_conv_geometry *const w = site->product->convolution;
    const wi_winograd cut = winograd_of(site, w);
    const int *const p = site->values;
    const double tiles = (double)cut.tiles, channels = (double)w->channels, groups = (double)w->groups;
    const double points = (double)points_of(p);
    const double rows = (double)wi_divide_up(cut.tiles, p[ROWS]) * p[ROWS];
    const double columns = (double)wi_divide_up(w->filters, 16) * 16;
    const double products = points * rows * channels * columns;
    const double between = points * tiles * ((double)width_of(w) + columns);
    const bool fixed = site->fixed & WI_CONV_WEIGHT;
    const double transforming =
        fixed ? 0.0 : (cut.weights > large_floats(site) ? 180 : 60) * (double)cut.weights;
    const double moving = weft_dtype_size(site->formats[0]) < sizeof(float) ? 14 : 23;
    const double all = groups * (1.15 * products + moving * between) + transforming;
    return wi_work_seconds(site->device, &(wi_work){.operations = WI_CONV_TILE_OPERATIONS * all,
                                             .bytes = wi_conv_bytes(w),
                                             .groups = (double)(cut.strips * cut.spans * w->groups),
                                             .launches = fixed ? 1 : 2,
                                             .build_seconds = 0.5});
}

/* Convolutions with small weights must save a third of the time: networks with few channels have many layers, in which rounding
 * errors grow. */
static double margin(const wi_kernel_site *site) {
    const bool large = winograd_of(site, site->product->convolution).weights > large_floats(site);
    return large || wi_dtype_rounds(site->precision) ? wi_conv_winograd_margin(site) : 1.5;
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_conv_geometry *const w = site->product->convolution;
    const wi_winograd cut = winograd_of(site, w);
    wi_conv_winograd_weights_launch(plan, w, cut.panels);
    wi_kernel_launch *const launch =
        wi_conv_winograd_tiles_launch(plan, w, cut.strips, cut.spans, cut.weights, cut.room);
    wi_kernel_ints(
        launch, WI_KERNEL_NUMBERS(cut.strip, cut.block, cut.span * site->values[COLUMNS], cut.together,
                    cut.panels_near, w->images, w->channels, w->filters, w->read[1], w->read[2], w->made[1],
                    w->made[2], wi_conv_before(w, 1), wi_conv_before(w, 2)));
    wi_kernel_longs(launch, WI_KERNEL_NUMBERS(w->image, w->step[1], w->step[2]));
    return WEFT_OK;
}

const wi_implementation wi_conv_winograd_cpu = {.name = "winograd",
    .ops = {&wi_op_conv, &wi_op_conv_data},
    .needs = {.classes = WI_ON_CPU, .without = WI_QUIRK_SCALAR_COMPILER},
    .file = "conv_winograd_cpu.cl",
    .headers = wi_conv_winograd_headers,
    .parameters = wi_conv_winograd_parameters,
    .variants = wi_conv_winograd_variants,
    .accepts = accepts,
    .cost = cost,
    .margin = margin,
    .prepare = prepare,
    WI_GEMM_FORMATS};
