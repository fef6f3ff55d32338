/* Windows of convolutions and of pooling: what the attributes of a node say for each spatial axis. */
#ifndef WI_ONNX_WINDOW_H
#define WI_ONNX_WINDOW_H

#include "onnx/onnx_build.h"

/* before and after: the padding of an axis. */
typedef struct wi_onnx_window {
    int axes;
    int64_t size[3], stride[3], dilation[3], before[3], after[3];
} wi_onnx_window;

/* Reads the attributes of a node with the image x (N, C, spatial...). weight: its sizes are the window's; NULL: the node has none. False: the
 * node has an error. An auto_pad of SAME of a transposed convolution leaves the padding 0, because it depends on the size of the result. */
bool wi_onnx_window_read(wi_onnx_window *window, wi_onnx_import *network, wi_onnx_node *node,
    const weft_tensor *x, const weft_tensor *weight);
/* The number of elements that a window covers along an axis, those between its elements included. */
int64_t wi_onnx_window_reach(const wi_onnx_window *window, int axis);

#endif
