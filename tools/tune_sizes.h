/* The sizes that `weft tune` has to measure: of all that it works on, those first that take the most time. */
#ifndef WEFT_TUNE_SIZES_H
#define WEFT_TUNE_SIZES_H

#include "kernels/site_name.h"
#include <weft/base.h>

typedef struct tune_size {
    char site[WI_SITE_NAME];
    int work;       /* that has it; of several the first */
    double seconds; /* estimated, of all steps that have it */
    bool tried, measured;
} tune_size;

typedef struct tune_sizes {
    tune_size *of;
    size_t count, capacity;
    int work; /* that sizes are added for */
} tune_sizes;

/* A step of the work has the size; user is a tune_sizes. */
weft_status tune_sizes_add(void *user, const char *site, double seconds);
void tune_sizes_sort(tune_sizes *sizes);
/* The next to be measured: the first that was not tried, or one of the same work as the last (-1: there is none) that is almost as far
 * ahead, since the work has to be planned for it. NULL: all were tried. */
tune_size *tune_sizes_next(const tune_sizes *sizes, int last);
/* Of one work; -1: of all. */
size_t tune_sizes_count(const tune_sizes *sizes, int work, bool measured);
/* The estimated time of what was measured, as a share of that of all. */
double tune_sizes_share(const tune_sizes *sizes);
void tune_sizes_clear(tune_sizes *sizes);

#endif
