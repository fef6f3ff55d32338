/* attention_few_cpu.cl: scaled dot-product attention of few queries to many keys, for devices of class cpu. It is for decoding a token with
 * a cache of keys and values, and takes about the time that reading the cache takes.
 *
 *     q (n, Lq, d)   k (n, Lk, d)   v (n, Lk, dv), contiguous columns      n = n0 x n1: batch and heads
 *     S = q kT scale + mask      P = softmax(S) by rows      y = P v      lse = log2 of a row's sum of exp(S)
 *
 * A work-item (work-group of size 1) computes one query. Its lanes are columns of q, y and of the rows of k and v. It computes the scores
 * of sixteen keys at a time, so that their weights are one vector:
 *
 *                 d                  16 keys                   dv
 *          +--------------+       +----------+         +---------------+
 *       q  |  registers   |  ->   |  S, P    |    ->   |  y, registers |      each row of k and v is read once,
 *          +--------------+       +----------+         +---------------+      from memory, without copies
 *
 * Sixteen keys that are all masked, such as those past the position of a cache, are not read. WEFT_FEW_D is d / 16, WEFT_FEW_DV is dv / 16.
 * The arguments and the meaning of masks are those of attention_cpu.cl. */

#ifndef WEFT_ATTENTION_FEW_CPU
#define WEFT_ATTENTION_FEW_CPU

#define WEFT_FEW_KEYS  16
#define WEFT_FEW_LOG2E 1.44269504f

#include "attention_exp2.clh"

static inline float weft_few_sum(float16 v) {
    const float8 eight = v.lo + v.hi;
    const float4 four = eight.lo + eight.hi;
    const float2 two = four.lo + four.hi;
    return two.x + two.y;
}

static inline float weft_few_most(float16 v) {
    const float8 eight = v.lo > v.hi ? v.lo : v.hi;
    const float4 four = eight.lo > eight.hi ? eight.lo : eight.hi;
    const float2 two = four.lo > four.hi ? four.lo : four.hi;
    return two.x > two.y ? two.x : two.y;
}

/* Sets `added` to the numbers that the mask adds to the scores of sixteen keys, of which `count` exist. Returns 1 if any key takes part. */
static inline int weft_few_mask(
    float *added, int count, int kind, __global const uchar *mask, long at, long column) {
    __global const float *numbers = (__global const float *)mask;
    int part = 0;
    for (int j = 0; j < WEFT_FEW_KEYS; ++j) {
        const float number = j >= count              ? -INFINITY
                             : kind == 0             ? 0.0f
                             : kind == 2             ? weft_attention_mask_number(numbers[at + j * column])
                             : mask[at + j * column] ? 0.0f
                                                     : -INFINITY;
        added[j] = number;
        part |= number != -INFINITY;
    }
    return part;
}
#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) attention_##suffix
#define WEFT_FEW_D        4
#define WEFT_FEW_DV       4
#endif

/* Work-item (query, n). y is a packed result: the rows of y, then lse (n, Lq), then weft_attention_lost (n, Lq). */
__kernel WEFT_ITEMS(1) void WEFT_NAME(few)(__global const float *restrict q, long q_offset,
    __global const float *restrict k, long k_offset, __global const float *restrict v, long v_offset,
    __global float *restrict y, long y_offset, int mask_kind, __global const uchar *restrict mask,
    long mask_offset, long mask_0, long mask_1, long mask_row, long mask_column, int causal, int n1,
    int queries, int keys, int d_width, int dv_width, long q_0, long q_1, long q_row, long q_column, long k_0,
    long k_1, long k_row, long k_column, long v_0, long v_1, long v_row, long v_column, long y_0, long y_1,
    long y_row, long lse, float unseen, float scale) {
    const int n = (int)get_global_id(1), query = (int)get_global_id(0);
    const long a = n / n1, b = n % n1;
    q += q_offset + a * q_0 + b * q_1 + query * q_row;
    k += k_offset + a * k_0 + b * k_1;
    v += v_offset + a * v_0 + b * v_1;
    mask_offset += a * mask_0 + b * mask_1 + query * mask_row;
    float16 asked[WEFT_FEW_D], sums[WEFT_FEW_DV], added, scores;
    float most = -INFINITY, total = 0.0f;
    WEFT_UNROLL for (int x = 0; x < WEFT_FEW_D; ++x) asked[x] =
        *(__global const weft_lanes_f32 *)(q + 16 * x) * (scale * WEFT_FEW_LOG2E);
    WEFT_UNROLL for (int x = 0; x < WEFT_FEW_DV; ++x) sums[x] = 0.0f;
    const int end = causal ? min(keys, query + 1) : keys;
    for (int key = 0; key < end; key += WEFT_FEW_KEYS) {
        const int count = min(WEFT_FEW_KEYS, end - key);
        if (!weft_few_mask(
                (float *)&added, count, mask_kind, mask, mask_offset + key * mask_column, mask_column))
            continue;
        for (int j = 0; j < count; ++j) {
            __global const float *row = k + (key + j) * k_row;
            float16 dot = 0.0f;
            WEFT_UNROLL for (int x = 0; x < WEFT_FEW_D; ++x) dot =
                WEFT_MULTIPLY_ADD(asked[x], *(__global const weft_lanes_f32 *)(row + 16 * x), dot);
            ((float *)&scores)[j] = weft_few_sum(dot);
        }
        for (int j = count; j < WEFT_FEW_KEYS; ++j) ((float *)&scores)[j] = 0.0f;
        scores = added == -INFINITY ? added : scores + added;
        const float highest = weft_few_most(scores), top = highest > most ? highest : most,
                    base = top == -INFINITY ? 0.0f : top;
        const float16 weights = weft_attention_exp2(scores - base);
        const float factor = weft_attention_exp2((float16)(most - base)).s0;
        most = top;
        total = WEFT_MULTIPLY_ADD(total, factor, weft_few_sum(weights));
        WEFT_UNROLL for (int x = 0; x < WEFT_FEW_DV; ++x) sums[x] *= factor;
        for (int j = 0; j < count; ++j) {
            __global const float *row = v + (key + j) * v_row;
            const float16 weight = ((const float *)&weights)[j];
            WEFT_UNROLL for (int x = 0; x < WEFT_FEW_DV; ++x) sums[x] =
                WEFT_MULTIPLY_ADD(weight, *(__global const weft_lanes_f32 *)(row + 16 * x), sums[x]);
        }
    }
    y += y_offset;
    const float log_sum = total == 0.0f ? INFINITY : most + log2(total);
    y[lse + (long)n * queries + query] = log_sum;
    y[lse + (long)(n + get_global_size(1)) * queries + query] = weft_attention_lost(log_sum, most, total);
    y += a * y_0 + b * y_1 + query * y_row;
    const float inverse = total == 0.0f ? unseen : 1.0f / total;
    WEFT_UNROLL for (int x = 0; x < WEFT_FEW_DV; ++x) * (__global weft_lanes_f32 *)(y + 16 * x) =
        sums[x] * inverse;
    (void)d_width, (void)dv_width, (void)q_column, (void)k_column, (void)v_column;
}
