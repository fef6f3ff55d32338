/* The layer MACH, for mach.c and mach_top.c. */
#ifndef WI_MACH_H
#define WI_MACH_H

#include "nn/class_labels.h"
#include <weft/classes.h>

struct weft_mach {
    wi_class_layer layer;
    int64_t groups, buckets;
    int64_t root;        /* the smallest whole number whose square is at least the number of classes */
    int32_t *low, *high; /* (root, groups): bucket of class c = (low[c % root] + high[c / root]) % buckets */
    weft_tensor *low_table, *high_table; /* the same numbers; NULL before the first loss */
    weft_tensor *weight, *bias; /* (groups · buckets, width), (groups · buckets); bias may be NULL */
};

#endif
