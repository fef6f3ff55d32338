/* gemm_engine_gpu.cl: C[b] = A[b] * B[b] by the matrix engine of a GPU: factors of 16 bits, sums of f32.
 *
 *     A (m, k) any strides        B (k, n) any strides        C: whatever WEFT_STORE makes of an element
 *
 * A work-group owns a tile of C. Its sub-groups share the tile as WARPS_DOWN x WARPS_ACROSS parts, each of DOWN x ACROSS
 * fragments: what one instruction of the engine makes. All items together copy STEP steps of k of A and of B to local
 * memory, as pairs of 16-bit numbers in words, those of a row of A or a column of B one after another:
 *
 *              word 0   1   2  ...  15   pad            with 2 x 2 sub-groups of 4 x 8 fragments of 16 x 8:
 *     row 0    k 0,1  2,3  4,5    30,31  .
 *     row 1    k 0,1  2,3  4,5    30,31  .                      128 columns
 *      ...                                               +----------+----------+
 *     row 127                                            | 64 x 64  | 64 x 64  |  128 rows
 *                                                        +----------+----------+
 * Then each sub-group takes its fragments from           | 64 x 64  | 64 x 64  |
 * there and multiplies them. While it does, the words    +----------+----------+
 * of the next steps are on their way into registers.
 *
 * What is the engine's stands in two files that precede this one (src/kernels/product/gemm_engine.c names them): which
 * numbers a lane holds (mma.clh and its kin), and the instruction, or in tests a model of it.
 *
 * An item reads chunks of 8 numbers that are side by side in memory: of a row of A (a column of B) where these are
 * contiguous, else of 8 rows; at once where the address allows. Numbers outside A and B count as zero; nothing outside C is
 * stored. What stands before an inclusion is described in src/kernels/product/gemm.h;
 * WEFT_ENGINE_FORMAT is the format of the factors, bf16 or f16. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix)                          gemm_##suffix
#define WEFT_EPILOGUE_PARAMETERS                   , __global float *c, long c_batch, long c_row
#define WEFT_STORE(acc, batch, row, column, lanes) c[(batch)*c_batch + (row)*c_row + (column)] = (acc)
#define WEFT_FORMAT_A                              bf16
#define WEFT_FORMAT_B                              bf16
#define WEFT_ENGINE_FORMAT                         bf16
#define WEFT_ENGINE_ALONE
#endif

#include "engine_tile.clh"
#include "splits_gpu.clh"

WEFT_ENGINE_FETCH(fetch_a, WEFT_OF_A, WEFT_ENGINE_HEIGHT, WEFT_ENGINE_READ_WORDS)
WEFT_ENGINE_FETCH(fetch_b, WEFT_OF_B, WEFT_ENGINE_WIDTH, WEFT_ENGINE_READ_WORDS)

/* Work-group (columns, rows, split and batch). */
__kernel __attribute__((reqd_work_group_size(WEFT_ENGINE_GROUP, 1, 1))) WEFT_ENGINE_ATTRIBUTES void WEFT_NAME(
    blocks)(WEFT_OPERANDS_A *a, long a_offset, WEFT_OPERANDS_B *b, long b_offset, int m, int n, int k,
    long a_batch, long a_row, long a_column, long b_batch, long b_row, long b_column WEFT_SPLIT_RESULT) {
    __local uint4 a_tile[WEFT_ENGINE_HEIGHT * WEFT_ENGINE_PITCH],
        b_tile[WEFT_ENGINE_WIDTH * WEFT_ENGINE_PITCH];
    WEFT_ENGINE_SHARED(shared)
    const uint item = (uint)get_local_id(0);
    const int lane = (int)(item % WEFT_ENGINE_LANES), warp = (int)(item / WEFT_ENGINE_LANES);
    const int top = (int)get_group_id(1) * WEFT_ENGINE_HEIGHT,
              left = (int)get_group_id(0) * WEFT_ENGINE_WIDTH;
    WEFT_SPLIT_PART(WEFT_ENGINE_STEP)
    const int row = warp / WEFT_ENGINE_WARPS_ACROSS * WEFT_ENGINE_DOWN * WEFT_ENGINE_ROWS;
    const int column = warp % WEFT_ENGINE_WARPS_ACROSS * WEFT_ENGINE_ACROSS * WEFT_ENGINE_COLUMNS;
    uint4 a_next[WEFT_ENGINE_COPIES(WEFT_ENGINE_HEIGHT)], b_next[WEFT_ENGINE_COPIES(WEFT_ENGINE_WIDTH)];
    float sums[WEFT_ENGINE_DOWN][WEFT_ENGINE_ACROSS][WEFT_ENGINE_SUMS];
    WEFT_ENGINE_CLEAR(sums)
    a += a_offset + batch * a_batch + top * a_row;
    b += b_offset + batch * b_batch + left * b_column;
    WEFT_NAME(fetch_a)(a_next, a, m - top, k, a_row, a_column, item);
    WEFT_NAME(fetch_b)(b_next, b, n - left, k, b_column, b_row, item);
    for (int start = 0; start < k; start += WEFT_ENGINE_STEP) {
        const int rest = k - start - WEFT_ENGINE_STEP, late = WEFT_ENGINE_LATE(start, m);
        WEFT_ENGINE_PUT(a_tile + late, a_next, WEFT_ENGINE_HEIGHT, a_column == 1)
        WEFT_ENGINE_PUT(b_tile + late, b_next, WEFT_ENGINE_WIDTH, b_row == 1)
        barrier(CLK_LOCAL_MEM_FENCE);
        a += WEFT_ENGINE_STEP * a_column;
        b += WEFT_ENGINE_STEP * b_row;
        if (rest > 0) {
            WEFT_NAME(fetch_a)(a_next, a, m - top, rest, a_row, a_column, item + (uint)late);
            WEFT_NAME(fetch_b)(b_next, b, n - left, rest, b_column, b_row, item + (uint)late);
        }
        WEFT_UNROLL for (int p = 0; p < WEFT_ENGINE_STEP; p += WEFT_ENGINE_DEPTH) {
            const int origin = WEFT_ENGINE_LATE(start + p, m);
            WEFT_ENGINE_A_TYPE x[WEFT_ENGINE_DOWN][WEFT_ENGINE_A];
            uint y[WEFT_ENGINE_ACROSS][WEFT_ENGINE_B];
            WEFT_ENGINE_TAKE_A(x, a_tile)
            WEFT_ENGINE_TAKE_B(y, b_tile)
            WEFT_ENGINE_MULTIPLY(WEFT_ENGINE_FORMAT, sums, x, y, shared);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    WEFT_ENGINE_EVERY_SUM(
        if (top + r < m && left + q < n) WEFT_SPLIT_STORE(sums[i][j][s], batch, top + r, left + q);)
}

#ifdef WEFT_ENGINE_ALONE
#undef WEFT_ENGINE_ALONE
#undef WEFT_ENGINE_FORMAT
#undef WEFT_FORMAT_A
#undef WEFT_FORMAT_B
#undef WEFT_NAME
#undef WEFT_EPILOGUE_PARAMETERS
#undef WEFT_STORE
#endif
