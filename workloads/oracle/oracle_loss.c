/* What losses share: reductions, weights, shapes. See oracle_loss.h. */
#include "oracle/oracle_loss.h"
#include <string.h>

/* ---- options ---- */

f64_array *loss_finished(const oracle_call *call, const f64_array *const *in, const f64_array *losses) {
    if (in[LOSS_WEIGHTS]) losses = f64_mul(losses, in[LOSS_WEIGHTS]);
    return f64_loss_reduced(losses, (weft_loss_reduction)call->integers[LOSS_REDUCTION]);
}

weft_loss_options loss_options_of(const oracle_call *call, weft_tensor *const *in) {
    return (weft_loss_options){WEFT_LOSS_OPTIONS_INIT,
        .reduction = (weft_loss_reduction)call->integers[LOSS_REDUCTION], .weights = in[LOSS_WEIGHTS]};
}

/* Mostly the losses themselves, which other ops can read. */
weft_loss_reduction draw_reduction_kind(oracle_draw *draw) {
    if (draw_chance(draw, 55)) return WEFT_LOSS_NONE;
    static const weft_loss_reduction kinds[] = {WEFT_LOSS_MEAN, WEFT_LOSS_SUM, WEFT_LOSS_BATCH_MEAN};
    return kinds[draw_below(draw, 3)];
}

bool draw_loss_options(oracle_draw *draw, oracle_call *call, const int64_t *dims) {
    call->integers[LOSS_REDUCTION] = draw_reduction_kind(draw);
    if (draw_chance(draw, 40)) {
        call->inputs[LOSS_WEIGHTS] = draw_narrow(draw, dims, -3, 3);
        return call->inputs[LOSS_WEIGHTS] >= 0;
    }
    call->integers[LOSS_PLAIN] = call->integers[LOSS_REDUCTION] == WEFT_LOSS_MEAN && draw_chance(draw, 50);
    return true;
}

/* ---- shapes ---- */

bool draw_is_dull(oracle_draw *draw, const oracle_call *call) {
    return call->inputs[0] == call->inputs[1] && draw_chance(draw, 85);
}

int draw_loss_rank(oracle_draw *draw) {
    return draw_chance(draw, 90);
}

int draw_narrow(oracle_draw *draw, const int64_t *dims, double low, double high) {
    return draw_narrow_of(draw, draw_format(draw), dims, low, high);
}

int draw_narrow_of(oracle_draw *draw, weft_dtype dtype, const int64_t *dims, double low, double high) {
    int64_t narrow[WEFT_MAX_RANK + 1];
    int rank = f64_list_length(dims);
    const int dropped = draw_chance(draw, 40) ? (int)draw_below(draw, rank + 1) : 0;
    rank -= dropped;
    memcpy(narrow, dims + dropped, (size_t)rank * sizeof *narrow);
    for (int i = 0; i < rank; i++)
        if (draw_chance(draw, 25)) narrow[i] = 1;
    narrow[rank] = WEFT_END;
    return draw_shaped(draw, dtype, narrow, low, high);
}
