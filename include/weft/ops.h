/* weft/ops.h: the ops, as a reference card.
 *
 * Elementwise ops broadcast as NumPy and PyTorch do: shapes are aligned at the right, a dimension of 1
 * stretches. Axes may be negative (-1 is the last). No op converts dtypes silently: weft_cast does. Binary
 * ops have number forms (weft_add_number), weft_number makes a tensor of a number. Differentiable unless said
 * otherwise; results are f32 for f32 inputs, i32 for i32 where an op takes i32.
 *
 * Errors are the graph's (graph.h): WEFT_ERROR_DTYPE, WEFT_ERROR_SHAPE (shapes that do not fit, an axis that
 * is not there), WEFT_ERROR_ARGUMENT (a number out of the range that its line states). PyTorch's names and
 * what differs: docs/ops.md. */
#ifndef WEFT_OPS_H
#define WEFT_OPS_H

#include <weft/graph.h>

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
/* The larger, the smaller of two: NaN if either is; a tie halves the gradient. */
WEFT_API weft_tensor *weft_maximum(weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_minimum(weft_tensor *a, weft_tensor *b);
/* a - b·floor(a / b): the sign of b, as Python and torch.remainder; f32 by 0 is NaN, i32 by 0 is a. */
WEFT_API weft_tensor *weft_remainder(weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_abs(weft_tensor *a);   /* |a|; gradient 0 at 0; of the least i32 it is itself */
WEFT_API weft_tensor *weft_sign(weft_tensor *a);  /* -1, 0 or 1; 0 for NaN, as torch.sign; gradient 0 */
WEFT_API weft_tensor *weft_floor(weft_tensor *a); /* down; gradient 0; i32 stays, as in the three below */
WEFT_API weft_tensor *weft_ceil(weft_tensor *a);  /* up */
WEFT_API weft_tensor *weft_round(weft_tensor *a); /* to the nearest, halves to even */
WEFT_API weft_tensor *weft_trunc(weft_tensor *a); /* toward zero */
/* min(max(x, low), high); an infinite bound is none; low above high: all high. Gradient 1 at the bounds. */
WEFT_API weft_tensor *weft_clamp(weft_tensor *x, double low, double high);
/* condition ? a : b, all three broadcast; condition: bool; no gradient reaches the one that is not chosen. */
WEFT_API weft_tensor *weft_where(weft_tensor *condition, weft_tensor *a, weft_tensor *b);

/* ---- elementwise: f32; within 4 units in the last place or 1e-6 of the value ---- */
WEFT_API weft_tensor *weft_pow(weft_tensor *a, weft_tensor *b); /* a^b; edges as C's pow */
WEFT_API weft_tensor *weft_sqrt(weft_tensor *a);                /* NaN below 0 */
WEFT_API weft_tensor *weft_rsqrt(weft_tensor *a);               /* 1 / sqrt(a) */
WEFT_API weft_tensor *weft_reciprocal(weft_tensor *a);          /* 1 / a */
WEFT_API weft_tensor *weft_exp(weft_tensor *a);                 /* e^a */
WEFT_API weft_tensor *weft_exp2(weft_tensor *a);                /* 2^a */
WEFT_API weft_tensor *weft_expm1(weft_tensor *a);               /* exp(a) - 1, exact for small a */
WEFT_API weft_tensor *weft_log(weft_tensor *a);   /* natural; -inf at 0, NaN below, as in log2 */
WEFT_API weft_tensor *weft_log2(weft_tensor *a);  /* base 2 */
WEFT_API weft_tensor *weft_log1p(weft_tensor *a); /* log(1 + a), exact for small a */
WEFT_API weft_tensor *weft_sin(weft_tensor *a);   /* of radians, any size of argument, as in cos and tan */
WEFT_API weft_tensor *weft_cos(weft_tensor *a);   /* cosine */
WEFT_API weft_tensor *weft_tan(weft_tensor *a);   /* tangent */
WEFT_API weft_tensor *weft_asin(weft_tensor *a);  /* in -π/2 .. π/2; NaN beyond -1 .. 1, as in acos */
WEFT_API weft_tensor *weft_acos(weft_tensor *a);  /* in 0 .. π */
WEFT_API weft_tensor *weft_atan(weft_tensor *a);  /* in -π/2 .. π/2 */
WEFT_API weft_tensor *weft_atan2(weft_tensor *y, weft_tensor *x); /* the angle of the point (x, y); as C's */
WEFT_API weft_tensor *weft_erf(weft_tensor *a); /* 2/sqrt(π) · integral of exp(-t²), 0 .. a */

/* ---- activations: f32; NaN stays NaN; at -inf as the formula: gelu, silu, mish, hardswish are NaN ---- */
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
WEFT_API weft_tensor *weft_hardswish(weft_tensor *a); /* a·relu6(a + 3) / 6; gradient -1/2 at -3, 3/2 at 3 */
WEFT_API weft_tensor *weft_elu(weft_tensor *x, double alpha);        /* x > 0 ? x : alpha·(exp(x) - 1) */
WEFT_API weft_tensor *weft_leaky_relu(weft_tensor *x, double slope); /* x > 0 ? x : slope·x */
/* x > 0 ? x : weight·x, weight (1), or (C) along axis 1 of x (N, C, ...). */
WEFT_API weft_tensor *weft_prelu(weft_tensor *x, weft_tensor *weight);
/* min(max(x, low), high), low < high; gradient 0 at the bounds, where weft_clamp has 1, as PyTorch's. */
WEFT_API weft_tensor *weft_hardtanh(weft_tensor *x, double low, double high);

/* ---- comparisons: floats or i32, to bool; no gradient. NaN: false, weft_not_equal true ---- */
WEFT_API weft_tensor *weft_equal(weft_tensor *a, weft_tensor *b);         /* a == b */
WEFT_API weft_tensor *weft_not_equal(weft_tensor *a, weft_tensor *b);     /* a != b */
WEFT_API weft_tensor *weft_less(weft_tensor *a, weft_tensor *b);          /* a < b */
WEFT_API weft_tensor *weft_less_equal(weft_tensor *a, weft_tensor *b);    /* a <= b */
WEFT_API weft_tensor *weft_greater(weft_tensor *a, weft_tensor *b);       /* a > b */
WEFT_API weft_tensor *weft_greater_equal(weft_tensor *a, weft_tensor *b); /* a >= b */
WEFT_API weft_tensor *weft_isnan(weft_tensor *a);                         /* is it NaN? no i32 is */
WEFT_API weft_tensor *weft_isinf(weft_tensor *a);    /* infinite, of either sign? no i32 is */
WEFT_API weft_tensor *weft_isfinite(weft_tensor *a); /* neither of the two? every i32 is */

/* ---- logic: bool to bool (weft_cast makes bool of numbers); no gradient ---- */
WEFT_API weft_tensor *weft_logical_and(weft_tensor *a, weft_tensor *b); /* both */
WEFT_API weft_tensor *weft_logical_or(weft_tensor *a, weft_tensor *b);  /* one or both */
WEFT_API weft_tensor *weft_logical_xor(weft_tensor *a, weft_tensor *b); /* one, not both */
WEFT_API weft_tensor *weft_logical_not(weft_tensor *a);                 /* the other */

/* ---- number forms, and other dtypes ---- */
/* A number on the right: weft_mul_number(a, 0.5) is weft_mul(a, weft_number(a, 0.5)). On the left:
 * weft_sub(weft_number(x, 1), x). An i32 takes whole numbers (else WEFT_ERROR_ARGUMENT). */
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
/* The same; exponents -1, 1, 2 and 3 without weft_pow. */
WEFT_API weft_tensor *weft_pow_number(weft_tensor *a, double number);
/* Any dtype to any: to an integer truncates toward zero (out of range: undefined), to f16 and bf16 rounds to
 * nearest even, to bool is a != 0. The gradient flows between floats. */
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
/* The full forms. axes: list ended by WEFT_END, or NULL for all; keep: reduced axes stay with size 1. */
WEFT_API weft_tensor *weft_sum_axes(weft_tensor *x, const int64_t *axes, bool keep);  /* f32, i32 */
WEFT_API weft_tensor *weft_mean_axes(weft_tensor *x, const int64_t *axes, bool keep); /* f32 */
/* The least, the greatest; f32, i32; NaN wins; ties share the gradient evenly, as torch.amax does. */
WEFT_API weft_tensor *weft_min_axes(weft_tensor *x, const int64_t *axes, bool keep);
WEFT_API weft_tensor *weft_max_axes(weft_tensor *x, const int64_t *axes, bool keep);
/* i32: the index of the first maximum in the row-major order of the reduced axes; no gradient. */
WEFT_API weft_tensor *weft_argmax_axes(weft_tensor *x, const int64_t *axes, bool keep);
WEFT_API weft_tensor *weft_argmin_axes(weft_tensor *x, const int64_t *axes, bool keep); /* minimum */
/* f32, i32 (which wraps around); the gradient is exact with zeros among the factors. */
WEFT_API weft_tensor *weft_prod_axes(weft_tensor *x, const int64_t *axes, bool keep);
/* f32: sum (x - mean)² / max(n - correction, 0), correction >= 0. weft_var and weft_var_axes have 1; so has
 * std, the square root, whose gradient is 0 where it is 0. */
WEFT_API weft_tensor *weft_var_axes(weft_tensor *x, const int64_t *axes, bool keep);
WEFT_API weft_tensor *weft_std_axes(weft_tensor *x, const int64_t *axes, bool keep);
WEFT_API weft_tensor *weft_var_with(weft_tensor *x, int correction, const int64_t *axes, bool keep);
WEFT_API weft_tensor *weft_std_with(weft_tensor *x, int correction, const int64_t *axes, bool keep);
/* f32: order 1 sum |x|, 2 sqrt(sum x²), INFINITY max |x|; weft_norm and weft_norm_axes have 2. Gradients:
 * sign(x); x / norm, 0 where the norm is 0; sign(x) shared evenly among ties. */
WEFT_API weft_tensor *weft_norm_axes(weft_tensor *x, const int64_t *axes, bool keep);
WEFT_API weft_tensor *weft_norm_with(weft_tensor *x, double order, const int64_t *axes, bool keep);
/* f32: log(sum exp(x)) without overflow; gradient softmax(x), 0 where all are -inf. */
WEFT_API weft_tensor *weft_logsumexp_axes(weft_tensor *x, const int64_t *axes, bool keep);
/* Any dtype to bool, or i32: is some, is every element other than 0; how many are. NaN is. No gradient. */
WEFT_API weft_tensor *weft_any_axes(weft_tensor *x, const int64_t *axes, bool keep);
WEFT_API weft_tensor *weft_all_axes(weft_tensor *x, const int64_t *axes, bool keep);
WEFT_API weft_tensor *weft_count_nonzero_axes(weft_tensor *x, const int64_t *axes, bool keep);

/* ---- scans along one axis, y of x's shape; f32, f16, bf16 or i32 (which wraps around) ----
 * f32 sums and products carry their rounding errors along, products an exponent, too: results are those of
 * twice the precision, rounded, however long the line. NaN goes on to all later elements. Errors: another
 * dtype, no such axis. */
WEFT_API weft_tensor *weft_cumsum(weft_tensor *x, int axis); /* y[j] = x[0] + ... + x[j] */
WEFT_API weft_tensor *weft_cumprod(weft_tensor *x, int axis); /* y[j] = x[0] · ... · x[j]; x may have zeros */
/* exclusive: without x[j] itself (the first is 0 or 1); reverse: from the last element to the first. */
WEFT_API weft_tensor *weft_cumsum_with(weft_tensor *x, int axis, bool exclusive, bool reverse);
WEFT_API weft_tensor *weft_cumprod_with(weft_tensor *x, int axis, bool exclusive, bool reverse);
/* y[j] = a[j] · y[j-1] + b[j], y[-1] = 0 (discounted returns, moving averages, state spaces); a[j] = 0
 * forgets what was before, even infinity and NaN. f32; shapes broadcast. reverse: y[j] = a[j] · y[j+1] +
 * b[j]. */
WEFT_API weft_tensor *weft_linear_scan(weft_tensor *a, weft_tensor *b, int axis, bool reverse);

/* ---- sorting along one axis; f32, f16, bf16 or i32; stable: equal elements keep their order ----
 * NaN is the greatest (first when descending), -0 and 0 are equal, denormals are not flushed. Values and
 * indices are two functions of the same arguments, whose sorting is done once. Errors: another dtype, no such
 * axis, k outside 1 .. size or on an axis that depends on the batch size. */
WEFT_API weft_tensor *weft_sort(weft_tensor *x, int axis, bool descending);    /* values, in x's shape */
WEFT_API weft_tensor *weft_argsort(weft_tensor *x, int axis, bool descending); /* i32 indices; no gradient */
/* The k greatest (or least) elements in order, greatest (least) first: the axis has size k; the first k of a
 * sort. Small k cost one pass over x. */
WEFT_API weft_tensor *weft_topk(weft_tensor *x, int64_t k, int axis, bool largest);
WEFT_API weft_tensor *weft_topk_indices(weft_tensor *x, int64_t k, int axis, bool largest); /* i32 */

/* ---- products ---- */
/* (..., m, k) · (..., k, n) → (..., m, n), f32; leading dimensions broadcast. Rank 2 or more; transpose with
 * weft_transpose, which costs nothing. */
WEFT_API weft_tensor *weft_matmul(weft_tensor *a, weft_tensor *b);
/* x·weightᵀ + bias: x (..., in), weight (out, in), bias (out) or NULL → (..., out). weft_linear in nn.h makes
 * the parameters too. */
WEFT_API weft_tensor *weft_linear_with(weft_tensor *x, weft_tensor *weight, weft_tensor *bias);

/* Vectors: a (m), b (n) → (m, n); a (k), b (k) → rank 0; a (..., m, k), x (k) → (..., m). */
WEFT_API weft_tensor *weft_outer(weft_tensor *a, weft_tensor *b); /* a[i]·b[j]; f32, i32 */
WEFT_API weft_tensor *weft_dot(weft_tensor *a, weft_tensor *b);   /* sum of a[i]·b[i]; f32, i32 */
WEFT_API weft_tensor *weft_mv(weft_tensor *a, weft_tensor *x);    /* f32 */
/* y[o] = sum over i, j of x1[i]·weight[o][i][j]·x2[j], + bias[o]: x1 (..., in1), x2 (..., in2), weight
 * (out, in1, in2), bias (out) or NULL → (..., out). weft_bilinear in nn.h makes the parameters too. */
WEFT_API weft_tensor *weft_bilinear_with(
    weft_tensor *x1, weft_tensor *x2, weft_tensor *weight, weft_tensor *bias);
/* Einstein's sums of one operand (b is NULL: weft_einsum("ii->i", a, NULL)) or two ("bij,bjk->bik"), as
 * torch.einsum has them: spaces, ellipses, implicit outputs, diagonals, sizes of 1 broadcast. f32. */
WEFT_API weft_tensor *weft_einsum(const char *equation, weft_tensor *a, weft_tensor *b);

/* ---- attention ---- */
typedef struct weft_attention_options {
    size_t struct_size;
    weft_tensor *mask; /* default NULL; broadcasts to (..., Lq, Lk): bool (true takes part) or f32 (added) */
    bool causal;       /* default false; query i sees keys j <= i, also where Lq and Lk differ (as PyTorch) */
    float scale;       /* default 0: 1/sqrt(d) */
    float dropout;     /* default 0; of the weights, as weft_dropout: 0 <= dropout < 1 */
} weft_attention_options;
#define WEFT_ATTENTION_OPTIONS_INIT .struct_size = sizeof(weft_attention_options)
/* softmax(q·kᵀ·scale + mask)·v: q (..., Lq, d), k (..., Lk, d), v (..., Lk, dv), f32 → (..., Lq, dv); leading
 * dimensions broadcast. A query that sees no key gives 0, and gradients of 0. The scores are never whole in
 * memory, forward and backward, for d and dv up to 256 and lengths that are not the batch; else they are. */
WEFT_API weft_tensor *weft_attention(
    weft_tensor *q, weft_tensor *k, weft_tensor *v, const weft_attention_options *options);

/* ---- softmax along one axis, of floats; losses stand in losses.h ---- */
WEFT_API weft_tensor *weft_softmax(weft_tensor *x, int axis);     /* exp(x - max) / sum */
WEFT_API weft_tensor *weft_log_softmax(weft_tensor *x, int axis); /* x - logsumexp(x) */

/* ---- movement: any dtype; other strides over the same memory, free, but for concat and stack ---- */
/* weft_reshape(x, WEFT_BATCH, 64): same number of elements, row-major. Where strides cannot express it (x
 * was permuted), it is a copy. */
#define weft_reshape(...) WEFT_TAKE_AXES_(weft_reshape_list_, __VA_ARGS__, WEFT_8_ENDS_)
/* weft_permute(x, 0, 2, 1): axis i of the result is axis axes[i] of x. */
#define weft_permute(...) WEFT_TAKE_AXES_(weft_permute_list_, __VA_ARGS__, WEFT_8_ENDS_)
/* The full forms: rank dims; an order of all axes. */
WEFT_API weft_tensor *weft_reshape_shape(weft_tensor *x, int rank, const int64_t *dims);
WEFT_API weft_tensor *weft_permute_axes(weft_tensor *x, int rank, const int *axes);
/* Images are (N, C, spatial...) and lie channels-last in memory, so reading weft_channels_last(x) of what ops
 * of images made needs no conversion, as (N, spatial..., C) data needs none through weft_channels_first. What
 * is computed from the latter's result keeps the order of x in memory, and its gradient is that of x. */
WEFT_API weft_tensor *weft_channels_last(weft_tensor *x);  /* (N, C, spatial...) → (N, spatial..., C) */
WEFT_API weft_tensor *weft_channels_first(weft_tensor *x); /* (N, spatial..., C) → (N, C, spatial...) */
WEFT_API weft_tensor *weft_transpose(weft_tensor *x);      /* the last two axes swapped */
WEFT_API weft_tensor *weft_flatten(weft_tensor *x);        /* (n, ...) → (n, the rest); (n) → (n, 1) */
/* Stretches dimensions of 1 to dims, as broadcasting does (torch.expand, torch.broadcast_to). */
WEFT_API weft_tensor *weft_expand(weft_tensor *x, int rank, const int64_t *dims);
/* Axes start to end (inclusive) become one; at most one of them may depend on the batch. */
WEFT_API weft_tensor *weft_flatten_axes(weft_tensor *x, int start, int end);
/* weft_squeeze(x, 1) drops axes of size 1, any other size is an error; weft_squeeze(x) drops all of them. */
#define weft_squeeze(...) WEFT_TAKE_AXES_(weft_squeeze_list_, __VA_ARGS__, WEFT_8_ENDS_)
WEFT_API weft_tensor *weft_squeeze_axes(
    weft_tensor *x, const int64_t *axes); /* axes: list ended by WEFT_END */
WEFT_API weft_tensor *weft_unsqueeze(
    weft_tensor *x, int axis); /* an axis of size 1 before `axis`; -1: last */
WEFT_API weft_tensor *weft_swap_axes(
    weft_tensor *x, int axis1, int axis2);                              /* torch.transpose, torch.swapaxes */
WEFT_API weft_tensor *weft_move_axis(weft_tensor *x, int from, int to); /* torch.movedim */
/* Elements start .. end - 1 of one axis; negative start or end count from the end, WEFT_END is the end
 * itself. Empty or outside: an error. */
WEFT_API weft_tensor *weft_slice(weft_tensor *x, int axis, int64_t start, int64_t end);
/* Every step-th of them, step >= 1: x[start:end:step]. An axis of k times the batch: 0 <= start < step, end =
 * WEFT_END and step divides k; other parts of a batch axis are an error. */
WEFT_API weft_tensor *weft_slice_step(weft_tensor *x, int axis, int64_t start, int64_t end, int64_t step);
/* parts[0 .. count - 1] are an axis cut into equal parts, or into parts of the given sizes (WEFT_BATCH * k on
 * a batch axis), which must make up the axis. Errors leave every parts[i] NULL. */
WEFT_API weft_status weft_split(weft_tensor *x, int axis, size_t count, weft_tensor **parts);
WEFT_API weft_status weft_split_sizes(
    weft_tensor *x, int axis, const int64_t *sizes, size_t count, weft_tensor **parts);
/* weft_flip(x, 0, -1): axes read from their ends, the batch too; weft_flip(x): all axes. */
#define weft_flip(...) WEFT_TAKE_AXES_(weft_flip_list_, __VA_ARGS__, WEFT_8_ENDS_)
WEFT_API weft_tensor *weft_flip_axes(weft_tensor *x, const int64_t *axes); /* axes: list ended by WEFT_END */
/* x[..., i, ..., i + offset, ...] of two axes as the last axis, the others in their order; offset < 0 lies
 * below the main diagonal. A batch axis has only offset 0, with an axis of the same size. */
WEFT_API weft_tensor *weft_diagonal(weft_tensor *x, int64_t offset, int axis1, int axis2);
/* Puts count tensors one after another along an axis; other dimensions are equal. No tensors at all: NULL,
 * without an error, as there is no graph to keep it. */
WEFT_API weft_tensor *weft_concat(weft_tensor *const *xs, size_t count, int axis);
/* The same along a new axis: count tensors of one shape. */
WEFT_API weft_tensor *weft_stack(weft_tensor *const *xs, size_t count, int axis);

/* ---- padding: computed where it is read, or in one launch however many axes; any dtype ---- */
typedef enum weft_pad_mode {
    WEFT_PAD_CONSTANT, /* value */
    WEFT_PAD_REFLECT,  /* mirrored at the first and last element, at most n - 1 of n: 3 2 | 1 2 3 | 2 1 */
    WEFT_PAD_EDGE,     /* the first and last element; torch's "replicate" */
    WEFT_PAD_WRAP      /* the other end, at most n of n; torch's "circular" */
} weft_pad_mode;
/* Axis i becomes before[i] + n + after[i] long (one entry an axis, not negative; a batch axis only 0). value
 * is for WEFT_PAD_CONSTANT, and 0 for dtypes that are only stored. */
WEFT_API weft_tensor *weft_pad(
    weft_tensor *x, const int64_t *before, const int64_t *after, weft_pad_mode mode, double value);
/* Element i goes to (i + shift) mod n: torch.roll; any shift up to 2^31 - 1, any axis, the batch too. */
WEFT_API weft_tensor *weft_roll(weft_tensor *x, int axis, int64_t shift);
/* The whole of x repeats[i] times along axis i: torch.tile, torch.repeat. Shapes are aligned at the right. */
WEFT_API weft_tensor *weft_tile(weft_tensor *x, int rank, const int64_t *repeats);

/* ---- masks: maps over coordinates, computed where they are read; any axis may be the batch ---- */
/* Of the last two axes, floats or i32: x where column - row <= diagonal, else 0; x where it is >= diagonal. */
WEFT_API weft_tensor *weft_tril(weft_tensor *x, int64_t diagonal);
WEFT_API weft_tensor *weft_triu(weft_tensor *x, int64_t diagonal);
/* value where mask (bool, stretched to x) is true, else x (a float or i32); the gradient there is 0. */
WEFT_API weft_tensor *weft_masked_fill(weft_tensor *x, weft_tensor *mask, double value);
/* i32 labels (...) → (..., classes) of that dtype: 1 at the label. A label out of range gives a row of zeros.
 * No gradient. */
WEFT_API weft_tensor *weft_one_hot(weft_tensor *labels, int64_t classes, weft_dtype dtype);
/* (n): start, start + step, ... before end; a float or i32. step may be negative; no elements: an error. */
WEFT_API weft_tensor *weft_arange(weft_graph *graph, weft_dtype dtype, double start, double end, double step);
/* value everywhere; f32, i32, bool. */
WEFT_API weft_tensor *weft_full(
    weft_graph *graph, weft_dtype dtype, double value, int rank, const int64_t *dims);
/* (rows, columns) of any dtype: 1 where row = column, else 0. */
WEFT_API weft_tensor *weft_eye(weft_graph *graph, weft_dtype dtype, int64_t rows, int64_t columns);

/* ---- index: indices are i32 in [0, size of the axis) ----
 * An index out of range reads as 0 and adds nothing; the next weft_plan_read or weft_plan_wait of the plan
 * fails with WEFT_ERROR_ARGUMENT and the position of the first one. No gradient flows to indices. */
/* y[i][j][k] = x[i][index[i][j][k]][k] for axis 1. index has x's rank, and x's size or less in the other
 * axes; y has index's shape and x's dtype, whichever it is. */
WEFT_API weft_tensor *weft_gather(weft_tensor *x, int axis, weft_tensor *index);
/* y[i][j][k] = x[i][index[j]][k] for axis 1: the axis is replaced by index's axes (rank 1 for the same rank;
 * any other is taken too: an embedding is axis 0 of its weights). Any dtype. */
WEFT_API weft_tensor *weft_index_select(weft_tensor *x, int axis, weft_tensor *index);
/* x, and y[i][index[i][j][k]][k] += source[i][j][k] for axis 1; index has source's shape. Summed in the order
 * of j, so the same on every run. Floats or i32. */
WEFT_API weft_tensor *weft_scatter_add(weft_tensor *x, int axis, weft_tensor *index, weft_tensor *source);
/* x, and y[i][index[j]][k] += source[i][j][k] for axis 1; index has rank 1. Floats or i32. */
WEFT_API weft_tensor *weft_index_add(weft_tensor *x, int axis, weft_tensor *index, weft_tensor *source);
/* The two into zeros: the axis of the result has `size` elements (WEFT_BATCH times k is a size, too). */
WEFT_API weft_tensor *weft_scatter_sum(weft_tensor *source, int axis, weft_tensor *index, int64_t size);
WEFT_API weft_tensor *weft_index_sum(weft_tensor *source, int axis, weft_tensor *index, int64_t size);
/* Rows of a table (vocabulary, width), f32, picked by tokens i32 (...): (..., width). A token outside the
 * vocabulary gives a row of zeros and no gradient, and fails the next read or wait. The layer with a table of
 * its own is weft_embedding in nn.h. */
WEFT_API weft_tensor *weft_embedding_with(weft_tensor *table, weft_tensor *tokens);
/* The same, but the row `padding` (negative: from the end) gets no gradient. */
WEFT_API weft_tensor *weft_embedding_padded_with(weft_tensor *table, weft_tensor *tokens, int64_t padding);

/* ---- random: Philox4x32-10 (Salmon et al. 2011), the same numbers on every device ----
 * They depend on the context's seed, the order of creation and the number of the run, not on device or batch
 * split. */
/* f32 of shape dims (WEFT_BATCH may be among them), new in each run: U(low, high); N(mean, deviation). */
WEFT_API weft_tensor *weft_uniform(weft_graph *graph, float low, float high, int rank, const int64_t *dims);
WEFT_API weft_tensor *weft_normal(
    weft_graph *graph, float mean, float deviation, int rank, const int64_t *dims);
/* f32. Training: zero with probability p, else x / (1 - p), the gradient alike. Inference: x. 0 <= p < 1. */
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
WEFT_API weft_tensor *weft_squeeze_list_(weft_tensor *x, const int64_t *axes, bool unused);
WEFT_API weft_tensor *weft_flip_list_(weft_tensor *x, const int64_t *axes, bool unused);

#ifdef __cplusplus
}
#endif
#endif
