/* The trainable parameters as one vector, and the gradient of a loss with regard to it (contract in vectors.h). */
#include "nn/parameter_vector.h"
#include "base/pattern.h"
#include "cl/context.h"
#include <string.h>

size_t wi_elements_of(const weft_tensor *parameter) {
    return parameter->variable->bytes / sizeof(float);
}

static bool is_meant(const weft_tensor *parameter, const char *names) {
    const bool named = !names || wi_pattern_matches(names, weft_tensor_name(parameter));
    return named && !parameter->variable->frozen;
}

weft_status wi_vector_parameters(
    weft_graph *graph, const char *names, weft_tensor ***chosen, size_t *count, size_t *size) {
    if (!graph) WI_FAIL(WEFT_ERROR_ARGUMENT, "parameters as a vector: the graph is NULL");
    WI_TRY(weft_graph_status(graph));
    const size_t all = weft_graph_parameter_count(graph);
    weft_tensor **const list = wi_allocate_array(graph->context->allocator, all + 1, sizeof *list);
    if (!list) return WEFT_ERROR_MEMORY;
    weft_status status = WEFT_OK;
    *chosen = list, *count = 0, *size = 0;
    for (size_t i = 0; i < all && status == WEFT_OK; i++) {
        weft_tensor *const parameter = weft_graph_parameter(graph, i);
        if (!is_meant(parameter, names)) continue;
        if (parameter->dtype != WEFT_F32)
            status = wi_fail(WEFT_ERROR_DTYPE, "parameters as a vector must be f32, but '%s' is %s",
                weft_tensor_name(parameter), weft_dtype_name(parameter->dtype));
        list[(*count)++] = parameter;
        *size += wi_elements_of(parameter);
    }
    if (status == WEFT_OK && *count == 0)
        status = wi_fail(WEFT_ERROR_STATE,
            "parameters as a vector: the graph has no trainable parameter with a name like '%s'",
            names ? names : "*");
    if (status != WEFT_OK) wi_release(graph->context->allocator, list);
    return status;
}

weft_status weft_vector_size(weft_graph *graph, const char *parameters, size_t *size) {
    weft_tensor **chosen;
    size_t count;
    if (!size) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_vector_size: size is NULL");
    WI_TRY(wi_vector_parameters(graph, parameters, &chosen, &count, size));
    wi_release(graph->context->allocator, chosen);
    return WEFT_OK;
}

weft_status wi_vector_get(weft_tensor *const *parameters, size_t count, float *data) {
    for (size_t i = 0; i < count; i++) {
        WI_TRY(weft_tensor_read(parameters[i], data, parameters[i]->variable->bytes));
        data += wi_elements_of(parameters[i]);
    }
    return WEFT_OK;
}

weft_status wi_vector_set(weft_tensor *const *parameters, size_t count, const float *data) {
    for (size_t i = 0; i < count; i++) {
        WI_TRY(weft_tensor_write(parameters[i], data, parameters[i]->variable->bytes));
        data += wi_elements_of(parameters[i]);
    }
    return WEFT_OK;
}

static weft_status check_size(const char *call, const void *data, size_t given, size_t size) {
    if (data && given == size) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: %s: the vector has %zu elements, and %zu were given", call,
        data ? "the sizes differ" : "data is NULL", size, given);
}

weft_status weft_vector_read(weft_graph *graph, const char *parameters, float *data, size_t size) {
    weft_tensor **chosen;
    size_t count, own;
    WI_TRY(wi_vector_parameters(graph, parameters, &chosen, &count, &own));
    weft_status status = check_size("weft_vector_read", data, size, own);
    if (status == WEFT_OK) status = wi_vector_get(chosen, count, data);
    wi_release(graph->context->allocator, chosen);
    return status;
}

weft_status weft_vector_write(weft_graph *graph, const char *parameters, const float *data, size_t size) {
    weft_tensor **chosen;
    size_t count, own;
    WI_TRY(wi_vector_parameters(graph, parameters, &chosen, &count, &own));
    weft_status status = check_size("weft_vector_write", data, size, own);
    if (status == WEFT_OK) status = wi_vector_set(chosen, count, data);
    wi_release(graph->context->allocator, chosen);
    return status;
}

/* ---- the gradient ---- */

static weft_tensor *flat(weft_tensor *gradient, const weft_tensor *parameter) {
    const int64_t elements = (int64_t)wi_elements_of(parameter);
    return weft_reshape_shape(gradient, 1, &elements);
}

static weft_status join_gradients(
    weft_tensor *loss, weft_tensor *const *parameters, size_t count, weft_tensor **joined) {
    const weft_allocator *const allocator = loss->graph->context->allocator;
    weft_tensor **const gradients = wi_allocate_array(allocator, count, sizeof *gradients);
    weft_status status = gradients ? weft_gradients(loss, parameters, count, gradients) : WEFT_ERROR_MEMORY;
    for (size_t i = 0; status == WEFT_OK && i < count; i++) gradients[i] = flat(gradients[i], parameters[i]);
    if (status == WEFT_OK) *joined = weft_concat(gradients, count, 0);
    wi_release(allocator, gradients);
    return status != WEFT_OK ? status : weft_graph_status(loss->graph);
}

static weft_tensor *build_gradient_vector(weft_tensor *loss, const char *parameters) {
    weft_tensor **chosen, *joined = NULL;
    size_t count, size;
    if (!wi_inputs_graph("gradient vector", &loss, 1)) return NULL;
    weft_status status = wi_vector_parameters(loss->graph, parameters, &chosen, &count, &size);
    if (status == WEFT_OK) {
        status = join_gradients(loss, chosen, count, &joined);
        wi_release(loss->graph->context->allocator, chosen);
    }
    return status == WEFT_OK ? joined : wi_graph_fail_recorded(loss->graph, status);
}

weft_tensor *weft_gradient_vector(weft_tensor *loss, const char *parameters) {
    return WI_CALL(loss, "weft_gradient_vector", build_gradient_vector(loss, parameters));
}
