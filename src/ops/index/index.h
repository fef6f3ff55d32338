/* What other families take from picking and adding up by index. */
#ifndef WI_INDEX_H
#define WI_INDEX_H

#include "ops/op_table.h"

extern const wi_op wi_op_select_rows;
extern const wi_op wi_op_scatter_max, wi_op_scatter_min; /* -inf, inf where no index is */

/* wi_op.along of ops whose attributes are those of an index. */
static inline int wi_index_axis(const weft_tensor *y) {
    return y->attributes->index.axis;
}

/* weft_index_sum along the first axis, without the rows whose index is `skipped`. */
weft_tensor *wi_index_sum_skipping(weft_tensor *source, weft_tensor *index, int64_t size, int64_t skipped);
/* i32 (most): the rows where mask i32 (n) is not 0, in order, then others. More of them than `most`, a
 * dimension as dimensions are written, fail the next read or wait in the name of adaptive_softmax. */
weft_tensor *wi_chosen_rows(weft_tensor *mask, int64_t most);

/* weft_index_copy along axis 0 of rows of which no index but -1 stands twice; those of index -1 are left out. It has no
 * gradient of its own. */
weft_tensor *wi_replace_rows(weft_tensor *table, weft_tensor *index, weft_tensor *rows);

/* ---- segments.c ---- */
extern const wi_op wi_op_segments, wi_op_segment_sum, wi_op_segment_select, wi_op_segment_copy;

/* i32 (4, n): the segments of equal numbers of an index (n) whose numbers are -1, or below `size`. Others are noted, and
 * count as -1. */
weft_tensor *wi_segments_of(weft_tensor *index, int64_t size);
/* The index of each segment (n), in ascending order; -1 behind the last one. */
weft_tensor *wi_segment_tokens(weft_tensor *segments);
/* f32 (n, width): the rows of the source (n, width) added up by segments, in the order of the index; zeros for an index of
 * -1, and behind the last. */
weft_tensor *wi_segment_sum(weft_tensor *source, weft_tensor *segments);
/* The table's rows of the segments (n, width), any numbers where the index is -1. sums: those of the segments, behind which
 * the rows are picked, so that a plan may do both at once. */
weft_tensor *wi_segment_select(weft_tensor *table, weft_tensor *segments, weft_tensor *sums);
/* The table, with the rows (n, width) of the segments replaced; those of index -1 are left out. */
weft_tensor *wi_segment_copy(weft_tensor *table, weft_tensor *segments, weft_tensor *rows);

/* rows (n, width), each divided by how often its index stands in the index (n), all below `size`. */
weft_tensor *wi_by_frequency(weft_tensor *rows, weft_tensor *index, int64_t size);

/* weft_embedding_with; padding: the row that gets no gradient, NULL: none; by_frequency: see the attribute. */
weft_tensor *wi_embedding_with(
    weft_tensor *table, weft_tensor *tokens, const int64_t *padding, bool by_frequency);

/* Are tokens and options those of bags of a table's rows? `own` gets the options with their defaults. */
bool wi_bag_check(
    weft_tensor *tokens, weft_dtype dtype, const weft_bag_options *given, weft_bag_options *own);
/* i32 (n): the bag of each place of tokens (n), of bags that begin at these offsets. */
weft_tensor *wi_bags_of_places(weft_tensor *tokens, weft_tensor *offsets);
/* What weft_embedding_bag_with makes of the rows (tokens..., width). */
weft_tensor *wi_bags(weft_tensor *rows, weft_tensor *tokens, const weft_bag_options *o, int64_t vocabulary);

#endif
