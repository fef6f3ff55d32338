/* recurrent_gpu.cl: LSTM, GRU and RNN over time for devices with many work-items and local memory. It stands
 * after elementwise.clh and recurrent.clh.
 *
 * Formulas, layouts of the results and arguments are those of recurrent_cpu.cl, which describes them. Here a
 * launch is one step of time (`iteration`), or one of its two products where there are two: `phases`. A work-group
 * of 16 x 16 owns 16 units of 32 rows, with all gates: it brings tiles of 16 along the depth of h and of the
 * weights, gate by gate, into local memory, and each item multiplies its 2 rows of 1 unit; then, in
 * registers, gates, c and h:
 *
 *                          gate 0        gate 1      ...
 *                       +------------+------------+--
 *                  16   |  16 units  |  the same  |
 *            16         +------------+------------+--
 *          +----+       +------------+------------+--
 *     h    | 32 |       | item (x, y): unit x of rows y and y + 16, a sum for each gate
 *          +----+       +------------+------------+--
 *
 * The gradient of a step: the product of the gates' gradients of the step after it with the weights, for 16
 * units of 32 rows, plus the given gradient; then these units' gates.
 *
 * The parameters are set in src/kernels/recurrent/recurrent_gpu.c; the picture shows a WEFT_R_GROUP of 16 and
 * WEFT_R_LINES of 2. */

#ifndef WEFT_RECURRENT_GPU
#define WEFT_RECURRENT_GPU

#include "recurrent_cell_gpu.clh"

#define WEFT_R_ROWS   (WEFT_R_GROUP * WEFT_R_LINES)
#define WEFT_R_STEP   WEFT_R_GROUP /* along the depth: an item brings one element of it */
#define WEFT_R_A_ROOM (WEFT_R_STEP * (WEFT_R_ROWS + 1))
#define WEFT_R_B_ROOM (WEFT_R_STEP * (WEFT_R_GROUP + 1))
/* Of row i: chosen, so that the sums stay in registers while the cells' code stands there once. */
#define WEFT_R_SUM(gate) (i ? acc[(gate)*WEFT_R_LINES + 1] : acc[(gate)*WEFT_R_LINES])

/* acc[gate][line] = a (rows, depth) * b (depth, columns) of each gate; b's element k, column of a gate is at
 * gate * b_gate + k * b_k + column * b_column, and rows and columns past the last count as zero. All items of
 * the group come here. */
__attribute__((always_inline)) static inline void weft_r_product(float *acc, const int gates,
    __local float *a_tile, __local float *b_tile, __global const float *a, long a_row, int rows,
    __global const float *b, long b_gate, long b_k, long b_column, int columns, int depth) {
    const int x = (int)get_local_id(0), y = (int)get_local_id(1), item = y * WEFT_R_GROUP + x;
    for (int start = 0; start < depth; start += WEFT_R_STEP) {
        WEFT_UNROLL for (int i = 0; i < WEFT_R_LINES; ++i) {
            const int row = y + i * WEFT_R_GROUP;
            a_tile[x * (WEFT_R_ROWS + 1) + row] =
                row < rows && start + x < depth ? a[row * a_row + start + x] : 0.0f;
        }
        const int p = b_k == 1 ? item % WEFT_R_STEP : item / WEFT_R_STEP;
        const int c = b_k == 1 ? item / WEFT_R_STEP : item % WEFT_R_STEP;
        WEFT_UNROLL for (int g = 0; g < gates; ++g) b_tile[g * WEFT_R_B_ROOM + p * (WEFT_R_GROUP + 1) + c] =
            c < columns && start + p < depth ? b[g * b_gate + (start + p) * b_k + c * b_column] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
        WEFT_ROLLED for (int k = 0; k < WEFT_R_STEP; ++k) {
            float from_a[WEFT_R_LINES];
            WEFT_UNROLL for (int i = 0; i < WEFT_R_LINES; ++i) from_a[i] =
                a_tile[k * (WEFT_R_ROWS + 1) + y + i * WEFT_R_GROUP];
            WEFT_UNROLL for (int g = 0; g < gates; ++g) {
                const float from_b = b_tile[g * WEFT_R_B_ROOM + k * (WEFT_R_GROUP + 1) + x];
                WEFT_UNROLL for (int i = 0; i < WEFT_R_LINES; ++i) acc[g * WEFT_R_LINES + i] =
                    WEFT_MULTIPLY_ADD(from_a[i], from_b, acc[g * WEFT_R_LINES + i]);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* One step of time: the rows and columns of the group, the states before and after the step, what it reads, and
 * what it keeps. */
typedef struct weft_r_step {
    int top, batch, units, width, t, total;
    int has_lengths, left;
    __global const int *lengths;
    __global const float *x, *bias, *before, *c_before;
    __global float *after, *c_after, *gates, *more;
} weft_r_step;

/* The gradient of one step. What is not given, or is not there yet, is NULL. */
typedef struct weft_r_back_step {
    int top, batch, units, width, s, t, total;
    int has_lengths, left;
    __global const int *lengths;
    __global const float *before, *after, *gates, *c_before, *c_after;
    __global const float *dh_given, *dc_given, *dy;
    long dy_n, dy_p;
    __global float *dx, *ds, *out, *keep, *dc;
} weft_r_back_step;

static inline bool weft_r_valid(
    __global const int *lengths, bool has_lengths, int n, int t, int total, bool left) {
    if (!has_lengths) return true;
    return left ? t >= total - lengths[n] : t < lengths[n];
}

/* The row of an item's line i. */
static inline int weft_r_row(int top, int i) {
    return top + (int)get_local_id(1) + i * WEFT_R_GROUP;
}

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) recurrent_##suffix
#define WEFT_CELL         0
#define WEFT_PROJECT      1
#define WEFT_KEEP         1
#define WEFT_BACK         2
#define WEFT_R_ALONE
#endif

#define WEFT_IS_LSTM (WEFT_CELL == 0)
#define WEFT_IS_GRU  (WEFT_CELL == 1 || WEFT_CELL == 2)
#define WEFT_SECOND  (WEFT_PROJECT || WEFT_CELL == 2) /* a step has a second product */
#if WEFT_CELL == 0
#define WEFT_GATES 4
#define WEFT_FIRST 4
#define WEFT_SAVED 4
#elif WEFT_CELL == 1
#define WEFT_GATES 3
#define WEFT_FIRST 3
#define WEFT_SAVED 4
#elif WEFT_CELL == 2
#define WEFT_GATES 3
#define WEFT_FIRST 2
#define WEFT_SAVED 3
#else
#define WEFT_GATES 1
#define WEFT_FIRST 1
#define WEFT_SAVED 0
#endif

#if WEFT_BACK != 1
/* A work-item an element of the states: the initial ones; it also looks at the lengths. */
__kernel __attribute__((reqd_work_group_size(WEFT_R_PREPARE, 1, 1))) void WEFT_NAME(prepare)(
    __global const float *w, long w_offset, __global const float *wr, long wr_offset, __global float *packed,
    long packed_offset, __global float *packed_r, long packed_r_offset, int has_first,
    __global const float *h0, long h0_offset, __global const float *c0, long c0_offset, int has_lengths,
    __global const int *lengths, long lengths_offset, __global float *y, long y_offset, __global int *faults,
    long faults_offset, int panels, int panels_r, int total, int batch, int units, int width, int rows,
    int transposed, long h_at, long c_at) {
    const long item = (long)get_global_id(0);
    y += y_offset;
    if (has_lengths && item < batch) {
        const int length = lengths[lengths_offset + item];
        if (length < 0 || length > total) WEFT_FAULT(faults, faults_offset, item);
    }
    if (item < batch * (long)width) y[h_at + item] = has_first & 1 ? h0[h0_offset + item] : 0.0f;
#if WEFT_CELL == 0
    if (item < batch * (long)units) y[c_at + item] = has_first & 2 ? c0[c0_offset + item] : 0.0f;
#endif
}

/* The cells of the group's units, whose sums are there. */
static inline void WEFT_NAME(cells)(const weft_r_step *step, const float *acc) {
    const int j = (int)get_global_id(0);
    const long units = step->units;
    WEFT_ROLLED for (int i = 0; i < WEFT_R_LINES; ++i) {
        const int n = weft_r_row(step->top, i);
        if (n >= step->batch || j >= units) continue;
        const long at = n * units + j;
        __global float *after = WEFT_SECOND ? step->more : step->after;
        const weft_r_unit unit = {step->x + n * WEFT_GATES * units + j, step->bias ? step->bias + j : 0,
            step->before + at, step->c_before + at, step->gates + n * WEFT_SAVED * units + j, after + at,
            step->c_after + at, units,
            weft_r_valid(step->lengths, step->has_lengths, n, step->t, step->total, step->left)};
        float sums[WEFT_FIRST];
        WEFT_UNROLL for (int gate = 0; gate < WEFT_FIRST; ++gate) sums[gate] = WEFT_R_SUM(gate);
        if (WEFT_CELL == 0) weft_r_lstm(&unit, sums, WEFT_PROJECT, WEFT_KEEP);
        if (WEFT_CELL == 1) weft_r_gru(&unit, sums, WEFT_KEEP);
        if (WEFT_CELL == 2) weft_r_gru_reset(&unit, sums);
        if (WEFT_CELL > 2) weft_r_rnn(&unit, sums[0], WEFT_CELL == 4);
    }
}

#if WEFT_SECOND
/* What the second product gives: h as projected, or a GRU's n and h. */
static inline void WEFT_NAME(second_cells)(const weft_r_step *step, const float *acc) {
    const int j = (int)get_global_id(0);
    const long units = step->units;
    WEFT_ROLLED for (int i = 0; i < WEFT_R_LINES; ++i) {
        const int n = weft_r_row(step->top, i);
        if (n >= step->batch || j >= step->width) continue;
        const long at = n * (long)step->width + j;
        const bool valid =
            weft_r_valid(step->lengths, step->has_lengths, n, step->t, step->total, step->left);
#if WEFT_PROJECT
        step->after[at] = valid ? WEFT_R_SUM(0) : step->before[at];
#else
        const weft_r_unit unit = {.x = step->x + n * WEFT_GATES * units + j,
            .before = step->before + at,
            .saved = step->gates + n * WEFT_SAVED * units + j,
            .after = step->after + at,
            .units = units,
            .valid = valid};
        weft_r_gru_reset_second(&unit, WEFT_R_SUM(0));
#endif
    }
}
#endif

/* Work-group (columns, rows). phases: 1 the first product and the gates, 2 the second product. */
__kernel __attribute__((reqd_work_group_size(WEFT_R_GROUP, WEFT_R_GROUP, 1))) void WEFT_NAME(forward)(
    __global const float *x, long x_offset, int has_bias, __global const float *bias, long bias_offset,
    int has_lengths, __global const int *lengths, long lengths_offset, __global float *y, long y_offset,
    __global const float *w, long w_offset, __global const float *wr, long wr_offset, int iteration,
    int steps, int phases, int total, int batch, int units, int width, int rows, int blocks, int reverse,
    int left, long c_at, long c_step, long gates_at, long gates_step, long more_at, long more_step) {
    __local float a_tile[WEFT_R_A_ROOM], b_tile[WEFT_FIRST * WEFT_R_B_ROOM];
    const int s = iteration, t = reverse ? total - 1 - s : s;
    const int corner = (int)get_group_id(0) * WEFT_R_GROUP, top = (int)get_group_id(1) * WEFT_R_ROWS;
    const long line = WEFT_GATES * (long)units, area = batch * (long)width;
    y += y_offset;
    w += w_offset;
    wr += wr_offset;
    const weft_r_step step = {top, batch, units, width, t, total, has_lengths, left, lengths + lengths_offset,
        x + x_offset + t * (batch * line), has_bias ? bias + bias_offset : 0,
        y + (reverse ? t + 1 : t) * area, y + c_at + (total - s) * c_step, y + (reverse ? t : t + 1) * area,
        y + c_at + (total - s - 1) * c_step, y + gates_at + t * gates_step, y + more_at + t * more_step};
    float acc[WEFT_FIRST * WEFT_R_LINES];
    WEFT_UNROLL for (int i = 0; i < WEFT_FIRST * WEFT_R_LINES; ++i) acc[i] = 0.0f;
    if (phases & 1) {
        weft_r_product(acc, WEFT_FIRST, a_tile, b_tile, step.before + top * (long)width, width, batch - top,
            w + corner * (long)width, units * (long)width, 1, width, units - corner, width);
        WEFT_NAME(cells)(&step, acc);
    }
#if WEFT_SECOND
    if (phases & 2) {
        __global const float *second = WEFT_PROJECT ? wr : w + 2 * (long)units * units;
        weft_r_product(acc, 1, a_tile, b_tile, step.more + top * (long)units, units, batch - top,
            second + corner * (long)units, 0, 1, units, width - corner, units);
        WEFT_NAME(second_cells)(&step, acc);
    }
#endif
}
#endif

#if WEFT_BACK != 0
/* One unit of row n, column j of `columns`. */
static inline weft_r_back_unit WEFT_NAME(back_unit)(const weft_r_back_step *step, int n, int j, int columns) {
    const long units = step->units, at = n * (long)columns + j, wide = n * WEFT_GATES * units + j;
    const weft_r_back_unit unit = {step->gates + n * WEFT_SAVED * units + j, step->before + at,
        step->after + at, step->c_before + at, step->c_after + at, step->dc_given ? step->dc_given + at : 0,
        step->dx + wide, step->ds + wide, step->out + at, step->keep + at, step->dc + at, units,
        weft_r_valid(step->lengths, step->has_lengths, n, step->t, step->total, step->left),
        WEFT_IS_GRU || step->has_lengths};
    return unit;
}

/* The gradient of the group's units, whose sums are there. */
static inline void WEFT_NAME(back_cells)(const weft_r_back_step *step, const float *acc) {
    const int j = (int)get_global_id(0);
    WEFT_ROLLED for (int i = 0; i < WEFT_R_LINES; ++i) {
        const int n = weft_r_row(step->top, i);
        if (n >= step->batch || j >= step->width) continue;
        const long at = n * (long)step->width + j;
        float dh = WEFT_R_SUM(0);
        if (step->dh_given) dh += step->dh_given[at];
        if (step->s < 0) {
            step->keep[at] = dh;
            continue;
        }
        if (step->dy) dh += step->dy[n * step->dy_n + j * step->dy_p];
        const weft_r_back_unit unit = WEFT_NAME(back_unit)(step, n, j, step->width);
        if (WEFT_PROJECT) weft_r_projection_back(&unit, dh);
        if (!WEFT_PROJECT && WEFT_IS_LSTM) {
            weft_r_keep(&unit, dh);
            weft_r_lstm_back(&unit, dh);
        }
        if (WEFT_IS_GRU) weft_r_gru_back(&unit, dh, WEFT_CELL == 2);
        if (WEFT_CELL > 2) weft_r_rnn_back(&unit, dh, WEFT_CELL == 4);
    }
}

#if WEFT_SECOND
/* What waits for the second product. */
static inline void WEFT_NAME(back_second_cells)(const weft_r_back_step *step, const float *acc) {
    const int j = (int)get_global_id(0);
    WEFT_ROLLED for (int i = 0; i < WEFT_R_LINES; ++i) {
        const int n = weft_r_row(step->top, i);
        if (n >= step->batch || j >= step->units) continue;
        const weft_r_back_unit unit = WEFT_NAME(back_unit)(step, n, j, step->units);
        if (WEFT_PROJECT)
            weft_r_lstm_back(&unit, WEFT_R_SUM(0));
        else
            weft_r_gru_reset_back(&unit, WEFT_R_SUM(0));
    }
}
#endif

/* Work-group (columns, rows). Iteration i belongs to step total - 1 - i of the scan; the one after the last is
 * dh0. */
__kernel __attribute__((reqd_work_group_size(WEFT_R_GROUP, WEFT_R_GROUP, 1))) void WEFT_NAME(back)(
    __global const float *y, long y_offset, int given, __global const float *dy, long dy_offset,
    __global const float *dh_last, long dh_last_offset, __global const float *dc_last, long dc_last_offset,
    int has_lengths, __global const int *lengths, long lengths_offset, __global float *d, long d_offset,
    __global const float *w, long w_offset, __global const float *wr, long wr_offset, int iteration,
    int steps, int iterations, int phases, int total, int batch, int units, int width, int rows, int blocks,
    int reverse, int left, long c_at, long gates_at, long sums_at, long out_at, long dh_at, long dc_at,
    long dy_t, long dy_n, long dy_p) {
    __local float a_tile[WEFT_R_A_ROOM], b_tile[WEFT_R_B_ROOM];
    const int s = total - 1 - iteration, t = reverse ? total - 1 - s : s, next = reverse ? t - 1 : t + 1;
    const int corner = (int)get_group_id(0) * WEFT_R_GROUP, top = (int)get_group_id(1) * WEFT_R_ROWS;
    const bool newest = s == total - 1, keeps = WEFT_IS_GRU || has_lengths;
    const long line = WEFT_GATES * (long)units, area = batch * (long)width, c_step = batch * (long)units;
    y += y_offset;
    d += d_offset;
    w += w_offset;
    wr += wr_offset;
    __global float *keep = d + dh_at, *dc_room = d + dc_at;
    __global const float *dh_end = given & 2 ? dh_last + dh_last_offset : 0,
                         *dc_end = given & 4 ? dc_last + dc_last_offset : 0;
    __global const float *c_after = y + c_at + (total - s - 1) * c_step;
    const weft_r_back_step at = {top, batch, units, width, s, t, total, has_lengths, left,
        lengths + lengths_offset, y + (reverse ? t + 1 : t) * area, y + (reverse ? t : t + 1) * area,
        y + gates_at + t * (long)(WEFT_SAVED * units) * batch, c_after + c_step, c_after,
        newest  ? dh_end
        : keeps ? keep
                : 0,
        newest ? dc_end : dc_room, given & 1 ? dy + dy_offset + t * dy_t : 0, dy_n, dy_p,
        d + t * (batch * line), d + sums_at + t * (batch * line), d + out_at + t * area, keep, dc_room};
    float acc[WEFT_R_LINES];
    WEFT_UNROLL for (int i = 0; i < WEFT_R_LINES; ++i) acc[i] = 0.0f;
    if (phases & 1) {
        if (!newest)
            weft_r_product(acc, 1, a_tile, b_tile, d + sums_at + next * (batch * line) + top * line, line,
                batch - top, w + corner, 0, width, 1, width - corner, WEFT_FIRST * units);
        WEFT_NAME(back_cells)(&at, acc);
    }
#if WEFT_SECOND
    if ((phases & 2) && s >= 0) {
#if WEFT_PROJECT
        weft_r_product(acc, 1, a_tile, b_tile, at.out + top * (long)width, width, batch - top, wr + corner, 0,
            units, 1, units - corner, width);
#else
        weft_r_product(acc, 1, a_tile, b_tile, at.dx + top * line + 2 * (long)units, line, batch - top,
            w + 2 * (long)units * units + corner, 0, units, 1, units - corner, units);
#endif
        WEFT_NAME(back_second_cells)(&at, acc);
    }
#endif
}
#endif

#undef WEFT_GATES
#undef WEFT_FIRST
#undef WEFT_SAVED
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
