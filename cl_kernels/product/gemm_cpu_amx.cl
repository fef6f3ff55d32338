/* gemm_cpu_amx.cl: C[b] = A[b] * B[b] in bf16 with sums of f32, by the matrix engine AMX of processors (its
 * instructions as inline assembly).
 *
 *     A (m, k), B (k, n): any strides, numbers of the formats WEFT_FORMAT_A and _B, rounded to bf16 where they are wider
 *     C: whatever WEFT_STORE makes of an element
 *
 * pack: writes B as panels of 32 columns: panel[(block * 2 + side) * 256 + pair * 16 + column], words, `block` one
 * of the blocks of 32 of k. Past the end of k there are zeros, past the last column anything.
 *
 * tiles: a work-item (no barriers, no local memory) owns a strip of rows and a span of panels. It copies two tiles'
 * rows of A over at most DEPTH of k, so that they lie one after another in the first-level cache, and multiplies them with
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
 * A_ROWS, B_ROWS: macros of 0 or 1: k lies side by side in A, the columns in B; A_COLUMNS, B_COLUMNS: the rows of A,
 * k in B. Parameters (src/kernels/product/gemm_cpu_amx.c): a work-item has at most STRIP rows and SPAN columns. The
 * macros before an inclusion are described in src/kernels/product/gemm.h.
 * The engine is in amx.clh, reading the operands in gemm_cpu_amx_operand.clh. */

#ifndef WEFT_GEMM_CPU_AMX
#define WEFT_GEMM_CPU_AMX

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
#ifndef WEFT_AMX_A_ROWS
#define WEFT_AMX_A_ROWS    (a_column == 1)
#define WEFT_AMX_A_COLUMNS (a_row == 1)
#define WEFT_AMX_B_ROWS    (b_column == 1)
#define WEFT_AMX_B_COLUMNS (b_row == 1)
#define WEFT_AMX_ANY_LAYOUT
#endif

#define WEFT_AMX_NAME(suffix) WEFT_NAME(a_##suffix)
#define WEFT_AMX_OF           WEFT_OF_A
#include "gemm_cpu_amx_operand.clh"
#undef WEFT_AMX_NAME
#undef WEFT_AMX_OF
#define WEFT_AMX_NAME(suffix) WEFT_NAME(b_##suffix)
#define WEFT_AMX_OF           WEFT_OF_B
#include "gemm_cpu_amx_operand.clh"
#undef WEFT_AMX_NAME
#undef WEFT_AMX_OF

/* Work-item (panels, DEPTH of k, batch): `span` panels. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void WEFT_NAME(pack)(WEFT_OPERANDS_B *b,
    long b_offset, __global uint *panels, long panels_offset, int n, int k, int span, long b_batch,
    long b_row, long b_column) {
    const int batch = (int)get_global_id(2), blocks = (k + 31) / 32, all = (n + 31) / 32;
    const int from = (int)get_global_id(0) * span, to = min(all, from + span);
    const int first = (int)get_global_id(1) * WEFT_AMX_BLOCKS, last = min(blocks, first + WEFT_AMX_BLOCKS);
    b += b_offset + batch * b_batch;
    panels += panels_offset + (long)batch * all * blocks * (2 * WEFT_AMX_TILE);
    for (int block = first; block < last; ++block) {
        const int depth = k - 32 * block;
        for (int panel = from; panel < to; ++panel) {
            __global uint16 *to16 =
                (__global uint16 *)(panels + ((long)panel * blocks + block) * (2 * WEFT_AMX_TILE));
            for (int side = 0; side < 2; ++side) {
                const int column = 32 * panel + 16 * side, lanes = n - column;
                WEFT_OPERANDS_B *p = b + 32 * block * b_row + column * b_column;
                uint16 words[16];
                if (lanes <= 0) {
                    for (int i = 0; i < 16; ++i) words[i] = 0;
                } else if (WEFT_AMX_B_ROWS) {
                    WEFT_NAME(b_interleave)(words, p, b_row, lanes, depth);
                } else if (WEFT_AMX_B_COLUMNS) {
                    WEFT_NAME(b_lines)(words, p, b_column, lanes, depth);
                    weft_amx_transpose(words);
                } else {
                    WEFT_NAME(b_gather)(words, p, b_row, b_column, lanes, depth);
                }
                for (int i = 0; i < 16; ++i) to16[16 * side + i] = words[i];
            }
        }
    }
}

/* 32 rows of A, of which there are `rows`, by `depth` of k -> two tiles for each block of 32. */
static inline void WEFT_NAME(copy)(
    uint16 *tiles, WEFT_OPERANDS_A *a, int rows, int depth, long a_row, long a_column) {
    for (int at = 0; at < depth; at += 32, tiles += 32) {
        for (int side = 0; side < 2 && 16 * side < rows; ++side) {
            WEFT_OPERANDS_A *p = a + 16 * side * a_row + at * a_column;
            const int lanes = rows - 16 * side;
            if (WEFT_AMX_A_ROWS) {
                WEFT_NAME(a_lines)(tiles + 16 * side, p, a_row, lanes, depth - at);
            } else {
                if (WEFT_AMX_A_COLUMNS)
                    WEFT_NAME(a_interleave)(tiles + 16 * side, p, a_column, lanes, depth - at);
                else
                    WEFT_NAME(a_gather)(tiles + 16 * side, p, a_column, a_row, lanes, depth - at);
                weft_amx_transpose(tiles + 16 * side);
            }
        }
    }
}

/* Work-item (strip, span, batch): `strip` rows, a multiple of 32, and `span` panels. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void WEFT_NAME(tiles)(WEFT_OPERANDS_A *a,
    long a_offset, __global const uint *panels, long panels_offset, int m, int n, int k, int strip, int span,
    long a_batch, long a_row, long a_column WEFT_EPILOGUE_PARAMETERS) {
    const int batch = (int)get_global_id(2), blocks = (k + 31) / 32, all = (n + 31) / 32;
    const int top = (int)get_global_id(0) * strip, bottom = min(m, top + strip);
    const int left = (int)get_global_id(1) * span, right = min(all, left + span);
    float sums[WEFT_AMX_STRIP * WEFT_AMX_SPAN] __attribute__((aligned(64)));
    uint16 tiles[32 * WEFT_AMX_BLOCKS];
    a += a_offset + batch * a_batch;
    panels += panels_offset + (long)batch * all * blocks * (2 * WEFT_AMX_TILE);
    weft_amx_engine engine;
    weft_amx_begin(&engine);
    for (int start = 0; start < k; start += WEFT_AMX_DEPTH) {
        const int depth = min(WEFT_AMX_DEPTH, k - start);
        const bool last = start + depth == k, waits = k > WEFT_AMX_DEPTH;
        for (int row = top; row < bottom; row += 32) {
            const int rows = min(32, bottom - row);
            WEFT_NAME(copy)(tiles, a + row * a_row + start * a_column, rows, depth, a_row, a_column);
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
                for (int r = 0; r < rows; ++r) {
                    const float16 *line = (const float16 *)sum + r / 16 * 32 + r % 16;
                    for (int column = 32 * panel, side = 0; side < 2 && column < n; column += 16, ++side)
                        WEFT_STORE(line[16 * side], batch, row + r, column, min(16, n - column));
                }
            }
        }
    }
    WEFT_AMX_RELEASE(&engine);
}

#ifdef WEFT_AMX_ANY_LAYOUT
#undef WEFT_AMX_ANY_LAYOUT
#undef WEFT_AMX_A_ROWS
#undef WEFT_AMX_A_COLUMNS
#undef WEFT_AMX_B_ROWS
#undef WEFT_AMX_B_COLUMNS
#endif
#ifdef WEFT_AMX_ALONE
#undef WEFT_AMX_ALONE
#undef WEFT_FORMAT_A
#undef WEFT_FORMAT_B
#undef WEFT_NAME
#undef WEFT_EPILOGUE_PARAMETERS
#undef WEFT_STORE
#endif
