/* Convolutions: see oracle.h. */
#include "oracle/draw_image.h"
#include "oracle/reference_convolution.h"
#include <math.h>

/* Where the attributes stand among a call's integers: arrays have an entry for each of three spatial axes. */
enum { STRIDE = 0, DILATION = 3, PADDING = 6, AFTER = 9, OUTPUT = 12, MODE = 15, GROUPS = 16 };
enum { MOST_FILTERS = 65 };
static const double most_products = 4e6; /* of a convolution, which is evaluated many times */

static weft_conv_options options_of(const oracle_call *call) {
    const int64_t *const n = call->integers;
    weft_conv_options o = {WEFT_CONV_OPTIONS_INIT, .mode = (weft_conv_padding)n[MODE], .groups = n[GROUPS]};
    for (int i = 0; i < 3; i++) {
        o.strides[i] = n[STRIDE + i];
        o.dilations[i] = n[DILATION + i];
        o.paddings[i] = n[PADDING + i];
        o.paddings_after[i] = n[AFTER + i];
        o.output_paddings[i] = n[OUTPUT + i];
    }
    return o;
}

/* ---- drawing ---- */

static int64_t draw_padding(oracle_draw *draw, int64_t reach) {
    const int64_t kind = draw_below(draw, 10);
    return kind < 4 ? 0 : kind < 7 ? reach / 2 : draw_below(draw, reach + 2);
}

/* Stride, dilation and paddings of a spatial axis. */
static void draw_window(oracle_draw *draw, oracle_call *call, int i, int64_t taps, bool transposed) {
    int64_t *const n = call->integers;
    const bool is_free = !draw_is_fixed(draw, call->inputs[0], 2 + i);
    n[STRIDE + i] = is_free && !transposed ? draw_below(draw, 2) : draw_small(draw, 5);
    n[DILATION + i] = draw_chance(draw, 65) ? draw_below(draw, 2) : draw_below(draw, 5);
    const int64_t stride = n[STRIDE + i] ? n[STRIDE + i] : 1,
                  dilation = n[DILATION + i] ? n[DILATION + i] : 1;
    const int64_t reach = dilation * (taps - 1) + 1;
    if (n[MODE] == WEFT_PADDING_SAME) return;
    n[PADDING + i] = draw_padding(draw, reach);
    n[AFTER + i] = n[MODE] == WEFT_PADDING_EACH ? draw_padding(draw, reach) : 0;
    const int64_t size = draw_image_size(draw, call->inputs[0], i),
                  both = n[PADDING + i] + (n[MODE] == WEFT_PADDING_EACH ? n[AFTER + i] : n[PADDING + i]);
    if (!transposed && size + both < reach) n[PADDING + i] += reach - size - both; /* the window has to fit */
    if (transposed && (size - 1) * stride + reach <= both) n[PADDING + i] = n[AFTER + i] = 0;
    if (transposed && draw_chance(draw, 40))
        n[OUTPUT + i] = draw_below(draw, stride > dilation ? stride : dilation);
}

static void draw_taps(oracle_draw *draw, int axes, double room, int64_t *taps) {
    static const int64_t sizes[] = {1, 1, 3, 3, 3, 5, 2, 4, 7};
    const bool pointwise = draw_chance(draw, 20), square = draw_chance(draw, 50);
    for (int i = 0; i < axes; i++) {
        taps[i] = pointwise ? 1 : square && i > 0 ? taps[0] : sizes[draw_below(draw, 9)];
        if ((double)taps[i] > room) taps[i] = 1;
        room /= (double)taps[i];
    }
    taps[axes] = WEFT_END;
}

/* A weight of this shape, whose sums over `terms` products stay as large as the image. */
static int draw_filters(oracle_draw *draw, const int64_t *dims, int64_t terms) {
    const double most = 2 / sqrt((double)terms);
    return draw_chance(draw, 25) ? draw_shaped(draw, draw_format(draw), dims, -most, most)
                                 : draw_weights(draw, dims, -most, most);
}

static int64_t draw_groups(oracle_draw *draw, int64_t channels) {
    const int64_t kind = draw_below(draw, 10);
    return kind < 5 ? kind % 2 : kind < 7 ? channels : draw_divisor(draw, channels);
}

/* Results that would be large get strides of 1. */
static void limit_strides(const oracle_draw *draw, oracle_call *call, int64_t filters) {
    const f64_array *const x = draw_array(draw, call->inputs[0]);
    double count = (double)(x->dims[0] * filters);
    for (int i = 0; i < x->rank - 2; i++)
        count *= (double)(x->dims[2 + i] * (call->integers[STRIDE + i] ? call->integers[STRIDE + i] : 1));
    for (int i = 0; i < 3 && count > 2 * (double)draw_most(draw); i++)
        call->integers[STRIDE + i] = call->integers[OUTPUT + i] = 0;
}

/* The weight's shape, so that it is no larger than other values, and the convolution no more work than most_products. */
typedef struct conv_filters {
    int64_t dims[WEFT_MAX_RANK + 1];
    int64_t count, terms; /* filters, and products that are summed for an element of the result */
} conv_filters;

static conv_filters draw_filter_shape(oracle_draw *draw, const oracle_call *call, bool transposed) {
    const int x = call->inputs[0], axes = draw_rank(draw, x) - 2;
    const int64_t channels = draw_dim(draw, x, 1),
                  groups = call->integers[GROUPS] ? call->integers[GROUPS] : 1;
    const double room = fmin(most_products / (double)draw_count(draw, x),
        2 * (double)draw_most(draw) * (double)groups / (double)channels);
    conv_filters f = {.terms = channels / groups};
    double taps = 1;
    draw_taps(draw, axes, room, f.dims + 2);
    for (int i = 0; i < axes; i++) taps *= (double)f.dims[2 + i];
    const double most = fmin(room / taps, (double)MOST_FILTERS / (double)groups);
    const int64_t filters = draw_size(draw, (int64_t)fmax(most, 1));
    f.count = groups * filters;
    f.terms *= (int64_t)taps;
    f.dims[0] = transposed ? channels : f.count;
    f.dims[1] = transposed ? filters : channels / groups;
    return f;
}

static bool draw_convolution(oracle_draw *draw, oracle_call *call, bool transposed) {
    const int x = call->inputs[0] = draw_image(draw, 1, 3, -40, 40);
    if (x < 0) return false;
    call->integers[MODE] = draw_below(draw, transposed ? 2 : 3);
    call->integers[GROUPS] = draw_groups(draw, draw_dim(draw, x, 1));
    const conv_filters filters = draw_filter_shape(draw, call, transposed);
    for (int i = 0; i < draw_rank(draw, x) - 2; i++)
        draw_window(draw, call, i, filters.dims[2 + i], transposed);
    if (transposed) limit_strides(draw, call, filters.count);
    const int64_t results[] = {filters.count, WEFT_END};
    if (!transposed && draw_chance(draw, 20)) {
        const double most = 2 / sqrt((double)filters.terms);
        int64_t dims[WEFT_MAX_RANK + 1] = {draw_dim(draw, x, 0)};
        for (int i = 0; i < WEFT_MAX_RANK; i++) dims[1 + i] = filters.dims[i];
        if (!draw_fits(draw, dims)) return false;
        call->inputs[1] =
            draw_shaped(draw, draw_format(draw), dims, -most, most); /* kernels for each example */
    } else {
        call->inputs[1] = draw_filters(draw, filters.dims, filters.terms);
    }
    if (draw_chance(draw, 60)) call->inputs[2] = draw_weights(draw, results, -1, 1);
    return call->inputs[1] >= 0;
}

/* ---- the rows ---- */

#define CONV_LINE(op)                                                                                        \
    "weft_" #op "($0, $1, $2, &(weft_conv_options){WEFT_CONV_OPTIONS_INIT, .strides = {$i0, $i1, $i2}, "     \
    ".dilations = {$i3, $i4, $i5}, .mode = (weft_conv_padding)$i15, .paddings = {$i6, $i7, $i8}, "           \
    ".paddings_after = {$i9, $i10, $i11}, .output_paddings = {$i12, $i13, $i14}, .groups = $i16})"

#define CONVOLUTION(op, reference, transposed)                                                               \
    ORACLE_DRAW(op) {                                                                                        \
        return draw_convolution(draw, call, transposed);                                                     \
    }                                                                                                        \
    ORACLE_BUILD(op) {                                                                                       \
        ORACLE_UNUSED;                                                                                       \
        const weft_conv_options options = options_of(call);                                                  \
        return weft_##op(in[0], in[1], in[2], &options);                                                     \
    }                                                                                                        \
    ORACLE_EVALUATE(op) {                                                                                    \
        (void)sizes;                                                                                         \
        const weft_conv_options options = options_of(call);                                                  \
        return reference(in[0], in[1], in[2], &options);                                                     \
    }                                                                                                        \
    ORACLE_OP(op, CONV_LINE(op))

CONVOLUTION(conv_with, f64_conv, false);
CONVOLUTION(conv_transpose_with, f64_conv_transpose, true);
