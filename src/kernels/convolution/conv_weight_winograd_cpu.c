/* The weight's gradient of convolutions of stride 1 with 3 x 3 taps or rows of 5 on class cpu, by Winograd's products. See
 * cl_kernels/convolution/conv_weight_winograd_cpu.cl. */
#include "base/integers.h"
#include "cl/quirks.h"
#include "kernels/convolution/conv_weight.h"
#include "kernels/convolution/conv_winograd.h"
#include "kernels/cost.h"

enum { ROWS = WI_WINOGRAD_ROWS, STEP = WI_WINOGRAD_STEP };
enum { VECTOR = 16 };

/* How the work is divided: into splits of units, which are rows of tiles (3 x 3 taps) or images, and spans of panels of filters. */
typedef struct wi_cut {
    bool square;                   /* 3 x 3 taps? */
    int64_t points, lines, across; /* points of a transform; rows of taps; tiles along a row */
    int64_t vectors, panels, span, spans;
    int64_t tiles, tile; /* number of tiles of channels, and channels of a tile */
    int64_t units, splits, share, block;
    int64_t x_positions, y_positions; /* positions of x and y of a unit */
    int64_t room, sums;               /* floats of scratch memory of a work-item, and of a split's sums */
} wi_cut;

static int64_t room_of(const wi_cut *cut) {
    const int64_t x = cut->tiles * cut->x_positions * VECTOR,
                  y = cut->span * cut->y_positions * cut->vectors * VECTOR;
    return cut->points * (cut->block * (x + y) + 2 * VECTOR);
}

static wi_cut cut_work(const wi_conv *conv, const int *p, const wi_device_profile *device) {
    const int64_t near = wi_device_near_floats(device);
    wi_cut cut = {.square = conv->taps[2] == 3};
    cut.points = p[STEP] + conv->taps[2] - 1;
    if (cut.square) cut.points *= cut.points;
    cut.lines = cut.square ? 1 : conv->taps[1];
    cut.across = wi_divide_up(conv->result[2], p[STEP]);
    cut.units = conv->images * (cut.square ? wi_divide_up(conv->result[1], p[STEP]) : 1);
    cut.x_positions = cut.across * (cut.square ? 1 : conv->image[1]);
    cut.y_positions = cut.across * (cut.square ? 1 : conv->result[1]);
    cut.vectors = conv->filters <= VECTOR ? 1 : 2;
    cut.panels = wi_divide_up(conv->filters, cut.vectors * VECTOR);
    cut.tiles = wi_divide_up(conv->channels, cut.vectors == 1 ? VECTOR : p[ROWS]);
    cut.tile = wi_divide_up(conv->channels, cut.tiles);
    cut.sums =
        conv->groups * cut.panels * cut.lines * cut.points * cut.tiles * cut.tile * cut.vectors * VECTOR;
    /* Each split has sums of its own, and each span transforms x again. Spans are cheaper if the sums fit in no near cache. */
    const int64_t wanted = wi_max64(1, device->units / conv->groups);
    cut.spans = cut.sums > 4 * near ? wi_min64(cut.panels, wanted) : 1;
    cut.span = wi_divide_up(cut.panels, cut.spans);
    cut.spans = wi_divide_up(cut.panels, cut.span);
    cut.share = wi_divide_up(cut.units, wi_min64(cut.units, wi_divide_up(wanted, cut.spans)));
    cut.splits = wi_divide_up(cut.units, cut.share);
    /* Each block reads and writes all sums, so many sums need large blocks. With few sums the room stays in a near cache. */
    cut.block = 1;
    const int64_t most = wi_max64(1, wi_min64(cut.share, wi_max64(near / 2, cut.sums / 2) / room_of(&cut)));
    cut.block = wi_divide_up(cut.share, wi_divide_up(cut.share, most));
    cut.room = room_of(&cut);
    return cut;
}

/* Does every tap along the axis read a pixel of the image? The gradient of a tap that reads only padding must be exactly zero, but
 * Winograd's transforms would give it the rounding errors of the other taps of its tile. */
static bool meets_the_image(const wi_conv *conv, int i) {
    return conv->taps[i] - 1 - conv->before[i] < conv->image[i] && conv->before[i] < conv->result[i];
}

static bool is_straight(const wi_conv *conv, const int *p) {
    const double limit = INT32_MAX - 4096;
    bool fits = conv->taps[0] == 1 && conv->image[0] == 1 && conv->result[0] == 1 && conv->before[0] == 0 &&
                ((conv->taps[1] == 3 && conv->taps[2] == 3) || conv->taps[2] == 5);
    for (int i = 0; i < 3; i++) fits = fits && conv->stride[i] == 1 && conv->dilation[i] == 1;
    for (int i = 1; i < 3; i++) fits = fits && meets_the_image(conv, i);
    const double images =
        (double)conv->images * (double)(conv->image[1] + p[STEP]) * (double)(conv->image[2] + p[STEP]);
    return fits && images <= limit && (double)conv->channels * (double)conv->filters * 36.0 <= limit;
}

static bool accepts(const wi_kernel_site *site) {
    const wi_conv conv = wi_conv_weight_of(site);
    return is_straight(&conv, site->values);
}

/* The factors count in multiply-adds of the products, and are from measurements, as in conv_winograd_cpu.c. */
static double cost(const wi_kernel_site *site) {
    const wi_conv conv = wi_conv_weight_of(site);
    const wi_cut cut = cut_work(&conv, site->values, site->device);
    const double units = (double)cut.units, points = (double)cut.points;
    const double rows = (double)(cut.tiles * cut.tile), columns = (double)(cut.panels * cut.vectors * VECTOR);
    const double positions = points * (double)cut.y_positions * units;
    const double products = positions * (double)cut.lines * rows * columns;
    const double between = points * units *
                           ((double)cut.x_positions * (double)(cut.tiles * VECTOR * cut.spans) +
                               (double)cut.y_positions * columns);
    const double all =
        (double)conv.groups * (1.2 * products + 20 * between) + 60 * (double)(cut.sums * cut.splits);
    return wi_work_seconds(site->device, &(wi_work){.operations = 2.0 * all,
                                             .bytes = wi_conv_weight_bytes(&conv),
                                             .groups = (double)(cut.splits * cut.spans * conv.groups),
                                             .launches = 2,
                                             .build_seconds = 0.5});
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_conv conv = wi_conv_weight_of(site);
    const wi_cut cut = cut_work(&conv, site->values, site->device);
    const int64_t items = cut.splits * cut.spans * conv.groups;
    wi_kernel_macro_int(plan, "WEFT_CONV_WEIGHT_TILE", cut.tile);
    wi_kernel_macro_int(plan, "WEFT_CONV_WEIGHT_VECTORS", cut.vectors);
    wi_kernel_macro_int(plan, "WEFT_CONV_WEIGHT_SQUARE", cut.square);
    plan->scratch_bytes = (size_t)(cut.splits * cut.sums + items * cut.room) * sizeof(float);
    wi_kernel_launch *launch = wi_kernel_launch_3d(plan, "sums", cut.splits, cut.spans, conv.groups);
    wi_kernel_inputs(launch, 2);
    wi_kernel_scratch(launch, cut.splits * cut.sums);
    wi_kernel_scratch(launch, 0);
    wi_kernel_long(launch, cut.room);
    wi_kernel_ints(
        launch, WI_KERNEL_NUMBERS(cut.units, cut.share, cut.block, cut.span, cut.tiles, conv.images,
                    conv.channels, conv.filters, conv.groups, conv.image[1], conv.image[2], conv.result[1],
                    conv.result[2], conv.taps[1], conv.before[1], conv.before[2]));
    launch = wi_kernel_launch_3d(plan, "combine", cut.tiles, cut.panels, conv.groups);
    wi_kernel_scratch(launch, 0);
    wi_kernel_result(launch);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(cut.splits, conv.channels, conv.filters, cut.lines));
    plan->flops = wi_conv_flops(&conv);
    return WEFT_OK;
}

const wi_implementation wi_conv_weight_winograd_cpu = {.name = "winograd_weight",
    .ops = {&wi_op_conv_weight},
    .needs = {.classes = WI_ON_CPU, .without = WI_QUIRK_SCALAR_COMPILER},
    .file = "conv_weight_winograd_cpu.cl",
    .headers = wi_conv_winograd_headers,
    .parameters = wi_conv_winograd_parameters,
    .variants = wi_conv_winograd_variants,
    .accepts = accepts,
    .cost = cost,
    .margin = wi_conv_winograd_margin,
    .prepare = prepare,
    WI_GEMM_FORMATS};
