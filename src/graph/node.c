/* Nodes, which are unique: equal ones are created once (contract in node.h). */
#include "cl/context.h"
#include "graph/sizes.h"
#include "graph/weft_graph.h"
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

/* The node that a constructor asks for. */
typedef struct wanted {
    const wi_op *op;
    weft_tensor *const *inputs;
    int count;
    weft_dtype dtype;
    const wi_shape *shape;
    const wi_attributes *attributes; /* NULL: none */
    wi_size_flags sizes;
} wanted;

static uint32_t hash_of(const wanted *w) {
    uint64_t hash = XXH3_64bits_withSeed(w->attributes, w->op->attribute_bytes, (uint64_t)(uintptr_t)w->op);
    if (w->count > 0) hash = XXH3_64bits_withSeed(w->inputs, (size_t)w->count * sizeof *w->inputs, hash);
    const size_t dims = (size_t)w->shape->rank * sizeof *w->shape->dims;
    hash += (uint64_t)w->dtype * 31 + (uint64_t)w->shape->rank;
    return (uint32_t)XXH3_64bits_withSeed(w->shape->dims, dims, hash);
}

static bool node_is(const weft_tensor *node, const wanted *w) {
    return node->op == w->op && node->dtype == w->dtype && node->input_count == w->count &&
           wi_shape_equal(&node->shape, w->shape) &&
           (w->count == 0 || memcmp(node->inputs, w->inputs, (size_t)w->count * sizeof *w->inputs) == 0) &&
           (!w->attributes || memcmp(node->attributes, w->attributes, w->op->attribute_bytes) == 0);
}

/* Nodes that are created one after another mostly read each other. A node is therefore searched among the readers of its youngest
 * input, which is probably still in the cache. Nodes without inputs, and nodes whose youngest input has many readers, are in a
 * hash table. */
static weft_tensor *youngest_of(const wanted *w) {
    weft_tensor *youngest = NULL;
    for (int i = 0; i < w->count; i++)
        if (!youngest || w->inputs[i]->id > youngest->id) youngest = w->inputs[i];
    return youngest;
}

/* Searches the readers of `youngest` for the wanted node. If none of them is this node, sets *full to whether the list
 * has its largest length, and returns NULL. */
static weft_tensor *find_reader(const weft_tensor *youngest, const wanted *w, bool *full) {
    enum { MOST = 8 };
    int count = 0;
    for (weft_tensor *reader = youngest->readers; reader; reader = reader->next_reader, count++)
        if (node_is(reader, w)) return reader;
    *full = count >= MOST;
    return NULL;
}

/* The slot of the node, or the unused slot for it. w is NULL for a node that is certainly not in the table. */
static wi_known_node *find_slot(wi_known_node *known, size_t capacity, uint32_t hash, const wanted *w) {
    for (size_t at = hash;; at++) {
        wi_known_node *const slot = &known[at & (capacity - 1)];
        if (!slot->node || (w && slot->hash == hash && node_is(slot->node, w))) return slot;
    }
}

static weft_status grow_known(weft_graph *graph) {
    enum { FIRST = 512 };
    if (2 * (graph->known_count + 1) <= graph->known_capacity) return WEFT_OK;
    const size_t capacity = graph->known_capacity ? 2 * graph->known_capacity : FIRST;
    wi_known_node *const known = wi_allocate_array(graph->context->allocator, capacity, sizeof *known);
    if (!known) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < graph->known_capacity; i++) {
        const wi_known_node *const old = &graph->known[i];
        if (old->node) *find_slot(known, capacity, old->hash, NULL) = *old;
    }
    wi_release(graph->context->allocator, graph->known);
    graph->known = known;
    graph->known_capacity = capacity;
    return WEFT_OK;
}

/* False: the node is not valid, and the error is recorded. */
static bool check_node(weft_graph *graph, const wanted *w) {
    if (wi_shape_check(graph, w->shape, w->op->name) != WEFT_OK)
        return wi_graph_fail_recorded(graph, WEFT_ERROR_SHAPE);
    if (w->dtype == WEFT_F64 && !wi_context_device(graph->context)->caps.fp64)
        return wi_graph_fail(graph, WEFT_ERROR_UNSUPPORTED, "%s: f64 needs cl_khr_fp64, which '%s' lacks",
            w->op->name, wi_context_device(graph->context)->info.name);
    return true;
}

static size_t whole_words(size_t bytes) {
    const size_t word = sizeof(int64_t);
    return (bytes + word - 1) / word * word;
}

/* Offsets in bytes in the memory of a node. */
static size_t attributes_at(int inputs) {
    return whole_words(sizeof(weft_tensor) + (size_t)inputs * sizeof(weft_tensor *));
}

static size_t lowered_at(const wi_op *op, int inputs) {
    return attributes_at(inputs) + whole_words(op->attribute_bytes);
}

wi_lowered *wi_lowered_of(weft_tensor *composite) {
    return (wi_lowered *)(void *)((char *)composite + lowered_at(composite->op, composite->input_count));
}

static weft_tensor *make_node(weft_graph *graph, const wanted *w) {
    const bool lowers = w->op->kind == WI_COMPOSITE;
    if (!check_node(graph, w)) return NULL;
    weft_tensor *const node =
        wi_arena_take(&graph->arena, lowered_at(w->op, w->count) + (lowers ? sizeof(wi_lowered) : 0));
    if (!node) return wi_graph_fail_recorded(graph, WEFT_ERROR_MEMORY);
    node->graph = graph;
    node->op = w->op;
    node->id = graph->node_count++;
    node->input_count = w->count;
    node->dtype = w->dtype;
    node->is_symbolic = w->sizes.symbolic & 1;
    node->cuts_batch = w->sizes.cuts_batch & 1;
    node->origin = wi_origin_now(graph) & ((1 << 30) - 1);
    node->shape = *w->shape;
    if (w->count > 0) memcpy(node->inputs, w->inputs, (size_t)w->count * sizeof *w->inputs);
    void *const attributes = (char *)node + attributes_at(w->count);
    if (w->attributes) node->attributes = memcpy(attributes, w->attributes, w->op->attribute_bytes);
    if (!lowers) return node;
    wi_lowered_of(node)->next = graph->composites;
    graph->composites = node;
    return node;
}

/* The node from the table, or a new node that is added to it. */
static weft_tensor *node_of_table(weft_graph *graph, const wanted *w) {
    if (grow_known(graph) != WEFT_OK) return wi_graph_fail_recorded(graph, WEFT_ERROR_MEMORY);
    const uint32_t hash = hash_of(w);
    wi_known_node *const slot = find_slot(graph->known, graph->known_capacity, hash, w);
    if (slot->node) return slot->node;
    weft_tensor *const node = make_node(graph, w);
    if (!node) return NULL;
    *slot = (wi_known_node){hash, node};
    graph->known_count++;
    return node;
}

weft_tensor *wi_node(weft_graph *graph, const wi_op *op, weft_tensor *const *inputs, int count,
    weft_dtype dtype, const wi_shape *shape, const wi_attributes *attributes) {
    if (graph->status != WEFT_OK) return NULL;
    if ((attributes != NULL) != (op->attribute_bytes > 0))
        return wi_graph_fail(graph, WEFT_ERROR_INTERNAL,
            "%s: a node %s attributes, but its op declares the opposite", op->name,
            attributes ? "has" : "lacks");
    wi_shape own_shape = *shape;
    wi_attributes own;
    if (op->dimensions && attributes) memcpy(&own, attributes, op->attribute_bytes);
    wanted w = {op, inputs, count, dtype, &own_shape, op->dimensions && attributes ? &own : attributes, {0}};
    if (!wi_sizes_of_node(graph, op, inputs, count, &own_shape, &own, &w.sizes)) return NULL;
    weft_tensor *const youngest = youngest_of(&w);
    bool full = true;
    weft_tensor *const known = youngest ? find_reader(youngest, &w, &full) : NULL;
    if (known || full) return known ? known : node_of_table(graph, &w);
    weft_tensor *const node = make_node(graph, &w);
    if (!node) return NULL;
    node->next_reader = youngest->readers;
    youngest->readers = node;
    return node;
}

wi_attributes wi_attributes_of(const weft_tensor *node) {
    wi_attributes attributes;
    memset(&attributes, 0, sizeof attributes);
    if (node->attributes) memcpy(&attributes, node->attributes, node->op->attribute_bytes);
    return attributes;
}

weft_tensor *wi_node_over(const weft_tensor *y, weft_tensor *const *inputs, const wi_shape *shape) {
    return wi_node(y->graph, y->op, inputs, y->input_count, y->dtype, shape, y->attributes);
}

/* ---- properties of tensors ---- */

weft_graph *weft_tensor_graph(const weft_tensor *tensor) {
    return tensor ? tensor->graph : NULL;
}
weft_dtype weft_tensor_dtype(const weft_tensor *tensor) {
    return tensor ? tensor->dtype : WEFT_F32;
}
int weft_tensor_rank(const weft_tensor *tensor) {
    return tensor ? tensor->shape.rank : -1;
}
const char *weft_tensor_name(const weft_tensor *tensor) {
    return tensor && tensor->name ? tensor->name : "";
}

/* The name of the node's op in an error message. It is chosen so that the reader recognises the function that created the node ("sum" for
 * weft_sum, "parameter" for weft_parameter_shape), and wi_origin_print need not name this function again. */
static const char *told(const weft_tensor *node) {
    const char *const call = node->origin ? node->graph->origins.of[node->origin - 1].call : NULL;
    const char *const op = node->op->name;
    const bool is_source = node->op->kind == WI_SOURCE;
    return call && is_source && strncmp(call + sizeof "weft_" - 1, op, strlen(op)) == 0 ? call : op;
}

_Static_assert(
    WI_NODE_TEXT >= WI_SHAPE_TEXT + WI_ORIGIN_TEXT + 192, "an op, a name, a shape and an origin fit");

const char *wi_node_print(const weft_tensor *node, char text[WI_NODE_TEXT]) {
    char shape[WI_SHAPE_TEXT], origin[WI_ORIGIN_TEXT];
    const char *const name = weft_tensor_name(node), *const quote = *name ? "'" : "";
    snprintf(text, WI_NODE_TEXT, "%s %s%.128s%s%s%s%s", node->op->name, quote, name, quote, *name ? " " : "",
        wi_shape_print(node->graph, &node->shape, shape),
        wi_origin_print(node->graph, node->origin, told(node), origin));
    return text;
}

int64_t weft_tensor_dimension(const weft_tensor *tensor, int axis) {
    if (!tensor) return 0;
    if (axis < 0) axis += tensor->shape.rank;
    return axis >= 0 && axis < tensor->shape.rank ? tensor->shape.dims[axis] : 0;
}
