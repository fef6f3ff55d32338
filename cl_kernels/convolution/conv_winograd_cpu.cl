/* conv_winograd_cpu.cl: 3 x 3 convolution of stride 1, and its data gradient, with a quarter of the multiplications, for devices of
 * class cpu, where a work-item runs on a core with wide vectors.
 *
 *     y = Aᵀ · ((G · g · Gᵀ) ∘ (Bᵀ · d · B)) · A        d: 6 x 6 pixels, g: 3 x 3 taps, y: 4 x 4 results
 *
 * The algorithm is Winograd's F(4 x 4, 3 x 3), with the transforms of winograd.clh. Between the transforms there is a matrix
 * product over the channels for each of 36 points; its rows are tiles of the image.
 *
 * weights: computes G · g · Gᵀ once a run, as panels of 32 columns, panel[point][channel][column]; columns past the last one are
 * zero. For the data gradient, taps are read from the last to the first.
 *
 * tiles: a work-item (no barriers, no local memory) computes a strip of tiles and a span of columns of a group. It takes the strip
 * in blocks:
 *
 *      image              pixels                            products                           result
 *    +-------+  Bᵀ d B    +--+--+--+--              x panels +--+--+--+--            Aᵀ m A     +-----+
 *    | 6 x 6 |  ------->  |0 |1 |2 | ... 35       ------->   |0 |1 |2 | ... 35      ------->    |4 x 4|
 *    +-------+            +--+--+--+--                       +--+--+--+--                       +-----+
 *
 * The pixels of a point are [thirteen tiles][sixteen channels][tile][channel]; its products have the same layout, with columns
 * instead of channels. Both are in scratch memory of the work-item, which is small enough to stay in its cache. In the products a
 * tile of 13 x 32 sums is in registers, as in conv_cpu.cl.
 *
 * The arguments are described in conv_winograd_cpu.c and conv_product.h of src/kernels/convolution, the macros that the plan
 * defines before each copy (WEFT_NAME, WEFT_FORMAT_A and _B, WEFT_EPILOGUE_PARAMETERS, WEFT_STORE) in src/kernels/product/gemm.h. */

#ifndef WEFT_WINOGRAD_CPU
#define WEFT_WINOGRAD_CPU

#define WEFT_WINOGRAD_SIDE   (WEFT_WINOGRAD_STEP + 3 - 1) /* points along an axis */
#define WEFT_WINOGRAD_POINTS (WEFT_WINOGRAD_SIDE * WEFT_WINOGRAD_SIDE)
WEFT_REQUIRE(weft_winograd_has_six_points, WEFT_WINOGRAD_SIDE == 6);

/* Floats from one point to the next in a panel: an odd number of cache lines, so that the points share no set of a cache. */
__attribute__((always_inline)) static inline int weft_winograd_panel_point(int channels) {
    return channels * WEFT_WINOGRAD_COLUMNS + 16;
}

/* The index of part `part` (sixteen channels or columns) of a row of pixels or products with `parts` parts. Of the rows of a
 * tile, all first parts are stored before all second parts, and so on: this is the order in which a product reads its pixels. */
#define WEFT_WINOGRAD_PART_SIZE (16 * WEFT_WINOGRAD_ROWS)
#define WEFT_WINOGRAD_AT(row, parts, part)                                                                   \
    (((row) / WEFT_WINOGRAD_ROWS * (parts) + (part)) * WEFT_WINOGRAD_PART_SIZE +                             \
        (row) % WEFT_WINOGRAD_ROWS * 16)

/* What a work-item reads, and its scratch memory. A row has `pixel_parts` or `product_parts` times sixteen numbers; successive
 * points are `pixel_point` or `product_point` floats apart. An image has `tiles1` x `tiles2` tiles. */
typedef struct weft_winograd_work {
    __global const void *x;
    long elements, x_image, x1, x2, first; /* first: the first channel of the group */
    int channels, read1, read2, before1, before2, tiles1, tiles2;
    __global float *pixels, *products;
    int pixel_parts, pixel_point, product_parts, product_point;
} weft_winograd_work;

/* The offset that the first pixel of tile `at` has, or would have if it were not padding. */
__attribute__((always_inline)) static inline long weft_winograd_tile_base(
    const weft_winograd_work *work, int at) {
    const int image = at / (work->tiles1 * work->tiles2), top = at / work->tiles2 % work->tiles1,
              left = at % work->tiles2;
    return image * work->x_image + work->first + (top * WEFT_WINOGRAD_STEP - work->before1) * work->x1 +
           (left * WEFT_WINOGRAD_STEP - work->before2) * work->x2;
}

/* Multiplies `rows` rows of pixels by the `columns` columns of the panels from `by` on, which are `panel` floats apart.
 * Prefetches `image` while it multiplies or, if the step of `image` is 0, the panels of the next point. */
__attribute__((always_inline)) static inline void weft_winograd_products(const weft_winograd_work *work,
    __global const float *by, long panel, int rows, int columns, weft_winograd_request image) {
    const int channels = work->channels, panel_point = weft_winograd_panel_point(channels);
    for (int i = 0; i < WEFT_WINOGRAD_POINTS; ++i) {
        for (int row = 0; row < rows; row += WEFT_WINOGRAD_ROWS) {
            __global const float *from =
                work->pixels + (long)i * work->pixel_point + WEFT_WINOGRAD_AT(row, work->pixel_parts, 0);
            for (int j = 0, n = 0; j < columns; j += WEFT_WINOGRAD_COLUMNS, ++n) {
                __global float *to = work->products + (long)i * work->product_point +
                                     WEFT_WINOGRAD_AT(row, work->product_parts, j / 16);
                __global const float16 *with =
                    (__global const float16 *)(by + n * panel + (long)i * panel_point);
                /* This tile prefetches a part of the next panel; otherwise the first tile of the next point would wait for all
                 * of it. */
                const weft_winograd_request panels = {
                    (size_t)(by + n * panel + (i + 1l) * panel_point) + row * (channels * 128l / rows),
                    128l * WEFT_WINOGRAD_ROWS / rows};
                const weft_winograd_request next = image.step == 0 ? panels : image;
                if (columns - j > 16)
                    weft_winograd_multiply(to, 16, WEFT_WINOGRAD_PART_SIZE, from, 16, WEFT_WINOGRAD_PART_SIZE,
                        with, channels, 16, next, 2);
                else
                    weft_winograd_multiply(to, 16, WEFT_WINOGRAD_PART_SIZE, from, 16, WEFT_WINOGRAD_PART_SIZE,
                        with, channels, 16, next, 1);
                image.at += image.step * channels;
            }
        }
    }
}

/* y = Aᵀ · m · A for sixteen columns of a row. */
__attribute__((always_inline)) static inline void weft_winograd_tile_results(
    const weft_winograd_work *work, int row, int column, float16 *y) {
    __global const float *from = work->products + WEFT_WINOGRAD_AT(row, work->product_parts, column / 16);
    float16 down[24];
    WEFT_UNROLL for (int k = 0; k < 6; ++k) {
        float16 m[6];
        WEFT_UNROLL for (int i = 0; i < 6; ++i) {
            m[i] = *(__global const float16 *)(from + (long)(6 * i + k) * work->product_point);
        }
        weft_winograd_results(m, 1, down + k, 6, WEFT_WINOGRAD_STEP, 6);
    }
    WEFT_UNROLL for (int i = 0; i < WEFT_WINOGRAD_STEP; ++i)
        weft_winograd_results(down + 6 * i, 1, y + WEFT_WINOGRAD_STEP * i, 1, WEFT_WINOGRAD_STEP, 6);
}

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) conv_winograd_##suffix
#include "alone.clh"
#endif

WEFT_WINOGRAD_LINE(WEFT_NAME(line), WEFT_OF_A)

/* Stores Bᵀ · d · B of tile `at` in row `row`; if not `inside`, stores the transform of zeros. Loops over lines and columns stay
 * loops, so that the values of an iteration fit in registers. */
__attribute__((always_inline)) static inline void WEFT_NAME(tile_pixels)(
    const weft_winograd_work *work, int at, int row, bool inside) {
    const int top = at / work->tiles2 % work->tiles1 * WEFT_WINOGRAD_STEP - work->before1,
              left = at % work->tiles2 * WEFT_WINOGRAD_STEP - work->before2;
    const int low = max(0, -left), high = min(WEFT_WINOGRAD_SIDE, work->read2 - left);
    const long base = weft_winograd_tile_base(work, at);
    WEFT_OPERANDS_A *x = work->x;
    for (int c = 0; c < work->channels; c += 16) {
        float16 d[WEFT_WINOGRAD_POINTS];
        WEFT_ROLLED for (int i = 0; i < WEFT_WINOGRAD_SIDE; ++i) {
            const long from = base + c + i * work->x1;
            float16 line[WEFT_WINOGRAD_SIDE];
            WEFT_NAME(line)
            (line, WEFT_WINOGRAD_SIDE, x + from, work->x2, low,
                inside && top + i >= 0 && top + i < work->read1 ? high : low, min(16, work->channels - c),
                work->elements - from);
            weft_winograd_pixels(line, 1, WEFT_WINOGRAD_SIDE);
            WEFT_UNROLL for (int j = 0; j < WEFT_WINOGRAD_SIDE; ++j) d[WEFT_WINOGRAD_SIDE * i + j] = line[j];
        }
        __global float *to = work->pixels + WEFT_WINOGRAD_AT(row, work->pixel_parts, c / 16);
        WEFT_ROLLED for (int j = 0; j < WEFT_WINOGRAD_SIDE; ++j) {
            float16 column[WEFT_WINOGRAD_SIDE];
            WEFT_UNROLL for (int i = 0; i < WEFT_WINOGRAD_SIDE; ++i) column[i] =
                d[WEFT_WINOGRAD_SIDE * i + j];
            weft_winograd_pixels(column, 1, WEFT_WINOGRAD_SIDE);
            WEFT_UNROLL for (int i = 0; i < WEFT_WINOGRAD_SIDE; ++i) {
                *(__global float16 *)(to + (long)(WEFT_WINOGRAD_SIDE * i + j) * work->pixel_point) =
                    column[i];
            }
        }
    }
}

/* Work-item (panel, sixteen input channels, group). */
__kernel WEFT_ITEMS(1) void WEFT_NAME(weights)(WEFT_OPERANDS_B *w, long w_offset, __global float *panels,
    long panels_offset, int channels, int filters, int reversed, long w_group, long w_filter, long w_channel,
    long w1, long w2) {
    const int panel = (int)get_global_id(0), first = (int)get_global_id(1) * 16,
              group = (int)get_global_id(2);
    const int last = min(channels, first + 16),
              columns = min(WEFT_WINOGRAD_COLUMNS, filters - WEFT_WINOGRAD_COLUMNS * panel);
    const int point = weft_winograd_panel_point(channels);
    w += w_offset + group * w_group + WEFT_WINOGRAD_COLUMNS * panel * w_filter;
    panels += panels_offset + ((long)group * (int)get_global_size(0) + panel) * WEFT_WINOGRAD_POINTS * point;
    if (reversed) {
        w += 2 * w1 + 2 * w2;
        w1 = -w1;
        w2 = -w2;
    }
    float16 taps[16 * 9 * 2]; /* [channel][tap][column], filled along contiguous taps of a filter */
    for (int i = 0; i < 16 * 9 * 2; ++i) taps[i] = 0.0f;
    for (int j = 0; j < columns; ++j) {
        for (int c = first; c < last; ++c) {
            WEFT_OPERANDS_B *from = w + j * w_filter + c * w_channel;
            float *to = (float *)taps + (c - first) * 9 * WEFT_WINOGRAD_COLUMNS + j;
            WEFT_UNROLL for (int tap = 0; tap < 9; ++tap) {
                to[WEFT_WINOGRAD_COLUMNS * tap] = WEFT_OF_B(WEFT_GET_)(from, tap / 3 * w1 + tap % 3 * w2);
            }
        }
    }
    float16 all[33 * WEFT_WINOGRAD_POINTS]; /* [point][channel], so that whole lines are written */
    for (int c = 0; c < last - first; ++c) {
        for (int i = 0; i < 2; ++i) {
            const float16 *g = taps + 18 * c + i;
            float16 *to = all + 2 * c + i;
            float16 across[18];
            WEFT_UNROLL for (int row = 0; row < 3; ++row)
                weft_winograd_taps(g + 6 * row, 2, across + 6 * row, 1, 6);
            WEFT_UNROLL for (int column = 0; column < 6; ++column) {
                weft_winograd_taps(across + column, 6, to + 33 * column, 6 * 33, 6);
            }
        }
    }
    for (int n = 0; n < WEFT_WINOGRAD_POINTS; ++n) {
        __global float16 *to = (__global float16 *)(panels + (long)n * point + first * WEFT_WINOGRAD_COLUMNS);
        for (int i = 0; i < 2 * (last - first); ++i) to[i] = all[33 * n + i];
    }
}

/* Work-item (strip, span, group). */
__kernel WEFT_ITEMS(1) void WEFT_NAME(tiles)(WEFT_OPERANDS_A *x, long x_offset, __global const float *panels,
    long panels_offset, __global float *rooms, long rooms_offset, long room, long x_elements, int strip,
    int block, int span, int together, int panels_near, int images, int channels, int filters, int read1,
    int read2, int made1, int made2, int before1, int before2, long x_image, long x1,
    long x2 WEFT_EPILOGUE_PARAMETERS) {
    const int group = (int)get_global_id(2);
    const int left = (int)get_global_id(1) * span, right = min(filters, left + span);
    const int tiles1 = (made1 + WEFT_WINOGRAD_STEP - 1) / WEFT_WINOGRAD_STEP,
              tiles2 = (made2 + WEFT_WINOGRAD_STEP - 1) / WEFT_WINOGRAD_STEP;
    const int top = (int)get_global_id(0) * strip, bottom = min(images * tiles1 * tiles2, top + strip);
    const int columns = WEFT_WINOGRAD_COLUMNS * together, parts = (channels + 15) / 16;
    const int pixel_point = block * 16 * parts + 16;
    const long panel = (long)WEFT_WINOGRAD_POINTS * weft_winograd_panel_point(channels);
    __global float *pixels =
        rooms + rooms_offset +
        room * ((get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) +
                   get_global_id(0));
    const weft_winograd_work work = {x + x_offset, x_elements, x_image, x1, x2, (long)group * channels,
        channels, read1, read2, before1, before2, tiles1, tiles2, pixels,
        pixels + (long)WEFT_WINOGRAD_POINTS * pixel_point, parts, pixel_point, columns / 16,
        block * columns + 16};
    panels += panels_offset + group * ((filters + WEFT_WINOGRAD_COLUMNS - 1) / WEFT_WINOGRAD_COLUMNS) * panel;
    for (int start = top; start < bottom; start += block) {
        const int tiles = min(block, bottom - start);
        const int rows = (tiles + WEFT_WINOGRAD_ROWS - 1) / WEFT_WINOGRAD_ROWS * WEFT_WINOGRAD_ROWS;
        for (int tile = 0; tile < rows; ++tile)
            WEFT_NAME(tile_pixels)(&work, start + tile, tile, tile < tiles);
        /* The pixels of the next block are nearly contiguous; each step of the products prefetches some of them. */
        const long steps = (long)WEFT_WINOGRAD_POINTS * (rows / WEFT_WINOGRAD_ROWS) *
                           ((right - left + WEFT_WINOGRAD_COLUMNS - 1) / WEFT_WINOGRAD_COLUMNS) * channels;
        const weft_winograd_request next = {
            (size_t)((WEFT_OPERANDS_A *)work.x + weft_winograd_tile_base(&work, start + block)),
            panels_near ? tiles * (WEFT_WINOGRAD_STEP * WEFT_WINOGRAD_STEP * sizeof(*x)) * x2 / steps : 0};
        for (int column = left; column < right; column += columns) {
            const int end = min(right, column + columns);
            weft_winograd_products(
                &work, panels + column / WEFT_WINOGRAD_COLUMNS * panel, panel, rows, end - column, next);
            for (int tile = 0; tile < tiles; ++tile) {
                const int at = start + tile;
                const int image = at / (tiles1 * tiles2), to1 = at / tiles2 % tiles1 * WEFT_WINOGRAD_STEP,
                          to2 = at % tiles2 * WEFT_WINOGRAD_STEP;
                const int height = min(WEFT_WINOGRAD_STEP, made1 - to1),
                          width = min(WEFT_WINOGRAD_STEP, made2 - to2);
                for (int j = column; j < end; j += 16) {
                    float16 y[16];
                    weft_winograd_tile_results(&work, tile, j - column, y);
                    for (int i = 0; i < height; ++i) {
                        for (int k = 0; k < width; ++k)
                            WEFT_STORE(y[WEFT_WINOGRAD_STEP * i + k], image * made1 + to1 + i, to2 + k,
                                group * filters + j, min(16, right - j));
                    }
                }
            }
        }
    }
}
