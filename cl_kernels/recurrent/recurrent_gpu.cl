/* recurrent_gpu.cl: LSTM, GRU and RNN over time for devices with many work-items and local memory. It stands
 * after elementwise.clh and recurrent.clh.
 *
 * Formulas, layouts of the results and arguments are those of recurrent_cpu.cl, which describes them. A work-group
 * owns WEFT_R_ROWS rows of the batch. With one group across it walks over all columns of a step, and through `steps` steps of
 * time, since its rows need nothing of other groups; with several across, each has the columns of its chunks, and a
 * launch is one step (`iteration`), or one of its two products where there are two (`phases`).
 *
 * A product's columns are quads: the gates of a unit where a step's first product has several, else four
 * neighbours. `pack` writes the weights as quads, with zeros where there is no gate, column or k. Each item reads its quads from there, as
 * no other item of the group needs them, before it multiplies them with the rows of the states in local memory
 * (recurrent_tile_gpu.clh). WEFT_R_SLICES items, the slices, share a quad's depth:
 *
 *                           quads of a chunk (WEFT_R_ACROSS)
 *                          +--------------------------------+
 *            k = 4 i + 0   |  item (x, 0): quad x, all rows |     with four slices
 *            k = 4 i + 1   |  item (x, 1): the same         |
 *            ...           +--------------------------------+
 *
 * Their sums meet in local memory, WEFT_R_SPREAD rows at a time, and each item computes gates, c and h of one row from there. With fewer
 * of these rows than slices several items share what a row has of four columns.
 *
 * The gradient of a step: the product of the gates' gradients of the step after it with the weights, plus the
 * given gradient; then these units' gates.
 *
 * The parameters are set in src/kernels/recurrent/recurrent_gpu.c. */

#include "recurrent_alone.clh"

/* See recurrent_walk_gpu.clh. */
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

/* A work-item a quad of a product's weights (see weft_rg_weight). */
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
