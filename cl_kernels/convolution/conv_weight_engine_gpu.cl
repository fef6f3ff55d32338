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
 * Two files of the engine precede this one (src/kernels/product/engine_gpu.h). The parameters are in
 * src/kernels/convolution/conv_weight_engine_gpu.c; WEFT_ENGINE_FORMAT is the format of the factors, bf16 or f16. */

#include "conv_engine_gpu.clh"

#ifndef WEFT_CONV_WEIGHT_ENGINE_GPU
#define WEFT_CONV_WEIGHT_ENGINE_GPU

#define WEFT_CONV_WEIGHT_A_COPIES WEFT_ENGINE_COPIES(WEFT_ENGINE_HEIGHT)
#define WEFT_CONV_WEIGHT_B_COPIES WEFT_ENGINE_COPIES(WEFT_ENGINE_WIDTH)

/* The step in a block of an item's chunk j. */
#define WEFT_CONV_WEIGHT_ENGINE_STEP(rows, j)                                                                \
    ((int)WEFT_ENGINE_STEP_OF(rows, 0) + (j)*WEFT_ENGINE_HOP(rows, 0))

/* Loads an item's chunks of a block, of which `rest` positions remain. For a chunk that does not exist, the split's first slope
 * or the first pixel is read instead, and replaced by zero when it is written to local memory. This happens after a block was
 * multiplied, so the loads are not waited for earlier. */
#define WEFT_CONV_WEIGHT_ENGINE_READ(rest)                                                                   \
    WEFT_UNROLL for (int weft_j = 0; weft_j < WEFT_CONV_WEIGHT_A_COPIES; ++weft_j) {                         \
        a_there[weft_j] = WEFT_CONV_WEIGHT_ENGINE_STEP(WEFT_ENGINE_HEIGHT, weft_j) < (rest);                 \
        a_next[weft_j] = *(                                                                                  \
            __global const uint4 *)(slope + (a_there[weft_j] ? slope_at + (uint)(weft_j * slope_hop) : 0u)); \
    }                                                                                                        \
    WEFT_UNROLL for (int weft_j = 0; weft_j < WEFT_CONV_WEIGHT_B_COPIES; ++weft_j) {                         \
        const int weft_x = at[weft_j].x * stride0 + reach.x, weft_y = at[weft_j].y * stride1 + reach.y,      \
                  weft_z = at[weft_j].z * stride2 + reach.z;                                                 \
        const int weft_pixel = ((at[weft_j].image * image0 + weft_x) * image1 + weft_y) * image2 + weft_z;   \
        b_there[weft_j] = (WEFT_CONV_WEIGHT_ENGINE_STEP(WEFT_ENGINE_WIDTH, weft_j) < (rest)) &               \
                          ((uint)weft_x < (uint)image0) & ((uint)weft_y < (uint)image1) &                    \
                          ((uint)weft_z < (uint)image2);                                                     \
        b_next[weft_j] = *(__global const uint4 *)(image + (ulong)(uint)(b_there[weft_j] ? weft_pixel : 0) * \
                                                               (uint)image_step);                            \
    }

#define WEFT_CONV_WEIGHT_ENGINE_ZERO(chunks, there, copies)                                                  \
    WEFT_UNROLL for (int weft_j = 0; weft_j < (copies); ++weft_j)(chunks)[weft_j] =                          \
        (there)[weft_j] ? (chunks)[weft_j] : (uint4)(0);

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) conv_weight_##suffix
#define WEFT_FORMAT_A     bf16
#define WEFT_FORMAT_B     bf16
#include "alone.clh"
#endif

WEFT_REQUIRE(WEFT_NAME(results_fit), WEFT_ENGINE_RESULTS_FIT);

WEFT_CONV_ENGINE_STAGE(stage, WEFT_CONV_WEIGHT_COMBINED, WEFT_OF_A)
WEFT_CONV_ENGINE_STAGE(stage_slope, WEFT_CONV_WEIGHT_COMBINED, WEFT_OF_B)

/* Work-group (columns, filters, split and group). Offsets count units; steps of pixels and slopes are bytes. sum_tap and
 * sum_channel are the strides of taps and channels in a filter's sums. */
__kernel WEFT_ENGINE_WORK_GROUP void WEFT_NAME(tiles)(
    WEFT_CONV_WEIGHT_TILES_PARAMETERS(__global const ushort, __global const ushort)) {
    WEFT_ENGINE_TILES(1)
    /* For each quad of columns: where its channels are stored, and how many exist. Each split has a block, so a barrier comes
     * before the use at the end. Computed at the end, these numbers would make DG2 spill. */
    __local int2 places[WEFT_ENGINE_READERS(4)];
    WEFT_ENGINE_ITEM
    const int group = (int)get_group_id(2) % groups, split = (int)get_group_id(2) / groups;
    const int top = (int)get_group_id(1) * WEFT_ENGINE_HEIGHT,
              left = (int)get_group_id(0) * WEFT_ENGINE_WIDTH;
    const int taps = taps0 * taps1 * taps2, begin = split * length, end = min(positions, begin + length);
    const int filter = min(top + (int)WEFT_ENGINE_ROW_OF(WEFT_ENGINE_HEIGHT, 0), width - 8);
    const int own = min(left + (int)WEFT_ENGINE_ROW_OF(WEFT_ENGINE_WIDTH, 0), taps * depth - 8);
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
    WEFT_ENGINE_ZEROS(sums_of_lane)
    if (item < WEFT_ENGINE_READERS(4)) {
        const int c = left + 4 * (int)item;
        places[item] = (int2)(c / depth * sum_tap + c % depth * sum_channel,
            c < taps * depth ? channels - c % depth : 0);
    }
    WEFT_UNROLL for (int j = 0; j < WEFT_CONV_WEIGHT_B_COPIES; ++j) {
        const int position = begin + WEFT_CONV_WEIGHT_ENGINE_STEP(WEFT_ENGINE_WIDTH, j);
        const weft_conv_weight_position first = WEFT_CONV_WEIGHT_POSITION(position);
        at[j] = first;
    }
    WEFT_CONV_WEIGHT_ENGINE_READ(end - begin)
    for (int rest = end - begin; rest > 0;) {
        const int late = WEFT_ENGINE_LATE(rest, images);
        WEFT_CONV_WEIGHT_ENGINE_ZERO(a_next, a_there, WEFT_CONV_WEIGHT_A_COPIES)
        WEFT_CONV_WEIGHT_ENGINE_ZERO(b_next, b_there, WEFT_CONV_WEIGHT_B_COPIES)
        WEFT_ENGINE_PUT(a_tile + late, a_next, WEFT_ENGINE_HEIGHT, 0)
        WEFT_ENGINE_PUT(b_tile + late, b_next, WEFT_ENGINE_WIDTH, 0)
        barrier(CLK_LOCAL_MEM_FENCE);
        rest -= WEFT_ENGINE_STEP;
        if (rest > 0) {
            slope += WEFT_ENGINE_STEP * (uint)slope_step;
            WEFT_UNROLL for (int j = 0; j < WEFT_CONV_WEIGHT_B_COPIES; ++j) WEFT_CONV_WEIGHT_ADVANCE(at[j])
                WEFT_CONV_WEIGHT_ENGINE_READ(rest)
        }
        WEFT_ENGINE_ADD_BLOCK(sums_of_lane, rest, images)
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sums += sums_offset + ((long)split * groups + group) * filters * channels * taps;
    const int2 place = places[WEFT_ENGINE_LINE_COLUMN(4) / 4];
    const int whole = WEFT_CONV_WEIGHT_WHOLE(sums, sum_channel, channels);
    WEFT_ENGINE_EVERY_RESULT(sums_of_lane, float4, 4,
        if (top + r < filters) WEFT_CONV_WEIGHT_STORE(
            sums + ((top + r) * channels * taps + place.x), result, place.y, sum_channel, whole))
}

#include "conv_weight_combine_gpu.clh"
