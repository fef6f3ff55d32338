/* LSTM, GRU and RNN of ONNX. The order of gates differs: LSTM i, o, f, c in ONNX and i, f, g, o in Weft; GRU z, r, h in ONNX and r, z, n in
 * Weft. Nodes that Weft's scans do not support are built step by step (onnx_unrolled.c). */
#include "onnx/onnx_recurrent.h"
#include <math.h>
#include <string.h>

/* For each gate of Weft, the number of the gate in ONNX. */
static const int order_of_lstm[] = {0, 2, 3, 1}, order_of_gru[] = {1, 0, 2}, order_of_rnn[] = {0};

/* The part of a tensor (directions, ...) that belongs to one direction. */
static weft_tensor *direction_of(weft_tensor *all, int direction) {
    return all ? weft_squeeze_axes(
                     weft_slice(all, 0, direction, direction + 1), (const int64_t[]){0, WEFT_END})
               : NULL;
}

/* Selects the blocks first .. first + gates - 1 of one direction of (directions, blocks · hidden, ...), in the given order. */
static weft_tensor *gates_of(
    weft_tensor *all, const wi_onnx_scan *s, const int *order, int direction, int first) {
    weft_tensor *parts[4], *const own = direction_of(all, direction);
    for (int g = 0; g < s->gates; g++) {
        const int64_t begin = (first + order[g]) * s->hidden;
        parts[g] = weft_slice(own, 0, begin, begin + s->hidden);
    }
    return s->gates > 1 ? weft_concat(parts, (size_t)s->gates, 0) : parts[0];
}

/* Are the activations of the direction those of Weft's scans? */
static bool has_usual_activations(const wi_onnx_scan *s, int direction) {
    static const char *const usual[] = {"Sigmoid", "Tanh", "Tanh"};
    const wi_onnx_activation *const own = s->activations[direction];
    if (s->gates == 1) return strcmp(own[0].name, "Tanh") == 0 || strcmp(own[0].name, "Relu") == 0;
    for (int i = 0; i < s->functions; i++)
        if (strcmp(own[i].name, usual[i]) != 0) return false;
    return true;
}

/* Reads the activations of each direction. The lists of alphas and betas have entries only for activations with such a parameter. */
static bool read_activations(wi_onnx_scan *s, wi_onnx_import *n, wi_onnx_node *node) {
    static const char *const usual[] = {"Sigmoid", "Tanh", "Tanh"};
    const WiOnnx__AttributeProto *const names = wi_onnx_attribute(node, "activations"),
                                        *const alphas = wi_onnx_attribute(node, "activation_alpha"),
                                        *const betas = wi_onnx_attribute(node, "activation_beta");
    const size_t count = (size_t)(s->functions * s->directions);
    size_t alpha = 0, beta = 0;
    if (names && names->n_strings > 0 && names->n_strings != count)
        return wi_onnx_fail(n, node, WEFT_ERROR_FORMAT, "it has %zu activations, expected %zu",
                   names->n_strings, count),
               false;
    for (size_t i = 0; i < count; i++) {
        const size_t place = i % (size_t)s->functions;
        wi_onnx_activation *const own = &s->activations[i / (size_t)s->functions][place];
        const bool named = names && names->n_strings > 0;
        const char *const name = named           ? (const char *)names->strings[i].data
                                 : s->gates == 1 ? "Tanh"
                                                 : usual[place];
        if (!wi_onnx_find_activation(own, name, named ? names->strings[i].len : strlen(name)))
            return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "its activation %zu is not known", i), false;
        if (own->has_alpha && alphas && alpha < alphas->n_floats)
            own->alpha = (double)alphas->floats[alpha++];
        if (own->has_beta && betas && beta < betas->n_floats) own->beta = (double)betas->floats[beta++];
        if (isnan(own->alpha) || isnan(own->beta))
            return wi_onnx_fail(
                       n, node, WEFT_ERROR_UNSUPPORTED, "its activation %zu needs an alpha or a beta", i),
                   false;
    }
    return true;
}

/* Reads the node. The caller has set s->x, s->w and s->r. */
static bool read_scan(wi_onnx_scan *s, wi_onnx_import *n, wi_onnx_node *node, char kind) {
    static const char *const ways[] = {"forward", "reverse", "bidirectional", NULL};
    const int way = wi_onnx_choice(node, "direction", ways);
    *s = (wi_onnx_scan){.gates = kind == 'L'   ? 4
                                 : kind == 'G' ? 3
                                               : 1,
        .functions = kind == 'L'   ? 3
                     : kind == 'G' ? 2
                                   : 1,
        .directions = way == 2 ? 2 : 1,
        .hidden = wi_onnx_whole(node, "hidden_size", 0),
        .clip = wi_onnx_real(node, "clip", 0),
        .reverse = way == 1,
        .batch_first = wi_onnx_whole(node, "layout", 0) != 0,
        .after = wi_onnx_whole(node, "linear_before_reset", 0) != 0,
        .coupled = wi_onnx_whole(node, "input_forget", 0) != 0,
        .x = s->x,
        .w = s->w,
        .r = s->r,
        .bias = wi_onnx_optional(n, node, 3),
        .lengths = wi_onnx_optional(n, node, 4),
        .h = wi_onnx_optional(n, node, 5),
        .c = kind == 'L' ? wi_onnx_optional(n, node, 6) : NULL,
        .peepholes = kind == 'L' ? wi_onnx_optional(n, node, 7) : NULL};
    if (n->status != WEFT_OK) return false;
    if (way == 3) return wi_onnx_fail(n, node, WEFT_ERROR_FORMAT, "its direction is not known"), false;
    if (weft_tensor_rank(s->x) != 3 || weft_tensor_rank(s->w) != 3 || weft_tensor_rank(s->r) != 3)
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "x, W and R are not of rank 3"), false;
    if (s->hidden == 0) s->hidden = weft_tensor_dimension(s->r, 2);
    if (s->hidden < 1 || s->hidden > INT32_MAX || weft_tensor_dimension(s->w, 1) != s->gates * s->hidden ||
        weft_tensor_dimension(s->r, 1) != s->gates * s->hidden ||
        weft_tensor_dimension(s->w, 0) != s->directions)
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "its weights do not match hidden_size or direction"),
               false;
    /* With layout 1, states are (N, directions, H). */
    if (s->batch_first && s->h) s->h = weft_swap_axes(s->h, 0, 1);
    if (s->batch_first && s->c) s->c = weft_swap_axes(s->c, 0, 1);
    return read_activations(s, n, node);
}

/* Computes one direction by Weft's scan: y (T, N, H), or (N, T, H) with layout 1; h and c (N, H). */
static weft_recurrent scan_direction(const wi_onnx_scan *s, int direction) {
    const int *const order = s->gates == 4 ? order_of_lstm : s->gates == 3 ? order_of_gru : order_of_rnn;
    const weft_recurrent_weights weights = {.weight_ih = gates_of(s->w, s, order, direction, 0),
        .weight_hh = gates_of(s->r, s, order, direction, 0),
        .bias_ih = s->bias ? gates_of(s->bias, s, order, direction, 0) : NULL,
        .bias_hh = s->bias ? gates_of(s->bias, s, order, direction, s->gates) : NULL};
    const weft_sequence_options options = {WEFT_SEQUENCE_OPTIONS_INIT,
        .reverse = s->reverse || direction == 1, .time_major = !s->batch_first,
        .reset_first = s->gates == 3 && !s->after,
        .relu = s->gates == 1 && strcmp(s->activations[direction][0].name, "Relu") == 0,
        .lengths = s->lengths, .h0 = direction_of(s->h, direction), .c0 = direction_of(s->c, direction)};
    return s->gates == 4   ? weft_lstm_with(s->x, &weights, &options)
           : s->gates == 3 ? weft_gru_with(s->x, &weights, &options)
                           : weft_rnn_with(s->x, &weights, &options);
}

static bool scans(const wi_onnx_scan *s) {
    bool usual = s->clip == 0 && !s->coupled && !s->peepholes;
    for (int d = 0; d < s->directions; d++) usual = usual && has_usual_activations(s, d);
    return usual;
}

weft_tensor *wi_onnx_build_scan(
    wi_onnx_import *n, wi_onnx_node *node, char kind, weft_tensor *x, weft_tensor *w, weft_tensor *r) {
    wi_onnx_scan s = {.x = x, .w = w, .r = r};
    weft_tensor *y[2], *h[2], *c[2];
    if (!x || !w || !r || !read_scan(&s, n, node, kind)) return NULL;
    const bool scanned = scans(&s);
    const int64_t steps = wi_onnx_fixed_size(s.x, s.batch_first ? 1 : 0);
    if (!scanned && (steps < 1 || steps > WI_ONNX_MOST_STEPS))
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED,
            "its activations, clip, input_forget or peepholes need a fixed number of at most %d time steps",
            (int)WI_ONNX_MOST_STEPS);
    for (int d = 0; d < s.directions; d++) {
        const weft_recurrent own = scanned ? scan_direction(&s, d) : wi_onnx_unroll(&s, d, steps);
        if (!own.y) return NULL;
        y[d] = own.y, h[d] = own.h, c[d] = own.c;
    }
    const size_t count = (size_t)s.directions;
    wi_onnx_set(n, node, 1, weft_stack(h, count, s.batch_first));
    if (s.gates == 4) wi_onnx_set(n, node, 2, weft_stack(c, count, s.batch_first));
    return weft_stack(y, count, s.batch_first ? 2 : 1);
}

static weft_tensor *build_recurrent(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0), *const w = wi_onnx_get(n, node, 1),
                       *const r = wi_onnx_get(n, node, 2);
    return wi_onnx_build_scan(n, node, node->op_type[0], x, w, r);
}

const wi_onnx_op wi_onnx_recurrent_ops[] = {
    {"LSTM", .build = build_recurrent, .weights = 1u << 1 | 1u << 2 | 1u << 3},
    {"GRU", .build = build_recurrent, .weights = 1u << 1 | 1u << 2 | 1u << 3},
    {"RNN", .build = build_recurrent, .weights = 1u << 1 | 1u << 2 | 1u << 3}, {0}};
