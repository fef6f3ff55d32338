/* Gathers and sums by index, for other families. */
#ifndef WI_INDEX_H
#define WI_INDEX_H

#include "graph/node.h"
#include <weft/indexing.h>

extern const wi_op wi_op_select_rows;
extern const wi_op wi_op_scatter_max, wi_op_scatter_min; /* -inf or inf at elements that no index names */

/* The function wi_op.along of ops with wi_index_attributes. */
static inline int wi_index_axis(const weft_tensor *y) {
    return y->attributes->index.axis;
}

/* The values (count) as (count, 1, ...), which broadcast with rows of this rank. */
weft_tensor *wi_beside_rows(weft_tensor *values, int rank);
/* weft_index_sum along the first axis, without the rows whose index is `skipped`. */
weft_tensor *wi_index_sum_skipping(weft_tensor *source, weft_tensor *index, int64_t size, int64_t skipped);
/* Returns i32 (most): the indices at which the mask, i32 (n), is not 0, in ascending order, followed by indices at
 * which the mask is 0 to fill up the result. `most` is a dimension. If the mask is not 0 at more than `most` indices,
 * the next read or wait fails with an error of adaptive_softmax. */
weft_tensor *wi_chosen_rows(weft_tensor *mask, int64_t most);

/* weft_index_copy along axis 0, without rows of index -1. Other indices must be unique. It has no gradient. */
weft_tensor *wi_replace_rows(weft_tensor *table, weft_tensor *index, weft_tensor *rows);

/* ---- segments.c ---- */
extern const wi_op wi_op_segments, wi_op_segment_sum, wi_op_segment_select, wi_op_segment_copy;

/* i32 (4, n): the segments of equal numbers of an index (n). Numbers must be below `size`, or -1; others are treated as -1, and fail
 * the next read or wait. */
weft_tensor *wi_segments_of(weft_tensor *index, int64_t size);
/* The index of each segment (n), in ascending order; -1 behind the last one. */
weft_tensor *wi_segment_tokens(weft_tensor *segments);
/* f32 (n, width): the sums of the rows of the source (n, width) in each segment, in the order of the index; zeros for an index of -1, and
 * behind the last segment. */
weft_tensor *wi_segment_sum(weft_tensor *source, weft_tensor *segments);
/* The rows of the table for each segment (n, width), undefined if the index is -1. `sums` are the sums of the segments, an input only so
 * that a plan computes both in one launch. */
weft_tensor *wi_segment_select(weft_tensor *table, weft_tensor *segments, weft_tensor *sums);
/* Returns the table in which `rows` (n, width) replace the rows of the segments. A segment with index -1 replaces no
 * row. */
weft_tensor *wi_segment_copy(weft_tensor *table, weft_tensor *segments, weft_tensor *rows);

/* Divides row i of `rows` (n, width) by the number of times that index[i] occurs in the index (n). All indices are
 * below `size`. */
weft_tensor *wi_by_frequency(weft_tensor *rows, weft_tensor *index, int64_t size);

/* weft_embedding_with. padding: the row without gradient, NULL: none; by_frequency: see wi_index_attributes. */
weft_tensor *wi_embedding_with(
    weft_tensor *table, weft_tensor *tokens, const int64_t *padding, bool by_frequency);

/* Checks tokens and options of bags, and writes the options with defaults. */
bool wi_bag_check(
    weft_tensor *tokens, weft_dtype dtype, const weft_bag_options *given, weft_bag_options *own);
/* i32 (n): the bag of each of the tokens (n), for bags that begin at these offsets. */
weft_tensor *wi_bags_of_places(weft_tensor *tokens, weft_tensor *offsets);
/* The result of weft_embedding_bag_with for the rows (tokens..., width). */
weft_tensor *wi_bags(weft_tensor *rows, weft_tensor *tokens, const weft_bag_options *o, int64_t vocabulary);

#endif
