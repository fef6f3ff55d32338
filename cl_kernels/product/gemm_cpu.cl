/* gemm_cpu.cl: C[b] = A[b] * B[b] for devices whose work-item is a core with wide vectors.
 *
 *     A (m, k) any strides        B (k, n) any strides        C: whatever WEFT_STORE makes of an element
 *
 * Work split: one work-item (work-group of size 1, no barriers, no local memory) owns a block of C: `strip`
 * rows and `span` columns. It walks k in blocks of at most WEFT_GEMM_DEPTH. Of each block it packs its part
 * of B into private memory, panels of 32 columns side by side; then it runs down its strip, copies one tile
 * of A to where its rows do not collide in the cache, and multiplies it with every panel:
 *
 *                        panel 0    panel 1
 *                       +----------+----------+--
 *                       | b0   b1  |          |     depth rows, packed once per strip (copied, or
 *                       |          |          |     transposed 16 x 16); stays in the second-level cache
 *            depth      +----------+----------+--
 *          +--------+   +----------+----------+--
 *     rows | A tile |   |acc   acc |          |     each step of k: 2 vector loads, and for each row one
 *          +--------+   +----------+----------+--   broadcast of A and 2 multiply-adds, all in registers
 *          | next tile  | next: their sums wait in private memory between blocks of k
 *
 * One launch does it for every shape and every transposition; the sizes and strides are arguments. Which of A
 * and B have their rows (A_ROWS, B_ROWS) or columns (B_COLUMNS) contiguous may be known before: macros of 0
 * or 1, without which the kernel looks at the strides. Parameters (src/kernels/product/gemm_cpu.c): a tile is
 * ROWS x COLUMNS, two vectors wide; a work-item has at most STRIP rows and PANELS panels; prefetches run PREFETCH
 * steps of k before the multiplication, PACK_PREFETCH before packing. The macros before an inclusion (WEFT_NAME,
 * WEFT_EPILOGUE_PARAMETERS, WEFT_STORE) are described in src/kernels/product/gemm.h. */

#ifndef WEFT_GEMM_CPU
#define WEFT_GEMM_CPU

WEFT_REQUIRE(weft_gemm_has_two_vectors, WEFT_GEMM_COLUMNS == 2 * 16);

/* Room for a tile of A in either layout: rows a line apart modulo the cache's way, or k-major. */
#define WEFT_GEMM_PITCH (WEFT_GEMM_DEPTH + 16)

#define WEFT_UNROLL4 __attribute__((opencl_unroll_hint(4)))

/* The first `lanes` (1 to 16) elements at p, zeros after them; reads nothing past them. */
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

static inline void weft_gemm_store(__global float *p, float16 value, int lanes) {
    if (lanes >= 16) {
        *(__global weft_lanes_f32 *)p = value;
        return;
    }
    float8 rest = value.lo;
    if (lanes & 8) {
        vstore8(value.lo, 0, p);
        rest = value.hi;
        p += 8;
    }
    float4 last = rest.lo;
    if (lanes & 4) {
        vstore4(rest.lo, 0, p);
        last = rest.hi;
        p += 4;
    }
    if (lanes & 2) {
        vstore2(last.lo, 0, p);
        last.x = last.z;
        p += 2;
    }
    if (lanes & 1) p[0] = last.x;
}

/* sum[r][v] (+)= rows of the tile * vectors of the panel. The strides of the tile, rows and vectors are constants at each
 * call. Meanwhile two streams of the next tile of A, at the addresses soon and later, `step` bytes apart, are prefetched
 * where requests (a constant, too); before them, where has_own, two lines a row of what the epilogue will read, from
 * `own` on, rows own_step bytes apart. */
__attribute__((always_inline)) static inline void weft_gemm_part(float16 *sum, const float *tile,
    const float16 *panel, int depth, bool first, const int row_stride, const int depth_stride, size_t soon,
    size_t later, size_t step, const bool has_own, size_t own, size_t own_step, const bool requests,
    const int rows, const int vectors) {
    float16 acc[WEFT_GEMM_ROWS][2];
    WEFT_UNROLL for (int r = 0; r < rows; ++r) {
        acc[r][0] = first ? 0.0f : sum[2 * WEFT_GEMM_PANELS * r];
        if (vectors > 1) acc[r][1] = first ? 0.0f : sum[2 * WEFT_GEMM_PANELS * r + 1];
    }
    const int head = has_own ? min(WEFT_GEMM_ROWS, depth) : depth;
    for (int part = 0, end = head; part < depth; part = end, end = depth) {
        const bool owned = has_own && part == 0;
        size_t one = owned ? own : soon + part * step, other = owned ? own + 64 : later + part * step;
        const size_t apart = owned ? own_step : step;
        for (int p = part; p < end; ++p) {
            if (requests) {
                WEFT_PREFETCH(panel + 2 * (p + WEFT_GEMM_PREFETCH), 3);
                WEFT_PREFETCH(panel + 2 * (p + WEFT_GEMM_PREFETCH) + 1, 3);
                WEFT_PREFETCH(one, 2);
                WEFT_PREFETCH(other, 2);
            }
            one += apart;
            other += apart;
            const float16 b0 = panel[2 * p], b1 = vectors > 1 ? panel[2 * p + 1] : 0.0f;
            WEFT_UNROLL for (int r = 0; r < rows; ++r) {
                const float16 x = tile[r * row_stride + p * depth_stride];
                acc[r][0] = WEFT_MULTIPLY_ADD(x, b0, acc[r][0]);
                if (vectors > 1) acc[r][1] = WEFT_MULTIPLY_ADD(x, b1, acc[r][1]);
            }
        }
    }
    WEFT_UNROLL for (int r = 0; r < rows; ++r) {
        sum[2 * WEFT_GEMM_PANELS * r] = acc[r][0];
        if (vectors > 1) sum[2 * WEFT_GEMM_PANELS * r + 1] = acc[r][1];
    }
}

#define WEFT_GEMM_PART(row, rows, vector, vectors)                                                           \
    weft_gemm_part(sum + 2 * WEFT_GEMM_PANELS * (row) + (vector), tile + (row)*row_stride, panel + (vector), \
        depth, first, row_stride, depth_stride, soon, later, step, has_own && (row) == 0 && (vector) == 0,   \
        own, own_step, (row) == 0 && (vector) == 0, rows, vectors)

__attribute__((always_inline)) static inline void weft_gemm_tile(float16 *sum, const float *tile,
    const float16 *panel, int depth, bool first, const int row_stride, const int depth_stride, size_t soon,
    size_t later, size_t step, const bool has_own, size_t own, size_t own_step) {
    WEFT_EACH_PART(WEFT_GEMM_PART, WEFT_GEMM_ROWS, 2)
}

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix)        gemm_##suffix
#define WEFT_EPILOGUE_PARAMETERS , __global float *c, long c_batch, long c_row
#define WEFT_STORE(acc, batch, row, column, lanes)                                                           \
    weft_gemm_store(c + (batch)*c_batch + (row)*c_row + (column), acc, lanes)
#define WEFT_FORMAT_A f32
#define WEFT_FORMAT_B f32
#define WEFT_SUM      float
#define WEFT_SUMS     WF
#define WEFT_GEMM_ALONE
#endif

/* The first `lanes` (1 to 16) operands at p, zeros after them; reads nothing past them. */
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

/* B, whose columns are contiguous along k: transposes blocks of 16 x 16 into the panel. A short last block
 * reaches back over rows that are already there. */
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

/* B[0..depth)[0..columns) -> panel[p * COLUMNS + j]; columns past the last hold anything finite or not: their sums
 * are never stored. in_rows: b_column is 1; in_columns: b_row is 1; constants at each call. */
__attribute__((always_inline)) static inline void WEFT_NAME(pack_b)(float16 *panel, WEFT_OPERANDS_B *b,
    int depth, int columns, long b_row, long b_column, const bool in_rows, const bool in_columns) {
    if (in_rows && columns >= WEFT_GEMM_COLUMNS) {
        for (int p = 0; p < depth; ++p) {
            panel[2 * p] = WEFT_OF_B(WEFT_READ_)(b + p * b_row);
            panel[2 * p + 1] = WEFT_OF_B(WEFT_READ_)(b + p * b_row + 16);
        }
    } else if (in_rows) {
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

/* The same, k-major: tile[p * ROWS + r]; `beside` elements stand in a row of memory from the tile's first. A
 * store reaches into the next step's memory, which is written after it. */
static inline void WEFT_NAME(copy_columns)(
    float *tile, WEFT_OPERANDS_A *a, int rows, int beside, int depth, long a_row, long a_column) {
    if (a_row == 1 && (beside >= 16 || a_column >= 16)) {
        /* Whole vectors, of which the rest is no one's: but the last one may end where the memory does. */
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

/* Work-item (strip, span, batch). */
__kernel WEFT_ITEMS(1) void WEFT_NAME(block)(WEFT_OPERANDS_A *a, long a_offset, WEFT_OPERANDS_B *b,
    long b_offset, int m, int n, int k, int strip, int span, int most_depth, long a_batch, long a_row,
    long a_column, long b_batch, long b_row, long b_column WEFT_EPILOGUE_PARAMETERS) {
    const int batch = (int)get_global_id(2);
    const int left = (int)get_global_id(1) * span, right = min(n, left + span);
    const int top = (int)get_global_id(0) * strip, bottom = min(m, top + strip);
    a += a_offset + batch * a_batch;
    b += b_offset + batch * b_batch;
    float16 panels[WEFT_GEMM_PANELS * 2 * WEFT_GEMM_DEPTH];
    float16 sums[WEFT_GEMM_STRIP * 2 * WEFT_GEMM_PANELS];
    float16 tile_room[WEFT_GEMM_ROWS * WEFT_GEMM_PITCH / 16];
    float *tile = (float *)tile_room;
    for (int start = 0; start < k; start += most_depth) {
        const int depth = min(most_depth, k - start);
        const bool last = start + depth == k;
        int packed = 0;
        if (WEFT_GEMM_B_ROWS) {
            packed = (right - left) / WEFT_GEMM_COLUMNS;
            for (int p = 0; p < depth; ++p) {
                WEFT_OPERANDS_B *bb = b + (start + p) * b_row + left;
                float16 *to = panels + 2 * p;
                const size_t soon = (size_t)(bb + WEFT_GEMM_PACK_PREFETCH * b_row);
                WEFT_UNROLL4 for (int i = 0; i < packed; ++i) {
                    WEFT_PREFETCH(soon + sizeof(*b) * WEFT_GEMM_COLUMNS * i, 2);
                    WEFT_PREFETCH(soon + sizeof(*b) * WEFT_GEMM_COLUMNS * i + 64, 2);
                    to[i * 2 * WEFT_GEMM_DEPTH] = WEFT_OF_B(WEFT_READ_)(bb + WEFT_GEMM_COLUMNS * i);
                    to[i * 2 * WEFT_GEMM_DEPTH + 1] = WEFT_OF_B(WEFT_READ_)(bb + WEFT_GEMM_COLUMNS * i + 16);
                }
            }
        }
        for (int j = left + WEFT_GEMM_COLUMNS * packed, i = packed; j < right; j += WEFT_GEMM_COLUMNS, ++i)
            WEFT_NAME(pack_b)
        (panels + i * 2 * WEFT_GEMM_DEPTH, b + start * b_row + j * b_column, depth,
            min(WEFT_GEMM_COLUMNS, right - j), b_row, b_column, WEFT_GEMM_B_ROWS, WEFT_GEMM_B_COLUMNS);
        for (int row = top; row < bottom; row += WEFT_GEMM_ROWS) {
            const int rows = min(WEFT_GEMM_ROWS, bottom - row);
            WEFT_OPERANDS_A *from = a + row * a_row + start * a_column;
            if (WEFT_GEMM_A_ROWS)
                WEFT_NAME(copy_rows)(tile, from, rows, depth, a_row);
            else
                WEFT_NAME(copy_columns)(tile, from, rows, m - row, depth, a_row, a_column);
            const int ahead = bottom - row - WEFT_GEMM_ROWS - 1;
            WEFT_OPERANDS_A *next = ahead >= 0 ? from + WEFT_GEMM_ROWS * a_row : from;
            const size_t none = (size_t)tile;
            float16 *sum = sums + (most_depth < k ? row - top : 0) * 2 * WEFT_GEMM_PANELS;
            for (int j = left, i = 0; j < right; j += WEFT_GEMM_COLUMNS, ++i) {
                const float16 *panel = panels + i * 2 * WEFT_GEMM_DEPTH;
                if (WEFT_GEMM_A_ROWS)
                    weft_gemm_tile(sum + 2 * i, tile, panel, depth, start == 0, WEFT_GEMM_PITCH, 1,
                        (size_t)(next + max(0, min(i, ahead)) * a_row),
                        (size_t)(next + max(0, min(min(i + 8, 12), ahead)) * a_row), sizeof(*a), false, 0, 0);
                else /* once: each step of k is a page of its own */
                    weft_gemm_tile(sum + 2 * i, tile, panel, depth, start == 0, 1, WEFT_GEMM_ROWS,
                        i == 0 ? (size_t)next : none, i == 0 ? (size_t)(next + WEFT_GEMM_ROWS - 1) : none,
                        i == 0 ? sizeof(*a) * a_column : 0, WEFT_EPILOGUE_READ_KNOWN,
                        last ? WEFT_EPILOGUE_READ(batch, row, j) : none, last ? WEFT_EPILOGUE_READ_STEP : 0);
                if (!last) continue;
                /* Now, not after the last panel: the next one's multiplications hide the wait for memory. */
                for (int r = 0; r < rows; ++r) {
                    const float16 *row_sum = sum + 2 * WEFT_GEMM_PANELS * r + 2 * i;
                    for (int at = j, side = 0; side < 2 && at < right; at += 16, ++side)
                        WEFT_STORE(row_sum[side], batch, row + r, at, min(16, right - at));
                }
            }
        }
    }
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
#ifdef WEFT_GEMM_ALONE
#undef WEFT_GEMM_ALONE
#undef WEFT_FORMAT_A
#undef WEFT_FORMAT_B
#undef WEFT_SUM
#undef WEFT_SUMS
#undef WEFT_NAME
#undef WEFT_EPILOGUE_PARAMETERS
#undef WEFT_STORE
#endif
