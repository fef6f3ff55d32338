/* gemm_cpu.cl: C[b] = A[b] * B[b] for devices of class cpu, where a work-item runs on a core with wide vectors.
 *
 *     A (m, k) any strides        B (k, n) any strides        C: stored by WEFT_STORE (the epilogue)
 *
 * Division of work: a work-item (work-group of size 1, no barriers, no local memory) computes a strip of `strip` rows and `span`
 * columns of C. It walks along k in blocks of at most `most_depth` steps. Of each block it packs its columns of B into private
 * memory, as panels of 32 columns. Then it walks down the strip: it copies one tile of A, with a pitch that avoids conflicts
 * between rows in the cache, and multiplies the tile by every panel:
 *
 *                        panel 0    panel 1
 *                       +----------+----------+--
 *                       | b0   b1  |          |     depth rows, packed once per strip; stays in the
 *                       |          |          |     L2 cache
 *            depth      +----------+----------+--
 *          +--------+   +----------+----------+--
 *     rows | A tile |   |acc   acc |          |     each step of k: 2 vector loads, and for each row one
 *          +--------+   +----------+----------+--   broadcast of A and 2 multiply-adds, all in registers
 *          | next tile  | next: the sums stay in private memory between blocks of k
 *
 * If the rows of B are contiguous, the first tile copies them while it multiplies, which hides the cost of the copies. If the
 * columns are contiguous, they are transposed before, in blocks of 16 x 16. The other tiles prefetch lines of B's next block.
 * Prefetchers of processors read far beyond the last element of a row that is used, so `span` is long if few rows of A leave little
 * to multiply.
 *
 * WEFT_GEMM_TURNED: the kernel computes the transpose of C, with A and B exchanged; m, n and the strides are those of the
 * transpose. The host chooses this if B would have to be transposed for few rows of A. All sums of a strip then stay in private
 * memory and are transposed at the end.
 *
 * One launch computes any shape with any strides, which are arguments. The plan may know which rows or columns of A and B are
 * contiguous; then it defines A_ROWS, B_ROWS and B_COLUMNS as 0 or 1. Otherwise the kernel looks at the strides. Parameters
 * (src/kernels/product/gemm_cpu.c): a tile has ROWS x COLUMNS elements and is two vectors wide; there is memory for PANELS panels
 * of DEPTH steps (or more panels of fewer steps), for the sums of STRIP rows of them, and for a tile of A with DEEPER times DEPTH
 * steps; prefetches run PREFETCH steps of k before the multiplication. The macros that the plan defines before each copy
 * (WEFT_NAME, WEFT_EPILOGUE_PARAMETERS, WEFT_STORE) are described in src/kernels/product/gemm.h. */

#ifndef WEFT_GEMM_CPU
#define WEFT_GEMM_CPU

WEFT_REQUIRE(weft_gemm_has_two_vectors, WEFT_GEMM_COLUMNS == 2 * 16);

/* Floats from one row of a copied tile of A to the next: modulo the size of a cache way, successive rows are one cache line
 * apart. A tile that is stored k-major has room, too. */
#define WEFT_GEMM_PITCH (WEFT_GEMM_DEEPER * WEFT_GEMM_DEPTH + 16)

#define WEFT_UNROLL4 __attribute__((opencl_unroll_hint(4)))

/* The first `lanes` (1 to 16) elements at p, followed by zeros. Reads nothing past them. */
static inline float16 weft_gemm_load(__global const float *p, int lanes) {
    if (lanes >= 16) return WEFT_LANES_READ(f32, p);
    float16 value = 0.0f;
    int at = 0;
    if (lanes & 8) {
        value.lo = vload8(0, p);
        at = 8;
    }
    float8 rest = 0.0f;
    if (lanes & 4) {
        rest.lo = vload4(0, p + at);
        at += 4;
    }
    float4 last = 0.0f;
    if (lanes & 2) {
        last.lo = vload2(0, p + at);
        at += 2;
    }
    if (lanes & 1) {
        if (lanes & 2)
            last.z = p[at];
        else
            last.x = p[at];
    }
    if (lanes & 4)
        rest.hi = last;
    else
        rest.lo = last;
    if (lanes & 8)
        value.hi = rest;
    else
        value.lo = rest;
    return value;
}

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) gemm_##suffix
#include "alone.clh"
#endif

/* Like weft_gemm_load, for operands of any format. */
#if WEFT_OF_A(WEFT_PLAIN_)
#define WEFT_GEMM_LOAD_A(p, lanes) weft_gemm_load(p, lanes)
#else
#define WEFT_GEMM_LOAD_A(p, lanes)                                                                           \
    ((lanes) >= 16 ? WEFT_OF_A(WEFT_READ_)(p) : WEFT_OF_A(weft_load_tail_)(p, 0, lanes))
#endif
#if WEFT_OF_B(WEFT_PLAIN_)
#define WEFT_GEMM_LOAD_B(p, lanes) weft_gemm_load(p, lanes)
#else
#define WEFT_GEMM_LOAD_B(p, lanes)                                                                           \
    ((lanes) >= 16 ? WEFT_OF_B(WEFT_READ_)(p) : WEFT_OF_B(weft_load_tail_)(p, 0, lanes))
#endif

/* Transposes columns of B that are contiguous along k into the panel, in blocks of 16 x 16. If the last block is short, it
 * begins earlier and overlaps rows that are already in the panel. */
static inline void WEFT_NAME(pack_transposed)(
    float16 *panel, WEFT_OPERANDS_B *b, int depth, int columns, long b_column) {
    for (int side = 0; side < 2; ++side) {
        const int lanes = min(16, columns - 16 * side);
        if (lanes <= 0) {
            for (int p = 0; p < depth; ++p) panel[2 * p + side] = 0.0f;
            continue;
        }
        const int available = min(16, depth);
        for (int block = 0; block < depth; block += 16) {
            const int p = max(0, min(block, depth - 16));
            float16 v[16], t[16];
            for (int i = 0; i < 16; ++i) {
                WEFT_OPERANDS_B *from = b + min(16 * side + i, columns - 1) * b_column + p;
                WEFT_PREFETCH(from + 48, 2);
                v[i] = WEFT_GEMM_LOAD_B(from, available);
            }
            WEFT_TRANSPOSE(v, t)
            for (int i = 0; i < available; ++i) panel[2 * (p + i) + side] = v[i];
        }
    }
}

/* B[0..depth)[0..columns) -> panel[p * COLUMNS + j]. Columns past the last one get any values, since their sums are never
 * stored. in_rows: b_column is 1; in_columns: b_row is 1; both are constants at each call. */
__attribute__((always_inline)) static inline void WEFT_NAME(pack_b)(float16 *panel, WEFT_OPERANDS_B *b,
    int depth, int columns, long b_row, long b_column, const bool in_rows, const bool in_columns) {
    if (in_rows) {
        for (int p = 0; p < depth; ++p) {
            panel[2 * p] = WEFT_GEMM_LOAD_B(b + p * b_row, min(columns, 16));
            panel[2 * p + 1] = columns > 16 ? WEFT_GEMM_LOAD_B(b + p * b_row + 16, columns - 16) : 0.0f;
        }
    } else if (in_columns) {
        WEFT_NAME(pack_transposed)(panel, b, depth, columns, b_column);
    } else {
        float *element = (float *)panel;
        for (int p = 0; p < depth; ++p) {
            for (int j = 0; j < WEFT_GEMM_COLUMNS; ++j)
                element[p * WEFT_GEMM_COLUMNS + j] =
                    j < columns ? WEFT_OF_B(WEFT_GET_)(b, p * b_row + j * b_column) : 0.0f;
        }
    }
}

/* sum[r][v] (+)= rows of the tile * vectors of the panel. `(+)=` means `=` if `first`, otherwise `+=`. The strides of the tile,
 * rows, vectors and `packs` are constants at each call. packs: the panel is not yet filled; the function copies B's block at
 * `source`, whose rows are source_row elements apart, to the panel while it multiplies, which hides the cost of the copy. has_own:
 * the epilogue reads memory, which is prefetched at requests.own. */
__attribute__((always_inline)) static inline void WEFT_NAME(part)(float16 *sum, int pitch, const float *tile,
    float16 *panel, int depth, bool first, const int row_stride, const int depth_stride,
    WEFT_OPERANDS_B *source, long source_row, const bool packs, const bool has_own, weft_gemm_requests ahead,
    const bool requests, const int rows, const int vectors) {
    float16 acc[WEFT_GEMM_ROWS][2];
    WEFT_UNROLL for (int r = 0; r < rows; ++r) {
        acc[r][0] = first ? 0.0f : sum[pitch * r];
        if (vectors > 1) acc[r][1] = first ? 0.0f : sum[pitch * r + 1];
    }
    const int head = has_own ? min(WEFT_GEMM_ROWS, depth) : depth;
    for (int part = 0, end = head; part < depth; part = end, end = depth) {
        const bool owned = has_own && part == 0;
        size_t one = owned ? ahead.own : ahead.soon + part * ahead.step,
               other = owned ? ahead.own + 64 : ahead.later + part * ahead.step;
        const size_t apart = owned ? ahead.own_step : ahead.step;
        for (int p = part; p < end; ++p) {
            if (requests) {
                if (packs) {
                    WEFT_PREFETCH(source + (p + WEFT_GEMM_PREFETCH) * source_row, 3);
                    WEFT_PREFETCH(source + (p + WEFT_GEMM_PREFETCH) * source_row + 16, 3);
                } else {
                    WEFT_PREFETCH(panel + 2 * (p + WEFT_GEMM_PREFETCH), 3);
                    WEFT_PREFETCH(panel + 2 * (p + WEFT_GEMM_PREFETCH) + 1, 3);
                }
                WEFT_PREFETCH(one, 2);
                WEFT_PREFETCH(other, 2);
                const weft_gemm_lines block = ahead.lines;
                const int i = p >> block.pace;
                const size_t line =
                    block.first + (i & block.mask) * block.apart + (i >> block.shift) * block.line;
                WEFT_PREFETCH(line, 2);
                WEFT_PREFETCH(line + block.beside, 2);
            }
            one += apart;
            other += apart;
            float16 b0, b1 = 0.0f;
            if (packs) {
                panel[2 * p] = b0 = WEFT_OF_B(WEFT_READ_)(source + p * source_row);
                if (vectors > 1) panel[2 * p + 1] = b1 = WEFT_OF_B(WEFT_READ_)(source + p * source_row + 16);
            } else {
                b0 = panel[2 * p];
                if (vectors > 1) b1 = panel[2 * p + 1];
            }
            WEFT_UNROLL for (int r = 0; r < rows; ++r) {
                const float16 x = tile[r * row_stride + p * depth_stride];
                acc[r][0] = WEFT_MULTIPLY_ADD(x, b0, acc[r][0]);
                if (vectors > 1) acc[r][1] = WEFT_MULTIPLY_ADD(x, b1, acc[r][1]);
            }
        }
    }
    WEFT_UNROLL for (int r = 0; r < rows; ++r) {
        sum[pitch * r] = acc[r][0];
        if (vectors > 1) sum[pitch * r + 1] = acc[r][1];
    }
}

#define WEFT_GEMM_PART(row, rows, vector, vectors)                                                           \
    WEFT_NAME(part)                                                                                          \
    (sum + pitch * (row) + (vector), pitch, tile + (row)*row_stride, panel + (vector), depth, first,         \
        row_stride, depth_stride, source + 16 * (vector), source_row, packs && (row) == 0,                   \
        has_own && (row) == 0 && (vector) == 0, ahead, (row) == 0 && (vector) == 0, rows, vectors);

__attribute__((always_inline)) static inline void WEFT_NAME(tile)(float16 *sum, int pitch, const float *tile,
    float16 *panel, int depth, bool first, const int row_stride, const int depth_stride,
    WEFT_OPERANDS_B *source, long source_row, const bool packs, const bool has_own,
    weft_gemm_requests ahead) {
    WEFT_EACH_PART(WEFT_GEMM_PART, WEFT_GEMM_ROWS, 2)
}
#undef WEFT_GEMM_PART

/* A[0..rows)[0..depth) -> tile[r * PITCH + p]. */
static inline void WEFT_NAME(copy_rows)(float *tile, WEFT_OPERANDS_A *a, int rows, int depth, long a_row) {
    for (int r = 0; r < rows; ++r) {
        float16 *to = (float16 *)(tile + r * WEFT_GEMM_PITCH);
        WEFT_OPERANDS_A *from = a + r * a_row;
        const int whole = depth / 16;
        WEFT_UNROLL4 for (int v = 0; v < whole; ++v) to[v] = WEFT_OF_A(WEFT_READ_)(from + 16 * v);
        if (depth % 16) to[whole] = WEFT_GEMM_LOAD_A(from + 16 * whole, depth % 16);
    }
}

/* A[0..rows)[0..depth) -> tile[p * ROWS + r]. `beside` elements exist in a row of memory from the tile's first one on. A vector
 * store reaches into the memory of the next step, which is written later. */
static inline void WEFT_NAME(copy_columns)(
    float *tile, WEFT_OPERANDS_A *a, int rows, int beside, int depth, long a_row, long a_column) {
    if (a_row == 1 && (beside >= 16 || a_column >= 16)) {
        /* Loads whole vectors and ignores the excess lanes. The last vector could end past the end of the memory. */
        const int whole = beside >= 16 ? depth : depth - 1;
        for (int p = 0; p < whole; ++p)
            *(weft_lanes_f32 *)(tile + p * WEFT_GEMM_ROWS) = WEFT_OF_A(WEFT_READ_)(a + p * a_column);
        if (whole < depth)
            *(weft_lanes_f32 *)(tile + whole * WEFT_GEMM_ROWS) = WEFT_GEMM_LOAD_A(a + whole * a_column, rows);
    } else {
        for (int p = 0; p < depth; ++p) {
            for (int r = 0; r < rows; ++r)
                tile[p * WEFT_GEMM_ROWS + r] = WEFT_OF_A(WEFT_GET_)(a, r * a_row + p * a_column);
        }
    }
}

#ifndef WEFT_GEMM_TURNED
#define WEFT_GEMM_TURNED 0
#endif
#ifndef WEFT_GEMM_A_ROWS
#define WEFT_GEMM_A_ROWS    (a_column == 1)
#define WEFT_GEMM_B_ROWS    (b_column == 1)
#define WEFT_GEMM_B_COLUMNS (b_row == 1)
#define WEFT_GEMM_ANY_LAYOUT
#endif
#ifdef WEFT_EPILOGUE_READ
#define WEFT_EPILOGUE_READ_KNOWN true
#else
#define WEFT_EPILOGUE_READ_KNOWN               false
#define WEFT_EPILOGUE_READ(batch, row, column) 0
#define WEFT_EPILOGUE_READ_STEP                0
#define WEFT_GEMM_NO_EPILOGUE_READ
#endif

/* The prefetches for the multiplication by panel i of a strip. They cover the next tile of A, if the strip has more rows (`rows`
 * of them from this tile on), and a range of lines of B's next block, if this tile is one of the 1 << pace tiles that divide the
 * block among them; pace -1 means no prefetches of B. none: an address that is in the cache already. */
static inline weft_gemm_requests WEFT_NAME(requests)(WEFT_OPERANDS_A *tile, int rows, WEFT_OPERANDS_B *block,
    long a_row, long a_column, long b_row, long b_column, int depth, int i, int panels, int turn, int pace,
    size_t none) {
    weft_gemm_requests ahead = {none, none, 0, none, 0, {none, 0, 0, 0, 0, 0, 0}};
    const int more = rows - WEFT_GEMM_ROWS - 1;
    WEFT_OPERANDS_A *const next = more >= 0 ? tile + WEFT_GEMM_ROWS * a_row : tile;
    if (WEFT_GEMM_TURNED) {
        const int share = panels > 2 ? 1 : panels > 1 ? 2 : 3;
        if (i << (share + 1) < WEFT_GEMM_ROWS && more >= 0)
            ahead.lines =
                weft_gemm_along_rows((size_t)next, sizeof(*next) * a_row, sizeof(*next) * 16, i, share);
        return ahead;
    }
    if (WEFT_GEMM_A_ROWS) {
        ahead.soon = (size_t)(next + max(0, min(i, more)) * a_row);
        ahead.later = (size_t)(next + max(0, min(min(i + 8, 12), more)) * a_row);
        ahead.step = sizeof(*next);
    } else if (i == 0) { /* with the first panel only: one step of k has the elements of all rows */
        ahead.soon = (size_t)next;
        ahead.later = (size_t)(next + WEFT_GEMM_ROWS - 1);
        ahead.step = sizeof(*next) * a_column;
    }
    if (pace >= 0 && WEFT_GEMM_B_ROWS)
        ahead.lines = weft_gemm_down_rows(
            (size_t)block, sizeof(*block) * b_row, sizeof(*block) * 16, turn, depth, pace);
    else if (pace >= 0 && WEFT_GEMM_B_COLUMNS)
        ahead.lines = weft_gemm_along_rows(
            (size_t)block, sizeof(*block) * b_column, sizeof(*block) * 16, turn, 4 - pace);
    return ahead;
}

/* Work-item (strip, span, batch). */
__kernel WEFT_ITEMS(1) void WEFT_NAME(block)(WEFT_OPERANDS_A *a, long a_offset, WEFT_OPERANDS_B *b,
    long b_offset, int m, int n, int k, int strip, int span, int most_depth, long a_batch, long a_row,
    long a_column, long b_batch, long b_row, long b_column WEFT_EPILOGUE_PARAMETERS) {
    const int batch = (int)get_global_id(2);
#if WEFT_GEMM_TURNED
    WEFT_OPERANDS_A *const right_operand = a;
    const long right_offset = a_offset;
    a = b;
    a_offset = b_offset;
    b = right_operand;
    b_offset = right_offset;
#endif
    const int left = (int)get_global_id(1) * span, right = min(n, left + span);
    const int top = (int)get_global_id(0) * strip, bottom = min(m, top + strip);
    a += a_offset + batch * a_batch;
    b += b_offset + batch * b_batch;
    float16 panels[WEFT_GEMM_PANELS * 2 * WEFT_GEMM_DEPTH];
    float16 sums[WEFT_GEMM_STRIP * 2 * WEFT_GEMM_PANELS];
    float16 tile_room[WEFT_GEMM_ROWS * WEFT_GEMM_PITCH / 16];
    float *const tile = (float *)tile_room;
    const int panel_count = span / WEFT_GEMM_COLUMNS, pitch = 2 * panel_count,
              tiles = (bottom - top + WEFT_GEMM_ROWS - 1) / WEFT_GEMM_ROWS;
    const int pace = tiles >= 8 ? 3 : tiles >= 4 ? 2 : tiles >= 2 ? 1 : 0;
    const int whole = WEFT_GEMM_B_ROWS ? (right - left) / WEFT_GEMM_COLUMNS : 0;
    for (int start = 0; start < k; start += most_depth) {
        const int depth = min(most_depth, k - start);
        const bool last = start + depth == k;
        for (int j = left + WEFT_GEMM_COLUMNS * whole, i = whole; j < right; j += WEFT_GEMM_COLUMNS, ++i)
            WEFT_NAME(pack_b)
        (panels + i * 2 * most_depth, b + start * b_row + j * b_column, depth,
            min(WEFT_GEMM_COLUMNS, right - j), b_row, b_column, WEFT_GEMM_B_ROWS, WEFT_GEMM_B_COLUMNS);
        for (int row = top, turn = 0; row < bottom; row += WEFT_GEMM_ROWS, ++turn) {
            const int rows = min(WEFT_GEMM_ROWS, bottom - row);
            WEFT_OPERANDS_A *from = a + row * a_row + start * a_column;
            if (WEFT_GEMM_A_ROWS)
                WEFT_NAME(copy_rows)(tile, from, rows, depth, a_row);
            else
                WEFT_NAME(copy_columns)(tile, from, rows, m - row, depth, a_row, a_column);
            float16 *sum = sums + (WEFT_GEMM_TURNED || most_depth < k ? row - top : 0) * pitch;
            for (int j = left, i = 0; j < right; j += WEFT_GEMM_COLUMNS, ++i) {
                float16 *panel = panels + i * 2 * most_depth;
                WEFT_OPERANDS_B *source = b + start * b_row + j * b_column;
                const bool shares = !last && turn < 1 << pace && j + WEFT_GEMM_COLUMNS <= right;
                weft_gemm_requests ahead =
                    WEFT_NAME(requests)(from, bottom - row, source + depth * b_row, a_row, a_column, b_row,
                        b_column, depth, i, panel_count, turn, shares ? pace : -1, (size_t)tile);
                if (!WEFT_GEMM_A_ROWS) {
                    ahead.own = last ? WEFT_EPILOGUE_READ(batch, row, j) : (size_t)tile;
                    ahead.own_step = last ? WEFT_EPILOGUE_READ_STEP : 0;
                }
                const int row_stride = WEFT_GEMM_A_ROWS ? WEFT_GEMM_PITCH : 1,
                          depth_stride = WEFT_GEMM_A_ROWS ? 1 : WEFT_GEMM_ROWS;
                const bool has_own = !WEFT_GEMM_A_ROWS && WEFT_EPILOGUE_READ_KNOWN;
                if (WEFT_GEMM_B_ROWS && turn == 0 && i < whole) WEFT_NAME(tile)
                (sum + 2 * i, pitch, tile, panel, depth, start == 0, row_stride, depth_stride, source, b_row,
                    true, has_own, ahead);
                else WEFT_NAME(tile)(sum + 2 * i, pitch, tile, panel, depth, start == 0, row_stride,
                    depth_stride, source, b_row, false, has_own, ahead);
                if (!last || WEFT_GEMM_TURNED) continue;
                /* The results are stored before the next panel, whose multiplications hide the latency of memory. */
                for (int r = 0; r < rows; ++r) {
                    const float16 *row_sum = sum + pitch * r + 2 * i;
                    for (int at = j, side = 0; side < 2 && at < right; at += 16, ++side)
                        WEFT_STORE(row_sum[side], batch, row + r, at, min(16, right - at));
                }
            }
        }
    }
#if WEFT_GEMM_TURNED
    for (int row = top; row < bottom; row += 16) {
        for (int j = left, i = 0; j < right; j += 16, ++i) {
            float16 v[16], t[16];
            for (int r = 0; r < 16; ++r) v[r] = sums[min(row + r, bottom - 1) * pitch - top * pitch + i];
            WEFT_TRANSPOSE(v, t)
            const int lanes = min(16, bottom - row), results = min(16, right - j);
            for (int r = 0; r < results; ++r) WEFT_STORE(v[r], batch, (j + r), row, lanes);
        }
    }
#endif
}

#undef WEFT_GEMM_LOAD_A
#undef WEFT_GEMM_LOAD_B
#ifdef WEFT_GEMM_ANY_LAYOUT
#undef WEFT_GEMM_ANY_LAYOUT
#undef WEFT_GEMM_A_ROWS
#undef WEFT_GEMM_B_ROWS
#undef WEFT_GEMM_B_COLUMNS
#endif
#undef WEFT_EPILOGUE_READ_KNOWN
#ifdef WEFT_GEMM_NO_EPILOGUE_READ
#undef WEFT_GEMM_NO_EPILOGUE_READ
#undef WEFT_EPILOGUE_READ
#undef WEFT_EPILOGUE_READ_STEP
#endif
