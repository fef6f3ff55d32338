/* Views of images: cropping, padding, mirroring and transposing only change the view. The pixels are read once, row by row, when the
 * result is written or resized. */
#ifndef WI_IMAGE_VIEW_H
#define WI_IMAGE_VIEW_H

#include "train/dataset.h"
#include <stddef.h>

typedef struct wi_image_view {
    const unsigned char *pixels;
    ptrdiff_t row, column, channel;      /* strides, in bytes */
    int64_t source_height, source_width; /* of the image */
    int64_t top, left;                   /* of the crop, in which pixels outside of the image are 0 */
    int64_t height, width;               /* of the crop */
    bool flipped;                        /* the crop is mirrored left to right */
    bool turned;                         /* the crop is mirrored top to bottom */
} wi_image_view;

/* A view of a whole image, (channels, height, width), or (height, width, channels) if interleaved. */
wi_image_view wi_view_of(
    const unsigned char *pixels, int64_t channels, int64_t height, int64_t width, bool interleaved);
/* Crops the view; the new crop may reach outside of the view and of the image. */
void wi_view_crop(wi_image_view *view, int64_t top, int64_t left, int64_t height, int64_t width);
void wi_view_flip(wi_image_view *view);
void wi_view_turn(wi_image_view *view); /* exchanges top and bottom */
/* Turns and mirrors the view of a whole image as its EXIF orientation, 1 to 8, says. */
void wi_view_orient(wi_image_view *view, int orientation);
/* Is it a view of all pixels of an image in the order (channels, height, width)? */
bool wi_view_is_whole(const wi_image_view *view);
/* Copies row y of one channel, view->width bytes. */
void wi_view_row(const wi_image_view *view, int64_t y, int64_t channel, unsigned char *row);

/* Blocks of the workspace for wi_view_resize: target gets the result, (channels, height, width); rows and weights are
 * scratch memory. */
typedef struct wi_resize_blocks {
    size_t target, rows, weights;
} wi_resize_blocks;
/* Resizes the view, unless it has the size already. Error: WEFT_ERROR_MEMORY. */
weft_status wi_view_resize(wi_image_view *view, int64_t channels, int64_t height, int64_t width,
    wi_workspace *workspace, const wi_resize_blocks *blocks);

#endif
