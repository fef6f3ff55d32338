/* Small networks with layers, open sizes and options of windows, for tests of saved files. */
#ifndef ONNX_SAVE_NETWORKS_H
#define ONNX_SAVE_NETWORKS_H

#include <weft/weft.h>

/* Inputs are called x0, x1, ... */
typedef struct save_network {
    const char *name;
    weft_tensor *(*build)(weft_graph *graph);
    int opset;            /* the first that can express it; 0: 17 */
    double near;          /* the allowed error as a share of the largest number; 0: 1e-5 */
    bool batch_is_second; /* the batch is not the first axis of an input */
} save_network;

extern const save_network save_networks[]; /* {0} ends the list */

#endif
