/* conv_weight_gpu.cl: the weight's gradient of a convolution for devices with many work-items and local
 * memory.
 *
 *     x (images, image..., groups * channels)   y (images, result..., groups * filters)
 *     -> w (groups * filters, channels, taps...): w[f][c][k] = sum over positions (image, o) of
 *        x[image][o * stride + k * dilation - before][c] * y[image][o][f]
 *
 * A matrix product: row = filter, column = (tap, channel), step of k = position. There are few tiles of it
 * and many steps, so positions are divided among splits, each with sums of its own:
 *
 * tiles: a work-group of GROUP x GROUP items owns a tile of filters and columns, MICRO x MICRO of them per
 * item, and a share of the positions. It walks them STEP at a time. With GROUP 16 and MICRO 4, item (x, y)
 * loads position y for the columns x, x + 16, x + 32, x + 48, whose taps and channels are computed once, and
 * for as many filters; its position advances by 16.
 *
 *         x tile (16 positions, 64 columns)
 *              +----------------+
 *     y tile  |   .   .   .   .|  tap t, channels c ..
 *    (16, 64)  +----------------+
 *     +----+   +----------------+
 *     |  f |   |   w   w   w   w|  item: 4 x 4 elements of w, 16 apart
 *     +----+   +----------------+
 *
 * MICRO 1 is for few filters or columns. The parameters stand in src/kernels/convolution/conv_weight_gpu.c.
 * combine: adds the splits of an element in their order. */

#ifndef WEFT_CONV_WEIGHT_GPU
#define WEFT_CONV_WEIGHT_GPU

WEFT_REQUIRE(weft_conv_weight_items_are_steps, WEFT_CONV_WEIGHT_STEP == WEFT_CONV_WEIGHT_GROUP);

/* One word more than the tile, so that columns of a tile lie in different banks. */
#define WEFT_CONV_WEIGHT_ROOM (WEFT_CONV_WEIGHT_STEP * (WEFT_CONV_WEIGHT_GROUP * WEFT_CONV_WEIGHT_MICRO + 1))

typedef struct weft_conv_weight_problem {
    int images, channels, filters, groups, group, begin, end; /* positions of the split */
    int3 image, result, taps, stride, dilation, before;
} weft_conv_weight_problem;

#define WEFT_CONV_WEIGHT_PARAMETERS                                                                          \
    WEFT_OPERANDS_A *x, long x_offset, WEFT_OPERANDS_B *y, long y_offset, __global float *sums,              \
        long sums_offset, int positions, int length, int images, int channels, int filters, int groups,      \
        int image0, int image1, int image2, int result0, int result1, int result2, int taps0, int taps1,     \
        int taps2, int stride0, int stride1, int stride2, int dilation0, int dilation1, int dilation2,       \
        int before0, int before1, int before2
#define WEFT_CONV_WEIGHT_PROBLEM(split)                                                                      \
    {                                                                                                        \
        images, channels, filters, groups, (int)get_group_id(2) % groups, (split)*length,                    \
            min(positions, (split)*length + length), (int3)(image0, image1, image2),                         \
            (int3)(result0, result1, result2), (int3)(taps0, taps1, taps2),                                  \
            (int3)(stride0, stride1, stride2), (int3)(dilation0, dilation1, dilation2),                      \
            (int3)(before0, before1, before2)                                                                \
    }

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) conv_weight_##suffix
#define WEFT_FORMAT_A     f32
#define WEFT_FORMAT_B     f32
#define WEFT_CONV_WEIGHT_ALONE
#endif

/* w[filter][channel][tap] of a tile, over the positions of a split. */
__attribute__((always_inline)) static inline void WEFT_NAME(tile)(__local float *x_tile,
    __local float *y_tile, WEFT_OPERANDS_A *x, WEFT_OPERANDS_B *y, __global float *sums,
    const weft_conv_weight_problem *w, int top, int left) {
    const int lx = (int)get_local_id(0), ly = (int)get_local_id(1),
              width = WEFT_CONV_WEIGHT_GROUP * WEFT_CONV_WEIGHT_MICRO;
    const int taps = w->taps.x * w->taps.y * w->taps.z, columns = taps * w->channels;
    const long x_step = (long)w->groups * w->channels, y_step = (long)w->groups * w->filters;
    x += (long)w->group * w->channels;
    y += (long)w->group * w->filters + top;
    float acc[WEFT_CONV_WEIGHT_MICRO][WEFT_CONV_WEIGHT_MICRO];
    int3 reach[WEFT_CONV_WEIGHT_MICRO]; /* from a window's first pixel to the column's */
    long further[WEFT_CONV_WEIGHT_MICRO];
    WEFT_UNROLL for (int i = 0; i < WEFT_CONV_WEIGHT_MICRO; ++i) {
        const int column = left + lx + WEFT_CONV_WEIGHT_GROUP * i, tap = column / w->channels,
                  line = tap / w->taps.z;
        reach[i] = (int3)(line / w->taps.y, line % w->taps.y, tap % w->taps.z) * w->dilation - w->before;
        further[i] = (((long)reach[i].x * w->image.y + reach[i].y) * w->image.z + reach[i].z) * x_step +
                     column % w->channels;
        WEFT_UNROLL for (int j = 0; j < WEFT_CONV_WEIGHT_MICRO; ++j) acc[i][j] = 0.0f;
    }
    int position = w->begin + ly;
    int3 at;
    at.z = position % w->result.z;
    at.y = position / w->result.z % w->result.y;
    at.x = position / w->result.z / w->result.y % w->result.x;
    int image = position / w->result.z / w->result.y / w->result.x;
    for (int start = w->begin; start < w->end; start += WEFT_CONV_WEIGHT_STEP) {
        const bool some = position < w->end;
        const int3 first = at * w->stride;
        const long from =
            (((long)image * w->image.x + first.x) * w->image.y + first.y) * w->image.z + first.z;
        WEFT_UNROLL for (int i = 0; i < WEFT_CONV_WEIGHT_MICRO; ++i) {
            const int column = lx + WEFT_CONV_WEIGHT_GROUP * i;
            const int3 index = first + reach[i];
            const bool inside = some && left + column < columns && index.x >= 0 && index.x < w->image.x &&
                                index.y >= 0 && index.y < w->image.y && index.z >= 0 && index.z < w->image.z;
            x_tile[ly * (width + 1) + column] =
                inside ? WEFT_OF_A(WEFT_GET_)(x, from * x_step + further[i]) : 0.0f;
            y_tile[ly * (width + 1) + column] = some && top + column < w->filters
                                                    ? WEFT_OF_B(WEFT_GET_)(y, position * y_step + column)
                                                    : 0.0f;
        }
        position += WEFT_CONV_WEIGHT_STEP;
        at.z += WEFT_CONV_WEIGHT_STEP;
        while (at.z >= w->result.z) {
            at.z -= w->result.z;
            if (++at.y < w->result.y) continue;
            at.y = 0;
            if (++at.x < w->result.x) continue;
            at.x = 0;
            ++image;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int step = 0; step < WEFT_CONV_WEIGHT_STEP; ++step) {
            float from_y[WEFT_CONV_WEIGHT_MICRO];
            WEFT_UNROLL for (int i = 0; i < WEFT_CONV_WEIGHT_MICRO; ++i) from_y[i] =
                y_tile[step * (width + 1) + ly + WEFT_CONV_WEIGHT_GROUP * i];
            WEFT_UNROLL for (int j = 0; j < WEFT_CONV_WEIGHT_MICRO; ++j) {
                const float from_x = x_tile[step * (width + 1) + lx + WEFT_CONV_WEIGHT_GROUP * j];
                WEFT_UNROLL for (int i = 0; i < WEFT_CONV_WEIGHT_MICRO; ++i) acc[i][j] =
                    WEFT_MULTIPLY_ADD(from_y[i], from_x, acc[i][j]);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    WEFT_UNROLL for (int j = 0; j < WEFT_CONV_WEIGHT_MICRO; ++j) {
        const int column = left + lx + WEFT_CONV_WEIGHT_GROUP * j, tap = column / w->channels,
                  channel = column % w->channels;
        WEFT_UNROLL for (int i = 0; i < WEFT_CONV_WEIGHT_MICRO; ++i) {
            const int filter = top + ly + WEFT_CONV_WEIGHT_GROUP * i;
            if (column < columns && filter < w->filters)
                sums[((long)(w->group * w->filters + filter) * w->channels + channel) * taps + tap] =
                    acc[i][j];
        }
    }
}

/* Work-group (columns, filters, split and group). */
__kernel __attribute__((reqd_work_group_size(WEFT_CONV_WEIGHT_GROUP, WEFT_CONV_WEIGHT_GROUP, 1))) void
WEFT_NAME(tiles)(WEFT_CONV_WEIGHT_PARAMETERS) {
    __local float x_tile[WEFT_CONV_WEIGHT_ROOM], y_tile[WEFT_CONV_WEIGHT_ROOM];
    const int split = (int)get_group_id(2) / groups, width = WEFT_CONV_WEIGHT_GROUP * WEFT_CONV_WEIGHT_MICRO;
    const weft_conv_weight_problem w = WEFT_CONV_WEIGHT_PROBLEM(split);
    const long weights = (long)groups * filters * channels * taps0 * taps1 * taps2;
    WEFT_NAME(tile)
    (x_tile, y_tile, x + x_offset, y + y_offset, sums + sums_offset + split * weights, &w,
        (int)get_group_id(1) * width, (int)get_group_id(0) * width);
}

/* Work-item: an element of w. */
__kernel __attribute__((reqd_work_group_size(WEFT_CONV_WEIGHT_COMBINED, 1, 1))) void WEFT_NAME(combine)(
    __global const float *sums, long sums_offset, __global float *w, long w_offset, int weights, int splits) {
    const int element = (int)get_global_id(0);
    if (element >= weights) return;
    sums += sums_offset + element;
    float sum = sums[0];
    for (int split = 1; split < splits; ++split) sum += sums[(long)split * weights];
    w[w_offset + element] = sum;
}

#ifdef WEFT_CONV_WEIGHT_ALONE
#undef WEFT_CONV_WEIGHT_ALONE
#undef WEFT_FORMAT_A
#undef WEFT_FORMAT_B
#undef WEFT_NAME
#endif
