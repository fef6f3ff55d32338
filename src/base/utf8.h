/* UTF-8, in which texts and the names in files are. */
#ifndef WI_UTF8_H
#define WI_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the UTF-8 character at text (1 to 4); 0: none begins there. */
size_t wi_utf8_length(const char *text, size_t bytes);
/* Is all of it UTF-8? */
bool wi_utf8_is_text(const char *text, size_t bytes);

#endif
