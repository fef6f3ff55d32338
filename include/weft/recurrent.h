/* weft/recurrent.h: recurrent networks: cells, sequences, layers.
 *
 * Gates, weights and their names are those of torch.nn.LSTM, GRU and RNN, so that weights can be exchanged
 * unchanged:
 *
 *   LSTM  i, f, o = sigmoid, g = tanh of W_ih x + b_ih + W_hh h + b_hh (gates in the order i, f, g, o);
 *         c' = f·c + i·g, h' = o·tanh(c'), with a projection h' = W_hr (o·tanh(c'))
 *   GRU   r, z = sigmoid (gates in the order r, z, n), n = tanh(W_in x + b_in + r·(W_hn h + b_hn)),
 *         with reset_first n = tanh(W_in x + b_in + W_hn (r·h) + b_hn); h' = (1 - z)·n + z·h
 *   RNN   h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu
 *
 * N is the batch, T the number of time steps (a number, or WEFT_LENGTH), I the width of the input, H the hidden width, P the
 * width of h, which is H without a projection. Everything is f32. */
#ifndef WEFT_RECURRENT_H
#define WEFT_RECURRENT_H

#include <weft/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* y: h of every step, NULL for a cell; h, c: the states after the last step, c is NULL except for an LSTM.
 * All are NULL after an error. */
typedef struct weft_recurrent {
    weft_tensor *y, *h, *c;
} weft_recurrent;

/* G is the number of gates: LSTM 4, GRU 3, RNN 1. */
typedef struct weft_recurrent_weights {
    weft_tensor *weight_ih; /* (G·H, I) */
    weft_tensor *weight_hh; /* (G·H, P) */
    weft_tensor *bias_ih;   /* (G·H); NULL: none */
    weft_tensor *bias_hh;   /* (G·H); NULL: none */
    weft_tensor *weight_hr; /* LSTM: (P, H); NULL: no projection */
} weft_recurrent_weights;

/* ---- one time step: x (N, I), h (N, P), c (N, H); composed of other ops ---- */
/* → h, c; without dropout and lengths. Errors of all functions below: WEFT_ERROR_SHAPE, WEFT_ERROR_DTYPE. */
WEFT_API weft_recurrent weft_lstm_cell(
    weft_tensor *x, weft_tensor *h, weft_tensor *c, const weft_recurrent_weights *weights);
/* → h */
WEFT_API weft_recurrent weft_gru_cell(
    weft_tensor *x, weft_tensor *h, const weft_recurrent_weights *weights, bool reset_first);
/* → h; relu false: tanh */
WEFT_API weft_recurrent weft_rnn_cell(
    weft_tensor *x, weft_tensor *h, const weft_recurrent_weights *weights, bool relu);

/* Layers of one step, as torch.nn.LSTMCell, GRUCell and RNNCell: parameters "NAME.weight_ih", "NAME.weight_hh",
 * "NAME.bias_ih" and "NAME.bias_hh", which begin as U(±1/sqrt(H)). A cell that is applied to several steps is called
 * within a scope that shares (weft_scope_begin). */
typedef struct weft_cell_options {
    size_t struct_size;
    const char *name;                    /* default "lstmcellN", "grucellN", "rnncellN" */
    bool no_bias;                        /* default false */
    bool relu;                           /* RNN: relu instead of tanh; default false */
    bool reset_first;                    /* GRU: see above; default false, as torch.nn.GRUCell */
    const weft_initialiser *initialiser; /* of all parameters; default U(±1/sqrt(H)) */
} weft_cell_options;
#define WEFT_CELL_OPTIONS_INIT .struct_size = sizeof(weft_cell_options)
/* x (N, I), h and c (N, hidden), or NULL for zeros → h, and c of an LSTM. options NULL means all defaults. Errors, beside
 * those of the cells: WEFT_ERROR_ARGUMENT (a hidden width below 1, an option of another kind of cell). */
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
    /* Default NULL: all T steps. i32 (N), each in [0, T]: the valid steps of a row are its first ones (with
     * left_padded its last ones). In other steps y is 0, the states do not change and no gradient flows; a
     * length of 0 leaves the states at h0 and c0. The next weft_plan_read or weft_plan_wait reports a length
     * out of range. */
    weft_tensor *lengths;
    bool left_padded; /* default false */
    bool reverse;     /* default false; true: from the last valid step to the first */
    bool time_major;  /* default false: x (N, T, I), y (N, T, P); true: (T, N, I), (T, N, P), no copies */
    bool relu;        /* RNN: relu instead of tanh; default false */
    bool reset_first; /* GRU: see above; default false, as torch.nn.GRU */
} weft_sequence_options;
#define WEFT_SEQUENCE_OPTIONS_INIT .struct_size = sizeof(weft_sequence_options)
/* → y (N, T, P), h (N, P), c (N, H). options NULL means all defaults. One matrix product for the inputs of
 * all steps, then one scan; in the backward pass one scan, and one product over all steps per weight. */
WEFT_API weft_recurrent weft_lstm_with(
    weft_tensor *x, const weft_recurrent_weights *weights, const weft_sequence_options *options);
WEFT_API weft_recurrent weft_gru_with(
    weft_tensor *x, const weft_recurrent_weights *weights, const weft_sequence_options *options);
WEFT_API weft_recurrent weft_rnn_with(
    weft_tensor *x, const weft_recurrent_weights *weights, const weft_sequence_options *options);

/* ---- layers: they create their parameters ----
 * "NAME.weight_ih_l0", "NAME.weight_hh_l0", "NAME.bias_ih_l0", "NAME.bias_hh_l0", and with a projection
 * "NAME.weight_hr_l0"; further layers have l1, l2, ..., the reverse direction ends with "_reverse". All begin
 * as U(±1/sqrt(H)). D is the number of directions: 1, or 2 if bidirectional. */
typedef struct weft_recurrent_options {
    size_t struct_size;
    const char *name;     /* default "lstmN", "gruN", "rnnN" */
    int64_t layers;       /* 0 (the default) means 1; each further layer reads the one before */
    bool bidirectional;   /* default false; true: y concatenates both directions */
    bool no_bias;         /* default false */
    float dropout;        /* default 0; of the inputs of all layers except the first: 0 <= dropout < 1 */
    int64_t projection;   /* LSTM: P, less than H; 0 (the default) means none */
    weft_tensor *h0;      /* (layers·D, N, P), both directions of a layer adjacent; default NULL: zeros */
    weft_tensor *c0;      /* LSTM: (layers·D, N, H); default NULL: zeros */
    weft_tensor *lengths; /* this and the next four are those of weft_sequence_options */
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
