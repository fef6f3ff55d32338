/* conv_weight_cpu_amx.cl: the weight gradient of a convolution over one or two spatial axes in bf16 with sums of f32, by the matrix
 * engine AMX of processors. x is the image, y the gradient of the result.
 *
 *     x (N, I..., groups * C)   y (N, O..., groups * F)  -> w (groups * F, C, taps): all contiguous; x and y are stored in
 *     WEFT_FORMAT_A and _B, and rounded to bf16 if these are wider
 *
 * w[f][c][tap] = sum over positions p of y[p][f] * x[p at tap][c]. The engine's left matrix is the transpose of y, its right matrix
 * is x in pairs of positions. Positions are numbered through all rows of all images as if a row had PITCH positions and an image
 * ROWS rows. These are so large that windows at the end of a row or an image read zeros; y is 0 at the additional positions. Each
 * tap then reads x at the position plus a constant number, and a sum runs through rows and images:
 *
 *      . x x x x x x           '.' zeros between rows, which windows at the end of one row and at the beginning of the next read;
 *      . x x x x x x           the next tap of a row: + 1; the tap in the next row: + PITCH
 *      . . . . . . .           zeros between images
 *
 * A stride divides the rows and columns of x into planes, one for each remainder; each plane has this form.
 *
 * pairs: x is stored as words with the two bf16 numbers of positions 2i and 2i + 1, and once more with those of 2i + 1 and 2i + 2,
 * for taps at an odd distance. 16 channels by 16 words, from any word on, are a tile of the engine. y is stored as tiles of 16
 * filters by 32 positions. For a block of positions both stay in the L2 cache, while each tile of y is multiplied by the tiles of
 * all channels and taps.
 *
 * If there are few channels (JOINED), the numbers of a row of taps are treated as channels: the part of a window in one row of x is
 * contiguous in memory.
 *
 * combine: adds the splits up, in their order, and stores them in w's order. */

#include "amx_words.clh"

#ifndef WEFT_CONV_WEIGHT_AMX
#define WEFT_CONV_WEIGHT_AMX

/* The prefetch distance of x in pixels. */
#define WEFT_WEIGHT_AMX_SOON 16

typedef ushort16 weft_weight_amx_line __attribute__((aligned(2)));

/* The convolution along rows and columns, and the sizes by which positions are numbered. */
typedef struct weft_weight_amx {
    int images, rows, pitch;
    int image1, image2, result1, result2, stride1, stride2, before1, before2;
    long x_step, y_step; /* elements from one pixel to the next */
} weft_weight_amx;

typedef struct weft_weight_amx_place {
    int image, row, column;
} weft_weight_amx_place;

static weft_weight_amx_place weft_weight_amx_place_at(const weft_weight_amx *conv, int position) {
    weft_weight_amx_place at;
    at.column = position % conv->pitch;
    position /= conv->pitch;
    at.row = position % conv->rows;
    at.image = position / conv->rows;
    return at;
}

static inline void weft_weight_amx_next_row(const weft_weight_amx *conv, weft_weight_amx_place *at) {
    at->column = 0;
    if (++at->row < conv->rows) return;
    at->row = 0;
    ++at->image;
}

/* The row of x that a row of positions reads in a plane, counted through all images; -1 if there is none. */
static inline int weft_weight_amx_row(
    const weft_weight_amx *conv, const weft_weight_amx_place *at, int phase1) {
    const int row = at->row * conv->stride1 + phase1 - conv->before1;
    return at->image < conv->images && row >= 0 && row < conv->image1 ? at->image * conv->image1 + row : -1;
}

/* For 32 positions: the offset of each position's elements in y, and the mask for its words, which is 0 for additional
 * positions. Returns the greatest offset. */
static inline long weft_weight_amx_positions(
    long *from, uint *masks, const weft_weight_amx *conv, weft_weight_amx_place *at) {
    long last = 0;
    for (int i = 0; i < 32; ++i) {
        const bool is_one = at->image < conv->images && at->row < conv->result1 && at->column < conv->result2;
        const long pixel = (at->image * (long)conv->result1 + at->row) * conv->result2 + at->column;
        masks[i] = is_one ? 0xFFFFFFFFu : 0;
        from[i] = is_one ? pixel * conv->y_step : 0;
        last = max(last, from[i]);
        if (++at->column == conv->pitch) weft_weight_amx_next_row(conv, at);
    }
    return last;
}

/* Multiplies two tiles of y by two tiles of x over `steps` steps. The sums are at `sum`, in the tile after it, and `row` floats
 * further for the next filters. */
__attribute__((always_inline)) static inline void weft_weight_amx_four(weft_amx_engine *engine,
    __global float *sum, long row, bool first, __global const uint *y, long y_tile, __global const uint *x0,
    __global const uint *x1, int steps) {
    if (first) {
        WEFT_AMX_ZERO(engine, 0);
        WEFT_AMX_ZERO(engine, 1);
        WEFT_AMX_ZERO(engine, 2);
        WEFT_AMX_ZERO(engine, 3);
    } else {
        WEFT_AMX_LOAD(engine, 0, sum);
        WEFT_AMX_LOAD(engine, 1, sum + WEFT_AMX_TILE);
        WEFT_AMX_LOAD(engine, 2, sum + row);
        WEFT_AMX_LOAD(engine, 3, sum + row + WEFT_AMX_TILE);
    }
    for (int step = 0; step < steps; ++step) {
        WEFT_AMX_LOAD(engine, 6, x0);
        WEFT_AMX_LOAD(engine, 4, y);
        WEFT_AMX_MULTIPLY(engine, 0, 4, 6);
        WEFT_AMX_LOAD(engine, 7, x1);
        WEFT_AMX_MULTIPLY(engine, 1, 4, 7);
        WEFT_AMX_LOAD(engine, 5, y + y_tile);
        WEFT_AMX_MULTIPLY(engine, 2, 5, 6);
        WEFT_AMX_MULTIPLY(engine, 3, 5, 7);
        y += WEFT_AMX_TILE;
        x0 += WEFT_AMX_TILE;
        x1 += WEFT_AMX_TILE;
    }
    WEFT_AMX_STORE(engine, 0, sum);
    WEFT_AMX_STORE(engine, 1, sum + WEFT_AMX_TILE);
    WEFT_AMX_STORE(engine, 2, sum + row);
    WEFT_AMX_STORE(engine, 3, sum + row + WEFT_AMX_TILE);
}

/* Multiplies a tile of y by three tiles of x. */
__attribute__((always_inline)) static inline void weft_weight_amx_three(weft_amx_engine *engine,
    __global float *sum, bool first, __global const uint *y, __global const uint *x0, __global const uint *x1,
    __global const uint *x2, int steps) {
    if (first) {
        WEFT_AMX_ZERO(engine, 0);
        WEFT_AMX_ZERO(engine, 1);
        WEFT_AMX_ZERO(engine, 2);
    } else {
        WEFT_AMX_LOAD(engine, 0, sum);
        WEFT_AMX_LOAD(engine, 1, sum + WEFT_AMX_TILE);
        WEFT_AMX_LOAD(engine, 2, sum + 2 * WEFT_AMX_TILE);
    }
    for (int step = 0; step < steps; ++step) {
        const int at = step * WEFT_AMX_TILE;
        WEFT_AMX_LOAD(engine, 4, y + at);
        WEFT_AMX_LOAD(engine, 5, x0 + at);
        WEFT_AMX_MULTIPLY(engine, 0, 4, 5);
        WEFT_AMX_LOAD(engine, 6, x1 + at);
        WEFT_AMX_MULTIPLY(engine, 1, 4, 6);
        WEFT_AMX_LOAD(engine, 7, x2 + at);
        WEFT_AMX_MULTIPLY(engine, 2, 4, 7);
    }
    WEFT_AMX_STORE(engine, 0, sum);
    WEFT_AMX_STORE(engine, 1, sum + WEFT_AMX_TILE);
    WEFT_AMX_STORE(engine, 2, sum + 2 * WEFT_AMX_TILE);
}

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) conv_weight_amx_##suffix
#define WEFT_FORMAT_A     bf16
#define WEFT_FORMAT_B     bf16
#include "alone.clh"
#endif

/* Sixteen numbers at p; those from `end` on are 0. whole: `end` is at least 16 numbers away. */
static inline uint16 WEFT_NAME(bits_x)(
    __global const WEFT_OF_A(WEFT_T_) * p, __global const WEFT_OF_A(WEFT_T_) * end, const bool whole) {
    if (whole || end - p >= 16) return WEFT_OF_A(WEFT_AMX_BITS_)(WEFT_OF_A(WEFT_READ_)(p));
    return WEFT_OF_A(WEFT_AMX_BITS_)(WEFT_OF_A(weft_load_tail_)(p, 0, (int)(end - p)));
}
static inline uint16 WEFT_NAME(bits_y)(
    __global const WEFT_OF_B(WEFT_T_) * p, __global const WEFT_OF_B(WEFT_T_) * end, const bool whole) {
    if (whole || end - p >= 16) return WEFT_OF_B(WEFT_AMX_BITS_)(WEFT_OF_B(WEFT_READ_)(p));
    return WEFT_OF_B(WEFT_AMX_BITS_)(WEFT_OF_B(weft_load_tail_)(p, 0, (int)(end - p)));
}

/* words[i] = 16 filters of positions 2i and 2i + 1. whole: no read reaches the end of y; a constant at the call. */
__attribute__((always_inline)) static inline void WEFT_NAME(rows_y)(uint16 *words,
    __global const WEFT_OF_B(WEFT_T_) * y, __global const WEFT_OF_B(WEFT_T_) * end, const long *from,
    const uint *masks, const bool whole) {
    for (int i = 0; i < 16; ++i) {
        const uint16 low = WEFT_NAME(bits_y)(y + from[2 * i], end, whole),
                     high = WEFT_NAME(bits_y)(y + from[2 * i + 1], end, whole);
        words[i] = (low & masks[2 * i]) | (high & masks[2 * i + 1]) << 16;
    }
}

/* tiles[tile][step] = 16 filters of y by 32 positions, from position `start` on. */
static void WEFT_NAME(pack_y)(__global uint *tiles, const weft_weight_amx *conv,
    __global const WEFT_OF_B(WEFT_T_) * y, __global const WEFT_OF_B(WEFT_T_) * end, int start, int steps,
    int count) {
    weft_weight_amx_place at = weft_weight_amx_place_at(conv, start);
    for (int step = 0; step < steps; ++step) {
        long from[32];
        uint masks[32];
        const long last = weft_weight_amx_positions(from, masks, conv, &at);
        for (int tile = 0; tile < count; ++tile) {
            __global uint16 *to = (__global uint16 *)(tiles + ((long)tile * steps + step) * WEFT_AMX_TILE);
            __global const WEFT_OF_B(WEFT_T_) *filter = y + 16 * tile;
            uint16 words[16];
            if (end - filter >= last + 16)
                WEFT_NAME(rows_y)(words, filter, end, from, masks, true);
            else
                WEFT_NAME(rows_y)(words, filter, end, from, masks, false);
            weft_amx_transpose(words);
            for (int i = 0; i < 16; ++i) to[i] = words[i];
        }
    }
}

/* Packs 16 channels of `count` positions of a plane, from position `start` on: even[i] = positions 2i and 2i + 1 and, if
 * `twice`, odd[i] = positions 2i + 1 and 2i + 2. odd[-1] is written, too. */
static void WEFT_NAME(pack_x)(__global uint16 *even, __global uint16 *odd, const bool twice,
    const weft_weight_amx *conv, __global const WEFT_OF_A(WEFT_T_) * x,
    __global const WEFT_OF_A(WEFT_T_) * end, int phase1, int phase2, int start, int count) {
    weft_weight_amx_place at = weft_weight_amx_place_at(conv, start);
    const int shift = phase2 - conv->before2; /* the column of x that position 0 of a row reads */
    const int least = shift < 0 ? (conv->stride2 - 1 - shift) / conv->stride2 : 0;
    const int most = conv->image2 > shift ? (conv->image2 - 1 - shift) / conv->stride2 + 1 : 0;
    const long step = conv->stride2 * conv->x_step;
    const int spare = 15 / (int)step + 1; /* the pixels after its own that a vector of 16 numbers can reach */
    uint16 before = 0;
#define WEFT_WEIGHT_AMX_PUT(word)                                                                            \
    {                                                                                                        \
        const uint16 weft_word = (word);                                                                     \
        if (position % 2 == 1)                                                                               \
            even[position / 2] = before | weft_word << 16;                                                   \
        else if (twice)                                                                                      \
            odd[position / 2 - 1] = before | weft_word << 16;                                                \
        before = weft_word;                                                                                  \
    }
    for (int position = 0; position < count;) {
        const int row = weft_weight_amx_row(conv, &at, phase1), zero = position - at.column;
        const int stop = min(count, zero + conv->pitch);
        const int low = row < 0 ? stop : clamp(zero + least, position, stop),
                  high = row < 0 ? stop : clamp(zero + most, low, stop);
        __global const WEFT_OF_A(WEFT_T_) *from =
            x + ((long)row * conv->image2 + (low - zero) * conv->stride2 + shift) * conv->x_step;
        for (; position < low; ++position) WEFT_WEIGHT_AMX_PUT((uint16)(0))
        if (position % 2 == 1 && position < high) {
            WEFT_WEIGHT_AMX_PUT(WEFT_NAME(bits_x)(from, end, false))
            ++position;
            from += step;
        }
        for (; position + 1 + spare < high; position += 2, from += 2 * step) {
            WEFT_PREFETCH(from + WEFT_WEIGHT_AMX_SOON * step, 3);
            WEFT_PREFETCH(from + (WEFT_WEIGHT_AMX_SOON + 1) * step, 3);
            const uint16 one = WEFT_NAME(bits_x)(from, end, true),
                         other = WEFT_NAME(bits_x)(from + step, end, true);
            if (twice) odd[position / 2 - 1] = before | one << 16;
            even[position / 2] = one | other << 16;
            before = other;
        }
        for (; position < high; ++position, from += step)
            WEFT_WEIGHT_AMX_PUT(WEFT_NAME(bits_x)(from, end, false))
        for (; position < stop; ++position) WEFT_WEIGHT_AMX_PUT((uint16)(0))
        weft_weight_amx_next_row(conv, &at);
    }
}

/* Like pack_x, packs the lines of a row of x that the windows read: `across` tiles of 16 elements, `between` pairs apart, at
 * `count` positions. */
static void WEFT_NAME(pack_lines)(__global uint16 *pairs, const weft_weight_amx *conv,
    __global const WEFT_OF_A(WEFT_T_) * x, int phase1, int start, int count, int across, int between) {
    weft_weight_amx_place at = weft_weight_amx_place_at(conv, start);
    const int elements = conv->image2 * (int)conv->x_step, step = conv->stride2 * (int)conv->x_step;
    ushort line[WEFT_WEIGHT_AMX_LINE];
    for (int i = 0; i < WEFT_WEIGHT_AMX_LINE; ++i) line[i] = 0;
    for (int position = 0; position < count;) {
        const int row = weft_weight_amx_row(conv, &at, phase1);
        const int stop = min(count, position + conv->pitch - at.column);
        __global const WEFT_OF_A(WEFT_T_) *from = x + (long)row * elements;
        ushort *to = line + conv->before2 * (int)conv->x_step;
        for (int i = 0; i < elements && row >= 0; i += 16) {
            const uint16 word = WEFT_NAME(bits_x)(from + i, from + elements, false);
            *(weft_weight_amx_line *)(to + i) = convert_ushort16(word);
        }
        const ushort *window = line + at.column * step;
        for (; position < stop; position += 2, window += 2 * step) {
            for (int tile = 0; tile < across; ++tile) {
                const uint16 low = convert_uint16(*(const weft_weight_amx_line *)(window + 16 * tile)),
                             high =
                                 convert_uint16(*(const weft_weight_amx_line *)(window + step + 16 * tile));
                pairs[tile * between + position / 2] = row < 0 ? 0 : low | high << 16;
            }
        }
        weft_weight_amx_next_row(conv, &at);
    }
}

/* Work-item (split, span of tiles of filters, group). A split has `share` positions and takes `block` of them at a time. `wide`
 * tiles of channels are packed at a time; their planes have `length` pairs. */
__kernel WEFT_ITEMS(1) void WEFT_NAME(sums)(__global const WEFT_OF_A(WEFT_T_) * x, long x_offset,
    __global const WEFT_OF_B(WEFT_T_) * y, long y_offset, __global float *sums, long sums_offset,
    __global uint *rooms, long rooms_offset, long room, int share, int block, int span, int wide, int length,
    int twice, int joined, int rows, int pitch, int reach, int phases1, int phases2, int columns, int images,
    int channels, int filters, int groups, int image0, int image1, int image2, int result0, int result1,
    int result2, int taps0, int taps1, int taps2, int stride0, int stride1, int stride2, int dilation0,
    int dilation1, int dilation2, int before0, int before1, int before2) {
    const weft_weight_amx conv = {images, rows, pitch, image1, image2, result1, result2, stride1, stride2,
        before1, before2, (long)groups * channels, (long)groups * filters};
    const int split = (int)get_global_id(0), group = (int)get_global_id(2);
    const int tiles = (filters + 15) / 16, left = (int)get_global_id(1) * span,
              count = min(tiles - left, span);
    const int begin = split * share, end = min(images * rows * pitch, begin + share);
    const int across = joined ? 1 : taps2, line = joined ? taps2 * channels : channels,
              parts = ((line + 15) / 16 + wide - 1) / wide, used = taps1 * across * wide;
    const long row = (long)parts * columns * WEFT_AMX_TILE, plane = (long)length * 16 * (1 + twice);
    __global const WEFT_OF_A(WEFT_T_) *x_end = x + x_offset + (long)images * image1 * image2 * conv.x_step;
    __global const WEFT_OF_B(WEFT_T_) *y_end = y + y_offset + (long)images * result1 * result2 * conv.y_step;
    x += x_offset + (long)group * channels;
    y += y_offset + (long)group * filters + 16 * left;
    sums += sums_offset + (((long)split * groups + group) * tiles + left) * row;
    rooms += rooms_offset + ((split * get_global_size(1) + get_global_id(1)) * groups + group) * room;
    __global uint *const x_room = rooms + (long)span * block * 8;
    int places[WEFT_WEIGHT_AMX_COLUMNS]; /* the offset in x_room of the first pair of each column of tiles */
    for (int i = 0; i < columns; ++i) {
        const int column = min(i, used - 1), tile = column % wide, tap = column / wide;
        const int t1 = tap / across * dilation1, t2 = joined ? 0 : tap % across * dilation2;
        const int moved = t1 / stride1 * pitch + t2 / stride2;
        const int number = (t1 % stride1 * phases2 + t2 % stride2) * wide + tile;
        places[i] = (int)(number * plane) + (moved % 2 * length + moved / 2) * 16;
    }
    weft_amx_engine engine;
    weft_amx_begin(&engine);
    for (int start = begin; start < end; start += block) {
        const int steps = (min(block, end - start) + 31) / 32;
        const bool first = start == begin;
        WEFT_NAME(pack_y)(rooms, &conv, y, y_end, start, steps, count);
        for (int part = 0; part < parts; ++part) {
            for (int phase = 0; phase < phases1 * phases2; ++phase) {
                __global uint16 *to = (__global uint16 *)(x_room + phase * wide * plane);
                if (joined)
                    WEFT_NAME(pack_lines)(to, &conv, x, phase, start, 32 * steps + reach, wide, length);
                for (int tile = 0; tile < wide && !joined; ++tile) {
                    const int channel = 16 * (part * wide + tile);
                    if (channel >= channels) break;
                    WEFT_NAME(pack_x)
                    (to + tile * (plane / 16), to + tile * (plane / 16) + length, twice, &conv, x + channel,
                        x_end, phase / phases2, phase % phases2, start, 32 * steps + reach);
                }
            }
            for (int tile = 0; tile < count; tile += 2) {
                __global const uint *from = rooms + (long)tile * steps * WEFT_AMX_TILE;
                __global float *sum = sums + tile * row + (long)part * columns * WEFT_AMX_TILE;
                if (tile + 1 < count) {
                    for (int i = 0; i < used; i += 2, sum += 2 * WEFT_AMX_TILE)
                        weft_weight_amx_four(&engine, sum, row, first, from, steps * WEFT_AMX_TILE,
                            x_room + places[i], x_room + places[i + 1], steps);
                } else {
                    for (int i = 0; i < used; i += 3, sum += 3 * WEFT_AMX_TILE)
                        weft_weight_amx_three(&engine, sum, first, from, x_room + places[i],
                            x_room + places[i + 1], x_room + places[i + 2], steps);
                }
            }
        }
    }
    WEFT_AMX_RELEASE(&engine);
}

/* Sixteen sums from `from` on, added up over the splits. */
static inline float16 WEFT_NAME(total)(__global const float *from, int splits, long split_sums) {
    float16 sum = WEFT_LANES_READ(f32, from);
    for (int split = 1; split < splits; ++split) sum += WEFT_LANES_READ(f32, from + split * split_sums);
    return sum;
}

/* to[channel * taps + tap] = the sums of 16 channels at all taps, which are `between` apart. `to` has `room` elements. Excess
 * lanes that a vector writes are overwritten by the next vector. */
static inline void WEFT_NAME(channels)(__global float *to, __global const float *from, long between, int taps,
    int room, int splits, long split_sums) {
    for (int tap = 0; tap < taps; tap += 16) {
        float16 v[16], t[16];
        for (int i = 0; i < 16; ++i)
            v[i] = WEFT_NAME(total)(from + min(tap + i, taps - 1) * between, splits, split_sums);
        WEFT_TRANSPOSE(v, t)
        for (int channel = 0, at = tap; channel < 16 && at < room; ++channel, at += taps) {
            if (taps <= 16 && room - at >= 16)
                WEFT_LANES_WRITE(f32, to + at) = v[channel];
            else
                for (int i = 0; i < min(16, taps - tap); ++i) to[at + i] = ((const float *)&v[channel])[i];
        }
    }
}

/* Work-item (tile of filters, group). */
__kernel WEFT_ITEMS(1) void WEFT_NAME(combine)(__global const float *sums, long sums_offset,
    __global float *w, long w_offset, int splits, int wide, int columns, int channels, int filters,
    int taps) {
    const int tile = (int)get_global_id(0), tiles = (int)get_global_size(0), group = (int)get_global_id(1),
              groups = (int)get_global_size(1);
    const int parts = ((channels + 15) / 16 + wide - 1) / wide;
    const long row = (long)parts * columns * WEFT_AMX_TILE, split_sums = row * tiles * groups;
    sums += sums_offset + ((long)group * tiles + tile) * row;
    w += w_offset + ((long)group * filters + 16 * tile) * channels * taps;
    for (int channel = 0; channel < channels; channel += 16) {
        const int part = channel / 16 / wide, place = channel / 16 % wide;
        for (int filter = 0; filter < min(16, filters - 16 * tile); ++filter) {
            __global float *to = w + ((long)filter * channels + channel) * taps;
            __global const float *from = sums + (part * columns + place) * WEFT_AMX_TILE + 16 * filter;
            const int room = (channels - channel) * taps;
            if (taps == 1 && room >= 16)
                WEFT_LANES_WRITE(f32, to) = WEFT_NAME(total)(from, splits, split_sums);
            else
                WEFT_NAME(channels)(to, from, wide * WEFT_AMX_TILE, taps, room, splits, split_sums);
        }
    }
}

/* Like `combine`, for the sums of a product in which the numbers of a row of taps are treated as channels (JOINED). */
__kernel WEFT_ITEMS(1) void WEFT_NAME(combine_lines)(__global const float *sums, long sums_offset,
    __global float *w, long w_offset, int splits, int wide, int columns, int channels, int filters, int taps1,
    int taps2) {
    const int tile = (int)get_global_id(0), taps = taps1 * taps2;
    const long row = (long)columns * WEFT_AMX_TILE, split_sums = row * get_global_size(0);
    sums += sums_offset + tile * row;
    w += w_offset + (long)16 * tile * channels * taps;
    for (int filter = 0; filter < min(16, filters - 16 * tile); ++filter) {
        __global float *const to = w + (long)filter * channels * taps;
        for (int column = 0; column < taps1 * wide; ++column) {
            const float16 sum =
                WEFT_NAME(total)(sums + column * WEFT_AMX_TILE + 16 * filter, splits, split_sums);
            const int first = column % wide * 16, last = min(first + 16, taps2 * channels);
            for (int i = first; i < last; ++i)
                to[i % channels * taps + column / wide * taps2 + i / channels] =
                    ((const float *)&sum)[i - first];
        }
    }
}
