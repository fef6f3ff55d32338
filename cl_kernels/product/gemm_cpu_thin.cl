/* gemm_cpu_thin.cl: C[b] = A[b] * B[b] if A has few rows, for devices of class cpu, where a work-item runs on a core with wide
 * vectors. An example is a linear layer on a small batch.
 *
 *     A (m, k) any strides, m at most WEFT_THIN_MOST        B (k, n) rows or columns contiguous
 *     C: stored by WEFT_STORE (the epilogue)
 *
 * Packing B, as gemm_cpu.cl does, would cost more here than the multiplications. B is therefore read in place, once, at the speed
 * of memory. A work-item computes `span` columns and all rows. It walks along k in blocks of at most WEFT_THIN_DEPTH steps, and
 * copies each block of A. 4 rows of the copy at a time are multiplied by
 *
 *     6 columns, if the columns of B are contiguous. Each element has a vector of 16 sums, each over every 16th step of k:
 *
 *                     k                             k
 *         +----------------------+      +----------------------+
 *         |        4 rows        |      |      6 columns       |      10 loads for 24 multiply-adds of 16
 *         +----------------------+      +----------------------+
 *
 *     96 columns, if the rows of B are contiguous, and WEFT_THIN_BLOCK steps of k, each with 6 loads and 4 broadcasts for
 *     24 multiply-adds of 16. The steps are few, because each is in another page.
 *
 * 24 vectors of sums fill the registers; between blocks they are in private memory. The multiplications of the first rows prefetch
 * B for the next 6 or 96 columns. If the plan knows which dimension of B is contiguous, it defines WEFT_THIN_ROWS (0 or 1);
 * otherwise the kernel looks at the stride. The macros that the plan defines before each copy (WEFT_NAME, WEFT_EPILOGUE_PARAMETERS,
 * WEFT_STORE) are described in src/kernels/product/gemm.h. */

#ifndef WEFT_GEMM_CPU_THIN
#define WEFT_GEMM_CPU_THIN

WEFT_REQUIRE(weft_thin_has_six_columns, WEFT_THIN_COLUMNS == 6);

#define WEFT_THIN_PANEL  (16 * WEFT_THIN_COLUMNS)
#define WEFT_THIN_PITCH  (WEFT_THIN_DEPTH + 16) /* floats of a copied row; rows do not collide in the cache */
#define WEFT_THIN_GROUPS (WEFT_THIN_MOST / 4)

#define WEFT_ROLL __attribute__((opencl_unroll_hint(1)))

/* Three streams of prefetches during a multiplication, `stride` bytes further at each step. */
typedef struct weft_thin_prefetch {
    size_t one, two, three, stride;
} weft_thin_prefetch;

/* Prefetches the lines of one step, and advances. */
__attribute__((always_inline)) static inline void weft_thin_request(weft_thin_prefetch *prefetch) {
    WEFT_PREFETCH(prefetch->one, 2);
    WEFT_PREFETCH(prefetch->two, 2);
    WEFT_PREFETCH(prefetch->three, 2);
    prefetch->one += prefetch->stride;
    prefetch->two += prefetch->stride;
    prefetch->three += prefetch->stride;
}

/* acc += x times six vectors of B, for one row. */
__attribute__((always_inline)) static inline void weft_thin_add(
    float16 *acc, float16 x, float16 v0, float16 v1, float16 v2, float16 v3, float16 v4, float16 v5) {
    acc[0] = WEFT_MULTIPLY_ADD(x, v0, acc[0]);
    acc[1] = WEFT_MULTIPLY_ADD(x, v1, acc[1]);
    acc[2] = WEFT_MULTIPLY_ADD(x, v2, acc[2]);
    acc[3] = WEFT_MULTIPLY_ADD(x, v3, acc[3]);
    acc[4] = WEFT_MULTIPLY_ADD(x, v4, acc[4]);
    acc[5] = WEFT_MULTIPLY_ADD(x, v5, acc[5]);
}

/* The prefetches of group number `group` among the `groups` groups of 4 rows: some of six streams, which are `apart` bytes from
 * each other. A group has at most three streams; with six groups or more, the first six have one each. */
static inline weft_thin_prefetch weft_thin_share(
    int group, int groups, size_t next, long apart, long stride, size_t nothing) {
    const int loads = groups >= 6 ? 6 : groups >= 3 ? 3 : groups, each = min(3, 6 / loads);
    const weft_thin_prefetch none = {nothing, nothing, nothing, 0};
    if (group >= loads) return none;
    const size_t one = next + each * group * apart, two = one + (each > 1 ? apart : 0);
    const weft_thin_prefetch prefetch = {one, two, each > 2 ? two + apart : two, (size_t)stride};
    return prefetch;
}

static inline float weft_thin_total(float16 v) {
    const float8 eight = v.lo + v.hi;
    const float4 four = eight.lo + eight.hi;
    const float2 two = four.lo + four.hi;
    return two.x + two.y;
}

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) gemm_##suffix
#include "alone.clh"
#endif

/* The first `lanes` elements at p, zeros after them; reads nothing past them. */
static inline float16 WEFT_NAME(load)(WEFT_OPERANDS_B *p, int lanes) {
    float16 value = 0.0f;
    float *element = (float *)&value;
    WEFT_ROLL for (int i = 0; i < lanes; ++i) element[i] = WEFT_OF_B(WEFT_GET_)(p, i);
    return value;
}

/* A[0..m)[0..depth) -> x[r * PITCH + p], with zeros after the last step; rows past the last one are copies of it. */
static inline void WEFT_NAME(copy)(
    float *x, WEFT_OPERANDS_A *a, int m, int rows, int depth, long a_row, long a_column) {
    const int whole = a_column == 1 ? depth / 16 * 16 : 0, room = (depth + 15) / 16 * 16;
    WEFT_ROLL for (int r = 0; r < rows; ++r) {
        float *to = x + r * WEFT_THIN_PITCH;
        WEFT_OPERANDS_A *from = a + min(r, m - 1) * a_row;
        WEFT_ROLL for (int p = 0; p < whole; p += 16) * (float16 *)(to + p) = WEFT_OF_A(WEFT_READ_)(from + p);
        WEFT_ROLL for (int p = whole; p < depth; ++p) to[p] = WEFT_OF_A(WEFT_GET_)(from, p * a_column);
        WEFT_ROLL for (int p = depth; p < room; ++p) to[p] = 0.0f;
    }
}

/* sum[r * 6 + c] (+)= x[r][0..depth) * b[c][0..depth), lane by lane. `(+)=` means `=` if `first`, otherwise `+=`. */
static inline void WEFT_NAME(columns)(float16 *sum, const float *x, WEFT_OPERANDS_B *const *b, int depth,
    bool first, weft_thin_prefetch prefetch) {
    WEFT_OPERANDS_B *b0 = b[0], *b1 = b[1], *b2 = b[2], *b3 = b[3], *b4 = b[4], *b5 = b[5];
    const int whole = depth / 16 * 16;
    float16 acc[4][6];
    WEFT_UNROLL for (int i = 0; i < 24; ++i) acc[i / 6][i % 6] = first ? 0.0f : sum[i];
    for (int p = 0; p < whole; p += 16) {
        const float16 v0 = WEFT_OF_B(WEFT_READ_)(b0 + p), v1 = WEFT_OF_B(WEFT_READ_)(b1 + p),
                      v2 = WEFT_OF_B(WEFT_READ_)(b2 + p), v3 = WEFT_OF_B(WEFT_READ_)(b3 + p),
                      v4 = WEFT_OF_B(WEFT_READ_)(b4 + p), v5 = WEFT_OF_B(WEFT_READ_)(b5 + p);
        weft_thin_request(&prefetch);
        WEFT_UNROLL for (int r = 0; r < 4; ++r)
            weft_thin_add(acc[r], *(const float16 *)(x + r * WEFT_THIN_PITCH + p), v0, v1, v2, v3, v4, v5);
    }
    WEFT_UNROLL for (int i = 0; i < 24; ++i) sum[i] = acc[i / 6][i % 6];
    if (whole == depth) return;
    WEFT_ROLL for (int c = 0; c < 6; ++c) {
        const float16 v = WEFT_NAME(load)(b[c] + whole, depth - whole);
        WEFT_ROLL for (int r = 0; r < 4; ++r) {
            const float16 a = *(const float16 *)(x + r * WEFT_THIN_PITCH + whole);
            sum[r * 6 + c] = WEFT_MULTIPLY_ADD(a, v, sum[r * 6 + c]);
        }
    }
}

/* sum[r * 6 + c] (+)= x[r][0..depth) * b[0..depth)[16 c .. 16 c + 16). `(+)=` means `=` if `first`, otherwise `+=`. */
static inline void WEFT_NAME(rows)(float16 *sum, const float *x, WEFT_OPERANDS_B *b, long b_row, int depth,
    bool first, weft_thin_prefetch prefetch) {
    float16 acc[4][6];
    WEFT_UNROLL for (int i = 0; i < 24; ++i) acc[i / 6][i % 6] = first ? 0.0f : sum[i];
    for (int p = 0; p < depth; ++p) {
        const float16 v0 = WEFT_OF_B(WEFT_READ_)(b), v1 = WEFT_OF_B(WEFT_READ_)(b + 16),
                      v2 = WEFT_OF_B(WEFT_READ_)(b + 32), v3 = WEFT_OF_B(WEFT_READ_)(b + 48),
                      v4 = WEFT_OF_B(WEFT_READ_)(b + 64), v5 = WEFT_OF_B(WEFT_READ_)(b + 80);
        b += b_row;
        weft_thin_request(&prefetch);
        WEFT_UNROLL for (int r = 0; r < 4; ++r)
            weft_thin_add(acc[r], x[r * WEFT_THIN_PITCH + p], v0, v1, v2, v3, v4, v5);
    }
    WEFT_UNROLL for (int i = 0; i < 24; ++i) sum[i] = acc[i / 6][i % 6];
}

#ifndef WEFT_THIN_ROWS
#define WEFT_THIN_ROWS (b_column == 1)
#define WEFT_THIN_ANY_LAYOUT
#endif

/* Work-item (span, batch). span: a multiple of WEFT_THIN_PANEL. If the rows of B are contiguous, n is at least WEFT_THIN_PANEL,
 * and the last panel overlaps columns of the panel before. */
__kernel WEFT_ITEMS(1) void WEFT_NAME(thin)(WEFT_OPERANDS_A *a, long a_offset, WEFT_OPERANDS_B *b,
    long b_offset, int m, int n, int k, int span, long a_batch, long a_row, long a_column, long b_batch,
    long b_row, long b_column WEFT_EPILOGUE_PARAMETERS) {
    const int batch = (int)get_global_id(1);
    const int left = (int)get_global_id(0) * span, right = min(n, left + span);
    const int groups = (m + 3) / 4, wide = WEFT_THIN_ROWS ? WEFT_THIN_PANEL : WEFT_THIN_COLUMNS;
    a += a_offset + batch * a_batch;
    b += b_offset + batch * b_batch;
    float16 x_room[WEFT_THIN_MOST * WEFT_THIN_PITCH / 16];
    float16 sums[WEFT_THIN_SUMS * WEFT_THIN_GROUPS * (4 * WEFT_THIN_COLUMNS) +
                 3]; /* three more for unaligned reads that end past the last sum */
    float *x = (float *)x_room;
    for (int start = 0; start < k; start += WEFT_THIN_DEPTH) {
        const int depth = min(WEFT_THIN_DEPTH, k - start);
        WEFT_NAME(copy)(x, a + start * a_column, m, 4 * groups, depth, a_row, a_column);
        const int block = WEFT_THIN_ROWS ? WEFT_THIN_BLOCK : WEFT_THIN_DEPTH;
        for (int at = 0; at < depth; at += block) {
            const int steps = min(block, depth - at);
            WEFT_OPERANDS_B *from = b + (start + at) * b_row;
            for (int j = left, i = 0; j < right; j += wide, ++i) {
                for (int group = 0; group < groups; ++group) {
                    float16 *sum = sums + (i * WEFT_THIN_GROUPS + group) * (4 * WEFT_THIN_COLUMNS);
                    const float *rows = x + group * 4 * WEFT_THIN_PITCH + at;
                    const bool first = start + at == 0;
                    if (WEFT_THIN_ROWS) {
                        WEFT_OPERANDS_B *panel = from + min(j, n - WEFT_THIN_PANEL);
                        WEFT_OPERANDS_B *next = j + WEFT_THIN_PANEL < right ? panel + WEFT_THIN_PANEL
                                                                            : from + steps * b_row + left;
                        WEFT_NAME(rows)
                        (sum, rows, panel, b_row, steps, first,
                            weft_thin_share(
                                group, groups, (size_t)next, 64, sizeof(*b) * b_row, (size_t)rows));
                    } else {
                        WEFT_OPERANDS_B *columns[WEFT_THIN_COLUMNS];
                        for (int c = 0; c < WEFT_THIN_COLUMNS; ++c)
                            columns[c] = from + min(j + c, n - 1) * b_column;
                        WEFT_OPERANDS_B *next = j + WEFT_THIN_COLUMNS < right
                                                    ? columns[0] + WEFT_THIN_COLUMNS * b_column
                                                    : from + steps + left * b_column;
                        WEFT_NAME(columns)
                        (sum, rows, columns, steps, first,
                            weft_thin_share(
                                group, groups, (size_t)next, sizeof(*b) * b_column, 64, (size_t)rows));
                    }
                }
            }
        }
    }
    WEFT_ROLL for (int row = 0; row < m; ++row) {
        const int group = row / 4 * (4 * WEFT_THIN_COLUMNS) + row % 4 * WEFT_THIN_COLUMNS;
        WEFT_ROLL for (int j = left; j < right; j += 16) {
            float16 total;
            if (WEFT_THIN_ROWS) {
                const int panel = (j - left) / WEFT_THIN_PANEL,
                          over = max(0, left + panel * WEFT_THIN_PANEL - (n - WEFT_THIN_PANEL));
                const float *sum =
                    (const float *)(sums + panel * WEFT_THIN_GROUPS * (4 * WEFT_THIN_COLUMNS) + group);
                total = *(const weft_lanes_f32 *)(sum + over + (j - left) % WEFT_THIN_PANEL);
            } else {
                float *element = (float *)&total;
                WEFT_ROLL for (int lane = 0; lane < 16; ++lane) {
                    const int column = min(j - left + lane, right - left - 1);
                    element[lane] = weft_thin_total(
                        sums[column / WEFT_THIN_COLUMNS * WEFT_THIN_GROUPS * (4 * WEFT_THIN_COLUMNS) + group +
                             column % WEFT_THIN_COLUMNS]);
                }
            }
            WEFT_STORE(total, batch, row, j, min(16, right - j));
        }
    }
}

#ifdef WEFT_THIN_ANY_LAYOUT
#undef WEFT_THIN_ANY_LAYOUT
#undef WEFT_THIN_ROWS
#endif
