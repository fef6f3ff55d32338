/* Recurrent scans: one layer in one direction. The products of all inputs are computed before the scan. */
#ifndef WI_RECURRENT_SCAN_H
#define WI_RECURRENT_SCAN_H

#include "graph/weft_graph.h"
#include <weft/recurrent.h>

/* WEFT_CELL in recurrent_cpu.cl and recurrent_gpu.cl has the same values. */
typedef enum wi_cell {
    WI_CELL_LSTM,
    WI_CELL_GRU,
    WI_CELL_GRU_RESET_FIRST, /* h is multiplied by r before the matrix product */
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

/* The inputs of a scan, which have been checked. */
typedef struct wi_scan {
    wi_cell cell;
    weft_tensor *x;                 /* (T, N, gates·H): the products of the inputs with biases added */
    weft_tensor *w;                 /* (gates·H, P) */
    weft_tensor *h0, *c0, *lengths; /* (N, P), (N, H), i32 (N); NULL: zeros, zeros, T everywhere */
    weft_tensor *bias;              /* GRU: (H), added to the product of the last gate; NULL: 0 */
    weft_tensor *wr;                /* LSTM: (P, H); NULL: no projection, P is H */
    bool reverse, left;
} wi_scan;

/* y (T, N, P) has the states, also behind the end of a sequence; h (N, P) and c (N, H) are the last states. */
weft_recurrent wi_recurrent_scan(const wi_scan *scan);

/* ---- for recurrent_composed.c and the kernels ---- */

static inline wi_cell wi_cell_of(const weft_tensor *node) {
    return (wi_cell)node->attributes->recurrent.cell;
}

/* The possible inputs of a node in their order, and bits of attributes.recurrent.inputs. */
typedef enum wi_scan_input {
    WI_SCAN_X,
    WI_SCAN_W,
    WI_SCAN_H0,
    WI_SCAN_C0,
    WI_SCAN_BIAS,
    WI_SCAN_WR,
    WI_SCAN_LENGTHS,
    /* Inputs of the gradient: */
    WI_BACK_DY = 0, /* need not be contiguous; without reads_dy it is not read */
    WI_BACK_Y,
    WI_BACK_W,
    WI_BACK_WR,
    WI_BACK_LENGTHS,
    WI_BACK_DH,
    WI_BACK_DC
} wi_scan_input;

/* The index of an input in node->inputs; -1: the node does not have it. */
int wi_scan_index(const weft_tensor *node, int input);
/* The input; NULL: the node does not have it. */
weft_tensor *wi_scan_input_of(const weft_tensor *node, int input);

/* The sizes of the sections of packed results, in elements for each row of the batch; 0: there is no such section. */
typedef struct wi_scan_sections {
    int64_t steps, units, width;
    int64_t h, c, gates, more;       /* forward, in this order */
    int64_t dx, sums, out, dh0, dc0; /* gradient, in this order */
} wi_scan_sections;
wi_scan_sections wi_scan_sections_of(
    wi_cell cell, int64_t steps, int64_t units, int64_t width, bool projects, bool kept);

extern const wi_op wi_op_recurrent_forward, wi_op_recurrent_back;

/* The functions wi_op.composed of both ops: one step after another (recurrent_composed.c). */
weft_tensor *wi_recurrent_forward_composed(weft_tensor *y, weft_tensor *leaves[WI_COMPOSED_LEAVES]);
weft_tensor *wi_recurrent_back_composed(weft_tensor *y, weft_tensor *leaves[WI_COMPOSED_LEAVES]);

#endif
