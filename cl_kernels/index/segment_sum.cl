/* segment_sum.cl: sums of rows of a source by segments, with an epilogue for each row of sums.
 *
 *     source (n, inner)   lists (4, n): token, begin, order, of; see src/ops/index/segments.c   contiguous
 *
 *     sum of row s = sum of source[order[k]] for k = begin[s] .. begin[s + 1] - 1, in this order; zeros if token[s] is -1
 *
 * WEFT_SOURCE reads or computes an element of the source (plan/improve/segment_sources.c). WEFT_STORE gets the segment's token, the
 * number of a table's row, as its batch: the epilogue reads and writes this row of tables, and writes nothing into tables if the token
 * is -1 (plan/emit/code_product.c). Rows of a large table are not in a cache, so the row of the segment WEFT_SEGMENTS_AHEAD further on
 * is prefetched (WEFT_EPILOGUE_REQUEST). The operands of the summand WEFT_SUMMANDS_AHEAD further on are prefetched, too
 * (WEFT_SOURCE_REQUEST), because the hardware cannot predict their order.
 *
 * Class cpu: an item computes the segments that begin in its range of the order, up to WEFT_SEGMENT_VECTORS vectors of 16 columns at a
 * time; the last item also has all segments after its range. Class gpu: neighbouring items compute the columns of a row. Items share no
 * memory that they write, and each sum has one fixed order. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix)        segment_sum_##suffix
#define WEFT_EPILOGUE_PARAMETERS , __global const float *x, __global float *c, long c_batch, long c_row
#if WEFT_LANES == 16
#define WEFT_SOURCE(row, column, lanes) weft_load_tail_f32(x, (row)*c_row + (column), lanes)
#else
#define WEFT_SOURCE(row, column, lanes) x[(row)*c_row + (column)]
#endif
#define WEFT_SOURCE_REQUEST(row, column)
#define WEFT_EPILOGUE_REQUEST(batch, row, column, level)
#include "alone.clh"
#endif

#if WEFT_LANES == 16

#ifndef WEFT_SEGMENT_SUM
#define WEFT_SEGMENT_SUM

#define WEFT_SEGMENTS_AHEAD  12
#define WEFT_SEGMENTS_LEVEL  2
#define WEFT_SUMMANDS_AHEAD  4
#define WEFT_SEGMENT_VECTORS 8

/* The first segment that begins at position `place` of the order or later. */
static inline long weft_segment_from(__global const int *begins, long n, long place) {
    long low = 0, high = n;
    while (low < high) {
        const long middle = (low + high) / 2;
        if (begins[middle] < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif

/* Sums the columns of a segment from column i on, for as many vectors of 16 columns. */
#define WEFT_SEGMENT_COLUMNS(vectors)                                                                        \
    do {                                                                                                     \
        float16 sums[vectors];                                                                               \
        for (int v = 0; v < (vectors); v++) {                                                                \
            sums[v] = (float16)(0);                                                                          \
            WEFT_EPILOGUE_REQUEST(later, s, i + 16 * v, WEFT_SEGMENTS_LEVEL)                                 \
            WEFT_SOURCE_REQUEST(wanted, (int)i + 16 * v)                                                     \
        }                                                                                                    \
        for (int k = begin; k < end; k++) {                                                                  \
            const int row = order[k];                                                                        \
            for (int v = 0; v < (vectors); v++) sums[v] += WEFT_SOURCE(row, (int)i + 16 * v, 16);            \
        }                                                                                                    \
        for (int v = 0; v < (vectors); v++) WEFT_STORE(sums[v], token, (int)s, (int)i + 16 * v, 16);         \
        i += 16 * (vectors);                                                                                 \
    } while (0)

__kernel WEFT_ITEMS(1) void WEFT_NAME(rows)(__global const int *restrict lists, long lists_offset, long n,
    long inner, long items WEFT_EPILOGUE_PARAMETERS) {
    const long item = (long)get_global_id(0);
    lists += lists_offset;
    __global const int *const begins = lists + n, *const order = begins + n;
    const long first = weft_segment_from(begins, n, item * n / items);
    const long last = item + 1 < items ? weft_segment_from(begins, n, (item + 1) * n / items) : n;
    for (long s = first; s < last; s++) {
        const int token = lists[s], begin = begins[s],
                  end = token < 0   ? begin
                        : s + 1 < n ? begins[s + 1]
                                    : (int)n;
        const int later = max(lists[min(s + WEFT_SEGMENTS_AHEAD, last - 1)], 0);
        const int wanted = order[min((long)end + WEFT_SUMMANDS_AHEAD, n - 1)];
        long i = 0;
        while (i + 16 * WEFT_SEGMENT_VECTORS <= inner) WEFT_SEGMENT_COLUMNS(WEFT_SEGMENT_VECTORS);
        while (i + 16 <= inner) WEFT_SEGMENT_COLUMNS(1);
        if (i < inner) {
            float16 sum = (float16)(0);
            const int lanes = (int)(inner - i);
            WEFT_EPILOGUE_REQUEST(later, s, i, WEFT_SEGMENTS_LEVEL)
            for (int k = begin; k < end; k++) sum += WEFT_SOURCE(order[k], (int)i, lanes);
            WEFT_STORE(sum, token, (int)s, (int)i, lanes);
        }
    }
}

#undef WEFT_SEGMENT_COLUMNS

#else

__kernel void WEFT_NAME(rows)(__global const int *restrict lists, long lists_offset, long n, long inner,
    long items WEFT_EPILOGUE_PARAMETERS) {
    const long s = (long)get_global_id(1);
    if (s >= n) return;
    lists += lists_offset;
    __global const int *const begins = lists + n, *const order = begins + n;
    const int token = lists[s], begin = begins[s],
              end = token < 0   ? begin
                    : s + 1 < n ? begins[s + 1]
                                : (int)n;
    for (long i = (long)get_global_id(0); i < inner; i += items) {
        float sum = 0;
        int k = begin;
        for (; k + 4 <= end; k += 4) { /* four loads at once; the sum keeps its order */
            const float a = WEFT_SOURCE(order[k], (int)i, 1), b = WEFT_SOURCE(order[k + 1], (int)i, 1),
                        c = WEFT_SOURCE(order[k + 2], (int)i, 1), d = WEFT_SOURCE(order[k + 3], (int)i, 1);
            sum += a;
            sum += b;
            sum += c;
            sum += d;
        }
        for (; k < end; k++) sum += WEFT_SOURCE(order[k], (int)i, 1);
        WEFT_STORE(sum, token, (int)s, (int)i, 1);
    }
}

#endif
