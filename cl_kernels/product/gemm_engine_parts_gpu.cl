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

/* The engine multiplies parts. */
#undef WEFT_ENGINE_FORMAT
#define WEFT_ENGINE_FORMAT bf16
#include "engine_tile.clh"
#include "parts_fit.clh"

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
    const int pitch = 4 * WEFT_ENGINE_PITCH;
    at[0] = x.s0;
    at[pitch] = x.s1;
    at[2 * pitch] = x.s2;
    at[3 * pitch] = x.s3;
    at[4 * pitch] = y.s0;
    at[5 * pitch] = y.s1;
    at[6 * pitch] = y.s2;
    at[7 * pitch] = y.s3;
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

/* The uint4 of a tile at which the f32 numbers of a step begin, and one of these numbers. */
#define WEFT_ENGINE_WHOLE(rows, step) ((step) % 8 / 4 * (rows)*WEFT_ENGINE_PITCH + (step) / 8)
#define WEFT_ENGINE_NUMBER(tile, rows, row, step)                                                            \
    ((__local const float *)((tile) +                                                                        \
                             WEFT_ENGINE_WHOLE(rows, step)))[(row)*4 * WEFT_ENGINE_PITCH + (step) % 4]
#endif

/* Load the words of one part of A, or of B. */
__attribute__((always_inline)) static inline void WEFT_NAME(take_a_part)(
    WEFT_ENGINE_A_TYPE (*words)[WEFT_ENGINE_A], __local const uint4 *tile, int row, int lane, int p,
    int part) {
    tile += part * WEFT_ENGINE_HEIGHT * WEFT_ENGINE_PITCH;
    WEFT_NAME(take_a)(words, (__local const WEFT_ENGINE_A_TYPE *)tile, row, lane, p);
}
__attribute__((always_inline)) static inline void WEFT_NAME(take_b_part)(
    uint (*words)[WEFT_ENGINE_B], __local const uint4 *tile, int column, int lane, int p, int part) {
    tile += part * WEFT_ENGINE_WIDTH * WEFT_ENGINE_PITCH;
    WEFT_NAME(take_b)(words, (__local const uint *)tile, column, lane, p);
}

/* Adds the products of both tiles' parts to the sums. The order of the products keeps few parts of A and B in registers at a time;
 * with an order that keeps more, compilers spill. */
__attribute__((always_inline)) static inline void WEFT_NAME(add_parts)(
    float (*sums)[WEFT_ENGINE_ACROSS][WEFT_ENGINE_SUMS], __local const uint4 *a_tile,
    __local const uint4 *b_tile, weft_engine_place at, int start, int positive, __local uint *shared) {
    WEFT_ROLLED for (int p = 0; p < WEFT_ENGINE_STEP; p += WEFT_ENGINE_DEPTH) {
        const int origin = WEFT_ENGINE_LATE(start + p, positive);
        WEFT_ENGINE_A_TYPE x[WEFT_ENGINE_DOWN][WEFT_ENGINE_A];
        uint y[WEFT_ENGINE_ACROSS][WEFT_ENGINE_B], z[WEFT_ENGINE_ACROSS][WEFT_ENGINE_B];
        if (WEFT_ENGINE_PARTS > 2) {
            WEFT_NAME(take_a_part)(x, a_tile, origin + at.row, at.lane, p, 0);
            WEFT_NAME(take_b_part)(z, b_tile, origin + at.column, at.lane, p, 2);
            WEFT_NAME(multiply)(sums, x, z, at, shared);
            WEFT_NAME(take_a_part)(x, a_tile, origin + at.row, at.lane, p, 2);
        }
        WEFT_NAME(take_b_part)(y, b_tile, origin + at.column, at.lane, p, 0);
        if (WEFT_ENGINE_PARTS > 2) WEFT_NAME(multiply)(sums, x, y, at, shared);
        WEFT_NAME(take_a_part)(x, a_tile, origin + at.row, at.lane, p, 1);
        WEFT_NAME(take_b_part)(z, b_tile, origin + at.column, at.lane, p, 1);
        if (WEFT_ENGINE_PARTS > 2) WEFT_NAME(multiply)(sums, x, z, at, shared);
        WEFT_NAME(multiply)(sums, x, y, at, shared);
        WEFT_NAME(take_a_part)(x, a_tile, origin + at.row, at.lane, p, 0);
        WEFT_NAME(multiply)(sums, x, z, at, shared);
        WEFT_NAME(multiply)(sums, x, y, at, shared);
    }
}

/* With three parts, adds the engine's sums of the block, which begin at zero, to the sums. */
__attribute__((always_inline)) static inline void WEFT_NAME(add_block_of_parts)(
    float (*sums)[WEFT_ENGINE_ACROSS][WEFT_ENGINE_SUMS], __local const uint4 *a_tile,
    __local const uint4 *b_tile, weft_engine_place at, int start, int positive, __local uint *shared) {
#if WEFT_ENGINE_PARTS > 2
    float products[WEFT_ENGINE_DOWN][WEFT_ENGINE_ACROSS][WEFT_ENGINE_SUMS];
    WEFT_NAME(clear)(products);
    WEFT_NAME(add_parts)(products, a_tile, b_tile, at, start, positive, shared);
    WEFT_UNROLL for (int e = 0; e < WEFT_ENGINE_ALL_SUMS; ++e) WEFT_ENGINE_SUM(sums, e) +=
        WEFT_ENGINE_SUM(products, e);
#else
    WEFT_NAME(add_parts)(sums, a_tile, b_tile, at, start, positive, shared);
#endif
}

/* Adds the products of the f32 numbers of a block to the sums. */
__attribute__((always_inline)) static inline void WEFT_NAME(add_block_of_numbers)(
    float (*sums)[WEFT_ENGINE_ACROSS][WEFT_ENGINE_SUMS], __local const uint4 *a_tile,
    __local const uint4 *b_tile, weft_engine_place at) {
    WEFT_ROLLED for (int p = 0; p < WEFT_ENGINE_STEP; ++p) {
        WEFT_UNROLL for (int e = 0; e < WEFT_ENGINE_ALL_SUMS; ++e) {
            const int r =
                at.row + WEFT_ENGINE_FRAGMENT_ROW(e) + WEFT_ENGINE_SUM_ROW(at.lane, e % WEFT_ENGINE_SUMS);
            const int q = at.column + WEFT_ENGINE_FRAGMENT_COLUMN(e) +
                          WEFT_ENGINE_SUM_COLUMN(at.lane, e % WEFT_ENGINE_SUMS);
            WEFT_ENGINE_SUM(sums, e) += WEFT_ENGINE_NUMBER(a_tile, WEFT_ENGINE_HEIGHT, r, p) *
                                        WEFT_ENGINE_NUMBER(b_tile, WEFT_ENGINE_WIDTH, q, p);
        }
    }
}

#include "gemm_engine_gpu.clh"

#undef WEFT_ENGINE_FORMAT
