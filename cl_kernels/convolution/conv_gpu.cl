/* conv_gpu.cl: convolution and its data gradient for devices of class gpu.
 *
 *     image: channels contiguous   w: any strides   result: stored by WEFT_STORE (the epilogue)
 *
 * It is a matrix product over windows, with the core of gemm_gpu.cl: a row is a position of the result, a column is an output
 * channel, and a step of k is a (tap, input channel). A is never stored. Each item copies one quad of each block of A, always of
 * the same row: four channels of a pixel of one window. From one block to the next the channel advances by STEP. At the end of the
 * channels the tap advances; a table has each tap's distance from the first pixel of the window:
 *
 *       image                         block of A (128 rows, 8 steps)
 *     . . . . . .       tap (t)        item 0, 1 ->  channels c .. c + 3, c + 4 .. c + 7 of a pixel
 *     . w w w . .   ------------>    [ row 0: pixel t of its window ]
 *     . w t w . .                    [ row 1: pixel t of its window ]  <- items 2, 3
 *
 * Input channels must have a pitch that is a multiple of 4, and addresses at which quads can be read as vectors. If they do not,
 * "stage" makes a copy of the image that does. The loop therefore checks no bounds, except for pixels outside the image, which are
 * read from zeros instead.
 *
 * pack: writes, once a run,
 *   panels   the weight, as B (k, columns). Channels and columns are padded with zeros to a multiple of 4, and the rows of each
 *            phase to a multiple of STEP. After the last row there is memory for a block that is read but not used
 *   table    zeros, which are read in place of a pixel; for each phase its first entry, its first row of the panels, and its number
 *            of blocks of k; then the entries. A tap's entry has the distance to its pixel along three axes, and in elements. After
 *            the last tap of a phase there are entries without a tap, as many as a block may reach
 *
 * The data gradient of stride s consists of s (s², s³ with more axes) products, called *phases*: all positions with the same
 * remainder modulo s use the same taps, and no zeros between the elements are multiplied. Taps are packed phase by phase.
 *
 * With WEFT_SPLIT_K, `splits` work-groups divide the blocks of k of a tile among them. Each stores its sums, [split][position of
 * the result][group and column], and the kernel "finish" of splits_gpu.clh adds them up.
 *
 * The parameters are in src/kernels/convolution/conv_gpu.c; the macros that the plan defines before each copy (WEFT_NAME,
 * WEFT_EPILOGUE_PARAMETERS, WEFT_STORE) are described in src/kernels/product/gemm.h. */

#ifndef WEFT_CONV_GPU
#define WEFT_CONV_GPU

/* The quads of a block of both factors; those of B begin at WEFT_CONV_GPU_B. Local memory has at least two blocks: one is
 * multiplied while the next is written. */
#define WEFT_CONV_GPU_B     WEFT_GEMM_BLOCK(WEFT_GEMM_HEIGHT)
#define WEFT_CONV_GPU_BLOCK (WEFT_CONV_GPU_B + WEFT_GEMM_BLOCK(WEFT_GEMM_WIDTH))

/* READ loads an item's quads of the current block of A and B into registers; PUT stores them to local memory. */
#define WEFT_CONV_GPU_READ                                                                                   \
    {                                                                                                        \
        a_quads[0] = WEFT_OF_A(WEFT_QUAD_)((WEFT_OPERANDS_A *)(pixel + channel));                            \
        WEFT_GEMM_EACH(weft_j, WEFT_GEMM_WIDTH)                                                              \
        b_quads[weft_j] = *(__global const float4 *)((__global const char *)panels + b_at[weft_j]);          \
    }
#define WEFT_CONV_GPU_PUT(block)                                                                             \
    WEFT_GEMM_PUT(block, a_quads, A, 1)                                                                      \
    WEFT_GEMM_PUT((block) + WEFT_CONV_GPU_B, b_quads, B, 0)

/* Advances to the next block: the item's channel, at the end of the channels its tap and pixel, and its offsets in the panels. */
#define WEFT_CONV_GPU_NEXT                                                                                   \
    {                                                                                                        \
        channel += channel_step;                                                                             \
        const int weft_at_end = channel >= channel_end;                                                      \
        channel = min(channel, channel - channel_end);                                                       \
        if (weft_at_end) {                                                                                   \
            tap += tap_step;                                                                                 \
            WEFT_CONV_GPU_PIXEL(pixel, WEFT_CONV_GPU_ENTRY(tap), first, window)                              \
        }                                                                                                    \
        WEFT_GEMM_EACH(weft_j, WEFT_GEMM_WIDTH)                                                              \
        b_at[weft_j] += panel_step;                                                                          \
    }

/* The loop with asynchronous copies. STAGES - 1 blocks are in flight before the first is multiplied, and as many are copied
 * after the last one, which nothing uses. An item waits for its own copies; the barrier after the wait waits for the copies of
 * all items, and until no item reads the block that the next copies overwrite. */
#define WEFT_CONV_GPU_COPY(slot)                                                                             \
    WEFT_GEMM_COPY(blocks + (slot)*WEFT_CONV_GPU_BLOCK, pixel + channel, none, 1, A, 1)                      \
    WEFT_GEMM_COPY(blocks + (slot)*WEFT_CONV_GPU_BLOCK + WEFT_CONV_GPU_B, panels, b_at, 1, B, 0)             \
    WEFT_ASYNC_COMMIT;
#define WEFT_CONV_GPU_BLOCKS_BY_COPIES                                                                       \
    const uint none[1] = {0};                                                                                \
    int now = 0, last = WEFT_GEMM_STAGES - 1; /* the current block, and the next one to overwrite */         \
    WEFT_ASYNC_BEGIN(WEFT_GEMM_STAGES *(4 + WEFT_GEMM_COPIES(WEFT_GEMM_WIDTH)))                              \
    WEFT_CONV_GPU_COPY(0)                                                                                    \
    WEFT_UNROLL_REGISTERS for (int ahead = 1; ahead < WEFT_GEMM_STAGES - 1; ++ahead) {                       \
        WEFT_CONV_GPU_NEXT                                                                                   \
        WEFT_CONV_GPU_COPY(ahead)                                                                            \
    }                                                                                                        \
    for (; rest != 0; --rest) {                                                                              \
        WEFT_ASYNC_WAIT(WEFT_GEMM_STAGES - 2);                                                               \
        WEFT_CONV_GPU_NEXT                                                                                   \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                        \
        WEFT_CONV_GPU_COPY(last)                                                                             \
        block = blocks + now * WEFT_CONV_GPU_BLOCK;                                                          \
        WEFT_GEMM_ADD_BLOCK(WEFT_UNROLL_STEPS(WEFT_GEMM_UNROLLED), acc, block, block + WEFT_CONV_GPU_B,      \
            WEFT_GEMM_STEP + WEFT_GEMM_ZERO)                                                                 \
        last = now;                                                                                          \
        now = now + 1 < WEFT_GEMM_STAGES ? now + 1 : 0;                                                      \
    }                                                                                                        \
    WEFT_ASYNC_WAIT(0);                                                                                      \
    barrier(CLK_LOCAL_MEM_FENCE); /* other items may have written local memory that is read next */

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) conv_##suffix
#include "alone.clh"
#endif

#include "splits_gpu.clh"

#if WEFT_GEMM_STAGES && !WEFT_OF_A(WEFT_PLAIN_)
#error "asynchronous copies convert nothing"
#endif
WEFT_REQUIRE(WEFT_NAME(items_have_a_quad), WEFT_GEMM_QUADS(WEFT_GEMM_HEIGHT) == WEFT_GEMM_ITEMS);
/* The pitch of the channels, a multiple of 4, either divides a block of 8 steps or is larger than the block. */
WEFT_REQUIRE(WEFT_NAME(steps_are_few), WEFT_GEMM_STEP == 8);

WEFT_CONV_STAGE_KERNEL(stage, WEFT_CONV_GPU_PACKED, WEFT_OF_A, WEFT_OF_A(WEFT_T_), WEFT_OF_A(WEFT_PUT_))

#define WEFT_CONV_PANEL                     float
#define WEFT_CONV_PANEL_STEP                WEFT_GEMM_STEP
#define WEFT_CONV_PANEL_PAST                (WEFT_GEMM_STEP / 4 * WEFT_GEMM_BUFFERS)
#define WEFT_CONV_PANEL_PUT(row, column, x) panels[(row)*width + (column)] = (x)
#include "conv_pack_gpu.clh"

/* The position of a tap's entry in the table. As an address it saves two instructions in a step of k on devices where adding a
 * byte offset to the table's address takes one. As a byte offset it saves a register, which tiles of 8 x 8 sums need. */
#if WEFT_COMMON_REGISTERS || WEFT_GEMM_SUMS > 2
#define WEFT_CONV_GPU_TAP        uint
#define WEFT_CONV_GPU_FIRST_TAP  0
#define WEFT_CONV_GPU_ENTRY(tap) ((__global const char *)table + (tap))
#else
#define WEFT_CONV_GPU_TAP        __global const char *
#define WEFT_CONV_GPU_FIRST_TAP  (__global const char *)table
#define WEFT_CONV_GPU_ENTRY(tap) (tap)
#endif

#if WEFT_SPLIT_K
#define WEFT_CONV_GPU_RESULT , __global float *sums, long sums_offset, int groups, int splits
#define WEFT_CONV_GPU_PART                                                                                   \
    const int group = (int)get_group_id(2) % groups, split = (int)get_group_id(2) / groups;                  \
    sums += sums_offset + (long)split * images * made0 * made1 * made2 * groups * filters;
/* Stores an item's sums of row i, whose position in the result is `at`. */
#define WEFT_CONV_GPU_STORE_ROW                                                                              \
    __global float *const line = sums + ((long)at.x * made2 + at.y) * (groups * filters) + group * filters;  \
    const bool whole = filters % 4 == 0 && (size_t)sums % sizeof(float4) == 0;                               \
    WEFT_UNROLL_REGISTERS for (int j = 0; j < WEFT_GEMM_COLUMNS / 4; ++j) {                                  \
        const int column = left + (j * WEFT_GEMM_ACROSS + x) * 4;                                            \
        if (at.x >= 0)                                                                                       \
            WEFT_SPLIT_STORE_QUAD(                                                                           \
                line + column, acc[i / 4 * (WEFT_GEMM_COLUMNS / 4) + j][i % 4], filters - column, whole)     \
    }
#else
#define WEFT_CONV_GPU_STORE_ROW                                                                              \
    WEFT_UNROLL_REGISTERS for (int j = 0; j < WEFT_GEMM_COLUMNS / 4; ++j) {                                  \
        const int column = left + (j * WEFT_GEMM_ACROSS + x) * 4;                                            \
        if (at.x >= 0)                                                                                       \
            WEFT_TILE_STORE_QUAD(acc[i / 4 * (WEFT_GEMM_COLUMNS / 4) + j][i % 4], at.x, at.y,                \
                group *filters + column, filters - column)                                                   \
    }
#define WEFT_CONV_GPU_PART   const int group = (int)get_group_id(2), split = 0, splits = 1;
#define WEFT_CONV_GPU_RESULT WEFT_EPILOGUE_PARAMETERS
#endif

/* Work-group (columns, phase and rows, split and group). channel_step, channel_end, tap_step and panel_step are bytes; the
 * image's offset counts units of `unit` elements. The positions of rows in the result are in local memory: each is computed once
 * in a group, and takes no register from the sums. */
__kernel WEFT_GEMM_GROUP void WEFT_NAME(tiles)(WEFT_OPERANDS_A *image, long image_offset,
    __global const float *panels, long panels_offset, __global const int *table, long table_offset,
    uint channel_step, uint channel_end, uint tap_step, uint panel_step, int unit, int row_tiles,
    int panel_rows, int images, int filters, int depth, int width, int read0, int read1, int read2, int made0,
    int made1, int made2, int stride0, int stride1, int stride2, int transposed, long x_group, long x_image,
    long x0, long x1, long x2 WEFT_CONV_GPU_RESULT) {
    __local float4 blocks[WEFT_GEMM_BUFFERS * WEFT_CONV_GPU_BLOCK], *block = blocks;
    __local int2 places[WEFT_GEMM_HEIGHT];
    WEFT_GEMM_ITEM
    WEFT_CONV_GPU_PART
    const int number = (int)get_group_id(1) / row_tiles;
    const int top = (int)get_group_id(1) % row_tiles * WEFT_GEMM_HEIGHT,
              left = (int)get_group_id(0) * WEFT_GEMM_WIDTH;
    const weft_conv_gpu_phase p = weft_conv_gpu_phase_of(
        number, images, (int3)(made0, made1, made2), (int3)(stride0, stride1, stride2), transposed);
    table += table_offset;
    const int4 fact = WEFT_CONV_GPU_FACTS(table, depth)[number];
    int rest = top < p.rows ? WEFT_SPLIT_COUNT(fact.s2) : 0;
    /* A split without blocks reads the last block and does not use it. */
    const int begin = min(WEFT_SPLIT_BEGIN(fact.s2), max(fact.s2 - 1, 0)) * WEFT_GEMM_STEP;
    /* The window of this item's row, and its quad. The window of a row past the last one is outside the image. */
    const int row = top + WEFT_GEMM_ROW_OF(item, WEFT_GEMM_HEIGHT, 1),
              step = WEFT_GEMM_STEP_OF(item, WEFT_GEMM_HEIGHT, 1);
    const int4 place = weft_conv_gpu_position(&p, row);
    int3 first = place.xyz * p.in;
    WEFT_OPERANDS_A *const window = image + image_offset * unit + group * x_group + place.w * x_image +
                                    first.x * x0 + first.y * x1 + first.z * x2;
    if (row >= p.rows) first.x = INT_MIN / 4;
    uint channel = (uint)((begin + step) % depth) * (uint)sizeof(WEFT_OF_A(WEFT_T_));
    WEFT_CONV_GPU_TAP tap =
        WEFT_CONV_GPU_FIRST_TAP +
        (uint)(WEFT_CONV_GPU_ENTRIES(depth, p.out.x * p.out.y * p.out.z) + fact.s0 + (begin + step) / depth) *
            16;
    __global const char *pixel;
    float4 a_quads[1], b_quads[WEFT_GEMM_COPIES(WEFT_GEMM_WIDTH)], acc[WEFT_GEMM_SUMS][4];
    uint b_at[WEFT_GEMM_COPIES(WEFT_GEMM_WIDTH)];
    WEFT_UNROLL_REGISTERS for (int e = 0; e < WEFT_GEMM_SUMS; ++e) acc[e][0] = acc[e][1] = acc[e][2] =
        acc[e][3] = (float4)(0.0f);
    WEFT_GEMM_EACH(j, WEFT_GEMM_WIDTH)
    b_at[j] =
        (uint)(WEFT_GEMM_STEP_OF(item + j * WEFT_GEMM_ITEMS, WEFT_GEMM_WIDTH, 0) * width +
               min(WEFT_GEMM_ROW_OF(item + j * WEFT_GEMM_ITEMS, WEFT_GEMM_WIDTH, 0), width - left - 4)) *
        4;
    panels += panels_offset + ((long)group * panel_rows + fact.s1 + begin) * width + left;
    if (step == 0)
        places[WEFT_GEMM_ROW_OF(item, WEFT_GEMM_HEIGHT, 1)] = weft_conv_gpu_place(&p, row, made0, made1);
    WEFT_CONV_GPU_PIXEL(pixel, WEFT_CONV_GPU_ENTRY(tap), first, window)
#if WEFT_GEMM_STAGES
    WEFT_CONV_GPU_BLOCKS_BY_COPIES
#else
    int turn = WEFT_CONV_GPU_BLOCK * (int)sizeof(float4);
    WEFT_CONV_GPU_READ
    WEFT_CONV_GPU_PUT(block)
    barrier(CLK_LOCAL_MEM_FENCE);
    for (; rest != 0; --rest) { /* after the last block, the loads are not used */
        WEFT_CONV_GPU_NEXT
        WEFT_CONV_GPU_READ
        WEFT_GEMM_ADD_BLOCK(WEFT_UNROLL_STEPS(WEFT_GEMM_UNROLLED), acc, block, block + WEFT_CONV_GPU_B,
            WEFT_GEMM_STEP + WEFT_GEMM_ZERO)
        block = (__local float4 *)((__local char *)block + turn);
        turn = -turn;
        WEFT_CONV_GPU_PUT(block)
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#endif
    WEFT_UNROLL_REGISTERS for (int i = 0; i < WEFT_GEMM_ROWS; ++i) {
        const int2 at = places[WEFT_GEMM_ROW(i)];
        WEFT_CONV_GPU_STORE_ROW
    }
}

#undef WEFT_CONV_GPU_TAP
#undef WEFT_CONV_GPU_FIRST_TAP
#undef WEFT_CONV_GPU_ENTRY
#undef WEFT_CONV_GPU_RESULT
#undef WEFT_CONV_GPU_PART
#undef WEFT_CONV_GPU_STORE_ROW
