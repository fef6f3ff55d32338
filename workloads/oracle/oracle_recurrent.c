/* LSTM, GRU and RNN: sequences, layers with parameters of known values, single steps. See oracle.h. */
#include "oracle/draw.h"
#include "oracle/reference_recurrent.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Of the call: its text is the result that it gives, y, h or c. */
enum { X, W_IH, W_HH, B_IH, B_HH, H0, C0, W_HR, LENGTHS };
enum { LEFT, REVERSE, TIME_MAJOR, VARIANT, LAYERED, LAYERS, BIDIRECTIONAL, NO_BIAS, HIDDEN, PROJECTION };
#define WEIGHTS_LINE                                                                                         \
    "&(const weft_recurrent_weights){.weight_ih = $1, .weight_hh = $2, .bias_ih = $3, .bias_hh = $4, "       \
    ".weight_hr = $7}"

static weft_recurrent_weights weights_of(weft_tensor *const *in) {
    return (weft_recurrent_weights){.weight_ih = in[W_IH],
        .weight_hh = in[W_HH],
        .bias_ih = in[B_IH],
        .bias_hh = in[B_HH],
        .weight_hr = in[W_HR]};
}

static weft_tensor *result_of(weft_recurrent r, const char *which) {
    return *which == 'y' ? r.y : *which == 'h' ? r.h : r.c;
}
static f64_array *array_of(f64_recurrent r, const char *which) {
    return f64_copy(*which == 'y' ? r.y : *which == 'h' ? r.h : r.c);
}

static f64_network network_of(f64_cell cell, const oracle_call *call, const f64_array *const *in) {
    return (f64_network){.cell = cell,
        .variant = call->integers[VARIANT] != 0,
        .weight_ih = in[W_IH],
        .weight_hh = in[W_HH],
        .bias_ih = in[B_IH],
        .bias_hh = in[B_HH],
        .weight_hr = in[W_HR],
        .h0 = in[H0],
        .c0 = in[C0],
        .lengths = in[LENGTHS],
        .left_padded = call->integers[LEFT] != 0,
        .reverse = call->integers[REVERSE] != 0,
        .time_major = call->integers[TIME_MAJOR] != 0};
}

/* ---- drawing ---- */

/* Products of all steps at the sizes that the program is drawn with: other sizes have many times as many. */
enum { MOST_PRODUCTS = 300000 };

static int64_t draw_hidden(oracle_draw *draw, f64_cell cell, int64_t rows, int64_t inputs) {
    int64_t hidden = draw_size(draw, 65);
    while (hidden > 1 && rows * f64_cell_gates(cell) * hidden * (inputs + hidden) > MOST_PRODUCTS)
        hidden = draw_size(draw, hidden - 1);
    return hidden;
}

static double draw_bound(oracle_draw *draw, int64_t hidden) {
    return (double)(float)(draw_between(draw, 0.3, 1.2) / sqrt((double)hidden));
}

/* false: there is no room. Slots that stay absent are -1. */
static bool draw_cell_weights(
    oracle_draw *draw, oracle_call *call, f64_cell cell, int64_t inputs, int64_t hidden, int64_t width) {
    const int64_t line = f64_cell_gates(cell) * hidden;
    const double bound = draw_bound(draw, hidden);
    call->inputs[W_IH] = draw_weights(draw, (const int64_t[]){line, inputs, WEFT_END}, -bound, bound);
    call->inputs[W_HH] = draw_weights(draw, (const int64_t[]){line, width, WEFT_END}, -bound, bound);
    bool good = call->inputs[W_IH] >= 0 && call->inputs[W_HH] >= 0;
    for (int bias = B_IH; bias <= B_HH; bias++) {
        if (!draw_chance(draw, 60)) continue;
        call->inputs[bias] = draw_weights(draw, (const int64_t[]){line, WEFT_END}, -0.5, 0.5);
        good = good && call->inputs[bias] >= 0;
    }
    return good;
}

/* The width of h: less than `hidden` with a projection, which an LSTM may have. */
static int64_t draw_width(oracle_draw *draw, f64_cell cell, int64_t hidden) {
    return cell == F64_LSTM && hidden > 1 && draw_chance(draw, 30) ? draw_size(draw, hidden - 1) : hidden;
}

/* x with its steps, whose last dimension is fixed and whose number of steps is not the batch's: an existing value or a new source. */
static int draw_sequence(oracle_draw *draw, oracle_call *call) {
    call->integers[TIME_MAJOR] = draw_chance(draw, 40);
    if (draw_chance(draw, 50)) return draw_value_within(draw, DRAW_FLOAT, 3, 3, -10, 10);
    int64_t dims[WEFT_MAX_RANK + 1];
    draw_shape(draw, 3, dims);
    if (dims[0] < 0 || dims[1] < 0) call->integers[TIME_MAJOR] = dims[1] < 0;
    for (int i = 0; i < 2; i++)
        if (dims[i] > 20 && dims[i] < 1000000) dims[i] = 1 + draw_below(draw, 20);
    if (dims[2] < 1 || dims[2] >= 1000000) dims[2] = draw_size(draw, 33);
    return draw_source(
        draw, &(draw_source_options){.dtype = draw_format(draw), .dims = dims, .low = -2, .high = 2});
}

/* i32 (N) in 0 .. T, both included. */
static bool draw_step_lengths(oracle_draw *draw, oracle_call *call, int64_t batch, int64_t steps) {
    if (!draw_chance(draw, 35)) return true;
    const int64_t dims[] = {batch, WEFT_END};
    call->integers[LEFT] = draw_chance(draw, 40);
    call->inputs[LENGTHS] =
        draw_source(draw, &(draw_source_options){.dtype = WEFT_I32, .dims = dims, .below = steps + 1});
    return call->inputs[LENGTHS] >= 0;
}

/* A state of the layers of these dimensions, often absent. */
static bool draw_state(oracle_draw *draw, oracle_call *call, int slot, const int64_t *dims) {
    if (!draw_chance(draw, 60)) return true;
    call->inputs[slot] = draw_shaped(draw, draw_format(draw), dims, -3, 3);
    return call->inputs[slot] >= 0;
}

static bool draw_layers(
    oracle_draw *draw, oracle_call *call, f64_cell cell, int64_t batch, int64_t hidden, int64_t width) {
    const int64_t layers = call->integers[LAYERS] = 1 + draw_below(draw, 3);
    call->integers[BIDIRECTIONAL] = draw_chance(draw, 50);
    call->integers[NO_BIAS] = draw_chance(draw, 30);
    call->integers[HIDDEN] = hidden;
    call->integers[PROJECTION] = width < hidden ? width : 0;
    call->numbers[0] = draw_bound(draw, hidden);
    const int64_t all = layers * (1 + call->integers[BIDIRECTIONAL]);
    return draw_state(draw, call, H0, (const int64_t[]){all, batch, width, WEFT_END}) &&
           (cell != F64_LSTM || draw_state(draw, call, C0, (const int64_t[]){all, batch, hidden, WEFT_END}));
}

static bool draw_any_sequence(oracle_draw *draw, oracle_call *call, f64_cell cell) {
    static const char *const results[] = {"y", "y", "h", "c"};
    const int x = call->inputs[X] = draw_sequence(draw, call);
    if (x < 0 || !draw_is_fixed(draw, x, 2)) return false;
    const int time = call->integers[TIME_MAJOR] ? 0 : 1;
    const int64_t batch = draw_dim(draw, x, 1 - time), steps = draw_dim(draw, x, time),
                  inputs = draw_dim(draw, x, 2);
    if (steps < 1 || draw_array(draw, x)->dims[time] > 40) return false;
    const int64_t hidden = draw_hidden(draw, cell, draw_count(draw, x) / inputs, inputs),
                  width = draw_width(draw, cell, hidden);
    call->text = results[draw_below(draw, cell == F64_LSTM ? 4 : 3)];
    call->integers[VARIANT] = cell != F64_LSTM && draw_chance(draw, 50);
    call->integers[LAYERED] = draw_chance(draw, 35);
    if (!draw_step_lengths(draw, call, batch, steps)) return false;
    if (call->integers[LAYERED]) return draw_layers(draw, call, cell, batch, hidden, width);
    call->integers[REVERSE] = draw_chance(draw, 40);
    if (width < hidden)
        call->inputs[W_HR] = draw_weights(draw, (const int64_t[]){width, hidden, WEFT_END}, -0.5, 0.5);
    return (width == hidden || call->inputs[W_HR] >= 0) &&
           draw_cell_weights(draw, call, cell, inputs, hidden, width) &&
           draw_state(draw, call, H0, (const int64_t[]){batch, width, WEFT_END}) &&
           (cell != F64_LSTM || draw_state(draw, call, C0, (const int64_t[]){batch, hidden, WEFT_END}));
}

/* ---- layers: numbers for their parameters ---- */

/* By the parameter's name within its layer ("weight_ih_l0") and the element's place; in -bound .. bound. */
static double known_value(const char *name, size_t place, double bound) {
    uint64_t bits = UINT64_C(0xcbf29ce484222325) + place * UINT64_C(0x9e3779b97f4a7c15);
    for (; *name; name++) bits = (bits ^ (uint64_t)(unsigned char)*name) * UINT64_C(0x100000001b3);
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)(float)(bound * (2 * ldexp((double)(bits >> 11), -53) - 1));
}

static weft_status fill_known(const weft_initialiser *self, const weft_tensor *variable, float *values) {
    const char *const dot = strrchr(weft_tensor_name(variable), '.');
    size_t count = 1;
    for (int i = 0; i < weft_tensor_rank(variable); i++) count *= (size_t)weft_tensor_dimension(variable, i);
    for (size_t i = 0; i < count; i++) values[i] = (float)known_value(dot ? dot + 1 : "", i, (double)self->a);
    return WEFT_OK;
}

/* columns 0: of rank 1. */
static const f64_array *known_parameter(
    const char *kind, int64_t layer, bool reverse, int64_t rows, int64_t columns, double bound) {
    char name[48];
    snprintf(name, sizeof name, "%s_l%d%s", kind, (int)layer, reverse ? "_reverse" : "");
    f64_array *const values = f64_zeros(columns ? 2 : 1, (const int64_t[]){rows, columns});
    for (size_t i = 0; i < values->count; i++) values->value[i] = known_value(name, i, bound);
    return values;
}

/* Parameters keep their values, whatever the program trains. */
static weft_recurrent frozen(weft_graph *graph, const char *names, weft_recurrent result) {
    const weft_recurrent nothing = {NULL, NULL, NULL};
    return result.y && weft_freeze(graph, names, true) == WEFT_OK ? result : nothing;
}

static weft_recurrent build_layers(
    weft_graph *graph, f64_cell cell, const oracle_call *call, weft_tensor *const *in) {
    const weft_initialiser known = {
        .kind = WEFT_INIT_CUSTOM, .a = (float)call->numbers[0], .fill = fill_known};
    const bool variant = call->integers[VARIANT] != 0;
    const weft_recurrent_options options = {WEFT_RECURRENT_OPTIONS_INIT, .layers = call->integers[LAYERS],
        .bidirectional = call->integers[BIDIRECTIONAL] != 0, .no_bias = call->integers[NO_BIAS] != 0,
        .projection = call->integers[PROJECTION], .h0 = in[H0], .c0 = in[C0], .lengths = in[LENGTHS],
        .left_padded = call->integers[LEFT] != 0, .time_major = call->integers[TIME_MAJOR] != 0,
        .relu = cell == F64_RNN && variant, .reset_first = cell == F64_GRU && variant, .initialiser = &known};
    const int64_t hidden = call->integers[HIDDEN];
    switch (cell) {
    case F64_LSTM: return frozen(graph, "lstm*", weft_lstm(in[X], hidden, &options));
    case F64_GRU: return frozen(graph, "gru*", weft_gru(in[X], hidden, &options));
    case F64_RNN: break;
    }
    return frozen(graph, "rnn*", weft_rnn(in[X], hidden, &options));
}

/* States (layers · directions, N, width) of one direction of a layer; NULL: absent. */
static const f64_array *state_at(const f64_array *states, int64_t index) {
    return states ? f64_reshape(f64_slice(states, 0, index, index + 1), 2, states->dims + 1) : NULL;
}

static f64_recurrent run_direction(
    const f64_network *shared, const oracle_call *call, const f64_array *x, int64_t layer, bool reverse) {
    const int64_t directions = 1 + call->integers[BIDIRECTIONAL], index = layer * directions + reverse;
    const int64_t hidden = call->integers[HIDDEN], line = f64_cell_gates(shared->cell) * hidden,
                  projection = call->integers[PROJECTION];
    const double bound = call->numbers[0];
    const bool biased = !call->integers[NO_BIAS];
    f64_network n = *shared;
    n.reverse = reverse;
    n.h0 = state_at(shared->h0, index);
    n.c0 = state_at(shared->c0, index);
    n.weight_ih = known_parameter("weight_ih", layer, reverse, line, x->dims[2], bound);
    n.weight_hh = known_parameter("weight_hh", layer, reverse, line, projection ? projection : hidden, bound);
    n.bias_ih = biased ? known_parameter("bias_ih", layer, reverse, line, 0, bound) : NULL;
    n.bias_hh = biased ? known_parameter("bias_hh", layer, reverse, line, 0, bound) : NULL;
    n.weight_hr = projection ? known_parameter("weight_hr", layer, reverse, projection, hidden, bound) : NULL;
    return f64_recurrent_sequence(&n, x);
}

static const f64_array *as_state(const f64_array *a) {
    return f64_reshape(a, 3, (const int64_t[]){1, a->dims[0], a->dims[1]});
}

static f64_recurrent run_layers(const f64_network *shared, const oracle_call *call, const f64_array *x) {
    const f64_array *h[ORACLE_INTEGERS], *c[ORACLE_INTEGERS], *y[2];
    const int directions = 1 + (int)call->integers[BIDIRECTIONAL];
    size_t count = 0;
    for (int64_t layer = 0; layer < call->integers[LAYERS]; layer++) {
        for (int d = 0; d < directions; d++, count++) {
            const f64_recurrent r = run_direction(shared, call, x, layer, d == 1);
            y[d] = r.y;
            h[count] = as_state(r.h);
            c[count] = r.c ? as_state(r.c) : NULL;
        }
        x = f64_concat(y, (size_t)directions, 2);
    }
    return (f64_recurrent){x, f64_concat(h, count, 0), c[0] ? f64_concat(c, count, 0) : NULL};
}

/* ---- sequences ---- */

static weft_tensor *build_sequence(
    weft_graph *graph, f64_cell cell, const oracle_call *call, weft_tensor *const *in) {
    if (call->integers[LAYERED]) return result_of(build_layers(graph, cell, call, in), call->text);
    const bool variant = call->integers[VARIANT] != 0;
    const weft_recurrent_weights weights = weights_of(in);
    const weft_sequence_options options = {WEFT_SEQUENCE_OPTIONS_INIT, .h0 = in[H0], .c0 = in[C0],
        .lengths = in[LENGTHS], .left_padded = call->integers[LEFT] != 0,
        .reverse = call->integers[REVERSE] != 0, .time_major = call->integers[TIME_MAJOR] != 0,
        .relu = cell == F64_RNN && variant, .reset_first = cell == F64_GRU && variant};
    return result_of(cell == F64_LSTM  ? weft_lstm_with(in[X], &weights, &options)
                     : cell == F64_GRU ? weft_gru_with(in[X], &weights, &options)
                                       : weft_rnn_with(in[X], &weights, &options),
        call->text);
}

static f64_array *evaluate_sequence(f64_cell cell, const oracle_call *call, const f64_array *const *in) {
    const f64_network n = network_of(cell, call, in);
    return array_of(call->integers[LAYERED] ? run_layers(&n, call, in[X]) : f64_recurrent_sequence(&n, in[X]),
        call->text);
}

/* `more` are options that this cell alone has. */
#define SEQUENCE(op, kind, more)                                                                             \
    ORACLE_DRAW(op) {                                                                                        \
        return draw_any_sequence(draw, call, kind);                                                          \
    }                                                                                                        \
    ORACLE_BUILD(op) {                                                                                       \
        ORACLE_UNUSED;                                                                                       \
        return build_sequence(graph, kind, call, in);                                                        \
    }                                                                                                        \
    ORACLE_EVALUATE(op) {                                                                                    \
        (void)sizes;                                                                                         \
        return evaluate_sequence(kind, call, in);                                                            \
    }                                                                                                        \
    ORACLE_OP(op,                                                                                            \
        "($b4 ? weft_" #op                                                                                   \
        "($0, $i8, &(const weft_recurrent_options){WEFT_RECURRENT_OPTIONS_INIT, .layers = $i5, "             \
        ".bidirectional = $b6, .no_bias = $b7, .h0 = $5, .lengths = $8, .left_padded = $b0, "                \
        ".time_major = $b2, .initialiser = &known /* fill_known */, .projection = $i9" more "}) : weft_" #op \
        "_with($0, " WEIGHTS_LINE ", &(const weft_sequence_options){WEFT_SEQUENCE_OPTIONS_INIT, .h0 = $5, "  \
        ".lengths = $8, .left_padded = $b0, .reverse = $b1, .time_major = $b2" more "})).$w")
SEQUENCE(lstm, F64_LSTM, ", .c0 = $6");
SEQUENCE(gru, F64_GRU, ", .reset_first = $b3");
SEQUENCE(rnn, F64_RNN, ", .relu = $b3");

/* ---- single steps ---- */

static bool draw_cell(oracle_draw *draw, oracle_call *call, f64_cell cell) {
    static const char *const results[] = {"h", "c"};
    const int x = call->inputs[X] = draw_value_within(draw, DRAW_FLOAT, 2, 2, -10, 10);
    if (x < 0 || !draw_is_fixed(draw, x, 1)) return false;
    const int64_t batch = draw_dim(draw, x, 0), inputs = draw_dim(draw, x, 1);
    const int64_t hidden = draw_hidden(draw, cell, draw_count(draw, x) / inputs, inputs),
                  width = draw_width(draw, cell, hidden);
    call->text = results[cell == F64_LSTM && draw_chance(draw, 40)];
    call->integers[VARIANT] = cell != F64_LSTM && draw_chance(draw, 50);
    call->inputs[H0] = draw_shaped(draw, draw_format(draw), (const int64_t[]){batch, width, WEFT_END}, -3, 3);
    if (call->inputs[H0] < 0 || !draw_cell_weights(draw, call, cell, inputs, hidden, width)) return false;
    if (cell != F64_LSTM) return true;
    call->inputs[C0] =
        draw_shaped(draw, draw_format(draw), (const int64_t[]){batch, hidden, WEFT_END}, -3, 3);
    if (width < hidden)
        call->inputs[W_HR] = draw_weights(draw, (const int64_t[]){width, hidden, WEFT_END}, -0.5, 0.5);
    return call->inputs[C0] >= 0 && (width == hidden || call->inputs[W_HR] >= 0);
}

/* `built` over in, weights and variant. */
#define CELL(op, kind, built, line)                                                                          \
    ORACLE_DRAW(op) {                                                                                        \
        return draw_cell(draw, call, kind);                                                                  \
    }                                                                                                        \
    ORACLE_BUILD(op) {                                                                                       \
        ORACLE_UNUSED;                                                                                       \
        const weft_recurrent_weights weights = weights_of(in);                                               \
        const bool variant = call->integers[VARIANT] != 0;                                                   \
        (void)variant;                                                                                       \
        return result_of(built, call->text);                                                                 \
    }                                                                                                        \
    ORACLE_EVALUATE(op) {                                                                                    \
        (void)sizes;                                                                                         \
        const f64_network n = network_of(kind, call, in);                                                    \
        return array_of(f64_recurrent_step(&n, in[X]), call->text);                                          \
    }                                                                                                        \
    ORACLE_OP(op, "weft_" #op "($0, $5, " line ").$w")
CELL(lstm_cell, F64_LSTM, weft_lstm_cell(in[X], in[H0], in[C0], &weights), "$6, " WEIGHTS_LINE);
CELL(gru_cell, F64_GRU, weft_gru_cell(in[X], in[H0], &weights, variant), WEIGHTS_LINE ", $b3");
CELL(rnn_cell, F64_RNN, weft_rnn_cell(in[X], in[H0], &weights, variant), WEIGHTS_LINE ", $b3");
