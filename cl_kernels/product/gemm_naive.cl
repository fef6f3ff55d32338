/* gemm_naive.cl: C[b] = A[b] * B[b], the portable form: no local memory, no barriers, no tuning.
 *
 *     A (m, k) any strides        B (k, n) any strides        C: stored by WEFT_STORE (the epilogue)
 *
 * Division of work: work-item (x, y, z) computes WEFT_LANES neighbouring elements of C: row y of batch z, from column x *
 * WEFT_LANES on (one element on devices of class gpu, sixteen on devices of class cpu).
 *
 *              B   | | | |   k down
 *     A  -k->    [ c c c c ]  one work-item
 *
 * The macros that the plan defines before each copy (WEFT_NAME, WEFT_EPILOGUE_PARAMETERS, WEFT_STORE) are described in
 * src/kernels/product/gemm.h. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) gemm_##suffix
#include "alone.clh"
#endif

__kernel void WEFT_NAME(naive)(WEFT_OPERANDS_A *a, long a_offset, WEFT_OPERANDS_B *b, long b_offset, int n,
    long k, long a_batch, long a_row, long a_column, long b_batch, long b_row,
    long b_column WEFT_EPILOGUE_PARAMETERS) {
    const int column = (int)get_global_id(0) * WEFT_LANES;
    const int row = (int)get_global_id(1), batch = (int)get_global_id(2);
    const int lanes = min(WEFT_LANES, n - column);
    a += a_offset + batch * a_batch + row * a_row;
    b += b_offset + batch * b_batch + column * b_column;
#if WEFT_LANES == 1
    WEFT_SUM acc = 0.0f;
    for (long p = 0; p < k; ++p)
        acc = WEFT_MULTIPLY_ADD((WEFT_SUM)WEFT_OF_A(WEFT_GET_)(a, p * a_column),
            (WEFT_SUM)WEFT_OF_B(WEFT_GET_)(b, p * b_row), acc);
#else
    WEFT_SUMS acc = 0.0f;
    WEFT_SUMS values = 0.0f; /* lanes past the last column stay zero */
    for (long p = 0; p < k; ++p) {
        for (int lane = 0; lane < lanes; ++lane)
            ((WEFT_SUM *)&values)[lane] = WEFT_OF_B(WEFT_GET_)(b, p * b_row + lane * b_column);
        acc = WEFT_MULTIPLY_ADD((WEFT_SUMS)(WEFT_OF_A(WEFT_GET_)(a, p * a_column)), values, acc);
    }
#endif
    WEFT_STORE(acc, batch, row, column, lanes);
}
