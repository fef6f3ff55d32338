/* attention_engine_gpu.cl: scaled dot-product attention by the matrix engines of GPUs: factors of 16 bits, sums of f32. The gradients are
 * in attention_engine_back_gpu.cl.
 *
 * attention_cpu.cl has the formulas, the masks and the packed result; arguments and launches are those of attention_gpu.cl. A group
 * computes a block of WEFT_ENGINE_HEIGHT rows, which are queries (forward, dq) or keys (dk, dv). It walks over the others, keys or queries,
 * WEFT_ENGINE_WIDTH at a time, with two products whose operands are in local memory in the layout of engine_tile.clh:
 *
 *       head width                others                    WEFT_ENGINE_HEAD columns
 *      +----------+           +------------+              +-------------------------+
 *      |   rows   |  x  o  =  |   scores   |, weights  x  |  others' rows, summed   |  =  sums
 *      |          |     o     |            |              +-------------------------+
 *      +----------+           +------------+
 *
 * 1. Scores: the rows stay in local memory, rounded once. The others are copied in chunks of 8 numbers along their width. 2. Weights, in
 * f32: the lanes that hold the scores apply the masks. forward: the scores are stored in local memory, and each item computes the weights
 * of a range of a row, the row's maximum and the sum of its weights. backward: each lane computes the weights of the scores that it holds.
 * The weights are rounded and stored in a tile. 3. Sums, in f32 in registers: the rows of the others are transposed in quads of a pair of
 * rows, because the engine sums along the others.
 *
 * The next operand is read from memory while a product is computed. A tile consists of panels of WEFT_ENGINE_STEP steps of k, one behind
 * the other. A table of the engine says which sums a lane holds. Facts about single sums, such as whether a mask hides them, are bits of
 * one number, so that loops that would take long to compile unrolled can stay loops, and every index of an array is a constant. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) attention_##suffix
#define WEFT_DROP         0
#include "alone.clh"
#endif

#include "attention_engine_gpu.clh"

#ifndef WEFT_ATTENTION_ENGINE_ROW
#define WEFT_ATTENTION_ENGINE_ROW
/* An item's values of a row of scores: the largest score so far, and the sum of the weights that this item computed. */
typedef struct weft_head_row {
    float top, total;
} weft_head_row;

/* Stores the logarithm of a row's sum, and the part of it that its rounding lost, `apart` numbers further on. */
static inline void weft_head_store_log(__global float *to, long apart, float top, float total) {
    const float log_sum = total == 0.0f ? INFINITY : top + log2(total);
    to[0] = log_sum;
    to[apart] = weft_attention_lost(log_sum, top, total);
}
#endif

/* The factors of the weights of four bits of `bits`, from bit e on. */
static inline float4 WEFT_NAME(factors)(uint bits, int e, float kept) {
    return (float4)(WEFT_HEAD_FACTOR(bits, e), WEFT_HEAD_FACTOR(bits, e + 1), WEFT_HEAD_FACTOR(bits, e + 2),
        WEFT_HEAD_FACTOR(bits, e + 3));
}

/* Computes the weights of an item's range of a row of scores, relative to the row's maximum so far, stores them in the tile, and adds their
 * sum to the item's total. bits, kept: see WEFT_HEAD_KEPT. Returns the factor by which earlier sums must be multiplied. */
__attribute__((always_inline)) static inline float WEFT_NAME(weigh)(weft_head_row *own,
    __local const float4 *scores, __local uint4 *weights, int part, uint bits, float kept) {
    float4 best = own->top, total = 0.0f;
    WEFT_UNROLL_REGISTERS for (int i = 0; i < WEFT_ENGINE_WIDTH / 4; ++i) {
        const float4 score = scores[i];
        best = score > best ? score : best;
    }
    const float2 better = best.xy > best.zw ? best.xy : best.zw;
    const float top = better.x > better.y ? better.x : better.y, base = top == -INFINITY ? 0.0f : top;
    const float factor = native_exp2(own->top - base);
    WEFT_ROLLED for (int i = 0; i < WEFT_HEAD_OWN; i += 8) {
        const int at = (part * WEFT_HEAD_OWN + i) / 8;
        const float4 x = native_exp2(scores[2 * at] - base), y = native_exp2(scores[2 * at + 1] - base);
        total += x + y;
        weights[at] = WEFT_JOIN(weft_engine_words_, WEFT_ENGINE_FORMAT)(
            x * WEFT_NAME(factors)(bits, i, kept), y * WEFT_NAME(factors)(bits, i + 4, kept));
    }
    own->top = top;
    own->total = own->total * factor + (total.x + total.y + (total.z + total.w));
    return factor;
}

__kernel __attribute__((reqd_work_group_size(WEFT_ENGINE_GROUP, 1, 1))) WEFT_ENGINE_ATTRIBUTES void WEFT_NAME(
    forward)(WEFT_ATTENTION_FORWARD_PARAMETERS) {
    WEFT_HEAD_ROWS(rows, 1);
    __local uint4 others[WEFT_HEAD_FORWARD_OTHERS], weights[WEFT_HEAD_PANEL(WEFT_ENGINE_HEIGHT)];
    WEFT_HEAD_SCORE_TILE(tile, others)
    __local float factors[WEFT_ENGINE_GROUP];
    WEFT_ENGINE_SHARED(shared)
    const uint item = (uint)get_local_id(0);
    const weft_head_place at = WEFT_NAME(head_place)(item);
    __local float *const scores_at = (__local float *)tile + at.row * (4 * WEFT_HEAD_PITCH) + at.column,
                         *const factors_at = factors + at.row;
    const int own_row = (int)(item % WEFT_ENGINE_HEIGHT), own_part = (int)(item / WEFT_ENGINE_HEIGHT),
              n = (int)get_global_id(1), first = (int)get_group_id(0) * WEFT_ENGINE_HEIGHT;
    const long a = n / n1, b = n % n1;
    q += q_offset + a * q_0 + b * q_1 + first * q_row;
    k += k_offset + a * k_0 + b * k_1;
    v += v_offset + a * v_0 + b * v_1;
    mask += (mask_kind == 2 ? sizeof(float) : 1) * (mask_offset + a * mask_0 + b * mask_1);
    uint4 next[WEFT_HEAD_COPIES(WEFT_ENGINE_WIDTH)], pairs[WEFT_HEAD_QUADS];
    float sums[WEFT_HEAD_PARTS][WEFT_ENGINE_DOWN][WEFT_ENGINE_ACROSS][WEFT_ENGINE_SUMS];
    float scores[WEFT_ENGINE_DOWN][WEFT_ENGINE_ACROSS][WEFT_ENGINE_SUMS];
    WEFT_NAME(load_rows)(rows, 0, weights, q, queries - first, d_width, (int)q_row, (int)q_column, at);
    weft_head_row own = {-INFINITY, 0.0f};
    WEFT_UNROLL_REGISTERS for (int part = 0; part < WEFT_HEAD_PARTS; ++part) WEFT_NAME(clear)(sums[part]);
    const int end = causal ? min(keys, first + WEFT_ENGINE_HEIGHT) : keys;
    WEFT_NAME(fetch_others)(next, k, keys, d_width, (int)k_row, (int)k_column, item);
    for (int key = 0; key < end; key += WEFT_ENGINE_WIDTH) {
        const int whole = weft_head_whole(
            queries - first, keys - key, WEFT_ENGINE_HEIGHT, WEFT_ENGINE_WIDTH, first, key, 0, causal);
        WEFT_NAME(put_others)(others, next, item);
        barrier(CLK_LOCAL_MEM_FENCE);
        WEFT_NAME(fetch_pairs)
        (pairs, v + key * v_row, keys - key, dv_width, (int)v_row, (int)v_column, item);
        WEFT_NAME(score)(scores, rows, 0, others, at, shared);
        WEFT_NAME(apply_mask)
        (scores, scale, first + at.row, key + at.column, 0, whole, queries, keys, causal, mask_kind, mask,
            mask_row, mask_column);
        if (WEFT_HEAD_HELD) barrier(CLK_LOCAL_MEM_FENCE);
        WEFT_UNROLL_REGISTERS for (int e = 0; e < WEFT_HEAD_SCORES; ++e)
            scores_at[WEFT_HEAD_ROW(e) * (4 * WEFT_HEAD_PITCH) + WEFT_HEAD_COLUMN(e)] =
                WEFT_ENGINE_SUM(scores, e);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (!WEFT_HEAD_HELD) WEFT_NAME(put_pairs)(others, pairs, item);
        WEFT_HEAD_KEPT(bits, WEFT_HEAD_OWN, first + own_row, key + own_part * WEFT_HEAD_OWN + e)
        const float factor = WEFT_NAME(weigh)(&own, tile + own_row * WEFT_HEAD_PITCH,
            weights + own_row * WEFT_ENGINE_PITCH, own_part, bits, WEFT_HEAD_ENLARGED);
        if (own_part == 0) factors[own_row] = factor;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (WEFT_HEAD_HELD) {
            WEFT_NAME(put_pairs)(others, pairs, item);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (key + WEFT_ENGINE_WIDTH < end) WEFT_NAME(fetch_others)
        (next, k + (key + WEFT_ENGINE_WIDTH) * k_row, keys - key - WEFT_ENGINE_WIDTH, d_width, (int)k_row,
            (int)k_column, item);
        WEFT_UNROLL_REGISTERS for (int e = 0; e < WEFT_HEAD_PARTS * WEFT_HEAD_SCORES; ++e)
            WEFT_ENGINE_SUM(sums[e / WEFT_HEAD_SCORES], e % WEFT_HEAD_SCORES) *=
            factors_at[WEFT_HEAD_ROW(e % WEFT_HEAD_SCORES)];
        WEFT_NAME(sum_up)(sums, weights, others, at, shared);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    factors[item] = own.total;
    barrier(CLK_LOCAL_MEM_FENCE);
    float total = 0.0f;
    WEFT_ROLLED for (int i = 0; i < WEFT_HEAD_ITEMS; ++i) total += factors[i * WEFT_ENGINE_HEIGHT + own_row];
    barrier(CLK_LOCAL_MEM_FENCE);
    y += y_offset;
    if (own_part == 0) {
        factors[own_row] = total == 0.0f ? unseen : 1.0f / total;
        if (first + own_row < queries)
            weft_head_store_log(y + lse + (long)n * queries + first + own_row,
                (long)get_global_size(1) * queries, own.top, total);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    y += a * y_0 + b * y_1 + (first + at.row) * y_row + at.column;
    WEFT_NAME(store_sums)
    (y, y_row, queries - first - at.row, dv_width - at.column, sums, factors_at, 1);
}
