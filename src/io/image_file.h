/* Images in memory and in files: PNG and JPEG, recognised by their content.
 *
 * A picture is 8-bit RGB whatever the file held: palettes are looked up, grey is tripled, 16 bits become 8,
 * transparency is dropped, CMYK is converted, an EXIF orientation is not applied; all as torchvision's loader
 * does. A file that ends too soon or breaks its format is an error that names it; nothing is printed. The
 * decoders keep nothing between calls, so any number of threads may decode at once. */
#ifndef WI_IMAGE_FILE_H
#define WI_IMAGE_FILE_H

#include "base/memory.h"

/* Begin with {.allocator = ...}; the same one may be used for one image after another. */
typedef struct wi_picture {
    const weft_allocator *allocator;
    unsigned char *pixels; /* (height, width, 3) */
    size_t capacity;
    int64_t height, width;
} wi_picture;

void wi_picture_clear(wi_picture *picture);
/* Makes room for an image of this size, or says that it has more than max_pixels. name: of the file. */
weft_status wi_picture_resize(
    wi_picture *picture, const char *name, uint64_t height, uint64_t width, uint64_t max_pixels);

/* name stands in errors. WEFT_ERROR_FORMAT: broken, or neither PNG nor JPEG, or too large;
 * WEFT_ERROR_UNSUPPORTED: the library was built without this format. */
weft_status wi_picture_decode(
    wi_picture *picture, const char *name, const void *data, size_t bytes, uint64_t max_pixels);
weft_status wi_picture_read(wi_picture *picture, const char *path, uint64_t max_pixels);

/* Does a name end as those of images do (.png, .jpg, .jpeg in any case)? *status: can this build read it? */
bool wi_is_image_name(const char *name, weft_status *status);

/* One a format; in a file of its own each. */
weft_status wi_picture_decode_png(
    wi_picture *picture, const char *name, const unsigned char *data, size_t bytes, uint64_t max_pixels);
weft_status wi_picture_decode_jpeg(
    wi_picture *picture, const char *name, const unsigned char *data, size_t bytes, uint64_t max_pixels);

#endif
