/* What other families take from picking and adding up by index. */
#ifndef WI_INDEX_H
#define WI_INDEX_H

#include "ops/op_table.h"

/* Of a KERNEL op with inputs (x, index) that picks whole rows along attributes.axis; its index has rank 1. */
weft_status wi_index_select_kernel(const wi_kernel_site *site, wi_kernel_plan *plan);
/* weft_index_sum along the first axis, without the rows whose index is `skipped`. */
weft_tensor *wi_index_sum_skipping(weft_tensor *source, weft_tensor *index, int64_t size, int64_t skipped);

#endif
