/* Memory order: an op may compute a node with the axes in another order than those of its result, and return a view of the node.
 * Images are views (N, C, spatial...) of nodes (N, spatial..., C). Rewrite rules move such views from the inputs of nodes to their
 * results, so that everything between image ops is computed in memory order, and opposite views cancel.
 *
 * The permutes that users create are ordinary ones. Functions that convert or permute x return NULL if x is NULL. */
#ifndef WI_MEMORY_ORDER_H
#define WI_MEMORY_ORDER_H

#include "graph/rewrite.h"

/* Axis i of a tensor is axis axes[i] of the node of which the tensor is a view. rank 0: the tensor is no such view. */
typedef struct wi_memory_order {
    int rank;
    int8_t axes[WEFT_MAX_RANK];
} wi_memory_order;

/* attributes.permute.direction. FROM: the permute is a view of a node in memory order. TO: the permute converts a tensor to memory
 * order, for an op that computes in this order. */
enum { WI_FROM_MEMORY_ORDER = 1, WI_TO_MEMORY_ORDER = 2 };

/* The order of the node of which x is a view. */
wi_memory_order wi_memory_order_of(const weft_tensor *x);
wi_memory_order wi_inverse_order(int rank, const int8_t *order);
/* Does the order move any axis that is not of size 1? */
bool wi_memory_order_moves(const wi_shape *shape, const int8_t *order);
wi_shape wi_shape_in_memory(const wi_memory_order *order, const wi_shape *shape);
uint32_t wi_axes_in_memory(const wi_memory_order *order, uint32_t axes); /* a bit for each axis */

/* wi_to_memory converts x, whose rank is at most that of the order, to memory order. wi_from_memory returns a view of
 * x, which is in memory order, with the axes in their usual order. */
weft_tensor *wi_to_memory(const wi_rewrite *rewrite, const wi_memory_order *order, weft_tensor *x);
weft_tensor *wi_from_memory(const wi_memory_order *order, weft_tensor *x);
/* Is x a function of the index, which wi_to_memory creates again in memory order instead of permuting it? */
bool wi_is_index(const wi_rewrite *rewrite, const wi_memory_order *order, const weft_tensor *x);

/* A permute with a direction; the order is not checked. */
weft_tensor *wi_permute(weft_tensor *x, const int8_t *order, uint32_t direction);
/* Like wi_permute; but if x is itself a permute, returns a single permute of its input, or the input if both permutes
 * cancel. */
weft_tensor *wi_permute_through(weft_tensor *x, const int8_t *order, uint32_t direction);

/* The rule of ops that treat all axes alike and have no axes in their attributes: if inputs are views, the node is created in
 * memory order. */
weft_tensor *wi_elementwise_in_memory_order(
    wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs);
extern const wi_rule wi_memory_order_rewrites[]; /* only this rule */

#endif
