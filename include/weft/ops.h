/* weft/ops.h: the ops, as a reference card.
 *
 * Elementwise ops broadcast as in NumPy and PyTorch: shapes are aligned at the right, and a dimension of 1 is
 * repeated. Axes may be negative (-1 is the last). No op casts implicitly; use weft_cast. Binary
 * ops have forms with a number (weft_add_number); weft_number makes a tensor of a number. Ops are
 * differentiable unless stated otherwise. Results are f32 for f32 inputs, and i32 for i32 inputs where an op
 * takes i32. Shapes are whole shapes, with the batch dimension.
 *
 * Errors are those of the graph (graph.h): WEFT_ERROR_DTYPE, WEFT_ERROR_SHAPE (shapes that do not match, an
 * axis that does not exist), WEFT_ERROR_ARGUMENT (a number outside of the range that is given here).
 * PyTorch's names and the differences: docs/ops.md. */
#ifndef WEFT_OPS_H
#define WEFT_OPS_H

#include <weft/indexing.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- elementwise: floats and i32 (graph.h). Floats of different dtypes meet in the one that holds both; tensors
 * of rank 0 widen no other ---- */
WEFT_API weft_tensor *weft_add(weft_tensor *a, weft_tensor *b); /* a + b */
WEFT_API weft_tensor *weft_sub(weft_tensor *a, weft_tensor *b); /* a - b */
WEFT_API weft_tensor *weft_mul(weft_tensor *a, weft_tensor *b); /* a·b */
WEFT_API weft_tensor *weft_div(weft_tensor *a, weft_tensor *b); /* a / b; floats only */
WEFT_API weft_tensor *weft_neg(weft_tensor *a);                 /* -a */
WEFT_API weft_tensor *weft_square(weft_tensor *a);              /* a² */
/* The larger and the smaller of two: NaN if either is NaN; equal inputs get half of the gradient each. */
WEFT_API weft_tensor *weft_maximum(weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_minimum(weft_tensor *a, weft_tensor *b);
/* a - b·floor(a / b): has the sign of b, as in Python and torch.remainder; f32 by 0 is NaN, i32 by 0 is a. */
WEFT_API weft_tensor *weft_remainder(weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_abs(weft_tensor *a);   /* |a|; gradient 0 at 0; the smallest i32 stays as it is */
WEFT_API weft_tensor *weft_sign(weft_tensor *a);  /* -1, 0 or 1; 0 for NaN, as in torch.sign; gradient 0 */
WEFT_API weft_tensor *weft_floor(weft_tensor *a); /* rounds down; gradient 0; i32 unchanged, like the next
                                                     three */
WEFT_API weft_tensor *weft_ceil(weft_tensor *a);  /* rounds up */
WEFT_API weft_tensor *weft_round(weft_tensor *a); /* rounds to the nearest, halves to even */
WEFT_API weft_tensor *weft_trunc(weft_tensor *a); /* rounds toward zero */
/* min(max(x, low), high). An infinite bound is no bound; if low is above high, all are high. Gradient 0 at
 * the bounds. */
WEFT_API weft_tensor *weft_clamp(weft_tensor *x, double low, double high);
/* condition ? a : b; all three broadcast; condition is bool. No gradient reaches the input that is not
 * chosen. */
WEFT_API weft_tensor *weft_where(weft_tensor *condition, weft_tensor *a, weft_tensor *b);

/* ---- elementwise: f32; errors of at most 4 units in the last place or 1e-6 of the value ---- */
WEFT_API weft_tensor *weft_pow(weft_tensor *a, weft_tensor *b); /* a^b; special cases as in C's pow */
WEFT_API weft_tensor *weft_sqrt(weft_tensor *a);                /* NaN below 0 */
WEFT_API weft_tensor *weft_rsqrt(weft_tensor *a);               /* 1 / sqrt(a) */
WEFT_API weft_tensor *weft_reciprocal(weft_tensor *a);          /* 1 / a */
WEFT_API weft_tensor *weft_exp(weft_tensor *a);                 /* e^a */
WEFT_API weft_tensor *weft_exp2(weft_tensor *a);                /* 2^a */
WEFT_API weft_tensor *weft_expm1(weft_tensor *a);               /* exp(a) - 1, accurate for small a */
WEFT_API weft_tensor *weft_log(weft_tensor *a);                 /* natural; -inf at 0, NaN below 0, as log2 */
WEFT_API weft_tensor *weft_log2(weft_tensor *a);                /* base 2 */
WEFT_API weft_tensor *weft_log1p(weft_tensor *a);               /* log(1 + a), accurate for small a */
WEFT_API weft_tensor *weft_sin(weft_tensor *a);  /* a in radians, of any magnitude, as for cos and tan */
WEFT_API weft_tensor *weft_cos(weft_tensor *a);  /* cosine */
WEFT_API weft_tensor *weft_tan(weft_tensor *a);  /* tangent */
WEFT_API weft_tensor *weft_asin(weft_tensor *a); /* in [-π/2, π/2]; NaN outside of [-1, 1], as acos */
WEFT_API weft_tensor *weft_acos(weft_tensor *a); /* in [0, π] */
WEFT_API weft_tensor *weft_atan(weft_tensor *a); /* in [-π/2, π/2] */
WEFT_API weft_tensor *weft_atan2(weft_tensor *y, weft_tensor *x); /* the angle of the point (x, y) */
WEFT_API weft_tensor *weft_erf(weft_tensor *a); /* 2/sqrt(π) · integral of exp(-t²) from 0 to a */

/* ---- activations: f32; NaN gives NaN; at -inf gelu, silu, mish, hardswish are NaN, as their formulas
 * ---- */
WEFT_API weft_tensor *weft_relu(weft_tensor *a);      /* max(a, 0); gradient 0 at 0 */
WEFT_API weft_tensor *weft_tanh(weft_tensor *a);      /* (exp(2a) - 1) / (exp(2a) + 1) */
WEFT_API weft_tensor *weft_sigmoid(weft_tensor *a);   /* 1 / (1 + exp(-a)) */
WEFT_API weft_tensor *weft_gelu(weft_tensor *a);      /* a·(1 + erf(a / sqrt(2))) / 2 */
WEFT_API weft_tensor *weft_gelu_tanh(weft_tensor *a); /* a·(1 + tanh(sqrt(2/π)·(a + 0.044715·a³))) / 2 */
WEFT_API weft_tensor *weft_silu(weft_tensor *a);      /* a·sigmoid(a) */
WEFT_API weft_tensor *weft_mish(weft_tensor *a);      /* a·tanh(softplus(a)) */
WEFT_API weft_tensor *weft_softplus(weft_tensor *a);  /* log(1 + exp(a)) */
WEFT_API weft_tensor *weft_softsign(weft_tensor *a);  /* a / (1 + |a|) */
WEFT_API weft_tensor *weft_selu(weft_tensor *a);      /* 1.0507·elu(a, 1.6733) (Klambauer et al. 2017) */
WEFT_API weft_tensor *weft_relu6(weft_tensor *a);     /* min(max(a, 0), 6); gradient 0 at 0 and 6 */
WEFT_API weft_tensor *weft_hardsigmoid(weft_tensor *a); /* relu6(a + 3) / 6; gradient 0 at -3 and 3 */
WEFT_API weft_tensor *weft_hardswish(weft_tensor *a);   /* a·relu6(a + 3) / 6; gradient 0 at -3, 1 at 3 */
WEFT_API weft_tensor *weft_elu(weft_tensor *x, double alpha);        /* x > 0 ? x : alpha·(exp(x) - 1) */
WEFT_API weft_tensor *weft_leaky_relu(weft_tensor *x, double slope); /* x > 0 ? x : slope·x */
/* x > 0 ? x : weight·x; weight is (1), or (C) along axis 1 of x (N, C, ...). */
WEFT_API weft_tensor *weft_prelu(weft_tensor *x, weft_tensor *weight);
/* min(max(x, low), high), low < high. Gradient 0 at the bounds. */
WEFT_API weft_tensor *weft_hardtanh(weft_tensor *x, double low, double high);

/* ---- comparisons: two floats or two i32 → bool; no gradient. With NaN false; weft_not_equal true ---- */
WEFT_API weft_tensor *weft_equal(weft_tensor *a, weft_tensor *b);         /* a == b */
WEFT_API weft_tensor *weft_not_equal(weft_tensor *a, weft_tensor *b);     /* a != b */
WEFT_API weft_tensor *weft_less(weft_tensor *a, weft_tensor *b);          /* a < b */
WEFT_API weft_tensor *weft_less_equal(weft_tensor *a, weft_tensor *b);    /* a <= b */
WEFT_API weft_tensor *weft_greater(weft_tensor *a, weft_tensor *b);       /* a > b */
WEFT_API weft_tensor *weft_greater_equal(weft_tensor *a, weft_tensor *b); /* a >= b */
WEFT_API weft_tensor *weft_isnan(weft_tensor *a);                         /* is NaN; false for i32 */
WEFT_API weft_tensor *weft_isinf(weft_tensor *a);    /* is infinite, of either sign; false for i32 */
WEFT_API weft_tensor *weft_isfinite(weft_tensor *a); /* is neither NaN nor infinite; true for i32 */

/* ---- logic: bool → bool (weft_cast makes bool of numbers); no gradient ---- */
WEFT_API weft_tensor *weft_logical_and(weft_tensor *a, weft_tensor *b); /* a and b */
WEFT_API weft_tensor *weft_logical_or(weft_tensor *a, weft_tensor *b);  /* a or b */
WEFT_API weft_tensor *weft_logical_xor(weft_tensor *a, weft_tensor *b); /* either a or b */
WEFT_API weft_tensor *weft_logical_not(weft_tensor *a);                 /* not a */

/* ---- forms with a number, and casts ---- */
/* The number is on the right: weft_mul_number(a, 0.5) is weft_mul(a, weft_number(a, 0.5)). On the left it stands in front:
 * weft_number_sub(1, a) is 1 - a. With i32 the number must be whole (else WEFT_ERROR_ARGUMENT). Sizes that are not part of
 * the network are no numbers: WEFT_LENGTH is refused here and wherever a number is taken, with WEFT_ERROR_ARGUMENT, and
 * WEFT_BATCH is -1; weft_size gives them. */
WEFT_API weft_tensor *weft_add_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_sub_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_mul_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_div_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_remainder_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_maximum_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_minimum_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_equal_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_not_equal_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_less_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_less_equal_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_greater_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_greater_equal_number(weft_tensor *a, double number);
/* The same; exponents -1, 1, 2 and 3 do not use weft_pow. */
WEFT_API weft_tensor *weft_pow_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_number_sub(double number, weft_tensor *a);       /* number - a */
WEFT_API weft_tensor *weft_number_div(double number, weft_tensor *a);       /* number / a; floats only */
WEFT_API weft_tensor *weft_number_remainder(double number, weft_tensor *a); /* has the sign of a */
WEFT_API weft_tensor *weft_number_pow(double number, weft_tensor *a);       /* number^a; floats only */
/* Any dtype to any other. To an integer: truncates toward zero (undefined out of range). To a
 * narrower float: rounds to nearest even. To bool: a != 0. Gradients flow between floats. */
WEFT_API weft_tensor *weft_cast(weft_tensor *a, weft_dtype dtype);

/* ---- reductions: weft_sum(x) over all axes, weft_sum(x, 1) over one, weft_sum(x, 0, 2) over several ---- */
#define weft_sum(...)           WEFT_TAKE_AXES_(weft_sum_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_mean(...)          WEFT_TAKE_AXES_(weft_mean_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_max(...)           WEFT_TAKE_AXES_(weft_max_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_argmax(...)        WEFT_TAKE_AXES_(weft_argmax_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_min(...)           WEFT_TAKE_AXES_(weft_min_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_argmin(...)        WEFT_TAKE_AXES_(weft_argmin_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_prod(...)          WEFT_TAKE_AXES_(weft_prod_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_var(...)           WEFT_TAKE_AXES_(weft_var_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_std(...)           WEFT_TAKE_AXES_(weft_std_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_norm(...)          WEFT_TAKE_AXES_(weft_norm_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_logsumexp(...)     WEFT_TAKE_AXES_(weft_logsumexp_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_any(...)           WEFT_TAKE_AXES_(weft_any_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_all(...)           WEFT_TAKE_AXES_(weft_all_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_count_nonzero(...) WEFT_TAKE_AXES_(weft_count_nonzero_axes, __VA_ARGS__, WEFT_8_ENDS_)
/* The same with the reduced axes kept, of size 1: PyTorch's keepdim=True. An axis that is named twice is an error
 * (WEFT_ERROR_SHAPE), and a bool among axes does not compile in C++. C cannot tell weft_sum(x, 2, true), which names the
 * axes 2 and 1, from weft_sum_keep(x, 2). */
#define weft_sum_keep(...)           WEFT_TAKE_AXES_KEEP_(weft_sum_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_mean_keep(...)          WEFT_TAKE_AXES_KEEP_(weft_mean_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_max_keep(...)           WEFT_TAKE_AXES_KEEP_(weft_max_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_argmax_keep(...)        WEFT_TAKE_AXES_KEEP_(weft_argmax_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_min_keep(...)           WEFT_TAKE_AXES_KEEP_(weft_min_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_argmin_keep(...)        WEFT_TAKE_AXES_KEEP_(weft_argmin_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_prod_keep(...)          WEFT_TAKE_AXES_KEEP_(weft_prod_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_var_keep(...)           WEFT_TAKE_AXES_KEEP_(weft_var_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_std_keep(...)           WEFT_TAKE_AXES_KEEP_(weft_std_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_norm_keep(...)          WEFT_TAKE_AXES_KEEP_(weft_norm_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_logsumexp_keep(...)     WEFT_TAKE_AXES_KEEP_(weft_logsumexp_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_any_keep(...)           WEFT_TAKE_AXES_KEEP_(weft_any_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_all_keep(...)           WEFT_TAKE_AXES_KEEP_(weft_all_axes, __VA_ARGS__, WEFT_8_ENDS_)
#define weft_count_nonzero_keep(...) WEFT_TAKE_AXES_KEEP_(weft_count_nonzero_axes, __VA_ARGS__, WEFT_8_ENDS_)
/* The full forms. axes: a list that ends with WEFT_END, or NULL for all axes; keep: reduced axes remain with
 * size 1. */
WEFT_API weft_tensor *weft_sum_axes(weft_tensor *x, const int64_t *axes, bool keep);  /* f32, i32 */
WEFT_API weft_tensor *weft_mean_axes(weft_tensor *x, const int64_t *axes, bool keep); /* f32 */
/* The minimum and the maximum; f32, i32; NaN if an element is NaN. Equal elements share the gradient evenly,
 * as in torch.amax. */
WEFT_API weft_tensor *weft_min_axes(weft_tensor *x, const int64_t *axes, bool keep);
WEFT_API weft_tensor *weft_max_axes(weft_tensor *x, const int64_t *axes, bool keep);
/* i32: the index of the first maximum, in row-major order of the reduced axes; no gradient. */
WEFT_API weft_tensor *weft_argmax_axes(weft_tensor *x, const int64_t *axes, bool keep);
WEFT_API weft_tensor *weft_argmin_axes(weft_tensor *x, const int64_t *axes, bool keep); /* of the minimum */
/* f32, i32 (wraps around). The gradient is exact even if factors are zero. */
WEFT_API weft_tensor *weft_prod_axes(weft_tensor *x, const int64_t *axes, bool keep);
/* f32: sum (x - mean)² / max(n - correction, 0), correction >= 0; it is 1 in weft_var and weft_var_axes. The
 * standard deviation is its square root, with gradient 0 where it is 0. */
WEFT_API weft_tensor *weft_var_axes(weft_tensor *x, const int64_t *axes, bool keep);
WEFT_API weft_tensor *weft_std_axes(weft_tensor *x, const int64_t *axes, bool keep);
WEFT_API weft_tensor *weft_var_with(weft_tensor *x, int correction, const int64_t *axes, bool keep);
WEFT_API weft_tensor *weft_std_with(weft_tensor *x, int correction, const int64_t *axes, bool keep);
/* f32: order 1 is sum |x|, order 2 sqrt(sum x²), INFINITY max |x|; weft_norm and weft_norm_axes use 2.
 * Gradients: sign(x); x / norm, 0 where the norm is 0; sign(x) shared evenly among equal maxima. */
WEFT_API weft_tensor *weft_norm_axes(weft_tensor *x, const int64_t *axes, bool keep);
WEFT_API weft_tensor *weft_norm_with(weft_tensor *x, double order, const int64_t *axes, bool keep);
/* f32: log(sum exp(x)) without overflow; its gradient is softmax(x), 0 where all are -inf. */
WEFT_API weft_tensor *weft_logsumexp_axes(weft_tensor *x, const int64_t *axes, bool keep);
/* Any dtype → bool: is any, are all elements other than 0; → i32: how many are. NaN is other than 0. No
 * gradient. */
WEFT_API weft_tensor *weft_any_axes(weft_tensor *x, const int64_t *axes, bool keep);
WEFT_API weft_tensor *weft_all_axes(weft_tensor *x, const int64_t *axes, bool keep);
WEFT_API weft_tensor *weft_count_nonzero_axes(weft_tensor *x, const int64_t *axes, bool keep);

/* ---- scans along one axis: y has the shape of x; f32, narrower floats or i32 (wraps around) ----
 * Sums and products of floats carry their rounding errors along, and products an exponent, too: results are
 * as accurate as those of twice the precision of f32, then rounded, for any length. NaN propagates to all
 * later elements. Errors: another dtype, no such axis. */
WEFT_API weft_tensor *weft_cumsum(weft_tensor *x, int axis);  /* y[j] = x[0] + ... + x[j] */
WEFT_API weft_tensor *weft_cumprod(weft_tensor *x, int axis); /* y[j] = x[0] · ... · x[j]; zeros are
                                                                 allowed */
/* exclusive: without x[j] (the first element is 0 or 1); reverse: from the last element to the first. */
WEFT_API weft_tensor *weft_cumsum_with(weft_tensor *x, int axis, bool exclusive, bool reverse);
WEFT_API weft_tensor *weft_cumprod_with(weft_tensor *x, int axis, bool exclusive, bool reverse);
/* y[j] = a[j] · y[j-1] + b[j] with y[-1] = 0 (discounted returns, moving averages, state-space models). Where
 * a[j] is 0, earlier elements have no influence, even infinity and NaN. f32; the inputs broadcast. reverse:
 * y[j] = a[j] · y[j+1] + b[j]. */
WEFT_API weft_tensor *weft_linear_scan(weft_tensor *a, weft_tensor *b, int axis, bool reverse);

/* ---- sorting along one axis; f32, narrower floats or i32; stable: equal elements keep their order ----
 * NaN is the greatest (first when descending), -0 and 0 are equal, denormals are not flushed. Values and
 * indices are two functions with the same arguments, which share one sort. Errors: another dtype, no such
 * axis, k outside of [1, size] or along an axis that depends on the batch size. */
WEFT_API weft_tensor *weft_sort(weft_tensor *x, int axis, bool descending);    /* values, of the shape of x */
WEFT_API weft_tensor *weft_argsort(weft_tensor *x, int axis, bool descending); /* i32 indices; no gradient */
/* The k greatest (or smallest) elements, greatest (smallest) first: the first k elements of a sort. The axis
 * becomes k long. A small k costs one pass over x. */
WEFT_API weft_tensor *weft_topk(weft_tensor *x, int64_t k, int axis, bool largest);
WEFT_API weft_tensor *weft_topk_indices(weft_tensor *x, int64_t k, int axis, bool largest); /* i32 */

/* ---- products ---- */
/* (..., m, k) · (..., k, n) → (..., m, n), f32; leading dimensions broadcast. Rank 2 or more. weft_transpose
 * transposes an operand at no cost. */
WEFT_API weft_tensor *weft_matmul(weft_tensor *a, weft_tensor *b);
/* x·weightᵀ + bias: x (..., in), weight (out, in), bias (out) or NULL → (..., out). weft_linear in nn.h
 * creates the parameters, too. */
WEFT_API weft_tensor *weft_linear_with(weft_tensor *x, weft_tensor *weight, weft_tensor *bias);

/* Vectors: a (m), b (n) → (m, n); a (k), b (k) → rank 0; a (..., m, k), x (k) → (..., m). */
WEFT_API weft_tensor *weft_outer(weft_tensor *a, weft_tensor *b); /* a[i]·b[j]; f32, i32 */
WEFT_API weft_tensor *weft_dot(weft_tensor *a, weft_tensor *b);   /* sum of a[i]·b[i]; f32, i32 */
WEFT_API weft_tensor *weft_mv(weft_tensor *a, weft_tensor *x);    /* f32 */
/* y[o] = bias[o] + sum over i, j of x1[i]·weight[o][i][j]·x2[j]: x1 (..., in1), x2 (..., in2), weight (out,
 * in1, in2), bias (out) or NULL → (..., out). weft_bilinear in nn.h creates the parameters, too. */
WEFT_API weft_tensor *weft_bilinear_with(
    weft_tensor *x1, weft_tensor *x2, weft_tensor *weight, weft_tensor *bias);
/* Einstein summation of one operand (b is NULL: weft_einsum("ii->i", a, NULL)) or two ("bij,bjk->bik"), as
 * torch.einsum: with spaces, ellipses, implicit outputs, diagonals, and broadcasting of sizes of 1. f32. */
WEFT_API weft_tensor *weft_einsum(const char *equation, weft_tensor *a, weft_tensor *b);

/* ---- attention ---- */
typedef struct weft_attention_options {
    size_t struct_size;
    weft_tensor *mask; /* default NULL; broadcasts to (..., Lq, Lk): bool (true: attend) or f32 (is added) */
    bool causal;       /* default false; true: query i attends to keys j <= i, also if Lq is not Lk (as
                          PyTorch) */
    float scale;       /* 0 (the default) means 1/sqrt(d); WEFT_ZERO: 0, all keys have the same weight */
    float dropout;     /* default 0; of the attention weights, as weft_dropout: 0 <= dropout < 1 */
} weft_attention_options;
#define WEFT_ATTENTION_OPTIONS_INIT .struct_size = sizeof(weft_attention_options)
/* softmax(q·kᵀ·scale + mask)·v: q (..., Lq, d), k (..., Lk, d), v (..., Lk, dv), f32 → (..., Lq, dv); leading
 * dimensions broadcast. A query without any key gives 0, and gradients of 0. For d and dv up to 256 and
 * lengths that do not depend on the batch size, the scores are never stored as a whole, neither forward nor
 * backward; otherwise they are. */
WEFT_API weft_tensor *weft_attention(
    weft_tensor *q, weft_tensor *k, weft_tensor *v, const weft_attention_options *options);

/* Attention of new queries q (..., L, d) to the keys and values of all positions so far, for decoding token by token; the
 * result is (..., L, d of v). k and v (..., L, d) of the positions position .. position + L - 1 are put into the caches, states (..., capacity, d), and query i attends to
 * what stands at 0 .. position + i. position: i32 of rank 0, an input or a state that the plan counts up; it is data, so
 * one plan decodes a whole text. *update is an output of plans, which keeps the new rows: in place, whatever the capacity.
 * A plan with L > 1 and one with L = 1 may share the caches (first a prompt, then its continuation). NULL after an
 * error: WEFT_ERROR_SHAPE (a cache that is no state of the new rows' dtype and shape, a position that is not i32 of rank
 * 0), WEFT_ERROR_ARGUMENT (update is NULL), and those of weft_attention. Positions beyond the capacity are an error of
 * the next read or wait. */
WEFT_API weft_tensor *weft_attention_cached(weft_tensor *q, weft_tensor *k, weft_tensor *v,
    weft_tensor *key_cache, weft_tensor *value_cache, weft_tensor *position, weft_tensor **update);

/* ---- softmax along one axis, of floats; the losses are in losses.h ---- */
WEFT_API weft_tensor *weft_softmax(weft_tensor *x, int axis);     /* exp(x - max) / sum */
WEFT_API weft_tensor *weft_log_softmax(weft_tensor *x, int axis); /* x - logsumexp(x) */

/* ---- movement: any dtype; views (other strides over the same memory), free, except concat and stack ---- */
/* weft_reshape(x, WEFT_BATCH, 64): all dimensions of the new shape; the same elements in row-major order. A
 * copy if strides cannot express it (after a permute). */
#define weft_reshape(...) WEFT_TAKE_AXES_(weft_reshape_list_, __VA_ARGS__, WEFT_8_ENDS_)
/* weft_permute(x, 0, 2, 1): axis i of the result is axis axes[i] of x. */
#define weft_permute(...) WEFT_TAKE_AXES_(weft_permute_list_, __VA_ARGS__, WEFT_8_ENDS_)
/* The full forms: rank and dims; a permutation of all axes. */
WEFT_API weft_tensor *weft_reshape_shape(weft_tensor *x, int rank, const int64_t *dims);
WEFT_API weft_tensor *weft_permute_axes(weft_tensor *x, int rank, const int *axes);
/* Images are (N, C, spatial...) and are stored channels-last. So reading weft_channels_last(x) of the result
 * of an image op needs no layout conversion, and neither does passing (N, spatial..., C) data through
 * weft_channels_first. Ops on the result of weft_channels_first keep the memory order of x, and so does the
 * gradient. */
WEFT_API weft_tensor *weft_channels_last(weft_tensor *x);  /* (N, C, spatial...) → (N, spatial..., C) */
WEFT_API weft_tensor *weft_channels_first(weft_tensor *x); /* (N, spatial..., C) → (N, C, spatial...) */
WEFT_API weft_tensor *weft_transpose(weft_tensor *x);      /* the last two axes swapped */
WEFT_API weft_tensor *weft_flatten(weft_tensor *x);        /* (n, ...) → (n, all others); (n) → (n, 1) */
/* Broadcasts x to dims (torch.expand, torch.broadcast_to). */
WEFT_API weft_tensor *weft_expand(weft_tensor *x, int rank, const int64_t *dims);
/* The axes start to end (inclusive) become one; at most one of them may depend on the batch. */
WEFT_API weft_tensor *weft_flatten_axes(weft_tensor *x, int start, int end);
/* weft_squeeze(x, 1) removes axes of size 1, another size is an error; weft_squeeze(x) removes all axes of
 * size 1. */
#define weft_squeeze(...) WEFT_TAKE_AXES_(weft_squeeze_list_, __VA_ARGS__, WEFT_8_ENDS_)
WEFT_API weft_tensor *weft_squeeze_axes(
    weft_tensor *x, const int64_t *axes); /* axes: a list up to WEFT_END */
WEFT_API weft_tensor *weft_unsqueeze(
    weft_tensor *x, int axis); /* inserts an axis of size 1 before `axis`; -1: at the end */
WEFT_API weft_tensor *weft_swap_axes(
    weft_tensor *x, int axis1, int axis2);                              /* torch.transpose, torch.swapaxes */
WEFT_API weft_tensor *weft_move_axis(weft_tensor *x, int from, int to); /* torch.movedim */
/* The elements start to end - 1 of one axis. Negative start and end count from the end, and WEFT_END is the
 * end itself. An empty slice, or one outside of the axis, is an error. Along the batch, an axis with WEFT_LENGTH, or with an
 * end of it, a plan checks that (WEFT_ERROR_SHAPE of weft_plan_create): weft_slice(x, 0, 1, WEFT_END) of a batch of 1,
 * weft_slice(table, 0, 0, WEFT_LENGTH). */
WEFT_API weft_tensor *weft_slice(weft_tensor *x, int axis, int64_t start, int64_t end);
/* Every step-th of them, step >= 1: x[start:end:step]. On an axis of k times the batch, 0 <= start < step,
 * end is WEFT_END and step divides k; other steps along a batch axis are an error, as is a step along WEFT_LENGTH. */
WEFT_API weft_tensor *weft_slice_step(weft_tensor *x, int axis, int64_t start, int64_t end, int64_t step);
/* outputs[0] to outputs[count - 1] become an axis cut into equal slices, or into slices of the given sizes
 * (WEFT_BATCH * k on a batch axis), whose sum must be the size of the axis. On an error every outputs[i] is
 * NULL, and the graph keeps the error, as it does for an op, so that the status need not be looked at. */
WEFT_API weft_status weft_split(weft_tensor *x, int axis, size_t count, weft_tensor **outputs);
WEFT_API weft_status weft_split_sizes(
    weft_tensor *x, int axis, const int64_t *sizes, size_t count, weft_tensor **outputs);
/* weft_flip(x, 0, -1): reverses these axes, which may be the batch; weft_flip(x): all axes. */
#define weft_flip(...) WEFT_TAKE_AXES_(weft_flip_list_, __VA_ARGS__, WEFT_8_ENDS_)
WEFT_API weft_tensor *weft_flip_axes(weft_tensor *x, const int64_t *axes); /* axes: a list up to WEFT_END */
/* x[..., i, ..., i + offset, ...] of two axes as the last axis, the others in their order; offset < 0 is
 * below the main diagonal. A batch axis takes only offset 0, with an axis of the same size. */
WEFT_API weft_tensor *weft_diagonal(weft_tensor *x, int64_t offset, int axis1, int axis2);
/* Concatenates `count` tensors along an axis; their other dimensions are equal. Along it the batch and numbers may meet. count 0 gives NULL without an
 * error, as there is no graph that could keep it. */
WEFT_API weft_tensor *weft_concat(weft_tensor *const *xs, size_t count, int axis);
/* The same along a new axis; all tensors have the same shape. */
WEFT_API weft_tensor *weft_stack(weft_tensor *const *xs, size_t count, int axis);

/* ---- padding: applied where the result is read, or in one launch for any number of axes; any dtype ---- */
typedef enum weft_pad_mode {
    WEFT_PAD_CONSTANT, /* the number `value` */
    WEFT_PAD_REFLECT,  /* mirrored at the first and last element, at most n - 1 elements: 3 2 | 1 2 3 | 2 1 */
    WEFT_PAD_EDGE,     /* repeats the first and last element; PyTorch's "replicate" */
    WEFT_PAD_WRAP      /* continues with the other end, at most n elements; PyTorch's "circular" */
} weft_pad_mode;
/* Axis i becomes before[i] + n + after[i] long (one entry per axis, 0 or more; of a batch axis plans check the mode's limit).
 * value is used by WEFT_PAD_CONSTANT; it must be 0 for dtypes that are only for storage. */
WEFT_API weft_tensor *weft_pad(
    weft_tensor *x, const int64_t *before, const int64_t *after, weft_pad_mode mode, double value);
/* Element i moves to (i + shift) mod n, as torch.roll; any shift up to 2^31 - 1, any axis, also the batch; up to 2^24 along
 * an axis that has the length. */
WEFT_API weft_tensor *weft_roll(weft_tensor *x, int axis, int64_t shift);
/* Repeats x repeats[i] times along axis i, as torch.tile and torch.repeat. Shapes are aligned at the
 * right. */
WEFT_API weft_tensor *weft_tile(weft_tensor *x, int rank, const int64_t *repeats);

/* ---- masks: applied where the result is read; any axis may be the batch ---- */
/* Over the last two axes, a float or i32: x where column - row <= diagonal (triu: >= diagonal), else 0. */
WEFT_API weft_tensor *weft_tril(weft_tensor *x, int64_t diagonal);
WEFT_API weft_tensor *weft_triu(weft_tensor *x, int64_t diagonal);
/* value where mask is true, else x (a float or i32); mask is bool and broadcasts to x. The gradient is 0
 * where mask is true. */
WEFT_API weft_tensor *weft_masked_fill(weft_tensor *x, weft_tensor *mask, double value);
/* i32 labels (...) → (..., classes) of the given dtype: 1 at the label, else 0. A label out of range gives a
 * row of zeros. No gradient. */
WEFT_API weft_tensor *weft_one_hot(weft_tensor *labels, int64_t classes, weft_dtype dtype);
/* (n): start, start + step, ... before end; a float or i32. step may be negative; an empty result is an
 * error. */
WEFT_API weft_tensor *weft_arange(weft_graph *graph, weft_dtype dtype, double start, double end, double step);
/* Every element is value; f32, i32, bool. */
WEFT_API weft_tensor *weft_full(
    weft_graph *graph, weft_dtype dtype, double value, int rank, const int64_t *dims);
/* (rows, columns) of any dtype: 1 where row = column, else 0. */
WEFT_API weft_tensor *weft_eye(weft_graph *graph, weft_dtype dtype, int64_t rows, int64_t columns);

/* ---- random: Philox4x32-10 (Salmon et al. 2011), the same numbers on every device ----
 * The numbers depend on the seed of the context, the order of creation and the number of the run, but not on
 * the device or on how a batch is split. */
/* f32 of the shape dims, in which WEFT_BATCH is allowed, with new numbers in each run: U(low, high); N(mean,
 * deviation). NULL after an error: WEFT_ERROR_ARGUMENT (low above high, a deviation below 0, a number that is not finite),
 * WEFT_ERROR_SHAPE. Whole numbers from low to high - 1: weft_cast(weft_floor(weft_uniform(...)), WEFT_I32). */
WEFT_API weft_tensor *weft_uniform(weft_graph *graph, float low, float high, int rank, const int64_t *dims);
WEFT_API weft_tensor *weft_normal(
    weft_graph *graph, float mean, float deviation, int rank, const int64_t *dims);
/* i32 (...): a class drawn from softmax(logits / temperature) of logits (..., classes), with new numbers in each run. top_k:
 * only of the k most probable (0: of all); top_p: of these only the most probable, as many as it takes for their
 * probabilities to add up to top_p (1: of all; Holtzman et al. 2020). Temperature 0 takes the most probable. A class of
 * probability 0 is never drawn; a row without probabilities (NaN, +inf, or all -inf) gives -1. No gradient. NULL after an
 * error: WEFT_ERROR_DTYPE (logits are not floats), WEFT_ERROR_SHAPE (no classes), WEFT_ERROR_ARGUMENT (logits that are the
 * result of weft_softmax or weft_sigmoid, a temperature below 0, top_k outside of 0 .. classes, top_p outside of 0 < top_p <= 1). */
WEFT_API weft_tensor *weft_categorical(weft_tensor *logits, double temperature, int64_t top_k, double top_p);
typedef struct weft_categorical_options {
    size_t struct_size;
    float temperature; /* 0 (the default) means 1; WEFT_ZERO: 0, the most probable class */
    int64_t top_k;     /* default 0: of all */
    float top_p;       /* above 0, at most 1; default 1: all */
    float min_p;       /* of the greatest probability, what a class has at least; 0 <= min_p < 1 */
} weft_categorical_options;
#define WEFT_CATEGORICAL_OPTIONS_INIT .struct_size = sizeof(weft_categorical_options)
/* NULL: defaults. */
WEFT_API weft_tensor *weft_categorical_with(weft_tensor *logits, const weft_categorical_options *options);
/* f32. Training: 0 with probability p, else x / (1 - p); the gradient likewise. Inference: x. 0 <= p < 1. */
WEFT_API weft_tensor *weft_dropout(weft_tensor *x, float p);

/* ---- used by the macros ---- */
#define WEFT_TAKE_AXES_(function, ...)      WEFT_TAKE_AXES_LIST_(false, function, __VA_ARGS__)
#define WEFT_TAKE_AXES_KEEP_(function, ...) WEFT_TAKE_AXES_LIST_(true, function, __VA_ARGS__)
#ifdef __cplusplus
} /* in C++ a braced list becomes an array through this struct, and `true` is no axis */
struct weft_axis_list_ {
    int64_t axes[9];
};
template <class number> constexpr int64_t weft_axis_(number axis) {
    return static_cast<int64_t>(axis);
}
int64_t weft_axis_(bool axis) = delete;
#define WEFT_TAKE_AXES_LIST_(keep, function, x, a, b, c, d, e, f, g, h, ...)                                 \
    function(x,                                                                                              \
        weft_axis_list_{{weft_axis_(a), weft_axis_(b), weft_axis_(c), weft_axis_(d), weft_axis_(e),          \
                            weft_axis_(f), weft_axis_(g), weft_axis_(h), WEFT_END}}                          \
            .axes,                                                                                           \
        keep)
extern "C" {
#else
#define WEFT_TAKE_AXES_LIST_(keep, function, x, a, b, c, d, e, f, g, h, ...)                                 \
    function(x, (const int64_t[]){a, b, c, d, e, f, g, h, WEFT_END}, keep)
#endif
/* weft_sum(x) passes an empty list, which means all axes, like NULL. */
WEFT_API weft_tensor *weft_reshape_list_(weft_tensor *x, const int64_t *dims, bool unused);
WEFT_API weft_tensor *weft_permute_list_(weft_tensor *x, const int64_t *axes, bool unused);
WEFT_API weft_tensor *weft_squeeze_list_(weft_tensor *x, const int64_t *axes, bool unused);
WEFT_API weft_tensor *weft_flip_list_(weft_tensor *x, const int64_t *axes, bool unused);

#ifdef __cplusplus
}
#endif
#endif
