/* gemm_gpu.cl: C[b] = A[b] * B[b] for devices with many work-items and local memory.
 *
 *     A (m, k) any strides        B (k, n) any strides        C: stored by WEFT_STORE (the epilogue)
 *
 * A work-group of DOWN x ACROSS items computes a tile of C, of which each item computes ROWS x COLUMNS elements. The group walks
 * along k in blocks of STEP steps: all items together copy a block of A and a block of B to local memory, then each item multiplies
 * for its elements. An item's rows and columns are in quads of four, which it loads as vectors. Successive quads of an item are as
 * far apart as there are items, so that neighbouring items read neighbouring words. With DOWN x ACROSS = 16 x 16, ROWS x COLUMNS =
 * 8 x 8 and STEP = 8:
 *
 *                       block of B (8, 128)
 *                      +--------+--------+
 *     block of A       |  xxxx     xxxx  |
 *     (128, 8)         +--------+--------+
 *     +----+           +--------+--------+
 *     |  y |           |  ....     ....  |   item (x, y): rows 4y .. 4y + 3 and 64 + 4y .. 64 + 4y + 3,
 *     |  y |           |  ....     ....  |                columns 4x .. 4x + 3 and 64 + 4x .. 64 + 4x + 3
 *     +----+           +--------+--------+
 *     |  y |           |  ....     ....  |
 *     |  y |           |  ....     ....  |
 *     +----+           +--------+--------+
 *
 * Local memory holds two blocks: while one is multiplied, the next one is loaded into registers. This requires quads that are
 * contiguous in memory, along k or along rows (columns), at aligned addresses. Rows past the last row of A are then read from the
 * last row and never stored. The tail of k, and operands that cannot be read four elements at a time, are copied one element at a
 * time, and elements outside A and B are read as zero.
 *
 * With STAGES > 0 the quads of f32 operands are copied asynchronously (async_copy.clh), without registers, and local memory holds
 * STAGES blocks.
 *
 * With WEFT_SPLIT_K work-groups divide the blocks of k of a tile among them: see splits_gpu.clh.
 *
 * The core is in gemm_tile_gpu.clh, the parameters in src/kernels/product/gemm_tile_gpu.h. The macros that the plan defines before
 * each copy (WEFT_NAME, WEFT_EPILOGUE_PARAMETERS, WEFT_STORE) are described in src/kernels/product/gemm.h. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) gemm_##suffix
#include "alone.clh"
#endif

#include "gemm_tile_gpu.clh"
#include "splits_gpu.clh"

#if WEFT_GEMM_STAGES && !(WEFT_OF_A(WEFT_PLAIN_) && WEFT_OF_B(WEFT_PLAIN_))
#error "asynchronous copies convert nothing"
#endif

#if defined(__x86_64__) || defined(__aarch64__)
#define WEFT_GEMM_ONE_LOOP 1
#else
#define WEFT_GEMM_ONE_LOOP 0
#endif

/* Advances to the next block. */
static inline void WEFT_NAME(advance)(WEFT_NAME(operand_a) * a, WEFT_NAME(operand_b) * b) {
    a->from += WEFT_GEMM_STEP * a->down;
    b->from += WEFT_GEMM_STEP * b->down;
}

#if WEFT_GEMM_STAGES
/* Begins to copy the next block, if there is one, and advances. */
__attribute__((always_inline)) static inline void WEFT_NAME(copy_next)(weft_async *copies,
    __local float4 *a_block, __local float4 *b_block, WEFT_NAME(operand_a) * a, WEFT_NAME(operand_b) * b,
    const uint *a_at, const uint *b_at, int there, int item) {
    if (there) {
        WEFT_NAME(copy_a)(copies, a_block, a->from, a_at, 1, a->down == 1, item);
        WEFT_NAME(copy_b)(copies, b_block, b->from, b_at, 1, b->down == 1, item);
        WEFT_NAME(advance)(a, b);
    }
    WEFT_ASYNC_COMMIT(copies);
}
#endif

/* Writes an item's quads to a block. */
__attribute__((always_inline)) static inline void WEFT_NAME(put)(__local float4 *a_block,
    __local float4 *b_block, const float4 *a_quads, const float4 *b_quads, int a_along, int b_along,
    int item) {
    WEFT_NAME(put_a)(a_block, a_quads, a_along, item);
    WEFT_NAME(put_b)(b_block, b_quads, b_along, item);
}

/* Loads an item's quads of a block: as vectors if `whole` steps remain for which this is possible, otherwise one element at a time. If k is 0,
 * one block of zeros is loaded. After the last block nothing is loaded, and the old contents of the registers are stored but not used. */
static inline void WEFT_NAME(fetch)(float4 *a_quads, float4 *b_quads, WEFT_NAME(operand_a) a,
    WEFT_NAME(operand_b) b, const uint *a_at, const uint *b_at, int whole, int depth, int first, int item) {
    if (whole > 0) {
        WEFT_NAME(read_a)(a_quads, a, a_at, item);
        WEFT_NAME(read_b)(b_quads, b, b_at, item);
    } else if (depth > 0 || first) {
        WEFT_NAME(gather_a)(a_quads, a, depth, item);
        WEFT_NAME(gather_b)(b_quads, b, depth, item);
    }
}

/* Adds the product of a tile to the sums: of k steps, of which the first `whole` can be read as vectors.
 *
 * With asynchronous copies, STAGES - 1 whole blocks are in flight while one is multiplied. An item waits for its own copies; the barrier after
 * the wait waits for the copies of all items, and until no item reads the block that the next copies overwrite. If all steps of a block were
 * unrolled, kernels whose epilogues take quads would need 139 registers on NVIDIA's GPUs. The tail of k goes through registers.
 *
 * Without them, GPUs have a separate loop for whole blocks, whose loads overlap with the multiplications, and read the tail when they come to
 * it. PoCL divides a kernel at its barriers: a second loop with a barrier takes as long to compile as all the rest, and so does a loop with a
 * barrier that may run zero times. Processors therefore have one loop for all blocks. */
__attribute__((always_inline)) static inline void WEFT_NAME(multiply)(float4 (*acc)[4],
    __local float4 (*a_tile)[WEFT_GEMM_BLOCK(WEFT_GEMM_HEIGHT)],
    __local float4 (*b_tile)[WEFT_GEMM_BLOCK(WEFT_GEMM_WIDTH)], WEFT_NAME(operand_a) a,
    WEFT_NAME(operand_b) b, int k, int whole, int x, int y) {
    const int item = y * WEFT_GEMM_ACROSS + x, a_along = a.down == 1, b_along = b.down == 1;
    float4 a_quads[WEFT_GEMM_COPIES(WEFT_GEMM_HEIGHT)], b_quads[WEFT_GEMM_COPIES(WEFT_GEMM_WIDTH)];
    uint a_at[WEFT_GEMM_COPIES(WEFT_GEMM_HEIGHT)], b_at[WEFT_GEMM_COPIES(WEFT_GEMM_WIDTH)];
    int start = 0, now = 0;
    if (whole > 0 || WEFT_GEMM_ONE_LOOP) {
        WEFT_NAME(find_quads_a)(a_at, a, item);
        WEFT_NAME(find_quads_b)(b_at, b, item);
    }
#if WEFT_GEMM_STAGES
    int ahead = 0, last = WEFT_GEMM_STAGES - 1; /* the step of the next copy, and its slot */
    WEFT_ASYNC(copies,
        WEFT_GEMM_STAGES * 4 * (WEFT_GEMM_COPIES(WEFT_GEMM_HEIGHT) + WEFT_GEMM_COPIES(WEFT_GEMM_WIDTH)));
    WEFT_UNROLL_REGISTERS for (int s = 0; s < WEFT_GEMM_STAGES - 1; ++s, ahead += WEFT_GEMM_STEP)
        WEFT_NAME(copy_next)(copies, a_tile[s], b_tile[s], &a, &b, a_at, b_at, ahead < whole, item);
    for (; start < whole; start += WEFT_GEMM_STEP, ahead += WEFT_GEMM_STEP) {
        WEFT_ASYNC_WAIT(copies, WEFT_GEMM_STAGES - 2);
        barrier(CLK_LOCAL_MEM_FENCE);
        WEFT_NAME(copy_next)(copies, a_tile[last], b_tile[last], &a, &b, a_at, b_at, ahead < whole, item);
        WEFT_NAME(add_block)(acc, a_tile[now], b_tile[now], WEFT_GEMM_STEP, x, y);
        last = now;
        now = now + 1 < WEFT_GEMM_STAGES ? now + 1 : 0;
    }
    for (; start < k; start += WEFT_GEMM_STEP) {
        WEFT_NAME(fetch)(a_quads, b_quads, a, b, a_at, b_at, 0, k - start, 1, item);
        WEFT_NAME(put)(a_tile[now], b_tile[now], a_quads, b_quads, a_along, b_along, item);
        barrier(CLK_LOCAL_MEM_FENCE);
        WEFT_NAME(add_block_rolled)(acc, a_tile[now], b_tile[now], x, y);
        now = now + 1 < WEFT_GEMM_STAGES ? now + 1 : 0;
        WEFT_NAME(advance)(&a, &b);
    }
#elif WEFT_GEMM_ONE_LOOP
    WEFT_NAME(fetch)(a_quads, b_quads, a, b, a_at, b_at, whole, k, 1, item);
    WEFT_NAME(put)(a_tile[now], b_tile[now], a_quads, b_quads, a_along, b_along, item);
    barrier(CLK_LOCAL_MEM_FENCE);
    do {
        start += WEFT_GEMM_STEP;
        WEFT_NAME(advance)(&a, &b);
        WEFT_NAME(fetch)(a_quads, b_quads, a, b, a_at, b_at, whole - start, k - start, 0, item);
        WEFT_NAME(add_block)(acc, a_tile[now], b_tile[now], WEFT_GEMM_STEP, x, y);
        now = 1 - now;
        WEFT_NAME(put)(a_tile[now], b_tile[now], a_quads, b_quads, a_along, b_along, item);
        barrier(CLK_LOCAL_MEM_FENCE);
    } while (start < k);
#else
    if (whole > 0) {
        WEFT_NAME(fetch)(a_quads, b_quads, a, b, a_at, b_at, 1, k, 1, item);
        WEFT_NAME(put)(a_tile[now], b_tile[now], a_quads, b_quads, a_along, b_along, item);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (start = WEFT_GEMM_STEP; start < whole; start += WEFT_GEMM_STEP) {
        WEFT_NAME(advance)(&a, &b);
        WEFT_NAME(fetch)(a_quads, b_quads, a, b, a_at, b_at, 1, k, 1, item);
        WEFT_NAME(add_block)(acc, a_tile[now], b_tile[now], WEFT_GEMM_STEP, x, y);
        now = 1 - now;
        WEFT_NAME(put)(a_tile[now], b_tile[now], a_quads, b_quads, a_along, b_along, item);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (whole > 0) {
        WEFT_NAME(add_block_rolled)(acc, a_tile[now], b_tile[now], x, y);
        now = 1 - now;
        WEFT_NAME(advance)(&a, &b);
    }
    for (start = whole; start < k; start += WEFT_GEMM_STEP) {
        WEFT_NAME(put_rest_a)(a_tile[now], a, k - start, item);
        WEFT_NAME(put_rest_b)(b_tile[now], b, k - start, item);
        barrier(CLK_LOCAL_MEM_FENCE);
        WEFT_NAME(add_block_rolled)(acc, a_tile[now], b_tile[now], x, y);
        now = 1 - now;
        WEFT_NAME(advance)(&a, &b);
    }
#endif
}

/* Work-group (columns, rows, split and batch). */
__kernel WEFT_GEMM_GROUP void WEFT_NAME(tiles)(WEFT_OPERANDS_A *a, long a_offset, WEFT_OPERANDS_B *b,
    long b_offset, int m, int n, int k, long a_batch, long a_row, long a_column, long b_batch, long b_row,
    long b_column WEFT_SPLIT_RESULT) {
    __local float4 a_tile[WEFT_GEMM_BUFFERS][WEFT_GEMM_BLOCK(WEFT_GEMM_HEIGHT)];
    __local float4 b_tile[WEFT_GEMM_BUFFERS][WEFT_GEMM_BLOCK(WEFT_GEMM_WIDTH)];
    const int x = WEFT_GEMM_X, y = WEFT_GEMM_Y;
    const int top = (int)get_group_id(1) * WEFT_GEMM_HEIGHT, left = (int)get_group_id(0) * WEFT_GEMM_WIDTH;
    const weft_split_range range = WEFT_SPLIT_RANGE(k, WEFT_GEMM_STEP);
    a += a_offset + range.batch * a_batch + range.begin * a_column + top * a_row;
    b += b_offset + range.batch * b_batch + range.begin * b_row + left * b_column;
    const WEFT_NAME(operand_a) rows = {a, a_row, a_column, m - top};
    const WEFT_NAME(operand_b) columns = {b, b_column, b_row, n - left};
    const bool wide = WEFT_NAME(wide_a)(rows) && WEFT_NAME(wide_b)(columns);
    float4 acc[WEFT_GEMM_SUMS][4];
    WEFT_NAME(clear)(acc);
    WEFT_NAME(multiply)
    (acc, a_tile, b_tile, rows, columns, range.steps,
        wide ? range.steps / WEFT_GEMM_STEP * WEFT_GEMM_STEP : 0, x, y);
#if WEFT_SPLIT_K
    split_sums += split_sums_offset + (long)get_group_id(2) * m * n;
    const bool whole_rows = n % 4 == 0 && (size_t)split_sums % sizeof(float4) == 0;
#endif
    WEFT_UNROLL_REGISTERS for (int e = 0; e < 4 * WEFT_GEMM_SUMS + WEFT_GEMM_ZERO; ++e) {
        const int i = e / (WEFT_GEMM_COLUMNS / 4), j = e % (WEFT_GEMM_COLUMNS / 4);
        const int row = top + WEFT_GEMM_ROW(i), column = left + (j * WEFT_GEMM_ACROSS + x) * 4;
        const float4 quad = acc[i / 4 * (WEFT_GEMM_COLUMNS / 4) + j][i % 4];
        if (row < m) {
#if WEFT_SPLIT_K
            weft_split_store_quad(split_sums + (long)row * n + column, quad, n - column, whole_rows);
#else
            WEFT_TILE_STORE_QUAD(quad, range.batch, row, column, n - column)
#endif
        }
    }
}
