/* gemm_cpu_amx.cl: C[b] = A[b] * B[b] in bf16 with sums of f32, by the matrix engine AMX of processors (its
 * instructions as inline assembly).
 *
 *     A (m, k), B (k, n): any strides, numbers of the formats WEFT_FORMAT_A and _B, rounded to bf16 where they are wider
 *     C: whatever WEFT_STORE makes of an element
 *
 * The engine multiplies a left matrix, which is read where it lies, with a right one, which is packed. They are A and B,
 * and the product is C; or, where SWAP is 1, the transposes of B and A, and the product is that of C: so the smaller of
 * the two can be the one that is packed.
 *
 * pack: writes the right matrix as panels of 32 columns: panel[(block * 2 + side) * 256 + pair * 16 + column], words, `block` one
 * of the blocks of 32 of k. Past the end of k there are zeros, past the last column anything.
 *
 * tiles: a work-item (no barriers, no local memory) owns a strip of rows and a span of panels. It copies two tiles'
 * rows of the left matrix over at most DEPTH of k, so that they lie one after another in the first-level cache, and multiplies them with
 * each panel, which comes from the second-level cache:
 *
 *                       panel: 2 tiles wide
 *                     +---------+---------+
 *              k      |   b0    |   b1    |        each block of 32 of k: 4 tiles are loaded, 4 products made
 *        +---------+  +---------+---------+
 *     16 |   a0    |  | c0      | c1      |        between two stretches of DEPTH the sums wait in private memory
 *        +---------+  +---------+---------+
 *     16 |   a1    |  | c2      | c3      |
 *        +---------+  +---------+---------+
 *
 * LEFT_ROWS, RIGHT_ROWS: macros of 0 or 1: k lies side by side in the left matrix, the columns in the right one;
 * LEFT_COLUMNS, RIGHT_COLUMNS: the rows of the left one, k in the right one. Parameters (src/kernels/product/gemm_cpu_amx.c): a work-item has at most STRIP rows and SPAN columns. The
 * macros before an inclusion are described in src/kernels/product/gemm.h.
 * The engine is in amx.clh, reading the operands in gemm_cpu_amx_operand.clh. */

#ifndef WEFT_GEMM_CPU_AMX
#define WEFT_GEMM_CPU_AMX

WEFT_REQUIRE(weft_amx_blocks_are_two_tiles, WEFT_AMX_SIDE == 32);

#define WEFT_AMX_BLOCKS (WEFT_AMX_DEPTH / 32)

typedef uint16 weft_amx_pairs __attribute__((aligned(2)));

#define WEFT_AMX_LIES_AS_bf16 1 /* in memory as the engine takes it */

/* The bits of bf16 numbers in the lower halves of words. */
#define WEFT_AMX_BITS_bf16(value) (as_uint16(value) >> 16)
#define WEFT_AMX_BITS_f32(value)  (as_uint16(weft_round_bf16(value)) >> 16)
#define WEFT_AMX_BITS_f16(value)  WEFT_AMX_BITS_f32(value)

/* Pairs of neighbours: of 32 numbers, the first 16 and the others. */
static inline uint16 weft_amx_neighbours(uint16 low, uint16 high) {
    uint16 pairs;
    pairs.lo = low.even | low.odd << 16;
    pairs.hi = high.even | high.odd << 16;
    return pairs;
}

/* Sixteen words of sixteen vectors, rows for columns. */
static inline void weft_amx_transpose(uint16 *words) {
    float16 v[16], t[16];
    WEFT_UNROLL for (int i = 0; i < 16; ++i) v[i] = as_float16(words[i]);
    WEFT_TRANSPOSE(v, t)
    WEFT_UNROLL for (int i = 0; i < 16; ++i) words[i] = as_uint16(v[i]);
}

/* sums: four tiles one after another, (+)= two rows of tiles of A times a panel; first, tall (more than 16 rows):
 * constants at each call. */
__attribute__((always_inline)) static inline void weft_amx_panel(weft_amx_engine *engine, float *sums,
    const uint16 *rows, __global const uint *panel, int blocks, bool first, const bool tall) {
    const uint *a = (const uint *)rows;
    if (first) {
        WEFT_AMX_ZERO(engine, 0);
        WEFT_AMX_ZERO(engine, 1);
        WEFT_AMX_ZERO(engine, 2);
        WEFT_AMX_ZERO(engine, 3);
    } else {
        WEFT_AMX_LOAD(engine, 0, sums);
        WEFT_AMX_LOAD(engine, 1, sums + WEFT_AMX_TILE);
        WEFT_AMX_LOAD(engine, 2, sums + 2 * WEFT_AMX_TILE);
        WEFT_AMX_LOAD(engine, 3, sums + 3 * WEFT_AMX_TILE);
    }
    for (int block = 0; block < blocks; ++block) {
        WEFT_AMX_LOAD(engine, 6, panel);
        WEFT_AMX_LOAD(engine, 4, a);
        WEFT_AMX_MULTIPLY(engine, 0, 4, 6);
        WEFT_AMX_LOAD(engine, 7, panel + WEFT_AMX_TILE);
        WEFT_AMX_MULTIPLY(engine, 1, 4, 7);
        if (tall) {
            WEFT_AMX_LOAD(engine, 5, a + WEFT_AMX_TILE);
            WEFT_AMX_MULTIPLY(engine, 2, 5, 6);
            WEFT_AMX_MULTIPLY(engine, 3, 5, 7);
        }
        a += 2 * WEFT_AMX_TILE;
        panel += 2 * WEFT_AMX_TILE;
    }
    WEFT_AMX_STORE(engine, 0, sums);
    WEFT_AMX_STORE(engine, 1, sums + WEFT_AMX_TILE);
    if (tall) {
        WEFT_AMX_STORE(engine, 2, sums + 2 * WEFT_AMX_TILE);
        WEFT_AMX_STORE(engine, 3, sums + 3 * WEFT_AMX_TILE);
    }
}

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix)        gemm_amx_##suffix
#define WEFT_EPILOGUE_PARAMETERS WEFT_PLAIN_PARAMETERS
#define WEFT_STORE               WEFT_PLAIN_STORE
#define WEFT_FORMAT_A            bf16
#define WEFT_FORMAT_B            bf16
#define WEFT_AMX_ALONE
#endif
#ifndef WEFT_AMX_LEFT_ROWS
#define WEFT_AMX_LEFT_ROWS     (l_column == 1)
#define WEFT_AMX_LEFT_COLUMNS  (l_row == 1)
#define WEFT_AMX_RIGHT_ROWS    (r_column == 1)
#define WEFT_AMX_RIGHT_COLUMNS (r_row == 1)
#define WEFT_AMX_ANY_LAYOUT
#endif
#if WEFT_AMX_SWAP
#define WEFT_AMX_LEFT  WEFT_OF_B
#define WEFT_AMX_RIGHT WEFT_OF_A
#else
#define WEFT_AMX_LEFT  WEFT_OF_A
#define WEFT_AMX_RIGHT WEFT_OF_B
#endif

#define WEFT_AMX_NAME(suffix) WEFT_NAME(left_##suffix)
#define WEFT_AMX_OF           WEFT_AMX_LEFT
#include "gemm_cpu_amx_operand.clh"
#undef WEFT_AMX_NAME
#undef WEFT_AMX_OF
#define WEFT_AMX_NAME(suffix) WEFT_NAME(right_##suffix)
#define WEFT_AMX_OF           WEFT_AMX_RIGHT
#include "gemm_cpu_amx_operand.clh"
#undef WEFT_AMX_NAME
#undef WEFT_AMX_OF

/* Work-item (panels, DEPTH of k, batch): `span` panels. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void WEFT_NAME(pack)(
    __global const WEFT_AMX_RIGHT(WEFT_T_) * r, long r_offset, __global uint *panels, long panels_offset,
    int n, int k, int span, long r_batch, long r_row, long r_column) {
    const int batch = (int)get_global_id(2), blocks = (k + 31) / 32, all = (n + 31) / 32;
    const int from = (int)get_global_id(0) * span, to = min(all, from + span);
    const int first = (int)get_global_id(1) * WEFT_AMX_BLOCKS, last = min(blocks, first + WEFT_AMX_BLOCKS);
    r += r_offset + batch * r_batch;
    panels += panels_offset + (long)batch * all * blocks * (2 * WEFT_AMX_TILE);
    for (int block = first; block < last; ++block) {
        const int depth = k - 32 * block;
        for (int panel = from; panel < to; ++panel) {
            __global uint16 *to16 =
                (__global uint16 *)(panels + ((long)panel * blocks + block) * (2 * WEFT_AMX_TILE));
            for (int side = 0; side < 2; ++side) {
                const int column = 32 * panel + 16 * side, lanes = n - column;
                __global const WEFT_AMX_RIGHT(WEFT_T_) *p = r + 32 * block * r_row + column * r_column;
                uint16 words[16];
                if (lanes <= 0) {
                    for (int i = 0; i < 16; ++i) words[i] = 0;
                } else if (WEFT_AMX_RIGHT_ROWS) {
                    WEFT_NAME(right_interleave)(words, p, r_row, lanes, depth);
                } else if (WEFT_AMX_RIGHT_COLUMNS) {
                    WEFT_NAME(right_lines)(words, p, r_column, lanes, depth);
                    weft_amx_transpose(words);
                } else {
                    WEFT_NAME(right_gather)(words, p, r_row, r_column, lanes, depth);
                }
                for (int i = 0; i < 16; ++i) to16[16 * side + i] = words[i];
            }
        }
    }
}

/* 32 rows of the left matrix, of which there are `rows`, by `depth` of k -> two tiles for each block of 32. */
static inline void WEFT_NAME(copy)(uint16 *tiles, __global const WEFT_AMX_LEFT(WEFT_T_) * l, int rows,
    int depth, long l_row, long l_column) {
    for (int at = 0; at < depth; at += 32, tiles += 32) {
        for (int side = 0; side < 2 && 16 * side < rows; ++side) {
            __global const WEFT_AMX_LEFT(WEFT_T_) *p = l + 16 * side * l_row + at * l_column;
            const int lanes = rows - 16 * side;
            if (WEFT_AMX_LEFT_ROWS) {
                WEFT_NAME(left_lines)(tiles + 16 * side, p, l_row, lanes, depth - at);
            } else {
                if (WEFT_AMX_LEFT_COLUMNS)
                    WEFT_NAME(left_interleave)(tiles + 16 * side, p, l_column, lanes, depth - at);
                else
                    WEFT_NAME(left_gather)(tiles + 16 * side, p, l_column, l_row, lanes, depth - at);
                weft_amx_transpose(tiles + 16 * side);
            }
        }
    }
}

/* Work-item (strip, span, batch): `strip` rows, a multiple of 32, and `span` panels. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void WEFT_NAME(tiles)(
    __global const WEFT_AMX_LEFT(WEFT_T_) * l, long l_offset, __global const uint *panels, long panels_offset,
    int m, int n, int k, int strip, int span, long l_batch, long l_row,
    long l_column WEFT_EPILOGUE_PARAMETERS) {
    const int batch = (int)get_global_id(2), blocks = (k + 31) / 32, all = (n + 31) / 32;
    const int top = (int)get_global_id(0) * strip, bottom = min(m, top + strip);
    const int left = (int)get_global_id(1) * span, right = min(all, left + span);
    float sums[WEFT_AMX_STRIP * WEFT_AMX_SPAN] __attribute__((aligned(64)));
    uint16 tiles[32 * WEFT_AMX_BLOCKS];
    l += l_offset + batch * l_batch;
    panels += panels_offset + (long)batch * all * blocks * (2 * WEFT_AMX_TILE);
    weft_amx_engine engine;
    weft_amx_begin(&engine);
    for (int start = 0; start < k; start += WEFT_AMX_DEPTH) {
        const int depth = min(WEFT_AMX_DEPTH, k - start);
        const bool last = start + depth == k, waits = k > WEFT_AMX_DEPTH;
        for (int row = top; row < bottom; row += 32) {
            const int rows = min(32, bottom - row);
            WEFT_NAME(copy)(tiles, l + row * l_row + start * l_column, rows, depth, l_row, l_column);
            for (int panel = left; panel < right; ++panel) {
                float *sum =
                    sums + (waits ? ((row - top) / 32 * span + panel - left) * (4 * WEFT_AMX_TILE) : 0);
                __global const uint *from =
                    panels + ((long)panel * blocks + start / 32) * (2 * WEFT_AMX_TILE);
                if (rows > 16)
                    weft_amx_panel(&engine, sum, tiles, from, (depth + 31) / 32, start == 0, true);
                else
                    weft_amx_panel(&engine, sum, tiles, from, (depth + 31) / 32, start == 0, false);
                if (!last) continue;
#if WEFT_AMX_SWAP
                for (int tile = 0; tile < 4; ++tile) {
                    const int line = 32 * panel + tile % 2 * 16, column = row + tile / 2 * 16;
                    if (tile / 2 * 16 >= rows) break;
                    weft_amx_transpose((uint16 *)(sum + tile * WEFT_AMX_TILE));
                    const float16 *lines = (const float16 *)(sum + tile * WEFT_AMX_TILE);
                    for (int r = 0; r < 16 && line + r < n; ++r)
                        WEFT_STORE(lines[r], batch, line + r, column, min(16, bottom - column));
                }
#else
                for (int r = 0; r < rows; ++r) {
                    const float16 *line = (const float16 *)sum + r / 16 * 32 + r % 16;
                    for (int column = 32 * panel, side = 0; side < 2 && column < n; column += 16, ++side)
                        WEFT_STORE(line[16 * side], batch, row + r, column, min(16, n - column));
                }
#endif
            }
        }
    }
    WEFT_AMX_RELEASE(&engine);
}

#undef WEFT_AMX_LEFT
#undef WEFT_AMX_RIGHT
#ifdef WEFT_AMX_ANY_LAYOUT
#undef WEFT_AMX_ANY_LAYOUT
#undef WEFT_AMX_LEFT_ROWS
#undef WEFT_AMX_LEFT_COLUMNS
#undef WEFT_AMX_RIGHT_ROWS
#undef WEFT_AMX_RIGHT_COLUMNS
#endif
#ifdef WEFT_AMX_ALONE
#undef WEFT_AMX_ALONE
#undef WEFT_FORMAT_A
#undef WEFT_FORMAT_B
#undef WEFT_NAME
#undef WEFT_EPILOGUE_PARAMETERS
#undef WEFT_STORE
#endif
