/* What other families take from picking and adding up by index. */
#ifndef WI_INDEX_H
#define WI_INDEX_H

#include "ops/op_table.h"

extern const wi_op wi_op_select_rows;

/* weft_index_sum along the first axis, without the rows whose index is `skipped`. */
weft_tensor *wi_index_sum_skipping(weft_tensor *source, weft_tensor *index, int64_t size, int64_t skipped);
/* i32 (most): the rows where mask i32 (n) is not 0, in order, then others. More of them than `most`, a
 * dimension as dimensions are written, fail the next read or wait in the name of adaptive_softmax. */
weft_tensor *wi_chosen_rows(weft_tensor *mask, int64_t most);

/* weft_index_copy along axis 0 of rows of which no index but -1 stands twice; those of index -1 are left out. It has no
 * gradient of its own. */
weft_tensor *wi_replace_rows(weft_tensor *table, weft_tensor *index, weft_tensor *rows);

/* Of an index (n): the number of the segment of equal indices that each belongs to (n), in ascending order, and the index of
 * each segment (n), -1 behind the last one. */
typedef struct wi_segments {
    weft_tensor *of, *token;
} wi_segments;
wi_segments wi_segments_of(weft_tensor *index);
/* rows (n, width), each divided by how often its index stands in the index (n). */
weft_tensor *wi_by_frequency(weft_tensor *rows, weft_tensor *index);

/* weft_embedding_with; padding: the row that gets no gradient, NULL: none; by_frequency: see the attribute. */
weft_tensor *wi_embedding_with(
    weft_tensor *table, weft_tensor *tokens, const int64_t *padding, bool by_frequency);

/* Are tokens and options those of bags of a table's rows? `own` gets the options with their defaults. */
bool wi_bag_check(
    weft_tensor *tokens, weft_dtype dtype, const weft_bag_options *given, weft_bag_options *own);
/* What weft_embedding_bag_with makes of the rows (tokens..., width). */
weft_tensor *wi_bags(weft_tensor *rows, weft_tensor *tokens, const weft_bag_options *o, int64_t vocabulary);

#endif
