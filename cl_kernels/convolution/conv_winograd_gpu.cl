/* conv_winograd_gpu.cl: 3 x 3 convolution of stride 1, and its data gradient, with a quarter of the multiplications, for devices of
 * class gpu.
 *
 *     image: channels contiguous   w: any strides   result: stored by WEFT_STORE (the epilogue)
 *
 *     y = Aᵀ · ((G · g · Gᵀ) ∘ (Bᵀ · d · B)) · A        d: SIDE x SIDE pixels, g: 3 x 3 taps, y: STEP x STEP results
 *
 * The algorithm is Winograd's F(4 x 4, 3 x 3) with 36 points, or F(2 x 2, 3 x 3) with 16; the transforms are in winograd.clh.
 * Between the transforms there is a matrix product over the channels for each point, with the core of gemm_gpu.cl; its rows are
 * tiles of the image:
 *
 *      image              pixels [point][tile][channel]     sums [point][tile][column]        result
 *    +-------+  Bᵀ d B    +--+--+--+--              x panels +--+--+--+--          Aᵀ m A     +-----+
 *    | 6 x 6 |  ------->  |0 |1 |2 | ... 35       ------->   |0 |1 |2 | ... 35    ------->    |4 x 4|
 *    +-------+            +--+--+--+--                       +--+--+--+--                     +-----+
 *
 * weights: computes once a run panels [group][point][channel][column]. Zeros pad the channels to a multiple of the product's STEP
 *     (`depth`), and the columns to a multiple of 4 (`width`). For the data gradient, taps are read from the last to the first.
 * pixels, products, results: run once for each block of tiles of the image, so that the pixels and sums take little memory and may
 *     stay in a cache. Pixels have zeros in the padded channels, so the product checks no bounds along k. It reads the last row in
 *     place of rows past the last one, and does not store these.
 *
 * An item of `pixels` transforms one channel of a tile: neighbouring items read and write neighbouring elements, and the numbers of
 * an item fit in its registers. Images therefore need no padded strides or aligned addresses; the matrices that the product reads
 * have them. In `results` two items transform four columns of a tile, with loads and stores of 128 bits. The numbers of all points
 * do not fit in the registers of one item, so the two exchange numbers in local memory:
 *
 *      points      rows of results             results
 *     0 1 0 1 0 1      0 1 0 1 0 1             0 0 0 0      item 0 transforms columns 0, 2 and 4 of the points, then rows
 *     0 1 0 1 0 1  Aᵀ  0 1 0 1 0 1   barrier   1 1 1 1      0 and 2 of what both have computed; item 1 the others
 *     ...         ---> 0 1 0 1 0 1   ------->  0 0 0 0
 *     0 1 0 1 0 1      0 1 0 1 0 1             1 1 1 1
 *
 * The parameters are in src/kernels/convolution/conv_winograd_gpu.c; the macros that the plan defines before each copy (WEFT_NAME,
 * WEFT_FORMAT_A and _B, WEFT_EPILOGUE_PARAMETERS, WEFT_STORE) are described in src/kernels/product/gemm.h. */

#ifndef WEFT_WINOGRAD_GPU
#define WEFT_WINOGRAD_GPU

#define WEFT_WINOGRAD_SIDE   (WEFT_WINOGRAD_STEP + 3 - 1) /* points along an axis */
#define WEFT_WINOGRAD_POINTS (WEFT_WINOGRAD_SIDE * WEFT_WINOGRAD_SIDE)

/* The number of tiles of results along each axis of an image, in a block, and in all images. */
#define WEFT_WINOGRAD_TILES int tiles1, int tiles2, int block, int tiles

/* The quads of columns that a group of `results` transforms, and the quads that its items exchange. */
#define WEFT_WINOGRAD_QUADS (WEFT_WINOGRAD_ITEMS / 2)
#define WEFT_WINOGRAD_ROOM  (WEFT_WINOGRAD_STEP * WEFT_WINOGRAD_SIDE * WEFT_WINOGRAD_QUADS)

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) conv_winograd_##suffix
#include "alone.clh"
#endif

#include "gemm_tile_gpu.clh"

/* Work-item: a channel and a column of a group's panels. */
__kernel __attribute__((reqd_work_group_size(WEFT_WINOGRAD_ITEMS, 1, 1))) void WEFT_NAME(weights)(
    WEFT_OPERANDS_B *w, long w_offset, __global float *panels, long panels_offset, int elements, int channels,
    int filters, int depth, int width, int reversed, long w_group, long w_filter, long w_channel, long w1,
    long w2) {
    const int item = (int)get_global_id(0);
    if (item >= elements) return;
    const int column = item % width, row = item / width, channel = row % depth, group = row / depth;
    const int there = channel < channels && column < filters;
    float g[9], across[3 * WEFT_WINOGRAD_SIDE];
    w += w_offset + group * w_group + (there ? column * w_filter + channel * w_channel : 0);
    WEFT_UNROLL_REGISTERS for (int tap = 0; tap < 9; ++tap) {
        const int from = reversed ? 8 - tap : tap;
        g[tap] = there ? WEFT_OF_B(WEFT_GET_)(w, from / 3 * w1 + from % 3 * w2) : 0.0f;
    }
    WEFT_UNROLL_REGISTERS for (int i = 0; i < 3; ++i)
        weft_winograd_taps(g + 3 * i, 1, across + WEFT_WINOGRAD_SIDE * i, 1, WEFT_WINOGRAD_SIDE);
    panels += panels_offset + ((long)group * WEFT_WINOGRAD_POINTS * depth + channel) * width + column;
    WEFT_UNROLL_REGISTERS for (int j = 0; j < WEFT_WINOGRAD_SIDE; ++j) {
        float all[WEFT_WINOGRAD_SIDE];
        weft_winograd_taps(across + j, WEFT_WINOGRAD_SIDE, all, 1, WEFT_WINOGRAD_SIDE);
        WEFT_UNROLL_REGISTERS for (int i = 0; i < WEFT_WINOGRAD_SIDE; ++i)
            panels[(long)(WEFT_WINOGRAD_SIDE * i + j) * depth * width] = all[i];
    }
}

/* Work-item: a channel of a tile of a group. In place of a pixel outside the image the item reads the nearest pixel at the edge,
 * and then replaces it by zero, so that no read waits for a comparison. */
__kernel __attribute__((reqd_work_group_size(WEFT_WINOGRAD_ITEMS, 1, 1))) WEFT_NARROW void WEFT_NAME(pixels)(
    WEFT_OPERANDS_A *image, long image_offset, __global float *pixels, long pixels_offset, int elements,
    WEFT_WINOGRAD_TILES, int channels, int depth, int read1, int read2, int before1, int before2,
    long x_image, int x1, int x2, int iteration) {
    const int item = (int)get_global_id(0), channel = item % depth, row = item / depth;
    const int place = row % block, group = row / block, tile = iteration * block + place;
    if (item >= elements || tile >= tiles) return;
    const int top = tile / tiles2 % tiles1 * WEFT_WINOGRAD_STEP - before1,
              left = tile % tiles2 * WEFT_WINOGRAD_STEP - before2;
    image += image_offset + tile / tiles2 / tiles1 * x_image +
             (channel < channels ? group * channels + channel : 0);
    float d[WEFT_WINOGRAD_POINTS];
    WEFT_UNROLL_REGISTERS for (int i = 0; i < WEFT_WINOGRAD_SIDE; ++i) {
        const int line = clamp(top + i, 0, read1 - 1) * x1;
        WEFT_UNROLL_REGISTERS for (int j = 0; j < WEFT_WINOGRAD_SIDE; ++j) d[WEFT_WINOGRAD_SIDE * i + j] =
            WEFT_OF_A(WEFT_GET_)(image, line + clamp(left + j, 0, read2 - 1) * x2);
    }
    WEFT_UNROLL_REGISTERS for (int i = 0; i < WEFT_WINOGRAD_SIDE; ++i) {
        const int inside = channel < channels & (uint)(top + i) < (uint)read1;
        WEFT_UNROLL_REGISTERS for (int j = 0; j < WEFT_WINOGRAD_SIDE; ++j) d[WEFT_WINOGRAD_SIDE * i + j] =
            (inside & ((uint)(left + j) < (uint)read2)) ? d[WEFT_WINOGRAD_SIDE * i + j] : 0.0f;
        weft_winograd_pixels(d + WEFT_WINOGRAD_SIDE * i, 1, WEFT_WINOGRAD_SIDE);
    }
    WEFT_UNROLL_REGISTERS for (int j = 0; j < WEFT_WINOGRAD_SIDE; ++j)
        weft_winograd_pixels(d + j, WEFT_WINOGRAD_SIDE, WEFT_WINOGRAD_SIDE);
    pixels += pixels_offset + ((long)group * WEFT_WINOGRAD_POINTS * block + place) * depth + channel;
    WEFT_UNROLL_REGISTERS for (int i = 0; i < WEFT_WINOGRAD_POINTS; ++i) pixels[i * block * depth] = d[i];
}

/* Loads an item's quads of a block of pixels and of panels. */
static inline void WEFT_NAME(read_quads)(float4 *a_quads, float4 *b_quads, __global const float *pixels,
    __global const float *panels, const uint *a_at, const uint *b_at, int item) {
    WEFT_UNROLL_REGISTERS for (int j = 0; j < WEFT_GEMM_COPIES(WEFT_GEMM_HEIGHT); ++j) {
        if (WEFT_GEMM_HAS(item, j, WEFT_GEMM_HEIGHT))
            a_quads[j] = *(__global const float4 *)(pixels + a_at[j]);
    }
    WEFT_UNROLL_REGISTERS for (int j = 0; j < WEFT_GEMM_COPIES(WEFT_GEMM_WIDTH); ++j) {
        if (WEFT_GEMM_HAS(item, j, WEFT_GEMM_WIDTH))
            b_quads[j] = *(__global const float4 *)(panels + b_at[j]);
    }
}

/* Work-group (columns, tiles of the image, group and point). */
__kernel WEFT_GEMM_GROUP void WEFT_NAME(products)(__global const float *pixels, long pixels_offset,
    __global const float *panels, long panels_offset, __global float *sums, long sums_offset, int block,
    int tiles, int depth, int width, int iteration) {
    __local float4 a_tile[2][WEFT_GEMM_BLOCK(WEFT_GEMM_HEIGHT)], b_tile[2][WEFT_GEMM_BLOCK(WEFT_GEMM_WIDTH)];
    const int x = WEFT_GEMM_X, y = WEFT_GEMM_Y, item = y * WEFT_GEMM_ACROSS + x;
    const int top = (int)get_group_id(1) * WEFT_GEMM_HEIGHT, left = (int)get_group_id(0) * WEFT_GEMM_WIDTH;
    const int rows = min(block, tiles - iteration * block), first = min(top, rows - 1);
    const int steps = top < rows ? depth / WEFT_GEMM_STEP : 0;
    const long point = (long)get_group_id(2);
    float4 a_quads[WEFT_GEMM_COPIES(WEFT_GEMM_HEIGHT)], b_quads[WEFT_GEMM_COPIES(WEFT_GEMM_WIDTH)];
    float4 acc[WEFT_GEMM_SUMS][4];
    uint a_at[WEFT_GEMM_COPIES(WEFT_GEMM_HEIGHT)], b_at[WEFT_GEMM_COPIES(WEFT_GEMM_WIDTH)];
    int now = 0;
    WEFT_NAME(clear)(acc);
    WEFT_UNROLL_REGISTERS for (int j = 0; j < WEFT_GEMM_COPIES(WEFT_GEMM_HEIGHT); ++j) {
        const int e = item + j * WEFT_GEMM_ITEMS;
        const int row = min(WEFT_GEMM_ROW_OF(e, WEFT_GEMM_HEIGHT, 1), rows - 1 - first);
        a_at[j] = (uint)(row * depth + WEFT_GEMM_STEP_OF(e, WEFT_GEMM_HEIGHT, 1));
    }
    WEFT_NAME(find_panels)(b_at, width, width - left - 4, item);
    pixels += pixels_offset + (point * block + first) * depth;
    panels += panels_offset + point * depth * width + left;
    sums += sums_offset + (point * block + top) * width + left;
    WEFT_NAME(read_quads)(a_quads, b_quads, pixels, panels, a_at, b_at, item);
    WEFT_NAME(put_a)(a_tile[0], a_quads, 1, item);
    WEFT_NAME(put_b)(b_tile[0], b_quads, 0, item);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 1; step <= steps; ++step) { /* after the last block, the loads are not used */
        pixels += step < steps ? WEFT_GEMM_STEP : 0;
        panels += step < steps ? WEFT_GEMM_STEP * width : 0;
        WEFT_NAME(read_quads)(a_quads, b_quads, pixels, panels, a_at, b_at, item);
        WEFT_NAME(add_block)(acc, a_tile[now], b_tile[now], WEFT_GEMM_STEP, x, y);
        now ^= 1;
        WEFT_NAME(put_a)(a_tile[now], a_quads, 1, item);
        WEFT_NAME(put_b)(b_tile[now], b_quads, 0, item);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    WEFT_UNROLL_REGISTERS for (int i = 0; i < WEFT_GEMM_ROWS; ++i) {
        const int row = WEFT_GEMM_ROW(i);
        WEFT_UNROLL_REGISTERS for (int j = 0; j < WEFT_GEMM_COLUMNS / 4; ++j) {
            const int column = (j * WEFT_GEMM_ACROSS + x) * 4;
            if (top + row < rows && left + column < width)
                *(__global float4 *)(sums + row * width + column) =
                    acc[i / 4 * (WEFT_GEMM_COLUMNS / 4) + j][i % 4];
        }
    }
}

/* Work-group: quads of columns, each of a tile of a group. Item (x, y) of quad x transforms every other column of the points,
 * from y on, then every other row of the results. */
__kernel __attribute__((reqd_work_group_size(WEFT_WINOGRAD_QUADS, 2, 1))) WEFT_NARROW void WEFT_NAME(results)(
    __global const float *sums, long sums_offset, int quads, WEFT_WINOGRAD_TILES, int filters, int width,
    int made1, int made2, int iteration WEFT_EPILOGUE_PARAMETERS) {
    __local float4 room[WEFT_WINOGRAD_ROOM]; /* [row of results][column of points][quad] */
    const int x = (int)get_local_id(0), y = (int)get_local_id(1);
    const int quad = (int)get_global_id(0), row = (int)((uint)quad / ((uint)width / 4)),
              column = (quad - row * (width / 4)) * 4;
    const int group = (int)((uint)row / (uint)block), place = row - group * block;
    const int tile = iteration * block + place, there = quad < quads && tile < tiles;
    float4 m[WEFT_WINOGRAD_SIDE], made[WEFT_WINOGRAD_STEP];
    sums += sums_offset + ((long)group * WEFT_WINOGRAD_POINTS + y) * block * width + column;
    WEFT_UNROLL_REGISTERS for (int j = 0; j < WEFT_WINOGRAD_SIDE && there; j += 2) {
        WEFT_UNROLL_REGISTERS for (int i = 0; i < WEFT_WINOGRAD_SIDE; ++i) m[i] =
            *(__global const float4 *)(sums + ((i * WEFT_WINOGRAD_SIDE + j) * block + place) * width);
        weft_winograd_results(m, 1, made, 1, WEFT_WINOGRAD_STEP, WEFT_WINOGRAD_SIDE);
        WEFT_UNROLL_REGISTERS for (int i = 0; i < WEFT_WINOGRAD_STEP; ++i)
            room[(i * WEFT_WINOGRAD_SIDE + j + y) * WEFT_WINOGRAD_QUADS + x] = made[i];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int tile_line = (int)((uint)tile / (uint)tiles2), image = (int)((uint)tile_line / (uint)tiles1);
    const int line = (tile_line - image * tiles1) * WEFT_WINOGRAD_STEP + y,
              along = (tile - tile_line * tiles2) * WEFT_WINOGRAD_STEP;
    WEFT_UNROLL_REGISTERS for (int i = 0; i < WEFT_WINOGRAD_STEP; i += 2) {
        if (!there || line + i >= made1) continue;
        WEFT_UNROLL_REGISTERS for (int j = 0; j < WEFT_WINOGRAD_SIDE; ++j) m[j] =
            room[((i + y) * WEFT_WINOGRAD_SIDE + j) * WEFT_WINOGRAD_QUADS + x];
        weft_winograd_results(m, 1, made, 1, WEFT_WINOGRAD_STEP, WEFT_WINOGRAD_SIDE);
        WEFT_UNROLL_REGISTERS for (int j = 0; j < WEFT_WINOGRAD_STEP; ++j) {
            if (along + j < made2)
                WEFT_TILE_STORE_QUAD(
                    made[j], image * made1 + line + i, along + j, group * filters + column, filters - column)
        }
    }
}
