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
 * engines.clh precedes this file. The parameters are in src/kernels/convolution/conv_engine_gpu.c; the macros that the plan defines
 * before each copy (WEFT_NAME, WEFT_EPILOGUE_PARAMETERS, WEFT_STORE) are described in src/kernels/product/gemm.h. WEFT_ENGINE_FORMAT is
 * the format of the factors, bf16 or f16. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) conv_##suffix
#define WEFT_FORMAT_A     bf16
#include "alone.clh"
#endif

#include "engine_tile.clh"

#include "engine_operands.clh" /* after the tile */

/* Each item computes the position in the result of one row of the tile. */
WEFT_REQUIRE(WEFT_NAME(items_for_rows), WEFT_ENGINE_HEIGHT <= WEFT_ENGINE_GROUP);
WEFT_REQUIRE(WEFT_NAME(results_fit), WEFT_ENGINE_RESULTS_FIT);

#define WEFT_STAGE       WEFT_NAME(stage)
#define WEFT_STAGE_OF    WEFT_OF_A
#define WEFT_STAGE_ITEMS WEFT_CONV_GPU_PACKED
#include "conv_stage_gpu.clh"

#define WEFT_CONV_PANEL      uint
#define WEFT_CONV_PANEL_STEP WEFT_ENGINE_STEP
#define WEFT_CONV_PANEL_PAST WEFT_ENGINE_CHUNKS
#define WEFT_CONV_PANEL_PUT(row, column, x)                                                                  \
    WEFT_NAME(put_number)((__global ushort *)panels, row, column, width, x)
/* Writes a number of B to the panels, which have `width` columns. */
static inline void WEFT_NAME(put_number)(__global ushort *panels, long row, int column, int width, float x) {
    panels[(row / WEFT_ENGINE_STEP * width + column) * WEFT_ENGINE_STEP + row % WEFT_ENGINE_STEP] =
        (ushort)WEFT_JOIN(weft_engine_word_, WEFT_ENGINE_FORMAT)(x, 0.0f);
}
#include "conv_pack_gpu.clh"

/* The addresses of the pixels of the tap whose entry is at `entry`, for the windows of an item. Channels are counted in bytes, so that an
 * address is the sum of a base that all items share and 32 bits of the item. */
static inline void WEFT_NAME(find_pixels)(__global const char **pixels, __global const char *entry,
    const int3 *first, __global const ushort **windows, int3 read, __global const int *none) {
    const int4 reach = *(__global const int4 *)entry;
    const uint2 other = as_uint2((ulong)none);
    WEFT_UNROLL for (int j = 0; j < WEFT_ENGINE_COPIES(WEFT_ENGINE_HEIGHT); ++j) {
        const int3 at = first[j] + reach.xyz;
        const int inside = WEFT_CONV_GPU_INSIDE(at, read);
        const uint2 there = as_uint2((ulong)(windows[j] + reach.w));
        pixels[j] = WEFT_CONV_GPU_SELECT(inside, there, other);
    }
}

/* The chunks of an item's columns in a block of the panels. In place of a column past the last one, the last column is read again. */
static inline void WEFT_NAME(find_columns)(uint *b_at, int left, int filters, uint item) {
    WEFT_UNROLL for (int j = 0; j < WEFT_ENGINE_COPIES(WEFT_ENGINE_WIDTH); ++j) {
        const int column = left + (int)WEFT_ENGINE_ROW_OF(item, WEFT_ENGINE_WIDTH, 1) +
                           j * WEFT_ENGINE_HOP(WEFT_ENGINE_WIDTH, 1);
        b_at[j] = (uint)(min(column, filters - 1) * WEFT_ENGINE_CHUNKS) + item % WEFT_ENGINE_CHUNKS;
    }
}

/* Reads an item's chunks of a block of k. */
static inline void WEFT_NAME(read_chunks)(uint4 *a_next, uint4 *b_next, __global const char **pixels,
    uint channel, __global const uint4 *block_of_b, const uint *b_at) {
    WEFT_UNROLL for (int j = 0; j < WEFT_ENGINE_COPIES(WEFT_ENGINE_HEIGHT); ++j) a_next[j] =
        *(__global const uint4 *)(pixels[j] + channel);
    WEFT_UNROLL for (int j = 0; j < WEFT_ENGINE_COPIES(WEFT_ENGINE_WIDTH); ++j) b_next[j] =
        block_of_b[b_at[j]];
}

/* Work-group (columns, phase and rows, group). channel_step, channel_end and tap_step are bytes; the image's offset counts units
 * of `unit` elements. */
__kernel WEFT_ENGINE_WORK_GROUP void WEFT_NAME(tiles)(__global const ushort *image, long image_offset,
    __global const uint *panels, long panels_offset, __global const int *table, long table_offset,
    uint channel_step, uint channel_end, uint tap_step, int unit, int row_tiles, int panel_rows, int images,
    int filters, int depth, int read0, int read1, int read2, int made0, int made1, int made2, int stride0,
    int stride1, int stride2, int transposed, long x_group, long x_image, long x0, long x1,
    long x2 WEFT_EPILOGUE_PARAMETERS) {
    __local uint4 a_tile[WEFT_ENGINE_TILES], *const b_tile = a_tile + WEFT_ENGINE_HEIGHT * WEFT_ENGINE_PITCH;
    WEFT_ENGINE_SHARED(shared)
    __local int2 places[WEFT_ENGINE_HEIGHT]; /* positions of rows in the result */
    const uint item = (uint)get_local_id(0);
    const weft_engine_place at = WEFT_NAME(place)(item);
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
    int3 first[WEFT_ENGINE_COPIES(WEFT_ENGINE_HEIGHT)], read = (int3)(read0, read1, read2);
    uint b_at[WEFT_ENGINE_COPIES(WEFT_ENGINE_WIDTH)];
    uint4 a_next[WEFT_ENGINE_COPIES(WEFT_ENGINE_HEIGHT)], b_next[WEFT_ENGINE_COPIES(WEFT_ENGINE_WIDTH)];
    float sums[WEFT_ENGINE_DOWN][WEFT_ENGINE_ACROSS][WEFT_ENGINE_SUMS];
    WEFT_NAME(clear)(sums);
    /* The windows of the item's rows. The window of a row past the last one is outside the image. */
    WEFT_UNROLL for (int j = 0; j < WEFT_ENGINE_COPIES(WEFT_ENGINE_HEIGHT); ++j) {
        const int row = top + (int)WEFT_ENGINE_ROW_OF(item, WEFT_ENGINE_HEIGHT, 1) +
                        j * WEFT_ENGINE_HOP(WEFT_ENGINE_HEIGHT, 1);
        const int4 position = weft_conv_gpu_position(&p, row);
        first[j] = position.xyz * p.in;
        windows[j] = image + image_offset * unit + group * x_group + position.w * x_image + first[j].x * x0 +
                     first[j].y * x1 + first[j].z * x2;
        if (row >= p.rows) first[j].x = INT_MIN / 4;
    }
    WEFT_NAME(find_columns)(b_at, left, filters, item);
    const int step = (int)WEFT_ENGINE_STEP_OF(item, WEFT_ENGINE_HEIGHT, 1);
    uint channel = (uint)(step % depth) * 2;
    uint tap =
        (uint)(WEFT_CONV_GPU_ENTRIES(depth, p.out.x * p.out.y * p.out.z) + fact.s0 + step / depth) * 16;
    __global const uint4 *block_of_b =
        (__global const uint4 *)(panels + panels_offset) + ((long)group * panel_rows + fact.s1) / 8 * filters;
    WEFT_NAME(find_pixels)(pixels, (__global const char *)table + tap, first, windows, read, table);
    WEFT_NAME(read_chunks)(a_next, b_next, pixels, channel, block_of_b, b_at);
    for (int block = 0; block < blocks; ++block) {
        const int late = WEFT_ENGINE_LATE(block, images);
        WEFT_NAME(put_a)(a_tile + late, a_next, 1, item);
        WEFT_NAME(put_b)(b_tile + late, b_next, 1, item);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (block + 1 < blocks) {
            /* The item's next channel, and at the end of the channels its next tap. */
            channel += channel_step;
            const uint turn = tap_step + (channel >= channel_end ? 16 : 0);
            channel = min(channel, channel - channel_end);
            tap += turn;
            if (turn) WEFT_NAME(find_pixels)
            (pixels, (__global const char *)table + tap, first, windows, read, table);
            block_of_b += WEFT_ENGINE_CHUNKS * filters;
            WEFT_NAME(read_chunks)(a_next, b_next, pixels, channel, block_of_b, b_at);
        }
        WEFT_NAME(add_block)(sums, a_tile, b_tile, at, block, images, shared);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item < WEFT_ENGINE_HEIGHT) places[item] = weft_conv_gpu_place(&p, top + (int)item, made0, made1);
    const int column = WEFT_ENGINE_LINE_COLUMN(item, WEFT_LANES);
    __local float *const room = (__local float *)a_tile;
    WEFT_UNROLL for (int turn = 0; turn < WEFT_ENGINE_TURNS; ++turn) {
        WEFT_NAME(put_results)(room, sums, at, turn);
        barrier(CLK_LOCAL_MEM_FENCE);
        WEFT_ROLLED for (int line = WEFT_ENGINE_LINE(item, WEFT_LANES); line < WEFT_ENGINE_LINES_OF_TURN;
                         line += WEFT_ENGINE_LINES(WEFT_LANES)) {
            const WF result = *(__local const WF *)(room + line * WEFT_ENGINE_RESULT_PITCH + column);
            const int2 place = places[WEFT_NAME(result_row)(turn, line)];
            if (place.x >= 0 && left + column < filters)
                WEFT_STORE(result, place.x, place.y, group * filters + left + column, WEFT_LANES);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
