/* Constants of a file as tensors: parameters, states, and constants that no file of weights contains. */
#include "base/utf8.h"
#include "graph/dtype.h"
#include "graph/variable_names.h"
#include "onnx/onnx_types.h"
#include <stdio.h>
#include <string.h>

/* LONGEST_NAME: bytes of the longest name of a parameter. MOST_OPEN: the most open sizes in a tensor; each takes several nodes. */
enum { LONGEST_NAME = 200, NAME_BUFFER = LONGEST_NAME + 64, MOST_OPEN = 64 };

/* ---- names ---- */

static uint32_t hash_of(const char *text) {
    uint32_t hash = 2166136261u;
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

/* Can a parameter of Weft have this name, and can a terminal print it? */
static bool is_usual(const char *name) {
    const size_t length = strlen(name);
    if (length == 0 || length > LONGEST_NAME || !wi_utf8_is_text(name, length) || wi_name_is_reserved(name))
        return false;
    for (; *name; name++)
        if ((unsigned char)*name < 0x20 || *name == 0x7f) return false;
    return true;
}

void wi_onnx_usual_name(char *buffer, size_t capacity, const char *name) {
    size_t length = 0;
    if (is_usual(name)) {
        snprintf(buffer, capacity, "%s", name);
        return;
    }
    if (wi_name_is_reserved(name)) length = (size_t)snprintf(buffer, capacity, "onnx_");
    for (const char *at = name; *at && length < LONGEST_NAME / 2 && length + 12 < capacity; at++)
        buffer[length++] = (unsigned char)*at < 0x20 || (unsigned char)*at >= 0x7f ? '_' : *at;
    snprintf(buffer + length, capacity - length, "_%08x", hash_of(name));
}

/* ---- constants ---- */

static weft_status fill(const weft_initialiser *self, const weft_tensor *variable, float *values) {
    (void)variable;
    return wi_onnx_tensor_write(values, self->user);
}

static weft_status fill_numbers(const weft_initialiser *self, const weft_tensor *variable, float *values) {
    const wi_onnx_numbers *const numbers = self->user;
    (void)variable;
    for (size_t i = 0; i < numbers->count; i++) values[i] = (float)numbers->data[i];
    return WEFT_OK;
}

/* Creates a constant of integers or bools, which cannot be a state with an initialiser. */
static weft_tensor *make_whole(wi_onnx_import *n, const wi_onnx_value *value, const wi_onnx_numbers *shape) {
    void *const data = wi_allocate_array(n->arena.allocator, shape->count + 1, weft_dtype_size(shape->dtype));
    const weft_status status = data ? wi_onnx_tensor_write(data, value->stored) : WEFT_ERROR_MEMORY;
    weft_tensor *const tensor = status == WEFT_OK
                                    ? weft_array(n->graph, shape->dtype, data, shape->rank, shape->dims)
                                    : wi_graph_fail_recorded(n->graph, status);
    wi_release(n->arena.allocator, data);
    return tensor;
}

/* Creates the tensor of a constant of the file. A single number becomes a constant in the code of the kernels that read it. */
static weft_tensor *make_stored(wi_onnx_import *n, const wi_onnx_value *value) {
    char name[NAME_BUFFER];
    wi_onnx_numbers shape;
    if (wi_onnx_tensor_describe(&shape, value->stored) != WEFT_OK) return NULL;
    if (shape.dtype != WEFT_F32) return make_whole(n, value, &shape);
    const weft_initialiser initialiser = {
        .kind = WEFT_INIT_CUSTOM, .fill = fill, .user = (void *)value->stored};
    wi_onnx_usual_name(name, sizeof name, value->name);
    if (value->is_trained) return weft_parameter_shape(n->graph, name, initialiser, shape.rank, shape.dims);
    return weft_state_shape(
        n->graph, value->is_weight ? name : "", WEFT_F32, initialiser, shape.rank, shape.dims);
}

weft_tensor *wi_onnx_tensor_of(wi_onnx_import *n, wi_onnx_value *value) {
    const bool is_constant = value->stored && (value->is_weight || value->is_trained);
    if (value->tensor) return value->tensor;
    const wi_onnx_numbers *const known = is_constant ? NULL : wi_onnx_known_of(n, value);
    if (known && (known->count <= 1 || !value->stored || known->dtype != WEFT_F32))
        value->tensor = wi_onnx_array(n, known);
    else if (value->stored)
        value->tensor = make_stored(n, value);
    return value->tensor;
}

weft_tensor *wi_onnx_state_of(wi_onnx_import *n, wi_onnx_value *value) {
    char name[NAME_BUFFER], numbered[NAME_BUFFER + 16];
    wi_onnx_numbers shape;
    const wi_onnx_numbers *const known = value->stored ? NULL : value->numbers;
    if (!value->stored && !known) return wi_onnx_tensor_of(n, value);
    if (known)
        shape = *known;
    else if (wi_onnx_tensor_describe(&shape, value->stored) != WEFT_OK)
        return NULL;
    const weft_initialiser initialiser = {.kind = WEFT_INIT_CUSTOM,
        .fill = known ? fill_numbers : fill,
        .user = known ? (void *)known : (void *)value->stored};
    wi_onnx_usual_name(name, sizeof name, value->name);
    /* If there is also a weight of this name, only the weight has the name without a number. */
    const unsigned number = value->state_count++ + (value->is_weight || value->is_trained ? 1 : 0);
    snprintf(numbered, sizeof numbered, "%s.%u", name, number + 1);
    return weft_state_shape(
        n->graph, number ? numbered : name, WEFT_F32, initialiser, shape.rank, shape.dims);
}

/* ---- numbers of the host ---- */

/* An i32 of rank 0: the sum of the terms of one sign, without it; NULL: there are none, or there is an error. */
static weft_tensor *sum_of_terms(wi_onnx_import *n, const wi_polynomial *p, int64_t sign) {
    wi_polynomial part = {0};
    for (int i = 0; i < p->count; i++) {
        if ((p->terms[i].times < 0) != (sign < 0)) continue;
        part.terms[part.count] = p->terms[i];
        part.terms[part.count++].times *= sign;
    }
    if (part.count == 0) return NULL;
    const int64_t size = wi_polynomial_dim(n->graph, &part, true);
    if (size == INT64_MAX) return wi_graph_fail(n->graph, WEFT_ERROR_UNSUPPORTED, "a size is too large");
    return wi_constant_count(n->graph, WEFT_I32, wi_magnitude(size), size < 0);
}

static weft_tensor *open_number(wi_onnx_import *n, double number) {
    wi_polynomial p;
    if (!wi_onnx_is_open(number) || !wi_onnx_polynomial(n->graph, number, &p))
        return weft_constant(n->graph, WEFT_I32, number);
    weft_tensor *sum = weft_constant(n->graph, WEFT_I32, (double)p.rest);
    weft_tensor *const more = sum_of_terms(n, &p, 1), *const less = sum_of_terms(n, &p, -1);
    if (weft_graph_status(n->graph) != WEFT_OK) return NULL;
    if (more) sum = weft_add(sum, more);
    return less ? weft_sub(sum, less) : sum;
}

static weft_tensor *open_array(wi_onnx_import *n, const wi_onnx_numbers *numbers) {
    weft_tensor *each[MOST_OPEN];
    if (numbers->count > MOST_OPEN) {
        return wi_graph_fail(n->graph, WEFT_ERROR_UNSUPPORTED,
            "a tensor of %zu numbers depends on open sizes: give the sizes of the "
            "inputs when the file is loaded",
            numbers->count);
    }
    for (size_t i = 0; i < numbers->count; i++) {
        weft_tensor *const number = open_number(n, numbers->data[i]);
        each[i] = number ? weft_cast(number, numbers->dtype) : NULL;
        if (!each[i]) return NULL;
    }
    return weft_reshape_shape(weft_stack(each, numbers->count, 0), numbers->rank, numbers->dims);
}

static bool is_open(const wi_onnx_numbers *numbers) {
    for (size_t i = 0; numbers->open && i < numbers->count; i++)
        if (wi_onnx_is_open(numbers->data[i])) return true;
    return false;
}

weft_tensor *wi_onnx_array(wi_onnx_import *n, const wi_onnx_numbers *numbers) {
    const wi_format *const format = wi_format_of(numbers->dtype);
    if (is_open(numbers)) return open_array(n, numbers);
    for (size_t i = 0; numbers->dtype == WEFT_I32 && i < numbers->count; i++)
        if (!(numbers->data[i] >= INT32_MIN && numbers->data[i] <= INT32_MAX)) {
            return wi_graph_fail(
                n->graph, WEFT_ERROR_UNSUPPORTED, "%.0f does not fit into i32", numbers->data[i]);
        }
    if (numbers->count == 1)
        return weft_full(n->graph, numbers->dtype, numbers->data[0], numbers->rank, numbers->dims);
    void *const data = wi_allocate_array(n->arena.allocator, numbers->count + 1, format->size);
    for (size_t i = 0; data && i < numbers->count; i++) format->put(data, i, numbers->data[i]);
    weft_tensor *const array =
        data ? weft_array(n->graph, numbers->dtype, data, numbers->rank, numbers->dims) : NULL;
    wi_release(n->arena.allocator, data);
    return array;
}
