/* recurrent_gpu.cl: LSTM, GRU and RNN over time for devices with many work-items and local memory. It stands
 * after elementwise.clh and recurrent.clh.
 *
 * Formulas, layouts of the results and arguments are those of recurrent_cpu.cl, which tells them. Here a
 * launch is one step of time (`turn`), or one of its two products where there are two: `phases`. A work-group
 * of 16 x 16 owns 16 units of 32 rows, with all gates: it brings pieces of 16 along the depth of h and of the
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
    __local float *a_piece, __local float *b_piece, __global const float *a, long a_row, int rows,
    __global const float *b, long b_gate, long b_k, long b_column, int columns, int depth) {
    const int x = (int)get_local_id(0), y = (int)get_local_id(1), item = y * WEFT_R_GROUP + x;
    for (int start = 0; start < depth; start += WEFT_R_STEP) {
        WEFT_UNROLL for (int i = 0; i < WEFT_R_LINES; ++i) {
            const int row = y + i * WEFT_R_GROUP;
            a_piece[x * (WEFT_R_ROWS + 1) + row] =
                row < rows && start + x < depth ? a[row * a_row + start + x] : 0.0f;
        }
        const int p = b_k == 1 ? item % WEFT_R_STEP : item / WEFT_R_STEP;
        const int c = b_k == 1 ? item / WEFT_R_STEP : item % WEFT_R_STEP;
        WEFT_UNROLL for (int g = 0; g < gates; ++g) b_piece[g * WEFT_R_B_ROOM + p * (WEFT_R_GROUP + 1) + c] =
            c < columns && start + p < depth ? b[g * b_gate + (start + p) * b_k + c * b_column] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
        WEFT_ROLLED for (int k = 0; k < WEFT_R_STEP; ++k) {
            float from_a[WEFT_R_LINES];
            WEFT_UNROLL for (int i = 0; i < WEFT_R_LINES; ++i) from_a[i] =
                a_piece[k * (WEFT_R_ROWS + 1) + y + i * WEFT_R_GROUP];
            WEFT_UNROLL for (int g = 0; g < gates; ++g) {
                const float from_b = b_piece[g * WEFT_R_B_ROOM + k * (WEFT_R_GROUP + 1) + x];
                WEFT_UNROLL for (int i = 0; i < WEFT_R_LINES; ++i) acc[g * WEFT_R_LINES + i] =
                    fma(from_a[i], from_b, acc[g * WEFT_R_LINES + i]);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

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

/* Work-group (columns, rows). phases: 1 the first product and the gates, 2 the second product. */
__kernel __attribute__((reqd_work_group_size(WEFT_R_GROUP, WEFT_R_GROUP, 1))) void WEFT_NAME(forward)(
    __global const float *x, long x_offset, int has_bias, __global const float *bias, long bias_offset,
    int has_lengths, __global const int *lengths, long lengths_offset, __global float *y, long y_offset,
    __global const float *w, long w_offset, __global const float *wr, long wr_offset, int turn, int steps,
    int phases, int total, int batch, int units, int width, int rows, int blocks, int reverse, int left,
    long c_at, long c_step, long gates_at, long gates_step, long more_at, long more_step) {
    __local float a_piece[WEFT_R_A_ROOM], b_piece[WEFT_FIRST * WEFT_R_B_ROOM];
    const int s = turn, t = reverse ? total - 1 - s : s;
    const int corner = (int)get_group_id(0) * WEFT_R_GROUP, top = (int)get_group_id(1) * WEFT_R_ROWS;
    const int j = (int)get_global_id(0);
    const long line = WEFT_GATES * (long)units, area = batch * (long)width;
    x += x_offset + t * (batch * line);
    y += y_offset;
    bias += bias_offset;
    lengths += lengths_offset;
    w += w_offset;
    wr += wr_offset;
    __global const float *before = y + (reverse ? t + 1 : t) * area;
    __global float *after = y + (reverse ? t : t + 1) * area;
    __global float *gates = y + gates_at + t * gates_step, *more = y + more_at + t * more_step;
    float acc[WEFT_FIRST * WEFT_R_LINES];
    WEFT_UNROLL for (int i = 0; i < WEFT_FIRST * WEFT_R_LINES; ++i) acc[i] = 0.0f;
    if (phases & 1) {
        weft_r_product(acc, WEFT_FIRST, a_piece, b_piece, before + top * (long)width, width, batch - top,
            w + corner * (long)width, units * (long)width, 1, width, units - corner, width);
        WEFT_ROLLED for (int i = 0; i < WEFT_R_LINES; ++i) {
            const int n = top + (int)get_local_id(1) + i * WEFT_R_GROUP;
            if (n >= batch || j >= units) continue;
            const bool valid = weft_r_valid(lengths, has_lengths, n, t, total, left);
            const long at = n * (long)units + j;
            __global const float *at_x = x + n * line + j;
            __global float *saved = gates + n * (long)(WEFT_SAVED * units) + j;
#if WEFT_CELL == 0
            float c = y[c_at + (total - s) * c_step + at], h = 0.0f;
            float gi = 0.0f, gf = 0.0f, gg = 0.0f, go = 0.0f;
            if (valid) {
                gi = WEFT_R_SUM(0) + at_x[0];
                gf = WEFT_R_SUM(1) + at_x[units];
                gg = WEFT_R_SUM(2) + at_x[2 * (long)units];
                go = WEFT_R_SUM(3) + at_x[3 * (long)units];
                weft_lstm_cell(&gi, &gf, &gg, &go, &c, &h);
#if !WEFT_PROJECT
            } else {
                h = before[at];
#endif
            }
            y[c_at + (total - s - 1) * c_step + at] = c;
            (WEFT_PROJECT ? more : after)[at] = h;
#if WEFT_KEEP
            saved[0] = gi;
            saved[units] = gf;
            saved[2 * (long)units] = gg;
            saved[3 * (long)units] = go;
#endif
#elif WEFT_CELL == 1
            float r = 0.0f, z = 0.0f, nn = 0.0f, hn = 0.0f, h = before[at];
            if (valid) {
                r = WEFT_R_SUM(0) + at_x[0];
                z = WEFT_R_SUM(1) + at_x[units];
                hn = WEFT_R_SUM(2) + (has_bias ? bias[j] : 0.0f);
                weft_gru_gates(&r, &z);
                nn = weft_tanh(fma(r, hn, at_x[2 * (long)units]));
                h = weft_gru_mix(nn, z, h);
            }
            after[at] = h;
#if WEFT_KEEP
            saved[0] = r;
            saved[units] = z;
            saved[2 * (long)units] = nn;
            saved[3 * (long)units] = hn;
#endif
#elif WEFT_CELL == 2
            float r = 0.0f, z = 0.0f;
            if (valid) {
                r = WEFT_R_SUM(0) + at_x[0];
                z = WEFT_R_SUM(1) + at_x[units];
                weft_gru_gates(&r, &z);
            }
            saved[0] = r;
            saved[units] = z;
            more[at] = valid ? r * before[at] : 0.0f;
#else
            float h = before[at];
            if (valid) {
                h = WEFT_R_SUM(0) + at_x[0];
#if WEFT_CELL == 3
                h = weft_tanh(h);
#else
                h = h < 0.0f ? 0.0f : h;
#endif
            }
            after[at] = h;
#endif
        }
    }
#if WEFT_PROJECT || WEFT_CELL == 2
    if (phases & 2) {
#if WEFT_PROJECT
        weft_r_product(acc, 1, a_piece, b_piece, more + top * (long)units, units, batch - top,
            wr + corner * (long)units, 0, 1, units, width - corner, units);
#else
        weft_r_product(acc, 1, a_piece, b_piece, more + top * (long)units, units, batch - top,
            w + (2 * (long)units + corner) * units, 0, 1, units, units - corner, units);
#endif
        WEFT_ROLLED for (int i = 0; i < WEFT_R_LINES; ++i) {
            const int n = top + (int)get_local_id(1) + i * WEFT_R_GROUP;
            if (n >= batch || j >= width) continue;
            const bool valid = weft_r_valid(lengths, has_lengths, n, t, total, left);
            const long at = n * (long)width + j;
#if WEFT_PROJECT
            after[at] = valid ? WEFT_R_SUM(0) : before[at];
#else
            float h = before[at], nn = 0.0f;
            __global float *saved = gates + n * (long)(3 * units) + j;
            if (valid) {
                nn = weft_tanh(WEFT_R_SUM(0) + x[n * line + 2 * (long)units + j]);
                h = weft_gru_mix(nn, saved[units], h);
            }
            after[at] = h;
            saved[2 * (long)units] = nn;
#endif
        }
    }
#endif
}
#endif

#if WEFT_BACK != 0
/* Work-group (columns, rows). Turn i belongs to step total - 1 - i of the scan; the one after the last is
 * dh0. */
__kernel __attribute__((reqd_work_group_size(WEFT_R_GROUP, WEFT_R_GROUP, 1))) void WEFT_NAME(back)(
    __global const float *y, long y_offset, int given, __global const float *dy, long dy_offset,
    __global const float *dh_last, long dh_last_offset, __global const float *dc_last, long dc_last_offset,
    int has_lengths, __global const int *lengths, long lengths_offset, __global float *d, long d_offset,
    __global const float *w, long w_offset, __global const float *wr, long wr_offset, int turn, int steps,
    int turns, int phases, int total, int batch, int units, int width, int rows, int blocks, int reverse,
    int left, long c_at, long gates_at, long sums_at, long out_at, long dh_at, long dc_at, long dy_t,
    long dy_n, long dy_p) {
    __local float a_piece[WEFT_R_A_ROOM], b_piece[WEFT_R_B_ROOM];
    const int s = total - 1 - turn, t = reverse ? total - 1 - s : s, next = reverse ? t - 1 : t + 1;
    const int corner = (int)get_group_id(0) * WEFT_R_GROUP, top = (int)get_group_id(1) * WEFT_R_ROWS;
    const int j = (int)get_global_id(0);
    const bool newest = s == total - 1;
    const long line = WEFT_GATES * (long)units, area = batch * (long)width, c_step = batch * (long)units;
    y += y_offset;
    d += d_offset;
    dy += dy_offset + t * dy_t;
    dh_last += dh_last_offset;
    dc_last += dc_last_offset;
    lengths += lengths_offset;
    w += w_offset;
    wr += wr_offset;
#if WEFT_CELL == 1 || WEFT_CELL == 2
    const bool keeps = true;
#else
    const bool keeps = has_lengths;
#endif
    __global float *keep = d + dh_at, *dc_room = d + dc_at, *out = d + out_at + t * area;
    __global const float *before = y + (reverse ? t + 1 : t) * area;
    __global const float *after = y + (reverse ? t : t + 1) * area;
    __global const float *gates = y + gates_at + t * (long)(WEFT_SAVED * units) * batch;
    __global const float *c_after = y + c_at + (total - s - 1) * c_step, *c_before = c_after + c_step;
    __global float *dx = d + t * (batch * line), *ds = d + sums_at + t * (batch * line);
    float acc[WEFT_R_LINES];
    WEFT_UNROLL for (int i = 0; i < WEFT_R_LINES; ++i) acc[i] = 0.0f;
    if (phases & 1) {
        if (!newest)
            weft_r_product(acc, 1, a_piece, b_piece, d + sums_at + next * (batch * line) + top * line, line,
                batch - top, w + corner, 0, width, 1, width - corner, WEFT_FIRST * units);
        WEFT_ROLLED for (int i = 0; i < WEFT_R_LINES; ++i) {
            const int n = top + (int)get_local_id(1) + i * WEFT_R_GROUP;
            if (n >= batch || j >= width) continue;
            const long at = n * (long)width + j, wide = n * line + j;
            float dh = WEFT_R_SUM(0);
            if (newest ? (given & 2) != 0 : keeps) dh += (newest ? dh_last : keep)[at];
            if (s < 0) {
                keep[at] = dh;
                continue;
            }
            if (given & 1) dh += dy[n * dy_n + j * dy_p];
            const bool valid = weft_r_valid(lengths, has_lengths, n, t, total, left);
#if WEFT_PROJECT
            if (keeps) keep[at] = valid ? 0.0f : dh;
            out[at] = valid ? dh : 0.0f;
#elif WEFT_CELL == 0
            float dc = newest ? (given & 4 ? dc_last[at] : 0.0f) : dc_room[at];
            float di = 0.0f, df = 0.0f, dg = 0.0f, d_o = 0.0f;
            __global const float *saved = gates + n * (long)(4 * units) + j;
            if (valid)
                weft_lstm_back(saved[0], saved[units], saved[2 * (long)units], saved[3 * (long)units],
                    c_after[at], c_before[at], dh, &dc, &di, &df, &dg, &d_o);
            if (keeps) keep[at] = valid ? 0.0f : dh;
            dc_room[at] = dc;
            dx[wide] = di;
            dx[wide + units] = df;
            dx[wide + 2 * (long)units] = dg;
            dx[wide + 3 * (long)units] = d_o;
#elif WEFT_CELL == 1 || WEFT_CELL == 2
            __global const float *saved = gates + n * (long)(WEFT_SAVED * units) + j;
            float dr = 0.0f, dz = 0.0f, dn = 0.0f, dhn = 0.0f;
            if (valid) {
                const float z = saved[units];
                weft_gru_back(z, saved[2 * (long)units], before[at], dh, &dz, &dn);
                dh *= z;
#if WEFT_CELL == 1
                const float r = saved[0];
                dhn = dn * r;
                dr = dn * saved[3 * (long)units] * (r * (1.0f - r));
#endif
            }
            keep[at] = dh;
            dx[wide + units] = dz;
            dx[wide + 2 * (long)units] = dn;
#if WEFT_CELL == 1
            dx[wide] = dr;
            ds[wide] = dr;
            ds[wide + units] = dz;
            ds[wide + 2 * (long)units] = dhn;
#endif
#else
            if (keeps) keep[at] = valid ? 0.0f : dh;
            const float h = after[at];
#if WEFT_CELL == 3
            dh *= 1.0f - h * h;
#else
            dh = h > 0.0f ? dh : 0.0f;
#endif
            dx[wide] = valid ? dh : 0.0f;
#endif
        }
    }
#if WEFT_PROJECT || WEFT_CELL == 2
    if ((phases & 2) && s >= 0) {
#if WEFT_PROJECT
        weft_r_product(acc, 1, a_piece, b_piece, out + top * (long)width, width, batch - top, wr + corner, 0,
            units, 1, units - corner, width);
#else
        weft_r_product(acc, 1, a_piece, b_piece, dx + top * line + 2 * (long)units, line, batch - top,
            w + 2 * (long)units * units + corner, 0, units, 1, units - corner, units);
#endif
        WEFT_ROLLED for (int i = 0; i < WEFT_R_LINES; ++i) {
            const int n = top + (int)get_local_id(1) + i * WEFT_R_GROUP;
            if (n >= batch || j >= units) continue;
            const bool valid = weft_r_valid(lengths, has_lengths, n, t, total, left);
            const long at = n * (long)units + j, wide = n * line + j;
            __global const float *saved = gates + n * (long)(WEFT_SAVED * units) + j;
#if WEFT_PROJECT
            float dc = newest ? (given & 4 ? dc_last[at] : 0.0f) : dc_room[at];
            float di = 0.0f, df = 0.0f, dg = 0.0f, d_o = 0.0f;
            if (valid)
                weft_lstm_back(saved[0], saved[units], saved[2 * (long)units], saved[3 * (long)units],
                    c_after[at], c_before[at], WEFT_R_SUM(0), &dc, &di, &df, &dg, &d_o);
            dc_room[at] = dc;
            dx[wide] = di;
            dx[wide + units] = df;
            dx[wide + 2 * (long)units] = dg;
            dx[wide + 3 * (long)units] = d_o;
#else
            const float r = saved[0];
            dx[wide] = valid ? WEFT_R_SUM(0) * before[at] * (r * (1.0f - r)) : 0.0f;
            if (valid) keep[at] = fma(WEFT_R_SUM(0), r, keep[at]);
#endif
        }
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
#undef WEFT_PROJECT
#undef WEFT_KEEP
#undef WEFT_BACK
#endif
