/* Reading and replacing the text of tuning files (choices.h).
 *
 * named: the caller chose the file. Links are then followed, the file keeps its mode, and a file of another kind is an
 * error. Otherwise the file is "tuning.txt" of the cache folder, read by wi_kept_file_read and written by
 * wi_file_write_private. */
#ifndef WI_TUNING_FILE_H
#define WI_TUNING_FILE_H

#include "base/memory.h"

#define WI_TUNING_FIRST_WORD "weft tuning "
#define WI_TUNING_FIRST_LINE WI_TUNING_FIRST_WORD "1"

/* *old: the text of the file, which the caller releases. NULL: there is no file, or "tuning.txt" is a link or others
 * can have written it. Errors: WEFT_ERROR_FORMAT (not a tuning file of this version), WEFT_ERROR_FILE,
 * WEFT_ERROR_MEMORY. */
weft_status wi_tuning_file_read(char **old, const weft_allocator *allocator, const char *path, bool named);
weft_status wi_tuning_file_write(const char *path, bool named, const wi_text *text);

#endif
