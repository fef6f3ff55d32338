/* See onnx_network.h. */
#include "onnx_network.h"
#include "graph/dtype.h"
#include "onnx/onnx_host_inputs.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_NAME = 200 };

/* ---- inputs of the file ---- */

const WiOnnx__ShapeProto *onnx_shape_of(const WiOnnx__ValueInfoProto *info) {
    return info->type && info->type->tensor_type ? info->type->tensor_type->shape : NULL;
}

bool onnx_is_open(const WiOnnx__DimensionProto *dim) {
    return !dim->has_dim_value || dim->dim_value < 0;
}

const char *onnx_plain(const char *name) {
    static char texts[4][LONGEST_NAME];
    static int turn;
    char *const text = texts[turn = (turn + 1) % 4];
    snprintf(text, LONGEST_NAME, "%s", name ? name : "");
    for (char *at = text; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f) *at = '?';
    return text;
}

const char *onnx_shape_text(char text[ONNX_SHAPE_TEXT], int rank, const int64_t *dims) {
    size_t used = (size_t)snprintf(text, ONNX_SHAPE_TEXT, "(");
    for (int d = 0; d < rank; d++)
        used +=
            (size_t)snprintf(text + used, ONNX_SHAPE_TEXT - used, d ? ", %lld" : "%lld", (long long)dims[d]);
    snprintf(text + used, ONNX_SHAPE_TEXT - used, rank == 1 ? ",)" : ")");
    return text;
}

/* Older files list constants among the inputs. */
static bool is_constant(const WiOnnx__GraphProto *graph, const char *name) {
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (graph->initializer[i]->name && strcmp(graph->initializer[i]->name, name) == 0) return true;
    return false;
}

static weft_status add_input(onnx_network *n, const WiOnnx__ValueInfoProto *info, bool decides) {
    if (!info->name || !info->name[0])
        WI_FAIL(WEFT_ERROR_FORMAT, "an input of '%s' has no name", n->options->path);
    if (!is_constant(n->file.model->graph, info->name))
        n->inputs[n->input_count++] = (onnx_input){.info = info, .name = info->name, .decides = decides};
    return WEFT_OK;
}

static weft_status add_inputs(onnx_network *n) {
    const WiOnnx__GraphProto *const graph = n->file.model->graph;
    bool *const decides = wi_arena_take(&n->arena, graph->n_input + 1);
    n->inputs = wi_arena_take(&n->arena, (graph->n_input + 1) * sizeof *n->inputs);
    if (!decides || !n->inputs) return WEFT_ERROR_MEMORY;
    WI_TRY(wi_onnx_host_inputs(decides, graph));
    for (size_t i = 0; i < graph->n_input; i++) WI_TRY(add_input(n, graph->input[i], decides[i]));
    return WEFT_OK;
}

static onnx_input *find_input(const onnx_network *n, const char *name) {
    for (size_t i = 0; i < n->input_count; i++)
        if (strcmp(n->inputs[i].name, name) == 0) return &n->inputs[i];
    return NULL;
}

/* ---- their arrays ---- */

/* Of the input in the graph. */
static weft_status dtype_of(weft_dtype *dtype, const onnx_input *input) {
    const WiOnnx__TensorTypeProto *const type = input->info->type ? input->info->type->tensor_type : NULL;
    if (!type) WI_FAIL(WEFT_ERROR_UNSUPPORTED, "the input '%s' is not a tensor", input->name);
    return wi_onnx_dtype(dtype, type->elem_type, input->name);
}

static weft_status load_array(onnx_input *input, const char *path) {
    weft_dtype dtype;
    WI_TRY(dtype_of(&dtype, input));
    /* Values that decide shapes may be as large as the largest i64, which stands for "to the end". */
    const bool wide = input->decides && input->info->type->tensor_type->elem_type == 7;
    weft_npy_array_release(&input->array);
    input->path = path;
    return weft_load_npy(&input->array, NULL, path, wide ? WEFT_I64 : dtype);
}

/* "1,2,3" as an array of the input's rank, which is 0 or 1. */
static weft_status read_numbers(onnx_input *input, const char *text) {
    const WiOnnx__ShapeProto *const shape = onnx_shape_of(input->info);
    weft_dtype dtype;
    size_t count = 1;
    WI_TRY(dtype_of(&dtype, input));
    const wi_format *const format = wi_format_of(dtype);
    for (const char *at = text; *at; at++) count += *at == ',';
    const int rank = shape && shape->n_dim == 0 && count == 1 ? 0 : 1;
    if (shape && shape->n_dim > 1)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "--value %s: the input has %zu axes; give an array by --input",
            input->name, shape->n_dim);
    weft_npy_array_release(&input->array);
    input->array = (weft_npy_array){.dtype = dtype, .rank = rank, .dims = {(int64_t)count}};
    input->array.bytes = count * format->size;
    input->array.data = wi_allocate_array(NULL, count, format->size);
    if (!input->array.data) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        char *end;
        const double number = strtod(text, &end);
        if (end == text || (*end && *end != ',') || !isfinite(number))
            WI_FAIL(WEFT_ERROR_ARGUMENT, "--value %s: '%s' is not a number", input->name, text);
        format->put(input->array.data, i, number);
        text = end + 1;
    }
    return WEFT_OK;
}

static weft_status take_arrays(
    onnx_network *n, const onnx_pairs *pairs, weft_status (*take)(onnx_input *input, const char *text)) {
    for (size_t i = 0; i < pairs->count; i++) {
        onnx_input *const input = find_input(n, pairs->of[i].name);
        if (!input)
            WI_FAIL(WEFT_ERROR_ARGUMENT, "'%s' has no input '%s'; weft onnx info lists the inputs",
                n->options->path, pairs->of[i].name);
        WI_TRY(take(input, pairs->of[i].value));
    }
    return WEFT_OK;
}

/* ---- sizes ---- */

static bool has_size(const onnx_network *n, const char *name) {
    for (size_t i = 0; i < n->size_count; i++)
        if (strcmp(n->sizes[i].name, name) == 0) return true;
    return false;
}

/* The name of an open dimension in the options: its own, or "image:2". NULL: no memory. */
static const char *size_name(onnx_network *n, const onnx_input *input, size_t axis) {
    const char *const own = onnx_shape_of(input->info)->dim[axis]->dim_param;
    if (own && own[0] && strcmp(own, "?") != 0) return own; /* some exporters write "?" for no name */
    const size_t bytes = strlen(input->name) + 24;
    char *const name = wi_arena_take(&n->arena, bytes);
    if (name) snprintf(name, bytes, "%s:%zu", input->name, axis);
    return name;
}

static weft_status add_size(onnx_network *n, const onnx_input *input, size_t axis, int64_t size) {
    const char *const name = size_name(n, input, axis);
    if (!name) return WEFT_ERROR_MEMORY;
    if (!has_size(n, name)) n->sizes[n->size_count++] = (weft_onnx_size){name, size};
    return WEFT_OK;
}

static weft_status take_size(onnx_network *n, const onnx_pair *pair) {
    char *end;
    const long long size = strtoll(pair->value, &end, 10);
    if (*end || size < 1 || size >= 1LL << 40)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "--size %s is '%s', but must be a whole number from 1", pair->name,
            pair->value);
    n->sizes[n->size_count++] = (weft_onnx_size){pair->name, size};
    return WEFT_OK;
}

/* Calls a function with each open dimension that has no size yet. */
static weft_status walk_open(onnx_network *n,
    weft_status (*visit)(onnx_network *n, size_t input, size_t axis, void *user), void *user) {
    for (size_t i = 0; i < n->input_count; i++) {
        const WiOnnx__ShapeProto *const shape = onnx_shape_of(n->inputs[i].info);
        for (size_t axis = 0; shape && !n->inputs[i].decides && axis < shape->n_dim; axis++) {
            if (!onnx_is_open(shape->dim[axis])) continue;
            const char *const name = size_name(n, &n->inputs[i], axis);
            if (!name) return WEFT_ERROR_MEMORY;
            if (!has_size(n, name)) WI_TRY(visit(n, i, axis, user));
        }
    }
    return WEFT_OK;
}

/* Is the name that of an open first axis, which the loader takes as the batch? */
static bool is_batch(onnx_network *n, const char *name) {
    for (size_t i = 0; i < n->input_count; i++) {
        const WiOnnx__ShapeProto *const shape = onnx_shape_of(n->inputs[i].info);
        const bool open = shape && shape->n_dim > 0 && onnx_is_open(shape->dim[0]);
        const char *const first = open && !n->inputs[i].decides ? size_name(n, &n->inputs[i], 0) : NULL;
        if (first && strcmp(first, name) == 0) return true;
    }
    return false;
}

/* The names of open dimensions that are not the batch. */
typedef struct other_names {
    const char *first;
    bool several;
} other_names;

static weft_status note_other(onnx_network *n, size_t input, size_t axis, void *user) {
    other_names *const names = user;
    const char *const name = size_name(n, &n->inputs[input], axis);
    if (is_batch(n, name)) return WEFT_OK;
    names->several = names->several || (names->first && strcmp(names->first, name) != 0);
    names->first = name;
    return WEFT_OK;
}

/* Which open dimensions stay open. */
typedef struct kept_sizes {
    bool batch;
    const char *length; /* the name of one; NULL: none */
} kept_sizes;

static weft_status take_from_array(onnx_network *n, size_t input, size_t axis, void *user) {
    const kept_sizes *const kept = user;
    const weft_npy_array *const array = &n->inputs[input].array;
    const char *const name = size_name(n, &n->inputs[input], axis);
    if (!array->data || (size_t)array->rank != onnx_shape_of(n->inputs[input].info)->n_dim) return WEFT_OK;
    if (kept->batch && is_batch(n, name)) return WEFT_OK;
    if (kept->length && strcmp(kept->length, name) == 0) return WEFT_OK;
    return add_size(n, &n->inputs[input], axis, array->dims[axis]);
}

/* Those of the options, then those of the arrays. */
static weft_status take_sizes(onnx_network *n, onnx_open open) {
    size_t most = n->options->sizes.count;
    other_names others = {0};
    for (size_t i = 0; i < n->input_count; i++)
        if (onnx_shape_of(n->inputs[i].info)) most += onnx_shape_of(n->inputs[i].info)->n_dim;
    n->sizes = wi_arena_take(&n->arena, (most + 1) * sizeof *n->sizes);
    if (!n->sizes) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < n->options->sizes.count; i++) WI_TRY(take_size(n, &n->options->sizes.of[i]));
    WI_TRY(walk_open(n, note_other, &others));
    const bool length = open == ONNX_OPEN && !others.several;
    kept_sizes kept = {open != ONNX_CLOSED, length ? others.first : NULL};
    return walk_open(n, take_from_array, &kept);
}

static weft_status close_first(onnx_network *n, size_t input, size_t axis, void *user) {
    (void)user;
    return axis == 0 ? add_size(n, &n->inputs[input], axis, 1) : WEFT_OK;
}

static weft_status list_open(onnx_network *n, size_t input, size_t axis, void *user) {
    wi_text *const missing = user;
    const char *const name = size_name(n, &n->inputs[input], axis);
    if (!missing->data || !strstr(missing->data, name)) wi_text_append(missing, " --size %s=N", name);
    return WEFT_OK;
}

weft_status onnx_network_close_sizes(onnx_network *n) {
    wi_text missing;
    wi_text_init(&missing, NULL);
    weft_status status = walk_open(n, close_first, NULL);
    if (status == WEFT_OK) status = walk_open(n, list_open, &missing);
    if (status == WEFT_OK && missing.data)
        status =
            wi_fail(WEFT_ERROR_ARGUMENT, "'%s' leaves sizes open: give%s", n->options->path, missing.data);
    wi_text_clear(&missing);
    return status;
}

/* ---- the whole ---- */

static weft_status take_values(onnx_network *n) {
    n->values = wi_arena_take(&n->arena, (n->input_count + 1) * sizeof *n->values);
    if (!n->values) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < n->input_count; i++) {
        const onnx_input *const input = &n->inputs[i];
        const weft_npy_array *const array = &input->array;
        if (!input->decides || !array->data) continue;
        n->values[n->value_count++] =
            (weft_onnx_value){input->name, array->dtype, array->rank, array->dims, array->data};
    }
    return WEFT_OK;
}

weft_status onnx_network_open(onnx_network *n, const onnx_options *options, onnx_open open) {
    *n = (onnx_network){.options = options};
    wi_arena_init(&n->arena, NULL);
    WI_TRY(wi_onnx_file_open(&n->file, options->path, &(wi_onnx_place){0}));
    WI_TRY(add_inputs(n));
    WI_TRY(take_arrays(n, &options->inputs, load_array));
    WI_TRY(take_arrays(n, &options->values, read_numbers));
    WI_TRY(take_sizes(n, open));
    return take_values(n);
}

weft_status onnx_network_build(onnx_network *n, weft_context *context, const weft_onnx_options *given) {
    weft_onnx_options options = *given;
    options.sizes = n->sizes;
    options.size_count = n->size_count;
    options.values = n->values;
    options.value_count = n->value_count;
    onnx_network_release(n);
    WI_TRY(weft_graph_create(&n->graph, context));
    WI_TRY(weft_onnx_load(&n->model, n->graph, n->options->path, &options));
    for (size_t i = 0; i < n->input_count; i++)
        for (size_t k = 0; k < weft_onnx_input_count(n->model); k++)
            if (strcmp(n->inputs[i].name, weft_onnx_input_name(n->model, k)) == 0)
                n->inputs[i].tensor = weft_onnx_input(n->model, k);
    return WEFT_OK;
}

void onnx_network_release(onnx_network *n) {
    weft_onnx_model_release(n->model);
    weft_graph_release(n->graph);
    n->model = NULL;
    n->graph = NULL;
    for (size_t i = 0; i < n->input_count; i++) n->inputs[i].tensor = NULL;
}

void onnx_network_clear(onnx_network *n) {
    onnx_network_release(n);
    for (size_t i = 0; i < n->input_count; i++) weft_npy_array_release(&n->inputs[i].array);
    wi_onnx_file_close(&n->file);
    wi_arena_clear(&n->arena);
}
