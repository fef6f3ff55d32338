/* Creates image files for tests with libpng and libjpeg. Only in builds that have both libraries. */
#ifndef IMAGE_BYTES_H
#define IMAGE_BYTES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct image_bytes {
    unsigned char *data; /* the caller's to free() */
    size_t size;
} image_bytes;

/* rows: as they are stored in the file, with packed bits and big-endian 16-bit numbers. colour: a PNG colour type. Palettes have
 * the entries (i·37, i·59 + 1, i·83 + 2) mod 256. transparent: the first entries of the palette are partly transparent. */
image_bytes image_bytes_png(
    size_t height, size_t width, int colour, int depth, bool interlaced, bool transparent, const void *rows);

typedef enum image_jpeg_kind {
    IMAGE_JPEG_RGB,
    IMAGE_JPEG_PROGRESSIVE,
    IMAGE_JPEG_NO_HEADER, /* neither JFIF nor EXIF */
    IMAGE_JPEG_GREY,      /* one byte per pixel */
    IMAGE_JPEG_CMYK,      /* four bytes per pixel, with Adobe's marker */
    IMAGE_JPEG_PLAIN_CMYK /* four bytes per pixel, without Adobe's marker */
} image_jpeg_kind;
/* Quality 100, no subsampling. */
image_bytes image_bytes_jpeg(size_t height, size_t width, image_jpeg_kind kind, const unsigned char *pixels);

void image_bytes_save(const char *path, const void *data, size_t size);

#endif
