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
 * engines.clh precedes this file. The parameters are set in
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

#endif

/* Sets y to the lane's fragments of B at step p of a block, from the words that the lane has read of the packed weights. */
static inline void WEFT_NAME(take_packed)(uint (*y)[WEFT_ENGINE_B], const uint4 *words, int p) {
    WEFT_UNROLL for (int w = 0; w < WEFT_ENGINE_ACROSS * WEFT_ENGINE_B; ++w) {
        const int i = p / WEFT_ENGINE_DEPTH * WEFT_ENGINE_ACROSS * WEFT_ENGINE_B + w;
        const uint4 four = words[i / 4];
        y[w / WEFT_ENGINE_B][w % WEFT_ENGINE_B] = i % 4 == 0   ? four.x
                                                  : i % 4 == 1 ? four.y
                                                  : i % 4 == 2 ? four.z
                                                               : four.w;
    }
}

/* The macros that recurrent_walk_gpu.clh requires. */
#define WEFT_R_WALK_ROWS       WEFT_ENGINE_HEIGHT
#define WEFT_R_WALK_AT_ONCE    WEFT_ENGINE_HEIGHT
#define WEFT_R_WALK_ACROSS     (WEFT_ENGINE_WIDTH / 4)
#define WEFT_R_WALK_ITEMS      WEFT_ENGINE_GROUP
#define WEFT_R_WALK_ATTRIBUTES WEFT_ENGINE_ATTRIBUTES
#define WEFT_R_WALK_LOCAL                                                                                    \
    __local uint4 states[WEFT_R_STATES];                                                                     \
    __local float4 room[WEFT_ENGINE_HEIGHT * WEFT_R_SUM_PITCH];                                              \
    WEFT_ENGINE_SHARED(shared)
#define WEFT_R_WALK_PRODUCT(a, a_row, rows, depth, b, whole, corner)                                         \
    WEFT_NAME(product)(room, states, shared, a, a_row, rows, depth, b, whole, corner);
#define WEFT_R_WALK_SPREAD
#define WEFT_R_WALK_SUMS(first)     (room + ((first) + WEFT_R_Y) * WEFT_R_SUM_PITCH)
#define WEFT_R_WALK_QUAD(sums)      (sums)[WEFT_R_X]
#define WEFT_R_WALK_NUMBER(sums, e) ((__local const float *)(sums))[(e)*WEFT_R_WALK_ACROSS + WEFT_R_X]
#define WEFT_R_WALK_ROWS_DONE
#define WEFT_R_WALK_CHUNK_DONE barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);

/* Copies rows of states into local memory, rounded; numbers past the last row or the depth are zero. */
__attribute__((always_inline)) static inline void WEFT_NAME(bring)(
    __local uint4 *states, __global const float *a, int a_row, int rows, int left, uint item) {
    const int i = (int)(item / WEFT_R_CHUNKS_OF_ROW), x = (int)(item % WEFT_R_CHUNKS_OF_ROW);
    const int wide = WEFT_ENGINE_WIDE_f32(a, a_row);
    uint4 chunks[WEFT_R_COPIES];
    WEFT_UNROLL for (int j = 0; j < WEFT_R_COPIES; ++j) {
        const int r = i + j * (WEFT_ENGINE_GROUP / WEFT_R_CHUNKS_OF_ROW), count = r < rows ? left - 8 * x : 0;
        chunks[j] = WEFT_NAME(read_chunk)(a + (r * a_row + 8 * x), 1, wide, count);
    }
    states += x / WEFT_ENGINE_CHUNKS * WEFT_R_PANEL + i * WEFT_ENGINE_PITCH + x % WEFT_ENGINE_CHUNKS;
    WEFT_UNROLL for (int j = 0; j < WEFT_R_COPIES; ++j)
        states[j * (WEFT_ENGINE_GROUP / WEFT_R_CHUNKS_OF_ROW) * WEFT_ENGINE_PITCH] = chunks[j];
}

/* Multiplies the group's rows of A by a chunk of columns of the packed weights `b`, and stores the sums in `room`. `states` keeps the rounded
 * rows of A from one chunk to the next, if there are at most WEFT_R_DEPTH steps. */
__attribute__((always_inline)) static inline void WEFT_NAME(product)(__local float4 *room,
    __local uint4 *states, __local uint *shared, __global const float *a, int a_row, int rows, int depth,
    __global const float *b, int whole, int corner) {
    const uint item = (uint)get_local_id(0);
    const weft_engine_place at = WEFT_NAME(place)(item);
    float sums[WEFT_ENGINE_DOWN][WEFT_ENGINE_ACROSS][WEFT_ENGINE_SUMS];
    WEFT_NAME(clear)(sums);
    const bool fresh = corner == (int)get_group_id(0) * WEFT_R_WALK_ACROSS || depth > WEFT_R_DEPTH;
    __global const uint4 *weights = (__global const uint4 *)b + WEFT_R_CHUNK_AT(corner, WEFT_R_STEPS(whole)) +
                                    at.warp * (WEFT_R_FOURS * WEFT_ENGINE_B_LANES) +
                                    at.lane % WEFT_ENGINE_B_LANES;
    uint4 next[WEFT_R_FOURS]; /* with WEFT_R_READS_AHEAD: the words of the block that is multiplied next */
    if (WEFT_R_READS_AHEAD) weft_rg_words(next, weights);
    WEFT_ROLLED for (int start = 0; start < depth; start += WEFT_R_DEPTH) {
        if (fresh) WEFT_NAME(bring)(states, a + start, a_row, rows, depth - start, item);
        barrier(CLK_LOCAL_MEM_FENCE);
        WEFT_ROLLED for (int k = 0; k < min(depth - start, WEFT_R_DEPTH); k += WEFT_ENGINE_STEP) {
            uint4 words[WEFT_R_FOURS];
            if (WEFT_R_READS_AHEAD) {
                WEFT_UNROLL for (int i = 0; i < WEFT_R_FOURS; ++i) words[i] = next[i];
                weft_rg_words(next, weights + WEFT_R_BLOCK_FOURS);
            } else {
                weft_rg_words(words, weights);
            }
            weights += WEFT_R_BLOCK_FOURS;
            WEFT_UNROLL for (int p = 0; p < WEFT_ENGINE_STEP; p += WEFT_ENGINE_DEPTH) {
                WEFT_ENGINE_A_TYPE x[WEFT_ENGINE_DOWN][WEFT_ENGINE_A];
                uint y[WEFT_ENGINE_ACROSS][WEFT_ENGINE_B];
                __local const uint4 *const panel = states + k / WEFT_ENGINE_STEP * WEFT_R_PANEL;
                WEFT_NAME(take_a)(x, (__local const WEFT_ENGINE_A_TYPE *)panel, at.row, at.lane, p);
                WEFT_NAME(take_packed)(y, words, p);
                WEFT_NAME(multiply)(sums, x, y, at, shared);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    WEFT_UNROLL for (int e = 0; e < WEFT_ENGINE_ALL_SUMS; ++e) {
        const int r =
            at.row + WEFT_ENGINE_FRAGMENT_ROW(e) + WEFT_ENGINE_SUM_ROW(at.lane, e % WEFT_ENGINE_SUMS);
        const int q = at.column + WEFT_ENGINE_FRAGMENT_COLUMN(e) +
                      WEFT_ENGINE_SUM_COLUMN(at.lane, e % WEFT_ENGINE_SUMS);
        ((__local float *)room)[r * (4 * WEFT_R_SUM_PITCH) + q] = WEFT_ENGINE_SUM(sums, e);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
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

#include "recurrent_alone.clh"
