/* conv_weight_engine_gpu.cl: the weight gradient of a convolution by the matrix engine of a GPU, with factors of 16 bits and sums
 * of f32.
 *
 *     image (images, image..., channels)   slope (images, result..., filters)
 *     -> w (groups * filters, channels, taps...), f32
 *
 * It computes the matrix product of conv_weight_gpu.cl, whose positions are divided among splits, by the tiles and fragments of
 * gemm_engine_gpu.cl: a row is a filter, a column is a (tap, channel), and a step of k is a position. `slope` is the gradient of
 * the result. A chunk is eight filters of a position, or eight channels of the pixel that a tap reads for the position. An item
 * writes the eight numbers of a chunk to eight rows of local memory:
 *
 *            chunk of position p             A in local memory
 *          [ f 0  f 1  ...  f 7 ]   --->   row 0:  .. f 0 of position p ..
 *                                          row 1:  .. f 1 of position p ..
 *                                            ...
 *
 * Channels and filters must have a pitch that is a multiple of 8, the engine's format, and addresses that are multiples of 16
 * bytes. If they do not, "stage" and "stage_slope" make copies that do. Pixels outside the image, and positions past the last one
 * of a split, count as zero.
 *
 * engines.clh precedes this file. The parameters are in
 * src/kernels/convolution/conv_weight_engine_gpu.c; WEFT_ENGINE_FORMAT is the format of the factors, bf16 or f16. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) conv_weight_##suffix
#define WEFT_FORMAT_A     bf16
#define WEFT_FORMAT_B     bf16
#include "alone.clh"
#endif

#include "engine_tile.clh"

#include "engine_operands.clh" /* after the tile */
WEFT_REQUIRE(WEFT_NAME(results_fit), WEFT_ENGINE_RESULTS_FIT);

#define WEFT_STAGE       WEFT_NAME(stage)
#define WEFT_STAGE_OF    WEFT_OF_A
#define WEFT_STAGE_ITEMS WEFT_CONV_WEIGHT_COMBINED
#include "conv_stage_gpu.clh"
#define WEFT_STAGE       WEFT_NAME(stage_slope)
#define WEFT_STAGE_OF    WEFT_OF_B
#define WEFT_STAGE_ITEMS WEFT_CONV_WEIGHT_COMBINED
#include "conv_stage_gpu.clh"

#ifndef WEFT_CONV_WEIGHT_ENGINE_GPU
#define WEFT_CONV_WEIGHT_ENGINE_GPU

#define WEFT_CONV_WEIGHT_A_COPIES WEFT_ENGINE_COPIES(WEFT_ENGINE_HEIGHT)
#define WEFT_CONV_WEIGHT_B_COPIES WEFT_ENGINE_COPIES(WEFT_ENGINE_WIDTH)

/* The step in a block of an item's chunk j. */
#define WEFT_CONV_WEIGHT_ENGINE_STEP(rows, j)                                                                \
    ((int)WEFT_ENGINE_STEP_OF(item, rows, 0) + (j)*WEFT_ENGINE_HOP(rows, 0))

/* An image: its size along three axes, the strides of the convolution, and the bytes from a pixel to the next. */
typedef struct weft_conv_weight_image {
    int3 size, stride;
    uint step;
} weft_conv_weight_image;
#endif

/* Load an item's chunks of a block, of which `rest` positions remain. For a chunk that does not exist, the split's first slope or the first
 * pixel is read instead, and replaced by zero when it is written to local memory. This happens after a block was multiplied, so the loads
 * are not waited for earlier. */
static inline void WEFT_NAME(read_slopes)(uint4 *chunks, int *there, __global const char *slope,
    uint slope_at, int slope_hop, int rest, uint item) {
    WEFT_UNROLL for (int j = 0; j < WEFT_CONV_WEIGHT_A_COPIES; ++j) {
        there[j] = WEFT_CONV_WEIGHT_ENGINE_STEP(WEFT_ENGINE_HEIGHT, j) < rest;
        chunks[j] = *(__global const uint4 *)(slope + (there[j] ? slope_at + (uint)(j * slope_hop) : 0u));
    }
}
static inline void WEFT_NAME(read_pixels)(uint4 *chunks, int *there, __global const char *image,
    const weft_conv_weight_position *at, weft_conv_weight_image i, int3 reach, int rest, uint item) {
    WEFT_UNROLL for (int j = 0; j < WEFT_CONV_WEIGHT_B_COPIES; ++j) {
        const int x = at[j].x * i.stride.x + reach.x, y = at[j].y * i.stride.y + reach.y,
                  z = at[j].z * i.stride.z + reach.z;
        const int pixel = ((at[j].image * i.size.x + x) * i.size.y + y) * i.size.z + z;
        there[j] = (WEFT_CONV_WEIGHT_ENGINE_STEP(WEFT_ENGINE_WIDTH, j) < rest) & ((uint)x < (uint)i.size.x) &
                   ((uint)y < (uint)i.size.y) & ((uint)z < (uint)i.size.z);
        chunks[j] = *(__global const uint4 *)(image + (ulong)(uint)(there[j] ? pixel : 0) * i.step);
    }
}

/* Stores a tile of sums in quads of channels, whose first `there` channels exist. Filters are `filter_step` sums apart. */
__attribute__((always_inline)) static inline void WEFT_NAME(store_sums)(__global float *to,
    __local float *room, float (*sums)[WEFT_ENGINE_ACROSS][WEFT_ENGINE_SUMS], weft_engine_place at, int top,
    int filters, int filter_step, int there, int sum_channel, int whole) {
    const int column = WEFT_ENGINE_LINE_COLUMN(at.item, 4);
    WEFT_UNROLL for (int turn = 0; turn < WEFT_ENGINE_TURNS; ++turn) {
        WEFT_NAME(put_results)(room, sums, at, turn);
        barrier(CLK_LOCAL_MEM_FENCE);
        WEFT_ROLLED for (int line = WEFT_ENGINE_LINE(at.item, 4); line < WEFT_ENGINE_LINES_OF_TURN;
                         line += WEFT_ENGINE_LINES(4)) {
            const int row = top + WEFT_NAME(result_row)(turn, line);
            const float4 quad = *(__local const float4 *)(room + line * WEFT_ENGINE_RESULT_PITCH + column);
            if (row < filters)
                weft_conv_weight_store(to + row * filter_step, quad, there, sum_channel, whole);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* Work-group (columns, filters, split and group). Offsets count units; steps of pixels and slopes are bytes. sum_tap and
 * sum_channel are the strides of taps and channels in a filter's sums. */
__kernel WEFT_ENGINE_WORK_GROUP void WEFT_NAME(tiles)(
    WEFT_CONV_WEIGHT_TILES_PARAMETERS(__global const ushort, __global const ushort)) {
    __local uint4 a_tile[WEFT_ENGINE_TILES], *const b_tile = a_tile + WEFT_ENGINE_HEIGHT * WEFT_ENGINE_PITCH;
    WEFT_ENGINE_SHARED(shared)
    /* For each quad of columns: where its channels are stored, and how many exist. Each split has a block, so a barrier comes
     * before the use at the end. Computed at the end, these numbers would make DG2 spill. */
    __local int2 places[WEFT_ENGINE_READERS(4)];
    const uint item = (uint)get_local_id(0);
    const weft_engine_place lane_at = WEFT_NAME(place)(item);
    const int group = (int)get_group_id(2) % groups, split = (int)get_group_id(2) / groups;
    const int top = (int)get_group_id(1) * WEFT_ENGINE_HEIGHT,
              left = (int)get_group_id(0) * WEFT_ENGINE_WIDTH;
    const int taps = taps0 * taps1 * taps2, begin = split * length, end = min(positions, begin + length);
    const int filter = min(top + (int)WEFT_ENGINE_ROW_OF(item, WEFT_ENGINE_HEIGHT, 0), width - 8);
    const int own = min(left + (int)WEFT_ENGINE_ROW_OF(item, WEFT_ENGINE_WIDTH, 0), taps * depth - 8);
    const int tap = own / depth, line = tap / taps2;
    const int3 reach = (int3)(line / taps1 * dilation0 - before0, line % taps1 * dilation1 - before1,
        tap % taps2 * dilation2 - before2);
    __global const char *const image =
        (__global const char *)(pixels + pixels_offset * pixel_unit + group * depth + own % depth);
    __global const char *slope =
        (__global const char *)(slopes + slopes_offset * slope_unit + group * width + filter) +
        (long)begin * slope_step;
    const uint slope_at = (uint)WEFT_CONV_WEIGHT_ENGINE_STEP(WEFT_ENGINE_HEIGHT, 0) * (uint)slope_step;
    const int slope_hop = WEFT_ENGINE_HOP(WEFT_ENGINE_HEIGHT, 0) * slope_step;
    weft_conv_weight_position at[WEFT_CONV_WEIGHT_B_COPIES];
    int a_there[WEFT_CONV_WEIGHT_A_COPIES], b_there[WEFT_CONV_WEIGHT_B_COPIES];
    uint4 a_next[WEFT_CONV_WEIGHT_A_COPIES], b_next[WEFT_CONV_WEIGHT_B_COPIES];
    float sums_of_lane[WEFT_ENGINE_DOWN][WEFT_ENGINE_ACROSS][WEFT_ENGINE_SUMS];
    WEFT_NAME(clear)(sums_of_lane);
    const int3 result_size = (int3)(result0, result1, result2);
    const weft_conv_weight_image i = {
        (int3)(image0, image1, image2), (int3)(stride0, stride1, stride2), (uint)image_step};
    if (item < WEFT_ENGINE_READERS(4)) {
        const int c = left + 4 * (int)item;
        places[item] = (int2)(c / depth * sum_tap + c % depth * sum_channel,
            c < taps * depth ? channels - c % depth : 0);
    }
    WEFT_UNROLL for (int j = 0; j < WEFT_CONV_WEIGHT_B_COPIES; ++j) {
        const int position = begin + WEFT_CONV_WEIGHT_ENGINE_STEP(WEFT_ENGINE_WIDTH, j);
        at[j] = weft_conv_weight_position_of(position, result_size);
    }
    WEFT_NAME(read_slopes)(a_next, a_there, slope, slope_at, slope_hop, end - begin, item);
    WEFT_NAME(read_pixels)(b_next, b_there, image, at, i, reach, end - begin, item);
    for (int rest = end - begin; rest > 0;) {
        const int late = WEFT_ENGINE_LATE(rest, images);
        WEFT_UNROLL for (int j = 0; j < WEFT_CONV_WEIGHT_A_COPIES; ++j) a_next[j] =
            a_there[j] ? a_next[j] : (uint4)(0);
        WEFT_UNROLL for (int j = 0; j < WEFT_CONV_WEIGHT_B_COPIES; ++j) b_next[j] =
            b_there[j] ? b_next[j] : (uint4)(0);
        WEFT_NAME(put_a)(a_tile + late, a_next, 0, item);
        WEFT_NAME(put_b)(b_tile + late, b_next, 0, item);
        barrier(CLK_LOCAL_MEM_FENCE);
        rest -= WEFT_ENGINE_STEP;
        if (rest > 0) {
            slope += WEFT_ENGINE_STEP * (uint)slope_step;
            WEFT_UNROLL for (int j = 0; j < WEFT_CONV_WEIGHT_B_COPIES; ++j) at[j] =
                weft_conv_weight_advance(at[j], step_image, (int3)(step0, step1, step2), result_size);
            WEFT_NAME(read_slopes)(a_next, a_there, slope, slope_at, slope_hop, rest, item);
            WEFT_NAME(read_pixels)(b_next, b_there, image, at, i, reach, rest, item);
        }
        WEFT_NAME(add_block)(sums_of_lane, a_tile, b_tile, lane_at, rest, images, shared);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sums += sums_offset + ((long)split * groups + group) * filters * channels * taps;
    const int2 place = places[WEFT_ENGINE_LINE_COLUMN(item, 4) / 4];
    WEFT_NAME(store_sums)
    (sums + place.x, (__local float *)a_tile, sums_of_lane, lane_at, top, filters, channels * taps, place.y,
        sum_channel, WEFT_CONV_WEIGHT_WHOLE(sums, sum_channel, channels));
}

#include "conv_weight_combine_gpu.clh"
