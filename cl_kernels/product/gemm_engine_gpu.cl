/* gemm_engine_gpu.cl: C[b] = A[b] * B[b] by the matrix engine of a GPU, with factors of 16 bits and sums of f32.
 *
 *     A (m, k) any strides        B (k, n) any strides        C: stored by WEFT_STORE (the epilogue)
 *
 * A work-group computes a tile of C. The tile is divided among WARPS_DOWN x WARPS_ACROSS sub-groups; each computes DOWN x ACROSS
 * fragments, where a fragment is the result of one instruction. All items of the group together copy STEP steps of k of A and B to
 * local memory, as words with a pair of 16-bit numbers. The words of a row of A, or of a column of B, are contiguous:
 *
 *              word 0   1   2  ...  15   pad            with 2 x 2 sub-groups of 4 x 8 fragments of 16 x 8:
 *     row 0    k 0,1  2,3  4,5    30,31  .
 *     row 1    k 0,1  2,3  4,5    30,31  .                      128 columns
 *      ...                                               +----------+----------+
 *     row 127                                            | 64 x 64  | 64 x 64  |  128 rows
 *                                                        +----------+----------+
 * Then each sub-group loads its fragments from local     | 64 x 64  | 64 x 64  |
 * memory and multiplies them. At the same time, the      +----------+----------+
 * words of the next block are loaded into registers.
 *
 * engines.clh precedes this file: it has the table of the elements that a lane holds, and the instruction, or in tests a model of the
 * instruction.
 *
 * An item reads chunks of 8 numbers that are contiguous in memory: 8 steps of a row of A (a column of B) if k is contiguous,
 * otherwise 8 rows at one step. Chunks at aligned addresses are read by vector loads. Elements outside A and B are read as zero;
 * nothing is stored outside C. The macros that the plan defines before each copy are described in src/kernels/product/gemm.h.
 * WEFT_ENGINE_FORMAT is the format of the factors, bf16 or f16. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) gemm_##suffix
#define WEFT_FORMAT_A     bf16
#define WEFT_FORMAT_B     bf16
#include "alone.clh"
#endif

#include "engine_tile.clh"
#include "gemm_engine_gpu.clh"
