/* recurrent_cpu.cl: LSTM, GRU and RNN over time for devices whose work-item is a core with wide vectors. It
 * stands after elementwise.clh and recurrent.clh.
 *
 *     x (T, N, G·H) the products of the inputs of all steps, with the biases     G gates: 4, 3 or 1
 *     w (G·H, P) recurrent weights, packed by `prepare`     H units, P the width of h (H, or the
 * projection's)
 *
 * Work split: a work-item owns some rows of the batch, and walks through `steps` steps of time with them; or,
 * where the batch is small and the weights are large, some units of all rows for one step a launch, so that
 * several cores read the weights. Either way it goes through its units in blocks of 32, and through its rows
 * in tiles of 13:
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
 * before on another way (`keep`) and dc lie where dh0 and dc0 are in the end. */

#ifndef WEFT_RECURRENT_CPU
#define WEFT_RECURRENT_CPU

#define WEFT_R_ROWS  13
#define WEFT_R_DEPTH 256
#define WEFT_R_PITCH (WEFT_R_DEPTH + 16)
#define WEFT_R_MOST  4 /* panels side by side */
/* How many steps of the depth before its use a row of a panel is asked for. */
#define WEFT_R_AHEAD 8

#if defined(__clang__) && (defined(__x86_64__) || defined(__aarch64__))
#define WEFT_R_PREFETCH(address) __builtin_prefetch((const void *)(size_t)(address), 0, 3)
#else
#define WEFT_R_PREFETCH(address)
#endif
#define WEFT_R_UNROLL __attribute__((opencl_unroll_hint))

/* Sixteen floats at any address. */
typedef float16 weft_r_vector __attribute__((aligned(4)));
#define WEFT_R_AT(p) (*(__global const weft_r_vector *)(p))

/* The first `lanes` elements, `stride` apart, zeros after them. Drivers copy functions to where they are
 * called, so the loops, which only the last block of a width takes, stay short. */
float16 weft_r_load_strided(__global const float *p, long stride, int lanes) {
    if (stride == 1 && lanes >= 16) return WEFT_R_AT(p);
    float16 room = 0.0f;
    WEFT_ROLLED for (int i = 0; i < min(lanes, 16); ++i)((float *)&room)[i] = p[i * stride];
    return room;
}
float16 weft_r_load(__global const float *p, int lanes) {
    return weft_r_load_strided(p, 1, lanes);
}
void weft_r_store(__global float *p, float16 value, int lanes) {
    if (lanes >= 16) {
        *(__global weft_r_vector *)p = value;
        return;
    }
    WEFT_ROLLED for (int i = 0; i < lanes; ++i) p[i] = ((const float *)&value)[i];
}

/* sum[r][0..1] (+)= tile * panel, for the first ROWS rows. */
#define WEFT_R_DEFINE_TILE(ROWS)                                                                             \
    void weft_r_tile_##ROWS(                                                                                 \
        float16 *sum, const float *tile, __global const float *panel, int depth, bool first) {               \
        float16 acc[ROWS][2];                                                                                \
        WEFT_R_UNROLL for (int r = 0; r < ROWS; ++r) {                                                       \
            acc[r][0] = first ? 0.0f : sum[2 * r];                                                           \
            acc[r][1] = first ? 0.0f : sum[2 * r + 1];                                                       \
        }                                                                                                    \
        for (int p = 0; p < depth; ++p) {                                                                    \
            WEFT_R_PREFETCH(panel + 32 * (p + WEFT_R_AHEAD));                                                \
            WEFT_R_PREFETCH(panel + 32 * (p + WEFT_R_AHEAD) + 16);                                           \
            const float16 b0 = WEFT_R_AT(panel + 32 * p), b1 = WEFT_R_AT(panel + 32 * p + 16);               \
            WEFT_R_UNROLL for (int r = 0; r < ROWS; ++r) {                                                   \
                const float16 x = tile[r * WEFT_R_PITCH + p];                                                \
                acc[r][0] = fma(x, b0, acc[r][0]);                                                           \
                acc[r][1] = fma(x, b1, acc[r][1]);                                                           \
            }                                                                                                \
        }                                                                                                    \
        WEFT_R_UNROLL for (int r = 0; r < ROWS; ++r) {                                                       \
            sum[2 * r] = acc[r][0];                                                                          \
            sum[2 * r + 1] = acc[r][1];                                                                      \
        }                                                                                                    \
    }
WEFT_R_DEFINE_TILE(13)
WEFT_R_DEFINE_TILE(4)
WEFT_R_DEFINE_TILE(1)

/* sums[panel][row][2] = a (rows, depth) * panels (depth, 32), `stride` floats from panel to panel. */
void weft_r_product(float16 *sums, float *tile, __global const float *a, long a_row, int rows, int depth,
    __global const float *panels, long stride, int count) {
    for (int start = 0; start < depth; start += WEFT_R_DEPTH) {
        const int part = min(WEFT_R_DEPTH, depth - start), whole = part / 16;
        for (int r = 0; r < rows; ++r) {
            float16 *to = (float16 *)(tile + r * WEFT_R_PITCH);
            __global const float *from = a + r * a_row + start;
            for (int v = 0; v < whole; ++v) to[v] = WEFT_R_AT(from + 16 * v);
            for (int p = 16 * whole; p < part; ++p) tile[r * WEFT_R_PITCH + p] = from[p];
        }
        for (int j = 0; j < count; ++j) {
            float16 *sum = sums + j * 2 * WEFT_R_ROWS;
            __global const float *panel = panels + j * stride + 32 * start;
            if (rows > 4)
                weft_r_tile_13(sum, tile, panel, part, start == 0);
            else if (rows > 1)
                weft_r_tile_4(sum, tile, panel, part, start == 0);
            else
                weft_r_tile_1(sum, tile, panel, part, start == 0);
        }
    }
}

/* to (depth, 32) = from, whose rows are the panel's columns (`across` floats apart), or its rows (transposed
 * == false); columns past the last are 0. */
void weft_r_pack(
    __global float *to, __global const float *from, int depth, int columns, long across, bool transposed) {
    for (int p = 0; p < depth; ++p) {
        for (int side = 0; side < 32; side += 16) {
            const int lanes = min(16, columns - side);
            __global const float *at = transposed ? from + side * across + p : from + p * across + side;
            weft_r_store(to + p * 32 + side,
                lanes <= 0 ? (float16)(0.0f) : weft_r_load_strided(at, transposed ? across : 1, lanes), 16);
        }
    }
}

inline bool weft_r_valid(__global const int *lengths, bool has_lengths, int n, int t, int total, bool left) {
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

/* WEFT_CELL: 0 LSTM, 1 GRU, 2 GRU that resets h before its product, 3 RNN with tanh, 4 with relu.
 * WEFT_PROJECT: an LSTM's h is projected. WEFT_KEEP: the gradient is wanted. WEFT_BACK: 0 forward, 1 the
 * gradient, 2 both. */
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
#define WEFT_SUM(gate, block, r, v) sums[(((block)*WEFT_FIRST + (gate)) * WEFT_R_ROWS + (r)) * 2 + (v)]

/* Packs both matrices, a work-item a panel; the last `slices` work-items set the initial states of their rows
 * and look at their lengths. forward: the columns of a product are rows of the matrix, gate by gate for each
 * block of units; back: they are its columns. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void WEFT_NAME(prepare)(__global const float *w,
    long w_offset, __global const float *wr, long wr_offset, __global float *packed, long packed_offset,
    __global float *packed_r, long packed_r_offset, int has_first, __global const float *h0, long h0_offset,
    __global const float *c0, long c0_offset, int has_lengths, __global const int *lengths,
    long lengths_offset, __global float *y, long y_offset, __global int *faults, long faults_offset,
    int panels, int panels_r, int total, int batch, int units, int width, int rows, int transposed, long h_at,
    long c_at) {
    int item = (int)get_global_id(0);
    if (item < panels) {
        const int block = transposed ? item / WEFT_GATES : item, gate = transposed ? item % WEFT_GATES : 0;
        const int depth = transposed ? width : WEFT_GATES * units, left = 32 * block;
        w += w_offset + (transposed ? (gate * units + left) * (long)width : left);
        weft_r_pack(packed + packed_offset + item * (long)(32 * depth), w, depth,
            (transposed ? units : width) - left, width, transposed);
        return;
    }
    item -= panels;
#if WEFT_PROJECT
    if (item < panels_r) {
        const int depth = transposed ? units : width, left = 32 * item;
        wr += wr_offset + (transposed ? left * (long)units : left);
        weft_r_pack(packed_r + packed_r_offset + item * (long)(32 * depth), wr, depth,
            (transposed ? width : units) - left, units, transposed);
        return;
    }
    item -= panels_r;
#endif
    if (!transposed) return;
    const int top = item * rows, bottom = min(batch, top + rows);
    y += y_offset;
    for (int n = top; has_lengths && n < bottom; ++n) {
        const int length = lengths[lengths_offset + n];
        if (length < 0 || length > total) WEFT_FAULT(faults, faults_offset, n);
    }
    for (long i = top * (long)width; i < bottom * (long)width; ++i)
        y[h_at + i] = has_first & 1 ? h0[h0_offset + i] : 0.0f;
#if WEFT_CELL == 0
    for (long i = top * (long)units; i < bottom * (long)units; ++i)
        y[c_at + i] = has_first & 2 ? c0[c0_offset + i] : 0.0f;
#endif
}

#if WEFT_BACK != 1
/* Work-item (rows, blocks of units). phases: 1 the first product and the gates, 2 the second product. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void WEFT_NAME(forward)(__global const float *x,
    long x_offset, int has_bias, __global const float *bias, long bias_offset, int has_lengths,
    __global const int *lengths, long lengths_offset, __global float *y, long y_offset,
    __global const float *packed, long packed_offset, __global const float *packed_r, long packed_r_offset,
    int turn, int steps, int phases, int total, int batch, int units, int width, int rows, int blocks,
    int reverse, int left, long c_at, long c_step, long gates_at, long gates_step, long more_at,
    long more_step) {
    const int top = (int)get_global_id(0) * rows, bottom = min(batch, top + rows);
    const int first = (int)get_global_id(1) * blocks * 32;
    const int end = min(units, first + blocks * 32), end_r = min(width, first + blocks * 32);
    const long line = WEFT_GATES * (long)units, area = batch * (long)width;
    x += x_offset;
    y += y_offset;
    bias += bias_offset;
    lengths += lengths_offset;
    packed += packed_offset;
    packed_r += packed_r_offset;
    float16 sums[WEFT_R_MOST * WEFT_R_ROWS * 2], tile_room[WEFT_R_ROWS * WEFT_R_PITCH / 16];
    float *tile = (float *)tile_room;
    for (int i = 0; i < WEFT_R_ROWS * WEFT_R_PITCH / 16; ++i) tile_room[i] = 0.0f;
    for (int s = turn * steps; s < min(total, (turn + 1) * steps); ++s) {
        const int t = reverse ? total - 1 - s : s;
        __global const float *before = y + (reverse ? t + 1 : t) * area;
        __global float *after = y + (reverse ? t : t + 1) * area;
        __global const float *xs = x + t * (batch * line);
        __global float *gates = y + gates_at + t * gates_step, *more = y + more_at + t * more_step;
#if WEFT_CELL == 0
        __global const float *c_before = y + c_at + (total - s) * c_step;
        __global float *c_after = y + c_at + (total - s - 1) * c_step;
#endif
        for (int u = first; u < end && (phases & 1); u += 32 * WEFT_SPAN) {
            const int span = min(WEFT_SPAN, (end - u + 31) / 32);
            for (int row = top; row < bottom; row += WEFT_R_ROWS) {
                const int count = min(WEFT_R_ROWS, bottom - row);
                weft_r_product(sums, tile, before + row * (long)width, width, count, width,
                    packed + (u / 32) * (long)(WEFT_GATES * 32) * width, 32 * (long)width, WEFT_FIRST * span);
                WEFT_ROLLED for (int r = 0; r < count; ++r) {
                    const int n = row + r;
                    const bool valid = weft_r_valid(lengths, has_lengths, n, t, total, left);
                    __global const float *at_x = xs + n * line;
                    __global float *saved = gates + n * (long)(WEFT_SAVED * units);
                    WEFT_ROLLED for (int q = 0; q < 2 * span; ++q) {
                        const int j = u + 16 * q, lanes = units - j, b = q / 2, v = q % 2;
                        if (lanes <= 0) break;
                        const long at = n * (long)units + j;
#if WEFT_CELL == 0
                        float16 c = weft_r_load(c_before + at, lanes), h = 0.0f;
                        float16 i = 0.0f, f = 0.0f, g = 0.0f, o = 0.0f;
                        if (valid) {
                            i = WEFT_SUM(0, b, r, v) + weft_r_load(at_x + j, lanes);
                            f = WEFT_SUM(1, b, r, v) + weft_r_load(at_x + units + j, lanes);
                            g = WEFT_SUM(2, b, r, v) + weft_r_load(at_x + 2 * (long)units + j, lanes);
                            o = WEFT_SUM(3, b, r, v) + weft_r_load(at_x + 3 * (long)units + j, lanes);
                            weft_lstm_cell(&i, &f, &g, &o, &c, &h);
#if !WEFT_PROJECT
                        } else {
                            h = weft_r_load(before + at, lanes);
#endif
                        }
                        weft_r_store(c_after + at, c, lanes);
                        weft_r_store((WEFT_PROJECT ? more : after) + at, h, lanes);
#if WEFT_KEEP
                        weft_r_store(saved + j, i, lanes);
                        weft_r_store(saved + units + j, f, lanes);
                        weft_r_store(saved + 2 * (long)units + j, g, lanes);
                        weft_r_store(saved + 3 * (long)units + j, o, lanes);
#endif
#elif WEFT_CELL == 1
                        float16 rs = 0.0f, z = 0.0f, nn = 0.0f, hn = 0.0f,
                                h = weft_r_load(before + at, lanes);
                        if (valid) {
                            rs = WEFT_SUM(0, b, r, v) + weft_r_load(at_x + j, lanes);
                            z = WEFT_SUM(1, b, r, v) + weft_r_load(at_x + units + j, lanes);
                            hn = WEFT_SUM(2, b, r, v);
                            if (has_bias) hn += weft_r_load(bias + j, lanes);
                            weft_gru_gates(&rs, &z);
                            nn = weft_tanh(fma(rs, hn, weft_r_load(at_x + 2 * (long)units + j, lanes)));
                            h = weft_gru_mix(nn, z, h);
                        }
                        weft_r_store(after + at, h, lanes);
#if WEFT_KEEP
                        weft_r_store(saved + j, rs, lanes);
                        weft_r_store(saved + units + j, z, lanes);
                        weft_r_store(saved + 2 * (long)units + j, nn, lanes);
                        weft_r_store(saved + 3 * (long)units + j, hn, lanes);
#endif
#elif WEFT_CELL == 2
                        float16 rs = 0.0f, z = 0.0f;
                        if (valid) {
                            rs = WEFT_SUM(0, b, r, v) + weft_r_load(at_x + j, lanes);
                            z = WEFT_SUM(1, b, r, v) + weft_r_load(at_x + units + j, lanes);
                            weft_gru_gates(&rs, &z);
                        }
                        weft_r_store(saved + j, rs, lanes);
                        weft_r_store(saved + units + j, z, lanes);
                        weft_r_store(more + at, valid ? rs * weft_r_load(before + at, lanes) : 0.0f, lanes);
#else
                        float16 h = weft_r_load(before + at, lanes);
                        if (valid) {
                            h = WEFT_SUM(0, b, r, v) + weft_r_load(at_x + j, lanes);
#if WEFT_CELL == 3
                            h = weft_tanh(h);
#else
                            h = select(h, (float16)(0.0f), h < 0.0f);
#endif
                        }
                        weft_r_store(after + at, h, lanes);
#endif
                    }
                }
            }
        }
#if WEFT_PROJECT || WEFT_CELL == 2
        const int last = WEFT_PROJECT ? end_r : end;
        for (int u = first; u < last && (phases & 2); u += 32 * WEFT_R_MOST) {
            const int span = min(WEFT_R_MOST, (last - u + 31) / 32);
            for (int row = top; row < bottom; row += WEFT_R_ROWS) {
                const int count = min(WEFT_R_ROWS, bottom - row);
#if WEFT_PROJECT
                weft_r_product(sums, tile, more + row * (long)units, units, count, units,
                    packed_r + (u / 32) * (long)32 * units, 32 * (long)units, span);
#else
                weft_r_product(sums, tile, more + row * (long)units, units, count, units,
                    packed + ((u / 32) * 3 + 2) * (long)32 * units, 3 * 32 * (long)units, span);
#endif
                for (int r = 0; r < count; ++r) {
                    const int n = row + r;
                    const bool valid = weft_r_valid(lengths, has_lengths, n, t, total, left);
                    WEFT_ROLLED for (int q = 0; q < 2 * span; ++q) {
                        const int j = u + 16 * q;
                        float16 sum = sums[(q / 2 * WEFT_R_ROWS + r) * 2 + q % 2];
#if WEFT_PROJECT
                        const int lanes = width - j;
                        const long at = n * (long)width + j;
                        if (lanes <= 0) break;
                        if (!valid) sum = weft_r_load(before + at, lanes);
                        weft_r_store(after + at, sum, lanes);
#else
                        const int lanes = units - j;
                        const long at = n * (long)units + j;
                        if (lanes <= 0) break;
                        float16 h = weft_r_load(before + at, lanes);
                        __global float *saved = gates + n * (long)(3 * units);
                        if (valid) {
                            sum = weft_tanh(sum + weft_r_load(xs + n * line + 2 * (long)units + j, lanes));
                            h = weft_gru_mix(sum, weft_r_load(saved + units + j, lanes), h);
                        }
                        weft_r_store(after + at, h, lanes);
                        weft_r_store(saved + 2 * (long)units + j, valid ? sum : 0.0f, lanes);
#endif
                    }
                }
            }
        }
#endif
    }
}
#endif

#if WEFT_BACK != 0
/* Work-item (rows, blocks of 32). Turn i belongs to step total - 1 - i of the scan; the one after the last is
 * dh0. d: the gradients of x (T, N, G·H) at 0, of what is added to the recurrent products (T, N, G·H) at
 * sums_at (the same but for a GRU), of h as a projection gives it (T, N, P) at out_at, dh0 and dc0. given: 1
 * dy, 2 dh of the last state, 4 its dc. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void WEFT_NAME(back)(__global const float *y,
    long y_offset, int given, __global const float *dy, long dy_offset, __global const float *dh_last,
    long dh_last_offset, __global const float *dc_last, long dc_last_offset, int has_lengths,
    __global const int *lengths, long lengths_offset, __global float *d, long d_offset,
    __global const float *packed, long packed_offset, __global const float *packed_r, long packed_r_offset,
    int turn, int steps, int turns, int phases, int total, int batch, int units, int width, int rows,
    int blocks, int reverse, int left, long c_at, long gates_at, long sums_at, long out_at, long dh_at,
    long dc_at, long dy_t, long dy_n, long dy_p) {
    const int top = (int)get_global_id(0) * rows, bottom = min(batch, top + rows);
    const int first = (int)get_global_id(1) * blocks * 32;
    const int end = min(width, first + blocks * 32), end_r = min(units, first + blocks * 32);
    const long line = WEFT_GATES * (long)units, area = batch * (long)width, c_step = batch * (long)units;
    y += y_offset;
    d += d_offset;
    dy += dy_offset;
    dh_last += dh_last_offset;
    dc_last += dc_last_offset;
    lengths += lengths_offset;
    packed += packed_offset;
    packed_r += packed_r_offset;
    __global float *keep = d + dh_at, *dc_room = d + dc_at;
#if WEFT_CELL == 1 || WEFT_CELL == 2
    const bool keeps = true;
#else
    const bool keeps = has_lengths;
#endif
    float16 sums[WEFT_R_MOST * WEFT_R_ROWS * 2], tile_room[WEFT_R_ROWS * WEFT_R_PITCH / 16];
    float *tile = (float *)tile_room;
    for (int i = 0; i < WEFT_R_ROWS * WEFT_R_PITCH / 16; ++i) tile_room[i] = 0.0f;
    for (int turn_at = turn * steps; turn_at < min(turns, (turn + 1) * steps); ++turn_at) {
        const int s = total - 1 - turn_at, t = reverse ? total - 1 - s : s, next = reverse ? t - 1 : t + 1;
        const bool newest = s == total - 1;
        __global const float *before = y + (reverse ? t + 1 : t) * area;
        __global const float *after = y + (reverse ? t : t + 1) * area;
        __global const float *gates = y + gates_at + t * (long)(WEFT_SAVED * units) * batch;
        __global const float *c_after = y + c_at + (total - s - 1) * c_step;
        __global const float *c_before = c_after + c_step;
        __global float *dx = d + t * (batch * line), *ds = d + sums_at + t * (batch * line);
        __global const float *ds_next = d + sums_at + next * (batch * line);
        __global float *out = d + out_at + t * area;
        for (int u = first; u < end && (phases & 1); u += 32 * WEFT_R_MOST) {
            const int span = min(WEFT_R_MOST, (end - u + 31) / 32);
            for (int row = top; row < bottom; row += WEFT_R_ROWS) {
                const int count = min(WEFT_R_ROWS, bottom - row);
                if (newest)
                    for (int i = 0; i < WEFT_R_MOST * WEFT_R_ROWS * 2; ++i) sums[i] = 0.0f;
                else
                    weft_r_product(sums, tile, ds_next + row * line, line, count, WEFT_FIRST * units,
                        packed + (u / 32) * 32 * line, 32 * line, span);
                WEFT_ROLLED for (int r = 0; r < count; ++r) {
                    const int n = row + r;
                    WEFT_ROLLED for (int q = 0; q < 2 * span; ++q) {
                        const int j = u + 16 * q, lanes = width - j;
                        if (lanes <= 0) break;
                        const long at = n * (long)width + j, wide = n * line + j;
                        float16 dh = sums[(q / 2 * WEFT_R_ROWS + r) * 2 + q % 2];
                        if (newest ? (given & 2) != 0 : keeps)
                            dh += weft_r_load((newest ? dh_last : keep) + at, lanes);
                        if (s < 0) {
                            weft_r_store(keep + at, dh, lanes);
                            continue;
                        }
                        if (given & 1)
                            dh += weft_r_load_strided(dy + t * dy_t + n * dy_n + j * dy_p, dy_p, lanes);
                        const bool valid = weft_r_valid(lengths, has_lengths, n, t, total, left);
#if WEFT_PROJECT
                        if (keeps) weft_r_store(keep + at, valid ? (float16)(0.0f) : dh, lanes);
                        weft_r_store(out + at, valid ? dh : (float16)(0.0f), lanes);
#elif WEFT_CELL == 0
                        float16 dc = newest ? (float16)(0.0f) : weft_r_load(dc_room + at, lanes);
                        if (newest && (given & 4)) dc = weft_r_load(dc_last + at, lanes);
                        float16 di = 0.0f, df = 0.0f, dg = 0.0f, d_o = 0.0f;
                        if (valid) {
                            __global const float *saved = gates + n * (long)(4 * units) + j;
                            weft_lstm_back(weft_r_load(saved, lanes), weft_r_load(saved + units, lanes),
                                weft_r_load(saved + 2 * (long)units, lanes),
                                weft_r_load(saved + 3 * (long)units, lanes), weft_r_load(c_after + at, lanes),
                                weft_r_load(c_before + at, lanes), dh, &dc, &di, &df, &dg, &d_o);
                        }
                        if (keeps) weft_r_store(keep + at, valid ? (float16)(0.0f) : dh, lanes);
                        weft_r_store(dc_room + at, dc, lanes);
                        weft_r_store(dx + wide, di, lanes);
                        weft_r_store(dx + wide + units, df, lanes);
                        weft_r_store(dx + wide + 2 * (long)units, dg, lanes);
                        weft_r_store(dx + wide + 3 * (long)units, d_o, lanes);
#elif WEFT_CELL == 1 || WEFT_CELL == 2
                        __global const float *saved = gates + n * (long)(WEFT_SAVED * units) + j;
                        float16 dr = 0.0f, dz = 0.0f, dn = 0.0f, dhn = 0.0f;
                        if (valid) {
                            const float16 z = weft_r_load(saved + units, lanes),
                                          nn = weft_r_load(saved + 2 * (long)units, lanes);
                            weft_gru_back(z, nn, weft_r_load(before + at, lanes), dh, &dz, &dn);
                            dh *= z;
#if WEFT_CELL == 1
                            const float16 rs = weft_r_load(saved, lanes);
                            dhn = dn * rs;
                            dr = dn * weft_r_load(saved + 3 * (long)units, lanes) * (rs * (1.0f - rs));
#endif
                        }
                        weft_r_store(keep + at, dh, lanes);
                        weft_r_store(dx + wide + units, dz, lanes);
                        weft_r_store(dx + wide + 2 * (long)units, dn, lanes);
#if WEFT_CELL == 1
                        weft_r_store(dx + wide, dr, lanes);
                        weft_r_store(ds + wide, dr, lanes);
                        weft_r_store(ds + wide + units, dz, lanes);
                        weft_r_store(ds + wide + 2 * (long)units, dhn, lanes);
#endif
#else
                        if (keeps) weft_r_store(keep + at, valid ? (float16)(0.0f) : dh, lanes);
                        const float16 h = weft_r_load(after + at, lanes);
#if WEFT_CELL == 3
                        dh *= 1.0f - h * h;
#else
                        dh = select((float16)(0.0f), dh, h > 0.0f);
#endif
                        weft_r_store(dx + wide, valid ? dh : (float16)(0.0f), lanes);
#endif
                    }
                }
            }
        }
#if WEFT_PROJECT || WEFT_CELL == 2
        for (int u = first; u < end_r && s >= 0 && (phases & 2); u += 32 * WEFT_R_MOST) {
            const int span = min(WEFT_R_MOST, (end_r - u + 31) / 32);
            for (int row = top; row < bottom; row += WEFT_R_ROWS) {
                const int count = min(WEFT_R_ROWS, bottom - row);
#if WEFT_PROJECT
                weft_r_product(sums, tile, out + row * (long)width, width, count, width,
                    packed_r + (u / 32) * (long)32 * width, 32 * (long)width, span);
#else
                weft_r_product(sums, tile, dx + row * line + 2 * (long)units, line, count, units,
                    packed + (u / 32) * 32 * line + 32 * 2 * (long)units, 32 * line, span);
#endif
                for (int r = 0; r < count; ++r) {
                    const int n = row + r;
                    const bool valid = weft_r_valid(lengths, has_lengths, n, t, total, left);
                    __global const float *saved_row = gates + n * (long)(WEFT_SAVED * units);
                    WEFT_ROLLED for (int q = 0; q < 2 * span; ++q) {
                        const int j = u + 16 * q, lanes = units - j;
                        if (lanes <= 0) break;
                        const long at = n * (long)units + j, wide = n * line + j;
                        const float16 sum = sums[(q / 2 * WEFT_R_ROWS + r) * 2 + q % 2];
                        __global const float *saved = saved_row + j;
#if WEFT_PROJECT
                        float16 dc = newest ? (float16)(0.0f) : weft_r_load(dc_room + at, lanes);
                        if (newest && (given & 4)) dc = weft_r_load(dc_last + at, lanes);
                        float16 di = 0.0f, df = 0.0f, dg = 0.0f, d_o = 0.0f;
                        if (valid)
                            weft_lstm_back(weft_r_load(saved, lanes), weft_r_load(saved + units, lanes),
                                weft_r_load(saved + 2 * (long)units, lanes),
                                weft_r_load(saved + 3 * (long)units, lanes), weft_r_load(c_after + at, lanes),
                                weft_r_load(c_before + at, lanes), sum, &dc, &di, &df, &dg, &d_o);
                        weft_r_store(dc_room + at, dc, lanes);
                        weft_r_store(dx + wide, di, lanes);
                        weft_r_store(dx + wide + units, df, lanes);
                        weft_r_store(dx + wide + 2 * (long)units, dg, lanes);
                        weft_r_store(dx + wide + 3 * (long)units, d_o, lanes);
#else
                        const float16 rs = weft_r_load(saved, lanes);
                        const float16 dr = sum * weft_r_load(before + at, lanes) * (rs * (1.0f - rs));
                        weft_r_store(dx + wide, valid ? dr : (float16)(0.0f), lanes);
                        if (valid)
                            weft_r_store(keep + at, fma(sum, rs, weft_r_load(keep + at, lanes)), lanes);
#endif
                    }
                }
            }
        }
#endif
    }
}
#endif

#undef WEFT_GATES
#undef WEFT_FIRST
#undef WEFT_SAVED
#undef WEFT_SPAN
#undef WEFT_SUM
#ifdef WEFT_R_ALONE
#undef WEFT_R_ALONE
#undef WEFT_NAME
#undef WEFT_CELL
#undef WEFT_PROJECT
#undef WEFT_KEEP
#undef WEFT_BACK
#endif
