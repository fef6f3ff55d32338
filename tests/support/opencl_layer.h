/* The function that every layer of the OpenCL loader must have, which describes the layer. */
#ifndef TEST_OPENCL_LAYER_H
#define TEST_OPENCL_LAYER_H

#include <CL/cl_layer.h>
#include <string.h>

#define LAYER_EXPORT __attribute__((visibility("default")))

static inline cl_int layer_answer(
    const void *from, size_t length, size_t size, void *value, size_t *size_ret) {
    if (size_ret) *size_ret = length;
    if (value && size < length) return CL_INVALID_VALUE;
    if (value) memcpy(value, from, length);
    return CL_SUCCESS;
}

/* clGetLayerInfo of a layer of this name. */
static inline cl_int layer_info(
    const char *name, cl_layer_info what, size_t size, void *value, size_t *size_ret) {
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (what == CL_LAYER_API_VERSION) return layer_answer(&version, sizeof version, size, value, size_ret);
    if (what == CL_LAYER_NAME) return layer_answer(name, strlen(name) + 1, size, value, size_ret);
    return CL_INVALID_VALUE;
}

#endif
