/* The EXIF orientation of a JPEG file. */
#ifndef WI_EXIF_H
#define WI_EXIF_H

#include <stddef.h>

/* Returns 1 to 8 as the tag Orientation of the first EXIF segment says: how the stored rows and columns are to be turned
 * and mirrored. 1, as they are: also if there is no such tag, or if anything about it cannot be understood. */
int wi_exif_orientation(const unsigned char *data, size_t bytes);

#endif
