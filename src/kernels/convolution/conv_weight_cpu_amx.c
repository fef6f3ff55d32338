/* The weight's gradient of a convolution in bf16 by the matrix engine AMX. See cl_kernels/convolution/conv_weight_cpu_amx.cl,
 * which explains how positions are numbered through rows and images. */
#include "base/integers.h"
#include "cl/matrix_engine.h"
#include "kernels/convolution/conv_weight.h"
#include "kernels/cost.h"

/* COLUMNS: the most tiles of sums, by channels and taps, of a part. LINE: the most elements of a padded row that the kernel reads
 * as lines (wi_cut.joined). STEPS: the most steps of 32 positions in a block, so that two tiles of filters stay in the
 * first-level cache. */
enum { COLUMNS, LINE, STEPS };

static const char *const parameters[] = {[COLUMNS] = "WEFT_WEIGHT_AMX_COLUMNS",
    [LINE] = "WEFT_WEIGHT_AMX_LINE",
    [STEPS] = "WEFT_WEIGHT_AMX_STEPS",
    NULL};
static const wi_variant variants[] = {{"bf16", {[COLUMNS] = 384, [LINE] = 4096, [STEPS] = 16}}, {0}};

/* A tile has TILE filters or channels and STEP positions; a word holds two numbers. */
enum { TILE = 16, STEP = 32, TILE_WORDS = 256 };
/* FEW: with at most this many channels, the channels and taps of a row are numbered together (wi_cut.joined). WHOLE: tiles that
 * are multiplied together. MOST: the most tiles of channels that a pointwise convolution packs at once. */
enum { FEW = 12, WHOLE = 2, MOST = 32 };

/* Seconds that it takes for a tile to transpose 32 positions of y, to store 16 pairs of x, and to read and write the sums for a
 * block of positions; and to compile the kernels. */
static const double y_seconds = 45e-9, x_seconds = 22e-9, sum_seconds = 60e-9, build_seconds = 0.5;

/* How positions along an axis are numbered. Pixels whose indices have the same remainder modulo the stride are a phase; each phase
 * is stored as a separate plane. pitch: positions from row to row, or from image to image. reach: positions that a tap reads ahead. */
typedef struct wi_axis {
    int64_t phases, pitch, reach;
} wi_axis;

/* How the work is divided. */
typedef struct wi_cut {
    bool joined; /* are the channels and the taps of a row one line in memory? */
    wi_axis axis[3];
    int64_t positions, reach; /* positions of all images; positions that taps read ahead */
    int64_t twice;            /* 1: x is also stored shifted by one position, for taps at an odd distance */
    int64_t wide, parts, columns; /* tiles of channels in a part; number of parts; tiles of sums in a part */
    int64_t used;                 /* tiles of sums that are used; `columns` is rounded up */
    int64_t tiles, span, spans;   /* tiles of filters; those of a work-item; number of spans */
    int64_t share, splits, block; /* positions of a split; number of splits; positions of a block */
    int64_t half;                 /* words of a channel's block of x */
    int64_t room, sums;           /* words of a work-item, and of a split's sums */
} wi_cut;

static int64_t clamp_up(int64_t value) {
    return wi_max64(0, value);
}

/* The zeros of the padding at the end of a row may also serve as the padding at the beginning of the next row. */
static wi_axis axis_of(const wi_conv *conv, int i) {
    const int64_t stride = conv->stride[i];
    wi_axis axis = {.pitch = conv->result[i]};
    for (int64_t t = 0; t < conv->taps[i]; t++)
        axis.phases = wi_max64(axis.phases, t * conv->dilation[i] % stride + 1);
    axis.reach = (conv->taps[i] - 1) * conv->dilation[i] / stride;
    for (int64_t phase = 0; phase < axis.phases; phase++) {
        const int64_t shift = phase - conv->before[i], width = conv->result[i] + axis.reach;
        const int64_t before = shift < 0 ? wi_divide_up(-shift, stride) : 0;
        const int64_t end = conv->image[i] > shift ? (conv->image[i] - 1 - shift) / stride + 1 : 0;
        axis.pitch = wi_max64(axis.pitch, width - wi_min64(before, clamp_up(width - end)));
    }
    return axis;
}

/* Elements of a row with the padding that windows read. */
static int64_t line_of(const wi_conv *conv) {
    const int64_t windows = conv->result[2] * conv->stride[2] + conv->taps[2];
    return (wi_max64(windows, conv->before[2] + conv->image[2]) + 1) * conv->channels + 2 * TILE;
}

static void number_positions(wi_cut *cut, const wi_conv *conv, const int *p) {
    cut->joined = conv->groups == 1 && conv->channels <= FEW && conv->taps[2] > 1 && conv->dilation[2] == 1 &&
                  line_of(conv) <= p[LINE];
    for (int i = 1; i < 3; i++) cut->axis[i] = axis_of(conv, i);
    if (cut->joined) cut->axis[2] = (wi_axis){.phases = 1, .pitch = conv->result[2]};
    cut->twice = cut->axis[2].reach > 0;
    if (!cut->twice) cut->axis[2].pitch += cut->axis[2].pitch % 2;
    cut->reach = cut->axis[1].reach * cut->axis[2].pitch + cut->axis[2].reach;
    cut->reach += cut->reach % 2;
    cut->positions = conv->images * cut->axis[1].pitch * cut->axis[2].pitch;
}

/* A part has two tiles of channels, so that few tiles are packed at once. Pointwise convolutions have as many as are read
 * together. */
static void number_columns(wi_cut *cut, const wi_conv *conv) {
    const int64_t line = cut->joined ? conv->taps[2] * conv->channels : conv->channels;
    const int64_t tiles = wi_divide_up(line, TILE), taps = conv->taps[1] * (cut->joined ? 1 : conv->taps[2]);
    cut->wide = taps == 1 ? wi_divide_up(tiles, wi_divide_up(tiles, MOST)) : tiles % WHOLE == 0 ? WHOLE : 1;
    if (cut->joined) cut->wide = tiles;
    cut->parts = wi_divide_up(tiles, cut->wide);
    cut->used = taps * cut->wide;
    cut->columns = wi_divide_up(cut->used, WHOLE) * WHOLE;
    cut->tiles = wi_divide_up(conv->filters, TILE);
    if (cut->tiles % WHOLE) cut->columns = wi_max64(cut->columns, wi_divide_up(cut->used, 3) * 3);
    cut->sums = conv->groups * cut->tiles * cut->parts * cut->columns * TILE_WORDS;
}

static int64_t planes_of(const wi_cut *cut) {
    return cut->axis[1].phases * cut->axis[2].phases * cut->wide * (1 + cut->twice);
}

static void set_block(wi_cut *cut, int64_t block) {
    cut->block = block;
    cut->half = (block + cut->reach) / 2 + 1;
    cut->room = cut->span * block * (TILE / 2) + planes_of(cut) * cut->half * TILE;
}

/* Chooses blocks of about the same size, each with as many positions as fit in a core's cache. */
static void cut_block(wi_cut *cut, const int *p, size_t cache) {
    const int64_t words = (int64_t)(cache / sizeof(uint32_t)), share = cut->share;
    const int64_t a_step = STEP * (cut->span + planes_of(cut)) * (TILE / 2);
    const int64_t rest = words - planes_of(cut) * (cut->reach / 2 + 1) * TILE;
    const int64_t steps = wi_max64(4, wi_min64(p[STEPS], rest / a_step)),
                  blocks = wi_divide_up(share, steps * STEP);
    set_block(cut, wi_divide_up(wi_divide_up(share, blocks), STEP) * STEP);
}

static double cut_cost(const wi_cut *cut, const wi_conv *conv, const wi_device_profile *device) {
    const double multiply = 2.0 * TILE * TILE * STEP / device->peak_engine;
    const double blocks = (double)wi_divide_up(cut->share, cut->block),
                 steps = (double)cut->share / (double)STEP;
    const double tiles = (double)wi_min64(cut->span, cut->tiles);
    const double columns = (double)(cut->parts * cut->columns) * tiles;
    const double ahead = 1.0 + (double)cut->reach / (double)cut->block;
    const double item = steps * (tiles * y_seconds + columns * multiply +
                                    ahead * (double)(cut->parts * planes_of(cut)) * x_seconds) +
                        blocks * columns * sum_seconds;
    const int64_t items = cut->splits * cut->spans * conv->groups;
    const double combine = sum_seconds * (double)cut->sums / TILE_WORDS * (double)cut->splits / 2.0;
    return (double)wi_divide_up(items, device->units) * item + combine / (double)device->units;
}

static wi_cut cut_into(
    wi_cut cut, int64_t splits, int64_t spans, const int *p, const wi_device_profile *device) {
    cut.span = wi_divide_up(wi_divide_up(cut.tiles, spans), WHOLE) * WHOLE;
    cut.spans = wi_divide_up(cut.tiles, cut.span);
    cut.share = wi_divide_up(wi_divide_up(cut.positions, splits), STEP) * STEP;
    cut.splits = wi_divide_up(cut.positions, cut.share);
    cut_block(&cut, p, device->near_cache);
    return cut;
}

static wi_cut cut_work(const wi_conv *conv, const int *p, const wi_device_profile *device) {
    wi_cut cut = {0};
    number_positions(&cut, conv, p);
    number_columns(&cut, conv);
    wi_cut best = cut_into(cut, 1, 1, p, device);
    double least = cut_cost(&best, conv, device);
    for (int64_t splits = 1; splits <= 2 * device->units; splits++) {
        for (int64_t spans = 1; spans <= wi_min64(cut.tiles, 4 * device->units); spans++) {
            const wi_cut next = cut_into(cut, splits, spans, p, device);
            const double seconds = cut_cost(&next, conv, device);
            if (seconds >= least) continue;
            best = next;
            least = seconds;
        }
    }
    return best;
}

static bool accepts(const wi_kernel_site *site) {
    const wi_conv conv = wi_conv_weight_of(site);
    wi_cut cut = {0};
    if (site->result_format != WEFT_F32) return false;
    if (conv.taps[0] != 1 || conv.image[0] != 1 || conv.result[0] != 1 || conv.before[0] != 0) return false;
    number_positions(&cut, &conv, site->values);
    number_columns(&cut, &conv);
    return cut.columns <= site->values[COLUMNS] && cut.positions < INT32_MAX / 4 &&
           planes_of(&cut) * cut.reach < INT32_MAX / 64;
}

static void add_sums(const wi_conv *conv, const wi_cut *cut, wi_kernel_plan *plan) {
    const int64_t items = cut->splits * cut->spans * conv->groups;
    plan->scratch_bytes = (size_t)(cut->splits * cut->sums + items * cut->room) * sizeof(uint32_t);
    wi_kernel_launch *const launch = wi_kernel_launch_3d(plan, "sums", cut->splits, cut->spans, conv->groups);
    wi_kernel_inputs(launch, 2);
    wi_kernel_scratch(launch, 0);
    wi_kernel_scratch(launch, cut->splits * cut->sums);
    wi_kernel_long(launch, cut->room);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(cut->share, cut->block, cut->span, cut->wide, cut->half,
                               cut->twice, cut->joined, cut->axis[1].pitch, cut->axis[2].pitch, cut->reach,
                               cut->axis[1].phases, cut->axis[2].phases, cut->columns));
    wi_conv_weight_add_sizes(launch, conv);
}

static void add_combine(const wi_conv *conv, const wi_cut *cut, wi_kernel_plan *plan) {
    wi_kernel_launch *const launch =
        wi_kernel_launch_1d(plan, cut->joined ? "combine_lines" : "combine", cut->tiles, 1);
    launch->dimensions = 2;
    launch->global[1] = (size_t)conv->groups;
    launch->local[1] = 1;
    wi_kernel_scratch(launch, 0);
    wi_kernel_result(launch);
    wi_kernel_ints(
        launch, WI_KERNEL_NUMBERS(cut->splits, cut->wide, cut->columns, conv->channels, conv->filters));
    if (cut->joined)
        wi_kernel_ints(launch, WI_KERNEL_NUMBERS(conv->taps[1], conv->taps[2]));
    else
        wi_kernel_int(launch, conv->taps[1] * conv->taps[2]);
}

static double cost(const wi_kernel_site *site) {
    const wi_conv conv = wi_conv_weight_of(site);
    const wi_device_profile *const device = site->device;
    const wi_cut cut = cut_work(&conv, site->values, device);
    const double seconds = cut_cost(&cut, &conv, device),
                 traffic = wi_traffic_seconds(device, wi_conv_weight_bytes(&conv), 0.0);
    return 2.0 * (device->launch_seconds + device->wake_seconds) + wi_build_fraction(device, build_seconds) +
           (seconds > traffic ? seconds : traffic);
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_conv conv = wi_conv_weight_of(site);
    const wi_cut cut = cut_work(&conv, site->values, site->device);
    plan->flops = wi_conv_flops(&conv);
    add_sums(&conv, &cut, plan);
    add_combine(&conv, &cut, plan);
    return WEFT_OK;
}

static const char *const headers[] = {"amx.clh", NULL};

const wi_implementation wi_conv_weight_cpu_amx = {.name = "amx_weight",
    .ops = {&wi_op_conv_weight},
    WI_AMX_FORMATS,
    .needs = {.classes = WI_ON_CPU, .engines = WI_ENGINE_AMX_BF16},
    .file = "conv_weight_cpu_amx.cl",
    .headers = headers,
    .parameters = parameters,
    .variants = variants,
    .accepts = accepts,
    .cost = cost,
    .prepare = prepare};
