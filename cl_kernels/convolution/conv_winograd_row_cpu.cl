/* conv_winograd_row_cpu.cl: 2-D convolution of stride 1 with rows of 5 taps, and its data gradient, with two fifths of the
 * multiplications, for devices of class cpu, where a work-item runs on a core with wide vectors.
 *
 *     y = sum over rows of taps:  Aᵀ · ((G · g) ∘ (Bᵀ · d))
 *                                 d: 8 pixels of a line, g: 5 taps, y: 4 results
 *
 * The algorithm is Winograd's F(4, 5) along a line, with the transforms of winograd.clh. Across lines it is a direct convolution,
 * and its errors stay near those of a direct one. Between the transforms there is a matrix product for each of 8 points, which sums
 * over rows of taps and channels.
 *
 * weights: computes G · g once a run, as panels of 32 columns, panel[point][row of taps][channel][column]; columns past the last
 * one are zero. For the data gradient, taps are read from the last to the first.
 *
 * tiles: a work-item (no barriers, no local memory) computes some images and a span of columns of a group. It takes bands of lines
 * of a few images at a time:
 *
 *      line of an image       pixels                 products               result
 *    +------------------+      +--+--+--             +--+--+--            +-----------+
 *    | 8 pixels         | ---> |0 |1 | ... 7  -----> |0 |1 | ... 7  ----> | 4 results |
 *    +------------------+ Bᵀ d +--+--+--  x panels   +--+--+--     Aᵀ m   +-----------+
 *
 * pixels [point][line][image, tile][channel], products [point][line][image, tile][column].
 *
 * Lines are the outermost dimension, so the next row of taps is a constant distance further in the pixels for all tiles. A tile of
 * the product can therefore be any 13 rows, even across the end of a line. Lines above and below the image are zeros; rows of taps
 * that read only such lines are skipped. Pixels and products are in scratch memory of the work-item.
 *
 * The arguments are described in conv_winograd_row_cpu.c and conv_product.h of src/kernels/convolution, the macros that the plan
 * defines before each copy (WEFT_NAME, WEFT_FORMAT_A and _B, WEFT_EPILOGUE_PARAMETERS, WEFT_STORE) in src/kernels/product/gemm.h. */

#ifndef WEFT_WINOGRAD_ROW_CPU
#define WEFT_WINOGRAD_ROW_CPU

#define WEFT_WINOGRAD_ROW_TAPS   5
#define WEFT_WINOGRAD_ROW_POINTS (WEFT_WINOGRAD_STEP + WEFT_WINOGRAD_ROW_TAPS - 1)
WEFT_REQUIRE(weft_winograd_row_has_eight_points, WEFT_WINOGRAD_ROW_POINTS == 8);

/* Floats from one point to the next in a panel: an odd number of cache lines, so that the points share no set of a cache. */
__attribute__((always_inline)) static inline int weft_winograd_row_panel_point(int taps1, int channels) {
    return taps1 * channels * WEFT_WINOGRAD_COLUMNS + 16;
}

/* What a work-item reads, and its scratch memory. A row of pixels has `pitch` floats, a row of products `product_pitch`;
 * successive points are `point` or `product_point` floats apart. A line of the result has `across` tiles in each image. */
typedef struct weft_winograd_row_work {
    __global const void *x;
    long elements, x_image, x1, x2, first; /* first: the first channel of the group */
    int channels, taps1, read1, read2, before1, before2, across;
    __global float *pixels, *products;
    int pitch, point, product_pitch, product_point;
} weft_winograd_row_work;

/* Writes zeros to the rows of pixels from `row` on, up to the end of the last tile of a product with `rows` rows. */
__attribute__((always_inline)) static inline void weft_winograd_row_rest(
    const weft_winograd_row_work *work, long row, int rows) {
    for (int n = rows; n % WEFT_WINOGRAD_ROWS != 0; ++n, ++row) {
        __global float *to = work->pixels + row * work->pitch;
        for (int j = 0; j < WEFT_WINOGRAD_ROW_POINTS; ++j) {
            for (int c = 0; c < work->channels; c += 16)
                *(__global float16 *)(to + (long)j * work->point + c) = 0.0f;
        }
    }
}

/* Multiplies `rows` rows by the `columns` columns of the panels from `by` on, which are `panel` floats apart. The rows are lines
 * of `line` rows, from line `top` of the result on. */
__attribute__((always_inline)) static inline void weft_winograd_row_products(
    const weft_winograd_row_work *work, __global const float *by, long panel, int top, int line, int rows,
    int columns) {
    const int channels = work->channels, panel_point = weft_winograd_row_panel_point(work->taps1, channels);
    for (int i = 0; i < WEFT_WINOGRAD_ROW_POINTS; ++i) {
        for (int row = 0; row < rows; row += WEFT_WINOGRAD_ROWS) {
            /* The rows of taps that read the image on one of these lines. */
            const int line_a = top + row / line,
                      line_b = top + min(rows - 1, row + WEFT_WINOGRAD_ROWS - 1) / line;
            const int low = min(work->taps1, max(0, work->before1 - line_b)),
                      taps = max(0, min(work->taps1, work->read1 + work->before1 - line_a) - low);
            __global const float *from =
                work->pixels + (long)i * work->point + ((long)low * line + row) * work->pitch;
            __global float *to = work->products + (long)i * work->product_point + row * work->product_pitch;
            for (int j = 0, n = 0; j < columns; j += WEFT_WINOGRAD_COLUMNS, ++n) {
                __global const float16 *with =
                    (__global const float16 *)(by + (long)i * panel_point + n * panel +
                                               (long)low * channels * WEFT_WINOGRAD_COLUMNS);
                const weft_winograd_request next = {(size_t)(by + (i + 1l) * panel_point + n * panel) +
                                                        row * (work->taps1 * channels * 128l / rows),
                    128l * WEFT_WINOGRAD_ROWS / rows};
                if (columns - j > 16)
                    weft_winograd_multiply(to + j, work->product_pitch, 16, from, work->pitch,
                        (long)line * work->pitch, with, taps * channels, channels, next, 2);
                else
                    weft_winograd_multiply(to + j, work->product_pitch, 16, from, work->pitch,
                        (long)line * work->pitch, with, taps * channels, channels, next, 1);
            }
        }
    }
}

/* y = Aᵀ · m for sixteen columns of a row. */
__attribute__((always_inline)) static inline void weft_winograd_row_results(
    const weft_winograd_row_work *work, int row, int column, float16 *y) {
    __global const float *from = work->products + row * work->product_pitch + column;
    float16 m[WEFT_WINOGRAD_ROW_POINTS];
    WEFT_UNROLL for (int i = 0; i < WEFT_WINOGRAD_ROW_POINTS; ++i) {
        m[i] = *(__global const float16 *)(from + (long)i * work->product_point);
    }
    weft_winograd_results(m, 1, y, 1, WEFT_WINOGRAD_STEP, WEFT_WINOGRAD_ROW_POINTS);
}

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) conv_winograd_row_##suffix
#include "alone.clh"
#endif

WEFT_WINOGRAD_LINE(WEFT_NAME(line), WEFT_OF_A)

/* Stores Bᵀ · d of line i1 in the rows from `row` on: `line` tiles, which begin at image `start` and continue in the next
 * images. */
__attribute__((always_inline)) static inline void WEFT_NAME(row_pixels)(
    const weft_winograd_row_work *work, int start, int line, int i1, long row) {
    const bool inside = i1 >= 0 && i1 < work->read1;
    WEFT_OPERANDS_A *x = work->x;
    for (int n = 0; n < line; ++n) {
        const int i2 = n % work->across * WEFT_WINOGRAD_STEP - work->before2;
        const int low = max(0, -i2), high = inside ? min(WEFT_WINOGRAD_ROW_POINTS, work->read2 - i2) : low;
        const long base =
            (start + n / work->across) * work->x_image + work->first + i1 * work->x1 + i2 * work->x2;
        __global float *to = work->pixels + (row + n) * work->pitch;
        for (int c = 0; c < work->channels; c += 16) {
            float16 d[WEFT_WINOGRAD_ROW_POINTS];
            WEFT_NAME(line)
            (d, WEFT_WINOGRAD_ROW_POINTS, x + base + c, work->x2, low, high, min(16, work->channels - c),
                work->elements - base - c);
            if (inside) weft_winograd_pixels(d, 1, WEFT_WINOGRAD_ROW_POINTS);
            WEFT_UNROLL for (int j = 0; j < WEFT_WINOGRAD_ROW_POINTS; ++j) {
                *(__global float16 *)(to + (long)j * work->point + c) = d[j];
            }
        }
    }
}

/* Work-item (panel, sixteen input channels, group). */
__kernel WEFT_ITEMS(1) void WEFT_NAME(weights)(WEFT_OPERANDS_B *w, long w_offset, __global float *panels,
    long panels_offset, int channels, int filters, int reversed, long w_group, long w_filter, long w_channel,
    long w1, long w2, int taps1) {
    const int panel = (int)get_global_id(0), first = (int)get_global_id(1) * 16,
              group = (int)get_global_id(2);
    const int last = min(channels, first + 16),
              columns = min(WEFT_WINOGRAD_COLUMNS, filters - WEFT_WINOGRAD_COLUMNS * panel);
    const int point = weft_winograd_row_panel_point(taps1, channels);
    w += w_offset + group * w_group + WEFT_WINOGRAD_COLUMNS * panel * w_filter;
    panels +=
        panels_offset + ((long)group * (int)get_global_size(0) + panel) * WEFT_WINOGRAD_ROW_POINTS * point;
    if (reversed) {
        w += (taps1 - 1) * w1 + (WEFT_WINOGRAD_ROW_TAPS - 1) * w2;
        w1 = -w1;
        w2 = -w2;
    }
    for (int row = 0; row < taps1; ++row) {
        for (int c = first; c < last; ++c) {
            float16 g[WEFT_WINOGRAD_ROW_TAPS * 2], v[WEFT_WINOGRAD_ROW_POINTS];
            for (int i = 0; i < WEFT_WINOGRAD_ROW_TAPS * 2; ++i) g[i] = 0.0f;
            WEFT_OPERANDS_B *from = w + c * w_channel + row * w1;
            for (int j = 0; j < columns; ++j) {
                WEFT_UNROLL for (int tap = 0; tap < WEFT_WINOGRAD_ROW_TAPS; ++tap) {
                    ((float *)g)[WEFT_WINOGRAD_COLUMNS * tap + j] =
                        WEFT_OF_B(WEFT_GET_)(from, j * w_filter + tap * w2);
                }
            }
            for (int i = 0; i < 2; ++i) {
                weft_winograd_values(g + i, 2, WEFT_WINOGRAD_ROW_TAPS, v, 1, WEFT_WINOGRAD_ROW_POINTS);
                __global float *to = panels + ((long)row * channels + c) * WEFT_WINOGRAD_COLUMNS + 16 * i;
                WEFT_UNROLL for (int n = 0; n < WEFT_WINOGRAD_ROW_POINTS; ++n) {
                    *(__global float16 *)(to + (long)n * point) =
                        v[n] * weft_winograd_factor(n, WEFT_WINOGRAD_ROW_POINTS);
                }
            }
        }
    }
}

/* Work-item (`share` images, span, group). The item takes `block` images and `band` lines of results at a time. */
__kernel WEFT_ITEMS(1) void WEFT_NAME(tiles)(WEFT_OPERANDS_A *x, long x_offset, __global const float *panels,
    long panels_offset, __global float *rooms, long rooms_offset, long room, long x_elements, int share,
    int block, int band, int span, int together, int images, int channels, int filters, int taps1, int read1,
    int read2, int made1, int made2, int before1, int before2, long x_image, long x1,
    long x2 WEFT_EPILOGUE_PARAMETERS) {
    const int group = (int)get_global_id(2);
    const int left = (int)get_global_id(1) * span, right = min(filters, left + span);
    const int across = (made2 + WEFT_WINOGRAD_STEP - 1) / WEFT_WINOGRAD_STEP;
    const int first = (int)get_global_id(0) * share, end = min(images, first + share);
    const int pitch = (channels + 15) / 16 * 16 + 16, product_pitch = WEFT_WINOGRAD_COLUMNS * together;
    /* The rows of a product, rounded up to whole tiles of 13 rows; the pixels that it reads have more. */
    const int all =
        (band * block * across + WEFT_WINOGRAD_ROWS - 1) / WEFT_WINOGRAD_ROWS * WEFT_WINOGRAD_ROWS;
    const int point = (all + (taps1 - 1) * block * across) * pitch + 16,
              product_point = all * product_pitch + 16;
    const long panel = (long)WEFT_WINOGRAD_ROW_POINTS * weft_winograd_row_panel_point(taps1, channels);
    __global float *pixels =
        rooms + rooms_offset +
        room * ((get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) +
                   get_global_id(0));
    const weft_winograd_row_work work = {x + x_offset, x_elements, x_image, x1, x2, (long)group * channels,
        channels, taps1, read1, read2, before1, before2, across, pixels,
        pixels + (long)WEFT_WINOGRAD_ROW_POINTS * point, pitch, point, product_pitch, product_point};
    panels += panels_offset + group * ((filters + WEFT_WINOGRAD_COLUMNS - 1) / WEFT_WINOGRAD_COLUMNS) * panel;
    for (int start = first; start < end; start += block) {
        const int count = min(block, end - start), line = count * across;
        for (int top = 0; top < made1; top += band) {
            const int bottom = min(made1, top + band), rows = (bottom - top) * line;
            for (int l = 0; l < bottom - top + taps1 - 1; ++l)
                WEFT_NAME(row_pixels)(&work, start, line, top - before1 + l, (long)l * line);
            /* The excess rows of the last tile, whose products are not used. */
            weft_winograd_row_rest(&work, (long)(taps1 - 1) * line + rows, rows);
            for (int column = left; column < right; column += product_pitch) {
                const int last = min(right, column + product_pitch);
                weft_winograd_row_products(&work, panels + column / WEFT_WINOGRAD_COLUMNS * panel, panel, top,
                    line, rows, last - column);
                for (int row = 0; row < rows; ++row) {
                    const int image = start + row % line / across, to1 = top + row / line,
                              to2 = row % across * WEFT_WINOGRAD_STEP;
                    const int width = min(WEFT_WINOGRAD_STEP, made2 - to2);
                    for (int j = column; j < last; j += 16) {
                        float16 y[WEFT_WINOGRAD_STEP];
                        weft_winograd_row_results(&work, row, j - column, y);
                        for (int k = 0; k < width; ++k)
                            WEFT_STORE(
                                y[k], image * made1 + to1, to2 + k, group * filters + j, min(16, right - j));
                    }
                }
            }
        }
    }
}
