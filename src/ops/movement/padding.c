/* Pad, roll, tile, and dilate, the gradient of a slice. Each is one node that reads its input padded (wi_padding_mode), so that one
 * kernel pads any number of axes and computes the maps and reductions that follow. The input must be in memory, and kernels read
 * nothing outside of it. */
#include "graph/sizes.h"
#include "ops/movement/movement.h"
#include "ops/op_table.h"

/* ---- what the nodes share ---- */

const wi_op wi_op_in_memory = {.name = "stored value", .kind = WI_VIEW, .view = wi_same_view};

/* Checks at a plan's length what check_pad checks. */
static weft_status padding_fits(const weft_tensor *y, weft_tensor *const *inputs, const wi_shape *shape,
    const wi_attributes *attributes) {
    const wi_padding_attributes *const a = &attributes->padding;
    for (int axis = 0; axis < shape->rank; axis++) {
        const int64_t n = inputs[0]->shape.dims[axis], before = a->before[axis],
                      after = shape->dims[axis] - n - before;
        const bool wraps = a->mode[axis] == WI_PADDING_WRAP && y->op == &wi_op_pad;
        const int64_t most = a->mode[axis] == WI_PADDING_REFLECT ? n - 1 : wraps ? n : INT64_MAX;
        if (n < 0 || a->mode[axis] == WI_PADDING_NONE) continue;
        if (a->mode[axis] == WI_PADDING_INTERIOR || (a->mode[axis] == WI_PADDING_WRAP && !wraps)) continue;
        if (before < 0 || after < 0 || before > most || after > most)
            WI_FAIL(WEFT_ERROR_SHAPE,
                "pad: the padding (%lld, %lld) of axis %d, which has %lld elements, is negative or more than "
                "%lld",
                (long long)before, (long long)after, axis, (long long)n, (long long)most);
    }
    return WEFT_OK;
}

/* Creates a roll at a plan's sizes, modulo which its shifts are taken. In this op a negative shift is a number; in the other padded reads it
 * would be a multiple of the batch. */
static weft_tensor *roll_again(const weft_tensor *y, weft_tensor *const *inputs, const wi_shape *shape,
    const wi_attributes *attributes) {
    (void)shape, (void)attributes;
    return wi_roll(
        inputs[0]->op == &wi_op_in_memory ? inputs[0]->inputs[0] : inputs[0], y->attributes->padding.before);
}

#define PADDED_OP(op, again)                                                                                 \
    const wi_op wi_op_##op = {.name = #op,                                                                   \
        .kind = WI_MAP,                                                                                      \
        .attribute_bytes = sizeof(wi_padding_attributes),                                                    \
        .dimensions = WI_DIMENSIONS(wi_padding_attributes, before, WEFT_MAX_RANK),                           \
        .fits = padding_fits,                                                                                \
        .remake = (again),                                                                                   \
        .reads_padded = true};
PADDED_OP(dilate, NULL)
PADDED_OP(pad, NULL)
PADDED_OP(roll, roll_again)
PADDED_OP(tile, NULL)

static weft_tensor *padded_node(
    const wi_op *op, weft_tensor *x, const wi_shape *shape, const wi_attributes *attributes) {
    weft_tensor *memory = wi_node(x->graph, &wi_op_in_memory, &x, 1, x->dtype, &x->shape, NULL);
    return memory ? wi_node(x->graph, op, &memory, 1, x->dtype, shape, attributes) : NULL;
}

/* ---- zeros between ---- */

weft_tensor *wi_dilate_dims(weft_tensor *x, int axis, int64_t before, int64_t step, int64_t length) {
    if (!x || x->shape.dims[axis] == length) return x;
    wi_shape shape = x->shape;
    shape.dims[axis] = length;
    wi_attributes attributes = {.padding = {.step = step}};
    attributes.padding.mode[axis] = step == 1 ? WI_PADDING_CONSTANT : WI_PADDING_INTERIOR;
    attributes.padding.before[axis] = before;
    return padded_node(&wi_op_dilate, x, &shape, &attributes);
}

/* ---- pad ---- */

static bool check_pad(weft_tensor *x, int axis, int64_t before, int64_t after, weft_pad_mode mode) {
    const int64_t size = wi_counted(x->graph, x->shape.dims[axis]), more = before > after ? before : after;
    const int64_t most = mode == WEFT_PAD_REFLECT ? size - 1 : mode == WEFT_PAD_WRAP ? size : 1 << 30;
    char text[WI_SHAPE_TEXT];
    if (before < 0 || after < 0)
        wi_graph_fail(x->graph, WEFT_ERROR_ARGUMENT,
            "pad: the padding (%lld, %lld) of axis %d is negative; use weft_slice to remove elements",
            (long long)before, (long long)after, axis);
    else if (more > 0 && wi_position_is_less(x->graph, most, more))
        wi_graph_fail(x->graph, WEFT_ERROR_SHAPE,
            "pad: the padding (%lld, %lld) of axis %d of %s is more than %lld", (long long)before,
            (long long)after, axis, wi_shape_print(x->graph, &x->shape, text), (long long)most);
    return x->graph->status == WEFT_OK;
}

static weft_tensor *build_pad(
    weft_tensor *x, const int64_t *before, const int64_t *after, weft_pad_mode mode, double value) {
    static const int8_t modes[] = {[WEFT_PAD_CONSTANT] = WI_PADDING_CONSTANT,
        [WEFT_PAD_REFLECT] = WI_PADDING_REFLECT,
        [WEFT_PAD_EDGE] = WI_PADDING_EDGE,
        [WEFT_PAD_WRAP] = WI_PADDING_WRAP};
    weft_graph *graph = wi_inputs_graph("pad", &x, 1);
    if (!graph) return NULL;
    if ((unsigned)mode > WEFT_PAD_WRAP)
        return wi_graph_fail(
            graph, WEFT_ERROR_ARGUMENT, "pad: mode is %d, which is not a weft_pad_mode", (int)mode);
    if (x->shape.rank > 0 && (!before || !after))
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT, "pad: before or after is NULL");
    const bool computes = wi_dtype_computes(x->dtype) || x->dtype == WEFT_BOOL;
    if (mode == WEFT_PAD_CONSTANT && !wi_takes_number(graph, "pad", value)) return NULL;
    if (mode == WEFT_PAD_CONSTANT && value != 0 && !computes)
        return wi_graph_fail(graph, WEFT_ERROR_DTYPE,
            "pad: a tensor of %s can only be padded with 0, not %g; use weft_cast to convert it first",
            weft_dtype_name(x->dtype), value);
    wi_shape shape = x->shape;
    wi_attributes attributes = {.padding = {.outside = mode == WEFT_PAD_CONSTANT ? value : 0}};
    for (int axis = 0; axis < shape.rank; axis++) {
        if (!check_pad(x, axis, before[axis], after[axis], mode)) return NULL;
        if (before[axis] == 0 && after[axis] == 0) continue;
        attributes.padding.mode[axis] = modes[mode];
        attributes.padding.before[axis] = before[axis];
        shape.dims[axis] = wi_dim_add(graph, wi_dim_add(graph, shape.dims[axis], before[axis]), after[axis]);
    }
    return wi_shape_equal(&shape, &x->shape) ? x : padded_node(&wi_op_pad, x, &shape, &attributes);
}

weft_tensor *weft_pad(
    weft_tensor *x, const int64_t *before, const int64_t *after, weft_pad_mode mode, double value) {
    return WI_CALL(x, "weft_pad", build_pad(x, before, after, mode, value));
}

/* ---- roll ---- */

/* If the size of an axis is known, the shift is taken modulo the size. */
weft_tensor *wi_roll(weft_tensor *x, const int64_t *before) {
    wi_padding_attributes padding = {0};
    bool rolls = false;
    for (int i = 0; i < x->shape.rank; i++) {
        const int64_t size = x->shape.dims[i];
        const bool known = size > 0 && !wi_is_symbolic(size);
        padding.before[i] = known ? before[i] % size : before[i];
        padding.mode[i] = padding.before[i] ? WI_PADDING_WRAP : WI_PADDING_NONE;
        rolls = rolls || padding.before[i];
    }
    return rolls ? padded_node(&wi_op_roll, x, &x->shape, &(wi_attributes){.padding = padding}) : x;
}

static weft_tensor *build_roll(weft_tensor *x, int axis, int64_t shift) {
    weft_graph *graph = wi_inputs_graph("roll", &x, 1);
    if (!graph) return NULL;
    const int index = wi_axis_index(x, "roll", axis);
    if (index < 0) return NULL;
    if (shift > INT32_MAX || shift < -INT32_MAX)
        return wi_graph_fail(
            graph, WEFT_ERROR_ARGUMENT, "roll: a shift of %lld is more than 2^31 - 1", (long long)shift);
    int64_t before[WEFT_MAX_RANK] = {0};
    before[index] = shift;
    return wi_roll(x, before);
}

weft_tensor *weft_roll(weft_tensor *x, int axis, int64_t shift) {
    return WI_CALL(x, "weft_roll", build_roll(x, axis, shift));
}

/* ---- tile ---- */

static weft_tensor *build_tile(weft_tensor *x, int rank, const int64_t *repeats) {
    weft_graph *graph = wi_inputs_graph("tile", &x, 1);
    if (!graph) return NULL;
    if (rank < 0 || rank > WEFT_MAX_RANK || (rank > 0 && !repeats))
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE, "tile: rank %d is not in 0..%d", rank, WEFT_MAX_RANK);
    const int more = rank - x->shape.rank; /* new axes in front; negative: axes of x that are not repeated */
    wi_shape shape = wi_shape_of_rank(&x->shape, rank), stretched = shape;
    wi_attributes attributes = {.padding = {0}};
    for (int i = 0; i < rank; i++) {
        const int axis = more < 0 ? i - more : i;
        const int64_t size = shape.dims[axis], n = wi_magnitude(size),
                      most = (INT64_C(1) << 40) / (wi_is_symbolic(n) ? 1 : n);
        if (repeats[i] < 1 || repeats[i] > most)
            return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
                "tile: %lld repeats of axis %d are not in 1..%lld", (long long)repeats[i], axis,
                (long long)most);
        shape.dims[axis] = wi_dim_multiply(graph, size, repeats[i]);
        if (size == 1)
            stretched.dims[axis] = repeats[i];
        else if (repeats[i] > 1)
            attributes.padding.mode[axis] = WI_PADDING_WRAP;
    }
    weft_tensor *wide = weft_expand(x, stretched.rank, stretched.dims);
    if (!wide || wi_shape_equal(&stretched, &shape)) return wide;
    return padded_node(&wi_op_tile, wide, &shape, &attributes);
}

weft_tensor *weft_tile(weft_tensor *x, int rank, const int64_t *repeats) {
    return WI_CALL(x, "weft_tile", build_tile(x, rank, repeats));
}
