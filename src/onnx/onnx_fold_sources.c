/* Operators that create numbers from shapes, attributes and counts (Shape, Constant, Range, ...), on the host, and the builders for results
 * with an open size. */
#include "graph/node.h"
#include "onnx/onnx_fold.h"
#include <math.h>
#include <string.h>

/* ---- shapes ---- */

static wi_onnx_numbers *fold_shape(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    wi_onnx_numbers x;
    (void)in;
    if (!wi_onnx_describe(n, node, 0, &x)) return NULL;
    int64_t begin = wi_onnx_whole(node, "start", 0), end = wi_onnx_whole(node, "end", x.rank);
    begin = begin < 0 ? begin + x.rank : begin;
    end = end < 0 ? end + x.rank : end;
    begin = begin < 0 ? 0 : begin > x.rank ? x.rank : begin;
    end = end < begin ? begin : end > x.rank ? x.rank : end;
    wi_onnx_numbers *const made = wi_onnx_new(n, WI_ONNX_INT64, 1, (const int64_t[]){end - begin});
    for (int64_t d = begin; made && d < end; d++) {
        const double size = wi_onnx_from_size(n->graph, x.dims[d]);
        made->data[d - begin] = size;
        made->open = made->open || wi_onnx_is_open(size);
    }
    return made;
}

static wi_onnx_numbers *fold_size(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    const wi_onnx_numbers *const shape = fold_shape(n, node, in);
    wi_onnx_numbers *const made = shape ? wi_onnx_new_like(n, shape, 0, NULL) : NULL;
    if (!made) return NULL;
    made->data[0] = 1;
    for (size_t i = 0; i < shape->count; i++)
        if (!wi_onnx_combine(n, node, shape, WI_ONNX_MUL, made->data[0], shape->data[i], made->data))
            return NULL;
    return made;
}

/* ---- constants ---- */

static wi_onnx_numbers *read_tensor(
    wi_onnx_import *n, wi_onnx_node *node, const WiOnnx__TensorProto *stored) {
    wi_onnx_numbers *const made = wi_arena_take(&n->arena, sizeof *made);
    if (!made) return NULL;
    const weft_status status = wi_onnx_tensor_read(made, &n->arena, stored);
    if (status == WEFT_OK) return made;
    wi_onnx_fail(n, node, status, "%s", weft_last_error());
    return NULL;
}

static wi_onnx_numbers *fold_constant(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    const WiOnnx__AttributeProto *const value = node->n_attribute == 1 ? node->attribute[0] : NULL;
    const char *const name = value && value->name ? value->name : "";
    (void)in;
    if (strcmp(name, "value") == 0 && value->t) return read_tensor(n, node, value->t);
    const bool one = strcmp(name, "value_int") == 0 || strcmp(name, "value_float") == 0,
               ints = strcmp(name, "value_ints") == 0, floats = strcmp(name, "value_floats") == 0;
    if (!one && !ints && !floats) {
        wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "a constant of '%s' is not supported", name);
        return NULL;
    }
    const int64_t count = (int64_t)(ints ? value->n_ints : value->n_floats);
    const bool whole = ints || strcmp(name, "value_int") == 0;
    wi_onnx_numbers *const made = wi_onnx_new(n, whole ? WI_ONNX_INT64 : WI_ONNX_FLOAT, !one, &count);
    if (made && one) made->data[0] = whole ? (double)value->i : (double)value->f;
    for (int64_t i = 0; made && !one && i < count; i++)
        made->data[i] = whole ? (double)value->ints[i] : (double)value->floats[i];
    return made;
}

/* The number with which ConstantOfShape fills its result, as an array of rank 0. */
static const wi_onnx_numbers *filler(wi_onnx_import *n, wi_onnx_node *node) {
    const WiOnnx__AttributeProto *const value = wi_onnx_attribute(node, "value");
    if (!value) return wi_onnx_new(n, WI_ONNX_FLOAT, 0, NULL);
    const wi_onnx_numbers *const one = value->t ? read_tensor(n, node, value->t) : NULL;
    if (one && one->count == 1) return one;
    wi_onnx_fail(n, node, WEFT_ERROR_FORMAT, "its value is not a single number");
    return NULL;
}

static wi_onnx_numbers *fold_filled(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    wi_onnx_list shape;
    if (!wi_onnx_closed(node, in[0], NULL, &shape)) return NULL;
    const wi_onnx_numbers *const one = filler(n, node);
    wi_onnx_numbers *const made = one ? wi_onnx_new_like(n, one, shape.count, shape.of) : NULL;
    for (size_t i = 0; made && i < made->count; i++) made->data[i] = one->data[0];
    return made;
}

/* The number as a dimension; -1 after an error. */
static int64_t dimension(wi_onnx_import *n, wi_onnx_node *node, double number) {
    bool good;
    const int64_t size = wi_onnx_to_size(n->graph, number, &good);
    if (!good || size < 0)
        wi_onnx_fail(
            n, node, WEFT_ERROR_UNSUPPORTED, "a size of its result is negative or not a whole number");
    return n->status == WEFT_OK ? wi_onnx_dimension(n->graph, size) : 0;
}

static weft_tensor *build_filled(wi_onnx_import *n, wi_onnx_node *node) {
    const wi_onnx_numbers *const shape = wi_onnx_known(n, node, 0);
    const wi_onnx_numbers *const one = shape ? filler(n, node) : NULL;
    int64_t dims[WEFT_MAX_RANK];
    if (!shape || shape->count > WEFT_MAX_RANK || !one) return wi_onnx_unfolded(n, node);
    for (size_t d = 0; d < shape->count; d++) dims[d] = dimension(n, node, shape->data[d]);
    return n->status == WEFT_OK ? weft_full(n->graph, one->dtype, one->data[0], (int)shape->count, dims)
                                : NULL;
}

/* ---- ranges ---- */

static bool is_number(const wi_onnx_numbers *x) {
    return x && x->count == 1;
}

static wi_onnx_numbers *fold_range(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    if (!is_number(in[0]) || !is_number(in[1]) || !is_number(in[2])) return NULL;
    const double from = in[0]->data[0], to = in[1]->data[0], by = in[2]->data[0];
    const double count = ceil((to - from) / by);
    for (int i = 0; i < 3; i++)
        if (in[i]->open && wi_onnx_is_open(in[i]->data[0])) return NULL;
    if (!isfinite(count)) {
        wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "a range from %g to %g by %g has no end", from, to, by);
        return NULL;
    }
    if (count > WI_ONNX_MOST_NUMBERS) return NULL;
    const int64_t size = count > 0 ? (int64_t)count : 0;
    wi_onnx_numbers *const made = wi_onnx_new(n, wi_onnx_type_number(in[0]), 1, &size);
    for (size_t i = 0; made && i < made->count; i++) made->data[i] = from + (double)i * by;
    return made && wi_onnx_fit_to_type(n, node, made) ? made : NULL;
}

/* Range with a number of elements that is an open size. */
static weft_tensor *build_range(wi_onnx_import *n, wi_onnx_node *node) {
    const wi_onnx_numbers *const from = wi_onnx_known(n, node, 0), *const to = wi_onnx_known(n, node, 1),
                                 *const by = wi_onnx_known(n, node, 2);
    if (!is_number(from) || !is_number(to) || !is_number(by)) return wi_onnx_unfolded(n, node);
    const double all = wi_onnx_calculate_open(n->graph, WI_ONNX_SUB, true, to->data[0], from->data[0]);
    /* ceil(all / by) */
    const double more = wi_onnx_calculate_open(n->graph, WI_ONNX_ADD, true, all, by->data[0] - 1),
                 count = wi_onnx_calculate_open(n->graph, WI_ONNX_DIV, true, more, by->data[0]);
    if (wi_onnx_is_open(by->data[0]) || isnan(count))
        return wi_onnx_fail(
            n, node, WEFT_ERROR_UNSUPPORTED, "it has a number of elements that no plan knows");
    const wi_shape shape = {.rank = 1, .dims = {dimension(n, node, count)}};
    if (n->status != WEFT_OK) return NULL;
    weft_tensor *const index = weft_cast(wi_coordinate(n->graph, &shape, 0), from->dtype);
    weft_tensor *const steps = weft_mul_number(index, by->data[0]);
    return wi_onnx_is_open(from->data[0]) ? weft_add(steps, wi_onnx_get(n, node, 0))
                                          : weft_add_number(steps, from->data[0]);
}

const wi_onnx_fold_row wi_onnx_source_folds[] = {{"Shape", .fold = fold_shape, .least = 1, .hidden = 1u << 0},
    {"Size", .fold = fold_size, .least = 1, .hidden = 1u << 0},
    {"Constant", .fold = fold_constant, .least = 0}, {"ConstantOfShape", .fold = fold_filled, .least = 1},
    {"Range", .fold = fold_range, .least = 3}, {0}};

const wi_onnx_op wi_onnx_host_ops[] = {{"Shape", .build = wi_onnx_unfolded},
    {"Size", .build = wi_onnx_unfolded}, {"Constant", .build = wi_onnx_unfolded},
    {"ConstantOfShape", .build = build_filled, .host = 1u << 0},
    {"Range", .build = build_range, .host = 1u << 0 | 1u << 1 | 1u << 2},
    {"NonZero", .build = wi_onnx_unfolded, .host = 1u << 0}, {0}};

weft_tensor *wi_onnx_unfolded(wi_onnx_import *n, wi_onnx_node *node) {
    return wi_onnx_fail(
        n, node, WEFT_ERROR_UNSUPPORTED, "it is supported only if its values are constants in the file");
}
