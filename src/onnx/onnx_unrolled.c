/* Recurrent operators of ONNX whose activations, clip, input_forget or peepholes Weft's scans do not have: each step has its own nodes. */
#include "onnx/onnx_recurrent.h"
#include <math.h>
#include <string.h>

/* The activations with their default alpha and beta. NAN: the specification and implementations of ONNX have different defaults. */
static const wi_onnx_activation activations[] = {{.name = "Relu"}, {.name = "Tanh"}, {.name = "Sigmoid"},
    {.name = "Softsign"}, {.name = "Softplus"}, {"Affine", true, true, (double)NAN, (double)NAN},
    {"LeakyRelu", true, false, 0.01, 0}, {"ThresholdedRelu", true, false, (double)NAN, 0},
    {"ScaledTanh", true, true, (double)NAN, (double)NAN}, {"HardSigmoid", true, true, 0.2, 0.5},
    {"Elu", true, false, 1, 0}};

bool wi_onnx_find_activation(wi_onnx_activation *activation, const char *name, size_t length) {
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++) {
        *activation = activations[i];
        if (strlen(activation->name) == length && strncmp(activation->name, name, length) == 0) return true;
    }
    return false;
}

static weft_tensor *activate(const wi_onnx_scan *s, int direction, int function, weft_tensor *x) {
    const wi_onnx_activation *const a = &s->activations[direction][function];
    if (s->clip > 0) x = weft_clamp(x, -s->clip, s->clip);
    switch (a->name[0]) {
    case 'R': return weft_relu(x);
    case 'A': return weft_add_number(weft_mul_number(x, a->alpha), a->beta);
    case 'L': return weft_leaky_relu(x, a->alpha);
    case 'H': return weft_clamp(weft_add_number(weft_mul_number(x, a->alpha), a->beta), 0, 1);
    case 'E': return weft_elu(x, a->alpha);
    case 'T':
        return a->has_alpha ? weft_where(weft_greater_number(x, a->alpha), x, weft_number(x, 0))
                            : weft_tanh(x);
    default: break;
    }
    if (a->has_alpha) return weft_mul_number(weft_tanh(weft_mul_number(x, a->beta)), a->alpha);
    return a->name[1] == 'i' ? weft_sigmoid(x) : a->name[4] == 's' ? weft_softsign(x) : weft_softplus(x);
}

/* The weights of one direction, with a block for each gate, in the order of the file. */
typedef struct direction {
    const wi_onnx_scan *s;
    int index;
    weft_tensor *w, *r, *input_bias, *state_bias, *peepholes; /* (G·H, ...), (G·H) or NULL, (3·H) or NULL */
} direction;

static weft_tensor *slice_of(weft_tensor *all, int index, int64_t first, int64_t end) {
    if (!all) return NULL;
    weft_tensor *const own =
        weft_squeeze_axes(weft_slice(all, 0, index, index + 1), (const int64_t[]){0, WEFT_END});
    return weft_slice(own, 0, first, end);
}

/* The block of gate g along the last axis. */
static weft_tensor *gate(const direction *d, weft_tensor *all, int g) {
    return all ? weft_slice(all, -1, g * d->s->hidden, (g + 1) * d->s->hidden) : NULL;
}

static weft_tensor *plus(weft_tensor *a, weft_tensor *b) {
    return b ? weft_add(a, b) : a;
}

static weft_tensor *peep(const direction *d, int g, weft_tensor *x, weft_tensor *c) {
    return d->peepholes ? weft_add(x, weft_mul(gate(d, d->peepholes, g), c)) : x;
}

/* x and h: the products of the input and the state with the weights of all gates, plus biases. */
static weft_recurrent step_lstm(const direction *d, weft_tensor *x, weft_tensor *h, weft_tensor *c) {
    weft_tensor *const all = weft_add(x, h);
    weft_tensor *const input = activate(d->s, d->index, 0, peep(d, 0, gate(d, all, 0), c));
    weft_tensor *const forget = d->s->coupled ? weft_number_sub(1, input)
                                              : activate(d->s, d->index, 0, peep(d, 2, gate(d, all, 2), c));
    weft_tensor *const fresh = activate(d->s, d->index, 1, gate(d, all, 3));
    weft_tensor *const next = weft_add(weft_mul(forget, c), weft_mul(input, fresh));
    weft_tensor *const output = activate(d->s, d->index, 0, peep(d, 1, gate(d, all, 1), next));
    const wi_onnx_scan unclipped = {.activations = {{d->s->activations[d->index][2]}}};
    return (weft_recurrent){NULL, weft_mul(output, activate(&unclipped, 0, 0, next)), next};
}

static weft_recurrent step_gru(const direction *d, weft_tensor *x, weft_tensor *product, weft_tensor *h) {
    weft_tensor *const all = weft_add(x, product);
    weft_tensor *const update = activate(d->s, d->index, 0, gate(d, all, 0)), *const reset =
                                                                                  activate(d->s, d->index, 0,
                                                                                      gate(d, all, 1));
    weft_tensor *const rows = weft_slice(d->r, 0, 2 * d->s->hidden, 3 * d->s->hidden);
    weft_tensor *const state =
        d->s->after ? weft_mul(reset, gate(d, product, 2))
                    : plus(weft_matmul(weft_mul(reset, h), weft_transpose(rows)), gate(d, d->state_bias, 2));
    weft_tensor *const fresh = activate(d->s, d->index, 1, weft_add(gate(d, x, 2), state));
    return (weft_recurrent){
        NULL, weft_add(weft_mul(weft_number_sub(1, update), fresh), weft_mul(update, h)), NULL};
}

/* Computes one time step with input x (N, I). In rows where `valid` (N, 1) is false, the states do not change. */
static weft_recurrent step(
    const direction *d, weft_tensor *x, const weft_recurrent *before, weft_tensor *valid) {
    weft_tensor *const input = plus(weft_matmul(x, weft_transpose(d->w)), d->input_bias),
                       *const state = plus(weft_matmul(before->h, weft_transpose(d->r)), d->state_bias);
    weft_recurrent now = d->s->gates == 4 ? step_lstm(d, input, state, before->c)
                         : d->s->gates == 3
                             ? step_gru(d, input, state, before->h)
                             : (weft_recurrent){.h = activate(d->s, d->index, 0, weft_add(input, state))};
    now.y = now.h;
    if (!valid) return now;
    now.y = weft_where(valid, now.h, weft_number(now.h, 0));
    now.h = weft_where(valid, now.h, before->h);
    if (now.c) now.c = weft_where(valid, now.c, before->c);
    return now;
}

/* The state before the first step: the given one, or zeros (N, H) if the node has none. */
static weft_tensor *first_state(const wi_onnx_scan *s, weft_tensor *given, int index) {
    const int64_t dims[] = {weft_tensor_dimension(s->x, s->batch_first ? 0 : 1), s->hidden};
    if (!given) return weft_full(weft_tensor_graph(s->x), WEFT_F32, 0, 2, dims);
    return weft_squeeze_axes(weft_slice(given, 0, index, index + 1), (const int64_t[]){0, WEFT_END});
}

weft_recurrent wi_onnx_unroll(const wi_onnx_scan *s, int index, int64_t steps) {
    const int64_t rows = s->gates * s->hidden;
    const direction d = {s, index, slice_of(s->w, index, 0, rows), slice_of(s->r, index, 0, rows),
        slice_of(s->bias, index, 0, rows), slice_of(s->bias, index, rows, 2 * rows),
        slice_of(s->peepholes, index, 0, 3 * s->hidden)};
    const bool reverse = s->reverse || index == 1;
    const int time = s->batch_first ? 1 : 0;
    weft_tensor *y[WI_ONNX_MOST_STEPS];
    weft_recurrent now = {
        NULL, first_state(s, s->h, index), s->gates == 4 ? first_state(s, s->c, index) : NULL};
    for (int64_t i = 0; i < steps && now.h; i++) {
        const int64_t t = reverse ? steps - 1 - i : i;
        weft_tensor *const x =
            weft_squeeze_axes(weft_slice(s->x, time, t, t + 1), (const int64_t[]){time, WEFT_END});
        weft_tensor *const valid =
            s->lengths ? weft_unsqueeze(weft_greater_number(s->lengths, (double)t), 1) : NULL;
        now = step(&d, x, &now, valid);
        y[t] = now.y;
    }
    now.y = now.h ? weft_stack(y, (size_t)steps, time) : NULL;
    return now;
}
