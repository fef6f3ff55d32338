/* Matrix products: what one is, and what an implementation lets the plan launch. product_family.c has the list of them.
 *
 * A product is C[b] = A[b] · B[b], A (m, k), B (k, n), any strides. What happens to a finished element of C
 * (scale, bias, activation, where it is stored) is the epilogue: generated code that the plan hands to the
 * kernel template as macros.
 *
 * A template file (cl_kernels/product/gemm_*.cl) is text that may be in one program several times. Before
 * each inclusion the plan defines:
 *
 *   WEFT_NAME(suffix)
 *       the kernel's name, unique in the program
 *   WEFT_EPILOGUE_PARAMETERS
 *       kernel parameters after the template's own; empty, or beginning with a comma
 *   WEFT_STORE(acc, batch, row, column, lanes)
 *       a statement that finishes and stores. cpu: acc is a float16 of which lanes (1 to 16) are valid, for
 *       the columns column .. column + lanes - 1; gpu: acc is a WF and lanes is WEFT_LANES, which is 1 or, of an
 *       implementation with `quads`, 4 where the plan finds that rows are multiples of four long and all that the epilogue
 *       reads and writes is contiguous. Then all four columns are there. batch, row, column, lanes are int.
 *   WEFT_EPILOGUE_READ(batch, row, column), WEFT_EPILOGUE_READ_SIZE, WEFT_EPILOGUE_READ_STEP
 *       only if the epilogue reads a matrix: the address of its element (a size_t), its bytes, and those from a row
 *       to the next, so that a template may prefetch it
 *   WEFT_EPILOGUE_WRITE(batch, row, column), WEFT_EPILOGUE_WRITE_SIZE, WEFT_EPILOGUE_WRITE_STEP
 *       the same of the matrix that it writes, if there is one
 *
 *   WEFT_COLUMN_SUMS, WEFT_STORE_SUMS(acc, batch, row, column, sums), WEFT_JOIN_SUMS(sums, split, column)
 *       only of an implementation with `sums`, and only if some are wanted, in place of WEFT_STORE: how many sums over all
 *       batches and rows; WEFT_STORE that adds to so many WFs `sums` of the column or columns, besides; and a statement that one
 *       item calls for each column with what it has of them, for each split of the rows from 0 to sum_splits - 1
 *   WEFT_KEPT_FIELDS, WEFT_KEEP(kept), WEFT_JOIN_KEPT_SUMS(sums, split, column, kept)
 *       with them: fields of a struct in local memory for parameters that only WEFT_JOIN_SUMS reads, what sets them, and
 *       WEFT_JOIN_SUMS with these in place of the parameters, which then hold no registers until the end
 *
 * WEFT_FORMAT_A, WEFT_FORMAT_B: the names of the formats of A and B (f32), for convolutions the image and the weight; WEFT_SUM, WEFT_SUMS: the type of one sum and of
 * WEFT_LANES of them (float, WF).
 *
 * It undefines them afterwards. So it does with the macros that `prepare` gives, by which a template leaves
 * out what this product has no use for; they do not depend on the batch size.
 *
 * Without the definitions the file compiles by itself with a plain store (parameters __global float *c, long
 * c_batch, long c_row; column stride 1).
 */
#ifndef WI_GEMM_H
#define WI_GEMM_H

#include "kernels/implementation.h"

/* The struct of WEFT_KEPT_FIELDS is no larger. */
enum { WI_KEPT_BYTES = 1024 };

typedef struct wi_gemm_shape {
    int64_t batch, m, n, k;
    int64_t a_batch, a_row,
        a_column; /* strides in elements: A[b][i][p] = a[b*a_batch + i*a_row + p*a_column] */
    int64_t b_batch, b_row, b_column;           /* B[b][p][j] = b[b*b_batch + p*b_row + j*b_column] */
    const struct wi_conv_geometry *convolution; /* conv_product.h: A is not in memory; or NULL */
} wi_gemm_shape;

#endif
