/* Sources (inputs, parameters, states), and generators that belong to no family of ops: constants and coordinates. */
#include "cl/buffer.h"
#include "cl/context.h"
#include "graph/initial.h"
#include "graph/scope.h"
#include "graph/sizes.h"
#include "graph/variable_names.h"
#include <math.h>
#include <string.h>

const wi_op wi_op_input = {
    .name = "input", .kind = WI_SOURCE, .attribute_bytes = sizeof(wi_source_attributes)};
const wi_op wi_op_parameter = {
    .name = "parameter", .kind = WI_SOURCE, .attribute_bytes = sizeof(wi_source_attributes)};
const wi_op wi_op_state = {
    .name = "state", .kind = WI_SOURCE, .attribute_bytes = sizeof(wi_source_attributes)};
const wi_op wi_op_flat = {
    .name = "flat parameters", .kind = WI_SOURCE, .attribute_bytes = sizeof(wi_flat_attributes)};
const wi_op wi_op_constant = {
    .name = "constant", .kind = WI_GENERATOR, .attribute_bytes = sizeof(wi_constant_attributes)};
/* A count that has the length. At a plan's length it is a constant. */
const wi_op wi_op_elements = {.name = "count",
    .kind = WI_GENERATOR,
    .attribute_bytes = sizeof(wi_count_attributes),
    .dimensions = WI_DIMENSION(wi_count_attributes, count)};
const wi_op wi_op_coordinate = {
    .name = "coordinate", .kind = WI_GENERATOR, .attribute_bytes = sizeof(wi_along_attributes)};

static bool read_dims(wi_shape *shape, int rank, const int64_t *dims) {
    if (rank < 0 || rank > WEFT_MAX_RANK || (rank > 0 && !dims)) return false;
    *shape = (wi_shape){.rank = rank};
    if (rank > 0) memcpy(shape->dims, dims, (size_t)rank * sizeof *dims);
    return true;
}

static bool read_ended(wi_shape *shape, const int64_t *dims) {
    int rank = 0;
    while (rank < WEFT_MAX_RANK && dims[rank] != WEFT_END) rank++;
    return read_dims(shape, rank, dims);
}

static bool has_batch(const wi_shape *shape) {
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dims[i] < 0) return true;
    }
    return false;
}

weft_tensor *wi_name_node(weft_tensor *node, const char *name) {
    if (!node || !name) return node;
    node->name = wi_arena_string(&node->graph->arena, name);
    return node->name ? node : wi_graph_fail_recorded(node->graph, WEFT_ERROR_MEMORY);
}

/* ---- inputs ---- */

weft_tensor *weft_input_shape(
    weft_graph *graph, const char *name, weft_dtype dtype, int rank, const int64_t *dims) {
    wi_shape shape;
    if (!graph) return NULL;
    if (!name) return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT, "input: name is NULL");
    if (!wi_dtype_valid(dtype))
        return wi_graph_fail(graph, WEFT_ERROR_DTYPE, "input '%s': %d is not a dtype", name, (int)dtype);
    if (!read_dims(&shape, rank, dims))
        return wi_graph_fail(
            graph, WEFT_ERROR_SHAPE, "input '%s': rank %d is not in 0..%d", name, rank, WEFT_MAX_RANK);
    const wi_attributes attributes = {.source = {.number = graph->node_count}};
    return wi_name_node(wi_node(graph, &wi_op_input, NULL, 0, dtype, &shape, &attributes), name);
}

static weft_tensor *build_input_dims(weft_graph *graph, const char *name, weft_dtype dtype, int64_t d0,
    int64_t d1, int64_t d2, int64_t d3, int64_t d4, int64_t d5, int64_t d6) {
    const int64_t dims[] = {WEFT_BATCH, d0, d1, d2, d3, d4, d5, d6};
    wi_shape shape;
    (void)read_ended(&shape, dims);
    return weft_input_shape(graph, name, dtype, shape.rank, shape.dims);
}

weft_tensor *weft_input_dims(weft_graph *graph, const char *name, weft_dtype dtype, int64_t d0, int64_t d1,
    int64_t d2, int64_t d3, int64_t d4, int64_t d5, int64_t d6) {
    return WI_CALL_IN(graph, "weft_input", build_input_dims(graph, name, dtype, d0, d1, d2, d3, d4, d5, d6));
}

static bool is_input_named(const weft_tensor *node, const char *name) {
    return node->op == &wi_op_input && strcmp(weft_tensor_name(node), name) == 0;
}

weft_tensor *weft_graph_find_input(const weft_graph *graph, const char *name) {
    weft_tensor *first = NULL;
    for (size_t i = 0; graph && name && i < graph->known_capacity; i++) {
        weft_tensor *const node = graph->known[i].node;
        if (node && is_input_named(node, name) && (!first || node->id < first->id)) first = node;
    }
    return first;
}

/* ---- variables ---- */

static wi_variable *add_variable(
    weft_graph *graph, weft_tensor *tensor, size_t block, size_t offset, size_t bytes, bool trainable) {
    const weft_allocator *const allocator = graph->context->allocator;
    wi_variable_list *const list = &graph->kinds[trainable];
    wi_variable *variable = wi_arena_take(&graph->arena, sizeof *variable);
    if (!variable) return NULL;
    if (wi_grow(allocator, (void **)&graph->variables, &graph->variable_capacity, graph->variable_count + 1,
            sizeof *graph->variables) != WEFT_OK ||
        wi_grow(allocator, (void **)&list->of, &list->capacity, list->count + 1, sizeof(wi_variable *)) !=
            WEFT_OK)
        return NULL;
    *variable = (wi_variable){.tensor = tensor,
        .number = list->count,
        .block = block,
        .offset = offset,
        .bytes = bytes,
        .trainable = trainable};
    graph->variables[graph->variable_count++] = list->of[list->count++] = variable;
    tensor->variable = variable;
    return variable;
}

/* The bytes of a piece of a variable that is larger than a buffer: a number of whole rows that is also a number of whole rows of
 * flat parameters. 0: the variable is not divided, because it fits into a buffer, or because a single row does not. */
static size_t piece_of(const weft_graph *graph, const wi_shape *shape, size_t bytes) {
    const size_t most = wi_buffer_largest(wi_context_device(graph->context));
    int axis = 0;
    while (axis < shape->rank && shape->dims[axis] == 1) axis++;
    if (bytes <= most || axis == shape->rank) return 0;
    size_t unit = bytes / (size_t)shape->dims[axis];
    while (unit % WI_FLAT_ROW_BYTES) unit *= 2; /* at most six times: the least common multiple */
    return most / unit * unit;
}

/* Reserves memory for a parameter in the current block, if that is not on the device yet and does not become too large for a
 * buffer; otherwise in a new block. Each parameter begins a row of 64 bytes, a cache line. A parameter in pieces has blocks of its
 * own. */
static weft_status reserve_parameter(
    weft_graph *graph, size_t bytes, size_t piece, size_t *block, size_t *offset) {
    const wi_block *const last = &graph->blocks[graph->parameter_block];
    const size_t row = WI_FLAT_ROW_BYTES, whole = (bytes + row - 1) / row * row;
    const size_t most = wi_buffer_largest(wi_context_device(graph->context));
    if (piece) {
        *offset = 0;
        WI_TRY(wi_graph_add_block(graph, whole, piece, block));
        return wi_graph_add_block(graph, 0, 0, &graph->parameter_block);
    }
    if (last->buffer.memory || (last->bytes > 0 && (whole > most || last->bytes > most - whole)))
        WI_TRY(wi_graph_add_block(graph, 0, 0, &graph->parameter_block));
    *block = graph->parameter_block;
    *offset = graph->blocks[*block].bytes;
    graph->blocks[*block].bytes += whole;
    return WEFT_OK;
}

static size_t bytes_of(weft_graph *graph, const wi_shape *shape, weft_dtype dtype) {
    int64_t count;
    int power;
    wi_shape_count(graph, shape, &count, &power);
    return (size_t)count * weft_dtype_size(dtype);
}

/* More bytes than this many buffers have are a mistake in a size: no machine holds them, and each piece takes a record. */
enum { MOST_PIECES = 1 << 16 };

/* The tensor of a new variable with reserved memory. Parameters share blocks; each state has its own. */
static weft_tensor *make_variable(weft_graph *graph, const wi_op *op, const char *name, weft_dtype dtype,
    const wi_shape *shape, size_t piece) {
    char text[WI_SHAPE_TEXT];
    const bool trainable = op == &wi_op_parameter;
    if (has_batch(shape))
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE, "%s '%s': its shape cannot depend on the batch size",
            op->name, name ? name : "");
    bool symbolic = false;
    for (int i = 0; i < shape->rank; i++) symbolic = symbolic || wi_is_symbolic(shape->dims[i]);
    if (symbolic)
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "%s '%s': its shape %s cannot depend on a size that plans choose; give it the largest size that "
            "occurs and use a weft_slice of it",
            op->name, name ? name : "", wi_shape_print(graph, shape, text));
    const size_t bytes = bytes_of(graph, shape, dtype);
    if (piece && bytes / piece >= MOST_PIECES)
        return wi_graph_fail(graph, WEFT_ERROR_MEMORY,
            "%s '%s': its shape %s takes %zu bytes, more than %d buffers of the device have", op->name,
            name ? name : "", wi_shape_print(graph, shape, text), bytes, MOST_PIECES);
    const wi_attributes attributes = {.source = {.number = graph->node_count}};
    weft_tensor *tensor = wi_node(graph, op, NULL, 0, dtype, shape, &attributes);
    if (!tensor) return NULL;
    size_t block = 0, offset = 0;
    if ((trainable ? reserve_parameter(graph, bytes, piece, &block, &offset)
                   : wi_graph_add_block(graph, bytes, piece, &block)) != WEFT_OK)
        return wi_graph_fail_recorded(graph, WEFT_ERROR_MEMORY);
    wi_variable *variable = add_variable(graph, tensor, block, offset, bytes, trainable);
    if (!variable) return wi_graph_fail_recorded(graph, WEFT_ERROR_MEMORY);
    variable->stream = (uint32_t)graph->variable_count;
    tensor = wi_name_node(tensor, name);
    if (tensor && tensor->name && wi_variable_names_add(graph, tensor) != WEFT_OK)
        return wi_graph_fail_recorded(graph, WEFT_ERROR_MEMORY);
    return tensor;
}

/* Checks the initialiser. A custom one writes its values immediately, so that its error is an error of this call. */
static weft_tensor *set_initialiser(weft_tensor *tensor, weft_initialiser initialiser) {
    if (!tensor) return NULL;
    tensor->variable->initialiser = initialiser;
    const weft_status status = wi_initialise(tensor->variable);
    return status == WEFT_OK ? tensor : wi_graph_fail_recorded(tensor->graph, status);
}

/* The name with the prefix of the scopes, or an empty name. */
static const char *full_name(weft_graph *graph, const char *name) {
    const char *const prefix = wi_scope_prefix(graph);
    if (!*prefix || !*name) return name;
    const size_t length = strlen(prefix) + strlen(name) + 1;
    char *const full = wi_arena_take(&graph->arena, length);
    if (!full) return wi_graph_fail_recorded(graph, WEFT_ERROR_MEMORY), NULL;
    memcpy(full, prefix, strlen(prefix));
    memcpy(full + strlen(prefix), name, strlen(name) + 1);
    return full;
}

/* The existing variable of this name if the scope shares names, or a new one. */
static weft_tensor *find_or_make(weft_graph *graph, const wi_op *op, const char *name, weft_dtype dtype,
    weft_initialiser initialiser, const wi_shape *shape) {
    const bool trainable = op == &wi_op_parameter;
    const char *const full = full_name(graph, name);
    if (!full) return NULL;
    if (wi_name_is_reserved(full))
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "%s '%.100s': names that begin with \"" WI_RESERVED_PREFIX
            "\" are reserved for the entries of checkpoints; use another name",
            op->name, full);
    weft_tensor *const known = wi_scope_find(graph, full, trainable, dtype, shape);
    if (known || graph->status != WEFT_OK) return graph->status == WEFT_OK ? known : NULL;
    const size_t piece = has_batch(shape) ? 0 : piece_of(graph, shape, bytes_of(graph, shape, dtype));
    return set_initialiser(make_variable(graph, op, full, dtype, shape, piece), initialiser);
}

weft_tensor *weft_parameter_shape(
    weft_graph *graph, const char *name, weft_initialiser initialiser, int rank, const int64_t *dims) {
    return WI_CALL_IN(
        graph, "weft_parameter_shape", weft_parameter_dtype(graph, name, WEFT_F32, initialiser, rank, dims));
}

static weft_tensor *build_parameter_dtype(weft_graph *graph, const char *name, weft_dtype dtype,
    weft_initialiser initialiser, int rank, const int64_t *dims) {
    wi_shape shape;
    if (!graph) return NULL;
    if (!name || !wi_initialiser_known(initialiser.kind))
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "parameter: name is NULL, or the initialiser does not come from a weft_init function");
    if (!read_dims(&shape, rank, dims))
        return wi_graph_fail(
            graph, WEFT_ERROR_SHAPE, "parameter '%s': rank %d is not in 0..%d", name, rank, WEFT_MAX_RANK);
    if (!wi_dtype_valid(dtype) || !wi_dtype_is_float(dtype))
        return wi_graph_fail(graph, WEFT_ERROR_DTYPE, "parameter '%s': takes %s, not %s", name,
            wi_dtypes_text(WI_TAKES_FLOATS), weft_dtype_name(dtype));
    return find_or_make(graph, &wi_op_parameter, name, dtype, initialiser, &shape);
}

weft_tensor *weft_parameter_dtype(weft_graph *graph, const char *name, weft_dtype dtype,
    weft_initialiser initialiser, int rank, const int64_t *dims) {
    return WI_CALL_IN(
        graph, "weft_parameter_dtype", build_parameter_dtype(graph, name, dtype, initialiser, rank, dims));
}

static weft_tensor *build_parameter_dims(weft_graph *graph, const char *name, weft_initialiser initialiser,
    int64_t d0, int64_t d1, int64_t d2, int64_t d3, int64_t d4, int64_t d5, int64_t d6, int64_t d7) {
    const int64_t dims[] = {d0, d1, d2, d3, d4, d5, d6, d7};
    wi_shape shape;
    (void)read_ended(&shape, dims);
    return weft_parameter_shape(graph, name, initialiser, shape.rank, shape.dims);
}

weft_tensor *weft_parameter_dims(weft_graph *graph, const char *name, weft_initialiser initialiser,
    int64_t d0, int64_t d1, int64_t d2, int64_t d3, int64_t d4, int64_t d5, int64_t d6, int64_t d7) {
    return WI_CALL_IN(graph, "weft_parameter",
        build_parameter_dims(graph, name, initialiser, d0, d1, d2, d3, d4, d5, d6, d7));
}

static weft_tensor *build_state_shape(weft_graph *graph, const char *name, weft_dtype dtype,
    weft_initialiser initialiser, int rank, const int64_t *dims) {
    wi_shape shape;
    if (!graph) return NULL;
    if (!name || !wi_initialiser_known(initialiser.kind))
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "state: name is NULL, or the initialiser does not come from a weft_init function");
    const bool whole = dtype == WEFT_I32 && initialiser.kind == WEFT_INIT_CONSTANT;
    if (!whole && (!wi_dtype_valid(dtype) || !wi_dtype_is_float(dtype)))
        return wi_graph_fail(graph, WEFT_ERROR_DTYPE, "state '%s': takes %s, or i32 with a constant, not %s",
            name, wi_dtypes_text(WI_TAKES_FLOATS), weft_dtype_name(dtype));
    if (!read_dims(&shape, rank, dims))
        return wi_graph_fail(
            graph, WEFT_ERROR_SHAPE, "state '%s': rank %d is not in 0..%d", name, rank, WEFT_MAX_RANK);
    return find_or_make(graph, &wi_op_state, name, dtype, initialiser, &shape);
}

weft_tensor *weft_state_shape(weft_graph *graph, const char *name, weft_dtype dtype,
    weft_initialiser initialiser, int rank, const int64_t *dims) {
    return WI_CALL_IN(
        graph, "weft_state_shape", build_state_shape(graph, name, dtype, initialiser, rank, dims));
}

static weft_tensor *build_transient_state(weft_graph *graph, const char *name, weft_dtype dtype,
    weft_initialiser initialiser, int rank, const int64_t *dims) {
    weft_tensor *const state = weft_state_shape(graph, name, dtype, initialiser, rank, dims);
    if (state) state->variable->transient = true;
    return state;
}

weft_tensor *weft_transient_state(weft_graph *graph, const char *name, weft_dtype dtype,
    weft_initialiser initialiser, int rank, const int64_t *dims) {
    return WI_CALL_IN(
        graph, "weft_transient_state", build_transient_state(graph, name, dtype, initialiser, rank, dims));
}

weft_tensor *wi_covering_state(weft_graph *graph, size_t block, int64_t rows, float first) {
    const wi_block *const covered = &graph->blocks[block];
    const wi_shape shape = {.rank = 2, .dims = {rows, WI_FLAT_ROW}};
    const size_t piece = covered->pieces > 1 ? covered->bytes : 0;
    return set_initialiser(make_variable(graph, &wi_op_state, "", WEFT_F32, &shape, piece),
        (weft_initialiser){.kind = WEFT_INIT_CONSTANT, .a = first});
}

static weft_tensor *build_array(
    weft_graph *graph, weft_dtype dtype, const void *data, int rank, const int64_t *dims) {
    wi_shape shape;
    if (!graph) return NULL;
    if (!data) return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT, "array: data is NULL");
    if (!wi_dtype_valid(dtype))
        return wi_graph_fail(graph, WEFT_ERROR_DTYPE, "array: %d is not a dtype", (int)dtype);
    if (!read_dims(&shape, rank, dims))
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE, "array: rank %d is not in 0..%d", rank, WEFT_MAX_RANK);
    const size_t piece = has_batch(&shape) ? 0 : piece_of(graph, &shape, bytes_of(graph, &shape, dtype));
    weft_tensor *tensor = make_variable(graph, &wi_op_state, NULL, dtype, &shape, piece);
    if (!tensor) return NULL;
    wi_variable *variable = tensor->variable;
    variable->data = wi_allocate(graph->context->allocator, variable->bytes);
    if (!variable->data) return wi_graph_fail_recorded(graph, WEFT_ERROR_MEMORY);
    memcpy(variable->data, data, variable->bytes);
    return tensor;
}

weft_tensor *weft_array(
    weft_graph *graph, weft_dtype dtype, const void *data, int rank, const int64_t *dims) {
    return WI_CALL_IN(graph, "weft_array", build_array(graph, dtype, data, rank, dims));
}

/* ---- constants ---- */

weft_tensor *wi_constant_batch_power(weft_graph *graph, weft_dtype dtype, double value, int power) {
    const wi_shape shape = {.rank = 0};
    if (wi_dtype_rounds(dtype) && power == 0) value = wi_dtype_nearest(dtype, value);
    const wi_attributes attributes = {.constant = {.value = value, .batch_power = power}};
    return wi_node(graph, &wi_op_constant, NULL, 0, dtype, &shape, &attributes);
}

static weft_tensor *constant_of_count(weft_graph *graph, weft_dtype dtype, const wi_count_attributes *count) {
    const double number = count->count > 0 ? (double)count->count : 0;
    return wi_constant_batch_power(graph, dtype, count->inverse ? 1.0 / number : number,
        count->inverse ? -count->batch_power : count->batch_power);
}

static weft_tensor *count_of(weft_graph *graph, weft_dtype dtype, const wi_count_attributes *count) {
    const wi_shape shape = {.rank = 0};
    if (!wi_is_symbolic(count->count)) return constant_of_count(graph, dtype, count);
    return wi_node(graph, &wi_op_elements, NULL, 0, dtype, &shape, &(wi_attributes){.count = *count});
}

weft_tensor *wi_constant_count(weft_graph *graph, weft_dtype dtype, int64_t count, int power) {
    return count_of(graph, dtype, &(wi_count_attributes){count, power, false});
}

weft_tensor *wi_constant_share(weft_graph *graph, weft_dtype dtype, int64_t count, int power) {
    return count_of(graph, dtype, &(wi_count_attributes){count, power, true});
}

weft_tensor *weft_constant(weft_graph *graph, weft_dtype dtype, double value) {
    if (!graph) return NULL;
    if (!wi_dtype_valid(dtype) || (!wi_dtype_computes(dtype) && dtype != WEFT_BOOL))
        return wi_graph_fail(graph, WEFT_ERROR_DTYPE, "constant: takes %s, or bool, not %s",
            wi_dtypes_text(WI_TAKES_FLOATS | WI_TAKES_INTEGERS), weft_dtype_name(dtype));
    return wi_takes_number(graph, "constant", value) ? wi_constant_batch_power(graph, dtype, value, 0) : NULL;
}

weft_tensor *weft_number(weft_tensor *x, double value) {
    return WI_CALL(x, "weft_number", x ? weft_constant(x->graph, x->dtype, value) : NULL);
}

bool wi_is_constant(const weft_tensor *x, double *value, int *power) {
    while (x->op->kind == WI_VIEW) x = x->inputs[0];
    if (x->op != &wi_op_constant) return false;
    *value = x->attributes->constant.value;
    *power = x->attributes->constant.batch_power;
    return true;
}

weft_tensor *wi_coordinate(weft_graph *graph, const wi_shape *shape, int axis) {
    const wi_attributes attributes = {.along = {.axis = axis}};
    return wi_node(graph, &wi_op_coordinate, NULL, 0, WEFT_I32, shape, &attributes);
}

/* ---- the parameters of a block as one tensor ---- */

/* The number of rows that the block has now. Further parameters add rows until the block is on the device. */
static int64_t flat_rows(const weft_graph *graph, size_t block) {
    return (int64_t)(wi_graph_block_bytes(graph, block) / WI_FLAT_ROW_BYTES);
}

int64_t wi_first_row(const weft_tensor *parameter) {
    return (int64_t)(parameter->variable->offset / WI_FLAT_ROW_BYTES);
}

int64_t wi_row_count(const weft_tensor *parameter) {
    return (int64_t)((parameter->variable->bytes + WI_FLAT_ROW_BYTES - 1) / WI_FLAT_ROW_BYTES);
}

weft_tensor *wi_flat_parameters(weft_graph *graph, size_t block) {
    const wi_shape shape = {.rank = 2, .dims = {flat_rows(graph, block), WI_FLAT_ROW}};
    const wi_attributes attributes = {.flat = {.block = (uint32_t)block}};
    return wi_node(graph, &wi_op_flat, NULL, 0, WEFT_F32, &shape, &attributes);
}
