/* attention_engine_back_gpu.cl: the gradients of attention by the matrix engines of GPUs; see attention_engine_gpu.cl. It is a file of its
 * own, because the gradient has other tiles for the same width of a head, and a program includes whole files. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) attention_##suffix
#define WEFT_DROP         0
#include "alone.clh"
#endif

#include "attention_engine_gpu.clh"
#define WEFT_ATTENTION_ITEMS WEFT_ENGINE_GROUP
#include "attention_inner_gpu.clh"
#undef WEFT_ATTENTION_ITEMS

#ifndef WEFT_ATTENTION_ENGINE_LINE
#define WEFT_ATTENTION_ENGINE_LINE
/* The line of a query is a pair: its logarithm lse and its inner product rowsum(dy y). Sets `lines` to the lines of `count` queries from
 * `first` on. The line of a query that does not exist has values with which all its weights are zero. */
__attribute__((always_inline)) static inline void weft_head_lines(__local float2 *lines,
    __global const float *logs, __global const float *inner, int first, int queries, int count, uint item) {
    const int query = first + (int)item;
    if ((int)item < count)
        lines[item] = query < queries ? (float2)(logs[query], inner[query]) : (float2)(INFINITY, 0.0f);
}
#endif

/* Sets `rows` to the lines of the group's queries, or to zeros if the rows are keys (turned), and `others` to zeros. One of the two stays
 * zero during the kernel, so the sum of a row's and an other's line is always the line of the query. */
__attribute__((always_inline)) static inline void WEFT_NAME(first_lines)(__local float2 *rows,
    __local float2 *others, __global const float *logs, __global const float *inner, int first, int queries,
    int turned, uint item) {
    if (item < WEFT_ENGINE_HEIGHT) rows[item] = 0.0f;
    if (item < WEFT_ENGINE_WIDTH) others[item] = 0.0f;
    weft_head_lines(rows, logs, inner, first, queries, turned ? 0 : WEFT_ENGINE_HEIGHT, item);
}

/* Computes the weights (dv) or the gradients of the scores (dq, dk) from a lane's scores, and stores them in the tile, from the lane's
 * first score on. `products` has the products of the rows and others of dy and v. `rows` and `others` point to lines. WEFT_HEAD_KEPT sets
 * `bits`. */
__attribute__((always_inline)) static inline void WEFT_NAME(weigh_others)(__local ushort *weights,
    float (*scores)[WEFT_ENGINE_ACROSS][WEFT_ENGINE_SUMS],
    float (*products)[WEFT_ENGINE_ACROSS][WEFT_ENGINE_SUMS], __local const float2 *rows,
    __local const float2 *others, int part, float scale, uint bits, float kept) {
    WEFT_UNROLL_REGISTERS for (int e = 0; e < WEFT_HEAD_SCORES; ++e) {
        const int r = WEFT_HEAD_ROW(e), c = WEFT_HEAD_COLUMN(e);
        const float2 line = rows[r] + others[c];
        const float weight = native_exp2(WEFT_ENGINE_SUM(scores, e) - line.x);
        const float factor = WEFT_HEAD_FACTOR(bits, e);
        const float change = part == WEFT_ATTENTION_DV
                                 ? weight * factor
                                 : weight * ((WEFT_ENGINE_SUM(products, e) * factor - line.y) * scale);
        weights[r * (8 * WEFT_ENGINE_PITCH) + c] =
            (ushort)WEFT_JOIN(weft_engine_word_, WEFT_ENGINE_FORMAT)(change, 0.0f);
    }
}

/* Reads a block of the kernel's operand others_1 (if `second`) or others_2 (otherwise), from row `other` on, into the registers `next`. */
#define WEFT_HEAD_FETCH_OTHERS(second, other, item)                                                          \
    WEFT_NAME(fetch_others)                                                                                  \
    (next, (second) ? others_1 + (other)*others_1_row : others_2 + (other)*others_2_row,                     \
        other_count - (other), (second) ? d_width : dv_width, (int)((second) ? others_1_row : others_2_row), \
        (int)((second) ? others_1_column : others_2_column), item);

/* Computes one gradient, `part`: see WEFT_ATTENTION_BACKWARD_PARAMETERS. */
__kernel __attribute__((reqd_work_group_size(WEFT_ENGINE_GROUP, 1, 1))) WEFT_ENGINE_ATTRIBUTES void WEFT_NAME(
    backward)(WEFT_ATTENTION_BACKWARD_PARAMETERS) {
    WEFT_HEAD_ROWS(rows, 2);
    __local uint4 others[WEFT_HEAD_PANEL(WEFT_ENGINE_HEAD)], weights[WEFT_HEAD_PANEL(WEFT_ENGINE_HEIGHT)];
    __local float2 row_lines[WEFT_ENGINE_HEIGHT], other_lines[WEFT_ENGINE_WIDTH];
    WEFT_ENGINE_SHARED(shared)
    const uint item = (uint)get_local_id(0);
    const weft_head_place at = WEFT_NAME(head_place)(item);
    const int n = (int)get_global_id(1), first = (int)get_group_id(0) * WEFT_ENGINE_HEIGHT;
    const int turned = part != WEFT_ATTENTION_DQ, row_count = turned ? keys : queries;
    const int other_count = turned ? queries : keys;
    const long a = n / n1, b = n % n1;
    rows_1 += rows_1_offset + a * rows_1_0 + b * rows_1_1 + first * rows_1_row;
    rows_2 += rows_2_offset + a * rows_2_0 + b * rows_2_1 + first * rows_2_row;
    others_1 += others_1_offset + a * others_1_0 + b * others_1_1;
    others_2 += others_2_offset + a * others_2_0 + b * others_2_1;
    summed += summed_offset + a * summed_0 + b * summed_1;
    y += y_offset + lse + (long)n * queries;
    inner += inner_offset + (long)n * queries;
    mask += (mask_kind == 2 ? sizeof(float) : 1) * (mask_offset + a * mask_0 + b * mask_1);
    uint4 next[WEFT_HEAD_COPIES(WEFT_ENGINE_WIDTH)];
    float sums[WEFT_HEAD_PARTS][WEFT_ENGINE_DOWN][WEFT_ENGINE_ACROSS][WEFT_ENGINE_SUMS];
    float scores[WEFT_ENGINE_DOWN][WEFT_ENGINE_ACROSS][WEFT_ENGINE_SUMS];
    float products[WEFT_ENGINE_DOWN][WEFT_ENGINE_ACROSS][WEFT_ENGINE_SUMS];
    WEFT_NAME(load_rows)
    (rows, 0, weights, rows_2, row_count - first, dv_width, (int)rows_2_row, (int)rows_2_column, at);
    WEFT_NAME(load_rows)
    (rows, 1, weights, rows_1, row_count - first, d_width, (int)rows_1_row, (int)rows_1_column, at);
    WEFT_UNROLL_REGISTERS for (int of = 0; of < WEFT_HEAD_PARTS; ++of) WEFT_NAME(clear)(sums[of]);
    WEFT_NAME(clear)(scores);
    WEFT_NAME(first_lines)(row_lines, other_lines, y, inner, first, queries, turned, item);
    const int second_first = part == WEFT_ATTENTION_DV; /* dv needs no product of dy and v */
    const int begin = causal && turned ? first : 0;
    const int end = causal && !turned ? min(keys, first + WEFT_ENGINE_HEIGHT) : other_count;
    WEFT_HEAD_FETCH_OTHERS(second_first, begin, item)
    for (int other = begin; other < end; other += WEFT_ENGINE_WIDTH) {
        const int whole = weft_head_whole(row_count - first, other_count - other, WEFT_ENGINE_HEIGHT,
            WEFT_ENGINE_WIDTH, first, other, turned, causal);
        weft_head_lines(other_lines, y, inner, other, queries, turned ? WEFT_ENGINE_WIDTH : 0, item);
        WEFT_HEAD_PRODUCTS(second, second_first) {
            WEFT_UNROLL_REGISTERS for (int e = 0; e < WEFT_HEAD_SCORES; ++e) WEFT_ENGINE_SUM(products, e) =
                WEFT_ENGINE_SUM(scores, e);
            WEFT_NAME(put_others)(others, next, item);
            barrier(CLK_LOCAL_MEM_FENCE);
            if (!second) WEFT_HEAD_FETCH_OTHERS(1, other, item)
            WEFT_NAME(score)(scores, rows, second, others, at, shared);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        /* The pairs are read only now, because a product needs the registers. Each pair is rounded as soon as it is read. */
        uint4 pairs[WEFT_HEAD_QUADS];
        WEFT_NAME(fetch_pairs)
        (pairs, summed + other * summed_row, other_count - other, to_width, (int)summed_row,
            (int)summed_column, item);
        WEFT_NAME(put_pairs)(others, pairs, item);
        WEFT_NAME(apply_mask)
        (scores, scale, first + at.row, other + at.column, turned, whole, queries, keys, causal, mask_kind,
            mask, mask_row, mask_column);
        WEFT_HEAD_KEPT(bits, WEFT_HEAD_SCORES,
            turned ? other + at.column + WEFT_HEAD_COLUMN(e) : first + at.row + WEFT_HEAD_ROW(e),
            turned ? first + at.row + WEFT_HEAD_ROW(e) : other + at.column + WEFT_HEAD_COLUMN(e))
        WEFT_NAME(weigh_others)
        ((__local ushort *)weights + at.row * (8 * WEFT_ENGINE_PITCH) + at.column, scores, products,
            row_lines + at.row, other_lines + at.column, part, scale, bits, WEFT_HEAD_ENLARGED);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (other + WEFT_ENGINE_WIDTH < end)
            WEFT_HEAD_FETCH_OTHERS(second_first, other + WEFT_ENGINE_WIDTH, item)
        WEFT_NAME(sum_up)(sums, weights, others, at, shared);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    to += to_offset + to_at + a * to_0 + b * to_1 + (first + at.row) * to_row + at.column;
    WEFT_NAME(store_sums)
    (to, to_row, row_count - first - at.row, to_width - at.column, sums, (__local const float *)row_lines, 0);
}

#undef WEFT_HEAD_FETCH_OTHERS
