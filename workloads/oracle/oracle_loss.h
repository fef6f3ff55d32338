/* What the losses among the oracle's ops share: options, reductions, shapes. */
#ifndef ORACLE_LOSS_H
#define ORACLE_LOSS_H

#include "oracle/draw.h"
#include "oracle/reference_loss.h"

/* Losses with weft_loss_options: integer 0 is the reduction, integer 1 says that the options are NULL, input 8 is the weights. */
enum { LOSS_REDUCTION, LOSS_PLAIN, LOSS_INTEGERS };
enum { LOSS_WEIGHTS = 8 };
#define LOSS_OPTIONS_LINE                                                                                    \
    "$b1 ? NULL : &(const weft_loss_options){WEFT_LOSS_OPTIONS_INIT, .reduction = "                          \
    "(weft_loss_reduction)$i0, .weights = $8}"

/* Are the first two inputs the same value, whose losses are hardly more than rounding? Few such calls are kept: then it is false. */
bool draw_is_dull(oracle_draw *draw, const oracle_call *call);
/* The least rank of a value that losses are taken of: seldom a lone number. */
int draw_loss_rank(oracle_draw *draw);
/* A float that broadcasts to this shape. */
int draw_narrow(oracle_draw *draw, const int64_t *dims, double low, double high);
/* The same of this dtype. */
int draw_narrow_of(oracle_draw *draw, weft_dtype dtype, const int64_t *dims, double low, double high);
weft_loss_reduction draw_reduction_kind(oracle_draw *draw);
/* The reduction and the weights of losses of this shape; false: there is no room for weights. */
bool draw_loss_options(oracle_draw *draw, oracle_call *call, const int64_t *dims);
weft_loss_options loss_options_of(const oracle_call *call, weft_tensor *const *in);
f64_array *loss_finished(const oracle_call *call, const f64_array *const *in, const f64_array *losses);

/* An op of losses: `line` are its arguments as C, `built` the expression over in, call and options, `value` the losses over in and
 * call. */
#define ORACLE_LOSS(op, line, built, value)                                                                  \
    ORACLE_BUILD(op) {                                                                                       \
        ORACLE_UNUSED;                                                                                       \
        const weft_loss_options given = loss_options_of(call, in);                                           \
        const weft_loss_options *const options = call->integers[LOSS_PLAIN] ? NULL : &given;                 \
        return built;                                                                                        \
    }                                                                                                        \
    ORACLE_EVALUATE(op) {                                                                                    \
        (void)sizes;                                                                                         \
        return loss_finished(call, in, value);                                                               \
    }                                                                                                        \
    ORACLE_OP(op, "weft_" #op "_loss(" line ", " LOSS_OPTIONS_LINE ")")

#endif
