/* Sequences and optional values. A sequence is only a list of names of values; tensors appear when a node reads an element. */
#include "onnx/onnx_scope.h"
#include <string.h>

/* ---- values ---- */

/* The sequence of an input; NULL after an error: the input is not a sequence. */
static const wi_onnx_sequence *get(wi_onnx_import *n, wi_onnx_node *node, size_t index) {
    const wi_onnx_value *const value = wi_onnx_has(node, index) ? wi_onnx_find(n, node->input[index]) : NULL;
    if (n->status != WEFT_OK) return NULL;
    if (!value || !value->sequence)
        wi_onnx_fail(
            n, node, WEFT_ERROR_UNSUPPORTED, "input %zu is not a sequence that the network creates", index);
    return value ? value->sequence : NULL;
}

/* A new sequence of `count` names; NULL after an error. */
static wi_onnx_sequence *new_sequence(wi_onnx_import *n, wi_onnx_node *node, size_t count) {
    wi_onnx_sequence *const made = wi_arena_take(&n->arena, sizeof *made);
    const char **const names = wi_arena_take(&n->arena, (count + 1) * sizeof(const char *));
    n->copied += count;
    if (n->copied > WI_ONNX_MOST_COPIED)
        wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "its sequences are too long");
    if (!made || !names) wi_onnx_fail(n, node, WEFT_ERROR_MEMORY, "out of memory");
    if (n->status != WEFT_OK) return NULL;
    *made = (wi_onnx_sequence){count, names};
    return made;
}

static weft_tensor *set(
    wi_onnx_import *n, wi_onnx_node *node, size_t index, const wi_onnx_sequence *sequence) {
    wi_onnx_value *const value = wi_onnx_output_value(n, node, index);
    if (value) value->sequence = sequence;
    return NULL;
}

static void set_whole(wi_onnx_import *n, wi_onnx_node *node, int64_t number, weft_dtype dtype) {
    const char *const name = wi_onnx_add_wholes(n, node, 0, &number, 1, dtype);
    if (name) wi_onnx_alias(n, node, 0, name);
}

/* The position in a sequence that input `index` contains, from 0 to `last`; `last` if the node does not have the input. -1 after an error. */
static int64_t position(wi_onnx_import *n, wi_onnx_node *node, size_t index, size_t count, size_t last) {
    const wi_onnx_numbers *const known = wi_onnx_known(n, node, index);
    if (!wi_onnx_has(node, index) && count > 0) return (int64_t)last;
    if (!wi_onnx_has(node, index) && last == count) return 0;
    const double number = known && known->count == 1 && !known->open ? known->data[0] : (double)UINT32_MAX;
    const double at = number < 0 ? number + (double)count : number;
    if (at >= 0 && at <= (double)last && last <= count && (count > 0 || last == count)) return (int64_t)at;
    wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "its position is not known, or not within the sequence");
    return -1;
}

bool wi_onnx_pass_sequence(wi_onnx_import *n, wi_onnx_node *node) {
    const bool same = node->op_type && strcmp(node->op_type, "Identity") == 0 && wi_onnx_has(node, 0);
    const wi_onnx_value *const from = same ? wi_onnx_find(n, node->input[0]) : NULL;
    if (!from || (!from->sequence && !from->is_absent)) return false;
    wi_onnx_value *const to = wi_onnx_output_value(n, node, 0);
    if (!to) return true;
    to->sequence = from->sequence;
    to->is_absent = from->is_absent;
    return true;
}

/* ---- sequences ---- */

static weft_tensor *build_construct(wi_onnx_import *n, wi_onnx_node *node) {
    const size_t count = strcmp(node->op_type, "SequenceEmpty") == 0 ? 0 : node->n_input;
    wi_onnx_sequence *const made = new_sequence(n, node, count);
    for (size_t i = 0; made && i < count; i++) made->names[i] = node->input[i];
    return set(n, node, 0, made);
}

static weft_tensor *build_at(wi_onnx_import *n, wi_onnx_node *node) {
    const wi_onnx_sequence *const from = get(n, node, 0);
    const int64_t at = from && from->count > 0 ? position(n, node, 1, from->count, from->count - 1) : -1;
    if (from && from->count == 0) return wi_onnx_fail(n, node, WEFT_ERROR_FORMAT, "the sequence is empty");
    if (at >= 0) wi_onnx_alias(n, node, 0, from->names[at]);
    return NULL;
}

static weft_tensor *build_insert(wi_onnx_import *n, wi_onnx_node *node) {
    const wi_onnx_sequence *const from = get(n, node, 0);
    const int64_t at = from ? position(n, node, 2, from->count, from->count) : -1;
    wi_onnx_sequence *const made = at >= 0 ? new_sequence(n, node, from->count + 1) : NULL;
    if (!made || !wi_onnx_has(node, 1))
        return wi_onnx_fail(n, node, WEFT_ERROR_FORMAT, "there is nothing to insert");
    for (size_t i = 0; i < made->count; i++)
        made->names[i] = i == (size_t)at ? node->input[1] : from->names[i - (i > (size_t)at)];
    return set(n, node, 0, made);
}

static weft_tensor *build_erase(wi_onnx_import *n, wi_onnx_node *node) {
    const wi_onnx_sequence *const from = get(n, node, 0);
    if (from && from->count == 0) return wi_onnx_fail(n, node, WEFT_ERROR_FORMAT, "the sequence is empty");
    const int64_t at = from ? position(n, node, 1, from->count, from->count - 1) : -1;
    wi_onnx_sequence *const made = at >= 0 ? new_sequence(n, node, from->count - 1) : NULL;
    for (size_t i = 0; made && i < made->count; i++) made->names[i] = from->names[i + (i >= (size_t)at)];
    return made ? set(n, node, 0, made) : NULL;
}

static weft_tensor *build_length(wi_onnx_import *n, wi_onnx_node *node) {
    const wi_onnx_sequence *const from = get(n, node, 0);
    if (from) set_whole(n, node, (int64_t)from->count, WEFT_I32);
    return NULL;
}

static weft_tensor *build_joined(wi_onnx_import *n, wi_onnx_node *node) {
    const wi_onnx_sequence *const from = get(n, node, 0);
    if (from && from->count == 0)
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "the sequence is empty");
    if (from)
        wi_onnx_join(n, node, 0, from->names, from->count, wi_onnx_whole(node, "axis", 0),
            wi_onnx_whole(node, "new_axis", 0) != 0);
    return NULL;
}

/* Writes the sizes of the parts into which an axis of size `all` is split, and returns their number; 0 after an error. If the input is a
 * single number, it is the size of all parts except the last, which may be smaller. */
static size_t find_sizes(wi_onnx_import *n, wi_onnx_node *node, int64_t all, int64_t *sizes, size_t most) {
    const wi_onnx_numbers *const known = wi_onnx_known(n, node, 1);
    const bool listed = known && known->rank > 0;
    const double each = known && !listed && known->count == 1 ? known->data[0] : 1;
    size_t count = 0;
    int64_t sum = 0;
    if (listed && known->count <= most)
        for (; count < known->count; sum += sizes[count++]) sizes[count] = (int64_t)known->data[count];
    for (; !listed && each >= 1 && sum < all && count < most; sum += sizes[count++])
        sizes[count] = (double)(all - sum) < each ? all - sum : (int64_t)each;
    if (sum == all && count > 0 && all > 0 && (known || !wi_onnx_has(node, 1))) return count;
    wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "its sizes are not known, or are not those of the axis");
    return 0;
}

static weft_tensor *build_split(wi_onnx_import *n, wi_onnx_node *node) {
    wi_onnx_numbers x;
    int64_t sizes[WI_ONNX_MOST_ITERATIONS / 8];
    if (!wi_onnx_describe(n, node, 0, &x)) return NULL;
    const int axis = wi_onnx_axis(wi_onnx_whole(node, "axis", 0), x.rank);
    if (axis < 0 || axis >= x.rank)
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "there is no axis %d", axis);
    const size_t count = find_sizes(n, node, x.dims[axis], sizes, sizeof sizes / sizeof *sizes);
    wi_onnx_sequence *const made = count > 0 ? new_sequence(n, node, count) : NULL;
    if (!made) return NULL;
    const int64_t where = axis;
    const bool keeps = wi_onnx_has(node, 1) || wi_onnx_whole(node, "keepdims", 1);
    const char *const in[] = {node->input[0], wi_onnx_add_wholes(n, node, 1, sizes, count, WEFT_I32)};
    for (size_t i = 0; i < count; i++) made->names[i] = wi_onnx_new_name(n, node->input[0]);
    wi_onnx_build_part(n, node, &(wi_onnx_part){"Split", in, 2, made->names, count, axis});
    const char *const axes = keeps ? NULL : wi_onnx_add_wholes(n, node, 1, &where, 1, WEFT_I32);
    for (size_t i = 0; !keeps && i < count && n->status == WEFT_OK; i++) {
        const char *const part[] = {made->names[i], axes}, *const flat = wi_onnx_new_name(n, node->input[0]);
        wi_onnx_build_part(n, node, &(wi_onnx_part){"Squeeze", part, 2, &flat, 1, WEFT_END});
        made->names[i] = flat;
    }
    return set(n, node, 0, made);
}

/* ---- maps ---- */

/* The names of the inputs for element i: element i of each sequence, and each tensor itself. */
static bool take_elements(wi_onnx_import *n, wi_onnx_node *node, size_t i, size_t count, const char **in) {
    for (size_t k = 0; k < node->n_input; k++) {
        const wi_onnx_value *const value = wi_onnx_has(node, k) ? wi_onnx_find(n, node->input[k]) : NULL;
        const wi_onnx_sequence *const sequence = value ? value->sequence : NULL;
        in[k] = sequence && i < sequence->count ? sequence->names[i] : node->input[k];
        if (sequence && sequence->count != count)
            wi_onnx_fail(n, node, WEFT_ERROR_FORMAT, "its sequences have different lengths");
    }
    return n->status == WEFT_OK;
}

static weft_tensor *map(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_body *body, size_t count) {
    const WiOnnx__GraphProto *const graph = wi_onnx_body_graph(body);
    const size_t outputs = node->n_output;
    if (graph->n_input != node->n_input || graph->n_output < outputs)
        return wi_onnx_fail(n, node, WEFT_ERROR_FORMAT, "its graph has other inputs or outputs");
    const char **const in =
        wi_arena_take(&n->arena, (graph->n_input + graph->n_output + 1) * sizeof(const char *));
    wi_onnx_sequence **const made = wi_arena_take(&n->arena, (outputs + 1) * sizeof(wi_onnx_sequence *));
    if (!in || !made) return wi_onnx_fail(n, node, WEFT_ERROR_MEMORY, "out of memory");
    for (size_t k = 0; k < outputs; k++) made[k] = new_sequence(n, node, count);
    for (size_t i = 0; n->status == WEFT_OK && i < count; i++) {
        const char **const out = in + graph->n_input;
        if (!take_elements(n, node, i, count, in) || !wi_onnx_body_run(n, body, in, out)) return NULL;
        for (size_t k = 0; k < outputs; k++) made[k]->names[i] = out[k];
    }
    for (size_t k = 0; n->status == WEFT_OK && k < outputs; k++) set(n, node, k, made[k]);
    return NULL;
}

static weft_tensor *build_map(wi_onnx_import *n, wi_onnx_node *node) {
    const wi_onnx_sequence *const first = get(n, node, 0);
    wi_onnx_body *const body = first ? wi_onnx_body_open(n, node, "body") : NULL;
    if (body) map(n, node, body, first->count);
    return NULL;
}

/* ---- optional values ---- */

static bool is_there(const wi_onnx_import *n, wi_onnx_node *node) {
    const wi_onnx_value *const value = wi_onnx_has(node, 0) ? wi_onnx_find(n, node->input[0]) : NULL;
    return value && !value->is_absent;
}

static weft_tensor *build_optional(wi_onnx_import *n, wi_onnx_node *node) {
    if (wi_onnx_has(node, 0)) {
        wi_onnx_alias(n, node, 0, node->input[0]);
        return NULL;
    }
    wi_onnx_value *const value = wi_onnx_output_value(n, node, 0);
    if (value) value->is_absent = true;
    return NULL;
}

static weft_tensor *build_has_element(wi_onnx_import *n, wi_onnx_node *node) {
    set_whole(n, node, is_there(n, node), WEFT_BOOL);
    return NULL;
}

static weft_tensor *build_get_element(wi_onnx_import *n, wi_onnx_node *node) {
    if (!is_there(n, node)) return wi_onnx_fail(n, node, WEFT_ERROR_FORMAT, "the optional value is absent");
    wi_onnx_alias(n, node, 0, node->input[0]);
    return NULL;
}

const wi_onnx_op wi_onnx_sequence_ops[] = {{"SequenceConstruct", .build = build_construct},
    {"SequenceEmpty", .build = build_construct}, {"SequenceAt", .build = build_at, .host = 1u << 1},
    {"SequenceInsert", .build = build_insert, .host = 1u << 2},
    {"SequenceErase", .build = build_erase, .host = 1u << 1}, {"SequenceLength", .build = build_length},
    {"ConcatFromSequence", .build = build_joined}, {"SplitToSequence", .build = build_split, .host = 1u << 1},
    {"SequenceMap", .build = build_map}, {"Optional", .build = build_optional},
    {"OptionalHasElement", .build = build_has_element}, {"OptionalGetElement", .build = build_get_element},
    {0}};
