/* gemm_engine_parts_gpu.cl: C[b] = A[b] * B[b] in f32 by the matrix engine of a GPU, which multiplies bf16.
 *
 *     A (m, k) any strides        B (k, n) any strides        C: stored by WEFT_STORE (the epilogue)
 *
 * An f32 number x is the sum of parts x0 + x1 + x2: x0 is x rounded to bf16, x1 is the remainder x - x0 rounded to bf16, and x2 the
 * remainder x - x0 - x1 likewise. Of the nine products of the parts of two numbers, the engine computes those that matter and adds
 * them in f32, the small ones first:
 *
 *     PARTS 2     a1 b0 + a0 b1 + a0 b0                                 16 bits of the operands
 *     PARTS 3     a0 b2 + a1 b1 + a2 b0 + a1 b0 + a0 b1 + a0 b0         as exact as f32
 *
 * With three parts, the engine's sums begin at zero for each STEP steps of k, and f32 instructions add them to the totals: an
 * engine may truncate when it adds, and the errors of truncation would accumulate along k.
 *
 * Tiles, items, sub-groups and fragments are those of gemm_engine_gpu.cl, which has a picture. Local memory holds a tile for each
 * part of the numbers:
 *
 *     a_tile   rows of parts 0 | rows of parts 1 | rows of parts 2         b_tile   likewise, with columns
 *
 * An engine may treat subnormal numbers as zeros. The parts of an infinity would be NaN, and the parts of numbers near the ends of
 * the range overflow or underflow. Items therefore record the least and the greatest magnitude of the numbers in local memory, if
 * they are outside of a usual range. If products of parts could be wrong, the f32 numbers themselves replace the parts in local
 * memory: of each chunk the first four numbers replace the first parts, the other four replace the second parts. The lanes then
 * multiply and add the f32 numbers.
 *
 * The macros that the plan defines before each copy are described in src/kernels/product/gemm.h. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) gemm_##suffix
#include "alone.clh"
#endif

#include "gemm_engine_gpu.clh"
#include "parts_fit.clh"
#include "splits_gpu.clh"

#ifndef WEFT_GEMM_ENGINE_PARTS_GPU
#define WEFT_GEMM_ENGINE_PARTS_GPU

/* The usual range of magnitudes that are not zero, as bits, which have the order of the magnitudes. weft_parts_fit accepts
 * numbers in this range with all numbers of magnitudes from 2^-76 to 2^70. */
#define WEFT_ENGINE_USUAL_LEAST 0x33800000u /* 2^-24 */
#define WEFT_ENGINE_USUAL_MOST  0x4E800000u /* 2^30 */

__attribute__((always_inline)) static inline void weft_engine_usual(__local uint *range) {
    range[0] = range[2] = WEFT_ENGINE_USUAL_LEAST;
    range[1] = range[3] = WEFT_ENGINE_USUAL_MOST;
}

static inline uint weft_engine_least(uint4 bits) {
    const uint4 all = (bits & 0x7FFFFFFFu) - 1; /* zero wraps around to the greatest number */
    return min(min(all.x, all.y), min(all.z, all.w));
}

static inline uint weft_engine_most(uint4 bits) {
    const uint4 all = bits & 0x7FFFFFFFu;
    return max(max(all.x, all.y), max(all.z, all.w));
}

__attribute__((always_inline)) static inline int weft_engine_fits(__local const uint *range) {
    return weft_parts_fit(
        (float2)(as_float(range[0]), as_float(range[1])), (float2)(as_float(range[2]), as_float(range[3])));
}

/* Writes the bits of eight f32 numbers to eight rows. */
__attribute__((always_inline)) static inline void weft_engine_put_whole_rows(
    __local uint *at, uint4 x, uint4 y) {
    const uint8 numbers = (uint8)(x, y);
    WEFT_ENGINE_SPREAD(at, numbers, 4 * WEFT_ENGINE_PITCH)
}

/* The words of part number `part` of eight numbers. */
__attribute__((always_inline)) static inline uint4 weft_engine_part(float4 x, float4 y, const int part) {
    uint4 words = weft_engine_words_bf16(x, y);
    WEFT_UNROLL for (int i = 0; i < part; ++i) {
        const float4 even = as_float4(words << 16), odd = as_float4(words & 0xFFFF0000u);
        x -= (float4)(even.x, odd.x, even.y, odd.y);
        y -= (float4)(even.z, odd.z, even.w, odd.w);
        words = weft_engine_words_bf16(x, y);
    }
    return words;
}

/* Writes the parts of an item's chunks to a tile. Unusual numbers extend `range`, which is (least, greatest) magnitude. */
#define WEFT_ENGINE_PUT_PARTS(tile, chunks, rows, along, range)                                              \
    {                                                                                                        \
        uint weft_least = WEFT_ENGINE_USUAL_LEAST, weft_most = WEFT_ENGINE_USUAL_MOST;                       \
        WEFT_UNROLL for (int weft_i = 0; weft_i < 2 * WEFT_ENGINE_COPIES(rows); ++weft_i) {                  \
            weft_least = min(weft_least, weft_engine_least((chunks)[weft_i]));                               \
            weft_most = max(weft_most, weft_engine_most((chunks)[weft_i]));                                  \
        }                                                                                                    \
        if (weft_least < WEFT_ENGINE_USUAL_LEAST) atomic_min((range), weft_least);                           \
        if (weft_most > WEFT_ENGINE_USUAL_MOST) atomic_max((range) + 1, weft_most);                          \
        WEFT_UNROLL for (int weft_part = 0; weft_part < WEFT_ENGINE_PARTS; ++weft_part) {                    \
            uint4 weft_words[WEFT_ENGINE_COPIES(rows)];                                                      \
            WEFT_UNROLL for (int weft_i = 0; weft_i < WEFT_ENGINE_COPIES(rows); ++weft_i)                    \
                weft_words[weft_i] = weft_engine_part(as_float4((chunks)[weft_i]),                           \
                    as_float4((chunks)[WEFT_ENGINE_COPIES(rows) + weft_i]), weft_part);                      \
            WEFT_ENGINE_PUT((tile) + weft_part * (rows)*WEFT_ENGINE_PITCH, weft_words, rows, along)          \
        }                                                                                                    \
    }

/* Writes the f32 numbers instead of their parts: of eight steps of k, the first four replace the first parts, the other four the
 * second parts. */
#define WEFT_ENGINE_PUT_WHOLE(tile, chunks, rows, along)                                                     \
    if (along) {                                                                                             \
        WEFT_ENGINE_PUT(tile, chunks, rows, 1)                                                               \
        WEFT_ENGINE_PUT((tile) + (rows)*WEFT_ENGINE_PITCH, (chunks) + WEFT_ENGINE_COPIES(rows), rows, 1)     \
    } else {                                                                                                 \
        WEFT_UNROLL for (int weft_i = 0; weft_i < WEFT_ENGINE_COPIES(rows); ++weft_i) {                      \
            const uint weft_step = WEFT_ENGINE_STEP_OF(rows, 0) + weft_i * WEFT_ENGINE_HOP(rows, 0);         \
            weft_engine_put_whole_rows((__local uint *)((tile) + WEFT_ENGINE_WHOLE(rows, weft_step)) +       \
                                           WEFT_ENGINE_ROW_OF(rows, 0) * 4 * WEFT_ENGINE_PITCH +             \
                                           weft_step % 4,                                                    \
                (chunks)[weft_i], (chunks)[WEFT_ENGINE_COPIES(rows) + weft_i]);                              \
        }                                                                                                    \
    }
#define WEFT_ENGINE_WHOLE(rows, step) ((step) % 8 / 4 * (rows)*WEFT_ENGINE_PITCH + (step) / 8)

/* One number of a tile that WEFT_ENGINE_PUT_WHOLE wrote. */
#define WEFT_ENGINE_NUMBER(tile, rows, row, step)                                                            \
    ((__local const float *)((tile) +                                                                        \
                             WEFT_ENGINE_WHOLE(rows, step)))[(row)*4 * WEFT_ENGINE_PITCH + (step) % 4]

/* Loads the words of one part of A, or of B. */
#define WEFT_ENGINE_TAKE_A_PART(words, part)                                                                 \
    WEFT_ENGINE_TAKE_A(words, a_tile + (part)*WEFT_ENGINE_HEIGHT * WEFT_ENGINE_PITCH)
#define WEFT_ENGINE_TAKE_B_PART(words, part)                                                                 \
    WEFT_ENGINE_TAKE_B(words, b_tile + (part)*WEFT_ENGINE_WIDTH * WEFT_ENGINE_PITCH)

/* Adds the products of both tiles' parts to `to`. The order of the products keeps few parts of A and B in registers at a time;
 * with an order that keeps more, compilers spill. */
#define WEFT_ENGINE_ADD_PARTS(to)                                                                            \
    WEFT_ROLLED for (int p = 0; p < WEFT_ENGINE_STEP; p += WEFT_ENGINE_DEPTH) {                              \
        const int origin = WEFT_ENGINE_LATE(start + p, m);                                                   \
        WEFT_ENGINE_A_TYPE x[WEFT_ENGINE_DOWN][WEFT_ENGINE_A];                                               \
        uint y[WEFT_ENGINE_ACROSS][WEFT_ENGINE_B], z[WEFT_ENGINE_ACROSS][WEFT_ENGINE_B];                     \
        if (WEFT_ENGINE_PARTS > 2) {                                                                         \
            WEFT_ENGINE_TAKE_A_PART(x, 0)                                                                    \
            WEFT_ENGINE_TAKE_B_PART(z, 2)                                                                    \
            WEFT_ENGINE_MULTIPLY(bf16, to, x, z, shared)                                                     \
            WEFT_ENGINE_TAKE_A_PART(x, 2)                                                                    \
        }                                                                                                    \
        WEFT_ENGINE_TAKE_B_PART(y, 0)                                                                        \
        if (WEFT_ENGINE_PARTS > 2) {                                                                         \
            WEFT_ENGINE_MULTIPLY(bf16, to, x, y, shared)                                                     \
        }                                                                                                    \
        WEFT_ENGINE_TAKE_A_PART(x, 1)                                                                        \
        WEFT_ENGINE_TAKE_B_PART(z, 1)                                                                        \
        if (WEFT_ENGINE_PARTS > 2) {                                                                         \
            WEFT_ENGINE_MULTIPLY(bf16, to, x, z, shared)                                                     \
        }                                                                                                    \
        WEFT_ENGINE_MULTIPLY(bf16, to, x, y, shared)                                                         \
        WEFT_ENGINE_TAKE_A_PART(x, 0)                                                                        \
        WEFT_ENGINE_MULTIPLY(bf16, to, x, z, shared)                                                         \
        WEFT_ENGINE_MULTIPLY(bf16, to, x, y, shared)                                                         \
    }

#endif

WEFT_REQUIRE(WEFT_NAME(results_fit), WEFT_ENGINE_RESULTS_FIT);
WEFT_ENGINE_FETCH(fetch_a, WEFT_OF_A, WEFT_ENGINE_HEIGHT, WEFT_ENGINE_READ_WHOLE)
WEFT_ENGINE_FETCH(fetch_b, WEFT_OF_B, WEFT_ENGINE_WIDTH, WEFT_ENGINE_READ_WHOLE)

/* Work-group (columns, rows, split and batch). */
__kernel WEFT_ENGINE_WORK_GROUP void WEFT_NAME(parts)(WEFT_GEMM_ENGINE_PARAMETERS) {
    WEFT_ENGINE_TILES(WEFT_ENGINE_PARTS)
    __local uint ranges[2 * 4]; /* the range of the current block, and that of the next one */
    WEFT_GEMM_ENGINE_BEGIN
    uint4 a_next[2 * WEFT_ENGINE_COPIES(WEFT_ENGINE_HEIGHT)],
        b_next[2 * WEFT_ENGINE_COPIES(WEFT_ENGINE_WIDTH)];
    if (item == 0) weft_engine_usual(ranges);
    barrier(CLK_LOCAL_MEM_FENCE);
    WEFT_GEMM_ENGINE_FETCH(k, item)
    for (int start = 0; start < k; start += WEFT_ENGINE_STEP) {
        const int rest = k - start - WEFT_ENGINE_STEP, late = WEFT_ENGINE_LATE(start, m);
        __local uint *const range = ranges + start / WEFT_ENGINE_STEP % 2 * 4;
        WEFT_ENGINE_PUT_PARTS(a_tile + late, a_next, WEFT_ENGINE_HEIGHT, a_column == 1, range)
        WEFT_ENGINE_PUT_PARTS(b_tile + late, b_next, WEFT_ENGINE_WIDTH, b_row == 1, range + 2)
        barrier(CLK_LOCAL_MEM_FENCE);
        const int fits = weft_engine_fits(range);
        if (item == 0) weft_engine_usual(ranges + 4 - (range - ranges));
        if (!fits) {
            WEFT_ENGINE_PUT_WHOLE(a_tile, a_next, WEFT_ENGINE_HEIGHT, a_column == 1)
            WEFT_ENGINE_PUT_WHOLE(b_tile, b_next, WEFT_ENGINE_WIDTH, b_row == 1)
        }
        WEFT_GEMM_ENGINE_NEXT(rest, late)
        if (fits) {
#if WEFT_ENGINE_PARTS > 2
            WEFT_ENGINE_ZEROS(products)
            WEFT_ENGINE_ADD_PARTS(products)
            WEFT_ENGINE_ADD(sums, products)
#else
            WEFT_ENGINE_ADD_PARTS(sums)
#endif
        } else {
            barrier(CLK_LOCAL_MEM_FENCE);
            WEFT_ROLLED for (int p = 0; p < WEFT_ENGINE_STEP; ++p)
                WEFT_ENGINE_EVERY_SUM(sums[i][j][s] += WEFT_ENGINE_NUMBER(a_tile, WEFT_ENGINE_HEIGHT, r, p) *
                                                       WEFT_ENGINE_NUMBER(b_tile, WEFT_ENGINE_WIDTH, q, p);)
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    WEFT_GEMM_ENGINE_STORE
}
