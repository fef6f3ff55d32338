/* Which tensors of a graph a file is about, and their names there. */
#ifndef WI_NAME_CHOICE_H
#define WI_NAME_CHOICE_H

#include "base/memory.h"
#include "base/pattern.h"

/* only and skip are patterns ended by NULL, or NULL. */
bool wi_name_is_chosen(const char *const *only, const char *const *skip, const char *name);

/* Names that begin with `prefix` begin with `new_prefix` instead. prefix NULL: none do; new_prefix NULL: "". */
typedef struct wi_renaming {
    const char *prefix, *new_prefix;
} wi_renaming;
/* The name, or another in the arena; NULL: out of memory. */
const char *wi_rename(wi_arena *arena, const wi_renaming *renaming, const char *name);

#endif
