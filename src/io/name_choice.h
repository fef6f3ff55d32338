/* Selects the tensors of a graph that a file contains, and changes their names in the file. */
#ifndef WI_NAME_CHOICE_H
#define WI_NAME_CHOICE_H

#include "base/memory.h"
#include "base/pattern.h"

/* Does the name match a pattern of `only` (`only` NULL: any name does) and no pattern of `skip` (NULL: no pattern)?
 * NULL ends each list. */
bool wi_name_is_chosen(const char *const *only, const char *const *skip, const char *name);

/* Replaces the beginning `prefix` of names by `new_prefix`. prefix NULL: changes no name; new_prefix NULL: "". */
typedef struct wi_renaming {
    const char *prefix, *new_prefix;
} wi_renaming;
/* The name itself, or the changed name in the arena; NULL: out of memory. */
const char *wi_rename(wi_arena *arena, const wi_renaming *renaming, const char *name);

#endif
