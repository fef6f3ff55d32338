/* See op_name.h. */
#include "op_name.h"
#include <string.h>

/* A form's endings, in the order in which they are taken off. */
static const char *const endings[] = {
    "_with", "_layer", "_axes", "_loss", "_strided", "_padded", "_shape", "1d", "2d", "3d"};

/* The length of the name without its endings. */
static size_t stem_length(const char *name) {
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t end = strlen(endings[i]);
        if (length > end && strncmp(name + length - end, endings[i], end) == 0) length -= end;
    }
    return length;
}

bool op_name_matches(const char *function, const char *op) {
    if (strncmp(function, "weft_", 5) == 0) function += 5;
    const size_t length = stem_length(function);
    return length == stem_length(op) && strncmp(function, op, length) == 0;
}
