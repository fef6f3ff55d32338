/* The weight's gradient of a convolution on class cpu. See cl_kernels/convolution/conv_weight_cpu.cl. */
#include "base/integers.h"
#include "kernels/convolution/conv_weight.h"
#include "kernels/cost.h"

/* PANELS: the most panels of filters of a work-item. POSITIONS: the most positions of a block. ROOM: the most floats of x of a
 * block. ROWS_OF_TWO, ROWS_OF_ONE: the most rows of a tile with two vectors of filters, and with one vector. */
enum { PANELS, POSITIONS, ROOM, ROWS_OF_TWO, ROWS_OF_ONE };

static const char *const parameters[] = {[PANELS] = "WEFT_CONV_WEIGHT_PANELS",
    [POSITIONS] = "WEFT_CONV_WEIGHT_POSITIONS",
    [ROOM] = "WEFT_CONV_WEIGHT_ROOM",
    [ROWS_OF_TWO] = "WEFT_CONV_WEIGHT_ROWS",
    [ROWS_OF_ONE] = "WEFT_CONV_WEIGHT_MOST",
    NULL};

static const wi_variant variants[] = {
    {"f32", {[PANELS] = 4, [POSITIONS] = 512, [ROOM] = 65536, [ROWS_OF_TWO] = 13, [ROWS_OF_ONE] = 24}}, {0}};

/* VECTOR: channels for which a copied pixel has room. LONGEST: the most positions of a segment of a row. FEW: if there are at
 * most this many channels, neighbouring pixels are copied together. */
enum { VECTOR = 16, LONGEST = 256, FEW = 12 };

/* How the work is divided. */
typedef struct wi_cut {
    bool joined;               /* is a row of taps one line in memory? Only with few channels */
    int64_t vectors;           /* vectors of 16 filters in a panel */
    int64_t tiles, tile;       /* number of tiles; rows of a tile, which are channels or elements of a line */
    int64_t length;            /* positions of a segment of a row */
    int64_t all, lines, block; /* number of segments in all, of a work-item, and of a block */
    int64_t panels, span, splits;
} wi_cut;

/* The number of pixels that the windows of `length` neighbouring positions read. */
static int64_t pixels_of(const wi_conv *conv, int64_t length) {
    return conv->taps[0] * conv->taps[1] *
           ((length - 1) * conv->stride[2] + (conv->taps[2] - 1) * conv->dilation[2] + 1);
}

/* Returns false if the window of a single position has more than ROOM floats, or if there are too many segments. */
static bool cut_work(wi_cut *cut, const wi_conv *conv, const int *p, int64_t units) {
    cut->joined =
        conv->groups == 1 && conv->dilation[2] == 1 && (conv->channels <= FEW || conv->channels == VECTOR);
    const int64_t pitch = cut->joined ? conv->channels : VECTOR;
    const int64_t rows = cut->joined ? conv->taps[2] * conv->channels : conv->channels;
    cut->vectors = conv->filters <= VECTOR ? 1 : 2;
    cut->tiles = wi_divide_up(rows, cut->vectors == 2 ? p[ROWS_OF_TWO]
                                    : cut->joined     ? p[ROWS_OF_ONE]
                                                      : VECTOR);
    cut->tile = wi_divide_up(rows, cut->tiles);
    int64_t segments = wi_divide_up(conv->result[2], LONGEST);
    cut->length = wi_divide_up(conv->result[2], segments);
    while (pixels_of(conv, cut->length) * pitch > p[ROOM] && cut->length > 1)
        cut->length = wi_divide_up(conv->result[2], ++segments);
    if (pixels_of(conv, cut->length) * pitch > p[ROOM]) return false;
    cut->all = conv->images * conv->result[0] * conv->result[1] * wi_divide_up(conv->result[2], cut->length);
    cut->panels = wi_divide_up(conv->filters, cut->vectors * VECTOR);
    cut->span = wi_divide_up(cut->panels, wi_divide_up(cut->panels, p[PANELS]));
    const int64_t others = wi_divide_up(cut->panels, cut->span) * conv->groups;
    cut->splits = 1;
    while (others * cut->splits % units != 0 && others * cut->splits < 4 * units && cut->splits < cut->all)
        cut->splits++;
    cut->lines = wi_divide_up(cut->all, cut->splits);
    cut->splits = wi_divide_up(cut->all, cut->lines);
    cut->block = wi_min64(p[POSITIONS] / cut->length, p[ROOM] / (pixels_of(conv, cut->length) * pitch));
    return cut->all <= INT32_MAX / 2;
}

static bool accepts(const wi_kernel_site *site) {
    const wi_conv conv = wi_conv_weight_of(site);
    wi_cut cut;
    return cut_work(&cut, &conv, site->values, site->device->units);
}

static double cost(const wi_kernel_site *site) {
    const wi_conv conv = wi_conv_weight_of(site);
    wi_cut cut;
    (void)cut_work(&cut, &conv, site->values, site->device->units);
    const double columns = (double)(cut.panels * cut.vectors * VECTOR) / (double)conv.filters;
    const int64_t items = cut.splits * wi_divide_up(cut.panels, cut.span) * conv.groups;
    return wi_work_seconds(
        site->device, &(wi_work){.operations = 1.205 * 2.0 * wi_conv_weight_multiplications(&conv) * columns,
                          .bytes = wi_conv_weight_bytes(&conv),
                          .groups = (double)items,
                          .launches = 2,
                          .build_seconds = 0.4});
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_conv conv = wi_conv_weight_of(site);
    wi_cut cut;
    (void)cut_work(&cut, &conv, site->values, site->device->units);
    const int64_t spans = wi_divide_up(cut.panels, cut.span), rows = conv.taps[0] * conv.taps[1];
    const int64_t sums = conv.groups * cut.panels * rows * (cut.joined ? 1 : conv.taps[2]) * cut.tiles *
                         cut.tile * cut.vectors * VECTOR;
    plan->flops = wi_conv_flops(&conv);
    plan->scratch_bytes = (size_t)(cut.splits * sums) * sizeof(float);
    wi_kernel_macro_int(plan, "WEFT_CONV_WEIGHT_TILE", cut.tile);
    wi_kernel_macro_int(plan, "WEFT_CONV_WEIGHT_VECTORS", cut.vectors);
    wi_kernel_launch *launch = wi_kernel_launch_3d(plan, "sums", cut.splits, spans, conv.groups);
    wi_kernel_inputs(launch, 2);
    wi_kernel_scratch(launch, 0);
    wi_kernel_ints(launch,
        WI_KERNEL_NUMBERS(cut.all, cut.lines, cut.block, cut.length, cut.span, cut.joined, cut.tiles));
    wi_conv_weight_add_sizes(launch, &conv);
    launch = wi_kernel_launch_3d(plan, "combine", cut.tiles, cut.panels, conv.groups);
    wi_kernel_scratch(launch, 0);
    wi_kernel_result(launch);
    wi_kernel_ints(
        launch, WI_KERNEL_NUMBERS(cut.splits, cut.joined, conv.channels, conv.filters, rows, conv.taps[2]));
    return WEFT_OK;
}

const wi_implementation wi_conv_weight_cpu = {.name = "conv_cpu_weight",
    .ops = {&wi_op_conv_weight},
    .needs = {.classes = WI_ON_CPU},
    .file = "conv_weight_cpu.cl",
    .parameters = parameters,
    .variants = variants,
    .accepts = accepts,
    .cost = cost,
    .prepare = prepare,
    WI_GEMM_FORMATS};
