/* attention_gpu.cl: scaled dot-product attention and its gradients, for devices of class gpu.
 *
 * attention_cpu.cl has the formulas, the masks and the packed result. A kernel consists of two products with weights between them, one
 * weight for each pair of a query and a key. A group of WEFT_ATTENTION_GROUP items (attention_gpu.c) computes a block of rows, which are
 * queries (forward, dq) or keys (dk, dv). Each 16, 32 or 64 items (WEFT_ATTENTION_LANES) share four rows. The group walks over the others,
 * which are the keys if the rows are queries and the queries if the rows are keys; each lane has four others at a time:
 *
 *     step of the width       others                  columns (WEFT_ATTENTION_WIDTH)
 *      +---+                 +------------+           +------------------+
 *      | o |   x   o o o o = |   oooo     |           |  oo     oo       |  chunk of the others' rows
 *      +---+                 +------------+           +------------------+
 *      rows                  scores, then      x
 *                            weights                  = sums: item (lane, y): rows 4y .. 4y + 3 of its columns
 *
 * 1. Scores: steps of both operands, 16 numbers of the width each, are copied into local memory. An item computes 4 x 4 scores. 2. Weights:
 * an item computes them in registers; the lanes that share rows find the maximum of each row together. The weights are stored in local
 * memory. 3. Sums: an item multiplies the weights of its 4 rows by its lane's columns, one chunk of the others' rows at a time.
 *
 * Local memory has two steps and two chunks: the next one is read from memory while the other is multiplied, and there is one barrier for
 * each. Values that only masks or the end of the kernel need are in local memory (`later`), because the strides of the operands leave no
 * scalar registers for them. Registers are meant for tiles, so the kernel computes the beginning of each operand's head and the item's
 * position in its block again for each block of others, and some of these for each column of weights. Offsets within a block have 32 bits.
 * Weights are computed one column of 4 rows at a time: the code reads the first column of a tile and then rotates the tile, so that it
 * exists once and every index of an array is a constant.
 *
 * WEFT_ATTENTION_WIDTH: columns of the sums, 32, 64, 128 or 256. Columns past the widths of the operands are zero. */

#ifndef WEFT_ATTENTION_GPU
#define WEFT_ATTENTION_GPU

/* DOWN: the sets of WEFT_ATTENTION_LANES items in a group, each with four rows. ROWS: the rows of a group. OTHERS: the others of a
 * block. */
#define WEFT_ATTENTION_DOWN   (WEFT_ATTENTION_GROUP / WEFT_ATTENTION_LANES)
#define WEFT_ATTENTION_ROWS   (4 * WEFT_ATTENTION_DOWN)
#define WEFT_ATTENTION_OTHERS (4 * WEFT_ATTENTION_LANES)
/* Local memory, in quads. While scores are computed, two buffers of one step each: for each number of the width, the quads of the rows and
 * those of the others. A pitch has one quad more, so that neighbouring items use different banks. Later the same memory has the weights
 * (for each of the others a weight of each row), then two chunks. SHARED: where one quad for each item begins, at the end, for maxima of
 * lanes. */
#define WEFT_ATTENTION_PITCH        (WEFT_ATTENTION_DOWN + 1)
#define WEFT_ATTENTION_OPITCH       (WEFT_ATTENTION_LANES + 1)
#define WEFT_ATTENTION_BUFFER       (WEFT_ATTENTION_STEP * (WEFT_ATTENTION_PITCH + WEFT_ATTENTION_OPITCH))
#define WEFT_ATTENTION_WEIGHTS      (WEFT_ATTENTION_OTHERS * WEFT_ATTENTION_PITCH)
#define WEFT_ATTENTION_LARGER(a, b) ((a) > (b) ? (a) : (b))
#define WEFT_ATTENTION_POOL                                                                                  \
    WEFT_ATTENTION_LARGER(                                                                                   \
        WEFT_ATTENTION_WEIGHTS + 2 * WEFT_ATTENTION_CHUNK, 2 * WEFT_ATTENTION_BUFFER + WEFT_ATTENTION_GROUP)
#define WEFT_ATTENTION_SHARED (WEFT_ATTENTION_POOL - WEFT_ATTENTION_GROUP)
/* How many numbers an item copies of a step's rows, of a step's others, and of a chunk. */
#define WEFT_ATTENTION_ROW_COPIES   (WEFT_ATTENTION_ROWS * WEFT_ATTENTION_STEP / WEFT_ATTENTION_GROUP)
#define WEFT_ATTENTION_OTHER_COPIES (WEFT_ATTENTION_OTHERS * WEFT_ATTENTION_STEP / WEFT_ATTENTION_GROUP)
#define WEFT_ATTENTION_CHUNK_COPIES (4 * WEFT_ATTENTION_CHUNK / WEFT_ATTENTION_GROUP)
/* APART: the rows between two numbers of a step that an item copies; all of these are in the same column. DOWN_OF(i), ACROSS_OF(i): the
 * rows and columns between the first number of a chunk that an item copies and number i; a row of a chunk may have more numbers than a
 * group items. */
#define WEFT_ATTENTION_APART      (WEFT_ATTENTION_GROUP / WEFT_ATTENTION_STEP)
#define WEFT_ATTENTION_DOWN_OF(i) ((i)*WEFT_ATTENTION_GROUP / WEFT_ATTENTION_WIDTH)
#define WEFT_ATTENTION_ACROSS_OF(i)                                                                          \
    (WEFT_ATTENTION_GROUP < WEFT_ATTENTION_WIDTH ? (i)*WEFT_ATTENTION_GROUP % WEFT_ATTENTION_WIDTH : 0)
/* DEPTH: the others of a chunk. VECTORS: vectors of a row that an item sums up. TOGETHER: the others whose reads from local memory
 * overlap. */
#define WEFT_ATTENTION_DEPTH   (4 * WEFT_ATTENTION_CHUNK / WEFT_ATTENTION_WIDTH)
#define WEFT_ATTENTION_VECTORS WEFT_ATTENTION_LARGER(WEFT_ATTENTION_WIDTH / WEFT_ATTENTION_LANES / 4, 1)
#define WEFT_ATTENTION_TOGETHER                                                                              \
    (WEFT_ATTENTION_DEPTH < 8 / WEFT_ATTENTION_VECTORS ? WEFT_ATTENTION_DEPTH : 8 / WEFT_ATTENTION_VECTORS)
#define WEFT_ATTENTION_EACH(i, count) WEFT_UNROLL_REGISTERS for (int i = 0; i < (count); i++)

/* What a group keeps in local memory for later: offsets of the first row's logarithm and of the first row of the result, the stride of rows
 * of the result; the offset of the mask in bytes, and the strides of the mask. */
typedef struct weft_attention_later {
    long logs, first, row, mask, mask_row, mask_column;
} weft_attention_later;

/* The first item of the group writes `later`. */
__attribute__((always_inline)) static inline void weft_attention_keep(__local weft_attention_later *later,
    long logs, long first, long row, long mask, long mask_row, long mask_column) {
    if (get_local_id(0) > 0) return;
    later->logs = logs;
    later->first = first;
    later->row = row;
    later->mask = mask;
    later->mask_row = mask_row;
    later->mask_column = mask_column;
}

/* Always 0, because `count` is not negative. Compilers of GPUs cannot prove this, so they compute an expression that contains this zero
 * again for each `at`. Otherwise they keep expressions in registers from block to block, above all addresses of local memory that depend on
 * the item's number. Compilers of processors turn a kernel into loops over work-items, for which a plain 0 is simpler. */
#if defined(__x86_64__) || defined(__aarch64__)
#define WEFT_ATTENTION_ZERO(at, count) 0
#else
#define WEFT_ATTENTION_ZERO(at, count) ((at) & ((count) >> 31))
#endif

/* The offset of an operand's head (a, b), which the group computes. zero: WEFT_ATTENTION_ZERO, or 0. */
#define WEFT_ATTENTION_HEAD(operand, zero)                                                                   \
    (operand##_offset + (long)(a + (zero)) * operand##_0 + (long)(b + (zero)) * operand##_1)
#define WEFT_ATTENTION_MASK ((mask_kind == 2 ? (long)sizeof(float) : 1) * WEFT_ATTENTION_HEAD(mask, 0))

/* Four numbers at any offsets. */
static inline float4 weft_attention_pick(__global const float *from, int4 at) {
    return (float4)(from[at.x], from[at.y], from[at.z], from[at.w]);
}

/* The number at from[at], or 0 if `there` is 0; the function then reads from[0]. */
static inline float weft_attention_number(__global const float *from, int at, int there) {
    const float number = from[there ? at : 0];
    return there ? number : 0.0f;
}

/* The first column of a tile of 4 x 4. */
#define WEFT_ATTENTION_COLUMN(tile) ((float4)((tile)[0].x, (tile)[1].x, (tile)[2].x, (tile)[3].x))
/* Removes the first column, and appends `column` after the others. */
__attribute__((always_inline)) static inline void weft_attention_rotate(float4 *tile, float4 column) {
    tile[0] = (float4)(tile[0].yzw, column.x);
    tile[1] = (float4)(tile[1].yzw, column.y);
    tile[2] = (float4)(tile[2].yzw, column.z);
    tile[3] = (float4)(tile[3].yzw, column.w);
}

/* For four rows: adds the row's number times v to the row's sum. */
__attribute__((always_inline)) static inline void weft_attention_add(float4 *sums, float4 rows, float4 v) {
    sums[0] = WEFT_MULTIPLY_ADD(rows.x, v, sums[0]);
    sums[1] = WEFT_MULTIPLY_ADD(rows.y, v, sums[1]);
    sums[2] = WEFT_MULTIPLY_ADD(rows.z, v, sums[2]);
    sums[3] = WEFT_MULTIPLY_ADD(rows.w, v, sums[3]);
}
#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) attention_##suffix
#ifndef WEFT_ATTENTION_WIDTH
#define WEFT_ATTENTION_WIDTH 64
#endif
#endif
/* The type of a lane's neighbouring columns. */
#if WEFT_ATTENTION_WIDTH / WEFT_ATTENTION_LANES == 2
#define WEFT_ATTENTION_VECTOR float2
#else
#define WEFT_ATTENTION_VECTOR float4
#endif

#include "attention_parameters_gpu.clh"
#define WEFT_ATTENTION_ITEMS WEFT_ATTENTION_GROUP
#include "attention_inner_gpu.clh"
#undef WEFT_ATTENTION_ITEMS

/* Declares `factors`, the WEFT_FACTOR of the four weights of a column. These belong to four queries or, if turned, keys. The loop is not
 * unrolled, because four random numbers at once need too many registers. */
#if WEFT_DROP
#define WEFT_FACTORS(factors, i, j, turned)                                                                  \
    float4 factors = 1.0f;                                                                                   \
    WEFT_ROLLED for (int weft_r = 0; weft_r < 4; weft_r++) factors =                                         \
        (float4)(factors.yzw, WEFT_FACTOR((i) + weft_r * !(turned), (j) + weft_r * (turned), zero));
#else
#define WEFT_FACTORS(factors, i, j, turned) const float4 factors = 1.0f;
#endif

/* scores[r] = row 4y + r of a block times the others 4 lane .. 4 lane + 3. `rows` and `others` point to the first row of the block and the
 * first of the others; rows_left and others_left are the numbers of rows from there on. The first iteration only reads from memory, and
 * passes a barrier before the second writes to local memory. */
__attribute__((always_inline)) static inline void WEFT_NAME(scores)(float4 *scores, __local float4 *pool,
    __global const float *rows, int rows_left, int row, int row_column, __global const float *others,
    int others_left, int other, int other_column, int width, int item) {
    const int lane = item % WEFT_ATTENTION_LANES, y = item / WEFT_ATTENTION_LANES;
    const int x = item % WEFT_ATTENTION_STEP, r = item / WEFT_ATTENTION_STEP;
    const int row_at = r * row + x * row_column, other_at = r * other + x * other_column;
    float a[WEFT_ATTENTION_ROW_COPIES], b[WEFT_ATTENTION_OTHER_COPIES];
    WEFT_ATTENTION_EACH(i, WEFT_ATTENTION_ROW_COPIES) a[i] = 0.0f;
    WEFT_ATTENTION_EACH(i, WEFT_ATTENTION_OTHER_COPIES) b[i] = 0.0f;
    scores[0] = scores[1] = scores[2] = scores[3] = 0.0f;
    for (int next = 0; next < width + WEFT_ATTENTION_STEP; next += WEFT_ATTENTION_STEP) {
        __local float4 *const left = pool + next / WEFT_ATTENTION_STEP % 2 * WEFT_ATTENTION_BUFFER,
                              *const right = left + WEFT_ATTENTION_STEP * WEFT_ATTENTION_PITCH;
        __local float *const left_at = (__local float *)(left + x * WEFT_ATTENTION_PITCH) + r,
                             *const right_at = (__local float *)(right + x * WEFT_ATTENTION_OPITCH) + r;
        __local const float4 *u = left + y, *v = right + lane;
        if (next > 0) {
            WEFT_ATTENTION_EACH(i, WEFT_ATTENTION_ROW_COPIES) left_at[i * WEFT_ATTENTION_APART] = a[i];
            WEFT_ATTENTION_EACH(i, WEFT_ATTENTION_OTHER_COPIES) right_at[i * WEFT_ATTENTION_APART] = b[i];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const int here = next + x<width, end = next> 0 ? WEFT_ATTENTION_STEP : 0;
        WEFT_ATTENTION_EACH(i, WEFT_ATTENTION_ROW_COPIES)
        a[i] = weft_attention_number(rows, row_at + (next * row_column + i * WEFT_ATTENTION_APART * row),
            here && r + i * WEFT_ATTENTION_APART < rows_left);
        WEFT_ATTENTION_EACH(i, WEFT_ATTENTION_OTHER_COPIES)
        b[i] =
            weft_attention_number(others, other_at + (next * other_column + i * WEFT_ATTENTION_APART * other),
                here && r + i * WEFT_ATTENTION_APART < others_left);
        WEFT_ROLLED for (int k = 0; k < end; k += 8) {
            WEFT_ATTENTION_EACH(i, 8)
            weft_attention_add(scores, u[i * WEFT_ATTENTION_PITCH], v[i * WEFT_ATTENTION_OPITCH]);
            u += 8 * WEFT_ATTENTION_PITCH;
            v += 8 * WEFT_ATTENTION_OPITCH;
        }
    }
}

/* sums += weights in local memory times `others`, of which `left` rows remain. Passes a barrier before it writes to local memory, as
 * `scores`. */
__attribute__((always_inline)) static inline void WEFT_NAME(sums)(
    WEFT_ATTENTION_VECTOR (*sums)[WEFT_ATTENTION_VECTORS], __local float4 *pool, __global const float *others,
    int left, int row, int column, int width, int item) {
    const int r = item / WEFT_ATTENTION_WIDTH, x = item % WEFT_ATTENTION_WIDTH;
    const int count = min(left, WEFT_ATTENTION_OTHERS), at = r * row + x * column;
    __local const float4 *w = pool + item / WEFT_ATTENTION_LANES;
    float b[WEFT_ATTENTION_CHUNK_COPIES];
    WEFT_ATTENTION_EACH(i, WEFT_ATTENTION_CHUNK_COPIES) b[i] = 0.0f;
    for (int next = 0; next < count + WEFT_ATTENTION_DEPTH; next += WEFT_ATTENTION_DEPTH) {
        __local float *const chunk =
            (__local float *)(pool + WEFT_ATTENTION_WEIGHTS +
                              next / WEFT_ATTENTION_DEPTH % 2 * WEFT_ATTENTION_CHUNK);
        __local const WEFT_ATTENTION_VECTOR *v =
            (__local const WEFT_ATTENTION_VECTOR *)chunk + item % WEFT_ATTENTION_LANES;
        if (next > 0)
            WEFT_ATTENTION_EACH(i, WEFT_ATTENTION_CHUNK_COPIES) chunk[item + i * WEFT_ATTENTION_GROUP] = b[i];
        barrier(CLK_LOCAL_MEM_FENCE);
        const int end = next > 0 ? WEFT_ATTENTION_DEPTH : 0;
        WEFT_ATTENTION_EACH(i, WEFT_ATTENTION_CHUNK_COPIES)
        b[i] = weft_attention_number(others,
            at + ((next + WEFT_ATTENTION_DOWN_OF(i)) * row + WEFT_ATTENTION_ACROSS_OF(i) * column),
            next + WEFT_ATTENTION_DOWN_OF(i) + r < count && x + WEFT_ATTENTION_ACROSS_OF(i) < width);
        WEFT_ROLLED for (int k = 0; k < end; k += WEFT_ATTENTION_TOGETHER) {
            WEFT_ATTENTION_EACH(e, WEFT_ATTENTION_TOGETHER * WEFT_ATTENTION_VECTORS) {
                const int i = e % WEFT_ATTENTION_VECTORS;
                const float4 rows = w[e / WEFT_ATTENTION_VECTORS * WEFT_ATTENTION_PITCH];
                const WEFT_ATTENTION_VECTOR vector = v[WEFT_ATTENTION_LANES * e];
                sums[0][i] = WEFT_MULTIPLY_ADD(rows.x, vector, sums[0][i]);
                sums[1][i] = WEFT_MULTIPLY_ADD(rows.y, vector, sums[1][i]);
                sums[2][i] = WEFT_MULTIPLY_ADD(rows.z, vector, sums[2][i]);
                sums[3][i] = WEFT_MULTIPLY_ADD(rows.w, vector, sums[3][i]);
            }
            v += WEFT_ATTENTION_LANES * WEFT_ATTENTION_TOGETHER * WEFT_ATTENTION_VECTORS;
            w += WEFT_ATTENTION_TOGETHER * WEFT_ATTENTION_PITCH;
        }
    }
}

/* Applies the masks to a column of scores: of the queries from `query` on and one key, or, if turned, of the keys from `key` on and one
 * query. whole: all rows and others of the block exist, and causality hides none of the scores. */
__attribute__((always_inline)) static inline float4 WEFT_NAME(masked)(float4 scores, int query, int key,
    int queries, int keys, int turned, int whole, int causal, int kind, __global const uchar *mask,
    __local const weft_attention_later *later) {
    int4 i = query, j = key;
    if (turned)
        j += (int4)(0, 1, 2, 3);
    else
        i += (int4)(0, 1, 2, 3);
    if (kind) {
        mask += later->mask;
        const long4 at = convert_long4(min(i, (int4)(queries - 1))) * later->mask_row +
                         convert_long4(min(j, (int4)(keys - 1))) * later->mask_column;
        __global const float *const added = (__global const float *)mask;
        if (kind == 1)
            scores = (float4)(mask[at.x] ? scores.x : -INFINITY, mask[at.y] ? scores.y : -INFINITY,
                mask[at.z] ? scores.z : -INFINITY, mask[at.w] ? scores.w : -INFINITY);
        else
            scores += weft_attention_mask_numbers(added, at);
    }
    if (whole) return scores;
    const int4 hidden = (i >= queries) | (j >= keys) | ((j > i) & (int4)(causal ? -1 : 0));
    return select(scores, (float4)(-INFINITY), hidden);
}

/* Stores a lane's sums of one row, times a factor. */
static inline void WEFT_NAME(store)(
    __global float *to, const WEFT_ATTENTION_VECTOR *sums, float factor, int width) {
    const int lanes = sizeof *sums / sizeof(float);
    WEFT_ATTENTION_EACH(i, WEFT_ATTENTION_VECTORS) {
        const int x = (i * WEFT_ATTENTION_LANES + (int)get_local_id(0) % WEFT_ATTENTION_LANES) * lanes;
        weft_attention_put(to, x, width, sums[i].x * factor);
        weft_attention_put(to, x + 1, width, sums[i].y * factor);
#if WEFT_ATTENTION_WIDTH / WEFT_ATTENTION_LANES > 2
        weft_attention_put(to, x + 2, width, sums[i].z * factor);
        weft_attention_put(to, x + 3, width, sums[i].w * factor);
#endif
    }
}

/* Stores the sums of the first `left` of 4 rows, each row times its factor. */
static inline void WEFT_NAME(store_rows)(__global float *to, long row, int left, int width,
    WEFT_ATTENTION_VECTOR (*sums)[WEFT_ATTENTION_VECTORS], float4 factors) {
    if (left > 0) WEFT_NAME(store)(to, sums[0], factors.x, width);
    if (left > 1) WEFT_NAME(store)(to + row, sums[1], factors.y, width);
    if (left > 2) WEFT_NAME(store)(to + 2 * row, sums[2], factors.z, width);
    if (left > 3) WEFT_NAME(store)(to + 3 * row, sums[3], factors.w, width);
}

__kernel __attribute__((reqd_work_group_size(WEFT_ATTENTION_GROUP, 1, 1))) WEFT_NARROW void WEFT_NAME(
    forward)(WEFT_ATTENTION_FORWARD_PARAMETERS) {
    __local float4 pool[WEFT_ATTENTION_POOL];
    __local weft_attention_later later;
    const int n = (int)get_global_id(1), first = (int)get_group_id(0) * WEFT_ATTENTION_ROWS;
    const int a = n / n1, b = n % n1;
    weft_attention_keep(&later, y_offset + lse + (long)n * queries + first,
        WEFT_ATTENTION_HEAD(y, 0) + first * y_row, y_row, WEFT_ATTENTION_MASK, mask_row, mask_column);
    __local float4 *const shared = pool + WEFT_ATTENTION_SHARED;
    WEFT_ATTENTION_VECTOR sums[4][WEFT_ATTENTION_VECTORS];
    WEFT_ATTENTION_EACH(i, WEFT_ATTENTION_VECTORS) sums[0][i] = sums[1][i] = sums[2][i] = sums[3][i] = 0.0f;
    float4 top = -INFINITY, total = 0.0f;
    const int end = causal ? min(keys, first + WEFT_ATTENTION_ROWS) : keys;
    for (int key = 0; key < end; key += WEFT_ATTENTION_OTHERS) {
        float4 scores[4];
        const int before = WEFT_ATTENTION_ZERO(key, keys), zero = WEFT_ATTENTION_ZERO(key + 1, keys);
        const int whole = first + WEFT_ATTENTION_ROWS <= queries && key + WEFT_ATTENTION_OTHERS <= keys &&
                          (!causal || key + WEFT_ATTENTION_OTHERS <= first);
        WEFT_NAME(scores)
        (scores, pool, q + (WEFT_ATTENTION_HEAD(q, before) + first * q_row), queries - first, (int)q_row,
            (int)q_column, k + (WEFT_ATTENTION_HEAD(k, before) + key * k_row), keys - key, (int)k_row,
            (int)k_column, d_width, (int)get_local_id(0) + before);
        const int item = (int)get_local_id(0) + zero, lane = item % WEFT_ATTENTION_LANES;
        const int down = item / WEFT_ATTENTION_LANES, query = first + 4 * down;
        float4 best = top;
        WEFT_ROLLED for (int c = 0; c < 4; c++) {
            const float4 column = WEFT_NAME(masked)(WEFT_ATTENTION_COLUMN(scores) * (scale * WEFT_LOG2E),
                query, key + 4 * lane + c, queries, keys, 0, whole, causal, mask_kind, mask,
                &later + WEFT_ATTENTION_ZERO(c, keys));
            weft_attention_rotate(scores, column);
            best = column > best ? column : best;
        }
        shared[lane * WEFT_ATTENTION_DOWN + down] = best;
        barrier(CLK_LOCAL_MEM_FENCE);
        WEFT_ROLLED for (int i = 0; i < WEFT_ATTENTION_LANES; i++) {
            const float4 other = shared[i * WEFT_ATTENTION_DOWN + down];
            best = other > best ? other : best;
        }
        const float4 base = best == -INFINITY ? 0.0f : best, factor = exp2(top - base);
        total *= factor;
        top = best;
        WEFT_ROLLED for (int c = 0; c < 4; c++) {
            const float4 weight = exp2(WEFT_ATTENTION_COLUMN(scores) - base);
            weft_attention_rotate(scores, weight);
            total += weight;
            WEFT_FACTORS(factors, query, key + 4 * lane + c, 0)
            pool[(4 * lane + c) * WEFT_ATTENTION_PITCH + down] = weight * factors;
        }
        WEFT_ATTENTION_EACH(i, WEFT_ATTENTION_VECTORS) {
            sums[0][i] *= factor.x;
            sums[1][i] *= factor.y;
            sums[2][i] *= factor.z;
            sums[3][i] *= factor.w;
        }
        WEFT_NAME(sums)
        (sums, pool, v + (WEFT_ATTENTION_HEAD(v, zero) + key * v_row), keys - key, (int)v_row, (int)v_column,
            dv_width, item);
    }
    const int lane = (int)get_local_id(0) % WEFT_ATTENTION_LANES,
              down = (int)get_local_id(0) / WEFT_ATTENTION_LANES;
    const int query = first + 4 * down;
    barrier(CLK_LOCAL_MEM_FENCE);
    shared[lane * WEFT_ATTENTION_DOWN + down] = total;
    barrier(CLK_LOCAL_MEM_FENCE);
    total = 0.0f;
    WEFT_ROLLED for (int i = 0; i < WEFT_ATTENTION_LANES; i++) total +=
        shared[i * WEFT_ATTENTION_DOWN + down];
    const float4 logs = total == 0.0f ? (float4)(INFINITY) : top + log2(total);
    if (lane == 0) {
        __global float *const rest = y + later.logs + 4 * down;
        weft_attention_put_rows(rest, queries - query, logs);
        weft_attention_put_rows(rest + (long)get_global_size(1) * queries, queries - query,
            total == 0.0f ? (float4)(1.0f) : WEFT_ATTENTION_LOST(logs, top, total));
    }
    const float4 factors = total == 0.0f ? (float4)(unseen) : 1.0f / total;
    WEFT_NAME(store_rows)
    (y + later.first + 4 * down * later.row, later.row, queries - query, dv_width, sums, factors);
}

/* Computes one gradient, `part`: see WEFT_ATTENTION_BACKWARD_PARAMETERS. */
__kernel __attribute__((reqd_work_group_size(WEFT_ATTENTION_GROUP, 1, 1))) WEFT_NARROW void WEFT_NAME(
    backward)(WEFT_ATTENTION_BACKWARD_PARAMETERS) {
    __local float4 pool[WEFT_ATTENTION_POOL];
    __local weft_attention_later later;
    const int n = (int)get_global_id(1), first = (int)get_group_id(0) * WEFT_ATTENTION_ROWS;
    const int turned = part != WEFT_ATTENTION_DQ;
    const int row_count = turned ? keys : queries, other_count = turned ? queries : keys;
    const int a = n / n1, b = n % n1;
    weft_attention_keep(&later, 0, to_at + WEFT_ATTENTION_HEAD(to, 0) + first * to_row, to_row,
        WEFT_ATTENTION_MASK, mask_row, mask_column);
    WEFT_ATTENTION_VECTOR sums[4][WEFT_ATTENTION_VECTORS];
    WEFT_ATTENTION_EACH(i, WEFT_ATTENTION_VECTORS) sums[0][i] = sums[1][i] = sums[2][i] = sums[3][i] = 0.0f;
    const int begin = causal && turned ? first : 0;
    const int end = causal && !turned ? min(keys, first + WEFT_ATTENTION_ROWS) : other_count;
    for (int other = begin; other < end; other += WEFT_ATTENTION_OTHERS) {
        float4 products[4], scores[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        WEFT_ROLLED for (int second = 0; second < 2; second++) {
            const int zero = WEFT_ATTENTION_ZERO(other + second, keys);
            __global const float *const rows =
                second ? rows_1 + (WEFT_ATTENTION_HEAD(rows_1, zero) + first * rows_1_row)
                       : rows_2 + (WEFT_ATTENTION_HEAD(rows_2, zero) + first * rows_2_row);
            __global const float *const others =
                second ? others_1 + (WEFT_ATTENTION_HEAD(others_1, zero) + other * others_1_row)
                       : others_2 + (WEFT_ATTENTION_HEAD(others_2, zero) + other * others_2_row);
            products[0] = scores[0], products[1] = scores[1], products[2] = scores[2],
            products[3] = scores[3];
            WEFT_NAME(scores)
            (scores, pool, rows, row_count - first, (int)(second ? rows_1_row : rows_2_row),
                (int)(second ? rows_1_column : rows_2_column), others, other_count - other,
                (int)(second ? others_1_row : others_2_row),
                (int)(second ? others_1_column : others_2_column),
                second                      ? d_width
                : part == WEFT_ATTENTION_DV ? 0
                                            : dv_width,
                (int)get_local_id(0) + zero);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const int zero = WEFT_ATTENTION_ZERO(other + 2, keys), item = (int)get_local_id(0) + zero;
        const int lane = item % WEFT_ATTENTION_LANES, row = first + 4 * (item / WEFT_ATTENTION_LANES);
        const long line = (long)(n + zero) * queries;
        const int query = turned ? other + 4 * lane : row, key = turned ? row : other + 4 * lane;
        const int whole =
            first + WEFT_ATTENTION_ROWS <= row_count && other + WEFT_ATTENTION_OTHERS <= other_count &&
            (!causal ||
                (turned ? first + WEFT_ATTENTION_ROWS <= other : other + WEFT_ATTENTION_OTHERS <= first));
        const int4 rows = min(row + (int4)(0, 1, 2, 3), (int4)(queries - 1));
        float4 logs = 0.0f, inners = 0.0f;
        if (!turned)
            logs = weft_attention_pick(y + (y_offset + lse + line), rows),
            inners = weft_attention_pick(inner + (inner_offset + line), rows);
        WEFT_ROLLED for (int c = 0; c < 4; c++) {
            const int i = turned ? query + c : query, j = turned ? key : key + c, at = min(i, queries - 1);
            if (turned) logs = y[y_offset + lse + line + at], inners = inner[inner_offset + line + at];
            const float4 score = WEFT_NAME(masked)(WEFT_ATTENTION_COLUMN(scores) * (scale * WEFT_LOG2E), i, j,
                queries, keys, turned, whole, causal, mask_kind, mask, &later + WEFT_ATTENTION_ZERO(c, keys));
            const float4 weight = exp2(score - logs);
            WEFT_FACTORS(factors, i, j, turned)
            /* A separate variable: Intel's runtime 2026.2 computes a wrong value if it contracts this product with its use below. */
            const float4 dropped = WEFT_ATTENTION_COLUMN(products) * factors;
            weft_attention_rotate(scores, weight);
            weft_attention_rotate(products, dropped);
            float4 change = weight * factors;
            if (part != WEFT_ATTENTION_DV) change = weight * ((dropped - inners) * scale);
            const int own = (int)get_local_id(0) + WEFT_ATTENTION_ZERO(c, keys);
            pool[(4 * (own % WEFT_ATTENTION_LANES) + c) * WEFT_ATTENTION_PITCH + own / WEFT_ATTENTION_LANES] =
                change;
        }
        const int last = WEFT_ATTENTION_ZERO(other + 3, keys);
        WEFT_NAME(sums)
        (sums, pool, summed + (WEFT_ATTENTION_HEAD(summed, last) + other * summed_row), other_count - other,
            (int)summed_row, (int)summed_column, to_width, (int)get_local_id(0) + last);
    }
    const int down = (int)get_local_id(0) / WEFT_ATTENTION_LANES;
    barrier(CLK_LOCAL_MEM_FENCE);
    WEFT_NAME(store_rows)
    (to + later.first + 4 * down * later.row, later.row, row_count - first - 4 * down, to_width, sums,
        (float4)(1.0f));
}

#undef WEFT_ATTENTION_VECTOR
#undef WEFT_FACTORS
