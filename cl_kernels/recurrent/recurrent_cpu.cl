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
 * The parameters are set in src/kernels/recurrent/recurrent_cpu.c: WEFT_R_PANEL units of a panel (32 above),
 * tiles of WEFT_R_ROWS rows (13), WEFT_R_FEW or 1, and WEFT_R_LINE words of a cache line. */

#ifndef WEFT_RECURRENT_CPU
#define WEFT_RECURRENT_CPU

#define WEFT_R_DEPTH 256
#define WEFT_R_PITCH (WEFT_R_DEPTH + 16)
#define WEFT_R_MOST  4 /* panels side by side */
/* The prefetch distance of a panel's rows, in steps of the depth. */
#define WEFT_R_PREFETCH 8

#include "recurrent_cell_cpu.clh"
#include "recurrent_share_cpu.clh"

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) recurrent_##suffix
#define WEFT_CELL         0
#define WEFT_PROJECT      1
#define WEFT_KEEP         1
#define WEFT_BACK         2
#define WEFT_R_ALONE
#endif

/* WEFT_CELL: 0 LSTM, 1 GRU, 2 GRU that resets h before its product, 3 RNN with tanh, 4 with relu.
 * WEFT_PROJECT: an LSTM's h is projected. WEFT_KEEP: the gradient is wanted. WEFT_BACK: 0 forward, 1 the
 * gradient, 2 both. */
#define WEFT_IS_LSTM (WEFT_CELL == 0)
#define WEFT_IS_GRU  (WEFT_CELL == 1 || WEFT_CELL == 2)
#define WEFT_SECOND  (WEFT_PROJECT || WEFT_CELL == 2) /* a step has a second product */
#if WEFT_CELL == 0
#define WEFT_GATES 4
#define WEFT_FIRST 4 /* gates of the first product */
#define WEFT_SAVED 4 /* what is kept of a unit */
#define WEFT_SPAN  1 /* blocks of units of one product */
#elif WEFT_CELL == 1
#define WEFT_GATES 3
#define WEFT_FIRST 3
#define WEFT_SAVED 4
#define WEFT_SPAN  1
#elif WEFT_CELL == 2
#define WEFT_GATES 3
#define WEFT_FIRST 2
#define WEFT_SAVED 3
#define WEFT_SPAN  1
#else
#define WEFT_GATES 1
#define WEFT_FIRST 1
#define WEFT_SAVED 0
#define WEFT_SPAN  4
#endif

/* Packs both matrices, a work-item a panel; the last `slices` work-items set the initial states of their rows
 * and look at their lengths. forward: the columns of a product are rows of the matrix, gate by gate for each
 * block of units; back: they are its columns. cells: the initial c stands at c_at of it; state: `lines` words
 * of helped work-items, which begin as 0. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void WEFT_NAME(prepare)(__global const float *w,
    long w_offset, __global const float *wr, long wr_offset, __global float *packed, long packed_offset,
    __global float *packed_r, long packed_r_offset, int has_first, __global const float *h0, long h0_offset,
    __global const float *c0, long c0_offset, int has_lengths, __global const int *lengths,
    long lengths_offset, __global float *y, long y_offset, __global int *faults, long faults_offset,
    int panels, int panels_r, int total, int batch, int units, int width, int rows, int transposed, long h_at,
    long c_at, __global float *cells, long cells_offset, __global int *state, long state_offset, int lines) {
    int item = (int)get_global_id(0);
    if (item == 0) WEFT_ROLLED for (int i = 0; i < lines; ++i) state[state_offset + i * WEFT_R_LINE] = 0;
    if (item < panels) {
        const int block = transposed ? item / WEFT_GATES : item, gate = transposed ? item % WEFT_GATES : 0;
        const int depth = transposed ? width : WEFT_GATES * units, left = WEFT_R_PANEL * block;
        w += w_offset + (transposed ? (gate * units + left) * (long)width : left);
        weft_r_pack(packed + packed_offset + item * (long)(WEFT_R_PANEL * depth), w, depth,
            (transposed ? units : width) - left, width, transposed);
        return;
    }
    item -= panels;
#if WEFT_PROJECT
    if (item < panels_r) {
        const int depth = transposed ? units : width, left = WEFT_R_PANEL * item;
        wr += wr_offset + (transposed ? left * (long)units : left);
        weft_r_pack(packed_r + packed_r_offset + item * (long)(WEFT_R_PANEL * depth), wr, depth,
            (transposed ? width : units) - left, units, transposed);
        return;
    }
    item -= panels_r;
#endif
    if (!transposed) return;
    const int top = item * rows, bottom = min(batch, top + rows);
    y += y_offset;
    cells += cells_offset + c_at;
    for (int n = top; has_lengths && n < bottom; ++n) {
        const int length = lengths[lengths_offset + n];
        if (length < 0 || length > total) WEFT_FAULT(faults, faults_offset, n);
    }
    WEFT_ROLLED for (int which = 0; which < (WEFT_CELL == 0 ? 2 : 1); ++which) {
        const long row = which ? units : width, end = (bottom - top) * row;
        const bool has = has_first >> which & 1;
        __global const float *from = which ? c0 + c0_offset : h0 + h0_offset;
        __global float *to = (which ? cells : y + h_at) + top * row;
        WEFT_ROLLED for (long i = 0; i < end; i += 16) {
            const int lanes = (int)min(16l, end - i);
            weft_r_store(to + i, weft_r_load(from + top * row + i, has ? lanes : 0), lanes);
        }
    }
}

#if WEFT_BACK != 1
/* A tile of rows of a block of `span` panels of units from u on, whose sums are there. */
static inline void WEFT_NAME(cells)(
    const weft_r_scan *scan, const weft_r_step *step, int u, int span, int row, int count) {
    const long units = scan->units;
    WEFT_ROLLED for (int r = 0; r < count; ++r) {
        const int n = row + r;
        const bool valid = weft_r_valid(scan, n, step->t);
        WEFT_ROLLED for (int q = 0; q < 2 * span; ++q) {
            const int j = u + 16 * q, lanes = scan->units - j;
            if (lanes <= 0) break;
            const long at = n * units + j;
            __global float *after = WEFT_SECOND ? step->more : step->after;
            const weft_r_unit unit = {step->x + n * WEFT_GATES * units + j, scan->bias ? scan->bias + j : 0,
                step->before + at, step->c_before + at, step->gates + n * WEFT_SAVED * units + j, after + at,
                step->c_after + at, scan->sums + (q / 2 * WEFT_FIRST * WEFT_R_ROWS + r) * 2 + q % 2, units,
                lanes, valid};
            if (WEFT_CELL == 0) weft_r_lstm(&unit, WEFT_PROJECT, WEFT_KEEP);
            if (WEFT_CELL == 1) weft_r_gru(&unit, WEFT_KEEP);
            if (WEFT_CELL == 2) weft_r_gru_reset(&unit);
            if (WEFT_CELL > 2) weft_r_rnn(&unit, WEFT_CELL == 4);
        }
    }
}

/* The first product of the units first .. end, and their cells. */
static inline void WEFT_NAME(units)(const weft_r_scan *scan, const weft_r_step *step, int first, int end) {
    const int products = (end - first + WEFT_R_PANEL * WEFT_SPAN - 1) / (WEFT_R_PANEL * WEFT_SPAN),
              width = scan->width;
    for (int i = 0; i < products; ++i) {
        /* To and fro: what the last step read last is still near. */
        const int u = first + WEFT_R_PANEL * WEFT_SPAN * (step->s % 2 ? products - 1 - i : i);
        const int span = min(WEFT_SPAN, (end - u + WEFT_R_PANEL - 1) / WEFT_R_PANEL);
        for (int row = scan->top; row < scan->bottom; row += WEFT_R_ROWS) {
            const int count = min(WEFT_R_ROWS, scan->bottom - row);
            weft_r_product(scan->sums, scan->tile, step->before + row * (long)width, width, count, width,
                scan->packed + (u / WEFT_R_PANEL) * (long)(WEFT_GATES * WEFT_R_PANEL) * width,
                WEFT_R_PANEL * (long)width, WEFT_FIRST * span);
            WEFT_NAME(cells)(scan, step, u, span, row, count);
        }
    }
}

/* The shares own .. last of the units: of a leader the others', too, where nobody brings them. */
static inline void WEFT_NAME(shares)(const weft_r_scan *scan, const weft_r_step *step, int own, int last) {
    for (int share = own; share <= last; ++share) {
        const int first = share * scan->blocks * WEFT_R_PANEL,
                  end = min(scan->units, first + scan->blocks * WEFT_R_PANEL);
        const long patience =
            100 + (long)(end - first) * WEFT_GATES * scan->width * (scan->bottom - scan->top) / 64;
        if (share > own && weft_r_brought(scan->state, share, step->s, patience)) continue;
        WEFT_NAME(units)(scan, step, first, end);
    }
}

#if WEFT_SECOND
/* A tile of rows of the second product, whose sums are there. */
static inline void WEFT_NAME(second_cells)(
    const weft_r_scan *scan, const weft_r_step *step, int u, int span, int row, int count) {
    const long units = scan->units;
    for (int r = 0; r < count; ++r) {
        const int n = row + r;
        const bool valid = weft_r_valid(scan, n, step->t);
        WEFT_ROLLED for (int q = 0; q < 2 * span; ++q) {
            const int j = u + 16 * q, lanes = scan->width - j;
            if (lanes <= 0) break;
            const long at = n * (long)scan->width + j;
            const weft_r_unit unit = {.x = step->x + n * WEFT_GATES * units + j,
                .before = step->before + at,
                .saved = step->gates + n * WEFT_SAVED * units + j,
                .after = step->after + at,
                .sums = scan->sums + (q / 2 * WEFT_R_ROWS + r) * 2 + q % 2,
                .units = units,
                .lanes = lanes,
                .valid = valid};
            if (WEFT_PROJECT)
                weft_r_projection(&unit);
            else
                weft_r_gru_reset_second(&unit);
        }
    }
}

/* The second product, for the units first .. end of h: the projection, or a GRU's n. */
static inline void WEFT_NAME(second)(const weft_r_scan *scan, const weft_r_step *step, int first, int end) {
    const long units = scan->units, size = WEFT_R_PANEL * units;
    for (int u = first; u < end; u += WEFT_R_PANEL * WEFT_R_MOST) {
        const int span = min(WEFT_R_MOST, (end - u + WEFT_R_PANEL - 1) / WEFT_R_PANEL);
        __global const float *panels = WEFT_PROJECT ? scan->packed_r + (u / WEFT_R_PANEL) * size
                                                    : scan->packed + ((u / WEFT_R_PANEL) * 3 + 2) * size;
        for (int row = scan->top; row < scan->bottom; row += WEFT_R_ROWS) {
            const int count = min(WEFT_R_ROWS, scan->bottom - row);
            weft_r_product(scan->sums, scan->tile, step->more + row * units, units, count, scan->units,
                panels, (WEFT_PROJECT ? 1 : 3) * size, span);
            WEFT_NAME(second_cells)(scan, step, u, span, row, count);
        }
    }
}
#endif

/* Work-item (rows, blocks of units). phases: 1 the first product and the gates, 2 the second product. cells:
 * c of all steps but the last, which stands at c_at of y; helped: whether work-items of the same rows walk
 * through time together. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void WEFT_NAME(forward)(__global const float *x,
    long x_offset, int has_bias, __global const float *bias, long bias_offset, int has_lengths,
    __global const int *lengths, long lengths_offset, __global float *y, long y_offset,
    __global const float *packed, long packed_offset, __global const float *packed_r, long packed_r_offset,
    int iteration, int steps, int phases, int total, int batch, int units, int width, int rows, int blocks,
    int reverse, int left, long c_at, long c_step, long gates_at, long gates_step, long more_at,
    long more_step, long cells_at, __global float *cells, long cells_offset, __global int *state,
    long state_offset, int helped) {
    const int top = (int)get_global_id(0) * rows, bottom = min(batch, top + rows);
    const long line = WEFT_GATES * (long)units, area = batch * (long)width;
    float16 sums[WEFT_R_MOST * WEFT_R_ROWS * 2], tile_room[WEFT_R_ROWS * WEFT_R_PITCH / 16];
    weft_r_clear(tile_room, WEFT_R_ROWS * WEFT_R_PITCH / 16);
    const weft_r_scan scan = {top, bottom, blocks, total, units, width, has_lengths, left,
        lengths + lengths_offset, packed + packed_offset, packed_r + packed_r_offset,
        has_bias ? bias + bias_offset : 0, state + state_offset, sums, (float *)tile_room};
    x += x_offset;
    y += y_offset;
    cells += cells_offset + cells_at;
    const int own = helped ? weft_r_arrive(scan.state) : (int)get_global_id(1);
    const int last_share = helped && own == 0 ? (int)get_global_size(1) - 1 : own;
    for (int s = iteration * steps; s < min(total, (iteration + 1) * steps); ++s) {
        if (helped && own > 0) {
            s = weft_r_join(scan.state, own, s, total);
            if (s >= total) break;
        }
        const int t = reverse ? total - 1 - s : s;
        const weft_r_step step = {s, t, x + t * (batch * line), y + (reverse ? t + 1 : t) * area,
            cells + (total - s) * c_step, y + (reverse ? t : t + 1) * area,
            s == total - 1 ? y + c_at : cells + (total - s - 1) * c_step, y + gates_at + t * gates_step,
            y + more_at + t * more_step};
        if (phases & 1) WEFT_NAME(shares)(&scan, &step, own, last_share);
        if (helped) weft_r_tell(scan.state, 1 + own, own ? s + 2 : s + 1);
#if WEFT_SECOND
        const int first = own * blocks * WEFT_R_PANEL;
        if (phases & 2) WEFT_NAME(second)(&scan, &step, first, min(width, first + blocks * WEFT_R_PANEL));
#endif
    }
}
#endif

#if WEFT_BACK != 0
/* Sixteen units of row n from j on, of `columns` in all. */
static inline weft_r_back_unit WEFT_NAME(back_unit)(
    const weft_r_scan *scan, const weft_r_back_step *step, int n, int j, int columns) {
    const long units = scan->units, at = n * (long)columns + j, wide = n * WEFT_GATES * units + j;
    const weft_r_back_unit unit = {step->gates + n * WEFT_SAVED * units + j, step->before + at,
        step->after + at, step->c_before + at, step->c_after + at, step->dc_given ? step->dc_given + at : 0,
        step->dx + wide, step->ds + wide, step->out + at, step->keep + at, step->dc + at, units, columns - j,
        weft_r_valid(scan, n, step->t), WEFT_IS_GRU || scan->has_lengths};
    return unit;
}

/* The same units' gradient from dh, whose product with the weights is `dh`. */
static inline void WEFT_NAME(back_cell)(
    const weft_r_scan *scan, const weft_r_back_step *step, int n, int j, float16 dh) {
    const int lanes = scan->width - j;
    const long at = n * (long)scan->width + j;
    if (step->dh_given) dh += weft_r_load(step->dh_given + at, lanes);
    if (step->s < 0) {
        weft_r_store(step->keep + at, dh, lanes);
        return;
    }
    if (step->dy) dh += weft_r_load_strided(step->dy + n * step->dy_n + j * step->dy_p, step->dy_p, lanes);
    const weft_r_back_unit unit = WEFT_NAME(back_unit)(scan, step, n, j, scan->width);
    if (WEFT_PROJECT) weft_r_projection_back(&unit, dh);
    if (!WEFT_PROJECT && WEFT_IS_LSTM) weft_r_lstm_back(&unit, dh, unit.keeps);
    if (WEFT_IS_GRU) weft_r_gru_back(&unit, dh, WEFT_CELL == 2);
    if (WEFT_CELL > 2) weft_r_rnn_back(&unit, dh, WEFT_CELL == 4);
}

/* The first product of the units first .. end, and their cells. */
static inline void WEFT_NAME(back_units)(
    const weft_r_scan *scan, const weft_r_back_step *step, int first, int end) {
    const long line = WEFT_GATES * (long)scan->units;
    for (int u = first; u < end; u += WEFT_R_PANEL * WEFT_R_MOST) {
        const int span = min(WEFT_R_MOST, (end - u + WEFT_R_PANEL - 1) / WEFT_R_PANEL);
        for (int row = scan->top; row < scan->bottom; row += WEFT_R_ROWS) {
            const int count = min(WEFT_R_ROWS, scan->bottom - row);
            if (step->ds_next)
                weft_r_product(scan->sums, scan->tile, step->ds_next + row * line, line, count,
                    WEFT_FIRST * scan->units, scan->packed + (u / WEFT_R_PANEL) * WEFT_R_PANEL * line,
                    WEFT_R_PANEL * line, span);
            else
                weft_r_clear(scan->sums, WEFT_R_MOST * WEFT_R_ROWS * 2);
            WEFT_ROLLED for (int r = 0; r < count; ++r) {
                WEFT_ROLLED for (int q = 0; q < 2 * span && u + 16 * q < scan->width; ++q)
                    WEFT_NAME(back_cell)(
                        scan, step, row + r, u + 16 * q, scan->sums[(q / 2 * WEFT_R_ROWS + r) * 2 + q % 2]);
            }
        }
    }
}

static inline void WEFT_NAME(back_shares)(
    const weft_r_scan *scan, const weft_r_back_step *step, int own, int last) {
    for (int share = own; share <= last; ++share) {
        const int first = share * scan->blocks * WEFT_R_PANEL,
                  end = min(scan->width, first + scan->blocks * WEFT_R_PANEL);
        const long patience =
            100 + (long)(end - first) * WEFT_FIRST * scan->units * (scan->bottom - scan->top) / 64;
        if (share > own && weft_r_brought(scan->state, share, step->at, patience)) continue;
        WEFT_NAME(back_units)(scan, step, first, end);
    }
}

#if WEFT_SECOND
/* The second product, for the units first .. end, and what waits for it. */
static inline void WEFT_NAME(back_second)(
    const weft_r_scan *scan, const weft_r_back_step *step, int first, int end) {
    const long units = scan->units, width = scan->width, line = WEFT_GATES * units;
    const long stride = WEFT_R_PANEL * (WEFT_PROJECT ? width : line);
    __global const float *from = WEFT_PROJECT ? step->out : step->dx + 2 * units;
    __global const float *panels = WEFT_PROJECT ? scan->packed_r : scan->packed + WEFT_R_PANEL * 2 * units;
    for (int u = first; u < end; u += WEFT_R_PANEL * WEFT_R_MOST) {
        const int span = min(WEFT_R_MOST, (end - u + WEFT_R_PANEL - 1) / WEFT_R_PANEL);
        for (int row = scan->top; row < scan->bottom; row += WEFT_R_ROWS) {
            const int count = min(WEFT_R_ROWS, scan->bottom - row);
            const long from_row = WEFT_PROJECT ? width : line;
            weft_r_product(scan->sums, scan->tile, from + row * from_row, from_row, count,
                WEFT_PROJECT ? scan->width : scan->units, panels + (u / WEFT_R_PANEL) * stride, stride, span);
            for (int r = 0; r < count; ++r) {
                WEFT_ROLLED for (int q = 0; q < 2 * span && u + 16 * q < scan->units; ++q) {
                    const float16 sum = scan->sums[(q / 2 * WEFT_R_ROWS + r) * 2 + q % 2];
                    const weft_r_back_unit unit =
                        WEFT_NAME(back_unit)(scan, step, row + r, u + 16 * q, scan->units);
                    if (WEFT_PROJECT)
                        weft_r_lstm_back(&unit, sum, false);
                    else
                        weft_r_gru_reset_back(&unit, sum);
                }
            }
        }
    }
}
#endif

/* Work-item (rows, blocks of 32). Iteration i belongs to step total - 1 - i of the scan; the one after the last is
 * dh0. d: the gradients of x (T, N, G·H) at 0, of what is added to the recurrent products (T, N, G·H) at
 * sums_at (the same but for a GRU), of h as a projection gives it (T, N, P) at out_at, dh0 and dc0. given: 1
 * dy, 2 dh of the last state, 4 its dc. rooms: what goes on to the next iteration of dh at 0 and of dc at
 * dc_room_at, `room_step` from iteration to iteration. helped: as forward. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void WEFT_NAME(back)(__global const float *y,
    long y_offset, int given, __global const float *dy, long dy_offset, __global const float *dh_last,
    long dh_last_offset, __global const float *dc_last, long dc_last_offset, int has_lengths,
    __global const int *lengths, long lengths_offset, __global float *d, long d_offset,
    __global const float *packed, long packed_offset, __global const float *packed_r, long packed_r_offset,
    int iteration, int steps, int iterations, int phases, int total, int batch, int units, int width,
    int rows, int blocks, int reverse, int left, long c_at, long gates_at, long sums_at, long out_at,
    long dh_at, long dc_at, long dy_t, long dy_n, long dy_p, long rooms_at, long dc_room_at, long room_step,
    __global float *rooms, long rooms_offset, __global int *state, long state_offset, int helped) {
    const int top = (int)get_global_id(0) * rows, bottom = min(batch, top + rows);
    const long line = WEFT_GATES * (long)units, area = batch * (long)width, c_area = batch * (long)units;
    float16 sums[WEFT_R_MOST * WEFT_R_ROWS * 2], tile_room[WEFT_R_ROWS * WEFT_R_PITCH / 16];
    weft_r_clear(tile_room, WEFT_R_ROWS * WEFT_R_PITCH / 16);
    const weft_r_scan scan = {top, bottom, blocks, total, units, width, has_lengths, left,
        lengths + lengths_offset, packed + packed_offset, packed_r + packed_r_offset, 0, state + state_offset,
        sums, (float *)tile_room};
    const bool keeps = WEFT_IS_GRU || has_lengths;
    __global const float *dh_end = given & 2 ? dh_last + dh_last_offset : 0,
                         *dc_end = given & 4 ? dc_last + dc_last_offset : 0;
    y += y_offset;
    d += d_offset;
    dy += dy_offset;
    rooms += rooms_offset + rooms_at;
    const int own = helped ? weft_r_arrive(scan.state) : (int)get_global_id(1);
    const int last_share = helped && own == 0 ? (int)get_global_size(1) - 1 : own;
    for (int current = iteration * steps; current < min(iterations, (iteration + 1) * steps); ++current) {
        if (helped && own > 0) {
            current = weft_r_join(scan.state, own, current, iterations);
            if (current >= iterations) break;
        }
        const int s = total - 1 - current, t = reverse ? total - 1 - s : s, next = reverse ? t - 1 : t + 1;
        const bool newest = s == total - 1;
        __global const float *c_after = y + c_at + (total - s - 1) * c_area;
        __global float *room = rooms + current * room_step, *room_before = room - room_step;
        const weft_r_back_step at = {current, s, t, y + (reverse ? t + 1 : t) * area,
            y + (reverse ? t : t + 1) * area, y + gates_at + t * (long)(WEFT_SAVED * units) * batch,
            c_after + c_area, c_after, newest ? 0 : d + sums_at + next * (batch * line),
            newest  ? dh_end
            : keeps ? room_before
                    : 0,
            newest ? dc_end : room_before + dc_room_at, given & 1 ? dy + t * dy_t : 0, dy_n, dy_p,
            d + t * (batch * line), d + sums_at + t * (batch * line), d + out_at + t * area,
            s < 0 ? d + dh_at : room, s == 0 ? d + dc_at : room + dc_room_at};
        if (phases & 1) WEFT_NAME(back_shares)(&scan, &at, own, last_share);
        if (helped) weft_r_tell(scan.state, 1 + own, own ? current + 2 : current + 1);
#if WEFT_SECOND
        const int first = own * blocks * WEFT_R_PANEL;
        if (s >= 0 && (phases & 2))
            WEFT_NAME(back_second)(&scan, &at, first, min(units, first + blocks * WEFT_R_PANEL));
#endif
    }
}
#endif

#undef WEFT_GATES
#undef WEFT_FIRST
#undef WEFT_SAVED
#undef WEFT_SPAN
#ifdef WEFT_R_ALONE
#undef WEFT_R_ALONE
#undef WEFT_NAME
#undef WEFT_CELL
#undef WEFT_IS_LSTM
#undef WEFT_IS_GRU
#undef WEFT_SECOND
#undef WEFT_PROJECT
#undef WEFT_KEEP
#undef WEFT_BACK
#endif
