/* LSTM, GRU and RNN of ONNX. Gates have another order there: LSTM i, o, f, c (here i, f, g, o); GRU z, r, h (here r, z, n). */
#include "onnx/onnx_node.h"
#include <string.h>

/* Which block of the file's weights comes at each place here. */
static const int order_of_lstm[] = {0, 2, 3, 1}, order_of_gru[] = {1, 0, 2}, order_of_rnn[] = {0};

typedef struct scan {
    int gates;
    const int *order;
    int64_t hidden;
    bool reset_first, time_major;
} scan;

/* Direction d of (directions, first + gates · hidden, ...), its blocks in the order that is wanted here. */
static weft_tensor *gates_of(weft_tensor *all, const scan *s, int direction, int64_t first) {
    weft_tensor *parts[4], *const own = weft_slice(all, 0, direction, direction + 1);
    for (int g = 0; g < s->gates; g++) {
        const int64_t begin = first + s->order[g] * s->hidden;
        parts[g] = weft_slice(own, 1, begin, begin + s->hidden);
    }
    return weft_squeeze_axes(
        s->gates > 1 ? weft_concat(parts, (size_t)s->gates, 1) : parts[0], (const int64_t[]){0, WEFT_END});
}

static bool has_usual_activations(wi_onnx_node *node, const char *const *usual, size_t count) {
    const WiOnnx__AttributeProto *const own = wi_onnx_attribute(node, "activations");
    for (size_t i = 0; own && i < own->n_strings; i++)
        if (own->strings[i].len != strlen(usual[i % count]) ||
            memcmp(own->strings[i].data, usual[i % count], own->strings[i].len) != 0)
            return false;
    return true;
}

/* What is not here has an error. */
static bool is_supported(wi_onnx_import *n, wi_onnx_node *node) {
    static const char *const lstm[] = {"Sigmoid", "Tanh", "Tanh"}, *const gru[] = {"Sigmoid", "Tanh"},
                             *const rnn[] = {"Tanh"}, *const relu[] = {"Relu"};
    const char kind = node->op_type[0];
    const bool usual = kind == 'L' ? has_usual_activations(node, lstm, 3)
                       : kind == 'G'
                           ? has_usual_activations(node, gru, 2)
                           : has_usual_activations(node, rnn, 1) || has_usual_activations(node, relu, 1);
    if (!usual)
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "its activations are not supported"), false;
    if (wi_onnx_attribute(node, "clip") || wi_onnx_whole(node, "input_forget", 0) ||
        (kind == 'L' && wi_onnx_has(node, 7)))
        return wi_onnx_fail(
                   n, node, WEFT_ERROR_UNSUPPORTED, "clip, input_forget and peepholes are not supported"),
               false;
    return true;
}

static weft_tensor *state_of(wi_onnx_import *n, wi_onnx_node *node, size_t index, int direction) {
    if (!wi_onnx_has(node, index)) return NULL;
    weft_tensor *const all = wi_onnx_get(n, node, index);
    return all ? weft_squeeze_axes(
                     weft_slice(all, 0, direction, direction + 1), (const int64_t[]){0, WEFT_END})
               : NULL;
}

/* One direction: y (T, N, H), h and c (N, H). */
static weft_recurrent run(wi_onnx_import *n, wi_onnx_node *node, const scan *s, int direction, bool reverse) {
    weft_tensor *const x = wi_onnx_get(n, node, 0), *const w = wi_onnx_get(n, node, 1),
                       *const r = wi_onnx_get(n, node, 2);
    weft_tensor *const bias = wi_onnx_has(node, 3) ? wi_onnx_get(n, node, 3) : NULL;
    weft_sequence_options options = {WEFT_SEQUENCE_OPTIONS_INIT, .reverse = reverse, .time_major = true,
        .reset_first = s->gates == 3 && s->reset_first};
    static const char *const relu[] = {"Relu"};
    if (n->status != WEFT_OK) return (weft_recurrent){0};
    const weft_recurrent_weights weights = {.weight_ih = gates_of(w, s, direction, 0),
        .weight_hh = gates_of(r, s, direction, 0),
        .bias_ih = bias ? gates_of(bias, s, direction, 0) : NULL,
        .bias_hh = bias ? gates_of(bias, s, direction, s->gates * s->hidden) : NULL};
    options.lengths = wi_onnx_has(node, 4) ? wi_onnx_get(n, node, 4) : NULL;
    options.h0 = state_of(n, node, 5, direction);
    options.relu = wi_onnx_attribute(node, "activations") && has_usual_activations(node, relu, 1);
    if (s->gates == 4) options.c0 = state_of(n, node, 6, direction);
    if (n->status != WEFT_OK) return (weft_recurrent){0};
    return s->gates == 4   ? weft_lstm_with(x, &weights, &options)
           : s->gates == 3 ? weft_gru_with(x, &weights, &options)
                           : weft_rnn_with(x, &weights, &options);
}

/* y (T, directions, N, H), h and c (directions, N, H). */
static weft_tensor *build_recurrent(wi_onnx_import *n, wi_onnx_node *node) {
    const char kind = node->op_type[0];
    const bool both = wi_onnx_says(node, "direction", "bidirectional"),
               back = wi_onnx_says(node, "direction", "reverse");
    const scan s = {kind == 'L'   ? 4
                    : kind == 'G' ? 3
                                  : 1,
        kind == 'L'   ? order_of_lstm
        : kind == 'G' ? order_of_gru
                      : order_of_rnn,
        wi_onnx_whole(node, "hidden_size", 0), wi_onnx_whole(node, "linear_before_reset", 0) == 0,
        wi_onnx_whole(node, "layout", 0) == 0};
    const size_t count = both ? 2 : 1;
    weft_tensor *y[2], *h[2], *c[2];
    if (!is_supported(n, node)) return NULL;
    if (!s.time_major || s.hidden < 1)
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "it needs hidden_size, and layout 0");
    for (size_t d = 0; d < count; d++) {
        const weft_recurrent own = run(n, node, &s, (int)d, back || d == 1);
        if (!own.y) return NULL;
        y[d] = own.y, h[d] = own.h, c[d] = own.c;
    }
    wi_onnx_set(n, node, 1, weft_stack(h, count, 0));
    if (s.gates == 4) wi_onnx_set(n, node, 2, weft_stack(c, count, 0));
    return weft_stack(y, count, 1);
}

const wi_onnx_op wi_onnx_recurrent_ops[] = {
    {"LSTM", .build = build_recurrent, .weights = 1u << 1 | 1u << 2 | 1u << 3},
    {"GRU", .build = build_recurrent, .weights = 1u << 1 | 1u << 2 | 1u << 3},
    {"RNN", .build = build_recurrent, .weights = 1u << 1 | 1u << 2 | 1u << 3}, {0}};
