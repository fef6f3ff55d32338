/* The text of tuning files (choices.h): read before it is changed, and replaced whole.
 *
 * A file that the caller named is the caller's: links are followed, its mode stays, and what is no tuning file is not
 * overwritten. "tuning.txt" of the cache folder is the library's: wi_kept_file_read, wi_file_write_private. */
#ifndef WI_TUNING_FILE_H
#define WI_TUNING_FILE_H

#include "base/memory.h"

#define WI_TUNING_FIRST_WORD "weft tuning "
#define WI_TUNING_FIRST_LINE WI_TUNING_FIRST_WORD "1"

/* *old: what the file holds now, released by the caller; NULL: there is no file, or the cache folder's file may be another
 * user's or is a link. */
weft_status wi_tuning_file_read(char **old, const weft_allocator *allocator, const char *path, bool named);
weft_status wi_tuning_file_write(const char *path, bool named, const wi_text *text);

#endif
