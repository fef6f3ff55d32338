/* Recurrent cells and sequences: checks, and the matrix products before the scan (recurrent_scan.c). */
#include "ops/op_table.h"
#include "ops/recurrent/recurrent_scan.h"
#include <inttypes.h>
#include <stdio.h>

static const weft_recurrent nothing = {NULL, NULL, NULL};

typedef struct call {
    const char *op;
    wi_cell cell;
    weft_tensor *x;
    weft_recurrent_weights w;
    int64_t gates, units, width, inputs, batch; /* batch: a dimension */
} call;

/* ---- checks ---- */

static bool fail(
    const call *c, weft_status status, const char *what, const weft_tensor *x, const char *rule) {
    char text[WI_SHAPE_TEXT];
    wi_graph_fail(x->graph, status, "%s: %s is %s %s, expected %s", c->op, what, weft_dtype_name(x->dtype),
        wi_shape_print(x->graph, &x->shape, text), rule);
    return false;
}

/* Has x, unless it is NULL, these dimensions? The rank is 3 at most. */
static bool is_shaped(
    const call *c, const char *what, const weft_tensor *x, weft_dtype dtype, int rank, const int64_t *dims) {
    wi_shape wanted = {.rank = rank};
    char text[WI_SHAPE_TEXT], rule[WI_SHAPE_TEXT + 16];
    for (int i = 0; i < rank; i++) wanted.dims[i] = dims[i];
    if (!x || (x->dtype == dtype && wi_shape_equal(&x->shape, &wanted))) return true;
    snprintf(rule, sizeof rule, "%s %s", weft_dtype_name(dtype), wi_shape_print(x->graph, &wanted, text));
    return fail(c, x->dtype == dtype ? WEFT_ERROR_SHAPE : WEFT_ERROR_DTYPE, what, x, rule);
}

static bool check_weights(call *c) {
    const weft_recurrent_weights *w = &c->w;
    const wi_shape *ih = &w->weight_ih->shape, *hh = &w->weight_hh->shape;
    const int64_t g = c->gates;
    char rule[64];
    snprintf(rule, sizeof rule, "f32 (%d·H, I)", (int)g);
    if (ih->rank != 2 || ih->dims[0] < g || ih->dims[0] % g != 0 || ih->dims[1] < 1 ||
        w->weight_ih->dtype != WEFT_F32)
        return fail(c, w->weight_ih->dtype == WEFT_F32 ? WEFT_ERROR_SHAPE : WEFT_ERROR_DTYPE, "weight_ih",
            w->weight_ih, rule);
    c->units = ih->dims[0] / g;
    c->inputs = ih->dims[1];
    c->width = w->weight_hr && w->weight_hr->shape.rank == 2 ? w->weight_hr->shape.dims[0] : c->units;
    if (c->width < 1) c->width = hh->rank == 2 ? hh->dims[1] : c->units;
    const int64_t line = g * c->units;
    return is_shaped(c, "weight_hh", w->weight_hh, WEFT_F32, 2, (const int64_t[]){line, c->width}) &&
           is_shaped(c, "bias_ih", w->bias_ih, WEFT_F32, 1, &line) &&
           is_shaped(c, "bias_hh", w->bias_hh, WEFT_F32, 1, &line) &&
           is_shaped(c, "weight_hr", w->weight_hr, WEFT_F32, 2, (const int64_t[]){c->width, c->units});
}

/* Checks that x, the weights and further tensors (NULL: not given) belong to one graph, and the shapes of the weights. */
static bool begin(call *c, const weft_recurrent_weights *weights, weft_tensor *const *further, int count) {
    weft_tensor *inputs[10] = {c->x};
    int next = 1;
    if (!c->x) return false;
    if (!weights) {
        wi_graph_fail(c->x->graph, WEFT_ERROR_ARGUMENT, "%s: weights is NULL", c->op);
        return false;
    }
    c->w = *weights;
    inputs[next++] = c->w.weight_ih;
    inputs[next++] = c->w.weight_hh;
    weft_tensor *const optional[] = {c->w.bias_ih, c->w.bias_hh, c->w.weight_hr};
    for (int i = 0; i < 3; i++)
        if (optional[i]) inputs[next++] = optional[i];
    for (int i = 0; i < count; i++)
        if (further[i]) inputs[next++] = further[i];
    if (!wi_inputs_graph(c->op, inputs, next)) return false;
    if (c->w.weight_hr && c->cell != WI_CELL_LSTM) {
        wi_graph_fail(c->x->graph, WEFT_ERROR_ARGUMENT,
            "%s: weight_hr is given, but only an LSTM has a projection", c->op);
        return false;
    }
    c->gates = wi_cell_gates(c->cell);
    return check_weights(c);
}

/* ---- a sequence ---- */

static weft_tensor *sum_of(weft_tensor *a, weft_tensor *b) {
    return a && b ? weft_add(a, b) : a ? a : b;
}

/* The bias of the products of the inputs: the sum of both biases, without the last part of a GRU's bias_hh, which r multiplies. */
static weft_tensor *input_bias(const call *c) {
    weft_tensor *hidden = c->w.bias_hh;
    if (hidden && c->cell == WI_CELL_GRU)
        hidden = wi_dilate_dims(weft_slice(hidden, 0, 0, 2 * c->units), 0, 0, 1, 3 * c->units);
    return sum_of(c->w.bias_ih, hidden);
}

static weft_tensor *last_bias(const call *c) {
    if (!c->w.bias_hh || c->cell != WI_CELL_GRU) return NULL;
    return weft_slice(c->w.bias_hh, 0, 2 * c->units, 3 * c->units);
}

/* y (T, N, P) with zeros behind the end of each sequence. */
static weft_tensor *masked(weft_tensor *y, const weft_sequence_options *options) {
    if (!options->lengths || !y) return y;
    const wi_shape line = {.rank = 3, .dims = {y->shape.dims[0], 1, 1}};
    weft_tensor *t = wi_coordinate(y->graph, &line, 0);
    weft_tensor *length = weft_reshape_shape(options->lengths, 3, (const int64_t[]){1, y->shape.dims[1], 1});
    weft_tensor *steps = wi_constant_count(y->graph, t->dtype, line.dims[0], 0);
    weft_tensor *valid =
        options->left_padded ? weft_less_equal(weft_sub(steps, length), t) : weft_less(t, length);
    return weft_where(valid, y, weft_number(y, 0));
}

static bool check_sequence(call *c, const weft_sequence_options *o) {
    const wi_shape *shape = &c->x->shape;
    char rule[96];
    snprintf(rule, sizeof rule, "f32 (%s, %" PRId64 ") with a fixed number of steps T",
        o->time_major ? "T, N" : "N, T", c->inputs);
    const int time = o->time_major ? 0 : 1;
    if (shape->rank != 3 || c->x->dtype != WEFT_F32 || shape->dims[2] != c->inputs || shape->dims[time] < 1)
        return fail(c, c->x->dtype == WEFT_F32 ? WEFT_ERROR_SHAPE : WEFT_ERROR_DTYPE, "x", c->x, rule);
    c->batch = shape->dims[1 - time];
    if (!is_shaped(c, "h0", o->h0, WEFT_F32, 2, (const int64_t[]){c->batch, c->width}) ||
        !is_shaped(c, "c0", o->c0, WEFT_F32, 2, (const int64_t[]){c->batch, c->units}) ||
        !is_shaped(c, "lengths", o->lengths, WEFT_I32, 1, &c->batch))
        return false;
    return true;
}

static bool check_options(const call *c, const weft_sequence_options *o) {
    const char *wrong = NULL;
    if (o->c0 && c->cell != WI_CELL_LSTM) wrong = "c0 is given, but only an LSTM has a cell state";
    if (o->relu && c->cell != WI_CELL_RNN_TANH && c->cell != WI_CELL_RNN_RELU)
        wrong = "the option relu is set, but only an RNN has it";
    if (o->reset_first && c->cell != WI_CELL_GRU && c->cell != WI_CELL_GRU_RESET_FIRST)
        wrong = "the option reset_first is set, but only a GRU has it";
    if (o->left_padded && !o->lengths) wrong = "the option left_padded is set without lengths";
    if (wrong) wi_graph_fail(c->x->graph, WEFT_ERROR_ARGUMENT, "%s: %s", c->op, wrong);
    return !wrong;
}

/* Is x, through views, stored in f32 by weft_keep_f32? */
static bool is_kept(const weft_tensor *x) {
    while (x->op->kind == WI_VIEW && x->op != &wi_op_keep_f32) x = x->inputs[0];
    return x->op == &wi_op_keep_f32;
}

static weft_recurrent sequence(
    call c, const weft_recurrent_weights *weights, const weft_sequence_options *given) {
    weft_sequence_options own = {WEFT_SEQUENCE_OPTIONS_INIT};
    const weft_sequence_options *const o = &own;
    if (c.x && !WI_GRAPH_OPTIONS(c.x->graph, &own, given, c.op, WEFT_SEQUENCE_OPTIONS_INIT)) return nothing;
    if (c.cell == WI_CELL_GRU && o->reset_first) c.cell = WI_CELL_GRU_RESET_FIRST;
    if (c.cell == WI_CELL_RNN_TANH && o->relu) c.cell = WI_CELL_RNN_RELU;
    weft_tensor *const further[] = {o->h0, o->c0, o->lengths};
    if (!begin(&c, weights, further, 3) || !check_options(&c, o) || !check_sequence(&c, o)) return nothing;
    weft_tensor *x = o->time_major ? c.x : weft_permute_axes(c.x, 3, (const int[]){1, 0, 2});
    weft_tensor *const sums = weft_linear_with(x, c.w.weight_ih, input_bias(&c));
    const wi_scan scan = {.cell = c.cell,
        .x = is_kept(c.x) ? weft_keep_f32(sums) : sums,
        .w = c.w.weight_hh,
        .h0 = o->h0,
        .c0 = o->c0,
        .lengths = o->lengths,
        .bias = last_bias(&c),
        .wr = c.w.weight_hr,
        .reverse = o->reverse,
        .left = o->left_padded};
    if (!scan.x) return nothing;
    weft_recurrent result = wi_recurrent_scan(&scan);
    result.y = masked(result.y, o);
    if (!o->time_major) result.y = weft_permute_axes(result.y, 3, (const int[]){1, 0, 2});
    return result.y ? result : nothing;
}

static weft_recurrent build_lstm_with(
    weft_tensor *x, const weft_recurrent_weights *weights, const weft_sequence_options *options) {
    return sequence((call){.op = "lstm", .cell = WI_CELL_LSTM, .x = x}, weights, options);
}

weft_recurrent weft_lstm_with(
    weft_tensor *x, const weft_recurrent_weights *weights, const weft_sequence_options *options) {
    wi_call_begin(weft_tensor_graph(x), "weft_lstm_with");
    const weft_recurrent result = build_lstm_with(x, weights, options);
    wi_call_end(weft_tensor_graph(x), NULL);
    return result;
}
static weft_recurrent build_gru_with(
    weft_tensor *x, const weft_recurrent_weights *weights, const weft_sequence_options *options) {
    return sequence((call){.op = "gru", .cell = WI_CELL_GRU, .x = x}, weights, options);
}

weft_recurrent weft_gru_with(
    weft_tensor *x, const weft_recurrent_weights *weights, const weft_sequence_options *options) {
    wi_call_begin(weft_tensor_graph(x), "weft_gru_with");
    const weft_recurrent result = build_gru_with(x, weights, options);
    wi_call_end(weft_tensor_graph(x), NULL);
    return result;
}
static weft_recurrent build_rnn_with(
    weft_tensor *x, const weft_recurrent_weights *weights, const weft_sequence_options *options) {
    return sequence((call){.op = "rnn", .cell = WI_CELL_RNN_TANH, .x = x}, weights, options);
}

weft_recurrent weft_rnn_with(
    weft_tensor *x, const weft_recurrent_weights *weights, const weft_sequence_options *options) {
    wi_call_begin(weft_tensor_graph(x), "weft_rnn_with");
    const weft_recurrent result = build_rnn_with(x, weights, options);
    wi_call_end(weft_tensor_graph(x), NULL);
    return result;
}

/* ---- one step ---- */

static bool begin_cell(call *c, weft_tensor *h, weft_tensor *state, const weft_recurrent_weights *weights) {
    if (c->x && !h) {
        wi_graph_fail(c->x->graph, WEFT_ERROR_ARGUMENT, "%s: h is NULL", c->op);
        return false;
    }
    weft_tensor *const further[] = {h, state};
    if (!begin(c, weights, further, 2)) return false;
    c->batch = c->x->shape.rank == 2 ? c->x->shape.dims[0] : 1;
    return is_shaped(c, "x", c->x, WEFT_F32, 2, (const int64_t[]){c->batch, c->inputs}) &&
           is_shaped(c, "h", h, WEFT_F32, 2, (const int64_t[]){c->batch, c->width}) &&
           is_shaped(c, "c", state, WEFT_F32, 2, (const int64_t[]){c->batch, c->units});
}

static weft_tensor *gate(const call *c, weft_tensor *sums, int which) {
    return weft_slice(sums, 1, which * c->units, (which + 1) * c->units);
}

static weft_recurrent build_lstm_cell(
    weft_tensor *x, weft_tensor *h, weft_tensor *c, const weft_recurrent_weights *weights) {
    call s = {.op = "lstm_cell", .cell = WI_CELL_LSTM, .x = x};
    if (x && !c) {
        wi_graph_fail(x->graph, WEFT_ERROR_ARGUMENT, "lstm_cell: c is NULL");
        return nothing;
    }
    if (!begin_cell(&s, h, c, weights)) return nothing;
    weft_tensor *sums = weft_add(weft_linear_with(x, s.w.weight_ih, sum_of(s.w.bias_ih, s.w.bias_hh)),
        weft_linear_with(h, s.w.weight_hh, NULL));
    weft_tensor *i = weft_sigmoid(gate(&s, sums, 0)), *f = weft_sigmoid(gate(&s, sums, 1)),
                *g = weft_tanh(gate(&s, sums, 2)), *o = weft_sigmoid(gate(&s, sums, 3));
    weft_recurrent next = {.c = weft_add(weft_mul(f, c), weft_mul(i, g))};
    next.h = weft_mul(o, weft_tanh(next.c));
    if (s.w.weight_hr) next.h = weft_linear_with(next.h, s.w.weight_hr, NULL);
    return next.h ? next : nothing;
}

weft_recurrent weft_lstm_cell(
    weft_tensor *x, weft_tensor *h, weft_tensor *c, const weft_recurrent_weights *weights) {
    wi_call_begin(weft_tensor_graph(x), "weft_lstm_cell");
    const weft_recurrent result = build_lstm_cell(x, h, c, weights);
    wi_call_end(weft_tensor_graph(x), NULL);
    return result;
}

static weft_recurrent build_gru_cell(
    weft_tensor *x, weft_tensor *h, const weft_recurrent_weights *weights, bool reset_first) {
    call s = {.op = "gru_cell", .cell = reset_first ? WI_CELL_GRU_RESET_FIRST : WI_CELL_GRU, .x = x};
    if (!begin_cell(&s, h, NULL, weights)) return nothing;
    weft_tensor *sums = weft_linear_with(x, s.w.weight_ih, input_bias(&s));
    weft_tensor *w = s.w.weight_hh, *last = weft_slice(w, 0, 2 * s.units, 3 * s.units);
    weft_tensor *hidden = weft_linear_with(h, weft_slice(w, 0, 0, 2 * s.units), NULL);
    weft_tensor *r = weft_sigmoid(weft_add(gate(&s, sums, 0), gate(&s, hidden, 0))),
                *z = weft_sigmoid(weft_add(gate(&s, sums, 1), gate(&s, hidden, 1)));
    weft_tensor *n = reset_first ? weft_linear_with(weft_mul(r, h), last, NULL)
                                 : weft_mul(r, weft_linear_with(h, last, last_bias(&s)));
    n = weft_tanh(weft_add(gate(&s, sums, 2), n));
    weft_recurrent next = {.h = weft_add(n, weft_mul(z, weft_sub(h, n)))};
    return next.h ? next : nothing;
}

weft_recurrent weft_gru_cell(
    weft_tensor *x, weft_tensor *h, const weft_recurrent_weights *weights, bool reset_first) {
    wi_call_begin(weft_tensor_graph(x), "weft_gru_cell");
    const weft_recurrent result = build_gru_cell(x, h, weights, reset_first);
    wi_call_end(weft_tensor_graph(x), NULL);
    return result;
}

static weft_recurrent build_rnn_cell(
    weft_tensor *x, weft_tensor *h, const weft_recurrent_weights *weights, bool relu) {
    call s = {.op = "rnn_cell", .cell = relu ? WI_CELL_RNN_RELU : WI_CELL_RNN_TANH, .x = x};
    if (!begin_cell(&s, h, NULL, weights)) return nothing;
    weft_tensor *sums = weft_add(
        weft_linear_with(x, s.w.weight_ih, input_bias(&s)), weft_linear_with(h, s.w.weight_hh, NULL));
    weft_recurrent next = {.h = relu ? weft_relu(sums) : weft_tanh(sums)};
    return next.h ? next : nothing;
}

weft_recurrent weft_rnn_cell(
    weft_tensor *x, weft_tensor *h, const weft_recurrent_weights *weights, bool relu) {
    wi_call_begin(weft_tensor_graph(x), "weft_rnn_cell");
    const weft_recurrent result = build_rnn_cell(x, h, weights, relu);
    wi_call_end(weft_tensor_graph(x), NULL);
    return result;
}
