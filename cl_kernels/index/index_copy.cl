/* index_copy.cl: copies a tensor and replaces rows by index.
 *
 *     x, y (outer, size, inner)   index (count)   source (outer, count, inner); contiguous
 *
 *     y = x, then y[o][index[j]][i] = source[o][j][i] for j = 0, 1, ...: if an index occurs twice, the last row counts
 *
 * y may be x itself (an assignment in place): then `base` copies nothing, and only the replaced rows are written. An index that equals
 * `skipped` (with WEFT_SKIPS) is ignored; any other index outside 0 .. size - 1 is reported as a fault and ignored. WEFT_ELEMENT is an
 * unsigned type of the elements' size. With WEFT_SKIPS -1 the file has the kernels for both cases.
 *
 * base: an item copies every items-th block of PIECE elements (class cpu), or every items-th element. rows: an item replaces the rows
 * r_begin .. r_end - 1 of one o in `width` neighbouring columns, and walks through the whole index, so that the order is fixed. each: for
 * an index in which no number but `skipped` occurs twice (WEFT_SKIPS); in class cpu an item copies rows of the source one after another,
 * and prefetches the row of y for the index WEFT_ROWS_AHEAD further on; in class gpu neighbouring items copy one row. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) index_copy_##suffix
#define WEFT_ELEMENT      uint
#define WEFT_SKIPS        (-1)
#define WEFT_WHOLE_ROWS   1
#ifndef WEFT_INDEX
#define WEFT_INDEX long
#endif
#endif

#define PIECE 1024

__kernel void WEFT_NAME(base)(__global const WEFT_ELEMENT *x, long x_offset, __global WEFT_ELEMENT *y,
    long y_offset, WEFT_INDEX items, WEFT_INDEX elements) {
    const WEFT_INDEX item = (WEFT_INDEX)get_global_id(0);
    x += x_offset;
    y += y_offset;
    if (item >= items || x == y) return;
#if WEFT_WHOLE_ROWS
    for (WEFT_INDEX first = item * PIECE; first < elements; first += items * PIECE) {
        const WEFT_INDEX last = min(first + PIECE, elements);
        WEFT_INDEX i = first;
        for (; i + 16 <= last; i += 16) vstore16(vload16(0, x + i), 0, y + i);
        for (; i < last; i++) y[i] = x[i];
    }
#else
    for (WEFT_INDEX i = item; i < elements; i += items) y[i] = x[i];
#endif
}

#if WEFT_SKIPS != 0

#if WEFT_WHOLE_ROWS
#define WEFT_ROWS_AHEAD 8
typedef WEFT_ELEMENT WEFT_NAME(lanes) __attribute__((ext_vector_type(16), aligned(sizeof(WEFT_ELEMENT))));
#endif

__kernel void WEFT_NAME(each)(__global const int *restrict index, long index_offset,
    __global const WEFT_ELEMENT *restrict source, long source_offset, __global WEFT_ELEMENT *restrict y,
    long y_offset, __global int *faults, long fault, WEFT_INDEX count, WEFT_INDEX size, WEFT_INDEX inner,
    WEFT_INDEX rows_an_item, long skipped) {
    index += index_offset;
    source += source_offset;
    y += y_offset;
#if WEFT_WHOLE_ROWS
    const WEFT_INDEX begin = (WEFT_INDEX)get_global_id(0) * rows_an_item,
                     end = min(begin + rows_an_item, count);
    for (WEFT_INDEX j = begin; j < end; j++) {
        const WEFT_INDEX first = 0, step = 1;
#else
    {
        const WEFT_INDEX j = (WEFT_INDEX)get_global_id(1), first = (WEFT_INDEX)get_global_id(0),
                         step = (WEFT_INDEX)get_global_size(0);
        if (j >= count) return;
#endif
        const int k = index[j];
        const bool good = k >= 0 && k < size;
        if (!good & (k != skipped) & (first == 0)) WEFT_FAULT(faults, fault, j);
        WEFT_INDEX i = good ? first : inner;
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

#endif

#if WEFT_SKIPS <= 0

__kernel void WEFT_NAME(rows)(__global const int *restrict index, long index_offset,
    __global const WEFT_ELEMENT *restrict source, long source_offset, __global WEFT_ELEMENT *restrict y,
    long y_offset, __global int *faults, long fault, WEFT_INDEX items, WEFT_INDEX count, WEFT_INDEX size,
    WEFT_INDEX inner, WEFT_INDEX width, WEFT_INDEX columns, WEFT_INDEX ranges, WEFT_INDEX rows_a_range) {
    const WEFT_INDEX item = (WEFT_INDEX)get_global_id(0);
    if (item >= items) return;
    /* neighbouring items have neighbouring columns */
    const WEFT_INDEX column = item % columns, range = item / columns % ranges, o = item / columns / ranges;
    const WEFT_INDEX begin = column * width, end = min(begin + width, inner);
    const WEFT_INDEX r_begin = range * rows_a_range, r_end = min(r_begin + rows_a_range, size);
    index += index_offset;
    source += source_offset + o * count * inner;
    y += y_offset + o * size * inner;
    for (WEFT_INDEX j = 0; j < count; j++) {
        const int k = index[j];
        if (k >= r_begin && k < r_end)
            for (WEFT_INDEX i = begin; i < end; i++) y[k * inner + i] = source[j * inner + i];
        if (item == 0 && (k < 0 || k >= size)) WEFT_FAULT(faults, fault, j);
    }
}

#endif
