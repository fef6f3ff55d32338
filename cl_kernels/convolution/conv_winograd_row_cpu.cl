/* conv_winograd_row_cpu.cl: 2-D convolution of stride 1 with rows of 5 taps, and its data gradient, with two
 * fifths of the multiplications, for devices whose work-item is a core with wide vectors.
 *
 *     y = sum over rows of taps:  Aᵀ · ((G · g) ∘ (Bᵀ · d))
 *                                 d: 8 pixels of a line, g: 5 taps, y: 4 results
 *
 * Winograd's F(4, 5) along a line, its transforms in winograd_cpu.clh; across lines it is a convolution as
 * before, whose errors stay near a direct one's. Between the transforms there are 8 matrix products, one a
 * point, over rows of taps and channels.
 *
 * weights: G · g once a run, as panels of 32 columns, panel[point][row of taps][channel][column]; columns
 * past the last are zero. For the data gradient, taps are read from the last to the first.
 *
 * tiles: a work-item (no barriers, no local memory) owns some images and a span of columns of a group. It
 * takes bands of lines of a few images at once:
 *
 *      line of an image       pixels                 products               result
 *    +------------------+      +--+--+--             +--+--+--            +-----------+
 *    | 8 pixels         | ---> |0 |1 | ... 7  -----> |0 |1 | ... 7  ----> | 4 results |
 *    +------------------+ Bᵀ d +--+--+--  x panels   +--+--+--     Aᵀ m   +-----------+
 *
 * pixels [point][line][image, tile][channel], products [point][line][image, tile][column].
 *
 * As lines are outermost, the next row of taps is a fixed way further in the pixels for all tiles: 13 of them
 * are a tile of the product, wherever lines end. Lines above and below the image are zeros; rows of taps
 * that meet nothing else are left out. Both rooms are global memory of the work-item.
 *
 * What the arguments mean is told in src/kernels/convolution/conv_winograd_row_cpu.c and conv_product.h; what stands before
 * an inclusion (WEFT_NAME, WEFT_EPILOGUE_PARAMETERS, WEFT_STORE) in src/kernels/product/gemm.h. */

#ifndef WEFT_WINOGRAD_ROW_CPU
#define WEFT_WINOGRAD_ROW_CPU

#define WEFT_WINOGRAD_ROW_TAPS   5
#define WEFT_WINOGRAD_ROW_POINTS (WEFT_WINOGRAD_STEP + WEFT_WINOGRAD_ROW_TAPS - 1)
WEFT_REQUIRE(weft_winograd_row_has_eight_points, WEFT_WINOGRAD_ROW_POINTS == 8);

/* From a point to the next in a panel: an odd number of lines, so that the points share no set of a cache. */
__attribute__((always_inline)) static inline int weft_winograd_row_panel_point(int taps1, int channels) {
    return taps1 * channels * WEFT_WINOGRAD_COLUMNS + 16;
}

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix)        conv_winograd_row_##suffix
#define WEFT_EPILOGUE_PARAMETERS WEFT_PLAIN_PARAMETERS
#define WEFT_STORE               WEFT_PLAIN_STORE
#define WEFT_CONV_ALONE
#endif

/* Work-item (panel, sixteen channels read, group). */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void WEFT_NAME(weights)(__global const float *w,
    long w_offset, __global float *panels, long panels_offset, int channels, int filters, int reversed,
    long w_group, long w_filter, long w_channel, long w1, long w2, int taps1) {
    const int panel = (int)get_global_id(0), first = (int)get_global_id(1) * 16,
              group = (int)get_global_id(2);
    const int last = min(channels, first + 16),
              columns = min(WEFT_WINOGRAD_COLUMNS, filters - WEFT_WINOGRAD_COLUMNS * panel);
    const int point = weft_winograd_row_panel_point(taps1, channels);
    w += w_offset + group * w_group + WEFT_WINOGRAD_COLUMNS * panel * w_filter;
    panels += panels_offset + ((long)group * get_global_size(0) + panel) * WEFT_WINOGRAD_ROW_POINTS * point;
    if (reversed) {
        w += (taps1 - 1) * w1 + (WEFT_WINOGRAD_ROW_TAPS - 1) * w2;
        w1 = -w1;
        w2 = -w2;
    }
    for (int row = 0; row < taps1; ++row) {
        for (int c = first; c < last; ++c) {
            float16 g[WEFT_WINOGRAD_ROW_TAPS * 2], v[WEFT_WINOGRAD_ROW_POINTS];
            for (int i = 0; i < WEFT_WINOGRAD_ROW_TAPS * 2; ++i) g[i] = 0.0f;
            __global const float *from = w + c * w_channel + row * w1;
            for (int j = 0; j < columns; ++j) {
                WEFT_UNROLL for (int tap = 0; tap < WEFT_WINOGRAD_ROW_TAPS; ++tap) {
                    ((float *)g)[WEFT_WINOGRAD_COLUMNS * tap + j] = from[j * w_filter + tap * w2];
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

/* Work-item (share of images, span, group). At once: `block` images, `band` lines of results. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void WEFT_NAME(tiles)(__global const float *x,
    long x_offset, __global const float *panels, long panels_offset, __global float *rooms, long rooms_offset,
    long room, long x_elements, int share, int block, int band, int span, int together, int images,
    int channels, int filters, int taps1, int read1, int read2, int made1, int made2, int before1,
    int before2, long x_image, long x1, long x2 WEFT_EPILOGUE_PARAMETERS) {
    const int group = (int)get_global_id(2);
    const int left = (int)get_global_id(1) * span, right = min(filters, left + span);
    const int across = (made2 + WEFT_WINOGRAD_STEP - 1) / WEFT_WINOGRAD_STEP;
    const int first = (int)get_global_id(0) * share, end = min(images, first + share);
    const int pitch = (channels + 15) / 16 * 16 + 16, product_pitch = WEFT_WINOGRAD_COLUMNS * together;
    /* Rows of a product, and of the pixels that it reads, rounded up: 13 at a time. */
    const int all =
        (band * block * across + WEFT_WINOGRAD_ROWS - 1) / WEFT_WINOGRAD_ROWS * WEFT_WINOGRAD_ROWS;
    const int point = (all + (taps1 - 1) * block * across) * pitch + 16,
              product_point = all * product_pitch + 16;
    const int panel_point = weft_winograd_row_panel_point(taps1, channels);
    const long panel = (long)WEFT_WINOGRAD_ROW_POINTS * panel_point;
    const int panels_a_group = (filters + WEFT_WINOGRAD_COLUMNS - 1) / WEFT_WINOGRAD_COLUMNS;
    __global float *pixels =
        rooms + rooms_offset +
        room * ((get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) +
                   get_global_id(0));
    __global float *products = pixels + (long)WEFT_WINOGRAD_ROW_POINTS * point;
    x += x_offset;
    panels += panels_offset + group * panels_a_group * panel;
    for (int start = first; start < end; start += block) {
        const int count = min(block, end - start), line = count * across;
        for (int top = 0; top < made1; top += band) {
            const int bottom = min(made1, top + band), rows = (bottom - top) * line;
            for (int l = 0; l < bottom - top + taps1 - 1; ++l) {
                const int i1 = top - before1 + l;
                const bool inside = i1 >= 0 && i1 < read1;
                for (int n = 0; n < line; ++n) {
                    const int i2 = n % across * WEFT_WINOGRAD_STEP - before2;
                    const long base =
                        (start + n / across) * x_image + (long)group * channels + i1 * x1 + i2 * x2;
                    __global float *to = pixels + ((long)l * line + n) * pitch;
                    for (int c = 0; c < channels; c += 16) {
                        float16 d[WEFT_WINOGRAD_ROW_POINTS];
                        weft_winograd_window(d, 1, WEFT_WINOGRAD_ROW_POINTS, x + base + c, x1, x2, i1, i2,
                            read1, read2, min(16, channels - c), x_elements - base - c);
                        if (inside) weft_winograd_pixels(d, 1, WEFT_WINOGRAD_ROW_POINTS);
                        WEFT_UNROLL for (int j = 0; j < WEFT_WINOGRAD_ROW_POINTS; ++j) {
                            *(__global float16 *)(to + (long)j * point + c) = d[j];
                        }
                    }
                }
            }
            /* The rest of the last tile, whose products nobody takes. */
            for (int n = rows; n % WEFT_WINOGRAD_ROWS != 0; ++n) {
                __global float *to = pixels + ((long)(taps1 - 1) * line + n) * pitch;
                for (int j = 0; j < WEFT_WINOGRAD_ROW_POINTS; ++j) {
                    for (int c = 0; c < channels; c += 16)
                        *(__global float16 *)(to + (long)j * point + c) = 0.0f;
                }
            }
            for (int column = left; column < right; column += product_pitch) {
                const int last = min(right, column + product_pitch);
                for (int i = 0; i < WEFT_WINOGRAD_ROW_POINTS; ++i) {
                    __global const float *by =
                        panels + column / WEFT_WINOGRAD_COLUMNS * panel + (long)i * panel_point;
                    for (int row = 0; row < rows; row += WEFT_WINOGRAD_ROWS) {
                        /* Rows of taps that meet the image on one of these lines. */
                        const int line_a = top + row / line,
                                  line_b = top + min(rows - 1, row + WEFT_WINOGRAD_ROWS - 1) / line;
                        const int low = min(taps1, max(0, before1 - line_b)),
                                  taps = max(0, min(taps1, read1 + before1 - line_a) - low);
                        __global const float *from =
                            pixels + (long)i * point + ((long)low * line + row) * pitch;
                        __global float *to = products + (long)i * product_point + row * product_pitch;
                        for (int j = column, n = 0; j < last; j += WEFT_WINOGRAD_COLUMNS, ++n) {
                            __global const float16 *with =
                                (__global const float16 *)(by + n * panel +
                                                           (long)low * channels * WEFT_WINOGRAD_COLUMNS);
                            if (last - j > 16)
                                weft_winograd_multiply(to + WEFT_WINOGRAD_COLUMNS * n, product_pitch, from,
                                    pitch, (long)line * pitch, with, taps, channels, 2);
                            else
                                weft_winograd_multiply(to + WEFT_WINOGRAD_COLUMNS * n, product_pitch, from,
                                    pitch, (long)line * pitch, with, taps, channels, 1);
                        }
                    }
                }
                for (int row = 0; row < rows; ++row) {
                    const int image = start + row % line / across, to1 = top + row / line,
                              to2 = row % across * WEFT_WINOGRAD_STEP;
                    const int width = min(WEFT_WINOGRAD_STEP, made2 - to2);
                    for (int j = column; j < last; j += 16) {
                        __global const float *from = products + row * product_pitch + j - column;
                        float16 m[WEFT_WINOGRAD_ROW_POINTS], y[WEFT_WINOGRAD_STEP];
                        WEFT_UNROLL for (int i = 0; i < WEFT_WINOGRAD_ROW_POINTS; ++i) {
                            m[i] = *(__global const float16 *)(from + (long)i * product_point);
                        }
                        weft_winograd_results(m, 1, y, 1, WEFT_WINOGRAD_STEP, WEFT_WINOGRAD_ROW_POINTS);
                        for (int k = 0; k < width; ++k)
                            WEFT_STORE(
                                y[k], image * made1 + to1, to2 + k, group * filters + j, min(16, right - j));
                    }
                }
            }
        }
    }
}

#ifdef WEFT_CONV_ALONE
#undef WEFT_CONV_ALONE
#undef WEFT_NAME
#undef WEFT_EPILOGUE_PARAMETERS
#undef WEFT_STORE
#endif
