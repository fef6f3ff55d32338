/* Images: shapes are (N, C, spatial...), memory is (N, spatial..., C). Ops of images take their operands
 * through wi_channels_last and give their results through wi_channels_first; both are other strides over the
 * same memory, and one after the other is nothing at all. */
#include "ops/op_table.h"

/* The axis of channels moved from one place to another, the others in their order. */
static weft_tensor *move_channels(weft_tensor *x, int from, int to) {
    if (!x) return NULL;
    int order[WEFT_MAX_RANK], next = 0;
    for (int i = 0; i < x->shape.rank; i++) {
        if (next == from) next++;
        order[i] = i == to ? from : next++;
    }
    return weft_permute_axes(x, x->shape.rank, order);
}

weft_tensor *wi_channels_last(weft_tensor *x) {
    return x ? move_channels(x, 1, x->shape.rank - 1) : NULL;
}
weft_tensor *wi_channels_first(weft_tensor *x) {
    return x ? move_channels(x, x->shape.rank - 1, 1) : NULL;
}
