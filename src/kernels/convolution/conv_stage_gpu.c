/* Images for kernels of class gpu (contract in conv_stage_gpu.h). */
#include "kernels/convolution/conv_stage_gpu.h"
#include "base/integers.h"

/* Are all strides and the offset multiples of a chunk? */
static bool is_aligned(const wi_conv_quads *quads, int64_t offset) {
    int64_t bits = quads->channels | quads->from_image | offset;
    for (int i = 0; i < 3; i++) bits |= quads->from[i];
    return bits % quads->chunk == 0;
}

void wi_conv_quads_find(wi_conv_quads *quads, const wi_kernel_site *site) {
    quads->element_size = (int64_t)weft_dtype_size(quads->format);
    quads->pitch = wi_divide_up(quads->channels, quads->chunk) * quads->chunk;
    quads->staged = quads->format != site->formats[quads->input] ||
                    !is_aligned(quads, site->layouts[quads->input].offset.actual);
    quads->unit = quads->staged ? (int64_t)sizeof(float) / quads->element_size : 1;
    const int64_t pixel = quads->groups * quads->pitch;
    quads->elements = quads->images * quads->size[0] * quads->size[1] * quads->size[2] * pixel;
    quads->group = quads->pitch;
    quads->image =
        quads->staged ? quads->size[0] * quads->size[1] * quads->size[2] * pixel : quads->from_image;
    for (int i = 0; i < 3; i++) quads->step[i] = quads->from[i];
    if (!quads->staged) return;
    quads->step[2] = pixel;
    quads->step[1] = quads->size[2] * pixel;
    quads->step[0] = quads->size[1] * quads->step[1];
}

bool wi_conv_quads_fit(const wi_conv_quads *quads, bool always) {
    double pixels = (double)quads->images;
    for (int i = 0; i < 3; i++) pixels *= (double)quads->size[i];
    return (!quads->staged && !always) || pixels * (double)(quads->step[2] / 4) <= UINT32_MAX;
}

int64_t wi_conv_quads_floats(const wi_conv_quads *quads) {
    return quads->staged ? wi_divide_up(quads->elements, 4 * quads->unit) * 4 : 0;
}

void wi_conv_quads_stage(
    wi_kernel_plan *plan, const char *kernel, const wi_conv_quads *quads, int64_t at, int64_t packed) {
    if (!quads->staged) return;
    wi_kernel_launch *const launch = wi_kernel_launch_1d(plan, kernel, quads->elements / 4, packed);
    wi_kernel_input(launch, quads->input);
    wi_kernel_scratch(launch, at);
    wi_kernel_long(launch, quads->elements / 4);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(quads->groups, quads->channels, quads->pitch));
    wi_kernel_ints(launch, quads->size, 3);
    wi_kernel_long(launch, quads->from_image);
    wi_kernel_longs(launch, quads->from, 3);
}

void wi_conv_quads_add(wi_kernel_launch *launch, const wi_conv_quads *quads, int64_t at) {
    if (quads->staged)
        wi_kernel_scratch(launch, at);
    else
        wi_kernel_input(launch, quads->input);
}
