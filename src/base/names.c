/* Sorted lists of names (contract in names.h). */
#include "base/names.h"
#include <stdlib.h>
#include <string.h>

static int by_text(const void *a, const void *b) {
    const wi_name *const left = a, *const right = b;
    const int order = strcmp(left->text, right->text);
    return order ? order : (left->number > right->number) - (left->number < right->number);
}

void wi_names_sort(wi_name *names, size_t count) {
    if (count) qsort(names, count, sizeof *names, by_text);
}

const wi_name *wi_names_find(const wi_name *names, size_t count, const char *text) {
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(names[middle].text, text) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && strcmp(names[low].text, text) == 0 ? &names[low] : NULL;
}

bool wi_names_twice(const wi_name *names, size_t count, size_t i) {
    return i + 1 < count && strcmp(names[i].text, names[i + 1].text) == 0;
}

const char *wi_article(const char *word) {
    return word[0] && strchr("aeiou", word[0]) && strncmp(word, "uni", 3) != 0 ? "an" : "a";
}
