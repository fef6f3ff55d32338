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

#endif
