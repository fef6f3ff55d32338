/* conv_weight_cpu.cl: the weight gradient of a convolution for devices of class cpu, where a work-item runs on a core with wide
 * vectors. x is the image, y the gradient of the result.
 *
 *     x (images, image..., groups * channels)   y (images, result..., groups * filters)
 *     -> w (groups * filters, channels, taps...): w[f][c][k] = sum over images, o of
 *        x[.][o * stride + k * dilation - before][c] * y[.][o][f]; all contiguous
 *
 * sums: a matrix product for each tap, with a tile of TILE (13) channels x 32 filters in registers, summed over positions o. A
 * work-item (no barriers, no local memory) computes some panels of 32 filters for a range of the lines of positions, which it takes
 * in blocks. Of a block it copies y into panels and, for TILE channels at a time, the pixels that the windows read, with zeros
 * outside the image. For each tap only the address of the first pixel differs:
 *
 *        x, 13 of 16 floats a pixel           y, 32 floats a position
 *      +--+--+--+--+--+--+--                 +----------+
 *      |  |t2|t2|t2|  |  |      times        |          |    each position: 2 vector loads, 13 broadcasts, 26
 *      +--+--+--+--+--+--+--                 +----------+    multiply-adds, all in registers
 *          p, p + stride, ...                   p
 *
 * If there are few channels (`joined`), whole pixels are copied, and a tile consists of neighbours among the taps2 * channels
 * numbers of a row of taps. Sums are in scratch memory, [split][group][panel][tap][tile][TILE][32].
 *
 * TILE is chosen so that tiles divide the channels evenly. With at most 16 filters a panel is one vector (VECTORS), and a tile has
 * up to 24 rows.
 *
 * combine: adds the splits up, in their order, and stores the sums as w. */

#ifndef WEFT_CONV_WEIGHT_CPU
#define WEFT_CONV_WEIGHT_CPU

/* The prefetch distance in pixels, since successive pixels of many channels are in different pages. */
#define WEFT_CONV_WEIGHT_PREFETCH 12

/* A line of positions in one image, from (o0, o1, o2) on along the last axis. */
typedef struct weft_conv_line {
    int image, o0, o1, o2;
} weft_conv_line;

static weft_conv_line weft_conv_line_at(int number, int result0, int result1, int segments, int length) {
    weft_conv_line line;
    line.o2 = number % segments * length;
    number /= segments;
    line.o1 = number % result1;
    number /= result1;
    line.o0 = number % result0;
    line.image = number / result0;
    return line;
}

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) conv_weight_##suffix
#include "alone.clh"
#endif
#ifndef WEFT_CONV_WEIGHT_TILE
#define WEFT_CONV_WEIGHT_TILE    WEFT_CONV_WEIGHT_ROWS
#define WEFT_CONV_WEIGHT_VECTORS 2 /* vectors of 16 filters in a panel */
#define WEFT_CONV_WEIGHT_ANY_TILE
#endif

/* Adds one tap's products over a block of lines to the sums: `tile` rows, and `vectors` of the `wide` vectors of a panel, all
 * constants at the call. Each copy of the template has a function of its own: a function that several callers share with different
 * constants would not be unrolled, and would hold its sums in memory. */
__attribute__((always_inline)) static inline void WEFT_NAME(multiply)(__global weft_lanes_f32 *sum,
    bool first, const float *x, const float16 *y, int lines, int length, int x_line, int x_step,
    const int tile, const int vectors, const int wide) {
    float16 acc[WEFT_CONV_WEIGHT_MOST][2];
    WEFT_UNROLL for (int r = 0; r < tile; ++r) {
        WEFT_UNROLL for (int v = 0; v < vectors; ++v) acc[r][v] = first ? 0.0f : sum[wide * r + v];
    }
    for (int line = 0; line < lines; ++line) {
        const float *pixel = x + line * x_line;
        for (int p = 0; p < length; ++p) {
            const float16 y0 = y[0], y1 = y[vectors - 1];
            WEFT_UNROLL for (int r = 0; r < tile; ++r) {
                const float16 a = pixel[r];
                acc[r][0] = WEFT_MULTIPLY_ADD(a, y0, acc[r][0]);
                if (vectors == 2) acc[r][vectors - 1] = WEFT_MULTIPLY_ADD(a, y1, acc[r][vectors - 1]);
            }
            pixel += x_step;
            y += wide;
        }
    }
    WEFT_UNROLL for (int r = 0; r < tile; ++r) {
        WEFT_UNROLL for (int v = 0; v < vectors; ++v) sum[wide * r + v] = acc[r][v];
    }
}

/* panel[p] = y of position p, with zeros past the end of the row and past the last filter. */
static inline void WEFT_NAME(pack_y)(
    float16 *panel, WEFT_OPERANDS_B *y, int count, int length, int columns, long step, const int vectors) {
    if (columns == 16 * vectors) {
        for (int p = 0; p < count; ++p, y += step) {
            WEFT_PREFETCH(y + WEFT_CONV_WEIGHT_PREFETCH * step, 2);
            WEFT_PREFETCH(y + WEFT_CONV_WEIGHT_PREFETCH * step + 16, 2);
            panel[vectors * p] = WEFT_OF_B(WEFT_READ_)(y);
            if (vectors == 2) panel[vectors * p + 1] = WEFT_OF_B(WEFT_READ_)(y + 16);
        }
    } else {
        float *to = (float *)panel;
        for (int p = 0; p < count; ++p, y += step) {
            for (int j = 0; j < 16 * vectors; ++j)
                to[16 * vectors * p + j] = j < columns ? WEFT_OF_B(WEFT_GET_)(y, j) : 0.0f;
        }
    }
    for (int p = vectors * count; p < vectors * length; ++p) panel[p] = 0.0f;
}

/* pixels[i * pitch + c] = channel c of pixel first + i of a row of the image, for i < width; zeros outside the image. With a
 * pitch of 16, a pixel is read as a vector, of which only the first `count` channels matter, unless x ends before the end of the
 * vector. */
static inline void WEFT_NAME(pack_x)(float *pixels, WEFT_OPERANDS_A *row, WEFT_OPERANDS_A *x_end, bool inside,
    int first, int width, int size, int count, int pitch, long step) {
    /* Pixels low to high - 1 are in the image; those before `whole` can be read as vectors. */
    const int low = inside ? min(width, max(0, -first)) : width;
    const int high = inside ? max(low, min(width, size - first)) : width;
    int whole = low;
    if (pitch == 16 && high > low) {
        WEFT_OPERANDS_A *last = row + (long)(first + high - 1) * step;
        whole = x_end - last >= 16 ? high : high - 1;
    }
    for (int i = 0; i < low; ++i) {
        for (int c = 0; c < count; ++c) pixels[i * pitch + c] = 0.0f;
    }
    WEFT_OPERANDS_A *from = row + (long)(first + low) * step;
    for (int i = low; i < whole; ++i, from += step) {
        WEFT_PREFETCH(from + WEFT_CONV_WEIGHT_PREFETCH * step, 2);
        WEFT_PREFETCH(from + WEFT_CONV_WEIGHT_PREFETCH * step + 15, 2);
        *(weft_lanes_f32 *)(pixels + i * 16) = WEFT_OF_A(WEFT_READ_)(from);
    }
    if (step == pitch) { /* the pixels are contiguous in memory, as in the copy */
        const int left = (high - whole) * pitch;
        float *to = pixels + whole * pitch;
        int i = 0;
        for (; i + 16 <= left; i += 16) *(weft_lanes_f32 *)(to + i) = WEFT_OF_A(WEFT_READ_)(from + i);
        for (; i < left; ++i) to[i] = WEFT_OF_A(WEFT_GET_)(from, i);
    } else {
        for (int i = whole; i < high; ++i, from += step) {
            for (int c = 0; c < count; ++c) pixels[i * pitch + c] = WEFT_OF_A(WEFT_GET_)(from, c);
        }
    }
    for (int i = high; i < width; ++i) {
        for (int c = 0; c < count; ++c) pixels[i * pitch + c] = 0.0f;
    }
}

/* Work-item (split, span of panels, group). A split has `lines` of the `all_lines` lines, each with at most `length` positions,
 * and takes `block` lines at a time. */
__kernel WEFT_ITEMS(1) void WEFT_NAME(sums)(WEFT_OPERANDS_A *x, long x_offset, WEFT_OPERANDS_B *y,
    long y_offset, __global float *sums, long sums_offset, int all_lines, int lines, int block, int length,
    int span, int joined, int tiles, int images, int channels, int filters, int groups, int image0,
    int image1, int image2, int result0, int result1, int result2, int taps0, int taps1, int taps2,
    int stride0, int stride1, int stride2, int dilation0, int dilation1, int dilation2, int before0,
    int before1, int before2) {
    const int split = (int)get_global_id(0), group = (int)get_global_id(2);
    const int wide = 16 * WEFT_CONV_WEIGHT_VECTORS, panels = (filters + wide - 1) / wide,
              left = (int)get_global_id(1) * span, right = min(panels, left + span);
    const int end = min(all_lines, (split + 1) * lines), segments = (result2 + length - 1) / length;
    const int rows = taps0 * taps1, across = joined ? 1 : taps2,
              elements = joined ? taps2 * channels : channels;
    const int pitch = joined ? channels : 16, width = (length - 1) * stride2 + (taps2 - 1) * dilation2 + 1;
    const int x_row = width * pitch, x_line = rows * x_row; /* floats of a row, of all rows of taps */
    const long x_step = (long)groups * channels, y_step = (long)groups * filters;
    const long panel_sums = (long)rows * across * tiles * WEFT_CONV_WEIGHT_TILE * wide;
    WEFT_OPERANDS_A *x_end = x + x_offset + (long)images * image0 * image1 * image2 * x_step;
    x += x_offset + (long)group * channels;
    y += y_offset + (long)group * filters;
    sums += sums_offset + (((long)split * groups + group) * panels + left) * panel_sums;
    float16 y_room[WEFT_CONV_WEIGHT_PANELS * WEFT_CONV_WEIGHT_POSITIONS * WEFT_CONV_WEIGHT_VECTORS];
    float16 x_room[WEFT_CONV_WEIGHT_ROOM / 16 + 1];
    float *pixels = (float *)x_room;
    for (int start = split * lines; start < end; start += block) {
        const bool first = start == split * lines;
        const int count = min(block, end - start);
        for (int i = 0; i < count; ++i) {
            const weft_conv_line at = weft_conv_line_at(start + i, result0, result1, segments, length);
            const long from = (((long)at.image * result0 + at.o0) * result1 + at.o1) * result2 + at.o2;
            for (int panel = left; panel < right; ++panel) WEFT_NAME(pack_y)
            (y_room + ((panel - left) * WEFT_CONV_WEIGHT_POSITIONS + i * length) * WEFT_CONV_WEIGHT_VECTORS,
                y + from * y_step + wide * panel, min(length, result2 - at.o2), length,
                min(wide, filters - wide * panel), y_step, WEFT_CONV_WEIGHT_VECTORS);
        }
        for (int tile = 0; tile < tiles; ++tile) {
            const int channel = tile * WEFT_CONV_WEIGHT_TILE;
            for (int i = 0; i < count && (!joined || tile == 0); ++i) {
                const weft_conv_line at = weft_conv_line_at(start + i, result0, result1, segments, length);
                for (int t0 = 0; t0 < taps0; ++t0) {
                    const int i0 = at.o0 * stride0 + t0 * dilation0 - before0;
                    for (int t1 = 0; t1 < taps1; ++t1) {
                        const int i1 = at.o1 * stride1 + t1 * dilation1 - before1;
                        const bool inside = i0 >= 0 && i0 < image0 && i1 >= 0 && i1 < image1;
                        const long row = (((long)at.image * image0 + i0) * image1 + i1) * image2;
                        WEFT_NAME(pack_x)
                        (pixels + i * x_line + (t0 * taps1 + t1) * x_row,
                            x + row * x_step + (joined ? 0 : channel), x_end, inside,
                            at.o2 * stride2 - before2, width, image2,
                            joined ? channels : min(16, channels - channel), pitch, x_step);
                    }
                }
            }
            for (int row = 0; row < rows; ++row) {
                for (int t2 = 0; t2 < across; ++t2) {
                    const float *from = pixels + row * x_row + (joined ? channel : t2 * dilation2 * pitch);
                    const long place = ((row * across + t2) * tiles + tile) * (WEFT_CONV_WEIGHT_TILE * wide);
                    for (int panel = left; panel < right; ++panel) {
                        __global weft_lanes_f32 *sum =
                            (__global weft_lanes_f32 *)(sums + (panel - left) * panel_sums + place);
                        const float16 *gradients =
                            y_room + (panel - left) * WEFT_CONV_WEIGHT_POSITIONS * WEFT_CONV_WEIGHT_VECTORS;
#define WEFT_CONV_WEIGHT_PART(row, rows, vector, vectors)                                                    \
    WEFT_NAME(multiply)                                                                                      \
    (sum + (row)*WEFT_CONV_WEIGHT_VECTORS + (vector), first, from + (row), gradients + (vector), count,      \
        length, x_line, stride2 * pitch, rows, vectors, WEFT_CONV_WEIGHT_VECTORS)
                        WEFT_EACH_PART(WEFT_CONV_WEIGHT_PART, WEFT_CONV_WEIGHT_TILE, WEFT_CONV_WEIGHT_VECTORS)
#undef WEFT_CONV_WEIGHT_PART
                    }
                }
            }
        }
    }
}

/* Work-item (tile, panel, group). */
__kernel WEFT_ITEMS(1) void WEFT_NAME(combine)(__global const float *sums, long sums_offset,
    __global float *w, long w_offset, int splits, int joined, int channels, int filters, int rows,
    int taps2) {
    const int tile = (int)get_global_id(0), tiles = (int)get_global_size(0);
    const int panel = (int)get_global_id(1), panels = (int)get_global_size(1);
    const int group = (int)get_global_id(2), groups = (int)get_global_size(2);
    const int across = joined ? 1 : taps2, elements = joined ? taps2 * channels : channels;
    const int wide = 16 * WEFT_CONV_WEIGHT_VECTORS, size = WEFT_CONV_WEIGHT_TILE * wide, taps = rows * taps2,
              columns = min(wide, filters - wide * panel);
    const int count = min(WEFT_CONV_WEIGHT_TILE, elements - tile * WEFT_CONV_WEIGHT_TILE);
    const long panel_sums = (long)rows * across * tiles * size, partial_sums = panel_sums * panels * groups;
    sums += sums_offset + ((long)group * panels + panel) * panel_sums + (long)tile * size;
    w += w_offset + ((long)group * filters + wide * panel) * channels * taps;
    for (int j = 0; j < columns; ++j) {
        for (int e = 0; e < count; ++e) {
            const int element = tile * WEFT_CONV_WEIGHT_TILE + e,
                      channel = joined ? element % channels : element;
            const int first = joined ? element / channels : 0;
            for (int tap = 0; tap < rows * across; ++tap) {
                __global const float *from = sums + (long)tap * tiles * size + e * wide + j;
                float sum = from[0];
                for (int split = 1; split < splits; ++split) sum += from[split * partial_sums];
                w[((long)j * channels + channel) * taps + (joined ? tap * taps2 + first : tap)] = sum;
            }
        }
    }
}

#ifdef WEFT_CONV_WEIGHT_ANY_TILE
#undef WEFT_CONV_WEIGHT_ANY_TILE
#undef WEFT_CONV_WEIGHT_TILE
#undef WEFT_CONV_WEIGHT_VECTORS
#endif
