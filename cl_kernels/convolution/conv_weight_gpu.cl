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

/* How a position advances: along each axis by a digit of STEP; at the end of the axis back by a row of positions, with a carry to the axis
 * before. All digits together are `pixel_step` quads, going back at the end of an axis adds `back` quads, and a block of slopes has
 * `slope_block` quads. There are no multiplications. `size` is the size of the image. */
typedef struct weft_conv_weight_steps {
    int3 digits, rows, size;
    uint3 back;
    int stride0, stride1;
    uint pixel_step, slope_block;
} weft_conv_weight_steps;

static inline uint weft_conv_weight_pixel(int image, int3 at, int3 size) {
    return (((uint)image * (uint)size.x + (uint)at.x) * (uint)size.y + (uint)at.y) * (uint)size.z +
           (uint)at.z;
}

static inline void weft_conv_weight_advance_walk(weft_conv_weight_walk *w, const weft_conv_weight_steps *s) {
    w->at.z += s->digits.z;
    const int end_z = w->at.z >= w->end.z;
    w->at.z -= end_z ? s->rows.z : 0;
    w->pixel += end_z ? s->back.z : 0u;
    w->at.y += s->digits.y + (end_z ? s->stride1 : 0);
    const int end_y = w->at.y >= w->end.y;
    w->at.y -= end_y ? s->rows.y : 0;
    w->pixel += end_y ? s->back.y : 0u;
    w->at.x += s->digits.x + (end_y ? s->stride0 : 0);
    const int end_x = w->at.x >= w->end.x;
    w->at.x -= end_x ? s->rows.x : 0;
    w->pixel += (end_x ? s->back.x : 0u) + s->pixel_step;
    w->slope += s->slope_block;
}

static inline int weft_conv_weight_inside(int3 at, int3 size) {
    return ((uint)at.x < (uint)size.x) & ((uint)at.y < (uint)size.y) & ((uint)at.z < (uint)size.z);
}

/* The distance in bytes of quad `number` of a factor, whose quads have 2 to the power of `bits` bytes: AMD's compiler would scale a number of
 * elements before it selects. Each half of the 64-bit offset is shifted separately: extending the number to 64 bits first takes one more
 * instruction on NVIDIA's and Intel's GPUs. */
static inline ulong weft_conv_weight_quad_at(uint number, int bits) {
    return (ulong)(number >> (32 - bits)) << 32 | number << bits;
}
#define WEFT_CONV_WEIGHT_QUAD_BITS(of) (sizeof(of(WEFT_T_)) == 4 ? 4 : 3)

/* An item's quads of a block, and whether they exist. Items without a quad of a block hold zeros, because `put` selects from their registers,
 * too. */
typedef struct weft_conv_weight_quads {
    float4 slope[1], image[1];
    int slope_there, image_there;
} weft_conv_weight_quads;

/* The local memory of a group in quads: blocks, each with both factors. */
#define WEFT_CONV_WEIGHT_B      WEFT_GEMM_BLOCK(WEFT_GEMM_HEIGHT)
#define WEFT_CONV_WEIGHT_BLOCK  (WEFT_CONV_WEIGHT_B + WEFT_GEMM_BLOCK(WEFT_GEMM_WIDTH))
#define WEFT_CONV_WEIGHT_SHARED (WEFT_GEMM_BUFFERS * WEFT_CONV_WEIGHT_BLOCK)

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) conv_weight_##suffix
#include "alone.clh"
#endif

#include "gemm_tile_gpu.clh"

#if WEFT_GEMM_STAGES && !(WEFT_OF_A(WEFT_PLAIN_) && WEFT_OF_B(WEFT_PLAIN_))
#error "asynchronous copies convert nothing"
#endif
WEFT_REQUIRE(WEFT_NAME(items_have_a_quad), WEFT_GEMM_QUADS(WEFT_GEMM_HEIGHT) <= WEFT_GEMM_ITEMS &&
                                               WEFT_GEMM_QUADS(WEFT_GEMM_WIDTH) <= WEFT_GEMM_ITEMS);

#define WEFT_STAGE       WEFT_NAME(stage)
#define WEFT_STAGE_OF    WEFT_OF_A
#define WEFT_STAGE_ITEMS WEFT_CONV_WEIGHT_COMBINED
#include "conv_stage_gpu.clh"
#define WEFT_STAGE       WEFT_NAME(stage_slope)
#define WEFT_STAGE_OF    WEFT_OF_B
#define WEFT_STAGE_ITEMS WEFT_CONV_WEIGHT_COMBINED
#include "conv_stage_gpu.clh"

/* Which of an item's quads of a block exist; `rest` positions remain. */
static inline void WEFT_NAME(find)(weft_conv_weight_quads *q, const weft_conv_weight_walk *walk,
    const weft_conv_weight_steps *s, int rest, int item) {
    q->slope_there = WEFT_GEMM_STEP_OF(item, WEFT_GEMM_HEIGHT, 0) < rest;
    q->image_there =
        (WEFT_GEMM_STEP_OF(item, WEFT_GEMM_WIDTH, 0) < rest) & weft_conv_weight_inside(walk->at, s->size);
}

#if WEFT_GEMM_STAGES
/* Begins to copy a block, from which on `rest` positions remain, and advances. Quads that do not exist are not read and become zero. */
__attribute__((always_inline)) static inline void WEFT_NAME(copy)(weft_async *copies, __local float4 *block,
    WEFT_OPERANDS_A *image, WEFT_OPERANDS_B *slope, weft_conv_weight_walk *walk,
    const weft_conv_weight_steps *s, int rest, int item) {
    const uint none[1] = {0};
    weft_conv_weight_quads q;
    WEFT_NAME(find)(&q, walk, s, rest, item);
    WEFT_NAME(copy_a)
    (copies, block, (__global const char *)slope + (ulong)walk->slope * sizeof(float4), none, q.slope_there,
        0, item);
    WEFT_NAME(copy_b)
    (copies, block + WEFT_CONV_WEIGHT_B, (__global const char *)image + (ulong)walk->pixel * sizeof(float4),
        none, q.image_there, 0, item);
    WEFT_ASYNC_COMMIT(copies);
    weft_conv_weight_advance_walk(walk, s);
}
#else
/* Loads an item's quads of a block. For a quad that does not exist, the first slope or the first pixel is read instead, and `put` replaces it
 * by zero: `put` follows after a block was multiplied, so the loads are not waited for earlier. */
static inline void WEFT_NAME(read)(weft_conv_weight_quads *q, WEFT_OPERANDS_A *image, WEFT_OPERANDS_B *slope,
    const weft_conv_weight_walk *walk, const weft_conv_weight_steps *s, int rest, int item) {
    WEFT_NAME(find)(q, walk, s, rest, item);
    const ulong slope_at =
        weft_conv_weight_quad_at(q->slope_there ? walk->slope : 0u, WEFT_CONV_WEIGHT_QUAD_BITS(WEFT_OF_B));
    const ulong pixel_at =
        weft_conv_weight_quad_at(q->image_there ? walk->pixel : 0u, WEFT_CONV_WEIGHT_QUAD_BITS(WEFT_OF_A));
    if (WEFT_GEMM_HAS(item, 0, WEFT_GEMM_HEIGHT))
        q->slope[0] = WEFT_OF_B(WEFT_QUAD_)((WEFT_OPERANDS_B *)((__global const char *)slope + slope_at));
    if (WEFT_GEMM_HAS(item, 0, WEFT_GEMM_WIDTH))
        q->image[0] = WEFT_OF_A(WEFT_QUAD_)((WEFT_OPERANDS_A *)((__global const char *)image + pixel_at));
}

/* Stores them in local memory. It uses select(): from a conditional assignment Intel's compiler makes a branch, and moves the read of the
 * image into the branch. */
__attribute__((always_inline)) static inline void WEFT_NAME(put)(
    __local float4 *block, weft_conv_weight_quads *q, int item) {
    q->slope[0] = select((float4)(0.0f), q->slope[0], (int4)(-q->slope_there));
    q->image[0] = select((float4)(0.0f), q->image[0], (int4)(-q->image_there));
    WEFT_NAME(put_a)(block, q->slope, 0, item);
    WEFT_NAME(put_b)(block + WEFT_CONV_WEIGHT_B, q->image, 0, item);
}
#endif

/* Adds the products of `rest` positions to the sums, with asynchronous copies as in conv_gpu.cl. */
__attribute__((always_inline)) static inline void WEFT_NAME(multiply)(float4 (*acc)[4], __local float4 *block,
    WEFT_OPERANDS_A *image, WEFT_OPERANDS_B *slope, weft_conv_weight_walk walk,
    const weft_conv_weight_steps *s, int rest, int x, int y) {
    const int item = y * WEFT_GEMM_ACROSS + x;
#if WEFT_GEMM_STAGES
    int ahead = rest, now = 0, last = WEFT_GEMM_STAGES - 1;
    WEFT_ASYNC(copies, WEFT_GEMM_STAGES * 2);
    WEFT_UNROLL_REGISTERS for (int i = 0; i < WEFT_GEMM_STAGES - 1; ++i, ahead -= WEFT_GEMM_STEP)
        WEFT_NAME(copy)(copies, block + i * WEFT_CONV_WEIGHT_BLOCK, image, slope, &walk, s, ahead, item);
    for (; rest > 0; rest -= WEFT_GEMM_STEP, ahead -= WEFT_GEMM_STEP) {
        WEFT_ASYNC_WAIT(copies, WEFT_GEMM_STAGES - 2);
        barrier(CLK_LOCAL_MEM_FENCE);
        WEFT_NAME(copy)(copies, block + last * WEFT_CONV_WEIGHT_BLOCK, image, slope, &walk, s, ahead, item);
        __local float4 *const current = block + now * WEFT_CONV_WEIGHT_BLOCK;
        WEFT_NAME(add_block)(acc, current, current + WEFT_CONV_WEIGHT_B, WEFT_GEMM_STEP, x, y);
        last = now;
        now = now + 1 < WEFT_GEMM_STAGES ? now + 1 : 0;
    }
    WEFT_ASYNC_WAIT(copies, 0);
#else
    weft_conv_weight_quads q = {{(float4)(0.0f)}, {(float4)(0.0f)}, 0, 0};
    int turn = WEFT_CONV_WEIGHT_BLOCK * (int)sizeof(float4);
    WEFT_NAME(read)(&q, image, slope, &walk, s, rest, item);
    WEFT_NAME(put)(block, &q, item);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (; rest > 0; rest -= WEFT_GEMM_STEP) { /* after the last block, zeros are loaded */
        weft_conv_weight_advance_walk(&walk, s);
        WEFT_NAME(read)(&q, image, slope, &walk, s, rest - WEFT_GEMM_STEP, item);
        WEFT_NAME(add_block)(acc, block, block + WEFT_CONV_WEIGHT_B, WEFT_GEMM_STEP, x, y);
        block = (__local float4 *)((__local char *)block + turn);
        turn = -turn;
        WEFT_NAME(put)(block, &q, item);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#endif
}

/* Work-group (columns, filters, split and group). Offsets count units; steps of pixels and slopes are bytes. sum_tap and
 * sum_channel are the strides of taps and channels in a filter's sums. */
__kernel WEFT_GEMM_GROUP void WEFT_NAME(tiles)(
    WEFT_CONV_WEIGHT_TILES_PARAMETERS(WEFT_OPERANDS_A, WEFT_OPERANDS_B)) {
    __local float4 shared[WEFT_CONV_WEIGHT_SHARED];
    const int x = WEFT_GEMM_X, y = WEFT_GEMM_Y, item = y * WEFT_GEMM_ACROSS + x;
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
    const weft_conv_weight_position at =
        weft_conv_weight_position_of(position, (int3)(result0, result1, result2));
    const uint slope_quads = (uint)slope_step / (4 * (uint)sizeof(WEFT_OF_B(WEFT_T_))),
               pixel_quads = (uint)image_step / (4 * (uint)sizeof(WEFT_OF_A(WEFT_T_)));
    weft_conv_weight_steps s = {(int3)(step0 * stride0, step1 * stride1, step2 * stride2),
        (int3)(result0 * stride0, result1 * stride1, result2 * stride2), (int3)(image0, image1, image2),
        (uint3)(0, 0, 0), stride0, stride1, 0, WEFT_GEMM_STEP * slope_quads};
    s.back = (uint3)((uint)(image0 - s.rows.x) * (uint)image1 * (uint)image2,
                 (uint)(stride0 * image1 - s.rows.y) * (uint)image2, (uint)(stride1 * image2 - s.rows.z)) *
             pixel_quads;
    s.pixel_step = weft_conv_weight_pixel(step_image, s.digits, s.size) * pixel_quads;
    sums += sums_offset + ((long)split * groups + group) * filters * channels * taps;
    weft_conv_weight_walk walk;
    walk.at = (int3)(at.x * stride0, at.y * stride1, at.z * stride2) + reach;
    walk.end = s.rows + reach;
    walk.pixel = weft_conv_weight_pixel(at.image, walk.at, s.size) * pixel_quads;
    walk.slope =
        (uint)(begin + WEFT_GEMM_STEP_OF(item, WEFT_GEMM_HEIGHT, 0)) * slope_quads + (uint)filter / 4;
    float4 acc[WEFT_GEMM_SUMS][4];
    WEFT_NAME(clear)(acc);
    WEFT_NAME(multiply)(acc, shared, image, slope, walk, &s, end - begin, x, y);
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
                weft_conv_weight_store(
                    to, acc[i / 4 * (WEFT_GEMM_COLUMNS / 4) + j][i % 4], there, sum_channel, whole);
            }
        }
    }
}

#include "conv_weight_combine_gpu.clh"
