/* Which inputs of a network must have known values before the network can be built. */
#ifndef WI_ONNX_HOST_INPUTS_H
#define WI_ONNX_HOST_INPUTS_H

#include "onnx/onnx_file.h"

/* decides[i] becomes true for each input of graph->input whose values decide a shape, a count or a condition: a number or a
 * list from which an input of a node is computed that an operator's row names in `host`. The caller gives the array. Inputs that
 * only have to do with such a value by their shape are not among them. WEFT_ERROR_MEMORY. */
weft_status wi_onnx_host_inputs(bool *decides, const WiOnnx__GraphProto *graph);

#endif
