/* ctc.cl: connectionist temporal classification (Graves et al. 2006).
 *
 *     log_probs (steps, batch, classes), any strides   targets (batch, labels)   lengths (batch)
 *
 * An example with n labels has 2n + 1 states, a blank before, between and after the labels:
 *
 *     state    0  1  2  3  4         a path begins in state 0 or 1 and ends in one of the last two; from step
 *     class    -  a  -  b  -         to step it stays, goes on by one, or skips a blank between different
 *                                    labels
 *
 * walk: computes for each step and state the probability of all paths that reach the state, forward from the first step and backward from
 * the last. The backward walk is a forward walk with time and states reversed. Probabilities are logarithms. Each row is relative to the
 * largest number of the row before, and the sum of these is kept separately, so that rounding errors do not grow with the number of steps.
 *
 *     loss = -log(sum of the last two states of the last row)
 *
 * With WEFT_TABLE 1 the result of an example is a table: the loss; the kind of the gradient (0: zero, 1: computed by spread, -1: NaN); and
 * from element WEFT_CTC_HEAD on `steps` rows of the forward walk and `steps` rows of the backward walk, `width` floats each, in the order
 * of the walk. A row of the backward walk does not include the log-probabilities of its step. With WEFT_TABLE 0 the result is the loss
 * alone.
 *
 * spread: gradient[t][b][c] = -g[b] · fraction of the paths that are at step t in a state of class c.
 *
 * Class cpu: an item walks through an example, WEFT_LANES states at a time, and spreads some rows (t, b). Class gpu: a group of WEFT_GROUP
 * items walks in one direction, with its rows in local memory if they fit (WEFT_LOCAL_ROWS); another group spreads one row. In a row, the
 * item of the first of several equal labels adds all of them up, along the chain of their indices. Each class therefore has one writer,
 * there are no atomics, and each sum has one fixed order. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) ctc_##suffix
#define WEFT_TABLE        1
#define WEFT_LOCAL_ROWS   0
#ifndef WEFT_INDEX
#define WEFT_INDEX long
#endif
#endif

#ifndef WEFT_CTC
#define WEFT_CTC

#if WEFT_LANES == 16
#define WEFT_CTC_ITEM        0
#define WEFT_CTC_ITEMS       1
#define WEFT_CTC_LOAD(p)     vload16(0, p)
#define WEFT_CTC_STORE(v, p) vstore16(v, 0, p)
static inline WF weft_ctc_pick(__global const float *x, WI classes, long stride) {
    float value[16];
    int c[16];
    vstore16(classes, 0, c);
    for (int lane = 0; lane < 16; lane++) value[lane] = x[c[lane] * stride];
    return vload16(0, value);
}
/* Elements p[0], p[-1] .. p[-15]. */
static inline WF weft_ctc_load_reversed(__global const float *p) {
    float x[16];
    for (int lane = 0; lane < 16; lane++) x[lane] = p[-lane];
    return vload16(0, x);
}
#else
#define WEFT_CTC_ITEM                     ((int)get_local_id(0))
#define WEFT_CTC_ITEMS                    WEFT_GROUP
#define WEFT_CTC_LOAD(p)                  (*(p))
#define WEFT_CTC_STORE(v, p)              (*(p) = (v))
#define weft_ctc_pick(x, classes, stride) ((x)[(classes) * (stride)])
#endif

/* log(exp a + exp b + exp c); NaN stays NaN. */
#define WEFT_CTC_DEFINE_SUM(F, I, name)                                                                      \
    static inline F name(F a, F b, F c) {                                                                    \
        const F most = fmax(fmax(a, b), c);                                                                  \
        const F at = select(most, (F)(0.0f), (I)(most == (F)(-INFINITY)));                                   \
        return at + log(exp(a - at) + exp(b - at) + exp(c - at));                                            \
    }
WEFT_CTC_DEFINE_SUM(float, int, weft_ctc_sum)
#if WEFT_LANES == 16
WEFT_CTC_DEFINE_SUM(WF, WI, weft_ctc_sums)
#else
#define weft_ctc_sums weft_ctc_sum
#endif

/* Returns nonzero if this item finds a label that is not a class, or is the blank. */
static inline int weft_ctc_bad_labels(__global const int *targets, int count, int classes, int blank) {
    int bad = 0;
    WEFT_ROLLED for (int j = WEFT_CTC_ITEM; j < count; j += WEFT_CTC_ITEMS) bad |=
        targets[j] < 0 || targets[j] >= classes || targets[j] == blank;
    return bad;
}

/* The code of a state is its class c, or ~c if a path may skip the blank before the state. */
static inline void weft_ctc_encode(
    __global int *codes, int width, __global const int *targets, int count, int states, int blank, int back) {
    WEFT_ROLLED for (int i = WEFT_CTC_ITEM; i < width; i += WEFT_CTC_ITEMS) {
        int code = blank;
        if ((i & 1) && i < states) {
            const int j = i / 2;
            code = targets[back ? count - 1 - j : j];
            if (j > 0 && code != targets[back ? count - j : j - 1]) code = ~code;
        }
        codes[i] = code;
    }
}
#endif

#if WEFT_LANES == 1 && WEFT_LOCAL_ROWS
#define WEFT_CTC_ROW_SPACE __local
#define WEFT_CTC_ROW_FENCE CLK_LOCAL_MEM_FENCE
#else
#define WEFT_CTC_ROW_SPACE __global
#define WEFT_CTC_ROW_FENCE CLK_GLOBAL_MEM_FENCE
#endif

/* Computes the row `now` of the states from the row `before`, minus `shift`; x: the step's log-probabilities; to: the table's row. Returns
 * the largest value that this item computed. */
__attribute__((always_inline)) static inline WF WEFT_NAME(row)(WEFT_CTC_ROW_SPACE float *now,
    WEFT_CTC_ROW_SPACE const float *before, __global const float *x, long class_stride,
    __global const int *codes, int states, float shift, int back, __global float *to) {
    WF top = (WF)(-INFINITY);
    for (int i = WEFT_CTC_ITEM * WEFT_LANES; i < states; i += WEFT_CTC_ITEMS * WEFT_LANES) {
        const WI code = WEFT_CTC_LOAD(codes + i), skips = (WI)(code < (WI)(0));
        const WF skipping = select((WF)(-INFINITY), WEFT_CTC_LOAD(before + i - 2), skips);
        const WF reached =
            weft_ctc_sums(WEFT_CTC_LOAD(before + i), WEFT_CTC_LOAD(before + i - 1), skipping) - (WF)(shift);
        WF value = reached + weft_ctc_pick(x, select(code, ~code, skips), class_stride);
        value = WEFT_MASKED(states - i, value, (WF)(-INFINITY));
        WEFT_CTC_STORE(value, now + i);
#if WEFT_TABLE
        WEFT_CTC_STORE(back ? reached : value, to + i);
#endif
        top = fmax(top, value);
    }
    return top;
}

/* Stores the loss and, with a table, the kind of its gradient. `last` points to the last state of the last row. total - carry is the sum
 * of all shifts. */
__attribute__((always_inline)) static inline void WEFT_NAME(end)(__global float *head,
    WEFT_CTC_ROW_SPACE const float *last, int length, float total, float carry, int bad, int zero_infinity) {
    const float ends = length ? weft_ctc_sum(last[0], last[-1], -INFINITY) : last[0];
    const float loss = bad ? NAN : 0.0f - (total + (ends - carry));
    const int infinite = loss == INFINITY;
    head[0] = infinite && zero_infinity ? 0.0f : loss;
#if WEFT_TABLE
    head[1] = bad || (infinite && zero_infinity) ? 0.0f : infinite ? -1.0f : 1.0f;
#endif
}

__kernel void WEFT_NAME(walk)(__global const float *log_probs, long log_probs_offset,
    __global const int *restrict targets, long targets_offset, __global const int *restrict input_lengths,
    long input_lengths_offset, __global const int *restrict target_lengths, long target_lengths_offset,
    __global float *restrict result, long result_offset, __global int *restrict codes, long codes_offset,
    __global float *restrict scratch, long scratch_offset, __global int *faults, long fault, int steps,
    int classes, int labels, int width, long step_stride, long batch_stride, long class_stride, int blank,
    int zero_infinity) {
    const long group = (long)get_group_id(0), example = WEFT_TABLE ? group / 2 : group;
    const int back = WEFT_TABLE ? (int)(group & 1) : 0, me = WEFT_CTC_ITEM;
    const int given = (input_lengths + input_lengths_offset)[example];
    const int count = (target_lengths + target_lengths_offset)[example];
    log_probs += log_probs_offset + example * batch_stride;
    targets += targets_offset + example * labels;
    codes += codes_offset + group * width;
#if WEFT_LANES == 1
    __local int flags[WEFT_SHARED];
    __local float shared[WEFT_SHARED];
#endif
#if WEFT_LANES == 1 && WEFT_LOCAL_ROWS
    __local float rows[2 * (WEFT_CTC_LEAD + WEFT_CTC_LOCAL_WIDTH)];
#else
    __global float *rows = scratch + scratch_offset + group * 2 * (WEFT_CTC_LEAD + width);
#endif

    int bad = given < 0 || given > steps || count < 0 || count > labels;
    if (!bad) bad = weft_ctc_bad_labels(targets, count, classes, blank);
#if WEFT_LANES == 1
    bad = weft_group_max_i(bad, flags, 0);
#endif
    if ((bad != 0) & (me == 0) & (back == 0)) WEFT_FAULT(faults, fault, example);
    const int length = bad ? 0 : given, states = bad ? 1 : 2 * count + 1;

    weft_ctc_encode(codes, width, targets, count, states, blank, back);
    /* The row before the first step: a path begins as if it came from a blank. */
    for (int i = me; i < 2 * (WEFT_CTC_LEAD + width); i += WEFT_CTC_ITEMS)
        rows[i] = i == 2 * WEFT_CTC_LEAD + width ? 0.0f : -INFINITY;
#if WEFT_LANES == 1
    barrier(WEFT_CTC_ROW_FENCE);
#endif

    /* without a table an example has only the loss */
    const long table_size = WEFT_TABLE ? WEFT_CTC_HEAD + 2L * steps * width : 1;
    __global float *const head = result + result_offset + example * table_size;
    __global float *const table = head + WEFT_CTC_HEAD + (long)back * steps * width;
    float shift = 0.0f, total = 0.0f, carry = 0.0f;
    for (int k = 0; k < length; k++) {
        __global const float *const x = log_probs + (back ? length - 1 - k : k) * step_stride;
        WEFT_CTC_ROW_SPACE const float *const before =
            rows + ((k + 1) & 1) * (WEFT_CTC_LEAD + width) + WEFT_CTC_LEAD;
        WEFT_CTC_ROW_SPACE float *const now = rows + (k & 1) * (WEFT_CTC_LEAD + width) + WEFT_CTC_LEAD;
        const WF top =
            WEFT_NAME(row)(now, before, x, class_stride, codes, states, shift, back, table + (long)k * width);
        const float y = shift - carry, sum = total + y;
        carry = (sum - total) - y;
        total = sum;
#if WEFT_LANES == 1
        shift = weft_group_max_f(top, shared, k & 1); /* also a barrier between the rows, if they are local */
#if !WEFT_LOCAL_ROWS
        barrier(CLK_GLOBAL_MEM_FENCE);
#endif
#else
        shift = weft_lanes_max_f(top);
#endif
        shift = shift == -INFINITY ? 0.0f : shift;
    }

    if ((me == 0) & (back == 0)) WEFT_NAME(end)
    (head, rows + ((length + 1) & 1) * (WEFT_CTC_LEAD + width) + WEFT_CTC_LEAD + states - 1, length, total,
        carry, bad, zero_infinity);
}

#undef WEFT_CTC_ROW_SPACE
#undef WEFT_CTC_ROW_FENCE

#if WEFT_TABLE
#if WEFT_LANES == 1
/* chain[j] is the next index after j that has the same label as j, or INT_MAX if there is none. If an index before j has this label, too,
 * chain[j] is the complement (~) of this number. */
__kernel void WEFT_NAME(chain)(__global const int *restrict targets, long targets_offset,
    __global const int *restrict target_lengths, long target_lengths_offset,
    __global const float *restrict tables, long tables_offset, __global int *restrict chains,
    long chains_offset, WEFT_INDEX items, int labels, WEFT_INDEX table_size) {
    const WEFT_INDEX item = (WEFT_INDEX)get_global_id(0);
    if (item >= items) return;
    const WEFT_INDEX example = item / labels;
    const int j = (int)(item - example * labels);
    targets += targets_offset + example * labels;
    const int count = tables[tables_offset + example * table_size + 1] > 0.0f
                          ? (target_lengths + target_lengths_offset)[example]
                          : 0;
    if (j >= count) return;
    const int label = targets[j];
    int next = j + 1, earlier = 0;
    while (next < count && targets[next] != label) next++;
    for (int i = 0; i < j; i++) earlier |= targets[i] == label;
    next = next < count ? next : INT_MAX;
    (chains + chains_offset)[item] = earlier ? ~next : next;
}
#endif

__kernel void WEFT_NAME(spread)(__global const int *restrict targets, long targets_offset,
    __global const int *restrict input_lengths, long input_lengths_offset,
    __global const int *restrict target_lengths, long target_lengths_offset,
    __global const float *restrict tables, long tables_offset, __global const float *restrict g,
    long g_offset, __global float *gradient, long gradient_offset, __global const int *restrict chains,
    long chains_offset, WEFT_INDEX rows, WEFT_INDEX rows_an_item, WEFT_INDEX batch, int steps, int classes,
    int labels, int width, int blank) {
    targets += targets_offset;
    const int me = WEFT_CTC_ITEM;
    const WEFT_INDEX begin = (WEFT_INDEX)get_group_id(0) * rows_an_item,
                     end = min(begin + rows_an_item, rows);
#if WEFT_LANES == 1
    __local float shared[WEFT_SHARED];
#endif
    for (WEFT_INDEX row = begin; row < end; row++) {
        const WEFT_INDEX t = row / batch, example = row - t * batch;
        __global const float *const head =
            tables + tables_offset + example * (WEFT_CTC_HEAD + 2L * steps * width);
        const int length = head[1] != 0.0f ? (input_lengths + input_lengths_offset)[example] : 0;
        const bool lost = t < length && head[1] < 0.0f;
        /* `back` points to state 0 of step t in the backward walk, in which the next state is one element lower */
        const int count = t < length && !lost ? (target_lengths + target_lengths_offset)[example] : 0;
        const int states = t < length && !lost ? 2 * count + 1 : 0;
        __global const float *const there = head + WEFT_CTC_HEAD + t * width;
        __global const float *const back =
            head + WEFT_CTC_HEAD + (steps + (states ? length - 1 - t : 0)) * (long)width + states - 1;
        __global float *const y = gradient + gradient_offset + row * classes;
        const float rest = lost ? NAN : 0.0f, gradient = -(g + g_offset)[example];
        for (int c = me; c < classes; c += WEFT_CTC_ITEMS) y[c] = rest;
#if WEFT_LANES == 16
        __global const int *const own = targets + example * labels;
        WF top = (WF)(-INFINITY), sum = (WF)(0.0f);
        for (int i = 0; i < states; i += 16) {
            const WF x = vload16(0, there + i) + weft_ctc_load_reversed(back - i);
            top = fmax(top, WEFT_MASKED(states - i, x, (WF)(-INFINITY)));
        }
        const WF peak = (WF)(weft_lanes_max_f(top));
        for (int i = 0; i < states; i += 16) {
            const WF x = vload16(0, there + i) + weft_ctc_load_reversed(back - i);
            sum += WEFT_MASKED(states - i, exp(x - peak), (WF)(0.0f));
        }
        const WF share = (WF)(gradient / weft_lanes_sum_f(sum));
        float blanks = 0.0f;
        for (int i = 0; i < states; i += 16) {
            float x[16];
            vstore16(exp(vload16(0, there + i) + weft_ctc_load_reversed(back - i) - peak) * share, 0, x);
            const int lanes = min(states - i, 16);
            for (int lane = 0; lane < lanes; lane += 2) blanks += x[lane];
            for (int lane = 1; lane < lanes; lane += 2) y[own[(i + lane) / 2]] += x[lane];
        }
        if (states) y[blank] = blanks;
#else
        __global const int *const own = targets + example * labels;
        __global const int *const chain = chains + chains_offset + example * labels;
        float top = -INFINITY, sum = 0.0f;
        for (int i = me; i < states; i += WEFT_GROUP) top = fmax(top, there[i] + back[-i]);
        const int side = (int)(row & 1); /* of `shared`, for the first of a row's three group reductions */
        const float peak = weft_group_max_f(top, shared, side);
        for (int i = me; i < states; i += WEFT_GROUP) sum += exp(there[i] + back[-i] - peak);
        /* an item's states are either all blanks or all labels */
        const float blanks = weft_group_sum_f(me & 1 ? 0.0f : sum, shared, !side);
        const float all = blanks + weft_group_sum_f(me & 1 ? sum : 0.0f, shared, side);
        barrier(CLK_GLOBAL_MEM_FENCE); /* another item may have set y[c] = rest */
        if (me == 0 && states) y[blank] = gradient * (blanks / all);
        for (int j = me; j < count; j += WEFT_GROUP) {
            if (chain[j] < 0) continue;
            float of_class = 0.0f;
            for (int at = j; at != INT_MAX; at = at == j ? chain[at] : ~chain[at])
                of_class += exp(there[2 * at + 1] + back[-(2 * at + 1)] - peak);
            y[own[j]] = gradient * (of_class / all);
        }
#endif
    }
}
#endif
