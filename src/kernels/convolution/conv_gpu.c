/* Convolution on gpu-class devices: the weight packed, then tiles in local memory. See
 * cl_kernels/conv_gpu.cl.
 */
#include "base/integers.h"
#include "kernels/convolution/conv_product.h"
#include "kernels/cost.h"
#include "kernels/product/gemm_list.h"

/* A work-group of GROUP x GROUP items has a tile of MICRO x MICRO elements an item, and walks k in STEPs; one of
 * PACKED items packs weights. */
enum { GROUP, MICRO, STEP, PACKED };

static const char *const parameters[] = {[GROUP] = "WEFT_CONV_GPU_GROUP",
    [MICRO] = "WEFT_CONV_GPU_MICRO",
    [STEP] = "WEFT_CONV_GPU_STEP",
    [PACKED] = "WEFT_CONV_GPU_PACKED",
    NULL};

static const wi_variant variants[] = {{"large", {[GROUP] = 16, [MICRO] = 4, [STEP] = 16, [PACKED] = 64}},
    {"small", {[GROUP] = 16, [MICRO] = 1, [STEP] = 16, [PACKED] = 64}}, {0}};

/* For devices whose groups or registers suit other tiles. */
static const wi_variant tuned_variants[] = {{"8x8", {[GROUP] = 8, [MICRO] = 8, [STEP] = 8, [PACKED] = 64}},
    {"16x8", {[GROUP] = 16, [MICRO] = 8, [STEP] = 16, [PACKED] = 64}},
    {"8x4", {[GROUP] = 8, [MICRO] = 4, [STEP] = 8, [PACKED] = 64}}, {0}};

static wi_limits limits(const int *p) {
    const size_t group = (size_t)p[GROUP], tile = (size_t)(p[STEP] * (p[GROUP] * p[MICRO] + 1));
    return (wi_limits){
        .group = group * group, .items = {(size_t)p[PACKED], group}, .local_bytes = 2 * tile * sizeof(float)};
}

static int64_t phases_of(const wi_conv_geometry *w) {
    return w->transposed ? w->stride[0] * w->stride[1] * w->stride[2] : 1;
}

/* Positions of the largest phase. */
static int64_t positions_of(const wi_conv_geometry *w) {
    int64_t count = w->images;
    for (int i = 0; i < 3; i++) count *= w->transposed ? wi_divide_up(w->made[i], w->stride[i]) : w->made[i];
    return count;
}

static bool accepts(const wi_kernel_site *site) {
    const wi_gemm_shape *const shape = site->product;
    const wi_conv_geometry *const w = shape->convolution;
    const double most = INT32_MAX - 4096;
    double positions = (double)w->images, phases = 1.0;
    double weights = (double)w->groups * (double)w->filters * (double)w->channels;
    for (int i = 0; i < 3; i++) {
        positions *= (double)w->made[i];
        weights *= (double)w->taps[i];
        phases *= w->transposed ? (double)w->stride[i] : 1.0;
    }
    const int *const p = site->values;
    const bool fills = p[MICRO] == 1 || (positions_of(w) > p[GROUP] && w->filters > p[GROUP]);
    return fills && weights <= most &&
           phases * (positions + site->values[GROUP] * site->values[MICRO]) <= most;
}

static void add_pack(wi_kernel_plan *plan, const wi_conv_geometry *w, int64_t weights) {
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, "pack", weights, plan->values[PACKED]);
    wi_kernel_input(launch, 1);
    wi_kernel_scratch(launch, 0);
    wi_kernel_int(launch, weights);
    wi_kernel_int(launch, w->channels);
    wi_kernel_int(launch, w->filters);
    wi_conv_add_weight(launch, w);
}

/* As in gemm_gpu.c. */
static double cost(const wi_kernel_site *site) {
    const wi_conv_geometry *const w = site->product->convolution;
    const int *const p = site->values;
    const int64_t tile = p[GROUP] * p[MICRO];
    const double groups = (double)(wi_divide_up(positions_of(w), tile) * wi_divide_up(w->filters, tile)) *
                          (double)(phases_of(w) * w->groups);
    return wi_work_seconds(site->device,
        &(wi_work){.operations =
                       2.0 * groups * (double)(tile * tile) * wi_conv_steps(w) / (p[MICRO] == 1 ? 0.12 : 0.7),
            .bytes = wi_conv_bytes(w),
            .groups = groups,
            .launches = 2,
            .build_seconds = 0.5});
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_gemm_shape *const shape = site->product;
    const wi_conv_geometry *const w = shape->convolution;
    const int64_t weights = w->groups * w->filters * w->channels * w->taps[0] * w->taps[1] * w->taps[2];
    const int64_t group = site->values[GROUP], tile = group * site->values[MICRO];
    const int64_t row_tiles = wi_divide_up(positions_of(w), tile);
    plan->scratch_bytes = (size_t)weights * sizeof(float);
    add_pack(plan, w, weights);
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, "tiles", 1, 1);
    launch->dimensions = 3;
    launch->global[0] = (size_t)(wi_divide_up(w->filters, tile) * group);
    launch->global[1] = (size_t)(phases_of(w) * row_tiles * group);
    launch->global[2] = (size_t)w->groups;
    launch->local[0] = launch->local[1] = (size_t)group;
    launch->local[2] = 1;
    launch->has_epilogue = true;
    wi_kernel_input(launch, 0);
    wi_kernel_scratch(launch, 0);
    wi_kernel_int(launch, row_tiles);
    wi_conv_add_geometry(launch, w);
    return WEFT_OK;
}

const wi_implementation wi_conv_gpu = {.name = "conv_gpu",
    .ops = {&wi_op_conv, &wi_op_conv_data},
    .needs = {.classes = WI_ON_GPU, .limits = limits},
    .file = "conv_gpu.cl",
    .parameters = parameters,
    .variants = variants,
    .tuned_variants = tuned_variants,
    .accepts = accepts,
    .cost = cost,
    .prepare = prepare,
    WI_GEMM_FORMATS};
