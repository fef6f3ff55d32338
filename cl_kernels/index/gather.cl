/* gather.cl: elements of x gathered along one axis.
 *
 *     x (outer, size, inner)   index (outer, count, inner) or (count)   y (outer, count, inner); contiguous
 *
 *     WEFT_EACH 1: pick   y[o][j][i] = x[o][index[o][j][i]][i]
 *     WEFT_EACH 0: rows   y[o][j][i] = x[o][index[j]][i]      -1: both kernels
 *
 * An index out of range gives zeros, and is reported as a fault unless it equals `skipped`. WEFT_ELEMENT is an unsigned type of the
 * elements' size. Class cpu: an item computes `rows_an_item` rows (o, j) of y; `rows` copies sixteen elements at a time, and meanwhile
 * prefetches the row of the index WEFT_ROWS_AHEAD further on, because rows of a large table are not in a cache. Class gpu (WEFT_WHOLE_ROWS
 * 0): in `pick` an item computes one element; in `rows` neighbouring items copy a row, at most one item for each element. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) gather_##suffix
#define WEFT_ELEMENT      uint
#define WEFT_EACH         (-1)
#define WEFT_WHOLE_ROWS   1
#ifndef WEFT_INDEX
#define WEFT_INDEX long
#endif
#endif

#define WEFT_GATHER_PARAMETERS                                                                               \
    __global const WEFT_ELEMENT *restrict x, long x_offset, __global const int *restrict index,              \
        long index_offset, __global WEFT_ELEMENT *restrict y, long y_offset, __global int *faults,           \
        long fault, WEFT_INDEX rows, WEFT_INDEX count, WEFT_INDEX size, WEFT_INDEX inner,                    \
        WEFT_INDEX rows_an_item, long skipped
#define WEFT_GATHER_BEGIN                                                                                    \
    x += x_offset;                                                                                           \
    index += index_offset;                                                                                   \
    y += y_offset;

#if WEFT_EACH != 0

__kernel void WEFT_NAME(pick)(WEFT_GATHER_PARAMETERS) {
    WEFT_GATHER_BEGIN
#if WEFT_WHOLE_ROWS
    const WEFT_INDEX begin = (WEFT_INDEX)get_global_id(0) * rows_an_item,
                     end = min(begin + rows_an_item, rows);
    for (WEFT_INDEX row = begin; row < end; row++) {
        const WEFT_INDEX first = 0, last = inner;
#else
    {
        const WEFT_INDEX row = (WEFT_INDEX)get_global_id(0) / inner,
                         first = (WEFT_INDEX)get_global_id(0) % inner, last = first + 1;
        if (row >= rows) return;
#endif
        const WEFT_INDEX o = row / count;
        for (WEFT_INDEX i = first; i < last; i++) {
            const int k = index[row * inner + i];
            const bool good = k >= 0 && k < size;
            if (!good && k != skipped) WEFT_FAULT(faults, fault, row * inner + i);
            y[row * inner + i] = good ? x[(o * size + (good ? k : 0)) * inner + i] : (WEFT_ELEMENT)0;
        }
    }
}

#endif

#if WEFT_EACH != 1

#if WEFT_WHOLE_ROWS
#define WEFT_ROWS_AHEAD 16
typedef WEFT_ELEMENT WEFT_NAME(lanes) __attribute__((ext_vector_type(16), aligned(sizeof(WEFT_ELEMENT))));
#endif

__kernel void WEFT_NAME(rows)(WEFT_GATHER_PARAMETERS) {
    WEFT_GATHER_BEGIN
#if WEFT_WHOLE_ROWS
    const WEFT_INDEX begin = (WEFT_INDEX)get_global_id(0) * rows_an_item,
                     end = min(begin + rows_an_item, rows);
    for (WEFT_INDEX row = begin; row < end; row++) {
        const WEFT_INDEX first = 0, step = 1;
#else
    {
        const WEFT_INDEX row = (WEFT_INDEX)get_global_id(1), first = (WEFT_INDEX)get_global_id(0),
                         step = (WEFT_INDEX)get_global_size(0);
        if (row >= rows) return;
#endif
        const WEFT_INDEX o = row / count;
        const int k = index[row - o * count];
        const bool good = k >= 0 && k < size;
#if WEFT_WHOLE_ROWS
        const WEFT_INDEX later = min(row + WEFT_ROWS_AHEAD, end - 1);
        const int wanted = clamp(index[later - later / count * count], 0, (int)size - 1);
        __global const WEFT_ELEMENT *const ahead = x + (later / count * size + wanted) * inner;
#endif
        if (!good & (k != skipped) & (first == 0)) WEFT_FAULT(faults, fault, row - o * count);
        __global const WEFT_ELEMENT *const from = x + (o * size + (good ? k : 0)) * inner;
        __global WEFT_ELEMENT *const to = y + row * inner;
        WEFT_INDEX i = first;
#if WEFT_WHOLE_ROWS
        for (; good && i + 16 <= inner; i += 16) {
            WEFT_PREFETCH(ahead + i, 2);
            *(__global WEFT_NAME(lanes) *)(to + i) = *(__global const WEFT_NAME(lanes) *)(from + i);
        }
#endif
        for (; i < inner; i += step) to[i] = good ? from[i] : (WEFT_ELEMENT)0;
    }
}

#endif
