/* recurrent_cpu_amx.cl: LSTM, GRU and RNN over time as in recurrent_cpu.cl, with the products of a step in bf16 by the matrix engine AMX of
 * processors, and sums of f32. Programs include this file after amx.clh, elementwise.clh and recurrent.clh.
 *
 * A work-item has some rows of the batch, and walks through all of time with them. At each step it rounds its rows of the product's left
 * matrix, which has the states or the gradients of gates, to bf16, and stores them as tiles of 16 rows in its scratch memory. It reads
 * these and the packed weights from the L2 cache. The sums of 32 rows and 32 units of each gate pass to the cells through private memory:
 *
 *                     panel: gate 0, 32 units   gate 1 ...
 *              k      +---------+---------+
 *        +---------+  |   b0    |   b1    |     b: packed once a launch, pairs of k side by side
 *     16 |   a0    |  +---------+---------+
 *        +---------+  |   c0    |   c1    |
 *     16 |   a1    |  +---------+---------+
 *        +---------+  |   c2    |   c3    |
 *                     +---------+---------+
 *
 * In a gradient's product, each gate begins a new block of 32 steps of k; steps past the end of a gate are zeros. The parameters that
 * recurrent_cpu.cl also has are set in src/kernels/recurrent/recurrent_cpu.c. */

#include "amx_words.clh"
#ifndef WEFT_RECURRENT_CPU_AMX
#define WEFT_RECURRENT_CPU_AMX

#include "recurrent_cell_cpu.clh"
#include "recurrent_share_cpu.clh"

WEFT_REQUIRE(weft_r_panels_are_two_tiles, WEFT_R_PANEL == 32);

/* The words of a block: two tiles. */
#define WEFT_R_AMX_BLOCK (2 * WEFT_AMX_TILE)

static inline int weft_r_blocks(int depth) {
    return (depth + 31) / 32;
}

/* The words of a work-item's left matrix (src/kernels/recurrent/recurrent_cpu.c computes them, too). */
static inline long weft_r_room(int rows, int gates, int units, int width) {
    return (long)WEFT_R_AMX_BLOCK * weft_r_blocks(rows) *
           max(gates * weft_r_blocks(units), weft_r_blocks(width));
}

/* The next 32 numbers of a line, of which `lanes` exist, as a vector of pairs. */
static inline uint16 weft_r_pairs(__global const float *p, int lanes) {
    return weft_amx_neighbours(
        WEFT_AMX_BITS_f32(weft_r_load(p, lanes)), WEFT_AMX_BITS_f32(weft_r_load(p + 16, lanes - 16)));
}

/* Copies the work-item's rows of a (gates * depth columns) into tiles: 32 rows with all steps of k, two tiles a block. */
WEFT_APART static inline void weft_r_copy_left(
    const weft_r_scan *scan, __global const float *a, long a_row, int gates, int depth) {
    const int blocks = weft_r_blocks(depth), rows = scan->bottom - scan->top;
    for (int r = 0; r < (rows + 15) / 16 * 16; ++r) {
        __global const float *line = a + (scan->top + r) * a_row;
        __global uint16 *to = (__global uint16 *)scan->state + (long)(r / 32) * gates * blocks * 32 + r % 32;
        for (int gate = 0; gate < gates; ++gate, line += depth) {
            for (int block = 0; block < blocks; ++block, to += 32)
                *to = weft_r_pairs(line + 32 * block, r < rows ? depth - 32 * block : 0);
        }
    }
}

/* sums: four tiles, the product of two tiles' rows of the left matrix and a panel; tall: there are more than 16 rows. */
__attribute__((always_inline)) static inline void weft_r_engine_panel(weft_amx_engine *engine, float *sums,
    __global const uint *a, __global const uint *panel, int blocks, const bool tall) {
    WEFT_AMX_ZERO(engine, 0);
    WEFT_AMX_ZERO(engine, 1);
    WEFT_AMX_ZERO(engine, 2);
    WEFT_AMX_ZERO(engine, 3);
    for (int block = 0; block < blocks; ++block, a += WEFT_R_AMX_BLOCK, panel += WEFT_R_AMX_BLOCK) {
        WEFT_AMX_LOAD(engine, 6, panel);
        WEFT_AMX_LOAD(engine, 4, a);
        WEFT_AMX_MULTIPLY(engine, 0, 4, 6);
        WEFT_AMX_LOAD(engine, 7, panel + WEFT_AMX_TILE);
        WEFT_AMX_MULTIPLY(engine, 1, 4, 7);
        if (tall) {
            WEFT_AMX_LOAD(engine, 5, a + WEFT_AMX_TILE);
            WEFT_AMX_MULTIPLY(engine, 2, 5, 6);
            WEFT_AMX_MULTIPLY(engine, 3, 5, 7);
        }
    }
    WEFT_AMX_STORE(engine, 0, sums);
    WEFT_AMX_STORE(engine, 1, sums + WEFT_AMX_TILE);
    if (tall) {
        WEFT_AMX_STORE(engine, 2, sums + 2 * WEFT_AMX_TILE);
        WEFT_AMX_STORE(engine, 3, sums + 3 * WEFT_AMX_TILE);
    }
}

/* The sums of rows row .. row + count - 1, at most 32, for `panels` panels, which are `stride` words apart. */
WEFT_APART static inline void weft_r_engine_product(const weft_r_scan *scan, int row, int count, int blocks,
    __global const float *panel, long stride, int panels) {
    weft_amx_engine *const engine = (weft_amx_engine *)scan->own;
    __global const uint *a = (__global const uint *)scan->state, *b = (__global const uint *)panel;
    float *sums = (float *)scan->sums;
    a += (long)((row - scan->top) / 32) * blocks * WEFT_R_AMX_BLOCK;
    for (int j = 0; j < panels; ++j, sums += 4 * WEFT_AMX_TILE) {
        if (count > 16)
            weft_r_engine_panel(engine, sums, a, b + j * stride, blocks, true);
        else
            weft_r_engine_panel(engine, sums, a, b + j * stride, blocks, false);
    }
}

/* Packs a panel of 32 columns, which are rows (transposed) or columns of `from`, whose rows are `across` numbers apart. Columns past the
 * last, and steps past a gate's depth, are 0. */
static inline void weft_r_engine_pack(__global float *to, __global const float *from, int gates, int depth,
    int columns, long across, bool transposed) {
    __global uint16 *words = (__global uint16 *)to;
    for (int i = 0; i < 2 * gates * weft_r_blocks(depth); ++i, words += 16) {
        const int side = i % 2 * 16, gate = i / 2 / weft_r_blocks(depth),
                  k = i / 2 % weft_r_blocks(depth) * 32;
        const int left = columns - side, steps = depth - k;
        const long row = gate * depth + k;
        __global const float *corner = from + (transposed ? side * across + row : row * across + side);
        uint16 tile[16];
        WEFT_ROLLED for (int pair = 0; pair < 16; ++pair) {
            __global const float *line = corner + (transposed ? 1 : 2) * pair * across;
            if (transposed)
                tile[pair] = weft_r_pairs(line, pair < left ? steps : 0);
            else
                tile[pair] = WEFT_AMX_BITS_f32(weft_r_load(line, 2 * pair < steps ? left : 0)) |
                             WEFT_AMX_BITS_f32(weft_r_load(line + across, 2 * pair + 1 < steps ? left : 0))
                                 << 16;
        }
        if (transposed) weft_amx_transpose(tile);
        for (int pair = 0; pair < 16; ++pair) words[pair] = tile[pair];
    }
}

#endif

#include "recurrent_alone.clh"

/* The macros that recurrent_walk_cpu.clh requires. */
#define WEFT_R_TALL                     32
#define WEFT_R_SUM_AT(panel, row, side) ((panel)*64 + (row) / 16 * 32 + (side)*16 + (row) % 16)
#define WEFT_R_WORDS(gates, depth)      ((long)WEFT_R_AMX_BLOCK * (gates)*weft_r_blocks(depth))
#define WEFT_R_PACK(to, from, gates, depth, columns, across, transposed)                                     \
    weft_r_engine_pack(to, from, gates, depth, columns, across, transposed)
#define WEFT_R_LEFT(scan, a, a_row, gates, depth) weft_r_copy_left(scan, a, a_row, gates, depth)
#define WEFT_R_PRODUCT(scan, a, a_row, row, count, gates, depth, panels, stride, panel_count)                \
    weft_r_engine_product(scan, row, count, (gates)*weft_r_blocks(depth), panels, stride, panel_count)
#define WEFT_R_STATE(words, rows, gates, units, width)                                                       \
    ((words) + (long)get_global_id(0) * weft_r_room(rows, gates, units, width))
#define WEFT_R_OWN(room)                                                                                     \
    weft_amx_engine room;                                                                                    \
    weft_amx_begin(&room);
#define WEFT_R_END(room) WEFT_AMX_RELEASE(&room);

#include "recurrent_walk_cpu.clh"

#undef WEFT_R_TALL
#undef WEFT_R_SUM_AT
#undef WEFT_R_WORDS
#undef WEFT_R_PACK
#undef WEFT_R_LEFT
#undef WEFT_R_PRODUCT
#undef WEFT_R_STATE
#undef WEFT_R_OWN
#undef WEFT_R_END
#include "recurrent_alone.clh"
