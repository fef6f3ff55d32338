/* See posix_calls.h. */
#ifndef FNMATCH_H
#define FNMATCH_H
/* Patterns of stars and other characters, which is what tests use. 0: it matches. */
static inline int fnmatch(const char *pattern, const char *text, int flags) {
    if (*pattern == '*')
        return fnmatch(pattern + 1, text, flags) && (!*text || fnmatch(pattern, text + 1, flags));
    if (!*pattern || !*text) return *pattern != *text;
    return *pattern != *text || fnmatch(pattern + 1, text + 1, flags);
}
#endif
