/* gemm_cpu_direct.cl: C[b] = A[b] * B[b] for devices of class cpu, where a work-item runs on a core with wide vectors, if the rows
 * of A are contiguous.
 *
 *     A (m, k) rows contiguous        B (k, n) any strides        C: stored by WEFT_STORE (the epilogue)
 *
 * pack: writes B as panels of 64 columns, panel[p * 64 + j]; the last panel has as many vectors as needed, with zeros in columns
 * past the last one.
 *
 * rows: a work-item (no barriers, no local memory) computes a strip of rows in some panels. A is read in place. Tiles of 6 rows and
 * 4 vectors of a panel are multiplied over all of k at once, so that sums stay in registers until they are finished:
 *
 *                     panel, 4 vectors
 *                   +----+----+----+----+
 *                k  | b0 | b1 | b2 | b3 |        each step of k: 4 vector loads, and for each row one
 *                   +----+----+----+----+        broadcast and 4 multiply-adds
 *            k      +----+----+----+----+
 *      +---------+  |acc  acc  acc  acc |
 *    6 |    A    |  |                   |
 *      +---------+  +----+----+----+----+
 *
 * The tail of rows is multiplied in pairs, which have 8 multiply-adds in flight. A single last row is computed twice.
 *
 * Rows that are stored in 16 bits are first converted into private memory, a tile with all of k at a time: each number is used for
 * every column, and is converted only once. The numbers of B are converted when they are packed.
 *
 * Multiplications hide the latency of memory only if cache lines are prefetched early and evenly: a core has at most some 20 of
 * them in flight, and stores wait for lines, too. Each step of k therefore prefetches lines of the next tile of A, of the next
 * results, and of what the epilogue will read.
 *
 * `together` panels, as many as stay in the L2 cache, are multiplied before the next ones. If a strip has few tiles, `together` is
 * one, and each tile prefetches a range of the next panel instead of A, which stays in the cache: otherwise the first tile of each
 * panel would wait for the panel. The macros that the plan defines before each copy (WEFT_NAME, WEFT_EPILOGUE_PARAMETERS,
 * WEFT_STORE, WEFT_EPILOGUE_WRITE, WEFT_EPILOGUE_READ) are described in src/kernels/product/gemm.h. */

#ifndef WEFT_GEMM_CPU_DIRECT
#define WEFT_GEMM_CPU_DIRECT

WEFT_REQUIRE(weft_direct_has_a_case_for_each_width, WEFT_DIRECT_VECTORS <= 4);

#define WEFT_DIRECT_ROLL __attribute__((opencl_unroll_hint(1)))

/* Floats from one row of a converted tile to the next; the numbers of one column are then in different sets of the cache. */
#define WEFT_DIRECT_PITCH (WEFT_DIRECT_DEPTH + 16)

/* A stream of prefetches, `step` bytes further at each step of k. A more complex pattern would take registers that the sums
 * need. */
typedef struct weft_direct_request {
    size_t at;
    long step;
} weft_direct_request;

/* The prefetches of multiplication `number` of `count` for a tile of rows that begins at `begin`, with `bytes` in a row and
 * `pitch` bytes from row to row: a range of the tile if the rows are contiguous, otherwise one row; nothing if pitch is 0. */
static inline weft_direct_request weft_direct_request_of(
    size_t begin, long bytes, long pitch, int number, int count, int k) {
    const bool dense = bytes == pitch, apart = pitch != 0 && number < WEFT_DIRECT_TILE;
    const long share = dense ? (WEFT_DIRECT_TILE * bytes + count - 1) / count : apart ? bytes : 0;
    const weft_direct_request request = {begin + number * (dense ? share : pitch), (share + k - 1) / k};
    return request;
}

/* The prefetches of tile `number` of `count` for the next panel, which has `bytes` bytes: a range of the panel. */
static inline weft_direct_request weft_direct_share_of(
    size_t panel, long bytes, int number, int count, int k) {
    const long share = bytes / count;
    const weft_direct_request request = {panel + number * share, (share + k - 1) / k};
    return request;
}

/* A case for each width in vectors; the compiler removes those that WEFT_DIRECT_LAST excludes. The sums stay in registers. kept:
 * the number of rows that are stored. */
#define WEFT_DIRECT_MULTIPLY(rows, kept)                                                                     \
    switch (wide) {                                                                                          \
    case 1: WEFT_DIRECT_MULTIPLY_BY(rows, kept, 1) break;                                                    \
    case 2: WEFT_DIRECT_MULTIPLY_BY(rows, kept, 2) break;                                                    \
    case 3: WEFT_DIRECT_MULTIPLY_BY(rows, kept, 3) break;                                                    \
    default: WEFT_DIRECT_MULTIPLY_BY(rows, kept, 4)                                                          \
    }
/* Only the first part of a tile prefetches. */
#define WEFT_DIRECT_PART(row, rows, vector, vectors, wide)                                                   \
    WEFT_NAME(multiply)                                                                                      \
    (sums + (row)*WEFT_DIRECT_VECTORS + (vector), tile + (row)*tile_row, tile_row, b + (vector), k, next_a,  \
        stored, read, WEFT_DIRECT_READS, (row) == 0 && (vector) == 0, rows, vectors, wide)
#define WEFT_DIRECT_PART_1(row, rows, vector, vectors) WEFT_DIRECT_PART(row, rows, vector, vectors, 1)
#define WEFT_DIRECT_PART_2(row, rows, vector, vectors) WEFT_DIRECT_PART(row, rows, vector, vectors, 2)
#define WEFT_DIRECT_PART_3(row, rows, vector, vectors) WEFT_DIRECT_PART(row, rows, vector, vectors, 3)
#define WEFT_DIRECT_PART_4(row, rows, vector, vectors) WEFT_DIRECT_PART(row, rows, vector, vectors, 4)
#define WEFT_DIRECT_MULTIPLY_BY(rows, kept, vectors)                                                         \
    {                                                                                                        \
        float16 sums[WEFT_DIRECT_TILE * WEFT_DIRECT_VECTORS];                                                \
        WEFT_EACH_PART(WEFT_DIRECT_PART_##vectors, rows, vectors)                                            \
        WEFT_UNROLL for (int r = 0; r < rows; ++r) {                                                         \
            if (r < (kept))                                                                                  \
                WEFT_UNROLL for (int v = 0; v < vectors; ++v)                                                \
                    WEFT_STORE(sums[r * WEFT_DIRECT_VECTORS + v], batches[r], lines[r], column + j + 16 * v, \
                        v < vectors - 1 ? 16 : min(16, n - j - 16 * v));                                     \
        }                                                                                                    \
    }

#endif

#ifndef WEFT_DIRECT_LAST
#define WEFT_DIRECT_LAST (vectors - (all - 1) * WEFT_DIRECT_VECTORS)
#define WEFT_DIRECT_ANY_WIDTH
#endif
#ifndef WEFT_EPILOGUE_WRITE
#define WEFT_EPILOGUE_WRITE(batch, row, column) panels
#define WEFT_EPILOGUE_WRITE_STEP                0
#define WEFT_EPILOGUE_WRITE_SIZE                0
#define WEFT_DIRECT_NOT_STORED
#endif
#ifdef WEFT_EPILOGUE_READ
#define WEFT_DIRECT_READS true
#else
#define WEFT_DIRECT_READS                      false
#define WEFT_EPILOGUE_READ(batch, row, column) panels
#define WEFT_EPILOGUE_READ_STEP                0
#define WEFT_EPILOGUE_READ_SIZE                0
#define WEFT_DIRECT_NO_EPILOGUE_READ
#endif
#ifndef WEFT_NAME
#define WEFT_NAME(suffix) gemm_direct_##suffix
#include "alone.clh"
#endif

#if WEFT_OF_A(WEFT_PLAIN_)
#define WEFT_DIRECT_ROWS __global const float
#else
#define WEFT_DIRECT_ROWS const float

/* to[r][0..k) = `rows` rows of A. The function reads at most `elements` elements from `a` on, and writes whole vectors, so that
 * numbers past k may be written. */
static inline void WEFT_NAME(convert)(
    float *to, WEFT_OPERANDS_A *a, int rows, int k, long a_row, long elements) {
    for (int r = 0; r < rows; ++r, to += WEFT_DIRECT_PITCH, a += a_row, elements -= a_row) {
        const int whole = (int)min((k + 15) / 16L, elements / 16) * 16;
        __attribute__((opencl_unroll_hint(4))) for (int p = 0; p < whole; p += 16) {
            *(weft_lanes_f32 *)(to + p) = WEFT_OF_A(WEFT_READ_)(a + p);
        }
        if (whole < k) *(weft_lanes_f32 *)(to + whole) = WEFT_OF_A(weft_load_tail_)(a, whole, k - whole);
    }
}
#endif

/* sums[r][v] = `rows` rows times vectors of a panel, which is `wide` vectors wide. rows, vectors, wide and reads (does the
 * epilogue read memory?) are constants at each call. */
__attribute__((always_inline)) static inline void WEFT_NAME(multiply)(float16 *sums, WEFT_DIRECT_ROWS *tile,
    long tile_row, __global const weft_lanes_f32 *panel, int k, weft_direct_request next_a,
    weft_direct_request stored, weft_direct_request read, const bool reads, const bool requests,
    const int rows, const int vectors, const int wide) {
    float16 acc[WEFT_DIRECT_TILE][WEFT_DIRECT_VECTORS];
    WEFT_UNROLL for (int r = 0; r < rows; ++r) {
        WEFT_UNROLL for (int v = 0; v < vectors; ++v) acc[r][v] = 0.0f;
    }
    /* The pointers are incremented: with an index there would be more addresses and steps than registers if the epilogue reads
     * memory. With fewer addresses LLVM loads rows so early that the sums do not stay in registers. */
    __global const weft_lanes_f32 *const end = panel + (long)wide * k;
    WEFT_DIRECT_ROLL for (;;) {
        if (requests) {
            WEFT_PREFETCH(next_a.at, 3);
            WEFT_PREFETCH(stored.at, 3);
            if (reads) WEFT_PREFETCH(read.at, 3);
        }
        next_a.at += next_a.step;
        stored.at += stored.step;
        if (reads) read.at += read.step;
        float16 b[WEFT_DIRECT_VECTORS];
        WEFT_UNROLL for (int v = 0; v < vectors; ++v) b[v] = panel[v];
        WEFT_UNROLL for (int r = 0; r < rows; ++r) {
            const float16 x = tile[r * tile_row];
            WEFT_UNROLL for (int v = 0; v < vectors; ++v) acc[r][v] = WEFT_MULTIPLY_ADD(x, b[v], acc[r][v]);
        }
        ++tile;
        panel += wide;
        if (panel == end) break; /* k is never 0; a check at the end keeps the sums in registers */
    }
    WEFT_UNROLL for (int r = 0; r < rows; ++r) {
        WEFT_UNROLL for (int v = 0; v < vectors; ++v) sums[r * WEFT_DIRECT_VECTORS + v] = acc[r][v];
    }
}

/* Work-item (panel, STEPS steps of k, batch). */
__kernel WEFT_ITEMS(1) void WEFT_NAME(pack)(WEFT_OPERANDS_B *b, long b_offset, __global float *panels,
    long panels_offset, int n, int k, long b_batch, long b_row, long b_column) {
    const int panel = (int)get_global_id(0), first = (int)get_global_id(1) * WEFT_DIRECT_STEPS;
    const long batch = (long)get_global_id(2);
    const int vectors = (n + 15) / 16, left = panel * (16 * WEFT_DIRECT_VECTORS);
    const int wide = min(WEFT_DIRECT_VECTORS, vectors - panel * WEFT_DIRECT_VECTORS) * 16;
    const int steps = min(WEFT_DIRECT_STEPS, k - first);
    b += b_offset + batch * b_batch + left * b_column + first * b_row;
    panels += panels_offset + (batch * vectors * 16 + left) * k + (long)first * wide;
    for (int j = 0; j < wide; j += 16) {
        const int lanes = min(16, n - left - j);
        int p = 0;
        if (b_row == 1 && lanes == 16) { /* sixteen columns, each contiguous along k */
            for (; p + 16 <= steps; p += 16) {
                float16 v[16], t[16];
                for (int i = 0; i < 16; ++i) v[i] = WEFT_OF_B(WEFT_READ_)(b + p + (j + i) * b_column);
                WEFT_TRANSPOSE(v, t)
                for (int i = 0; i < 16; ++i) WEFT_LANES_WRITE(f32, panels + (p + i) * wide + j) = v[i];
            }
        } else if (b_column == 1 && lanes == 16) {
            for (; p < steps; ++p)
                WEFT_LANES_WRITE(f32, panels + p * wide + j) = WEFT_OF_B(WEFT_READ_)(b + p * b_row + j);
        }
        for (; p < steps; ++p) {
            for (int i = 0; i < 16; ++i)
                panels[p * wide + j + i] =
                    i < lanes ? WEFT_OF_B(WEFT_GET_)(b, p * b_row + (j + i) * b_column) : 0.0f;
        }
    }
}

/* Work-item (strip, span, batch). For the epilogue, row i is row i % width of batch get_global_id(2) * batch_step + i / width,
 * and columns begin at get_global_id(2) * column_step. */
__kernel WEFT_ITEMS(1) void WEFT_NAME(rows)(WEFT_OPERANDS_A *a, long a_offset, __global const float *panels,
    long panels_offset, int m, int n, int k, int strip, int span, int together, int width, int batch_step,
    int column_step, long a_batch, long a_row WEFT_EPILOGUE_PARAMETERS) {
    const int item = (int)get_global_id(2), vectors = (n + 15) / 16,
              all = (vectors + WEFT_DIRECT_VECTORS - 1) / WEFT_DIRECT_VECTORS;
    const int top = (int)get_global_id(0) * strip, bottom = min(m, top + strip);
    const int left = (int)get_global_id(1) * span, right = min(all, left + span);
    const int column = item * column_step, tiles = (bottom - top + WEFT_DIRECT_TILE - 1) / WEFT_DIRECT_TILE;
    a += a_offset + item * a_batch;
    panels += panels_offset + (long)item * vectors * 16 * k;
#if !WEFT_OF_A(WEFT_PLAIN_)
    float16 room[WEFT_DIRECT_TILE * WEFT_DIRECT_PITCH / 16];
#endif
    for (int from = left; from < right; from += together) {
        const int to = min(right, from + together);
        int rows = WEFT_DIRECT_TILE;
        int batch = item * batch_step + top / width, line = top % width;
        for (int row = top; row < bottom; row += rows) {
            rows = bottom - row >= WEFT_DIRECT_TILE ? WEFT_DIRECT_TILE : min(bottom - row, 2);
            WEFT_OPERANDS_A *next = a + (row + rows) * a_row;
#if WEFT_OF_A(WEFT_PLAIN_)
            WEFT_DIRECT_ROWS *tile = a + row * a_row;
            const long tile_row = rows > 1 ? a_row : 0;
#else
            float *tile = (float *)room;
            const long tile_row = rows > 1 ? WEFT_DIRECT_PITCH : 0;
            WEFT_NAME(convert)(tile, a + row * a_row, rows, k, a_row, k + max((m - 1 - row) * a_row, 0L));
#endif
            int batches[WEFT_DIRECT_TILE + 1], lines[WEFT_DIRECT_TILE + 1];
            for (int r = 0; r <= rows; ++r) {
                batches[r] = batch;
                lines[r] = line;
                if (r < rows && ++line == width) {
                    line = 0;
                    ++batch;
                }
            }
            for (int panel = from; panel < to; ++panel) {
                const int j = panel * (16 * WEFT_DIRECT_VECTORS);
                const int number = panel - from, count = to - from;
                const int ahead = column + from * (16 * WEFT_DIRECT_VECTORS);
                const long columns =
                    min(count * (16 * WEFT_DIRECT_VECTORS), n - from * (16 * WEFT_DIRECT_VECTORS));
                const bool streams = together == 1 && panel + 1 < right;
                const weft_direct_request
                    next_a = streams ? weft_direct_share_of(
                                           (size_t)(panels + (long)(j + 16 * WEFT_DIRECT_VECTORS) * k),
                                           64 * WEFT_DIRECT_VECTORS * (long)k, (row - top) / WEFT_DIRECT_TILE,
                                           tiles, k)
                                     : weft_direct_request_of((size_t)next, sizeof(*a) * k,
                                           sizeof(*a) * a_row, number, count, k),
                    stored =
                        weft_direct_request_of((size_t)WEFT_EPILOGUE_WRITE(batches[rows], lines[rows], ahead),
                            WEFT_EPILOGUE_WRITE_SIZE * columns, WEFT_EPILOGUE_WRITE_STEP, number, count, k),
                    read =
                        weft_direct_request_of((size_t)WEFT_EPILOGUE_READ(batches[rows], lines[rows], ahead),
                            WEFT_EPILOGUE_READ_SIZE * columns, WEFT_EPILOGUE_READ_STEP, number, count, k);
                __global const weft_lanes_f32 *b = (__global const weft_lanes_f32 *)(panels + (long)j * k);
                const int wide = panel + 1 < all ? WEFT_DIRECT_VECTORS : WEFT_DIRECT_LAST;
                if (rows == WEFT_DIRECT_TILE)
                    WEFT_DIRECT_MULTIPLY(WEFT_DIRECT_TILE, WEFT_DIRECT_TILE)
                else
                    WEFT_DIRECT_MULTIPLY(2, rows)
            }
        }
    }
}

#ifdef WEFT_DIRECT_ANY_WIDTH
#undef WEFT_DIRECT_ANY_WIDTH
#undef WEFT_DIRECT_LAST
#endif
#ifdef WEFT_DIRECT_NOT_STORED
#undef WEFT_DIRECT_NOT_STORED
#undef WEFT_EPILOGUE_WRITE
#undef WEFT_EPILOGUE_WRITE_STEP
#undef WEFT_EPILOGUE_WRITE_SIZE
#endif
#undef WEFT_DIRECT_READS
#undef WEFT_DIRECT_ROWS
#ifdef WEFT_DIRECT_NO_EPILOGUE_READ
#undef WEFT_DIRECT_NO_EPILOGUE_READ
#undef WEFT_EPILOGUE_READ
#undef WEFT_EPILOGUE_READ_STEP
#undef WEFT_EPILOGUE_READ_SIZE
#endif
