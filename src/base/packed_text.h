/* Texts in the library that the build has compressed. */
#ifndef WI_PACKED_TEXT_H
#define WI_PACKED_TEXT_H

#include "base/memory.h"

typedef struct wi_packed_text {
    const unsigned char *packed; /* compressed by gzip */
    size_t packed_bytes, bytes;  /* bytes: of the text, without a NUL */
} wi_packed_text;

/* *text: the text with a NUL at its end; the caller releases it with wi_release. name: for the message of
 * WEFT_ERROR_MEMORY. */
weft_status wi_packed_text_unpack(
    char **text, const wi_packed_text *packed, const weft_allocator *allocator, const char *name);

#endif
