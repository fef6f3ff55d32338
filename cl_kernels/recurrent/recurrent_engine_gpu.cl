/* recurrent_engine_gpu.cl: LSTM, GRU and RNN over time by the matrix engines of GPUs: factors of 16 bits, sums of f32.
 *
 * recurrent_cpu.cl describes the formulas, the packed result and the arguments, recurrent_gpu.cl the walk through time, quads and launches.
 * A work-group has WEFT_ENGINE_HEIGHT rows of the batch, and computes WEFT_ENGINE_WIDTH columns of a product, a chunk, at a time. Its
 * sub-groups divide the chunk's columns, and each has all rows:
 *
 *                        sub-group 0      sub-group 1     ...
 *            steps of k  +---------------+---------------+
 *         +------------+ |  weights of   |               |     weights: from memory, the words of a lane side by side
 * rows  |   states   | |  its lanes    |               |     states: in local memory, rounded once for all chunks
 *         +------------+ +---------------+---------------+     if there are at most WEFT_R_DEPTH steps of k
 *                        |     sums      |               |     sums: stored in local memory, where items read quads
 *                        +---------------+---------------+
 *
 * States, gradients of gates and weights are rounded to WEFT_ENGINE_FORMAT, bf16 or f16, for products; sums, c, gates and all stored values
 * are f32. `pack` writes the weights in the order in which lanes read them: [chunk][block of steps][sub-group][four words][lane]; the words
 * of a lane are ordered by the instruction's step, the fragment, and their number in the fragment. With WEFT_R_READS_AHEAD, for engines
 * whose compiler has enough registers, the next block is read into registers while a block is multiplied.
 *
 * Two files before this one define the engine, as for gemm_engine_gpu.cl. The parameters are set in
 * src/kernels/recurrent/recurrent_engine_gpu.c. */

#include "recurrent_alone.clh"

#include "engine_tile.clh"

#ifndef WEFT_RECURRENT_ENGINE_GPU
#define WEFT_RECURRENT_ENGINE_GPU

/* CHUNKS_OF_ROW: the number of chunks of 8 numbers in a row of states in local memory. COPIES: the number of chunks that an item copies.
 * PANEL: the number of uint4 that hold WEFT_ENGINE_STEP steps of k of all rows. STATES: the number of uint4 of all panels. */
#define WEFT_R_CHUNKS_OF_ROW (WEFT_R_DEPTH / 8)
#define WEFT_R_COPIES        (WEFT_ENGINE_HEIGHT * WEFT_R_CHUNKS_OF_ROW / WEFT_ENGINE_GROUP)
#define WEFT_R_PANEL         (WEFT_ENGINE_HEIGHT * WEFT_ENGINE_PITCH)
#define WEFT_R_STATES        (WEFT_R_DEPTH / WEFT_ENGINE_STEP * WEFT_R_PANEL)

/* FOURS: the number of uint4 of a block of weights that a lane reads. BLOCK_FOURS: the number of uint4 of a block. STEPS: the number of
 * steps of k of packed weights, with one block more that is read ahead and not used. CHUNK_AT: the number of uint4 before a chunk. */
#define WEFT_R_FOURS                   (WEFT_ENGINE_ACROSS * WEFT_ENGINE_STEP / WEFT_ENGINE_DEPTH * WEFT_ENGINE_B / 4)
#define WEFT_R_BLOCK_FOURS             (WEFT_ENGINE_WIDTH * WEFT_ENGINE_STEP / 8)
#define WEFT_R_STEPS(depth)            (((depth) + 2 * WEFT_ENGINE_STEP - 1) / WEFT_ENGINE_STEP * WEFT_ENGINE_STEP)
#define WEFT_R_CHUNK_AT(corner, depth) ((corner) * (long)(depth) / 2)

/* The distance of rows of sums in local memory, in quads. */
#define WEFT_R_SUM_PITCH (WEFT_ENGINE_WIDTH / 4 + 1)

/* Reads a lane's words of a block. */
__attribute__((always_inline)) static inline void weft_rg_words(uint4 *words, __global const uint4 *from) {
    WEFT_UNROLL for (int i = 0; i < WEFT_R_FOURS; ++i) words[i] = from[i * WEFT_ENGINE_B_LANES];
}

/* READ gives the words of the block that is multiplied next. With WEFT_R_READS_AHEAD it was read before, and READ reads the block after
 * it. */
#if WEFT_R_READS_AHEAD
#define WEFT_R_READ_AHEAD(weights)                                                                           \
    uint4 next[WEFT_R_FOURS];                                                                                \
    weft_rg_words(next, weights);
#define WEFT_R_READ(words, weights)                                                                          \
    WEFT_UNROLL for (int i = 0; i < WEFT_R_FOURS; ++i)(words)[i] = next[i];                                  \
    weft_rg_words(next, (weights) + WEFT_R_BLOCK_FOURS);
#else
#define WEFT_R_READ_AHEAD(weights)
#define WEFT_R_READ(words, weights) weft_rg_words(words, weights);
#endif

#define WEFT_R_WORD(words, i)                                                                                \
    ((i) % 4 == 0      ? (words)[(i) / 4].x                                                                  \
        : (i) % 4 == 1 ? (words)[(i) / 4].y                                                                  \
        : (i) % 4 == 2 ? (words)[(i) / 4].z                                                                  \
                       : (words)[(i) / 4].w)

#endif

/* Sets y to the lane's fragments of B at step p of a block, from the words that the lane has read of the packed weights. */
#define WEFT_R_TAKE_B(y, words)                                                                              \
    WEFT_UNROLL for (int weft_w = 0; weft_w < WEFT_ENGINE_ACROSS * WEFT_ENGINE_B; ++weft_w)(                 \
        y)[weft_w / WEFT_ENGINE_B][weft_w % WEFT_ENGINE_B] =                                                 \
        WEFT_R_WORD(words, p / WEFT_ENGINE_DEPTH * WEFT_ENGINE_ACROSS * WEFT_ENGINE_B + weft_w);

/* The macros that recurrent_walk_gpu.clh requires. */
#define WEFT_R_WALK_ROWS       WEFT_ENGINE_HEIGHT
#define WEFT_R_WALK_AT_ONCE    WEFT_ENGINE_HEIGHT
#define WEFT_R_WALK_ACROSS     (WEFT_ENGINE_WIDTH / 4)
#define WEFT_R_WALK_ITEMS      WEFT_ENGINE_GROUP
#define WEFT_R_WALK_ATTRIBUTES WEFT_ENGINE_ATTRIBUTES
#define WEFT_R_WALK_LOCAL                                                                                    \
    __local uint4 states[WEFT_R_STATES];                                                                     \
    __local float4 room[WEFT_ENGINE_HEIGHT * WEFT_R_SUM_PITCH];                                              \
    WEFT_ENGINE_SHARED(shared)                                                                               \
    const uint item = (uint)get_local_id(0);                                                                 \
    const int lane = (int)(item % WEFT_ENGINE_LANES), warp = (int)(item / WEFT_ENGINE_LANES), row = 0,       \
              column = warp * WEFT_ENGINE_ACROSS * WEFT_ENGINE_COLUMNS;
#define WEFT_R_WALK_PRODUCT(a, a_row, rows, depth, b, whole, corner)                                         \
    float sums[WEFT_ENGINE_DOWN][WEFT_ENGINE_ACROSS][WEFT_ENGINE_SUMS];                                      \
    WEFT_ENGINE_CLEAR(sums)                                                                                  \
    const bool fresh = corner == (int)get_group_id(0) * WEFT_R_WALK_ACROSS || depth > WEFT_R_DEPTH;          \
    __global const uint4 *weights =                                                                          \
        (__global const uint4 *)(b) + WEFT_R_CHUNK_AT(corner, WEFT_R_STEPS(whole)) +                         \
        warp * (WEFT_R_FOURS * WEFT_ENGINE_B_LANES) + lane % WEFT_ENGINE_B_LANES;                            \
    WEFT_R_READ_AHEAD(weights)                                                                               \
    WEFT_ROLLED for (int start = 0; start < depth; start += WEFT_R_DEPTH) {                                  \
        if (fresh) WEFT_NAME(bring)(states, a + start, a_row, rows, depth - start, item);                    \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                        \
        WEFT_ROLLED for (int k = 0; k < min(depth - start, WEFT_R_DEPTH); k += WEFT_ENGINE_STEP) {           \
            uint4 words[WEFT_R_FOURS];                                                                       \
            WEFT_R_READ(words, weights)                                                                      \
            weights += WEFT_R_BLOCK_FOURS;                                                                   \
            WEFT_UNROLL for (int p = 0; p < WEFT_ENGINE_STEP; p += WEFT_ENGINE_DEPTH) {                      \
                const int origin = 0;                                                                        \
                WEFT_ENGINE_A_TYPE x[WEFT_ENGINE_DOWN][WEFT_ENGINE_A];                                       \
                uint y[WEFT_ENGINE_ACROSS][WEFT_ENGINE_B];                                                   \
                WEFT_ENGINE_TAKE_A(x, states + k / WEFT_ENGINE_STEP * WEFT_R_PANEL)                          \
                WEFT_R_TAKE_B(y, words)                                                                      \
                WEFT_ENGINE_MULTIPLY(WEFT_ENGINE_FORMAT, sums, x, y, shared);                                \
            }                                                                                                \
        }                                                                                                    \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                        \
    }                                                                                                        \
    WEFT_ENGINE_EVERY_SUM(((__local float *)room)[r * (4 * WEFT_R_SUM_PITCH) + q] = sums[i][j][s];)          \
    barrier(CLK_LOCAL_MEM_FENCE);
#define WEFT_R_WALK_SPREAD
#define WEFT_R_WALK_SUMS(first)     (room + ((first) + WEFT_R_Y) * WEFT_R_SUM_PITCH)
#define WEFT_R_WALK_QUAD(sums)      (sums)[WEFT_R_X]
#define WEFT_R_WALK_NUMBER(sums, e) ((__local const float *)(sums))[(e)*WEFT_R_WALK_ACROSS + WEFT_R_X]
#define WEFT_R_WALK_ROWS_DONE
#define WEFT_R_WALK_CHUNK_DONE barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);

/* Copies rows of states into local memory, rounded; numbers past the last row or the depth are zero. */
__attribute__((always_inline)) static inline void WEFT_NAME(bring)(
    __local uint4 *states, __global const float *a, int a_row, int rows, int left, uint item) {
    const int i = (int)(item / WEFT_R_CHUNKS_OF_ROW), x = (int)(item % WEFT_R_CHUNKS_OF_ROW), next = 1;
    const int wide = WEFT_ENGINE_WIDE_f32(a, a_row);
    uint4 chunks[WEFT_R_COPIES];
    WEFT_UNROLL for (int j = 0; j < WEFT_R_COPIES; ++j) {
        const int r = i + j * (WEFT_ENGINE_GROUP / WEFT_R_CHUNKS_OF_ROW), count = r < rows ? left - 8 * x : 0;
        __global const float *const at = a + (r * a_row + 8 * x);
        WEFT_ENGINE_READ_WORDS(WEFT_OF_A, WEFT_ENGINE_HEIGHT)
    }
    states += x / WEFT_ENGINE_CHUNKS * WEFT_R_PANEL + i * WEFT_ENGINE_PITCH + x % WEFT_ENGINE_CHUNKS;
    WEFT_UNROLL for (int j = 0; j < WEFT_R_COPIES; ++j)
        states[j * (WEFT_ENGINE_GROUP / WEFT_R_CHUNKS_OF_ROW) * WEFT_ENGINE_PITCH] = chunks[j];
}

#include "recurrent_walk_gpu.clh"

/* Packs the weights of a product. A work-item writes four words, and finds their columns in the engine's table (see weft_rg_weight). */
__kernel __attribute__((reqd_work_group_size(WEFT_R_PREPARE, 1, 1))) void WEFT_NAME(pack)(
    __global const float *w, long w_offset, __global float *packed, long packed_offset, int depth, int quads,
    int columns, int quad, int element, int each, long first, long across, long down) {
    const long item = (long)get_global_id(0);
    const int at = (int)(item % WEFT_R_BLOCK_FOURS), blocks = WEFT_R_STEPS(depth) / WEFT_ENGINE_STEP;
    const int block = (int)(item / WEFT_R_BLOCK_FOURS), corner = block / blocks * (WEFT_ENGINE_WIDTH / 4);
    const int lane = at % WEFT_ENGINE_B_LANES, four = at / WEFT_ENGINE_B_LANES % WEFT_R_FOURS,
              warp = at / (WEFT_ENGINE_B_LANES * WEFT_R_FOURS);
    if (corner >= quads) return;
    w += w_offset + first;
    uint4 words = (uint4)(0);
    WEFT_ROLLED for (int e = 4 * four; e < 4 * four + 4; ++e) {
        const int i = e % WEFT_ENGINE_B, j = e / WEFT_ENGINE_B % WEFT_ENGINE_ACROSS,
                  p = e / (WEFT_ENGINE_B * WEFT_ENGINE_ACROSS) * WEFT_ENGINE_DEPTH;
        const int column =
            (warp * WEFT_ENGINE_ACROSS + j) * WEFT_ENGINE_COLUMNS + WEFT_ENGINE_B_COLUMN(lane, i);
        const int q = corner + column / 4,
                  k = block % blocks * WEFT_ENGINE_STEP + p + 2 * WEFT_ENGINE_B_PAIR(lane, i);
        float pair[2];
        WEFT_UNROLL for (int odd = 0; odd < 2; ++odd) pair[odd] = weft_rg_weight(
            w, q, column % 4, k + odd, depth, quads, columns, quad, element, each, across, down);
        words = (uint4)(words.yzw, WEFT_JOIN(weft_engine_word_, WEFT_ENGINE_FORMAT)(pair[0], pair[1]));
    }
    ((__global uint4 *)(packed + packed_offset))[item] = words;
}

#undef WEFT_R_TAKE_B
#include "recurrent_alone.clh"
