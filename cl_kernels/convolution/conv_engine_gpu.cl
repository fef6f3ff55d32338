/* conv_engine_gpu.cl: convolution and its data gradient by the matrix engine of a GPU, with factors of 16 bits and sums of f32.
 *
 *     image: channels contiguous   w: any strides   result: stored by WEFT_STORE (the epilogue)
 *
 * It computes the matrix product over windows of conv_gpu.cl, with the phases and the table of taps of conv_taps_gpu.clh, by the
 * tiles and fragments of gemm_engine_gpu.cl. A chunk of A is eight channels of the pixel that a tap reads for a window. An item
 * copies chunks at one step of k, of one or two windows:
 *
 *       image                         A in local memory (128 windows, 32 steps)
 *     . . . . . .       tap (t)        item 0 .. 3 ->  channels c .. c + 31 of a pixel, eight each; with 8 channels
 *     . w w w . .   ------------>    [ row 0: pixel t of its window ]              four taps' pixels
 *     . w t w . .                    [ row 1: pixel t of its window ]  <- items 4 .. 7
 *
 * Input channels must have a pitch that is a multiple of 8, the engine's format, and addresses that are multiples of 16 bytes. If
 * they do not, for example in an image with three channels or in f32, "stage" makes a copy of the image that does.
 *
 * pack: writes, once a run, the table and the panels (conv_pack_gpu.clh). The panels have the layout of B in local memory, in the
 * engine's format: [group and block of k][column][step of the block], so that a work-group copies contiguous memory.
 *
 * Two files of the engine precede this one (src/kernels/product/engine_gpu.h). The parameters are in
 * src/kernels/convolution/conv_engine_gpu.c; the macros that the plan defines before each copy (WEFT_NAME,
 * WEFT_EPILOGUE_PARAMETERS, WEFT_STORE) are described in src/kernels/product/gemm.h. WEFT_ENGINE_FORMAT is the format of the
 * factors, bf16 or f16. */

#include "conv_engine_gpu.clh"

#ifndef WEFT_CONV_ENGINE_GPU
#define WEFT_CONV_ENGINE_GPU

/* Reads an item's chunks of the current block of k. */
#define WEFT_CONV_ENGINE_READ                                                                                \
    WEFT_UNROLL for (int weft_j = 0; weft_j < WEFT_ENGINE_COPIES(WEFT_ENGINE_HEIGHT); ++weft_j)              \
        a_next[weft_j] = *(__global const uint4 *)(pixels[weft_j] + channel);                                \
    WEFT_UNROLL for (int weft_j = 0; weft_j < WEFT_ENGINE_COPIES(WEFT_ENGINE_WIDTH); ++weft_j)               \
        b_next[weft_j] = block_of_b[b_at[weft_j]];

/* The addresses of the pixels of the current tap, for the windows of an item. */
#define WEFT_CONV_ENGINE_PIXELS                                                                              \
    WEFT_UNROLL for (int weft_j = 0; weft_j < WEFT_ENGINE_COPIES(WEFT_ENGINE_HEIGHT); ++weft_j)              \
        WEFT_CONV_GPU_PIXEL(                                                                                 \
            pixels[weft_j], (__global const char *)table + tap, first[weft_j], windows[weft_j])

/* The windows of an item's rows, and its columns of B. The window of a row past the last one is outside the image. In place of a
 * column past the last one, the last column is read again. */
#define WEFT_CONV_ENGINE_BEGIN(p)                                                                            \
    WEFT_UNROLL for (int weft_j = 0; weft_j < WEFT_ENGINE_COPIES(WEFT_ENGINE_HEIGHT); ++weft_j) {            \
        const int weft_row = top + (int)WEFT_ENGINE_ROW_OF(WEFT_ENGINE_HEIGHT, 1) +                          \
                             weft_j * WEFT_ENGINE_HOP(WEFT_ENGINE_HEIGHT, 1);                                \
        const int4 weft_position = weft_conv_gpu_position(&(p), weft_row);                                   \
        first[weft_j] = weft_position.xyz * (p).in;                                                          \
        windows[weft_j] = image + image_offset * unit + group * x_group + weft_position.w * x_image +        \
                          first[weft_j].x * x0 + first[weft_j].y * x1 + first[weft_j].z * x2;                \
        if (weft_row >= (p).rows) first[weft_j].x = INT_MIN / 4;                                             \
    }                                                                                                        \
    WEFT_UNROLL for (int weft_j = 0; weft_j < WEFT_ENGINE_COPIES(WEFT_ENGINE_WIDTH); ++weft_j) {             \
        const int weft_column = left + (int)WEFT_ENGINE_ROW_OF(WEFT_ENGINE_WIDTH, 1) +                       \
                                weft_j * WEFT_ENGINE_HOP(WEFT_ENGINE_WIDTH, 1);                              \
        b_at[weft_j] =                                                                                       \
            (uint)(min(weft_column, filters - 1) * WEFT_ENGINE_CHUNKS) + item % WEFT_ENGINE_CHUNKS;          \
    }

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) conv_##suffix
#define WEFT_FORMAT_A     bf16
#include "alone.clh"
#endif

/* Each item computes the position in the result of one row of the tile. */
WEFT_REQUIRE(WEFT_NAME(items_for_rows), WEFT_ENGINE_HEIGHT <= WEFT_ENGINE_GROUP);
WEFT_REQUIRE(WEFT_NAME(results_fit), WEFT_ENGINE_RESULTS_FIT);

WEFT_CONV_ENGINE_STAGE(stage, WEFT_CONV_GPU_PACKED, WEFT_OF_A)

#define WEFT_CONV_PANEL      uint
#define WEFT_CONV_PANEL_STEP WEFT_ENGINE_STEP
#define WEFT_CONV_PANEL_PAST WEFT_ENGINE_CHUNKS
#define WEFT_CONV_PANEL_PUT(row, column, x)                                                                  \
    WEFT_CONV_ENGINE_PUT((__global ushort *)panels,                                                          \
        ((row) / WEFT_ENGINE_STEP * width + (column)) * WEFT_ENGINE_STEP + (row) % WEFT_ENGINE_STEP, x)
#include "conv_pack_gpu.clh"

/* Work-group (columns, phase and rows, group). channel_step, channel_end and tap_step are bytes; the image's offset counts units
 * of `unit` elements. */
__kernel WEFT_ENGINE_WORK_GROUP void WEFT_NAME(tiles)(__global const ushort *image, long image_offset,
    __global const uint *panels, long panels_offset, __global const int *table, long table_offset,
    uint channel_step, uint channel_end, uint tap_step, int unit, int row_tiles, int panel_rows, int images,
    int filters, int depth, int read0, int read1, int read2, int made0, int made1, int made2, int stride0,
    int stride1, int stride2, int transposed, long x_group, long x_image, long x0, long x1,
    long x2 WEFT_EPILOGUE_PARAMETERS) {
    WEFT_ENGINE_TILES(1)
    __local int2 places[WEFT_ENGINE_HEIGHT]; /* positions of rows in the result */
    WEFT_ENGINE_ITEM
    const int group = (int)get_group_id(2), number = (int)get_group_id(1) / row_tiles;
    const int top = (int)get_group_id(1) % row_tiles * WEFT_ENGINE_HEIGHT,
              left = (int)get_group_id(0) * WEFT_ENGINE_WIDTH;
    const weft_conv_gpu_phase p = weft_conv_gpu_phase_of(
        number, images, (int3)(made0, made1, made2), (int3)(stride0, stride1, stride2), transposed);
    table += table_offset;
    const int4 fact = WEFT_CONV_GPU_FACTS(table, depth)[number];
    const int blocks = top < p.rows ? fact.s2 : 0;
    __global const ushort *windows[WEFT_ENGINE_COPIES(WEFT_ENGINE_HEIGHT)];
    __global const char *pixels[WEFT_ENGINE_COPIES(WEFT_ENGINE_HEIGHT)];
    int3 first[WEFT_ENGINE_COPIES(WEFT_ENGINE_HEIGHT)];
    uint b_at[WEFT_ENGINE_COPIES(WEFT_ENGINE_WIDTH)];
    uint4 a_next[WEFT_ENGINE_COPIES(WEFT_ENGINE_HEIGHT)], b_next[WEFT_ENGINE_COPIES(WEFT_ENGINE_WIDTH)];
    WEFT_ENGINE_ZEROS(sums)
    WEFT_CONV_ENGINE_BEGIN(p)
    const int step = (int)WEFT_ENGINE_STEP_OF(WEFT_ENGINE_HEIGHT, 1);
    uint channel = (uint)(step % depth) * 2;
    uint tap =
        (uint)(WEFT_CONV_GPU_ENTRIES(depth, p.out.x * p.out.y * p.out.z) + fact.s0 + step / depth) * 16;
    __global const uint4 *block_of_b =
        (__global const uint4 *)(panels + panels_offset) + ((long)group * panel_rows + fact.s1) / 8 * filters;
    WEFT_CONV_ENGINE_PIXELS
    WEFT_CONV_ENGINE_READ
    for (int block = 0; block < blocks; ++block) {
        const int late = WEFT_ENGINE_LATE(block, images);
        WEFT_ENGINE_PUT(a_tile + late, a_next, WEFT_ENGINE_HEIGHT, 1)
        WEFT_ENGINE_PUT(b_tile + late, b_next, WEFT_ENGINE_WIDTH, 1)
        barrier(CLK_LOCAL_MEM_FENCE);
        if (block + 1 < blocks) {
            WEFT_CONV_GPU_ADVANCE(WEFT_CONV_ENGINE_PIXELS)
            block_of_b += WEFT_ENGINE_CHUNKS * filters;
            WEFT_CONV_ENGINE_READ
        }
        WEFT_ENGINE_ADD_BLOCK(sums, block, images)
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item < WEFT_ENGINE_HEIGHT) places[item] = weft_conv_gpu_place(&p, top + (int)item, made0, made1);
    WEFT_ENGINE_EVERY_RESULT(
        sums, WF, WEFT_LANES, const int2 place = places[r]; if (place.x >= 0 && left + q < filters)
            WEFT_STORE(result, place.x, place.y, group * filters + left + q, WEFT_LANES);)
}
