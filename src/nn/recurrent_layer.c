/* LSTM, GRU and RNN layers with the parameters of torch.nn.LSTM, GRU and RNN. */
#include "nn/layer_parameters.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <weft/nn.h>
#include <weft/recurrent.h>

enum { MOST_LAYERS = 64 };

typedef weft_recurrent sequence_function(
    weft_tensor *x, const weft_recurrent_weights *weights, const weft_sequence_options *options);

typedef struct layer {
    const char *kind, *call; /* such as "lstm" and "weft_lstm" */
    sequence_function *sequence;
    weft_recurrent_options options;
    weft_graph *graph;
    weft_initialiser initialiser;
    char name[WI_LAYER_NAME];
    int64_t hidden, gates, count, directions, width; /* count: of layers; width: of h */
} layer;

static const weft_recurrent nothing = {NULL, NULL, NULL};

/* ---- checks ---- */

static bool fail(const layer *l, const char *what, double value, const char *rule) {
    wi_graph_fail(
        l->graph, WEFT_ERROR_ARGUMENT, "weft_%s: %s is %g, expected %s", l->kind, what, value, rule);
    return false;
}

static bool check_numbers(const layer *l) {
    const weft_recurrent_options *o = &l->options;
    if (l->hidden < 1) return fail(l, "hidden", (double)l->hidden, "1 or more");
    if (l->hidden > WI_MOST_HIDDEN) return fail(l, "hidden", (double)l->hidden, "at most 2^40");
    if (o->layers < 0 || o->layers > MOST_LAYERS)
        return fail(l, "the option layers", (double)o->layers, "1 to 64");
    if (!(o->dropout >= 0 && o->dropout < 1))
        return fail(l, "the option dropout", (double)o->dropout, "at least 0 and below 1");
    if (o->projection < 0 || o->projection >= l->hidden)
        return fail(l, "the option projection", (double)o->projection, "at least 0 and less than hidden");
    if (o->projection > 0 && l->gates != 4)
        return fail(l, "the option projection", (double)o->projection, "0, as only an LSTM has one");
    return true;
}

static bool check_state(
    const layer *l, const char *what, const weft_tensor *x, int64_t batch, int64_t width) {
    const wi_shape wanted = {.rank = 3, .dims = {l->count * l->directions, batch, width}};
    char text[2][WI_SHAPE_TEXT];
    if (!x || (x->dtype == WEFT_F32 && wi_shape_equal(&x->shape, &wanted))) return true;
    wi_graph_fail(l->graph, x->dtype == WEFT_F32 ? WEFT_ERROR_SHAPE : WEFT_ERROR_DTYPE,
        "weft_%s: %s is %s %s, expected f32 %s", l->kind, what, weft_dtype_name(x->dtype),
        wi_shape_print(x->graph, &x->shape, text[0]), wi_shape_print(x->graph, &wanted, text[1]));
    return false;
}

static bool check(layer *l, weft_tensor *x, const weft_recurrent_options *given) {
    const weft_recurrent_options *o = &l->options;
    char text[WI_SHAPE_TEXT];
    if (!wi_inputs_graph(l->kind, &x, 1) ||
        !WI_GRAPH_OPTIONS(l->graph, &l->options, given, l->call, WEFT_RECURRENT_OPTIONS_INIT) ||
        !check_numbers(l))
        return false;
    l->count = o->layers > 0 ? o->layers : 1;
    l->directions = o->bidirectional ? 2 : 1;
    l->width = o->projection > 0 ? o->projection : l->hidden;
    const int time = o->time_major ? 0 : 1;
    if (x->dtype != WEFT_F32 || x->shape.rank != 3 || x->shape.dims[2] < 1 || x->shape.dims[time] < 1) {
        wi_graph_fail(l->graph, x->dtype == WEFT_F32 ? WEFT_ERROR_SHAPE : WEFT_ERROR_DTYPE,
            "weft_%s: x is %s %s, expected f32 (%s, I) with a fixed number of steps T", l->kind,
            weft_dtype_name(x->dtype), wi_shape_print(x->graph, &x->shape, text),
            o->time_major ? "T, N" : "N, T");
        return false;
    }
    const int64_t batch = x->shape.dims[1 - time];
    return check_state(l, "h0", o->h0, batch, l->width) && check_state(l, "c0", o->c0, batch, l->hidden);
}

/* ---- parameters ---- */

static weft_tensor *parameter(
    const layer *l, const char *what, int64_t index, bool reverse, int64_t rows, int64_t columns) {
    char full[48];
    snprintf(full, sizeof full, "%s_l%" PRId64 "%s", what, index, reverse ? "_reverse" : "");
    return wi_layer_parameter(
        l->graph, l->name, full, &l->initialiser, columns ? 2 : 1, (const int64_t[]){rows, columns});
}

static bool make_weights(
    const layer *l, int64_t index, bool reverse, int64_t inputs, weft_recurrent_weights *w) {
    const int64_t line = l->gates * l->hidden;
    const bool biased = !l->options.no_bias, projects = l->options.projection > 0;
    *w = (weft_recurrent_weights){.weight_ih = parameter(l, "weight_ih", index, reverse, line, inputs),
        .weight_hh = parameter(l, "weight_hh", index, reverse, line, l->width)};
    if (biased) w->bias_ih = parameter(l, "bias_ih", index, reverse, line, 0);
    if (biased) w->bias_hh = parameter(l, "bias_hh", index, reverse, line, 0);
    if (projects) w->weight_hr = parameter(l, "weight_hr", index, reverse, l->width, l->hidden);
    return weft_graph_status(l->graph) == WEFT_OK;
}

/* ---- layers and directions ---- */

static weft_tensor *state_of(weft_tensor *states, int64_t index) {
    if (!states) return NULL;
    const int64_t dims[] = {states->shape.dims[1], states->shape.dims[2]};
    return weft_reshape_shape(weft_slice(states, 0, index, index + 1), 2, dims);
}

static weft_recurrent run_direction(const layer *l, weft_tensor *x, int64_t index, bool reverse) {
    const weft_recurrent_options *o = &l->options;
    const int64_t state = index * l->directions + reverse;
    weft_recurrent_weights weights;
    if (!make_weights(l, index, reverse, weft_tensor_dimension(x, -1), &weights)) return nothing;
    const weft_sequence_options options = {WEFT_SEQUENCE_OPTIONS_INIT, .h0 = state_of(o->h0, state),
        .c0 = state_of(o->c0, state), .lengths = o->lengths, .left_padded = o->left_padded,
        .reverse = reverse, .time_major = true, .relu = o->relu, .reset_first = o->reset_first};
    return l->sequence(x, &weights, &options);
}

/* x and the results of all layers are time-major: (T, N, ...). */
static weft_recurrent run_layers(const layer *l, weft_tensor *x) {
    weft_tensor *h[2 * MOST_LAYERS], *c[2 * MOST_LAYERS], *y[2];
    size_t count = 0;
    for (int64_t index = 0; index < l->count; index++) {
        if (index > 0 && l->options.dropout > 0) x = weft_dropout(x, l->options.dropout);
        for (int d = 0; d < l->directions; d++, count++) {
            const weft_recurrent one = run_direction(l, x, index, d == 1);
            if (!one.y) return nothing;
            y[d] = one.y;
            h[count] = one.h;
            c[count] = one.c;
        }
        x = l->directions == 2 ? weft_concat(y, 2, 2) : y[0];
    }
    return (weft_recurrent){.y = x, .h = weft_stack(h, count, 0), .c = c[0] ? weft_stack(c, count, 0) : NULL};
}

static weft_recurrent recurrent(layer l, weft_tensor *x, const weft_recurrent_options *options) {
    if (!x) return nothing;
    l.graph = weft_tensor_graph(x);
    if (!check(&l, x, options)) return nothing;
    wi_layer_name(l.name, l.graph, l.kind, l.options.name);
    const float bound = 1.0f / sqrtf((float)l.hidden);
    l.initialiser = l.options.initialiser ? *l.options.initialiser : weft_init_uniform(-bound, bound);
    const bool time_major = l.options.time_major;
    weft_recurrent result = run_layers(&l, time_major ? x : weft_permute(x, 1, 0, 2));
    if (!time_major) result.y = weft_permute(result.y, 1, 0, 2);
    return result.y ? result : nothing;
}

static weft_recurrent build_lstm(weft_tensor *x, int64_t hidden, const weft_recurrent_options *options) {
    return recurrent(
        (layer){
            .kind = "lstm", .call = "weft_lstm", .sequence = weft_lstm_with, .hidden = hidden, .gates = 4},
        x, options);
}

weft_recurrent weft_lstm(weft_tensor *x, int64_t hidden, const weft_recurrent_options *options) {
    wi_call_begin(weft_tensor_graph(x), "weft_lstm");
    const weft_recurrent result = build_lstm(x, hidden, options);
    wi_call_end(weft_tensor_graph(x), NULL);
    return result;
}
static weft_recurrent build_gru(weft_tensor *x, int64_t hidden, const weft_recurrent_options *options) {
    return recurrent(
        (layer){.kind = "gru", .call = "weft_gru", .sequence = weft_gru_with, .hidden = hidden, .gates = 3},
        x, options);
}

weft_recurrent weft_gru(weft_tensor *x, int64_t hidden, const weft_recurrent_options *options) {
    wi_call_begin(weft_tensor_graph(x), "weft_gru");
    const weft_recurrent result = build_gru(x, hidden, options);
    wi_call_end(weft_tensor_graph(x), NULL);
    return result;
}
static weft_recurrent build_rnn(weft_tensor *x, int64_t hidden, const weft_recurrent_options *options) {
    return recurrent(
        (layer){.kind = "rnn", .call = "weft_rnn", .sequence = weft_rnn_with, .hidden = hidden, .gates = 1},
        x, options);
}

weft_recurrent weft_rnn(weft_tensor *x, int64_t hidden, const weft_recurrent_options *options) {
    wi_call_begin(weft_tensor_graph(x), "weft_rnn");
    const weft_recurrent result = build_rnn(x, hidden, options);
    wi_call_end(weft_tensor_graph(x), NULL);
    return result;
}
