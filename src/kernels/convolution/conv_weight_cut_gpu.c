/* Weights' gradients of class gpu (contract in conv_weight_cut_gpu.h). */
#include "kernels/convolution/conv_weight_cut_gpu.h"
#include "base/integers.h"

/* The description of a contiguous image with `channels` channels in each group. */
static wi_conv_quads quads_of(const wi_kernel_site *site, int input, const wi_conv_weight_tile *tile,
    const wi_conv *conv, int64_t channels, const int64_t size[3]) {
    wi_conv_quads quads = {.input = input,
        .chunk = tile->chunk,
        .format = tile->formats[input],
        .images = conv->images,
        .groups = conv->groups,
        .channels = channels};
    int64_t stride = channels * conv->groups;
    for (int i = 2; i >= 0; i--) {
        quads.size[i] = size[i];
        quads.from[i] = stride;
        stride *= size[i];
    }
    quads.from_image = stride;
    wi_conv_quads_find(&quads, site);
    return quads;
}

wi_conv_weight_cut wi_conv_weight_cut_of(
    const wi_kernel_site *site, const wi_conv *conv, const wi_conv_weight_tile *tile) {
    wi_conv_weight_cut cut = {.image = quads_of(site, 0, tile, conv, conv->channels, conv->image),
        .slope = quads_of(site, 1, tile, conv, conv->filters, conv->result),
        .positions = wi_conv_weight_positions(conv)};
    cut.across = wi_divide_up(wi_conv_taps(conv->taps) * cut.image.pitch, tile->width);
    cut.down = wi_divide_up(conv->filters, tile->height);
    /* Two work-groups per unit, but at least four blocks of positions for each. */
    const int64_t wanted =
        wi_divide_up(2 * (int64_t)site->device->units, cut.across * cut.down * conv->groups);
    const int64_t most = wi_max64(wi_divide_up(cut.positions, wanted), 4 * tile->step);
    cut.length = wi_divide_up(most, tile->step) * tile->step;
    cut.splits = wi_divide_up(cut.positions, cut.length);
    cut.image_at = cut.splits > 1 ? wi_divide_up(cut.splits * wi_conv_weight_elements(conv), 4) * 4 : 0;
    cut.slope_at = cut.image_at + wi_conv_quads_floats(&cut.image);
    cut.scratch = cut.slope_at + wi_conv_quads_floats(&cut.slope);
    return cut;
}

bool wi_conv_weight_fits(const wi_conv *conv, int64_t chunk) {
    const double most = INT32_MAX - 4096, channels = (double)conv->channels;
    double pixels = (double)conv->images;
    for (int i = 0; i < 3; i++) pixels *= (double)conv->image[i];
    return (double)wi_conv_weight_elements(conv) * ((channels + (double)chunk - 1.0) / channels) <= most &&
           (double)wi_conv_weight_positions(conv) <= most && pixels <= most;
}

double wi_conv_weight_tiles(const wi_conv *conv, const wi_conv_weight_cut *cut) {
    return (double)(cut->across * cut->down * conv->groups);
}

int wi_conv_weight_launches(const wi_conv_weight_cut *cut) {
    return 1 + (cut->splits > 1) + cut->image.staged + cut->slope.staged;
}

double wi_conv_weight_floats(const wi_conv *conv, const wi_conv_weight_cut *cut) {
    const double sums = cut->splits > 1 ? (double)cut->splits * (double)wi_conv_weight_elements(conv) : 0.0;
    return sums + (double)(wi_conv_quads_floats(&cut->image) + wi_conv_quads_floats(&cut->slope));
}

/* Appends a number of positions, written as a number of images and of steps along each axis. */
static void add_digits(wi_kernel_launch *launch, const wi_conv *conv, int64_t number) {
    int64_t digits[4];
    for (int i = 2; i >= 0; i--) {
        digits[1 + i] = number % conv->result[i];
        number /= conv->result[i];
    }
    digits[0] = number;
    wi_kernel_ints(launch, digits, 4);
}

static void add_tiles(wi_kernel_plan *plan, const wi_conv *conv, const wi_conv_weight_cut *cut, int64_t step,
    const size_t local[3]) {
    const int64_t taps = wi_conv_taps(conv->taps);
    wi_kernel_launch *const launch = wi_kernel_launch_groups(
        plan, "tiles", (const int64_t[]){cut->across, cut->down, cut->splits * conv->groups}, local);
    wi_conv_quads_add(launch, &cut->image, cut->image_at);
    wi_conv_quads_add(launch, &cut->slope, cut->slope_at);
    if (cut->splits > 1)
        wi_kernel_scratch(launch, 0);
    else
        wi_kernel_result(launch);
    wi_kernel_ints(launch,
        WI_KERNEL_NUMBERS(cut->image.unit, cut->slope.unit, cut->image.pitch, cut->slope.pitch,
            cut->image.step[2] * cut->image.element_size, cut->slope.step[2] * cut->slope.element_size,
            cut->splits > 1 ? conv->channels : 1, cut->splits > 1 ? 1 : taps));
    add_digits(launch, conv, step);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(cut->positions, cut->length));
    wi_conv_weight_add_sizes(launch, conv);
}

void wi_conv_weight_add_launches(wi_kernel_plan *plan, const wi_conv *conv, const wi_conv_weight_cut *cut,
    int64_t step, const size_t local[3], int64_t packed) {
    plan->flops = wi_conv_flops(conv);
    plan->scratch_bytes = (size_t)cut->scratch * sizeof(float);
    wi_conv_quads_stage(plan, "stage", &cut->image, cut->image_at, packed);
    wi_conv_quads_stage(plan, "stage_slope", &cut->slope, cut->slope_at, packed);
    add_tiles(plan, conv, cut, step, local);
    if (cut->splits > 1) wi_conv_weight_combine(plan, conv, cut->splits, packed);
}
