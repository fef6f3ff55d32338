/* Bilinear resizing (contract in image_view.h).
 *
 * The filter is separable: each row of the image is filtered along x, and the filtered rows along y. A ring holds as
 * many filtered rows as one row of the result needs. The filter is the triangle max(0, 1 - |t|). If the image becomes
 * smaller, it is stretched by in/out, so that every pixel contributes. The weight of pixel j in result i is the filter
 * at the distance of j + 0.5 from (i + 0.5)·in/out; the weights of a result sum to 1. If the image becomes larger, this
 * is plain bilinear interpolation with a repeated border. Pillow and torch.nn.functional.interpolate(mode="bilinear",
 * antialias=True) compute the same. Sums are float32, and are rounded once. */
#include "train/image_view.h"
#include <math.h>

/* The filter of one axis: result i is the sum of weights[i·width + k] · pixel[first[i] + k], k < count[i]. */
typedef struct filter {
    int64_t out, width; /* out: number of results; width: the largest number of weights of a result */
    int64_t *first, *count;
    float *weights;
} filter;

static size_t filter_bytes(int64_t in, int64_t out, int64_t *width) {
    const double scale = (double)in / (double)out;
    *width = 2 * (int64_t)ceil(scale > 1 ? scale : 1) + 1;
    return (size_t)out * (2 * sizeof(int64_t) + (size_t)*width * sizeof(float));
}

static void make_weights(filter *f, int64_t in, int64_t i) {
    const double scale = (double)in / (double)f->out, reach = scale > 1 ? scale : 1;
    const double centre = scale * ((double)i + 0.5);
    int64_t first = (int64_t)floor(centre - reach + 0.5), end = (int64_t)floor(centre + reach + 0.5);
    double sum = 0;
    if (first < 0) first = 0;
    if (end > in) end = in;
    if (end > first + f->width) end = first + f->width;
    f->first[i] = first;
    f->count[i] = end - first;
    for (int64_t pass = 0; pass < 2; pass++) /* first the sum, then the weights */
        for (int64_t j = first; j < end; j++) {
            const double t = fabs(((double)j + 0.5 - centre) / reach), weight = t < 1 ? 1 - t : 0;
            if (pass == 0) sum += weight;
            if (pass == 1) f->weights[i * f->width + (j - first)] = (float)(weight / sum);
        }
}

/* Creates a filter in `memory`, which has filter_bytes bytes. */
static filter make_filter(unsigned char *memory, int64_t in, int64_t out) {
    filter f = {.out = out};
    (void)filter_bytes(in, out, &f.width);
    f.first = (int64_t *)(void *)memory;
    f.count = f.first + out;
    f.weights = (float *)(void *)(f.count + out);
    for (int64_t i = 0; i < out; i++) make_weights(&f, in, i);
    return f;
}

static void filter_row(const filter *f, const unsigned char *row, float *result) {
    for (int64_t i = 0; i < f->out; i++) {
        const float *const weights = f->weights + i * f->width;
        const unsigned char *const pixels = row + f->first[i];
        float sum = 0;
        for (int64_t k = 0; k < f->count[i]; k++) sum += weights[k] * (float)pixels[k];
        result[i] = sum;
    }
}

/* Rounds to the nearest whole number, ties to even: after adding 1.5 · 2^23, a float has no bits for fractions. */
static unsigned char round_to_byte(float value) {
    const float shifted = value + 12582912.0f;
    const float rounded = shifted - 12582912.0f;
    return (unsigned char)(rounded < 0 ? 0 : rounded > 255 ? 255 : rounded);
}

typedef struct ring {
    float *rows, *sums; /* rows: `capacity` filtered rows; sums: one row of results */
    unsigned char *row; /* of the image */
    int64_t capacity, width;
} ring;

static void resize_channel(const wi_image_view *view, int64_t channel, const filter *fx, const filter *fy,
    ring *r, unsigned char *to) {
    int64_t next = 0; /* the first row that is not filtered yet */
    for (int64_t y = 0; y < fy->out; y++) {
        const int64_t first = fy->first[y], end = first + fy->count[y];
        if (next < first) next = first;
        for (; next < end; next++) {
            wi_view_row(view, next, channel, r->row);
            filter_row(fx, r->row, r->rows + next % r->capacity * r->width);
        }
        for (int64_t x = 0; x < r->width; x++) r->sums[x] = 0;
        for (int64_t j = first; j < end; j++) {
            const float weight = fy->weights[y * fy->width + (j - first)];
            const float *const row = r->rows + j % r->capacity * r->width;
            for (int64_t x = 0; x < r->width; x++) r->sums[x] += weight * row[x];
        }
        for (int64_t x = 0; x < r->width; x++) to[y * r->width + x] = round_to_byte(r->sums[x]);
    }
}

weft_status wi_view_resize(wi_image_view *view, int64_t channels, int64_t height, int64_t width,
    wi_workspace *workspace, const wi_resize_blocks *blocks) {
    if (view->height == height && view->width == width) return WEFT_OK;
    int64_t along_x = 0, along_y = 0;
    const size_t bytes_x = filter_bytes(view->width, width, &along_x);
    const size_t bytes_y = filter_bytes(view->height, height, &along_y);
    const size_t aligned_x = (bytes_x + 15) & ~(size_t)15;
    const size_t floats = (size_t)(along_y + 1) * (size_t)width;
    unsigned char *const weights = wi_workspace_take(workspace, blocks->weights, aligned_x + bytes_y);
    unsigned char *const rows =
        wi_workspace_take(workspace, blocks->rows, floats * sizeof(float) + (size_t)view->width);
    unsigned char *const target =
        wi_workspace_take(workspace, blocks->target, (size_t)channels * (size_t)height * (size_t)width);
    if (!weights || !rows || !target) return WEFT_ERROR_MEMORY;
    const filter fx = make_filter(weights, view->width, width);
    const filter fy = make_filter(weights + aligned_x, view->height, height);
    ring r = {.rows = (float *)(void *)rows, .capacity = along_y, .width = width};
    r.sums = r.rows + along_y * width;
    r.row = rows + floats * sizeof(float);
    for (int64_t c = 0; c < channels; c++) resize_channel(view, c, &fx, &fy, &r, target + c * height * width);
    *view = wi_view_of(target, channels, height, width, false);
    return WEFT_OK;
}
