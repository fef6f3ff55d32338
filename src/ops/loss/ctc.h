/* Connectionist temporal classification, for its kernels. */
#ifndef WI_CTC_H
#define WI_CTC_H

#include "ops/op_table.h"

enum { WI_CTC_LOG_PROBS, WI_CTC_TARGETS, WI_CTC_INPUT_LENGTHS, WI_CTC_TARGET_LENGTHS, WI_CTC_INPUTS };
enum {
    WI_CTC_SPREAD_TARGETS,
    WI_CTC_SPREAD_INPUT_LENGTHS,
    WI_CTC_SPREAD_TARGET_LENGTHS,
    WI_CTC_SPREAD_TABLE,
    WI_CTC_SPREAD_G,
    WI_CTC_SPREAD_INPUTS
};
enum { WI_CTC_HEAD = 16 }; /* the elements of a table before its rows */

/* ctc_alone computes only the losses; ctc_table, a table for each example that begins with the loss of the example;
 * ctc_gradient, the gradient from the tables. */
extern const wi_op wi_op_ctc_alone, wi_op_ctc_table, wi_op_ctc_gradient;

/* The elements of a row of states, padded to whole vectors. */
static inline int64_t wi_ctc_row_width(int64_t labels) {
    return (2 * labels + 1 + 15) / 16 * 16;
}

static inline int64_t wi_ctc_table_size(int64_t steps, int64_t labels) {
    return WI_CTC_HEAD + 2 * steps * wi_ctc_row_width(labels);
}

#endif
