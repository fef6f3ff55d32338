/* attention_cpu.cl: scaled dot-product attention and its gradients, for devices of class cpu.
 *
 *     q (n, Lq, d)   k (n, Lk, d)   v (n, Lk, dv), any strides      n = n0 x n1: batch and heads
 *     S = q kT scale + mask      P = softmax(S) by rows      y = P v      lse = log2 of a row's sum of exp(S)
 *     dP = dy vT      dS = P (dP - rowsum(dy y))      dq = dS k scale      dk = dST q scale      dv = PT dy
 *
 * S is never stored as a whole (T. Dao et al. 2022; the running maximum is by M. Milakov and N. Gimelshein 2018). A work-item (work-group
 * of size 1, no barriers) has one block of S in private memory at a time. The block is transposed: the lanes of a vector are queries, so
 * maxima and sums need no operations across lanes:
 *
 *                   32 queries
 *                 +-----------+
 *              d  |    q T    |
 *                 +-----------+
 *           d
 *         +----+  +-----------+
 *    13   | k  |  |    S T    |   each step of d: 2 vectors of q T, 13 broadcasts of k, 26 multiply-adds into
 *   keys  |    |  |           |   registers; multiply_rows and multiply_columns compute all other products alike
 *         +----+  +-----------+
 *
 * forward: an item computes WEFT_QUERIES queries of one n, and visits all blocks of WEFT_KEYS keys. backward: an item has a range of keys
 * of one n, and visits all queries. It alone computes dk and dv of its range. If there are several ranges, each range has a dq in scratch
 * memory, and the kernel `sum` adds the dq of all ranges.
 *
 * WEFT_ENGINE: 1 if a matrix engine computes the products in bf16 (attention_engine_cpu.clh), 0 if the vector units compute them in f32
 * (attention_units_cpu.clh).
 *
 * Logarithms and exponentials are to base 2, and the scale includes log2(e). WEFT_WIDTH (64, 128, 256) is at least d and dv. WEFT_QUERIES,
 * WEFT_ATTENTION_ROWS (13 in the picture) and WEFT_SUMMED are set in src/kernels/attention/attention_cpu.c. mask_kind is 0 (no mask), 1
 * (bool: true if the key takes part) or 2 (f32: added to the score). If no key takes part in a row, its lse is inf, its P is 0, and its
 * y is `unseen`, 0 or NaN; with 0 the gradients are 0. Blocks of scores in which no key takes part are not computed. */

#ifndef WEFT_ATTENTION_CPU
#define WEFT_ATTENTION_CPU

#define WEFT_UP(n, to)      (((n) + (to)-1) / (to) * (to))
#define WEFT_ATTENTION_CALL __attribute__((noinline)) void
#define WEFT_LOG2E          1.44269504f

#include "attention_exp2.clh"

/* The blocks of a work-item of the gradient. `scores` has S, then P, then dS. `gradients` has P times the factors of dropout, then dP.
 * `log_sums` and `inner` have lse and rowsum(dy y) of each query. */
typedef struct weft_attention_blocks {
    float *q, *q_transposed, *dy, *dy_transposed, *dq, *keys, *values, *dk, *dv, *scores, *gradients,
        *factors;
    float *log_sums, *inner;
    void *own; /* a weft_attention_engine; NULL for products by vector units */
} weft_attention_blocks;
#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) attention_##suffix
#define WEFT_WIDTH        64
#define WEFT_KEYS         104
#define WEFT_DROP         0
#endif

/* WEFT_DROP: 1 if weights are dropped, with the random numbers of weft_dropout for a tensor (n, Lq, Lk). The factors multiply the weights
 * after the sum of a row was taken, so lse does not depend on them; the gradient multiplies P in dv and dP by them. `first_head` is the
 * number of heads of the tensor before the first one of this launch. */
#if WEFT_DROP
#define WEFT_DROP_PARAMETERS                                                                                 \
    , int first_head, float drop, float kept, int stream, uint seed0, uint seed1, uint run
#else
#define WEFT_DROP_PARAMETERS
#endif

/* The number of floats from one row to the next in every block in private memory: an odd number of cache lines, so that rows do not map to
 * the same cache sets. */
#if WEFT_WIDTH > WEFT_QUERIES
#define WEFT_PITCH (WEFT_WIDTH + 16)
#else
#define WEFT_PITCH (WEFT_QUERIES + 16)
#endif
#define WEFT_LINE       (WEFT_PITCH / 16)
#define WEFT_QUERY_ROWS WEFT_UP(WEFT_QUERIES, WEFT_ATTENTION_ROWS)
#define WEFT_BLOCK(name, rows)                                                                               \
    float16 name##_room[(rows)*WEFT_LINE];                                                                   \
    float *name = (float *)name##_room

/* The file is included once for each set of the macros above, so the functions below have names that depend on WEFT_NAME. */
#define WEFT_MULTIPLY_ROWS      WEFT_NAME(multiply_rows)
#define WEFT_MULTIPLY_COLUMNS   WEFT_NAME(multiply_columns)
#define WEFT_PRODUCT            WEFT_NAME(product)
#define WEFT_PRODUCT_OF_COLUMNS WEFT_NAME(product_of_columns)
#define WEFT_FETCH              WEFT_NAME(fetch)
#define WEFT_TRANSPOSE_BLOCK    WEFT_NAME(transpose_block)
#define WEFT_PUT_BLOCK          WEFT_NAME(put)
#define WEFT_SCORE_BLOCK        WEFT_NAME(score)
#define WEFT_WEIGH              WEFT_NAME(weigh)
#define WEFT_APPLY_MASK         WEFT_NAME(apply_mask)
#define WEFT_DRAW_FACTORS       WEFT_NAME(draw_factors)

#if WEFT_ENGINE
#include "attention_engine_cpu.clh"
#else
#include "attention_units_cpu.clh"
#define WEFT_ENGINE_BEGIN(own) void *const own = 0;
#define WEFT_ENGINE_END(own)
#endif
#include "attention_block_cpu.clh"

/* Work-item (block of queries, n); the last queries, which have the most keys if causal, come first. y is a packed result: the rows of y,
 * then lse (n, Lq), then weft_attention_lost (n, Lq). */
__kernel WEFT_ITEMS(1) void WEFT_NAME(forward)(__global const float *restrict q, long q_offset,
    __global const float *restrict k, long k_offset, __global const float *restrict v, long v_offset,
    __global float *restrict y, long y_offset, int mask_kind, __global const uchar *restrict mask,
    long mask_offset, long mask_0, long mask_1, long mask_row, long mask_column, int causal, int n1,
    int queries, int keys, int d_width, int dv_width, long q_0, long q_1, long q_row, long q_column, long k_0,
    long k_1, long k_row, long k_column, long v_0, long v_1, long v_row, long v_column, long y_0, long y_1,
    long y_row, long lse, float unseen, float scale WEFT_DROP_PARAMETERS) {
    const int n = (int)get_global_id(1);
    const int query = (int)(get_global_size(0) - 1 - get_global_id(0)) * WEFT_QUERIES;
    const int nq = min(WEFT_QUERIES, queries - query);
    const long a = n / n1, b = n % n1;
    q += q_offset + a * q_0 + b * q_1 + query * q_row;
    k += k_offset + a * k_0 + b * k_1;
    v += v_offset + a * v_0 + b * v_1;
    mask_offset += a * mask_0 + b * mask_1;
    WEFT_ENGINE_BEGIN(own)
    WEFT_BLOCK(q_transposed, WEFT_WIDTH);
    WEFT_BLOCK(keys_block, WEFT_KEYS);
    WEFT_BLOCK(values, WEFT_KEYS);
    WEFT_BLOCK(scores, WEFT_KEYS);
    WEFT_BLOCK(sums, WEFT_QUERY_ROWS);
#if WEFT_DROP
    WEFT_BLOCK(factors, WEFT_KEYS);
#endif
    float16 state[4 * WEFT_QUERIES / 16];
    float *most = (float *)state, *total = most + WEFT_QUERIES, *rescale = total + WEFT_QUERIES;
    WEFT_FETCH(sums, q, nq, d_width, q_row, q_column);
    WEFT_TRANSPOSE_BLOCK(q_transposed, sums, nq, d_width, scale * WEFT_LOG2E);
    for (int i = 0; i < WEFT_QUERY_ROWS * WEFT_LINE; i++) sums_room[i] = 0.0f;
    for (int i = 0; i < WEFT_QUERIES; i++) {
        most[i] = -INFINITY;
        total[i] = 0.0f;
    }
    const int end = causal ? min(keys, query + nq) : keys;
    for (int key = 0; key < end; key += WEFT_KEYS) {
        const int nk = min(WEFT_KEYS, end - key);
        if (weft_attention_hidden(mask_kind, mask, mask_offset + query * mask_row + key * mask_column,
                mask_row, mask_column, nq, nk))
            continue;
        WEFT_FETCH(keys_block, k + key * k_row, nk, d_width, k_row, k_column);
        WEFT_FETCH(values, v + key * v_row, nk, dv_width, v_row, v_column);
        WEFT_SCORE_BLOCK(own, scores, q_transposed, keys_block, nq, nk, d_width, mask_kind, mask, mask_offset,
            mask_row, mask_column, causal, query, key);
        if (WEFT_WEIGH(scores, most, total, rescale, nq, nk) && key > 0) {
            for (int i = 0; i < nq; i++) {
                for (int x = 0; x < WEFT_UP(dv_width, 16) / 16; x++)
                    sums_room[i * WEFT_LINE + x] *= rescale[i];
            }
        }
#if WEFT_DROP
        WEFT_DRAW_FACTORS(factors, ((long)(first_head + n) * queries + query) * keys + key, keys, nk, drop,
            kept, stream, seed0, seed1, run);
        for (int j = 0; j < nk; j++)
            for (int x = 0; x < WEFT_QUERIES / 16; x++)
                scores_room[j * WEFT_LINE + x] *= factors_room[j * WEFT_LINE + x];
#endif
        WEFT_PRODUCT_OF_COLUMNS(own, sums, scores, values, nq, dv_width, nk);
    }
    y += y_offset;
    for (int i = 0; i < nq; i++) {
        rescale[i] = total[i] == 0.0f ? unseen : 1.0f / total[i];
        const float log_sum = total[i] == 0.0f ? INFINITY : most[i] + log2(total[i]);
        y[lse + (long)n * queries + query + i] = log_sum;
        y[lse + (long)(n + get_global_size(1)) * queries + query + i] =
            weft_attention_lost(log_sum, most[i], total[i]);
    }
    WEFT_PUT_BLOCK(y + a * y_0 + b * y_1 + query * y_row, sums, nq, dv_width, y_row, rescale);
    WEFT_ENGINE_END(own)
}

/* Copies a block of queries and of dy, transposes both, copies lse and computes rowsum(dy y). y: the first row of the block. */
static inline void WEFT_NAME(fetch_queries)(const weft_attention_blocks *to, __global const float *q,
    long q_row, long q_column, __global const float *dy, long dy_row, long dy_column, __global const float *y,
    long y_row, __global const float *lse, int nq, int d_width, int dv_width, float scale) {
    WEFT_FETCH(to->q, q, nq, d_width, q_row, q_column);
    WEFT_TRANSPOSE_BLOCK(to->q_transposed, to->q, nq, d_width, scale * WEFT_LOG2E);
    WEFT_FETCH(to->dy, dy, nq, dv_width, dy_row, dy_column);
    WEFT_TRANSPOSE_BLOCK(to->dy_transposed, to->dy, nq, dv_width, 1.0f);
    for (int i = 0; i < WEFT_QUERIES; i++) {
        to->log_sums[i] = i < nq ? lse[i] : INFINITY;
        to->inner[i] = 0.0f;
        __global const float *line = y + i * y_row;
        for (int x = 0; i < nq && x < dv_width; x++) to->inner[i] += line[x] * to->dy[i * WEFT_PITCH + x];
    }
}

/* Computes P from S and lse. */
static inline void WEFT_NAME(weights)(const weft_attention_blocks *blocks, int nk) {
    float16 *scores = (float16 *)blocks->scores, *log_sums = (float16 *)blocks->log_sums;
    for (int j = 0; j < nk; j++) {
        for (int x = 0; x < WEFT_QUERIES / 16; x++)
            scores[j * WEFT_LINE + x] = weft_attention_exp2(scores[j * WEFT_LINE + x] - log_sums[x]);
    }
}

/* dv += PT dy and dP = dy vT, transposed and with the factors of dropout. */
static inline void WEFT_NAME(value_gradients)(
    const weft_attention_blocks *blocks, int nq, int nk, int dv_width) {
    const float *weights = blocks->scores;
#if WEFT_DROP
    const float16 *scores = (const float16 *)blocks->scores, *factors = (const float16 *)blocks->factors;
    float16 *gradients = (float16 *)blocks->gradients;
    for (int j = 0; j < nk; j++)
        for (int x = 0; x < WEFT_QUERIES / 16; x++)
            gradients[j * WEFT_LINE + x] = scores[j * WEFT_LINE + x] * factors[j * WEFT_LINE + x];
    weights = blocks->gradients;
#endif
    WEFT_PRODUCT(blocks->own, blocks->dv, weights, blocks->dy, nk, dv_width, nq, 0);
    WEFT_PRODUCT(blocks->own, blocks->gradients, blocks->values, blocks->dy_transposed, nk, nq, dv_width, 1);
}

/* dS = P (dP - rowsum(dy y)) scale, dk += dST q, dq += dS k. */
static inline void WEFT_NAME(score_gradients)(
    const weft_attention_blocks *blocks, int nq, int nk, int d_width, float scale) {
    float16 *scores = (float16 *)blocks->scores, *gradients = (float16 *)blocks->gradients;
    const float16 *inner = (const float16 *)blocks->inner;
    for (int j = 0; j < nk; j++) {
        for (int x = 0; x < WEFT_QUERIES / 16; x++) {
            const int at = j * WEFT_LINE + x;
#if WEFT_DROP
            gradients[at] *= ((const float16 *)blocks->factors)[at];
#endif
            scores[at] *= (gradients[at] - inner[x]) * scale;
        }
    }
    WEFT_PRODUCT(blocks->own, blocks->dk, blocks->scores, blocks->q, nk, d_width, nq, 0);
    WEFT_PRODUCT_OF_COLUMNS(blocks->own, blocks->dq, blocks->scores, blocks->keys, nq, d_width, nk);
}

/* Sets dk and dv of a block of keys to 0 (first), or reads what the item stored after earlier queries. */
static inline void WEFT_NAME(begin_gradients)(const weft_attention_blocks *blocks, bool first,
    __global const float *dk, long dk_row, __global const float *dv, long dv_row, int nk, int d_width,
    int dv_width) {
    if (!first) {
        WEFT_FETCH(blocks->dk, dk, nk, d_width, dk_row, 1);
        WEFT_FETCH(blocks->dv, dv, nk, dv_width, dv_row, 1);
        return;
    }
    for (int i = 0; i < WEFT_KEYS * WEFT_LINE; i++)
        ((float16 *)blocks->dk)[i] = ((float16 *)blocks->dv)[i] = 0.0f;
}

/* Work-item (range of keys, n). `result` is memory with dk and dv at their offsets. `dq` is the same memory, or scratch memory with one dq
 * for each range. `y` is the packed result of the forward pass. */
__kernel WEFT_ITEMS(1) void WEFT_NAME(backward)(__global const float *restrict q, long q_offset,
    __global const float *restrict k, long k_offset, __global const float *restrict v, long v_offset,
    __global const float *restrict y, long y_offset, __global const float *restrict dy, long dy_offset,
    __global float *result, long result_offset, __global float *dq, long dq_offset, int mask_kind,
    __global const uchar *restrict mask, long mask_offset, long mask_0, long mask_1, long mask_row,
    long mask_column, int causal, int n1, int queries, int keys, int d_width, int dv_width, long q_0,
    long q_1, long q_row, long q_column, long k_0, long k_1, long k_row, long k_column, long v_0, long v_1,
    long v_row, long v_column, long dy_0, long dy_1, long dy_row, long dy_column, long y_0, long y_1,
    long y_row, long lse, int range, long dq_range, long dq_0, long dq_1, long dq_row, long dk_at, long dk_0,
    long dk_1, long dk_row, long dv_at, long dv_0, long dv_1, long dv_row, float scale WEFT_DROP_PARAMETERS) {
    const int n = (int)get_global_id(1), begin = (int)get_global_id(0) * range;
    const long a = n / n1, b = n % n1;
    q += q_offset + a * q_0 + b * q_1;
    k += k_offset + a * k_0 + b * k_1;
    v += v_offset + a * v_0 + b * v_1;
    dy += dy_offset + a * dy_0 + b * dy_1;
    __global const float *lse_line = y + y_offset + lse + (long)n * queries;
    y += y_offset + a * y_0 + b * y_1;
    mask_offset += a * mask_0 + b * mask_1;
    dq += dq_offset + get_global_id(0) * dq_range + a * dq_0 + b * dq_1;
    __global float *dk = result + result_offset + dk_at + a * dk_0 + b * dk_1;
    __global float *dv = result + result_offset + dv_at + a * dv_0 + b * dv_1;
    WEFT_ENGINE_BEGIN(own)
    WEFT_BLOCK(q_block, WEFT_QUERY_ROWS);
    WEFT_BLOCK(q_transposed, WEFT_WIDTH);
    WEFT_BLOCK(dy_block, WEFT_QUERY_ROWS);
    WEFT_BLOCK(dy_transposed, WEFT_WIDTH);
    WEFT_BLOCK(dq_block, WEFT_QUERY_ROWS);
    WEFT_BLOCK(keys_block, WEFT_KEYS);
    WEFT_BLOCK(values, WEFT_KEYS);
    WEFT_BLOCK(dk_block, WEFT_KEYS);
    WEFT_BLOCK(dv_block, WEFT_KEYS);
    WEFT_BLOCK(scores, WEFT_KEYS);
    WEFT_BLOCK(gradients, WEFT_KEYS);
#if WEFT_DROP
    WEFT_BLOCK(factors, WEFT_KEYS);
#else
    float *factors = 0;
#endif
    float16 state[2 * WEFT_QUERIES / 16];
    float ones[WEFT_KEYS > WEFT_QUERIES ? WEFT_KEYS : WEFT_QUERIES];
    for (int i = 0; i < WEFT_KEYS || i < WEFT_QUERIES; i++) ones[i] = 1.0f;
    const weft_attention_blocks blocks = {q_block, q_transposed, dy_block, dy_transposed, dq_block,
        keys_block, values, dk_block, dv_block, scores, gradients, factors, (float *)state,
        (float *)state + WEFT_QUERIES, own};
    const int last = min(keys, begin + range);
    for (int query = 0; query < queries; query += WEFT_QUERIES) {
        const int nq = min(WEFT_QUERIES, queries - query);
        WEFT_NAME(fetch_queries)
        (&blocks, q + query * q_row, q_row, q_column, dy + query * dy_row, dy_row, dy_column,
            y + query * y_row, y_row, lse_line + query, nq, d_width, dv_width, scale);
        for (int i = 0; i < WEFT_QUERY_ROWS * WEFT_LINE; i++) dq_block_room[i] = 0.0f;
        const int end = causal ? min(last, query + nq) : last;
        for (int key = begin; key < last && (query == 0 || key < end); key += WEFT_KEYS) {
            const int nk = min(WEFT_KEYS, last - key);
            const bool hidden = key >= end || weft_attention_hidden(mask_kind, mask,
                                                  mask_offset + query * mask_row + key * mask_column,
                                                  mask_row, mask_column, nq, nk);
            if (hidden && query > 0) continue;
            WEFT_NAME(begin_gradients)
            (&blocks, query == 0, dk + key * dk_row, dk_row, dv + key * dv_row, dv_row, nk, d_width,
                dv_width);
            if (!hidden) {
                WEFT_FETCH(keys_block, k + key * k_row, nk, d_width, k_row, k_column);
                WEFT_FETCH(values, v + key * v_row, nk, dv_width, v_row, v_column);
                WEFT_SCORE_BLOCK(own, scores, q_transposed, keys_block, nq, nk, d_width, mask_kind, mask,
                    mask_offset, mask_row, mask_column, causal, query, key);
                WEFT_NAME(weights)(&blocks, nk);
#if WEFT_DROP
                WEFT_DRAW_FACTORS(factors, ((long)(first_head + n) * queries + query) * keys + key, keys, nk,
                    drop, kept, stream, seed0, seed1, run);
#endif
                WEFT_NAME(value_gradients)(&blocks, nq, nk, dv_width);
                WEFT_NAME(score_gradients)(&blocks, nq, nk, d_width, scale);
            }
            WEFT_PUT_BLOCK(dk + key * dk_row, dk_block, nk, d_width, dk_row, ones);
            WEFT_PUT_BLOCK(dv + key * dv_row, dv_block, nk, dv_width, dv_row, ones);
        }
        WEFT_PUT_BLOCK(dq + query * dq_row, dq_block, nq, d_width, dq_row, ones);
    }
    WEFT_ENGINE_END(own)
}

/* Adds the dq of all ranges, in the order of the ranges. */
__kernel WEFT_ITEMS(1) void WEFT_NAME(sum)(__global float *restrict dq, long dq_offset,
    __global const float *restrict partials, long partials_offset, long count, int ranges) {
    const long begin = get_global_id(0) * (long)WEFT_SUMMED, end = min(begin + (long)WEFT_SUMMED, count);
    dq += dq_offset;
    partials += partials_offset;
    for (long i = begin; i < end; i++) {
        float total = partials[i];
        for (int r = 1; r < ranges; r++) total += partials[r * count + i];
        dq[i] = total;
    }
}

#undef WEFT_PITCH
#undef WEFT_LINE
#undef WEFT_QUERY_ROWS
#undef WEFT_BLOCK
#undef WEFT_MULTIPLY_ROWS
#undef WEFT_MULTIPLY_COLUMNS
#undef WEFT_PRODUCT
#undef WEFT_PRODUCT_OF_COLUMNS
#undef WEFT_ENGINE_BEGIN
#undef WEFT_ENGINE_END
#undef WEFT_ENGINE_LONG
#undef WEFT_ENGINE_ROOM
#undef WEFT_FETCH
#undef WEFT_TRANSPOSE_BLOCK
#undef WEFT_PUT_BLOCK
#undef WEFT_SCORE_BLOCK
#undef WEFT_WEIGH
#undef WEFT_APPLY_MASK
#undef WEFT_DRAW_FACTORS
#undef WEFT_DROP_PARAMETERS
