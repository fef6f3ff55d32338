/* Writes LSTM, GRU and RNN. In Weft a scan reads the products of its inputs, which a linear map before it computes; the op of ONNX contains
 * this map, with its weight and biases. The order of gates differs: LSTM i, o, f, c in ONNX and i, f, g, o in Weft; GRU z, r, h in ONNX and
 * r, z, n in Weft. Variables are written as initializers in ONNX's order; for computed weights, nodes reorder the gates. */
#include "onnx/onnx_save.h"
#include "ops/recurrent/recurrent_scan.h"

/* For each gate of ONNX, the number of the gate in Weft. */
static const int *order_of(wi_cell cell) {
    static const int lstm[] = {0, 3, 1, 2}, gru[] = {1, 0, 2}, rnn[] = {0};
    return cell == WI_CELL_LSTM ? lstm : cell <= WI_CELL_GRU_RESET_FIRST ? gru : rnn;
}

/* The inputs of the op of ONNX. A bias that is NULL is zero. */
typedef struct layer {
    weft_tensor *x, *w, *bias, *bias_hidden;
    const int *order;
    int64_t gates, units;
} layer;

/* ---- the layer before the scan ---- */

static weft_tensor *input_of(const wi_export *e, const weft_tensor *y, int index) {
    return wi_export_resolve(e, y->inputs[index]);
}

/* Is x a slice of the first axis of a vector? Returns the vector. */
static weft_tensor *sliced(const wi_export *e, weft_tensor *x, int64_t start, int64_t size) {
    if (x->op != &wi_op_slice || x->attributes->slice.axis != 0 || x->attributes->slice.start != start ||
        x->shape.dims[0] != size)
        return NULL;
    return input_of(e, x, 0);
}

static bool is_bias(const layer *l, const weft_tensor *x) {
    return x->shape.rank == 1 && x->shape.dims[0] == l->gates * l->units;
}

/* Finds the bias of the inputs and the bias of the states. `sum` is what Weft's linear map adds: one bias, or the sum of both. A GRU whose
 * reset gate multiplies after the product does not add the state bias of the last gate there but has it as `last`; the state biases of the
 * other gates are then padded with zeros and part of the sum. A GRU without `last` has a single bias, whatever it was computed from. */
static bool find_biases(const wi_export *e, layer *l, weft_tensor *sum, weft_tensor *last, wi_cell cell) {
    const bool both = sum && sum->op == &wi_op_add && (last || cell != WI_CELL_GRU) &&
                      is_bias(l, sum->inputs[0]) && is_bias(l, sum->inputs[1]);
    const bool only_hidden = last && sum && sum->op == &wi_op_dilate;
    l->bias = both ? input_of(e, sum, 0) : only_hidden ? NULL : sum;
    l->bias_hidden = both ? input_of(e, sum, 1) : only_hidden ? sum : NULL;
    if (!last) return true;
    const weft_tensor *const padded = l->bias_hidden;
    l->bias_hidden = sliced(e, last, 2 * l->units, l->units);
    return padded && padded->op == &wi_op_dilate && l->bias_hidden && is_bias(l, l->bias_hidden) &&
           sliced(e, input_of(e, padded, 0), 0, 2 * l->units) == l->bias_hidden;
}

/* Finds x, weight and biases of reshape(reshape(x) · weightᵀ + bias). */
static bool find_layer(const wi_export *e, layer *l, const weft_tensor *y) {
    weft_tensor *sums = input_of(e, y, WI_SCAN_X),
                *bias = NULL, *const last = wi_scan_input_of(y, WI_SCAN_BIAS);
    if (sums->op == &wi_op_reshape) sums = input_of(e, sums, 0);
    if (sums->op == &wi_op_add) {
        bias = input_of(e, sums, 1);
        sums = input_of(e, sums, 0);
    }
    if (sums->op != &wi_op_matmul || input_of(e, sums, 1)->op != &wi_op_permute) return false;
    l->x = input_of(e, sums, 0);
    l->w = input_of(e, input_of(e, sums, 1), 0);
    if (l->x->op == &wi_op_reshape && input_of(e, l->x, 0)->shape.rank == 3) l->x = input_of(e, l->x, 0);
    const wi_shape *const shape = &y->inputs[WI_SCAN_X]->shape;
    const wi_shape wanted = {.rank = 3, .dims = {shape->dims[0], shape->dims[1], l->w->shape.dims[1]}};
    return wi_shape_equal(&l->x->shape, &wanted) &&
           find_biases(e, l, bias, last ? wi_export_resolve(e, last) : NULL, wi_cell_of(y));
}

/* ---- weights ---- */

/* The gates of the variable (NULL: zeros) in ONNX's order; each has `bytes`. */
static size_t list_gates(const layer *l, weft_tensor *variable, size_t bytes, wi_export_part *parts) {
    for (int64_t i = 0; i < l->gates; i++)
        parts[i] = (wi_export_part){variable, variable ? bytes * (size_t)l->order[i] : 0, bytes};
    return (size_t)l->gates;
}

/* Adds an axis of size 1 in front, for the direction. */
static wi_export_value *with_direction(wi_export *e, wi_export_value *x) {
    return wi_export_two(e, "Unsqueeze", x, wi_export_ints(e, &(int64_t){0}, 1));
}

static wi_export_value *join(wi_export *e, wi_export_value *const *parts, size_t count, int axis) {
    return wi_export_op(e, "Concat", parts, count, WI_WITH(WI_WHOLE("axis", axis)));
}

/* Reorders the gates of a computed tensor to ONNX's order. x NULL: a bias of zeros. */
static wi_export_value *order_gates(wi_export *e, const layer *l, weft_tensor *x) {
    wi_export_value *parts[4], *const axis = wi_export_ints(e, &(int64_t){0}, 1);
    if (!x) return with_direction(e, wi_export_filled(e, 0, l->gates * l->units));
    for (int64_t i = 0; i < l->gates; i++) {
        const int64_t start = l->order[i] * l->units, end = start + l->units;
        parts[i] = wi_export_op(e, "Slice",
            WI_FROM(wi_export_of(e, x), wi_export_ints(e, &start, 1), wi_export_ints(e, &end, 1), axis),
            NULL);
    }
    return with_direction(e, join(e, parts, (size_t)l->gates, 0));
}

static wi_export_value *weight_of(wi_export *e, const layer *l, weft_tensor *w) {
    wi_export_part parts[4];
    const int64_t columns = w->shape.dims[1];
    const wi_shape shape = {.rank = 3, .dims = {1, l->gates * l->units, columns}};
    if (!w->variable) return order_gates(e, l, w);
    const size_t count = list_gates(l, w, sizeof(float) * (size_t)(l->units * columns), parts);
    return wi_export_stored_parts(e, weft_tensor_name(w), WI_ONNX_FLOAT, &shape, parts, count);
}

static wi_export_value *bias_of(wi_export *e, const layer *l) {
    wi_export_part parts[8];
    weft_tensor *const a = l->bias, *const b = l->bias_hidden;
    const wi_shape shape = {.rank = 2, .dims = {1, 2 * l->gates * l->units}};
    const size_t bytes = sizeof(float) * (size_t)l->units;
    if (!a && !b) return &wi_export_none;
    if ((a && !a->variable) || (b && !b->variable))
        return join(e, WI_FROM(order_gates(e, l, a), order_gates(e, l, b)), 1);
    size_t count = list_gates(l, a, bytes, parts);
    count += list_gates(l, b, bytes, parts + count);
    return wi_export_stored_parts(e, weft_tensor_name(a ? a : b), WI_ONNX_FLOAT, &shape, parts, count);
}

/* ---- the op ---- */

/* The initial state number `which`, reshaped from (N, H) to (1, N, H). */
static wi_export_value *state_of(wi_export *e, const weft_tensor *y, int which) {
    weft_tensor *const state = wi_scan_input_of(y, which);
    return state ? with_direction(e, wi_export_of(e, state)) : &wi_export_none;
}

static wi_export_value *scan_node(wi_export *e, weft_tensor *y, const char *name) {
    const wi_cell cell = wi_cell_of(y);
    layer l = {
        .order = order_of(cell), .gates = wi_cell_gates(cell), .units = y->attributes->recurrent.units};
    wi_export_value *inputs[7] = {NULL};
    weft_tensor *const lengths = wi_scan_input_of(y, WI_SCAN_LENGTHS);
    if (!find_layer(e, &l, y)) return wi_export_refuse(e, y, "its inputs are not those of a layer");
    inputs[0] = wi_export_of(e, l.x);
    inputs[1] = weight_of(e, &l, l.w);
    inputs[3] = bias_of(e, &l);
    inputs[2] = weight_of(e, &l, wi_scan_input_of(y, WI_SCAN_W));
    inputs[4] = lengths ? wi_export_of(e, lengths) : &wi_export_none;
    inputs[5] = state_of(e, y, WI_SCAN_H0);
    inputs[6] = state_of(e, y, WI_SCAN_C0);
    const wi_export_attribute of_cell[] = {WI_WHOLE("linear_before_reset", cell == WI_CELL_GRU),
        WI_TEXTS("activations", cell == WI_CELL_RNN_RELU ? "Relu" : "Tanh")};
    wi_export_attribute with[] = {WI_WHOLE("hidden_size", l.units),
        WI_TEXT("direction", y->attributes->recurrent.reverse ? "reverse" : "forward"),
        of_cell[cell >= WI_CELL_RNN_TANH], {0}};
    if (cell == WI_CELL_LSTM) with[2].name = NULL;
    return wi_export_op(e, name, inputs, 7, with);
}

/* Writes a scan. In Weft its result is one flat tensor: all states beginning with the initial one, then the last c of an LSTM. Most readers
 * read parts of it, for which wi_export_scan_part returns an output of the node; the whole is composed only if a reader needs it. */
static wi_export_value *emit_scan(wi_export *e, weft_tensor *y, const char *name) {
    if (wi_scan_input_of(y, WI_SCAN_WR)) return wi_export_refuse(e, y, "a projection");
    if (y->attributes->recurrent.pads_left) return wi_export_refuse(e, y, "padding on the left");
    wi_export_value *const states = scan_node(e, y, name), *const flat = wi_export_ints(e, &(int64_t){-1}, 1);
    const int64_t dims[] = {y->inputs[WI_SCAN_X]->shape.dims[1], y->attributes->recurrent.units};
    weft_tensor *const h0 = wi_scan_input_of(y, WI_SCAN_H0);
    wi_export_value *const zero = wi_export_number(e, WEFT_F32, 0), *parts[3];
    const bool lstm = y->op == &wi_op_lstm, reverse = y->attributes->recurrent.reverse;
    parts[reverse] = h0 ? wi_export_of(e, h0) : wi_export_two(e, "Expand", zero, wi_export_shape(e, 2, dims));
    parts[!reverse] = states;
    if (lstm) parts[2] = wi_export_output(e, states, 2);
    for (int i = 0; i < 2 + lstm; i++) parts[i] = wi_export_two(e, "Reshape", parts[i], flat);
    wi_export_entry_of(e, y)->first = states; /* for wi_export_scan_part */
    return join(e, parts, 2 + lstm, 0);
}

wi_export_value *wi_export_scan_part(wi_export *e, weft_tensor *y) {
    const weft_tensor *const slice = wi_export_resolve(e, y->inputs[0]);
    if (slice->op != &wi_op_slice) return NULL;
    const weft_tensor *const scan = wi_export_resolve(e, slice->inputs[0]);
    if (scan->op != &wi_op_lstm && scan->op != &wi_op_gru && scan->op != &wi_op_rnn) return NULL;
    wi_export_value *const states = wi_export_entry_of(e, scan)->first;
    if (!states) return NULL;
    const wi_recurrent_attributes *const a = &scan->attributes->recurrent;
    const wi_shape *const x = &scan->inputs[WI_SCAN_X]->shape;
    const int64_t n = x->dims[1], steps = x->dims[0], start = slice->attributes->slice.start;
    const wi_shape all = {.rank = 3, .dims = {steps, n, a->units}}, one = {.rank = 2, .dims = {n, a->units}};
    wi_export_value *part = NULL;
    int64_t axis = 0;
    if (wi_shape_equal(&y->shape, &all) && start == n * (a->reverse ? 0 : a->units)) {
        part = states;
        axis = 1;
    } else if (wi_shape_equal(&y->shape, &one) && start == n * (steps + 1) * a->units) {
        part = wi_export_output(e, states, 2);
    } else if (wi_shape_equal(&y->shape, &one) && start == (a->reverse ? 0 : n * steps * a->units)) {
        part = wi_export_output(e, states, 1);
    }
    return part ? wi_export_two(e, "Squeeze", part, wi_export_ints(e, &axis, 1)) : NULL;
}

const wi_export_row wi_export_recurrent_rows[] = {{&wi_op_lstm, .name = "LSTM", .emit = emit_scan},
    {&wi_op_gru, .name = "GRU", .emit = emit_scan}, {&wi_op_rnn, .name = "RNN", .emit = emit_scan}, {0}};
