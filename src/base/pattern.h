/* Patterns of names, as users write them. */
#ifndef WI_PATTERN_H
#define WI_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* A star stands for any characters, none included. */
bool wi_pattern_matches(const char *pattern, const char *name);
/* One of the patterns, ended by NULL, does. */
bool wi_pattern_matches_any(const char *const *patterns, const char *name);

#endif
