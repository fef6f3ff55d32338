/* recurrent_cpu.cl: LSTM, GRU and RNN over time for devices whose work-item is a core with wide vectors. It
 * stands after elementwise.clh and recurrent.clh.
 *
 *     x (T, N, G·H) the products of the inputs of all steps, with the biases     G gates: 4, 3 or 1
 *     w (G·H, P) recurrent weights, packed by `prepare`     H units, P the width of h (H, or the
 * projection's)
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
 * The parameters are set in src/kernels/recurrent/recurrent_cpu.c: WEFT_R_PANEL units of a panel (32 above), tiles of
 * WEFT_R_ROWS rows (13), WEFT_R_FEW or 1, and WEFT_R_LINE words of a cache line. */

#ifndef WEFT_RECURRENT_CPU
#define WEFT_RECURRENT_CPU

#define WEFT_R_DEPTH 256
#define WEFT_R_PITCH (WEFT_R_DEPTH + 16)
#define WEFT_R_MOST  4 /* panels side by side */
/* How many steps of the depth before its use a row of a panel is asked for. */
#define WEFT_R_AHEAD 8

/* The first `lanes` elements, `stride` apart, zeros after them. Drivers copy functions to where they are
 * called, and the loop that only the last block of a width takes costs more of their time than all
 * arithmetic: so the loops stay short, and kernels read and write by lists of places. */
static inline float16 weft_r_load_strided(__global const float *p, long stride, int lanes) {
    if (stride == 1 && lanes >= 16) return WEFT_LANES_READ(f32, p);
    float16 room = 0.0f;
    WEFT_ROLLED for (int i = 0; i < min(lanes, 16); ++i)((float *)&room)[i] = p[i * stride];
    return room;
}
static inline float16 weft_r_load(__global const float *p, int lanes) {
    return weft_r_load_strided(p, 1, lanes);
}
static inline void weft_r_store(__global float *p, float16 value, int lanes) {
    if (lanes >= 16) {
        *(__global weft_lanes_f32 *)p = value;
        return;
    }
    WEFT_ROLLED for (int i = 0; i < lanes; ++i) p[i] = ((const float *)&value)[i];
}
/* values[i] = from[i], zeros where there is no such place. */
static inline void weft_r_read(float16 *values, __global const float *const *from, int count, int lanes) {
    WEFT_ROLLED for (int i = 0; i < count; ++i) values[i] = weft_r_load(from[i], from[i] ? lanes : 0);
}
static inline void weft_r_write(__global float *const *to, const float16 *values, int count, int lanes) {
    WEFT_ROLLED for (int i = 0; i < count; ++i) weft_r_store(to[i], values[i], lanes);
}

WEFT_REQUIRE(weft_r_panels_are_pairs, WEFT_R_PANEL == 32); /* columns of two vectors */

/* sum[r][0..1] (+)= tile * panel, for the first ROWS rows. */
#define WEFT_R_DEFINE_TILE(name, ROWS)                                                                       \
    static inline void weft_r_tile_##name(                                                                   \
        float16 *sum, const float *tile, __global const float *panel, int depth, bool first) {               \
        float16 acc[ROWS][2];                                                                                \
        WEFT_UNROLL for (int r = 0; r < ROWS; ++r) {                                                         \
            acc[r][0] = first ? 0.0f : sum[2 * r];                                                           \
            acc[r][1] = first ? 0.0f : sum[2 * r + 1];                                                       \
        }                                                                                                    \
        for (int p = 0; p < depth; ++p) {                                                                    \
            WEFT_PREFETCH(panel + WEFT_R_PANEL * (p + WEFT_R_AHEAD), 3);                                     \
            WEFT_PREFETCH(panel + WEFT_R_PANEL * (p + WEFT_R_AHEAD) + 16, 3);                                \
            const float16 b0 = WEFT_LANES_READ(f32, panel + WEFT_R_PANEL * p),                               \
                          b1 = WEFT_LANES_READ(f32, panel + WEFT_R_PANEL * p + 16);                          \
            WEFT_UNROLL for (int r = 0; r < ROWS; ++r) {                                                     \
                const float16 x = tile[r * WEFT_R_PITCH + p];                                                \
                acc[r][0] = fma(x, b0, acc[r][0]);                                                           \
                acc[r][1] = fma(x, b1, acc[r][1]);                                                           \
            }                                                                                                \
        }                                                                                                    \
        WEFT_UNROLL for (int r = 0; r < ROWS; ++r) {                                                         \
            sum[2 * r] = acc[r][0];                                                                          \
            sum[2 * r + 1] = acc[r][1];                                                                      \
        }                                                                                                    \
    }
WEFT_R_DEFINE_TILE(many, WEFT_R_ROWS)
WEFT_R_DEFINE_TILE(few, WEFT_R_FEW)

/* The same for one row, whose two sums would wait for each other: four pairs of them take turns. */
static inline void weft_r_tile_1(
    float16 *sum, const float *tile, __global const float *panel, int depth, bool first) {
    float16 acc[4][2];
    acc[0][0] = first ? 0.0f : sum[0];
    acc[0][1] = first ? 0.0f : sum[1];
    WEFT_UNROLL for (int k = 1; k < 4; ++k) acc[k][0] = acc[k][1] = 0.0f;
    int p = 0;
    for (; p + 4 <= depth; p += 4) {
        WEFT_UNROLL for (int k = 0; k < 4; ++k) {
            __global const float *b = panel + WEFT_R_PANEL * (p + k);
            WEFT_PREFETCH(b + WEFT_R_PANEL * 4 * WEFT_R_AHEAD, 3);
            WEFT_PREFETCH(b + WEFT_R_PANEL * 4 * WEFT_R_AHEAD + 16, 3);
            acc[k][0] = fma((float16)tile[p + k], WEFT_LANES_READ(f32, b), acc[k][0]);
            acc[k][1] = fma((float16)tile[p + k], WEFT_LANES_READ(f32, b + 16), acc[k][1]);
        }
    }
    for (; p < depth; ++p) {
        acc[0][0] = fma((float16)tile[p], WEFT_LANES_READ(f32, panel + WEFT_R_PANEL * p), acc[0][0]);
        acc[0][1] = fma((float16)tile[p], WEFT_LANES_READ(f32, panel + WEFT_R_PANEL * p + 16), acc[0][1]);
    }
    WEFT_UNROLL for (int v = 0; v < 2; ++v) sum[v] = (acc[0][v] + acc[1][v]) + (acc[2][v] + acc[3][v]);
}

/* sums[panel][row][2] = a (rows, depth) * panels (depth, 32), `stride` floats from panel to panel. */
static inline void weft_r_product(float16 *sums, float *tile, __global const float *a, long a_row, int rows,
    int depth, __global const float *panels, long stride, int count) {
    for (int start = 0; start < depth; start += WEFT_R_DEPTH) {
        const int part = min(WEFT_R_DEPTH, depth - start);
        WEFT_ROLLED for (int r = 0; r < rows; ++r) {
            float16 *to = (float16 *)(tile + r * WEFT_R_PITCH);
            __global const float *from = a + r * a_row + start;
            WEFT_ROLLED for (int p = 0; p < part; p += 16) to[p / 16] = weft_r_load(from + p, part - p);
        }
        for (int j = 0; j < count; ++j) {
            float16 *sum = sums + j * 2 * WEFT_R_ROWS;
            __global const float *panel = panels + j * stride + WEFT_R_PANEL * start;
            if (rows > WEFT_R_FEW)
                weft_r_tile_many(sum, tile, panel, part, start == 0);
            else if (rows > 1)
                weft_r_tile_few(sum, tile, panel, part, start == 0);
            else
                weft_r_tile_1(sum, tile, panel, part, start == 0);
        }
    }
}

/* A perfect shuffle of 16 rows of 16. */
static inline void weft_r_shuffle(float16 *to, const float16 *from) {
    WEFT_ROLLED for (int k = 0; k < 8; ++k) {
        to[2 * k].even = from[k].lo;
        to[2 * k].odd = from[k + 8].lo;
        to[2 * k + 1].even = from[k].hi;
        to[2 * k + 1].odd = from[k + 8].hi;
    }
}

/* to (depth, 32) = from, whose rows are the panel's columns (turned), or its rows; `across` floats from row
 * to row; columns past the last are 0. In blocks of 16 x 16, which four perfect shuffles of their rows turn.
 */
static inline void weft_r_pack(
    __global float *to, __global const float *from, int depth, int columns, long across, bool turned) {
    float16 block[16], next[16];
    for (int i = 0; i < 2 * ((depth + 15) / 16); ++i) {
        const int p = i / 2 * 16, side = i % 2 * 16, rows = min(16, depth - p), left = columns - side;
        __global const float *corner = from + (turned ? side * across + p : p * across + side);
        WEFT_ROLLED for (int k = 0; k < 16; ++k) {
            const bool inside = k < (turned ? left : rows);
            block[k] = weft_r_load(corner + k * across, inside ? (turned ? rows : left) : 0);
        }
        WEFT_ROLLED for (int pair = 0; pair < 2 && turned; ++pair) {
            weft_r_shuffle(next, block);
            weft_r_shuffle(block, next);
        }
        WEFT_ROLLED for (int k = 0; k < rows; ++k) *
            (__global weft_lanes_f32 *)(to + (p + k) * WEFT_R_PANEL + side) = block[k];
    }
}

/* Work-items that walk through time together (`helped`), each with a share of the units. OpenCL does not say
 * that they run at the same time, so none may need another: the first that comes leads. After its own share
 * of a step it waits for a helper only if that one is at this very step, and not for long; a share that
 * nobody brings it computes itself. A helper always joins at the step that the leader is at, and goes when
 * there is none. Both may come to compute a share: every value has a place of its own and does not depend on
 * who computes it, so the second writes again what stands there.
 *
 * state: a line of memory a word. 0: how many have come; 1: the step that all states are there for; 1 + k:
 * the step that helper k is ready for, plus 1 (0: it has not come). Atomic operations keep the order of all
 * reads and writes around them on processors. */
static inline int weft_r_arrive(__global int *state) {
    return atomic_inc(state);
}
static inline int weft_r_ask(__global int *state, int line) {
    return atomic_or(state + line * WEFT_R_LINE, 0);
}
static inline void weft_r_tell(__global int *state, int line, int value) {
    atomic_xchg(state + line * WEFT_R_LINE, value);
}
/* The leader's: whether helper k brings its share of step s. `patience`: how often it asks; to ask takes some
 * 20 cycles, to compute a share one for 8 of its weights and a row, or less. */
static inline bool weft_r_brought(__global int *state, int k, int s, long patience) {
    int ready = weft_r_ask(state, 1 + k);
    while (ready == s + 1 && --patience > 0) ready = weft_r_ask(state, 1 + k);
    return ready > s + 1;
}
/* A helper's: the next step from `s` on that it can join, `end` when there is none. */
static inline int weft_r_join(__global int *state, int k, int s, int end) {
    int step = weft_r_ask(state, 1);
    while (step < s) step = weft_r_ask(state, 1);
    if (step < end) weft_r_tell(state, 1 + k, step + 1);
    return step;
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

/* d_in: the gradients before the gates i, f, g, o, and dc of the state before, from dh, as stands at row n.
 */
#define WEFT_LSTM_BACK(dh)                                                                                   \
    __global const float *at_gates = gates + n * (long)(4 * units) + j;                                      \
    __global const float *const from[] = {at_gates, at_gates + units, at_gates + 2 * (long)units,            \
        at_gates + 3 * (long)units, c_after + at, c_before + at,                                             \
        newest ? (given & 4 ? dc_last + at : 0) : room_before + dc_room_at + at};                            \
    float16 in[7], d_in[6] = {0.0f, 0.0f, 0.0f, 0.0f};                                                       \
    weft_r_read(in, from, 7, lanes);                                                                         \
    d_in[4] = in[6];                                                                                         \
    if (valid)                                                                                               \
    weft_lstm_back(                                                                                          \
        in[0], in[1], in[2], in[3], in[4], in[5], dh, &d_in[4], &d_in[0], &d_in[1], &d_in[2], &d_in[3])

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
/* Work-item (rows, blocks of units). phases: 1 the first product and the gates, 2 the second product. cells:
 * c of all steps but the last, which stands at c_at of y; helped: whether work-items of the same rows walk
 * through time together. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void WEFT_NAME(forward)(__global const float *x,
    long x_offset, int has_bias, __global const float *bias, long bias_offset, int has_lengths,
    __global const int *lengths, long lengths_offset, __global float *y, long y_offset,
    __global const float *packed, long packed_offset, __global const float *packed_r, long packed_r_offset,
    int turn, int steps, int phases, int total, int batch, int units, int width, int rows, int blocks,
    int reverse, int left, long c_at, long c_step, long gates_at, long gates_step, long more_at,
    long more_step, long cells_at, __global float *cells, long cells_offset, __global int *state,
    long state_offset, int helped) {
    const int top = (int)get_global_id(0) * rows, bottom = min(batch, top + rows);
    const long line = WEFT_GATES * (long)units, area = batch * (long)width;
    x += x_offset;
    y += y_offset;
    bias += bias_offset;
    lengths += lengths_offset;
    packed += packed_offset;
    packed_r += packed_r_offset;
    cells += cells_offset + cells_at;
    state += state_offset;
    float16 sums[WEFT_R_MOST * WEFT_R_ROWS * 2], tile_room[WEFT_R_ROWS * WEFT_R_PITCH / 16];
    float *tile = (float *)tile_room;
    for (int i = 0; i < WEFT_R_ROWS * WEFT_R_PITCH / 16; ++i) tile_room[i] = 0.0f;
    const int own = helped ? weft_r_arrive(state) : (int)get_global_id(1);
    const int last_share = helped && own == 0 ? (int)get_global_size(1) - 1 : own;
    for (int s = turn * steps; s < min(total, (turn + 1) * steps); ++s) {
        if (helped && own > 0) {
            s = weft_r_join(state, own, s, total);
            if (s >= total) break;
        }
        const int t = reverse ? total - 1 - s : s;
        __global const float *before = y + (reverse ? t + 1 : t) * area;
        __global float *after = y + (reverse ? t : t + 1) * area;
        __global const float *xs = x + t * (batch * line);
        __global float *gates = y + gates_at + t * gates_step, *more = y + more_at + t * more_step;
#if WEFT_CELL == 0
        __global const float *c_before = cells + (total - s) * c_step;
        __global float *c_after = s == total - 1 ? y + c_at : cells + (total - s - 1) * c_step;
#endif
        for (int share = own; share <= last_share && (phases & 1); ++share) {
            const int first = share * blocks * WEFT_R_PANEL, end = min(units, first + blocks * WEFT_R_PANEL);
            const int products = (end - first + WEFT_R_PANEL * WEFT_SPAN - 1) / (WEFT_R_PANEL * WEFT_SPAN);
            const long patience = 100 + (long)(end - first) * WEFT_GATES * width * (bottom - top) / 64;
            if (share > own && weft_r_brought(state, share, s, patience)) continue;
            for (int i = 0; i < products; ++i) {
                /* To and fro: what the last step read last is still near. */
                const int u = first + WEFT_R_PANEL * WEFT_SPAN * (s % 2 ? products - 1 - i : i);
                const int span = min(WEFT_SPAN, (end - u + 31) / WEFT_R_PANEL);
                for (int row = top; row < bottom; row += WEFT_R_ROWS) {
                    const int count = min(WEFT_R_ROWS, bottom - row);
                    weft_r_product(sums, tile, before + row * (long)width, width, count, width,
                        packed + (u / WEFT_R_PANEL) * (long)(WEFT_GATES * WEFT_R_PANEL) * width,
                        WEFT_R_PANEL * (long)width, WEFT_FIRST * span);
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
                            __global const float *const from[] = {at_x + j, at_x + units + j,
                                at_x + 2 * (long)units + j, at_x + 3 * (long)units + j, c_before + at,
                                WEFT_PROJECT ? 0 : before + at};
                            __global float *const to[] = {saved + j, saved + units + j,
                                saved + 2 * (long)units + j, saved + 3 * (long)units + j, c_after + at,
                                (WEFT_PROJECT ? more : after) + at};
                            float16 a[6]; /* i, f, g, o, c, h */
                            weft_r_read(a, from, 6, lanes);
                            if (valid) {
                                WEFT_ROLLED for (int gate = 0; gate < 4; ++gate) a[gate] +=
                                    WEFT_SUM(gate, b, r, v);
                                weft_lstm_cell(&a[0], &a[1], &a[2], &a[3], &a[4], &a[5]);
                            } else {
                                WEFT_ROLLED for (int gate = 0; gate < 4; ++gate) a[gate] = 0.0f;
                            }
                            const int unkept = WEFT_KEEP ? 0 : 4;
                            weft_r_write(to + unkept, a + unkept, 6 - unkept, lanes);
#elif WEFT_CELL == 1
                            __global const float *const from[] = {at_x + j, at_x + units + j,
                                at_x + 2 * (long)units + j, has_bias ? bias + j : 0, before + at};
                            __global float *const to[] = {saved + j, saved + units + j,
                                saved + 2 * (long)units + j, saved + 3 * (long)units + j, after + at};
                            float16 a[5]; /* r, z, n, hn, h */
                            weft_r_read(a, from, 5, lanes);
                            if (valid) {
                                a[0] += WEFT_SUM(0, b, r, v);
                                a[1] += WEFT_SUM(1, b, r, v);
                                a[3] += WEFT_SUM(2, b, r, v);
                                weft_gru_gates(&a[0], &a[1]);
                                a[2] = weft_tanh(fma(a[0], a[3], a[2]));
                                a[4] = weft_gru_mix(a[2], a[1], a[4]);
                            } else {
                                WEFT_ROLLED for (int gate = 0; gate < 4; ++gate) a[gate] = 0.0f;
                            }
                            const int unkept = WEFT_KEEP ? 0 : 4;
                            weft_r_write(to + unkept, a + unkept, 5 - unkept, lanes);
#elif WEFT_CELL == 2
                            __global const float *const from[] = {at_x + j, at_x + units + j, before + at};
                            __global float *const to[] = {saved + j, saved + units + j, more + at};
                            float16 a[3]; /* r, z, r·h */
                            weft_r_read(a, from, 3, lanes);
                            if (valid) {
                                a[0] += WEFT_SUM(0, b, r, v);
                                a[1] += WEFT_SUM(1, b, r, v);
                                weft_gru_gates(&a[0], &a[1]);
                                a[2] *= a[0];
                            } else {
                                WEFT_ROLLED for (int gate = 0; gate < 3; ++gate) a[gate] = 0.0f;
                            }
                            weft_r_write(to, a, 3, lanes);
#else
                            float16 h = weft_r_load(valid ? at_x + j : before + at, lanes);
                            if (valid) {
                                h += WEFT_SUM(0, b, r, v);
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
        }
        if (helped) weft_r_tell(state, 1 + own, own ? s + 2 : s + 1);
#if WEFT_PROJECT || WEFT_CELL == 2
        const int first = own * blocks * WEFT_R_PANEL,
                  last = min(WEFT_PROJECT ? width : units, first + blocks * WEFT_R_PANEL);
        for (int u = first; u < last && (phases & 2); u += WEFT_R_PANEL * WEFT_R_MOST) {
            const int span = min(WEFT_R_MOST, (last - u + 31) / WEFT_R_PANEL);
            for (int row = top; row < bottom; row += WEFT_R_ROWS) {
                const int count = min(WEFT_R_ROWS, bottom - row);
#if WEFT_PROJECT
                weft_r_product(sums, tile, more + row * (long)units, units, count, units,
                    packed_r + (u / WEFT_R_PANEL) * (long)WEFT_R_PANEL * units, WEFT_R_PANEL * (long)units,
                    span);
#else
                weft_r_product(sums, tile, more + row * (long)units, units, count, units,
                    packed + ((u / WEFT_R_PANEL) * 3 + 2) * (long)WEFT_R_PANEL * units,
                    3 * WEFT_R_PANEL * (long)units, span);
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
                        __global float *saved = gates + n * (long)(3 * units) + j;
                        __global const float *const from[] = {
                            xs + n * line + 2 * (long)units + j, before + at, saved + units};
                        __global float *const to[] = {saved + 2 * (long)units, after + at};
                        float16 a[3]; /* n, h, z */
                        weft_r_read(a, from, 3, lanes);
                        if (valid) {
                            a[0] = weft_tanh(sum + a[0]);
                            a[1] = weft_gru_mix(a[0], a[2], a[1]);
                        } else {
                            a[0] = 0.0f;
                        }
                        weft_r_write(to, a, 2, lanes);
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
 * dy, 2 dh of the last state, 4 its dc. rooms: what goes on to the next turn of dh at 0 and of dc at
 * dc_room_at, `room_step` from turn to turn. helped: as forward. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void WEFT_NAME(back)(__global const float *y,
    long y_offset, int given, __global const float *dy, long dy_offset, __global const float *dh_last,
    long dh_last_offset, __global const float *dc_last, long dc_last_offset, int has_lengths,
    __global const int *lengths, long lengths_offset, __global float *d, long d_offset,
    __global const float *packed, long packed_offset, __global const float *packed_r, long packed_r_offset,
    int turn, int steps, int turns, int phases, int total, int batch, int units, int width, int rows,
    int blocks, int reverse, int left, long c_at, long gates_at, long sums_at, long out_at, long dh_at,
    long dc_at, long dy_t, long dy_n, long dy_p, long rooms_at, long dc_room_at, long room_step,
    __global float *rooms, long rooms_offset, __global int *state, long state_offset, int helped) {
    const int top = (int)get_global_id(0) * rows, bottom = min(batch, top + rows);
    const long line = WEFT_GATES * (long)units, area = batch * (long)width, c_step = batch * (long)units;
    y += y_offset;
    d += d_offset;
    dy += dy_offset;
    dh_last += dh_last_offset;
    dc_last += dc_last_offset;
    lengths += lengths_offset;
    packed += packed_offset;
    packed_r += packed_r_offset;
    rooms += rooms_offset + rooms_at;
    state += state_offset;
#if WEFT_CELL == 1 || WEFT_CELL == 2
    const bool keeps = true;
#else
    const bool keeps = has_lengths;
#endif
    float16 sums[WEFT_R_MOST * WEFT_R_ROWS * 2], tile_room[WEFT_R_ROWS * WEFT_R_PITCH / 16];
    float *tile = (float *)tile_room;
    for (int i = 0; i < WEFT_R_ROWS * WEFT_R_PITCH / 16; ++i) tile_room[i] = 0.0f;
    const int own = helped ? weft_r_arrive(state) : (int)get_global_id(1);
    const int last_share = helped && own == 0 ? (int)get_global_size(1) - 1 : own;
    for (int turn_at = turn * steps; turn_at < min(turns, (turn + 1) * steps); ++turn_at) {
        if (helped && own > 0) {
            turn_at = weft_r_join(state, own, turn_at, turns);
            if (turn_at >= turns) break;
        }
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
        __global float *room = rooms + turn_at * room_step, *room_before = room - room_step;
        __global float *keep = s < 0 ? d + dh_at : room;
        __global float *dc_room = s == 0 ? d + dc_at : room + dc_room_at;
        for (int share = own; share <= last_share && (phases & 1); ++share) {
            const int first = share * blocks * WEFT_R_PANEL, end = min(width, first + blocks * WEFT_R_PANEL);
            const long patience = 100 + (long)(end - first) * WEFT_FIRST * units * (bottom - top) / 64;
            if (share > own && weft_r_brought(state, share, turn_at, patience)) continue;
            for (int u = first; u < end; u += WEFT_R_PANEL * WEFT_R_MOST) {
                const int span = min(WEFT_R_MOST, (end - u + 31) / WEFT_R_PANEL);
                for (int row = top; row < bottom; row += WEFT_R_ROWS) {
                    const int count = min(WEFT_R_ROWS, bottom - row);
                    if (newest)
                        for (int i = 0; i < WEFT_R_MOST * WEFT_R_ROWS * 2; ++i) sums[i] = 0.0f;
                    else
                        weft_r_product(sums, tile, ds_next + row * line, line, count, WEFT_FIRST * units,
                            packed + (u / WEFT_R_PANEL) * WEFT_R_PANEL * line, WEFT_R_PANEL * line, span);
                    WEFT_ROLLED for (int r = 0; r < count; ++r) {
                        const int n = row + r;
                        WEFT_ROLLED for (int q = 0; q < 2 * span; ++q) {
                            const int j = u + 16 * q, lanes = width - j;
                            if (lanes <= 0) break;
                            const long at = n * (long)width + j, wide = n * line + j;
                            float16 dh = sums[(q / 2 * WEFT_R_ROWS + r) * 2 + q % 2];
                            __global const float *kept = newest  ? (given & 2 ? dh_last + at : 0)
                                                         : keeps ? room_before + at
                                                                 : 0;
                            if (kept) dh += weft_r_load(kept, lanes);
                            if (s < 0) {
                                weft_r_store(keep + at, dh, lanes);
                                continue;
                            }
                            if (given & 1)
                                dh += weft_r_load_strided(dy + t * dy_t + n * dy_n + j * dy_p, dy_p, lanes);
                            const bool valid = weft_r_valid(lengths, has_lengths, n, t, total, left);
#if WEFT_PROJECT
                            __global float *const to[] = {out + at, keep + at};
                            const float16 a[] = {valid ? dh : (float16)(0.0f), valid ? (float16)(0.0f) : dh};
                            weft_r_write(to, a, keeps ? 2 : 1, lanes);
#elif WEFT_CELL == 0
                            WEFT_LSTM_BACK(dh);
                            __global float *const to[] = {dx + wide, dx + wide + units,
                                dx + wide + 2 * (long)units, dx + wide + 3 * (long)units, dc_room + at,
                                keep + at};
                            d_in[5] = valid ? (float16)(0.0f) : dh;
                            weft_r_write(to, d_in, keeps ? 6 : 5, lanes);
#elif WEFT_CELL == 1 || WEFT_CELL == 2
                            __global const float *saved = gates + n * (long)(WEFT_SAVED * units) + j;
                            __global const float *const from[] = {saved + units, saved + 2 * (long)units,
                                before + at, saved, saved + 3 * (long)units};
                            __global float *const to[] = {keep + at, dx + wide + units,
                                dx + wide + 2 * (long)units, dx + wide, ds + wide, ds + wide + units,
                                ds + wide + 2 * (long)units};
                            float16 in[5], a[7]; /* z, n, h before, r, hn */
                            weft_r_read(in, from, WEFT_CELL == 1 ? 5 : 3, lanes);
                            WEFT_ROLLED for (int i = 1; i < 7; ++i) a[i] = 0.0f;
                            if (valid) {
                                weft_gru_back(in[0], in[1], in[2], dh, &a[1], &a[2]);
                                dh *= in[0];
#if WEFT_CELL == 1
                                a[3] = a[4] = a[2] * in[4] * (in[3] * (1.0f - in[3]));
                                a[5] = a[1];
                                a[6] = a[2] * in[3];
#endif
                            }
                            a[0] = dh;
                            weft_r_write(to, a, WEFT_CELL == 1 ? 7 : 3, lanes);
#else
                            __global float *const to[] = {dx + wide, keep + at};
                            const float16 h = weft_r_load(after + at, lanes);
                            float16 a[] = {0.0f, valid ? (float16)(0.0f) : dh};
#if WEFT_CELL == 3
                            if (valid) a[0] = dh * (1.0f - h * h);
#else
                            if (valid) a[0] = select((float16)(0.0f), dh, h > 0.0f);
#endif
                            weft_r_write(to, a, keeps ? 2 : 1, lanes);
#endif
                        }
                    }
                }
            }
        }
        if (helped) weft_r_tell(state, 1 + own, own ? turn_at + 2 : turn_at + 1);
#if WEFT_PROJECT || WEFT_CELL == 2
        const int first = own * blocks * WEFT_R_PANEL, end_r = min(units, first + blocks * WEFT_R_PANEL);
        for (int u = first; u < end_r && s >= 0 && (phases & 2); u += WEFT_R_PANEL * WEFT_R_MOST) {
            const int span = min(WEFT_R_MOST, (end_r - u + 31) / WEFT_R_PANEL);
            for (int row = top; row < bottom; row += WEFT_R_ROWS) {
                const int count = min(WEFT_R_ROWS, bottom - row);
#if WEFT_PROJECT
                weft_r_product(sums, tile, out + row * (long)width, width, count, width,
                    packed_r + (u / WEFT_R_PANEL) * (long)WEFT_R_PANEL * width, WEFT_R_PANEL * (long)width,
                    span);
#else
                weft_r_product(sums, tile, dx + row * line + 2 * (long)units, line, count, units,
                    packed + (u / WEFT_R_PANEL) * WEFT_R_PANEL * line + WEFT_R_PANEL * 2 * (long)units,
                    WEFT_R_PANEL * line, span);
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
                        WEFT_LSTM_BACK(sum);
                        __global float *const to[] = {dx + wide, dx + wide + units,
                            dx + wide + 2 * (long)units, dx + wide + 3 * (long)units, dc_room + at};
                        weft_r_write(to, d_in, 5, lanes);
#else
                        __global const float *const from[] = {saved, before + at, keep + at};
                        __global float *const to[] = {dx + wide, keep + at};
                        float16 a[3]; /* r, h before, keep */
                        weft_r_read(a, from, 3, lanes);
                        const float16 rs = a[0];
                        a[0] = valid ? sum * a[1] * (rs * (1.0f - rs)) : (float16)(0.0f);
                        a[1] = fma(sum, rs, a[2]);
                        weft_r_write(to, a, valid ? 2 : 1, lanes);
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
#undef WEFT_LSTM_BACK
#ifdef WEFT_R_ALONE
#undef WEFT_R_ALONE
#undef WEFT_NAME
#undef WEFT_CELL
#undef WEFT_PROJECT
#undef WEFT_KEEP
#undef WEFT_BACK
#endif
