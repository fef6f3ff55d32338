/* See tune_sizes.h. */
#include "tune_sizes.h"
#include "base/memory.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AHEAD = 8 }; /* sizes that the work which is planned may go first with */

weft_status tune_sizes_add(void *user, const char *site, double seconds) {
    tune_sizes *const sizes = user;
    for (size_t i = 0; i < sizes->count; i++) {
        if (strcmp(sizes->of[i].site, site) != 0) continue;
        sizes->of[i].seconds += seconds;
        return WEFT_OK;
    }
    const weft_status status =
        wi_grow(NULL, (void **)&sizes->of, &sizes->capacity, sizes->count + 1, sizeof *sizes->of);
    if (status != WEFT_OK) return status;
    tune_size *const size = &sizes->of[sizes->count++];
    *size = (tune_size){.work = sizes->work, .seconds = seconds};
    snprintf(size->site, sizeof size->site, "%s", site);
    return WEFT_OK;
}

static int longest_first(const void *a, const void *b) {
    const double one = ((const tune_size *)a)->seconds, other = ((const tune_size *)b)->seconds;
    return (one < other) - (one > other);
}

void tune_sizes_sort(tune_sizes *sizes) {
    if (sizes->count > 0) qsort(sizes->of, sizes->count, sizeof *sizes->of, longest_first);
}

tune_size *tune_sizes_next(const tune_sizes *sizes, int last) {
    tune_size *first = NULL;
    int waiting = 0;
    for (size_t i = 0; i < sizes->count && waiting < AHEAD; i++) {
        tune_size *const size = &sizes->of[i];
        if (size->tried) continue;
        if (!first) first = size;
        if (size->work == last) return size;
        waiting++;
    }
    return first;
}

size_t tune_sizes_count(const tune_sizes *sizes, int work, bool measured) {
    size_t count = 0;
    for (size_t i = 0; i < sizes->count; i++)
        count += (work < 0 || sizes->of[i].work == work) && sizes->of[i].measured == measured;
    return count;
}

double tune_sizes_share(const tune_sizes *sizes) {
    double all = 0, measured = 0;
    for (size_t i = 0; i < sizes->count; i++) {
        all += sizes->of[i].seconds;
        measured += sizes->of[i].measured ? sizes->of[i].seconds : 0;
    }
    return all > 0 ? measured / all : 1;
}

void tune_sizes_clear(tune_sizes *sizes) {
    wi_release(NULL, sizes->of);
    *sizes = (tune_sizes){0};
}
