/* lists_cpu.cl: sums of rows of a source by index; each row of the result is written once.
 *
 *     source (count, inner)   index (count)   y (size, inner), all contiguous
 *
 *     y[r] = sum of source[j] over all j with index[j] = r, in the order of j; zeros if there are none
 *
 *     index  2 0 2 5          lists    0 -> 1    2 -> 0 -> 2    5 -> 3         (head[r], next[j])
 *
 * An index that equals `skipped` (with WEFT_SKIPS) is ignored; any other index outside 0 .. size - 1 is reported as a fault and ignored.
 * WEFT_ELEMENT is float or int, WEFT_ELEMENTS a vector of sixteen.
 *
 * An item computes `rows_an_item` rows. It walks once through the index from its end, links the sources of each of its rows to a list, and
 * then writes the rows. Items share no memory that they write, so there are no atomics, and each sum has one fixed order. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) lists_##suffix
#define WEFT_ELEMENT      float
#define WEFT_ELEMENTS     float16
#define WEFT_SKIPS        1
#endif

#define WEFT_LISTS_AHEAD 4 /* rows whose first summand is prefetched before it is needed */

__kernel WEFT_ITEMS(1) void WEFT_NAME(lists)(__global const WEFT_ELEMENT *restrict source, long source_offset,
    __global const int *restrict index, long index_offset, __global WEFT_ELEMENT *restrict y, long y_offset,
    __global int *restrict head, long head_offset, __global int *restrict next, long next_offset,
    __global int *faults, long fault, long count, long size, long inner, long rows_an_item, long skipped) {
    const long begin = (long)get_global_id(0) * rows_an_item, end = min(begin + rows_an_item, size);
    source += source_offset;
    index += index_offset;
    y += y_offset;
    head += head_offset;
    next += next_offset;
    for (long r = begin; r < end; r++) head[r] = -1;
    for (long j = count - 1; j >= 0; j--) {
        const int r = index[j];
#if WEFT_SKIPS
        if (r == skipped) continue;
#endif
        if (r >= begin && r < end) {
            next[j] = head[r];
            head[r] = (int)j;
        }
        if (begin == 0 && (r < 0 || r >= size)) WEFT_FAULT(faults, fault, j);
    }
    for (long r = begin; r < end; r++) {
        __global WEFT_ELEMENT *const row = y + r * inner;
        const int first = head[r], later = max(head[min(r + WEFT_LISTS_AHEAD, end - 1)], 0);
        long i = 0;
        for (; i + 64 <= inner; i += 64) {
            WEFT_ELEMENTS a = (WEFT_ELEMENTS)(0), b = a, c = a, d = a;
            for (int line = 0; line < 64; line += 16) WEFT_PREFETCH(source + later * inner + i + line, 3);
            for (int j = first; j >= 0; j = next[j]) {
                __global const WEFT_ELEMENT *const from = source + j * inner + i;
                a += vload16(0, from);
                b += vload16(1, from);
                c += vload16(2, from);
                d += vload16(3, from);
            }
            vstore16(a, 0, row + i);
            vstore16(b, 1, row + i);
            vstore16(c, 2, row + i);
            vstore16(d, 3, row + i);
        }
        for (; i + 16 <= inner; i += 16) {
            WEFT_ELEMENTS sum = (WEFT_ELEMENTS)(0);
            for (int j = first; j >= 0; j = next[j]) sum += vload16(0, source + j * inner + i);
            vstore16(sum, 0, row + i);
        }
        for (; i < inner; i++) {
            WEFT_ELEMENT sum = 0;
            for (int j = first; j >= 0; j = next[j]) sum += source[j * inner + i];
            row[i] = sum;
        }
    }
}
