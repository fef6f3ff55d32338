/* Ops of ONNX that read or write elements by index. Negative indices count from the end of their axis. */
#include "onnx/onnx_build.h"
#include "onnx/onnx_types.h"
#include <string.h>

/* Reshapes x to `rank` axes: `before` axes of size 1 in front, and further axes of size 1 behind. */
static weft_tensor *at_rank(weft_tensor *x, int before, int rank) {
    for (int d = 0; x && d < before; d++) x = weft_unsqueeze(x, 0);
    while (x && weft_tensor_rank(x) < rank) x = weft_unsqueeze(x, -1);
    return x;
}

/* An i32 tensor with `rank` axes that counts 0, 1, ... along one axis; the other axes have size 1. */
weft_tensor *wi_onnx_iota(wi_onnx_import *n, const weft_tensor *like, int axis, int rank) {
    const int64_t size = weft_tensor_dimension(like, axis);
    weft_tensor *const ones = weft_full(n->graph, WEFT_I32, 1, 1, &size);
    return at_rank(weft_cumsum_with(ones, 0, true, false), axis, rank);
}

/* Converts indices into an axis of x, of which negative ones count from the end, to indices from 0 on. */
static weft_tensor *from_start(weft_tensor *index, weft_tensor *x, int axis) {
    return weft_where(weft_less_number(index, 0), weft_add(index, weft_size(x, axis)), index);
}

/* Input `input`, an index into an axis of x, as an index from 0 on. If the host knows the numbers, it checks them. */
static weft_tensor *index_of(wi_onnx_import *n, wi_onnx_node *node, size_t input, weft_tensor *x, int axis) {
    const wi_onnx_numbers *const known = wi_onnx_known(n, node, input);
    const int64_t size = weft_tensor_dimension(x, axis);
    wi_onnx_bound(n, node, input, size);
    if (!known || wi_onnx_fixed_size(x, axis) == 0) {
        weft_tensor *const index = wi_onnx_get(n, node, input);
        return index ? from_start(index, x, axis) : NULL;
    }
    wi_onnx_numbers index = *known;
    index.data = wi_arena_take(&n->arena, (known->count + 1) * sizeof *index.data);
    if (!index.data) return wi_onnx_fail(n, node, WEFT_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; i < known->count; i++) {
        index.data[i] = known->data[i] + (known->data[i] < 0 ? (double)size : 0);
        if (!(index.data[i] >= 0 && index.data[i] < (double)size))
            return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "the index %.0f is outside an axis of size %lld",
                known->data[i], (long long)size);
    }
    return wi_onnx_array(n, &index);
}

/* ---- reading ---- */

/* Gathers rows of a table; an index of rank 0 removes the axis. Tokens, which are inputs of the network, do not count from the end: a
 * negative token is an error of the run. */
static weft_tensor *build_gather(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const int axis = x ? wi_onnx_axis_of(n, node, x, 0) : -1;
    if (axis < 0) return NULL;
    const bool is_table = axis == 0 && weft_tensor_rank(x) == 2 && weft_tensor_dtype(x) == WEFT_F32 &&
                          wi_onnx_fixed_size(x, 0) > 0 && wi_onnx_fixed_size(x, 1) > 0;
    weft_tensor *const index =
        is_table && !wi_onnx_known(n, node, 1) ? wi_onnx_get(n, node, 1) : index_of(n, node, 1, x, axis);
    if (!index) return NULL;
    if (is_table) wi_onnx_bound(n, node, 1, weft_tensor_dimension(x, 0));
    return is_table && weft_tensor_rank(index) > 0 ? weft_embedding_with(x, index)
                                                   : weft_index_select(x, axis, index);
}

static weft_tensor *build_gather_elements(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const int axis = x ? wi_onnx_axis_of(n, node, x, 0) : -1;
    weft_tensor *const index = axis >= 0 ? index_of(n, node, 1, x, axis) : NULL;
    return index ? weft_gather(x, axis, index) : NULL;
}

/* Selects the elements at which the condition is true: along the axis, or in row-major order if the node has no axis. */
static weft_tensor *build_compress(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *x = wi_onnx_get(n, node, 0);
    const wi_onnx_numbers *const condition = wi_onnx_known(n, node, 1);
    if (!x) return NULL;
    if (!condition || condition->rank != 1)
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "its condition must be constant");
    const bool is_flat = !wi_onnx_attribute(node, "axis");
    if (is_flat && weft_tensor_rank(x) > 1) x = weft_flatten_axes(x, 0, weft_tensor_rank(x) - 1);
    const int axis = x ? wi_onnx_axis_of(n, node, x, 0) : -1;
    if (axis < 0) return NULL;
    wi_onnx_numbers index = {.dtype = WEFT_I32, .rank = 1};
    index.data = wi_arena_take(&n->arena, (condition->count + 1) * sizeof *index.data);
    if (!index.data) return wi_onnx_fail(n, node, WEFT_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; i < condition->count; i++)
        if (condition->data[i] != 0) index.data[index.count++] = (double)i;
    index.dims[0] = (int64_t)index.count;
    if (index.count == 0 || index.data[index.count - 1] >= (double)weft_tensor_dimension(x, axis))
        return wi_onnx_fail(
            n, node, WEFT_ERROR_SHAPE, "its condition selects no element, or one beyond the axis");
    return weft_index_select(x, axis, wi_onnx_array(n, &index));
}

static weft_tensor *build_one_hot(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const labels = wi_onnx_get(n, node, 0), *const values = wi_onnx_get(n, node, 2);
    const double depth = wi_onnx_get_number(n, node, 1, 0);
    if (!labels || !values || n->status != WEFT_OK) return NULL;
    const int rank = weft_tensor_rank(labels) + 1, axis = wi_onnx_axis(wi_onnx_whole(node, "axis", -1), rank);
    if (!(depth >= 1 && depth <= (double)(1 << 30)) || axis < 0 || axis >= rank)
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "its depth or its axis is out of range");
    weft_tensor *const whole = weft_cast(labels, WEFT_I32);
    weft_tensor *const label = weft_where(weft_less_number(whole, 0), weft_add_number(whole, depth), whole);
    weft_tensor *const hot = weft_cast(weft_one_hot(label, (int64_t)depth, WEFT_F32), WEFT_BOOL);
    weft_tensor *const off = weft_reshape_shape(weft_slice(values, 0, 0, 1), 0, NULL),
                       *const on = weft_reshape_shape(weft_slice(values, 0, 1, 2), 0, NULL);
    wi_onnx_set_type(n, node, 0, wi_onnx_get_type(n, node, 2));
    return weft_move_axis(weft_where(hot, on, off), -1, axis);
}

/* Reverses the first elements of each sequence, as many as its length says. */
static weft_tensor *build_reverse_sequence(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    weft_tensor *lengths = wi_onnx_get(n, node, 1);
    const int64_t time = wi_onnx_whole(node, "time_axis", 0), batch = wi_onnx_whole(node, "batch_axis", 1);
    int64_t dims[WEFT_MAX_RANK];
    if (!x || !lengths) return NULL;
    const int rank = weft_tensor_rank(x);
    if (time < 0 || time > 1 || batch != 1 - time || rank < 2 || weft_tensor_rank(lengths) != 1)
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "its axes must be 0 and 1, and its lengths a list");
    lengths = at_rank(lengths, (int)batch, rank);
    weft_tensor *const place = wi_onnx_iota(n, x, (int)time, rank);
    weft_tensor *const index =
        weft_where(weft_less(place, lengths), weft_sub(weft_sub_number(lengths, 1), place), place);
    wi_onnx_dims(x, dims);
    return weft_gather(x, (int)time, weft_expand(index, rank, dims));
}

/* ---- several axes as one ---- */

/* Elements or blocks of x that are read or written, each by a single index into the flattened leading axes of x. */
typedef struct places {
    weft_tensor *x; /* (blocks, rest...) */
    weft_tensor
        *index; /* of any rank, in [0, blocks); -1 if an index was out of range: an error of the run */
    weft_tensor *valid;
} places;

/* Adds an axis of `size` elements: index = index · size + the index along this axis. */
static void add_axis(places *p, weft_tensor *index, weft_tensor *size) {
    weft_tensor *const valid = weft_logical_and(weft_greater_equal_number(index, 0), weft_less(index, size));
    p->index = p->index ? weft_add(weft_mul(p->index, size), index) : index;
    p->valid = p->valid ? weft_logical_and(p->valid, valid) : valid;
}

static void finish(places *p, weft_tensor *x, int axes) {
    p->x = axes > 1 ? weft_flatten_axes(x, 0, axes - 1) : x;
    p->index = weft_where(p->valid, p->index, weft_number(p->index, -1));
}

/* Reads indices (batch..., n..., k), whose last axis has the indices along the k axes of x after the batch axes. */
static bool places_of_tuples(places *p, wi_onnx_import *n, wi_onnx_node *node, weft_tensor *x, int batch) {
    weft_tensor *const tuples = wi_onnx_get(n, node, 1);
    *p = (places){0};
    if (!x || !tuples) return false;
    const int rank = weft_tensor_rank(tuples) - 1;
    const int64_t k = rank >= 0 ? weft_tensor_dimension(tuples, rank) : 0;
    if (batch < 0 || batch > rank || k < 1 || k + batch > weft_tensor_rank(x) || batch >= weft_tensor_rank(x))
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "its indices do not match the data"), false;
    for (int d = 0; d < batch; d++) add_axis(p, wi_onnx_iota(n, tuples, d, rank), weft_size(x, d));
    for (int64_t i = 0; i < k; i++) {
        weft_tensor *const part =
            weft_squeeze_axes(weft_slice(tuples, rank, i, i + 1), (const int64_t[]){rank, WEFT_END});
        add_axis(p, from_start(part, x, batch + (int)i), weft_size(x, batch + (int)i));
    }
    finish(p, x, batch + (int)k);
    return weft_graph_status(n->graph) == WEFT_OK;
}

static weft_tensor *build_gather_nd(wi_onnx_import *n, wi_onnx_node *node) {
    places p;
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const int64_t batch = wi_onnx_whole(node, "batch_dims", 0);
    if (batch > WEFT_MAX_RANK || !places_of_tuples(&p, n, node, x, (int)batch)) return NULL;
    return weft_index_select(p.x, 0, p.index);
}

/* ---- writing ---- */

/* Multiplies each block of x by all sources whose index is this block. The factors are an array (n, blocks, rest...) with the source at its
 * own block and 1 at the other blocks; x is multiplied by the product over n. */
static weft_tensor *multiply_blocks(
    wi_onnx_import *n, wi_onnx_node *node, weft_tensor *x, weft_tensor *index, weft_tensor *source) {
    enum { MOST = 1 << 24 };
    const int64_t blocks = wi_onnx_fixed_size(x, 0), count = wi_onnx_fixed_size(index, 0);
    if (blocks == 0 || count == 0 || blocks * count > MOST)
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "its reduction mul is too large");
    const int rank = weft_tensor_rank(x);
    weft_tensor *const block = weft_unsqueeze(wi_onnx_iota(n, x, 0, rank), 0);
    weft_tensor *const factors = weft_where(
        weft_equal(at_rank(index, 0, rank + 1), block), weft_unsqueeze(source, 1), weft_number(source, 1));
    return weft_mul(x, weft_prod_axes(factors, (const int64_t[]){0, WEFT_END}, false));
}

/* Writes, adds or reduces the source (n, rest...) to the blocks of x (blocks, rest...) that the index (n) names. */
static weft_tensor *write_blocks(
    wi_onnx_import *n, wi_onnx_node *node, weft_tensor *x, weft_tensor *index, weft_tensor *source) {
    static const char *const kinds[] = {"none", "add", "mul", "max", "min", NULL};
    switch (wi_onnx_need_choice(n, node, "reduction", kinds)) {
    case 0: return weft_index_copy(x, 0, index, source);
    case 1: return weft_index_add(x, 0, index, source);
    case 2: return multiply_blocks(n, node, x, index, source);
    case 3: return weft_index_reduce(x, 0, index, source, WEFT_SCATTER_MAX, true);
    case 4: return weft_index_reduce(x, 0, index, source, WEFT_SCATTER_MIN, true);
    default: return NULL;
    }
}

/* Flattens the index, and as many axes of the source, writes, and reshapes the result to the shape of x. */
static weft_tensor *write_places(
    wi_onnx_import *n, wi_onnx_node *node, const places *p, weft_tensor *source, const weft_tensor *x) {
    int64_t dims[WEFT_MAX_RANK];
    weft_tensor *index = p->index;
    const int rank = weft_tensor_rank(index);
    if (!source) return NULL;
    if (weft_tensor_rank(source) != rank + weft_tensor_rank(p->x) - 1)
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "its updates do not match its indices");
    if (rank > 1)
        source = weft_flatten_axes(source, 0, rank - 1), index = weft_flatten_axes(index, 0, rank - 1);
    if (rank == 0) source = weft_unsqueeze(source, 0), index = weft_unsqueeze(index, 0);
    weft_tensor *const y = source && index ? write_blocks(n, node, p->x, index, source) : NULL;
    wi_onnx_dims(x, dims);
    return y ? weft_reshape_shape(y, weft_tensor_rank(x), dims) : NULL;
}

static weft_tensor *build_scatter_nd(wi_onnx_import *n, wi_onnx_node *node) {
    places p;
    weft_tensor *const x = wi_onnx_get(n, node, 0), *const source = wi_onnx_get(n, node, 2);
    return places_of_tuples(&p, n, node, x, 0) ? write_places(n, node, &p, source, x) : NULL;
}

/* Writes each element of the source to the index along one axis that the element of `index` at the same position names. */
static weft_tensor *write_along(wi_onnx_import *n, wi_onnx_node *node, weft_tensor *x, int axis,
    weft_tensor *index, weft_tensor *source) {
    places p = {0};
    int64_t dims[WEFT_MAX_RANK];
    const int rank = x ? weft_tensor_rank(x) : 0;
    if (!index || !source) return NULL;
    if (weft_tensor_rank(index) != rank || weft_tensor_rank(source) != rank)
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "its indices and updates must have rank %d", rank);
    for (int d = 0; d < rank; d++)
        add_axis(&p, d == axis ? from_start(index, x, d) : wi_onnx_iota(n, index, d, rank), weft_size(x, d));
    finish(&p, x, rank);
    wi_onnx_dims(index, dims);
    p.index = weft_expand(p.index, rank, dims);
    return p.index ? write_places(n, node, &p, source, x) : NULL;
}

static weft_tensor *build_scatter_elements(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0), *const source = wi_onnx_get(n, node, 2);
    const int axis = x && source ? wi_onnx_axis_of(n, node, x, 0) : -1;
    return axis >= 0 ? write_along(n, node, x, axis, wi_onnx_get(n, node, 1), source) : NULL;
}

/* Writes new rows to a cache, beginning at an index that is given for each element of the batch. */
static weft_tensor *build_tensor_scatter(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0), *const source = wi_onnx_get(n, node, 1);
    weft_tensor *first = wi_onnx_has(node, 2) ? wi_onnx_get(n, node, 2) : NULL;
    int64_t dims[WEFT_MAX_RANK];
    const int axis = x && source && n->status == WEFT_OK ? wi_onnx_axis_of(n, node, x, -2) : -1;
    if (axis < 0) return NULL;
    const int rank = weft_tensor_rank(x);
    if (weft_tensor_rank(source) != rank || axis == 0 || (first && weft_tensor_rank(first) != 1))
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "its update or its axis does not match the cache");
    weft_tensor *index = wi_onnx_iota(n, source, axis, rank);
    if (first) index = weft_add(index, at_rank(first, 0, rank));
    const int mode = wi_onnx_need_choice(n, node, "mode", (const char *const[]){"linear", "circular", NULL});
    if (mode < 0) return NULL;
    if (mode == 1) index = weft_remainder(index, weft_size(x, axis));
    wi_onnx_dims(source, dims);
    return write_along(n, node, x, axis, weft_expand(index, rank, dims), source);
}

const wi_onnx_op wi_onnx_index_ops[] = {{"Gather", .build = build_gather, .weights = 1u << 0},
    {"GatherElements", .build = build_gather_elements},
    {"GatherND", .build = build_gather_nd, .weights = 1u << 0},
    {"Compress", .build = build_compress, .host = 1u << 1},
    {"OneHot", .build = build_one_hot, .host = 1u << 1}, {"ReverseSequence", .build = build_reverse_sequence},
    {"Scatter", .build = build_scatter_elements}, {"ScatterElements", .build = build_scatter_elements},
    {"ScatterND", .build = build_scatter_nd}, {"TensorScatter", .build = build_tensor_scatter}, {0}};
