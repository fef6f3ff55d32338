/* conv_weight_gpu.cl: the weight's gradient of a convolution for devices with many work-items and local
 * memory.
 *
 *     image (images, image..., channels)   slope (images, result..., filters)
 *     -> w (groups * filters, channels, taps...): w[f][c][k] = sum over positions (image, o) of
 *        image[image][o * stride + k * dilation - before][c] * slope[image][o][f]
 *
 * A matrix product with the core of gemm_gpu.cl: row = filter, column = (tap, channel), step of k = position. There are few
 * tiles of it and many steps, so positions are divided among splits, each with sums of its own:
 *
 * tiles: each item copies one quad of a block of both factors: four filters of a position, and four channels of the pixel
 * that its tap sees from there. From block to block its position advances by STEP, as a number whose digits are the image
 * and the axes:
 *
 *            block of images (8 positions, 128 columns)
 *              +----------------+
 *     block of |  tap t, channels c .. c + 3 ..
 *     slopes   +----------------+
 *     (128, 8) +----------------+
 *     +----+   |                |
 *     | f  |   |     w          |  8 x 8 elements of w an item, as in gemm_gpu.cl
 *     +----+   +----------------+
 *
 * Channels and filters have a pitch, a multiple of 4, and are quads at addresses that allow to read them at once: "stage" and
 * "stage_slope" make copies that are, if they are not. What is outside of the image, and a position past the split's last
 * one, counts as zero.
 *
 * combine (conv_weight_combine_gpu.clh) adds the splits up. The parameters stand in
 * src/kernels/convolution/conv_weight_gpu.c. */

#ifndef WEFT_CONV_WEIGHT_GPU
#define WEFT_CONV_WEIGHT_GPU

/* An item's quads of a block, of which `rest` positions are left: of slopes, and of the image. What is not there is not
 * read: the block's first slope and the first pixel are, and become zero as they are put into local memory, after a block
 * is multiplied: nothing waits for them before. */
#define WEFT_CONV_WEIGHT_READ(rest)                                                                          \
    slope_there = WEFT_GEMM_STEP_OF(item, WEFT_GEMM_HEIGHT, 0) < (rest);                                     \
    WEFT_GEMM_EACH(weft_j, WEFT_GEMM_HEIGHT)                                                                 \
    a_quads[0] = WEFT_OF_B(WEFT_QUAD_)((WEFT_OPERANDS_B *)(slope + (slope_there ? slope_at : slope_first))); \
    WEFT_GEMM_EACH(weft_j, WEFT_GEMM_WIDTH) {                                                                \
        const int weft_x = at.x * stride0 + reach.x, weft_y = at.y * stride1 + reach.y,                      \
                  weft_z = at.z * stride2 + reach.z;                                                         \
        const int weft_pixel = ((at.image * image0 + weft_x) * image1 + weft_y) * image2 + weft_z;           \
        image_there = (WEFT_GEMM_STEP_OF(item, WEFT_GEMM_WIDTH, 0) < (rest)) &                               \
                      ((uint)weft_x < (uint)image0) & ((uint)weft_y < (uint)image1) &                        \
                      ((uint)weft_z < (uint)image2);                                                         \
        b_quads[0] = WEFT_OF_A(WEFT_QUAD_)(                                                                  \
            (WEFT_OPERANDS_A *)(image + (ulong)(uint)(image_there ? weft_pixel : 0) * (uint)image_step));    \
    }
#define WEFT_CONV_WEIGHT_PUT(a_block, b_block)                                                               \
    a_quads[0] = slope_there ? a_quads[0] : (float4)(0.0f);                                                  \
    b_quads[0] = image_there ? b_quads[0] : (float4)(0.0f);                                                  \
    WEFT_GEMM_PUT(a_block, a_quads, A, 0)                                                                    \
    WEFT_GEMM_PUT(b_block, b_quads, B, 0)

/* Local memory of a group, in quads: two blocks of both factors. */
#define WEFT_CONV_WEIGHT_SHARED (2 * (WEFT_GEMM_BLOCK(WEFT_GEMM_HEIGHT) + WEFT_GEMM_BLOCK(WEFT_GEMM_WIDTH)))

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) conv_weight_##suffix
#define WEFT_FORMAT_A     f32
#define WEFT_FORMAT_B     f32
#define WEFT_CONV_WEIGHT_ALONE
#endif

WEFT_REQUIRE(WEFT_NAME(items_have_a_quad), WEFT_GEMM_QUADS(WEFT_GEMM_HEIGHT) <= WEFT_GEMM_ITEMS &&
                                               WEFT_GEMM_QUADS(WEFT_GEMM_WIDTH) <= WEFT_GEMM_ITEMS);

__kernel __attribute__((reqd_work_group_size(WEFT_CONV_WEIGHT_COMBINED, 1, 1))) void WEFT_NAME(stage)(
    WEFT_OPERANDS_A *image, long image_offset, __global float *staged, long staged_offset,
    WEFT_CONV_STAGE_PARAMETERS) {
    WEFT_OPERANDS_A *from = image + image_offset;
    __global WEFT_OF_A(WEFT_T_) *to = (__global WEFT_OF_A(WEFT_T_) *)(staged + staged_offset);
    WEFT_CONV_STAGE(WEFT_OF_A(WEFT_GET_), WEFT_OF_A(WEFT_PUT_), from, to)
}

__kernel __attribute__((reqd_work_group_size(WEFT_CONV_WEIGHT_COMBINED, 1, 1))) void WEFT_NAME(stage_slope)(
    WEFT_OPERANDS_B *slope, long slope_offset, __global float *staged, long staged_offset,
    WEFT_CONV_STAGE_PARAMETERS) {
    WEFT_OPERANDS_B *from = slope + slope_offset;
    __global WEFT_OF_B(WEFT_T_) *to = (__global WEFT_OF_B(WEFT_T_) *)(staged + staged_offset);
    WEFT_CONV_STAGE(WEFT_OF_B(WEFT_GET_), WEFT_OF_B(WEFT_PUT_), from, to)
}

/* Work-group place (columns, filters, split and group). Offsets count units, steps of pixels and slopes are bytes; a filter's
 * sums are where its taps and channels have these strides. */
__attribute__((always_inline)) static inline void WEFT_NAME(tiles_group)(__local float4 *shared,
    const int3 place, WEFT_CONV_WEIGHT_TILES_PARAMETERS(WEFT_OPERANDS_A, WEFT_OPERANDS_B)) {
    __local float4(*const a_tile)[WEFT_GEMM_BLOCK(WEFT_GEMM_HEIGHT)] =
        (__local float4(*)[WEFT_GEMM_BLOCK(WEFT_GEMM_HEIGHT)])shared;
    __local float4(*const b_tile)[WEFT_GEMM_BLOCK(WEFT_GEMM_WIDTH)] =
        (__local float4(*)[WEFT_GEMM_BLOCK(WEFT_GEMM_WIDTH)])(shared + 2 * WEFT_GEMM_BLOCK(WEFT_GEMM_HEIGHT));
    const int x = (int)get_local_id(0), y = (int)get_local_id(1), item = y * WEFT_GEMM_ACROSS + x;
    const int group = place.z % groups, split = place.z / groups;
    const int top = place.y * WEFT_GEMM_HEIGHT, left = place.x * WEFT_GEMM_WIDTH;
    const int taps = taps0 * taps1 * taps2, begin = split * length, end = min(positions, begin + length);
    const int filter = min(top + WEFT_GEMM_ROW_OF(item, WEFT_GEMM_HEIGHT, 0), width - 4);
    const int column = min(left + WEFT_GEMM_ROW_OF(item, WEFT_GEMM_WIDTH, 0), taps * depth - 4);
    const int tap = column / depth, line = tap / taps2;
    const int3 reach = (int3)(line / taps1 * dilation0 - before0, line % taps1 * dilation1 - before1,
        tap % taps2 * dilation2 - before2);
    __global const char *const image =
        (__global const char *)(pixels + pixels_offset * pixel_unit + group * depth + column % depth);
    __global const char *slope =
        (__global const char *)(slopes + slopes_offset * slope_unit + group * width) +
        (long)begin * slope_step;
    const uint slope_first = (uint)filter * (uint)sizeof(WEFT_OF_B(WEFT_T_)),
               slope_at = slope_first + (uint)WEFT_GEMM_STEP_OF(item, WEFT_GEMM_HEIGHT, 0) * (uint)slope_step;
    const int position = begin + WEFT_GEMM_STEP_OF(item, WEFT_GEMM_WIDTH, 0);
    weft_conv_weight_position at = WEFT_CONV_WEIGHT_POSITION(position);
    int now = 0, slope_there = 0, image_there = 0;
    float4 a_quads[1], b_quads[1], acc[WEFT_GEMM_SUMS][4];
    WEFT_UNROLL_REGISTERS for (int e = 0; e < WEFT_GEMM_SUMS; ++e) acc[e][0] = acc[e][1] = acc[e][2] =
        acc[e][3] = (float4)(0.0f);
    WEFT_CONV_WEIGHT_READ(end - begin)
    WEFT_CONV_WEIGHT_PUT(a_tile[0], b_tile[0])
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int rest = end - begin; rest > 0;) { /* after the last block zeros are read */
        rest -= WEFT_GEMM_STEP;
        slope += rest > 0 ? WEFT_GEMM_STEP * (uint)slope_step : 0u;
        WEFT_CONV_WEIGHT_ADVANCE(at)
        WEFT_CONV_WEIGHT_READ(rest)
        WEFT_GEMM_ADD_BLOCK(
            WEFT_UNROLL_STEPS(WEFT_GEMM_UNROLLED), acc, a_tile[now], b_tile[now], WEFT_GEMM_STEP)
        now ^= 1;
        WEFT_CONV_WEIGHT_PUT(a_tile[now], b_tile[now])
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sums += sums_offset + ((long)split * groups + group) * filters * channels * taps;
    WEFT_UNROLL_REGISTERS for (int j = 0; j < WEFT_GEMM_COLUMNS; ++j) {
        const int c = left + (j / 4 * WEFT_GEMM_ACROSS + x) * 4 + j % 4;
        const int channel = c % depth, own = c / depth;
        WEFT_UNROLL_REGISTERS for (int i = 0; i < WEFT_GEMM_ROWS; ++i) {
            const int f = top + WEFT_GEMM_ROW(i);
            if (f < filters && own < taps && channel < channels)
                sums[(long)f * channels * taps + own * sum_tap + channel * sum_channel] =
                    acc[i / 4 * (WEFT_GEMM_COLUMNS / 4) + j / 4][i % 4][j % 4];
        }
    }
}

__kernel __attribute__((reqd_work_group_size(WEFT_GEMM_ACROSS, WEFT_GEMM_DOWN, 1))) void WEFT_NAME(tiles)(
    WEFT_CONV_WEIGHT_TILES_PARAMETERS(WEFT_OPERANDS_A, WEFT_OPERANDS_B)) {
    __local float4 shared[WEFT_CONV_WEIGHT_SHARED];
    const int3 place = (int3)((int)get_group_id(0), (int)get_group_id(1), (int)get_group_id(2));
    WEFT_NAME(tiles_group)(shared, place, WEFT_CONV_WEIGHT_TILES_NAMES);
}

#include "conv_weight_combine_gpu.clh"

#ifdef WEFT_CONV_WEIGHT_ALONE
#undef WEFT_CONV_WEIGHT_ALONE
#undef WEFT_FORMAT_A
#undef WEFT_FORMAT_B
#undef WEFT_NAME
#endif
