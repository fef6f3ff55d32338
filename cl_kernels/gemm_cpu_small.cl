/* gemm_cpu_small.cl: C[b] = A[b] * B[b] for small products on cpu-class devices: short code, soon compiled.
 *
 *     A (m, k) any strides        B (k, n) any strides        C: whatever WEFT_STORE makes of an element
 *
 * Where a product takes microseconds, gemm_cpu.cl's transposing and prefetching copies only cost compile
 * time. Here a work-item owns `strip` rows of 32 columns. It copies its part of B once, and each tile of A,
 * element by element to where the multiplying loop wants them (k is at most WEFT_SMALL_DEPTH):
 *
 *                     +----------+
 *                k    |  panel   |   [p * 32 + column]
 *                     +----------+
 *          k
 *      +--------+     +----------+
 *   13 |  tile  |     |   acc    |   each step of k: 2 vectors of B, 13 broadcasts of A, 26 multiply-adds
 *      +--------+     +----------+
 *   [p * 13 + row]
 *
 * What stands before an inclusion (WEFT_NAME, WEFT_EPILOGUE_PARAMETERS, WEFT_STORE) is told in
 * src/plan/gemm.h. */

#ifndef WEFT_SMALL_ROWS
#define WEFT_SMALL_ROWS 13
#endif
/* The same number stands in src/plan/gemm_cpu_small.c. */
#ifndef WEFT_SMALL_DEPTH
#define WEFT_SMALL_DEPTH 512
#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix)        gemm_##suffix
#define WEFT_EPILOGUE_PARAMETERS , __global float *c, long c_batch, long c_row
#define WEFT_STORE(acc, batch, row, column, lanes)                                                           \
    for (int weft_lane = 0; weft_lane < (lanes); weft_lane++)                                                \
    c[(batch)*c_batch + (row)*c_row + (column) + weft_lane] = ((const float *)&(acc))[weft_lane]
#define WEFT_SMALL_ALONE
#endif

/* Work-item (strip, panel, batch). */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void WEFT_NAME(small)(__global const float *a,
    long a_offset, __global const float *b, long b_offset, int m, int n, int k, int strip, long a_batch,
    long a_row, long a_column, long b_batch, long b_row, long b_column WEFT_EPILOGUE_PARAMETERS) {
    const int batch = (int)get_global_id(2), left = (int)get_global_id(1) * 32, columns = min(32, n - left);
    const int top = (int)get_global_id(0) * strip, bottom = min(m, top + strip);
    a += a_offset + batch * a_batch;
    b += b_offset + batch * b_batch + left * b_column;
    float16 panel[2 * WEFT_SMALL_DEPTH];
    float16 sums[2 * WEFT_SMALL_ROWS];
    float tile[WEFT_SMALL_ROWS * WEFT_SMALL_DEPTH];
    __attribute__((opencl_unroll_hint(1))) for (int p = 0; p < k; p++) {
        float *to = (float *)(panel + 2 * p);
        if (columns < 32) panel[2 * p] = panel[2 * p + 1] = (float16)(0.0f);
        __attribute__((opencl_unroll_hint(1))) for (int j = 0; j < columns; j++) to[j] =
            b[p * b_row + j * b_column];
    }
    for (int row = top; row < bottom; row += WEFT_SMALL_ROWS) {
        const int rows = min(WEFT_SMALL_ROWS, bottom - row);
        __attribute__((opencl_unroll_hint(1))) for (int r = 0; r < WEFT_SMALL_ROWS; r++) {
            __global const float *from =
                a + (row + min(r, rows - 1)) * a_row; /* rows past the last repeat it */
            __attribute__((opencl_unroll_hint(1))) for (int p = 0; p < k; p++) tile[p * WEFT_SMALL_ROWS + r] =
                from[p * a_column];
        }
        float16 acc[2 * WEFT_SMALL_ROWS];
        __attribute__((opencl_unroll_hint)) for (int i = 0; i < 2 * WEFT_SMALL_ROWS; i++) acc[i] =
            (float16)(0.0f);
        __attribute__((opencl_unroll_hint(1))) for (int p = 0; p < k; p++) {
            const float16 b0 = panel[2 * p], b1 = panel[2 * p + 1];
            __attribute__((opencl_unroll_hint)) for (int r = 0; r < WEFT_SMALL_ROWS; r++) {
                const float16 x = (float16)(tile[p * WEFT_SMALL_ROWS + r]);
                acc[2 * r] = fma(x, b0, acc[2 * r]);
                acc[2 * r + 1] = fma(x, b1, acc[2 * r + 1]);
            }
        }
        __attribute__((opencl_unroll_hint)) for (int i = 0; i < 2 * WEFT_SMALL_ROWS; i++) sums[i] = acc[i];
        const int sides = columns > 16 ? 2 : 1;
        __attribute__((opencl_unroll_hint(1))) for (int i = 0; i < rows * sides; i++) {
            const int r = i / sides, side = i % sides;
            const float16 sum = sums[2 * r + side];
            WEFT_STORE(sum, batch, row + r, left + 16 * side, min(16, columns - 16 * side));
        }
    }
}

#ifdef WEFT_SMALL_ALONE
#undef WEFT_SMALL_ALONE
#undef WEFT_NAME
#undef WEFT_EPILOGUE_PARAMETERS
#undef WEFT_STORE
#endif
