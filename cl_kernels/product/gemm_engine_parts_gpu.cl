/* gemm_engine_parts_gpu.cl: C[b] = A[b] * B[b] in f32 by the matrix engine of a GPU, which multiplies bf16.
 *
 *     A (m, k) any strides        B (k, n) any strides        C: whatever WEFT_STORE makes of an element
 *
 * An f32 number x is x0 + x1 + x2, each rounded to bf16: x0 of x, x1 of what is left, x2 of what is left then. Of the nine
 * products of the parts of two numbers the engine adds those that matter, in f32, small ones first:
 *
 *     PARTS 2     a1 b0 + a0 b1 + a0 b0                                 16 bits of the operands
 *     PARTS 3     a0 b2 + a1 b1 + a2 b0 + a1 b0 + a0 b1 + a0 b0         as exact as f32
 *
 * With three, sums of STEP of k begin with zero and are added to the others by the arithmetic of f32: an engine may cut off
 * what it adds instead of rounding it, which would pile up along k.
 *
 * Tiles, items, sub-groups and fragments are those of gemm_engine_gpu.cl, which has the picture. Local memory holds the parts of
 * a tile's numbers, each as a tile of its own:
 *
 *     a_tile   rows of parts 0 | rows of parts 1 | of parts 2         b_tile   the same of columns
 *
 * The engine may take subnormal numbers for zeros; the parts of infinities would be NaN, and parts of numbers near the ends of the
 * range overflow or underflow. So items note the greatest and the least magnitude of the steps of k that are in local memory,
 * where they are unusual. Where products of parts could go wrong, the same local memory gets the numbers themselves, the first four
 * of a chunk in place of its first parts, the other four in place of its second parts, and lanes multiply and add them.
 *
 * What stands before an inclusion is described in src/kernels/product/gemm.h. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix)        gemm_##suffix
#define WEFT_EPILOGUE_PARAMETERS , __global float *c, long c_batch, long c_row
#define WEFT_STORE(acc, batch, row, column, lanes)                                                           \
    *(__global WF *)(c + ((batch)*c_batch + (row)*c_row + (column))) = (acc)
#define WEFT_FORMAT_A f32
#define WEFT_FORMAT_B f32
#define WEFT_ENGINE_ALONE
#endif

#include "gemm_engine_gpu.clh"
#include "parts_fit.clh"
#include "splits_gpu.clh"

#ifndef WEFT_GEMM_ENGINE_PARTS_GPU
#define WEFT_GEMM_ENGINE_PARTS_GPU

/* Magnitudes as their bits, which have the same order: the least of what is not zero, and the greatest. Numbers between the usual
 * ones fit any that weft_parts_fit takes with a factor of 2^76 to spare. */
#define WEFT_ENGINE_USUAL_LEAST 0x33800000u /* 2^-24 */
#define WEFT_ENGINE_USUAL_MOST  0x4E800000u /* 2^30 */

__attribute__((always_inline)) static inline void weft_engine_usual(__local uint *range) {
    range[0] = range[2] = WEFT_ENGINE_USUAL_LEAST;
    range[1] = range[3] = WEFT_ENGINE_USUAL_MOST;
}

static inline uint weft_engine_least(uint4 bits) {
    const uint4 all = (bits & 0x7FFFFFFFu) - 1; /* of zero the greatest */
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

/* Eight numbers of f32, their bits, into as many rows. */
__attribute__((always_inline)) static inline void weft_engine_put_whole_rows(
    __local uint *at, uint4 x, uint4 y) {
    const uint8 numbers = (uint8)(x, y);
    WEFT_ENGINE_SPREAD(at, numbers, 4 * WEFT_ENGINE_PITCH)
}

/* Eight numbers as the words of a part of them. */
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

/* The parts of an item's chunks into a tile; its range grows by unusual numbers. */
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

/* The numbers themselves: of eight steps of k four in place of the first parts, four in that of the second. */
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

/* A number of the tile that PUT_WHOLE wrote. */
#define WEFT_ENGINE_NUMBER(tile, rows, row, step)                                                            \
    ((__local const float *)((tile) +                                                                        \
                             WEFT_ENGINE_WHOLE(rows, step)))[(row)*4 * WEFT_ENGINE_PITCH + (step) % 4]

/* Words of a part of A, or of B. */
#define WEFT_ENGINE_TAKE_A_PART(words, part)                                                                 \
    WEFT_ENGINE_TAKE_A(words, a_tile + (part)*WEFT_ENGINE_HEIGHT * WEFT_ENGINE_PITCH)
#define WEFT_ENGINE_TAKE_B_PART(words, part)                                                                 \
    WEFT_ENGINE_TAKE_B(words, b_tile + (part)*WEFT_ENGINE_WIDTH * WEFT_ENGINE_PITCH)

/* to += the products of both tiles' parts. Of three parts two of A or of B are not kept for long: an order that keeps more of them makes
 * compilers spill. */
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
    __local uint ranges[2 * 4]; /* those of a block and of the next one */
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

#ifdef WEFT_ENGINE_ALONE
#undef WEFT_ENGINE_ALONE
#undef WEFT_FORMAT_A
#undef WEFT_FORMAT_B
#undef WEFT_NAME
#undef WEFT_EPILOGUE_PARAMETERS
#undef WEFT_STORE
#endif
