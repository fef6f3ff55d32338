/* See image_tower.h. */
#include "support/image_tower.h"

#include "ops/op_table.h"

#define AXIS(...) ((const int64_t[]){__VA_ARGS__, WEFT_END})

weft_tensor *image_tower_op(weft_tensor *x) {
    return wi_channels_first(weft_tanh(wi_channels_last(x)));
}

weft_tensor *image_tower_op_of_user(weft_tensor *x) {
    return weft_permute(weft_tanh(weft_permute(x, 0, 2, 3, 1)), 0, 3, 1, 2);
}

/* ---- the network in the library ---- */

weft_tensor *image_tower(
    weft_tensor *x, weft_tensor *bias, weft_tensor *gate, weft_tensor *(*op)(weft_tensor *)) {
    weft_tensor *const b = weft_reshape_shape(bias, 3, (const int64_t[]){bias->shape.dims[0], 1, 1});
    weft_tensor *const a = op(x);
    weft_tensor *const near = weft_sub(a, weft_mean_axes(a, AXIS(0, 2, 3), true));
    weft_tensor *const spread = weft_mean_axes(weft_square(near), AXIS(0, 2, 3), true);
    weft_tensor *const normal = weft_div(near, weft_sqrt(weft_add_number(spread, 0.25)));
    weft_tensor *const biased = weft_add(weft_mul(normal, b), b);
    const int64_t before[] = {0, 0, 1, 1}, after[] = {0, 0, 0, 2};
    weft_tensor *const padded = op(weft_exp(weft_pad(biased, before, after, WEFT_PAD_CONSTANT, 0)));
    weft_tensor *const cut = weft_slice(weft_slice(padded, 2, 1, WEFT_END), 3, 1, -2);
    weft_tensor *const parts[] = {weft_sigmoid(weft_add(biased, cut)), op(cut)};
    weft_tensor *const both = op(weft_mul(weft_concat(parts, 2, 1), gate));
    weft_tensor *const shares = weft_softmax(both, 1);
    return weft_flatten(weft_mean_axes(weft_mul(shares, both), AXIS(2, 3), true));
}

/* ---- the same network in float64 ---- */

static bool place(const void *context, const f64_array *a, const int64_t *to, int64_t *from) {
    (void)context;
    for (int i = 0; i < a->rank; i++) {
        from[i] = to[i] - (i >= 2);
        if (from[i] < 0 || from[i] >= a->dims[i]) return false;
    }
    return true;
}

f64_array *image_tower_reference(const f64_array *x, const f64_array *bias, const f64_array *gate) {
    const f64_array *const b = f64_reshape(bias, 3, (const int64_t[]){bias->dims[0], 1, 1});
    const f64_array *const a = f64_tanh(x);
    const f64_array *const near = f64_sub(a, f64_mean(a, AXIS(0, 2, 3), true));
    const f64_array *const spread = f64_mean(f64_square(near), AXIS(0, 2, 3), true);
    const f64_array *const normal = f64_div(near, f64_sqrt(f64_add(spread, f64_number(0.25))));
    const f64_array *const biased = f64_add(f64_mul(normal, b), b);
    const int64_t dims[] = {x->dims[0], x->dims[1], x->dims[2] + 1, x->dims[3] + 3};
    const f64_array *const padded = f64_tanh(f64_exp(f64_pick(biased, 4, dims, place, NULL, 0)));
    const f64_array *const cut = f64_slice(f64_slice(padded, 2, 1, dims[2]), 3, 1, dims[3] - 2);
    const f64_array *const parts[] = {f64_sigmoid(f64_add(biased, cut)), f64_tanh(cut)};
    const f64_array *const both = f64_tanh(f64_mul(f64_concat(parts, 2, 1), gate));
    const f64_array *const mean = f64_mean(f64_mul(f64_softmax(both, 1), both), AXIS(2, 3), false);
    return f64_copy(mean);
}
