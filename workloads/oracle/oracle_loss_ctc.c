/* Connectionist temporal classification: see oracle.h. */
#include "oracle/oracle_loss.h"
#include "oracle/reference_ctc.h"

enum { REDUCTION, BLANK, ZERO_INFINITY, SOFTMAX };

/* Log-probabilities (T, N, C): an existing value of such a shape where there is one. */
static int draw_log_probs(oracle_draw *draw) {
    const int x = draw_value_within(draw, DRAW_FLOAT, 3, 3, -40, 40);
    if (x >= 0 && draw_is_fixed(draw, x, 0) && draw_is_fixed(draw, x, 2) && draw_dim(draw, x, 0) < 40 &&
        draw_chance(draw, 60))
        return x;
    int64_t dims[] = {1 + draw_below(draw, 20), WEFT_BATCH, 1 + draw_below(draw, 12), WEFT_END};
    int64_t other[WEFT_MAX_RANK + 1];
    draw_shape(draw, 1, other);
    dims[1] = other[0] > 33 && other[0] < 1000000 ? 9 : other[0];
    return draw_source(
        draw, &(draw_source_options){.dtype = draw_format(draw), .dims = dims, .low = -5, .high = 1});
}

/* Labels are classes on one side of the blank, which is any class. */
static int draw_targets(oracle_draw *draw, oracle_call *call, const int64_t *dims, int64_t classes) {
    const int64_t blank = draw_chance(draw, 50) ? 0 : draw_below(draw, classes);
    call->integers[BLANK] = blank;
    const bool above = 2 * blank < classes;
    return draw_source(draw, &(draw_source_options){.dtype = WEFT_I32,
                                 .dims = dims,
                                 .low = above ? (double)blank + 1 : 0,
                                 .high = above ? (double)classes - 1 : (double)blank - 1});
}

static int draw_lengths(oracle_draw *draw, int64_t batch, int64_t low, int64_t high) {
    const int64_t dims[] = {batch, WEFT_END};
    return draw_source(draw,
        &(draw_source_options){.dtype = WEFT_I32, .dims = dims, .low = (double)low, .high = (double)high});
}

/* Where infinite losses are not made zero, each input is so long that its labels have a path. */
ORACLE_DRAW(ctc) {
    const int x = call->inputs[0] = draw_log_probs(draw);
    if (x < 0) return false;
    const int64_t steps = draw_dim(draw, x, 0), batch = draw_dim(draw, x, 1), classes = draw_dim(draw, x, 2);
    const bool any_length = draw_chance(draw, 40), long_targets = draw_chance(draw, 20);
    const int64_t room = any_length ? steps : (steps - 1) / 2;
    const int64_t labels = classes > 1 ? draw_below(draw, room + 1) : 0;
    const int64_t dims[] = {batch, labels + 1 + (long_targets ? draw_below(draw, 30) : 0), WEFT_END};
    call->integers[REDUCTION] = draw_reduction_kind(draw);
    call->integers[ZERO_INFINITY] = any_length;
    call->integers[SOFTMAX] = draw_chance(draw, 60) || !draw_is_no_probability(draw, x);
    call->inputs[1] = draw_targets(draw, call, dims, classes);
    call->inputs[2] = draw_lengths(draw, batch, any_length ? 0 : 2 * labels, steps);
    call->inputs[3] = draw_lengths(draw, batch, 0, labels);
    return call->inputs[1] >= 0 && call->inputs[2] >= 0 && call->inputs[3] >= 0;
}
ORACLE_BUILD(ctc) {
    ORACLE_UNUSED;
    const weft_ctc_loss_options options = {WEFT_CTC_LOSS_OPTIONS_INIT,
        .reduction = (weft_loss_reduction)call->integers[REDUCTION], .blank = (int32_t)call->integers[BLANK],
        .zero_infinity = call->integers[ZERO_INFINITY] != 0};
    weft_tensor *const x = call->integers[SOFTMAX] ? weft_log_softmax(in[0], 2) : in[0];
    return weft_ctc_loss(x, in[1], in[2], in[3], &options);
}
ORACLE_EVALUATE(ctc) {
    (void)sizes;
    const f64_ctc_options options = {.reduction = (weft_loss_reduction)call->integers[REDUCTION],
        .blank = (int)call->integers[BLANK],
        .zero_infinity = call->integers[ZERO_INFINITY] != 0};
    const f64_array *const inputs[] = {
        call->integers[SOFTMAX] ? f64_log_softmax(in[0], 2) : in[0], in[1], in[2], in[3]};
    return f64_ctc(inputs, &options);
}
ORACLE_OP_WITH(ctc,
    "weft_ctc_loss($b3 ? weft_log_softmax($0, 2) : $0, $1, $2, $3, &(const weft_ctc_loss_options){"
    "WEFT_CTC_LOSS_OPTIONS_INIT, .reduction = (weft_loss_reduction)$i0, .blank = $i1, .zero_infinity = $b2})",
    .first_gradient_only = true);
