/* weft/recurrent.h: recurrent networks: cells, sequences, layers.
 *
 * Gates, weights and their names are those of torch.nn.LSTM, GRU and RNN, so that weights can be exchanged without
 * conversion:
 *
 *     LSTM  gates i, f, g, o (in this order) of W_ih x + b_ih + W_hh h + b_hh; sigmoid of i, f and o, tanh of g;
 *           c' = f·c + i·g, h' = o·tanh(c'), with a projection h' = W_hr (o·tanh(c'))
 *     GRU   gates r, z, n (in this order): r and z = sigmoid of W_ih x + b_ih + W_hh h + b_hh,
 *           n = tanh(W_in x + b_in + r·(W_hn h + b_hn)), with reset_first n = tanh(W_in x + b_in + W_hn (r·h) + b_hn);
 *           h' = (1 - z)·n + z·h
 *     RNN   h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu
 *
 * N is the batch, T the number of time steps (a number, or WEFT_LENGTH), I the width of the input, H the hidden width,
 * and P the width of h: that of the projection, or H without a projection. All tensors are f32, except lengths (i32). A
 * call that fails returns NULL in y, h and c, and the graph keeps the error: WEFT_ERROR_SHAPE, WEFT_ERROR_DTYPE,
 * WEFT_ERROR_ARGUMENT (weights is NULL, or an option is for another kind of cell). */
#ifndef WEFT_RECURRENT_H
#define WEFT_RECURRENT_H

#include <weft/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* y: h of every time step (NULL from a cell); h and c: the states after the last time step (c is NULL except for an
 * LSTM). */
typedef struct weft_recurrent {
    weft_tensor *y, *h, *c;
} weft_recurrent;

/* G is the number of gates: 4 of an LSTM, 3 of a GRU, 1 of an RNN. */
typedef struct weft_recurrent_weights {
    weft_tensor *weight_ih; /* (G·H, I) */
    weft_tensor *weight_hh; /* (G·H, P) */
    weft_tensor *bias_ih;   /* (G·H); NULL: none */
    weft_tensor *bias_hh;   /* (G·H); NULL: none */
    weft_tensor *weight_hr; /* LSTM: (P, H); NULL: no projection */
} weft_recurrent_weights;

/* ---- one time step, composed of other ops: x (N, I), h (N, P), c (N, H) ---- */
/* → h, c */
WEFT_API weft_recurrent weft_lstm_cell(
    weft_tensor *x, weft_tensor *h, weft_tensor *c, const weft_recurrent_weights *weights);
/* → h */
WEFT_API weft_recurrent weft_gru_cell(
    weft_tensor *x, weft_tensor *h, const weft_recurrent_weights *weights, bool reset_first);
/* → h; relu true: relu instead of tanh */
WEFT_API weft_recurrent weft_rnn_cell(
    weft_tensor *x, weft_tensor *h, const weft_recurrent_weights *weights, bool relu);

/* Layers of one time step, as torch.nn.LSTMCell, GRUCell and RNNCell. They create the parameters "NAME.weight_ih",
 * "NAME.weight_hh", "NAME.bias_ih" and "NAME.bias_hh", initially U(±1/sqrt(H)). To apply one cell to several time
 * steps, call the function once for each step in a scope that shares (weft_scope_begin). */
typedef struct weft_cell_options {
    size_t struct_size;
    const char *name;                    /* default "lstmcellN", "grucellN", "rnncellN" */
    bool no_bias;                        /* default false; true: no biases */
    bool relu;                           /* RNN: relu instead of tanh; default false */
    bool reset_first;                    /* GRU: the formula above; default false, as torch.nn.GRUCell */
    const weft_initialiser *initialiser; /* of all parameters; default U(±1/sqrt(H)) */
} weft_cell_options;
#define WEFT_CELL_OPTIONS_INIT .struct_size = sizeof(weft_cell_options)
/* x (N, I), h and c (N, hidden), or NULL for zeros → h, and c of an LSTM. options NULL means all defaults.
 * WEFT_ERROR_ARGUMENT: the hidden width is below 1, or an option is for another kind of cell. */
WEFT_API weft_recurrent weft_lstm_cell_layer(
    weft_tensor *x, int64_t hidden, weft_tensor *h, weft_tensor *c, const weft_cell_options *options);
WEFT_API weft_recurrent weft_gru_cell_layer(
    weft_tensor *x, int64_t hidden, weft_tensor *h, const weft_cell_options *options);
WEFT_API weft_recurrent weft_rnn_cell_layer(
    weft_tensor *x, int64_t hidden, weft_tensor *h, const weft_cell_options *options);

/* ---- a sequence through one layer in one direction ---- */
typedef struct weft_sequence_options {
    size_t struct_size;
    weft_tensor *h0; /* (N, P); default NULL: zeros */
    weft_tensor *c0; /* LSTM: (N, H); default NULL: zeros */
    /* i32 (N), each in [0, T]: how many time steps of a sequence are valid, from the first one on (with left_padded:
     * up to the last step). In the other steps y is 0, the states do not change and no gradient flows; with a length
     * of 0 the states stay h0 and c0. The next weft_plan_read or weft_plan_wait reports a length out of range. Default
     * NULL: all T steps. */
    weft_tensor *lengths;
    bool left_padded; /* default false; true: the valid steps are the last ones */
    bool reverse;     /* default false; true: from the last valid step to the first */
    bool time_major; /* default false: x (N, T, I), y (N, T, P); true: (T, N, I), (T, N, P), without copies */
    bool relu;       /* RNN: relu instead of tanh; default false */
    bool reset_first; /* GRU: the formula above; default false, as torch.nn.GRU */
} weft_sequence_options;
#define WEFT_SEQUENCE_OPTIONS_INIT .struct_size = sizeof(weft_sequence_options)
/* → y (N, T, P), h (N, P), c (N, H). options NULL means all defaults. Forward: one matrix product for the inputs of all
 * time steps, then one scan; backward: one scan, then one product over all time steps for each weight. */
WEFT_API weft_recurrent weft_lstm_with(
    weft_tensor *x, const weft_recurrent_weights *weights, const weft_sequence_options *options);
WEFT_API weft_recurrent weft_gru_with(
    weft_tensor *x, const weft_recurrent_weights *weights, const weft_sequence_options *options);
WEFT_API weft_recurrent weft_rnn_with(
    weft_tensor *x, const weft_recurrent_weights *weights, const weft_sequence_options *options);

/* ---- layers: sequences through one or more layers, whose parameters are created ----
 * Parameters "NAME.weight_ih_l0", "NAME.weight_hh_l0", "NAME.bias_ih_l0", "NAME.bias_hh_l0", and with a projection
 * "NAME.weight_hr_l0", initially U(±1/sqrt(H)). Further layers have l1, l2, ...; names of the reverse direction end
 * with "_reverse". D is the number of directions: 1, or 2 if bidirectional. */
typedef struct weft_recurrent_options {
    size_t struct_size;
    const char *name;   /* default "lstmN", "gruN", "rnnN" */
    int64_t layers;     /* 0 (the default) means 1; each further layer reads y of the layer before */
    bool bidirectional; /* default false; true: y concatenates both directions */
    bool no_bias;       /* default false; true: no biases */
    float dropout;      /* default 0; dropout of the inputs of all layers but the first: 0 <= dropout < 1 */
    int64_t projection; /* LSTM: P, less than H; 0 (the default) means none */
    weft_tensor *h0;    /* (layers·D, N, P), both directions of a layer side by side; default NULL: zeros */
    weft_tensor *c0;    /* LSTM: (layers·D, N, H); default NULL: zeros */
    weft_tensor *lengths; /* this and the next four fields are as in weft_sequence_options */
    bool left_padded;
    bool time_major;
    bool relu;
    bool reset_first;
    const weft_initialiser *initialiser; /* of all parameters; default U(±1/sqrt(H)) */
} weft_recurrent_options;
#define WEFT_RECURRENT_OPTIONS_INIT .struct_size = sizeof(weft_recurrent_options)
/* x (N, T, I) → y (N, T, D·P), h (layers·D, N, P), c (layers·D, N, H). options NULL means all defaults. */
WEFT_API weft_recurrent weft_lstm(weft_tensor *x, int64_t hidden, const weft_recurrent_options *options);
WEFT_API weft_recurrent weft_gru(weft_tensor *x, int64_t hidden, const weft_recurrent_options *options);
WEFT_API weft_recurrent weft_rnn(weft_tensor *x, int64_t hidden, const weft_recurrent_options *options);

#ifdef __cplusplus
}
#endif
#endif
