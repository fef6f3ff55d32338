/* Panels, table and image of kernels over windows (contract in conv_packing_gpu.h). */
#include "kernels/convolution/conv_packing_gpu.h"
#include "base/integers.h"
#include <stdlib.h>

static int64_t up_to(int64_t number, int64_t multiple) {
    return wi_divide_up(number, multiple) * multiple;
}

wi_conv_packing wi_conv_packing_of(const wi_kernel_site *site, const wi_conv_panels *panels) {
    const wi_conv_geometry *const w = site->product->convolution;
    const int64_t taps = wi_conv_taps(w->taps);
    wi_conv_packing p = {.width = up_to(w->filters, panels->filters),
        .phases = wi_conv_phases(w),
        .read = {.chunk = panels->chunk,
            .format = panels->format,
            .images = w->images,
            .groups = w->groups,
            .channels = w->channels,
            .from_image = w->image}};
    for (int i = 0; i < 3; i++) {
        p.read.size[i] = w->read[i];
        p.read.from[i] = w->step[i];
    }
    wi_conv_quads_find(&p.read, site);
    p.spare = p.read.pitch % panels->step == 0 ? 0 : panels->step;
    p.rows = up_to(taps * p.read.pitch + p.phases * p.spare, panels->step);
    p.elements = w->groups * taps * p.read.pitch * p.width;
    p.spares = w->groups * p.phases * p.spare * p.width;
    p.table = up_to((w->groups * p.rows + panels->behind) * p.width * panels->number_size, 16) /
              (int64_t)sizeof(float);
    p.image = p.table + p.read.pitch + 4 * (p.phases + taps + p.phases * panels->past);
    p.end = p.image + wi_conv_quads_floats(&p.read);
    return p;
}

/* The rows of the product in all phases. Their number is checked first, because other sizes could overflow if it is too large. */
static double rows_of(const wi_conv_geometry *w, int64_t height) {
    double positions = (double)w->images, phases = 1.0;
    for (int i = 0; i < 3; i++) {
        positions *= (double)w->made[i];
        phases *= w->transposed ? (double)w->stride[i] : 1.0;
    }
    return phases * (positions + (double)height);
}

bool wi_conv_packing_fits(const wi_kernel_site *site, const wi_conv_panels *panels, int64_t height) {
    const wi_conv_geometry *const w = site->product->convolution;
    const double most = INT32_MAX - 4096;
    if (rows_of(w, height) > most) return false;
    const wi_conv_packing p = wi_conv_packing_of(site, panels);
    double reach = 0.0, pixels = (double)w->images;
    for (int i = 0; i < 3; i++) {
        reach += (double)(w->taps[i] * w->dilation[i] + w->before[i]) * (double)llabs(p.read.step[i]);
        pixels *= (double)w->read[i];
    }
    return (double)p.elements + (double)p.spares <= most && reach <= most && pixels <= most &&
           wi_conv_quads_fit(&p.read, false) &&
           (double)(p.rows + panels->behind) * (double)p.width <= (double)(UINT32_MAX / 4);
}

static void add_pack(
    wi_kernel_plan *plan, const wi_conv_geometry *w, const wi_conv_packing *p, int64_t packed) {
    const int64_t others = wi_max64(p->phases, p->read.pitch);
    wi_kernel_launch *const launch =
        wi_kernel_launch_1d(plan, "pack", p->elements + p->spares + others, packed);
    wi_kernel_input(launch, 1);
    wi_kernel_scratch(launch, 0);
    wi_kernel_scratch(launch, p->table);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(p->elements, p->spares, others, w->channels, w->filters,
                               p->read.pitch, p->width, p->spare, p->phases));
    wi_kernel_ints(launch, p->read.step, 3);
    wi_conv_add_weight(launch, w);
}

void wi_conv_packing_pack(
    wi_kernel_plan *plan, const wi_conv_geometry *w, const wi_conv_packing *p, int64_t packed) {
    add_pack(plan, w, p, packed);
    wi_kernel_packs(plan, WI_CONV_WEIGHT, (size_t)p->image * sizeof(float));
    wi_conv_quads_stage(plan, "stage", &p->read, p->image, packed);
}

void wi_conv_packing_operands(wi_kernel_launch *launch, const wi_conv_packing *p) {
    wi_conv_quads_add(launch, &p->read, p->image);
    wi_kernel_scratch(launch, 0);
    wi_kernel_scratch(launch, p->table);
}

void wi_conv_packing_begin(wi_kernel_launch *launch, const wi_conv_packing *p, int64_t step) {
    const int64_t depth = p->read.pitch;
    wi_conv_packing_operands(launch, p);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(step % depth * p->read.element_size,
                               depth * p->read.element_size, step / depth * 16));
}

void wi_conv_packing_end(wi_kernel_launch *launch, const wi_conv_packing *p, const wi_conv_geometry *w) {
    wi_kernel_ints(launch, w->read, 3);
    wi_kernel_ints(launch, w->made, 3);
    wi_kernel_ints(launch, w->stride, 3);
    wi_kernel_int(launch, w->transposed);
    wi_kernel_longs(launch, WI_KERNEL_NUMBERS(p->read.group, p->read.image));
    wi_kernel_longs(launch, p->read.step, 3);
}
