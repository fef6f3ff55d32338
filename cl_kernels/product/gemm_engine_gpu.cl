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
 * Two files of the engine precede this one (src/kernels/product/gemm_engine_gpu.c names them): the table of the elements that a
 * lane holds, such as mma.clh, and the instruction, or in tests a model of the instruction.
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

#include "gemm_engine_gpu.clh"
#include "splits_gpu.clh"

WEFT_REQUIRE(WEFT_NAME(results_fit), WEFT_ENGINE_RESULTS_FIT);
WEFT_ENGINE_FETCH(fetch_a, WEFT_OF_A, WEFT_ENGINE_HEIGHT, WEFT_ENGINE_READ_WORDS)
WEFT_ENGINE_FETCH(fetch_b, WEFT_OF_B, WEFT_ENGINE_WIDTH, WEFT_ENGINE_READ_WORDS)

/* Work-group (columns, rows, split and batch). */
__kernel WEFT_ENGINE_WORK_GROUP void WEFT_NAME(blocks)(WEFT_GEMM_ENGINE_PARAMETERS) {
    WEFT_ENGINE_TILES(1)
    WEFT_GEMM_ENGINE_BEGIN
    uint4 a_next[WEFT_ENGINE_COPIES(WEFT_ENGINE_HEIGHT)], b_next[WEFT_ENGINE_COPIES(WEFT_ENGINE_WIDTH)];
    WEFT_GEMM_ENGINE_FETCH(k, item)
    for (int start = 0; start < k; start += WEFT_ENGINE_STEP) {
        const int rest = k - start - WEFT_ENGINE_STEP, late = WEFT_ENGINE_LATE(start, m);
        WEFT_ENGINE_PUT(a_tile + late, a_next, WEFT_ENGINE_HEIGHT, a_column == 1)
        WEFT_ENGINE_PUT(b_tile + late, b_next, WEFT_ENGINE_WIDTH, b_row == 1)
        barrier(CLK_LOCAL_MEM_FENCE);
        WEFT_GEMM_ENGINE_NEXT(rest, late)
        WEFT_ENGINE_ADD_BLOCK(sums, start, m)
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    WEFT_GEMM_ENGINE_STORE
}
