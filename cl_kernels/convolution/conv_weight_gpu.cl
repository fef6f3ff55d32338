/* conv_weight_gpu.cl: the weight gradient of a convolution for devices of class gpu. `slope` is the gradient of the result.
 *
 *     image (images, image..., channels)   slope (images, result..., filters)
 *     -> w (groups * filters, channels, taps...): w[f][c][k] = sum over positions (image, o) of
 *        image[image][o * stride + k * dilation - before][c] * slope[image][o][f]
 *
 * It is a matrix product with the core of gemm_gpu.cl: a row is a filter, a column is a (tap, channel), and a step of k is a
 * position. There are few tiles and many steps, so the positions are divided among splits, each of which has its own sums.
 *
 * tiles: each item copies one quad of a block of both factors: four filters of a position, and four channels of the pixel that the
 * item's tap reads for a position. From one block to the next, the position advances by STEP, as a number whose digits are the
 * image and the indices along the axes:
 *
 *            block of images (8 positions, 128 columns)
 *              +----------------+
 *     block of |  tap t, channels c .. c + 3 ..
 *     slopes   +----------------+
 *     (128, 8) +----------------+
 *     +----+   |                |
 *     | f  |   |     w          |  an item computes 8 x 8 elements of w, as in gemm_gpu.cl
 *     +----+   +----------------+
 *
 * Channels and filters must have a pitch that is a multiple of 4, and addresses at which quads can be read as vectors. If they do
 * not, "stage" and "stage_slope" make copies that do. Pixels outside the image, and positions past the last one of a split, count
 * as zero.
 *
 * combine (conv_weight_combine_gpu.clh) adds the splits up. The parameters are in src/kernels/convolution/conv_weight_gpu.c. */

#ifndef WEFT_CONV_WEIGHT_GPU
#define WEFT_CONV_WEIGHT_GPU

/* The position of an item's quads. `slope` and `pixel` are numbers of quads in the memory of the slopes and of the image; `at`
 * is the pixel's index along each axis, and `end` is the index at which a row of positions ends along each axis. */
typedef struct weft_conv_weight_walk {
    int3 at, end;
    uint slope, pixel;
} weft_conv_weight_walk;

#define WEFT_CONV_WEIGHT_PIXEL(images, at)                                                                   \
    ((((uint)(images) * (uint)image0 + (uint)(at).x) * (uint)image1 + (uint)(at).y) * (uint)image2 +         \
        (uint)(at).z)

/* Advances by STEP positions: along each axis by a digit of STEP; at the end of the axis back by a row of positions, with a
 * carry to the axis before. All digits together are `pixel_step` quads, going back at the end of an axis adds `back` quads, and
 * a block of slopes has `slope_block` quads. There are no multiplications. */
#define WEFT_CONV_WEIGHT_ADVANCE_ALONG(walk, axis, digit)                                                    \
    (walk).at.axis += (digit);                                                                               \
    const int weft_end_##axis = (walk).at.axis >= (walk).end.axis;                                           \
    (walk).at.axis -= weft_end_##axis ? rows.axis : 0;                                                       \
    (walk).pixel += weft_end_##axis ? back.axis : 0u;
#define WEFT_CONV_WEIGHT_ADVANCE_WALK(walk)                                                                  \
    {                                                                                                        \
        WEFT_CONV_WEIGHT_ADVANCE_ALONG(walk, z, digits.z)                                                    \
        WEFT_CONV_WEIGHT_ADVANCE_ALONG(walk, y, digits.y + (weft_end_z ? stride1 : 0))                       \
        WEFT_CONV_WEIGHT_ADVANCE_ALONG(walk, x, digits.x + (weft_end_y ? stride0 : 0))                       \
        (walk).pixel += pixel_step;                                                                          \
        (walk).slope += slope_block;                                                                         \
    }
#define WEFT_CONV_WEIGHT_INSIDE(walk)                                                                        \
    (((uint)(walk).at.x < (uint)image0) & ((uint)(walk).at.y < (uint)image1) &                               \
        ((uint)(walk).at.z < (uint)image2))

/* Reads quad `number` of a factor, with its address in bytes: AMD's compiler would scale a number of elements before it selects.
 * Each half of the 64-bit offset is shifted separately: extending the number to 64 bits first takes one more instruction on
 * NVIDIA's and Intel's GPUs. */
#define WEFT_CONV_WEIGHT_QUAD_BITS(of) (sizeof(of(WEFT_T_)) == 4 ? 4 : 3)
#define WEFT_CONV_WEIGHT_QUAD(of, from, number)                                                              \
    of(WEFT_QUAD_)(                                                                                          \
        (__global const of(WEFT_T_) *)((__global const char *)(from) +                                       \
                                       ((ulong)((number) >> (32 - WEFT_CONV_WEIGHT_QUAD_BITS(of))) << 32 |   \
                                           (number) << WEFT_CONV_WEIGHT_QUAD_BITS(of))))

/* READ loads an item's quads of a block; PUT stores them to local memory. For a quad that does not exist, the first slope or the
 * first pixel is read instead, and PUT replaces it by zero. PUT follows after a block was multiplied, so the loads are not
 * waited for earlier. PUT uses select(): from a conditional assignment Intel's compiler makes a branch, and moves the read of
 * the image into the branch. */
#define WEFT_CONV_WEIGHT_READ(after)                                                                         \
    WEFT_GEMM_EACH(weft_j, WEFT_GEMM_HEIGHT) {                                                               \
        slope_there = WEFT_GEMM_STEP_OF(item, WEFT_GEMM_HEIGHT, 0) + (after) < rest;                         \
        a_quads[0] = WEFT_CONV_WEIGHT_QUAD(WEFT_OF_B, slope, slope_there ? walk.slope : 0u);                 \
    }                                                                                                        \
    WEFT_GEMM_EACH(weft_j, WEFT_GEMM_WIDTH) {                                                                \
        image_there =                                                                                        \
            (WEFT_GEMM_STEP_OF(item, WEFT_GEMM_WIDTH, 0) + (after) < rest) & WEFT_CONV_WEIGHT_INSIDE(walk);  \
        b_quads[0] = WEFT_CONV_WEIGHT_QUAD(WEFT_OF_A, image, image_there ? walk.pixel : 0u);                 \
    }
#define WEFT_CONV_WEIGHT_PUT(block)                                                                          \
    a_quads[0] = select((float4)(0.0f), a_quads[0], (int4)(-slope_there));                                   \
    b_quads[0] = select((float4)(0.0f), b_quads[0], (int4)(-image_there));                                   \
    WEFT_GEMM_PUT(block, a_quads, A, 0)                                                                      \
    WEFT_GEMM_PUT((block) + WEFT_GEMM_BLOCK(WEFT_GEMM_HEIGHT), b_quads, B, 0)

/* The local memory of a group in quads: blocks, each with both factors. */
#define WEFT_CONV_WEIGHT_BLOCK  (WEFT_GEMM_BLOCK(WEFT_GEMM_HEIGHT) + WEFT_GEMM_BLOCK(WEFT_GEMM_WIDTH))
#define WEFT_CONV_WEIGHT_SHARED (WEFT_GEMM_BUFFERS * WEFT_CONV_WEIGHT_BLOCK)

/* The loop with asynchronous copies, as in conv_gpu.cl. Quads that do not exist are not read and become zero. `ahead` is the number of
 * positions that are not copied yet. */
#define WEFT_CONV_WEIGHT_COPY(slot)                                                                          \
    {                                                                                                        \
        __local float4 *const weft_block = block + (slot)*WEFT_CONV_WEIGHT_BLOCK;                            \
        slope_there = WEFT_GEMM_STEP_OF(item, WEFT_GEMM_HEIGHT, 0) < ahead;                                  \
        image_there = (WEFT_GEMM_STEP_OF(item, WEFT_GEMM_WIDTH, 0) < ahead) & WEFT_CONV_WEIGHT_INSIDE(walk); \
        WEFT_GEMM_COPY(weft_block, (__global const char *)slope + (ulong)walk.slope * sizeof(float4), none,  \
            slope_there, A, 0)                                                                               \
        WEFT_GEMM_COPY(weft_block + WEFT_GEMM_BLOCK(WEFT_GEMM_HEIGHT),                                       \
            (__global const char *)image + (ulong)walk.pixel * sizeof(float4), none, image_there, B, 0)      \
        WEFT_ASYNC_COMMIT;                                                                                   \
        WEFT_CONV_WEIGHT_ADVANCE_WALK(walk)                                                                  \
        ahead -= WEFT_GEMM_STEP;                                                                             \
    }
#define WEFT_CONV_WEIGHT_BLOCKS_BY_COPIES                                                                    \
    const uint none[1] = {0};                                                                                \
    int ahead = rest, now = 0, last = WEFT_GEMM_STAGES - 1;                                                  \
    WEFT_ASYNC_BEGIN(WEFT_GEMM_STAGES * 2)                                                                   \
    WEFT_UNROLL_REGISTERS for (int s = 0; s < WEFT_GEMM_STAGES - 1; ++s)                                     \
        WEFT_CONV_WEIGHT_COPY(s) for (; rest > 0; rest -= WEFT_GEMM_STEP) {                                  \
        WEFT_ASYNC_WAIT(WEFT_GEMM_STAGES - 2);                                                               \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                        \
        WEFT_CONV_WEIGHT_COPY(last)                                                                          \
        WEFT_GEMM_ADD_BLOCK(WEFT_UNROLL_STEPS(WEFT_GEMM_UNROLLED), acc,                                      \
            block + now * WEFT_CONV_WEIGHT_BLOCK,                                                            \
            block + now * WEFT_CONV_WEIGHT_BLOCK + WEFT_GEMM_BLOCK(WEFT_GEMM_HEIGHT), WEFT_GEMM_STEP)        \
        last = now;                                                                                          \
        now = now + 1 < WEFT_GEMM_STAGES ? now + 1 : 0;                                                      \
    }                                                                                                        \
    WEFT_ASYNC_WAIT(0);

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) conv_weight_##suffix
#define WEFT_FORMAT_A     f32
#define WEFT_FORMAT_B     f32
#define WEFT_CONV_WEIGHT_ALONE
#endif

#if WEFT_GEMM_STAGES && !(WEFT_OF_A(WEFT_PLAIN_) && WEFT_OF_B(WEFT_PLAIN_))
#error "asynchronous copies convert nothing"
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

/* Work-group (columns, filters, split and group). Offsets count units; steps of pixels and slopes are bytes. sum_tap and
 * sum_channel are the strides of taps and channels in a filter's sums. */
__kernel WEFT_GEMM_GROUP void WEFT_NAME(tiles)(
    WEFT_CONV_WEIGHT_TILES_PARAMETERS(WEFT_OPERANDS_A, WEFT_OPERANDS_B)) {
    __local float4 shared[WEFT_CONV_WEIGHT_SHARED];
    __local float4 *block = shared;
    WEFT_GEMM_ITEM
    const int group = (int)get_group_id(2) % groups, split = (int)get_group_id(2) / groups;
    const int top = (int)get_group_id(1) * WEFT_GEMM_HEIGHT, left = (int)get_group_id(0) * WEFT_GEMM_WIDTH;
    const int taps = taps0 * taps1 * taps2, begin = split * length, end = min(positions, begin + length);
    const int filter = min(top + WEFT_GEMM_ROW_OF(item, WEFT_GEMM_HEIGHT, 0), width - 4);
    const int column = min(left + WEFT_GEMM_ROW_OF(item, WEFT_GEMM_WIDTH, 0), taps * depth - 4);
    const int tap = column / depth, line = tap / taps2;
    const int3 reach = (int3)(line / taps1 * dilation0 - before0, line % taps1 * dilation1 - before1,
        tap % taps2 * dilation2 - before2);
    WEFT_OPERANDS_A *const image = pixels + pixels_offset * pixel_unit + group * depth + column % depth;
    WEFT_OPERANDS_B *const slope = slopes + slopes_offset * slope_unit + group * width;
    const int position = begin + WEFT_GEMM_STEP_OF(item, WEFT_GEMM_WIDTH, 0);
    const weft_conv_weight_position at = WEFT_CONV_WEIGHT_POSITION(position);
    const uint slope_quads = (uint)slope_step / (4 * (uint)sizeof(WEFT_OF_B(WEFT_T_))),
               pixel_quads = (uint)image_step / (4 * (uint)sizeof(WEFT_OF_A(WEFT_T_)));
    const int3 digits = (int3)(step0 * stride0, step1 * stride1, step2 * stride2),
               rows = (int3)(result0 * stride0, result1 * stride1, result2 * stride2);
    const uint3 back =
        (uint3)((uint)(image0 - rows.x) * (uint)image1 * (uint)image2,
            (uint)(stride0 * image1 - rows.y) * (uint)image2, (uint)(stride1 * image2 - rows.z)) *
        pixel_quads;
    const uint pixel_step = WEFT_CONV_WEIGHT_PIXEL(step_image, digits) * pixel_quads,
               slope_block = WEFT_GEMM_STEP * slope_quads;
    sums += sums_offset + ((long)split * groups + group) * filters * channels * taps;
    weft_conv_weight_walk walk;
    walk.at = (int3)(at.x * stride0, at.y * stride1, at.z * stride2) + reach;
    walk.end = rows + reach;
    walk.pixel = WEFT_CONV_WEIGHT_PIXEL(at.image, walk.at) * pixel_quads;
    walk.slope =
        (uint)(begin + WEFT_GEMM_STEP_OF(item, WEFT_GEMM_HEIGHT, 0)) * slope_quads + (uint)filter / 4;
    int rest = end - begin, slope_there = 0, image_there = 0,
        turn = WEFT_CONV_WEIGHT_BLOCK * (int)sizeof(float4);
    /* Items without a quad of a block hold zeros, because PUT selects from their registers, too. */
    float4 a_quads[1] = {(float4)(0.0f)}, b_quads[1] = {(float4)(0.0f)}, acc[WEFT_GEMM_SUMS][4];
    WEFT_UNROLL_REGISTERS for (int e = 0; e < WEFT_GEMM_SUMS; ++e) acc[e][0] = acc[e][1] = acc[e][2] =
        acc[e][3] = (float4)(0.0f);
#if WEFT_GEMM_STAGES
    WEFT_CONV_WEIGHT_BLOCKS_BY_COPIES
#else
    WEFT_CONV_WEIGHT_READ(0)
    WEFT_CONV_WEIGHT_PUT(block)
    barrier(CLK_LOCAL_MEM_FENCE);
    for (; rest > 0; rest -= WEFT_GEMM_STEP) { /* after the last block, zeros are loaded */
        WEFT_CONV_WEIGHT_ADVANCE_WALK(walk)
        WEFT_CONV_WEIGHT_READ(WEFT_GEMM_STEP)
        WEFT_GEMM_ADD_BLOCK(WEFT_UNROLL_STEPS(WEFT_GEMM_UNROLLED), acc, block,
            block + WEFT_GEMM_BLOCK(WEFT_GEMM_HEIGHT), WEFT_GEMM_STEP)
        block = (__local float4 *)((__local char *)block + turn);
        turn = -turn;
        WEFT_CONV_WEIGHT_PUT(block)
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#endif
    const int whole = WEFT_CONV_WEIGHT_WHOLE(sums, sum_channel, channels);
    WEFT_UNROLL_REGISTERS for (int j = 0; j < WEFT_GEMM_COLUMNS / 4; ++j) {
        const int c = left + (j * WEFT_GEMM_ACROSS + x) * 4;
        const int channel = c % depth, tap_of = c / depth;
        const int there = tap_of < taps ? channels - channel : 0;
        WEFT_UNROLL_REGISTERS for (int i = 0; i < WEFT_GEMM_ROWS; ++i) {
            const int f = top + WEFT_GEMM_ROW(i);
            if (f < filters) {
                __global float *const to =
                    sums + (f * channels * taps + tap_of * sum_tap + channel * sum_channel);
                WEFT_CONV_WEIGHT_STORE(
                    to, acc[i / 4 * (WEFT_GEMM_COLUMNS / 4) + j][i % 4], there, sum_channel, whole)
            }
        }
    }
}

#include "conv_weight_combine_gpu.clh"

#ifdef WEFT_CONV_WEIGHT_ALONE
#undef WEFT_CONV_WEIGHT_ALONE
#undef WEFT_FORMAT_A
#undef WEFT_FORMAT_B
#undef WEFT_NAME
#endif
