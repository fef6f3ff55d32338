/* Writes 8-bit pixels as a PNG file in memory (W3C, Portable Network Graphics, third edition), with zlib and without
 * libpng, so that every build can do it. */
#ifndef WI_PNG_WRITE_H
#define WI_PNG_WRITE_H

#include "base/memory.h"

/* The longest side of an image that is written, which is also the longest that is read. */
enum { WI_PNG_MOST_SIDE = 1 << 24 };

typedef struct wi_png_image {
    const unsigned char *pixels; /* (height, width, channels) */
    int64_t height, width;       /* from 1 to WI_PNG_MOST_SIDE */
    int64_t channels;            /* 1: grey, 2: grey and alpha, 3: RGB, 4: RGBA */
} wi_png_image;

/* Appends the file's bytes to `file`. The caller checks the sizes. WEFT_ERROR_MEMORY. */
weft_status wi_png_write(wi_text *file, const wi_png_image *image);

#endif
