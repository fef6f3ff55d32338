/* segments_gpu.cl: sums of rows of a source by a sorted index; each row of the result is written once.
 *
 *     source (count, inner)   index (count)   order (count)   y (size, inner), all contiguous
 *
 *     y[r] = sum of source[j] over all j with index[j] = r, in the order of j; zeros if there are none
 *
 *     index  2 0 2 5          order    1 0 2 3   starts 0 1 1 3 3 3 4
 *
 * An index that equals `skipped` (with WEFT_SKIPS) is ignored; any other index outside 0 .. size - 1 is reported as a fault and ignored.
 * WEFT_ELEMENT is float or int.
 *
 * `order` is the stable sort of the index. An item of `starts` finds by bisection where the segment of a row begins; in `segments`
 * neighbouring items compute the columns of a row. Items share no memory that they write, so there are no atomics, and each sum has one
 * fixed order. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) segments_##suffix
#define WEFT_ELEMENT      float
#define WEFT_SKIPS        1
#endif

__kernel void WEFT_NAME(starts)(__global const int *restrict index, long index_offset,
    __global const int *restrict order, long order_offset, __global int *restrict starts, long starts_offset,
    __global int *faults, long fault, long count, long size, long skipped) {
    const long item = (long)get_global_id(0);
    index += index_offset;
    order += order_offset;
    if (item < count) {
        const int r = index[item];
        bool bad = r < 0 || r >= size;
#if WEFT_SKIPS
        bad = bad && r != skipped;
#endif
        if (bad) WEFT_FAULT(faults, fault, item);
    }
    if (item > size) return;
    long low = 0, high = count; /* the first element whose index is at least `item` */
    while (low < high) {
        const long middle = (low + high) / 2;
        if (index[order[middle]] < item)
            low = middle + 1;
        else
            high = middle;
    }
    starts[starts_offset + item] = (int)low;
}

__kernel void WEFT_NAME(segments)(__global const WEFT_ELEMENT *restrict source, long source_offset,
    __global const int *restrict order, long order_offset, __global const int *restrict starts,
    long starts_offset, __global WEFT_ELEMENT *restrict y, long y_offset, long size, long inner,
    long skipped) {
    const long r = (long)get_global_id(1);
    if (r >= size) return;
    source += source_offset;
    order += order_offset;
    y += y_offset + r * inner;
    const int begin = starts[starts_offset + r];
    int end = starts[starts_offset + r + 1];
#if WEFT_SKIPS
    if (r == skipped) end = begin;
#endif
    for (long i = (long)get_global_id(0); i < inner; i += (long)get_global_size(0)) {
        WEFT_ELEMENT sum = 0;
        int p = begin;
        for (; p + 4 <= end; p += 4) { /* four loads at once; the sum keeps its order */
            const WEFT_ELEMENT a = source[order[p] * inner + i], b = source[order[p + 1] * inner + i];
            const WEFT_ELEMENT c = source[order[p + 2] * inner + i], d = source[order[p + 3] * inner + i];
            sum += a;
            sum += b;
            sum += c;
            sum += d;
        }
        for (; p < end; p++) sum += source[order[p] * inner + i];
        y[i] = sum;
    }
}
