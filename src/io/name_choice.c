/* Names in files and in graphs (contract in name_choice.h). */
#include "io/name_choice.h"
#include <stdio.h>
#include <string.h>

bool wi_name_is_chosen(const char *const *only, const char *const *skip, const char *name) {
    if (only && !wi_pattern_matches_any(only, name)) return false;
    return !skip || !wi_pattern_matches_any(skip, name);
}

const char *wi_rename(wi_arena *arena, const wi_renaming *renaming, const char *name) {
    const char *const from = renaming->prefix, *const to = renaming->new_prefix ? renaming->new_prefix : "";
    if (!from || strncmp(name, from, strlen(from)) != 0) return name;
    const size_t capacity = strlen(to) + strlen(name) - strlen(from) + 1;
    char *const changed = wi_arena_take(arena, capacity);
    if (changed) snprintf(changed, capacity, "%s%s", to, name + strlen(from));
    return changed;
}
