/* What the kernels of loops and the epilogues of contractions share: code of indices, addresses and sweeps. */
#ifndef WI_CODE_SHARED_H
#define WI_CODE_SHARED_H

#include "plan/emit/accumulators.h"

/* The kernels of a loop. JOINED: a reduction whose launch joins its splits, if there are several. WHOLE: a loop without splits. PARTIAL:
 * the kernel that stores partial results of splits. COMBINE: the kernel that combines these. */
typedef enum wi_form { WI_FORM_JOINED, WI_FORM_WHOLE, WI_FORM_PARTIAL, WI_FORM_COMBINE } wi_form;
static inline bool wi_form_splits(wi_form form) {
    return form == WI_FORM_JOINED || form == WI_FORM_PARTIAL;
}

/* wi_never_whole: is the last dimension shorter than a vector at every batch size? wi_has_no_tail: does it consist of whole vectors at every
 * batch size? */
bool wi_never_whole(const wi_emitter *e);
bool wi_has_no_tail(const wi_emitter *e);
/* The type of addresses and of indices of reduced dimensions: "int" or "long". */
const char *wi_index_type(const wi_emitter *e);
/* The value of the step's member number i. */
const wi_value *wi_emitted_member(const wi_emitter *e, int i);
/* The number of kept or of reduced dimensions that have an index i<d>; the dimension of the lanes has the index j. */
int wi_count_dims(const wi_emitter *e, bool reduced);
/* Emits the indices i<d> of the kept or reduced dimensions from their row-major number, the expression `from`. */
void wi_emit_decode(wi_emitter *e, bool reduced, const char *from);
/* Emit the indices of reduced dimensions for a loop that increments them, without a division in its body: the code of the first function
 * stands before the loop, that of the second at the end of the body. */
void wi_emit_decode_first(wi_emitter *e, const char *from);
void wi_emit_decode_next(wi_emitter *e);
/* Emits all addresses: p<o> from the indices of kept dimensions, or q<o> from p<o> and the indices of reduced dimensions. */
void wi_emit_addresses(wi_emitter *e, bool reduced);

/* Emits the loop bounds of this item's part of a reduction. The innermost reduced dimension is the row; a round is one combination of the
 * indices of the other reduced dimensions. Items divide the rounds among them, or, if the row is the only reduced dimension, the row. */
void wi_emit_ranges(wi_emitter *e, wi_form form);
/* Emits one sweep over all elements of a row, or of 16 columns. */
void wi_emit_sweep(wi_emitter *e, int sweep);
/* Emits the results of this sweep's reductions, and the members that are computed from them once for each row. */
void wi_emit_row_values(wi_emitter *e, int sweep);

#endif
