/* Decides which constants of a file are weights, which training updates.
 *
 * A file does not say which constants are trained; weights, masks and tables of positions are all constants. A float
 * constant is a weight if it is, directly or after operators that only change shape or order,
 *   - an input that the operator's row calls a weight (wi_onnx_op.weights), if another input of the node depends on the
 *     network's inputs: products, convolutions, norms, recurrent layers, tables of embeddings;
 *   - a factor or summand of a value that is computed by such an operator, or with a ReduceMean (a norm by parts), if the constant is
 *     a vector, that is if it has one dimension above 1: biases, and scales of channels. Before the first of these operators, vectors are not
 *     weights, but the means that are subtracted from images, or the frequencies of encoded times and positions.
 * A single number is never a weight, nor is a vector of zeros and ones, which is a mask. */
#include "base/pattern.h"
#include "onnx/onnx_node.h"
#include <string.h>

/* Operators that only reorder, join or convert, and the bits of the inputs that they do so with. */
static const struct {
    const char *name;
    uint32_t inputs;
} passing[] = {{"Identity", 1}, {"Transpose", 1}, {"Reshape", 1}, {"Flatten", 1}, {"Squeeze", 1},
    {"Unsqueeze", 1}, {"Cast", 1}, {"Concat", UINT32_MAX}, {"Slice", 1}, {"Split", 1},
    {"DequantizeLinear", 1}};

static bool is_named(wi_onnx_node *node, const char *name) {
    return node->op_type && strcmp(node->op_type, name) == 0 && (!node->domain || !node->domain[0]);
}

static bool takes_vectors(wi_onnx_node *node) {
    return is_named(node, "Add") || is_named(node, "Sub") || is_named(node, "Mul") || is_named(node, "Div");
}

/* How many dimensions are above 1; 0 also where it is not a float constant. */
static int wide_dims(const wi_onnx_value *value) {
    wi_onnx_numbers shape;
    int wide = 0;
    if (!value->stored || wi_onnx_tensor_describe(&shape, value->stored) != WEFT_OK ||
        shape.dtype != WEFT_F32 || shape.count == 0)
        return 0;
    for (int d = 0; d < shape.rank; d++) wide += shape.dims[d] > 1;
    return wide;
}

/* Which numbers a vector of floats has. */
enum { HAS_ZEROS = 1, HAS_ONES = 2, HAS_OTHERS = 4 };

static unsigned contents_of(wi_onnx_import *n, const wi_onnx_value *value) {
    wi_onnx_numbers vector;
    unsigned has = 0;
    if (!value || wide_dims(value) > 1 || !value->stored ||
        wi_onnx_tensor_read(&vector, &n->arena, value->stored) != WEFT_OK)
        return HAS_OTHERS;
    for (size_t i = 0; i < vector.count; i++)
        has |= vector.data[i] == 0 ? HAS_ZEROS : vector.data[i] == 1 ? HAS_ONES : HAS_OTHERS;
    return has;
}

/* ---- what depends on the inputs ---- */

static wi_onnx_value *input_of(const wi_onnx_import *n, wi_onnx_node *node, size_t index) {
    return node->input[index][0] ? wi_onnx_find(n, node->input[index]) : NULL;
}

static bool has_active(const wi_onnx_import *n, const WiOnnx__GraphProto *graph);

static bool is_active(const wi_onnx_import *n, wi_onnx_node *node, size_t but) {
    for (size_t i = 0; i < node->n_input; i++) {
        const wi_onnx_value *const value = i != but ? input_of(n, node, i) : NULL;
        if (value && value->is_active) return true;
    }
    for (size_t i = 0; i < node->n_attribute; i++) {
        const WiOnnx__AttributeProto *const attribute = node->attribute[i];
        if (attribute->g && has_active(n, attribute->g)) return true;
    }
    return false;
}

static bool has_active(const wi_onnx_import *n, const WiOnnx__GraphProto *graph) {
    for (size_t i = 0; i < graph->n_node; i++)
        if (is_active(n, graph->node[i], SIZE_MAX)) return true;
    return false;
}

static bool has_layer(const wi_onnx_import *n, const WiOnnx__GraphProto *graph);

/* Does the node read a value that was computed with a weight, apart from input number `but`? */
static bool reads_learned(const wi_onnx_import *n, wi_onnx_node *node, size_t but) {
    for (size_t i = 0; i < node->n_input; i++) {
        const wi_onnx_value *const value = i != but ? input_of(n, node, i) : NULL;
        if (value && value->is_learned) return true;
    }
    return false;
}

/* Is the node's result computed with a weight, or is the node the mean of a norm that is written by parts? */
static bool is_learned(const wi_onnx_import *n, wi_onnx_node *node) {
    const wi_onnx_op *const op = n->op_of(node);
    if (is_named(node, "ReduceMean") || reads_learned(n, node, SIZE_MAX)) return true;
    for (size_t i = 0; op && i < node->n_input && i < 32; i++) {
        const wi_onnx_value *const value = input_of(n, node, i);
        if (value && (op->weights >> i & 1) && !value->is_active) return true;
    }
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->g && has_layer(n, node->attribute[i]->g)) return true;
    return false;
}

static bool has_layer(const wi_onnx_import *n, const WiOnnx__GraphProto *graph) {
    for (size_t i = 0; i < graph->n_node; i++) {
        const wi_onnx_op *const op = n->op_of(graph->node[i]);
        if ((op && op->weights) || is_learned(n, graph->node[i])) return true;
    }
    return false;
}

/* Sets is_active for all values that depend on the values of the network's inputs, and is_learned for those of them that are computed with
 * weights. Results of Shape and Size depend only on the sizes of the inputs, and are not active. */
static void mark_active(wi_onnx_import *n) {
    for (size_t i = 0; i < n->node_count; i++) {
        wi_onnx_node *const node = n->nodes[i];
        if (is_named(node, "Shape") || is_named(node, "Size") || !is_active(n, node, SIZE_MAX)) continue;
        const bool learned = is_learned(n, node);
        for (size_t k = 0; k < node->n_output; k++) {
            wi_onnx_value *const value = node->output[k][0] ? wi_onnx_find(n, node->output[k]) : NULL;
            if (value) value->is_active = true, value->is_learned = learned;
        }
    }
}

/* ---- the walk back to constants ---- */

/* Values that are still to be looked at. Each is looked at once for vectors, and once for all constants. */
typedef struct walk {
    wi_onnx_import *n;
    wi_onnx_value **stack;
    size_t count, capacity;
    bool vectors, failed;
} walk;

static void push(walk *w, wi_onnx_value *value) {
    const unsigned bit = w->vectors ? 1 : 2;
    if (!value || value->is_active || (value->seen & bit)) return;
    value->seen |= bit;
    if (wi_grow(w->n->arena.allocator, (void **)&w->stack, &w->capacity, w->count + 1, sizeof *w->stack) !=
        WEFT_OK)
        w->failed = true;
    else
        w->stack[w->count++] = value;
}

static uint32_t passing_inputs(wi_onnx_node *node) {
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        if (is_named(node, passing[i].name)) return passing[i].inputs;
    return 0;
}

static void mark_from(walk *w, wi_onnx_value *start, bool vectors) {
    w->vectors = vectors;
    push(w, start);
    while (w->count > 0) {
        wi_onnx_value *const value = w->stack[--w->count];
        const int wide = wide_dims(value);
        if (value->stored) {
            if (vectors ? wide == 1 && contents_of(w->n, value) != (HAS_ZEROS | HAS_ONES) : wide > 0)
                value->is_weight = true;
            continue;
        }
        const uint32_t inputs = value->maker ? passing_inputs(value->maker) : 0;
        for (size_t i = 0; inputs && i < value->maker->n_input; i++)
            if (i >= 32 ? inputs == UINT32_MAX : inputs >> i & 1) push(w, input_of(w->n, value->maker, i));
    }
}

/* Does a node of a subgraph read a value of the subgraph? These depend on the network's inputs as a rule. */
static bool reads_inner(const wi_onnx_import *n, wi_onnx_node *node, size_t but) {
    bool reads = false;
    for (size_t i = 0; i < node->n_input; i++)
        reads = reads || (i != but && node->input[i][0] && !wi_onnx_find(n, node->input[i]));
    return reads;
}

/* Exporters write a group norm, and a norm without weights, as InstanceNormalization with scales of 1 and biases of 0. */
static bool is_plain_norm(wi_onnx_import *n, wi_onnx_node *node) {
    return is_named(node, "InstanceNormalization") && node->n_input == 3 &&
           contents_of(n, input_of(n, node, 1)) == HAS_ONES &&
           contents_of(n, input_of(n, node, 2)) == HAS_ZEROS;
}

static bool is_place(wi_onnx_import *n, wi_onnx_node *node, size_t k, bool inner, bool *vector) {
    const wi_onnx_op *const op = n->op_of(node);
    const bool weight = op && k < 32 && (op->weights >> k & 1);
    *vector = !weight;
    if (inner && reads_inner(n, node, k)) return weight || takes_vectors(node);
    return weight ? is_active(n, node, k) && !is_plain_norm(n, node)
                  : takes_vectors(node) && reads_learned(n, node, k);
}

static void mark_nodes(walk *w, const WiOnnx__NodeProto *const *nodes, size_t count, bool inner) {
    for (size_t i = 0; i < count; i++) {
        bool vector;
        for (size_t k = 0; k < nodes[i]->n_input; k++)
            if (is_place(w->n, nodes[i], k, inner, &vector))
                mark_from(w, input_of(w->n, nodes[i], k), vector);
        for (size_t k = 0; k < nodes[i]->n_attribute; k++) {
            const WiOnnx__GraphProto *const graph = nodes[i]->attribute[k]->g;
            if (graph) mark_nodes(w, (const WiOnnx__NodeProto *const *)graph->node, graph->n_node, true);
        }
    }
}

static weft_status mark_places(wi_onnx_import *n) {
    walk w = {.n = n};
    mark_nodes(&w, n->nodes, n->node_count, false);
    wi_release(n->arena.allocator, w.stack);
    return w.failed ? WEFT_ERROR_MEMORY : WEFT_OK;
}

/* ---- merged constants ---- */

/* Exporters merge constants of one content, and give the second its name by a node Identity. A vector gets a constant of
 * its own for each name, so that biases that begin alike train apart. */
static void separate(wi_onnx_import *n) {
    for (size_t i = 0; i < n->node_count; i++) {
        wi_onnx_node *const node = n->nodes[i];
        if (!is_named(node, "Identity") || node->n_input != 1 || node->n_output != 1) continue;
        const wi_onnx_value *const from = input_of(n, node, 0);
        wi_onnx_value *const to = node->output[0][0] ? wi_onnx_find(n, node->output[0]) : NULL;
        if (from && to && wide_dims(from) == 1) to->stored = from->stored, to->type = from->type;
    }
}

/* ---- what trains ---- */

static weft_status check_patterns(const wi_onnx_import *n, const char *const *patterns, const char *option) {
    for (; patterns && *patterns; patterns++) {
        bool found = false;
        for (const wi_onnx_value *v = n->values; v && !found; v = v->hh.next)
            found = wide_dims(v) > 0 && wi_pattern_matches(*patterns, v->name);
        if (!found)
            return wi_onnx_error(WEFT_ERROR_ARGUMENT,
                "the option %s has '%.80s', but no float constant of the file has such a name", option,
                *patterns);
    }
    return WEFT_OK;
}

static void decide(const wi_onnx_import *n, wi_onnx_value *value) {
    const weft_onnx_options *const options = n->options;
    if (wide_dims(value) == 0) return;
    value->is_trained =
        !options->frozen &&
        (options->train ? wi_pattern_matches_any(options->train, value->name) : value->is_weight);
    if (options->freeze && wi_pattern_matches_any(options->freeze, value->name)) value->is_trained = false;
}

void wi_onnx_mark_inner_weight(wi_onnx_import *n, wi_onnx_node *node, size_t k, wi_onnx_value *value) {
    bool vector;
    const int wide = wide_dims(value);
    if (!is_place(n, node, k, true, &vector)) return;
    value->is_weight = value->is_weight || (vector ? wide == 1 : wide > 0);
    decide(n, value);
}

weft_status wi_onnx_mark_weights(wi_onnx_import *n) {
    WI_TRY(check_patterns(n, n->options->train, "train"));
    WI_TRY(check_patterns(n, n->options->freeze, "freeze"));
    mark_active(n);
    if (!n->options->tied) separate(n);
    WI_TRY(mark_places(n));
    for (wi_onnx_value *value = n->values; value; value = value->hh.next) decide(n, value);
    return WEFT_OK;
}
