/* Sorted lists of names, each with a number: to find a name, or names that occur twice, without comparing all pairs. */
#ifndef WI_NAMES_H
#define WI_NAMES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct wi_name {
    const char *text;
    size_t number;
} wi_name;

/* Sorts by the bytes of the texts, and equal texts by their numbers. */
void wi_names_sort(wi_name *names, size_t count);
/* The first name of a sorted list with this text; others with the text follow it in the array. NULL: there is none. */
const wi_name *wi_names_find(const wi_name *names, size_t count, const char *text);
/* Whether names[i] and names[i + 1] of a sorted list have the same text. */
bool wi_names_twice(const wi_name *names, size_t count, size_t i);
/* "an" before a vowel, but "a uniform"; otherwise "a": the article before a word that a message inserts. */
const char *wi_article(const char *word);

#endif
