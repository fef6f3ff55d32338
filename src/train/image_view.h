/* An image as a crop of pixels: cropping, padding and mirroring only move the crop, and the pixels are
 * read once, row by row, when the result is written or resized. */
#ifndef WI_IMAGE_VIEW_H
#define WI_IMAGE_VIEW_H

#include "train/dataset.h"
#include <stddef.h>

typedef struct wi_image_view {
    const unsigned char *pixels;
    ptrdiff_t row, column, channel;      /* strides, in bytes */
    int64_t source_height, source_width; /* of the pixels */
    int64_t top, left;                   /* the crop; outside of the pixels it is black */
    int64_t height, width;
    bool flipped; /* the crop, left to right */
} wi_image_view;

/* All of an image of `channels` planes, or with them interleaved. */
wi_image_view wi_view_of(
    const unsigned char *pixels, int64_t channels, int64_t height, int64_t width, bool interleaved);
/* A crop of the crop; it may reach outside. */
void wi_view_crop(wi_image_view *view, int64_t top, int64_t left, int64_t height, int64_t width);
void wi_view_flip(wi_image_view *view);
/* One row of one channel: view->width bytes. */
void wi_view_row(const wi_image_view *view, int64_t y, int64_t channel, unsigned char *row);

/* The view in another size, in planes that lie in the workspace's block `target`; `rows` and `weights` are
 * blocks for what is needed meanwhile. */
typedef struct wi_resize_blocks {
    size_t target, rows, weights;
} wi_resize_blocks;
weft_status wi_view_resize(wi_image_view *view, int64_t channels, int64_t height, int64_t width,
    wi_workspace *workspace, const wi_resize_blocks *blocks);

#endif
