/* gemm_cpu_amx_parts.cl: C[b] = A[b] * B[b] in f32 by the matrix engine AMX of processors, which multiplies bf16.
 *
 *     A (m, k), B (k, n): any strides            C: whatever WEFT_STORE makes of an element
 *
 * An f32 number x is x0 + x1 + x2, each rounded to bf16: x0 of x, x1 of what is left, x2 of what is left then. Of
 * the nine products of the parts of two numbers the engine adds those that matter, in f32:
 *
 *     PARTS 2     a0 b1 + a0 b0 + a1 b0                                 16 bits of the operands
 *     PARTS 3     a0 b2 + a0 b1 + a1 b1 + a1 b0 + a2 b0 + a0 b0         as exact as f32
 *
 * pack: writes B as panels of 32 columns: panel[((block * PARTS + part) * 2 + side) * 256 + pair * 16 + column], words,
 * `block` one of the blocks of 32 of k; and of each stretch of DEPTH of k of a panel the greatest magnitude and the
 * least that is not zero.
 *
 * tiles: a work-item (no barriers, no local memory) owns a strip of rows and a span of panels. It splits 32 rows of A over at
 * most DEPTH of k, multiplies them with each panel, and keeps the sums in private memory. The engine takes subnormal numbers for
 * zeros; the parts of infinities would be NaN, and parts of numbers near the ends of the range overflow or
 * underflow. Where the magnitudes of 32 rows and of a panel are so that products or parts could, this part of the
 * sums is computed by multiply-adds from A and B themselves.
 *
 * LEFT_ROWS, LEFT_COLUMNS, RIGHT_ROWS, RIGHT_COLUMNS: macros of 0 or 1: k, the rows of A; the columns of B, k lie side by side.
 * Parameters (src/kernels/product/gemm_cpu_amx_parts.c): a work-item has at most STRIP rows and SPAN columns. The macros before
 * an inclusion are described in src/kernels/product/gemm.h. The engine is in amx.clh. */

#include "amx_words.clh"
#include "parts_fit.clh"

#ifndef WEFT_GEMM_CPU_AMX_PARTS
#define WEFT_GEMM_CPU_AMX_PARTS

/* The bits of a part of numbers, in the lower halves of words. Of what is not zero part 0 is not zero either. */
static inline uint16 weft_parts_bits(float16 x, const int part) {
    const float16 first = weft_round_bf16(x), rest = x - first, second = weft_round_bf16(rest);
    const uint16 lost = as_uint16((as_uint16(x) << 1 != 0) & (as_uint16(first) << 1 == 0));
    if (part == 0) return as_uint16(first) >> 16 | (lost & 1);
    return as_uint16(part == 1 ? second : weft_round_bf16(rest - second)) >> 16;
}

/* Magnitudes of numbers as their bits, which have the same order. */
typedef struct weft_parts_range {
    uint16 least, most;
} weft_parts_range;

static inline void weft_parts_widen_by(weft_parts_range *range, uint16 magnitudes) {
    range->most = max(range->most, magnitudes);
    range->least = min(range->least, select(magnitudes, (uint16)0x7F7F0000u, as_int16(magnitudes == 0)));
}

/* words: of a tile of first parts. */
static inline void weft_parts_widen(weft_parts_range *range, const uint16 *words) {
    for (int i = 0; i < 16; ++i) {
        weft_parts_widen_by(range, words[i] << 16 & 0x7FFF0000u);
        weft_parts_widen_by(range, words[i] & 0x7FFF0000u);
    }
}

static inline float2 weft_parts_ends(const weft_parts_range *range) {
    uint least = 0x7F7F0000u, most = 0;
    for (int i = 0; i < 16; ++i) {
        least = min(least, ((const uint *)&range->least)[i]);
        most = max(most, ((const uint *)&range->most)[i]);
    }
    return (float2)(as_float(least), as_float(most));
}

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix)        gemm_parts_##suffix
#define WEFT_EPILOGUE_PARAMETERS WEFT_PLAIN_PARAMETERS
#define WEFT_STORE               WEFT_PLAIN_STORE
#define WEFT_FORMAT_A            f32
#define WEFT_FORMAT_B            f32
#define WEFT_PARTS_ALONE
#endif
#ifndef WEFT_AMX_LEFT_ROWS
#define WEFT_AMX_LEFT_ROWS     (l_column == 1)
#define WEFT_AMX_LEFT_COLUMNS  (l_row == 1)
#define WEFT_AMX_RIGHT_ROWS    (r_column == 1)
#define WEFT_AMX_RIGHT_COLUMNS (r_row == 1)
#define WEFT_PARTS_ANY_LAYOUT
#endif

#define WEFT_PARTS_BLOCK  (WEFT_PARTS * 2 * WEFT_AMX_TILE) /* words of 32 of k */
#define WEFT_PARTS_BLOCKS (WEFT_PARTS_DEPTH / 32)

#define WEFT_AMX_OF           WEFT_OF_A
#define WEFT_AMX_NAME(suffix) WEFT_NAME(left0_##suffix)
#define WEFT_AMX_PART         0
#include "gemm_cpu_amx_part.clh"
#define WEFT_AMX_NAME(suffix) WEFT_NAME(left1_##suffix)
#define WEFT_AMX_PART         1
#include "gemm_cpu_amx_part.clh"
#if WEFT_PARTS > 2
#define WEFT_AMX_NAME(suffix) WEFT_NAME(left2_##suffix)
#define WEFT_AMX_PART         2
#include "gemm_cpu_amx_part.clh"
#endif
#undef WEFT_AMX_OF
#define WEFT_AMX_OF           WEFT_OF_B
#define WEFT_AMX_NAME(suffix) WEFT_NAME(right0_##suffix)
#define WEFT_AMX_PART         0
#include "gemm_cpu_amx_part.clh"
#define WEFT_AMX_NAME(suffix) WEFT_NAME(right1_##suffix)
#define WEFT_AMX_PART         1
#include "gemm_cpu_amx_part.clh"
#if WEFT_PARTS > 2
#define WEFT_AMX_NAME(suffix) WEFT_NAME(right2_##suffix)
#define WEFT_AMX_PART         2
#include "gemm_cpu_amx_part.clh"
#endif
#undef WEFT_AMX_OF

/* Work-item (panel, DEPTH of k, batch). */
__kernel WEFT_ITEMS(1) void WEFT_NAME(pack)(__global const WEFT_OF_B(WEFT_T_) * r, long r_offset,
    __global uint *panels, long panels_offset, int n, int k, long r_batch, long r_row, long r_column) {
    const int batch = (int)get_global_id(2), panel = (int)get_global_id(0), stretch = (int)get_global_id(1);
    const int blocks = (k + 31) / 32, first = stretch * WEFT_PARTS_BLOCKS;
    const long all = (n + 31) / 32, number = batch * all + panel;
    weft_parts_range range = {0x7F7F0000u, 0};
    r += r_offset + batch * r_batch;
    panels += panels_offset;
    for (int block = first; block < min(blocks, first + WEFT_PARTS_BLOCKS); ++block) {
        __global uint16 *const to =
            (__global uint16 *)(panels + (number * blocks + block) * WEFT_PARTS_BLOCK);
        for (int i = 0; i < 2 * WEFT_PARTS; ++i) {
            const int column = 32 * panel + 16 * (i % 2);
            __global const WEFT_OF_B(WEFT_T_) *p = r + 32 * block * r_row + column * r_column;
            uint16 words[16];
#define WEFT_PARTS_TILE(part)                                                                                \
    WEFT_NAME(right##part##_tile)                                                                            \
    (words, p, r_row, r_column, n - column, k - 32 * block, WEFT_AMX_RIGHT_COLUMNS, WEFT_AMX_RIGHT_ROWS,     \
        false)
            if (i < 2) {
                WEFT_PARTS_TILE(0);
                weft_parts_widen(&range, words);
            } else if (i < 4)
                WEFT_PARTS_TILE(1);
#if WEFT_PARTS > 2
            else
                WEFT_PARTS_TILE(2);
#endif
#undef WEFT_PARTS_TILE
            for (int j = 0; j < 16; ++j) to[16 * i + j] = words[j];
        }
    }
    __global float2 *const ends =
        (__global float2 *)(panels + (long)get_global_size(2) * all * blocks * WEFT_PARTS_BLOCK);
    ends[number * get_global_size(1) + stretch] = weft_parts_ends(&range);
}

/* 32 rows of A, of which there are `rows`, by `depth` of k -> the tiles of their parts; the ends of their magnitudes. */
static inline float2 WEFT_NAME(split)(
    uint16 *tiles, __global const WEFT_OF_A(WEFT_T_) * l, int rows, int depth, long l_row, long l_column) {
    weft_parts_range range = {0x7F7F0000u, 0};
    for (int at = 0; at < depth; at += 32, tiles += WEFT_PARTS_BLOCK / 16) {
        for (int side = 0; side < 2; ++side) {
            __global const WEFT_OF_A(WEFT_T_) *p = l + 16 * side * l_row + at * l_column;
#define WEFT_PARTS_TILE(part)                                                                                \
    WEFT_NAME(left##part##_tile)                                                                             \
    (tiles + 16 * (2 * part + side), p, l_column, l_row, rows - 16 * side, depth - at, WEFT_AMX_LEFT_ROWS,   \
        WEFT_AMX_LEFT_COLUMNS, true)
            WEFT_PARTS_TILE(0);
            WEFT_PARTS_TILE(1);
#if WEFT_PARTS > 2
            WEFT_PARTS_TILE(2);
#endif
#undef WEFT_PARTS_TILE
            weft_parts_widen(&range, tiles + 16 * side);
        }
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

/* sum: four tiles, (+)= the products of the parts of 32 rows and a panel; small ones are added before great ones. */
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

/* The same by multiply-adds from `rows` rows of A and `columns` columns of B. */
static inline void WEFT_NAME(plain)(float *sum, __global const WEFT_OF_A(WEFT_T_) * l,
    __global const WEFT_OF_B(WEFT_T_) * r, int rows, int columns, int depth, bool first, long l_row,
    long l_column, long r_row, long r_column) {
    for (int row = 0; row < rows; ++row) {
        for (int side = 0; 16 * side < columns; ++side) {
            float16 *const at = (float16 *)(sum + (row / 16 * 2 + side) * WEFT_AMX_TILE) + row % 16;
            float16 total = first ? 0.0f : *at;
            for (int p = 0; p < depth; ++p) {
                __global const WEFT_OF_B(WEFT_T_) *from = r + p * r_row + 16 * side * r_column;
                const float16 x = WEFT_OF_A(WEFT_GET_)(l, row * l_row + p * l_column);
                float16 y = 0.0f;
                if (WEFT_AMX_RIGHT_ROWS && columns - 16 * side >= 16) {
                    y = WEFT_OF_B(WEFT_READ_)(from);
                } else {
                    for (int i = 0; i < min(16, columns - 16 * side); ++i)
                        ((float *)&y)[i] = WEFT_OF_B(WEFT_GET_)(from, i * r_column);
                }
                total = WEFT_MULTIPLY_ADD(x, y, total);
            }
            *at = total;
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
                if (weft_parts_fit(of_rows, ends[number * stretches + start / WEFT_PARTS_DEPTH]))
                    WEFT_NAME(panel)
                (&engine, sum, tiles, panels + (number * blocks + start / 32) * WEFT_PARTS_BLOCK,
                    (depth + 31) / 32, start == 0);
                else WEFT_NAME(plain)(sum, from, r + start * r_row + 32 * panel * r_column, rows,
                    min(32, n - 32 * panel), depth, start == 0, l_row, l_column, r_row, r_column);
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
#ifdef WEFT_PARTS_ALONE
#undef WEFT_PARTS_ALONE
#undef WEFT_FORMAT_A
#undef WEFT_FORMAT_B
#undef WEFT_NAME
#undef WEFT_EPILOGUE_PARAMETERS
#undef WEFT_STORE
#endif
