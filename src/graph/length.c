/* Nodes at a length (contract in length.h). */
#include "graph/length.h"
#include <string.h>

/* ---- who has it ---- */

const char *wi_length_word(const weft_graph *graph) {
    return graph->length_symbol == WI_BATCH_SYMBOL ? "the batch" : "WEFT_LENGTH";
}

static bool fail_both(weft_graph *graph, const char *op) {
    wi_graph_fail(graph, WEFT_ERROR_UNSUPPORTED,
        "%s: a graph that cuts or lengthens a batch axis takes no WEFT_LENGTH beside it", op);
    return false;
}

bool wi_length_is_batch(weft_graph *graph, const char *op) {
    if (graph->length_symbol == WEFT_LENGTH) return fail_both(graph, op);
    graph->length_symbol = WI_BATCH_SYMBOL;
    return true;
}

int64_t wi_counted(const weft_graph *graph, int64_t dim) {
    const bool counts = dim < 0 && graph->length_symbol == WI_BATCH_SYMBOL;
    return counts && -dim <= INT64_MAX / WI_BATCH_SYMBOL ? -dim * WI_BATCH_SYMBOL : dim;
}

/* What a caller wrote down as so many times the length and a number: dimensions that large are rarely anything else. */
static bool is_written(int64_t dim, int64_t symbol) {
    enum { MOST_TIMES = 64, MOST_REST = 1 << 16 };
    int64_t rest;
    const int64_t times = wi_length_times(wi_magnitude(dim), symbol, &rest);
    return times >= 1 && times <= MOST_TIMES && rest <= MOST_REST && rest >= -MOST_REST;
}

static int64_t word_of(const wi_attributes *attributes, int word) {
    int64_t value;
    memcpy(&value, (const unsigned char *)attributes + (size_t)word * sizeof value, sizeof value);
    return value;
}

static bool any_written(
    const wi_op *op, const wi_shape *shape, const wi_attributes *attributes, int64_t symbol) {
    for (int i = 0; i < shape->rank; i++)
        if (is_written(shape->dims[i], symbol)) return true;
    for (int word = 0; op->dimensions >> word; word++)
        if (op->dimensions >> word & 1 && is_written(word_of(attributes, word), symbol)) return true;
    return false;
}

/* Is an axis a multiple of the batch in an input and none in the result, or the other way round? Where the batch is the length,
 * a plan checks what is cut, also where nothing but a number is left: x[0:3]. */
static bool leaves_batch(
    const wi_op *op, weft_tensor *const *inputs, int count, const wi_shape *shape, int64_t symbol) {
    const bool moves = op->dimensions || op->kind == WI_JOIN;
    for (int i = 0; moves && symbol == WI_BATCH_SYMBOL && i < count; i++)
        for (int axis = 0; axis < shape->rank && inputs[i]->shape.rank == shape->rank; axis++)
            if ((inputs[i]->shape.dims[axis] < 0) != (shape->dims[axis] < 0)) return true;
    return false;
}

/* A number is either far smaller than what stands for the length, or made of it. */
static bool is_told_apart(int64_t dim, int64_t symbol) {
    return (dim <= WI_LENGTH_ORDINARY && dim >= -WI_LENGTH_ORDINARY) || wi_has_length(dim, symbol);
}

static bool check_sizes(
    weft_graph *graph, const wi_op *op, const wi_shape *shape, const wi_attributes *attributes) {
    char text[WI_SHAPE_TEXT];
    bool good = true;
    const int64_t symbol = graph->length_symbol;
    for (int i = 0; i < shape->rank && good; i++) good = is_told_apart(shape->dims[i], symbol);
    for (int word = 0; op->dimensions >> word && good; word++)
        good = !(op->dimensions >> word & 1) || is_told_apart(word_of(attributes, word), symbol);
    if (!good)
        wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "%s: %s has a size that is no multiple of the %s and a number, or too large beside it", op->name,
            wi_shape_print(shape, text), symbol == WI_BATCH_SYMBOL ? "batch" : "length");
    return good;
}

bool wi_length_of_node(weft_graph *graph, const wi_op *op, weft_tensor *const *inputs, int count,
    const wi_shape *shape, const wi_attributes *attributes, bool *has) {
    const bool begins = op == &wi_op_input || op->kind == WI_GENERATOR;
    const int64_t known = graph->length_symbol, symbol = known ? known : WEFT_LENGTH;
    *has = op == &wi_op_elements || leaves_batch(op, inputs, count, shape, symbol);
    for (int i = 0; i < count && !*has; i++) *has = inputs[i]->has_length;
    if (begins || (op->kind != WI_SOURCE && known)) *has |= any_written(op, shape, attributes, symbol);
    if (known == WI_BATCH_SYMBOL && any_written(op, shape, attributes, WEFT_LENGTH))
        return fail_both(graph, op->name);
    if (!*has) return true;
    graph->length_symbol = symbol;
    return check_sizes(graph, op, shape, attributes);
}

/* ---- giving it ---- */

typedef struct visit {
    weft_tensor *node;
    int next; /* input to be visited next */
} visit;

typedef struct walk {
    weft_graph *graph;
    int64_t symbol, length, batch;
    weft_tensor **images; /* by node id; NULL: not made yet */
    size_t count;         /* of ids up to the outputs', which are above those of all that they need */
    visit *stack;
    size_t depth, capacity;
    wi_arena *arena;
    wi_length_inputs *inputs;
    size_t input_capacity;
} walk;

/* Where the batch is the length, any node may follow it. */
static weft_tensor *image_of(const walk *w, weft_tensor *node) {
    const bool follows = node->has_length || w->symbol == WI_BATCH_SYMBOL;
    return follows && node->id < w->count ? w->images[node->id] : node;
}

static weft_status push(walk *w, weft_tensor *node) {
    WI_TRY(wi_grow(
        w->graph->context->allocator, (void **)&w->stack, &w->capacity, w->depth + 1, sizeof *w->stack));
    w->stack[w->depth++] = (visit){.node = node};
    return WEFT_OK;
}

static weft_status note_input(walk *w, weft_tensor *given, weft_tensor *made) {
    enum { FIRST = 8 };
    if (!w->inputs || given == made || given->op != &wi_op_input) return WEFT_OK;
    if (w->inputs->count == w->input_capacity) {
        w->input_capacity = w->input_capacity ? 2 * w->input_capacity : FIRST;
        wi_length_input *const more = wi_arena_take(w->arena, w->input_capacity * sizeof *more);
        if (!more) return WEFT_ERROR_MEMORY;
        if (w->inputs->count) memcpy(more, w->inputs->of, w->inputs->count * sizeof *more);
        w->inputs->of = more;
    }
    w->inputs->of[w->inputs->count++] = (wi_length_input){given, made};
    return WEFT_OK;
}

static weft_status fail_at(const walk *w, const weft_tensor *node, weft_status status) {
    char error[512], text[WI_SHAPE_TEXT];
    wi_error_save(error, sizeof error);
    WI_FAIL(status, "at %s %lld, %s of shape %s: %s", w->symbol == WI_BATCH_SYMBOL ? "batch" : "length",
        (long long)w->length, node->op->name, wi_shape_print(&node->shape, text), error);
}

/* The shape and the attributes at the length, checked before anything is made: a length that does not fit is no error of
 * the graph. */
static weft_status settle(const walk *w, const weft_tensor *node, weft_tensor *const *inputs, wi_shape *shape,
    wi_attributes *attributes) {
    *shape = node->shape;
    *attributes = node->attributes;
    for (int i = 0; i < shape->rank; i++) {
        const int64_t size = wi_at_length(shape->dims[i], w->symbol, w->length);
        shape->dims[i] = shape->dims[i] > 0 && size < 0 ? 0 : size;
    }
    for (int word = 0; node->op->dimensions >> word; word++) {
        if (!(node->op->dimensions >> word & 1)) continue;
        const int64_t value = wi_at_length(word_of(attributes, word), w->symbol, w->length);
        memcpy((unsigned char *)attributes + (size_t)word * sizeof value, &value, sizeof value);
    }
    weft_status status = wi_shape_check(shape, node->op->name);
    if (status == WEFT_OK && node->op->fits) status = node->op->fits(node, inputs, shape, attributes);
    return status == WEFT_OK ? status : fail_at(w, node, status);
}

static bool is_same(const weft_tensor *node, weft_tensor *const *inputs, const wi_shape *shape,
    const wi_attributes *attributes) {
    return node->op != &wi_op_elements && wi_shape_equal(&node->shape, shape) &&
           memcmp(node->inputs, inputs, (size_t)node->input_count * sizeof *inputs) == 0 &&
           memcmp(&node->attributes, attributes, sizeof *attributes) == 0;
}

/* As so many times the batch: such a constant is an argument of kernels, which are the same for any other. */
static weft_tensor *make_count(const walk *w, const weft_tensor *node, const wi_count_attributes *count) {
    const double share = count->count > 0 ? (double)count->count / (double)w->batch : 0;
    const int power = count->batch_power + 1;
    return wi_constant_batch_power(
        node->graph, node->dtype, count->inverse ? 1.0 / share : share, count->inverse ? -power : power);
}

static weft_tensor *make(const walk *w, weft_tensor *node, weft_tensor *const *inputs, const wi_shape *shape,
    const wi_attributes *attributes) {
    if (is_same(node, inputs, shape, attributes)) return node;
    if (node->op == &wi_op_elements) return make_count(w, node, &attributes->count);
    if (node->op->remake) return node->op->remake(node, inputs, shape, attributes);
    weft_tensor *const made = wi_node(node->graph, node->op, inputs, node->input_count, node->dtype, shape,
        node->op->attribute_bytes ? attributes : NULL);
    if (made && !made->name) made->name = node->name;
    return made;
}

static weft_status give_node(walk *w, weft_tensor *node) {
    const weft_allocator *const allocator = w->graph->context->allocator;
    const size_t count = (size_t)node->input_count;
    weft_tensor *few[WI_KERNEL_INPUTS],
        **const inputs = count > WI_KERNEL_INPUTS ? wi_allocate_array(allocator, count, sizeof *inputs) : few;
    if (!inputs) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++) inputs[i] = image_of(w, node->inputs[i]);
    wi_shape shape;
    wi_attributes attributes;
    weft_status status = settle(w, node, inputs, &shape, &attributes);
    weft_tensor *made = NULL;
    if (status == WEFT_OK && !(made = make(w, node, inputs, &shape, &attributes)))
        status = weft_graph_status(w->graph);
    if (inputs != few) wi_release(allocator, inputs);
    WI_TRY(status);
    w->images[node->id] = made;
    return note_input(w, node, made);
}

static weft_status give_from(walk *w, weft_tensor *root) {
    if (!image_of(w, root)) WI_TRY(push(w, root));
    while (w->depth > 0) {
        visit *const top = &w->stack[w->depth - 1];
        if (image_of(w, top->node)) {
            w->depth--;
        } else if (top->next < top->node->input_count) {
            weft_tensor *const input = top->node->inputs[top->next++];
            if (!image_of(w, input)) WI_TRY(push(w, input));
        } else {
            WI_TRY(give_node(w, top->node));
        }
    }
    return WEFT_OK;
}

weft_status wi_length_give(weft_graph *graph, weft_tensor **outputs, size_t count, const wi_given *given,
    wi_arena *arena, wi_length_inputs *inputs) {
    const weft_allocator *const allocator = graph->context->allocator;
    const int64_t symbol = graph->length_symbol;
    walk w = {.graph = graph,
        .symbol = symbol,
        .length = symbol == WI_BATCH_SYMBOL ? given->batch : given->length,
        .batch = given->batch,
        .arena = arena,
        .inputs = inputs};
    for (size_t i = 0; i < count; i++)
        if (outputs[i]->id >= w.count) w.count = (size_t)outputs[i]->id + 1;
    w.images = wi_allocate_array(allocator, w.count, sizeof *w.images);
    weft_status status = w.images ? WEFT_OK : WEFT_ERROR_MEMORY;
    graph->length_symbol = 0; /* the nodes that are made have none */
    for (size_t i = 0; i < count && status == WEFT_OK; i++) {
        status = give_from(&w, outputs[i]);
        if (status == WEFT_OK) outputs[i] = image_of(&w, outputs[i]);
    }
    graph->length_symbol = symbol;
    wi_release(allocator, w.images);
    wi_release(allocator, w.stack);
    return status;
}
