/* recurrent_cpu.cl: LSTM, GRU and RNN over time for devices whose work-item is a core with wide vectors. It
 * stands after elementwise.clh and recurrent.clh.
 *
 *     x (T, N, G·H)   products of the inputs of all steps, with biases   G gates: 4, 3 or 1
 *     w (G·H, P)      recurrent weights, packed by `prepare`             H units
 *                                                                        P width of h: H, or the projection's
 *
 * Work split: a work-item owns some rows of the batch, and walks through `steps` steps of time with them; or,
 * where the batch is small and the weights are large, some units of all rows, so that several cores read the
 * weights: all steps in one launch where work-items help each other (below), else a launch a step. Either way
 * it goes through its units in blocks of 32, and through its rows in tiles of 13:
 *
 *                        gate 0     gate 1     ...
 *                       +----------+----------+--
 *                  P    | 32 units | the same |      packed (P, 32) panels: once a run; a block's stay in the
 *                       | b0   b1  |   32     |      second-level cache while all tiles of rows pass
 *            P          +----------+----------+--
 *          +--------+   +----------+----------+--
 *  13 rows | h tile |   |acc   acc |acc   acc |      then, in registers: gates, c and h of 13 rows x 32 units
 *          +--------+   +----------+----------+--
 *
 * The result is one buffer. y: the states of h, (T + 1, N, P), in order of time, the initial one at the end
 * where time runs; c (LSTM): (T + 1, N, H) against the scan's order, so that the last state comes first;
 * then, kept for the gradient, the gates (T, N, saved·H) and what a second product reads, (T, N, H):
 * o·tanh(c) before a projection, r·h before the last gate. Where nothing is kept their steps share one place
 * (stride 0). In steps beyond a row's length the state stays as it is, and gates are 0.
 *
 * The gradient walks back: dh of 32 units x 13 rows is the product of the gates' gradients of the step after
 * it with packed w, plus the given gradient; then the gates' gradients of these units. What reaches the state
 * before on another way (`keep`) and dc lie where dh0 and dc0 are in the end.
 *
 * The walk itself is in recurrent_walk_cpu.clh. The parameters are set in src/kernels/recurrent/recurrent_cpu.c:
 * WEFT_R_PANEL units of a panel (32 above), tiles of WEFT_R_ROWS rows (13), WEFT_R_FEW or 1, and WEFT_R_LINE words of
 * a cache line. */

#ifndef WEFT_RECURRENT_CPU
#define WEFT_RECURRENT_CPU

#define WEFT_R_ROOM_DEPTH 256
#define WEFT_R_ROOM_PITCH (WEFT_R_ROOM_DEPTH + 16)
/* The prefetch distance of a panel's rows, in steps of the depth. */
#define WEFT_R_PREFETCH 8

#include "recurrent_cell_cpu.clh"
#include "recurrent_share_cpu.clh"
#include "recurrent_tile_cpu.clh"

#endif

#include "recurrent_alone.clh"

/* See recurrent_walk_cpu.clh. */
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
