/* segments.cl: rows of a source added up at the places that an index names, each row of the result written
 * once.
 *
 *     source (count, inner)   index (count)   order (count)   y (size, inner), all contiguous
 *
 *     y[r] = sum of source[j] over all j with index[j] = r, in the order of j; zeros where there are none
 *
 *     index  2 0 2 5          lists    0 -> 1    2 -> 0 -> 2    5 -> 3         (cpu: head[r], next[j])
 *                             order    1 0 2 3   starts 0 1 1 3 3 3 4          (gpu: sorted, stable)
 *
 * An index that is `skipped` (with WEFT_SKIPS) is left out; any other outside 0 .. size - 1 is noted and left
 * out. WEFT_ELEMENT is float or int.
 *
 * Work split. cpu: an item owns `rows_an_item` rows; it walks once through the index from its end, chains up
 * what falls into its rows, and writes them. gpu: `order` is the stable sorting of the index; an item of
 * `starts` finds by bisection where a row's segment begins; in `segments` neighbouring items take a row's
 * columns. Nothing is shared but what is read, so there are no atomics, and every sum has a fixed order. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) segments_##suffix
#define WEFT_ELEMENT      float
#define WEFT_ELEMENTS     float16
#define WEFT_SKIPS        1
#endif

#if WEFT_LANES == 16

__kernel void WEFT_NAME(lists)(__global const WEFT_ELEMENT *restrict source, long source_offset,
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
        const int first = head[r];
        long i = 0;
        for (; i + 64 <= inner; i += 64) {
            WEFT_ELEMENTS a = (WEFT_ELEMENTS)(0), b = a, c = a, d = a;
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

#else

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
    long low = 0, high = count; /* the first place whose index is not below the item */
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
        for (; p + 4 <= end; p += 4) { /* the loads do not wait for one another, the sum keeps its order */
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

#endif
