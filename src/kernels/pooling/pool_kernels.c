/* Pooling and its gradients. See cl_kernels/pooling/pool.cl. */
#include "base/integers.h"
#include "kernels/index_type.h"
#include "ops/pooling/pool.h"
#include <math.h>

/* In the order of WEFT_PASS in pool.cl. */
static const struct {
    const wi_op *op;
    const char *suffix;
} passes[] = {{&wi_op_max_pool, "max"}, {&wi_op_max_pool_gradient, "max_gradient"}, {&wi_op_avg_pool, "mean"},
    {&wi_op_avg_pool_gradient, "mean_gradient"}, {&wi_op_max_pool_winners, "winners"}};

static int pass_of(const wi_op *op) {
    int pass = 0;
    while (passes[pass].op != op) pass++;
    return pass;
}

/* The size of axis a of (depth, height, width) of an image (N, spatial..., C). */
static int64_t axis_of(const wi_extent *image, int a) {
    const int axis = a + image->rank - 4;
    return axis < 1 ? 1 : image->dims[axis].actual;
}

static double count(const wi_extent *image) {
    return (double)wi_extent_count(image).actual;
}

static int64_t pixels_of(const wi_extent *image) {
    return wi_extent_count(image).actual / image->dims[image->rank - 1].actual;
}

/* How the result is divided among items. On devices of class cpu (`item_walks`) an item computes `share` pixels; in gradients it computes
 * `share` images, of which it takes `blocks` vectors of channels. On GPUs an item computes one element. WORTH: an item has at least this
 * many operations, unless there is less work. */
enum { WORTH = 8192 };
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

/* Appends the last arguments of a gradient. If the result has 16 bits, an item of a device with item_walks adds up an image in
 * f32 before it rounds the image. Scratch memory then has one such image for each range of images, and 16 numbers that a vector may
 * access behind its end. */
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

/* The largest number that an index type must hold: an index of an element, or a number that the kernel divides by the size of an
 * axis. */
static double most_of(const wi_extent *x, const wi_extent *y) {
    double most = fmax(count(x), count(y));
    for (int i = 0; i < 3; i++) most = fmax(most, ((double)axis_of(x, i) + 1) * ((double)axis_of(y, i) + 1));
    return most;
}

static bool is_adaptive(const wi_pool_attributes *a) {
    return a->window.stride[0] == 0 || a->window.stride[1] == 0 || a->window.stride[2] == 0;
}

static weft_status prepare(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_op *const op = site->node->op;
    const wi_pool_attributes *const a = &site->node->attributes->pool;
    const bool forward = op != &wi_op_max_pool_gradient && op != &wi_op_avg_pool_gradient;
    const wi_extent *x = op == &wi_op_avg_pool_gradient ? &site->result : &site->inputs[0];
    const wi_extent *y = forward ? &site->result : &site->inputs[op == &wi_op_max_pool_gradient];
    const int pass = pass_of(op);
    double taps = 1;
    for (int i = 0; i < 3; i++)
        taps *= a->window.stride[i] ? a->window.size[i] : (double)wi_divide_up(axis_of(x, i), axis_of(y, i));
    plan->flops = count(y) * taps;
    const pool_work work = share_out(site, forward, plan->flops);
    wi_kernel_macro_int(plan, "WEFT_PASS", pass);
    wi_kernel_macro_int(plan, "WEFT_POOL_ADAPTIVE", is_adaptive(a));
    wi_kernel_index_type(plan, site, most_of(x, y));
    wi_kernel_launch *launch =
        wi_kernel_launch_1d(plan, passes[pass].suffix, work.items, site->device->group);
    wi_kernel_inputs(launch, site->node->input_count);
    wi_kernel_result(launch);
    wi_kernel_indices(plan, launch, WI_KERNEL_NUMBERS(pixels_of(&site->result)));
    wi_kernel_ints(
        launch, WI_KERNEL_NUMBERS(x->dims[x->rank - 1].actual, work.share, !a->exclude_padding, a->divisor));
    for (int i = 0; i < 3; i++)
        wi_kernel_ints(launch, WI_KERNEL_NUMBERS(axis_of(x, i), axis_of(y, i), a->window.size[i],
                                   a->window.stride[i], a->window.padding[i], a->window.dilation[i]));
    if (!forward) add_scatter(site, plan, launch, &work);
    return WEFT_OK;
}

#define RECORD(spelling, op)                                                                                 \
    { .name = (spelling), .file = "pool.cl", .ops = {&(op)}, .prepare = prepare, WI_GEMM_FORMATS }
static const wi_implementation wi_max_pool_kernel = RECORD("max_pool", wi_op_max_pool);
static const wi_implementation wi_max_pool_gradient_kernel =
    RECORD("max_pool_gradient", wi_op_max_pool_gradient);
static const wi_implementation wi_avg_pool_kernel = RECORD("avg_pool", wi_op_avg_pool);
static const wi_implementation wi_avg_pool_gradient_kernel =
    RECORD("avg_pool_gradient", wi_op_avg_pool_gradient);
static const wi_implementation wi_max_pool_winners_kernel =
    RECORD("max_pool_winners", wi_op_max_pool_winners);

extern const wi_implementation wi_resample_kernel, wi_resample_gradient_kernel;

const wi_implementation *const wi_pooling_family[] = {&wi_max_pool_kernel, &wi_max_pool_gradient_kernel,
    &wi_max_pool_winners_kernel, &wi_avg_pool_kernel, &wi_avg_pool_gradient_kernel, &wi_resample_kernel,
    &wi_resample_gradient_kernel, NULL};
