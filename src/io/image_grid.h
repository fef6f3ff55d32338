/* One image, or several as a grid, as a PNG file in memory. */
#ifndef WI_IMAGE_GRID_H
#define WI_IMAGE_GRID_H

#include "base/memory.h"
#include <weft/io.h>

/* Appends the PNG file to `file`; pixels and options as for weft_image_save_png. name: of what is written, for errors
 * (a path, or the tag of an event). The caller clears `file`, also after an error. */
weft_status wi_image_grid_write(
    wi_text *file, const char *name, const void *pixels, const weft_png_options *options);

#endif
