/* Small cases of contractions (contract in contraction_case.h). */
#include "kernels/contraction_case.h"
#include "base/integers.h"
#include "cl/opened_device.h"
#include "kernels/convolution/conv_weight.h"
#include <math.h>
#include <string.h>

/* The reduced sizes: no multiples of a tile. */
enum {
    ROWS = 37,
    COLUMNS = 70,
    DEPTH = 150,
    IMAGES = 2,
    CHANNELS = 21,
    FILTERS = 35,
    GROUPS = 20,
    EDGE = 11
};

static int64_t at_most(int64_t size, int64_t cap, int64_t scale) {
    return wi_min64(size, cap * scale);
}

/* ---- matrix products ---- */

/* Sets the strides of a contiguous matrix. Strides of 0, and the axis whose elements are adjacent, stay as they were. */
static void pack(int64_t *batch, int64_t *row, int64_t *column, int64_t rows, int64_t columns) {
    const bool by_rows = *column == 1 || *row != 1;
    if (*batch != 0) *batch = rows * columns;
    if (*row != 0) *row = by_rows ? columns : 1;
    if (*column != 0) *column = by_rows ? 1 : rows;
}

static void make_product(wi_contraction_case *small, const wi_gemm_shape *from, int64_t scale) {
    wi_gemm_shape *const shape = &small->shape;
    *shape = *from;
    shape->batch = at_most(from->batch, 2, scale);
    shape->m = at_most(from->m, ROWS, scale);
    shape->n = at_most(from->n, COLUMNS, scale);
    shape->k = at_most(from->k, DEPTH, scale);
    pack(&shape->a_batch, &shape->a_row, &shape->a_column, shape->m, shape->k);
    pack(&shape->b_batch, &shape->b_row, &shape->b_column, shape->k, shape->n);
    small->counts[WI_CASE_A] = shape->batch * shape->m * shape->k;
    small->counts[WI_CASE_B] = shape->batch * shape->k * shape->n;
    small->counts[WI_CASE_C] = shape->batch * shape->m * shape->n;
    small->terms = shape->k;
}

static double expected_of_product(
    const wi_gemm_shape *shape, const double *a, const double *b, int64_t index) {
    const int64_t column = index % shape->n, row = index / shape->n % shape->m;
    const int64_t batch = index / shape->n / shape->m;
    double sum = 0.0;
    for (int64_t p = 0; p < shape->k; p++)
        sum += a[batch * shape->a_batch + row * shape->a_row + p * shape->a_column] *
               b[batch * shape->b_batch + p * shape->b_row + column * shape->b_column];
    return sum;
}

/* ---- convolutions ---- */

/* Reduces the result along an axis, and the image with it; the padding stays the same at both ends. */
static void cap_axis(wi_conv *conv, int axis, int64_t scale) {
    const int64_t reach = conv->dilation[axis] * (conv->taps[axis] - 1) + 1;
    const int64_t seen = (conv->result[axis] - 1) * conv->stride[axis] + reach;
    const int64_t after = wi_max64(0, seen - conv->image[axis] - conv->before[axis]);
    const int64_t result = at_most(conv->result[axis], EDGE, scale);
    const int64_t image = (result - 1) * conv->stride[axis] + reach - conv->before[axis] - after;
    if (result == conv->result[axis] || image < 1) return;
    conv->result[axis] = result;
    conv->image[axis] = image;
}

static void cap_conv(wi_conv *conv, int64_t scale) {
    conv->images = at_most(conv->images, IMAGES, scale);
    conv->groups = at_most(conv->groups, GROUPS, scale);
    conv->channels = at_most(conv->channels, CHANNELS, scale);
    conv->filters = at_most(conv->filters, FILTERS, scale);
    for (int i = 0; i < 3; i++) cap_axis(conv, i, scale);
}

static int64_t product_of(const int64_t sizes[3]) {
    return sizes[0] * sizes[1] * sizes[2];
}

/* Sets the strides of a contiguous weight: (F, K..., C) if the channels of the site's weight are adjacent, (F, C, K...)
 * otherwise. */
static void pack_weight(wi_conv_geometry *w, const wi_conv *conv) {
    const int64_t taps = product_of(conv->taps);
    const bool channels_last = (w->transposed ? w->w_filter : w->w_channel) == 1 && taps > 1;
    const int64_t step = channels_last ? conv->channels : 1, first = taps * conv->channels;
    const int64_t second = channels_last ? 1 : taps;
    w->w_filter = w->transposed ? second : first;
    w->w_channel = w->transposed ? first : second;
    w->w_group = conv->filters * first;
    w->w_tap[2] = step;
    w->w_tap[1] = step * conv->taps[2];
    w->w_tap[0] = step * conv->taps[2] * conv->taps[1];
}

static void pack_image(wi_conv_geometry *w) {
    w->step[2] = w->groups * w->channels;
    w->step[1] = w->step[2] * w->read[2];
    w->step[0] = w->step[1] * w->read[1];
    w->image = w->step[0] * w->read[0];
}

static void make_convolution(wi_contraction_case *small, const wi_gemm_shape *from, int64_t scale) {
    wi_conv_geometry *const w = &small->geometry;
    *w = *from->convolution;
    small->conv = wi_conv_of_geometry(w);
    cap_conv(&small->conv, scale);
    const wi_conv *const conv = &small->conv;
    w->images = conv->images;
    w->groups = conv->groups;
    w->channels = w->transposed ? conv->filters : conv->channels;
    w->filters = w->transposed ? conv->channels : conv->filters;
    memcpy(w->read, w->transposed ? conv->result : conv->image, sizeof w->read);
    memcpy(w->made, w->transposed ? conv->image : conv->result, sizeof w->made);
    pack_image(w);
    pack_weight(w, conv);
    small->shape = (wi_gemm_shape){.batch = w->images * w->made[0] * w->made[1],
        .m = w->made[2],
        .n = w->filters * w->groups,
        .k = w->channels * product_of(w->taps),
        .convolution = w};
    small->counts[WI_CASE_A] = w->images * w->image;
    small->counts[WI_CASE_B] = w->groups * w->w_group;
    small->counts[WI_CASE_C] = small->shape.batch * small->shape.m * small->shape.n;
    small->terms = small->shape.k;
}

/* The index along an axis of the image that a tap reads; -1: outside of the image. */
static int64_t read_index(const wi_conv_geometry *w, int axis, int64_t at, int64_t tap) {
    const int64_t reach = at + w->before[axis] - tap * w->dilation[axis];
    if (!w->transposed) {
        const int64_t index = at * w->stride[axis] + tap * w->dilation[axis] - w->before[axis];
        return index >= 0 && index < w->read[axis] ? index : -1;
    }
    if (reach < 0 || reach % w->stride[axis] != 0) return -1;
    return reach / w->stride[axis] < w->read[axis] ? reach / w->stride[axis] : -1;
}

static double expected_of_convolution(
    const wi_conv_geometry *w, const double *a, const double *b, int64_t index) {
    const int64_t columns = w->filters * w->groups, column = index % columns, position = index / columns;
    const int64_t at[3] = {position / w->made[2] / w->made[1] % w->made[0],
        position / w->made[2] % w->made[1], position % w->made[2]};
    const double *const image = a + position / product_of(w->made) * w->image;
    const int64_t group = column / w->filters, filter = column % w->filters, taps = product_of(w->taps);
    double sum = 0.0;
    for (int64_t t = 0; t < taps; t++) {
        const int64_t tap[3] = {t / w->taps[2] / w->taps[1], t / w->taps[2] % w->taps[1], t % w->taps[2]};
        const int64_t i = read_index(w, 0, at[0], tap[0]), j = read_index(w, 1, at[1], tap[1]),
                      k = read_index(w, 2, at[2], tap[2]);
        if (i < 0 || j < 0 || k < 0) continue;
        const double *const from =
            image + i * w->step[0] + j * w->step[1] + k * w->step[2] + group * w->channels;
        const double *const weight = b + group * w->w_group + filter * w->w_filter + tap[0] * w->w_tap[0] +
                                     tap[1] * w->w_tap[1] + tap[2] * w->w_tap[2];
        for (int64_t c = 0; c < w->channels; c++) sum += from[c] * weight[c * w->w_channel];
    }
    return sum;
}

/* ---- the weights' gradients ---- */

static void set_extents(wi_contraction_case *small) {
    const wi_conv *const conv = &small->conv;
    wi_extent *const x = &small->site.inputs[0], *const y = &small->site.inputs[1];
    const int axes = x->rank - 2, first = 3 - axes;
    x->dims[0] = y->dims[0] = wi_size_of(conv->images);
    for (int i = 0; i < axes; i++) {
        x->dims[1 + i] = wi_size_of(conv->image[first + i]);
        y->dims[1 + i] = wi_size_of(conv->result[first + i]);
    }
    x->dims[1 + axes] = wi_size_of(conv->groups * conv->channels);
    y->dims[1 + axes] = wi_size_of(conv->groups * conv->filters);
    small->site.layouts[0] = wi_layout_contiguous(x);
    small->site.layouts[1] = wi_layout_contiguous(y);
}

static weft_status make_weight(wi_contraction_case *small, int64_t scale, wi_arena *arena) {
    const size_t bytes = sizeof(weft_tensor) + 2 * sizeof(weft_tensor *);
    weft_tensor *const node = wi_arena_take(arena, bytes);
    wi_attributes *const attributes = wi_arena_take(arena, sizeof *attributes);
    if (!node || !attributes) return WEFT_ERROR_MEMORY;
    memcpy(node, small->site.node, bytes);
    *attributes = wi_attributes_of(node);
    node->attributes = attributes;
    small->conv = wi_conv_weight_of(&small->site);
    small->site.node = node;
    wi_conv *const conv = &small->conv;
    cap_conv(conv, scale);
    attributes->conv.groups = (int32_t)conv->groups;
    node->shape.dims[0] = conv->groups * conv->filters;
    node->shape.dims[1] = conv->channels;
    small->site.result = wi_extent_of(&node->shape, 1);
    set_extents(small);
    const int64_t images = conv->images * conv->groups;
    small->counts[WI_CASE_A] = images * product_of(conv->image) * conv->channels;
    small->counts[WI_CASE_B] = images * product_of(conv->result) * conv->filters;
    small->counts[WI_CASE_C] = wi_conv_weight_elements(conv);
    small->terms = conv->images * product_of(conv->result);
    return WEFT_OK;
}

/* The pixel that a tap reads at a position of the result; NULL: outside of the image. */
static const double *pixel(const wi_conv *conv, const double *x, const int64_t at[3], const int64_t tap[3]) {
    int64_t place = 0;
    for (int i = 0; i < 3; i++) {
        const int64_t index = at[i] * conv->stride[i] + tap[i] * conv->dilation[i] - conv->before[i];
        if (index < 0 || index >= conv->image[i]) return NULL;
        place = place * conv->image[i] + index;
    }
    return x + place * conv->channels * conv->groups;
}

static double expected_of_weight(const wi_conv *conv, const double *x, const double *y, int64_t index) {
    const int64_t taps = product_of(conv->taps), t = index % taps, c = index / taps % conv->channels;
    const int64_t filter = index / taps / conv->channels, positions = product_of(conv->result);
    const int64_t tap[3] = {
        t / conv->taps[2] / conv->taps[1], t / conv->taps[2] % conv->taps[1], t % conv->taps[2]};
    const int64_t channel = filter / conv->filters * conv->channels + c;
    const int64_t image = product_of(conv->image) * conv->channels * conv->groups;
    double sum = 0.0;
    for (int64_t p = 0; p < conv->images * positions; p++) {
        const int64_t at[3] = {p / conv->result[2] / conv->result[1] % conv->result[0],
            p / conv->result[2] % conv->result[1], p % conv->result[2]};
        const double *const from = pixel(conv, x + p / positions * image, at, tap);
        if (from) sum += from[channel] * y[p * conv->filters * conv->groups + filter];
    }
    return sum;
}

/* ---- all contractions ---- */

weft_status wi_contraction_case_make(
    wi_contraction_case *small, const wi_kernel_site *site, int64_t scale, wi_arena *arena) {
    *small = (wi_contraction_case){.site = *site};
    if (!site->product) return make_weight(small, scale, arena);
    small->site.node = NULL;
    small->site.product = &small->shape;
    if (site->product->convolution)
        make_convolution(small, site->product, scale);
    else
        make_product(small, site->product, scale);
    return WEFT_OK;
}

double wi_contraction_case_expected(
    const wi_contraction_case *small, const double *a, const double *b, int64_t index) {
    if (!small->site.product) return expected_of_weight(&small->conv, a, b, index);
    if (small->shape.convolution) return expected_of_convolution(&small->geometry, a, b, index);
    return expected_of_product(&small->shape, a, b, index);
}

double wi_case_number(size_t i) {
    return (double)((i * 2654435761u >> 7) % 17) / 8.0 - 1.0;
}

weft_status wi_case_upload(wi_buffer *buffer, wi_device *device, weft_dtype dtype, size_t count) {
    const wi_format *const format = wi_format_of(dtype);
    void *const data = wi_allocate_array(device->host.allocator, count, format->size);
    if (!data) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++) format->put(data, i, wi_case_number(i));
    weft_status status = wi_buffer_create(buffer, device, count * format->size);
    if (status == WEFT_OK) status = wi_buffer_write(device, buffer->memory, 0, data, count * format->size);
    wi_release(device->host.allocator, data);
    return status;
}

double wi_contraction_error_allowed(const wi_kernel_site *site, double terms) {
    const bool rounds = wi_dtype_rounds(site->precision) || wi_dtype_rounds(site->formats[0]) ||
                        wi_dtype_rounds(site->formats[1]);
    return (rounds ? 0.02 : 2e-4) * (4.0 + sqrt(terms));
}
