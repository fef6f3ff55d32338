/* Operators that read and write elements by index (Gather, Scatter, OneHot), on the host. */
#include "onnx/onnx_fold.h"
#include <math.h>
#include <string.h>

static bool opens(const wi_onnx_numbers *x) {
    bool some = false;
    for (size_t i = 0; x->open && i < x->count; i++) some = some || wi_onnx_is_open(x->data[i]);
    return some;
}

/* ---- taking ---- */

static wi_onnx_numbers *fold_gather(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    const wi_onnx_numbers *const x = in[0], *const index = in[1];
    int64_t dims[2 * WEFT_MAX_RANK];
    const int axis = wi_onnx_axis_within(n, node, wi_onnx_whole(node, "axis", 0), x->rank);
    if (axis < 0 || opens(index)) return NULL;
    const int rank = x->rank - 1 + index->rank, behind = axis + index->rank;
    size_t inner = 1;
    for (int d = 0; d < rank; d++)
        dims[d] = d < axis ? x->dims[d] : d < behind ? index->dims[d - axis] : x->dims[d - index->rank + 1];
    for (int d = axis + 1; d < x->rank; d++) inner *= (size_t)x->dims[d];
    wi_onnx_numbers *const made = wi_onnx_new_like(n, x, rank, dims);
    for (size_t i = 0; made && i < made->count; i++) {
        const size_t outer = i / inner / index->count, which = i / inner % index->count;
        const int64_t at = wi_onnx_index_within(n, node, index->data[which], x->dims[axis]);
        if (at < 0) return NULL;
        made->data[i] = x->data[(outer * (size_t)x->dims[axis] + (size_t)at) * inner + i % inner];
    }
    return made;
}

/* The number of the element of x that the index at position `at` selects along an axis; -1 after an error. */
static int64_t element(wi_onnx_import *n, wi_onnx_node *node, const wi_onnx_numbers *x,
    const wi_onnx_numbers *index, int axis, size_t i) {
    int64_t at[WEFT_MAX_RANK];
    wi_onnx_position(index->rank, index->dims, i, at);
    at[axis] = wi_onnx_index_within(n, node, index->data[i], x->dims[axis]);
    return at[axis] < 0 ? -1 : (int64_t)wi_onnx_source(x, x->rank, at);
}

/* Is the shape of the indices within the shape of x along all axes but one? */
static bool lies_within(const wi_onnx_numbers *index, const wi_onnx_numbers *x, int axis) {
    bool fits = index->rank == x->rank;
    for (int d = 0; fits && d < x->rank; d++) fits = d == axis || index->dims[d] <= x->dims[d];
    return fits;
}

static wi_onnx_numbers *fold_gather_elements(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    const int axis = wi_onnx_axis_within(n, node, wi_onnx_whole(node, "axis", 0), in[0]->rank);
    if (axis < 0 || opens(in[1])) return NULL;
    if (!lies_within(in[1], in[0], axis))
        return wi_onnx_misfit(n, node, "the indices have a shape that does not fit");
    wi_onnx_numbers *const made = wi_onnx_new_like(n, in[0], in[1]->rank, in[1]->dims);
    for (size_t i = 0; made && i < made->count; i++) {
        const int64_t from = element(n, node, in[0], in[1], axis, i);
        if (from < 0) return NULL;
        made->data[i] = in[0]->data[from];
    }
    return made;
}

/* The number of the first element of x that tuple i of the indices selects, after `batch` common axes; -1 after an error. */
static int64_t tuple(wi_onnx_import *n, wi_onnx_node *node, const wi_onnx_numbers *x,
    const wi_onnx_numbers *index, int batch, size_t i) {
    const int64_t width = index->dims[index->rank - 1];
    int64_t at[WEFT_MAX_RANK] = {0};
    size_t place = 0, each = index->count / (size_t)width;
    for (int d = 0; d < batch; d++) each /= (size_t)x->dims[d];
    wi_onnx_position(batch, x->dims, i / each, at);
    for (int64_t d = 0; d < width; d++) {
        at[batch + d] =
            wi_onnx_index_within(n, node, index->data[i * (size_t)width + (size_t)d], x->dims[batch + d]);
        if (at[batch + d] < 0) return -1;
    }
    for (int d = 0; d < x->rank; d++) place = place * (size_t)x->dims[d] + (size_t)at[d];
    return (int64_t)place;
}

/* Computes the shape of a result by tuples: the shape of the indices without its last axis, followed by the axes of x that a tuple does not
 * index. Returns the number of elements that each tuple selects; 0 after an error. */
static size_t tuples(
    wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in, int64_t batch, int *rank, int64_t *dims) {
    const wi_onnx_numbers *const x = in[0], *const index = in[1];
    const int64_t width = index->rank > 0 ? index->dims[index->rank - 1] : 0;
    size_t inner = 1;
    bool fits = batch >= 0 && batch < index->rank && width > 0 && batch + width <= x->rank;
    for (int d = 0; fits && d < batch; d++) fits = index->dims[d] == x->dims[d];
    if (fits) {
        *rank = index->rank - 1 + x->rank - (int)(batch + width);
        for (int d = 0; d < *rank; d++)
            dims[d] = d < index->rank - 1 ? index->dims[d] : x->dims[d - (index->rank - 1) + batch + width];
        for (int64_t d = batch + width; d < x->rank; d++) inner *= (size_t)x->dims[d];
        if (*rank <= WEFT_MAX_RANK) return inner;
    }
    wi_onnx_misfit(n, node, "the indices have a shape that does not fit");
    return 0;
}

static wi_onnx_numbers *fold_gather_nd(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    const int64_t batch = wi_onnx_whole(node, "batch_dims", 0);
    int64_t dims[2 * WEFT_MAX_RANK];
    int rank;
    const size_t inner = opens(in[1]) ? 0 : tuples(n, node, in, batch, &rank, dims);
    wi_onnx_numbers *const made = inner > 0 ? wi_onnx_new_like(n, in[0], rank, dims) : NULL;
    for (size_t i = 0; made && i < made->count / inner; i++) {
        const int64_t from = tuple(n, node, in[0], in[1], (int)batch, i);
        if (from < 0) return NULL;
        memcpy(made->data + i * inner, in[0]->data + from, inner * sizeof *made->data);
    }
    return made;
}

/* ---- putting ---- */

/* A copy of x for the updates. NULL: the updates are added or reduced instead of replacing elements, which is left to the device. */
static wi_onnx_numbers *scattered(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    const bool replaces = !wi_onnx_attribute(node, "reduction") || wi_onnx_says(node, "reduction", "none");
    if (!replaces || opens(in[1])) return NULL;
    if (in[0]->dtype != in[2]->dtype) return wi_onnx_misfit(n, node, "its inputs have types that do not fit");
    wi_onnx_numbers *const made = wi_onnx_new_like(n, in[0], in[0]->rank, in[0]->dims);
    if (!made) return NULL;
    memcpy(made->data, in[0]->data, made->count * sizeof *made->data);
    made->open = in[0]->open || in[2]->open;
    return made;
}

static wi_onnx_numbers *fold_scatter_elements(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    const int axis = wi_onnx_axis_within(n, node, wi_onnx_whole(node, "axis", 0), in[0]->rank);
    wi_onnx_numbers *const made = axis < 0 ? NULL : scattered(n, node, in);
    if (!made) return NULL;
    if (!lies_within(in[1], in[0], axis) || in[2]->rank != in[1]->rank ||
        memcmp(in[1]->dims, in[2]->dims, (size_t)in[1]->rank * sizeof *in[1]->dims) != 0)
        return wi_onnx_misfit(n, node, "the indices have a shape that does not fit");
    for (size_t i = 0; i < in[1]->count; i++) {
        const int64_t to = element(n, node, in[0], in[1], axis, i);
        if (to < 0) return NULL;
        made->data[to] = in[2]->data[i];
    }
    return made;
}

static wi_onnx_numbers *fold_scatter_nd(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    int64_t dims[2 * WEFT_MAX_RANK];
    int rank;
    wi_onnx_numbers *const made = scattered(n, node, in);
    const size_t inner = made ? tuples(n, node, in, 0, &rank, dims) : 0;
    if (inner == 0) return NULL;
    if (in[2]->rank != rank || memcmp(dims, in[2]->dims, (size_t)rank * sizeof *dims) != 0)
        return wi_onnx_misfit(n, node, "the updates have a shape that does not fit");
    for (size_t i = 0; i < in[2]->count / inner; i++) {
        const int64_t to = tuple(n, node, in[0], in[1], 0, i);
        if (to < 0) return NULL;
        memcpy(made->data + to, in[2]->data + i * inner, inner * sizeof *made->data);
    }
    return made;
}

/* ---- conditions ---- */

static wi_onnx_numbers *fold_compress(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    const bool flat = !wi_onnx_attribute(node, "axis");
    const wi_onnx_numbers *x = in[0];
    const int64_t all = (int64_t)x->count;
    if (flat) x = wi_onnx_reshaped(n, x, 1, &all);
    const int axis = x ? wi_onnx_axis_within(n, node, wi_onnx_whole(node, "axis", 0), x->rank) : -1;
    if (axis < 0) return NULL;
    if (in[1]->count > (size_t)x->dims[axis])
        return wi_onnx_misfit(n, node, "the condition is longer than the axis");
    wi_onnx_numbers index = {.dtype = WEFT_I32, .rank = 1};
    index.data = wi_arena_take(&n->arena, (in[1]->count + 1) * sizeof *index.data);
    for (size_t i = 0; index.data && i < in[1]->count; i++)
        if (in[1]->data[i] != 0) index.data[index.count++] = (double)i;
    index.dims[0] = (int64_t)index.count;
    const wi_onnx_numbers *const both[] = {x, &index};
    return index.data ? fold_gather(n, node, both) : NULL;
}

static wi_onnx_numbers *fold_nonzero(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    const wi_onnx_numbers *const x = in[0];
    int64_t dims[2] = {x->rank, 0}, at[WEFT_MAX_RANK];
    (void)node;
    if (opens(x)) return NULL;
    for (size_t i = 0; i < x->count; i++) dims[1] += x->data[i] != 0;
    wi_onnx_numbers *const made = wi_onnx_new(n, WI_ONNX_INT64, 2, dims);
    for (size_t i = 0, k = 0; made && i < x->count; i++) {
        wi_onnx_position(x->rank, x->dims, i, at);
        for (int d = 0; x->data[i] != 0 && d < x->rank; d++)
            made->data[(size_t)d * (size_t)dims[1] + k] = (double)at[d];
        k += x->data[i] != 0;
    }
    return made;
}

/* A class outside of [-depth, depth) has no 1. */
static wi_onnx_numbers *fold_one_hot(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    const wi_onnx_numbers *const index = in[0];
    int64_t dims[WEFT_MAX_RANK + 1];
    wi_onnx_list depth;
    size_t inner = 1;
    if (!wi_onnx_closed(node, in[1], NULL, &depth) || depth.count != 1 || in[2]->count != 2 || opens(index))
        return NULL;
    const int axis = wi_onnx_axis_within(n, node, wi_onnx_whole(node, "axis", -1), index->rank + 1);
    if (axis < 0) return NULL;
    for (int d = 0; d <= index->rank; d++)
        dims[d] = d < axis ? index->dims[d] : d == axis ? depth.of[0] : index->dims[d - 1];
    for (int d = axis; d < index->rank; d++) inner *= (size_t)index->dims[d];
    wi_onnx_numbers *const made = wi_onnx_new_like(n, in[2], index->rank + 1, dims);
    for (size_t i = 0; made && i < made->count; i++) {
        const size_t column = i / inner % (size_t)depth.of[0];
        const double at = trunc(index->data[i / inner / (size_t)depth.of[0] * inner + i % inner]);
        made->data[i] = in[2]->data[(at < 0 ? at + (double)depth.of[0] : at) == (double)column];
    }
    return made;
}

const wi_onnx_fold_row wi_onnx_index_folds[] = {{"Gather", .fold = fold_gather, .least = 2},
    {"GatherElements", .fold = fold_gather_elements, .least = 2},
    {"GatherND", .fold = fold_gather_nd, .least = 2},
    {"ScatterElements", .fold = fold_scatter_elements, .least = 3},
    {"Scatter", .fold = fold_scatter_elements, .least = 3},
    {"ScatterND", .fold = fold_scatter_nd, .least = 3}, {"Compress", .fold = fold_compress, .least = 2},
    {"NonZero", .fold = fold_nonzero, .least = 1}, {"OneHot", .fold = fold_one_hot, .least = 3}, {0}};
