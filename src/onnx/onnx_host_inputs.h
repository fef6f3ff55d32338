/* Which inputs of a network must have known values before the network can be built. */
#ifndef WI_ONNX_HOST_INPUTS_H
#define WI_ONNX_HOST_INPUTS_H

#include "onnx/onnx_file.h"

/* Sets decides[i] for each input of graph->input: true if it is a number or a list whose values decide a shape, a count or a
 * condition, because an input that wi_onnx_op.host names is computed from them. An input of which only the shape matters has
 * false. The caller allocates the array. Fails only with WEFT_ERROR_MEMORY. */
weft_status wi_onnx_host_inputs(bool *decides, const WiOnnx__GraphProto *graph);

#endif
