/* conv_weight_pointwise_cpu.cl: the weight gradient of a pointwise convolution (windows of one element, stride 1) for devices of
 * class cpu, where a work-item runs on a core with wide vectors. x is the image, y the gradient of the result.
 *
 *     x (positions, groups * channels)   y (positions, groups * filters)
 *     -> w (groups * filters, channels): w[f][c] = sum over positions p of x[p][c] * y[p][f]; all contiguous
 *
 * sums: the sums of 6 channels x 64 filters are in registers, and run over positions. A work-item (no barriers, no local memory)
 * computes a span of panels of 64 filters for a range of the positions. It takes the positions in blocks; it copies y of a block
 * panel by panel, and reads x in place:
 *
 *        x, 6 of its channels              y, 64 of its filters
 *      +--+--+--+--+--+--+--             +----+----+----+----+
 *      |  |c0|..|c5|  |  |     times     | y0 | y1 | y2 | y3 |    each position: 4 vector loads, 6
 *      +--+--+--+--+--+--+--             +----+----+----+----+    broadcasts, 24 multiply-adds
 *                p                                 p
 *
 * Images that are stored in 16 bits are converted when they are copied. x is then copied, too: all channels of a block, once for
 * all panels.
 *
 * While the item multiplies, it prefetches evenly, a line at each position, so that neither the multiplications nor memory waits:
 * the next block if there are few channels and filters (`ahead`), otherwise x some positions ahead. Between blocks the sums are in
 * scratch memory, [split][group][row][filter]. A row is a channel, except that the last 6 rows are the last 6 channels.
 *
 * combine: adds the splits up, in their order, and stores the sums as w. */

#ifndef WEFT_POINTWISE_CPU
#define WEFT_POINTWISE_CPU

WEFT_REQUIRE(weft_pointwise_has_a_case_for_each_width, WEFT_POINTWISE_VECTORS <= 4);

#define WEFT_POINTWISE_ROLL __attribute__((opencl_unroll_hint(1)))

/* The prefetch distance of x in positions. */
#define WEFT_POINTWISE_SOON 16

/* sum[r][v] (+)= x[p][r] * y[p][v] over `count` positions (1 or more). `(+)=` means `=` if `first`, otherwise `+=`. If `requests`,
 * each position prefetches two lines: `one` and `other`, which advance by one_step and other_step bytes. requests, rows and
 * vectors are constants at each call. */
__attribute__((always_inline)) static inline void weft_pointwise_multiply(__global float *sum, long sum_row,
    bool first, __global const float *x, long x_step, __global const float *y, long y_step, int count,
    size_t one, long one_step, size_t other, long other_step, const bool requests, const int rows,
    const int vectors) {
    float16 acc[WEFT_POINTWISE_TILE][WEFT_POINTWISE_VECTORS];
    WEFT_UNROLL for (int r = 0; r < rows; ++r) {
        WEFT_UNROLL for (int v = 0; v < vectors; ++v) acc[r][v] = 0.0f;
    }
    WEFT_POINTWISE_ROLL for (int p = 0;;) {
        if (requests) {
            WEFT_PREFETCH(one, 3);
            WEFT_PREFETCH(other, 3);
        }
        one += one_step;
        other += other_step;
        float16 b[WEFT_POINTWISE_VECTORS];
        WEFT_UNROLL for (int v = 0; v < vectors; ++v) b[v] = WEFT_LANES_READ(f32, y + 16 * v);
        WEFT_UNROLL for (int r = 0; r < rows; ++r) {
            const float16 a = x[r];
            WEFT_UNROLL for (int v = 0; v < vectors; ++v) acc[r][v] = WEFT_MULTIPLY_ADD(a, b[v], acc[r][v]);
        }
        x += x_step;
        y += y_step;
        if (++p == count) break; /* count is never 0; a check at the end keeps the sums in registers */
    }
    WEFT_UNROLL for (int r = 0; r < rows; ++r) {
        WEFT_UNROLL for (int v = 0; v < vectors; ++v) {
            __global float *const to = sum + r * sum_row + 16 * v;
            WEFT_LANES_WRITE(f32, to) = first ? acc[r][v] : acc[r][v] + WEFT_LANES_READ(f32, to);
        }
    }
}

#define WEFT_POINTWISE_PART(row, rows, vector, vectors)                                                      \
    weft_pointwise_multiply(to + (row)*sum_row + 16 * (vector), sum_row, first, a + (row), row_step,         \
        b + 16 * (vector), b_step, count, one, one_step, other, other_step, (row) == 0 && (vector) == 0,     \
        rows, vectors)
#define WEFT_POINTWISE_MULTIPLY(vectors) WEFT_EACH_PART(WEFT_POINTWISE_PART, WEFT_POINTWISE_TILE, vectors)

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) pointwise_##suffix
#include "alone.clh"
#endif
#ifndef WEFT_POINTWISE_LAST /* the vectors of the last panel */
#define WEFT_POINTWISE_LAST (vectors - (panels - 1) * WEFT_POINTWISE_VECTORS)
#define WEFT_POINTWISE_ANY_WIDTH
#endif

/* to[p][0..width) = y[p][0..width), with zeros from column `most` on. */
static inline void WEFT_NAME(pack_y)(
    __global float *to, WEFT_OPERANDS_B *y, long step, int count, int width, int most) {
    for (int p = 0; p < count; ++p, y += step, to += width) {
        for (int j = 0; j < width; j += 16) {
            WEFT_PREFETCH(y + WEFT_POINTWISE_SOON * step + j, 3);
            if (j + 16 <= most)
                WEFT_LANES_WRITE(f32, to + j) = WEFT_OF_B(WEFT_READ_)(y + j);
            else
                for (int i = 0; i < 16; ++i) to[j + i] = j + i < most ? WEFT_OF_B(WEFT_GET_)(y, j + i) : 0.0f;
        }
    }
}

#if !WEFT_OF_A(WEFT_PLAIN_)
/* to[p][0..channels) = x[p][0..channels), in rows of `pitch` numbers; numbers after the channels have any values. x ends after
 * `elements` elements. */
static inline void WEFT_NAME(convert_x)(
    __global float *to, WEFT_OPERANDS_A *x, long step, int count, int channels, int pitch, long elements) {
    for (int p = 0; p < count; ++p, x += step, to += pitch, elements -= step) {
        const int whole = (int)min((channels + 15) / 16L, elements / 16) * 16;
        __attribute__((opencl_unroll_hint(4))) for (int c = 0; c < whole; c += 16)
            WEFT_LANES_WRITE(f32, to + c) = WEFT_OF_A(WEFT_READ_)(x + c);
        if (whole < channels)
            WEFT_LANES_WRITE(f32, to + whole) = WEFT_OF_A(weft_load_tail_)(x, whole, channels - whole);
    }
}
#endif

/* Work-item (split, span of panels, group). apart: y is copied; otherwise y is one panel of f32, which is read in place. */
__kernel WEFT_ITEMS(1) void WEFT_NAME(sums)(WEFT_OPERANDS_A *x, long x_offset, WEFT_OPERANDS_B *y,
    long y_offset, __global float *sums, long sums_offset, __global float *room, long room_offset,
    int positions, int share, int block, int span, int apart, int ahead, int channels, int filters,
    int groups) {
    const int number = (int)get_global_id(0), group = (int)get_global_id(2);
    const int vectors = (filters + 15) / 16,
              panels = (vectors + WEFT_POINTWISE_VECTORS - 1) / WEFT_POINTWISE_VECTORS;
    const int left = (int)get_global_id(1) * span, right = min(panels, left + span);
    const int wide = 16 * WEFT_POINTWISE_VECTORS;
    const int tiles = (channels + WEFT_POINTWISE_TILE - 1) / WEFT_POINTWISE_TILE;
    const long x_step = (long)groups * channels, y_step = (long)groups * filters, sum_row = 16 * vectors;
    const int begin = number * share, end = min(positions, begin + share);
#if WEFT_OF_A(WEFT_PLAIN_)
    const int x_pitch = 0;
#else
    const int x_pitch = (channels + 15) / 16 * 16;
#endif
    x += x_offset + (long)group * channels;
    y += y_offset + (long)group * filters + left * wide;
    sums +=
        sums_offset + ((long)number * groups + group) * tiles * WEFT_POINTWISE_TILE * sum_row + left * wide;
    room += room_offset + (((long)number * get_global_size(1) + get_global_id(1)) * groups + group) * block *
                              (wide + x_pitch);
    const int products = tiles * (right - left);
    for (int start = begin; start < end; start += block) {
        const int count = min(block, end - start);
        /* The bytes of the next block that each multiplication prefetches. */
        const size_t next_x = (size_t)(x + (start + count) * x_step),
                     next_y = (size_t)(y + (start + count) * y_step);
        const long x_bytes = sizeof(*x) * count * x_step / products,
                   y_bytes = sizeof(*y) * count * y_step / products;
        int product = 0;
#if WEFT_OF_A(WEFT_PLAIN_)
        __global const float *rows = x + start * x_step;
        const long row_step = x_step;
#else
        __global float *rows = room + (long)block * wide;
        const long row_step = x_pitch;
        WEFT_NAME(convert_x)
        (rows, x + start * x_step, x_step, count, channels, x_pitch,
            (positions - start) * x_step - (long)group * channels);
#endif
        for (int panel = left; panel < right; ++panel) {
            const int width = panel + 1 < panels ? WEFT_POINTWISE_VECTORS : WEFT_POINTWISE_LAST;
            WEFT_OPERANDS_B *from = y + start * y_step + (panel - left) * wide;
#if WEFT_OF_B(WEFT_PLAIN_)
            __global const float *b = apart ? room : from;
            const long b_step = apart ? 16 * width : y_step;
            if (apart) WEFT_NAME(pack_y)(room, from, y_step, count, 16 * width, filters - panel * wide);
#else
            __global const float *b = room;
            const long b_step = 16 * width;
            WEFT_NAME(pack_y)(room, from, y_step, count, 16 * width, filters - panel * wide);
#endif
            for (int tile = 0; tile < tiles; ++tile, ++product) {
                const int row = tile * WEFT_POINTWISE_TILE,
                          channel = min(row, channels - WEFT_POINTWISE_TILE);
                __global const float *a = rows + channel;
                __global float *to = sums + row * sum_row + (panel - left) * wide;
                const bool first = start == begin;
                const size_t one =
                    ahead ? next_x + product * x_bytes : (size_t)(a + WEFT_POINTWISE_SOON * row_step);
                const size_t other = ahead ? next_y + product * y_bytes : (size_t)b;
                const long one_step = ahead ? x_bytes / count + 1 : 4 * row_step,
                           other_step = ahead ? y_bytes / count + 1 : 0;
                switch (width) {
                case 1: WEFT_POINTWISE_MULTIPLY(1); break;
                case 2: WEFT_POINTWISE_MULTIPLY(2); break;
                case 3: WEFT_POINTWISE_MULTIPLY(3); break;
                default: WEFT_POINTWISE_MULTIPLY(4);
                }
            }
        }
    }
}

/* Work-item (WEFT_POINTWISE_COMBINED channels, sixteen filters, group). */
__kernel WEFT_ITEMS(1) void WEFT_NAME(combine)(__global const float *sums, long sums_offset,
    __global float *w, long w_offset, int splits, int channels, int filters) {
    const int begin = (int)get_global_id(0) * WEFT_POINTWISE_COMBINED, left = (int)get_global_id(1) * 16;
    const int group = (int)get_global_id(2), groups = (int)get_global_size(2);
    const int tiles = (channels + WEFT_POINTWISE_TILE - 1) / WEFT_POINTWISE_TILE,
              rows = tiles * WEFT_POINTWISE_TILE, kept = rows - WEFT_POINTWISE_TILE;
    const long sum_row = (filters + 15) / 16 * 16, partial_sums = rows * sum_row * groups;
    const int end = min(channels, begin + WEFT_POINTWISE_COMBINED), columns = min(16, filters - left);
    sums += sums_offset + (long)group * rows * sum_row + left;
    w += w_offset + ((long)group * filters + left) * channels;
    for (int first = begin; first < end; first += 16) {
        const int count = min(16, end - first);
        float16 v[16], t[16];
        for (int c = 0; c < 16; ++c) {
            const int channel = min(first + c, end - 1);
            __global const float *from =
                sums + (channel < kept ? channel : channel + rows - channels) * sum_row;
            v[c] = WEFT_LANES_READ(f32, from);
            for (int split = 1; split < splits; ++split)
                v[c] += WEFT_LANES_READ(f32, from + split * partial_sums);
        }
        WEFT_TRANSPOSE(v, t)
        for (int j = 0; j < columns; ++j) {
            __global float *to = w + (long)j * channels + first;
            if (count == 16)
                WEFT_LANES_WRITE(f32, to) = v[j];
            else
                for (int c = 0; c < count; ++c) to[c] = ((const float *)&v[j])[c];
        }
    }
}

#ifdef WEFT_POINTWISE_ANY_WIDTH
#undef WEFT_POINTWISE_ANY_WIDTH
#undef WEFT_POINTWISE_LAST
#endif
