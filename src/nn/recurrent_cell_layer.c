/* Layers that compute one recurrent step, with the parameters of torch.nn.LSTMCell, GRUCell and RNNCell. */
#include "nn/layer_parameters.h"
#include <inttypes.h>
#include <math.h>
#include <weft/nn.h>
#include <weft/recurrent.h>

typedef struct cell {
    const char *kind, *call; /* such as "lstmcell" and "weft_lstm_cell_layer" */
    int64_t gates, hidden;
    weft_cell_options options;
    weft_recurrent_weights weights;
} cell;

static bool check(cell *c, weft_tensor *x, const weft_cell_options *given) {
    weft_graph *const graph = weft_tensor_graph(x);
    char text[WI_SHAPE_TEXT];
    if (!wi_inputs_graph(c->call, &x, 1) ||
        !WI_GRAPH_OPTIONS(graph, &c->options, given, c->call, WEFT_CELL_OPTIONS_INIT))
        return false;
    if (c->hidden < 1 || c->hidden > WI_MOST_HIDDEN)
        wi_graph_fail(
            graph, WEFT_ERROR_ARGUMENT, "%s: hidden is %" PRId64 ", expected 1 to 2^40", c->call, c->hidden);
    else if (c->options.relu && c->gates != 1)
        wi_graph_fail(
            graph, WEFT_ERROR_ARGUMENT, "%s: the option relu is set, but only an RNN has it", c->call);
    else if (c->options.reset_first && c->gates != 3)
        wi_graph_fail(
            graph, WEFT_ERROR_ARGUMENT, "%s: the option reset_first is set, but only a GRU has it", c->call);
    else if (x->dtype != WEFT_F32 || x->shape.rank != 2 || x->shape.dims[1] < 1)
        wi_graph_fail(graph, x->dtype == WEFT_F32 ? WEFT_ERROR_SHAPE : WEFT_ERROR_DTYPE,
            "%s: x is %s %s, expected f32 (N, I)", c->call, weft_dtype_name(x->dtype),
            wi_shape_print(x->graph, &x->shape, text));
    else
        return true;
    return false;
}

static bool make_weights(cell *c, weft_tensor *x) {
    weft_graph *const graph = weft_tensor_graph(x);
    const float bound = 1.0f / sqrtf((float)c->hidden);
    const weft_initialiser uniform = weft_init_uniform(-bound, bound);
    const weft_initialiser *const first = c->options.initialiser ? c->options.initialiser : &uniform;
    const int64_t line = c->gates * c->hidden;
    char name[WI_LAYER_NAME];
    wi_layer_name(name, graph, c->kind, c->options.name);
    weft_recurrent_weights *const w = &c->weights;
    w->weight_ih =
        wi_layer_parameter(graph, name, "weight_ih", first, 2, (const int64_t[]){line, x->shape.dims[1]});
    w->weight_hh = wi_layer_parameter(graph, name, "weight_hh", first, 2, (const int64_t[]){line, c->hidden});
    if (!c->options.no_bias) {
        w->bias_ih = wi_layer_parameter(graph, name, "bias_ih", first, 1, &line);
        w->bias_hh = wi_layer_parameter(graph, name, "bias_hh", first, 1, &line);
    }
    return weft_graph_status(graph) == WEFT_OK;
}

/* Errors name c->call until end() is called. */
static bool begin(cell *c, weft_tensor *x, const weft_cell_options *given) {
    wi_call_begin(weft_tensor_graph(x), c->call);
    return x && check(c, x, given) && make_weights(c, x);
}

static weft_recurrent end(weft_tensor *x, weft_recurrent result) {
    wi_call_end(weft_tensor_graph(x), NULL);
    return result;
}

/* The caller's state, or zeros (N, hidden) if it is NULL. */
static weft_tensor *state_of(const cell *c, weft_tensor *x, weft_tensor *state) {
    return state ? state : weft_expand(weft_number(x, 0), 2, (const int64_t[]){x->shape.dims[0], c->hidden});
}

weft_recurrent weft_lstm_cell_layer(
    weft_tensor *x, int64_t hidden, weft_tensor *h, weft_tensor *c, const weft_cell_options *options) {
    cell l = {.kind = "lstmcell", .call = "weft_lstm_cell_layer", .gates = 4, .hidden = hidden};
    weft_recurrent next = {.y = NULL};
    if (begin(&l, x, options)) next = weft_lstm_cell(x, state_of(&l, x, h), state_of(&l, x, c), &l.weights);
    return end(x, next);
}

weft_recurrent weft_gru_cell_layer(
    weft_tensor *x, int64_t hidden, weft_tensor *h, const weft_cell_options *options) {
    cell l = {.kind = "grucell", .call = "weft_gru_cell_layer", .gates = 3, .hidden = hidden};
    weft_recurrent next = {.y = NULL};
    if (begin(&l, x, options)) next = weft_gru_cell(x, state_of(&l, x, h), &l.weights, l.options.reset_first);
    return end(x, next);
}

weft_recurrent weft_rnn_cell_layer(
    weft_tensor *x, int64_t hidden, weft_tensor *h, const weft_cell_options *options) {
    cell l = {.kind = "rnncell", .call = "weft_rnn_cell_layer", .gates = 1, .hidden = hidden};
    weft_recurrent next = {.y = NULL};
    if (begin(&l, x, options)) next = weft_rnn_cell(x, state_of(&l, x, h), &l.weights, l.options.relu);
    return end(x, next);
}
