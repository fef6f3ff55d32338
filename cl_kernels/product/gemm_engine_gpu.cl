/* gemm_engine_gpu.cl: C[b] = A[b] * B[b] by the matrix engine of a GPU: factors of 16 bits, sums of f32.
 *
 *     A (m, k) any strides        B (k, n) any strides        C: whatever WEFT_STORE makes of an element
 *
 * A work-group owns a tile of C. Its sub-groups share the tile as WARPS_DOWN x WARPS_ACROSS parts, each of DOWN x ACROSS
 * fragments: what one instruction of the engine makes. All items together copy STEP steps of k of A and of B to local
 * memory, as pairs of 16-bit numbers in words, those of a row of A or a column of B one after another:
 *
 *              word 0   1   2  ...  15   pad            with 2 x 2 sub-groups of 4 x 8 fragments of 16 x 8:
 *     row 0    k 0,1  2,3  4,5    30,31  .
 *     row 1    k 0,1  2,3  4,5    30,31  .                      128 columns
 *      ...                                               +----------+----------+
 *     row 127                                            | 64 x 64  | 64 x 64  |  128 rows
 *                                                        +----------+----------+
 * Then each sub-group takes its fragments from           | 64 x 64  | 64 x 64  |
 * there and multiplies them. While it does, the words    +----------+----------+
 * of the next steps are on their way into registers.
 *
 * What is the engine's stands in two files that precede this one (src/kernels/product/gemm_engine.c names them): which
 * numbers a lane holds (mma.clh and its kin), and the instruction, or in tests a model of it.
 *
 * An item reads chunks of 8 numbers that are side by side in memory: of a row of A (a column of B) where these are
 * contiguous, else of 8 rows; at once where the address allows. Numbers outside A and B count as zero; nothing outside C is
 * stored. What stands before an inclusion is described in src/kernels/product/gemm.h;
 * WEFT_ENGINE_FORMAT is the format of the factors, bf16 or f16. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix)                          gemm_##suffix
#define WEFT_EPILOGUE_PARAMETERS                   , __global float *c, long c_batch, long c_row
#define WEFT_STORE(acc, batch, row, column, lanes) c[(batch)*c_batch + (row)*c_row + (column)] = (acc)
#define WEFT_FORMAT_A                              bf16
#define WEFT_FORMAT_B                              bf16
#define WEFT_ENGINE_FORMAT                         bf16
#define WEFT_ENGINE_ALONE
#endif

#ifndef WEFT_GEMM_ENGINE_GPU
#define WEFT_GEMM_ENGINE_GPU

/* In chunks of 8 steps of k, 4 words; a row has one more, so that rows lie in different banks of local memory. */
#define WEFT_ENGINE_CHUNKS (WEFT_ENGINE_STEP / 8)
#define WEFT_ENGINE_PITCH  (WEFT_ENGINE_CHUNKS + 1)

/* Two numbers as the word of their 16-bit patterns, rounded. */
static inline uint weft_engine_word_bf16(float even, float odd) {
    return as_uint(weft_round_bf16(even)) >> 16 | (as_uint(weft_round_bf16(odd)) & 0xFFFF0000u);
}

static inline uint weft_engine_word_f16(float even, float odd) {
    ushort bits[2];
    vstore_half_rte(even, 0, (half *)bits);
    vstore_half_rte(odd, 1, (half *)bits);
    return (uint)bits[0] | (uint)bits[1] << 16;
}

/* Whether chunks whose numbers are side by side may be read at once: WEFT_ENGINE_WIDE_<format of the memory>. */
#define WEFT_ENGINE_ALIGNED(p, across, bytes) ((((size_t)(p) | (size_t)(across) * (bytes)) & 15) == 0)
#define WEFT_ENGINE_WIDE_f32(p, across)       WEFT_ENGINE_ALIGNED(p, across, 4)
#define WEFT_ENGINE_WIDE_bf16(p, across)      WEFT_ENGINE_ALIGNED(p, across, 2)
#define WEFT_ENGINE_WIDE_f16(p, across)       WEFT_ENGINE_ALIGNED(p, across, 2)

/* Such a chunk, WEFT_ENGINE_CHUNK_<format of the memory>(p, word), where word makes a word of two numbers. */
#define WEFT_ENGINE_CHUNK_f32(p, word)                                                                       \
    weft_engine_words_##word(*(__global const float4 *)(p), *((__global const float4 *)(p) + 1))
#define WEFT_ENGINE_CHUNK_bf16(p, word)      weft_engine_from_bf16_to_##word(*(__global const uint4 *)(p))
#define WEFT_ENGINE_CHUNK_f16(p, word)       weft_engine_from_f16_to_##word(*(__global const uint4 *)(p))
#define WEFT_ENGINE_CHUNK_OF(CHUNK, p, word) CHUNK(p, word)

#define WEFT_ENGINE_WORDS(word)                                                                              \
    static inline uint4 weft_engine_words_##word(float4 x, float4 y) {                                       \
        return (uint4)(weft_engine_word_##word(x.s0, x.s1), weft_engine_word_##word(x.s2, x.s3),             \
            weft_engine_word_##word(y.s0, y.s1), weft_engine_word_##word(y.s2, y.s3));                       \
    }
WEFT_ENGINE_WORDS(bf16)
WEFT_ENGINE_WORDS(f16)
#undef WEFT_ENGINE_WORDS

static inline uint4 weft_engine_from_bf16_to_bf16(uint4 words) {
    return words;
}
static inline uint4 weft_engine_from_f16_to_f16(uint4 words) {
    return words;
}
static inline uint4 weft_engine_from_bf16_to_f16(uint4 words) {
    const float4 even = as_float4(words << 16), odd = as_float4(words & 0xFFFF0000u);
    return weft_engine_words_f16(
        (float4)(even.s0, odd.s0, even.s1, odd.s1), (float4)(even.s2, odd.s2, even.s3, odd.s3));
}
static inline uint4 weft_engine_from_f16_to_bf16(uint4 words) {
    const float4 x = vload_half4(0, (const half *)&words), y = vload_half4(1, (const half *)&words);
    return weft_engine_words_bf16(x, y);
}

/* Eight numbers into as many rows. */
__attribute__((always_inline)) static inline void weft_engine_put_rows(__local ushort *at, uint4 chunk) {
    const ushort8 numbers = as_ushort8(chunk);
    at[0] = numbers.s0;
    at[8 * WEFT_ENGINE_PITCH] = numbers.s1;
    at[16 * WEFT_ENGINE_PITCH] = numbers.s2;
    at[24 * WEFT_ENGINE_PITCH] = numbers.s3;
    at[32 * WEFT_ENGINE_PITCH] = numbers.s4;
    at[40 * WEFT_ENGINE_PITCH] = numbers.s5;
    at[48 * WEFT_ENGINE_PITCH] = numbers.s6;
    at[56 * WEFT_ENGINE_PITCH] = numbers.s7;
}

/* What a lane holds of A: words of two numbers, or single ones. */
#ifndef WEFT_ENGINE_A_TYPE
#define WEFT_ENGINE_A_TYPE uint
#endif

/* Zero; for compilers that keep every address of local memory in registers from block to block, a zero that they do not know. */
#ifndef WEFT_ENGINE_LATE
#define WEFT_ENGINE_LATE(start, m) 0
#endif

/* The words (numbers) that a lane holds of the fragment whose first row (column) is `origin`, at `step`. */
#define WEFT_ENGINE_ROW_WORDS(type) (WEFT_ENGINE_PITCH * 16 / (int)sizeof(type))
#define WEFT_ENGINE_TAKE(type, words, count, tile, origin, step, ROW, PAIR)                                  \
    WEFT_UNROLL for (int weft_i = 0; weft_i < (count); ++weft_i)(words)[weft_i] =                            \
        ((__local const type *)(tile))[WEFT_ENGINE_ROW_WORDS(type) * ((origin) + ROW(lane, weft_i)) +        \
                                       (step)*2 / (int)sizeof(type) + PAIR(lane, weft_i)]

#define WEFT_ENGINE_SUB_GROUPS (WEFT_ENGINE_WARPS_DOWN * WEFT_ENGINE_WARPS_ACROSS)
#define WEFT_ENGINE_GROUP      (WEFT_ENGINE_LANES * WEFT_ENGINE_SUB_GROUPS)

#endif

/* The tile's height and width, and how many chunks of each matrix an item copies. */
#define WEFT_ENGINE_HEIGHT       (WEFT_ENGINE_WARPS_DOWN * WEFT_ENGINE_DOWN * WEFT_ENGINE_ROWS)
#define WEFT_ENGINE_WIDTH        (WEFT_ENGINE_WARPS_ACROSS * WEFT_ENGINE_ACROSS * WEFT_ENGINE_COLUMNS)
#define WEFT_ENGINE_COPIES(rows) ((rows)*WEFT_ENGINE_CHUNKS / WEFT_ENGINE_GROUP)

/* An item's chunks of a tile of `rows` begin at row and step, and are so many rows (along k) or steps (along rows) apart. */
#define WEFT_ENGINE_ROW_OF(rows, along)  ((along) ? item / WEFT_ENGINE_CHUNKS : item % ((rows) / 8) * 8)
#define WEFT_ENGINE_STEP_OF(rows, along) ((along) ? item % WEFT_ENGINE_CHUNKS * 8 : item / ((rows) / 8))
#define WEFT_ENGINE_HOP(rows, along)     (WEFT_ENGINE_GROUP / ((along) ? WEFT_ENGINE_CHUNKS : (rows) / 8))

/* A function for A and one for B: an item's chunks of the `rows` rows from `from` on, `across` elements apart, of which
 * `limit` are in the matrix, and of steps of k, `down` apart, of which there are `depth`. */
#define WEFT_ENGINE_FETCH(fetch, OF, rows)                                                                   \
    __attribute__((always_inline)) static inline void WEFT_NAME(fetch)(uint4 * chunks,                       \
        __global const OF(WEFT_T_) * from, int limit, int depth, long across, long down, uint item) {        \
        const int along = down == 1, hop = WEFT_ENGINE_HOP(rows, along);                                     \
        const long next = along ? down : across, other = along ? across : down;                              \
        const int wide = next == 1 && OF(WEFT_ENGINE_WIDE_)(from, other);                                    \
        const int i = (int)WEFT_ENGINE_ROW_OF(rows, along), p = (int)WEFT_ENGINE_STEP_OF(rows, along);       \
        const int own = along ? i : p, bound = along ? limit : depth;                                        \
        const int rest = along ? depth - p : limit - i;                                                      \
        __global const OF(WEFT_T_) *at = from + i * across + p * down;                                       \
        WEFT_UNROLL for (int j = 0; j < WEFT_ENGINE_COPIES(rows); ++j, at += hop * other) {                  \
            const int count = own + j * hop < bound ? rest : 0;                                              \
            if (wide && count >= 8) {                                                                        \
                chunks[j] = WEFT_ENGINE_CHUNK_OF(OF(WEFT_ENGINE_CHUNK_), at, WEFT_ENGINE_FORMAT);            \
                continue;                                                                                    \
            }                                                                                                \
            ulong first = 0, second = 0; /* numbers move down through both */                                \
            WEFT_ROLLED for (int s = 0; s < 8; ++s) {                                                        \
                const float x = s < count ? OF(WEFT_GET_)(at, s * next) : 0.0f;                              \
                first = first >> 16 | second << 48;                                                          \
                second = second >> 16 | (ulong)WEFT_JOIN(weft_engine_word_, WEFT_ENGINE_FORMAT)(x, 0.0f)     \
                                            << 48;                                                           \
            }                                                                                                \
            chunks[j] = (uint4)((uint)first, (uint)(first >> 32), (uint)second, (uint)(second >> 32));       \
        }                                                                                                    \
    }
WEFT_ENGINE_FETCH(fetch_a, WEFT_OF_A, WEFT_ENGINE_HEIGHT)
WEFT_ENGINE_FETCH(fetch_b, WEFT_OF_B, WEFT_ENGINE_WIDTH)
#undef WEFT_ENGINE_FETCH

/* An item's chunks into a tile: along k at once, along rows number by number. */
#define WEFT_ENGINE_PUT(tile, chunks, rows, along)                                                           \
    if (along) {                                                                                             \
        __local uint4 *const weft_at =                                                                       \
            (tile) + WEFT_ENGINE_ROW_OF(rows, 1) * WEFT_ENGINE_PITCH + WEFT_ENGINE_STEP_OF(rows, 1) / 8;     \
        WEFT_UNROLL for (int weft_j = 0; weft_j < WEFT_ENGINE_COPIES(rows); ++weft_j)                        \
            weft_at[weft_j * WEFT_ENGINE_HOP(rows, 1) * WEFT_ENGINE_PITCH] = (chunks)[weft_j];               \
    } else {                                                                                                 \
        __local ushort *const weft_at = (__local ushort *)(tile) +                                           \
                                        WEFT_ENGINE_ROW_OF(rows, 0) * 8 * WEFT_ENGINE_PITCH +                \
                                        WEFT_ENGINE_STEP_OF(rows, 0);                                        \
        WEFT_UNROLL for (int weft_j = 0; weft_j < WEFT_ENGINE_COPIES(rows); ++weft_j)                        \
            weft_engine_put_rows(weft_at + weft_j * WEFT_ENGINE_HOP(rows, 0), (chunks)[weft_j]);             \
    }

/* Work-group (columns, rows, batch). */
__kernel __attribute__((reqd_work_group_size(WEFT_ENGINE_GROUP, 1, 1))) WEFT_ENGINE_ATTRIBUTES void WEFT_NAME(
    blocks)(WEFT_OPERANDS_A *a, long a_offset, WEFT_OPERANDS_B *b, long b_offset, int m, int n, int k,
    long a_batch, long a_row, long a_column, long b_batch, long b_row,
    long b_column WEFT_EPILOGUE_PARAMETERS) {
    __local uint4 a_tile[WEFT_ENGINE_HEIGHT * WEFT_ENGINE_PITCH],
        b_tile[WEFT_ENGINE_WIDTH * WEFT_ENGINE_PITCH];
    WEFT_ENGINE_SHARED(shared)
    const uint item = (uint)get_local_id(0);
    const int lane = (int)(item % WEFT_ENGINE_LANES), warp = (int)(item / WEFT_ENGINE_LANES);
    const int top = (int)get_group_id(1) * WEFT_ENGINE_HEIGHT,
              left = (int)get_group_id(0) * WEFT_ENGINE_WIDTH;
    const int batch = (int)get_group_id(2);
    const int row = warp / WEFT_ENGINE_WARPS_ACROSS * WEFT_ENGINE_DOWN * WEFT_ENGINE_ROWS;
    const int column = warp % WEFT_ENGINE_WARPS_ACROSS * WEFT_ENGINE_ACROSS * WEFT_ENGINE_COLUMNS;
    uint4 a_next[WEFT_ENGINE_COPIES(WEFT_ENGINE_HEIGHT)], b_next[WEFT_ENGINE_COPIES(WEFT_ENGINE_WIDTH)];
    float sums[WEFT_ENGINE_DOWN][WEFT_ENGINE_ACROSS][WEFT_ENGINE_SUMS];
    WEFT_UNROLL for (int i = 0; i < WEFT_ENGINE_DOWN * WEFT_ENGINE_ACROSS; ++i) {
        WEFT_UNROLL for (int s = 0; s < WEFT_ENGINE_SUMS; ++s)
            sums[i / WEFT_ENGINE_ACROSS][i % WEFT_ENGINE_ACROSS][s] = 0.0f;
    }
    a += a_offset + batch * a_batch + top * a_row;
    b += b_offset + batch * b_batch + left * b_column;
    WEFT_NAME(fetch_a)(a_next, a, m - top, k, a_row, a_column, item);
    WEFT_NAME(fetch_b)(b_next, b, n - left, k, b_column, b_row, item);
    for (int start = 0; start < k; start += WEFT_ENGINE_STEP) {
        const int rest = k - start - WEFT_ENGINE_STEP, late = WEFT_ENGINE_LATE(start, m);
        WEFT_ENGINE_PUT(a_tile + late, a_next, WEFT_ENGINE_HEIGHT, a_column == 1)
        WEFT_ENGINE_PUT(b_tile + late, b_next, WEFT_ENGINE_WIDTH, b_row == 1)
        barrier(CLK_LOCAL_MEM_FENCE);
        a += WEFT_ENGINE_STEP * a_column;
        b += WEFT_ENGINE_STEP * b_row;
        if (rest > 0) {
            WEFT_NAME(fetch_a)(a_next, a, m - top, rest, a_row, a_column, item + (uint)late);
            WEFT_NAME(fetch_b)(b_next, b, n - left, rest, b_column, b_row, item + (uint)late);
        }
        WEFT_UNROLL for (int p = 0; p < WEFT_ENGINE_STEP; p += WEFT_ENGINE_DEPTH) {
            const int origin = WEFT_ENGINE_LATE(start + p, m);
            WEFT_ENGINE_A_TYPE x[WEFT_ENGINE_DOWN][WEFT_ENGINE_A];
            uint y[WEFT_ENGINE_ACROSS][WEFT_ENGINE_B];
            WEFT_UNROLL for (int i = 0; i < WEFT_ENGINE_DOWN; ++i)
                WEFT_ENGINE_TAKE(WEFT_ENGINE_A_TYPE, x[i], WEFT_ENGINE_A, a_tile,
                    origin + row + i * WEFT_ENGINE_ROWS, p, WEFT_ENGINE_A_ROW, WEFT_ENGINE_A_PAIR);
            WEFT_UNROLL for (int j = 0; j < WEFT_ENGINE_ACROSS; ++j)
                WEFT_ENGINE_TAKE(uint, y[j], WEFT_ENGINE_B, b_tile, origin + column + j * WEFT_ENGINE_COLUMNS,
                    p, WEFT_ENGINE_B_COLUMN, WEFT_ENGINE_B_PAIR);
            WEFT_ENGINE_MULTIPLY(WEFT_ENGINE_FORMAT, sums, x, y, shared);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    WEFT_UNROLL for (int e = 0; e < WEFT_ENGINE_DOWN * WEFT_ENGINE_ACROSS * WEFT_ENGINE_SUMS; ++e) {
        const int s = e % WEFT_ENGINE_SUMS, j = e / WEFT_ENGINE_SUMS % WEFT_ENGINE_ACROSS;
        const int i = e / WEFT_ENGINE_SUMS / WEFT_ENGINE_ACROSS;
        const int r = top + row + i * WEFT_ENGINE_ROWS + WEFT_ENGINE_SUM_ROW(lane, s);
        const int q = left + column + j * WEFT_ENGINE_COLUMNS + WEFT_ENGINE_SUM_COLUMN(lane, s);
        if (r < m && q < n) WEFT_STORE(sums[i][j][s], batch, r, q, 1);
    }
}

#undef WEFT_ENGINE_HEIGHT
#undef WEFT_ENGINE_WIDTH
#undef WEFT_ENGINE_COPIES
#undef WEFT_ENGINE_PUT
#undef WEFT_ENGINE_ROW_OF
#undef WEFT_ENGINE_STEP_OF
#undef WEFT_ENGINE_HOP
#ifdef WEFT_ENGINE_ALONE
#undef WEFT_ENGINE_ALONE
#undef WEFT_ENGINE_FORMAT
#undef WEFT_FORMAT_A
#undef WEFT_FORMAT_B
#undef WEFT_NAME
#undef WEFT_EPILOGUE_PARAMETERS
#undef WEFT_STORE
#endif
