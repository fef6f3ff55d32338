/* conv_cpu_amx.cl: convolution and its data gradient in bf16 with sums of f32, by the matrix engine AMX of processors.
 *
 *     x: images, channels contiguous, stored in WEFT_FORMAT_A   w: any strides, stored in WEFT_FORMAT_B; both are rounded to
 *     bf16 if their formats are wider   result: stored by WEFT_STORE (the epilogue)
 *
 * Like conv_cpu.cl, it is a matrix product over windows: a row is a position of the result, a column is an output channel, and a
 * step of k is a (tap, input channel). The steps of all taps are contiguous, so that a first layer of three channels fills the
 * engine, too. conv_cpu.cl explains the phases of a data gradient with strides.
 *
 * pack: writes the weight as panels of 32 columns, in pairs of steps: panel[(block * 2 + side) * 256 + pair * 16 + column], in
 * words, where `block` counts blocks of 32 steps of a phase. `side` is 0 for the left and 1 for the right half of a panel. Steps
 * and columns past the last ones are zero.
 *
 * windows: a work-item (no barriers, no local memory) computes a strip of rows and a span of panels. It copies the windows of 32
 * rows over at most DEPTH steps of k, with zeros outside the image, and multiplies them by each panel, which comes from the L2
 * cache:
 *
 *                           panel: 2 tiles wide
 *                         +---------+---------+
 *              k          |   b0    |   b1    |        each 32 steps of k: 4 tiles are loaded, 4 products computed
 *        +-----------+    +---------+---------+
 *     16 | a0, PITCH |    | c0      | c1      |        sums stay in private memory between ranges of DEPTH steps
 *        +-----------+    +---------+---------+
 *     16 | a1        |    | c2      | c3      |
 *        +-----------+    +---------+---------+
 *
 * The arguments are described in src/kernels/convolution/conv_product.h, the macros that the plan defines before each copy in
 * conv_cpu.cl and src/kernels/product/gemm.h. The engine is in amx.clh. */

#ifndef WEFT_CONV_CPU_AMX
#define WEFT_CONV_CPU_AMX

WEFT_REQUIRE(weft_conv_amx_blocks_are_two_tiles, WEFT_CONV_AMX_SIDE == 32);

/* Elements from one copied row to the next: rows share no set of the cache, and a vector may be written past the end of a row. */
#define WEFT_CONV_AMX_PITCH (WEFT_CONV_AMX_DEPTH + 32)

/* sums, four tiles one after another, (+)= two rows of tiles times a panel. `(+)=` means `=` if `first`, otherwise `+=`. tall
 * (more than 16 rows) and wide (more than 16 columns) are constants at each call. */
__attribute__((always_inline)) static inline void weft_conv_amx_multiply(weft_amx_engine *engine, float *sums,
    const ushort *rows, __global const uint *panel, int blocks, bool first, const bool tall,
    const bool wide) {
    if (first) {
        WEFT_AMX_ZERO(engine, 0);
        WEFT_AMX_ZERO(engine, 1);
        WEFT_AMX_ZERO(engine, 2);
        WEFT_AMX_ZERO(engine, 3);
    } else {
        WEFT_AMX_LOAD(engine, 0, sums);
        if (wide) WEFT_AMX_LOAD(engine, 1, sums + WEFT_AMX_TILE);
        if (tall) WEFT_AMX_LOAD(engine, 2, sums + 2 * WEFT_AMX_TILE);
        if (tall && wide) WEFT_AMX_LOAD(engine, 3, sums + 3 * WEFT_AMX_TILE);
    }
    for (int block = 0; block < blocks; ++block) {
        WEFT_AMX_LOAD(engine, 6, panel);
        WEFT_AMX_LOAD_ROWS(engine, 4, rows, WEFT_CONV_AMX_PITCH / 2);
        WEFT_AMX_MULTIPLY(engine, 0, 4, 6);
        if (wide) {
            WEFT_AMX_LOAD(engine, 7, panel + WEFT_AMX_TILE);
            WEFT_AMX_MULTIPLY(engine, 1, 4, 7);
        }
        if (tall) {
            WEFT_AMX_LOAD_ROWS(engine, 5, rows + 16 * WEFT_CONV_AMX_PITCH, WEFT_CONV_AMX_PITCH / 2);
            WEFT_AMX_MULTIPLY(engine, 2, 5, 6);
            if (wide) WEFT_AMX_MULTIPLY(engine, 3, 5, 7);
        }
        rows += 32;
        panel += WEFT_CONV_AMX_BLOCK;
    }
    WEFT_AMX_STORE(engine, 0, sums);
    if (wide) WEFT_AMX_STORE(engine, 1, sums + WEFT_AMX_TILE);
    if (tall) WEFT_AMX_STORE(engine, 2, sums + 2 * WEFT_AMX_TILE);
    if (tall && wide) WEFT_AMX_STORE(engine, 3, sums + 3 * WEFT_AMX_TILE);
}

/* Like weft_conv_amx_multiply, for any number of rows and columns. */
__attribute__((always_inline)) static inline void weft_conv_amx_panel(weft_amx_engine *engine, float *sums,
    const ushort *rows, __global const uint *panel, int blocks, bool first, int row_count, int columns) {
    if (row_count > 16 && columns > 16)
        weft_conv_amx_multiply(engine, sums, rows, panel, blocks, first, true, true);
    else if (row_count > 16)
        weft_conv_amx_multiply(engine, sums, rows, panel, blocks, first, true, false);
    else if (columns > 16)
        weft_conv_amx_multiply(engine, sums, rows, panel, blocks, first, false, true);
    else
        weft_conv_amx_multiply(engine, sums, rows, panel, blocks, first, false, false);
}

/* Finished sums that are not stored yet: four tiles with `rows` rows and the columns from `column` on. `places` is the index in
 * the kernel's array `places` at which the positions of the rows are. */
typedef struct weft_conv_sums {
    const float *sums;
    int column, rows, places;
} weft_conv_sums;

/* Returns the tap of an axis that is tap number `number` of the phase. */
static inline int weft_conv_amx_tap(
    int number, int phase, int taps, int stride, int dilation, int before, const bool phases) {
    if (!phases) return number;
    for (int tap = 0; tap < taps; ++tap) {
        if (weft_conv_modulo(tap * dilation - before, stride) == phase && number-- == 0) return tap;
    }
    return 0;
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
#define WEFT_NAME(suffix) conv_amx_##suffix
#define WEFT_FORMAT_A     bf16
#include "alone.clh"
#endif

#include "conv_cpu_amx_copy.clh"

#define WEFT_WINDOW_T ushort
#include "conv_window_cpu.clh"
#undef WEFT_WINDOW_T

/* Work-item (panel, WEFT_CONV_AMX_PACKED blocks of 32 steps of a phase, phase and group). */
__kernel WEFT_ITEMS(1) void WEFT_NAME(pack)(WEFT_OPERANDS_B *w, long w_offset, __global uint *panels,
    long panels_offset, long panel_words, long w_first, int phases, int channels, int filters, int taps0,
    int taps1, int taps2, int stride0, int stride1, int stride2, int dilation0, int dilation1, int dilation2,
    int before0, int before1, int before2, int transposed, long w_group, long w_filter, long w_channel,
    long w0, long w1, long w2) {
    if (WEFT_CONV_AXES < 3) taps0 = stride0 = dilation0 = 1, before0 = 0;
    const int panel = (int)get_global_id(0), phase = (int)get_global_id(2) % phases,
              group = (int)get_global_id(2) / phases;
    const int columns = min(32, filters - 32 * panel);
    const int phase2 = WEFT_CONV_PHASES ? phase % stride2 : 0,
              phase1 = WEFT_CONV_PHASES ? phase / stride2 % stride1 : 0,
              phase0 = WEFT_CONV_PHASES ? phase / stride2 / stride1 : 0;
    const weft_conv_axis a0 =
        weft_conv_taps(phase0, taps0, stride0, dilation0, before0, WEFT_CONV_TRANSPOSED, WEFT_CONV_PHASES);
    const weft_conv_axis a1 =
        weft_conv_taps(phase1, taps1, stride1, dilation1, before1, WEFT_CONV_TRANSPOSED, WEFT_CONV_PHASES);
    const weft_conv_axis a2 =
        weft_conv_taps(phase2, taps2, stride2, dilation2, before2, WEFT_CONV_TRANSPOSED, WEFT_CONV_PHASES);
    const int before = a0.order * taps1 * taps2 + a0.count * (a1.order * taps2 + a1.count * a2.order);
    const int k = a0.count * a1.count * a2.count * channels, blocks = (k + 31) / 32;
    const int first = (int)get_global_id(1) * WEFT_CONV_AMX_PACKED,
              last = min(blocks, first + WEFT_CONV_AMX_PACKED);
    w += w_offset + w_first + group * w_group + 32 * panel * w_filter;
    __global uint16 *to = (__global uint16 *)(panels + panels_offset +
                                              ((long)group * get_global_size(0) + panel) * panel_words) +
                          (before * channels / 32 + phase + first) * 32L;
    for (int block = first; block < last; ++block, to += 32) {
        long steps[32];     /* offset of each step from the first weight of the panel, in elements */
        float16 values[64]; /* [step][side] */
        const int count = min(32, k - 32 * block);
        for (int step = 0; step < count; ++step) {
            const int number = (32 * block + step) / channels, n2 = number % a2.count,
                      n1 = number / a2.count % a1.count, n0 = number / a2.count / a1.count;
            steps[step] =
                (32 * block + step) % channels * w_channel +
                weft_conv_amx_tap(n0, phase0, taps0, stride0, dilation0, before0, WEFT_CONV_PHASES) * w0 +
                weft_conv_amx_tap(n1, phase1, taps1, stride1, dilation1, before1, WEFT_CONV_PHASES) * w1 +
                weft_conv_amx_tap(n2, phase2, taps2, stride2, dilation2, before2, WEFT_CONV_PHASES) * w2;
        }
        if (count < 32 || columns < 32) {
            for (int i = 0; i < 64; ++i) values[i] = 0.0f;
        }
        /* The inner loop is along the dimension with the smaller stride. */
        if (w_filter > w_channel && w_filter > -w_channel) {
            for (int j = 0; j < columns; ++j)
                for (int step = 0; step < count; ++step)
                    ((float *)values)[32 * step + j] = WEFT_OF_B(WEFT_GET_)(w, steps[step] + j * w_filter);
        } else {
            for (int step = 0; step < count; ++step)
                for (int j = 0; j < columns; ++j)
                    ((float *)values)[32 * step + j] = WEFT_OF_B(WEFT_GET_)(w, steps[step] + j * w_filter);
        }
        for (int i = 0; i < 32; ++i) {
            const int side = i / 16, pair = i % 16;
            to[i] = WEFT_OF_B(WEFT_AMX_BITS_)(values[4 * pair + side]) |
                    WEFT_OF_B(WEFT_AMX_BITS_)(values[4 * pair + 2 + side]) << 16;
        }
    }
}

/* Stores made.rows rows of the columns from made.column on. */
#define WEFT_CONV_AMX_STORE(made)                                                                            \
    for (int r = 0; r < made.rows; ++r) {                                                                    \
        const float16 *line = (const float16 *)made.sums + r / 16 * 32 + r % 16;                             \
        const int *place = places[made.places][r];                                                           \
        for (int to = made.column, side = 0; side < 2 && to < right; to += 16, ++side)                       \
            WEFT_STORE(line[16 * side], place[0], place[1], group *filters + to, min(16, right - to));       \
    }

/* Work-item (phase and strip, span, group): `strip` rows, a multiple of 32, and `span` columns. */
__kernel WEFT_ITEMS(1) void WEFT_NAME(windows)(WEFT_OPERANDS_A *x, long x_offset, __global const uint *panels,
    long panels_offset, long panel_words, WEFT_CONV_WINDOWS_PARAMETERS) {
    WEFT_CONV_WINDOWS_BEGIN
    const int stretches = max(1, (k + WEFT_CONV_AMX_DEPTH - 1) / WEFT_CONV_AMX_DEPTH);
    const int most = min(WEFT_CONV_AMX_DEPTH, ((k + stretches - 1) / stretches + 31) / 32 * 32);
    panels += panels_offset + ((long)group * ((filters + 31) / 32) + left / 32) * panel_words +
              (before * channels / 32 + phase) * (long)WEFT_CONV_AMX_BLOCK;
    float sums[WEFT_CONV_AMX_SUMS] __attribute__((aligned(64)));
    ushort tiles[2][32 * WEFT_CONV_AMX_PITCH] __attribute__((aligned(64)));
    int places[3][32][2]; /* positions of rows in the result, for the epilogue */
    const int across = (span + 31) / 32;
    weft_amx_engine engine;
    weft_amx_begin(&engine);
    int start = 0;
    do {
        const int depth = min(most, k - start), blocks = (depth + 31) / 32;
        const bool first = start == 0, last = start + depth >= k;
        const weft_conv_step begin = weft_conv_step_of(&from, start);
        weft_conv_position at = weft_conv_position_of(top, w0.size, w1.size, w2.size);
        weft_conv_sums made = {0, 0, 0, 0};
        for (int row = top, number = 0; row < bottom + 32; row += 32, ++number) {
            for (int r = 0; r < min(32, bottom - row); ++r) {
                ushort *to = tiles[number % 2] + r * WEFT_CONV_AMX_PITCH;
                WEFT_NAME(window)(to, x + x_offset, &from, &at, &begin, depth, joined);
                weft_conv_amx_zeros(to, depth, 32 * blocks);
                WEFT_CONV_PLACE(places[number % 3][r], at)
                weft_conv_next(&at, w0.size, w1.size, w2.size);
            }
            if (row == top) continue;
            /* The engine reads a tile that was written one iteration before, and the stored sums are those of the panel before,
             * so neither the loads nor the stores wait. */
            const ushort *tile = tiles[(number + 1) % 2];
            const int rows = min(32, bottom - row + 32);
            for (int j = left, i = 0; j < right; j += 32, ++i) {
                const int place = most < k ? (row - top - 32) / 32 * across + i : (number * across + i) % 2;
                float *sum = sums + place * (4 * WEFT_AMX_TILE);
                __global const uint *panel =
                    panels + i * panel_words + (long)(start / 32) * WEFT_CONV_AMX_BLOCK;
                weft_conv_amx_panel(&engine, sum, tile, panel, blocks, first, rows, right - j);
                if (!last) continue;
                WEFT_CONV_AMX_STORE(made)
                made = (weft_conv_sums){sum, j, rows, (number + 2) % 3};
            }
        }
        WEFT_CONV_AMX_STORE(made)
        start += depth;
    } while (start < k);
    WEFT_AMX_RELEASE(&engine);
}

#undef WEFT_CONV_AMX_STORE

#ifdef WEFT_CONV_ANY_SHAPE
#undef WEFT_CONV_ANY_SHAPE
#undef WEFT_CONV_AXES
#undef WEFT_CONV_TRANSPOSED
#undef WEFT_CONV_PHASES
#undef WEFT_CONV_JOINED
#endif
