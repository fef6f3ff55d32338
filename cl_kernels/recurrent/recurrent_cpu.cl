/* recurrent_cpu.cl: LSTM, GRU and RNN over time, for devices whose work-item is a core with wide vectors. Programs include this file after
 * elementwise.clh and recurrent.clh.
 *
 *     x (T, N, G·H)   products of the inputs of all steps, with biases   G gates: 4, 3 or 1
 *     w (G·H, P)      recurrent weights, packed by `prepare`             H units
 *                                                                        P width of h: H, or the projection's
 *
 * A work-item computes some rows of the batch. It walks through time: it computes `steps` steps of time one after the other. If the batch
 * is small and the weights are large, a work-item computes some units of all rows instead, so that several cores read the weights: in one
 * launch for all steps if work-items help each other (recurrent_share_cpu.clh), otherwise in one launch for each step. In both cases it
 * visits its units in blocks of 32, and its rows in tiles of 13:
 *
 *                        gate 0     gate 1     ...
 *                       +----------+----------+--
 *                  P    | 32 units | the same |      panels (P, 32), packed once a run; the panels of a block stay in
 *                       | b0   b1  |   32     |      the L2 cache while all tiles of rows are computed
 *            P          +----------+----------+--
 *          +--------+   +----------+----------+--
 * 13 rows | h tile |   |acc   acc |acc   acc |      then, in registers: gates, c and h of 13 rows x 32 units
 *          +--------+   +----------+----------+--
 *
 * The result is packed. y: the states h, (T + 1, N, P), in the order of time; the initial state has index 0, or T if the scan runs in
 * reverse. c (LSTM): (T + 1, N, H) in the opposite order of the scan, so that the last state is the first. Then come, for the gradient, the
 * gates (T, N, saved·H) and the inputs of the second product (T, N, H): o·tanh(c) before a projection, r·h before the last gate. If no
 * gradient is wanted, all steps of c, the gates and these inputs share one place (stride 0). In steps beyond a row's length the state stays
 * unchanged, and the gates are 0.
 *
 * The gradient walks backwards. dh of 32 units x 13 rows is the product of packed w and the gradients of the next step's gates, plus the
 * given gradient; from dh the item computes the gradients of these units' gates. The part of dh that reaches the state before the step
 * without passing the gates (`keep`), and dc, are stored in the places of dh0 and dc0, which they become after the last step.
 *
 * recurrent_walk_cpu.clh has the kernels. The parameters are set in src/kernels/recurrent/recurrent_cpu.c: WEFT_R_PANEL units of a panel
 * (32 in the picture), WEFT_R_ROWS rows of a large tile (13), WEFT_R_FEW rows of a smaller one, and WEFT_R_LINE words of a cache line. */

#ifndef WEFT_RECURRENT_CPU
#define WEFT_RECURRENT_CPU

#define WEFT_R_ROOM_DEPTH 256
#define WEFT_R_ROOM_PITCH (WEFT_R_ROOM_DEPTH + 16)
/* A panel's row is prefetched this number of steps of k before it is multiplied. */
#define WEFT_R_PREFETCH 8

#include "recurrent_cell_cpu.clh"
#include "recurrent_share_cpu.clh"
#include "recurrent_tile_cpu.clh"

#endif

#include "recurrent_alone.clh"

/* The macros that recurrent_walk_cpu.clh requires. */
#define WEFT_R_TALL                     WEFT_R_ROWS
#define WEFT_R_SUM_AT(panel, row, side) (((panel)*WEFT_R_ROWS + (row)) * 2 + (side))
#define WEFT_R_WORDS(gates, depth)      ((long)WEFT_R_PANEL * (gates) * (depth))
#define WEFT_R_PACK(to, from, gates, depth, columns, across, transposed)                                     \
    weft_r_pack(to, from, (gates) * (depth), columns, across, transposed)
#define WEFT_R_LEFT(scan, a, a_row, gates, depth)
#define WEFT_R_PRODUCT(scan, a, a_row, row, count, gates, depth, panels, stride, panel_count)                \
    weft_r_product(scan->sums, (float *)scan->own, a + (row) * (long)(a_row), a_row, count,                  \
        (gates) * (depth), panels, stride, panel_count)
#define WEFT_R_STATE(words, rows, gates, units, width) (words)
#define WEFT_R_OWN(room)                                                                                     \
    float16 room[WEFT_R_ROWS * WEFT_R_ROOM_PITCH / 16];                                                      \
    weft_r_clear(room, WEFT_R_ROWS *WEFT_R_ROOM_PITCH / 16);
#define WEFT_R_END(room)

#include "recurrent_walk_cpu.clh"

#undef WEFT_R_TALL
#undef WEFT_R_SUM_AT
#undef WEFT_R_WORDS
#undef WEFT_R_PACK
#undef WEFT_R_LEFT
#undef WEFT_R_PRODUCT
#undef WEFT_R_STATE
#undef WEFT_R_OWN
#undef WEFT_R_END
#include "recurrent_alone.clh"
