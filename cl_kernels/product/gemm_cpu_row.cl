/* gemm_cpu_row.cl: C[b] = A[b] * B[b] if A has one row, for devices of class cpu, where a work-item runs on a core with wide
 * vectors. An example is a linear layer on one example: the speed of memory is the limit.
 *
 *     A (1, k)        B (k, n) rows or columns contiguous        C: stored by WEFT_STORE (the epilogue)
 *
 * A work-item computes `span` columns of C. While it multiplies, it prefetches the elements at the same position of the rows or
 * columns that come next, because prefetchers of processors do not cross page boundaries.
 *
 * If the rows of B are contiguous (kernel `row`), the sums of all columns are in the L1 cache. Eight rows are multiplied at a time,
 * from left to right, so that a sum is loaded and stored once for eight rows, and memory has eight streams:
 *
 *                span
 *     +------------------------+
 *     |  ----> ----> ---->     |  8 rows
 *     +------------------------+
 *     |  prefetched            |  8 rows
 *     +------------------------+
 *
 * If the columns of B are contiguous (kernel `dots`), four columns are multiplied at a time. Each has a vector of 16 sums, each
 * over every 16th step of k. All that an item reads of B is contiguous, and so is A's row.
 *
 * WEFT_ROW_ROWS (1 or 0) leaves one of the kernels out. The macros that the plan defines before each copy (WEFT_NAME,
 * WEFT_EPILOGUE_PARAMETERS, WEFT_STORE) are described in src/kernels/product/gemm.h. */

#ifndef WEFT_GEMM_CPU_ROW
#define WEFT_GEMM_CPU_ROW

WEFT_REQUIRE(weft_row_takes_eight_rows, WEFT_ROW_DEPTH == 8);

/* Multiplies a vector of row r, and prefetches the vector at the same position eight rows later. */
#define WEFT_ROW_STEP(r)                                                                                     \
    total = WEFT_MULTIPLY_ADD((float16)x##r, WEFT_OF_B(WEFT_READ_)(from + r * b_row + j), total);            \
    WEFT_PREFETCH((size_t)(next + r * b_row + j), 2);

/* Multiplies a vector of column c, and prefetches the vector at the same position of a later column. */
#define WEFT_ROW_DOT(c)                                                                                      \
    dot##c = WEFT_MULTIPLY_ADD(x, WEFT_OF_B(WEFT_READ_)(b##c + p), dot##c);                                  \
    WEFT_PREFETCH((size_t)(b##c + next + p), 2);

static inline float weft_row_total(float16 v) {
    const float8 eight = v.lo + v.hi;
    const float4 four = eight.lo + eight.hi;
    const float2 two = four.lo + four.hi;
    return two.x + two.y;
}

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) gemm_##suffix
#include "alone.clh"
#endif

#if !defined(WEFT_ROW_ROWS) || WEFT_ROW_ROWS

/* sums[0..columns) += a[0..8) * from[0..8)[0..columns), in vectors of 16; the last vector begins at `last` at the latest. */
static inline void WEFT_NAME(eight)(float16 *sums, WEFT_OPERANDS_A *a, long a_column, WEFT_OPERANDS_B *from,
    WEFT_OPERANDS_B *next, long b_row, int columns, int last) {
    const float x0 = WEFT_OF_A(WEFT_GET_)(a, 0), x1 = WEFT_OF_A(WEFT_GET_)(a, a_column),
                x2 = WEFT_OF_A(WEFT_GET_)(a, 2 * a_column), x3 = WEFT_OF_A(WEFT_GET_)(a, 3 * a_column),
                x4 = WEFT_OF_A(WEFT_GET_)(a, 4 * a_column), x5 = WEFT_OF_A(WEFT_GET_)(a, 5 * a_column),
                x6 = WEFT_OF_A(WEFT_GET_)(a, 6 * a_column), x7 = WEFT_OF_A(WEFT_GET_)(a, 7 * a_column);
    for (int at = 0; at < columns; at += 16) {
        const int j = min(at, last);
        float16 total = sums[at / 16];
        WEFT_ROW_STEP(0)
        WEFT_ROW_STEP(1)
        WEFT_ROW_STEP(2)
        WEFT_ROW_STEP(3)
        WEFT_ROW_STEP(4)
        WEFT_ROW_STEP(5)
        WEFT_ROW_STEP(6)
        WEFT_ROW_STEP(7)
        sums[at / 16] = total;
    }
}

/* Work-item (span, batch). span: a multiple of 16, at most WEFT_ROW_SPAN. The last vector of a row overlaps columns of the
 * vector before. */
__kernel WEFT_ITEMS(1) void WEFT_NAME(row)(WEFT_OPERANDS_A *a, long a_offset, WEFT_OPERANDS_B *b,
    long b_offset, int m, int n, int k, int span, long a_batch, long a_row, long a_column, long b_batch,
    long b_row, long b_column WEFT_EPILOGUE_PARAMETERS) {
    const int batch = (int)get_global_id(1);
    const int left = (int)get_global_id(0) * span, right = min(n, left + span), last = n - 16 - left;
    float16 sums[WEFT_ROW_SPAN / 16 + 1]; /* one more for unaligned reads that end past the last sum */
    a += a_offset + batch * a_batch;
    b += b_offset + batch * b_batch + left;
    for (int i = 0; i < span / 16; ++i) sums[i] = 0.0f;
    int p = 0;
    for (; p + WEFT_ROW_DEPTH <= k; p += WEFT_ROW_DEPTH) {
        WEFT_OPERANDS_B *const from = b + p * b_row;
        const bool more = p + 2 * WEFT_ROW_DEPTH <= k;
        WEFT_NAME(eight)
        (sums, a + p * a_column, a_column, from, more ? from + WEFT_ROW_DEPTH * b_row : from, b_row,
            right - left, last);
    }
    for (; p < k; ++p) {
        const float x = WEFT_OF_A(WEFT_GET_)(a, p * a_column);
        for (int at = 0; at < right - left; at += 16)
            sums[at / 16] = WEFT_MULTIPLY_ADD(
                (float16)x, WEFT_OF_B(WEFT_READ_)(b + p * b_row + min(at, last)), sums[at / 16]);
    }
    for (int at = 0; at < right - left; at += 16) {
        const float16 total = *(const weft_lanes_f32 *)((const float *)sums + at + max(0, at - last));
        WEFT_STORE(total, batch, 0, left + at, min(16, right - left - at));
    }
    (void)m, (void)a_row, (void)b_column;
}

#endif

#if !defined(WEFT_ROW_ROWS) || !WEFT_ROW_ROWS
/* totals[c] = a[0..k) * b[0..k)[column + c], for four columns; those past `last` compute column `last` again. */
static inline void WEFT_NAME(four)(
    float *totals, WEFT_OPERANDS_A *a, WEFT_OPERANDS_B *b, long b_column, int k, int column, int last) {
    WEFT_OPERANDS_B *const b0 = b + min(column, last) * b_column,
                           *const b1 = b + min(column + 1, last) * b_column,
                           *const b2 = b + min(column + 2, last) * b_column,
                           *const b3 = b + min(column + 3, last) * b_column;
    const long next = column + 7 <= last ? 4 * b_column : 0;
    float16 dot0 = 0.0f, dot1 = 0.0f, dot2 = 0.0f, dot3 = 0.0f;
    const int whole = k / 16 * 16;
    for (int p = 0; p < whole; p += 16) {
        const float16 x = WEFT_OF_A(WEFT_READ_)(a + p);
        WEFT_ROW_DOT(0)
        WEFT_ROW_DOT(1)
        WEFT_ROW_DOT(2)
        WEFT_ROW_DOT(3)
    }
    totals[0] = weft_row_total(dot0);
    totals[1] = weft_row_total(dot1);
    totals[2] = weft_row_total(dot2);
    totals[3] = weft_row_total(dot3);
    for (int p = whole; p < k; ++p) {
        const float x = WEFT_OF_A(WEFT_GET_)(a, p);
        totals[0] = WEFT_MULTIPLY_ADD(x, WEFT_OF_B(WEFT_GET_)(b0, p), totals[0]);
        totals[1] = WEFT_MULTIPLY_ADD(x, WEFT_OF_B(WEFT_GET_)(b1, p), totals[1]);
        totals[2] = WEFT_MULTIPLY_ADD(x, WEFT_OF_B(WEFT_GET_)(b2, p), totals[2]);
        totals[3] = WEFT_MULTIPLY_ADD(x, WEFT_OF_B(WEFT_GET_)(b3, p), totals[3]);
    }
}

/* Work-item (span, batch). span: a multiple of 16. */
__kernel WEFT_ITEMS(1) void WEFT_NAME(dots)(WEFT_OPERANDS_A *a, long a_offset, WEFT_OPERANDS_B *b,
    long b_offset, int m, int n, int k, int span, long a_batch, long a_row, long a_column, long b_batch,
    long b_row, long b_column WEFT_EPILOGUE_PARAMETERS) {
    const int batch = (int)get_global_id(1);
    const int left = (int)get_global_id(0) * span, right = min(n, left + span);
    a += a_offset + batch * a_batch;
    b += b_offset + batch * b_batch;
    for (int j = left; j < right; j += 16) {
        float16 total;
        for (int c = 0; c < 16; c += 4)
            WEFT_NAME(four)((float *)&total + c, a, b, b_column, k, j + c, right - 1);
        WEFT_STORE(total, batch, 0, j, min(16, right - j));
    }
    (void)m, (void)a_row, (void)a_column, (void)b_row;
}
#endif
