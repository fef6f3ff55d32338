/* The weight's gradient of a pointwise convolution (windows of one element, stride 1) on class cpu. See
 * cl_kernels/convolution/conv_weight_pointwise_cpu.cl. */
#include "base/integers.h"
#include "cl/quirks.h"
#include "kernels/convolution/conv_weight.h"
#include "kernels/cost.h"

/* A tile is TILE channels x VECTORS vectors of filters. A work-item adds up the splits of COMBINED channels. */
enum { TILE, VECTORS, COMBINED };

static const char *const parameters[] = {[TILE] = "WEFT_POINTWISE_TILE",
    [VECTORS] = "WEFT_POINTWISE_VECTORS",
    [COMBINED] = "WEFT_POINTWISE_COMBINED",
    NULL};

static const wi_variant variants[] = {{"f32", {[TILE] = 6, [VECTORS] = 4, [COMBINED] = 64}}, {0}};

/* BLOCK: the most positions of a block that leaves room in a core's own cache, so that the next block can be prefetched there.
 * LONG: the most positions of other blocks. SPLITS: work-items per core, several so that no core waits long for another. FEW: the
 * most floats of sums for which there are this many splits. SMALL: convolutions with at most this many multiply-adds are too
 * small to wake another core. */
enum { LANES = 16, BLOCK = 512, LONG = 1024 };
enum { SPLITS = 4, FEW = 1 << 16, SMALL = 1 << 18 };

static int64_t positions_of(const wi_conv *conv) {
    return conv->images * conv->image[0] * conv->image[1] * conv->image[2];
}

static int64_t panel_of(const int *p) {
    return p[VECTORS] * LANES;
}

static int64_t sums_of(const wi_conv *conv, const int *p) {
    return conv->groups * wi_divide_up(conv->channels, p[TILE]) * p[TILE] *
           wi_divide_up(conv->filters, LANES) * LANES;
}

/* Are there enough channels for a tile, and do the numbers of positions and of sums fit in ints? */
static bool fits(const wi_conv *conv, const int *p) {
    const double most = INT32_MAX - 4096;
    double positions = (double)conv->images;
    for (int i = 0; i < 3; i++) positions *= (double)conv->image[i];
    return conv->channels >= p[TILE] && positions <= most &&
           (double)conv->groups * ((double)conv->channels + p[TILE]) * ((double)conv->filters + LANES) <=
               most;
}

/* How the work is divided. A split has `share` positions, of which `block` are read at a time. A work-item computes `span` panels. */
typedef struct wi_cut {
    int64_t share, splits, block, span, spans;
    bool ahead; /* is the next block prefetched? */
} wi_cut;

static wi_cut cut_of(const wi_conv *conv, const int *p, const wi_device_profile *device) {
    const int64_t units = device->units;
    const int64_t positions = positions_of(conv), panels = wi_divide_up(conv->filters, panel_of(p));
    const int64_t near = wi_device_near_floats(device) / 4 / (conv->channels + conv->filters);
    const bool large = (double)positions * (double)conv->channels * (double)conv->filters > SMALL;
    wi_cut cut = {.splits = 1, .span = panels, .ahead = conv->groups == 1 && near >= BLOCK / 4};
    if (large && !cut.ahead) cut.span = wi_divide_up(panels, wi_min64(panels, units));
    cut.spans = wi_divide_up(panels, cut.span);
    const int64_t others = cut.spans * conv->groups;
    const int64_t wanted = sums_of(conv, p) <= FEW ? SPLITS * units : units;
    while (large && (others * cut.splits % units != 0 || others * cut.splits < wanted)) cut.splits++;
    cut.splits = wi_min64(cut.splits, wi_divide_up(positions, LANES));
    cut.share = wi_divide_up(positions, cut.splits);
    cut.splits = wi_divide_up(positions, cut.share);
    const int64_t most = cut.ahead ? wi_min64(near, BLOCK) : LONG;
    cut.block = wi_divide_up(cut.share, wi_divide_up(cut.share, most));
    return cut;
}

/* Inputs in other formats are converted while they are copied. */
static bool is_converted(const wi_kernel_site *site, int input) {
    return site->formats[input] != WEFT_F32;
}

/* Converted blocks stay in a core's cache only if there are few channels and filters. With more of them conv_weight_cpu.cl is
 * faster, because it copies smaller blocks. */
static bool accepts(const wi_kernel_site *site) {
    const wi_conv conv = wi_conv_weight_of(site);
    if (!wi_conv_is_pointwise(&conv) || !fits(&conv, site->values)) return false;
    const bool converted = is_converted(site, 0) || is_converted(site, 1);
    return !converted || cut_of(&conv, site->values, site->device).ahead;
}

static double cost(const wi_kernel_site *site) {
    const wi_conv conv = wi_conv_weight_of(site);
    const wi_cut cut = cut_of(&conv, site->values, site->device);
    const double columns = (double)(wi_divide_up(conv.filters, LANES) * LANES) / (double)conv.filters;
    return wi_work_seconds(
        site->device, &(wi_work){.operations = 1.1 * 2.0 * wi_conv_weight_multiplications(&conv) * columns,
                          .bytes = wi_conv_weight_bytes(&conv),
                          .groups = (double)(cut.splits * cut.spans * conv.groups),
                          .launches = 2,
                          .build_seconds = 0.4});
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_conv conv = wi_conv_weight_of(site);
    const int *const p = plan->values;
    const wi_cut cut = cut_of(&conv, p, site->device);
    const int64_t vectors = wi_divide_up(conv.filters, LANES),
                  panels = wi_divide_up(conv.filters, panel_of(p));
    const bool apart = is_converted(site, 1) || conv.groups > 1 || conv.filters != panel_of(p);
    const int64_t row =
        panel_of(p) + (is_converted(site, 0) ? wi_divide_up(conv.channels, LANES) * LANES : 0);
    const int64_t rooms =
        apart || is_converted(site, 0) ? cut.splits * cut.spans * conv.groups * cut.block * row : 0;
    wi_kernel_macro_int(plan, "WEFT_POINTWISE_LAST", vectors - (panels - 1) * p[VECTORS]);
    plan->scratch_bytes = (size_t)(cut.splits * sums_of(&conv, p) + rooms) * sizeof(float);
    wi_kernel_launch *launch = wi_kernel_launch_3d(plan, "sums", cut.splits, cut.spans, conv.groups);
    wi_kernel_inputs(launch, 2);
    wi_kernel_scratch(launch, 0);
    wi_kernel_scratch(launch, cut.splits * sums_of(&conv, p));
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(positions_of(&conv), cut.share, cut.block, cut.span, apart,
                               cut.ahead, conv.channels, conv.filters, conv.groups));
    launch =
        wi_kernel_launch_3d(plan, "combine", wi_divide_up(conv.channels, p[COMBINED]), vectors, conv.groups);
    wi_kernel_scratch(launch, 0);
    wi_kernel_result(launch);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(cut.splits, conv.channels, conv.filters));
    plan->flops = wi_conv_flops(&conv);
    return WEFT_OK;
}

const wi_implementation wi_conv_weight_pointwise_cpu = {.name = "pointwise_weight",
    .ops = {&wi_op_conv_weight},
    .needs = {.classes = WI_ON_CPU, .without = WI_QUIRK_SCALAR_COMPILER},
    .file = "conv_weight_pointwise_cpu.cl",
    .parameters = parameters,
    .variants = variants,
    .accepts = accepts,
    .cost = cost,
    .prepare = prepare,
    WI_GEMM_FORMATS};
