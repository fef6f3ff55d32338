/* What a safetensors file begins with. */
#ifndef WI_SAFETENSORS_WRITE_H
#define WI_SAFETENSORS_WRITE_H

#include "io/saved_list.h"

/* Appends the length, the JSON header and its padding to `text`; the data follows in the order of the entries, at a
 * multiple of 8. The section "__metadata__", if there are pairs, comes first. Sets begin of each entry and *data_bytes
 * to the bytes of all. Errors name path and tensor: a name that is not UTF-8, "__metadata__", or there twice. */
weft_status wi_saved_header(wi_text *text, const char *path, wi_saved_list *list, size_t *data_bytes);

#endif
