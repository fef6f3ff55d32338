/* Resampling, pixel shuffles and local response normalisation: see oracle.h. */
#include "oracle/draw_image.h"
#include "oracle/reference_pooling.h"
#include <math.h>

/* ---- resample: integers are the mode, three sizes and align_corners; numbers, the factors ---- */

static weft_resample_options options_of(const oracle_call *call) {
    weft_resample_options o = {WEFT_RESAMPLE_OPTIONS_INIT, .mode = (weft_resample_mode)call->integers[0],
        .align_corners = call->integers[4] != 0};
    for (int i = 0; i < 3; i++) {
        o.sizes[i] = call->integers[1 + i];
        o.factors[i] = call->numbers[i];
    }
    return o;
}

/* The size of the result, or its factor; `most` times as long at most. */
static void draw_target(oracle_draw *draw, oracle_call *call, int i, double most) {
    static const double factors[] = {1, 2, 0.5, 3, 1.5, 0.25};
    const int64_t size = draw_image_size(draw, call->inputs[0], i);
    if (draw_chance(draw, 50)) {
        call->integers[1 + i] = 1 + draw_below(draw, (int64_t)(most * (double)size));
        return;
    }
    double factor = draw_chance(draw, 50) ? factors[draw_below(draw, 6)] : draw_between(draw, 0.2, most);
    if (factor * (double)size < 1 || factor > most) factor = 1;
    call->numbers[i] = factor;
}

ORACLE_DRAW(resample) {
    const int x = call->inputs[0] = draw_fixed_image(draw, 1, 3, -1e3, 1e3);
    if (x < 0) return false;
    const int axes = draw_rank(draw, x) - 2;
    const double most = fmin(3, pow(4.0 * (double)draw_most(draw) / (double)draw_count(draw, x), 1.0 / axes));
    for (int i = 0; i < axes; i++) draw_target(draw, call, i, fmax(most, 1));
    call->integers[0] = draw_chance(draw, 60) ? WEFT_RESAMPLE_LINEAR : WEFT_RESAMPLE_NEAREST;
    call->integers[4] = call->integers[0] == WEFT_RESAMPLE_LINEAR && draw_chance(draw, 50);
    return true;
}
ORACLE_BUILD(resample) {
    ORACLE_UNUSED;
    const weft_resample_options options = options_of(call);
    return weft_resample(in[0], &options);
}
ORACLE_EVALUATE(resample) {
    (void)sizes;
    const weft_resample_options options = options_of(call);
    return f64_resample(in[0], &options);
}
ORACLE_OP(resample,
    "weft_resample($0, &(weft_resample_options){WEFT_RESAMPLE_OPTIONS_INIT, .mode = (weft_resample_mode)$i0, "
    ".sizes = {$i1, $i2, $i3}, .factors = {$n0, $n1, $n2}, .align_corners = $b4})");

/* ---- by whole factors ---- */

static bool draw_upsample(oracle_draw *draw, oracle_call *call) {
    const int x = call->inputs[0] = draw_fixed_image(draw, 1, 3, -1e3, 1e3);
    if (x < 0) return false;
    int64_t factor = 1 + draw_below(draw, 4);
    const double growth = pow((double)factor, draw_rank(draw, x) - 2);
    if (growth * (double)draw_count(draw, x) > 4.0 * (double)draw_most(draw))
        factor = 1 + draw_below(draw, 2);
    call->integers[0] = factor;
    return true;
}

ORACLE_DRAW(upsample_nearest) {
    return draw_upsample(draw, call);
}
ORACLE_BUILD(upsample_nearest) {
    ORACLE_UNUSED;
    return weft_upsample_nearest(in[0], call->integers[0]);
}
ORACLE_EVALUATE(upsample_nearest) {
    (void)sizes;
    return f64_upsample_nearest(in[0], call->integers[0]);
}
ORACLE_OP(upsample_nearest, "weft_upsample_nearest($0, $i0)");

ORACLE_DRAW(upsample_linear) {
    call->integers[1] = draw_chance(draw, 50);
    return draw_upsample(draw, call);
}
ORACLE_BUILD(upsample_linear) {
    ORACLE_UNUSED;
    return weft_upsample_linear(in[0], call->integers[0], call->integers[1] != 0);
}
ORACLE_EVALUATE(upsample_linear) {
    (void)sizes;
    return f64_upsample_linear(in[0], call->integers[0], call->integers[1] != 0);
}
ORACLE_OP(upsample_linear, "weft_upsample_linear($0, $i0, $b1)");

/* ---- pixel shuffles: an image of the program where its channels, or sides, are multiples; otherwise a new one ---- */

static bool is_multiple(const oracle_draw *draw, int x, int64_t factor, bool back) {
    if (!back) return draw_dim(draw, x, 1) % (factor * factor) == 0;
    for (int i = 2; i < 4; i++)
        if (!draw_is_fixed(draw, x, i) || draw_dim(draw, x, i) % factor != 0) return false;
    return true;
}

static bool draw_shuffle(oracle_draw *draw, oracle_call *call, bool back) {
    const int64_t factor = call->integers[0] = 1 + (draw_chance(draw, 90) ? 1 + draw_below(draw, 3) : 0);
    call->inputs[0] = draw_image(draw, 2, 2, -1e4, 1e4);
    if (call->inputs[0] >= 0 && !is_multiple(draw, call->inputs[0], factor, back))
        call->inputs[0] = draw_new_image(draw, &(draw_image_options){.axes = 2,
                                                   .low = -3,
                                                   .high = 3,
                                                   .divisor = back ? 1 : factor * factor,
                                                   .step = back ? factor : 1});
    return call->inputs[0] >= 0;
}

#define SHUFFLE(op, back)                                                                                    \
    ORACLE_DRAW(op) {                                                                                        \
        return draw_shuffle(draw, call, back);                                                               \
    }                                                                                                        \
    ORACLE_BUILD(op) {                                                                                       \
        ORACLE_UNUSED;                                                                                       \
        return weft_##op(in[0], call->integers[0]);                                                          \
    }                                                                                                        \
    ORACLE_EVALUATE(op) {                                                                                    \
        (void)sizes;                                                                                         \
        return f64_##op(in[0], call->integers[0]);                                                           \
    }                                                                                                        \
    ORACLE_OP(op, "weft_" #op "($0, $i0)")

SHUFFLE(pixel_shuffle, false);
SHUFFLE(pixel_unshuffle, true);

/* ---- local response normalisation ---- */

ORACLE_DRAW(local_response_norm) {
    static const double betas[] = {0.75, 0.75, 0.5, 1, 1.3};
    call->inputs[0] = draw_image(draw, 1, 3, -40, 40);
    if (call->inputs[0] < 0) return false;
    call->integers[0] = 1 + (draw_chance(draw, 80) ? draw_below(draw, 9) : draw_below(draw, 64));
    call->numbers[0] = draw_chance(draw, 30) ? 1e-4 : draw_between(draw, 0.01, 2);
    call->numbers[1] = betas[draw_below(draw, 5)];
    call->numbers[2] = draw_chance(draw, 50) ? 1 : draw_between(draw, 0.5, 3);
    return true;
}
ORACLE_BUILD(local_response_norm) {
    ORACLE_UNUSED;
    const double *const n = call->numbers;
    return weft_local_response_norm(in[0], call->integers[0], n[0], n[1], n[2]);
}
ORACLE_EVALUATE(local_response_norm) {
    (void)sizes;
    const double *const n = call->numbers;
    return f64_local_response_norm(in[0], call->integers[0], n[0], n[1], n[2]);
}
ORACLE_OP(local_response_norm, "weft_local_response_norm($0, $i0, $n0, $n1, $n2)");
