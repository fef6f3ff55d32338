/* The memory of parameters and states: reserved in blocks, made and filled when first needed. */
#include "base/philox.h"
#include "graph/nodes.h"
#include <string.h>

weft_status wi_graph_add_block(weft_graph *graph, size_t bytes, size_t *index) {
    WI_TRY(wi_grow(graph->context->allocator, (void **)&graph->blocks, &graph->block_capacity,
        graph->block_count + 1, sizeof *graph->blocks));
    *index = graph->block_count++;
    graph->blocks[*index] = (wi_block){.bytes = bytes};
    return WEFT_OK;
}

size_t wi_graph_variable_bytes(const weft_graph *graph) {
    size_t bytes = 0;
    for (size_t i = 0; i < graph->block_count; i++) bytes += graph->blocks[i].bytes;
    return bytes;
}

/* ---- initial content ---- */

static void fans(const wi_shape *shape, double *in, double *out) {
    double inner = 1;
    for (int i = 2; i < shape->rank; i++) inner *= (double)shape->dims[i];
    *out = (shape->rank > 0 ? (double)shape->dims[0] : 1) * inner;
    *in = (shape->rank > 1 ? (double)shape->dims[1] : *out) * inner;
}

/* Reduces every initialiser to a constant, U(a, b) or N(a, b). */
static weft_initialiser resolve(weft_initialiser given, const wi_shape *shape) {
    double in, out;
    fans(shape, &in, &out);
    double reach = 0, deviation = 0;
    switch (given.kind) {
    case WEFT_INIT_GLOROT_UNIFORM: reach = given.a * sqrt(6 / (in + out)); break;
    case WEFT_INIT_HE_UNIFORM: reach = given.a * sqrt(3 / in); break;
    case WEFT_INIT_GLOROT_NORMAL: deviation = given.a * sqrt(2 / (in + out)); break;
    case WEFT_INIT_HE_NORMAL: deviation = given.a / sqrt(in); break;
    case WEFT_INIT_CONSTANT:
    case WEFT_INIT_UNIFORM:
    case WEFT_INIT_NORMAL: return given;
    }
    if (reach > 0) return (weft_initialiser){WEFT_INIT_UNIFORM, (float)-reach, (float)reach};
    return (weft_initialiser){WEFT_INIT_NORMAL, 0, (float)deviation};
}

static float random_value(weft_initialiser how, uint64_t seed, uint32_t stream, uint64_t index) {
    uint32_t words[4] = {(uint32_t)index, (uint32_t)(index >> 32), stream, 0xFFFFFFFFu};
    wi_philox(words, seed);
    if (how.kind == WEFT_INIT_NORMAL) return fmaf(wi_normal_of(words[0], words[1]), how.b, how.a);
    return fmaf(wi_uniform_of(words[0]), how.b - how.a, how.a);
}

static void fill(const wi_variable *variable, uint64_t seed, char *target) {
    if (variable->data) {
        memcpy(target, variable->data, variable->bytes);
        return;
    }
    const weft_initialiser how = resolve(variable->initialiser, &variable->tensor->shape);
    const size_t count = variable->bytes / sizeof(float);
    for (size_t i = 0; i < count; i++) {
        const float value =
            how.kind == WEFT_INIT_CONSTANT ? how.a : random_value(how, seed, variable->stream, i);
        if (variable->tensor->dtype == WEFT_I32)
            ((int32_t *)(void *)target)[i] = (int32_t)value;
        else
            ((float *)(void *)target)[i] = value;
    }
}

static void forget_data(weft_graph *graph, size_t block) {
    for (size_t i = 0; i < graph->variable_count; i++) {
        wi_variable *variable = graph->variables[i];
        if (variable->block != block) continue;
        wi_release(graph->context->allocator, variable->data);
        variable->data = NULL;
    }
}

weft_status wi_graph_block_ready(weft_graph *graph, size_t index) {
    wi_block *block = &graph->blocks[index];
    weft_context *context = graph->context;
    if (block->buffer.memory || block->bytes == 0) return WEFT_OK;
    char *content = wi_allocate(context->allocator, block->bytes);
    if (!content) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < graph->variable_count; i++) {
        const wi_variable *variable = graph->variables[i];
        if (variable->block == index) fill(variable, context->seed, content + variable->offset);
    }
    weft_status status = wi_buffer_create(&block->buffer, context, block->bytes);
    if (status == WEFT_OK) status = wi_buffer_write(context, block->buffer.memory, 0, content, block->bytes);
    wi_release(context->allocator, content);
    if (status != WEFT_OK) {
        wi_buffer_release(&block->buffer, context);
        return status;
    }
    forget_data(graph, index);
    if (index == 0) graph->frozen = true;
    return WEFT_OK;
}

/* ---- the public view ---- */

static size_t count_variables(const weft_graph *graph, bool trainable) {
    size_t count = 0;
    for (size_t i = 0; graph && i < graph->variable_count; i++)
        count += graph->variables[i]->trainable == trainable;
    return count;
}

static weft_tensor *nth_variable(const weft_graph *graph, size_t index, bool trainable) {
    for (size_t i = 0; graph && i < graph->variable_count; i++) {
        if (graph->variables[i]->trainable == trainable && index-- == 0) return graph->variables[i]->tensor;
    }
    return NULL;
}

size_t weft_graph_parameter_count(const weft_graph *graph) {
    return count_variables(graph, true);
}
weft_tensor *weft_graph_parameter(const weft_graph *graph, size_t index) {
    return nth_variable(graph, index, true);
}
size_t weft_graph_state_count(const weft_graph *graph) {
    return count_variables(graph, false);
}
weft_tensor *weft_graph_state(const weft_graph *graph, size_t index) {
    return nth_variable(graph, index, false);
}

weft_tensor *weft_graph_find(const weft_graph *graph, const char *name) {
    for (size_t i = 0; graph && name && i < graph->variable_count; i++) {
        weft_tensor *tensor = graph->variables[i]->tensor;
        if (tensor->name && strcmp(tensor->name, name) == 0) return tensor;
    }
    return NULL;
}

static weft_status check_variable(
    const char *call, const weft_tensor *tensor, const void *data, size_t bytes) {
    if (!tensor || !data) WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: tensor or data is NULL", call);
    WI_TRY(weft_graph_status(tensor->graph));
    if (!tensor->variable)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: a %s is neither parameter nor state; read it from a plan", call,
            tensor->op->name);
    if (bytes != tensor->variable->bytes)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: '%s' has %zu bytes, %zu were given", call, weft_tensor_name(tensor),
            tensor->variable->bytes, bytes);
    return wi_graph_block_ready(tensor->graph, tensor->variable->block);
}

weft_status weft_tensor_read(weft_tensor *tensor, void *data, size_t bytes) {
    WI_TRY(check_variable("weft_tensor_read", tensor, data, bytes));
    const wi_variable *variable = tensor->variable;
    weft_graph *graph = tensor->graph;
    return wi_buffer_read(
        graph->context, graph->blocks[variable->block].buffer.memory, variable->offset, data, bytes);
}

weft_status weft_tensor_write(weft_tensor *tensor, const void *data, size_t bytes) {
    WI_TRY(check_variable("weft_tensor_write", tensor, data, bytes));
    const wi_variable *variable = tensor->variable;
    weft_graph *graph = tensor->graph;
    return wi_buffer_write(
        graph->context, graph->blocks[variable->block].buffer.memory, variable->offset, data, bytes);
}
