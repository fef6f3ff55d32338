/* put.cl: elements stored by index along one axis; each index occurs at most once.
 *
 *     source, index (outer, count, inner)   y (outer, size, inner), contiguous
 *
 *     y[o][index[o][j][i]][i] = source[o][j][i], zero elsewhere
 *
 * There are two launches: `clear` (not if count = size), then `put`. An item has `share` elements of y, or of the source. WEFT_ELEMENT is
 * an unsigned type of the elements' size. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) put_##suffix
#define WEFT_ELEMENT      uint
#ifndef WEFT_INDEX
#define WEFT_INDEX long
#endif
#endif

__kernel void WEFT_NAME(clear)(__global WEFT_ELEMENT *y, long y_offset, WEFT_INDEX total, WEFT_INDEX share) {
    const WEFT_INDEX begin = (WEFT_INDEX)get_global_id(0) * share;
    y += y_offset;
    for (WEFT_INDEX at = begin; at < min(begin + share, total); at++) y[at] = 0;
}

__kernel void WEFT_NAME(put)(__global const WEFT_ELEMENT *source, long source_offset,
    __global const int *index, long index_offset, __global WEFT_ELEMENT *y, long y_offset, WEFT_INDEX total,
    WEFT_INDEX share, WEFT_INDEX count, WEFT_INDEX size, WEFT_INDEX inner) {
    const WEFT_INDEX begin = (WEFT_INDEX)get_global_id(0) * share;
    source += source_offset;
    index += index_offset;
    y += y_offset;
    for (WEFT_INDEX at = begin; at < min(begin + share, total); at++)
        y[(at / inner / count * size + index[at]) * inner + at % inner] = source[at];
}
