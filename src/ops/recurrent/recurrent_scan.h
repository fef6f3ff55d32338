/* Recurrent scans: one layer in one direction, over the products of all its inputs. recurrent_scan.c makes
 * the nodes, kernels/recurrent/ their launches. */
#ifndef WI_RECURRENT_SCAN_H
#define WI_RECURRENT_SCAN_H

#include "graph/nodes.h"
#include <weft/recurrent.h>

/* As WEFT_CELL in recurrent_cpu.cl and recurrent_gpu.cl. */
typedef enum wi_cell {
    WI_CELL_LSTM,
    WI_CELL_GRU,
    WI_CELL_GRU_RESET_FIRST, /* h is reset before its product */
    WI_CELL_RNN_TANH,
    WI_CELL_RNN_RELU
} wi_cell;

static inline int64_t wi_cell_gates(wi_cell cell) {
    return cell == WI_CELL_LSTM ? 4 : cell <= WI_CELL_GRU_RESET_FIRST ? 3 : 1;
}
/* "lstm", "gru" or "rnn" */
static inline const char *wi_cell_name(wi_cell cell) {
    return cell == WI_CELL_LSTM ? "lstm" : cell <= WI_CELL_GRU_RESET_FIRST ? "gru" : "rnn";
}

/* Everything checked already. */
typedef struct wi_scan {
    wi_cell cell;
    weft_tensor *x;                 /* (T, N, gates·H): products of the inputs, with the biases */
    weft_tensor *w;                 /* (gates·H, P) */
    weft_tensor *h0, *c0, *lengths; /* (N, P), (N, H), i32 (N); NULL: 0, 0, T */
    weft_tensor *bias;              /* GRU: (H), added to the product of the last gate; NULL: 0 */
    weft_tensor *wr;                /* LSTM: (P, H); NULL: no projection, P is H */
    bool reverse, left;
} wi_scan;

/* y (T, N, P) holds the states, also where a row's steps are over; h (N, P), c (N, H) the last ones. */
weft_recurrent wi_recurrent_scan(const wi_scan *scan);

/* ---- between the two files ---- */

static inline wi_cell wi_cell_of(const weft_tensor *node) {
    return (wi_cell)node->attributes->recurrent.cell;
}

/* Which inputs a node has, in this order: bits of attributes.recurrent.inputs. */
typedef enum wi_scan_input {
    WI_SCAN_X,
    WI_SCAN_W,
    WI_SCAN_H0,
    WI_SCAN_C0,
    WI_SCAN_BIAS,
    WI_SCAN_WR,
    WI_SCAN_LENGTHS,
    /* Of the gradient: */
    WI_BACK_DY = 0, /* any strides; without reads_dy it is not read */
    WI_BACK_Y,
    WI_BACK_W,
    WI_BACK_WR,
    WI_BACK_LENGTHS,
    WI_BACK_DH,
    WI_BACK_DC
} wi_scan_input;

/* The index of an input among the node's, -1: it has none. */
int wi_scan_index(const weft_tensor *node, int input);
/* That input; NULL: it has none. */
weft_tensor *wi_scan_input_of(const weft_tensor *node, int input);

/* Sections of the packed results, in elements a row of the batch; 0: there is none. */
typedef struct wi_scan_sections {
    int64_t steps, units, width;
    int64_t h, c, gates, more;       /* forward, in this order */
    int64_t dx, sums, out, dh0, dc0; /* gradient, in this order */
} wi_scan_sections;
wi_scan_sections wi_scan_sections_of(
    wi_cell cell, int64_t steps, int64_t units, int64_t width, bool projects, bool kept);

extern const wi_op wi_op_recurrent_forward, wi_op_recurrent_back;

/* What gradients of the two go back through: the steps one by one (recurrent_composed.c). */
weft_tensor *wi_recurrent_forward_composed(weft_tensor *y, weft_tensor *leaves[WI_COMPOSED_LEAVES]);
weft_tensor *wi_recurrent_back_composed(weft_tensor *y, weft_tensor *leaves[WI_COMPOSED_LEAVES]);

#endif
