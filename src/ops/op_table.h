/* The table of ops, and internal functions that several families call. Constructors return NULL if x is NULL. */
#ifndef WI_OP_TABLE_H
#define WI_OP_TABLE_H

#include "graph/op_rules.h"
#include "graph/sizes.h"
#include "graph/weft_graph.h"
#include "ops/op_descriptors.h"
#include <weft/ops.h>

/* The names of all rows of op_list.h. weft_<name> is the public function (weft_<name>_axes for reductions). */
extern const char *const wi_op_names[];
extern const size_t wi_op_count;

/* ---- elementwise ---- */
/* x in the dtype in which kernels calculate: f32 instead of f16 and bf16. An op that several nodes compute casts its inputs with
 * this and its result with weft_cast, so that the result is rounded once. */
weft_tensor *wi_wide(weft_tensor *x);
/* Random numbers in [0, 1); and the factors of the dropout that draws from this stream, 0 or 1 / (1 - p). */
weft_tensor *wi_draw_uniform(weft_graph *graph, const wi_shape *shape, uint32_t stream);
weft_tensor *wi_dropout_factors(weft_graph *graph, const wi_shape *shape, double p, uint32_t stream);
/* weft_dropout of whole examples of x (N, ...): one random number for each n. */
weft_tensor *wi_dropout_examples(weft_tensor *x, float p);

/* ---- movements ---- */
/* A slice of an axis. start and length are dimensions: negative numbers are multiples of the batch. */
weft_tensor *wi_slice_dims(weft_tensor *x, int axis, int64_t start, int64_t length, int64_t step);
/* The gradient of a slice of an axis: the axis gets this length, with the elements of x at the indices before, before +
 * step, ..., and zeros elsewhere. */
weft_tensor *wi_dilate_dims(weft_tensor *x, int axis, int64_t before, int64_t step, int64_t length);
/* The function wi_op.view of ops whose result has the layout of the input. */
bool wi_same_view(
    const weft_tensor *y, const wi_extent *x, const wi_layout *in, const wi_extent *out, wi_layout *layout);
/* Image ops compute with channels last: x (N, C, spatial...) as a view (N, spatial..., C) of memory, and back (channels_last.c). */
weft_tensor *wi_channels_last(weft_tensor *x);
weft_tensor *wi_channels_first(weft_tensor *x);

/* ---- reductions: the reduced axes (a bit for each) keep size 1 ---- */
weft_tensor *wi_sum_keep(weft_tensor *x, uint32_t axes);
weft_tensor *wi_max_keep(weft_tensor *x, uint32_t axes);
/* Reduces or broadcasts g to the shape. One of the two shapes must broadcast to the other. */
weft_tensor *wi_sum_to(weft_tensor *g, const wi_shape *shape);

/* ---- labels ---- */
/* The labels that a loss reads; each must be in 0 .. classes - 1, or the ignored one. */
typedef struct wi_labels {
    const weft_tensor *tensor; /* NULL: the node reads no labels */
    int64_t classes;
    int64_t ignored; /* INT64_MIN: none */
} wi_labels;
wi_labels wi_labels_of(const weft_tensor *node);
typedef enum wi_label_kind {
    WI_LABEL_CROSS_ENTROPY,
    WI_LABEL_NLL,
    WI_LABEL_MULTI_MARGIN,
    WI_LABEL_ADAPTIVE_SOFTMAX,
    WI_LABEL_SAMPLED_SOFTMAX,
    WI_LABEL_MACH,
    WI_LABEL_LENGTH,
    WI_LABEL_CACHED
} wi_label_kind;
/* x, i32. A number that is neither in 0 .. count - 1 nor the ignored one (INT64_MIN: none) fails the next read or wait. */
weft_tensor *wi_label(weft_tensor *x, wi_label_kind kind, int64_t count, int64_t ignored);

/* ---- gradients ---- */
/* The gradient of a tensor that the loss does not depend on: zeros. */
weft_tensor *wi_unreached_gradient(weft_tensor *wrt);
/* Is the gradient the result of wi_unreached_gradient, or computed from such results only? */
bool wi_gradient_is_unreached(const weft_tensor *gradient);
/* The gradients of `count` parameters, of which `first` is the first's number, as one tensor with `rows` rows in the layout of wi_flat_parameters. */
weft_tensor *wi_flat_gradients(
    weft_graph *graph, weft_tensor *const *gradients, size_t first, size_t count, int64_t rows);

/* ---- assignments ---- */
/* weft_assign to a view of a variable. No two such views of a plan may overlap. */
weft_tensor *wi_assign_view(weft_tensor *view, weft_tensor *value);
/* Assignments as one output of plans. */
weft_tensor *wi_assign_all(weft_tensor *const *assignments, size_t count);

#endif
