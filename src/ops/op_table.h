/* The table of ops as data, and what the families share. */
#ifndef WI_OP_TABLE_H
#define WI_OP_TABLE_H

#include "graph/length.h"
#include "graph/op_rules.h"
#include <weft/ops.h>

/* Every row of op_list.h, in its order; weft_<name> is the public function (weft_<name>_axes for reductions).
 */
extern const char *const wi_op_names[];
extern const size_t wi_op_count;

#define WI_MAP1(name, ...) extern const wi_op wi_op_##name;
#define WI_MAP2(name, ...) extern const wi_op wi_op_##name;
#define WI_MAP3(name, ...) extern const wi_op wi_op_##name;
#define WI_NODE(name)      extern const wi_op wi_op_##name;
#define WI_FUNCTION_ROW(name)
#include "ops/op_list.h"

extern const wi_op wi_op_flat_gradients; /* JOIN: input i stands where parameter start + i does */
extern const wi_op wi_op_assign, wi_op_assign_after;
extern const wi_op wi_op_assign_all; /* ASSIGN: all its inputs, which are assignments */
extern const wi_op wi_op_in_memory;  /* VIEW: its input, written down even where it is a number */
extern const wi_op wi_op_keep_f32;   /* VIEW: its input, which mixed precision leaves in f32 */
extern const wi_op wi_op_dilate;     /* MAP: the input's elements every `step` along an axis, zeros between */

/* x in the dtype that arithmetic on it is done in: f32 for f16 and bf16, else x itself. NULL gives NULL. What
 * is made of several steps is made of this, and rounded once with weft_cast. */
weft_tensor *wi_wide(weft_tensor *x);
/* Reductions in the form that stays in the graph: reduced axes keep size 1. axes: a bit an axis. */
weft_tensor *wi_sum_keep(weft_tensor *x, uint32_t axes);
weft_tensor *wi_max_keep(weft_tensor *x, uint32_t axes);
/* A negative axis counts from the end; -1 with the error recorded when there is no such axis. */
int wi_axis_index(const weft_tensor *x, const char *op, int64_t axis);
/* The axes of a list up to WEFT_END (NULL: none), a bit an axis; false with the error recorded where one does not exist, or is
 * named twice, whether from the beginning or from the end. */
bool wi_axes_mask(const weft_tensor *x, const char *op, const int64_t *axes, uint32_t *mask);
/* Sums or stretches g to a shape that broadcasting connects with its own. */
weft_tensor *wi_sum_to(weft_tensor *g, const wi_shape *shape);
/* A part of an axis; start and length as dimensions are written (negative: multiples of the batch). */
weft_tensor *wi_slice_dims(weft_tensor *x, int axis, int64_t start, int64_t length, int64_t step);
/* Its gradient: an axis of that length whose elements before, before + step, ... are x, the others zero. */
weft_tensor *wi_dilate_dims(weft_tensor *x, int axis, int64_t before, int64_t step, int64_t length);
/* ---- memory order (memory_order.c): for rewrites ---- */
/* Axis i of a tensor is axis axes[i] of what lies in memory. rank 0: nothing but the tensor itself. */
typedef struct wi_memory_order {
    int rank;
    int8_t axes[WEFT_MAX_RANK];
} wi_memory_order;
/* attributes.permute.direction. FROM: its input is what is in memory, and what reads it is made over that. TO:
 * it gives a tensor as such a node's input would be. */
enum { WI_FROM_MEMORY_ORDER = 1, WI_TO_MEMORY_ORDER = 2 };
wi_memory_order wi_inverse_order(int rank, const int8_t *order);
/* The order that x is a view of. */
wi_memory_order wi_memory_order_of(const weft_tensor *x);
/* x, of the order's rank or a lower one that broadcasts, seen as it lies in memory; and back. NULL gives
 * NULL. */
weft_tensor *wi_to_memory(const wi_rewrite *rewrite, const wi_memory_order *order, weft_tensor *x);
weft_tensor *wi_from_memory(const wi_memory_order *order, weft_tensor *x);
wi_shape wi_shape_in_memory(const wi_memory_order *order, const wi_shape *shape);
uint32_t wi_axes_in_memory(const wi_memory_order *order, uint32_t axes); /* a bit an axis */
/* The rule of nodes that do not depend on the index (attributes without axes): made over what lies in memory,
 * where inputs say so; and the list of that rule alone. */
weft_tensor *wi_elementwise_in_memory_order(
    wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs);
extern const wi_rule wi_memory_order_rewrites[];
/* Is x a function of the index that wi_to_memory creates anew, in the order of memory? */
bool wi_is_index(const wi_rewrite *rewrite, const wi_memory_order *order, const weft_tensor *x);
/* permute, with its direction; order is one, unchecked. */
weft_tensor *wi_permute(weft_tensor *x, const int8_t *order, uint32_t direction);
/* The same of what x itself permutes, and nothing where the two cancel. */
weft_tensor *wi_permute_through(weft_tensor *x, const int8_t *order, uint32_t direction);
/* Does the order move anything but axes of size 1? */
bool wi_memory_order_moves(const wi_shape *shape, const int8_t *order);

/* x (N, C, spatial...) of rank 2 or more seen as (N, spatial..., C), and back; NULL gives NULL. Channels-last
 * is how images lie in memory (channels_last.c). */
weft_tensor *wi_channels_last(weft_tensor *x);
weft_tensor *wi_channels_first(weft_tensor *x);
/* The number of elements of the axes (a bit an axis) as coefficient × batch^power. */
/* Does its size have the length? For constructors that could not do with any number there. */
bool wi_axis_has_length(const weft_tensor *x, int axis);
void wi_axes_count(const weft_tensor *x, uint32_t axes, int64_t *coefficient, int *power);
/* Random numbers from [0, 1), and what the dropout of this stream multiplies a tensor of this shape by: 0, or 1 / (1 - p). */
weft_tensor *wi_draw_uniform(weft_graph *graph, const wi_shape *shape, uint32_t stream);
weft_tensor *wi_dropout_factors(weft_graph *graph, const wi_shape *shape, double p, uint32_t stream);
/* The class labels that a loss reads: each must be in 0 .. classes - 1 or the ignored one. */
typedef struct wi_labels {
    const weft_tensor *tensor; /* NULL: the node reads none */
    int64_t classes;
    int64_t ignored; /* INT64_MIN: none is */
} wi_labels;
wi_labels wi_labels_of(const weft_tensor *node);
/* MAP: numbers i32 as they are. One that is neither in 0 .. count - 1 nor the ignored one (INT64_MIN: none is) fails the
 * next read or wait (label.c). */
typedef enum wi_label_kind {
    WI_LABEL_CROSS_ENTROPY,
    WI_LABEL_NLL,
    WI_LABEL_MULTI_MARGIN,
    WI_LABEL_ADAPTIVE_SOFTMAX,
    WI_LABEL_LENGTH,
    WI_LABEL_CACHED
} wi_label_kind;
weft_tensor *wi_label(
    weft_tensor *x, wi_label_kind kind, int64_t count, int64_t ignored); /* NULL gives NULL */
/* wi_op.view of a node with the layout of its input. */
bool wi_same_view(
    const weft_tensor *y, const wi_extent *x, const wi_layout *in, const wi_extent *out, wi_layout *layout);
/* The gradient of a tensor that the loss does not reach: zeros. */
weft_tensor *wi_unreached_gradient(weft_tensor *wrt);
/* Is it what weft_gradients gives for a tensor that the loss does not reach, or that multiplied by something? */
bool wi_gradient_is_unreached(const weft_tensor *gradient);
/* Those of `count` parameters from `first` on with the layout of wi_flat_parameters, `rows` of it. */
weft_tensor *wi_flat_gradients(
    weft_graph *graph, weft_tensor *const *gradients, size_t first, size_t count, int64_t rows);
/* weft_assign to a view of a variable; no two such views of one plan may overlap. */
weft_tensor *wi_assign_view(weft_tensor *view, weft_tensor *value);
/* One assignment or more as one output of plans. NULL after an error. */
weft_tensor *wi_assign_all(weft_tensor *const *assignments, size_t count);

#endif
