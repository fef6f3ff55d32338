/* conv_weight_winograd_cpu.cl: the weight gradient of a convolution of stride 1 by Winograd's algorithm, for devices of class cpu,
 * where a work-item runs on a core with wide vectors. x is the image, y the gradient of the result.
 *
 *     x (images, image1, image2, groups * channels)   y (images, result1, result2, groups * filters)
 *     -> w (groups * filters, channels, taps1, taps2); all contiguous
 *
 * The gradient is a convolution of x with y whose results are the taps. y is divided into tiles, and the products at the points
 * (winograd.clh) are summed over tiles and images:
 *
 *     SQUARE   3 x 3 taps, tiles of 4 x 4 of y over 6 x 6 of x: 36 products for 144 multiplications
 *     else     rows of 5 taps, tiles of 4 of y over 8 of x: 8 products for 20, a row of taps after the other
 *
 * sums: a work-item (no barriers, no local memory) computes some panels of filters for a range of the tiles. For each block of the
 * range it writes the transforms of x and y to its scratch memory, then sums, for every point, tile of channels and panel:
 *
 *      x, TILE of 16 floats a position         y, 32 floats a position
 *      +--+--+--+--+--+--+--                 +----------+
 *      |  |  |  |  |  |  |      times        |          |
 *      +--+--+--+--+--+--+--                 +----------+
 *
 * Each position takes 2 vector loads, TILE broadcasts and 2 * TILE multiply-adds, all in registers.
 *
 * A position is a tile of y. Without SQUARE, positions are ordered by line, then image, then along the line. The positions for
 * which a row of taps is inside the image are then contiguous, and zeros above and below the image are never multiplied. Sums are
 * in scratch memory, [split][group][panel][row of taps][point][tile][TILE][32].
 *
 * combine: adds the splits up, in their order, transforms the sums and stores them as w. */

#ifndef WEFT_CONV_WEIGHT_WINOGRAD_CPU
#define WEFT_CONV_WEIGHT_WINOGRAD_CPU

/* What a work-item reads, and its scratch memory. x and y point to the first element of the group, x_left and y_left elements
 * before the end of their memory. Successive points are x_point or y_point floats apart. */
typedef struct weft_conv_weight_work {
    __global const void *x, *y;
    __global float *pixels, *gradients, *sums;
    long x_left, y_left, x_pixel, y_pixel, x_point, y_point, panel_sums;
    int channels, filters, image1, image2, result1, result2, before1, before2;
    int tiles, left, right; /* tiles: of channels; left, right: the range of panels */
    int across, lines1;     /* tiles of a line; lines of tiles of an image */
} weft_conv_weight_work;

/* Streams of prefetches, x_step and y_step bytes further at each position of a product. */
typedef struct weft_conv_weight_requests {
    size_t x, y;
    long x_step, y_step;
} weft_conv_weight_requests;

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) conv_weight_winograd_##suffix
#include "alone.clh"
#endif
#ifndef WEFT_CONV_WEIGHT_TILE
#define WEFT_CONV_WEIGHT_TILE    WEFT_WINOGRAD_ROWS
#define WEFT_CONV_WEIGHT_VECTORS 2 /* vectors of 16 filters in a panel */
#define WEFT_CONV_WEIGHT_SQUARE  1
#define WEFT_CONV_WEIGHT_ANY_TILE
#endif
/* TAPS: taps of a row. POINTS: points along a row. DOWN: points along a column. STEPS: lines of a tile of y. ALL: all points.
 * WIDE: filters of a panel. */
#define WEFT_TAPS   (WEFT_CONV_WEIGHT_SQUARE ? 3 : 5)
#define WEFT_POINTS (WEFT_CONV_WEIGHT_SQUARE ? 6 : 8)
#define WEFT_DOWN   (WEFT_CONV_WEIGHT_SQUARE ? WEFT_POINTS : 1)
#define WEFT_STEPS  (WEFT_CONV_WEIGHT_SQUARE ? WEFT_WINOGRAD_STEP : 1)
#define WEFT_ALL    (WEFT_DOWN * WEFT_POINTS)
#define WEFT_WIDE   (16 * WEFT_CONV_WEIGHT_VECTORS)

/* sums (+)= pixels * gradients over `positions`, where `(+)=` means `=` if `first`, otherwise `+=`: `tile` rows, and `vectors` of
 * the `wide` vectors of a panel, all constants at the call. Each copy of the template has a function of its own: a function that
 * several callers share with different constants would not be unrolled, and would hold its sums in memory. */
__attribute__((always_inline)) static inline void WEFT_NAME(multiply)(__global weft_lanes_f32 *sum,
    bool first, __global const float *pixels, __global const float16 *gradients, int positions,
    weft_conv_weight_requests *next, const int tile, const int vectors, const int wide) {
    float16 acc[16][2];
    WEFT_UNROLL for (int r = 0; r < tile; ++r) {
        WEFT_UNROLL for (int v = 0; v < vectors; ++v) acc[r][v] = first ? 0.0f : sum[wide * r + v];
    }
    for (int p = 0; p < positions; ++p) {
        WEFT_PREFETCH(next->x, 2);
        WEFT_PREFETCH(next->y, 2);
        next->x += next->x_step;
        next->y += next->y_step;
        const float16 y0 = gradients[0], y1 = gradients[vectors - 1];
        WEFT_UNROLL for (int r = 0; r < tile; ++r) {
            const float16 a = pixels[r];
            acc[r][0] = WEFT_MULTIPLY_ADD(a, y0, acc[r][0]);
            if (vectors == 2) acc[r][vectors - 1] = WEFT_MULTIPLY_ADD(a, y1, acc[r][vectors - 1]);
        }
        pixels += 16;
        gradients += wide;
    }
    WEFT_UNROLL for (int r = 0; r < tile; ++r) {
        WEFT_UNROLL for (int v = 0; v < vectors; ++v) sum[wide * r + v] = acc[r][v];
    }
}

WEFT_WINOGRAD_LINE(WEFT_NAME(line_x), WEFT_OF_A)
WEFT_WINOGRAD_LINE(WEFT_NAME(line_y), WEFT_OF_B)

/* Writes the transforms of x around (i1, i2), which are position number `position` of `positions`. Here and below, loops over
 * lines and columns stay loops, so that the values of an iteration fit in registers. */
__attribute__((always_inline)) static inline void WEFT_NAME(pixels)(
    const weft_conv_weight_work *work, int image, int i1, int i2, int position, int positions) {
    const int low = max(0, -i2), high = min(WEFT_POINTS, work->image2 - i2);
    const long base = (((long)image * work->image1 + i1) * work->image2 + i2) * work->x_pixel;
    WEFT_OPERANDS_A *x = work->x;
    for (int tile = 0; tile < work->tiles; ++tile) {
        const int c = tile * WEFT_CONV_WEIGHT_TILE;
        __global float *to = work->pixels + ((long)tile * positions + position) * 16;
        float16 d[WEFT_ALL];
        WEFT_ROLLED for (int i = 0; i < WEFT_DOWN; ++i) {
            const long from = base + c + i * work->image2 * work->x_pixel;
            float16 line[WEFT_POINTS];
            WEFT_NAME(line_x)
            (line, WEFT_POINTS, x + from, work->x_pixel, low,
                i1 + i >= 0 && i1 + i < work->image1 ? high : low, min(16, work->channels - c),
                work->x_left - from);
            weft_winograd_pixels(line, 1, WEFT_POINTS);
            WEFT_UNROLL for (int j = 0; j < WEFT_POINTS; ++j) d[WEFT_POINTS * i + j] = line[j];
        }
        WEFT_ROLLED for (int j = 0; j < WEFT_POINTS; ++j) {
            float16 column[WEFT_DOWN];
            WEFT_UNROLL for (int i = 0; i < WEFT_DOWN; ++i) column[i] = d[WEFT_POINTS * i + j];
            if (WEFT_CONV_WEIGHT_SQUARE) weft_winograd_pixels(column, 1, WEFT_POINTS);
            WEFT_UNROLL for (int i = 0; i < WEFT_DOWN; ++i) {
                *(__global float16 *)(to + (WEFT_POINTS * i + j) * work->x_point) = column[i];
            }
        }
    }
}

/* Writes the transforms of y from (o1, o2) on, which are position number `position` of `positions`. */
__attribute__((always_inline)) static inline void WEFT_NAME(gradients)(
    const weft_conv_weight_work *work, int image, int o1, int o2, int position, int positions) {
    const int across = min(WEFT_WINOGRAD_STEP, work->result2 - o2);
    const long base = (((long)image * work->result1 + o1) * work->result2 + o2) * work->y_pixel;
    WEFT_OPERANDS_B *y = work->y;
    for (int f = work->left * WEFT_WIDE; f < min(work->filters, work->right * WEFT_WIDE); f += 16) {
        const int panel = f / WEFT_WIDE - work->left;
        __global float *to =
            work->gradients + ((long)panel * positions + position) * WEFT_WIDE + f % WEFT_WIDE;
        float16 g[WEFT_STEPS * WEFT_POINTS];
        WEFT_ROLLED for (int i = 0; i < WEFT_STEPS; ++i) {
            const long from = base + f + i * work->result2 * work->y_pixel;
            float16 line[WEFT_WINOGRAD_STEP];
            WEFT_NAME(line_y)
            (line, WEFT_WINOGRAD_STEP, y + from, work->y_pixel, 0, o1 + i < work->result1 ? across : 0,
                min(16, work->filters - f), work->y_left - from);
            weft_winograd_values(line, 1, WEFT_WINOGRAD_STEP, g + WEFT_POINTS * i, 1, WEFT_POINTS);
        }
        WEFT_ROLLED for (int j = 0; j < WEFT_POINTS; ++j) {
            float16 column[WEFT_DOWN];
            if (WEFT_CONV_WEIGHT_SQUARE)
                weft_winograd_values(g + j, WEFT_POINTS, WEFT_STEPS, column, 1, WEFT_POINTS);
            else
                column[0] = g[j];
            WEFT_UNROLL for (int i = 0; i < WEFT_DOWN; ++i) {
                *(__global float16 *)(to + (WEFT_POINTS * i + j) * work->y_point) = column[i];
            }
        }
    }
}

/* Writes the transforms of x and y for `count` units from `start` on (see the kernel `sums`). */
__attribute__((always_inline)) static inline void WEFT_NAME(transforms)(
    const weft_conv_weight_work *work, int start, int count) {
    const int square = WEFT_CONV_WEIGHT_SQUARE, across = work->across;
    const int x_lines = square ? 1 : work->image1, y_lines = square ? 1 : work->result1;
    for (int unit = 0; unit < count; ++unit) {
        const int image = square ? (start + unit) / work->lines1 : start + unit;
        const int from = square ? (start + unit) % work->lines1 * WEFT_WINOGRAD_STEP : 0;
        for (int line = 0; line < x_lines; ++line) {
            for (int t = 0; t < across; ++t) WEFT_NAME(pixels)
            (work, image, square ? from - work->before1 : line, t * WEFT_WINOGRAD_STEP - work->before2,
                (line * count + unit) * across + t, count * x_lines * across);
        }
        for (int line = 0; line < y_lines; ++line) {
            for (int t = 0; t < across; ++t) WEFT_NAME(gradients)
            (work, image, square ? from : line, t * WEFT_WINOGRAD_STEP, (line * count + unit) * across + t,
                count * y_lines * across);
        }
    }
}

/* Sums the products of `count` units at one point and one row of taps. */
__attribute__((always_inline)) static inline void WEFT_NAME(products)(const weft_conv_weight_work *work,
    int point, int row, int count, bool first, weft_conv_weight_requests *next) {
    const int square = WEFT_CONV_WEIGHT_SQUARE, line = count * work->across;
    const int x_positions = (square ? 1 : work->image1) * line,
              y_positions = (square ? 1 : work->result1) * line;
    const long size = WEFT_CONV_WEIGHT_TILE * WEFT_WIDE;
    /* The lines of y for which this row of taps is inside the image. */
    const int low = square ? 0 : max(0, work->before1 - row),
              high = square ? 1 : max(low, min(work->result1, work->image1 + work->before1 - row));
    const int shift = square ? 0 : row - work->before1;
    for (int tile = 0; tile < work->tiles; ++tile) {
        __global const float *by =
            work->pixels + point * work->x_point + ((long)tile * x_positions + (low + shift) * line) * 16;
        __global float *to = work->sums + (((long)row * WEFT_ALL + point) * work->tiles + tile) * size;
        for (int panel = 0; panel < work->right - work->left; ++panel) {
            __global const float16 *gradients =
                (__global const float16 *)(work->gradients + point * work->y_point +
                                           ((long)panel * y_positions + low * line) * WEFT_WIDE);
            __global weft_lanes_f32 *sum = (__global weft_lanes_f32 *)(to + panel * work->panel_sums);
#define WEFT_CONV_WEIGHT_PART(row, rows, vector, vectors)                                                    \
    WEFT_NAME(multiply)                                                                                      \
    (sum + (row)*WEFT_CONV_WEIGHT_VECTORS + (vector), first, by + (row), gradients + (vector),               \
        (high - low) * line, next, rows, vectors, WEFT_CONV_WEIGHT_VECTORS)
            WEFT_EACH_PART(WEFT_CONV_WEIGHT_PART, WEFT_CONV_WEIGHT_TILE, WEFT_CONV_WEIGHT_VECTORS)
#undef WEFT_CONV_WEIGHT_PART
        }
    }
}

/* Work-item (split, span of panels, group). A split has `split_units` of the units, and takes `block` of them at a time. A unit
 * is an image or, with SQUARE, a line of tiles. Columns past the last filter have any values; combine does not read them. */
__kernel WEFT_ITEMS(1) void WEFT_NAME(sums)(WEFT_OPERANDS_A *x, long x_offset, WEFT_OPERANDS_B *y,
    long y_offset, __global float *rooms, long rooms_offset, __global float *sums, long sums_offset,
    long room, int units, int split_units, int block, int span, int tiles, int images, int channels,
    int filters, int groups, int image1, int image2, int result1, int result2, int taps1, int before1,
    int before2) {
    const int split = (int)get_global_id(0), group = (int)get_global_id(2);
    const int panels = (filters + WEFT_WIDE - 1) / WEFT_WIDE, left = (int)get_global_id(1) * span,
              right = min(panels, left + span);
    const int begin = split * split_units, end = min(units, begin + split_units);
    const int rows = WEFT_CONV_WEIGHT_SQUARE ? 1 : taps1;
    const int across = (result2 + WEFT_WINOGRAD_STEP - 1) / WEFT_WINOGRAD_STEP;
    const int lines1 = (result1 + WEFT_STEPS - 1) / WEFT_STEPS;
    /* The lines of positions of a unit in the transforms of x and of y. */
    const int x_lines = WEFT_CONV_WEIGHT_SQUARE ? 1 : image1, y_lines = WEFT_CONV_WEIGHT_SQUARE ? 1 : result1;
    const long x_pixel = (long)groups * channels, y_pixel = (long)groups * filters;
    const long x_first = (long)group * channels, y_first = (long)group * filters;
    const long panel_sums = (long)rows * WEFT_ALL * tiles * (WEFT_CONV_WEIGHT_TILE * WEFT_WIDE);
    /* Floats from one point to the next: an odd number of cache lines, so that the points share no set of a cache. */
    const long x_point = (long)tiles * block * x_lines * across * 16 + 16,
               y_point = (long)span * block * y_lines * across * WEFT_WIDE + 16;
    __global float *pixels =
        rooms + rooms_offset +
        room * ((get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) +
                   get_global_id(0));
    const weft_conv_weight_work work = {x + x_offset + x_first, y + y_offset + y_first, pixels,
        pixels + WEFT_ALL * x_point,
        sums + sums_offset + (((long)split * groups + group) * panels + left) * panel_sums,
        (long)images * image1 * image2 * x_pixel - x_first,
        (long)images * result1 * result2 * y_pixel - y_first, x_pixel, y_pixel, x_point, y_point, panel_sums,
        channels, filters, image1, image2, result1, result2, before1, before2, tiles, left, right, across,
        lines1};
    for (int start = begin; start < end; start += block) {
        const int count = min(block, end - start);
        WEFT_NAME(transforms)(&work, start, count);
        /* The data of the next block roughly follow those of this block in memory. */
        const long steps = (long)WEFT_ALL * rows * tiles * (right - left) * count * y_lines * across;
        const long x_unit = image1 * image2 * x_pixel / lines1, y_unit = result1 * result2 * y_pixel / lines1;
        weft_conv_weight_requests next = {(size_t)((WEFT_OPERANDS_A *)work.x + (start + count) * x_unit),
            (size_t)((WEFT_OPERANDS_B *)work.y + (start + count) * y_unit),
            (long)(count * sizeof(*x)) * x_unit / steps, (long)(count * sizeof(*y)) * y_unit / steps};
        for (int i = 0; i < WEFT_ALL; ++i) {
            for (int row = 0; row < rows; ++row)
                WEFT_NAME(products)(&work, i, row, count, start == begin, &next);
        }
    }
}

/* Work-item (tile, panel, group). */
__kernel WEFT_ITEMS(1) void WEFT_NAME(combine)(__global const float *sums, long sums_offset,
    __global float *w, long w_offset, int splits, int channels, int filters, int rows) {
    const int tile = (int)get_global_id(0), tiles = (int)get_global_size(0);
    const int panel = (int)get_global_id(1), panels = (int)get_global_size(1);
    const int group = (int)get_global_id(2), groups = (int)get_global_size(2);
    const int taps = WEFT_CONV_WEIGHT_SQUARE ? 9 : rows * WEFT_TAPS,
              columns = min(WEFT_WIDE, filters - WEFT_WIDE * panel);
    const int first = tile * WEFT_CONV_WEIGHT_TILE, count = min(WEFT_CONV_WEIGHT_TILE, channels - first);
    const long size = WEFT_CONV_WEIGHT_TILE * WEFT_WIDE, panel_sums = (long)rows * WEFT_ALL * tiles * size,
               partial_sums = panel_sums * panels * groups;
    sums += sums_offset + ((long)group * panels + panel) * panel_sums + tile * size;
    w += w_offset + (((long)group * filters + WEFT_WIDE * panel) * channels + first) * taps;
    for (int row = 0; row < rows; ++row) {
        for (int c = 0; c < count; ++c) {
            for (int v = 0; v < WEFT_CONV_WEIGHT_VECTORS; ++v) {
                __global const float *from =
                    sums + (long)row * WEFT_ALL * tiles * size + c * WEFT_WIDE + 16 * v;
                float16 m[WEFT_ALL], half_way[WEFT_DOWN * WEFT_TAPS], g[WEFT_TAPS * WEFT_TAPS];
                WEFT_UNROLL for (int i = 0; i < WEFT_ALL; ++i) {
                    float16 sum = *(__global const weft_lanes_f32 *)(from + i * tiles * size);
                    for (int split = 1; split < splits; ++split)
                        sum += *(
                            __global const weft_lanes_f32 *)(from + i * tiles * size + split * partial_sums);
                    m[i] = sum * weft_winograd_factor(i % WEFT_POINTS, WEFT_POINTS);
                    if (WEFT_CONV_WEIGHT_SQUARE) m[i] *= weft_winograd_factor(i / WEFT_POINTS, WEFT_POINTS);
                }
                WEFT_UNROLL for (int i = 0; i < WEFT_DOWN; ++i) weft_winograd_results(m + WEFT_POINTS * i, 1,
                    (WEFT_CONV_WEIGHT_SQUARE ? half_way : g) + WEFT_TAPS * i, 1, WEFT_TAPS, WEFT_POINTS);
                if (WEFT_CONV_WEIGHT_SQUARE) {
                    WEFT_UNROLL for (int j = 0; j < WEFT_TAPS; ++j) weft_winograd_results(
                        half_way + j, WEFT_TAPS, g + j, WEFT_TAPS, WEFT_TAPS, WEFT_POINTS);
                }
                const int of_row = WEFT_CONV_WEIGHT_SQUARE ? 9 : WEFT_TAPS;
                for (int j = 0; j < min(16, columns - 16 * v); ++j) {
                    __global float *to = w + ((long)(16 * v + j) * channels + c) * taps + row * WEFT_TAPS;
                    for (int k = 0; k < of_row; ++k) to[k] = ((const float *)(g + k))[j];
                }
            }
        }
    }
}

#undef WEFT_TAPS
#undef WEFT_POINTS
#undef WEFT_DOWN
#undef WEFT_STEPS
#undef WEFT_ALL
#undef WEFT_WIDE
#ifdef WEFT_CONV_WEIGHT_ANY_TILE
#undef WEFT_CONV_WEIGHT_ANY_TILE
#undef WEFT_CONV_WEIGHT_TILE
#undef WEFT_CONV_WEIGHT_VECTORS
#undef WEFT_CONV_WEIGHT_SQUARE
#endif
