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

#include "splits_gpu.clh"

#if WEFT_GEMM_STAGES && !(WEFT_OF_A(WEFT_PLAIN_) && WEFT_OF_B(WEFT_PLAIN_))
#error "asynchronous copies convert nothing"
#endif

#ifndef WEFT_GEMM_GPU
#define WEFT_GEMM_GPU

/* GPUs have a separate loop for whole blocks, whose loads overlap with the multiplications, and read the tail when they come to
 * it. PoCL divides a kernel at its barriers: a second loop with a barrier takes as long to compile as all the rest, and so does
 * a loop with a barrier that may run zero times. Processors therefore have one loop for all blocks. */
#if defined(__x86_64__) || defined(__aarch64__)
#define WEFT_GEMM_BLOCKS                                                                                     \
    WEFT_GEMM_PLACES                                                                                         \
    WEFT_GEMM_FETCH                                                                                          \
    WEFT_GEMM_PUT_BOTH                                                                                       \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                            \
    do {                                                                                                     \
        WEFT_GEMM_ADVANCE                                                                                    \
        WEFT_GEMM_FETCH                                                                                      \
        WEFT_GEMM_MULTIPLY(WEFT_ROLLED)                                                                      \
        WEFT_GEMM_PUT_BOTH                                                                                   \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                        \
    } while (start < k);
#else
#define WEFT_GEMM_BLOCKS                                                                                     \
    if (whole > 0) {                                                                                         \
        WEFT_GEMM_PLACES                                                                                     \
        WEFT_GEMM_FETCH_WHOLE                                                                                \
        WEFT_GEMM_PUT_BOTH                                                                                   \
    }                                                                                                        \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                            \
    while (start + WEFT_GEMM_STEP < whole) {                                                                 \
        WEFT_GEMM_ADVANCE                                                                                    \
        WEFT_GEMM_FETCH_WHOLE                                                                                \
        WEFT_GEMM_MULTIPLY(WEFT_UNROLL_STEPS(WEFT_GEMM_UNROLLED))                                            \
        WEFT_GEMM_PUT_BOTH                                                                                   \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                        \
    }                                                                                                        \
    if (whole > 0) {                                                                                         \
        WEFT_GEMM_MULTIPLY(WEFT_ROLLED)                                                                      \
        WEFT_GEMM_ADVANCE                                                                                    \
    }                                                                                                        \
    while (start < k) {                                                                                      \
        WEFT_GEMM_PUT_REST                                                                                   \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                        \
        WEFT_GEMM_MULTIPLY(WEFT_ROLLED)                                                                      \
        WEFT_GEMM_ADVANCE                                                                                    \
    }
#endif

/* The loop with asynchronous copies: STAGES - 1 whole blocks are in flight while one is multiplied. An item waits for its own
 * copies; the barrier after the wait waits for the copies of all items, and until no item reads the block that the next copies
 * overwrite. If all steps of a block were unrolled, kernels whose epilogues take quads would need 139 registers on NVIDIA's
 * GPUs. The tail of k goes through registers. */
#define WEFT_GEMM_BLOCKS_BY_COPIES                                                                           \
    int ahead = 0, last = WEFT_GEMM_STAGES - 1; /* the step of the next copy, and its slot */                \
    WEFT_ASYNC_BEGIN(                                                                                        \
        WEFT_GEMM_STAGES * 4 * (WEFT_GEMM_COPIES(WEFT_GEMM_HEIGHT) + WEFT_GEMM_COPIES(WEFT_GEMM_WIDTH)))     \
    if (whole > 0) {                                                                                         \
        WEFT_GEMM_PLACES                                                                                     \
    }                                                                                                        \
    WEFT_UNROLL_REGISTERS for (int s = 0; s < WEFT_GEMM_STAGES - 1; ++s) {                                   \
        WEFT_GEMM_COPY_NEXT(s)                                                                               \
    }                                                                                                        \
    while (start < whole) {                                                                                  \
        WEFT_ASYNC_WAIT(WEFT_GEMM_STAGES - 2);                                                               \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                        \
        WEFT_GEMM_COPY_NEXT(last)                                                                            \
        WEFT_GEMM_ADD_BLOCK(                                                                                 \
            WEFT_UNROLL_STEPS(WEFT_GEMM_UNROLLED), acc, a_tile[now], b_tile[now], WEFT_GEMM_STEP)            \
        last = now;                                                                                          \
        now = now + 1 < WEFT_GEMM_STAGES ? now + 1 : 0;                                                      \
        start += WEFT_GEMM_STEP;                                                                             \
    }                                                                                                        \
    while (start < k) {                                                                                      \
        WEFT_GEMM_FETCH_REST                                                                                 \
        WEFT_GEMM_PUT_BOTH                                                                                   \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                        \
        WEFT_GEMM_ADD_BLOCK(WEFT_ROLLED, acc, a_tile[now], b_tile[now], WEFT_GEMM_STEP)                      \
        now = now + 1 < WEFT_GEMM_STAGES ? now + 1 : 0;                                                      \
        WEFT_GEMM_ADVANCE                                                                                    \
    }

#endif

/* Defines three functions for A, or for B. The tile has `rows` rows (columns), which are `across` elements apart; `limit` of
 * them remain from the tile's first on. Steps of k are `down` elements apart; `depth` of them remain. wide: may quads be loaded
 * as vectors? at: the byte offset of quad e from the block's first element; a quad past the last row gets the offset of the last
 * row. quad: loads quad e one element at a time. */
#define WEFT_GEMM_OPERAND(wide, at, quad, OF, rows)                                                          \
    static inline bool WEFT_NAME(wide)(                                                                      \
        __global const OF(WEFT_T_) * from, int limit, long across, long down) {                              \
        const bool along = down == 1, whole = along || limit >= (rows) || limit % 4 == 0;                    \
        const long pitch = along ? across : down;                                                            \
        return whole && (along || across == 1) && pitch >= 0 && pitch % 4 == 0 &&                            \
               (size_t)from % (4 * sizeof(OF(WEFT_T_))) == 0;                                                \
    }                                                                                                        \
    static inline uint WEFT_NAME(at)(int limit, int across, int down, int e) {                               \
        const int along = down == 1;                                                                         \
        const int row = min(WEFT_GEMM_ROW_OF(e, rows, along), limit - (along ? 1 : 4));                      \
        return (uint)(row * across + WEFT_GEMM_STEP_OF(e, rows, along) * down) * (uint)sizeof(OF(WEFT_T_));  \
    }                                                                                                        \
    WEFT_APART static inline float4 WEFT_NAME(quad)(                                                         \
        __global const OF(WEFT_T_) * from, int limit, int depth, int across, int down, int e) {              \
        const int along = down == 1, next = along ? down : across;                                           \
        const int row = WEFT_GEMM_ROW_OF(e, rows, along), step = WEFT_GEMM_STEP_OF(e, rows, along);          \
        const int count = row < limit && step < depth ? (along ? depth - step : limit - row) : 0;            \
        from += row * across + step * down;                                                                  \
        float numbers[4];                                                                                    \
        WEFT_UNROLL_REGISTERS for (int i = 0; i < 4; ++i) numbers[i] =                                       \
            i < count ? OF(WEFT_GET_)(from, i * next) : 0.0f;                                                \
        return (float4)(numbers[0], numbers[1], numbers[2], numbers[3]);                                     \
    }
WEFT_GEMM_OPERAND(wide_a, at_a, quad_a, WEFT_OF_A, WEFT_GEMM_HEIGHT)
WEFT_GEMM_OPERAND(wide_b, at_b, quad_b, WEFT_OF_B, WEFT_GEMM_WIDTH)
#undef WEFT_GEMM_OPERAND

/* Loads an item's quads of a block: READ as vectors, at byte offsets `at` from the block's first element; GATHER one element at
 * a time. */
#define WEFT_GEMM_READ(OF, quads, from, at, rows)                                                            \
    WEFT_GEMM_EACH(weft_j, rows)                                                                             \
    (quads)[weft_j] =                                                                                        \
        OF(WEFT_QUAD_)((__global const OF(WEFT_T_) *)((__global const char *)(from) + (at)[weft_j]));
#define WEFT_GEMM_GATHER(quad, quads, from, limit, depth, across, down, rows)                                \
    WEFT_GEMM_EACH(weft_j, rows)                                                                             \
    (quads)[weft_j] = WEFT_NAME(quad)(from, limit, depth, across, down, item + weft_j * WEFT_GEMM_ITEMS);

/* The byte offsets of an item's quads in a block, for READ. */
#define WEFT_GEMM_PLACES                                                                                     \
    WEFT_GEMM_EACH(j, WEFT_GEMM_HEIGHT)                                                                      \
    a_at[j] = WEFT_NAME(at_a)(m - top, (int)a_row, (int)a_column, item + j * WEFT_GEMM_ITEMS);               \
    WEFT_GEMM_EACH(j, WEFT_GEMM_WIDTH)                                                                       \
    b_at[j] = WEFT_NAME(at_b)(n - left, (int)b_column, (int)b_row, item + j * WEFT_GEMM_ITEMS);
/* Loads the block at step `start` of k: FETCH_WHOLE as vectors, FETCH_REST one element at a time. */
#define WEFT_GEMM_FETCH_WHOLE                                                                                \
    WEFT_GEMM_READ(WEFT_OF_A, a_quads, a, a_at, WEFT_GEMM_HEIGHT)                                            \
    WEFT_GEMM_READ(WEFT_OF_B, b_quads, b, b_at, WEFT_GEMM_WIDTH)
#define WEFT_GEMM_FETCH_REST                                                                                 \
    WEFT_GEMM_GATHER(quad_a, a_quads, a, m - top, k - start, (int)a_row, (int)a_column, WEFT_GEMM_HEIGHT)    \
    WEFT_GEMM_GATHER(quad_b, b_quads, b, n - left, k - start, (int)b_column, (int)b_row, WEFT_GEMM_WIDTH)
/* Loads the block at `start` in either way. If k is 0, one block of zeros is loaded. After the last block nothing is loaded, and
 * the old contents of the registers are stored but not used. */
#define WEFT_GEMM_FETCH                                                                                      \
    if (start < whole) {                                                                                     \
        WEFT_GEMM_FETCH_WHOLE                                                                                \
    } else if (start < max(k, 1)) {                                                                          \
        WEFT_GEMM_FETCH_REST                                                                                 \
    }
#define WEFT_GEMM_ADVANCE                                                                                    \
    start += WEFT_GEMM_STEP;                                                                                 \
    a += WEFT_GEMM_STEP * a_column;                                                                          \
    b += WEFT_GEMM_STEP * b_row;
/* Multiplies the current block of local memory. Then the other block becomes the current one: the next block of A and B is
 * written to it. */
#define WEFT_GEMM_MULTIPLY(unrolled)                                                                         \
    WEFT_GEMM_ADD_BLOCK(unrolled, acc, a_tile[now], b_tile[now], WEFT_GEMM_STEP) now = 1 - now;
#define WEFT_GEMM_PUT_BOTH                                                                                   \
    WEFT_GEMM_PUT(a_tile[now], a_quads, A, a_along)                                                          \
    WEFT_GEMM_PUT(b_tile[now], b_quads, B, b_along)
/* Copies a block of the tail of k, one element at a time. There is nothing to multiply at the same time, so an item holds one
 * quad at a time: the addresses of several quads would take registers from NVIDIA's kernels. With asynchronous copies there are
 * fewer addresses, and the loop of whole blocks is faster without this loop. */
#define WEFT_GEMM_PUT_REST_OF(side, tile, quad, from, limit, across, down, along)                            \
    WEFT_ROLLED for (int weft_e = item; weft_e < WEFT_GEMM_QUADS(WEFT_GEMM_EXTENT_##side);                   \
                     weft_e += WEFT_GEMM_ITEMS) {                                                            \
        const float4 weft_quad =                                                                             \
            WEFT_NAME(quad)(from, limit, k - start, (int)(across), (int)(down), weft_e);                     \
        __local float *const weft_at = WEFT_GEMM_PLACE((tile)[now], side, along, weft_e);                    \
        WEFT_GEMM_PUT_QUAD(weft_at, weft_quad, WEFT_GEMM_NEXT_##side, along)                                 \
    }
#define WEFT_GEMM_PUT_REST                                                                                   \
    WEFT_GEMM_PUT_REST_OF(A, a_tile, quad_a, a, m - top, a_row, a_column, a_along)                           \
    WEFT_GEMM_PUT_REST_OF(B, b_tile, quad_b, b, n - left, b_column, b_row, b_along)

/* Begins to copy the next whole block, if there is one, to block `slot` of local memory. */
#define WEFT_GEMM_COPY_NEXT(slot)                                                                            \
    if (ahead < whole) {                                                                                     \
        WEFT_GEMM_COPY(a_tile[slot], a, a_at, 1, A, a_along)                                                 \
        WEFT_GEMM_COPY(b_tile[slot], b, b_at, 1, B, b_along)                                                 \
        a += WEFT_GEMM_STEP * a_column;                                                                      \
        b += WEFT_GEMM_STEP * b_row;                                                                         \
        ahead += WEFT_GEMM_STEP;                                                                             \
    }                                                                                                        \
    WEFT_ASYNC_COMMIT;

/* Work-group (columns, rows, split and batch). */
__kernel WEFT_GEMM_GROUP void WEFT_NAME(tiles)(WEFT_OPERANDS_A *a, long a_offset, WEFT_OPERANDS_B *b,
    long b_offset, int m, int n, int k, long a_batch, long a_row, long a_column, long b_batch, long b_row,
    long b_column WEFT_SPLIT_RESULT) {
    __local float4 a_tile[WEFT_GEMM_BUFFERS][WEFT_GEMM_BLOCK(WEFT_GEMM_HEIGHT)];
    __local float4 b_tile[WEFT_GEMM_BUFFERS][WEFT_GEMM_BLOCK(WEFT_GEMM_WIDTH)];
    WEFT_GEMM_ITEM
    const int top = (int)get_group_id(1) * WEFT_GEMM_HEIGHT, left = (int)get_group_id(0) * WEFT_GEMM_WIDTH;
    const int a_along = a_column == 1, b_along = b_row == 1;
    WEFT_SPLIT_PART(WEFT_GEMM_STEP)
    float4 a_quads[WEFT_GEMM_COPIES(WEFT_GEMM_HEIGHT)], b_quads[WEFT_GEMM_COPIES(WEFT_GEMM_WIDTH)];
    float4 acc[WEFT_GEMM_SUMS][4];
    WEFT_UNROLL_REGISTERS for (int e = 0; e < WEFT_GEMM_SUMS; ++e) acc[e][0] = acc[e][1] = acc[e][2] =
        acc[e][3] = (float4)(0.0f);
    a += a_offset + batch * a_batch + top * a_row;
    b += b_offset + batch * b_batch + left * b_column;
    const bool wide =
        WEFT_NAME(wide_a)(a, m - top, a_row, a_column) && WEFT_NAME(wide_b)(b, n - left, b_column, b_row);
    const int whole = wide ? k / WEFT_GEMM_STEP * WEFT_GEMM_STEP : 0;
    uint a_at[WEFT_GEMM_COPIES(WEFT_GEMM_HEIGHT)], b_at[WEFT_GEMM_COPIES(WEFT_GEMM_WIDTH)];
    int now = 0, start = 0;
#if WEFT_GEMM_STAGES
    WEFT_GEMM_BLOCKS_BY_COPIES
#else
    WEFT_GEMM_BLOCKS
#endif
#if WEFT_SPLIT_K
    WEFT_SPLIT_FIND_SUMS
    const bool whole_rows = n % 4 == 0 && (size_t)split_sums % sizeof(float4) == 0;
#endif
    WEFT_UNROLL_REGISTERS for (int e = 0; e < 4 * WEFT_GEMM_SUMS + WEFT_GEMM_ZERO; ++e) {
        const int i = e / (WEFT_GEMM_COLUMNS / 4), j = e % (WEFT_GEMM_COLUMNS / 4);
        const int row = top + WEFT_GEMM_ROW(i), column = left + (j * WEFT_GEMM_ACROSS + x) * 4;
        const float4 quad = acc[i / 4 * (WEFT_GEMM_COLUMNS / 4) + j][i % 4];
        if (row < m) {
#if WEFT_SPLIT_K
            WEFT_SPLIT_STORE_QUAD(split_sums + (long)row * n + column, quad, n - column, whole_rows)
#else
            WEFT_TILE_STORE_QUAD(quad, batch, row, column, n - column)
#endif
        }
    }
}

#undef WEFT_GEMM_READ
#undef WEFT_GEMM_GATHER
#undef WEFT_GEMM_PLACES
#undef WEFT_GEMM_FETCH_WHOLE
#undef WEFT_GEMM_FETCH_REST
#undef WEFT_GEMM_FETCH
#undef WEFT_GEMM_ADVANCE
#undef WEFT_GEMM_MULTIPLY
#undef WEFT_GEMM_PUT_BOTH
#undef WEFT_GEMM_PUT_REST_OF
#undef WEFT_GEMM_PUT_REST
#undef WEFT_GEMM_COPY_NEXT
