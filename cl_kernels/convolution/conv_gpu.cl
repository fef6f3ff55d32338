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

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) conv_##suffix
#include "alone.clh"
#endif

#include "gemm_tile_gpu.clh"
#include "splits_gpu.clh"

#if WEFT_GEMM_STAGES && !WEFT_OF_A(WEFT_PLAIN_)
#error "asynchronous copies convert nothing"
#endif
WEFT_REQUIRE(WEFT_NAME(items_have_a_quad), WEFT_GEMM_QUADS(WEFT_GEMM_HEIGHT) == WEFT_GEMM_ITEMS);
/* The pitch of the channels, a multiple of 4, either divides a block of 8 steps or is larger than the block. */
WEFT_REQUIRE(WEFT_NAME(steps_are_few), WEFT_GEMM_STEP == 8);

#define WEFT_STAGE       WEFT_NAME(stage)
#define WEFT_STAGE_OF    WEFT_OF_A
#define WEFT_STAGE_ITEMS WEFT_CONV_GPU_PACKED
#include "conv_stage_gpu.clh"

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

/* The address of the pixel of the tap whose entry is at `entry`, in the window that begins at index `first` and address `window`. Channels
 * are counted in bytes, so that an address is the sum of a base that all items share and 32 bits of the item. */
static inline __global const char *WEFT_NAME(find_pixel)(
    __global const char *entry, int3 first, WEFT_OPERANDS_A *window, int3 read, __global const int *none) {
    const int4 reach = *(__global const int4 *)entry;
    const int3 at = first + reach.xyz;
    const int inside = WEFT_CONV_GPU_INSIDE(at, read);
    const uint2 there = as_uint2((ulong)(window + reach.w)), other = as_uint2((ulong)none);
    return WEFT_CONV_GPU_SELECT(inside, there, other);
}

/* An item's place in the image and in the panels: its channel, in bytes; its tap, and the tap's pixel in the item's window; and its quads of
 * the panels, in bytes. */
typedef struct WEFT_NAME(walk) {
    uint channel;
    WEFT_CONV_GPU_TAP tap;
    __global const char *pixel;
    uint b_at[WEFT_GEMM_COPIES(WEFT_GEMM_WIDTH)];
} WEFT_NAME(walk);

/* What the walks of all items have in common: the steps of channels, taps and panels, in bytes, and the image's size; and the item's window. */
typedef struct WEFT_NAME(steps) {
    uint channel_step, channel_end, tap_step, panel_step;
    int3 read, first;
    WEFT_OPERANDS_A *window;
    __global const int *table;
} WEFT_NAME(steps);

/* Advances to the next block: the item's channel, at the end of the channels its tap and pixel, and its offsets in the panels. */
static inline void WEFT_NAME(advance)(WEFT_NAME(walk) * at, const WEFT_NAME(steps) * s) {
    __global const int *const table = s->table;
    at->channel += s->channel_step;
    const int at_end = at->channel >= s->channel_end;
    at->channel = min(at->channel, at->channel - s->channel_end);
    if (at_end) {
        at->tap += s->tap_step;
        at->pixel = WEFT_NAME(find_pixel)(WEFT_CONV_GPU_ENTRY(at->tap), s->first, s->window, s->read, table);
    }
    WEFT_UNROLL_REGISTERS for (int j = 0; j < WEFT_GEMM_COPIES(WEFT_GEMM_WIDTH); ++j) at->b_at[j] +=
        s->panel_step;
}

#if WEFT_GEMM_STAGES
/* Begins to copy a block. */
__attribute__((always_inline)) static inline void WEFT_NAME(copy)(weft_async *copies, __local float4 *block,
    const WEFT_NAME(walk) * at, __global const float *panels, int item) {
    const uint none[1] = {0};
    WEFT_NAME(copy_a)(copies, block, at->pixel + at->channel, none, 1, 1, item);
    WEFT_NAME(copy_b)(copies, block + WEFT_CONV_GPU_B, panels, at->b_at, 1, 0, item);
    WEFT_ASYNC_COMMIT(copies);
}
#else
/* Loads an item's quads of a block into registers. */
static inline void WEFT_NAME(read)(
    float4 *a_quads, float4 *b_quads, const WEFT_NAME(walk) * at, __global const float *panels, int item) {
    a_quads[0] = WEFT_OF_A(WEFT_QUAD_)((WEFT_OPERANDS_A *)(at->pixel + at->channel));
    WEFT_UNROLL_REGISTERS for (int j = 0; j < WEFT_GEMM_COPIES(WEFT_GEMM_WIDTH); ++j) {
        if (WEFT_GEMM_HAS(item, j, WEFT_GEMM_WIDTH))
            b_quads[j] = *(__global const float4 *)((__global const char *)panels + at->b_at[j]);
    }
}

/* Stores them in local memory. */
__attribute__((always_inline)) static inline void WEFT_NAME(put)(
    __local float4 *block, const float4 *a_quads, const float4 *b_quads, int item) {
    WEFT_NAME(put_a)(block, a_quads, 1, item);
    WEFT_NAME(put_b)(block + WEFT_CONV_GPU_B, b_quads, 0, item);
}
#endif

/* Adds the products of `rest` blocks to the sums.
 *
 * With asynchronous copies STAGES - 1 blocks are in flight before the first is multiplied, and as many are copied after the last one, which
 * nothing uses. An item waits for its own copies; the barrier after the wait waits for the copies of all items, and until no item reads the
 * block that the next copies overwrite. Without them, the loads after the last block are not used. */
__attribute__((always_inline)) static inline void WEFT_NAME(multiply)(float4 (*acc)[4],
    __local float4 *blocks, WEFT_NAME(walk) at, const WEFT_NAME(steps) * s, __global const float *panels,
    int rest, int x, int y) {
    const int item = y * WEFT_GEMM_ACROSS + x, steps = WEFT_GEMM_STEP + WEFT_GEMM_ZERO;
    __local float4 *block = blocks;
#if WEFT_GEMM_STAGES
    int now = 0, last = WEFT_GEMM_STAGES - 1; /* the current block, and the next one to overwrite */
    WEFT_ASYNC(copies, WEFT_GEMM_STAGES * (4 + WEFT_GEMM_COPIES(WEFT_GEMM_WIDTH)));
    WEFT_NAME(copy)(copies, blocks, &at, panels, item);
    WEFT_UNROLL_REGISTERS for (int ahead = 1; ahead < WEFT_GEMM_STAGES - 1; ++ahead) {
        WEFT_NAME(advance)(&at, s);
        WEFT_NAME(copy)(copies, blocks + ahead * WEFT_CONV_GPU_BLOCK, &at, panels, item);
    }
    for (; rest != 0; --rest) {
        WEFT_ASYNC_WAIT(copies, WEFT_GEMM_STAGES - 2);
        WEFT_NAME(advance)(&at, s);
        barrier(CLK_LOCAL_MEM_FENCE);
        WEFT_NAME(copy)(copies, blocks + last * WEFT_CONV_GPU_BLOCK, &at, panels, item);
        block = blocks + now * WEFT_CONV_GPU_BLOCK;
        WEFT_NAME(add_block)(acc, block, block + WEFT_CONV_GPU_B, steps, x, y);
        last = now;
        now = now + 1 < WEFT_GEMM_STAGES ? now + 1 : 0;
    }
    WEFT_ASYNC_WAIT(copies, 0);
    barrier(CLK_LOCAL_MEM_FENCE); /* other items may have written local memory that is read next */
#else
    float4 a_quads[1], b_quads[WEFT_GEMM_COPIES(WEFT_GEMM_WIDTH)];
    int turn = WEFT_CONV_GPU_BLOCK * (int)sizeof(float4);
    WEFT_NAME(read)(a_quads, b_quads, &at, panels, item);
    WEFT_NAME(put)(block, a_quads, b_quads, item);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (; rest != 0; --rest) {
        WEFT_NAME(advance)(&at, s);
        WEFT_NAME(read)(a_quads, b_quads, &at, panels, item);
        WEFT_NAME(add_block)(acc, block, block + WEFT_CONV_GPU_B, steps, x, y);
        block = (__local float4 *)((__local char *)block + turn);
        turn = -turn;
        WEFT_NAME(put)(block, a_quads, b_quads, item);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#endif
}

#if WEFT_SPLIT_K
#define WEFT_CONV_GPU_RESULT , __global float *sums, long sums_offset, int groups, int splits
#else
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
    __local float4 blocks[WEFT_GEMM_BUFFERS * WEFT_CONV_GPU_BLOCK];
    __local int2 places[WEFT_GEMM_HEIGHT];
    const int x = WEFT_GEMM_X, y = WEFT_GEMM_Y, item = y * WEFT_GEMM_ACROSS + x;
#if WEFT_SPLIT_K
    const int group = (int)get_group_id(2) % groups, split = (int)get_group_id(2) / groups;
    sums += sums_offset + (long)split * images * made0 * made1 * made2 * groups * filters;
    const bool whole = filters % 4 == 0 && (size_t)sums % sizeof(float4) == 0;
#else
    const int group = (int)get_group_id(2), split = 0, splits = 1;
#endif
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
    const WEFT_NAME(steps) steps = {
        channel_step, channel_end, tap_step, panel_step, (int3)(read0, read1, read2), first, window, table};
    WEFT_NAME(walk) at;
    at.channel = (uint)((begin + step) % depth) * (uint)sizeof(WEFT_OF_A(WEFT_T_));
    at.tap = WEFT_CONV_GPU_FIRST_TAP + (uint)(WEFT_CONV_GPU_ENTRIES(depth, p.out.x * p.out.y * p.out.z) +
                                              fact.s0 + (begin + step) / depth) *
                                           16;
    at.pixel = WEFT_NAME(find_pixel)(WEFT_CONV_GPU_ENTRY(at.tap), first, window, steps.read, table);
    WEFT_NAME(find_panels)(at.b_at, width, width - left - 4, item);
    WEFT_UNROLL_REGISTERS for (int j = 0; j < WEFT_GEMM_COPIES(WEFT_GEMM_WIDTH); ++j) at.b_at[j] *= 4;
    float4 acc[WEFT_GEMM_SUMS][4];
    WEFT_NAME(clear)(acc);
    panels += panels_offset + ((long)group * panel_rows + fact.s1 + begin) * width + left;
    if (step == 0)
        places[WEFT_GEMM_ROW_OF(item, WEFT_GEMM_HEIGHT, 1)] = weft_conv_gpu_place(&p, row, made0, made1);
    WEFT_NAME(multiply)(acc, blocks, at, &steps, panels, rest, x, y);
    WEFT_UNROLL_REGISTERS for (int i = 0; i < WEFT_GEMM_ROWS; ++i) {
        const int2 to = places[WEFT_GEMM_ROW(i)];
        WEFT_UNROLL_REGISTERS for (int j = 0; j < WEFT_GEMM_COLUMNS / 4; ++j) {
            const float4 quad = acc[i / 4 * (WEFT_GEMM_COLUMNS / 4) + j][i % 4];
            const int column = left + (j * WEFT_GEMM_ACROSS + x) * 4;
            if (to.x < 0) continue;
#if WEFT_SPLIT_K
            weft_split_store_quad(
                sums + ((long)to.x * made2 + to.y) * (groups * filters) + group * filters + column, quad,
                filters - column, whole);
#else
            WEFT_TILE_STORE_QUAD(quad, to.x, to.y, group * filters + column, filters - column)
#endif
        }
    }
}

#undef WEFT_CONV_GPU_TAP
#undef WEFT_CONV_GPU_FIRST_TAP
#undef WEFT_CONV_GPU_ENTRY
#undef WEFT_CONV_GPU_RESULT
