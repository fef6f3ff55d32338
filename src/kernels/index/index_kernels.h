/* What the implementations of picking and adding up by index share. */
#ifndef WI_INDEX_KERNELS_H
#define WI_INDEX_KERNELS_H

#include "kernels/registry.h"
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

extern const wi_implementation wi_gather, wi_index_select, wi_scatter_sum, wi_index_lists_cpu,
    wi_index_segments_gpu, wi_index_scatter, wi_index_copy, wi_select_rows_kernel, wi_segment_lists_cpu,
    wi_segment_lists_gpu, wi_segment_sum_rows;

#endif
