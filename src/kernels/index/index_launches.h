/* Sizes and launches of the kernels that read or add up rows and elements by index. */
#ifndef WI_INDEX_LAUNCHES_H
#define WI_INDEX_LAUNCHES_H

#include "kernels/implementation.h"
#include "ops/index/index.h"

/* The sizes of a tensor at the actual batch size: `along` is the size of the node's axis, `outer` the product of the sizes of the
 * axes before it, `inner` of those after it. */
typedef struct wi_around {
    int64_t outer, along, inner;
} wi_around;

wi_around wi_around_axis(const wi_kernel_site *site, const wi_extent *extent);

/* The number of elements. */
static inline double wi_around_count(const wi_around *a) {
    return (double)a->outer * (double)a->along * (double)a->inner;
}

/* Appends a launch for `rows` rows of `inner` elements, in which neighbouring items compute neighbouring elements of a row. A
 * group has several rows if a row has fewer elements than the group has items. */
wi_kernel_launch *wi_launch_rows(
    const wi_kernel_site *site, wi_kernel_plan *plan, const char *suffix, int64_t rows, int64_t inner);

/* Defines WEFT_SKIPS for a template: 1 if the kernel ignores indices that have one certain value, else 0. */
void wi_index_skips_macro(wi_kernel_plan *plan, const wi_kernel_site *site);
/* Returns the node with one more input: the order that sorts its input number `index`. The order is an argsort node, so nodes
 * with the same index tensor share it. NULL: the graph has an error. */
weft_tensor *wi_index_with_order(const weft_tensor *node, int index);

#endif
