/* What the implementations of picking and adding up by index share. */
#ifndef WI_INDEX_LAUNCHES_H
#define WI_INDEX_LAUNCHES_H

#include "kernels/implementation.h"
#include "ops/index/index.h"

/* A tensor as (outer, along, inner) around the node's axis, at the actual batch. */
typedef struct wi_around {
    int64_t outer, along, inner;
} wi_around;

wi_around wi_around_axis(const wi_kernel_site *site, const wi_extent *extent);

/* Its elements. */
static inline double wi_around_count(const wi_around *a) {
    return (double)a->outer * (double)a->along * (double)a->inner;
}

/* Groups of neighbouring items for the elements of a row: as many as the row has use for. */
wi_kernel_launch *wi_launch_rows(
    const wi_kernel_site *site, wi_kernel_plan *plan, const char *suffix, int64_t rows, int64_t inner);

/* Is one index left out? */
static inline bool wi_index_skips(const wi_kernel_site *site) {
    return site->node->attributes->index.skips;
}

#endif
