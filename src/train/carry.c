/* State that a training step carries over to the next step (contract in weft/text.h). */
#include "base/names.h"
#include "cl/context.h"
#include "graph/weft_graph.h"
#include <inttypes.h>
#include <string.h>
#include <weft/text.h>

static weft_tensor *build_carried_state(weft_graph *graph, int rank, const int64_t *dims) {
    static const float zero = 0;
    if (!graph) return NULL;
    size_t count = 1;
    if (rank > WEFT_MAX_RANK) return weft_array(graph, WEFT_F32, &zero, rank, dims); /* records the error */
    for (int i = 0; i < rank && dims; i++) {
        if (dims[i] < 1 || dims[i] > (INT64_C(1) << 40) / (int64_t)count) /* weft_array records the error */
            return weft_array(graph, WEFT_F32, &zero, rank, dims);
        count *= (size_t)dims[i];
    }
    const weft_allocator *const allocator = graph->context->allocator;
    float *const zeros = wi_allocate_array(allocator, count, sizeof zero);
    if (!zeros) return wi_graph_fail_recorded(graph, WEFT_ERROR_MEMORY);
    weft_tensor *state = weft_array(graph, WEFT_F32, zeros, rank, dims);
    wi_release(allocator, zeros);
    return state;
}

weft_tensor *weft_carried_state(weft_graph *graph, int rank, const int64_t *dims) {
    return WI_CALL_IN(graph, "weft_carried_state", build_carried_state(graph, rank, dims));
}

static weft_tensor *build_carry_start(weft_tensor *state, weft_tensor *carry, int axis) {
    char text[WI_SHAPE_TEXT], text_carry[WI_SHAPE_TEXT];
    weft_tensor *inputs[] = {state, carry};
    weft_graph *graph = wi_inputs_graph("weft_carry_start", inputs, carry ? 2 : 1);
    if (!graph || !carry) return graph ? state : NULL;
    const int rank = state->shape.rank, a = axis < 0 ? axis + rank : axis;
    if (carry->dtype != WEFT_F32)
        return wi_graph_fail(
            graph, WEFT_ERROR_DTYPE, "weft_carry_start: carry is %s, not f32", weft_dtype_name(carry->dtype));
    if (a < 0 || a >= rank || carry->shape.rank != 1 || carry->shape.dims[0] != state->shape.dims[a])
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "weft_carry_start: carry is %s, expected one number for each index of axis %d of the state %s",
            wi_shape_print(carry->graph, &carry->shape, text_carry), axis,
            wi_shape_print(state->graph, &state->shape, text));
    int64_t dims[WEFT_MAX_RANK];
    for (int i = 0; i < rank; i++) dims[i] = i == a ? carry->shape.dims[0] : 1;
    weft_tensor *beside = weft_reshape_shape(carry, rank, dims);
    /* not a product with `carry`, because the dropped state may be NaN */
    return weft_where(weft_equal(beside, weft_number(beside, 0)), weft_number(state, 0), state);
}

weft_tensor *weft_carry_start(weft_tensor *state, weft_tensor *carry, int axis) {
    return WI_CALL(state, "weft_carry_start", build_carry_start(state, carry, axis));
}

weft_status weft_carry_reset(weft_tensor *state) {
    if (!state) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_carry_reset: state is NULL");
    WI_TRY(weft_graph_status(state->graph));
    if (!state->variable || state->variable->trainable)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_carry_reset: %s %s is not a state", wi_article(state->op->name),
            state->op->name);
    const weft_allocator *const allocator = state->graph->context->allocator;
    const size_t bytes = state->variable->bytes;
    void *const zeros = wi_allocate(allocator, bytes);
    if (!zeros) return WEFT_ERROR_MEMORY;
    const weft_status status = weft_tensor_write(state, zeros, bytes);
    if (status == WEFT_OK && state->variable->whole)
        memset(state->variable->whole, 0, state->variable->whole_bytes);
    wi_release(allocator, zeros);
    return status;
}
