/* gather.cl: elements of x picked along one axis.
 *
 *     x (outer, size, inner)   index (outer, count, inner) or (count)   y (outer, count, inner), all
 * contiguous
 *
 *     y[o][j][i] = x[o][index][i]        index = index[o][j][i] with WEFT_EACH 1, index[j] with WEFT_EACH 0
 *
 * WEFT_ELEMENT is an unsigned type of the elements' size. Work split: an item takes `rows` rows (o, j) of y;
 * on gpu-class devices WEFT_WHOLE_ROWS is 0 and an item takes one element. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) gather_##suffix
#define WEFT_ELEMENT      uint
#define WEFT_EACH         1
#define WEFT_WHOLE_ROWS   1
#endif

__kernel void WEFT_NAME(pick)(__global const WEFT_ELEMENT *restrict x, long x_offset,
    __global const int *restrict index, long index_offset, __global WEFT_ELEMENT *restrict y, long y_offset,
    __global int *faults, long fault, long rows, long count, long size, long inner, long rows_an_item) {
    x += x_offset;
    index += index_offset;
    y += y_offset;
#if WEFT_WHOLE_ROWS
    const long begin = (long)get_global_id(0) * rows_an_item, end = min(begin + rows_an_item, rows);
    for (long row = begin; row < end; row++) {
        const long first = 0, last = inner;
#else
    {
        const long row = (long)get_global_id(0) / inner, first = (long)get_global_id(0) % inner,
                   last = first + 1;
        if (row >= rows) return;
#endif
        const long o = row / count;
#if WEFT_EACH
        for (long i = first; i < last; i++) {
            const int k = index[row * inner + i];
            const bool good = k >= 0 && k < size;
            if (!good) WEFT_FAULT(faults, fault, row * inner + i);
            y[row * inner + i] = good ? x[(o * size + (good ? k : 0)) * inner + i] : (WEFT_ELEMENT)0;
        }
#else
        const int k = index[row - o * count];
        const bool good = k >= 0 && k < size;
        if (!good && first == 0) WEFT_FAULT(faults, fault, row - o * count);
        const long from = (o * size + (good ? k : 0)) * inner;
        for (long i = first; i < last; i++) y[row * inner + i] = good ? x[from + i] : (WEFT_ELEMENT)0;
#endif
    }
}
