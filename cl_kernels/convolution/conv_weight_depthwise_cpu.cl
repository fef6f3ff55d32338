/* conv_weight_depthwise_cpu.cl: the weight gradient of a convolution with few channels in each group, for devices of class cpu,
 * where a work-item runs on a core with wide vectors. x is the image, y the gradient of the result. A group has WEFT_DEPTHWISE_WIDTH
 * channels and as many filters: 1, 2, 4 or 8.
 *
 *     x (images, image..., channels of all groups)   y (images, result..., filters of all groups)
 *     -> w (filters of all groups, WIDTH, taps...): w[f][j][k] = sum over images, o of
 *        x[.][o * stride + k * dilation - before][channel j of the group of f] * y[.][o][f]
 *
 * sums: a work-item (no barriers, no local memory) computes a range of the tiles; a tile is 7 neighbouring positions of a row of y.
 * For each 16 filters, each row of taps is summed in vectors and added to the split's sums[16 filters][tap][j][lane]:
 *
 *     y, 16 channels each                  y0 y1 y2 y3 y4 y5 y6           7 loads a tile
 *     pixels of a row of x                 p0 p1 p2 p3 p4 p5 p6 p7 p8     9 loads a row of taps
 *     tap 0                                *  *  *  *  *  *  *
 *     tap 1                                   *  *  *  *  *  *  *
 *     tap 2                                      *  *  *  *  *  *  *
 *
 * With several channels in a group, this is done for each of them: lane i takes channel j of the group of filter i from the pixels.
 * Neighbouring taps with stride 1 or 2 are computed in this way, three at a time; other taps load a pixel for each multiply-add. Pixels
 * outside the image, and y outside the result, are zero. combine: adds the splits up, in their order. */

#include "conv_groups_cpu.clh"

#ifndef WEFT_WEIGHT_DEPTHWISE_LINE
/* The most pixels of a row that a tile reads at once: three taps, stride 2. */
#define WEFT_WEIGHT_DEPTHWISE_LINE ((WEFT_WEIGHT_DEPTHWISE_TILE - 1) * 2 + 3)
#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix)    conv_weight_##suffix
#define WEFT_DEPTHWISE_WIDTH 1
#define WEFT_DEPTHWISE_FORMS WEFT_GROUP_ALL_FORMS
#include "alone.clh"
#endif

/* Sixteen numbers of x at `from`, of which `left` may be read; the others are zero. */
static inline float16 WEFT_NAME(load_x)(WEFT_OPERANDS_A *from, long left) {
    if (left >= 16) return WEFT_OF_A(WEFT_READ_)(from);
    float16 value = 0.0f;
    __attribute__((opencl_unroll_hint(1))) for (int i = 0; i < left; ++i)((float *)&value)[i] =
        WEFT_OF_A(WEFT_GET_)(from, i);
    return value;
}

/* Sixteen numbers of y at `from`, of which `left` may be read; the others are zero. */
static inline float16 WEFT_NAME(load_y)(WEFT_OPERANDS_B *from, long left) {
    if (left >= 16) return WEFT_OF_B(WEFT_READ_)(from);
    float16 value = 0.0f;
    __attribute__((opencl_unroll_hint(1))) for (int i = 0; i < left; ++i)((float *)&value)[i] =
        WEFT_OF_B(WEFT_GET_)(from, i);
    return value;
}

/* room[i] = pixel `index` + i * apart of a row of `read` pixels, zero outside the row. `from` is the address of pixel `index`. */
static inline void WEFT_NAME(fetch)(
    float16 *room, WEFT_OPERANDS_A *from, int count, int apart, long pixel, int index, int read, long left) {
    for (int i = 0; i < count; ++i) {
        const int at = i * apart;
        room[i] = index + at >= 0 && index + at < read
                      ? WEFT_NAME(load_x)(from + at * pixel, left - at * pixel)
                      : (float16)(0.0f);
    }
}

/* Adds the products of a tile to the sums of `taps` neighbouring taps. Pixel i is i * pixel numbers behind `from` if the tile is `inside`
 * the row, that of entry + i * hop in `edge` if it is not, or room[i] if room is not NULL. From one position to the next, the first pixel
 * advances by `across` of these pixels. */
__attribute__((always_inline)) static inline void WEFT_NAME(add)(__global float16 *sums,
    const float16 *gradient, const int taps, const int across, WEFT_OPERANDS_A *from, long pixel,
    const weft_group_edge *edge, int entry, int hop, bool inside, const float16 *room) {
    const int count = (WEFT_WEIGHT_DEPTHWISE_TILE - 1) * across + taps;
    float16 line[WEFT_WEIGHT_DEPTHWISE_LINE], own[WEFT_WEIGHT_DEPTHWISE_LINE];
    if (room) {
        WEFT_UNROLL for (int i = 0; i < count; ++i) line[i] = room[i];
    } else if (inside) {
        WEFT_UNROLL for (int i = 0; i < count; ++i) line[i] = WEFT_OF_A(WEFT_READ_)(from + i * pixel);
    } else {
        WEFT_UNROLL for (int i = 0; i < count; ++i) {
            const float16 value = WEFT_OF_A(WEFT_READ_)(from + edge->offset[entry + i * hop]);
            line[i] = as_float16(as_int16(value) & (int16)(edge->kept[entry + i * hop]));
        }
    }
    WEFT_UNROLL for (int j = 0; j < WEFT_DEPTHWISE_WIDTH; ++j) {
        WEFT_UNROLL for (int i = 0; i < count; ++i) own[i] =
            WEFT_GROUP_LANES(WEFT_DEPTHWISE_WIDTH)(line[i], j);
        WEFT_UNROLL for (int tap = 0; tap < taps; ++tap) {
            float16 sum = own[tap] * gradient[0];
            WEFT_UNROLL for (int r = 1; r < WEFT_WEIGHT_DEPTHWISE_TILE; ++r) sum =
                WEFT_MULTIPLY_ADD(own[r * across + tap], gradient[r], sum);
            sums[tap * WEFT_DEPTHWISE_WIDTH + j] += sum;
        }
    }
}

/* Work-item: one split, with `share` of the tiles. */
__kernel WEFT_ITEMS(1) void WEFT_NAME(sums)(WEFT_OPERANDS_A *x, long x_offset, WEFT_OPERANDS_B *y,
    long y_offset, __global float *sums, long sums_offset, int tiles, int share, int row_tiles, int images,
    int channels, int filters, int groups, int image0, int image1, int image2, int result0, int result1,
    int result2, int taps0, int taps1, int taps2, int stride0, int stride1, int stride2, int dilation0,
    int dilation1, int dilation2, int before0, int before1, int before2) {
    const int begin = (int)get_global_id(0) * share, end = min(tiles, begin + share);
    const int all = groups * WEFT_DEPTHWISE_WIDTH, blocks = (all + 15) / 16, taps = taps0 * taps1 * taps2;
    const long x_elements = (long)images * image0 * image1 * image2 * all,
               y_elements = (long)images * result0 * result1 * result2 * all;
    const bool near = dilation2 == 1 && stride2 <= 2;
    x += x_offset;
    y += y_offset;
    const long panel = (long)taps * WEFT_DEPTHWISE_WIDTH; /* vectors of sums for 16 filters */
    __global float16 *own =
        (__global float16 *)(sums + sums_offset) + (long)get_global_id(0) * blocks * panel;
    for (long i = 0; i < blocks * panel; ++i) own[i] = 0.0f;
    for (int tile = begin; tile < end; ++tile) {
        const int line = tile / row_tiles, o2 = tile % row_tiles * WEFT_WEIGHT_DEPTHWISE_TILE;
        const int o1 = line % result1, o0 = line / result1 % result0, image = line / result1 / result0;
        const int rows = min(WEFT_WEIGHT_DEPTHWISE_TILE, result2 - o2);
        const int i2 = o2 * stride2 - before2,
                  last = i2 + (WEFT_WEIGHT_DEPTHWISE_TILE - 1) * stride2 + (taps2 - 1) * dilation2;
        const bool inside = i2 >= 0 && last < image2;
        weft_group_edge edge;
        const bool slow = !inside && weft_group_fill_edge(&edge, near, WEFT_WEIGHT_DEPTHWISE_TILE, taps2,
                                         dilation2, stride2, i2, image2, all) > WEFT_GROUP_EDGE;
        for (int block = 0; block < blocks; ++block) {
            float16 gradient[WEFT_WEIGHT_DEPTHWISE_TILE];
            const long to = ((long)line * result2 + o2) * all + 16 * block;
            for (int r = 0; r < WEFT_WEIGHT_DEPTHWISE_TILE; ++r) {
                const long at = to + (long)r * all;
                gradient[r] = r < rows ? WEFT_NAME(load_y)(y + at, y_elements - at) : (float16)(0.0f);
            }
            for (int t0 = 0; t0 < taps0; ++t0) {
                const int i0 = o0 * stride0 + t0 * dilation0 - before0;
                if (i0 < 0 || i0 >= image0) continue;
                for (int t1 = 0; t1 < taps1; ++t1) {
                    const int i1 = o1 * stride1 + t1 * dilation1 - before1;
                    if (i1 < 0 || i1 >= image1) continue;
                    const long row = (((long)image * image0 + i0) * image1 + i1) * image2;
                    const long from = (row + i2) * all + 16 * block;
                    __global float16 *to_taps =
                        own + block * panel + (long)(t0 * taps1 + t1) * taps2 * WEFT_DEPTHWISE_WIDTH;
                    const bool whole =
                        !slow && (row + min(last, image2 - 1)) * all + 16 * block + 16 <= x_elements;
                    for (int t2 = 0; t2 < taps2;) {
                        const bool three = near && taps2 - t2 >= 3;
                        const int reach = t2 * dilation2, entry = near ? t2 : t2 * WEFT_WEIGHT_DEPTHWISE_TILE;
                        const long at = from + (long)reach * all;
                        WEFT_OPERANDS_A *pixels = x + (inside || !whole ? at : from);
                        __global float16 *to = to_taps + t2 * WEFT_DEPTHWISE_WIDTH;
                        float16 room[WEFT_WEIGHT_DEPTHWISE_LINE];
                        const float16 *given = whole ? 0 : room;
                        if (!whole) WEFT_NAME(fetch)
                        (room, pixels,
                            three ? (WEFT_WEIGHT_DEPTHWISE_TILE - 1) * stride2 + 3
                                  : WEFT_WEIGHT_DEPTHWISE_TILE,
                            three ? 1 : stride2, all, i2 + reach, image2, x_elements - at);
                        if (WEFT_DEPTHWISE_FORMS & WEFT_GROUP_STRIDE_1 && three && stride2 == 1) {
                            WEFT_NAME(add)(to, gradient, 3, 1, pixels, all, &edge, entry, 1, inside, given);
                        } else if (WEFT_DEPTHWISE_FORMS & WEFT_GROUP_STRIDE_2 && three) {
                            WEFT_NAME(add)(to, gradient, 3, 2, pixels, all, &edge, entry, 1, inside, given);
                        } else if (WEFT_DEPTHWISE_FORMS & WEFT_GROUP_SINGLE) {
                            WEFT_NAME(add)
                            (to, gradient, 1, 1, pixels, (long)stride2 * all, &edge, entry,
                                near ? stride2 : 1, inside, given);
                        }
                        t2 += three ? 3 : 1;
                    }
                }
            }
        }
    }
}

/* Work-item: 16 filters of all groups; `all` is their number. */
__kernel WEFT_ITEMS(1) void WEFT_NAME(combine)(__global const float *sums, long sums_offset,
    __global float *w, long w_offset, int splits, int all, int taps) {
    const int block = (int)get_global_id(0), lanes = min(16, all - 16 * block);
    const long panel = 16L * taps * WEFT_DEPTHWISE_WIDTH, apart = (long)get_global_size(0) * panel;
    sums += sums_offset + block * panel;
    w += w_offset + block * panel;
    for (int tap = 0; tap < taps; ++tap) {
        for (int j = 0; j < WEFT_DEPTHWISE_WIDTH; ++j) {
            for (int lane = 0; lane < lanes; ++lane) {
                float sum = 0.0f;
                for (int split = 0; split < splits; ++split)
                    sum += sums[split * apart + (tap * WEFT_DEPTHWISE_WIDTH + j) * 16 + lane];
                w[(lane * WEFT_DEPTHWISE_WIDTH + j) * taps + tap] = sum;
            }
        }
    }
}
