/* Sizes and launches of the kernels that read or add up rows and elements by index. */
#ifndef WI_INDEX_LAUNCHES_H
#define WI_INDEX_LAUNCHES_H

#include "kernels/implementation.h"
#include "ops/index/index.h"

/* A tensor as (outer, along, inner), where `along` is the node's axis; at the actual batch size. */
typedef struct wi_around {
    int64_t outer, along, inner;
} wi_around;

wi_around wi_around_axis(const wi_kernel_site *site, const wi_extent *extent);

/* The number of elements. */
static inline double wi_around_count(const wi_around *a) {
    return (double)a->outer * (double)a->along * (double)a->inner;
}

/* A launch in which neighbouring items have the elements of a row of `inner` elements: as many items as the row needs. */
wi_kernel_launch *wi_launch_rows(
    const wi_kernel_site *site, wi_kernel_plan *plan, const char *suffix, int64_t rows, int64_t inner);

/* Defines WEFT_SKIPS: is one index left out? */
void wi_index_skips_macro(wi_kernel_plan *plan, const wi_kernel_site *site);
/* The node with a third input, the order that sorts its index, which is an ordinary node: equal indices share it. NULL: the graph
 * has an error. */
weft_tensor *wi_index_with_order(const weft_tensor *node, int index);

#endif
