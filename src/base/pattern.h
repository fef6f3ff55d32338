/* Patterns of names, as users write them. */
#ifndef WI_PATTERN_H
#define WI_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* A star stands for any characters, none included. */
bool wi_pattern_matches(const char *pattern, const char *name);

#endif
