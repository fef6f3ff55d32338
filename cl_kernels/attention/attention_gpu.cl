/* attention_gpu.cl: scaled dot-product attention and its gradients, for gpu-class devices.
 *
 * Formulas, masks and the two results are those of attention_cpu.cl. Work split: a group of
 * WEFT_ATTENTION_GROUP items (attention_gpu.c) owns as many queries of one n (forward, backward_queries) or
 * keys (backward_keys), an item one row, which it keeps in registers with its sums. The other side comes
 * through local memory, WEFT_TILE rows at a time, where all items read the same element at once:
 *
 *                  +--------------------+
 *                  | tile of k and of v |   local, each row read by all items together
 *                  +--------------------+
 *       item i     | q i | running maximum and sum | sums of y i |   registers
 *
 * Rows are taken four at a time, so that maxima and factors change once for four. WEFT_D and WEFT_DV are the
 * widths in fours; what is past them is zero. */

#ifndef WEFT_ATTENTION_GPU
#define WEFT_ATTENTION_GPU
#define WEFT_LOG2E 1.44269504f

/* Rows first .. first + rows - 1 of global memory as fours; zeros past the last row and past the width. */
__attribute__((always_inline)) static inline void weft_attention_tile(__local float *to,
    __global const float *from, int first, int count, int rows, int fours, int width, long row, long column) {
    for (int i = (int)get_local_id(0); i < rows * fours * 4; i += WEFT_ATTENTION_GROUP) {
        const int r = i / (fours * 4), x = i - r * fours * 4;
        to[i] = first + r < count && x < width ? from[(first + r) * row + x * column] : 0.0f;
    }
}

static inline float4 weft_attention_four(__global const float *from, int x, int width, long column) {
    return (float4)(x < width ? from[x * column] : 0.0f, x + 1 < width ? from[(x + 1) * column] : 0.0f,
        x + 2 < width ? from[(x + 2) * column] : 0.0f, x + 3 < width ? from[(x + 3) * column] : 0.0f);
}

static inline void weft_attention_put(__global float *to, int x, int width, float4 v) {
    if (x < width) to[x] = v.x;
    if (x + 1 < width) to[x + 1] = v.y;
    if (x + 2 < width) to[x + 2] = v.z;
    if (x + 3 < width) to[x + 3] = v.w;
}
#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) attention_##suffix
#define WEFT_D            16
#define WEFT_DV           16
#define WEFT_TILE         16
#define WEFT_DROP         0
#endif

/* As in attention_cpu.cl. WEFT_FACTOR: what the weight of query i and key j is multiplied by. */
#if WEFT_DROP
#define WEFT_DROP_PARAMETERS , float drop, float kept, int stream, uint seed0, uint seed1, uint run
#define WEFT_FACTOR(i, j)                                                                                    \
    weft_dropout_factor(                                                                                     \
        ((long)n * queries + (i)) * keys + (j), 0, (uint)stream, run, seed0, seed1, drop, kept)
#else
#define WEFT_DROP_PARAMETERS
#define WEFT_FACTOR(i, j) 1.0f
#endif

#define WEFT_MASK_PARAMETERS                                                                                 \
    int mask_kind, __global const uchar *restrict mask, long mask_offset, long mask_0, long mask_1,          \
        long mask_row, long mask_column, int causal,
/* The score of query i and key j as the mask has it. */
#define WEFT_SCORE(score, i, j)                                                                              \
    ((i) >= queries || (j) >= keys || (causal && (j) > (i)) ? -INFINITY                                      \
        : mask_kind == 0                                    ? (score)                                        \
        : mask_kind == 1                                                                                     \
            ? (mask[mask_offset + (i)*mask_row + (j)*mask_column] ? (score) : -INFINITY)                     \
            : (score) +                                                                                      \
                  ((__global const float *)mask)[mask_offset + (i)*mask_row + (j)*mask_column] * WEFT_LOG2E)

__kernel __attribute__((reqd_work_group_size(WEFT_ATTENTION_GROUP, 1, 1))) void WEFT_NAME(forward)(
    __global const float *restrict q, long q_offset, __global const float *restrict k, long k_offset,
    __global const float *restrict v, long v_offset, __global float *restrict y, long y_offset,
    WEFT_MASK_PARAMETERS int n1, int queries, int keys, int d_width, int dv_width, long q_0, long q_1,
    long q_row, long q_column, long k_0, long k_1, long k_row, long k_column, long v_0, long v_1, long v_row,
    long v_column, long y_0, long y_1, long y_row, long lse, float scale WEFT_DROP_PARAMETERS) {
    __local float4 k_tile[WEFT_TILE * WEFT_D], v_tile[WEFT_TILE * WEFT_DV];
    const int n = (int)get_global_id(1), query = (int)get_global_id(0), at = min(query, queries - 1);
    const long a = n / n1, b = n % n1;
    q += q_offset + a * q_0 + b * q_1 + at * q_row;
    k += k_offset + a * k_0 + b * k_1;
    v += v_offset + a * v_0 + b * v_1;
    mask_offset += a * mask_0 + b * mask_1;
    float4 own[WEFT_D], sum[WEFT_DV];
    for (int p = 0; p < WEFT_D; p++)
        own[p] = weft_attention_four(q, 4 * p, d_width, q_column) * (scale * WEFT_LOG2E);
    for (int x = 0; x < WEFT_DV; x++) sum[x] = 0.0f;
    float top = -INFINITY, total = 0.0f;
    const int last = (int)(get_group_id(0) + 1) * WEFT_ATTENTION_GROUP;
    const int end = causal ? min(keys, last) : keys;
    for (int key = 0; key < end; key += WEFT_TILE) {
        barrier(CLK_LOCAL_MEM_FENCE);
        weft_attention_tile(
            (__local float *)k_tile, k, key, keys, WEFT_TILE, WEFT_D, d_width, k_row, k_column);
        weft_attention_tile(
            (__local float *)v_tile, v, key, keys, WEFT_TILE, WEFT_DV, dv_width, v_row, v_column);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < WEFT_TILE; j += 4) {
            __local const float4 *kk = k_tile + j * WEFT_D, *vv = v_tile + j * WEFT_DV;
            float4 s = 0.0f;
            for (int p = 0; p < WEFT_D; p++)
                s += (float4)(dot(own[p], kk[p]), dot(own[p], kk[p + WEFT_D]),
                    dot(own[p], kk[p + 2 * WEFT_D]), dot(own[p], kk[p + 3 * WEFT_D]));
            s.x = WEFT_SCORE(s.x, query, key + j);
            s.y = WEFT_SCORE(s.y, query, key + j + 1);
            s.z = WEFT_SCORE(s.z, query, key + j + 2);
            s.w = WEFT_SCORE(s.w, query, key + j + 3);
            const float4 m = s > top ? s : (float4)(top);
            const float2 m2 = m.lo > m.hi ? m.lo : m.hi;
            const float next = m2.x > m2.y ? m2.x : m2.y, base = next == -INFINITY ? 0.0f : next;
            const float factor = exp2(top - base);
            float4 weight = exp2(s - base);
            top = next;
            total = total * factor + ((weight.x + weight.y) + (weight.z + weight.w));
            weight *= (float4)(WEFT_FACTOR(query, key + j), WEFT_FACTOR(query, key + j + 1),
                WEFT_FACTOR(query, key + j + 2), WEFT_FACTOR(query, key + j + 3));
            for (int x = 0; x < WEFT_DV; x++)
                sum[x] =
                    sum[x] * factor + (weight.x * vv[x] + weight.y * vv[x + WEFT_DV] +
                                          (weight.z * vv[x + 2 * WEFT_DV] + weight.w * vv[x + 3 * WEFT_DV]));
        }
    }
    if (query >= queries) return;
    const float factor = total == 0.0f ? 0.0f : 1.0f / total;
    y += y_offset;
    y[lse + (long)n * queries + query] = total == 0.0f ? INFINITY : top + log2(total);
    y += a * y_0 + b * y_1 + query * y_row;
    for (int x = 0; x < WEFT_DV; x++) weft_attention_put(y, 4 * x, dv_width, sum[x] * factor);
}

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

/* Item (query, n): dq. */
__kernel __attribute__((reqd_work_group_size(WEFT_ATTENTION_GROUP, 1, 1))) void WEFT_NAME(backward_queries)(
    WEFT_GRADIENT_PARAMETERS) {
    __local float4 k_tile[WEFT_TILE * WEFT_D], v_tile[WEFT_TILE * WEFT_DV];
    const int n = (int)get_global_id(1), query = (int)get_global_id(0), at = min(query, queries - 1);
    const long a = n / n1, b = n % n1;
    q += q_offset + a * q_0 + b * q_1 + at * q_row;
    dy += dy_offset + a * dy_0 + b * dy_1 + at * dy_row;
    k += k_offset + a * k_0 + b * k_1;
    v += v_offset + a * v_0 + b * v_1;
    y += y_offset;
    const float log_sum = y[lse + (long)n * queries + at];
    y += a * y_0 + b * y_1 + at * y_row;
    mask_offset += a * mask_0 + b * mask_1;
    float4 own[WEFT_D], gradient[WEFT_DV], sum[WEFT_D];
    float inner = 0.0f;
    for (int p = 0; p < WEFT_D; p++) {
        own[p] = weft_attention_four(q, 4 * p, d_width, q_column) * (scale * WEFT_LOG2E);
        sum[p] = 0.0f;
    }
    for (int x = 0; x < WEFT_DV; x++) {
        gradient[x] = weft_attention_four(dy, 4 * x, dv_width, dy_column);
        inner += dot(gradient[x], weft_attention_four(y, 4 * x, dv_width, 1));
    }
    const int last = (int)(get_group_id(0) + 1) * WEFT_ATTENTION_GROUP;
    const int end = causal ? min(keys, last) : keys;
    for (int key = 0; key < end; key += WEFT_TILE) {
        barrier(CLK_LOCAL_MEM_FENCE);
        weft_attention_tile(
            (__local float *)k_tile, k, key, keys, WEFT_TILE, WEFT_D, d_width, k_row, k_column);
        weft_attention_tile(
            (__local float *)v_tile, v, key, keys, WEFT_TILE, WEFT_DV, dv_width, v_row, v_column);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < WEFT_TILE; j++) {
            __local const float4 *kk = k_tile + j * WEFT_D, *vv = v_tile + j * WEFT_DV;
            float s = 0.0f, t = 0.0f;
            for (int p = 0; p < WEFT_D; p++) s += dot(own[p], kk[p]);
            for (int x = 0; x < WEFT_DV; x++) t += dot(gradient[x], vv[x]);
            /* A variable of its own: Intel's runtime 2026.2 takes a wrong value where it contracts the two. */
            const float dropped = t * WEFT_FACTOR(query, key + j);
            const float weight = exp2(WEFT_SCORE(s, query, key + j) - log_sum) * (dropped - inner) * scale;
            for (int p = 0; p < WEFT_D; p++) sum[p] += weight * kk[p];
        }
    }
    if (query >= queries) return;
    dq += dq_offset + a * dq_0 + b * dq_1 + query * dq_row;
    for (int p = 0; p < WEFT_D; p++) weft_attention_put(dq, 4 * p, d_width, sum[p]);
}

/* Item (key, n): dk and dv. */
__kernel __attribute__((reqd_work_group_size(WEFT_ATTENTION_GROUP, 1, 1))) void WEFT_NAME(backward_keys)(
    WEFT_GRADIENT_PARAMETERS) {
    __local float4 q_tile[WEFT_TILE * WEFT_D], dy_tile[WEFT_TILE * WEFT_DV];
    __local float log_sums[WEFT_TILE], inner[WEFT_TILE];
    const int n = (int)get_global_id(1), key = (int)get_global_id(0), at = min(key, keys - 1);
    const int me = (int)get_local_id(0);
    const long a = n / n1, b = n % n1;
    q += q_offset + a * q_0 + b * q_1;
    dy += dy_offset + a * dy_0 + b * dy_1;
    k += k_offset + a * k_0 + b * k_1 + at * k_row;
    v += v_offset + a * v_0 + b * v_1 + at * v_row;
    lse += y_offset + (long)n * queries;
    y_offset += a * y_0 + b * y_1;
    mask_offset += a * mask_0 + b * mask_1;
    float4 own_k[WEFT_D], own_v[WEFT_DV], sum_k[WEFT_D], sum_v[WEFT_DV];
    for (int p = 0; p < WEFT_D; p++) {
        own_k[p] = weft_attention_four(k, 4 * p, d_width, k_column) * (scale * WEFT_LOG2E);
        sum_k[p] = 0.0f;
    }
    for (int x = 0; x < WEFT_DV; x++) {
        own_v[x] = weft_attention_four(v, 4 * x, dv_width, v_column);
        sum_v[x] = 0.0f;
    }
    const int begin = causal ? (int)get_group_id(0) * WEFT_ATTENTION_GROUP : 0;
    for (int query = begin; query < queries; query += WEFT_TILE) {
        barrier(CLK_LOCAL_MEM_FENCE);
        weft_attention_tile(
            (__local float *)q_tile, q, query, queries, WEFT_TILE, WEFT_D, d_width, q_row, q_column);
        weft_attention_tile(
            (__local float *)dy_tile, dy, query, queries, WEFT_TILE, WEFT_DV, dv_width, dy_row, dy_column);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me < WEFT_TILE) {
            const long i = min(query + me, queries - 1);
            float product = 0.0f;
            for (int x = 0; x < WEFT_DV; x++)
                product += dot(dy_tile[me * WEFT_DV + x],
                    weft_attention_four(y + y_offset + i * y_row, 4 * x, dv_width, 1));
            inner[me] = product;
            log_sums[me] = y[lse + i];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = 0; i < WEFT_TILE; i++) {
            __local const float4 *qq = q_tile + i * WEFT_D, *gradient = dy_tile + i * WEFT_DV;
            float s = 0.0f, t = 0.0f;
            for (int p = 0; p < WEFT_D; p++) s += dot(own_k[p], qq[p]);
            for (int x = 0; x < WEFT_DV; x++) t += dot(own_v[x], gradient[x]);
            const float weight = exp2(WEFT_SCORE(s, query + i, key) - log_sums[i]);
            const float factor = WEFT_FACTOR(query + i, key), left = weight * factor;
            const float dropped = t * factor; /* as above */
            const float change = weight * (dropped - inner[i]) * scale;
            for (int x = 0; x < WEFT_DV; x++) sum_v[x] += left * gradient[x];
            for (int p = 0; p < WEFT_D; p++) sum_k[p] += change * qq[p];
        }
    }
    if (key >= keys) return;
    __global float *dk = result + result_offset + dk_at + a * dk_0 + b * dk_1 + key * dk_row;
    __global float *dv = result + result_offset + dv_at + a * dv_0 + b * dv_1 + key * dv_row;
    for (int p = 0; p < WEFT_D; p++) weft_attention_put(dk, 4 * p, d_width, sum_k[p]);
    for (int x = 0; x < WEFT_DV; x++) weft_attention_put(dv, 4 * x, dv_width, sum_v[x]);
}

#undef WEFT_MASK_PARAMETERS
#undef WEFT_SCORE
#undef WEFT_DROP_PARAMETERS
#undef WEFT_FACTOR
#undef WEFT_GRADIENT_PARAMETERS
