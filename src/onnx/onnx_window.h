/* Windows of convolutions and of pooling: the numbers in a node's attributes for each spatial axis. */
#ifndef WI_ONNX_WINDOW_H
#define WI_ONNX_WINDOW_H

#include "onnx/onnx_build.h"

/* before and after: the padding of an axis. */
typedef struct wi_onnx_window {
    int axes;
    int64_t size[3], stride[3], dilation[3], before[3], after[3];
} wi_onnx_window;

/* Reads the attributes of a node with the image x (N, C, spatial...). weight: its spatial sizes are the size of the window; NULL: the node
 * has no weight. False: the node has an error. For a transposed convolution with auto_pad SAME, the padding is left 0, because it depends on
 * the size of the result. */
bool wi_onnx_window_read(wi_onnx_window *window, wi_onnx_import *network, wi_onnx_node *node,
    const weft_tensor *x, const weft_tensor *weight);
/* The number of elements from the first to the last element of a window along an axis. */
int64_t wi_onnx_window_reach(const wi_onnx_window *window, int axis);

#endif
