/* How the tensors of a file differ from those of a graph, as one error line. */
#ifndef WI_DIFFERENCES_H
#define WI_DIFFERENCES_H

#include "io/safetensors.h"
#include "io/saved_list.h"

/* The line has only the first few differences, and the number of the others. */
typedef struct wi_differences {
    weft_status status; /* of the first difference; WEFT_OK: none so far */
    size_t count;
    wi_text line;
} wi_differences;

void wi_differences_init(wi_differences *differences, const weft_allocator *allocator);
void wi_differences_clear(wi_differences *differences);

void wi_differences_missing(wi_differences *differences, const char *name);    /* not in the file */
void wi_differences_unexpected(wi_differences *differences, const char *name); /* not in the graph */
void wi_differences_shape(
    wi_differences *differences, const wi_saved_tensor *saved, const wi_saved_entry *entry);
void wi_differences_dtype(
    wi_differences *differences, const wi_saved_tensor *saved, const wi_saved_entry *entry);
/* WEFT_OK if there are no differences; else the error, whose line begins with the path and `what`. */
weft_status wi_differences_report(const wi_differences *differences, const char *path, const char *what);

bool wi_saved_shape_equal(const wi_saved_tensor *saved, const wi_saved_entry *entry);

#endif
