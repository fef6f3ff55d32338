/* The mistakes of a classifier (contract in mistakes.h). */
#include "train/mistakes.h"
#include <math.h>
#include <string.h>

weft_status wi_mistakes_create(
    wi_mistakes **mistakes, const weft_allocator *allocator, size_t width, int64_t side) {
    const size_t classes = width == 1 ? 2 : width;
    wi_mistakes *const made = wi_allocate(allocator, sizeof *made);
    *mistakes = made;
    if (!made) return WEFT_ERROR_MEMORY;
    made->allocator = allocator;
    made->width = width;
    made->side = side;
    made->found.classes = classes;
    made->found.counts = made->counts = wi_allocate_array(allocator, classes * classes, sizeof *made->counts);
    made->found.worst = made->worst;
    made->images.column = SIZE_MAX;
    return made->counts ? WEFT_OK : WEFT_ERROR_MEMORY;
}

void wi_mistakes_free(wi_mistakes *mistakes) {
    if (!mistakes) return;
    wi_release(mistakes->allocator, mistakes->counts);
    wi_release(mistakes->allocator, mistakes->pixels);
    wi_release(mistakes->allocator, mistakes);
}

/* ---- pictures ---- */

/* Columns of images are (H, W), (C, H, W) or (H, W, C), with 1 or 3 channels. */
static bool find_pixels(const weft_column *column, wi_mistake_images *images) {
    const int64_t *const dims = column->dims;
    const bool is_flat = column->rank == 2;
    const bool is_first = column->rank == 3 && (dims[0] == 1 || dims[0] == 3);
    const bool is_last = column->rank == 3 && !is_first && (dims[2] == 1 || dims[2] == 3);
    if (!is_flat && !is_first && !is_last) return false;
    if (column->dtype != WEFT_F32 && column->dtype != WEFT_U8) return false;
    images->channels = is_flat ? 1 : dims[is_first ? 0 : 2];
    images->height = dims[is_first ? 1 : 0];
    images->width = dims[is_first ? 2 : 1];
    images->pixel = is_last ? (size_t)images->channels : 1;
    images->row = (size_t)images->width * images->pixel;
    images->channel = is_last ? 1 : (size_t)(images->height * images->width);
    images->example = (size_t)(images->channels * images->height * images->width);
    return images->height >= 4 && images->width >= 4;
}

static void find_images(wi_mistakes *mistakes, const wi_feed *feed, const weft_dataset *dataset) {
    wi_mistake_images *const images = &mistakes->images;
    *images = (wi_mistake_images){.column = SIZE_MAX};
    for (size_t i = 0; i < feed->count && mistakes->side && images->column == SIZE_MAX; i++) {
        const size_t c = feed->inputs[i].column;
        const weft_column *const column = c < dataset->count ? &dataset->columns[c] : NULL;
        if (!column || !find_pixels(column, images)) continue;
        const int64_t longest = images->height > images->width ? images->height : images->width;
        const weft_encoding *const encoding = column->encoding;
        images->column = c;
        images->dtype = column->dtype;
        images->every = (longest + mistakes->side - 1) / mistakes->side;
        if (encoding && encoding->kind == WI_PIXELS && encoding->count >= (size_t)images->channels)
            images->encoding = encoding;
    }
}

/* The values that become 0 and 255 in a picture. */
typedef struct range {
    double low, high;
} range;

/* If the normalisation is known, the values that black and white have after it; otherwise 0 and 1, or, if the image has values outside
 * of these, its smallest and largest value. */
static range range_of(const wi_mistake_images *images, const float *image, size_t channel) {
    const weft_encoding *const encoding = images->encoding;
    if (encoding) {
        const double mean = encoding->mean[channel], deviation = encoding->deviation[channel];
        return (range){-mean / deviation, (1.0 - mean) / deviation};
    }
    range found = {0.0, 1.0};
    for (size_t i = 0; i < images->example; i++) {
        if ((double)image[i] < found.low) found.low = (double)image[i];
        if ((double)image[i] > found.high) found.high = (double)image[i];
    }
    return found;
}

/* The mean of the values that are combined into one pixel of the picture. */
static double mean_of(
    const wi_mistake_images *images, const void *data, size_t at, int64_t rows, int64_t columns) {
    double sum = 0.0;
    for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0; x < columns; x++) {
            const size_t i = at + (size_t)y * images->row + (size_t)x * images->pixel;
            sum += images->dtype == WEFT_U8 ? (double)((const unsigned char *)data)[i]
                                            : (double)((const float *)data)[i];
        }
    return sum / (double)(rows * columns);
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static void copy_picture(const wi_mistakes *m, const void *data, unsigned char *pixels) {
    const wi_mistake_images *const images = &m->images;
    for (size_t c = 0; c < (size_t)images->channels; c++) {
        const range shown = images->dtype == WEFT_U8 ? (range){0.0, 255.0} : range_of(images, data, c);
        for (int64_t y = 0; y < m->found.height; y++)
            for (int64_t x = 0; x < m->found.width; x++) {
                const int64_t top = y * images->every, left = x * images->every;
                const size_t at =
                    c * images->channel + (size_t)top * images->row + (size_t)left * images->pixel;
                const double mean = mean_of(images, data, at, least(images->every, images->height - top),
                    least(images->every, images->width - left));
                const double part = (mean - shown.low) / (shown.high - shown.low);
                pixels[(y * m->found.width + x) * images->channels + (int64_t)c] =
                    (unsigned char)(255.0 * fmin(fmax(part, 0.0), 1.0) + 0.5);
            }
    }
}

weft_status wi_mistakes_begin(wi_mistakes *mistakes, const wi_feed *feed, const weft_dataset *dataset) {
    wi_event_mistakes *const found = &mistakes->found;
    wi_mistake_images *const images = &mistakes->images;
    found->rows = found->wrong = found->count = mistakes->seen = 0;
    memset(mistakes->counts, 0, found->classes * found->classes * sizeof *mistakes->counts);
    find_images(mistakes, feed, dataset);
    wi_release(mistakes->allocator, mistakes->pixels);
    mistakes->pixels = NULL;
    if (images->column == SIZE_MAX) return WEFT_OK;
    found->channels = images->channels;
    found->height = (images->height + images->every - 1) / images->every;
    found->width = (images->width + images->every - 1) / images->every;
    mistakes->pixels = wi_allocate(
        mistakes->allocator, WI_MISTAKES_WORST * (size_t)(found->channels * found->height * found->width));
    return mistakes->pixels ? WEFT_OK : WEFT_ERROR_MEMORY;
}

/* ---- rows ---- */

/* Finds the predicted class, its probability, and the loss, for the logits x. */
static void predict(const wi_mistakes *m, const float *x, wi_event_mistake *judged) {
    const float two[2] = {0.0f, x[0]};
    const float *const logits = m->width == 1 ? two : x;
    const size_t classes = m->found.classes;
    size_t best = 0;
    double sum = 0.0;
    for (size_t i = 1; i < classes; i++)
        if (logits[i] > logits[best] || (isnan(logits[i]) && !isnan(logits[best]))) best = i;
    judged->predicted = (int32_t)best;
    if (judged->label == judged->predicted) return;
    for (size_t i = 0; i < classes; i++) sum += exp((double)logits[i] - (double)logits[best]);
    judged->probability = 1.0 / sum;
    judged->loss = (double)logits[best] + log(sum) - (double)logits[judged->label];
}

/* Inserts the example into the sorted list of the worst, if it belongs there. The pictures of the list reuse their memory. */
static void keep(wi_mistakes *m, const wi_event_mistake *judged, const void *image) {
    const size_t bytes = (size_t)(m->found.channels * m->found.height * m->found.width);
    size_t at = m->found.count;
    const bool is_full = at == WI_MISTAKES_WORST;
    if (is_full && !(judged->loss > m->worst[at - 1].loss)) return;
    unsigned char *const pixels = !m->pixels ? NULL
                                  : is_full  ? m->pixels + (m->worst[at - 1].pixels - m->pixels)
                                             : m->pixels + at * bytes;
    if (is_full) at--;
    for (; at > 0 && m->worst[at - 1].loss < judged->loss; at--) m->worst[at] = m->worst[at - 1];
    m->worst[at] = *judged;
    m->worst[at].pixels = pixels;
    if (pixels) copy_picture(m, image, pixels);
    if (!is_full) m->found.count++;
}

static void add_row(wi_mistakes *m, const wi_metric_rows *rows, size_t i, const void *const *columns) {
    const int32_t label = rows->labels ? rows->labels[i] : rows->targets[i] > 0.5f;
    wi_event_mistake judged = {.index = m->seen + i, .label = label};
    if (label < 0 || (size_t)label >= m->found.classes) return;
    predict(m, rows->outputs + i * m->width, &judged);
    m->counts[(size_t)label * m->found.classes + (size_t)judged.predicted]++;
    m->found.rows++;
    if (judged.predicted == label) return;
    m->found.wrong++;
    const size_t size = m->images.dtype == WEFT_U8 ? 1 : sizeof(float);
    const bool is_image = m->images.column != SIZE_MAX;
    keep(
        m, &judged, is_image ? (const char *)columns[m->images.column] + i * m->images.example * size : NULL);
}

void wi_mistakes_add(wi_mistakes *mistakes, const wi_metric_rows *rows, const void *const *columns) {
    for (size_t i = 0; i < rows->rows; i++) add_row(mistakes, rows, i, columns);
    mistakes->seen += rows->rows;
}
