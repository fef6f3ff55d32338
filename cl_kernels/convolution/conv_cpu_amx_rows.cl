/* conv_cpu_amx_rows.cl: convolution in bf16 with sums of f32 by the matrix engine AMX, which reads rows of the image directly,
 * where conv_cpu_amx.cl copies windows.
 *
 *     x: images, channels contiguous, stored in WEFT_FORMAT_A   w: any strides, stored in WEFT_FORMAT_B; both are rounded to
 *     bf16 if their formats are wider   result: stored by WEFT_STORE (the epilogue)
 *
 * If channels are contiguous and the last axis is not dilated, a row of taps is a line of taps2 * channels numbers, and the line of
 * the next position begins stride2 * channels numbers later. The engine loads a tile whose rows are any distance apart, so the
 * lines of a tile may overlap:
 *
 *     a row of the image, copied once        p0 p1 p2 p3 p4 p5 ...      (taps2 = 3, stride2 = 1)
 *     rows of the tile                       p0 p1 p2
 *                                               p1 p2 p3
 *                                                  p2 p3 p4
 *
 * pack: writes the weight as panels of 32 columns: for each row of taps, the blocks of 32 steps of its line, each as panel[side *
 * 256 + pair * 16 + column], in words. `side` is 0 for the left and 1 for the right half of a panel. Steps and columns past the
 * last ones are zero.
 *
 * rows: a work-item (no barriers, no local memory) computes a strip of pairs of tiles. A tile is `height` positions, at most 16, of
 * one row of the result; pairs follow one another through the rows of an image. A ring in private memory holds the rows of the
 * image that a pair reads, as bf16, with zeros outside the image. If the number of channels is odd, each pixel gets one more
 * channel of zeros. The tail of a line after its whole blocks has tiles of exactly its width: wider tiles would multiply the
 * elements after the line by zero, and an infinity among them would give NaN.
 *
 * The arguments are described in src/kernels/convolution/conv_product.h, the macros that the plan defines before each copy in
 * conv_cpu.cl and src/kernels/product/gemm.h. The engine is in amx.clh. */

#ifndef WEFT_CONV_CPU_AMX_ROWS
#define WEFT_CONV_CPU_AMX_ROWS

/* The ring of rows. Row i of the padded image begins at ring + (i & mask) * pitch. A window has `taps` rows of taps, `down` rows
 * apart, each with `full` blocks of 32 steps and a tail of `rest` steps; the lines of successive positions are `step` words
 * apart. The line of a tile's first position begins at `column` in row `row` (weft_conv_rows_line). */
typedef struct weft_conv_rows {
    const ushort *ring;
    int mask, pitch, down, taps, full, rest, step;
} weft_conv_rows;

typedef ushort4 weft_conv_rows_pixel __attribute__((aligned(2)));

typedef struct weft_conv_rows_line {
    int row, column;
} weft_conv_rows_line;

#define WEFT_CONV_ROWS_PART(a, b)                                                                            \
    WEFT_AMX_LOAD(engine, b, panel);                                                                         \
    WEFT_AMX_LOAD_ROWS(engine, a, line0, from->step);                                                        \
    WEFT_AMX_MULTIPLY(engine, 0, a, b);                                                                      \
    if (tall) {                                                                                              \
        WEFT_AMX_LOAD_ROWS(engine, a, line1, from->step);                                                    \
        WEFT_AMX_MULTIPLY(engine, 2, a, b);                                                                  \
    }                                                                                                        \
    if (wide) {                                                                                              \
        WEFT_AMX_LOAD(engine, b, panel + WEFT_AMX_TILE);                                                     \
        if (tall) {                                                                                          \
            WEFT_AMX_MULTIPLY(engine, 3, a, b);                                                              \
            WEFT_AMX_LOAD_ROWS(engine, a, line0, from->step);                                                \
        }                                                                                                    \
        WEFT_AMX_MULTIPLY(engine, 1, a, b);                                                                  \
    }                                                                                                        \
    panel += WEFT_CONV_AMX_BLOCK

/* sums, four tiles one after another, = a pair of tiles times a panel; tall (two tiles) and wide (more than 16 columns) are
 * constants at each call. */
__attribute__((always_inline)) static inline void weft_conv_rows_multiply(weft_amx_engine *engine,
    float *sums, const weft_conv_rows *from, weft_conv_rows_line a, weft_conv_rows_line b,
    __global const uint *panel, const bool tall, const bool wide) {
    WEFT_AMX_ZERO(engine, 0);
    WEFT_AMX_ZERO(engine, 1);
    WEFT_AMX_ZERO(engine, 2);
    WEFT_AMX_ZERO(engine, 3);
    for (int tap = 0; tap < from->taps; ++tap, a.row += from->down, b.row += from->down) {
        const ushort *line0 = from->ring + (a.row & from->mask) * from->pitch + a.column;
        const ushort *line1 = from->ring + (b.row & from->mask) * from->pitch + b.column;
        for (int block = 0; block < from->full; ++block, line0 += 32, line1 += 32) {
            WEFT_CONV_ROWS_PART(4, 6);
        }
        if (from->rest) {
            WEFT_CONV_ROWS_PART(5, 7);
        }
    }
    WEFT_AMX_STORE(engine, 0, sums);
    if (wide) WEFT_AMX_STORE(engine, 1, sums + WEFT_AMX_TILE);
    if (tall) WEFT_AMX_STORE(engine, 2, sums + 2 * WEFT_AMX_TILE);
    if (tall && wide) WEFT_AMX_STORE(engine, 3, sums + 3 * WEFT_AMX_TILE);
}

/* Sets to[0..count) to zero, and writes nothing past its end. */
static inline void weft_conv_rows_zeros(ushort *to, int count) {
    for (int i = 0; i < count; ++i) to[i] = 0;
}

/* Appends a channel of zero to pixels with an odd number of channels. The pixels are at `from`, which is behind `to`; both
 * ranges end at the same address. */
static inline void weft_conv_rows_spread(ushort *to, const ushort *from, int pixels, int channels) {
    if (channels == 3) {
        for (int i = 0; i < pixels; ++i) {
            const ushort4 pixel = *(const weft_conv_rows_pixel *)(from + 3 * i);
            *(weft_conv_rows_pixel *)(to + 4 * i) = (ushort4)(pixel.xyz, 0);
        }
        return;
    }
    for (int i = 0; i < pixels; ++i) {
        for (int c = 0; c < channels; ++c) to[i * (channels + 1) + c] = from[i * channels + c];
        to[i * (channels + 1) + channels] = 0;
    }
}

/* Finished sums that are not stored yet: a pair of tiles, from tile number `tile` of an image on, and the columns from `column`
 * on. */
typedef struct weft_conv_rows_sums {
    const float *sums;
    int column, image, tile, tiles;
} weft_conv_rows_sums;

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) conv_amx_rows_##suffix
#define WEFT_FORMAT_A     bf16
#include "alone.clh"
#endif

#include "conv_cpu_amx_copy.clh"

/* Writes one row of an image to the ring as bf16: `width` pixels of `wide` channels, of which the first `before` and those after
 * the image's `read` pixels are zero. `element` is the offset of the row's first pixel. */
static inline void WEFT_NAME(line)(ushort *to, WEFT_OPERANDS_A *x, long element, long elements, int read,
    int width, int before, int channels, int wide, long x2) {
    const int low = clamp(before, 0, width), high = clamp(before + read, low, width);
    if (x2 == channels && channels == wide) {
        element -= before * x2;
        WEFT_NAME(copy)
        (to, x + element, width * wide, low * wide, high * wide, elements - element);
        return;
    }
    element += (low - before) * x2;
    if (x2 == channels) { /* copied to the right end, then spread to the left */
        const int count = (high - low) * channels;
        WEFT_NAME(copy)(to + high * wide - count, x + element, count, 0, count, elements - element);
        weft_conv_rows_spread(to + low * wide, to + high * wide - count, high - low, channels);
    } else {
        for (int pixel = low; pixel < high; ++pixel, element += x2)
            for (int c = 0; c < wide; ++c)
                to[pixel * wide + c] =
                    c < channels ? weft_conv_amx_half(WEFT_OF_A(WEFT_GET_)(x, element + c)) : (ushort)0;
    }
    weft_conv_rows_zeros(to, low * wide);
    weft_conv_amx_zeros(to, high * wide, width * wide);
}

/* Work-item (panel, row of taps). */
__kernel WEFT_ITEMS(1) void WEFT_NAME(pack)(WEFT_OPERANDS_B *w, long w_offset, __global uint *panels,
    long panels_offset, long panel_words, long w_first, int channels, int filters, int taps0, int taps1,
    int taps2, int stride0, int stride1, int stride2, int dilation0, int dilation1, int dilation2,
    int before0, int before1, int before2, int transposed, long w_group, long w_filter, long w_channel,
    long w0, long w1, long w2) {
    const int panel = (int)get_global_id(0), tap = (int)get_global_id(1);
    const int wide = channels + channels % 2, blocks = (taps2 * wide + 31) / 32;
    const int columns = min(32, filters - 32 * panel);
    w += w_offset + w_first + 32 * panel * w_filter + tap * w1;
    __global uint *to =
        panels + panels_offset + panel * panel_words + tap * blocks * (long)WEFT_CONV_AMX_BLOCK;
    for (int block = 0; block < blocks; ++block, to += WEFT_CONV_AMX_BLOCK) {
        ushort halves[2 * WEFT_CONV_AMX_BLOCK]; /* in the order of the panel */
        for (int i = 0; i < 2 * WEFT_CONV_AMX_BLOCK; i += 16) *(ushort16 *)(halves + i) = (ushort16)(0);
        for (int step = 0; step < min(32, taps2 * wide - 32 * block); ++step) {
            const int n2 = (32 * block + step) / wide, channel = (32 * block + step) % wide;
            if (channel >= channels) continue;
            const long from = n2 * w2 + channel * w_channel;
            for (int j = 0; j < columns; ++j)
                halves[j / 16 * 512 + step / 2 * 32 + j % 16 * 2 + step % 2] =
                    weft_conv_amx_half(WEFT_OF_B(WEFT_GET_)(w, from + j * w_filter));
        }
        for (int i = 0; i < WEFT_CONV_AMX_BLOCK; ++i) to[i] = halves[2 * i] | (uint)halves[2 * i + 1] << 16;
    }
}

/* Stores the columns from made.column on of the tiles of `made`. */
#define WEFT_CONV_ROWS_STORE(made)                                                                           \
    for (int t = 0; t < made.tiles; ++t) {                                                                   \
        const int q1 = (made.tile + t) / across, q2 = (made.tile + t) % across * height;                     \
        for (int r = 0; r < min(height, made2 - q2); ++r) {                                                  \
            const float16 *line = (const float16 *)made.sums + t * 32 + r;                                   \
            for (int to = made.column, side = 0; side < 2 && to < filters; to += 16, ++side)                 \
                WEFT_STORE(line[16 * side], made.image *made1 + q1, q2 + r, to, min(16, filters - to));      \
        }                                                                                                    \
    }

/* Work-item: a strip of pairs of tiles. */
__kernel WEFT_ITEMS(1) void WEFT_NAME(rows)(WEFT_OPERANDS_A *x, long x_offset, __global const uint *panels,
    long panels_offset, long panel_words, long x_elements, int strip, int height, int across, int mask,
    int pitch, int images, int channels, int filters, int read0, int read1, int read2, int made0, int made1,
    int made2, int taps0, int taps1, int taps2, int stride0, int stride1, int stride2, int dilation0,
    int dilation1, int dilation2, int before0, int before1, int before2, int transposed, long x_image,
    long x0, long x1, long x2 WEFT_EPILOGUE_PARAMETERS) {
    const int wide = channels + channels % 2, line = taps2 * wide;
    const int tiles = across * made1, pairs = (tiles + 1) / 2;
    const int width = (across * height - 1) * stride2 + taps2, extent = (taps1 - 1) * dilation1 + 1;
    const int first = (int)get_global_id(0) * strip, last = min(images * pairs, first + strip);
    ushort ring[WEFT_CONV_AMX_RING + 32] __attribute__((aligned(64))); /* vectors end past a row */
    float sums[2][4 * WEFT_AMX_TILE] __attribute__((aligned(64)));
    const weft_conv_rows from = {
        ring, mask, pitch, dilation1, taps1, line / 32, line % 32, stride2 * wide / 2};
    weft_amx_engine engine;
    weft_amx_begin_parts(&engine, height, line % 32 == 0 ? 16 : line % 32 / 2);
    weft_conv_rows_sums made = {0, 0, 0, 0, 0};
    int ready = 0, number = 0; /* the ring holds rows of the padded image up to `ready` - 1 */
    panels += panels_offset;
    for (int pair = first; pair < last; ++pair) {
        const int image = pair / pairs, tile = pair % pairs * 2, count = min(2, tiles - tile);
        const int top = tile / across * stride1, bottom = (tile + count - 1) / across * stride1;
        if (pair == first || tile == 0 || ready < top) ready = top;
        for (; ready < bottom + extent; ++ready) {
            const int i1 = ready - before1;
            WEFT_NAME(line)
            (ring + (ready & mask) * pitch, x + x_offset, image * x_image + i1 * x1, x_elements,
                i1 >= 0 && i1 < read1 ? read2 : 0, width, before2, channels, wide, x2);
        }
        const weft_conv_rows_line a = {top, tile % across * height * stride2 * wide},
                                  b = {bottom, (tile + count - 1) % across * height * stride2 * wide};
        for (int j = 0; j < filters; j += 32, ++number) {
            float *sum = sums[number % 2];
            __global const uint *panel = panels + j / 32 * panel_words;
            if (count > 1 && filters - j > 16)
                weft_conv_rows_multiply(&engine, sum, &from, a, b, panel, true, true);
            else if (count > 1)
                weft_conv_rows_multiply(&engine, sum, &from, a, b, panel, true, false);
            else if (filters - j > 16)
                weft_conv_rows_multiply(&engine, sum, &from, a, b, panel, false, true);
            else
                weft_conv_rows_multiply(&engine, sum, &from, a, b, panel, false, false);
            WEFT_CONV_ROWS_STORE(made)
            made = (weft_conv_rows_sums){sum, j, image, tile, count};
        }
    }
    WEFT_CONV_ROWS_STORE(made)
    WEFT_AMX_RELEASE(&engine);
}

#undef WEFT_CONV_ROWS_STORE
