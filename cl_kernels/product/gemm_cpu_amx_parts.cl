/* gemm_cpu_amx_parts.cl: C[b] = A[b] * B[b] in f32 by the matrix engine AMX of processors, which multiplies bf16.
 *
 *     A (m, k), B (k, n): any strides            C: stored by WEFT_STORE (the epilogue)
 *
 * An f32 number x is the sum of parts x0 + x1 + x2: x0 is x rounded to bf16, x1 is the remainder x - x0 rounded to bf16, and x2 the
 * remainder x - x0 - x1 likewise. Of the nine products of the parts of two numbers, the engine computes those that matter and adds
 * them in f32:
 *
 *     PARTS 2     a0 b1 + a0 b0 + a1 b0                                 16 bits of the operands
 *     PARTS 3     a0 b2 + a0 b1 + a1 b1 + a1 b0 + a2 b0 + a0 b0         as exact as f32
 *
 * pack: writes B as panels of 32 columns: panel[((block * PARTS + part) * 2 + side) * 256 + pair * 16 + column], in words, where
 * `block` counts blocks of 32 steps of k. `side` is 0 for the left and 1 for the right half of a panel. For each DEPTH steps of a
 * panel it also writes the least magnitude that is not zero, and the greatest.
 *
 * tiles: a work-item (no barriers, no local memory) computes a strip of rows and a span of panels. It divides 32 rows of A, over at
 * most DEPTH steps of k, into parts, multiplies them by each panel, and keeps the sums in private memory. The engine treats
 * subnormal numbers as zeros; the parts of infinities would be NaN, and parts of numbers near the ends of the range overflow or
 * underflow. If the magnitudes of 32 rows and of a panel could lead to such products or parts, these sums are computed by
 * multiply-adds from A and B themselves.
 *
 * Macros of 0 or 1. LEFT_ROWS: A is contiguous along k; LEFT_COLUMNS: along its rows. RIGHT_ROWS: B is contiguous along its
 * columns; RIGHT_COLUMNS: along k. Parameters (src/kernels/product/gemm_cpu_amx_parts.c): a work-item has at most STRIP rows and
 * SPAN columns. The macros that the plan defines before each copy are described in src/kernels/product/gemm.h. The engine is in
 * amx.clh. */

#include "amx_words.clh"
#include "gemm_cpu_amx_part.clh"
#include "parts_fit.clh"

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) gemm_parts_##suffix
#include "alone.clh"
#endif
#ifndef WEFT_AMX_LEFT_ROWS
#define WEFT_AMX_LEFT_ROWS     (l_column == 1)
#define WEFT_AMX_LEFT_COLUMNS  (l_row == 1)
#define WEFT_AMX_RIGHT_ROWS    (r_column == 1)
#define WEFT_AMX_RIGHT_COLUMNS (r_row == 1)
#define WEFT_PARTS_ANY_LAYOUT
#endif

#define WEFT_PARTS_BLOCK  (WEFT_PARTS * 2 * WEFT_AMX_TILE) /* words of 32 steps of k of a panel */
#define WEFT_PARTS_BLOCKS (WEFT_PARTS_DEPTH / 32)

/* Work-item (panel, DEPTH steps of k, batch). */
__kernel WEFT_ITEMS(1) void WEFT_NAME(pack)(__global const WEFT_OF_B(WEFT_T_) * r, long r_offset,
    __global uint *panels, long panels_offset, int n, int k, long r_batch, long r_row, long r_column) {
    const int batch = (int)get_global_id(2), panel = (int)get_global_id(0), stretch = (int)get_global_id(1);
    const int blocks = (k + 31) / 32, first = stretch * WEFT_PARTS_BLOCKS;
    const long all = (n + 31) / 32, number = batch * all + panel;
    weft_parts_range range = weft_parts_no_range();
    r += r_offset + batch * r_batch;
    panels += panels_offset;
    for (int block = first; block < min(blocks, first + WEFT_PARTS_BLOCKS); ++block) {
        __global uint16 *const to =
            (__global uint16 *)(panels + (number * blocks + block) * WEFT_PARTS_BLOCK);
        uint16 words[WEFT_PARTS_BLOCK / 16];
        for (int side = 0; side < 2; ++side) {
            const int column = 32 * panel + 16 * side;
            weft_parts_tile(words + 16 * side, &range, r + 32 * block * r_row + column * r_column, r_row,
                r_column, n - column, k - 32 * block, WEFT_PARTS, WEFT_AMX_RIGHT_COLUMNS, WEFT_AMX_RIGHT_ROWS,
                false);
        }
        for (int i = 0; i < WEFT_PARTS_BLOCK / 16; ++i) to[i] = words[i];
    }
    __global float2 *const ends =
        (__global float2 *)(panels + (long)get_global_size(2) * all * blocks * WEFT_PARTS_BLOCK);
    ends[number * get_global_size(1) + stretch] = weft_parts_ends(&range);
}

/* Writes the parts of up to 32 rows of A (`rows` exist) and `depth` steps of k as tiles; returns (least, greatest) magnitude. */
static inline float2 WEFT_NAME(split)(
    uint16 *tiles, __global const WEFT_OF_A(WEFT_T_) * l, int rows, int depth, long l_row, long l_column) {
    weft_parts_range range = weft_parts_no_range();
    for (int at = 0; at < depth; at += 32, tiles += WEFT_PARTS_BLOCK / 16) {
        for (int side = 0; side < 2; ++side)
            weft_parts_tile(tiles + 16 * side, &range, l + 16 * side * l_row + at * l_column, l_column, l_row,
                rows - 16 * side, depth - at, WEFT_PARTS, WEFT_AMX_LEFT_ROWS, WEFT_AMX_LEFT_COLUMNS, true);
    }
    return weft_parts_ends(&range);
}

#define WEFT_PARTS_LEFT(part)                                                                                \
    WEFT_AMX_LOAD(engine, 4, a + 2 * (part)*WEFT_AMX_TILE);                                                  \
    WEFT_AMX_LOAD(engine, 5, a + (2 * (part) + 1) * WEFT_AMX_TILE);
#define WEFT_PARTS_RIGHT(part)                                                                               \
    WEFT_AMX_LOAD_ONCE(engine, 6, b + 2 * (part)*WEFT_AMX_TILE);                                             \
    WEFT_AMX_LOAD_ONCE(engine, 7, b + (2 * (part) + 1) * WEFT_AMX_TILE);
#define WEFT_PARTS_MULTIPLY                                                                                  \
    WEFT_AMX_MULTIPLY(engine, 0, 4, 6);                                                                      \
    WEFT_AMX_MULTIPLY(engine, 1, 4, 7);                                                                      \
    WEFT_AMX_MULTIPLY(engine, 2, 5, 6);                                                                      \
    WEFT_AMX_MULTIPLY(engine, 3, 5, 7);

/* sum, four tiles, (+)= the products of the parts of 32 rows and a panel; small products are added first. `(+)=` means `=` if
 * `first`, otherwise `+=`. */
static inline void WEFT_NAME(panel)(weft_amx_engine *engine, float *sum, const uint16 *rows,
    __global const uint *panel, int blocks, bool first) {
    const uint *a = (const uint *)rows;
    __global const uint *b = panel;
    if (first) {
        WEFT_AMX_ZERO(engine, 0);
        WEFT_AMX_ZERO(engine, 1);
        WEFT_AMX_ZERO(engine, 2);
        WEFT_AMX_ZERO(engine, 3);
    } else {
        WEFT_AMX_LOAD(engine, 0, sum);
        WEFT_AMX_LOAD(engine, 1, sum + WEFT_AMX_TILE);
        WEFT_AMX_LOAD(engine, 2, sum + 2 * WEFT_AMX_TILE);
        WEFT_AMX_LOAD(engine, 3, sum + 3 * WEFT_AMX_TILE);
    }
    for (int block = 0; block < blocks; ++block, a += WEFT_PARTS_BLOCK, b += WEFT_PARTS_BLOCK) {
        WEFT_PARTS_LEFT(0)
#if WEFT_PARTS > 2
        WEFT_PARTS_RIGHT(2)
        WEFT_PARTS_MULTIPLY
#endif
        WEFT_PARTS_RIGHT(1)
        WEFT_PARTS_MULTIPLY
#if WEFT_PARTS > 2
        WEFT_PARTS_LEFT(1)
        WEFT_PARTS_MULTIPLY
        WEFT_PARTS_RIGHT(0)
        WEFT_PARTS_MULTIPLY
        WEFT_PARTS_LEFT(2)
        WEFT_PARTS_MULTIPLY
#else
        WEFT_PARTS_LEFT(1)
        WEFT_PARTS_RIGHT(0)
        WEFT_PARTS_MULTIPLY
#endif
        WEFT_PARTS_LEFT(0)
        WEFT_PARTS_MULTIPLY
    }
    WEFT_AMX_STORE(engine, 0, sum);
    WEFT_AMX_STORE(engine, 1, sum + WEFT_AMX_TILE);
    WEFT_AMX_STORE(engine, 2, sum + 2 * WEFT_AMX_TILE);
    WEFT_AMX_STORE(engine, 3, sum + 3 * WEFT_AMX_TILE);
}

#undef WEFT_PARTS_LEFT
#undef WEFT_PARTS_RIGHT
#undef WEFT_PARTS_MULTIPLY

/* Sixteen columns of a row of B, of which the first `lanes` exist; the others are zero. */
static inline float16 WEFT_NAME(sixteen)(__global const WEFT_OF_B(WEFT_T_) * r, int lanes, long r_column) {
    if (WEFT_AMX_RIGHT_ROWS && lanes >= 16) return WEFT_OF_B(WEFT_READ_)(r);
    float16 numbers = 0.0f;
    for (int i = 0; i < min(16, lanes); ++i) ((float *)&numbers)[i] = WEFT_OF_B(WEFT_GET_)(r, i * r_column);
    return numbers;
}

/* Copies `columns` columns of a panel and `depth` steps of k as rows of two vectors of f32. */
static inline void WEFT_NAME(copy)(float16 *panel, __global const WEFT_OF_B(WEFT_T_) * r, int columns,
    int depth, long r_row, long r_column) {
    for (int p = 0; p < depth; p += 16) {
        const int steps = min(16, depth - p);
        for (int side = 0; side < 2; ++side) {
            __global const WEFT_OF_B(WEFT_T_) *from = r + p * r_row + 16 * side * r_column;
            const int lanes = columns - 16 * side;
            float16 v[16], t[16];
            if (WEFT_AMX_RIGHT_COLUMNS && lanes >= 16 && steps == 16) {
                for (int i = 0; i < 16; ++i) v[i] = WEFT_OF_B(WEFT_READ_)(from + i * r_column);
                WEFT_TRANSPOSE(v, t)
            } else {
                for (int i = 0; i < steps; ++i) v[i] = WEFT_NAME(sixteen)(from + i * r_row, lanes, r_column);
            }
            for (int i = 0; i < steps; ++i) panel[2 * (p + i) + side] = v[i];
        }
    }
}

/* Multiplies `rows` rows of A by a panel that `copy` has written, by multiply-adds. The four tiles `sum` become the product if `first`;
 * otherwise the product is added to them.
 * Rows past the last one compute the last row again. */
static inline void WEFT_NAME(plain)(float *sum, __global const WEFT_OF_A(WEFT_T_) * l, const float16 *panel,
    int rows, int depth, bool first, long l_row, long l_column) {
    for (int row = 0; row < rows; row += 8) {
        float16 *const left = (float16 *)(sum + row / 16 * 2 * WEFT_AMX_TILE) + row % 16;
        float16 *const right = left + WEFT_AMX_TILE / 16;
        float16 acc[8][2];
        long at[8];
        WEFT_UNROLL for (int i = 0; i < 8; ++i) {
            at[i] = min(row + i, rows - 1) * l_row;
            acc[i][0] = first ? 0.0f : left[i];
            acc[i][1] = first ? 0.0f : right[i];
        }
        for (int p = 0; p < depth; ++p) {
            const float16 y = panel[2 * p], z = panel[2 * p + 1];
            WEFT_UNROLL for (int i = 0; i < 8; ++i) {
                const float16 x = WEFT_OF_A(WEFT_GET_)(l, at[i] + p * l_column);
                acc[i][0] = WEFT_MULTIPLY_ADD(x, y, acc[i][0]);
                acc[i][1] = WEFT_MULTIPLY_ADD(x, z, acc[i][1]);
            }
        }
        WEFT_UNROLL for (int i = 0; i < 8; ++i) {
            left[i] = acc[i][0];
            right[i] = acc[i][1];
        }
    }
}

/* Work-item (strip, span, batch): `strip` rows, a multiple of 32, and `span` panels. */
__kernel WEFT_ITEMS(1) void WEFT_NAME(tiles)(__global const WEFT_OF_A(WEFT_T_) * l, long l_offset,
    __global const WEFT_OF_B(WEFT_T_) * r, long r_offset, __global const uint *panels, long panels_offset,
    int m, int n, int k, int strip, int span, long l_batch, long l_row, long l_column, long r_batch,
    long r_row, long r_column WEFT_EPILOGUE_PARAMETERS) {
    const int batch = (int)get_global_id(2), blocks = (k + 31) / 32, all = (n + 31) / 32;
    const int stretches = (k + WEFT_PARTS_DEPTH - 1) / WEFT_PARTS_DEPTH;
    const int top = (int)get_global_id(0) * strip, bottom = min(m, top + strip);
    const int left = (int)get_global_id(1) * span, right = min(all, left + span);
    float sums[WEFT_PARTS_STRIP * WEFT_PARTS_SPAN] __attribute__((aligned(64)));
    uint16 tiles[WEFT_PARTS_BLOCKS * WEFT_PARTS_BLOCK / 16];
    float16 numbers[2 * WEFT_PARTS_DEPTH];
    l += l_offset + batch * l_batch;
    r += r_offset + batch * r_batch;
    panels += panels_offset;
    __global const float2 *const ends =
        (__global const float2 *)(panels + (long)get_global_size(2) * all * blocks * WEFT_PARTS_BLOCK);
    weft_amx_engine engine;
    weft_amx_begin(&engine);
    for (int start = 0; start < k; start += WEFT_PARTS_DEPTH) {
        const int depth = min(WEFT_PARTS_DEPTH, k - start);
        for (int row = top; row < bottom; row += 32) {
            const int rows = min(32, bottom - row);
            __global const WEFT_OF_A(WEFT_T_) *const from = l + row * l_row + start * l_column;
            const float2 of_rows = WEFT_NAME(split)(tiles, from, rows, depth, l_row, l_column);
            for (int panel = left; panel < right; ++panel) {
                float *sum = sums + ((row - top) / 32 * (right - left) + panel - left) * (4 * WEFT_AMX_TILE);
                const long number = (long)batch * all + panel;
                if (weft_parts_fit(of_rows, ends[number * stretches + start / WEFT_PARTS_DEPTH])) {
                    WEFT_NAME(panel)
                    (&engine, sum, tiles, panels + (number * blocks + start / 32) * WEFT_PARTS_BLOCK,
                        (depth + 31) / 32, start == 0);
                } else {
                    WEFT_NAME(copy)
                    (numbers, r + start * r_row + 32 * panel * r_column, n - 32 * panel, depth, r_row,
                        r_column);
                    WEFT_NAME(plain)(sum, from, numbers, rows, depth, start == 0, l_row, l_column);
                }
            }
        }
    }
    WEFT_AMX_RELEASE(&engine);
    for (int line = 0; line < bottom - top; ++line) {
        for (int at = 0; at < 32 * (right - left) && 32 * left + at < n; at += 16) {
            const int tile = (line / 32 * (right - left) + at / 32) * 4 + line % 32 / 16 * 2 + at % 32 / 16;
            WEFT_STORE(((const float16 *)(sums + tile * WEFT_AMX_TILE))[line % 16], batch, top + line,
                32 * left + at, min(16, n - 32 * left - at));
        }
    }
}

#undef WEFT_PARTS_BLOCK
#undef WEFT_PARTS_BLOCKS
#ifdef WEFT_PARTS_ANY_LAYOUT
#undef WEFT_PARTS_ANY_LAYOUT
#undef WEFT_AMX_LEFT_ROWS
#undef WEFT_AMX_LEFT_COLUMNS
#undef WEFT_AMX_RIGHT_ROWS
#undef WEFT_AMX_RIGHT_COLUMNS
#endif
