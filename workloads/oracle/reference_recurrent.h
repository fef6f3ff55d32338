/* LSTM, GRU and RNN in float64, step by step by the definition in weft/recurrent.h: see reference.h. */
#ifndef REFERENCE_RECURRENT_H
#define REFERENCE_RECURRENT_H

#include "oracle/reference.h"

typedef enum f64_cell { F64_LSTM, F64_GRU, F64_RNN } f64_cell;

/* As weft_recurrent_weights and weft_sequence_options; arrays that are NULL are absent. */
typedef struct f64_network {
    f64_cell cell;
    bool variant; /* RNN: relu; GRU: reset_first */
    const f64_array *weight_ih, *weight_hh, *bias_ih, *bias_hh, *weight_hr;
    const f64_array *h0, *c0, *lengths;
    bool left_padded, reverse, time_major;
} f64_network;

/* y and, but for an LSTM, c are NULL where there is none. */
typedef struct f64_recurrent {
    const f64_array *y, *h, *c;
} f64_recurrent;

int64_t f64_cell_gates(f64_cell cell);
/* One step of x (N, I); h0 and, for an LSTM, c0 are there. */
f64_recurrent f64_recurrent_step(const f64_network *network, const f64_array *x);
/* All steps of x (N, T, I), or (T, N, I) if time-major. */
f64_recurrent f64_recurrent_sequence(const f64_network *network, const f64_array *x);

#endif
