/* See onnx_import.h: the values of a file, and its nodes one after the other. */
#include "graph/dtype.h"
#include "onnx/onnx_scope.h"
#include <stdio.h>
#include <string.h>

wi_onnx_value *wi_onnx_find(const wi_onnx_import *n, const char *name) {
    wi_onnx_value *value;
    HASH_FIND_STR(n->values, name, value);
    return value;
}

/* NULL: no memory. A name that is given again is that of what comes last. */
static wi_onnx_value *add(wi_onnx_import *n, const char *name) {
    wi_onnx_value *value = wi_onnx_find(n, name);
    if (value) return value;
    value = wi_arena_take(&n->arena, sizeof *value);
    if (!value) return NULL;
    *value = (wi_onnx_value){.name = name, .input = -1};
    HASH_ADD_KEYPTR(hh, n->values, value->name, strlen(value->name), value);
    return value;
}

/* ---- initializers ---- */

/* Writes the numbers of a stored tensor, which `user` is. Those of other files stay as small as usual first ones, by a hash of their place. */
static weft_status fill(const weft_initialiser *self, const weft_tensor *variable, float *values) {
    (void)variable;
    const WiOnnx__TensorProto *const stored = self->user;
    wi_arena arena;
    wi_onnx_numbers numbers;
    WI_TRY(wi_onnx_tensor_describe(&numbers, stored));
    if (stored->data_location == 1) {
        for (size_t i = 0; i < numbers.count; i++)
            values[i] = (float)((uint32_t)i * 2654435761u >> 8) * 0x1p-28f - 0x1p-5f;
        return WEFT_OK;
    }
    wi_arena_init(&arena, NULL);
    const weft_status status = wi_onnx_tensor_read(&numbers, &arena, stored);
    for (size_t i = 0; status == WEFT_OK && i < numbers.count; i++) values[i] = (float)numbers.data[i];
    wi_arena_clear(&arena);
    return status;
}

/* Numbers are parameters where there are several floats; single ones and whole ones belong to the network's form. */
static bool is_parameter(const wi_onnx_numbers *shape) {
    return shape->dtype == WEFT_F32 && shape->count > 1;
}

weft_status wi_onnx_add_initializer(wi_onnx_import *n, const WiOnnx__TensorProto *stored) {
    wi_onnx_numbers shape;
    if (!stored->name || !stored->name[0]) WI_FAIL(WEFT_ERROR_FORMAT, "ONNX: an initializer has no name");
    WI_TRY(wi_onnx_tensor_describe(&shape, stored));
    wi_onnx_value *const value = add(n, stored->name);
    wi_onnx_numbers *const numbers = is_parameter(&shape) ? NULL : wi_arena_take(&n->arena, sizeof *numbers);
    if (!value || (!numbers && !is_parameter(&shape))) return WEFT_ERROR_MEMORY;
    value->stored = stored;
    value->numbers = numbers;
    return numbers ? wi_onnx_tensor_read(numbers, &n->arena, stored) : WEFT_OK;
}

static weft_status add_initializers(wi_onnx_import *n, const WiOnnx__GraphProto *graph) {
    for (size_t i = 0; i < graph->n_initializer; i++)
        WI_TRY(wi_onnx_add_initializer(n, graph->initializer[i]));
    return WEFT_OK;
}

weft_tensor *wi_onnx_array(wi_onnx_import *n, const wi_onnx_numbers *numbers) {
    const wi_format *const format = wi_format_of(numbers->dtype);
    void *const data = wi_arena_take(&n->arena, (numbers->count + 1) * format->size);
    for (size_t i = 0; data && i < numbers->count; i++) format->put(data, i, numbers->data[i]);
    return data ? weft_array(n->graph, numbers->dtype, data, numbers->rank, numbers->dims) : NULL;
}

/* A parameter, or a state, of what is stored; or an array of numbers that the host knows. */
static weft_tensor *make(wi_onnx_import *n, wi_onnx_value *value, bool state) {
    wi_onnx_numbers shape;
    if (value->numbers) return wi_onnx_array(n, value->numbers);
    if (wi_onnx_tensor_describe(&shape, value->stored) != WEFT_OK) return NULL;
    const weft_initialiser initialiser = {
        .kind = WEFT_INIT_CUSTOM, .fill = fill, .user = (void *)value->stored};
    return state ? weft_state_shape(n->graph, value->name, WEFT_F32, initialiser, shape.rank, shape.dims)
                 : weft_parameter_shape(n->graph, value->name, initialiser, shape.rank, shape.dims);
}

/* ---- inputs of nodes ---- */

bool wi_onnx_has(wi_onnx_node *node, size_t index) {
    return index < node->n_input && node->input[index][0];
}

static wi_onnx_value *value_of(wi_onnx_import *n, wi_onnx_node *node, size_t index) {
    if (n->status != WEFT_OK) return NULL;
    wi_onnx_value *const value = wi_onnx_has(node, index) ? wi_onnx_find(n, node->input[index]) : NULL;
    if (!value && !wi_onnx_has(node, index))
        wi_onnx_fail(n, node, WEFT_ERROR_FORMAT, "input %zu is missing", index);
    else if (!value)
        wi_onnx_fail(n, node, WEFT_ERROR_FORMAT, "no earlier node computes '%s'", node->input[index]);
    return value;
}

static weft_tensor *get(wi_onnx_import *n, wi_onnx_node *node, size_t index, bool state) {
    wi_onnx_value *const value = value_of(n, node, index);
    if (!value) return NULL;
    if (value->sequence || value->is_absent)
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "input %zu is a sequence or absent", index);
    if (!value->tensor && (value->numbers || value->stored)) value->tensor = make(n, value, state);
    if (!value->tensor) wi_onnx_fail(n, node, WEFT_ERROR_FORMAT, "%s", weft_last_error());
    return value->tensor;
}

weft_tensor *wi_onnx_get(wi_onnx_import *n, wi_onnx_node *node, size_t index) {
    return get(n, node, index, false);
}

weft_tensor *wi_onnx_get_state(wi_onnx_import *n, wi_onnx_node *node, size_t index) {
    return get(n, node, index, true);
}

const wi_onnx_numbers *wi_onnx_known(const wi_onnx_import *n, wi_onnx_node *node, size_t index) {
    const wi_onnx_value *const value = wi_onnx_has(node, index) ? wi_onnx_find(n, node->input[index]) : NULL;
    return value ? value->numbers : NULL;
}

bool wi_onnx_describe(wi_onnx_import *n, wi_onnx_node *node, size_t index, wi_onnx_numbers *description) {
    const wi_onnx_value *const value = value_of(n, node, index);
    *description = (wi_onnx_numbers){0};
    if (!value) return false;
    if (value->numbers) {
        *description = *value->numbers;
    } else if (value->tensor) {
        description->dtype = weft_tensor_dtype(value->tensor);
        description->rank = weft_tensor_rank(value->tensor);
        wi_onnx_dims(value->tensor, description->dims);
    } else if (!value->stored || wi_onnx_tensor_describe(description, value->stored) != WEFT_OK) {
        wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "'%s' is no tensor", value->name);
    }
    return n->status == WEFT_OK;
}

wi_onnx_list wi_onnx_get_list(wi_onnx_import *n, wi_onnx_node *node, size_t index, const char *what) {
    wi_onnx_list list = {0};
    const wi_onnx_numbers *const known = wi_onnx_known(n, node, index);
    const size_t most = sizeof list.of / sizeof *list.of;
    if (n->status != WEFT_OK) return list;
    if (!known || known->count > most) {
        wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "%s must not depend on the network's inputs", what);
        return list;
    }
    for (size_t i = 0; i < known->count; i++) {
        const double number = known->data[i];
        list.of[list.count++] = number >= 0x1p62    ? INT64_MAX
                                : number <= -0x1p62 ? INT64_MIN
                                                    : (int64_t)number;
    }
    return list;
}

double wi_onnx_get_number(wi_onnx_import *n, wi_onnx_node *node, size_t index, double otherwise) {
    if (!wi_onnx_has(node, index)) return otherwise;
    const wi_onnx_numbers *const known = wi_onnx_known(n, node, index);
    if (known && known->count == 1) return known->data[0];
    wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "input %zu must be a constant number in the file", index);
    return otherwise;
}

void wi_onnx_bound(wi_onnx_import *n, wi_onnx_node *node, size_t index, int64_t bound) {
    const wi_onnx_value *const value = wi_onnx_has(node, index) ? wi_onnx_find(n, node->input[index]) : NULL;
    const int input = value ? value->input : -1;
    if (input >= 0 && input < (int)n->input_count) n->inputs[input].bound = bound;
}

/* ---- outputs ---- */

wi_onnx_value *wi_onnx_output_value(wi_onnx_import *n, wi_onnx_node *node, size_t index) {
    if (n->status != WEFT_OK || index >= node->n_output || !node->output[index][0]) return NULL;
    wi_onnx_value *const value = add(n, node->output[index]);
    if (!value) wi_onnx_fail(n, node, WEFT_ERROR_MEMORY, "out of memory");
    return value;
}

void wi_onnx_set(wi_onnx_import *n, wi_onnx_node *node, size_t index, weft_tensor *tensor) {
    wi_onnx_value *const value = wi_onnx_output_value(n, node, index);
    if (value) value->tensor = tensor;
}

void wi_onnx_set_numbers(
    wi_onnx_import *n, wi_onnx_node *node, size_t index, const wi_onnx_numbers *numbers) {
    wi_onnx_value *const value = wi_onnx_output_value(n, node, index);
    if (value) value->numbers = numbers;
}

/* ---- inputs of the network ---- */

static const WiOnnx__ShapeProto *shape_of(const WiOnnx__ValueInfoProto *info) {
    return info->type && info->type->tensor_type ? info->type->tensor_type->shape : NULL;
}

/* The first symbolic dimension of an input is the batch. */
static void find_batch(wi_onnx_import *n, const WiOnnx__GraphProto *graph) {
    for (size_t i = 0; i < graph->n_input && !n->batch_name; i++) {
        const WiOnnx__ShapeProto *const shape = shape_of(graph->input[i]);
        if (wi_onnx_find(n, graph->input[i]->name) || !shape) continue;
        for (size_t d = 0; d < shape->n_dim && !n->batch_name; d++)
            if (!shape->dim[d]->has_dim_value)
                n->batch_name = shape->dim[d]->dim_param ? shape->dim[d]->dim_param : "";
        if (shape->n_dim > 0 && shape->dim[0]->has_dim_value && n->batch_in_file == 0)
            n->batch_in_file = shape->dim[0]->dim_value;
    }
    if (n->batch_name) n->batch_in_file = 0;
    if (n->batch == 0) n->batch = n->batch_in_file > 0 ? n->batch_in_file : WI_ONNX_USUAL_BATCH;
}

/* Numbers in the file, such as shapes, hold its own batch. */
static weft_status check_batch(const wi_onnx_import *n) {
    if (n->batch_name || n->batch_in_file == 0 || n->batch == n->batch_in_file) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_ARGUMENT,
        "ONNX: the file is for a batch of %lld, not %lld: export the network with a dynamic batch axis",
        (long long)n->batch_in_file, (long long)n->batch);
}

static weft_status input_dims(const wi_onnx_import *n, const WiOnnx__ValueInfoProto *info, int64_t *dims) {
    const WiOnnx__ShapeProto *const shape = shape_of(info);
    if (!shape || shape->n_dim > WEFT_MAX_RANK)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED, "ONNX: the input '%s' has no shape", info->name);
    for (size_t d = 0; d < shape->n_dim; d++) {
        const WiOnnx__DimensionProto *const dim = shape->dim[d];
        const char *const name = dim->dim_param ? dim->dim_param : "";
        const bool is_batch = !dim->has_dim_value && n->batch_name && strcmp(name, n->batch_name) == 0;
        dims[d] = is_batch ? n->batch : dim->dim_value;
        if (!is_batch && !dim->has_dim_value)
            WI_FAIL(WEFT_ERROR_UNSUPPORTED,
                "ONNX: dimension %zu of the input '%s' ('%s') has no fixed size, and '%s' is already the "
                "batch: export the network with a fixed size for it",
                d, info->name, name, n->batch_name);
    }
    return WEFT_OK;
}

/* Images are stored channels-last, as ops of images have them. */
static weft_tensor *new_input(
    weft_graph *graph, const char *name, weft_dtype dtype, int rank, const int64_t *dims) {
    if (rank != 4 || dtype != WEFT_F32) return weft_input_shape(graph, name, dtype, rank, dims);
    return weft_input_shape(graph, name, dtype, rank, (const int64_t[]){dims[0], dims[2], dims[3], dims[1]});
}

static weft_status add_input(
    wi_onnx_import *n, const WiOnnx__ValueInfoProto *info, const wi_onnx_numbers *known) {
    int64_t dims[WEFT_MAX_RANK];
    weft_dtype dtype;
    wi_onnx_value *const value = add(n, info->name);
    if (!value) return WEFT_ERROR_MEMORY;
    value->numbers = known;
    if (known) return WEFT_OK;
    WI_TRY(input_dims(n, info, dims));
    WI_TRY(wi_onnx_dtype(&dtype, info->type->tensor_type->elem_type, info->name));
    if (n->input_count == WI_ONNX_MOST_INPUTS)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED, "ONNX: there are more than %d inputs", WI_ONNX_MOST_INPUTS);
    const int rank = (int)shape_of(info)->n_dim;
    wi_onnx_input *const input = &n->inputs[n->input_count];
    *input = (wi_onnx_input){new_input(n->graph, info->name, dtype, rank, dims), 1, 2};
    for (int d = 0; d < rank; d++) input->count *= (size_t)dims[d];
    value->input = (int)n->input_count++;
    value->tensor = rank == 4 && dtype == WEFT_F32 ? weft_channels_first(input->tensor) : input->tensor;
    return weft_graph_status(n->graph);
}

static weft_status add_inputs(
    wi_onnx_import *n, const WiOnnx__GraphProto *graph, const wi_onnx_numbers *const *known) {
    WI_TRY(add_initializers(n, graph));
    find_batch(n, graph);
    WI_TRY(check_batch(n));
    for (size_t i = 0, k = 0; i < graph->n_input; i++) {
        const char *const name = graph->input[i]->name;
        if (!name || !name[0]) WI_FAIL(WEFT_ERROR_FORMAT, "ONNX: an input has no name");
        if (wi_onnx_find(n, name)) continue; /* an initializer; older files list these, too */
        WI_TRY(add_input(n, graph->input[i], known ? known[k++] : NULL));
    }
    return WEFT_OK;
}

/* ---- nodes ---- */

/* NULL: the list has no such op. */
static const wi_onnx_op *find_op(const wi_onnx_op *list, const char *name) {
    for (const wi_onnx_op *op = list; op->name; op++)
        if (strcmp(op->name, name) == 0) return op;
    return NULL;
}

const wi_onnx_op *wi_onnx_op_of(wi_onnx_node *node) {
    static const wi_onnx_op *const standard[] = {wi_onnx_elementwise_ops, wi_onnx_image_ops,
        wi_onnx_layer_ops, wi_onnx_movement_ops, wi_onnx_recurrent_ops, wi_onnx_host_ops, wi_onnx_control_ops,
        wi_onnx_sequence_ops};
    const char *const domain = node->domain ? node->domain : "";
    const wi_onnx_op *op = NULL;
    if (!node->op_type) return NULL;
    if (strcmp(domain, "com.microsoft") == 0) return find_op(wi_onnx_microsoft_ops, node->op_type);
    if (domain[0] && strcmp(domain, "ai.onnx") != 0) return NULL;
    for (size_t i = 0; !op && i < sizeof standard / sizeof *standard; i++)
        op = find_op(standard[i], node->op_type);
    return op;
}

static weft_tensor *build(wi_onnx_import *n, wi_onnx_node *node, const wi_onnx_op *op) {
    if (op->build) return op->build(n, node);
    return op->reduce ? wi_onnx_build_reduction(n, node, op) : wi_onnx_build_elementwise(n, node, op);
}

weft_status wi_onnx_build_node(wi_onnx_import *n, wi_onnx_node *node) {
    const wi_onnx_op *const op = wi_onnx_op_of(node);
    if (!op) {
        wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "this op is not supported");
        return n->status;
    }
    if (wi_onnx_fold(n, node) || wi_onnx_pass_sequence(n, node)) return n->status;
    weft_tensor *const result = build(n, node, op);
    const weft_status status = weft_graph_status(n->graph);
    if (n->status == WEFT_OK && status != WEFT_OK) wi_onnx_fail(n, node, status, "%s", weft_last_error());
    if (result) wi_onnx_set(n, node, 0, result);
    return n->status;
}

/* Floats that nodes compute. */
static weft_status take_outputs(wi_onnx_import *n, const WiOnnx__GraphProto *graph) {
    for (size_t i = 0; i < graph->n_output && n->output_count < WI_ONNX_MOST_OUTPUTS; i++) {
        const char *const name = graph->output[i]->name;
        wi_onnx_value *const value = name ? wi_onnx_find(n, name) : NULL;
        if (value && (value->sequence || value->is_absent))
            WI_FAIL(WEFT_ERROR_UNSUPPORTED,
                "ONNX: the output '%s' is a sequence or absent, which is not supported", name);
        if (value && !value->tensor && value->numbers && value->numbers->count > 0)
            value->tensor = wi_onnx_array(n, value->numbers);
        if (!value) WI_FAIL(WEFT_ERROR_FORMAT, "ONNX: no node computes the output '%s'", name ? name : "");
        if (value->tensor) n->outputs[n->output_count++] = value->tensor;
    }
    if (n->output_count > 0) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_UNSUPPORTED, "ONNX: no output of the network depends on its inputs");
}

weft_status wi_onnx_import_build(wi_onnx_import *network, weft_graph *graph, const WiOnnx__ModelProto *model,
    int64_t batch, const wi_onnx_numbers *const *known) {
    wi_onnx_nodes nodes = {0};
    *network = (wi_onnx_import){.graph = graph, .model = model, .batch = batch};
    wi_arena_init(&network->arena, NULL);
    for (size_t i = 0; i < model->n_opset_import; i++)
        if (!model->opset_import[i]->domain || !model->opset_import[i]->domain[0])
            network->version = (int)model->opset_import[i]->version;
    WI_TRY(add_inputs(network, model->graph, known));
    WI_TRY(wi_onnx_inline(network, model->graph->node, model->graph->n_node, &nodes));
    for (size_t i = 0; i < nodes.count; i++) WI_TRY(wi_onnx_build_node(network, nodes.of[i]));
    return take_outputs(network, model->graph);
}

void wi_onnx_import_clear(wi_onnx_import *network) {
    HASH_CLEAR(hh, network->values);
    wi_arena_clear(&network->arena);
    *network = (wi_onnx_import){0};
}

weft_status wi_onnx_import_batch(int64_t *batch, const WiOnnx__ModelProto *model) {
    wi_onnx_import network = {.model = model};
    wi_arena_init(&network.arena, NULL);
    const weft_status status = add_initializers(&network, model->graph);
    if (status == WEFT_OK) find_batch(&network, model->graph);
    *batch = network.batch;
    wi_onnx_import_clear(&network);
    return status;
}
