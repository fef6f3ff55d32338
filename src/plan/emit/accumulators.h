/* Accumulators of reductions in generated kernels: what a reduction keeps while it walks over its elements.
 *
 * Where several vectors of 16 columns are walked along together these are arrays over the vectors u. Member m
 * of the step has a<m>, the value so far, and besides, as its kind needs: d<m> the sum of a block, e<m> the
 * rounding errors carried along, g<m> the index of the best element. One table row an op says which; the
 * functions that the kernels call stand in reduce.clh and group.clh under the row's name. */
#ifndef WI_ACCUMULATORS_H
#define WI_ACCUMULATORS_H

#include "plan/emit/expression.h"

/* How many vectors of 16 columns a step's reductions walk along together: their arrays stay in the nearest
 * cache, and within the private memory that drivers for CPUs give. */
int wi_reduction_vectors(const wi_partition *p, const wi_step *step);
/* In wide kernels a loop over the vectors, in which j is the first column of vector u. */
void wi_emit_vectors_begin(wi_emitter *e);
void wi_emit_vectors_end(wi_emitter *e);

/* Scratch cells that one split of the reduction leaves for each result. */
int wi_partial_cells(const wi_value *value);
/* Bytes of each of the step's cells: the widest of its reductions' registers. */
size_t wi_reduction_cell(const wi_partition *p, const wi_step *step);

/* All emit code for the reductions of one sweep. */
void wi_emit_accumulators(wi_emitter *e, int sweep);
void wi_emit_block_begin(wi_emitter *e, int sweep);
void wi_emit_block_end(wi_emitter *e, int sweep);
/* Takes an element; index: as an expression. */
void wi_emit_accumulate(wi_emitter *e, int m, const char *index);
/* The variable that holds the result, combined across lanes or work-items where the last dimension is
 * reduced. */
int wi_emit_result(wi_emitter *e, int m);

/* Splits: each leaves its partial results in scratch memory, and `combine` combines them, in order. vector: 16
 * neighbouring results at once. */
void wi_emit_partial_stores(wi_emitter *e);
void wi_emit_partial_loads(wi_emitter *e, bool vector);

/* Splits that the launch itself brings together: a tree over them, of which each node has up to
 * WI_JOIN_CHILDREN children. Who is last of a node's children combines them all, in order, and goes on as that
 * node (reduce.clh: cells). */
enum { WI_JOIN_CHILDREN = 16 };
/* Are the step's splits joined in this way? All of its reductions keep f32 then, and items are neighbours. */
bool wi_joins_splits(const wi_partition *p, const wi_loop *loop);
/* Bytes of the cells: zero before each launch, and after it. */
size_t wi_join_bytes(const wi_partition *p, const wi_step *step, int64_t results, int64_t splits);
/* From here on accumulators are totals of a split; behind the loop, in the item that is `last`, of all of them.
 * Rows are no longer reduced by a group: e->inner_is_reduced is false. */
void wi_emit_join(wi_emitter *e);

#endif
