/* Nodes whose inputs the host knows, which are computed there: shapes of shapes, as exporters write them. */
#include "onnx/onnx_node.h"
#include <math.h>
#include <string.h>

enum { MOST_NUMBERS = 1 << 20 };

static wi_onnx_numbers *new_numbers(wi_onnx_import *n, weft_dtype dtype, int rank, const int64_t *dims) {
    wi_onnx_numbers *const made = wi_arena_take(&n->arena, sizeof *made);
    if (!made) return NULL;
    *made = (wi_onnx_numbers){.dtype = dtype, .rank = rank, .count = 1};
    for (int d = 0; d < rank; d++) {
        made->dims[d] = dims[d];
        if (dims[d] < 0 || made->count * (size_t)dims[d] > MOST_NUMBERS) return NULL;
        made->count *= (size_t)dims[d];
    }
    made->data = wi_arena_take(&n->arena, (made->count + 1) * sizeof *made->data);
    return made->data ? made : NULL;
}

static wi_onnx_numbers *new_list(wi_onnx_import *n, weft_dtype dtype, size_t count) {
    return new_numbers(n, dtype, 1, (const int64_t[]){(int64_t)count});
}

/* ---- what makes numbers ---- */

static wi_onnx_numbers *fold_shape(wi_onnx_import *n, wi_onnx_node *node) {
    int64_t dims[WEFT_MAX_RANK];
    const wi_onnx_numbers *const known = wi_onnx_known(n, node, 0);
    weft_tensor *const x = known ? NULL : wi_onnx_get(n, node, 0);
    if (!known && !x) return NULL;
    const int rank = known ? known->rank : weft_tensor_rank(x);
    if (known)
        memcpy(dims, known->dims, sizeof dims);
    else
        wi_onnx_dims(x, dims);
    int begin = wi_onnx_axis(wi_onnx_whole(node, "start", 0), rank),
        end = wi_onnx_axis(wi_onnx_whole(node, "end", rank), rank);
    begin = begin < 0 ? 0 : begin > rank ? rank : begin;
    end = end < begin ? begin : end > rank ? rank : end;
    wi_onnx_numbers *const made = new_list(n, WEFT_I32, (size_t)(end - begin));
    for (int d = begin; made && d < end; d++) {
        made->data[d - begin] = wi_onnx_from_size(dims[d]);
        made->open = made->open || wi_onnx_is_open(made->data[d - begin]);
    }
    return made;
}

static wi_onnx_numbers *fold_size(wi_onnx_import *n, wi_onnx_node *node) {
    const wi_onnx_numbers *const shape = fold_shape(n, node);
    wi_onnx_numbers *const made = shape ? new_numbers(n, WEFT_I32, 0, NULL) : NULL;
    if (made) made->data[0] = 1;
    for (size_t i = 0; made && i < shape->count; i++) made->data[0] *= shape->data[i];
    return made;
}

static wi_onnx_numbers *fold_constant(wi_onnx_import *n, wi_onnx_node *node) {
    const WiOnnx__AttributeProto *const value = wi_onnx_attribute(node, "value");
    const WiOnnx__AttributeProto *const one = wi_onnx_attribute(node, "value_int"), *const real =
                                                                                        wi_onnx_attribute(
                                                                                            node,
                                                                                            "value_float");
    const wi_onnx_list ints = wi_onnx_wholes(node, "value_ints");
    wi_onnx_numbers *const made = value && value->t ? wi_arena_take(&n->arena, sizeof *made)
                                  : one || real     ? new_numbers(n, one ? WEFT_I32 : WEFT_F32, 0, NULL)
                                                    : new_list(n, WEFT_I32, (size_t)ints.count);
    if (!made) return NULL;
    if (value && value->t) {
        if (wi_onnx_tensor_read(made, &n->arena, value->t) == WEFT_OK) return made;
        wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "%s", weft_last_error());
        return NULL;
    }
    if (one || real) made->data[0] = one ? (double)one->i : (double)real->f;
    for (int i = 0; !one && !real && i < ints.count; i++) made->data[i] = (double)ints.of[i];
    return made;
}

static wi_onnx_numbers *fold_filled(wi_onnx_import *n, wi_onnx_node *node) {
    const wi_onnx_list shape = wi_onnx_get_list(n, node, 0, "the shape");
    const WiOnnx__AttributeProto *const value = wi_onnx_attribute(node, "value");
    wi_onnx_numbers one = {.dtype = WEFT_F32, .data = (double[]){0}};
    if (n->status != WEFT_OK || shape.count > WEFT_MAX_RANK) return NULL;
    if (value && value->t && wi_onnx_tensor_read(&one, &n->arena, value->t) != WEFT_OK) return NULL;
    wi_onnx_numbers *const made = new_numbers(n, one.dtype, shape.count, shape.of);
    for (size_t i = 0; made && i < made->count; i++) made->data[i] = one.data[0];
    return made;
}

static wi_onnx_numbers *fold_range(wi_onnx_import *n, wi_onnx_node *node) {
    const wi_onnx_numbers *const from = wi_onnx_known(n, node, 0), *const to = wi_onnx_known(n, node, 1),
                                 *const by = wi_onnx_known(n, node, 2);
    if (!from || !to || !by || by->data[0] == 0) return NULL;
    const double count = ceil((to->data[0] - from->data[0]) / by->data[0]);
    wi_onnx_numbers *const made =
        count <= MOST_NUMBERS ? new_list(n, from->dtype, count > 0 ? (size_t)count : 0) : NULL;
    for (size_t i = 0; made && i < made->count; i++) made->data[i] = from->data[0] + (double)i * by->data[0];
    return made;
}

/* ---- what changes them ---- */

static double both(const char *op, double a, double b, bool whole) {
    if (strcmp(op, "Add") == 0) return a + b;
    if (strcmp(op, "Sub") == 0) return a - b;
    if (strcmp(op, "Mul") == 0) return a * b;
    if (strcmp(op, "Equal") == 0) return a == b;
    if (strcmp(op, "Pow") == 0) return pow(a, b);
    if (strcmp(op, "Mod") == 0) return b != 0 ? a - b * floor(a / b) : 0;
    return whole ? (b != 0 ? trunc(a / b) : 0) : a / b; /* Div */
}

/* Shapes are equal, or one has a single number. */
static wi_onnx_numbers *fold_two(wi_onnx_import *n, wi_onnx_node *node) {
    const wi_onnx_numbers *const a = wi_onnx_known(n, node, 0), *const b = wi_onnx_known(n, node, 1);
    if (!a || !b) return NULL;
    const wi_onnx_numbers *const shape = a->count > 1 || (a->count == b->count && a->rank >= b->rank) ? a : b;
    const bool fits =
        a->count == 1 || b->count == 1 ||
        (a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0);
    wi_onnx_numbers *const made =
        fits ? new_numbers(
                   n, strcmp(node->op_type, "Equal") == 0 ? WEFT_BOOL : a->dtype, shape->rank, shape->dims)
             : NULL;
    for (size_t i = 0; made && i < made->count; i++)
        made->data[i] = both(node->op_type, a->data[a->count == 1 ? 0 : i], b->data[b->count == 1 ? 0 : i],
            a->dtype == WEFT_I32);
    return made;
}

static wi_onnx_numbers *fold_one(wi_onnx_import *n, wi_onnx_node *node) {
    const wi_onnx_numbers *const x = wi_onnx_known(n, node, 0);
    const char *const op = node->op_type;
    weft_dtype dtype = x ? x->dtype : WEFT_F32;
    if (!x || (strcmp(op, "Cast") == 0 &&
                  wi_onnx_dtype(&dtype, (int)wi_onnx_whole(node, "to", 0), "a cast") != WEFT_OK))
        return NULL;
    wi_onnx_numbers *const made = new_numbers(n, dtype, x->rank, x->dims);
    for (size_t i = 0; made && i < made->count; i++) {
        const double v = x->data[i];
        made->data[i] = strcmp(op, "Floor") == 0  ? floor(v)
                        : strcmp(op, "Ceil") == 0 ? ceil(v)
                        : strcmp(op, "Neg") == 0  ? -v
                        : strcmp(op, "Sqrt") == 0 ? sqrt(v)
                                                  : v;
        if (dtype == WEFT_I32) made->data[i] = trunc(made->data[i]);
        if (dtype == WEFT_BOOL) made->data[i] = v != 0;
    }
    return made;
}

/* A list that is cut, joined, picked from, or has another shape; of more dimensions tensors serve. */
static wi_onnx_numbers *fold_gather(wi_onnx_import *n, wi_onnx_node *node) {
    const wi_onnx_numbers *const x = wi_onnx_known(n, node, 0), *const index = wi_onnx_known(n, node, 1);
    if (!x || !index || x->rank != 1) return NULL;
    wi_onnx_numbers *const made = new_numbers(n, x->dtype, index->rank, index->dims);
    for (size_t i = 0; made && i < made->count; i++) {
        const double at = index->data[i] < 0 ? index->data[i] + (double)x->count : index->data[i];
        if (at < 0 || at >= (double)x->count) return NULL;
        made->data[i] = x->data[(size_t)at];
    }
    return made;
}

static wi_onnx_numbers *fold_concat(wi_onnx_import *n, wi_onnx_node *node) {
    size_t count = 0;
    for (size_t i = 0; i < node->n_input; i++) {
        const wi_onnx_numbers *const part = wi_onnx_known(n, node, i);
        if (!part || part->rank != 1) return NULL;
        count += part->count;
    }
    wi_onnx_numbers *const made = node->n_input ? new_list(n, wi_onnx_known(n, node, 0)->dtype, count) : NULL;
    count = 0;
    for (size_t i = 0; made && i < node->n_input; i++) {
        const wi_onnx_numbers *const part = wi_onnx_known(n, node, i);
        memcpy(made->data + count, part->data, part->count * sizeof *part->data);
        count += part->count;
    }
    return made;
}

static int64_t within(int64_t at, int64_t count) {
    at = at < 0 ? (at < -count ? 0 : at + count) : at;
    return at > count ? count : at;
}

static wi_onnx_numbers *fold_slice(wi_onnx_import *n, wi_onnx_node *node) {
    const wi_onnx_numbers *const x = wi_onnx_known(n, node, 0);
    if (!x || x->rank != 1) return NULL;
    const bool old = wi_onnx_attribute(node, "starts") != NULL;
    const wi_onnx_list starts = old ? wi_onnx_wholes(node, "starts") : wi_onnx_get_list(n, node, 1, "starts");
    const wi_onnx_list ends = old ? wi_onnx_wholes(node, "ends") : wi_onnx_get_list(n, node, 2, "ends");
    if (n->status != WEFT_OK || starts.count != 1 || ends.count != 1 ||
        wi_onnx_get_number(n, node, 4, 1) != 1)
        return NULL;
    const int64_t begin = within(starts.of[0], (int64_t)x->count),
                  end = within(ends.of[0], (int64_t)x->count);
    wi_onnx_numbers *const made = new_list(n, x->dtype, end > begin ? (size_t)(end - begin) : 0);
    if (made) memcpy(made->data, x->data + begin, made->count * sizeof *made->data);
    return made;
}

/* Reshape, Squeeze and Unsqueeze of what has rank 0 or 1 and stays so. */
static wi_onnx_numbers *fold_reshaped(wi_onnx_import *n, wi_onnx_node *node) {
    const wi_onnx_numbers *const x = wi_onnx_known(n, node, 0);
    if (!x || x->rank > 1) return NULL;
    const bool away = strcmp(node->op_type, "Squeeze") == 0,
               one_more = strcmp(node->op_type, "Unsqueeze") == 0;
    if ((away && x->count != 1) || (one_more && x->rank != 0)) return NULL;
    if (!away && !one_more && wi_onnx_get_list(n, node, 1, "the shape").count != 1) return NULL;
    wi_onnx_numbers *const made = away ? new_numbers(n, x->dtype, 0, NULL) : new_list(n, x->dtype, x->count);
    if (made) memcpy(made->data, x->data, x->count * sizeof *x->data);
    return made;
}

static const struct {
    const char *name;
    wi_onnx_numbers *(*fold)(wi_onnx_import *n, wi_onnx_node *node);
} folds[] = {{"Shape", fold_shape}, {"Size", fold_size}, {"Constant", fold_constant},
    {"ConstantOfShape", fold_filled}, {"Range", fold_range}, {"Add", fold_two}, {"Sub", fold_two},
    {"Mul", fold_two}, {"Div", fold_two}, {"Equal", fold_two}, {"Pow", fold_two}, {"Mod", fold_two},
    {"Cast", fold_one}, {"Floor", fold_one}, {"Ceil", fold_one}, {"Neg", fold_one}, {"Sqrt", fold_one},
    {"Identity", fold_one}, {"Gather", fold_gather}, {"Concat", fold_concat}, {"Slice", fold_slice},
    {"Reshape", fold_reshaped}, {"Squeeze", fold_reshaped}, {"Unsqueeze", fold_reshaped}};

bool wi_onnx_fold(wi_onnx_import *n, wi_onnx_node *node) {
    for (size_t i = 0; i < sizeof folds / sizeof *folds; i++) {
        if (strcmp(folds[i].name, node->op_type) != 0) continue;
        const wi_onnx_numbers *const made = folds[i].fold(n, node);
        if (made) wi_onnx_set_numbers(n, node, 0, made);
        return made != NULL || n->status != WEFT_OK;
    }
    return false;
}

weft_tensor *wi_onnx_unfolded(wi_onnx_import *n, wi_onnx_node *node) {
    return wi_onnx_fail(
        n, node, WEFT_ERROR_UNSUPPORTED, "it is supported only if its values are constants in the file");
}
