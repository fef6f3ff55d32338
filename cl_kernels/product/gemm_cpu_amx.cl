/* gemm_cpu_amx.cl: C[b] = A[b] * B[b] in bf16 with sums of f32, by the matrix engine AMX of processors.
 *
 *     A (m, k), B (k, n): any strides, stored in the formats WEFT_FORMAT_A and _B, rounded to bf16 if these are wider
 *     C: stored by WEFT_STORE (the epilogue)
 *
 * The engine multiplies a left matrix, which is read in place, by a right matrix, which is packed. They are A and B, and the
 * product is C. If SWAP is 1, they are the transposes of B and A, and the product is the transpose of C; so the smaller of A and B
 * can be the one that is packed.
 *
 * pack: writes the right matrix as panels of 32 columns: panel[(block * 2 + side) * 256 + pair * 16 + column], in words, where
 * `block` counts blocks of 32 steps of k. `side` is 0 for the left and 1 for the right half of a panel. Steps past the end of k are
 * zero; columns past the last one have any values.
 *
 * tiles: a work-item (no barriers, no local memory) computes a strip of rows and a span of panels. It copies two tiles' rows of the
 * left matrix, over at most DEPTH steps of k, to contiguous memory in the L1 cache, and multiplies them by each panel, which comes
 * from the L2 cache. If the rows are contiguous in memory, the whole strip is copied at once: for matrices of many rows and few
 * columns memory bandwidth is the limit, and memory is fastest if whole cache lines are read in order. For the same reason C is
 * stored at the end, row after row:
 *
 *                       panel: 2 tiles wide
 *                     +---------+---------+
 *              k      |   b0    |   b1    |        each 32 steps of k: 4 tiles are loaded, 4 products computed
 *        +---------+  +---------+---------+
 *     16 |   a0    |  | c0      | c1      |        sums stay in private memory between ranges of DEPTH steps
 *        +---------+  +---------+---------+
 *     16 |   a1    |  | c2      | c3      |
 *        +---------+  +---------+---------+
 *
 * Macros of 0 or 1. LEFT_ROWS: the left matrix is contiguous along k; LEFT_COLUMNS: along its rows. RIGHT_ROWS: the right matrix is
 * contiguous along its columns; RIGHT_COLUMNS: along k. Parameters (src/kernels/product/gemm_cpu_amx.c): a work-item has at most
 * STRIP rows and SPAN columns. The macros that the plan defines before each copy are described in src/kernels/product/gemm.h. The
 * engine's instructions are in amx.clh, functions that read the operands in gemm_cpu_amx_operand.clh. */

#include "amx_words.clh"

#ifndef WEFT_GEMM_CPU_AMX
#define WEFT_GEMM_CPU_AMX

WEFT_REQUIRE(weft_amx_blocks_are_two_tiles, WEFT_AMX_SIDE == 32);

#define WEFT_AMX_BLOCKS (WEFT_AMX_DEPTH / 32)

/* Prefetch distances: AHEAD in rows of memory along k when a strip is copied, LINES_AHEAD in rows of C. */
#define WEFT_AMX_AHEAD       8
#define WEFT_AMX_LINES_AHEAD 2

/* Prefetches while the engine multiplies, for the next copy: `rows` rows for each panel, `row` bytes apart; at each block of 32
 * steps of k `bytes` bytes of each row. */
typedef struct weft_amx_soon {
    size_t address, row;
    int rows, bytes;
} weft_amx_soon;

static inline void weft_amx_request(weft_amx_soon soon, int panel, int block) {
    const size_t from = soon.address + (size_t)(panel * soon.rows) * soon.row + (size_t)(block * soon.bytes);
    for (int row = 0; row < soon.rows; ++row) {
        for (int at = 0; at < soon.bytes; at += 64) WEFT_PREFETCH(from + (size_t)row * soon.row + at, 2);
    }
}

/* Stores a tile of the sums of the previous panel, if there is one, and begins the same tile of this panel. */
#define WEFT_AMX_TURN(engine, tile, sums, first, stores)                                                     \
    if (stores) WEFT_AMX_STORE(engine, tile, (sums) + ((tile)-4) * WEFT_AMX_TILE);                           \
    if (first)                                                                                               \
        WEFT_AMX_ZERO(engine, tile);                                                                         \
    else                                                                                                     \
        WEFT_AMX_LOAD(engine, tile, (sums) + (tile)*WEFT_AMX_TILE);

/* sums (+)= two rows of tiles of A times each of `panels` panels, which are `step` words apart; each panel has four tiles of sums,
 * one after the other. `(+)=` means `=` if `first`, otherwise `+=`. tall (more than 16 rows): a constant at each call. The engine
 * begins with a panel while the sums of the previous one are stored; sums are prefetched. Panels are loaded with the hint that
 * keeps the rows of A in the L1 cache. */
__attribute__((always_inline)) static inline void weft_amx_row(weft_amx_engine *engine, float *sums,
    const uint16 *rows, __global const uint *panel, long step, int panels, int blocks, bool first,
    const bool tall, weft_amx_soon soon) {
    for (int i = 0; i < panels; ++i, panel += step, sums += 4 * WEFT_AMX_TILE) {
        const uint *a = (const uint *)rows;
        __global const uint *b = panel;
        const bool stores = i > 0;
        WEFT_AMX_LOAD_ONCE(engine, 6, b);
        WEFT_AMX_LOAD(engine, 4, a);
        WEFT_AMX_TURN(engine, 0, sums, first, stores)
        WEFT_AMX_MULTIPLY(engine, 0, 4, 6);
        WEFT_AMX_LOAD_ONCE(engine, 7, b + WEFT_AMX_TILE);
        WEFT_AMX_TURN(engine, 1, sums, first, stores)
        WEFT_AMX_MULTIPLY(engine, 1, 4, 7);
        if (tall) {
            WEFT_AMX_LOAD(engine, 5, a + WEFT_AMX_TILE);
            WEFT_AMX_TURN(engine, 2, sums, first, stores)
            WEFT_AMX_MULTIPLY(engine, 2, 5, 6);
            WEFT_AMX_TURN(engine, 3, sums, first, stores)
            WEFT_AMX_MULTIPLY(engine, 3, 5, 7);
        }
        for (int block = 1; block < blocks; ++block) {
            a += 2 * WEFT_AMX_TILE;
            b += 2 * WEFT_AMX_TILE;
            WEFT_UNROLL for (int line = 0; line < 4; ++line)
                WEFT_PREFETCH(sums + 4 * WEFT_AMX_TILE + (4 * block + line - 4) * 16, 3);
            weft_amx_request(soon, i, block);
            WEFT_AMX_LOAD_ONCE(engine, 6, b);
            WEFT_AMX_LOAD(engine, 4, a);
            WEFT_AMX_MULTIPLY(engine, 0, 4, 6);
            WEFT_AMX_LOAD_ONCE(engine, 7, b + WEFT_AMX_TILE);
            WEFT_AMX_MULTIPLY(engine, 1, 4, 7);
            if (tall) {
                WEFT_AMX_LOAD(engine, 5, a + WEFT_AMX_TILE);
                WEFT_AMX_MULTIPLY(engine, 2, 5, 6);
                WEFT_AMX_MULTIPLY(engine, 3, 5, 7);
            }
        }
    }
    sums -= 4 * WEFT_AMX_TILE;
    WEFT_AMX_STORE(engine, 0, sums);
    WEFT_AMX_STORE(engine, 1, sums + WEFT_AMX_TILE);
    if (tall) {
        WEFT_AMX_STORE(engine, 2, sums + 2 * WEFT_AMX_TILE);
        WEFT_AMX_STORE(engine, 3, sums + 3 * WEFT_AMX_TILE);
    }
}

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) gemm_amx_##suffix
#define WEFT_FORMAT_A     bf16
#define WEFT_FORMAT_B     bf16
#include "alone.clh"
#endif
#ifndef WEFT_AMX_LEFT_ROWS
#define WEFT_AMX_LEFT_ROWS     (l_column == 1)
#define WEFT_AMX_LEFT_COLUMNS  (l_row == 1)
#define WEFT_AMX_RIGHT_ROWS    (r_column == 1)
#define WEFT_AMX_RIGHT_COLUMNS (r_row == 1)
#define WEFT_AMX_ANY_LAYOUT
#define WEFT_AMX_LEFT_COLUMNS_POSSIBLE 1
#else
#define WEFT_AMX_LEFT_COLUMNS_POSSIBLE WEFT_AMX_LEFT_COLUMNS
#endif
#if WEFT_AMX_SWAP
#define WEFT_AMX_LEFT  WEFT_OF_B
#define WEFT_AMX_RIGHT WEFT_OF_A
#else
#define WEFT_AMX_LEFT  WEFT_OF_A
#define WEFT_AMX_RIGHT WEFT_OF_B
#endif

#define WEFT_AMX_TAKE(value)  WEFT_AMX_OF(WEFT_AMX_BITS_)(value)
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
#undef WEFT_AMX_TAKE

/* Work-item (`span` panels, DEPTH steps of k, batch). */
__kernel WEFT_ITEMS(1) void WEFT_NAME(pack)(__global const WEFT_AMX_RIGHT(WEFT_T_) * r, long r_offset,
    __global uint *panels, long panels_offset, int n, int k, int span, long r_batch, long r_row,
    long r_column) {
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

/* Prefetches the cache lines of `count` numbers. */
static inline void WEFT_NAME(prefetch)(__global const WEFT_AMX_LEFT(WEFT_T_) * p, int count) {
    for (int i = 0; i < count; i += 64 / (int)sizeof *p) WEFT_PREFETCH(p + i, 2);
}

/* Copies up to 32 rows of the left matrix (`rows` exist) and `depth` steps of k to two tiles for each 32 steps. */
static inline void WEFT_NAME(copy)(uint16 *tiles, __global const WEFT_AMX_LEFT(WEFT_T_) * l, int rows,
    int depth, long l_row, long l_column) {
    for (int at = 0; at < depth; at += 32, tiles += 32) {
        for (int side = 0; side < 2 && 16 * side < rows; ++side) {
            __global const WEFT_AMX_LEFT(WEFT_T_) *p = l + 16 * side * l_row + at * l_column;
            const int lanes = rows - 16 * side;
            if (WEFT_AMX_LEFT_ROWS) {
                WEFT_NAME(left_lines)(tiles + 16 * side, p, l_row, lanes, depth - at);
            } else {
                WEFT_NAME(left_gather)(tiles + 16 * side, p, l_column, l_row, lanes, depth - at);
                weft_amx_transpose(tiles + 16 * side);
            }
        }
    }
}

/* Like `copy`, for all `rows` rows of a strip, if rows are contiguous in memory at each step of k: each row of memory is read from
 * its beginning to its end, which is the pattern that the processor's prefetcher recognises. */
static inline void WEFT_NAME(copy_columns)(
    uint16 *tiles, __global const WEFT_AMX_LEFT(WEFT_T_) * l, int rows, int depth, long l_column) {
    for (int at = 0; at < depth; at += 32) {
        uint16 *const block = tiles + at;
        for (int pair = 0; pair < 16; ++pair) {
            __global const WEFT_AMX_LEFT(WEFT_T_) *p = l + (at + 2 * pair) * l_column;
            for (int i = 0; i < 2 && at + 2 * pair + i + WEFT_AMX_AHEAD < depth; ++i)
                WEFT_NAME(prefetch)(p + (i + WEFT_AMX_AHEAD) * l_column, rows);
            for (int row = 0; row < rows; row += 16)
                block[row / 32 * (32 * WEFT_AMX_BLOCKS) + row % 32 + pair] =
                    WEFT_NAME(left_pairs)(p + row, l_column, rows - row, depth - at - 2 * pair);
        }
        for (int row = 0; row < rows; row += 16)
            weft_amx_transpose(block + row / 32 * (32 * WEFT_AMX_BLOCKS) + row % 32);
    }
}

/* Prefetches what the epilogue will read or write in a later row of C. */
#ifdef WEFT_EPILOGUE_READ
#define WEFT_AMX_EXPECT(row, column) WEFT_PREFETCH(WEFT_EPILOGUE_READ(batch, row, column), 2)
#elif defined(WEFT_EPILOGUE_WRITE)
#define WEFT_AMX_EXPECT(row, column) WEFT_PREFETCH(WEFT_EPILOGUE_WRITE(batch, row, column), 2)
#else
#define WEFT_AMX_EXPECT(row, column)
#endif

/* Stores rows of C, each from its beginning to its end. `sums` has the tiles of `rows` rows and `panels` panels from (row,
 * panel) on. */
#if WEFT_AMX_SWAP
#define WEFT_AMX_STORE_BLOCKS(sums, row, rows, panel, panels)                                                \
    for (int i = 0; i < 4 * (panels) * (((rows) + 31) / 32); ++i)                                            \
        weft_amx_transpose((uint16 *)((sums) + i * WEFT_AMX_TILE));                                          \
    for (int line = 0; line < 32 * (panels) && 32 * (panel) + line < n; ++line) {                            \
        for (int at = 0; at < (rows); at += 16) {                                                            \
            const int tile = (at / 32 * (panels) + line / 32) * 4 + at % 32 / 16 * 2 + line % 32 / 16;       \
            WEFT_AMX_EXPECT(32 * (panel) + line + WEFT_AMX_LINES_AHEAD, (row) + at);                         \
            WEFT_STORE(((const float16 *)((sums) + tile * WEFT_AMX_TILE))[line % 16], batch,                 \
                32 * (panel) + line, (row) + at, min(16, (rows)-at));                                        \
        }                                                                                                    \
    }
#else
#define WEFT_AMX_STORE_BLOCKS(sums, row, rows, panel, panels)                                                \
    for (int line = 0; line < (rows); ++line) {                                                              \
        for (int at = 0; at < 32 * (panels) && 32 * (panel) + at < n; at += 16) {                            \
            const int tile = (line / 32 * (panels) + at / 32) * 4 + line % 32 / 16 * 2 + at % 32 / 16;       \
            WEFT_AMX_EXPECT((row) + line + WEFT_AMX_LINES_AHEAD, 32 * (panel) + at);                         \
            WEFT_STORE(((const float16 *)((sums) + tile * WEFT_AMX_TILE))[line % 16], batch, (row) + line,   \
                32 * (panel) + at, min(16, n - 32 * (panel)-at));                                            \
        }                                                                                                    \
    }
#endif

/* Work-item (strip, span, batch): `strip` rows, a multiple of 32, and `span` panels. */
__kernel WEFT_ITEMS(1) void WEFT_NAME(tiles)(__global const WEFT_AMX_LEFT(WEFT_T_) * l, long l_offset,
    __global const uint *panels, long panels_offset, int m, int n, int k, int strip, int span, long l_batch,
    long l_row, long l_column WEFT_EPILOGUE_PARAMETERS) {
    const int batch = (int)get_global_id(2), blocks = (k + 31) / 32, all = (n + 31) / 32;
    const int top = (int)get_global_id(0) * strip, bottom = min(m, top + strip);
    const int left = (int)get_global_id(1) * span, right = min(all, left + span);
    float sums[WEFT_AMX_STRIP * WEFT_AMX_SPAN] __attribute__((aligned(64)));
    uint16 tiles[(WEFT_AMX_LEFT_COLUMNS_POSSIBLE ? WEFT_AMX_STRIP : 32) * WEFT_AMX_BLOCKS];
    l += l_offset + batch * l_batch;
    panels += panels_offset + (long)batch * all * blocks * (2 * WEFT_AMX_TILE);
    weft_amx_engine engine;
    weft_amx_begin(&engine);
    for (int start = 0; start < k; start += WEFT_AMX_DEPTH) {
        const int depth = min(WEFT_AMX_DEPTH, k - start);
        if (WEFT_AMX_LEFT_COLUMNS)
            WEFT_NAME(copy_columns)(tiles, l + top + start * l_column, bottom - top, depth, l_column);
        for (int row = top; row < bottom; row += 32) {
            const int rows = min(32, bottom - row);
            const long ahead =
                row + 32 < bottom ? 32 * l_row : (top - row) * l_row + WEFT_AMX_DEPTH * l_column;
            uint16 *const of_rows = tiles + (WEFT_AMX_LEFT_COLUMNS ? (row - top) * WEFT_AMX_BLOCKS : 0);
            if (!WEFT_AMX_LEFT_COLUMNS) WEFT_NAME(copy)
            (of_rows, l + row * l_row + start * l_column, rows, depth, l_row, l_column);
            float *const sum = sums + (row - top) / 32 * (right - left) * (4 * WEFT_AMX_TILE);
            __global const uint *const from =
                panels + ((long)left * blocks + start / 32) * (2 * WEFT_AMX_TILE);
            const long step = (long)blocks * (2 * WEFT_AMX_TILE);
            const weft_amx_soon soon = {(size_t)(l + row * l_row + start * l_column + ahead),
                sizeof *l * l_row, WEFT_AMX_LEFT_ROWS ? (32 + right - left - 1) / (right - left) : 0,
                32 * (int)sizeof *l};
            if (rows > 16)
                weft_amx_row(&engine, sum, of_rows, from, step, right - left, (depth + 31) / 32, start == 0,
                    true, soon);
            else
                weft_amx_row(&engine, sum, of_rows, from, step, right - left, (depth + 31) / 32, start == 0,
                    false, soon);
        }
    }
    WEFT_AMX_RELEASE(&engine);
    WEFT_AMX_STORE_BLOCKS(sums, top, bottom - top, left, right - left)
}

#undef WEFT_AMX_STORE_BLOCKS
#undef WEFT_AMX_EXPECT
#undef WEFT_AMX_LEFT_COLUMNS_POSSIBLE
#undef WEFT_AMX_LEFT
#undef WEFT_AMX_RIGHT
#ifdef WEFT_AMX_ANY_LAYOUT
#undef WEFT_AMX_ANY_LAYOUT
#undef WEFT_AMX_LEFT_ROWS
#undef WEFT_AMX_LEFT_COLUMNS
#undef WEFT_AMX_RIGHT_ROWS
#undef WEFT_AMX_RIGHT_COLUMNS
#endif
