/* Segments of equal numbers of an index, found by sorting, so that sums of rows with equal indices need no tensor of the table's size.
 * Kernels: segment_lists.cl, segment_sum.cl, gather.cl and index_copy.cl.
 *
 *     index    5 2 5 -1 2     order    3 1 4 0 2     segments   token   -1 2 5 -1 -1    of each segment; -1 behind the last
 *                                                               begin    0 1 3  5  5    in the order
 *                                                               order    3 1 4  0  2
 *                                                               of       2 1 2  0  1    which segment an index belongs to
 *
 * The sums of the gradients of a table's rows, the rows, and the replacement of the rows are separate nodes over the segments
 * (n) instead of the table. A plan may compute all of them by one launch (plan/group/partition_rows.c). */
#include "ops/index/index.h"
#include "ops/op_table.h"

enum { TOKEN, BEGIN, ORDER, OF, LISTS };

#define SEGMENT_OP(op, faults, in_place)                                                                     \
    const wi_op wi_op_##op = {.name = #op,                                                                   \
        .kind = WI_KERNEL,                                                                                   \
        .attribute_bytes = sizeof(wi_index_attributes),                                                      \
        .zero_gradient = true,                                                                               \
        .contiguous = 7,                                                                                     \
        .fault = (faults),                                                                                   \
        .replaces = (in_place)};
SEGMENT_OP(segments, "an index is out of range", false)
SEGMENT_OP(segment_sum, NULL, false)
SEGMENT_OP(segment_select, "an index is out of range", false)
SEGMENT_OP(segment_copy, "an index is out of range", true)

weft_tensor *wi_segments_of(weft_tensor *index, int64_t size) {
    if (!index) return NULL;
    const wi_attributes attributes = {.index = {.skips = true, .skipped = -1, .size = size}};
    const wi_shape shape = {.rank = 2, .dims = {LISTS, index->shape.dims[0]}};
    return wi_node(index->graph, &wi_op_segments, &index, 1, WEFT_I32, &shape, &attributes);
}

static weft_tensor *list_of(weft_tensor *segments, int list) {
    weft_tensor *const row = segments ? weft_slice(segments, 0, list, list + 1) : NULL;
    return row ? weft_reshape_shape(row, 1, &segments->shape.dims[1]) : NULL;
}

weft_tensor *wi_segment_tokens(weft_tensor *segments) {
    return list_of(segments, TOKEN);
}

static weft_tensor *make(const wi_op *op, weft_tensor *const *inputs, int count, const wi_shape *shape) {
    for (int i = 0; i < count; i++)
        if (!inputs[i]) return NULL;
    const wi_attributes attributes = {.index = {.skips = true, .skipped = -1}};
    return wi_node(inputs[0]->graph, op, inputs, count, WEFT_F32, shape, &attributes);
}

weft_tensor *wi_segment_sum(weft_tensor *source, weft_tensor *segments) {
    weft_tensor *const inputs[] = {source, segments};
    return source ? make(&wi_op_segment_sum, inputs, 2, &source->shape) : NULL;
}

weft_tensor *wi_segment_select(weft_tensor *table, weft_tensor *segments, weft_tensor *sums) {
    weft_tensor *const inputs[] = {table, segments, sums};
    return sums ? make(&wi_op_segment_select, inputs, 3, &sums->shape) : NULL;
}

weft_tensor *wi_segment_copy(weft_tensor *table, weft_tensor *segments, weft_tensor *rows) {
    weft_tensor *const inputs[] = {table, segments, rows};
    return table ? make(&wi_op_segment_copy, inputs, 3, &table->shape) : NULL;
}

weft_tensor *wi_by_frequency(weft_tensor *rows, weft_tensor *index, int64_t size) {
    weft_tensor *const segments = rows ? wi_segments_of(index, size) : NULL;
    weft_tensor *const of = list_of(segments, OF);
    if (!of) return NULL;
    weft_tensor *const ones = weft_expand(weft_number(index, 1), 1, index->shape.dims);
    weft_tensor *const counts = weft_index_sum(ones, 0, of, index->shape.dims[0]);
    weft_tensor *const count = counts ? weft_cast(weft_index_select(counts, 0, of), rows->dtype) : NULL;
    return weft_div(rows, weft_unsqueeze(count, 1));
}
