/* index_copy.cl: rows of a tensor replaced where an index says.
 *
 *     x, y (outer, size, inner)   index (count)   source (outer, count, inner); contiguous
 *
 *     y = x, then y[o][index[j]][i] = source[o][j][i] for j = 0, 1, ...: of an index that stands twice the last counts
 *
 * y may be x itself (an assignment in place): `base` then copies nothing, and only the rows that are replaced are
 * written. An index that is `skipped` (with WEFT_SKIPS) is left out; any other outside 0 .. size - 1 is noted and left
 * out. WEFT_ELEMENT is an unsigned type of the elements' size.
 *
 * Work split of `base`: items take every items-th piece of PIECE elements. Of `rows`: an item owns the rows r_begin ..
 * r_end - 1 of one o in `width` neighbouring columns, and walks through the index, so that the order is fixed; of
 * `each`, where no index stands twice (WEFT_SKIPS), an item takes rows of the source one after another, and requests that of
 * y for the index of WEFT_ROWS_AHEAD rows later, or items beside each other take one. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) index_copy_##suffix
#define WEFT_ELEMENT      uint
#define WEFT_SKIPS        0
#define WEFT_WHOLE_ROWS   1
#endif

#define PIECE 1024

__kernel void WEFT_NAME(base)(__global const WEFT_ELEMENT *x, long x_offset, __global WEFT_ELEMENT *y,
    long y_offset, long items, long elements) {
    const long item = (long)get_global_id(0);
    x += x_offset;
    y += y_offset;
    if (item >= items || x == y) return;
#if WEFT_WHOLE_ROWS
    for (long first = item * PIECE; first < elements; first += items * PIECE) {
        const long last = min(first + PIECE, elements);
        long i = first;
        for (; i + 16 <= last; i += 16) vstore16(vload16(0, x + i), 0, y + i);
        for (; i < last; i++) y[i] = x[i];
    }
#else
    for (long i = item; i < elements; i += items) y[i] = x[i];
#endif
}

#if WEFT_SKIPS

#if WEFT_WHOLE_ROWS
#define WEFT_ROWS_AHEAD 8
typedef WEFT_ELEMENT WEFT_NAME(lanes) __attribute__((ext_vector_type(16), aligned(sizeof(WEFT_ELEMENT))));
#endif

__kernel void WEFT_NAME(each)(__global const int *restrict index, long index_offset,
    __global const WEFT_ELEMENT *restrict source, long source_offset, __global WEFT_ELEMENT *restrict y,
    long y_offset, __global int *faults, long fault, long count, long size, long inner, long rows_an_item,
    long skipped) {
    index += index_offset;
    source += source_offset;
    y += y_offset;
#if WEFT_WHOLE_ROWS
    const long begin = (long)get_global_id(0) * rows_an_item, end = min(begin + rows_an_item, count);
    for (long j = begin; j < end; j++) {
        const long first = 0, step = 1;
#else
    {
        const long j = (long)get_global_id(1), first = (long)get_global_id(0),
                   step = (long)get_global_size(0);
        if (j >= count) return;
#endif
        const int k = index[j];
        const bool good = k >= 0 && k < size;
        if (!good && k != skipped && first == 0) WEFT_FAULT(faults, fault, j);
        long i = good ? first : inner;
#if WEFT_WHOLE_ROWS
        const int later = clamp(index[min(j + WEFT_ROWS_AHEAD, end - 1)], 0, (int)size - 1);
        for (; i + 16 <= inner; i += 16) {
            WEFT_PREFETCH(y + later * inner + i, 3);
            *(__global WEFT_NAME(lanes) *)(y + k * inner + i) =
                *(__global const WEFT_NAME(lanes) *)(source + j * inner + i);
        }
#endif
        for (; i < inner; i += step) y[k * inner + i] = source[j * inner + i];
    }
}

#else

__kernel void WEFT_NAME(rows)(__global const int *restrict index, long index_offset,
    __global const WEFT_ELEMENT *restrict source, long source_offset, __global WEFT_ELEMENT *restrict y,
    long y_offset, __global int *faults, long fault, long items, long count, long size, long inner,
    long width, long columns, long ranges, long rows_a_range) {
    const long item = (long)get_global_id(0);
    if (item >= items) return;
    /* neighbouring items own neighbouring columns */
    const long column = item % columns, range = item / columns % ranges, o = item / columns / ranges;
    const long begin = column * width, end = min(begin + width, inner);
    const long r_begin = range * rows_a_range, r_end = min(r_begin + rows_a_range, size);
    index += index_offset;
    source += source_offset + o * count * inner;
    y += y_offset + o * size * inner;
    for (long j = 0; j < count; j++) {
        const int k = index[j];
        if (k >= r_begin && k < r_end)
            for (long i = begin; i < end; i++) y[k * inner + i] = source[j * inner + i];
        if (item == 0 && (k < 0 || k >= size)) WEFT_FAULT(faults, fault, j);
    }
}

#endif
