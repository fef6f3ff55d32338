/* Losses of numbers and of probabilities: see oracle_loss.h. */
#include "oracle/oracle_loss.h"
#include <math.h>

/* ---- two inputs of one shape ---- */

/* `low` and `high` bound the first input and, at 2 and 3, the second. */
static bool draw_equals(oracle_draw *draw, oracle_call *call, const double limits[4], int64_t *dims) {
    call->inputs[0] = draw_value_within(draw, DRAW_FLOAT, draw_loss_rank(draw), 5, limits[0], limits[1]);
    if (call->inputs[0] < 0) return false;
    draw_dims(draw, call->inputs[0], dims);
    call->inputs[1] = draw_shaped(draw, draw_format(draw), dims, limits[2], limits[3]);
    return call->inputs[1] >= 0 && !draw_is_dull(draw, call);
}

static bool draw_pair(oracle_draw *draw, oracle_call *call, const double limits[4]) {
    int64_t dims[WEFT_MAX_RANK + 1];
    return draw_equals(draw, call, limits, dims) && draw_loss_options(draw, call, dims);
}
#define LIMITS(...) ((const double[4]){__VA_ARGS__})

ORACLE_DRAW(mse) {
    return draw_pair(draw, call, LIMITS(-20, 20, -20, 20));
}
ORACLE_LOSS(mse, "$0, $1", weft_mse_loss(in[0], in[1], options), f64_mse(in[0], in[1]));

ORACLE_DRAW(l1) {
    return draw_pair(draw, call, LIMITS(-40, 40, -40, 40));
}
ORACLE_LOSS(l1, "$0, $1", weft_l1_loss(in[0], in[1], options), f64_l1(in[0], in[1]));

/* Where a straight part begins: among the differences, below nearly all of them, above nearly all. */
static double draw_bend(oracle_draw *draw) {
    static const double ends[] = {1e-3, 1, 20};
    return draw_exact(draw_chance(draw, 60) ? draw_between(draw, 0.05, 3) : ends[draw_below(draw, 3)]);
}

ORACLE_DRAW(huber) {
    call->numbers[0] = draw_bend(draw);
    return draw_pair(draw, call, LIMITS(-40, 40, -40, 40));
}
ORACLE_LOSS(huber, "$0, $1, $n0", weft_huber_loss(in[0], in[1], (float)call->numbers[0], options),
    f64_huber(in[0], in[1], call->numbers[0]));

ORACLE_DRAW(smooth_l1) {
    call->numbers[0] = draw_chance(draw, 20) ? 0 : draw_bend(draw);
    return draw_pair(draw, call, LIMITS(-40, 40, -40, 40));
}
ORACLE_LOSS(smooth_l1, "$0, $1, $n0", weft_smooth_l1_loss(in[0], in[1], (float)call->numbers[0], options),
    f64_smooth_l1(in[0], in[1], call->numbers[0]));

ORACLE_DRAW(poisson_nll) {
    const bool log_input = draw_chance(draw, 50);
    call->integers[LOSS_INTEGERS] = log_input;
    call->integers[LOSS_INTEGERS + 1] = draw_chance(draw, 50);
    return draw_pair(draw, call, log_input ? LIMITS(-6, 5, 0, 40) : LIMITS(0.05, 40, 0, 40));
}
ORACLE_LOSS(poisson_nll, "$0, $1, $b2, $b3",
    weft_poisson_nll_loss(
        in[0], in[1], call->integers[LOSS_INTEGERS] != 0, call->integers[LOSS_INTEGERS + 1] != 0, options),
    f64_poisson_nll(
        in[0], in[1], call->integers[LOSS_INTEGERS] != 0, call->integers[LOSS_INTEGERS + 1] != 0));

ORACLE_DRAW(kl_div) {
    const bool log_target = draw_chance(draw, 40);
    call->integers[LOSS_INTEGERS] = log_target;
    const double least = draw_chance(draw, 30) ? 0 : 0.01;
    return draw_pair(draw, call, log_target ? LIMITS(-12, 0, -12, 0) : LIMITS(-12, 0, least, 1)) &&
           draw_is_no_probability(draw, call->inputs[0]) &&
           (!log_target || draw_is_no_probability(draw, call->inputs[1]));
}
ORACLE_LOSS(kl_div, "$0, $1, $b2",
    weft_kl_div_loss(in[0], in[1], call->integers[LOSS_INTEGERS] != 0, options),
    f64_kl_div(in[0], in[1], call->integers[LOSS_INTEGERS] != 0));

/* ---- gauss, binary cross-entropy ---- */

/* Variances that are bounded from below have a gradient as if they were not, which differences do not show: NaN stands for their
 * losses where gradients are judged. */
static f64_array *unless_bounded(f64_array *losses, const f64_array *variance) {
    bool is_bounded = false;
    for (size_t i = 0; i < variance->count; i++) is_bounded = is_bounded || variance->value[i] < 1e-5;
    for (size_t i = 0; i < losses->count && is_bounded && !f64_tracks_errors(); i++) losses->value[i] = NAN;
    return losses;
}

/* The variance is of the mean's shape, without its last axis, or with 1 there. */
ORACLE_DRAW(gaussian_nll) {
    int64_t dims[WEFT_MAX_RANK + 1], like[WEFT_MAX_RANK + 1];
    if (!draw_equals(draw, call, LIMITS(-12, 12, -12, 12), dims)) return false;
    draw_dims(draw, call->inputs[0], like);
    const int rank = f64_list_length(dims);
    const int64_t form = rank ? draw_below(draw, 3) : 0;
    if (form == 1) like[rank - 1] = 1;
    if (form == 2) like[rank - 1] = WEFT_END;
    call->inputs[2] = draw_shaped(draw, draw_format(draw), like, 0.05, 6);
    call->integers[LOSS_INTEGERS] = draw_chance(draw, 50);
    return call->inputs[2] >= 0 && draw_loss_options(draw, call, dims);
}
ORACLE_LOSS(gaussian_nll, "$0, $1, $2, $b2",
    weft_gaussian_nll_loss(in[0], in[1], in[2], call->integers[LOSS_INTEGERS] != 0, options),
    unless_bounded(f64_gaussian_nll(in[0], in[1], in[2], call->integers[LOSS_INTEGERS] != 0), in[2]));

ORACLE_DRAW(bce) {
    int64_t dims[WEFT_MAX_RANK + 1];
    return draw_equals(draw, call, LIMITS(1e-4, 1 - 1e-4, 0, 1), dims) && draw_loss_options(draw, call, dims);
}
ORACLE_LOSS(bce, "$0, $1", weft_bce_loss(in[0], in[1], options), f64_bce(in[0], in[1]));

ORACLE_DRAW(bce_with_logits) {
    int64_t dims[WEFT_MAX_RANK + 1];
    if (!draw_equals(draw, call, LIMITS(-40, 40, 0, 1), dims)) return false;
    if (!draw_is_no_probability(draw, call->inputs[0])) return false;
    if (draw_chance(draw, 50)) {
        call->inputs[2] = draw_narrow(draw, dims, 0.1, 4);
        if (call->inputs[2] < 0) return false;
    }
    return draw_loss_options(draw, call, dims);
}
ORACLE_LOSS(bce_with_logits, "$0, $1, $2", weft_bce_with_logits_loss(in[0], in[1], in[2], options),
    f64_bce_with_logits(in[0], in[1], in[2]));
