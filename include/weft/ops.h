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
WEFT_API weft_tensor *weft_where(
    weft_tensor *condition, weft_tensor *a, weft_tensor *b); /* condition: bool */

/* ---- elementwise: f32 ---- */
WEFT_API weft_tensor *weft_exp(weft_tensor *a);
WEFT_API weft_tensor *weft_log(weft_tensor *a); /* natural */
WEFT_API weft_tensor *weft_sqrt(weft_tensor *a);
WEFT_API weft_tensor *weft_tanh(weft_tensor *a);
WEFT_API weft_tensor *weft_sigmoid(weft_tensor *a); /* 1 / (1 + exp(-a)) */
WEFT_API weft_tensor *weft_relu(weft_tensor *a);    /* max(a, 0); NaN stays NaN; gradient 0 at 0 */
WEFT_API weft_tensor *weft_square(weft_tensor *a);

/* ---- comparisons: f32 or i32 to bool; no gradient ---- */
WEFT_API weft_tensor *weft_equal(weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_less(weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_less_equal(weft_tensor *a, weft_tensor *b);

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

/* ---- attention ---- */
typedef struct weft_attention_options {
    size_t struct_size;
    weft_tensor *mask; /* default NULL; broadcasts to (..., Lq, Lk): bool (true takes part) or f32 (added) */
    bool causal;       /* default false; query i sees keys j <= i, also where Lq and Lk differ (as PyTorch) */
    float scale;       /* default 0: 1/sqrt(d) */
} weft_attention_options;
#define WEFT_ATTENTION_OPTIONS_INIT .struct_size = sizeof(weft_attention_options)
/* softmax(q·kᵀ·scale + mask)·v: q (..., Lq, d), k (..., Lk, d), v (..., Lk, dv), f32 → (..., Lq, dv); leading
 * dimensions broadcast. A query that sees no key gives 0, and gradients of 0. The scores are never whole in
 * memory, forward and backward, for d and dv up to 256 and lengths that are not the batch; else they are. */
WEFT_API weft_tensor *weft_attention(
    weft_tensor *q, weft_tensor *k, weft_tensor *v, const weft_attention_options *options);

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
 * of j, so the same on every run. f32 or i32. */
WEFT_API weft_tensor *weft_scatter_add(weft_tensor *x, int axis, weft_tensor *index, weft_tensor *source);
/* x, and y[i][index[j]][k] += source[i][j][k] for axis 1; index has rank 1. f32 or i32. */
WEFT_API weft_tensor *weft_index_add(weft_tensor *x, int axis, weft_tensor *index, weft_tensor *source);
/* The same into zeros: the axis of the result has `size` elements (WEFT_BATCH times k is a size, too). */
WEFT_API weft_tensor *weft_scatter_sum(weft_tensor *source, int axis, weft_tensor *index, int64_t size);
WEFT_API weft_tensor *weft_index_sum(weft_tensor *source, int axis, weft_tensor *index, int64_t size);

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
