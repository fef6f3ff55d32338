/* recurrent_gpu.cl: LSTM, GRU and RNN over time, for devices with many work-items and local memory. Programs include this file after
 * elementwise.clh and recurrent.clh.
 *
 * recurrent_cpu.cl describes the formulas, the packed result and the arguments. A work-group has WEFT_R_ROWS rows of the batch. If
 * dimension 0 has one group, the group computes all columns of a step, and walks through `steps` steps of time, as its rows need no values
 * of other groups. If it has several groups, each computes the columns of its chunks, and a launch is one step (`iteration`), or one of the
 * step's two products (`phases`).
 *
 * The columns of a product are grouped as quads: the gates of a unit if the step's first product has several gates, otherwise four
 * neighbouring columns. `pack` writes the weights as quads, with zeros for gates, columns and steps of k that do not exist. Each item reads
 * its quads from memory, because no other item of the group needs them, and multiplies them by the rows of states in local memory
 * (recurrent_tile_gpu.clh). WEFT_R_SLICES items divide the depth of a quad into slices:
 *
 *                           quads of a chunk (WEFT_R_ACROSS)
 *                          +--------------------------------+
 *            k = 4 i + 0   |  item (x, 0): quad x, all rows |     with four slices
 *            k = 4 i + 1   |  item (x, 1): the same         |
 *            ...           +--------------------------------+
 *
 * The items store their sums of WEFT_R_SPREAD rows at a time in local memory. Each item then computes the gates, c and h of one unit of one
 * of these rows. If there are fewer of these rows than slices, several items divide the four columns of a row's quad.
 *
 * The gradient of a step: the product of the weights and the gradients of the next step's gates, plus the given gradient, gives dh of a
 * unit; from dh the item computes the gradients of the unit's gates.
 *
 * The parameters are set in src/kernels/recurrent/recurrent_gpu.c. */

#include "recurrent_alone.clh"

/* The macros that recurrent_walk_gpu.clh requires. */
#define WEFT_R_WALK_ROWS       WEFT_R_ROWS
#define WEFT_R_WALK_AT_ONCE    WEFT_R_SPREAD
#define WEFT_R_WALK_ACROSS     WEFT_R_ACROSS
#define WEFT_R_WALK_ITEMS      WEFT_R_ITEMS
#define WEFT_R_WALK_ATTRIBUTES WEFT_NARROW
#define WEFT_R_WALK_LOCAL      __local float4 room[WEFT_R_ROOM];
#define WEFT_R_WALK_PRODUCT(a, a_row, rows, depth, b, whole, corner)                                         \
    float4 acc[WEFT_R_ROWS];                                                                                 \
    WEFT_NAME(product)                                                                                       \
    (acc, room, a, a_row, rows, depth,                                                                       \
        (__global const float4 *)WEFT_R_BEGIN(b) +                                                           \
            WEFT_R_PACKED_AT(corner, (int)get_local_id(0), WEFT_R_PACKED(whole)));
#define WEFT_R_WALK_SPREAD                                                                                   \
    WEFT_NAME(spread)(acc, room);                                                                            \
    barrier(CLK_LOCAL_MEM_FENCE);
#define WEFT_R_WALK_SUMS(first)     room
#define WEFT_R_WALK_QUAD(sums)      WEFT_NAME(quad)(sums)
#define WEFT_R_WALK_NUMBER(sums, e) WEFT_NAME(number)(sums, e)
#define WEFT_R_WALK_ROWS_DONE       barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
#define WEFT_R_WALK_CHUNK_DONE

#include "recurrent_tile_gpu.clh"
#include "recurrent_walk_gpu.clh"

/* Packs the weights of a product. A work-item writes one quad (see weft_rg_weight). */
__kernel __attribute__((reqd_work_group_size(WEFT_R_PREPARE, 1, 1))) void WEFT_NAME(pack)(
    __global const float *w, long w_offset, __global float *packed, long packed_offset, int depth, int quads,
    int columns, int quad, int element, int each, long first, long across, long down) {
    const uint number = (uint)get_global_id(0);
    const int rows = WEFT_R_PACKED(depth), k = (int)(number % (uint)rows), q = (int)(number / (uint)rows),
              x = q % WEFT_R_ACROSS, item = k % WEFT_R_SLICES * WEFT_R_ACROSS + x;
    if ((q - x >= quads) | (WEFT_R_ALIGNED & (k >= rows - WEFT_R_BLOCK))) return;
    float4 numbers = (float4)(0.0f);
    WEFT_ROLLED for (int e = 0; e < 4; ++e) numbers =
        (float4)(numbers.yzw, weft_rg_weight(w + w_offset + first, q, e, k, depth, quads, columns, quad,
                                  element, each, across, down));
    ((__global float4 *)WEFT_R_BEGIN(
        packed + packed_offset))[WEFT_R_PACKED_AT(q - x, item, rows) + k / WEFT_R_BLOCK * WEFT_R_BLOCK_QUADS +
                                 k / WEFT_R_SLICES % WEFT_R_STEPS * WEFT_R_SIDE] = numbers;
}

#include "recurrent_alone.clh"
