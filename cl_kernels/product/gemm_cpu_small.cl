/* gemm_cpu_small.cl: C[b] = A[b] * B[b] for small products on devices of class cpu; the code is short, so that it compiles fast.
 *
 *     A (m, k) any strides        B (k, n) any strides        C: stored by WEFT_STORE (the epilogue)
 *
 * For a product that takes microseconds, the transposing copies and the prefetches of gemm_cpu.cl would only cost compile time.
 * Here a work-item computes `strip` rows of 16 columns. It copies its 16 columns of B once (k is at most DEPTH). Then it multiplies
 * 4 rows of A at a time by them, and reads A in place:
 *
 *                     +-------+
 *                k    | panel |
 *                     +-------+
 *          k
 *      +--------+     +-------+
 *    4 |   A    |     |  acc  |   each step of k: a vector of B, 4 broadcasts of A, 4 multiply-adds
 *      +--------+     +-------+
 *
 * The macros that the plan defines before each copy (WEFT_NAME, WEFT_EPILOGUE_PARAMETERS, WEFT_STORE) are described in
 * src/kernels/product/gemm.h. */

#define WEFT_SMALL_LOOP __attribute__((opencl_unroll_hint(1)))

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) gemm_##suffix
#include "alone.clh"
#endif

WEFT_REQUIRE(WEFT_NAME(has_four_rows), WEFT_SMALL_ROWS == 4);

/* Work-item (strip, panel, batch). */
__kernel WEFT_ITEMS(1) void WEFT_NAME(small)(WEFT_OPERANDS_A *a, long a_offset, WEFT_OPERANDS_B *b,
    long b_offset, int m, int n, int k, int strip, long a_batch, long a_row, long a_column, long b_batch,
    long b_row, long b_column WEFT_EPILOGUE_PARAMETERS) {
    const int batch = (int)get_global_id(2), left = (int)get_global_id(1) * 16, columns = min(16, n - left);
    const int top = (int)get_global_id(0) * strip, bottom = min(m, top + strip);
    a += a_offset + batch * a_batch;
    b += b_offset + batch * b_batch + left * b_column;
    float16 panel[WEFT_SMALL_DEPTH];
    const bool together = b_column == 1 && columns == 16;
    WEFT_SMALL_LOOP for (int p = 0; p < k; p++) {
        float *to = (float *)(panel + p);
        WEFT_OPERANDS_B *from = b + p * b_row;
        panel[p] = together ? WEFT_OF_B(WEFT_READ_)(from) : (float16)(0.0f);
        WEFT_SMALL_LOOP for (int j = together ? columns : 0; j < columns; j++) to[j] =
            WEFT_OF_B(WEFT_GET_)(from, j * b_column);
    }
    WEFT_SMALL_LOOP for (int row = top; row < bottom; row += WEFT_SMALL_ROWS) {
        const int rows = min(WEFT_SMALL_ROWS, bottom - row); /* rows past the last one are read from it */
        WEFT_OPERANDS_A *a0 = a + row * a_row, *a1 = a0 + min(1, rows - 1) * a_row,
                        *a2 = a0 + min(2, rows - 1) * a_row, *a3 = a0 + min(3, rows - 1) * a_row;
        float16 sums[4] = {(float16)(0.0f), (float16)(0.0f), (float16)(0.0f), (float16)(0.0f)};
        WEFT_SMALL_LOOP for (int p = 0; p < k; p++) {
            const float16 x = panel[p];
            const long at = p * a_column;
            sums[0] = WEFT_MULTIPLY_ADD((float16)(WEFT_OF_A(WEFT_GET_)(a0, at)), x, sums[0]);
            sums[1] = WEFT_MULTIPLY_ADD((float16)(WEFT_OF_A(WEFT_GET_)(a1, at)), x, sums[1]);
            sums[2] = WEFT_MULTIPLY_ADD((float16)(WEFT_OF_A(WEFT_GET_)(a2, at)), x, sums[2]);
            sums[3] = WEFT_MULTIPLY_ADD((float16)(WEFT_OF_A(WEFT_GET_)(a3, at)), x, sums[3]);
        }
        float16 stored[4];
        for (int r = 0; r < 4; r++) stored[r] = sums[r];
        WEFT_SMALL_LOOP for (int r = 0; r < rows; r++) {
            const float16 sum = stored[r];
            WEFT_STORE(sum, batch, row + r, left, columns);
        }
    }
}

#undef WEFT_SMALL_LOOP
