/* Pooling: see oracle.h. */
#include "oracle/draw_image.h"
#include "oracle/reference_pooling.h"

/* Where the attributes stand among a call's integers: arrays have an entry for each of three spatial axes. */
enum { WINDOW = 0, STRIDE = 3, PADDING = 6, DILATION = 9, CEIL = 12, EXCLUDE = 13, DIVISOR = 14 };

static weft_pool_options options_of(const oracle_call *call) {
    const int64_t *const n = call->integers;
    weft_pool_options o = {WEFT_POOL_OPTIONS_INIT, .ceil_mode = n[CEIL] != 0,
        .exclude_padding = n[EXCLUDE] != 0, .divisor = n[DIVISOR]};
    for (int i = 0; i < 3; i++) {
        o.windows[i] = n[WINDOW + i];
        o.strides[i] = n[STRIDE + i];
        o.paddings[i] = n[PADDING + i];
        o.dilations[i] = n[DILATION + i];
    }
    return o;
}

/* ---- windows ---- */

static void draw_window(oracle_draw *draw, oracle_call *call, int i) {
    int64_t *const n = call->integers;
    const bool is_free = !draw_is_fixed(draw, call->inputs[0], 2 + i);
    const int64_t size = draw_image_size(draw, call->inputs[0], i);
    n[WINDOW + i] = !is_free && draw_chance(draw, 10) ? size : 1 + draw_below(draw, 5);
    n[DILATION + i] = draw_chance(draw, 65) ? draw_below(draw, 2) : draw_below(draw, 5);
    int64_t dilation = n[DILATION + i] ? n[DILATION + i] : 1, reach = dilation * (n[WINDOW + i] - 1) + 1;
    n[PADDING + i] = draw_chance(draw, 50) ? 0 : draw_below(draw, reach / 2 + 1);
    if (size + 2 * n[PADDING + i] < reach) { /* a window has to fit */
        n[WINDOW + i] = n[WINDOW + i] < size ? n[WINDOW + i] : size;
        n[DILATION + i] = n[PADDING + i] = 0;
    }
    n[STRIDE + i] = is_free ? 1 : draw_small(draw, 6);
    if (!is_free && n[WINDOW + i] < 3 && draw_chance(draw, 20)) n[STRIDE + i] = n[WINDOW + i] + 2;
}

static bool draw_pool(oracle_draw *draw, oracle_call *call, double low, double high) {
    call->inputs[0] = draw_image(draw, 1, 3, low, high);
    if (call->inputs[0] < 0) return false;
    for (int i = 0; i < draw_rank(draw, call->inputs[0]) - 2; i++) draw_window(draw, call, i);
    call->integers[CEIL] = draw_chance(draw, 35);
    return true;
}

#define POOL_LINE                                                                                            \
    "&(weft_pool_options){WEFT_POOL_OPTIONS_INIT, .windows = {$i0, $i1, $i2}, .strides = {$i3, $i4, $i5}, "  \
    ".paddings = {$i6, $i7, $i8}, .dilations = {$i9, $i10, $i11}, .ceil_mode = $b12, .exclude_padding = "    \
    "$b13, "                                                                                                 \
    ".divisor = $i14})"

#define POOL(op)                                                                                             \
    ORACLE_BUILD(op) {                                                                                       \
        ORACLE_UNUSED;                                                                                       \
        const weft_pool_options options = options_of(call);                                                  \
        return weft_##op(in[0], &options);                                                                   \
    }                                                                                                        \
    ORACLE_EVALUATE(op) {                                                                                    \
        (void)sizes;                                                                                         \
        const weft_pool_options options = options_of(call);                                                  \
        return f64_##op(in[0], &options);                                                                    \
    }                                                                                                        \
    ORACLE_OP(op, "weft_" #op "($0, " POOL_LINE)

ORACLE_DRAW(max_pool) {
    return draw_pool(draw, call, -1e4, 1e4);
}
POOL(max_pool);

ORACLE_DRAW(avg_pool) {
    call->integers[EXCLUDE] = draw_chance(draw, 40);
    call->integers[DIVISOR] = draw_chance(draw, 20) ? 1 + draw_below(draw, 12) : 0;
    return draw_pool(draw, call, -1e3, 1e3);
}
POOL(avg_pool);

/* Orders other than 2 have no result, or no gradient, for some numbers that are not positive. */
ORACLE_DRAW(lp_pool) {
    static const double orders[] = {2, 2, 1, 3, 2.5, 0.5, 4};
    call->numbers[0] = orders[draw_below(draw, 7)];
    return call->numbers[0] == 2 ? draw_pool(draw, call, -40, 40) : draw_pool(draw, call, 0.05, 40);
}
ORACLE_BUILD(lp_pool) {
    ORACLE_UNUSED;
    const weft_pool_options options = options_of(call);
    return weft_lp_pool(in[0], call->numbers[0], &options);
}
ORACLE_EVALUATE(lp_pool) {
    (void)sizes;
    const weft_pool_options options = options_of(call);
    return f64_lp_pool(in[0], call->numbers[0], &options);
}
ORACLE_OP(lp_pool, "weft_lp_pool($0, $n0, " POOL_LINE);

/* ---- square windows ---- */

#define SQUARE(op)                                                                                           \
    ORACLE_DRAW(op##2d) {                                                                                    \
        const int x = call->inputs[0] = draw_fixed_image(draw, 2, 2, -1e3, 1e3);                             \
        if (x < 0) return false;                                                                             \
        const int64_t height = draw_image_size(draw, x, 0), width = draw_image_size(draw, x, 1);             \
        const int64_t least = height < width ? height : width;                                               \
        call->integers[0] = 1 + draw_below(draw, draw_chance(draw, 80) && least > 4 ? 4 : least);            \
        return true;                                                                                         \
    }                                                                                                        \
    ORACLE_BUILD(op##2d) {                                                                                   \
        ORACLE_UNUSED;                                                                                       \
        return weft_##op##2d(in[0], call->integers[0]);                                                      \
    }                                                                                                        \
    ORACLE_EVALUATE(op##2d) {                                                                                \
        (void)sizes;                                                                                         \
        const int64_t size = call->integers[0];                                                              \
        return f64_##op(in[0], &(const weft_pool_options){.windows = {size, size}});                         \
    }                                                                                                        \
    ORACLE_OP(op##2d, "weft_" #op "2d($0, $i0)")

SQUARE(max_pool);
SQUARE(avg_pool);

/* ---- adaptive and global ---- */

#define ADAPTIVE(op)                                                                                         \
    ORACLE_DRAW(op) {                                                                                        \
        const int x = call->inputs[0] = draw_image(draw, 1, 3, -1e3, 1e3);                                   \
        if (x < 0) return false;                                                                             \
        const int axes = draw_rank(draw, x) - 2;                                                             \
        for (int i = 0; i < axes; i++) {                                                                     \
            const int64_t size = draw_image_size(draw, x, i);                                                \
            call->dims[i] = 1 + draw_below(draw, size < 9 ? size + 2 : 9);                                   \
        }                                                                                                    \
        call->dims[axes] = WEFT_END;                                                                         \
        return true;                                                                                         \
    }                                                                                                        \
    ORACLE_BUILD(op) {                                                                                       \
        int64_t dims[WEFT_MAX_RANK + 1];                                                                     \
        ORACLE_UNUSED;                                                                                       \
        (void)oracle_given_of(call->dims, sizes, dims);                                                      \
        return weft_##op(in[0], dims);                                                                       \
    }                                                                                                        \
    ORACLE_EVALUATE(op) {                                                                                    \
        int64_t dims[WEFT_MAX_RANK + 1];                                                                     \
        (void)oracle_sizes_of(call->dims, sizes, dims);                                                      \
        return f64_##op(in[0], dims);                                                                        \
    }                                                                                                        \
    ORACLE_OP(op, "weft_" #op "($0, $l)")

ADAPTIVE(adaptive_max_pool);
ADAPTIVE(adaptive_avg_pool);

#define GLOBAL(op)                                                                                           \
    ORACLE_DRAW(op) {                                                                                        \
        call->inputs[0] = draw_image(draw, 1, 3, -1e3, 1e3);                                                 \
        return call->inputs[0] >= 0;                                                                         \
    }                                                                                                        \
    ORACLE_BUILD(op) {                                                                                       \
        ORACLE_UNUSED;                                                                                       \
        return weft_##op(in[0]);                                                                             \
    }                                                                                                        \
    ORACLE_EVALUATE(op) {                                                                                    \
        (void)call, (void)sizes;                                                                             \
        return f64_##op(in[0]);                                                                              \
    }                                                                                                        \
    ORACLE_OP(op, "weft_" #op "($0)")

GLOBAL(global_max_pool);
GLOBAL(global_avg_pool);
