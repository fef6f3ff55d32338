/* The inputs of a network: chooses the sizes of their open dimensions, and uses the values that the caller gives. */
#include "graph/dtype.h"
#include "onnx/onnx_node.h"
#include <stdio.h>
#include <string.h>

/* LABEL, SYMBOL: bytes of an input with an axis, and of the name of a symbol. */
enum { LABEL = 300, SYMBOL = 63 };

/* An open dimension. */
typedef struct open_dim {
    const char *name; /* NULL: the dimension has no name */
    const wi_onnx_value *input;
    size_t axis;
    int64_t size; /* 0: not decided */
} open_dim;

typedef struct open_dims {
    open_dim *of;
    size_t count;
} open_dims;

static const WiOnnx__ShapeProto *shape_of(const wi_onnx_value *input) {
    const WiOnnx__TypeProto *const type = input->info->type;
    return type && type->tensor_type ? type->tensor_type->shape : NULL;
}

static bool is_fixed(const WiOnnx__DimensionProto *dim) {
    return dim->has_dim_value && dim->dim_value >= 0;
}

static bool is_same(const open_dim *a, const open_dim *b) {
    return a == b || (a->name && b->name && strcmp(a->name, b->name) == 0);
}

static void set_size(const open_dims *dims, const open_dim *like, int64_t size) {
    for (size_t i = 0; i < dims->count; i++)
        if (is_same(&dims->of[i], like)) dims->of[i].size = size;
}

/* Some exporters write a question mark for a dimension without a name. */
static const char *name_of(const WiOnnx__DimensionProto *dim) {
    const char *const name = dim->dim_param;
    return name && name[0] && strcmp(name, "?") != 0 ? name : NULL;
}

static weft_status collect(open_dims *dims, wi_onnx_import *n) {
    size_t most = 0;
    for (size_t i = 0; i < n->input_count; i++)
        most += shape_of(n->inputs[i]) ? shape_of(n->inputs[i])->n_dim : 0;
    dims->of = wi_arena_take(&n->arena, (most + 1) * sizeof *dims->of);
    if (!dims->of) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < n->input_count; i++) {
        const WiOnnx__ShapeProto *const shape = shape_of(n->inputs[i]);
        const bool given = !n->inputs[i]->is_active;
        for (size_t d = 0; shape && !given && d < shape->n_dim; d++)
            if (!is_fixed(shape->dim[d]))
                dims->of[dims->count++] = (open_dim){name_of(shape->dim[d]), n->inputs[i], d, 0};
    }
    return WEFT_OK;
}

/* Does the name in the caller's options mean this dimension? It may be the dimension's name, such as "batch_size", or an input and an axis,
 * such as "image:2". */
static bool is_meant(const open_dim *dim, const char *name) {
    char label[LABEL];
    snprintf(label, sizeof label, "%.*s:%zu", LABEL - 30, dim->input->name, dim->axis);
    return strcmp(label, name) == 0 || (dim->name && strcmp(dim->name, name) == 0);
}

/* If the caller lists a dimension that the file fixes, the size must be the same. */
static weft_status check_fixed(const wi_onnx_import *n, const weft_onnx_size *size) {
    char label[LABEL];
    for (size_t i = 0; i < n->input_count; i++) {
        const WiOnnx__ShapeProto *const shape = shape_of(n->inputs[i]);
        for (size_t d = 0; shape && d < shape->n_dim; d++) {
            snprintf(label, sizeof label, "%.*s:%zu", LABEL - 30, n->inputs[i]->name, d);
            if (strcmp(label, size->name) != 0) continue;
            if (shape->dim[d]->dim_value == size->size) return WEFT_OK;
            return wi_onnx_error(WEFT_ERROR_ARGUMENT, "the file fixes the dimension '%.80s' to %lld",
                size->name, (long long)shape->dim[d]->dim_value);
        }
    }
    return wi_onnx_error(WEFT_ERROR_ARGUMENT, "no input has an open dimension '%.80s'", size->name);
}

static weft_status set_given(const wi_onnx_import *n, const open_dims *dims) {
    for (size_t i = 0; i < n->options->size_count; i++) {
        const weft_onnx_size *const size = &n->options->sizes[i];
        bool found = false;
        if (!size->name || (size->size < 1 && size->size != WEFT_BATCH))
            return wi_onnx_error(WEFT_ERROR_ARGUMENT,
                "the size %lld of '%.80s' is not 1 or more, WEFT_BATCH, WEFT_LENGTH or a size of weft_symbol",
                (long long)size->size, size->name ? size->name : "");
        for (size_t d = 0; d < dims->count; d++) {
            if (!is_meant(&dims->of[d], size->name)) continue;
            set_size(dims, &dims->of[d], size->size);
            found = true;
        }
        if (!found) WI_TRY(check_fixed(n, size));
    }
    return WEFT_OK;
}

/* The first axis of an input is the batch; all these dimensions must have one name, as they may differ otherwise. */
static weft_status set_batch(const open_dims *dims) {
    const open_dim *first = NULL;
    for (size_t i = 0; i < dims->count; i++) {
        open_dim *const dim = &dims->of[i];
        if (dim->size != 0 || dim->axis != 0) continue;
        if (first && first->name && dim->name)
            return wi_onnx_error(WEFT_ERROR_UNSUPPORTED,
                "the first axes of inputs have the open dimensions '%.80s' and '%.80s', of which only one "
                "can be "
                "the batch: give a size for one of them",
                first->name, dim->name);
        if (!first || dim->name) first = dim;
        set_size(dims, dim, WEFT_BATCH);
    }
    return WEFT_OK;
}

/* The others are the length if they have one name, otherwise symbols of their names, or of input and axis, "image:2". */
static weft_status set_others(const open_dims *dims, weft_graph *graph) {
    const open_dim *first = NULL;
    bool one = true;
    for (size_t i = 0; i < dims->count; i++) {
        if (dims->of[i].size != 0) continue;
        one = one && (!first || is_same(first, &dims->of[i]));
        if (!first) first = &dims->of[i];
    }
    for (size_t i = 0; i < dims->count; i++) {
        open_dim *const dim = &dims->of[i];
        char label[LABEL];
        if (dim->size != 0) continue;
        snprintf(label, sizeof label, "%.*s:%zu", SYMBOL - 4, dim->input->name, dim->axis);
        if (dim->name) snprintf(label, sizeof label, "%.*s", SYMBOL, dim->name);
        set_size(dims, dim, one ? WEFT_LENGTH : weft_symbol(graph, label));
    }
    return weft_graph_status(graph);
}

static weft_status find_sizes(open_dims *dims, wi_onnx_import *n) {
    WI_TRY(collect(dims, n));
    WI_TRY(set_given(n, dims));
    WI_TRY(set_batch(dims));
    return set_others(dims, n->graph);
}

/* ---- the inputs ---- */

static const char *kind_of(const WiOnnx__TypeProto *type) {
    return !type || type->tensor_type ? "an input without a type"
           : type->sequence_type      ? "a sequence"
           : type->map_type           ? "a map"
           : type->optional_type      ? "an optional value"
           : type->sparse_tensor_type ? "a sparse tensor"
                                      : "an input without a type";
}

static int64_t size_of(const open_dims *dims, const wi_onnx_value *input, size_t axis) {
    for (size_t i = 0; i < dims->count; i++)
        if (dims->of[i].input == input && dims->of[i].axis == axis) return dims->of[i].size;
    return 0;
}

static weft_status add_input(wi_onnx_import *n, wi_onnx_value *input, const open_dims *open) {
    char name[600];
    int64_t dims[WEFT_MAX_RANK];
    weft_dtype dtype;
    const WiOnnx__ShapeProto *const shape = shape_of(input);
    if (!input->info->type || !input->info->type->tensor_type)
        return wi_onnx_error(WEFT_ERROR_UNSUPPORTED, "the input '%.80s' is %s, which is not supported",
            input->name, kind_of(input->info->type));
    if (!shape)
        return wi_onnx_error(
            WEFT_ERROR_UNSUPPORTED, "the input '%.80s' has no shape in the file", input->name);
    if (shape->n_dim > WEFT_MAX_RANK)
        return wi_onnx_error(WEFT_ERROR_SHAPE, "the input '%.80s' has %zu dimensions, expected at most %d",
            input->name, shape->n_dim, WEFT_MAX_RANK);
    WI_TRY(wi_onnx_dtype(&dtype, input->info->type->tensor_type->elem_type, input->name));
    for (size_t d = 0; d < shape->n_dim; d++)
        dims[d] = is_fixed(shape->dim[d]) ? shape->dim[d]->dim_value : size_of(open, input, d);
    const int begin = n->options->scope ? snprintf(name, 260, "%s.", n->options->scope) : 0;
    wi_onnx_usual_name(name + begin, sizeof name - (size_t)begin, input->name);
    input->tensor = weft_input_shape(n->graph, name, dtype, (int)shape->n_dim, dims);
    return weft_graph_status(n->graph);
}

/* Does the value have the dimensions that the file fixes? */
static bool fits(const weft_onnx_value *value, const WiOnnx__ShapeProto *shape) {
    for (int d = 0; d < value->rank; d++)
        if (value->dims[d] < 0 ||
            (shape && is_fixed(shape->dim[d]) && shape->dim[d]->dim_value != value->dims[d]))
            return false;
    return true;
}

static weft_status take_value(wi_onnx_import *n, const weft_onnx_value *value) {
    wi_onnx_value *const input = value->name ? wi_onnx_find(n, value->name) : NULL;
    wi_onnx_numbers *const numbers = wi_arena_take(&n->arena, sizeof *numbers);
    if (!input || !input->info)
        return wi_onnx_error(
            WEFT_ERROR_ARGUMENT, "the file has no input '%.80s'", value->name ? value->name : "");
    if (!numbers) return WEFT_ERROR_MEMORY;
    const WiOnnx__ShapeProto *const shape = shape_of(input);
    *numbers = (wi_onnx_numbers){.type = input->type, .rank = value->rank, .count = 1};
    WI_TRY(wi_onnx_dtype(&numbers->dtype, input->type, input->name));
    if (value->rank < 0 || value->rank > WEFT_MAX_RANK || (value->rank > 0 && !value->dims) || !value->data ||
        !wi_dtype_valid(value->dtype) || (shape && shape->n_dim != (size_t)value->rank) ||
        !fits(value, shape))
        return wi_onnx_error(WEFT_ERROR_ARGUMENT,
            "the value of the input '%.80s' has another shape than the file, or no data", input->name);
    for (int d = 0; d < value->rank; d++) {
        numbers->dims[d] = value->dims[d];
        if (value->dims[d] > 0 && numbers->count > (size_t)INT32_MAX / (size_t)value->dims[d])
            return wi_onnx_error(
                WEFT_ERROR_ARGUMENT, "the value of the input '%.80s' is too large", input->name);
        numbers->count *= (size_t)value->dims[d];
    }
    numbers->data = wi_arena_take(&n->arena, (numbers->count + 1) * sizeof *numbers->data);
    if (!numbers->data) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < numbers->count; i++)
        numbers->data[i] = wi_format_of(value->dtype)->get(value->data, i);
    input->numbers = numbers;
    return WEFT_OK;
}

weft_status wi_onnx_add_inputs(wi_onnx_import *n) {
    open_dims dims = {0};
    for (size_t i = 0; i < n->options->value_count; i++) WI_TRY(take_value(n, &n->options->values[i]));
    WI_TRY(find_sizes(&dims, n));
    for (size_t i = 0; i < n->input_count; i++)
        if (n->inputs[i]->is_used && !n->inputs[i]->numbers) WI_TRY(add_input(n, n->inputs[i], &dims));
    return WEFT_OK;
}
