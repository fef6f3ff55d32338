/* Files that are read where they lie, without a copy in host memory: the operating system loads pages when they are
 * read, and may drop them again. */
#ifndef WI_FILE_MAP_H
#define WI_FILE_MAP_H

#include "base/status.h"

typedef struct wi_file_map {
    const unsigned char
        *data; /* never NULL after wi_file_map_open; an empty file has an address without bytes */
    size_t bytes;
} wi_file_map;

/* Maps a regular file for reading. Nobody may shorten the file until wi_file_map_close. WEFT_ERROR_FILE: there is no
 * such file, or the file cannot be mapped; the map is then empty. *map is {0} before. */
weft_status wi_file_map_open(wi_file_map *map, const char *path);
/* Says that these bytes of a mapped file are not needed soon, so that they no longer count as memory of the process.
 * Memory that is not of a map would lose its content. */
void wi_file_map_drop(const void *begin, size_t bytes);
void wi_file_map_close(wi_file_map *map); /* an empty map is allowed */

#endif
