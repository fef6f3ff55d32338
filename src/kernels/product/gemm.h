/* Matrix products: their sizes and strides, and what a plan defines for the template of a kernel. product_family.c lists the kernels.
 *
 * A product is C[b] = A[b] · B[b] with A (m, k) and B (k, n), which may have any strides. The epilogue is generated code that
 * receives the finished elements of C: it scales them, adds a bias, applies an activation, and stores them.
 *
 * A template (cl_kernels/product/gemm_*.cl) is text that may be in a program several times. Before each copy the plan defines:
 *
 *   WEFT_NAME(suffix)
 *       the kernel's name, unique in the program
 *   WEFT_EPILOGUE_PARAMETERS
 *       kernel parameters after the template's own; empty, or beginning with a comma
 *   WEFT_STORE(acc, batch, row, column, lanes)
 *       a statement that applies the epilogue to elements. batch, row, column and lanes are int.
 *       Class cpu: acc is a float16 with the columns column .. column + lanes - 1, of which lanes (1 to 16) are valid.
 *       Class gpu: acc is a WF with WEFT_LANES columns, all of them valid. WEFT_LANES is 1; for implementations with `quads` it is 4
 *       if the plan finds that all rows have multiples of four elements, and that the epilogue reads and writes contiguous memory.
 *   WEFT_EPILOGUE_READ(batch, row, column), WEFT_EPILOGUE_READ_SIZE, WEFT_EPILOGUE_READ_STEP
 *       only if the epilogue reads a matrix: the address of an element (a size_t), the bytes of an element, and the bytes from one
 *       row to the next, for templates that prefetch the matrix
 *   WEFT_EPILOGUE_WRITE(batch, row, column), WEFT_EPILOGUE_WRITE_SIZE, WEFT_EPILOGUE_WRITE_STEP
 *       the same for the matrix that the epilogue writes, if there is one
 *
 *   WEFT_FORMAT_A, WEFT_FORMAT_B
 *       the names of the formats of A and B ("f32"); for convolutions those of the image and the weight
 *   WEFT_SUM, WEFT_SUMS
 *       the types of one sum and of WEFT_LANES sums ("float", "WF")
 *
 * and the macros of `prepare`, by which a template leaves out code that this product does not need. All are undefined after the
 * copy. Without them the file compiles by itself (alone.clh), with an epilogue that only stores (parameters __global float *c, long
 * c_batch, long c_row; column stride 1). */
#ifndef WI_GEMM_H
#define WI_GEMM_H

#include <stdint.h>

/* Strides in elements: A[b][i][p] = a[b * a_batch + i * a_row + p * a_column], and likewise B[b][p][j]. */
typedef struct wi_gemm_shape {
    int64_t batch, m, n, k;
    int64_t a_batch, a_row, a_column;
    int64_t b_batch, b_row, b_column;
    const struct wi_conv_geometry *convolution; /* NULL, or A is the windows of an image (conv_product.h) */
} wi_gemm_shape;

#endif
