/* attention_naive.cl: scaled dot-product attention and its gradients, the portable implementation: no local memory, no barriers, no arrays,
 * any size of groups and any width of heads.
 *
 * attention_cpu.cl has the formulas, the masks, the packed result and the arguments. A work-item computes one row of a result and adds it
 * up in place: the row of a query in y or dq (kernels forward, queries), the row of a key in dk and dv (kernel keys). Scores are not
 * stored; each loop over the others computes them again:
 *
 *                 others, one after the other
 *               +-----------------------------+
 *     row       | s s s ...                   |   forward: one loop for the maximum and the sum, one for y
 *               +-----------------------------+
 */
#include "attention_parameters_gpu.clh"

#ifndef WEFT_ATTENTION_NAIVE
#define WEFT_ATTENTION_NAIVE

/* The product of two rows of `width` numbers, a_column and b_column apart. The gradient computes dP and rowsum(dy y) in this order of
 * additions, so both are exactly equal if a query sees one key only; the weight of this key is always 1 and has no gradient. */
static inline float weft_attention_dot(
    __global const float *a, long a_column, __global const float *b, long b_column, int width) {
    float sum = 0.0f;
    for (int x = 0; x < width; x++) sum = WEFT_MULTIPLY_ADD(a[x * a_column], b[x * b_column], sum);
    return sum;
}

static inline void weft_attention_add(
    __global float *sums, __global const float *row, long column, float factor, int width) {
    for (int x = 0; x < width; x++) sums[x] = WEFT_MULTIPLY_ADD(row[x * column], factor, sums[x]);
}

static inline void weft_attention_clear(__global float *sums, int width) {
    for (int x = 0; x < width; x++) sums[x] = 0.0f;
}

/* Applies the mask to a score; `at` is the offset of the mask's number. */
static inline float weft_attention_masked(float score, int kind, __global const uchar *mask, long at) {
    if (kind == 1) return mask[at] ? score : -INFINITY;
    return kind == 2 ? score + weft_attention_mask_number(((__global const float *)mask)[at]) : score;
}
#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) attention_##suffix
#endif

/* The factor of the weight of query i and key j: 0 or 1 / (1 - p) if weights are dropped, else 1. */
#if WEFT_DROP
#define WEFT_KEPT(i, j) WEFT_FIRST_LANE(WEFT_FACTOR(i, j, 0))
#else
#define WEFT_KEPT(i, j) 1.0f
#endif

/* The score of query i and key j, whose rows are `query` and `other`. */
#define WEFT_SCORE(query, other, i, j)                                                                       \
    weft_attention_masked(                                                                                   \
        weft_attention_dot(query, q_column, other, k_column, d_width) * (scale * WEFT_LOG2E), mask_kind,     \
        mask, mask_offset + (i)*mask_row + (j)*mask_column)

/* Work-item (query, n). y is a packed result: the rows of y, then lse (n, Lq), then weft_attention_lost (n, Lq). */
__kernel void WEFT_NAME(forward)(WEFT_ATTENTION_FORWARD_PARAMETERS) {
    const int n = (int)get_global_id(1), i = (int)get_global_id(0);
    if (i >= queries) return;
    const long a = n / n1, b = n % n1;
    q += q_offset + a * q_0 + b * q_1 + i * q_row;
    k += k_offset + a * k_0 + b * k_1;
    v += v_offset + a * v_0 + b * v_1;
    mask_offset += a * mask_0 + b * mask_1;
    const int end = causal ? min(keys, i + 1) : keys;
    float top = -INFINITY, total = 0.0f;
    for (int j = 0; j < end; j++) {
        const float score = WEFT_SCORE(q, k + j * k_row, i, j);
        if (score == -INFINITY) continue;
        const float factor = score > top ? exp2(top - score) : 1.0f;
        top = score > top ? score : top;
        total = total * factor + exp2(score - top);
    }
    y += y_offset;
    const float log_sum = total == 0.0f ? INFINITY : top + log2(total);
    y[lse + (long)n * queries + i] = log_sum;
    y[lse + (long)(n + get_global_size(1)) * queries + i] = weft_attention_lost(log_sum, top, total);
    y += a * y_0 + b * y_1 + i * y_row;
    weft_attention_clear(y, dv_width);
    for (int x = 0; total == 0.0f && x < dv_width; x++) y[x] = unseen;
    const float inverse = 1.0f / total;
    for (int j = 0; total != 0.0f && j < end; j++) {
        const float weight = exp2(WEFT_SCORE(q, k + j * k_row, i, j) - top) * inverse;
        weft_attention_add(y, v + j * v_row, v_column, weight * WEFT_KEPT(i, j), dv_width);
    }
}

/* result: the gradients, at the offsets in the arguments; dq: the same memory, for the gradient of q. y: the forward pass's packed
 * result. */
#define WEFT_GRADIENT_PARAMETERS                                                                             \
    __global const float *restrict q, long q_offset, __global const float *restrict k, long k_offset,        \
        __global const float *restrict v, long v_offset, __global const float *restrict y, long y_offset,    \
        __global const float *restrict dy, long dy_offset, __global float *result, long result_offset,       \
        __global float *dq, long dq_offset, WEFT_MASK_PARAMETERS int n1, int queries, int keys, int d_width, \
        int dv_width, long q_0, long q_1, long q_row, long q_column, long k_0, long k_1, long k_row,         \
        long k_column, long v_0, long v_1, long v_row, long v_column, long dy_0, long dy_1, long dy_row,     \
        long dy_column, long y_0, long y_1, long y_row, long lse, int range, long dq_range, long dq_0,       \
        long dq_1, long dq_row, long dk_at, long dk_0, long dk_1, long dk_row, long dv_at, long dv_0,        \
        long dv_1, long dv_row, float scale WEFT_DROP_PARAMETERS

/* Moves the pointers to head n, and declares the logarithms of the head's queries. */
#define WEFT_GRADIENT_HEADS                                                                                  \
    const long a = n / n1, b = n % n1;                                                                       \
    q += q_offset + a * q_0 + b * q_1;                                                                       \
    k += k_offset + a * k_0 + b * k_1;                                                                       \
    v += v_offset + a * v_0 + b * v_1;                                                                       \
    dy += dy_offset + a * dy_0 + b * dy_1;                                                                   \
    __global const float *const logs = y + (y_offset + lse + (long)n * queries);                             \
    y += y_offset + a * y_0 + b * y_1;                                                                       \
    mask_offset += a * mask_0 + b * mask_1;

/* Work-item (query, n): dq. */
__kernel void WEFT_NAME(queries)(WEFT_GRADIENT_PARAMETERS) {
    const int n = (int)get_global_id(1), i = (int)get_global_id(0);
    if (i >= queries) return;
    WEFT_GRADIENT_HEADS
    q += i * q_row;
    dy += i * dy_row;
    dq += dq_offset + a * dq_0 + b * dq_1 + i * dq_row;
    const float inner = weft_attention_dot(dy, dy_column, y + i * y_row, 1, dv_width);
    const int end = causal ? min(keys, i + 1) : keys;
    weft_attention_clear(dq, d_width);
    for (int j = 0; j < end; j++) {
        const float weight = exp2(WEFT_SCORE(q, k + j * k_row, i, j) - logs[i]);
        const float dropped =
            weft_attention_dot(dy, dy_column, v + j * v_row, v_column, dv_width) * WEFT_KEPT(i, j);
        weft_attention_add(dq, k + j * k_row, k_column, weight * ((dropped - inner) * scale), d_width);
    }
}

/* Work-item (key, n): dk and dv. */
__kernel void WEFT_NAME(keys)(WEFT_GRADIENT_PARAMETERS) {
    const int n = (int)get_global_id(1), j = (int)get_global_id(0);
    if (j >= keys) return;
    WEFT_GRADIENT_HEADS
    k += j * k_row;
    v += j * v_row;
    __global float *const dk = result + (result_offset + dk_at + a * dk_0 + b * dk_1 + j * dk_row);
    __global float *const dv = result + (result_offset + dv_at + a * dv_0 + b * dv_1 + j * dv_row);
    weft_attention_clear(dk, d_width);
    weft_attention_clear(dv, dv_width);
    for (int i = causal ? j : 0; i < queries; i++) {
        __global const float *const gradient = dy + i * dy_row;
        const float weight = exp2(WEFT_SCORE(q + i * q_row, k, i, j) - logs[i]), factor = WEFT_KEPT(i, j);
        const float inner = weft_attention_dot(gradient, dy_column, y + i * y_row, 1, dv_width);
        const float dropped = weft_attention_dot(gradient, dy_column, v, v_column, dv_width) * factor;
        weft_attention_add(dk, q + i * q_row, q_column, weight * ((dropped - inner) * scale), d_width);
        weft_attention_add(dv, gradient, dy_column, weight * factor, dv_width);
    }
}

#undef WEFT_DROP_PARAMETERS
#undef WEFT_FACTOR
#undef WEFT_KEPT
#undef WEFT_SCORE
#undef WEFT_GRADIENT_PARAMETERS
#undef WEFT_GRADIENT_HEADS
