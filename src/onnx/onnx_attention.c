#include "onnx/onnx_build.h"
const wi_onnx_op wi_onnx_attention_ops[] = {{0}};
