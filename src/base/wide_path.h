/* Paths and errors of Windows, for the files whose names end with _windows.c. */
#ifndef WI_WIDE_PATH_H
#define WI_WIDE_PATH_H

#include "base/platform.h"
#include <wchar.h>

enum { WI_WIDE_PATH = WI_PATH_CAPACITY + 16 };

/* Writes the path as UTF-16, absolute and with the prefix \\?\, which lifts the limit of 259 characters. False: the path
 * is empty, too long, or not UTF-8; errno says which. */
bool wi_widen_path(wchar_t wide[WI_WIDE_PATH], const char *path);
/* Writes the text as UTF-8, without a prefix \\?\. False: it is too long. */
bool wi_narrow(char *text, size_t capacity, const wchar_t *wide);
/* Sets errno according to GetLastError(); returns false. */
bool wi_set_errno(void);

#endif
