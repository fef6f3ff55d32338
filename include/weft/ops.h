/* weft/ops.h: the ops, as a reference card.
 *
 * Elementwise ops broadcast as NumPy and PyTorch do: shapes are aligned at the right, a dimension of 1
 * stretches. Axes may be negative (-1 is the last). No op converts dtypes silently: weft_cast does.
 * Differentiable unless said otherwise; results are f32 for f32 inputs, i32 for i32 where an op takes i32. */
#ifndef WEFT_OPS_H
#define WEFT_OPS_H

#include <weft/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- elementwise: f32 and i32 ---- */
WEFT_API weft_tensor *weft_add(weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_sub(weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_mul(weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_div(weft_tensor *a, weft_tensor *b); /* f32 only */
WEFT_API weft_tensor *weft_neg(weft_tensor *a);
WEFT_API weft_tensor *weft_maximum(
    weft_tensor *a, weft_tensor *b); /* NaN if either is; a tie halves the gradient */
WEFT_API weft_tensor *weft_minimum(
    weft_tensor *a, weft_tensor *b); /* NaN if either is; a tie halves the gradient */
/* a - b·floor(a / b): the sign of b, as Python and torch.remainder; f32 by 0 is NaN, i32 by 0 is a. */
WEFT_API weft_tensor *weft_remainder(weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_abs(weft_tensor *a);   /* gradient 0 at 0; of the least i32 it is itself */
WEFT_API weft_tensor *weft_sign(weft_tensor *a);  /* -1, 0 or 1; 0 for NaN, as torch.sign; gradient 0 */
WEFT_API weft_tensor *weft_floor(weft_tensor *a); /* gradient 0; i32 stays, as in the three below */
WEFT_API weft_tensor *weft_ceil(weft_tensor *a);
WEFT_API weft_tensor *weft_round(weft_tensor *a); /* halves to even */
WEFT_API weft_tensor *weft_trunc(weft_tensor *a); /* toward zero */
/* min(max(x, low), high); -INFINITY, INFINITY: no bound; low above high: all high; gradient 1 at the bounds.
 */
WEFT_API weft_tensor *weft_clamp(weft_tensor *x, double low, double high);
WEFT_API weft_tensor *weft_where(
    weft_tensor *condition, weft_tensor *a, weft_tensor *b); /* condition: bool */

/* ---- elementwise: f32; within 4 units in the last place or 1e-6 of the value ---- */
WEFT_API weft_tensor *weft_exp(weft_tensor *a);
WEFT_API weft_tensor *weft_log(weft_tensor *a); /* natural */
WEFT_API weft_tensor *weft_sqrt(weft_tensor *a);
WEFT_API weft_tensor *weft_tanh(weft_tensor *a);
WEFT_API weft_tensor *weft_sigmoid(weft_tensor *a); /* 1 / (1 + exp(-a)) */
WEFT_API weft_tensor *weft_relu(weft_tensor *a);    /* max(a, 0); NaN stays NaN; gradient 0 at 0 */
WEFT_API weft_tensor *weft_square(weft_tensor *a);
WEFT_API weft_tensor *weft_pow(weft_tensor *a, weft_tensor *b); /* a^b; edges as C's pow */
WEFT_API weft_tensor *weft_rsqrt(weft_tensor *a);               /* 1 / sqrt(a) */
WEFT_API weft_tensor *weft_reciprocal(weft_tensor *a);          /* 1 / a */
WEFT_API weft_tensor *weft_exp2(weft_tensor *a);                /* 2^a */
WEFT_API weft_tensor *weft_expm1(weft_tensor *a);               /* exp(a) - 1, exact for small a */
WEFT_API weft_tensor *weft_log2(weft_tensor *a);                /* base 2 */
WEFT_API weft_tensor *weft_log1p(weft_tensor *a);               /* log(1 + a), exact for small a */
WEFT_API weft_tensor *weft_sin(weft_tensor *a);                 /* any size of argument, as in cos and tan */
WEFT_API weft_tensor *weft_cos(weft_tensor *a);
WEFT_API weft_tensor *weft_tan(weft_tensor *a);
WEFT_API weft_tensor *weft_asin(weft_tensor *a); /* NaN beyond -1 .. 1, as in acos */
WEFT_API weft_tensor *weft_acos(weft_tensor *a);
WEFT_API weft_tensor *weft_atan(weft_tensor *a);
WEFT_API weft_tensor *weft_atan2(weft_tensor *y, weft_tensor *x); /* the angle of the point (x, y); as C's */
WEFT_API weft_tensor *weft_erf(weft_tensor *a); /* 2/sqrt(π) · integral of exp(-t²), 0 .. a */

/* ---- activations: f32; NaN stays NaN; at -inf as the formula: gelu, silu, mish, hardswish are NaN ---- */
WEFT_API weft_tensor *weft_gelu(weft_tensor *a);      /* a·(1 + erf(a / sqrt(2))) / 2 */
WEFT_API weft_tensor *weft_gelu_tanh(weft_tensor *a); /* a·(1 + tanh(sqrt(2/π)·(a + 0.044715·a³))) / 2 */
WEFT_API weft_tensor *weft_silu(weft_tensor *a);      /* a·sigmoid(a) */
WEFT_API weft_tensor *weft_mish(weft_tensor *a);      /* a·tanh(softplus(a)) */
WEFT_API weft_tensor *weft_softplus(weft_tensor *a);  /* log(1 + exp(a)) */
WEFT_API weft_tensor *weft_softsign(weft_tensor *a);  /* a / (1 + |a|) */
WEFT_API weft_tensor *weft_selu(weft_tensor *a);      /* 1.0507·elu(a, 1.6733) (Klambauer et al. 2017) */
WEFT_API weft_tensor *weft_relu6(weft_tensor *a);     /* min(max(a, 0), 6); gradient 0 at 0 and 6 */
WEFT_API weft_tensor *weft_hardsigmoid(weft_tensor *a); /* relu6(a + 3) / 6; gradient 0 at -3 and 3 */
WEFT_API weft_tensor *weft_hardswish(weft_tensor *a); /* a·relu6(a + 3) / 6; gradient -1/2 at -3, 3/2 at 3 */
WEFT_API weft_tensor *weft_elu(weft_tensor *x, double alpha);        /* x > 0 ? x : alpha·(exp(x) - 1) */
WEFT_API weft_tensor *weft_leaky_relu(weft_tensor *x, double slope); /* x > 0 ? x : slope·x */
/* x > 0 ? x : weight·x, weight (1), or (C) along axis 1 of x (N, C, ...). */
WEFT_API weft_tensor *weft_prelu(weft_tensor *x, weft_tensor *weight);
/* min(max(x, low), high), low < high; gradient 0 at the bounds, where weft_clamp has 1, as PyTorch's. */
WEFT_API weft_tensor *weft_hardtanh(weft_tensor *x, double low, double high);

/* ---- comparisons: f32 or i32 to bool; no gradient ---- */
WEFT_API weft_tensor *weft_equal(weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_less(weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_less_equal(weft_tensor *a, weft_tensor *b);

WEFT_API weft_tensor *weft_not_equal(weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_greater(weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_greater_equal(weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_isnan(weft_tensor *a);
WEFT_API weft_tensor *weft_isinf(weft_tensor *a); /* of either sign */
WEFT_API weft_tensor *weft_isfinite(weft_tensor *a);

/* ---- logic: bool to bool (weft_cast makes bool of numbers); no gradient ---- */
WEFT_API weft_tensor *weft_logical_and(weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_logical_or(weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_logical_xor(weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_logical_not(weft_tensor *a);

/* ---- a number on the right: weft_mul_number(a, 0.5) is weft_mul(a, weft_number(a, 0.5)). On the left:
 * weft_sub(weft_number(x, 1), x). An i32 takes whole numbers. ---- */
WEFT_API weft_tensor *weft_add_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_sub_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_mul_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_div_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_pow_number(weft_tensor *a, double number); /* -1, 1, 2, 3 without weft_pow */
WEFT_API weft_tensor *weft_remainder_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_maximum_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_minimum_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_equal_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_not_equal_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_less_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_less_equal_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_greater_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_greater_equal_number(weft_tensor *a, double number);

/* Any dtype to any: to an integer truncates toward zero (out of range: undefined), to f16 and bf16 rounds to
 * nearest even, to bool is a != 0. i64 numbers are converted as i32: beyond its range undefined. The gradient
 * flows between f32, f16 and bf16. */
WEFT_API weft_tensor *weft_cast(weft_tensor *a, weft_dtype dtype);

/* ---- reductions: weft_sum(x) over all axes, weft_sum(x, 1) over one, weft_sum(x, 0, 2) over several ---- */
#define weft_sum(...)    WEFT_TAKE_AXES_(weft_sum_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_mean(...)   WEFT_TAKE_AXES_(weft_mean_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_max(...)    WEFT_TAKE_AXES_(weft_max_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_argmax(...) WEFT_TAKE_AXES_(weft_argmax_axes, __VA_ARGS__, WEFT_8_ENDS_)
/* The full forms. axes: list ended by WEFT_END, or NULL for all; keep: reduced axes stay with size 1. */
WEFT_API weft_tensor *weft_sum_axes(weft_tensor *x, const int64_t *axes, bool keep);  /* f32, i32 */
WEFT_API weft_tensor *weft_mean_axes(weft_tensor *x, const int64_t *axes, bool keep); /* f32 */
/* f32, i32; NaN wins; the gradient is shared evenly among ties, as torch.amax does. */
WEFT_API weft_tensor *weft_max_axes(weft_tensor *x, const int64_t *axes, bool keep);
/* i32: the index of the first maximum in the row-major order of the reduced axes; no gradient. */
WEFT_API weft_tensor *weft_argmax_axes(weft_tensor *x, const int64_t *axes, bool keep);

/* ---- products ---- */
/* (..., m, k) · (..., k, n) → (..., m, n), f32; leading dimensions broadcast. Rank 2 or more; transpose with
 * weft_transpose, which costs nothing. */
WEFT_API weft_tensor *weft_matmul(weft_tensor *a, weft_tensor *b);
/* x·weightᵀ + bias: x (..., in), weight (out, in), bias (out) or NULL → (..., out). weft_linear in nn.h makes
 * the parameters too. */
WEFT_API weft_tensor *weft_linear_with(weft_tensor *x, weft_tensor *weight, weft_tensor *bias);

/* ---- softmax and losses ---- */
WEFT_API weft_tensor *weft_softmax(weft_tensor *x, int axis);     /* exp(x - max) / sum */
WEFT_API weft_tensor *weft_log_softmax(weft_tensor *x, int axis); /* x - logsumexp(x) */
/* Mean over all but the class axis of -log softmax(logits)[label]. logits (batch, classes, ...) f32,
 * labels (batch, ...) i32 in [0, classes) → rank 0. A label out of range gives NaN. */
WEFT_API weft_tensor *weft_cross_entropy(weft_tensor *logits, weft_tensor *labels);
/* Mean of (a - b)² → rank 0; shapes broadcast. */
WEFT_API weft_tensor *weft_mse(weft_tensor *a, weft_tensor *b);

/* ---- movement ---- */
/* weft_reshape(x, WEFT_BATCH, 64): same number of elements, row-major. */
#define weft_reshape(...) WEFT_TAKE_AXES_(weft_reshape_list_, __VA_ARGS__, WEFT_8_ENDS_)
/* weft_permute(x, 0, 2, 1): axis i of the result is axis axes[i] of x. */
#define weft_permute(...) WEFT_TAKE_AXES_(weft_permute_list_, __VA_ARGS__, WEFT_8_ENDS_)
WEFT_API weft_tensor *weft_reshape_shape(weft_tensor *x, int rank, const int64_t *dims);
WEFT_API weft_tensor *weft_permute_axes(weft_tensor *x, int rank, const int *axes);
WEFT_API weft_tensor *weft_transpose(weft_tensor *x); /* the last two axes swapped */
WEFT_API weft_tensor *weft_flatten(weft_tensor *x);   /* (batch, ...) → (batch, the rest) */
/* Stretches dimensions of 1 to dims, as broadcasting does. */
WEFT_API weft_tensor *weft_expand(weft_tensor *x, int rank, const int64_t *dims);
/* Elements start .. end - 1 of one axis; negative start or end count from the end (not on a batch axis). */
WEFT_API weft_tensor *weft_slice(weft_tensor *x, int axis, int64_t start, int64_t end);
/* Puts count tensors one after another along an axis; other dimensions are equal. No tensors at all: NULL,
 * without an error, as there is no graph to keep it. */
WEFT_API weft_tensor *weft_concat(weft_tensor *const *xs, size_t count, int axis);

/* ---- random: Philox4x32-10 (Salmon et al. 2011), the same numbers on every device ----
 * They depend on the context's seed, the order of creation and the number of the run, not on device or batch
 * split. */
WEFT_API weft_tensor *weft_uniform(weft_graph *graph, float low, float high, int rank, const int64_t *dims);
WEFT_API weft_tensor *weft_normal(
    weft_graph *graph, float mean, float deviation, int rank, const int64_t *dims);
/* Training: zero with probability p, else x / (1 - p). Inference: x. 0 <= p < 1. */
WEFT_API weft_tensor *weft_dropout(weft_tensor *x, float p);

/* ---- behind the macros ---- */
#define WEFT_TAKE_AXES_(...) WEFT_TAKE_AXES_LIST_(__VA_ARGS__)
#ifdef __cplusplus
} /* a braced list becomes an array through this template-free helper */
struct weft_axis_list_ {
    int64_t axes[9];
};
#define WEFT_TAKE_AXES_LIST_(function, x, a, b, c, d, e, f, g, h, ...)                                       \
    function(x,                                                                                              \
        weft_axis_list_{{(int64_t)(a), (int64_t)(b), (int64_t)(c), (int64_t)(d), (int64_t)(e), (int64_t)(f), \
                            (int64_t)(g), (int64_t)(h), WEFT_END}}                                           \
            .axes,                                                                                           \
        false)
extern "C" {
#else
#define WEFT_TAKE_AXES_LIST_(function, x, a, b, c, d, e, f, g, h, ...)                                       \
    function(x, (const int64_t[]){a, b, c, d, e, f, g, h, WEFT_END}, false)
#endif
/* weft_sum(x) gives an empty list: like NULL, all axes. */
WEFT_API weft_tensor *weft_reshape_list_(weft_tensor *x, const int64_t *dims, bool unused);
WEFT_API weft_tensor *weft_permute_list_(weft_tensor *x, const int64_t *axes, bool unused);

#ifdef __cplusplus
}
#endif
#endif
