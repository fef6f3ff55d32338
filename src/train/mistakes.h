/* The mistakes of a classifier in a pass over an unshuffled dataset: the confusion matrix, and the wrongly classified examples with the
 * largest loss, with small pictures if the examples are images. */
#ifndef WI_MISTAKES_H
#define WI_MISTAKES_H

#include "train/event_sink.h"
#include "train/feed.h"
#include "train/metric.h"

enum { WI_MISTAKES_WORST = WEFT_MAX_MISTAKES, WI_MISTAKES_CLASSES = 1024 };

/* How the pixels of an image are stored in its column. */
typedef struct wi_mistake_images {
    size_t column; /* SIZE_MAX: the examples are not images */
    weft_dtype dtype;
    size_t example, row, pixel, channel; /* strides in elements */
    int64_t height, width, channels;
    int64_t every; /* each pixel of a picture is the mean of every x every pixels of the image */
    const weft_encoding *encoding; /* the mean and deviation of the channels; NULL: not known */
} wi_mistake_images;

typedef struct wi_mistakes {
    const weft_allocator *allocator;
    size_t width; /* of the logits; 1: one logit for two classes */
    int64_t side;
    wi_event_mistakes found;
    uint32_t *counts;
    wi_event_mistake worst[WI_MISTAKES_WORST];
    wi_mistake_images images;
    unsigned char *pixels; /* of all pictures */
    size_t seen;           /* examples of this pass so far */
} wi_mistakes;

/* width: of the logits, 1 to WI_MISTAKES_CLASSES. side: the most rows and columns of a picture; 0: no pictures.
 * WEFT_ERROR_MEMORY. */
weft_status wi_mistakes_create(
    wi_mistakes **mistakes, const weft_allocator *allocator, size_t width, int64_t side);
void wi_mistakes_free(wi_mistakes *mistakes); /* NULL is allowed */
/* Begins a pass over the dataset, to which the feed is bound. WEFT_ERROR_MEMORY. */
weft_status wi_mistakes_begin(wi_mistakes *mistakes, const wi_feed *feed, const weft_dataset *dataset);
/* Adds the examples of a batch, each with one row of logits as outputs. A label that is not a class does not count. */
void wi_mistakes_add(wi_mistakes *mistakes, const wi_metric_rows *rows, const void *const *columns);

#endif
