/* weft/ops.h: the ops, as a reference card.
 *
 * Elementwise ops broadcast as in NumPy and PyTorch: shapes are aligned at the right, and a dimension of 1 is repeated.
 * Axes may be negative (-1 is the last). "Floats" are f32, f16, bf16 and f64 (docs/number-formats.md). Two floats of
 * different dtypes are promoted to the dtype that holds both; integers are not promoted: use weft_cast. Results have
 * the dtype of the inputs, and ops are differentiable, unless stated otherwise. Shapes are whole shapes, with the batch
 * dimension.
 *
 * An op that fails returns NULL, and the graph keeps the error (graph.h): WEFT_ERROR_DTYPE, WEFT_ERROR_SHAPE (shapes
 * that do not match, an axis that does not exist), WEFT_ERROR_ARGUMENT (a number outside of the range that is given
 * here). PyTorch's names and the differences: docs/ops.md. */
#ifndef WEFT_OPS_H
#define WEFT_OPS_H

#include <weft/indexing.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- elementwise: floats and i32; a tensor of rank 0 does not promote others ---- */
WEFT_API weft_tensor *weft_add(weft_tensor *a, weft_tensor *b); /* a + b */
WEFT_API weft_tensor *weft_sub(weft_tensor *a, weft_tensor *b); /* a - b */
WEFT_API weft_tensor *weft_mul(weft_tensor *a, weft_tensor *b); /* a·b */
WEFT_API weft_tensor *weft_div(weft_tensor *a, weft_tensor *b); /* a / b; floats only */
WEFT_API weft_tensor *weft_neg(weft_tensor *a);                 /* -a */
WEFT_API weft_tensor *weft_square(weft_tensor *a);              /* a² */
/* The larger or the smaller of a and b; NaN if one is NaN. Where a and b are equal, each gets half of the gradient. */
WEFT_API weft_tensor *weft_maximum(weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_minimum(weft_tensor *a, weft_tensor *b);
/* a - b·floor(a / b), with the sign of b, as in Python and torch.remainder. If b is 0: NaN for floats, a for i32. */
WEFT_API weft_tensor *weft_remainder(weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_fmod(weft_tensor *a, weft_tensor *b); /* torch.fmod: with the sign of a */
/* a / b rounded down (//) or toward zero (C's /); gradient 0. b = 0: ±inf or NaN for floats, 0 for i32. -2^31 / -1 is
 * -2^31. */
WEFT_API weft_tensor *weft_floor_divide(weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_trunc_divide(weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_abs(weft_tensor *a);  /* |a|; gradient 0 at 0; the smallest i32 is unchanged */
WEFT_API weft_tensor *weft_sign(weft_tensor *a); /* -1, 0 or 1; 0 for NaN, as in torch.sign; gradient 0 */
/* Rounding to whole numbers: gradient 0; an i32 is unchanged. */
WEFT_API weft_tensor *weft_floor(weft_tensor *a); /* rounds down */
WEFT_API weft_tensor *weft_ceil(weft_tensor *a);  /* rounds up */
WEFT_API weft_tensor *weft_round(weft_tensor *a); /* rounds to the nearest, halves to even */
WEFT_API weft_tensor *weft_trunc(weft_tensor *a); /* rounds toward zero */
/* min(max(x, low), high). An infinite bound does not limit; if low > high, every element is high. Gradient 0 at the
 * bounds. */
WEFT_API weft_tensor *weft_clamp(weft_tensor *x, double low, double high);
/* condition ? a : b, element by element; condition is bool; all three broadcast. The input that is not chosen has
 * gradient 0. */
WEFT_API weft_tensor *weft_where(weft_tensor *condition, weft_tensor *a, weft_tensor *b);

/* ---- elementwise: floats; errors in f32 are at most 4 units in the last place or 1e-6 of the value ---- */
WEFT_API weft_tensor *weft_pow(weft_tensor *a, weft_tensor *b); /* a^b; special cases as in C's pow */
WEFT_API weft_tensor *weft_sqrt(weft_tensor *a);                /* square root; NaN below 0 */
WEFT_API weft_tensor *weft_rsqrt(weft_tensor *a);               /* 1 / sqrt(a) */
WEFT_API weft_tensor *weft_reciprocal(weft_tensor *a);          /* 1 / a */
WEFT_API weft_tensor *weft_exp(weft_tensor *a);                 /* e^a */
WEFT_API weft_tensor *weft_exp2(weft_tensor *a);                /* 2^a */
WEFT_API weft_tensor *weft_expm1(weft_tensor *a);               /* exp(a) - 1, accurate for small a */
WEFT_API weft_tensor *weft_log(weft_tensor *a);   /* natural logarithm; -inf at 0, NaN below 0 */
WEFT_API weft_tensor *weft_log2(weft_tensor *a);  /* logarithm to base 2; -inf at 0, NaN below 0 */
WEFT_API weft_tensor *weft_log1p(weft_tensor *a); /* log(1 + a), accurate for small a */
WEFT_API weft_tensor *weft_sin(weft_tensor *a);   /* sine of a, in radians of any magnitude */
WEFT_API weft_tensor *weft_cos(weft_tensor *a);   /* cosine; a as in weft_sin */
WEFT_API weft_tensor *weft_tan(weft_tensor *a);   /* tangent; a as in weft_sin */
WEFT_API weft_tensor *weft_asin(weft_tensor *a); /* arc sine, in [-π/2, π/2]; NaN for a outside of [-1, 1] */
WEFT_API weft_tensor *weft_acos(weft_tensor *a); /* arc cosine, in [0, π]; NaN for a outside of [-1, 1] */
WEFT_API weft_tensor *weft_atan(weft_tensor *a); /* arc tangent, in [-π/2, π/2] */
WEFT_API weft_tensor *weft_atan2(weft_tensor *y, weft_tensor *x); /* angle of the point (x, y), in [-π, π] */
WEFT_API weft_tensor *weft_sinh(weft_tensor *a);                  /* torch.sinh: hyperbolic sine */
WEFT_API weft_tensor *weft_cosh(weft_tensor *a);                  /* torch.cosh: hyperbolic cosine */
WEFT_API weft_tensor *weft_asinh(weft_tensor *a);                 /* torch.asinh: the inverse of sinh */
WEFT_API weft_tensor *weft_acosh(weft_tensor *a); /* torch.acosh: the inverse of cosh; NaN below 1 */
WEFT_API weft_tensor *weft_atanh(weft_tensor *a); /* torch.atanh: the inverse of tanh; NaN if |a| > 1 */
WEFT_API weft_tensor *weft_erf(weft_tensor *a);   /* 2/sqrt(π) · integral of exp(-t²) from 0 to a */

/* ---- activations: floats; NaN gives NaN; gelu, silu, mish and hardswish of -inf are NaN, as their formulas ---- */
WEFT_API weft_tensor *weft_relu(weft_tensor *a);      /* max(a, 0); gradient 0 at 0 */
WEFT_API weft_tensor *weft_tanh(weft_tensor *a);      /* (exp(2a) - 1) / (exp(2a) + 1) */
WEFT_API weft_tensor *weft_sigmoid(weft_tensor *a);   /* 1 / (1 + exp(-a)) */
WEFT_API weft_tensor *weft_gelu(weft_tensor *a);      /* a·(1 + erf(a / sqrt(2))) / 2 */
WEFT_API weft_tensor *weft_gelu_tanh(weft_tensor *a); /* a·(1 + tanh(sqrt(2/π)·(a + 0.044715·a³))) / 2 */
WEFT_API weft_tensor *weft_silu(weft_tensor *a);      /* a·sigmoid(a) */
WEFT_API weft_tensor *weft_mish(weft_tensor *a);      /* a·tanh(softplus(a)) */
WEFT_API weft_tensor *weft_softplus(weft_tensor *a);  /* log(1 + exp(a)) */
WEFT_API weft_tensor *weft_logsigmoid(weft_tensor *a);  /* F.logsigmoid: log(sigmoid(a)), without overflow */
WEFT_API weft_tensor *weft_softsign(weft_tensor *a);    /* a / (1 + |a|) */
WEFT_API weft_tensor *weft_selu(weft_tensor *a);        /* 1.0507·elu(a, 1.6733) (Klambauer et al. 2017) */
WEFT_API weft_tensor *weft_relu6(weft_tensor *a);       /* min(max(a, 0), 6); gradient 0 at 0 and 6 */
WEFT_API weft_tensor *weft_hardsigmoid(weft_tensor *a); /* relu6(a + 3) / 6; gradient 0 at -3 and 3 */
WEFT_API weft_tensor *weft_hardswish(weft_tensor *a);   /* a·relu6(a + 3) / 6; gradient 0 at -3, 1 at 3 */
WEFT_API weft_tensor *weft_elu(weft_tensor *x, double alpha);        /* x > 0 ? x : alpha·(exp(x) - 1) */
WEFT_API weft_tensor *weft_leaky_relu(weft_tensor *x, double slope); /* x > 0 ? x : slope·x */
/* x > 0 ? x : weight·x; weight is (1), or (C) along axis 1 of x (N, C, ...). */
WEFT_API weft_tensor *weft_prelu(weft_tensor *x, weft_tensor *weight);
WEFT_API weft_tensor *weft_glu(weft_tensor *x, int axis); /* a half · sigmoid(the other); even size */
/* min(max(x, low), high), low < high. Gradient 0 at the bounds. */
WEFT_API weft_tensor *weft_hardtanh(weft_tensor *x, double low, double high);

/* ---- comparisons: two floats or two i32 → bool; no gradient. With NaN only weft_not_equal is true ---- */
WEFT_API weft_tensor *weft_equal(weft_tensor *a, weft_tensor *b);         /* a == b */
WEFT_API weft_tensor *weft_not_equal(weft_tensor *a, weft_tensor *b);     /* a != b */
WEFT_API weft_tensor *weft_less(weft_tensor *a, weft_tensor *b);          /* a < b */
WEFT_API weft_tensor *weft_less_equal(weft_tensor *a, weft_tensor *b);    /* a <= b */
WEFT_API weft_tensor *weft_greater(weft_tensor *a, weft_tensor *b);       /* a > b */
WEFT_API weft_tensor *weft_greater_equal(weft_tensor *a, weft_tensor *b); /* a >= b */
WEFT_API weft_tensor *weft_isnan(weft_tensor *a);                         /* is NaN; false for i32 */
WEFT_API weft_tensor *weft_isinf(weft_tensor *a);    /* is infinite, of either sign; false for i32 */
WEFT_API weft_tensor *weft_isfinite(weft_tensor *a); /* is neither NaN nor infinite; true for i32 */

/* ---- logic: bool → bool (weft_cast converts numbers to bool); no gradient ---- */
WEFT_API weft_tensor *weft_logical_and(weft_tensor *a, weft_tensor *b); /* a and b */
WEFT_API weft_tensor *weft_logical_or(weft_tensor *a, weft_tensor *b);  /* a or b */
WEFT_API weft_tensor *weft_logical_xor(weft_tensor *a, weft_tensor *b); /* exactly one of a and b */
WEFT_API weft_tensor *weft_logical_not(weft_tensor *a);                 /* not a */

/* ---- forms with a number, and casts ---- */
/* The number is the right operand: weft_sub_number(a, 1) is a - 1. In weft_number_sub(1, a), which is 1 - a, the number
 * is the left operand. If a is f16 or bf16, the number keeps the precision of f32. WEFT_ERROR_ARGUMENT: a is i32 and
 * the number is not whole, or the number contains WEFT_LENGTH. For the batch size or the length as an operand use
 * weft_size: WEFT_BATCH would be the number -1. */
WEFT_API weft_tensor *weft_add_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_sub_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_mul_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_div_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_remainder_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_floor_divide_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_maximum_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_minimum_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_equal_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_not_equal_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_less_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_less_equal_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_greater_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_greater_equal_number(weft_tensor *a, double number);
/* a^number, floats only; the exponents -1, 1, 2 and 3 multiply or divide instead of calling weft_pow. */
WEFT_API weft_tensor *weft_pow_number(weft_tensor *a, double number);
WEFT_API weft_tensor *weft_number_sub(double number, weft_tensor *a);       /* number - a */
WEFT_API weft_tensor *weft_number_div(double number, weft_tensor *a);       /* number / a; floats only */
WEFT_API weft_tensor *weft_number_remainder(double number, weft_tensor *a); /* has the sign of a */
WEFT_API weft_tensor *weft_number_pow(double number, weft_tensor *a);       /* number^a; floats only */
/* Converts any dtype to any other. To an integer: truncates toward zero (undefined out of range). To a narrower float:
 * rounds to nearest even. To bool: a != 0. Gradients pass between floats only. */
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
/* These reductions with reduced axes that remain with size 1: PyTorch's keepdim=True. An axis that is named twice is
 * WEFT_ERROR_SHAPE. weft_sum(x, 2, true) is not weft_sum_keep(x, 2): C takes true as axis 1 (in C++ it does not
 * compile). */
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
/* The full forms. axes: a list that ends with WEFT_END, or NULL for all axes; keep: reduced axes remain with size 1. */
WEFT_API weft_tensor *weft_sum_axes(weft_tensor *x, const int64_t *axes, bool keep);  /* floats, i32 */
WEFT_API weft_tensor *weft_mean_axes(weft_tensor *x, const int64_t *axes, bool keep); /* floats */
/* The minimum or the maximum of floats or i32; NaN if an element is NaN. Elements that tie share the gradient evenly,
 * as in torch.amax. */
WEFT_API weft_tensor *weft_min_axes(weft_tensor *x, const int64_t *axes, bool keep);
WEFT_API weft_tensor *weft_max_axes(weft_tensor *x, const int64_t *axes, bool keep);
/* → i32: the index of the first maximum, in row-major order of the reduced axes; no gradient. */
WEFT_API weft_tensor *weft_argmax_axes(weft_tensor *x, const int64_t *axes, bool keep);
WEFT_API weft_tensor *weft_argmin_axes(weft_tensor *x, const int64_t *axes, bool keep); /* of the minimum */
/* The product of floats or i32 (which wraps around). The gradient is exact even if factors are zero. */
WEFT_API weft_tensor *weft_prod_axes(weft_tensor *x, const int64_t *axes, bool keep);
/* Variance of floats: sum of (x - mean)² / max(n - correction, 0), with correction >= 0; correction is 1 in weft_var,
 * weft_std and the _axes forms. The standard deviation is the square root; the gradient is 0 where the deviation is
 * 0. */
WEFT_API weft_tensor *weft_var_axes(weft_tensor *x, const int64_t *axes, bool keep);
WEFT_API weft_tensor *weft_std_axes(weft_tensor *x, const int64_t *axes, bool keep);
WEFT_API weft_tensor *weft_var_with(weft_tensor *x, int correction, const int64_t *axes, bool keep);
WEFT_API weft_tensor *weft_std_with(weft_tensor *x, int correction, const int64_t *axes, bool keep);
/* Norm of floats. Order 1: sum |x|, gradient sign(x). Order 2, that of weft_norm and weft_norm_axes: sqrt(sum x²),
 * gradient x / norm, 0 where the norm is 0. Order INFINITY: max |x|; maxima that tie share the gradient sign(x)
 * evenly. */
WEFT_API weft_tensor *weft_norm_axes(weft_tensor *x, const int64_t *axes, bool keep);
WEFT_API weft_tensor *weft_norm_with(weft_tensor *x, double order, const int64_t *axes, bool keep);
/* x / max(norm, epsilon) with the norm of this order along an axis (1, 2, infinity; torch: 2, axis 1, 1e-12). Floats. */
WEFT_API weft_tensor *weft_normalize(weft_tensor *x, double order, int axis, double epsilon);
/* log(sum exp(x)) of floats, without overflow; the gradient is softmax(x), and 0 where all elements are -inf. */
WEFT_API weft_tensor *weft_logsumexp_axes(weft_tensor *x, const int64_t *axes, bool keep);
/* Any dtype. any → bool: some element is not 0; all → bool: no element is 0; count_nonzero → i32: how many elements are
 * not 0. NaN is not 0. No gradient. */
WEFT_API weft_tensor *weft_any_axes(weft_tensor *x, const int64_t *axes, bool keep);
WEFT_API weft_tensor *weft_all_axes(weft_tensor *x, const int64_t *axes, bool keep);
WEFT_API weft_tensor *weft_count_nonzero_axes(weft_tensor *x, const int64_t *axes, bool keep);

/* ---- scans along one axis: y has the shape of x; f32, f16, bf16 or i32 (which wraps around) ----
 * Sums and products of floats are compensated (products also store an exponent), so that results for any length are as
 * accurate as if they were computed with twice the precision of f32 and then rounded. NaN propagates to all later
 * elements. The gradient of a product is right at zeros, too. */
WEFT_API weft_tensor *weft_cumsum(weft_tensor *x, int axis);  /* y[j] = x[0] + ... + x[j] */
WEFT_API weft_tensor *weft_cumprod(weft_tensor *x, int axis); /* y[j] = x[0] · ... · x[j] */
/* exclusive: y[j] does not include x[j], so that the first y is 0 (sum) or 1 (product). reverse: from the last element
 * to the first. */
WEFT_API weft_tensor *weft_cumsum_with(weft_tensor *x, int axis, bool exclusive, bool reverse);
WEFT_API weft_tensor *weft_cumprod_with(weft_tensor *x, int axis, bool exclusive, bool reverse);
/* y[j] = a[j] · y[j-1] + b[j] with y[-1] = 0 (discounted returns, moving averages, state-space models); with reverse,
 * y[j] = a[j] · y[j+1] + b[j]. An a[j] of 0 cuts off all earlier elements, even infinity and NaN. f32, f16 or bf16; a
 * and b broadcast. */
WEFT_API weft_tensor *weft_linear_scan(weft_tensor *a, weft_tensor *b, int axis, bool reverse);

/* ---- sorting along one axis; f32, f16, bf16 or i32; stable: equal elements keep their order ----
 * NaN counts as the largest (first when descending), -0 and 0 are equal, denormals are not flushed to 0. Values and
 * indices are two functions; a plan sorts once for both if their arguments are the same. Errors of topk:
 * WEFT_ERROR_ARGUMENT (k outside of [1, size]; along a batch axis, an error of weft_plan_create). */
WEFT_API weft_tensor *weft_sort(weft_tensor *x, int axis, bool descending);    /* values, of the shape of x */
WEFT_API weft_tensor *weft_argsort(weft_tensor *x, int axis, bool descending); /* i32 indices; no gradient */
/* The first k elements of a sort: the k largest elements, beginning with the largest, or the k smallest, beginning with
 * the smallest. The axis then has size k. A small k costs one pass over x. */
WEFT_API weft_tensor *weft_topk(weft_tensor *x, int64_t k, int axis, bool largest);
WEFT_API weft_tensor *weft_topk_indices(weft_tensor *x, int64_t k, int axis, bool largest); /* i32 */

/* ---- products ---- */
/* (..., m, k) · (..., k, n) → (..., m, n), floats; leading dimensions broadcast. Rank 2 or more. weft_transpose
 * transposes an operand at no cost. */
WEFT_API weft_tensor *weft_matmul(weft_tensor *a, weft_tensor *b);
/* x·weightᵀ + bias: x (..., in), weight (out, in), bias (out) or NULL → (..., out). weft_linear in nn.h also creates
 * the parameters. */
WEFT_API weft_tensor *weft_linear_with(weft_tensor *x, weft_tensor *weight, weft_tensor *bias);

/* Products with vectors: floats; outer and dot also i32. */
WEFT_API weft_tensor *weft_outer(weft_tensor *a, weft_tensor *b); /* (m), (n) → (m, n): a[i]·b[j] */
WEFT_API weft_tensor *weft_dot(weft_tensor *a, weft_tensor *b);   /* (k), (k) → rank 0: sum of a[i]·b[i] */
WEFT_API weft_tensor *weft_mv(weft_tensor *a, weft_tensor *x);    /* (..., m, k), (k) → (..., m) */
/* y[o] = bias[o] + sum over i, j of x1[i]·weight[o][i][j]·x2[j]: x1 (..., in1), x2 (..., in2), weight (out, in1, in2),
 * bias (out) or NULL → (..., out). weft_bilinear in nn.h also creates the parameters. */
WEFT_API weft_tensor *weft_bilinear_with(
    weft_tensor *x1, weft_tensor *x2, weft_tensor *weight, weft_tensor *bias);
/* Einstein summation as in torch.einsum, of one operand (weft_einsum("ii->i", a, NULL)) or two ("bij,bjk->bik").
 * Spaces, ellipses, implicit outputs, diagonals and the broadcasting of sizes of 1 are supported. Floats. */
WEFT_API weft_tensor *weft_einsum(const char *equation, weft_tensor *a, weft_tensor *b);

/* ---- attention ---- */
typedef struct weft_attention_options {
    size_t struct_size;
    /* Default NULL; broadcasts to (..., Lq, Lk): bool (true: the query attends to the key) or f32 (added to the
     * scores). */
    weft_tensor *mask;
    bool causal; /* default false; true: query i attends to keys j <= i, as in PyTorch also if Lq is not Lk */
    float scale; /* 0 (the default) means 1/sqrt(d); WEFT_ZERO: 0, all keys have the same weight */
    float dropout; /* default 0; weft_dropout of the attention weights: 0 <= dropout < 1 */
} weft_attention_options;
#define WEFT_ATTENTION_OPTIONS_INIT .struct_size = sizeof(weft_attention_options)
/* softmax(q·kᵀ·scale + mask)·v: q (..., Lq, d), k (..., Lk, d), v (..., Lk, dv), f32 → (..., Lq, dv); leading
 * dimensions broadcast. A query that attends to no key gives 0, and gradients of 0. If d and dv are at most 256 and the
 * lengths do not depend on the batch, the scores are never stored as a whole, neither forward nor backward; otherwise
 * they are. options NULL means all defaults. */
WEFT_API weft_tensor *weft_attention(
    weft_tensor *q, weft_tensor *k, weft_tensor *v, const weft_attention_options *options);

/* Attention with a cache of keys and values, to decode token by token. q (..., L, d), k (..., L, d) and v (..., L, dv)
 * belong to the L new positions position .. position + L - 1; key_cache (..., capacity, d) and value_cache (...,
 * capacity, dv) are states. k and v are written to the caches at these positions, and query i attends to the positions
 * 0 .. position + i: → (..., L, dv). position: i32 of rank 0, an input or a state that the plan increments; one plan
 * decodes a whole text. *update, which must be an output of the plan, writes the new rows in place, at a cost that does
 * not depend on the capacity. A plan with L > 1 (a prompt) and one with L = 1 (its continuation) may share the caches.
 * NULL after an error: WEFT_ERROR_SHAPE (a cache is not a state of the dtype and shape of k or v, position is not i32
 * of rank 0), WEFT_ERROR_ARGUMENT (update is NULL), and the errors of weft_attention. A position beyond the capacity is
 * an error of the next read or wait. */
WEFT_API weft_tensor *weft_attention_cached(weft_tensor *q, weft_tensor *k, weft_tensor *v,
    weft_tensor *key_cache, weft_tensor *value_cache, weft_tensor *position, weft_tensor **update);

/* ---- softmax of floats along one axis; the losses are in losses.h ---- */
WEFT_API weft_tensor *weft_softmax(weft_tensor *x, int axis);     /* exp(x) / sum exp(x) */
WEFT_API weft_tensor *weft_log_softmax(weft_tensor *x, int axis); /* x - logsumexp(x) */

/* ---- movement: any dtype; all but concat and stack return views (other strides of the memory), at no cost ---- */
/* weft_reshape(x, WEFT_BATCH, 64) takes all dimensions of the new shape; the elements keep their row-major order. The
 * elements are copied if strides cannot express the result (after a permute). */
#define weft_reshape(...) WEFT_TAKE_AXES_(weft_reshape_list_, __VA_ARGS__, WEFT_8_ENDS_)
/* weft_permute(x, 0, 2, 1): axis i of the result is the axis of x that the i-th argument names. */
#define weft_permute(...) WEFT_TAKE_AXES_(weft_permute_list_, __VA_ARGS__, WEFT_8_ENDS_)
/* The full forms: dims has all `rank` dimensions; axes is a permutation of all `rank` axes. */
WEFT_API weft_tensor *weft_reshape_shape(weft_tensor *x, int rank, const int64_t *dims);
WEFT_API weft_tensor *weft_permute_axes(weft_tensor *x, int rank, const int *axes);
/* Image ops take shapes (N, C, spatial...) and store images channels-last. No layout conversion is needed to read
 * weft_channels_last(y) of the result y of an image op, or to feed (N, spatial..., C) data through weft_channels_first.
 * Ops on the result of weft_channels_first(x), and the gradients, keep the memory order of x. */
WEFT_API weft_tensor *weft_channels_last(weft_tensor *x);  /* (N, C, spatial...) → (N, spatial..., C) */
WEFT_API weft_tensor *weft_channels_first(weft_tensor *x); /* (N, spatial..., C) → (N, C, spatial...) */
WEFT_API weft_tensor *weft_transpose(weft_tensor *x);      /* swaps the last two axes */
WEFT_API weft_tensor *weft_flatten(weft_tensor *x); /* (n, a, b, ...) → (n, a·b·...); (n) → (n, 1) */
/* Broadcasts x to the shape dims (torch.expand, torch.broadcast_to). */
WEFT_API weft_tensor *weft_expand(weft_tensor *x, int rank, const int64_t *dims);
/* Merges the axes start to end (inclusive) into one axis; at most one of them may depend on the batch. */
WEFT_API weft_tensor *weft_flatten_axes(weft_tensor *x, int start, int end);
/* weft_squeeze(x, 1) removes axis 1, whose size must be 1; weft_squeeze(x) removes all axes of size 1. */
#define weft_squeeze(...) WEFT_TAKE_AXES_(weft_squeeze_list_, __VA_ARGS__, WEFT_8_ENDS_)
WEFT_API weft_tensor *weft_squeeze_axes(weft_tensor *x, const int64_t *axes); /* a list up to WEFT_END */
WEFT_API weft_tensor *weft_unsqueeze(weft_tensor *x, int axis); /* inserts an axis of size 1 at `axis` */
WEFT_API weft_tensor *weft_swap_axes(
    weft_tensor *x, int axis1, int axis2);                              /* torch.transpose, torch.swapaxes */
WEFT_API weft_tensor *weft_move_axis(weft_tensor *x, int from, int to); /* torch.movedim */
/* The elements start to end - 1 of one axis. A negative start or end counts from the end of the axis; WEFT_END is the
 * end of the axis. WEFT_ERROR_SHAPE: the slice is empty or reaches outside the axis. If the axis or `end` depends on
 * the batch or on another size that plans choose, weft_plan_create returns this error: weft_slice(x, 0, 1, WEFT_END) of a batch of 1,
 * weft_slice(table, 0, 0, WEFT_LENGTH) of a table with fewer rows. */
WEFT_API weft_tensor *weft_slice(weft_tensor *x, int axis, int64_t start, int64_t end);
/* Every step-th element of the slice, step >= 1: x[start:end:step]. */
WEFT_API weft_tensor *weft_slice_step(weft_tensor *x, int axis, int64_t start, int64_t end, int64_t step);
/* Tensor.unfold: the windows of `size` elements at every step-th element: (..., L, ...) → (..., n, ..., size), and n is
 * (L - size) / step + 1, rounded down. size: 1 to L; step: 1 or more. Any dtype; at most 7 axes. */
WEFT_API weft_tensor *weft_unfold(weft_tensor *x, int axis, int64_t size, int64_t step);
/* Divides an axis into `count` slices, outputs[0] to outputs[count - 1]: equal slices, or slices of the given sizes,
 * whose sum must be the size of the axis. On an error every outputs[i] is NULL,
 * and the graph keeps the error, so that a program need not check the status. */
WEFT_API weft_status weft_split(weft_tensor *x, int axis, size_t count, weft_tensor **outputs);
WEFT_API weft_status weft_split_sizes(
    weft_tensor *x, int axis, const int64_t *sizes, size_t count, weft_tensor **outputs);
/* weft_flip(x, 0, -1) reverses these axes, also the batch; weft_flip(x) reverses all axes. */
#define weft_flip(...) WEFT_TAKE_AXES_(weft_flip_list_, __VA_ARGS__, WEFT_8_ENDS_)
WEFT_API weft_tensor *weft_flip_axes(weft_tensor *x, const int64_t *axes); /* axes: a list up to WEFT_END */
/* The elements whose index along axis1 is i and along axis2 is i + offset, as a new last axis; the other axes keep
 * their order. offset < 0 is below the main diagonal. With a batch axis, both axes must have the same size, and offset
 * must be 0. */
WEFT_API weft_tensor *weft_diagonal(weft_tensor *x, int64_t offset, int axis1, int axis2);
/* Concatenates `count` tensors, at most 4096, of one dtype along an axis; their other dimensions are equal. Along the
 * axis some tensors may have the batch and others a number. count 0 returns NULL, but without an error, as no graph
 * could keep it. */
WEFT_API weft_tensor *weft_concat(weft_tensor *const *xs, size_t count, int axis);
/* Joins `count` tensors of the same shape along a new axis. */
WEFT_API weft_tensor *weft_stack(weft_tensor *const *xs, size_t count, int axis);

/* ---- padding: any dtype; done by the op that reads the result, or in one launch for all axes ---- */
typedef enum weft_pad_mode {
    WEFT_PAD_CONSTANT, /* the number `value` */
    WEFT_PAD_REFLECT,  /* mirrors at the first and last element, at most n - 1 elements: 3 2 | 1 2 3 | 2 1 */
    WEFT_PAD_EDGE,     /* repeats the first and last element; PyTorch's "replicate" */
    WEFT_PAD_WRAP      /* continues from the other end, at most n elements; PyTorch's "circular" */
} weft_pad_mode;
/* Axis i of size n gets the size before[i] + n + after[i]; before and after have an entry of 0 or more for each axis.
 * On a batch axis, weft_plan_create checks the limit of the mode. value is for WEFT_PAD_CONSTANT, and must be 0 for
 * i64, u8 and bool. */
WEFT_API weft_tensor *weft_pad(
    weft_tensor *x, const int64_t *before, const int64_t *after, weft_pad_mode mode, double value);
/* Moves element i to (i + shift) mod n, as torch.roll, along any axis, also the batch. |shift| is at most 2^31 - 1. */
WEFT_API weft_tensor *weft_roll(weft_tensor *x, int axis, int64_t shift);
/* Repeats x repeats[i] times along axis i, as torch.tile and torch.repeat; x and repeats are aligned at the right. */
WEFT_API weft_tensor *weft_tile(weft_tensor *x, int rank, const int64_t *repeats);

/* ---- masks and functions of the index: computed by the op that reads the result; any axis may be the batch ---- */
/* x (floats or i32) where column - row <= diagonal (triu: >= diagonal) along the last two axes, otherwise 0. */
WEFT_API weft_tensor *weft_tril(weft_tensor *x, int64_t diagonal);
WEFT_API weft_tensor *weft_triu(weft_tensor *x, int64_t diagonal);
/* value where mask is true, otherwise x (floats or i32); mask is bool and broadcasts to x. The gradient is 0 where mask
 * is true. */
WEFT_API weft_tensor *weft_masked_fill(weft_tensor *x, weft_tensor *mask, double value);
/* i32 labels (...) → (..., classes) of the given dtype: 1 at the label, otherwise 0. A label out of range gives a row
 * of zeros. No gradient. */
WEFT_API weft_tensor *weft_one_hot(weft_tensor *labels, int64_t classes, weft_dtype dtype);
/* (n), a float or i32: start, start + step, ..., up to end, which is left out. step may be negative; an empty result is
 * an error. weft_arange(graph, WEFT_I32, 0, WEFT_BATCH * k, 1) numbers the k rows of each example: (k * batch). */
WEFT_API weft_tensor *weft_arange(weft_graph *graph, weft_dtype dtype, double start, double end, double step);
/* A float, i32 or bool of the shape dims, whose elements are all `value`. */
WEFT_API weft_tensor *weft_full(
    weft_graph *graph, weft_dtype dtype, double value, int rank, const int64_t *dims);
/* (rows, columns) of any dtype: 1 where row = column, otherwise 0. */
WEFT_API weft_tensor *weft_eye(weft_graph *graph, weft_dtype dtype, int64_t rows, int64_t columns);

/* ---- random: Philox4x32-10 (Salmon et al. 2011), the same numbers on every device ----
 * The numbers depend on the context's seed, on the order in which the nodes were created, and on the number of the run,
 * but not on the device or on how a batch is divided. */
/* f32 of the shape dims, which may contain WEFT_BATCH; each run draws new numbers from U(low, high) or N(mean,
 * deviation). NULL after an error: WEFT_ERROR_ARGUMENT (low above high, a deviation below 0, a number that is not
 * finite), WEFT_ERROR_SHAPE. Whole numbers from low to high - 1 are weft_cast(weft_floor(weft_uniform(...)),
 * WEFT_I32). */
WEFT_API weft_tensor *weft_uniform(weft_graph *graph, float low, float high, int rank, const int64_t *dims);
WEFT_API weft_tensor *weft_normal(
    weft_graph *graph, float mean, float deviation, int rank, const int64_t *dims);
/* Each run draws one class for each row: logits (..., classes), floats → i32 (...). The probabilities are
 * softmax(logits / temperature); temperature 0 takes the most probable class. top_k: only the k most probable classes
 * (0: all). top_p: of these, only the most probable ones, as many as are needed for a total probability of top_p (1:
 * all; Holtzman et al. 2020). A class of probability 0 is never drawn; a row without probabilities (NaN, +inf, or all
 * -inf) gives -1. No gradient. NULL after an error: WEFT_ERROR_DTYPE, WEFT_ERROR_SHAPE (no classes),
 * WEFT_ERROR_ARGUMENT (logits are the result of weft_softmax or weft_sigmoid, temperature is below 0, top_k is outside
 * of 0 .. classes, top_p is outside of 0 < top_p <= 1). */
WEFT_API weft_tensor *weft_categorical(weft_tensor *logits, double temperature, int64_t top_k, double top_p);
typedef struct weft_categorical_options {
    size_t struct_size;
    float temperature; /* 0 (the default) means 1; WEFT_ZERO: 0, the most probable class */
    int64_t top_k;     /* default 0: all classes */
    float top_p;       /* above 0, at most 1; default 1: all classes */
    float min_p;       /* only classes with at least min_p times the largest probability; 0 <= min_p < 1 */
} weft_categorical_options;
#define WEFT_CATEGORICAL_OPTIONS_INIT .struct_size = sizeof(weft_categorical_options)
/* weft_categorical with options; NULL means all defaults. */
WEFT_API weft_tensor *weft_categorical_with(weft_tensor *logits, const weft_categorical_options *options);
/* In plans for training, each element of x (floats) becomes 0 with probability p, otherwise x / (1 - p); the gradient
 * drops the same elements. In plans with inference the result is x. 0 <= p < 1. */
WEFT_API weft_tensor *weft_dropout(weft_tensor *x, float p);

/* ---- used by the macros ---- */
#define WEFT_TAKE_AXES_(function, ...)      WEFT_TAKE_AXES_LIST_(false, function, __VA_ARGS__)
#define WEFT_TAKE_AXES_KEEP_(function, ...) WEFT_TAKE_AXES_LIST_(true, function, __VA_ARGS__)
#ifdef __cplusplus
} /* in C++ this struct holds the list of axes, and a bool among them does not compile */
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
