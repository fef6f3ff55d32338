/* conv_weight_depthwise_gpu.cl: the weight gradient of a convolution with one channel in each group, for devices of class gpu. x is
 * the image, y the gradient of the result.
 *
 *     x (images, image..., channels)   y (images, result..., channels)
 *     -> w (channels, 1, taps...): w[c][k] = sum over positions (image, o) of
 *        x[image][o * stride + k * dilation - before][c] * y[image][o][c]
 *
 * sums: a work-item holds the sums of a block of taps of a quad of channels in registers: LINES rows of TAPS taps, usually all that
 * exist. It adds the products of some of the tiles to them. A tile is PLACES neighbouring positions of a row of y, each of which is
 * read once; in each row of x the item reads once each pixel that the positions use:
 *
 *     y, a quad of channels each         y0 y1 y2 y3            4 reads
 *     pixels of a row of x               p0 p1 p2 p3 p4 p5      6 reads a row of taps
 *     tap 0                              *  *  *  *
 *     tap 1                                 *  *  *  *          48 multiply-adds
 *     tap 2                                    *  *  *  *
 *
 * A group has WIDE items along channels; the other items (walkers) take tiles in turn. Tiles are ordered as (image, outer axis,
 * block of strips, row, strip), so that a group walks down a column of rows, and its caches hold what windows share. At the end the
 * sums of items with the same channels are added up in local memory, in the order of the items, and the group stores its sums.
 * combine: adds the splits of an element in their order. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) conv_weight_##suffix
#ifndef WEFT_DEPTHWISE_STRIDE
#define WEFT_DEPTHWISE_STRIDE 1
#endif
#define WEFT_DEPTHWISE_PLACES   4
#define WEFT_DEPTHWISE_TAPS     3
#define WEFT_DEPTHWISE_LINES    3
#define WEFT_DEPTHWISE_DILATION 1
#define WEFT_DEPTHWISE_WIDE     8
#include "alone.clh"
#endif

#include "conv_depthwise_gpu.clh"

#define WEFT_DEPTHWISE_MEETS(j, r, tap) ((r)*WEFT_DEPTHWISE_STRIDE + (tap)*WEFT_DEPTHWISE_DILATION == (j))
#define WEFT_DEPTHWISE_PIXELS                                                                                \
    ((WEFT_DEPTHWISE_PLACES - 1) * WEFT_DEPTHWISE_STRIDE +                                                   \
        (WEFT_DEPTHWISE_TAPS - 1) * WEFT_DEPTHWISE_DILATION + 1)
#define WEFT_DEPTHWISE_WALKERS (WEFT_DEPTHWISE_GROUP / WEFT_DEPTHWISE_WIDE)
#define WEFT_DEPTHWISE_BLOCK   (WEFT_DEPTHWISE_LINES * WEFT_DEPTHWISE_TAPS)
#define WEFT_DEPTHWISE_ACROSS  (WEFT_DEPTHWISE_WIDE * WEFT_DEPTHWISE_LANES)

/* The position of a tile: the image, the indices along the outer axes, the block of strips, and the strip in the block. */
#ifndef WEFT_WEIGHT_DEPTHWISE_GPU
#define WEFT_WEIGHT_DEPTHWISE_GPU
typedef struct weft_depthwise_tile {
    int image, o0, block, o1, strip;
} weft_depthwise_tile;

static weft_depthwise_tile weft_depthwise_tile_of(int at, int strips, int result1, int blocks, int result0) {
    const int row = at / strips, column = row / result1, plane = column / blocks;
    return (weft_depthwise_tile){
        plane / result0, plane % result0, column % blocks, row % result1, at % strips};
}

/* The tile `count` strips after this one. */
static weft_depthwise_tile weft_depthwise_tile_after(
    weft_depthwise_tile tile, int count, int strips, int result1, int blocks, int result0) {
    tile.strip += count;
    while (tile.strip >= strips) {
        tile.strip -= strips;
        if (++tile.o1 < result1) continue;
        tile.o1 = 0;
        if (++tile.block < blocks) continue;
        tile.block = 0;
        if (++tile.o0 < result0) continue;
        tile.o0 = 0;
        ++tile.image;
    }
    return tile;
}
#endif

/* Adds up the sums of items with the same channels, and stores them. `channels` channels and `lines` rows of `width` taps exist
 * from the group's first ones on; the group can have more. */
static inline void WEFT_NAME(add_up)(__local const float *parts, __global float *sums, int item, int channels,
    int lines, int width, int taps) {
    for (int e = item; e < WEFT_DEPTHWISE_ACROSS * WEFT_DEPTHWISE_BLOCK; e += WEFT_DEPTHWISE_GROUP) {
        const int tap = e % WEFT_DEPTHWISE_BLOCK, own = e / WEFT_DEPTHWISE_BLOCK;
        const int line = tap / WEFT_DEPTHWISE_TAPS;
        if (own >= channels || line >= lines) continue;
        __local const float *part = parts + tap * WEFT_DEPTHWISE_WALKERS * WEFT_DEPTHWISE_ACROSS + own;
        float sum = part[0];
        for (int i = 1; i < WEFT_DEPTHWISE_WALKERS; ++i) sum += part[i * WEFT_DEPTHWISE_ACROSS];
        sums[(long)own * taps + line * width + tap % WEFT_DEPTHWISE_TAPS] = sum;
    }
}

/* Work-group (channels, block of taps, split). A split has `share` of the `tiles` tiles; a row has `blocks` blocks of `strips`
 * strips; a row of taps has `chunks` blocks of taps. */
__kernel __attribute__((reqd_work_group_size(WEFT_DEPTHWISE_GROUP, 1, 1))) WEFT_NARROW void WEFT_NAME(sums)(
    WEFT_OPERANDS_A *x, long x_offset, WEFT_OPERANDS_B *y, long y_offset, __global float *sums,
    long sums_offset, int tiles, int share, int strips, int blocks, int chunks, int images, int channels,
    int filters, int groups, int image0, int image1, int image2, int result0, int result1, int result2,
    int taps0, int taps1, int taps2, int stride0, int stride1, int stride2, int dilation0, int dilation1,
    int dilation2, int before0, int before1, int before2) {
    __local WEFT_DEPTHWISE_VALUE parts[WEFT_DEPTHWISE_BLOCK * WEFT_DEPTHWISE_GROUP];
    const int item = (int)get_local_id(0), walker = item / WEFT_DEPTHWISE_WIDE;
    const int first_channel = (int)get_group_id(0) * WEFT_DEPTHWISE_ACROSS;
    const int channel = first_channel + item % WEFT_DEPTHWISE_WIDE * WEFT_DEPTHWISE_LANES;
    const int line = (int)get_group_id(1) / chunks * WEFT_DEPTHWISE_LINES,
              tap2 = (int)get_group_id(1) % chunks * WEFT_DEPTHWISE_TAPS;
    const int begin = (int)get_group_id(2) * share, end = channel < groups ? min(tiles, begin + share) : 0;
    const int size_x = (int)sizeof(WEFT_OF_A(WEFT_T_)), size_y = (int)sizeof(WEFT_OF_B(WEFT_T_));
    const WEFT_DEPTHWISE_OFFSET step_x = (WEFT_DEPTHWISE_OFFSET)groups * size_x,
                                step_y = (WEFT_DEPTHWISE_OFFSET)groups * size_y;
    WEFT_DEPTHWISE_VALUE acc[WEFT_DEPTHWISE_LINES][WEFT_DEPTHWISE_TAPS];
    WEFT_UNROLL for (int n = 0; n < WEFT_DEPTHWISE_LINES; ++n) {
        WEFT_UNROLL for (int t = 0; t < WEFT_DEPTHWISE_TAPS; ++t) acc[n][t] = 0.0f;
    }
    int reach0[WEFT_DEPTHWISE_LINES], reach1[WEFT_DEPTHWISE_LINES];
    WEFT_UNROLL for (int n = 0; n < WEFT_DEPTHWISE_LINES; ++n) {
        reach0[n] = (line + n) / taps1 * dilation0 - before0;
        reach1[n] = (line + n) % taps1 * dilation1 - before1;
    }
    x += x_offset;
    y += y_offset;
    weft_depthwise_tile tile = weft_depthwise_tile_of(begin + walker, strips, result1, blocks, result0);
    for (int number = begin + walker; number < end; number += WEFT_DEPTHWISE_WALKERS) {
        const int o2 = (tile.block * strips + tile.strip) * WEFT_DEPTHWISE_PLACES;
        if (o2 < result2) {
            const int i2 = o2 * stride2 + tap2 * dilation2 - before2;
            const WEFT_DEPTHWISE_OFFSET image = tile.image, own_y = channel * size_y,
                                        own_x = channel * size_x;
            const WEFT_DEPTHWISE_OFFSET from_y =
                ((image * result0 + tile.o0) * result1 + tile.o1) * result2 * step_y + own_y;
            WEFT_DEPTHWISE_VALUE slope[WEFT_DEPTHWISE_PLACES];
            WEFT_UNROLL for (int r = 0; r < WEFT_DEPTHWISE_PLACES; ++r) slope[r] = WEFT_DEPTHWISE_INSIDE(
                WEFT_DEPTHWISE_LOAD(WEFT_OF_B, y, from_y + WEFT_DEPTHWISE_NEAREST(o2 + r, result2) * step_y),
                o2 + r, result2);
            /* The offsets along a row are the same for all rows of x. */
            WEFT_DEPTHWISE_OFFSET along[WEFT_DEPTHWISE_PIXELS];
            WEFT_UNROLL for (int j = 0; j < WEFT_DEPTHWISE_PIXELS; ++j) along[j] =
                WEFT_DEPTHWISE_NEAREST(i2 + j, image2) * step_x + own_x;
            WEFT_UNROLL for (int n = 0; n < WEFT_DEPTHWISE_LINES; ++n) {
                const int i0 = tile.o0 * stride0 + reach0[n], i1 = tile.o1 * stride1 + reach1[n];
                if ((uint)i0 < (uint)image0 && (uint)i1 < (uint)image1) {
                    const WEFT_DEPTHWISE_OFFSET from_x =
                        ((image * image0 + i0) * image1 + i1) * image2 * step_x;
                    WEFT_UNROLL for (int j = 0; j < WEFT_DEPTHWISE_PIXELS; ++j) {
                        const WEFT_DEPTHWISE_VALUE pixel = WEFT_DEPTHWISE_INSIDE(
                            WEFT_DEPTHWISE_LOAD(WEFT_OF_A, x, from_x + along[j]), i2 + j, image2);
                        WEFT_UNROLL for (int t = 0; t < WEFT_DEPTHWISE_TAPS; ++t) {
                            WEFT_UNROLL for (int r = 0; r < WEFT_DEPTHWISE_PLACES;
                                             ++r) if (WEFT_DEPTHWISE_MEETS(j, r, t)) acc[n][t] =
                                WEFT_MULTIPLY_ADD(pixel, slope[r], acc[n][t]);
                        }
                    }
                }
            }
        }
        tile = weft_depthwise_tile_after(tile, WEFT_DEPTHWISE_WALKERS, strips, result1, blocks, result0);
    }
    WEFT_UNROLL for (int n = 0; n < WEFT_DEPTHWISE_LINES; ++n) {
        WEFT_UNROLL for (int t = 0; t < WEFT_DEPTHWISE_TAPS; ++t)
            parts[(n * WEFT_DEPTHWISE_TAPS + t) * WEFT_DEPTHWISE_GROUP + item] = acc[n][t];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int taps = taps0 * taps1 * taps2;
    sums += sums_offset + ((long)get_group_id(2) * groups + first_channel) * taps + line * taps2 + tap2;
    WEFT_NAME(add_up)
    ((__local const float *)parts, sums, item, groups - first_channel, taps0 * taps1 - line, taps2, taps);
}

#define WEFT_CONV_WEIGHT_COMBINED WEFT_DEPTHWISE_GROUP
#include "conv_weight_combine_gpu.clh"
#undef WEFT_CONV_WEIGHT_COMBINED

#undef WEFT_DEPTHWISE_MEETS
#undef WEFT_DEPTHWISE_PIXELS
#undef WEFT_DEPTHWISE_WALKERS
#undef WEFT_DEPTHWISE_BLOCK
#undef WEFT_DEPTHWISE_ACROSS
