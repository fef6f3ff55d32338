/* gemm_cpu_direct.cl: C[b] = A[b] * B[b] for devices of class cpu, where a work-item runs on a core with wide vectors, if the rows
 * or the columns of A are contiguous.
 *
 *     A (m, k)        B (k, n) any strides        C: stored by WEFT_STORE (the epilogue)
 *
 * pack: writes B as panels of 64 columns, panel[p * width + j]. The width of the last panel is as many vectors as needed, with zeros
 * in columns past the last one.
 *
 * rows: a work-item (no barriers, no local memory) computes a strip of rows in some panels. Tiles of 6 rows and 4 vectors of a panel
 * are multiplied over all of k, or over one part of it, while their sums stay in registers:
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
 * Often two threads share a core. Then it issues few instructions in each cycle, and the loop must have few of them besides the
 * multiply-adds: WEFT_DIRECT_UNROLLED steps of k share their prefetches and the steps of the pointers.
 *
 * The tail of rows is multiplied in pairs, which have 8 multiply-adds in flight. A single last row is multiplied together with a
 * second one, whose sums are dropped. Sums are stored by loops that are not unrolled: the epilogue may be long, and is
 * compiled once.
 *
 * Contiguous rows of A in f32 are read in place. Others are first copied into private memory, WEFT_DIRECT_GROUP tiles at a time. If
 * the columns of A are contiguous (WEFT_DIRECT_TURNED), element p of row r becomes tile[p * 6 + r]; each step of k copies 48
 * contiguous numbers. Rows in 16 bits are converted, to tile[r * PITCH + p]. The numbers of B are converted when they are
 * packed.
 *
 * If k has more than `depth` steps (WEFT_DIRECT_DEEP), panels are cut along k so that a part stays in the L2 cache, and the sums of a
 * block of tiles and panels wait in private memory for the next part. Each element is one sum in the order of k in any case.
 *
 * Multiplications hide the latency of memory only if cache lines are prefetched early and evenly: a core has at most some 20 of
 * them in flight, and stores wait for lines, too. The steps of k therefore prefetch lines of the next tile of A or of the panels that
 * are multiplied next, of the next results, and of what the epilogue will read: all of them if rows follow each other in memory,
 * otherwise one row for each panel. The macros that the plan defines before each copy
 * (WEFT_NAME, WEFT_EPILOGUE_PARAMETERS, WEFT_STORE, WEFT_EPILOGUE_WRITE, WEFT_EPILOGUE_READ) are described in
 * src/kernels/product/gemm.h. */

#ifndef WEFT_GEMM_CPU_DIRECT
#define WEFT_GEMM_CPU_DIRECT

WEFT_REQUIRE(weft_direct_has_a_case_for_each_width, WEFT_DIRECT_VECTORS <= 4);

#define WEFT_DIRECT_ROLL     __attribute__((opencl_unroll_hint(1)))
#define WEFT_DIRECT_UNROLLED 4

/* The columns of a panel, and the vectors of sums in a tile. */
#define WEFT_DIRECT_WIDTH (16 * WEFT_DIRECT_VECTORS)
#define WEFT_DIRECT_SUMS  (WEFT_DIRECT_TILE * WEFT_DIRECT_VECTORS)

/* Floats from one row of a copied tile to the next, and from one tile to the next. They are not powers of two, so that the rows use
 * different sets of the cache. */
#define WEFT_DIRECT_PITCH      (WEFT_DIRECT_DEPTH + 16)
#define WEFT_DIRECT_TILE_PITCH (WEFT_DIRECT_PITCH * WEFT_DIRECT_TILE)

/* A stream of prefetches, `step` bytes further each time. A more complex pattern would take registers that the sums need. */
typedef struct weft_direct_request {
    size_t at;
    long step;
} weft_direct_request;

/* Prefetches of `bytes` bytes in `steps` steps of k. */
static inline weft_direct_request weft_direct_spread(size_t begin, long bytes, int steps) {
    const weft_direct_request request = {begin, (bytes * WEFT_DIRECT_UNROLLED + steps - 1) / steps};
    return request;
}

/* The prefetches of multiplication `number` of `count` for the rows of a tile that begins at `begin`, with `bytes` bytes in a row and
 * `pitch` bytes from row to row: a range of the tile if the rows are contiguous, otherwise one row, and always the same line if there is
 * no such row or pitch is 0. */
static inline weft_direct_request weft_direct_request_of(
    size_t begin, long bytes, long pitch, int number, int count, int steps) {
    const bool dense = bytes == pitch, apart = pitch != 0 && number < WEFT_DIRECT_TILE;
    const long share = dense ? (WEFT_DIRECT_TILE * bytes + count - 1) / count : apart ? bytes : 0;
    return weft_direct_spread(begin + number * (dense ? share : pitch), share, steps);
}

/* Where the multiplications after those by the panels up to `past` begin among the panels. A group has the panels from .. to - 1, and the
 * part of k begins at `first`. Next are the other panels of the group, then the next part of k, the group again for `more` tiles, or
 * the next group. all: the number of panels. */
static inline long weft_direct_after(
    int from, int past, int to, int all, int first, int steps, int k, bool more) {
    const bool parts = first + steps < k;
    const int panel = past < to ? past : parts || more ? from : min(to, all - 1);
    const int step = past < to ? first : parts ? first + steps : 0;
    return ((long)panel * k + step) * WEFT_DIRECT_WIDTH;
}

/* Finds image and row of `rows` rows of the product and of the next one; row 0 is row `line` of image `batch`. */
static inline void weft_direct_rows_of(int *batches, int *lines, int rows, int batch, int line, int width) {
    for (int r = 0; r <= rows; ++r) {
        batches[r] = batch;
        lines[r] = line;
        if (++line == width) {
            line = 0;
            ++batch;
        }
    }
}

/* Only the first block of registers of a tile prefetches. */
#define WEFT_DIRECT_PART(row, rows, vector, vectors, wide)                                                   \
    WEFT_NAME(multiply_part)                                                                                 \
    (sums + (row)*WEFT_DIRECT_VECTORS + (vector), more, tile + (row)*tile_row, tile_row, b + (vector), k,    \
        next, stored, read, (row) == 0 && (vector) == 0, rows, vectors, wide)
#define WEFT_DIRECT_PART_1(row, rows, vector, vectors) WEFT_DIRECT_PART(row, rows, vector, vectors, 1)
#define WEFT_DIRECT_PART_2(row, rows, vector, vectors) WEFT_DIRECT_PART(row, rows, vector, vectors, 2)
#define WEFT_DIRECT_PART_3(row, rows, vector, vectors) WEFT_DIRECT_PART(row, rows, vector, vectors, 3)
#define WEFT_DIRECT_PART_4(row, rows, vector, vectors) WEFT_DIRECT_PART(row, rows, vector, vectors, 4)

#endif

#ifndef WEFT_DIRECT_LAST
#define WEFT_DIRECT_LAST (vectors - (all - 1) * WEFT_DIRECT_VECTORS)
#endif
#ifndef WEFT_EPILOGUE_WRITE
#define WEFT_EPILOGUE_WRITE(batch, row, column) panels
#define WEFT_EPILOGUE_WRITE_STEP                0
#define WEFT_EPILOGUE_WRITE_SIZE                0
#endif
#ifdef WEFT_EPILOGUE_READ
#define WEFT_DIRECT_READS true
#else
#define WEFT_DIRECT_READS                      false
#define WEFT_EPILOGUE_READ(batch, row, column) panels
#define WEFT_EPILOGUE_READ_STEP                0
#define WEFT_EPILOGUE_READ_SIZE                0
#endif
#ifndef WEFT_NAME
#define WEFT_NAME(suffix) gemm_direct_##suffix
#include "alone.clh"
#endif
#ifndef WEFT_DIRECT_TURNED
#define WEFT_DIRECT_TURNED 0
#endif
#ifndef WEFT_DIRECT_DEEP
#define WEFT_DIRECT_DEEP 0
#endif
#if WEFT_DIRECT_DEEP
#define WEFT_DIRECT_SUMS_OF_TILE                                                                             \
    float16 *const sums =                                                                                    \
        waiting + (((panel - from) * block * WEFT_DIRECT_TILE + row - begin) * WEFT_DIRECT_VECTORS);
#else
#define WEFT_DIRECT_SUMS_OF_TILE float16 sums[WEFT_DIRECT_SUMS];
#endif

#if !WEFT_DIRECT_TURNED && WEFT_OF_A(WEFT_PLAIN_)
#define WEFT_DIRECT_COPIES   0
#define WEFT_DIRECT_ROWS     __global const float
#define WEFT_DIRECT_NEXT_ROW a_row
#else
#define WEFT_DIRECT_COPIES   1
#define WEFT_DIRECT_ROWS     const float
#define WEFT_DIRECT_NEXT_ROW (WEFT_DIRECT_TURNED ? 1 : WEFT_DIRECT_PITCH)
#if WEFT_DIRECT_TURNED

/* Copies columns of A to `tiles` tiles. `beside` elements exist in a row of memory from the first one on. A vector store reaches
 * into the memory of the next two steps, which are written later. */
__attribute__((always_inline)) static inline void WEFT_NAME(copy_columns)(
    float *to, WEFT_OPERANDS_A *a, const int tiles, int beside, int steps, long a_column) {
    for (int p = 0; p < steps - 1; ++p, to += WEFT_DIRECT_TILE, a += a_column) {
        WEFT_UNROLL for (int t = 0; t < tiles; ++t) {
            weft_lanes_f32 *const tile = (weft_lanes_f32 *)(to + t * WEFT_DIRECT_TILE_PITCH);
            *tile = WEFT_OF_A(WEFT_READ_)(a + t * WEFT_DIRECT_TILE);
        }
    }
    WEFT_UNROLL for (int t = 0; t < tiles; ++t) {
        weft_lanes_f32 *const tile = (weft_lanes_f32 *)(to + t * WEFT_DIRECT_TILE_PITCH);
        const int rows = min(16, beside - t * WEFT_DIRECT_TILE);
        *tile = WEFT_OF_A(weft_load_tail_)(a, t * WEFT_DIRECT_TILE, rows);
    }
}
#endif

/* Copies `steps` steps of `rows` rows of A into tiles. `below` rows of A exist from the first one on; the rows in 16 bits have
 * `beyond` elements from the first step on. Whole vectors are written, up to 15 numbers past the last step. */
static inline void WEFT_NAME(copy)(
    float *to, WEFT_OPERANDS_A *a, int rows, int below, int steps, int beyond, long a_row, long a_column) {
#if WEFT_DIRECT_TURNED
    if (rows > (WEFT_DIRECT_GROUP - 1) * WEFT_DIRECT_TILE) {
        WEFT_NAME(copy_columns)(to, a, WEFT_DIRECT_GROUP, below, steps, a_column);
    } else {
        for (int r = 0; r < rows; r += WEFT_DIRECT_TILE)
            WEFT_NAME(copy_columns)(to + r * WEFT_DIRECT_PITCH, a + r, 1, below - r, steps, a_column);
    }
#else
    for (int r = 0; r < rows; ++r, to += WEFT_DIRECT_PITCH, a += a_row) {
        const long elements = beyond + max((below - 1 - r) * a_row, 0L);
        const int whole = (int)min((steps + 15) / 16L, elements / 16) * 16;
        __attribute__((opencl_unroll_hint(4))) for (int p = 0; p < whole; p += 16) {
            *(weft_lanes_f32 *)(to + p) = WEFT_OF_A(WEFT_READ_)(a + p);
        }
        if (whole < steps)
            *(weft_lanes_f32 *)(to + whole) = WEFT_OF_A(weft_load_tail_)(a, whole, steps - whole);
    }
#endif
}

/* Row r of the copied tiles. */
static inline const float *WEFT_NAME(copied)(const float *room, int r) {
    return room + r / WEFT_DIRECT_TILE * WEFT_DIRECT_TILE_PITCH + r % WEFT_DIRECT_TILE * WEFT_DIRECT_NEXT_ROW;
}
#endif

/* Adds to acc the products of `steps` steps of k. */
#define WEFT_DIRECT_STEPS_OF(steps)                                                                          \
    WEFT_UNROLL for (int p = 0; p < steps; ++p) {                                                            \
        float16 b[WEFT_DIRECT_VECTORS];                                                                      \
        WEFT_UNROLL for (int v = 0; v < vectors; ++v) b[v] = panel[p * wide + v];                            \
        WEFT_UNROLL for (int r = 0; r < rows; ++r) {                                                         \
            const float16 x = tile[r * row + p * step];                                                      \
            WEFT_UNROLL for (int v = 0; v < vectors; ++v) acc[r][v] = WEFT_MULTIPLY_ADD(x, b[v], acc[r][v]); \
        }                                                                                                    \
    }                                                                                                        \
    tile += steps * step;                                                                                    \
    panel += steps * wide

/* sums[r][v] = or, if `more`, += `rows` rows times vectors of a panel, which is `wide` vectors wide. rows, vectors and wide are
 * constants at each call. */
__attribute__((always_inline)) static inline void WEFT_NAME(multiply_part)(float16 *sums, bool more,
    WEFT_DIRECT_ROWS *tile, long tile_row, __global const weft_lanes_f32 *panel, int k,
    weft_direct_request next, weft_direct_request stored, weft_direct_request read, const bool requests,
    const int rows, const int vectors, const int wide) {
    /* Constant strides become parts of the addresses of loads. */
    const long row = WEFT_DIRECT_TURNED ? 1 : tile_row, step = WEFT_DIRECT_TURNED ? WEFT_DIRECT_TILE : 1;
    float16 acc[WEFT_DIRECT_TILE][WEFT_DIRECT_VECTORS];
    WEFT_UNROLL for (int r = 0; r < rows; ++r) {
        WEFT_UNROLL for (int v = 0; v < vectors; ++v) acc[r][v] =
            WEFT_DIRECT_DEEP && more ? sums[r * WEFT_DIRECT_VECTORS + v] : 0.0f;
    }
    int rest = k;
    WEFT_DIRECT_ROLL for (; rest >= WEFT_DIRECT_UNROLLED; rest -= WEFT_DIRECT_UNROLLED) {
        if (requests) {
            WEFT_PREFETCH(next.at, 3);
            WEFT_PREFETCH(next.at + 64, 3);
            WEFT_PREFETCH(stored.at, 3);
            WEFT_PREFETCH(stored.at + 64, 3);
            if (WEFT_DIRECT_READS) WEFT_PREFETCH(read.at, 3);
        }
        next.at += next.step;
        stored.at += stored.step;
        if (WEFT_DIRECT_READS) read.at += read.step;
        WEFT_DIRECT_STEPS_OF(WEFT_DIRECT_UNROLLED);
    }
    WEFT_DIRECT_ROLL for (; rest > 0; --rest) {
        WEFT_DIRECT_STEPS_OF(1);
    }
    WEFT_UNROLL for (int r = 0; r < rows; ++r) {
        WEFT_UNROLL for (int v = 0; v < vectors; ++v) sums[r * WEFT_DIRECT_VECTORS + v] = acc[r][v];
    }
}

/* A case for each width of a panel in vectors; the compiler removes those that WEFT_DIRECT_LAST excludes. rows is a constant. */
__attribute__((always_inline)) static inline void WEFT_NAME(multiply_rows)(float16 *sums, bool more,
    WEFT_DIRECT_ROWS *tile, long tile_row, __global const weft_lanes_f32 *b, int k, weft_direct_request next,
    weft_direct_request stored, weft_direct_request read, const int rows, int wide) {
    switch (wide) {
    case 1: WEFT_EACH_PART(WEFT_DIRECT_PART_1, rows, 1) break;
    case 2: WEFT_EACH_PART(WEFT_DIRECT_PART_2, rows, 2) break;
    case 3: WEFT_EACH_PART(WEFT_DIRECT_PART_3, rows, 3) break;
    default: WEFT_EACH_PART(WEFT_DIRECT_PART_4, rows, 4)
    }
}

/* A tile of all rows, or of one or two. */
__attribute__((always_inline)) static inline void WEFT_NAME(multiply)(float16 *sums, bool more,
    WEFT_DIRECT_ROWS *tile, long tile_row, __global const weft_lanes_f32 *b, int k, weft_direct_request next,
    weft_direct_request stored, weft_direct_request read, int rows, int wide) {
    if (rows == WEFT_DIRECT_TILE) WEFT_NAME(multiply_rows)
    (sums, more, tile, tile_row, b, k, next, stored, read, WEFT_DIRECT_TILE, wide);
    else WEFT_NAME(multiply_rows)(sums, more, tile, tile_row, b, k, next, stored, read, 2, wide);
}

/* Work-item (panel, STEPS steps of k, batch). */
__kernel WEFT_ITEMS(1) void WEFT_NAME(pack)(WEFT_OPERANDS_B *b, long b_offset, __global float *panels,
    long panels_offset, int n, int k, long b_batch, long b_row, long b_column) {
    const int panel = (int)get_global_id(0), first = (int)get_global_id(1) * WEFT_DIRECT_STEPS;
    const long batch = (long)get_global_id(2);
    const int vectors = (n + 15) / 16, left = panel * WEFT_DIRECT_WIDTH;
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
 * and columns begin at get_global_id(2) * column_step. Sums of at most `block` tiles by `together` panels wait at once. */
__kernel WEFT_ITEMS(1) void WEFT_NAME(rows)(WEFT_OPERANDS_A *a, long a_offset, __global const float *panels,
    long panels_offset, int m, int n, int k, int strip, int span, int block, int together, int abreast,
    int depth, int width, int batch_step, int column_step, long a_batch, long a_row,
    long a_column WEFT_EPILOGUE_PARAMETERS) {
    const int item = (int)get_global_id(2), vectors = (n + 15) / 16,
              all = (vectors + WEFT_DIRECT_VECTORS - 1) / WEFT_DIRECT_VECTORS;
    const int top = (int)get_global_id(0) * strip, bottom = min(m, top + strip);
    const int left = (int)get_global_id(1) * span, right = min(all, left + span);
    const int column = item * column_step;
    a += a_offset + item * a_batch;
    panels += panels_offset + (long)item * vectors * 16 * k;
#if WEFT_DIRECT_COPIES
    float16 room[WEFT_DIRECT_GROUP * WEFT_DIRECT_TILE_PITCH / 16];
#endif
#if WEFT_DIRECT_DEEP
    float16 waiting[WEFT_DIRECT_WAITING * WEFT_DIRECT_SUMS];
#endif
    for (int from = left; from < right; from += together) {
        const int to = min(right, from + together);
        for (int begin = top; begin < bottom; begin += block * WEFT_DIRECT_TILE) {
            const int end = min(bottom, begin + block * WEFT_DIRECT_TILE);
            const int tiles = (end - begin + WEFT_DIRECT_TILE - 1) / WEFT_DIRECT_TILE;
            for (int first = 0; first < k; first += depth) {
                const int steps = min(depth, k - first);
                WEFT_OPERANDS_A *const part = a + begin * a_row + first * a_column;
#if WEFT_DIRECT_COPIES
                WEFT_NAME(copy)
                ((float *)room, part, end - begin, m - begin, steps, k - first, a_row, a_column);
#endif
                for (int near = from; near < to; near += abreast) {
                    const int past = min(to, near + abreast), count = past - near,
                              near_column = near * WEFT_DIRECT_WIDTH,
                              columns = min(count * WEFT_DIRECT_WIDTH, n - near_column);
                    size_t after = (size_t)(panels + weft_direct_after(
                                                         from, past, to, all, first, steps, k, end < bottom));
                    const long share = sizeof(float) * columns * (long)steps / (tiles * count);
                    int batch = item * batch_step + begin / width, line = begin % width;
                    for (int row = begin, rows; row < end; row += rows) {
                        rows = end - row >= WEFT_DIRECT_TILE ? WEFT_DIRECT_TILE : min(end - row, 2);
#if WEFT_DIRECT_COPIES
                        WEFT_DIRECT_ROWS *tile = WEFT_NAME(copied)((const float *)room, row - begin);
#else
                        WEFT_DIRECT_ROWS *tile = part + (row - begin) * a_row;
#endif
                        const long tile_row = rows > 1 ? WEFT_DIRECT_NEXT_ROW : 0;
                        int batches[WEFT_DIRECT_TILE + 1], lines[WEFT_DIRECT_TILE + 1];
                        weft_direct_rows_of(batches, lines, rows, batch, line, width);
                        batch = batches[rows], line = lines[rows];
                        for (int panel = near; panel < past; ++panel, after += share) {
                            const int j = panel * WEFT_DIRECT_WIDTH, number = panel - near;
                            const weft_direct_request
                                next = near == left && !WEFT_DIRECT_COPIES
                                           ? weft_direct_request_of((size_t)(tile + rows * tile_row),
                                                 sizeof(*a) * steps, sizeof(*a) * a_row, number, count, steps)
                                           : weft_direct_spread(after, share, steps),
                                stored = weft_direct_request_of(
                                    (size_t)WEFT_EPILOGUE_WRITE(batch, line, column + near_column),
                                    WEFT_EPILOGUE_WRITE_SIZE * columns, WEFT_EPILOGUE_WRITE_STEP, number,
                                    count, steps),
                                read = weft_direct_request_of(
                                    (size_t)WEFT_EPILOGUE_READ(batch, line, column + near_column),
                                    WEFT_EPILOGUE_READ_SIZE * columns, WEFT_EPILOGUE_READ_STEP, number, count,
                                    steps);
                            const int wide = panel + 1 < all ? WEFT_DIRECT_VECTORS : WEFT_DIRECT_LAST;
                            __global const weft_lanes_f32 *b =
                                (__global const weft_lanes_f32 *)(panels + (long)j * k) + (long)first * wide;
                            WEFT_DIRECT_SUMS_OF_TILE
                            WEFT_NAME(multiply)
                            (sums, first > 0, tile, tile_row, b, steps, next, stored, read, rows, wide);
                            WEFT_DIRECT_ROLL for (int r = 0; r < rows && first + steps == k; ++r)
                                WEFT_DIRECT_ROLL for (int v = 0; v < wide; ++v)
                                    WEFT_STORE(sums[r * WEFT_DIRECT_VECTORS + v], batches[r], lines[r],
                                        column + j + 16 * v, min(16, n - j - 16 * v));
                        }
                    }
                }
            }
        }
    }
}

#undef WEFT_DIRECT_LAST
#undef WEFT_EPILOGUE_WRITE
#undef WEFT_EPILOGUE_WRITE_STEP
#undef WEFT_EPILOGUE_WRITE_SIZE
#undef WEFT_EPILOGUE_READ
#undef WEFT_EPILOGUE_READ_STEP
#undef WEFT_EPILOGUE_READ_SIZE
#undef WEFT_DIRECT_READS
#undef WEFT_DIRECT_ROWS
#undef WEFT_DIRECT_NEXT_ROW
#undef WEFT_DIRECT_COPIES
#undef WEFT_DIRECT_STEPS_OF
#undef WEFT_DIRECT_SUMS_OF_TILE
#undef WEFT_DIRECT_TURNED
#undef WEFT_DIRECT_DEEP
