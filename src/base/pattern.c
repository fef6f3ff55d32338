/* Patterns of names (contract in pattern.h). */
#include "base/pattern.h"

bool wi_pattern_matches(const char *pattern, const char *name) {
    const char *after_star = NULL, *retry = NULL;
    while (*name) {
        if (*pattern == '*') {
            after_star = ++pattern;
            retry = name;
        } else if (*pattern == *name) {
            pattern++;
            name++;
        } else if (after_star) {
            pattern = after_star;
            name = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*') pattern++;
    return *pattern == '\0';
}

bool wi_pattern_matches_any(const char *const *patterns, const char *name) {
    while (*patterns && !wi_pattern_matches(*patterns, name)) patterns++;
    return *patterns != NULL;
}
