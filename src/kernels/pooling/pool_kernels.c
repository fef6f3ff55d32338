/* The launches of pooling and its gradients: pool.cl. */
#include "base/integers.h"
#include "kernels/index_type.h"
#include "ops/pooling/pool.h"
#include <math.h>

enum { PASS_MAX, PASS_MAX_GRADIENT, PASS_MEAN, PASS_MEAN_GRADIENT, PASS_WINNERS };

/* Axis a of depth, height and width in (N, spatial..., C). */
static int64_t axis_of(const wi_extent *image, int a) {
    const int axis = a + image->rank - 4;
    return axis < 1 ? 1 : image->dims[axis].actual;
}

static double count(const wi_extent *image) {
    return (double)wi_extent_count(image).actual;
}

/* Of an image with channels last. */
static int64_t pixels_of(const wi_extent *image) {
    return wi_extent_count(image).actual / image->dims[image->rank - 1].actual;
}

/* How the result is shared out: elements of it; where items walk along the channels, pixels; for gradients then
 * images and groups of `blocks` times `lanes` channels. */
enum { WORTH = 8192 }; /* operations of an item */
typedef struct pool_work {
    int64_t items, share, groups, blocks;
} pool_work;

static pool_work share_out(const wi_kernel_site *site, bool forward, double work) {
    const wi_extent *result = &site->result;
    const int64_t pixels = pixels_of(result), channels = result->dims[result->rank - 1].actual;
    const wi_device_profile *const device = site->device;
    if (!device->item_walks) return (pool_work){pixels * channels, 1, 1, 1};
    const int64_t most = device->units * device->items_a_unit;
    const int64_t wanted = work / WORTH < (double)most ? (int64_t)(work / WORTH) + 1 : most;
    const int64_t units = forward ? pixels : result->dims[0].actual;
    pool_work w = {.share = wi_divide_up(units, wi_min64(units, wanted)), .groups = 1};
    const int64_t ranges = wi_divide_up(units, w.share), whole = wi_max64(1, channels / device->lanes);
    w.blocks = forward ? whole : wi_divide_up(whole, wi_min64(whole, wi_divide_up(wanted, ranges)));
    w.groups = wi_divide_up(whole, w.blocks);
    w.items = ranges * w.groups;
    return w;
}

/* Items that walk add an image of f32 up before they round it: one for each range of images, and 16 numbers that a
 * vector may reach past its end. */
static void add_scatter(
    const wi_kernel_site *site, wi_kernel_plan *plan, wi_kernel_launch *launch, const pool_work *work) {
    const wi_extent *const result = &site->result;
    wi_kernel_int(launch, work->groups);
    wi_kernel_int(launch, work->blocks);
    if (site->result_format == WEFT_F32 || !site->device->item_walks) return;
    const int64_t image = wi_extent_count(result).actual / result->dims[0].actual + 16;
    plan->scratch_bytes = (size_t)(work->items / work->groups * image) * sizeof(float);
    wi_kernel_scratch(launch, 0);
}

/* The greatest number of an element, and of what an adaptive axis is divided by. */
static double most_of(const wi_extent *x, const wi_extent *y) {
    double most = fmax(count(x), count(y));
    for (int i = 0; i < 3; i++) most = fmax(most, ((double)axis_of(x, i) + 1) * ((double)axis_of(y, i) + 1));
    return most;
}

static bool is_adaptive(const wi_pool_attributes *a) {
    return a->window.stride[0] == 0 || a->window.stride[1] == 0 || a->window.stride[2] == 0;
}

static weft_status pool_kernel(const wi_kernel_site *site, wi_kernel_plan *plan, int pass) {
    static const char *const suffixes[] = {"max", "max_gradient", "mean", "mean_gradient", "winners"};
    const wi_pool_attributes *const a = &site->node->attributes->pool;
    const bool forward = pass != PASS_MAX_GRADIENT && pass != PASS_MEAN_GRADIENT;
    const wi_extent *x = pass == PASS_MEAN_GRADIENT ? &site->result : &site->inputs[0];
    const wi_extent *y = forward ? &site->result : &site->inputs[pass == PASS_MAX_GRADIENT];
    double taps = 1;
    for (int i = 0; i < 3; i++)
        taps *= a->window.stride[i] ? a->window.size[i] : (double)wi_divide_up(axis_of(x, i), axis_of(y, i));
    plan->flops = count(y) * taps;
    const pool_work work = share_out(site, forward, plan->flops);
    wi_kernel_macro_int(plan, "WEFT_PASS", pass);
    wi_kernel_macro_int(plan, "WEFT_POOL_ADAPTIVE", is_adaptive(a));
    wi_kernel_index_type(plan, site, most_of(x, y));
    wi_kernel_launch *launch = wi_kernel_launch_1d(plan, suffixes[pass], work.items, site->device->group);
    for (int i = 0; i < site->node->input_count; i++) wi_kernel_input(launch, i);
    wi_kernel_result(launch);
    wi_kernel_indices(plan, launch, WI_KERNEL_NUMBERS(pixels_of(&site->result)));
    wi_kernel_int(launch, x->dims[x->rank - 1].actual);
    wi_kernel_int(launch, work.share);
    wi_kernel_int(launch, !a->exclude_padding);
    wi_kernel_int(launch, a->divisor);
    for (int i = 0; i < 3; i++) {
        const int64_t numbers[] = {axis_of(x, i), axis_of(y, i), a->window.size[i], a->window.stride[i],
            a->window.padding[i], a->window.dilation[i]};
        wi_kernel_ints(launch, numbers, 6);
    }
    if (!forward) add_scatter(site, plan, launch, &work);
    return WEFT_OK;
}

static weft_status max_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    return pool_kernel(site, plan, PASS_MAX);
}
static weft_status max_gradient_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    return pool_kernel(site, plan, PASS_MAX_GRADIENT);
}
static weft_status mean_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    return pool_kernel(site, plan, PASS_MEAN);
}
static weft_status mean_gradient_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    return pool_kernel(site, plan, PASS_MEAN_GRADIENT);
}
static weft_status winners_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    return pool_kernel(site, plan, PASS_WINNERS);
}

static const wi_implementation wi_max_pool_kernel = {
    .name = "max_pool", .file = "pool.cl", .ops = {&wi_op_max_pool}, .prepare = max_kernel, WI_GEMM_FORMATS};
static const wi_implementation wi_max_pool_gradient_kernel = {.name = "max_pool_gradient",
    .file = "pool.cl",
    .ops = {&wi_op_max_pool_gradient},
    .prepare = max_gradient_kernel,
    WI_GEMM_FORMATS};
static const wi_implementation wi_avg_pool_kernel = {
    .name = "avg_pool", .file = "pool.cl", .ops = {&wi_op_avg_pool}, .prepare = mean_kernel, WI_GEMM_FORMATS};
static const wi_implementation wi_avg_pool_gradient_kernel = {.name = "avg_pool_gradient",
    .file = "pool.cl",
    .ops = {&wi_op_avg_pool_gradient},
    .prepare = mean_gradient_kernel,
    WI_GEMM_FORMATS};
static const wi_implementation wi_max_pool_winners_kernel = {.name = "max_pool_winners",
    .file = "pool.cl",
    .ops = {&wi_op_max_pool_winners},
    .prepare = winners_kernel,
    WI_GEMM_FORMATS};

extern const wi_implementation wi_resample_kernel, wi_resample_gradient_kernel;

const wi_implementation *const wi_pooling_family[] = {&wi_max_pool_kernel, &wi_max_pool_gradient_kernel,
    &wi_max_pool_winners_kernel, &wi_avg_pool_kernel, &wi_avg_pool_gradient_kernel, &wi_resample_kernel,
    &wi_resample_gradient_kernel, NULL};
