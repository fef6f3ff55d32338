/* Equal numbers of an index, found by sorting it: what adds up rows of equal indices needs no tensor of the table's size.
 *
 *     index    5 2 5 -1 2     sorted   -1 2 2 5 5     number of the segment, in the index' own order   2 1 2 0 1
 *                             first     1 1 0 1 0     token of each segment                           -1 2 5 -1 -1 */
#include "ops/index/index.h"

static weft_tensor *filled(weft_tensor *like, double value) {
    return weft_expand(weft_number(like, value), like->shape.rank, like->shape.dims);
}

wi_segments wi_segments_of(weft_tensor *index) {
    if (!index) return (wi_segments){0};
    weft_tensor *const order = weft_argsort(index, 0, false), *const sorted = weft_sort(index, 0, false);
    weft_tensor *const place = wi_coordinate(index->graph, &index->shape, 0);
    weft_tensor *const begins = weft_logical_or(
        weft_equal(place, weft_number(place, 0)), weft_not_equal(sorted, weft_roll(sorted, 0, 1)));
    weft_tensor *const number = weft_add_number(weft_cumsum(weft_cast(begins, WEFT_I32), 0), -1);
    if (!number) return (wi_segments){0};
    weft_tensor *const starts = weft_where(begins, number, weft_number(number, -1));
    return (wi_segments){.of = wi_replace_rows(filled(index, 0), order, number),
        .token = wi_replace_rows(filled(index, -1), starts, sorted)};
}

weft_tensor *wi_by_frequency(weft_tensor *rows, weft_tensor *index) {
    if (!rows || !index) return NULL;
    const wi_segments s = wi_segments_of(index);
    weft_tensor *const counts = s.of ? weft_index_sum(filled(index, 1), 0, s.of, index->shape.dims[0]) : NULL;
    weft_tensor *const count = counts ? weft_cast(weft_index_select(counts, 0, s.of), rows->dtype) : NULL;
    return weft_div(rows, weft_unsqueeze(count, 1));
}
