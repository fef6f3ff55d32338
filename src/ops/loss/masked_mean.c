/* The mean of the elements that a mask selects: their sum divided by their number. Other elements are replaced by 0 and not multiplied by
 * 0, because they may be NaN. */
#include "ops/loss/loss.h"
#include "ops/loss/loss_terms.h"
#include "ops/reduction/reduce.h"

static const char op[] = "masked_mean";

/* The mask as bool in the shape of x. NULL: it does not broadcast, and the error is recorded. */
static weft_tensor *counting(weft_tensor *x, weft_tensor *mask) {
    char text_x[WI_SHAPE_TEXT], text_mask[WI_SHAPE_TEXT];
    wi_shape both;
    if (!wi_shape_broadcast(&x->shape, &mask->shape, &both) || !wi_shape_equal(&both, &x->shape))
        return wi_graph_fail(x->graph, WEFT_ERROR_SHAPE, "%s: the mask %s does not broadcast to %s", op,
            wi_shape_print(mask->graph, &mask->shape, text_mask),
            wi_shape_print(x->graph, &x->shape, text_x));
    if (mask->dtype != WEFT_BOOL) mask = weft_cast(mask, WEFT_BOOL);
    return weft_expand(mask, x->shape.rank, x->shape.dims);
}

static weft_tensor *build_masked_mean_axes(
    weft_tensor *x, weft_tensor *mask, const int64_t *axes, bool keep) {
    weft_tensor *inputs[] = {x, mask};
    uint32_t reduced;
    if (!wi_inputs_graph(op, inputs, 2) || !wi_reduce_float_axes(op, x, axes, &reduced)) return NULL;
    weft_tensor *const counts = counting(x, mask);
    if (!counts) return NULL;
    weft_tensor *const wide = wi_wide(x), *const zero = weft_number(wide, 0),
                       *const one = weft_number(wide, 1);
    weft_tensor *const number = wi_sum_keep(weft_where(counts, one, zero), reduced);
    weft_tensor *const sum = wi_sum_keep(weft_where(counts, wide, zero), reduced);
    weft_tensor *mean = weft_cast(weft_div(sum, weft_maximum(number, one)), x->dtype);
    if (!keep) mean = wi_drop_axes(mean, reduced);
    const bool is_whole = reduced == (1u << x->shape.rank) - 1;
    return mean && is_whole ? wi_note_mean(mean, number) : mean;
}

weft_tensor *weft_masked_mean_axes(weft_tensor *x, weft_tensor *mask, const int64_t *axes, bool keep) {
    return WI_CALL(x, "weft_masked_mean", build_masked_mean_axes(x, mask, axes, keep));
}
