/* Recurrent operators of ONNX: the attributes and inputs of a node, and sequences that are built step by step. */
#ifndef WI_ONNX_RECURRENT_H
#define WI_ONNX_RECURRENT_H

#include "onnx/onnx_build.h"
#include <weft/recurrent.h>

/* WI_ONNX_MOST_STEPS: the most steps of a sequence that is built step by step. */
enum { WI_ONNX_MOST_STEPS = 512 };

typedef struct wi_onnx_activation {
    const char *name;
    bool has_alpha, has_beta;
    double alpha, beta;
} wi_onnx_activation;

typedef struct wi_onnx_scan {
    int gates, functions, directions; /* functions: activations of one direction */
    int64_t hidden;
    double clip; /* bound of the inputs of activations; 0: none */
    bool reverse, batch_first;
    bool after;   /* GRU: the reset gate multiplies after the product */
    bool coupled; /* LSTM: the forget gate is 1 - the input gate */
    weft_tensor *x, *w, *r, *bias, *lengths, *h, *c,
        *peepholes; /* NULL: not given; x, w and r are always given */
    wi_onnx_activation activations[2][3];
} wi_onnx_scan;

/* Finds the activation with this name of `length` characters, and its default alpha and beta. False: there is none. */
bool wi_onnx_find_activation(wi_onnx_activation *activation, const char *name, size_t length);
/* Computes one direction with separate nodes for each step: y (T, N, H), or (N, T, H) if the batch is first; h and c (N, H). */
weft_recurrent wi_onnx_unroll(const wi_onnx_scan *scan, int direction, int64_t steps);

/* Builds an LSTM (kind 'L'), GRU ('G') or RNN ('R') over x, with weights w and r in ONNX's shapes. Returns the output y
 * (T, directions, N, H), and sets the outputs h and c (directions, N, H). With layout 1 the shapes are (N, T, directions, H) and
 * (N, directions, H). */
weft_tensor *wi_onnx_build_scan(
    wi_onnx_import *network, wi_onnx_node *node, char kind, weft_tensor *x, weft_tensor *w, weft_tensor *r);

#endif
