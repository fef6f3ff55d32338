/* Names and their numbers, sorted: so that to look one up, or to find those that come twice, takes no walk over all. */
#ifndef WI_NAMES_H
#define WI_NAMES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct wi_name {
    const char *text;
    size_t number;
} wi_name;

/* By their bytes; equal ones by their numbers. */
void wi_names_sort(wi_name *names, size_t count);
/* The first of those with that text; NULL: there is none. The next one in the array may have it, too. */
const wi_name *wi_names_find(const wi_name *names, size_t count, const char *text);
/* Do names[i] and the one after it have the same text? */
bool wi_names_twice(const wi_name *names, size_t count, size_t i);

#endif
