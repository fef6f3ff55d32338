/* Convolutions of stride 1 with rows of 5 taps on class cpu by Winograd's F(4, 5) along a row: the weight is transformed, then
 * one launch computes images. See cl_kernels/convolution/conv_winograd_row_cpu.cl. */
#include "base/integers.h"
#include "cl/quirks.h"
#include "kernels/convolution/conv_winograd.h"
#include "kernels/cost.h"
#include "kernels/product/gemm_shared.h"

enum { ROWS = WI_WINOGRAD_ROWS, COLUMNS = WI_WINOGRAD_COLUMNS, STEP = WI_WINOGRAD_STEP };

enum { TAPS = 5 }; /* of a row */

static int64_t points_of(const int *p) {
    return p[STEP] + TAPS - 1;
}

/* How the work is divided. A work-item has a room in scratch memory for the pixels and products of some rows of some images. */
typedef struct wi_rows {
    int64_t panels, across, shares, share, spans, span;
    int64_t block, band, together; /* images, rows and panels that are computed at once */
    int64_t weights, room;         /* floats */
} wi_rows;

static int64_t pitch_of(const wi_conv_geometry *w) {
    return wi_divide_up(w->channels, 16) * 16 + 16;
}

static int64_t room_of(
    const wi_conv_geometry *w, const int *p, const wi_rows *cut, int64_t block, int64_t band) {
    const int64_t line = block * cut->across, rows = wi_divide_up(band * line, p[ROWS]) * p[ROWS];
    return points_of(p) *
           ((rows + (w->taps[1] - 1) * line) * pitch_of(w) + rows * cut->together * p[COLUMNS] + 2 * 16);
}

static wi_rows rows_of(const wi_kernel_site *site, const wi_conv_geometry *w) {
    const int *const p = site->values;
    wi_rows cut = {.panels = wi_divide_up(w->filters, p[COLUMNS]),
        .across = wi_divide_up(w->made[2], p[STEP]),
        .block = 1};
    cut.weights = w->groups * cut.panels * points_of(p) * (w->taps[1] * w->channels * p[COLUMNS] + 16);
    const int64_t near = wi_device_near_floats(site->device);
    const bool large = cut.weights > 4 * near;
    const int64_t units = wi_max64(1, site->device->units / w->groups);
    cut.shares = wi_min64(units, w->images);
    while (units % cut.shares != 0) cut.shares--;
    cut.share = wi_divide_up(w->images, cut.shares);
    cut.shares = wi_divide_up(w->images, cut.share);
    cut.span = wi_divide_up(cut.panels, wi_min64(cut.panels, units / cut.shares));
    cut.spans = wi_divide_up(cut.panels, cut.span);
    cut.together = wi_min64(cut.span, large ? 8 : 2);
    /* The room holds several whole images, or a band of rows of one image. It is so small that it stays in a near cache, unless the
     * weights are large. */
    const int64_t most = large ? 10 * near : near * 25 / 32;
    cut.band = w->made[1];
    while (cut.band > TAPS && room_of(w, p, &cut, 1, cut.band) > most) cut.band = wi_divide_up(cut.band, 2);
    while (cut.block < cut.share && room_of(w, p, &cut, cut.block + 1, cut.band) <= most) cut.block++;
    cut.room = room_of(w, p, &cut, cut.block, cut.band);
    return cut;
}

static bool accepts(const wi_kernel_site *site) {
    const wi_conv_geometry *const w = site->product->convolution;
    const int *const p = site->values;
    const double limit = INT32_MAX - 4096;
    bool fits = wi_conv_is_flat(w) && w->taps[2] == TAPS;
    for (int i = 0; i < 3; i++) fits = fits && w->stride[i] == 1 && w->dilation[i] == 1;
    for (int i = 1; i < 3; i++) fits = fits && wi_conv_meets_image(w, i);
    const double positions =
        (double)w->images * (double)(w->made[1] + w->taps[1]) * (double)(w->made[2] + TAPS);
    return fits && positions <= limit &&
           (double)w->taps[1] * (double)w->channels * p[COLUMNS] <= limit / (double)points_of(p) &&
           (double)(w->made[2] + TAPS) * (double)(2 * w->taps[1]) * (double)pitch_of(w) <= limit &&
           (double)w->filters * (double)w->groups <= limit;
}

/* The factors count in multiply-adds of the products, and are from measurements, as in conv_winograd_cpu.c. */
static double cost(const wi_kernel_site *site) {
    const wi_conv_geometry *const w = site->product->convolution;
    const wi_rows cut = rows_of(site, w);
    const double lines = (double)w->images * (double)w->made[1], groups = (double)w->groups;
    const double rows = lines * (double)cut.across, channels = (double)w->channels;
    const double points = (double)points_of(site->values);
    const double columns = (double)wi_divide_up(w->filters, 16) * 16;
    const double products = points * rows * (double)w->taps[1] * channels * columns;
    const double overlap = 1.0 + (double)(w->taps[1] - 1) / (double)cut.band;
    const double between = points * rows * (((double)pitch_of(w) - 16) * overlap + columns);
    const bool fixed = site->fixed & WI_CONV_WEIGHT;
    const double transforming = fixed ? 0.0 : 180 * (double)cut.weights;
    const double all = groups * (1.15 * products + 16 * between) + transforming;
    return wi_work_seconds(site->device, &(wi_work){.operations = WI_CONV_TILE_OPERATIONS * all,
                                             .bytes = wi_conv_bytes(w),
                                             .groups = (double)(cut.shares * cut.spans * w->groups),
                                             .launches = fixed ? 1 : 2,
                                             .build_seconds = 0.5});
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_conv_geometry *const w = site->product->convolution;
    const wi_rows cut = rows_of(site, w);
    wi_kernel_int(wi_conv_winograd_weights_launch(plan, w, cut.panels), w->taps[1]);
    wi_kernel_launch *const launch =
        wi_conv_winograd_tiles_launch(plan, w, cut.shares, cut.spans, cut.weights, cut.room);
    wi_kernel_ints(
        launch, WI_KERNEL_NUMBERS(cut.share, cut.block, cut.band, cut.span * site->values[COLUMNS],
                    cut.together, w->images, w->channels, w->filters, w->taps[1], w->read[1], w->read[2],
                    w->made[1], w->made[2], wi_conv_before(w, 1), wi_conv_before(w, 2)));
    wi_kernel_longs(launch, WI_KERNEL_NUMBERS(w->image, w->step[1], w->step[2]));
    return WEFT_OK;
}

const wi_implementation wi_conv_winograd_row_cpu = {.name = "winograd_row",
    .ops = {&wi_op_conv, &wi_op_conv_data},
    .needs = {.classes = WI_ON_CPU, .without = WI_QUIRK_SCALAR_COMPILER},
    .file = "conv_winograd_row_cpu.cl",
    .headers = wi_conv_winograd_headers,
    .parameters = wi_conv_winograd_parameters,
    .variants = wi_conv_winograd_variants,
    .accepts = accepts,
    .cost = cost,
    .margin = wi_conv_winograd_margin,
    .prepare = prepare,
    WI_GEMM_FORMATS};
