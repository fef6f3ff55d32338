/* Patterns for names, which users write with stars ("encoder.*.weight"). */
#ifndef WI_PATTERN_H
#define WI_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the pattern matches the whole name. A star matches any characters, also none. */
bool wi_pattern_matches(const char *pattern, const char *name);
/* Whether one of the patterns matches; a NULL ends the array. */
bool wi_pattern_matches_any(const char *const *patterns, const char *name);

#endif
