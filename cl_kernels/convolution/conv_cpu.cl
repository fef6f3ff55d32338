/* conv_cpu.cl: convolution and its data gradient for devices of class cpu, where a work-item runs on a core with wide vectors.
 *
 *     x: images, channels contiguous   w: any strides   result: stored by WEFT_STORE (the epilogue)
 *
 * It is a matrix product over windows: a row is a position of the result, a column is an output channel, and a step of k is a (tap,
 * input channel).
 *
 * pack: writes the weight as panels of 32 columns, panel[k * 32 + column], once a run; columns past the last one are zero.
 *
 * windows: a work-item (no barriers, no local memory) computes `strip` rows and `span` columns of a group. It walks along k in
 * blocks of at most WEFT_CONV_DEPTH steps. For 13 rows at a time it copies the elements of their windows in the block to a
 * contiguous tile, with zeros outside the image, and multiplies the tile by every panel:
 *
 *    image, a row of pixels                        panel 0    panel 1
 *        . . t t t . . .                          +----------+----------+--
 *             \ \ \                       depth   | b0   b1  |          |
 *              copy                               +----------+----------+--
 *              depth                              +----------+----------+--
 *          +-----------+                          |acc   acc |          |    each step of k: 2 vector loads,
 *    rows  | tile      |  private memory          |          |          |    and for each row one broadcast
 *          +-----------+                          +----------+----------+--  and 2 multiply-adds
 *
 * Each block of the weight comes from memory, and the first rows would wait for it. All rows of a strip therefore prefetch parts of
 * the next block.
 *
 * If taps are contiguous in the image (no dilation, one group), a row of taps is copied as one line; a first layer of three
 * channels then needs no other kernel. The data gradient of stride s consists of s (s², s³ with more axes) products, called
 * *phases*: all positions with the same remainder modulo s use the same taps, and no zeros between the elements are multiplied.
 * Taps are packed phase by phase, so that the steps of k of each phase are contiguous.
 *
 * The plan can define macros that leave out code: AXES (2: the first of the three axes is trivial), TRANSPOSED, PHASES (transposed
 * with a stride), JOINED (a row of taps is one line). Without them the kernel looks at its arguments.
 *
 * The arguments are described in src/kernels/convolution/conv_product.h, the macros that the plan defines before each copy
 * (WEFT_NAME, WEFT_EPILOGUE_PARAMETERS, WEFT_STORE) in src/kernels/product/gemm.h. */

#ifndef WEFT_CONV_CPU
#define WEFT_CONV_CPU

WEFT_REQUIRE(weft_conv_has_two_vectors, WEFT_CONV_COLUMNS == 2 * 16);

/* Floats from one row of a tile to the next: modulo the size of a cache way, successive rows are one cache line apart. A row has
 * room for a vector past its end. */
#define WEFT_CONV_PITCH (WEFT_CONV_DEPTH + 16)

#define WEFT_CONV_ROLL __attribute__((opencl_unroll_hint(1)))

/* A stream of prefetches, `step` bytes further at each step of k. */
typedef struct weft_conv_request {
    size_t at;
    long step;
} weft_conv_request;

/* The prefetches of tile `number` of `count` for the next block of the same panel: a range of the block. `any` says whether there
 * is a next block. */
static inline weft_conv_request weft_conv_request_of(
    __global const float *block, int number, int count, int depth, bool any) {
    weft_conv_request request = {(size_t)block, 0};
    if (!any) return request; /* a phase without taps has depth 0 */
    const long share = (long)depth * WEFT_CONV_COLUMNS * 4 / count;
    request.at += number * share;
    request.step = (share + depth - 1) / depth;
    return request;
}

/* sum[r][v] (+)= rows of the tile * vectors of the panel, where `(+)=` means `=` if `first`, otherwise `+=`; rows and vectors are
 * constants at each call. */
__attribute__((always_inline)) static inline void weft_conv_part(float16 *sum, const float *tile,
    __global const weft_lanes_f32 *panel, int depth, bool first, weft_conv_request next, const int rows,
    const int vectors) {
    float16 acc[WEFT_CONV_ROWS][2];
    WEFT_UNROLL for (int r = 0; r < rows; ++r) {
        acc[r][0] = first ? 0.0f : sum[2 * WEFT_CONV_PANELS * r];
        if (vectors > 1) acc[r][1] = first ? 0.0f : sum[2 * WEFT_CONV_PANELS * r + 1];
    }
    for (int p = 0; p < depth; ++p) {
        WEFT_PREFETCH(next.at, 2);
        next.at += next.step;
        WEFT_PREFETCH(panel + 2 * (p + 4), 3);
        if (vectors > 1) WEFT_PREFETCH(panel + 2 * (p + 4) + 1, 3);
        const float16 b0 = panel[2 * p], b1 = vectors > 1 ? panel[2 * p + 1] : 0.0f;
        WEFT_UNROLL for (int r = 0; r < rows; ++r) {
            const float16 x = tile[r * WEFT_CONV_PITCH + p];
            acc[r][0] = WEFT_MULTIPLY_ADD(x, b0, acc[r][0]);
            if (vectors > 1) acc[r][1] = WEFT_MULTIPLY_ADD(x, b1, acc[r][1]);
        }
    }
    WEFT_UNROLL for (int r = 0; r < rows; ++r) {
        sum[2 * WEFT_CONV_PANELS * r] = acc[r][0];
        if (vectors > 1) sum[2 * WEFT_CONV_PANELS * r + 1] = acc[r][1];
    }
}

#define WEFT_CONV_PART(row, rows, vector, vectors)                                                           \
    weft_conv_part(sum + 2 * WEFT_CONV_PANELS * (row) + (vector), tile + (row)*WEFT_CONV_PITCH,              \
        panel + (vector), depth, first, next, rows, vectors)

__attribute__((always_inline)) static inline void weft_conv_multiply(float16 *sum, const float *tile,
    __global const weft_lanes_f32 *panel, int depth, bool first, weft_conv_request next) {
    WEFT_EACH_PART(WEFT_CONV_PART, WEFT_CONV_ROWS, 2)
}

#endif

#ifndef WEFT_CONV_AXES
#define WEFT_CONV_AXES       3
#define WEFT_CONV_TRANSPOSED (transposed != 0)
#define WEFT_CONV_PHASES     (transposed != 0)
#define WEFT_CONV_JOINED     (!transposed && dilation2 == 1 && x2 == channels)
#define WEFT_CONV_ANY_SHAPE
#endif
#ifndef WEFT_NAME
#define WEFT_NAME(suffix) conv_##suffix
#include "alone.clh"
#endif

/* to[i] = from[i] for low <= i < high, and zero for other i < count. May write past the end of `to`, up to a whole vector; reads
 * only the `left` elements from `from` on. */
__attribute__((always_inline)) static inline void WEFT_NAME(copy)(
    float *to, WEFT_OPERANDS_A *from, int count, int low, int high, long left) {
    if (low <= 0 && high >= count) {
        int i = 0;
        for (; i + 16 <= count; i += 16) *(weft_lanes_f32 *)(to + i) = WEFT_OF_A(WEFT_READ_)(from + i);
        if (i < count && i + 16 <= left) {
            *(weft_lanes_f32 *)(to + i) = WEFT_OF_A(WEFT_READ_)(from + i);
            i = count;
        }
        for (; i < count; ++i) to[i] = WEFT_OF_A(WEFT_GET_)(from, i);
    } else if (high <= 0 || low >= count) {
        for (int i = 0; i < count; i += 16) *(weft_lanes_f32 *)(to + i) = 0.0f;
    } else {
        for (int i = 0; i < count; ++i) to[i] = i >= low && i < high ? WEFT_OF_A(WEFT_GET_)(from, i) : 0.0f;
    }
}

#define WEFT_WINDOW_T float
#include "conv_window_cpu.clh"
#undef WEFT_WINDOW_T

/* Work-item (panel, sixteen input channels, group). */
__kernel WEFT_ITEMS(1) void WEFT_NAME(pack)(WEFT_OPERANDS_B *w, long w_offset, __global float *panels,
    long panels_offset, int channels, int filters, int taps0, int taps1, int taps2, int stride0, int stride1,
    int stride2, int dilation0, int dilation1, int dilation2, int before0, int before1, int before2,
    int transposed, long w_group, long w_filter, long w_channel, long w0, long w1, long w2) {
    if (WEFT_CONV_AXES < 3) taps0 = stride0 = dilation0 = 1, before0 = 0;
    const int panel = (int)get_global_id(0), first = (int)get_global_id(1) * 16,
              group = (int)get_global_id(2);
    const int columns = min(WEFT_CONV_COLUMNS, filters - WEFT_CONV_COLUMNS * panel),
              last = min(channels, first + 16);
    const long k = (long)taps0 * taps1 * taps2 * channels;
    w += w_offset + group * w_group + WEFT_CONV_COLUMNS * panel * w_filter;
    panels += panels_offset + ((long)group * (int)get_global_size(0) + panel) * k * WEFT_CONV_COLUMNS;
    for (int t0 = 0; t0 < taps0; ++t0) {
        const int phase0 = WEFT_CONV_PHASES ? weft_conv_modulo(t0 * dilation0 - before0, stride0) : 0;
        const weft_conv_axis a0 = weft_conv_taps(
            phase0, taps0, stride0, dilation0, before0, WEFT_CONV_TRANSPOSED, WEFT_CONV_PHASES);
        const int n0 = weft_conv_number(t0, phase0, stride0, dilation0, before0, WEFT_CONV_PHASES);
        for (int t1 = 0; t1 < taps1; ++t1) {
            const int phase1 = WEFT_CONV_PHASES ? weft_conv_modulo(t1 * dilation1 - before1, stride1) : 0;
            const weft_conv_axis a1 = weft_conv_taps(
                phase1, taps1, stride1, dilation1, before1, WEFT_CONV_TRANSPOSED, WEFT_CONV_PHASES);
            const int n1 = weft_conv_number(t1, phase1, stride1, dilation1, before1, WEFT_CONV_PHASES);
            for (int t2 = 0; t2 < taps2; ++t2) {
                const int phase2 = WEFT_CONV_PHASES ? weft_conv_modulo(t2 * dilation2 - before2, stride2) : 0;
                const weft_conv_axis a2 = weft_conv_taps(
                    phase2, taps2, stride2, dilation2, before2, WEFT_CONV_TRANSPOSED, WEFT_CONV_PHASES);
                const int n2 = weft_conv_number(t2, phase2, stride2, dilation2, before2, WEFT_CONV_PHASES);
                const int before =
                    a0.order * taps1 * taps2 + a0.count * (a1.order * taps2 + a1.count * a2.order);
                const long place = before + (n0 * a1.count + n1) * a2.count + n2;
                WEFT_OPERANDS_B *from = w + t0 * w0 + t1 * w1 + t2 * w2;
                for (int c = first; c < last; ++c) {
                    __global float *to = panels + (place * channels + c) * WEFT_CONV_COLUMNS;
                    WEFT_CONV_ROLL for (int j = 0; j < columns; j++) to[j] =
                        WEFT_OF_B(WEFT_GET_)(from, c * w_channel + j * w_filter);
                    WEFT_CONV_ROLL for (int j = columns; j < WEFT_CONV_COLUMNS; j++) to[j] = 0.0f;
                }
            }
        }
    }
}

/* Work-item (phase and strip, span, group). */
__kernel WEFT_ITEMS(1) void WEFT_NAME(windows)(WEFT_OPERANDS_A *x, long x_offset,
    __global const float *panels, long panels_offset, WEFT_CONV_WINDOWS_PARAMETERS) {
    WEFT_CONV_WINDOWS_BEGIN
    const int blocks = max(1, (k + WEFT_CONV_DEPTH - 1) / WEFT_CONV_DEPTH);
    const int most = min(WEFT_CONV_DEPTH, ((k + blocks - 1) / blocks + 15) / 16 * 16);
    const long all = (long)taps0 * taps1 * taps2 * channels * WEFT_CONV_COLUMNS;
    panels +=
        panels_offset +
        ((long)group * ((filters + WEFT_CONV_COLUMNS - 1) / WEFT_CONV_COLUMNS) + left / WEFT_CONV_COLUMNS) *
            all +
        (long)before * channels * WEFT_CONV_COLUMNS;
    float16 sums[WEFT_CONV_STRIP * 2 * WEFT_CONV_PANELS];
    float16 tile_room[WEFT_CONV_ROWS * WEFT_CONV_PITCH / 16];
    float *tile = (float *)tile_room;
    const int tiles = (bottom - top + WEFT_CONV_ROWS - 1) / WEFT_CONV_ROWS;
    int start = 0;
    do {
        const int depth = min(most, k - start);
        const weft_conv_step begin = weft_conv_step_of(&from, start);
        weft_conv_position at = weft_conv_position_of(top, w0.size, w1.size, w2.size);
        for (int row = top; row < bottom; row += WEFT_CONV_ROWS) {
            const int rows = min(WEFT_CONV_ROWS, bottom - row);
            int places[WEFT_CONV_ROWS][2]; /* the positions of the rows in the result, for the epilogue */
            for (int r = 0; r < rows; ++r) {
                WEFT_NAME(window)
                (tile + r * WEFT_CONV_PITCH, x + x_offset, &from, &at, &begin, depth, joined);
                WEFT_CONV_PLACE(places[r], at)
                weft_conv_next(&at, w0.size, w1.size, w2.size);
            }
            float16 *sum = sums + (most < k ? row - top : 0) * 2 * WEFT_CONV_PANELS;
            for (int j = left, i = 0; j < right; j += WEFT_CONV_COLUMNS, ++i) {
                __global const float *panel = panels + i * all + start * WEFT_CONV_COLUMNS;
                weft_conv_multiply(sum + 2 * i, tile, (__global const weft_lanes_f32 *)panel, depth,
                    start == 0,
                    weft_conv_request_of(panel + depth * WEFT_CONV_COLUMNS, (row - top) / WEFT_CONV_ROWS,
                        tiles, depth, start + depth < k));
                if (start + depth < k) continue;
                /* The results are stored here, not after the last panel: the multiplications of the next panel hide the latency
                 * of memory. */
                for (int r = 0; r < rows; ++r) {
                    const float16 *row_sum = sum + 2 * WEFT_CONV_PANELS * r + 2 * i;
                    for (int to = j, side = 0; side < 2 && to < right; to += 16, ++side)
                        WEFT_STORE(row_sum[side], places[r][0], places[r][1], group * filters + to,
                            min(16, right - to));
                }
            }
        }
        start += depth;
    } while (start < k);
}

#ifdef WEFT_CONV_ANY_SHAPE
#undef WEFT_CONV_ANY_SHAPE
#undef WEFT_CONV_AXES
#undef WEFT_CONV_TRANSPOSED
#undef WEFT_CONV_PHASES
#undef WEFT_CONV_JOINED
#endif
