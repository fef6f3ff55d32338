/* What kernels of loops and epilogues of products have in common: indices, addresses, sweeps over elements. */
#ifndef WI_CODE_SHARED_H
#define WI_CODE_SHARED_H

#include "plan/emit/accumulators.h"

/* The kernels of a loop: one that does all, whether split or not; or one that does all where it is not split,
 * one that leaves partial results, and one that combines those. */
typedef enum wi_form { WI_FORM_JOINED, WI_FORM_WHOLE, WI_FORM_PARTIAL, WI_FORM_COMBINE } wi_form;
static inline bool wi_form_splits(wi_form form) {
    return form == WI_FORM_JOINED || form == WI_FORM_PARTIAL;
}

/* What the size of the last dimension says for every batch: no whole vector, or no tail. */
bool wi_never_whole(const wi_emitter *e);
bool wi_has_no_tail(const wi_emitter *e);
/* Of addresses and rounds. */
const char *wi_index_type(const wi_emitter *e);
/* Member number i of the step. */
const wi_value *wi_emitted_member(const wi_emitter *e, int i);
/* Dimensions that the lanes do not walk along, of one sort. */
int wi_count_dims(const wi_emitter *e, bool reduced);
/* Splits the number `from` into indices i<d> of the kept or reduced dimensions, the last one fastest. */
void wi_emit_decode(wi_emitter *e, bool reduced, const char *from);
/* The same of reduced dimensions by counting, without division: before a loop, and at the end of its body. */
void wi_emit_decode_first(wi_emitter *e, const char *from);
void wi_emit_decode_next(wi_emitter *e);
/* p<o> from the kept indices, or q<o> from p<o> and the reduced ones. */
void wi_emit_addresses(wi_emitter *e, bool reduced);

/* The range of rounds, or of the row when there are none, that this item works on. */
void wi_emit_ranges(wi_emitter *e, wi_form form);
/* One sweep over all elements that belong to a row (or to 16 columns). */
void wi_emit_sweep(wi_emitter *e, int sweep);
/* Reductions of this sweep are finished, and what is computed from them once a row. */
void wi_emit_row_values(wi_emitter *e, int sweep);

#endif
