/* conv_gpu.cl: convolution and its data gradient for devices with many work-items and local memory.
 *
 *     image: channels side by side   w: any strides   result: whatever WEFT_STORE makes of an element
 *
 * A matrix product over windows, with the core of gemm_gpu.cl: row = position of the result, column = channel made, step
 * of k = (tap, channel read). A is never written down. Each item copies one quad of a block of A, always of the same row:
 * four channels of a pixel of one window. From block to block its channel advances by STEP, and now and then its tap,
 * whose distance from the window's first pixel stands in a table:
 *
 *       image                         block of A (128 rows, 8 steps)
 *     . . . . . .       tap (t)        item 0, 1 ->  channels c .. c + 3, c + 4 .. c + 7 of a pixel
 *     . w w w . .   ------------>    [ row 0: pixel t of its window ]
 *     . w t w . .                    [ row 1: pixel t of its window ]  <- items 2, 3
 *
 * Channels read have a pitch, a multiple of 4, and are quads at addresses that allow to read them at once: if they are not,
 * "stage" makes a copy of the image that is. So there are no bounds in the loop, but for pixels outside of the image, which
 * are read from zeros instead.
 *
 * pack: writes, once a run,
 *   panels   the weight, as B (k, columns), channels and columns up to a pitch that is a multiple of 4, with zeros; after a
 *            phase's k `spare` rows of zeros, if k is not a multiple of STEP
 *   table    for each phase its first tap among the entries, its first row of the panels, and how many blocks k has; the
 *            entries, for each tap where its pixel is, in three axes and in elements, and after a phase's last tap
 *            WEFT_CONV_GPU_PAST of none; zeros for a pixel
 *
 * The data gradient of stride s is s (s², s³) products, "phases": positions with the same remainder meet the
 * same taps, and no multiplication with a stuffed zero is done. Taps are packed phase after phase.
 *
 * With WEFT_SPLIT_K `splits` work-groups share the blocks of k of a tile: each writes its sums, [split][position of the
 * result][group and column], and the "finish" of splits_gpu.clh adds them up.
 *
 * The parameters stand in src/kernels/convolution/conv_gpu.c, the macros before an inclusion (WEFT_NAME,
 * WEFT_EPILOGUE_PARAMETERS, WEFT_STORE) in src/kernels/product/gemm.h. */

#ifndef WEFT_CONV_GPU
#define WEFT_CONV_GPU

/* Entries after a phase's last tap: as many as the block after the last one may reach. */
#define WEFT_CONV_GPU_PAST (WEFT_GEMM_STEP / 2)

/* The taps that positions of a phase meet along an axis: `count` of them; `order` taps of other phases are packed before
 * them. */
typedef struct weft_conv_gpu_axis {
    int count, order;
} weft_conv_gpu_axis;

static int weft_conv_gpu_modulo(int a, int n) {
    const int rest = a % n;
    return rest < 0 ? rest + n : rest;
}

WEFT_APART static weft_conv_gpu_axis weft_conv_gpu_taps(
    int phase, int taps, int stride, int dilation, int before, int transposed) {
    weft_conv_gpu_axis axis = {taps, 0};
    if (!transposed || stride == 1) return axis;
    axis.count = 0;
    for (int tap = 0; tap < taps; ++tap) {
        const int own = weft_conv_gpu_modulo(tap * dilation - before, stride);
        axis.order += own < phase;
        axis.count += own == phase;
    }
    return axis;
}

/* The phase of a tap, and where it stands among those of its phase. */
WEFT_APART static int2 weft_conv_gpu_number(int tap, int stride, int dilation, int before, int transposed) {
    if (!transposed || stride == 1) return (int2)(0, tap);
    const int phase = weft_conv_gpu_modulo(tap * dilation - before, stride);
    int number = 0;
    for (int other = 0; other < tap; ++other)
        number += weft_conv_gpu_modulo(other * dilation - before, stride) == phase;
    return (int2)(phase, number);
}

/* Where a tap's pixel is, from the window's first one. */
static int weft_conv_gpu_reach(int tap, int phase, int stride, int dilation, int before, int transposed) {
    return transposed ? (phase + before - tap * dilation) / stride : tap * dilation - before;
}

/* A phase: `rows` positions, size along each axis; a position's place in the result is position * out + phase, its window
 * begins around position * in. */
typedef struct weft_conv_gpu_phase {
    int3 phase, out, in, size;
    int rows;
} weft_conv_gpu_phase;

WEFT_APART static weft_conv_gpu_phase weft_conv_gpu_phase_of(
    int number, int images, int3 made, int3 stride, int transposed) {
    weft_conv_gpu_phase p;
    const int3 one = (int3)(1, 1, 1);
    p.out = transposed ? stride : one;
    p.in = transposed ? one : stride;
    p.phase = (int3)(number / p.out.z / p.out.y, number / p.out.z % p.out.y, number % p.out.z);
    p.size = (made - p.phase + p.out - 1) / p.out;
    p.rows = images * p.size.x * p.size.y * p.size.z;
    p.size = max(p.size, one); /* they divide, in a phase without positions too */
    return p;
}

/* The position of a row in its phase: axes, and the image. */
static int4 weft_conv_gpu_position(const weft_conv_gpu_phase *p, int row) {
    const int line = row / p->size.z, plane = line / p->size.y;
    return (int4)(plane % p->size.x, line % p->size.y, row % p->size.z, plane / p->size.x);
}

/* Where the table's facts begin, after zeros for a pixel; where its entries begin. */
#define WEFT_CONV_GPU_FACTS(table, depth)    ((__global int4 *)(table) + (depth) / 4)
#define WEFT_CONV_GPU_ENTRIES(depth, phases) ((depth) / 4 + (phases))

/* The pixel of a tap in the window that begins at `first`. Taps and channels are counted in bytes, so that addresses are one
 * that all items share and 32 bits of their own. */
#define WEFT_CONV_GPU_PIXEL                                                                                  \
    {                                                                                                        \
        const int4 weft_reach = *(__global const int4 *)((__global const char *)table + tap);                \
        const int3 weft_index = first + weft_reach.xyz;                                                      \
        const int weft_inside = ((uint)weft_index.x < (uint)read0) & ((uint)weft_index.y < (uint)read1) &    \
                                ((uint)weft_index.z < (uint)read2);                                          \
        pixel = weft_inside ? (__global const char *)(window + weft_reach.w) : (__global const char *)table; \
    }

#define WEFT_CONV_GPU_PACK_PARAMETERS                                                                        \
    WEFT_OPERANDS_B *w, long w_offset, __global float *panels, long panels_offset, __global int *table,      \
        long table_offset, int elements, int spares, int others, int channels, int filters, int depth,       \
        int width, int spare, int phases, int reach0, int reach1, int reach2, int taps0, int taps1,          \
        int taps2, int stride0, int stride1, int stride2, int dilation0, int dilation1, int dilation2,       \
        int before0, int before1, int before2, int transposed, long w_group, long w_filter, long w_channel,  \
        long w0, long w1, long w2
#define WEFT_CONV_GPU_PACK_NAMES                                                                             \
    w, w_offset, panels, panels_offset, table, table_offset, elements, spares, others, channels, filters,    \
        depth, width, spare, phases, reach0, reach1, reach2, taps0, taps1, taps2, stride0, stride1, stride2, \
        dilation0, dilation1, dilation2, before0, before1, before2, transposed, w_group, w_filter,           \
        w_channel, w0, w1, w2

/* An item's quads of the block of A that it has come to, and of the block of B. */
#define WEFT_CONV_GPU_READ                                                                                   \
    {                                                                                                        \
        a_quads[0] = WEFT_OF_A(WEFT_QUAD_)((WEFT_OPERANDS_A *)(pixel + channel));                            \
        WEFT_GEMM_EACH(weft_j, WEFT_GEMM_WIDTH)                                                              \
        b_quads[weft_j] = *(__global const float4 *)((__global const char *)panels + b_at[weft_j]);          \
    }

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix)                          conv_##suffix
#define WEFT_EPILOGUE_PARAMETERS                   , __global float *c, long c_batch, long c_row
#define WEFT_STORE(acc, batch, row, column, lanes) c[(batch)*c_batch + (row)*c_row + (column)] = (acc)
#define WEFT_FORMAT_A                              f32
#define WEFT_FORMAT_B                              f32
#define WEFT_CONV_ALONE
#endif

#include "splits_gpu.clh"

WEFT_REQUIRE(WEFT_NAME(items_have_a_quad), WEFT_GEMM_QUADS(WEFT_GEMM_HEIGHT) == WEFT_GEMM_ITEMS);

__kernel __attribute__((reqd_work_group_size(WEFT_CONV_GPU_PACKED, 1, 1))) void WEFT_NAME(stage)(
    WEFT_OPERANDS_A *image, long image_offset, __global float *staged, long staged_offset,
    WEFT_CONV_STAGE_PARAMETERS) {
    WEFT_OPERANDS_A *from = image + image_offset;
    __global WEFT_OF_A(WEFT_T_) *to = (__global WEFT_OF_A(WEFT_T_) *)(staged + staged_offset);
    WEFT_CONV_STAGE(WEFT_OF_A, from, to)
}

/* at.x: an element of the panels, (group, tap, channel, column); then one of the spare rows, (group, phase, row,
 * column); then phases, each with what follows its taps, and zeros. */
WEFT_APART static void WEFT_NAME(pack_item)(const int3 at, const int3 size, WEFT_CONV_GPU_PACK_PARAMETERS) {
    const int item = at.x, taps = taps0 * taps1 * taps2;
    const int rows = taps * depth + phases * spare; /* of a group's panels */
    const int column = item % width, packed = item < elements, row = item / width;
    const int t = packed ? row / depth % taps : 0, t2 = t % taps2, t1 = t / taps2 % taps1,
              t0 = t / taps2 / taps1;
    int2 n0 = weft_conv_gpu_number(t0, stride0, dilation0, before0, transposed);
    int2 n1 = weft_conv_gpu_number(t1, stride1, dilation1, before1, transposed);
    int2 n2 = weft_conv_gpu_number(t2, stride2, dilation2, before2, transposed);
    const int rest = item - elements, other = rest - spares;
    int phase = transposed ? (n0.x * stride1 + n1.x) * stride2 + n2.x : 0;
    if (!packed) {
        phase = rest < spares ? rest / width / spare % phases : min(other, phases - 1);
        if (transposed) {
            n0.x = phase / stride2 / stride1;
            n1.x = phase / stride2 % stride1;
            n2.x = phase % stride2;
        }
    }
    const weft_conv_gpu_axis a0 = weft_conv_gpu_taps(n0.x, taps0, stride0, dilation0, before0, transposed);
    const weft_conv_gpu_axis a1 = weft_conv_gpu_taps(n1.x, taps1, stride1, dilation1, before1, transposed);
    const weft_conv_gpu_axis a2 = weft_conv_gpu_taps(n2.x, taps2, stride2, dilation2, before2, transposed);
    const int first = a0.order * taps1 * taps2 + a0.count * (a1.order * taps2 + a1.count * a2.order);
    const int count = a0.count * a1.count * a2.count, top = first * depth + phase * spare;
    const int entry = first + phase * WEFT_CONV_GPU_PAST;
    __global int4 *const facts = WEFT_CONV_GPU_FACTS(table + table_offset, depth), *const entries =
                                                                                       facts + phases;
    panels += panels_offset;
    if (packed) {
        const int channel = row % depth, group = row / depth / taps;
        const int number = (n0.y * a1.count + n1.y) * a2.count + n2.y;
        panels[((long)group * rows + top + number * depth + channel) * width + column] =
            channel < channels && column < filters
                ? WEFT_OF_B(WEFT_GET_)(w, w_offset + group * w_group + column * w_filter +
                                              channel * w_channel + t0 * w0 + t1 * w1 + t2 * w2)
                : 0.0f;
        if (group + channel + column > 0) return;
        const int i0 = weft_conv_gpu_reach(t0, n0.x, stride0, dilation0, before0, transposed);
        const int i1 = weft_conv_gpu_reach(t1, n1.x, stride1, dilation1, before1, transposed);
        const int i2 = weft_conv_gpu_reach(t2, n2.x, stride2, dilation2, before2, transposed);
        entries[entry + number] = (int4)(i0, i1, i2, i0 * reach0 + i1 * reach1 + i2 * reach2);
    } else if (rest < spares) {
        const int at = rest / width, group = at / spare / phases;
        panels[((long)group * rows + top + count * depth + at % spare) * width + column] = 0.0f;
    } else if (other < others) {
        /* Nothing is read of a phase without taps; what is not there is nowhere in the image. */
        if (other < phases) {
            facts[other] =
                (int4)(entry, count > 0 ? top : 0, (count * depth + WEFT_GEMM_STEP - 1) / WEFT_GEMM_STEP, 0);
            for (int i = 0; i < WEFT_CONV_GPU_PAST; ++i) entries[entry + count + i] = (int4)(INT_MIN / 2);
        }
        if (other < depth) table[table_offset + other] = 0;
    }
}

__kernel __attribute__((reqd_work_group_size(WEFT_CONV_GPU_PACKED, 1, 1))) void WEFT_NAME(pack)(
    WEFT_CONV_GPU_PACK_PARAMETERS) {
    WEFT_NAME(pack_item)
    ((int3)((int)get_global_id(0), 0, 0), (int3)((int)get_global_size(0), 1, 1), WEFT_CONV_GPU_PACK_NAMES);
}

#if WEFT_SPLIT_K
#define WEFT_CONV_GPU_RESULT , __global float *sums, long sums_offset, int groups, int splits
#define WEFT_CONV_GPU_PART                                                                                   \
    const int group = (int)get_group_id(2) % groups, split = (int)get_group_id(2) / groups;                  \
    sums += sums_offset + (long)split * images * made0 * made1 * made2 * groups * filters;
#define WEFT_CONV_GPU_STORE(sum, line, along, column)                                                        \
    sums[((long)(line)*made2 + (along)) * (groups * filters) + (column)] = (sum)
#else
#define WEFT_CONV_GPU_PART   const int group = (int)get_group_id(2), split = 0, splits = 1;
#define WEFT_CONV_GPU_RESULT WEFT_EPILOGUE_PARAMETERS
#endif
#if WEFT_COLUMN_SUMS && !WEFT_SPLIT_K
#define WEFT_CONV_GPU_SUMS_BEGIN WEFT_TILE_SUMS_BEGIN
#define WEFT_CONV_GPU_SUMS_END   WEFT_TILE_SUMS_END(left, filters, group *filters, (int)get_group_id(1))
#define WEFT_CONV_GPU_STORE(sum, line, along, column)                                                        \
    WEFT_STORE_SUMS(sum, line, along, column, WEFT_TILE_SUMS(j))
#else
#define WEFT_CONV_GPU_SUMS_BEGIN
#define WEFT_CONV_GPU_SUMS_END
#if !WEFT_SPLIT_K
#define WEFT_CONV_GPU_STORE(sum, line, along, column) WEFT_STORE(sum, line, along, column, 1)
#endif
#endif

/* Work-group (columns, phase and rows, split and group). Steps of channels, taps and panels from block to block are
 * bytes; the image's offset counts `unit` elements. */
__kernel WEFT_GEMM_GROUP void WEFT_NAME(tiles)(WEFT_OPERANDS_A *image, long image_offset,
    __global const float *panels, long panels_offset, __global const int *table, long table_offset,
    uint channel_step, uint channel_end, uint tap_step, uint panel_step, int unit, int row_tiles,
    int panel_rows, int images, int filters, int depth, int width, int read0, int read1, int read2, int made0,
    int made1, int made2, int stride0, int stride1, int stride2, int transposed, long x_group, long x_image,
    long x0, long x1, long x2 WEFT_CONV_GPU_RESULT) {
    __local float4 a_tile[2][WEFT_GEMM_BLOCK(WEFT_GEMM_HEIGHT)], b_tile[2][WEFT_GEMM_BLOCK(WEFT_GEMM_WIDTH)];
    WEFT_GEMM_ITEM
    WEFT_CONV_GPU_PART
    const int number = (int)get_group_id(1) / row_tiles;
    const int top = (int)get_group_id(1) % row_tiles * WEFT_GEMM_HEIGHT,
              left = (int)get_group_id(0) * WEFT_GEMM_WIDTH;
    const weft_conv_gpu_phase p = weft_conv_gpu_phase_of(
        number, images, (int3)(made0, made1, made2), (int3)(stride0, stride1, stride2), transposed);
    table += table_offset;
    const int4 fact = WEFT_CONV_GPU_FACTS(table, depth)[number];
    const int blocks = top < p.rows ? WEFT_SPLIT_COUNT(fact.s2) : 0;
    /* A split without blocks reads the last one, and does not use it. */
    const int begin = min(WEFT_SPLIT_BEGIN(fact.s2), max(fact.s2 - 1, 0)) * WEFT_GEMM_STEP;
    /* The window of this item's row, and its quad; a row past the last meets nothing. */
    const int row = top + WEFT_GEMM_ROW_OF(item, WEFT_GEMM_HEIGHT, 1),
              step = WEFT_GEMM_STEP_OF(item, WEFT_GEMM_HEIGHT, 1);
    const int4 place = weft_conv_gpu_position(&p, row);
    int3 first = place.xyz * p.in;
    WEFT_OPERANDS_A *const window = image + image_offset * unit + group * x_group + place.w * x_image +
                                    first.x * x0 + first.y * x1 + first.z * x2;
    if (row >= p.rows) first.x = INT_MIN / 4;
    uint channel = (uint)((begin + step) % depth) * (uint)sizeof(WEFT_OF_A(WEFT_T_));
    uint tap =
        (uint)(WEFT_CONV_GPU_ENTRIES(depth, p.out.x * p.out.y * p.out.z) + fact.s0 + (begin + step) / depth) *
        16;
    __global const char *pixel;
    int now = 0;
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
    WEFT_CONV_GPU_PIXEL
    WEFT_CONV_GPU_READ
    WEFT_GEMM_PUT(a_tile[0], a_quads, WEFT_GEMM_HEIGHT, 1)
    WEFT_GEMM_PUT(b_tile[0], b_quads, WEFT_GEMM_WIDTH, 0)
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int block = 1; block <= blocks; ++block) { /* after the last one, what is read is not used */
        channel += channel_step;
        const uint turn = tap_step + (channel >= channel_end ? 16 : 0);
        channel = min(channel, channel - channel_end);
        tap += turn;
        if (turn) WEFT_CONV_GPU_PIXEL
        WEFT_GEMM_EACH(j, WEFT_GEMM_WIDTH)
        b_at[j] += block < blocks ? panel_step : 0;
        WEFT_CONV_GPU_READ
        WEFT_UNROLL_STEPS(WEFT_GEMM_UNROLLED)
        for (int s = 0; s < WEFT_GEMM_STEP + WEFT_GEMM_ZERO; ++s)
            WEFT_GEMM_ADD(acc, a_tile[now], b_tile[now], s) now ^= 1;
        WEFT_GEMM_PUT(a_tile[now], a_quads, WEFT_GEMM_HEIGHT, 1)
        WEFT_GEMM_PUT(b_tile[now], b_quads, WEFT_GEMM_WIDTH, 0)
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    WEFT_CONV_GPU_SUMS_BEGIN
    WEFT_UNROLL_REGISTERS for (int i = 0; i < WEFT_GEMM_ROWS; ++i) {
        const int r = top + (i / 4 * WEFT_GEMM_DOWN + y) * 4 + i % 4;
        const int4 at = weft_conv_gpu_position(&p, r);
        const int line = (at.w * made0 + at.x * p.out.x + p.phase.x) * made1 + at.y * p.out.y + p.phase.y;
        const int along = at.z * p.out.z + p.phase.z;
        WEFT_UNROLL_REGISTERS for (int j = 0; j < WEFT_GEMM_COLUMNS; ++j) {
            const int column = left + (j / 4 * WEFT_GEMM_ACROSS + x) * 4 + j % 4;
            const float sum = acc[i / 4 * (WEFT_GEMM_COLUMNS / 4) + j / 4][i % 4][j % 4];
            if (r < p.rows && column < filters)
                WEFT_CONV_GPU_STORE(sum, line, along, group * filters + column);
        }
    }
    WEFT_CONV_GPU_SUMS_END
}

#undef WEFT_CONV_GPU_RESULT
#undef WEFT_CONV_GPU_PART
#undef WEFT_CONV_GPU_STORE
#undef WEFT_CONV_GPU_SUMS_BEGIN
#undef WEFT_CONV_GPU_SUMS_END
#ifdef WEFT_CONV_ALONE
#undef WEFT_CONV_ALONE
#undef WEFT_FORMAT_A
#undef WEFT_FORMAT_B
#undef WEFT_NAME
#undef WEFT_EPILOGUE_PARAMETERS
#undef WEFT_STORE
#endif
