/* An image in memory, which the decoders of PNG and JPEG fill. */
#ifndef WI_PICTURE_H
#define WI_PICTURE_H

#include "base/memory.h"

/* Begin with {.allocator = ...}. One picture may be used for one image after another. */
typedef struct wi_picture {
    const weft_allocator *allocator;
    unsigned char *pixels; /* (height, width, 3) */
    size_t capacity;
    int64_t height, width;
    int orientation; /* as EXIF says, 1 to 8, how the stored pixels are to be turned and mirrored; 1: not at all */
} wi_picture;

void wi_picture_clear(wi_picture *picture);
/* Makes room for an image of this size. WEFT_ERROR_FORMAT: the image has no pixels, or more than max_pixels. name: of the file,
 * for errors. */
weft_status wi_picture_resize(
    wi_picture *picture, const char *name, uint64_t height, uint64_t width, uint64_t max_pixels);

#endif
