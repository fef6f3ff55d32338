/* The header of a safetensors file. */
#ifndef WI_SAFETENSORS_WRITE_H
#define WI_SAFETENSORS_WRITE_H

#include "io/saved_list.h"

/* Appends the length, the JSON header and its padding to `text`; the data follows in the order of the entries, at a
 * multiple of 8. The section "__metadata__", if there are pairs, comes first. Sets `begin` of each entry, and
 * *data_bytes to the bytes of all entries. The line of an error names path and tensor. WEFT_ERROR_ARGUMENT: a name is
 * "__metadata__" or not UTF-8; WEFT_ERROR_STATE: two tensors have the same name. */
weft_status wi_saved_header(wi_text *text, const char *path, wi_saved_list *list, size_t *data_bytes);

#endif
