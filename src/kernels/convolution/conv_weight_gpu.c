/* The weight's gradient of a convolution on class gpu: see conv_weight_gpu.cl. */
#include "base/integers.h"
#include "kernels/convolution/conv_weight.h"
#include "kernels/cost.h"

static void add_ints(wi_kernel_launch *launch, const int64_t *numbers, int count) {
    for (int i = 0; i < count; i++) wi_kernel_int(launch, numbers[i]);
}

/* A work-group of GROUP x GROUP items has a tile of MICRO x MICRO weights an item, and walks positions in STEPs;
 * one of COMBINED items adds splits up. */
enum { GROUP, MICRO, STEP, COMBINED };

static const char *const parameters[] = {[GROUP] = "WEFT_CONV_WEIGHT_GROUP",
    [MICRO] = "WEFT_CONV_WEIGHT_MICRO",
    [STEP] = "WEFT_CONV_WEIGHT_STEP",
    [COMBINED] = "WEFT_CONV_WEIGHT_COMBINED",
    NULL};

static const wi_variant variants[] = {{"large", {[GROUP] = 16, [MICRO] = 4, [STEP] = 16, [COMBINED] = 64}},
    {"small", {[GROUP] = 16, [MICRO] = 1, [STEP] = 16, [COMBINED] = 64}}, {0}};

/* For devices whose groups or registers suit other tiles. */
static const wi_variant tuned_variants[] = {{"8x8", {[GROUP] = 8, [MICRO] = 8, [STEP] = 8, [COMBINED] = 64}},
    {"16x8", {[GROUP] = 16, [MICRO] = 8, [STEP] = 16, [COMBINED] = 64}},
    {"8x4", {[GROUP] = 8, [MICRO] = 4, [STEP] = 8, [COMBINED] = 64}}, {0}};

static wi_limits limits(const int *p) {
    const size_t group = (size_t)p[GROUP], tile = (size_t)(p[STEP] * (p[GROUP] * p[MICRO] + 1));
    return (wi_limits){.group = group * group,
        .items = {(size_t)p[COMBINED], group},
        .local_bytes = 2 * tile * sizeof(float)};
}

static int64_t columns_of(const wi_conv *conv) {
    return conv->taps[0] * conv->taps[1] * conv->taps[2] * conv->channels;
}

static bool accepts(const wi_kernel_site *site) {
    const wi_conv conv = wi_conv_weight_of(site);
    const int *const p = site->values;
    const bool fills = p[MICRO] == 1 || (conv.filters > p[GROUP] && columns_of(&conv) > p[GROUP]);
    return fills && wi_conv_weight_elements(&conv) <= INT32_MAX - 4096 &&
           wi_conv_weight_positions(&conv) <= INT32_MAX - 4096;
}

/* As in gemm_gpu.c; there are as many splits of the positions as the compute units need. */
static double cost(const wi_kernel_site *site) {
    const wi_conv conv = wi_conv_weight_of(site);
    const int *const p = site->values;
    const int64_t tile = p[GROUP] * p[MICRO];
    const double weights =
        (double)(wi_divide_up(columns_of(&conv), tile) * wi_divide_up(conv.filters, tile)) *
        (double)(tile * tile) * (double)conv.groups;
    return wi_work_seconds(site->device,
        &(wi_work){.operations =
                       2.0 * weights * (double)wi_conv_weight_positions(&conv) / (p[MICRO] == 1 ? 0.12 : 0.7),
            .bytes = wi_conv_weight_bytes(&conv),
            .groups = 4.0 * (double)site->device->units,
            .launches = 2,
            .build_seconds = 0.4});
}

static void tiled(const wi_conv *conv, int64_t units, wi_kernel_plan *plan) {
    const int *const p = plan->values;
    const int64_t columns = columns_of(conv), tile = p[GROUP] * p[MICRO];
    const int64_t weights = wi_conv_weight_elements(conv), positions = wi_conv_weight_positions(conv);
    const int64_t across = wi_divide_up(columns, tile), down = wi_divide_up(conv->filters, tile);
    /* Enough work-groups for every compute unit, but four steps for each. */
    const int64_t wanted = wi_divide_up(4 * units, across * down * conv->groups);
    const int64_t length =
        wi_divide_up(wi_max64(wi_divide_up(positions, wanted), 4 * p[STEP]), p[STEP]) * p[STEP];
    const int64_t splits = wi_divide_up(positions, length);
    wi_kernel_launch *launch = wi_kernel_launch_1d(plan, "tiles", 1, 1);
    launch->dimensions = 3;
    launch->global[0] = (size_t)(across * p[GROUP]);
    launch->global[1] = (size_t)(down * p[GROUP]);
    launch->global[2] = (size_t)(splits * conv->groups);
    launch->local[0] = launch->local[1] = (size_t)p[GROUP];
    launch->local[2] = 1;
    wi_kernel_input(launch, 0);
    wi_kernel_input(launch, 1);
    if (splits > 1)
        wi_kernel_scratch(launch, 0);
    else
        wi_kernel_result(launch);
    add_ints(launch, (const int64_t[]){positions, length}, 2);
    wi_conv_weight_add_sizes(launch, conv);
    if (splits == 1) return;
    plan->scratch_bytes = (size_t)(splits * weights) * sizeof(float);
    launch = wi_kernel_launch_1d(plan, "combine", weights, p[COMBINED]);
    wi_kernel_scratch(launch, 0);
    wi_kernel_result(launch);
    add_ints(launch, (const int64_t[]){weights, splits}, 2);
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_conv conv = wi_conv_weight_of(site);
    plan->flops = wi_conv_flops(&conv);
    tiled(&conv, site->device->units, plan);
    return WEFT_OK;
}

const wi_implementation wi_conv_weight_gpu = {.name = "conv_gpu_weight",
    .ops = {&wi_op_conv_weight},
    .needs = {.classes = WI_ON_GPU, .limits = limits},
    .file = "conv_weight_gpu.cl",
    .parameters = parameters,
    .variants = variants,
    .tuned_variants = tuned_variants,
    .accepts = accepts,
    .cost = cost,
    .prepare = prepare,
    WI_GEMM_FORMATS};
