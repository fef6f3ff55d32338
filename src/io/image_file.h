/* Files of images: PNG and JPEG, recognised by their content.
 *
 * A picture is always 8-bit RGB: palettes are looked up, grey is copied to three channels, 16 bits become 8,
 * transparency is dropped, and CMYK is converted. The EXIF orientation of a JPEG file is returned, but not applied. A
 * file that is truncated or damaged is an error that names the file; nothing is printed. The decoders have no state, so
 * that any number of threads may decode at once. */
#ifndef WI_IMAGE_FILE_H
#define WI_IMAGE_FILE_H

#include "io/picture.h"

/* name: for errors. WEFT_ERROR_FORMAT: damaged, neither PNG nor JPEG, or too large; WEFT_ERROR_UNSUPPORTED: the library
 * was built without this format. */
weft_status wi_picture_decode(
    wi_picture *picture, const char *name, const void *data, size_t bytes, uint64_t max_pixels);
weft_status wi_picture_read(wi_picture *picture, const char *path, uint64_t max_pixels);

/* Does the name end with .png, .jpg or .jpeg, in upper or lower case? *status: WEFT_OK if this build can read the
 * format. */
bool wi_is_image_name(const char *name, weft_status *status);

/* The decoders of the formats, each in a separate file. */
weft_status wi_picture_decode_png(
    wi_picture *picture, const char *name, const unsigned char *data, size_t bytes, uint64_t max_pixels);
weft_status wi_picture_decode_jpeg(
    wi_picture *picture, const char *name, const unsigned char *data, size_t bytes, uint64_t max_pixels);

#endif
