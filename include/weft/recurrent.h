/* weft/recurrent.h: recurrent networks: cells, sequences, layers.
 *
 * Gates, weights and their names are those of torch.nn.LSTM, GRU and RNN, so that weights move over
 * unchanged: LSTM  i, f, o = sigmoid, g = tanh of W_ih x + b_ih + W_hh h + b_hh (gates in the order i, f, g,
 * o); c' = f·c + i·g, h' = o·tanh(c'), with a projection h' = W_hr (o·tanh(c')) GRU   r, z = sigmoid (order
 * r, z, n), n = tanh(W_in x + b_in + r·(W_hn h + b_hn)), with reset_first n = tanh(W_in x + b_in + W_hn (r·h)
 * + b_hn); h' = (1 - z)·n + z·h RNN   h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu N: batch, T: steps (a
 * fixed number), I: input width, H: hidden width, P: the width of h, which is H without a projection. All
 * f32. */
#ifndef WEFT_RECURRENT_H
#define WEFT_RECURRENT_H

#include <weft/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* y: h of every step, or NULL of a cell; h, c: the states after the last step; c is NULL but for an LSTM. All
 * are NULL after an error. */
typedef struct weft_recurrent {
    weft_tensor *y, *h, *c;
} weft_recurrent;

/* G gates: LSTM 4, GRU 3, RNN 1. */
typedef struct weft_recurrent_weights {
    weft_tensor *weight_ih; /* (G·H, I) */
    weft_tensor *weight_hh; /* (G·H, P) */
    weft_tensor *bias_ih;   /* (G·H); NULL: none */
    weft_tensor *bias_hh;   /* (G·H); NULL: none */
    weft_tensor *weight_hr; /* LSTM: (P, H); NULL: no projection */
} weft_recurrent_weights;

/* ---- one step, for those who drive time themselves: x (N, I), h (N, P), c (N, H); made of other ops ---- */
/* → h, c; no dropout, no lengths. Errors: WEFT_ERROR_SHAPE, WEFT_ERROR_DTYPE, as of all below. */
WEFT_API weft_recurrent weft_lstm_cell(
    weft_tensor *x, weft_tensor *h, weft_tensor *c, const weft_recurrent_weights *weights);
/* → h */
WEFT_API weft_recurrent weft_gru_cell(
    weft_tensor *x, weft_tensor *h, const weft_recurrent_weights *weights, bool reset_first);
/* → h; relu false: tanh */
WEFT_API weft_recurrent weft_rnn_cell(
    weft_tensor *x, weft_tensor *h, const weft_recurrent_weights *weights, bool relu);

/* ---- a sequence through one layer in one direction ---- */
typedef struct weft_sequence_options {
    size_t struct_size;
    weft_tensor *h0; /* default NULL: 0; (N, P) */
    weft_tensor *c0; /* default NULL: 0; LSTM: (N, H) */
    /* default NULL: all T; i32 (N), each 0 to T: a row's valid steps are its first ones (left_padded: its
     * last ones). Elsewhere y is 0, the states stay as they are and no gradient flows; a length of 0 leaves
     * the states at h0, c0. Others are told by the next weft_plan_read or weft_plan_wait. */
    weft_tensor *lengths;
    bool left_padded; /* default false */
    bool reverse;     /* default false; from the last valid step to the first */
    bool time_major;  /* default false: x (N, T, I), y (N, T, P); true: (T, N, I), (T, N, P), no copies */
    bool relu;        /* RNN; default false: tanh */
    bool reset_first; /* GRU; default false: as torch.nn.GRU */
} weft_sequence_options;
#define WEFT_SEQUENCE_OPTIONS_INIT .struct_size = sizeof(weft_sequence_options)
/* → y (N, T, P), h (N, P), c (N, H). options NULL: every default. One matrix product for the inputs of all
 * steps, then one scan; backward one scan, and one product a weight over all steps. */
WEFT_API weft_recurrent weft_lstm_with(
    weft_tensor *x, const weft_recurrent_weights *weights, const weft_sequence_options *options);
WEFT_API weft_recurrent weft_gru_with(
    weft_tensor *x, const weft_recurrent_weights *weights, const weft_sequence_options *options);
WEFT_API weft_recurrent weft_rnn_with(
    weft_tensor *x, const weft_recurrent_weights *weights, const weft_sequence_options *options);

/* ---- layers: with parameters of their own ----
 * "NAME.weight_ih_l0", "NAME.weight_hh_l0", "NAME.bias_ih_l0", "NAME.bias_hh_l0", with a projection
 * "NAME.weight_hr_l0"; l1, ... of further layers, "_reverse" at the end backwards in time; all begin as
 * U(±1/sqrt(H)). D directions: 1, bidirectional 2. */
typedef struct weft_recurrent_options {
    size_t struct_size;
    const char *name;     /* default "lstmN", "gruN", "rnnN" */
    int64_t layers;       /* default 0: 1; each further one reads the one before */
    bool bidirectional;   /* default false; the directions' y side by side */
    bool no_bias;         /* default false */
    float dropout;        /* default 0; of what each layer but the first reads: 0 <= dropout < 1 */
    int64_t projection;   /* LSTM; default 0: none; P, less than H */
    weft_tensor *h0;      /* default NULL: 0; (layers·D, N, P), a layer's directions together */
    weft_tensor *c0;      /* default NULL: 0; LSTM: (layers·D, N, H) */
    weft_tensor *lengths; /* as in weft_sequence_options, as those below */
    bool left_padded;
    bool time_major;
    bool relu;
    bool reset_first;
    const weft_initialiser *initialiser; /* of all parameters; default U(±1/sqrt(H)) */
} weft_recurrent_options;
#define WEFT_RECURRENT_OPTIONS_INIT .struct_size = sizeof(weft_recurrent_options)
/* x (N, T, I) → y (N, T, D·P), h (layers·D, N, P), c (layers·D, N, H). options NULL: every default. */
WEFT_API weft_recurrent weft_lstm(weft_tensor *x, int64_t hidden, const weft_recurrent_options *options);
WEFT_API weft_recurrent weft_gru(weft_tensor *x, int64_t hidden, const weft_recurrent_options *options);
WEFT_API weft_recurrent weft_rnn(weft_tensor *x, int64_t hidden, const weft_recurrent_options *options);

#ifdef __cplusplus
}
#endif
#endif
