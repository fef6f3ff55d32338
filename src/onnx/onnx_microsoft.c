/* Operators of the domain com.microsoft, which quantisers and optimisers of ONNX Runtime write
 * (https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md). */
#include "onnx/onnx_node.h"

const wi_onnx_op wi_onnx_microsoft_ops[] = {{0}};
