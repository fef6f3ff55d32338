/* gemm_gpu.cl: C[b] = A[b] * B[b] for devices with many work-items and local memory.
 *
 *     A (m, k) any strides        B (k, n) any strides        C: whatever WEFT_STORE makes of an element
 *
 * A work-group of GROUP x GROUP items owns a tile of C with MICRO x MICRO elements per item. It walks k in
 * steps of STEP: all items together copy a tile of A and a tile of B to local memory, then each multiplies
 * its elements, which are GROUP apart so that neighbours read and write neighbouring words. With 16, 4 and
 * 16:
 *
 *                     B tile (16, 64)
 *                    +----------------+
 *     A tile        |   x   x   x   x|
 *    (64, 16)        +----------------+
 *     +----+         +----------------+
 *     |   y|         |   .   .   .   .|  item (x, y): rows y, y + 16, y + 32, y + 48
 *     |   y|         |   .   .   .   .|               columns x, x + 16, x + 32, x + 48
 *     |   y|         |   .   .   .   .|
 *     |   y|         |   .   .   .   .|
 *     +----+         +----------------+
 *
 * Large tiles read less memory for each multiplication; small ones (MICRO 1) give every compute unit work if
 * the product is small. The parameters stand in src/kernels/product/gemm_gpu.c.
 *
 * The tiles are read along whichever axis has stride 1. Elements outside A and B count as zero; nothing
 * outside C is stored. What stands before an inclusion (WEFT_NAME, WEFT_EPILOGUE_PARAMETERS, WEFT_STORE) is
 * described in src/kernels/product/gemm.h. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix)                          gemm_##suffix
#define WEFT_EPILOGUE_PARAMETERS                   , __global float *c, long c_batch, long c_row
#define WEFT_STORE(acc, batch, row, column, lanes) c[(batch)*c_batch + (row)*c_row + (column)] = (acc)
#define WEFT_FORMAT_A                              f32
#define WEFT_FORMAT_B                              f32
#define WEFT_SUM                                   float
#define WEFT_SUMS                                  WF
#define WEFT_GEMM_ALONE
#endif

#ifndef WEFT_GEMM_GPU
#define WEFT_GEMM_GPU

/* One word more than the tile, so that columns of a tile lie in different banks. */
#define WEFT_GEMM_ROOM (WEFT_GEMM_STEP * (WEFT_GEMM_GROUP * WEFT_GEMM_MICRO + 1))

#endif

/* A function: tile[p][i] = from[i * across + p * down] for i < width, p < STEP; zero where i >= limit or p >= depth. */
#define WEFT_GEMM_FETCH(name, OF)                                                                            \
    __attribute__((always_inline)) static inline void WEFT_NAME(name)(__local float *tile, const int width,  \
        __global const OF(WEFT_T_) * from, int limit, int depth, long across, long down, int item) {         \
        for (int e = item; e < width * WEFT_GEMM_STEP; e += WEFT_GEMM_GROUP * WEFT_GEMM_GROUP) {             \
            const int i = down == 1 ? e / WEFT_GEMM_STEP : e % width;                                        \
            const int p = down == 1 ? e % WEFT_GEMM_STEP : e / width;                                        \
            tile[p * (width + 1) + i] =                                                                      \
                i < limit && p < depth ? OF(WEFT_GET_)(from, i * across + p * down) : 0.0f;                  \
        }                                                                                                    \
    }
WEFT_GEMM_FETCH(fetch_a, WEFT_OF_A)
WEFT_GEMM_FETCH(fetch_b, WEFT_OF_B)
#undef WEFT_GEMM_FETCH

/* Work-group (columns, rows, batch). */
__kernel __attribute__((reqd_work_group_size(WEFT_GEMM_GROUP, WEFT_GEMM_GROUP, 1))) void WEFT_NAME(tiles)(
    WEFT_OPERANDS_A *a, long a_offset, WEFT_OPERANDS_B *b, long b_offset, int m, int n, int k, long a_batch,
    long a_row, long a_column, long b_batch, long b_row, long b_column WEFT_EPILOGUE_PARAMETERS) {
    const int width = WEFT_GEMM_GROUP * WEFT_GEMM_MICRO;
    __local float a_tile[WEFT_GEMM_ROOM], b_tile[WEFT_GEMM_ROOM];
    const int x = (int)get_local_id(0), y = (int)get_local_id(1), item = y * WEFT_GEMM_GROUP + x;
    const int top = (int)get_group_id(1) * width, left = (int)get_group_id(0) * width;
    const int batch = (int)get_global_id(2);
    a += a_offset + batch * a_batch + top * a_row;
    b += b_offset + batch * b_batch + left * b_column;
    float acc[WEFT_GEMM_MICRO][WEFT_GEMM_MICRO];
    WEFT_UNROLL for (int i = 0; i < WEFT_GEMM_MICRO; ++i) {
        WEFT_UNROLL for (int j = 0; j < WEFT_GEMM_MICRO; ++j) acc[i][j] = 0.0f;
    }
    for (int start = 0; start < k; start += WEFT_GEMM_STEP) {
        WEFT_NAME(fetch_a)(a_tile, width, a + start * a_column, m - top, k - start, a_row, a_column, item);
        WEFT_NAME(fetch_b)(b_tile, width, b + start * b_row, n - left, k - start, b_column, b_row, item);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int p = 0; p < WEFT_GEMM_STEP; ++p) {
            float from_a[WEFT_GEMM_MICRO];
            WEFT_UNROLL for (int i = 0; i < WEFT_GEMM_MICRO; ++i) from_a[i] =
                a_tile[p * (width + 1) + y + WEFT_GEMM_GROUP * i];
            WEFT_UNROLL for (int j = 0; j < WEFT_GEMM_MICRO; ++j) {
                const float from_b = b_tile[p * (width + 1) + x + WEFT_GEMM_GROUP * j];
                WEFT_UNROLL for (int i = 0; i < WEFT_GEMM_MICRO; ++i) acc[i][j] =
                    WEFT_MULTIPLY_ADD(from_a[i], from_b, acc[i][j]);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    WEFT_UNROLL for (int i = 0; i < WEFT_GEMM_MICRO; ++i) {
        const int row = top + y + WEFT_GEMM_GROUP * i;
        WEFT_UNROLL for (int j = 0; j < WEFT_GEMM_MICRO; ++j) {
            const int column = left + x + WEFT_GEMM_GROUP * j;
            if (row < m && column < n) WEFT_STORE(acc[i][j], batch, row, column, 1);
        }
    }
}

#ifdef WEFT_GEMM_ALONE
#undef WEFT_GEMM_ALONE
#undef WEFT_FORMAT_A
#undef WEFT_FORMAT_B
#undef WEFT_SUM
#undef WEFT_SUMS
#undef WEFT_NAME
#undef WEFT_EPILOGUE_PARAMETERS
#undef WEFT_STORE
#endif
