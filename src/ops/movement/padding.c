/* Longer axes: pad, roll, tile, and zeros between (the gradient of a slice). Each is one node that is a padded read
 * of its input (see wi_padding_mode), so that one kernel pads any number of axes, with maps and reductions after
 * it. The input must be in memory; nothing is read outside of it. */
#include "ops/op_table.h"
#include <string.h>

/* ---- what the nodes share ---- */

static bool same_view(
    const weft_tensor *y, const wi_extent *x, const wi_layout *in, const wi_extent *out, wi_layout *layout) {
    (void)y, (void)x, (void)out;
    *layout = *in;
    return true;
}

static void same_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    (void)y;
    gradients[0] = g;
}

const wi_op wi_op_in_memory = {.name = "stored value",
    .kind = WI_VIEW,
    .view = same_view,
    .backward = same_backward,
    .rules = wi_elementwise_rules};

/* What is added to an axis has the same rule at any length: mirrored are at most n - 1 elements of n. */
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

static weft_tensor *padded_node(
    const wi_op *op, weft_tensor *x, const wi_shape *shape, const wi_attributes *attributes) {
    weft_tensor *memory = wi_node(x->graph, &wi_op_in_memory, &x, 1, x->dtype, &x->shape, NULL);
    return memory ? wi_node(x->graph, op, &memory, 1, x->dtype, shape, attributes) : NULL;
}

/* A number everywhere, cut out of another: coordinates say where. */
static weft_tensor *outside_number(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    (void)rewrite;
    weft_tensor *const x = inputs[0];
    const wi_shape *const shape = &y->shape;
    const wi_padding_attributes *const padding = &y->attributes->padding;
    double value;
    int power;
    if (!wi_is_constant(x, &value, &power) || !wi_dtype_computes(x->dtype)) return NULL;
    weft_tensor *number = wi_constant_batch_power(x->graph, x->dtype, value, power);
    weft_tensor *outside = weft_number(x, padding->outside), *cut = number;
    for (int axis = 0; axis < shape->rank; axis++) {
        const int64_t before = padding->before[axis], size = x->shape.dims[axis];
        if (padding->mode[axis] == WI_PADDING_INTERIOR) return NULL;
        if (padding->mode[axis] != WI_PADDING_CONSTANT) continue;
        if (before < 0 || size < 0) return NULL;
        weft_tensor *at = wi_coordinate(x->graph, shape, axis);
        cut = weft_where(weft_less(at, weft_number(at, (double)before)), outside, cut);
        cut = weft_where(weft_less(at, weft_number(at, (double)(before + size))), cut, outside);
    }
    return weft_expand(cut, shape->rank, shape->dims);
}

static wi_attributes padding_in_memory(const wi_memory_order *order, const wi_padding_attributes *padding) {
    wi_attributes in_memory = {.padding = *padding};
    for (int i = 0; i < order->rank; i++) {
        in_memory.padding.mode[order->axes[i]] = padding->mode[i];
        in_memory.padding.before[order->axes[i]] = padding->before[i];
    }
    return in_memory;
}

static weft_tensor *padding_in_order(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    (void)rewrite;
    const wi_memory_order order = wi_memory_order_of(inputs[0]);
    if (order.rank == 0) return NULL;
    weft_tensor *const memory = inputs[0]->inputs[0];
    const wi_shape lying = wi_shape_in_memory(&order, &y->shape);
    const wi_attributes in_memory = padding_in_memory(&order, &y->attributes->padding);
    return wi_from_memory(&order, wi_node(y->graph, y->op, &memory, 1, y->dtype, &lying, &in_memory));
}

static const wi_rule padding_rules[] = {{"padded constant", WI_STAGE_FORM, outside_number},
    {"memory order", WI_STAGE_FORM, padding_in_order}, {0}};

/* ---- zeros between ---- */

static void dilate_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const wi_padding_attributes *const a = &y->attributes->padding;
    int axis = 0;
    while (a->mode[axis] == WI_PADDING_NONE) axis++;
    gradients[0] = wi_slice_dims(g, axis, a->before[axis], y->inputs[0]->shape.dims[axis], a->step);
}

const wi_op wi_op_dilate = {.name = "dilate",
    .kind = WI_MAP,
    .attribute_bytes = sizeof(wi_padding_attributes),
    .dimensions = WI_DIMENSIONS(wi_padding_attributes, before, WEFT_MAX_RANK),
    .fits = padding_fits,
    .reads_padded = true,
    .backward = dilate_backward,
    .rules = padding_rules};

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

/* The gradients of what an axis was lengthened by, added to where it was taken from. */
static weft_tensor *unpad_axis(weft_tensor *g, int axis, wi_padding_mode mode, int64_t before, int64_t dim) {
    const int64_t size = wi_counted(g->graph, dim),
                  after = wi_counted(g->graph, g->shape.dims[axis]) - size - before;
    weft_tensor *sum = wi_slice_dims(g, axis, before, dim, 1);
    weft_tensor *left = before ? wi_slice_dims(g, axis, 0, before, 1) : NULL;
    weft_tensor *right = after ? wi_slice_dims(g, axis, before + size, after, 1) : NULL;
    const int64_t axes[] = {axis, WEFT_END};
    int64_t left_at = 0, right_at = 0;
    switch (mode) {
    case WI_PADDING_EDGE:
        left = wi_sum_keep(left, 1u << axis);
        right = wi_sum_keep(right, 1u << axis);
        right_at = size - 1;
        break;
    case WI_PADDING_REFLECT:
        left = left ? weft_flip_axes(left, axes) : NULL;
        right = right ? weft_flip_axes(right, axes) : NULL;
        left_at = 1;
        right_at = size - 1 - after;
        break;
    case WI_PADDING_WRAP: left_at = size - before; break;
    case WI_PADDING_NONE:
    case WI_PADDING_CONSTANT:
    case WI_PADDING_INTERIOR: return sum;
    }
    if (left) sum = weft_add(sum, wi_dilate_dims(left, axis, left_at, 1, dim));
    if (right) sum = weft_add(sum, wi_dilate_dims(right, axis, right_at, 1, dim));
    return sum;
}

static void pad_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const wi_padding_attributes *const a = &y->attributes->padding;
    for (int axis = 0; g && axis < y->shape.rank; axis++) {
        if (a->mode[axis])
            g = unpad_axis(
                g, axis, (wi_padding_mode)a->mode[axis], a->before[axis], y->inputs[0]->shape.dims[axis]);
    }
    gradients[0] = g;
}

const wi_op wi_op_pad = {.name = "pad",
    .kind = WI_MAP,
    .attribute_bytes = sizeof(wi_padding_attributes),
    .dimensions = WI_DIMENSIONS(wi_padding_attributes, before, WEFT_MAX_RANK),
    .fits = padding_fits,
    .reads_padded = true,
    .backward = pad_backward,
    .rules = padding_rules};

/* What may stand on either side of an axis. */
static bool check_pad(weft_tensor *x, int axis, int64_t before, int64_t after, weft_pad_mode mode) {
    const bool is_batch = x->shape.dims[axis] < 0 && (before > 0 || after > 0);
    if (is_batch && !wi_length_is_batch(x->graph, "pad")) return false;
    const int64_t size = wi_counted(x->graph, x->shape.dims[axis]), more = before > after ? before : after;
    const int64_t most = mode == WEFT_PAD_REFLECT ? size - 1 : mode == WEFT_PAD_WRAP ? size : 1 << 30;
    char text[WI_SHAPE_TEXT];
    if (before < 0 || after < 0)
        wi_graph_fail(x->graph, WEFT_ERROR_ARGUMENT,
            "pad: the padding (%lld, %lld) of axis %d is negative; use weft_slice to remove elements",
            (long long)before, (long long)after, axis);
    else if (more > 0 && more > most)
        wi_graph_fail(x->graph, WEFT_ERROR_SHAPE,
            "pad: the padding (%lld, %lld) of axis %d of %s is more than %lld", (long long)before,
            (long long)after, axis, wi_shape_print(&x->shape, text), (long long)most);
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
        shape.dims[axis] = wi_counted(graph, shape.dims[axis]) + before[axis] + after[axis];
    }
    return wi_shape_equal(&shape, &x->shape) ? x : padded_node(&wi_op_pad, x, &shape, &attributes);
}

weft_tensor *weft_pad(
    weft_tensor *x, const int64_t *before, const int64_t *after, weft_pad_mode mode, double value) {
    return WI_CALL(x, "weft_pad", build_pad(x, before, after, mode, value));
}

/* ---- roll ---- */

static void roll_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    for (int axis = 0; axis < y->shape.rank; axis++)
        g = weft_roll(g, axis, -y->attributes->padding.before[axis]);
    gradients[0] = g;
}

/* x moved along each axis by `before` elements: modulo the size where that is known. */
static weft_tensor *roll(weft_tensor *x, const int64_t *before) {
    wi_padding_attributes padding = {0};
    bool rolls = false;
    for (int i = 0; i < x->shape.rank; i++) {
        const int64_t size = x->shape.dims[i];
        const bool known = size > 0 && !wi_has_length(size, x->graph->length_symbol);
        padding.before[i] = known ? before[i] % size : before[i];
        padding.mode[i] = padding.before[i] ? WI_PADDING_WRAP : WI_PADDING_NONE;
        rolls = rolls || padding.before[i];
    }
    return rolls ? padded_node(&wi_op_roll, x, &x->shape, &(wi_attributes){.padding = padding}) : x;
}

/* Several axes are one node. */
static weft_tensor *roll_of_roll(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    (void)rewrite;
    const weft_tensor *x = inputs[0];
    while (x->op == &wi_op_in_memory) x = x->inputs[0];
    if (x->op != &wi_op_roll) return NULL;
    int64_t before[WEFT_MAX_RANK];
    for (int i = 0; i < y->shape.rank; i++)
        before[i] = x->attributes->padding.before[i] + y->attributes->padding.before[i];
    return roll(x->inputs[0]->inputs[0], before);
}

/* A shift may be negative, and is no multiple of the batch. */
static weft_tensor *roll_again(const weft_tensor *y, weft_tensor *const *inputs, const wi_shape *shape,
    const wi_attributes *attributes) {
    wi_attributes own = *attributes;
    for (int axis = 0; axis < shape->rank; axis++) {
        const int64_t before = y->attributes->padding.before[axis];
        if (before < 0) own.padding.before[axis] = before;
    }
    return wi_node(y->graph, y->op, inputs, 1, y->dtype, shape, &own);
}

static const wi_rule roll_rules[] = {{"roll of roll", WI_STAGE_FORM, roll_of_roll},
    {"padded constant", WI_STAGE_FORM, outside_number}, {"memory order", WI_STAGE_FORM, padding_in_order},
    {0}};
const wi_op wi_op_roll = {.name = "roll",
    .kind = WI_MAP,
    .attribute_bytes = sizeof(wi_padding_attributes),
    .dimensions = WI_DIMENSIONS(wi_padding_attributes, before, WEFT_MAX_RANK),
    .fits = padding_fits,
    .remake = roll_again,
    .reads_padded = true,
    .backward = roll_backward,
    .rules = roll_rules};

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
    return roll(x, before);
}

weft_tensor *weft_roll(weft_tensor *x, int axis, int64_t shift) {
    return WI_CALL(x, "weft_roll", build_roll(x, axis, shift));
}

/* ---- tile ---- */

/* Sums the repeats of all axes at once: each axis becomes two. */
static weft_tensor *sum_repeats(weft_tensor *g, const wi_shape *shape) {
    wi_shape split = {0};
    uint32_t repeats = 0;
    for (int i = 0; i < shape->rank; i++) {
        if (g->shape.dims[i] != shape->dims[i]) {
            repeats |= 1u << split.rank;
            split.dims[split.rank++] = g->shape.dims[i] / shape->dims[i];
        }
        split.dims[split.rank++] = shape->dims[i];
    }
    weft_tensor *sum = wi_sum_keep(weft_reshape_shape(g, split.rank, split.dims), repeats);
    return sum ? weft_reshape_shape(sum, shape->rank, shape->dims) : NULL;
}

/* One axis of many: those before and after it become one each. */
static weft_tensor *sum_repeats_of(weft_tensor *g, int axis, int64_t size) {
    wi_shape shape = g->shape, narrow;
    shape.dims[axis] = size;
    weft_tensor *flat = g;
    int at = axis;
    if (axis + 2 < g->shape.rank) flat = weft_flatten_axes(flat, axis + 1, -1);
    if (axis > 1) {
        flat = weft_flatten_axes(flat, 0, axis - 1);
        at = 1;
    }
    if (!flat) return NULL;
    narrow = flat->shape;
    narrow.dims[at] = size;
    weft_tensor *sum = sum_repeats(flat, &narrow);
    return sum ? weft_reshape_shape(sum, shape.rank, shape.dims) : NULL;
}

static void tile_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const wi_shape *shape = &y->inputs[0]->shape;
    int tiled = 0;
    for (int i = 0; i < shape->rank; i++) tiled += shape->dims[i] != g->shape.dims[i];
    if (shape->rank + tiled <= WEFT_MAX_RANK) {
        gradients[0] = sum_repeats(g, shape);
        return;
    }
    for (int i = 0; g && i < shape->rank; i++) {
        if (g->shape.dims[i] != shape->dims[i]) g = sum_repeats_of(g, i, shape->dims[i]);
    }
    gradients[0] = g;
}

const wi_op wi_op_tile = {.name = "tile",
    .kind = WI_MAP,
    .attribute_bytes = sizeof(wi_padding_attributes),
    .dimensions = WI_DIMENSIONS(wi_padding_attributes, before, WEFT_MAX_RANK),
    .fits = padding_fits,
    .reads_padded = true,
    .backward = tile_backward,
    .rules = padding_rules};

static weft_tensor *build_tile(weft_tensor *x, int rank, const int64_t *repeats) {
    weft_graph *graph = wi_inputs_graph("tile", &x, 1);
    if (!graph) return NULL;
    if (rank < 0 || rank > WEFT_MAX_RANK || (rank > 0 && !repeats))
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE, "tile: rank %d is not in 0..%d", rank, WEFT_MAX_RANK);
    const int more = rank - x->shape.rank; /* axes that one of the two lacks at its front */
    wi_shape shape = {.rank = more > 0 ? rank : x->shape.rank}, stretched;
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = more > 0 ? (i < more ? 1 : x->shape.dims[i - more]) : x->shape.dims[i];
    stretched = shape;
    wi_attributes attributes = {.padding = {0}};
    for (int i = 0; i < rank; i++) {
        const int axis = more < 0 ? i - more : i;
        const int64_t size = shape.dims[axis], most = (INT64_C(1) << 40) / (size < 0 ? -size : size);
        if (repeats[i] < 1 || repeats[i] > most)
            return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
                "tile: %lld repeats of axis %d are not in 1..%lld", (long long)repeats[i], axis,
                (long long)most);
        shape.dims[axis] = size * repeats[i];
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
