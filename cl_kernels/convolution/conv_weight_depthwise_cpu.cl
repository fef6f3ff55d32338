/* conv_weight_depthwise_cpu.cl: the weight gradient of a convolution with one channel in each group, for devices of class cpu,
 * where a work-item runs on a core with wide vectors. x is the image, y the gradient of the result.
 *
 *     x (images, image..., channels)   y (images, result..., channels)
 *     -> w (channels, 1, taps...): w[c][k] = sum over images, o of
 *        x[.][o * stride + k * dilation - before][c] * y[.][o][c]
 *
 * sums: a work-item (no barriers, no local memory) computes a range of the tiles; a tile is 7 neighbouring positions of a row of y.
 * For each 16 channels, each row of taps is summed in vectors and added to the split's sums[16 channels][tap][lane]:
 *
 *     y, 16 channels each                  y0 y1 y2 y3 y4 y5 y6           7 loads a tile
 *     pixels of a row of x                 p0 p1 p2 p3 p4 p5 p6 p7 p8     9 loads a row of taps
 *     tap 0                                *  *  *  *  *  *  *
 *     tap 1                                   *  *  *  *  *  *  *
 *     tap 2                                      *  *  *  *  *  *  *
 *
 * Neighbouring taps with stride 1 or 2 are computed in this way, three at a time; other taps load a pixel for each multiply-add. Pixels
 * outside the image, and y outside the result, are zero. combine: adds the splits up, in their order. */

#ifndef WEFT_WEIGHT_DEPTHWISE_LINE
/* The most pixels of a row that a tile reads at once: three taps, stride 2. */
#define WEFT_WEIGHT_DEPTHWISE_LINE ((WEFT_WEIGHT_DEPTHWISE_TILE - 1) * 2 + 3)
#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) conv_weight_##suffix
#define WEFT_FORMAT_A     f32
#define WEFT_FORMAT_B     f32
#define WEFT_CONV_WEIGHT_ALONE
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

/* Adds the products of a tile to the sums of `taps` neighbouring taps. If `whole`, pixels are read from memory: pixel `index` at `from`,
 * and further ones `apart` pixels from each other; pixels outside the row, which has `read` pixels, are zero. Otherwise the pixels are in
 * `room`. From one position to the next, the first pixel advances by `across` of these pixels. */
__attribute__((always_inline)) static inline void WEFT_NAME(add)(__global float16 *sums,
    const float16 *gradient, const int taps, const int across, WEFT_OPERANDS_A *from, long pixel, int index,
    int apart, int read, const float16 *room, bool whole) {
    const int count = (WEFT_WEIGHT_DEPTHWISE_TILE - 1) * across + taps;
    float16 line[WEFT_WEIGHT_DEPTHWISE_LINE];
    if (whole) {
        WEFT_UNROLL for (int i = 0; i < count; ++i) line[i] =
            (uint)(index + i * apart) < (uint)read ? WEFT_OF_A(WEFT_READ_)(from + i * apart * pixel)
                                                   : (float16)(0.0f);
    } else {
        WEFT_UNROLL for (int i = 0; i < count; ++i) line[i] = room[i];
    }
    WEFT_UNROLL for (int tap = 0; tap < taps; ++tap) {
        float16 sum = line[tap] * gradient[0];
        WEFT_UNROLL for (int r = 1; r < WEFT_WEIGHT_DEPTHWISE_TILE; ++r) sum =
            WEFT_MULTIPLY_ADD(line[r * across + tap], gradient[r], sum);
        sums[tap] += sum;
    }
}

/* Work-item: one split, with `share` of the tiles. */
__kernel WEFT_ITEMS(1) void WEFT_NAME(sums)(WEFT_OPERANDS_A *x, long x_offset, WEFT_OPERANDS_B *y,
    long y_offset, __global float *sums, long sums_offset, int tiles, int share, int row_tiles, int images,
    int channels, int filters, int groups, int image0, int image1, int image2, int result0, int result1,
    int result2, int taps0, int taps1, int taps2, int stride0, int stride1, int stride2, int dilation0,
    int dilation1, int dilation2, int before0, int before1, int before2) {
    const int begin = (int)get_global_id(0) * share, end = min(tiles, begin + share);
    const int blocks = (groups + 15) / 16, taps = taps0 * taps1 * taps2;
    const long x_elements = (long)images * image0 * image1 * image2 * groups,
               y_elements = (long)images * result0 * result1 * result2 * groups;
    const bool near = dilation2 == 1 && stride2 <= 2;
    x += x_offset;
    y += y_offset;
    __global float16 *all = (__global float16 *)(sums + sums_offset) + (long)get_global_id(0) * blocks * taps;
    for (int i = 0; i < blocks * taps; ++i) all[i] = 0.0f;
    for (int tile = begin; tile < end; ++tile) {
        const int line = tile / row_tiles, o2 = tile % row_tiles * WEFT_WEIGHT_DEPTHWISE_TILE;
        const int o1 = line % result1, o0 = line / result1 % result0, image = line / result1 / result0;
        const int rows = min(WEFT_WEIGHT_DEPTHWISE_TILE, result2 - o2);
        const int i2 = o2 * stride2 - before2,
                  last = i2 + (WEFT_WEIGHT_DEPTHWISE_TILE - 1) * stride2 + (taps2 - 1) * dilation2;
        for (int block = 0; block < blocks; ++block) {
            float16 gradient[WEFT_WEIGHT_DEPTHWISE_TILE];
            const long to = ((long)line * result2 + o2) * groups + 16 * block;
            for (int r = 0; r < WEFT_WEIGHT_DEPTHWISE_TILE; ++r) {
                const long at = to + (long)r * groups;
                gradient[r] = r < rows ? WEFT_NAME(load_y)(y + at, y_elements - at) : (float16)(0.0f);
            }
            for (int t0 = 0; t0 < taps0; ++t0) {
                const int i0 = o0 * stride0 + t0 * dilation0 - before0;
                if (i0 < 0 || i0 >= image0) continue;
                for (int t1 = 0; t1 < taps1; ++t1) {
                    const int i1 = o1 * stride1 + t1 * dilation1 - before1;
                    if (i1 < 0 || i1 >= image1) continue;
                    const long row = (((long)image * image0 + i0) * image1 + i1) * image2;
                    const long from = (row + i2) * groups + 16 * block;
                    __global float16 *to_taps = all + (long)block * taps + (t0 * taps1 + t1) * taps2;
                    const bool whole = (row + min(last, image2 - 1)) * groups + 16 * block + 16 <= x_elements;
                    for (int t2 = 0; t2 < taps2;) {
                        const bool three = near && taps2 - t2 >= 3;
                        const int reach = t2 * dilation2;
                        const long at = from + (long)reach * groups;
                        float16 room[WEFT_WEIGHT_DEPTHWISE_LINE];
                        if (!whole) WEFT_NAME(fetch)
                        (room, x + at,
                            three ? (WEFT_WEIGHT_DEPTHWISE_TILE - 1) * stride2 + 3
                                  : WEFT_WEIGHT_DEPTHWISE_TILE,
                            three ? 1 : stride2, groups, i2 + reach, image2, x_elements - at);
                        if (three && stride2 == 1) {
                            WEFT_NAME(add)
                            (to_taps + t2, gradient, 3, 1, x + at, groups, i2 + reach, 1, image2, room,
                                whole);
                        } else if (three) {
                            WEFT_NAME(add)
                            (to_taps + t2, gradient, 3, 2, x + at, groups, i2 + reach, 1, image2, room,
                                whole);
                        } else {
                            WEFT_NAME(add)
                            (to_taps + t2, gradient, 1, 1, x + at, groups, i2 + reach, stride2, image2, room,
                                whole);
                        }
                        t2 += three ? 3 : 1;
                    }
                }
            }
        }
    }
}

/* Work-item: 16 channels. */
__kernel WEFT_ITEMS(1) void WEFT_NAME(combine)(__global const float *sums, long sums_offset,
    __global float *w, long w_offset, int splits, int groups, int taps) {
    const int block = (int)get_global_id(0), lanes = min(16, groups - 16 * block);
    const long all = (long)get_global_size(0) * taps * 16;
    sums += sums_offset + (long)block * taps * 16;
    w += w_offset + 16L * block * taps;
    for (int tap = 0; tap < taps; ++tap) {
        for (int lane = 0; lane < lanes; ++lane) {
            float sum = 0.0f;
            for (int split = 0; split < splits; ++split) sum += sums[split * all + tap * 16 + lane];
            w[lane * taps + tap] = sum;
        }
    }
}

#ifdef WEFT_CONV_WEIGHT_ALONE
#undef WEFT_CONV_WEIGHT_ALONE
#undef WEFT_FORMAT_A
#undef WEFT_FORMAT_B
#undef WEFT_NAME
#endif
