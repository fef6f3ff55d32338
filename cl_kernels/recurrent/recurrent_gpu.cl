/* recurrent_gpu.cl: LSTM, GRU and RNN over time for devices with many work-items and local memory. It stands
 * after elementwise.clh and recurrent.clh.
 *
 * Formulas, layouts of the results and arguments are those of recurrent_cpu.cl, which describes them. A work-group
 * owns 8 rows of the batch. With one group across it walks over all columns of a step, and through `steps` steps of
 * time, since its rows need nothing of other groups; with several across, each has the columns of its chunks, and a
 * launch is one step (`iteration`), or one of its two products where there are two (`phases`).
 *
 * A product's columns are quads: the gates of a unit where a step's first product has several, else four
 * neighbours. `pack` writes the weights as quads, k by k, with zeros where there is no gate, column or k. Each item
 * reads its quads from there, as no other item of the group needs them, four ahead of those that it multiplies with 8
 * rows of the states in local memory. Four items, the slices, share a quad's depth:
 *
 *                           quads of a chunk (WEFT_R_ACROSS)
 *                          +--------------------------------+
 *            k = 4 i + 0   |  item (x, 0): quad x, 8 rows   |
 *            k = 4 i + 1   |  item (x, 1): the same         |
 *            ...           +--------------------------------+
 *
 * Their sums meet in local memory, four rows at a time, and each item computes gates, c and h of one row from there.
 *
 * The gradient of a step: the product of the gates' gradients of the step after it with the weights, plus the
 * given gradient; then these units' gates.
 *
 * The parameters are set in src/kernels/recurrent/recurrent_gpu.c. */

#ifndef WEFT_RECURRENT_GPU
#define WEFT_RECURRENT_GPU

#include "recurrent_cell_gpu.clh"
#include "recurrent_tile_gpu.clh"

/* One step of time: the states before and after the step, what it reads, and what it keeps. */
typedef struct weft_r_step {
    int batch, units, width, t, total;
    int has_lengths, left;
    __global const int *lengths;
    __global const float *x, *bias, *before, *c_before;
    __global float *after, *c_after, *gates, *more;
} weft_r_step;

/* The gradient of one step. What is not given, or is not there yet, is NULL. */
typedef struct weft_r_back_step {
    int batch, units, width, s, t, total;
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
#define WEFT_GATED   (WEFT_CELL <= 2)                 /* the first product of a step has several gates */
#if WEFT_SECOND
#define WEFT_R_PHASES(phase, phases)                                                                         \
    WEFT_ROLLED for (int phase = (phases)&1 ? 1 : 2; phase <= ((phases)&2 ? 2 : 1); ++phase)
#else
#define WEFT_R_PHASES(phase, phases) for (int phase = 1; phase == 1; ++phase)
#endif
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

/* A work-item a quad of a product's weights. Element e of quad q is column q * quad + e * element, if e is one of
 * `each`; the column's numbers begin at column * across, and are `down` apart. */
__kernel __attribute__((reqd_work_group_size(WEFT_R_PREPARE, 1, 1))) void WEFT_NAME(pack)(
    __global const float *w, long w_offset, __global float *packed, long packed_offset, int depth, int quads,
    int columns, int quad, int element, int each, long first, long across, long down) {
    const long item = (long)get_global_id(0);
    const int rows = WEFT_R_PACKED(depth), k = (int)(item % rows), q = (int)(item / rows),
              x = q % WEFT_R_ACROSS;
    if (q - x >= quads) return;
    w += w_offset + first + k * down;
    float4 numbers = (float4)(0.0f);
    WEFT_ROLLED for (int e = 0; e < 4; ++e) {
        const int column = q * quad + e * element;
        const float number =
            k < depth && q < quads && e < each && column < columns ? w[column * across] : 0.0f;
        numbers = (float4)(numbers.s1, numbers.s2, numbers.s3, number);
    }
    ((__global float4 *)(packed + packed_offset))[WEFT_R_PACKED_AT(q - x, rows, k, x)] = numbers;
}

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

/* The cell of unit j of row n, from the sums of its gates. */
static inline void WEFT_NAME(cell)(const weft_r_step *step, int n, int j, float4 quad) {
    const int units = step->units, at = n * units + j;
    __global float *after = WEFT_SECOND ? step->more : step->after;
    const weft_r_unit unit = {step->x + n * WEFT_GATES * units + j, step->bias ? step->bias + j : 0,
        step->before + at, step->c_before + at, step->gates + n * WEFT_SAVED * units + j, after + at,
        step->c_after + at, units,
        weft_r_valid(step->lengths, step->has_lengths, n, step->t, step->total, step->left)};
    const float sums[4] = {quad.s0, quad.s1, quad.s2, quad.s3};
    if (WEFT_CELL == 0) weft_r_lstm(&unit, sums, WEFT_PROJECT, WEFT_KEEP);
    if (WEFT_CELL == 1) weft_r_gru(&unit, sums, WEFT_KEEP);
    if (WEFT_CELL == 2) weft_r_gru_reset(&unit, sums);
    if (WEFT_CELL > 2) weft_r_rnn(&unit, quad.s0, WEFT_CELL == 4);
}

#if WEFT_SECOND
/* What the second product gives: h as projected, or a GRU's n and h. */
static inline void WEFT_NAME(second_cell)(const weft_r_step *step, int n, int j, float sum) {
    const int units = step->units, at = n * step->width + j;
    const bool valid = weft_r_valid(step->lengths, step->has_lengths, n, step->t, step->total, step->left);
#if WEFT_PROJECT
    step->after[at] = valid ? sum : step->before[at];
#else
    const weft_r_unit unit = {.x = step->x + n * WEFT_GATES * units + j,
        .before = step->before + at,
        .saved = step->gates + n * WEFT_SAVED * units + j,
        .after = step->after + at,
        .units = units,
        .valid = valid};
    weft_r_gru_reset_second(&unit, sum);
#endif
}
#endif

/* What the item computes of a product's sums in local memory: of row n, in the chunk that begins with quad `corner`. */
static inline void WEFT_NAME(finish)(
    const weft_r_step *step, int phase, __local const float4 *room, int corner, int n) {
    if (n >= step->batch) return;
    if (WEFT_GATED && phase == 1) {
        const int j = corner + WEFT_R_X;
        if (j < step->units) WEFT_NAME(cell)(step, n, j, weft_r_quad(room));
        return;
    }
    WEFT_ROLLED for (int e = 0; e < 4; ++e) {
        const int j = 4 * corner + e * WEFT_R_ACROSS + WEFT_R_X;
        if (j >= step->width) continue;
        const float sum = weft_r_number(room, e);
#if WEFT_SECOND
        WEFT_NAME(second_cell)(step, n, j, sum);
#elif !WEFT_GATED
        WEFT_NAME(cell)(step, n, j, (float4)(sum));
#endif
    }
}

/* Work-group (chunks, rows). phases: 1 the first product and the gates, 2 the second product. */
__kernel __attribute__((reqd_work_group_size(WEFT_R_ITEMS, 1, 1))) void WEFT_NAME(forward)(
    __global const float *x, long x_offset, int has_bias, __global const float *bias, long bias_offset,
    int has_lengths, __global const int *lengths, long lengths_offset, __global float *y, long y_offset,
    __global const float *w, long w_offset, __global const float *wr, long wr_offset, int iteration,
    int steps, int phases, int total, int batch, int units, int width, int rows, int blocks, int reverse,
    int left, long c_at, long c_step, long gates_at, long gates_step, long more_at, long more_step) {
    __local float4 room[WEFT_R_ROOM];
    __local int now; /* the step, read where it is used, so that addresses do not take registers before */
    const int top = (int)get_group_id(1) * WEFT_R_ROWS;
    const int line = WEFT_GATES * units;
    const long area = batch * (long)width;
    y += y_offset;
    WEFT_ROLLED for (int s = iteration * steps; s < min((iteration + 1) * steps, total); ++s) {
        if (get_local_id(0) == 0) now = s;
        WEFT_R_PHASES(phase, phases) {
            const bool second = WEFT_SECOND && phase == 2;
            const int depth = second ? units : width;
            const int quads = WEFT_GATED && !second ? units : WEFT_R_QUADS(width);
            const long t = reverse ? total - 1 - s : s;
            __global const float *a = y + (second ? more_at + t * more_step : (reverse ? t + 1 : t) * area);
            __global const float4 *b = (__global const float4 *)(second ? wr + wr_offset : w + w_offset);
            WEFT_R_CHUNKS(corner, quads) {
                float4 acc[WEFT_R_ROWS];
                weft_r_product(acc, room, a + top * (long)depth, depth, batch - top, depth,
                    b + WEFT_R_PACKED_AT(corner, WEFT_R_PACKED(depth), 0, 0));
                WEFT_ROLLED for (int row = 0; row < WEFT_R_ROWS; row += WEFT_R_SLICES) {
                    weft_r_spread(acc, room);
                    barrier(CLK_LOCAL_MEM_FENCE);
                    const int i = now, at = reverse ? total - 1 - i : i;
                    const weft_r_step step = {batch, units, width, at, total, has_lengths, left,
                        lengths + lengths_offset, x + x_offset + at * (batch * (long)line),
                        has_bias ? bias + bias_offset : 0, y + (reverse ? at + 1 : at) * area,
                        y + c_at + (total - i) * c_step, y + (reverse ? at : at + 1) * area,
                        y + c_at + (total - i - 1) * c_step, y + gates_at + at * gates_step,
                        y + more_at + at * more_step};
                    WEFT_NAME(finish)(&step, phase, room, corner, top + row + WEFT_R_Z);
                    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
                }
            }
        }
    }
}
#endif

#if WEFT_BACK != 0
/* One unit of row n, column j of `columns`. */
static inline weft_r_back_unit WEFT_NAME(back_unit)(const weft_r_back_step *step, int n, int j, int columns) {
    const int units = step->units, at = n * columns + j, wide = n * WEFT_GATES * units + j;
    const weft_r_back_unit unit = {step->gates + n * WEFT_SAVED * units + j, step->before + at,
        step->after + at, step->c_before + at, step->c_after + at, step->dc_given ? step->dc_given + at : 0,
        step->dx + wide, step->ds + wide, step->out + at, step->keep + at, step->dc + at, units,
        weft_r_valid(step->lengths, step->has_lengths, n, step->t, step->total, step->left),
        WEFT_IS_GRU || step->has_lengths};
    return unit;
}

/* The gradient of unit j of row n, whose product is there. */
static inline void WEFT_NAME(back_cell)(const weft_r_back_step *step, int n, int j, float dh) {
    const int at = n * step->width + j;
    if (step->dh_given) dh += step->dh_given[at];
    if (step->s < 0) {
        step->keep[at] = dh;
        return;
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

#if WEFT_SECOND
/* What waits for the second product. */
static inline void WEFT_NAME(back_second_cell)(const weft_r_back_step *step, int n, int j, float sum) {
    const weft_r_back_unit unit = WEFT_NAME(back_unit)(step, n, j, step->units);
    if (WEFT_PROJECT)
        weft_r_lstm_back(&unit, sum);
    else
        weft_r_gru_reset_back(&unit, sum);
}
#endif

/* As `finish`. */
static inline void WEFT_NAME(back_finish)(
    const weft_r_back_step *step, int phase, __local const float4 *room, int corner, int n) {
    if (n >= step->batch) return;
    WEFT_ROLLED for (int e = 0; e < 4; ++e) {
        const int j = 4 * corner + e * WEFT_R_ACROSS + WEFT_R_X;
        if (j >= (phase == 2 ? step->units : step->width)) continue;
        const float sum = weft_r_number(room, e);
#if WEFT_SECOND
        if (phase == 2) {
            if (step->s >= 0) WEFT_NAME(back_second_cell)(step, n, j, sum);
            continue;
        }
#endif
        WEFT_NAME(back_cell)(step, n, j, sum);
    }
}

/* Work-group (chunks, rows). Iteration i belongs to step total - 1 - i of the scan; the one after the last is
 * dh0. */
__kernel __attribute__((reqd_work_group_size(WEFT_R_ITEMS, 1, 1))) void WEFT_NAME(back)(
    __global const float *y, long y_offset, int given, __global const float *dy, long dy_offset,
    __global const float *dh_last, long dh_last_offset, __global const float *dc_last, long dc_last_offset,
    int has_lengths, __global const int *lengths, long lengths_offset, __global float *d, long d_offset,
    __global const float *w, long w_offset, __global const float *wr, long wr_offset, int iteration,
    int steps, int iterations, int phases, int total, int batch, int units, int width, int rows, int blocks,
    int reverse, int left, long c_at, long gates_at, long sums_at, long out_at, long dh_at, long dc_at,
    long dy_t, long dy_n, long dy_p) {
    __local float4 room[WEFT_R_ROOM];
    __local int now; /* the step, read where it is used, so that addresses do not take registers before */
    const int top = (int)get_group_id(1) * WEFT_R_ROWS;
    const bool keeps = WEFT_IS_GRU || has_lengths;
    const int line = WEFT_GATES * units;
    const long area = batch * (long)width, c_step = batch * (long)units;
    y += y_offset;
    d += d_offset;
    __global float *keep = d + dh_at, *dc_room = d + dc_at;
    __global const float *dh_end = given & 2 ? dh_last + dh_last_offset : 0,
                         *dc_end = given & 4 ? dc_last + dc_last_offset : 0;
    WEFT_ROLLED for (int i = iteration * steps; i < min((iteration + 1) * steps, iterations); ++i) {
        const int s = total - 1 - i, t = reverse ? total - 1 - s : s, next = reverse ? t - 1 : t + 1;
        if (get_local_id(0) == 0) now = s;
        WEFT_R_PHASES(phase, phases) {
            const bool second = WEFT_SECOND && phase == 2;
            const int quads = WEFT_R_QUADS(second ? units : width);
            __global const float *a = d + sums_at + next * (batch * (long)line);
            const int whole = second ? (WEFT_PROJECT ? width : units) : WEFT_FIRST * units,
                      depth = (second ? s < 0 : i == 0) ? 0 : whole;
            const int a_row = second && WEFT_PROJECT ? width : line;
            if (second)
                a = d + (WEFT_PROJECT ? out_at + t * area : t * (batch * (long)line) + 2 * (long)units);
            __global const float4 *b = (__global const float4 *)(second ? wr + wr_offset : w + w_offset);
            WEFT_R_CHUNKS(corner, quads) {
                float4 acc[WEFT_R_ROWS];
                weft_r_product(acc, room, a + top * (long)a_row, a_row, batch - top, depth,
                    b + WEFT_R_PACKED_AT(corner, WEFT_R_PACKED(whole), 0, 0));
                WEFT_ROLLED for (int row = 0; row < WEFT_R_ROWS; row += WEFT_R_SLICES) {
                    weft_r_spread(acc, room);
                    barrier(CLK_LOCAL_MEM_FENCE);
                    const int at = now, slot = reverse ? total - 1 - at : at;
                    const bool newest = at == total - 1;
                    __global const float *c_after = y + c_at + (total - 1 - at) * c_step;
                    const weft_r_back_step step = {batch, units, width, at, slot, total, has_lengths, left,
                        lengths + lengths_offset, y + (reverse ? slot + 1 : slot) * area,
                        y + (reverse ? slot : slot + 1) * area,
                        y + gates_at + slot * (long)(WEFT_SAVED * units) * batch, c_after + c_step, c_after,
                        newest  ? dh_end
                        : keeps ? keep
                                : 0,
                        newest ? dc_end : dc_room, given & 1 ? dy + dy_offset + slot * dy_t : 0, dy_n, dy_p,
                        d + slot * (batch * (long)line), d + sums_at + slot * (batch * (long)line),
                        d + out_at + slot * area, keep, dc_room};
                    WEFT_NAME(back_finish)(&step, phase, room, corner, top + row + WEFT_R_Z);
                    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
                }
            }
        }
    }
}
#endif

#undef WEFT_R_PHASES
#undef WEFT_GATES
#undef WEFT_FIRST
#undef WEFT_SAVED
#ifdef WEFT_R_ALONE
#undef WEFT_R_ALONE
#undef WEFT_NAME
#undef WEFT_CELL
#undef WEFT_IS_LSTM
#undef WEFT_IS_GRU
#undef WEFT_GATED
#undef WEFT_SECOND
#undef WEFT_PROJECT
#undef WEFT_KEEP
#undef WEFT_BACK
#endif
