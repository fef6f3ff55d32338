/* Nodes at a length (contract in length.h). */
#include "graph/length.h"
#include <string.h>

/* ---- who has it ---- */

/* What a caller wrote down as so many times the length and a number: dimensions that large are rarely anything else. */
static bool is_written(int64_t dim) {
    enum { MOST_TIMES = 64, MOST_REST = 1 << 16 };
    int64_t rest;
    const int64_t times = wi_length_times(wi_magnitude(dim), &rest);
    return times >= 1 && times <= MOST_TIMES && rest <= MOST_REST && rest >= -MOST_REST;
}

static int64_t word_of(const wi_attributes *attributes, int word) {
    int64_t value;
    memcpy(&value, (const unsigned char *)attributes + (size_t)word * sizeof value, sizeof value);
    return value;
}

static bool any_written(const wi_op *op, const wi_shape *shape, const wi_attributes *attributes) {
    for (int i = 0; i < shape->rank; i++)
        if (is_written(shape->dims[i])) return true;
    for (int word = 0; op->dimensions >> word; word++)
        if (op->dimensions >> word & 1 && is_written(word_of(attributes, word))) return true;
    return false;
}

/* A number is either far smaller than what stands for the length, or made of it. */
static bool is_told_apart(int64_t dim) {
    return (dim <= WI_LENGTH_ORDINARY && dim >= -WI_LENGTH_ORDINARY) || wi_has_length(dim);
}

static bool check_sizes(
    weft_graph *graph, const wi_op *op, const wi_shape *shape, const wi_attributes *attributes) {
    char text[WI_SHAPE_TEXT];
    bool good = true;
    for (int i = 0; i < shape->rank && good; i++) good = is_told_apart(shape->dims[i]);
    for (int word = 0; op->dimensions >> word && good; word++)
        good = !(op->dimensions >> word & 1) || is_told_apart(word_of(attributes, word));
    if (!good)
        wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "%s: %s has a size that is no multiple of the length and a number, or too large beside it",
            op->name, wi_shape_print(shape, text));
    return good;
}

bool wi_length_of_node(weft_graph *graph, const wi_op *op, weft_tensor *const *inputs, int count,
    const wi_shape *shape, const wi_attributes *attributes, bool *has) {
    const bool begins = op == &wi_op_input || op->kind == WI_GENERATOR;
    *has = op == &wi_op_elements;
    for (int i = 0; i < count && !*has; i++) *has = inputs[i]->has_length;
    if (begins || (op->kind != WI_SOURCE && graph->has_length)) *has |= any_written(op, shape, attributes);
    if (!*has) return true;
    graph->has_length = true;
    if (op->no_length) {
        wi_graph_fail(graph, WEFT_ERROR_UNSUPPORTED, "%s: takes no WEFT_LENGTH: %s", op->name, op->no_length);
        return false;
    }
    return check_sizes(graph, op, shape, attributes);
}

/* ---- giving it ---- */

typedef struct visit {
    weft_tensor *node;
    int next; /* input to be visited next */
} visit;

typedef struct walk {
    weft_graph *graph;
    int64_t length;
    weft_tensor **images; /* by node id; NULL: not made yet */
    size_t count;         /* of ids up to the outputs', which are above those of all that they need */
    visit *stack;
    size_t depth, capacity;
    wi_arena *arena;
    wi_length_inputs *inputs;
    size_t input_capacity;
} walk;

static weft_tensor *image_of(const walk *w, weft_tensor *node) {
    return node->has_length && node->id < w->count ? w->images[node->id] : node;
}

static weft_status push(walk *w, weft_tensor *node) {
    WI_TRY(wi_grow(
        w->graph->context->allocator, (void **)&w->stack, &w->capacity, w->depth + 1, sizeof *w->stack));
    w->stack[w->depth++] = (visit){.node = node};
    return WEFT_OK;
}

static weft_status note_input(walk *w, weft_tensor *given, weft_tensor *made) {
    enum { FIRST = 8 };
    if (!w->inputs || given->op != &wi_op_input) return WEFT_OK;
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
    WI_FAIL(status, "at length %lld, %s of shape %s: %s", (long long)w->length, node->op->name,
        wi_shape_print(&node->shape, text), error);
}

/* The shape and the attributes at the length, checked before anything is made: a length that does not fit is no error of
 * the graph. */
static weft_status settle(const walk *w, const weft_tensor *node, weft_tensor *const *inputs, wi_shape *shape,
    wi_attributes *attributes) {
    *shape = node->shape;
    *attributes = node->attributes;
    for (int i = 0; i < shape->rank; i++) {
        const int64_t size = wi_at_length(shape->dims[i], w->length);
        shape->dims[i] = shape->dims[i] > 0 && size < 0 ? 0 : size;
    }
    for (int word = 0; node->op->dimensions >> word; word++) {
        if (!(node->op->dimensions >> word & 1)) continue;
        const int64_t value = wi_at_length(word_of(attributes, word), w->length);
        memcpy((unsigned char *)attributes + (size_t)word * sizeof value, &value, sizeof value);
    }
    weft_status status = wi_shape_check(shape, node->op->name);
    if (status == WEFT_OK && node->op->fits) status = node->op->fits(node, inputs, shape, attributes);
    return status == WEFT_OK ? status : fail_at(w, node, status);
}

static weft_tensor *make(const weft_tensor *node, weft_tensor *const *inputs, const wi_shape *shape,
    const wi_attributes *attributes) {
    if (node->op == &wi_op_elements)
        return wi_constant_of_count(node->graph, node->dtype, &attributes->count);
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
    if (status == WEFT_OK && !(made = make(node, inputs, &shape, &attributes)))
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

weft_status wi_length_give(weft_graph *graph, weft_tensor **outputs, size_t count, int64_t length,
    wi_arena *arena, wi_length_inputs *inputs) {
    const weft_allocator *const allocator = graph->context->allocator;
    const bool had = graph->has_length;
    walk w = {.graph = graph, .length = length, .arena = arena, .inputs = inputs};
    for (size_t i = 0; i < count; i++)
        if (outputs[i]->id >= w.count) w.count = (size_t)outputs[i]->id + 1;
    w.images = wi_allocate_array(allocator, w.count, sizeof *w.images);
    weft_status status = w.images ? WEFT_OK : WEFT_ERROR_MEMORY;
    graph->has_length = false; /* the nodes that are made have none */
    for (size_t i = 0; i < count && status == WEFT_OK; i++) {
        status = give_from(&w, outputs[i]);
        if (status == WEFT_OK) outputs[i] = image_of(&w, outputs[i]);
    }
    graph->has_length = had;
    wi_release(allocator, w.images);
    wi_release(allocator, w.stack);
    return status;
}
