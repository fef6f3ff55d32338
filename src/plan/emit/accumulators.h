/* Accumulators: the variables in which generated kernels hold the state of reductions while they loop over the elements.
 *
 * Member m of the step has a<m>, the value so far. Depending on the op, it also has d<m>, the sum of the current block of elements; e<m>,
 * the rounding errors that are carried along, or bits that reveal a NaN; g<m>, the index of the best element. If an item reduces several
 * vectors of 16 columns together, each of these variables is an array with an element for each vector u. The table in accumulators.c has a
 * row for each op, with the name of its functions in reduce.clh and group.clh. */
#ifndef WI_ACCUMULATORS_H
#define WI_ACCUMULATORS_H

#include "plan/emit/expression.h"

/* The most vectors of 16 columns that an item reduces together: so few that the arrays of all accumulators stay in the L1 cache, and in the
 * private memory that drivers for CPUs give an item. */
int wi_reduction_vectors(const wi_partition *p, const wi_step *step);
/* Emit the beginning and the end of a loop over the vectors u, in which j is the first column of vector u. They emit nothing if
 * accumulators are not arrays (e->wide is 0). */
void wi_emit_vectors_begin(wi_emitter *e);
void wi_emit_vectors_end(wi_emitter *e);

/* The number of partial results that each split stores in scratch memory for each result of the value: 1, or 2 if the result is an index, as
 * for argmax; 0 if the value is not a reduction. */
int wi_partial_cells(const wi_value *value);
/* Bytes of scratch memory for each partial result: the size of the widest dtype in which a reduction of the step accumulates. */
size_t wi_reduction_cell(const wi_partition *p, const wi_step *step);

/* Emit, for all reductions of one sweep: the declarations of accumulators, the declaration of d<m> at the beginning of a block, and the
 * addition of d<m> to a<m> at its end. */
void wi_emit_accumulators(wi_emitter *e, int sweep);
void wi_emit_block_begin(wi_emitter *e, int sweep);
void wi_emit_block_end(wi_emitter *e, int sweep);
/* Emits code that adds the current element to the accumulators of member m. index: the index of the element among the reduced ones, as an
 * expression. */
void wi_emit_accumulate(wi_emitter *e, int m, const char *index);
/* Returns the number of the variable with the result of member m. If the last dimension is reduced, the code first combines the lanes or
 * work-items. */
int wi_emit_result(wi_emitter *e, int m);

/* Splits with two launches: each split stores its partial results in scratch memory, and the kernel `combine` loads and combines them in
 * the order of the splits. vector: the code loads 16 neighbouring results at once. */
void wi_emit_partial_stores(wi_emitter *e);
void wi_emit_partial_loads(wi_emitter *e, bool vector);

/* Splits that their launch joins: the splits are the leaves of a tree whose nodes have up to WI_JOIN_CHILDREN children. The child that
 * finishes last combines the values of all children in order, and continues as their parent. Values pass through cells (reduce.clh). */
enum { WI_JOIN_CHILDREN = 16 };
/* Does the launch join the splits? Yes if the loop may be split, wi_device_profile.item_walks is false, and all reductions accumulate
 * in f32 and have no index. */
bool wi_joins_splits(const wi_partition *p, const wi_loop *loop);
/* Bytes of the cells, which are zero before and after each launch. */
size_t wi_join_bytes(const wi_partition *p, const wi_step *step, int64_t results, int64_t splits);
/* Emits the join. After the emitted code, the item in which `last` is true has the totals of all splits in its accumulators. Sets
 * e->inner_is_reduced to false, because nothing is left for the group to reduce. */
void wi_emit_join(wi_emitter *e);

#endif
