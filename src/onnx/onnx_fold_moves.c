/* Operators that change the shape or the order of numbers, on the host. */
#include "onnx/onnx_fold.h"
#include <math.h>
#include <string.h>

/* ---- other shapes ---- */

/* In the new shape, 0 means the dimension of x, and -1 the dimension that follows from the number of elements. */
static wi_onnx_numbers *fold_reshape(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    const bool zero = wi_onnx_whole(node, "allowzero", 0) != 0;
    wi_onnx_list shape;
    int64_t rest = 1;
    int open = -1;
    if (!wi_onnx_closed(node, in[1], "shape", &shape)) return NULL;
    for (int d = 0; d < shape.count; d++) {
        if (shape.of[d] == 0 && !zero && d < in[0]->rank) shape.of[d] = in[0]->dims[d];
        if (shape.of[d] < -1 || shape.of[d] > WI_ONNX_MOST_NUMBERS || (shape.of[d] == -1 && open >= 0))
            return wi_onnx_misfit(n, node, "the shape has a dimension that is not a size");
        if (shape.of[d] == -1)
            open = d;
        else if (rest <= WI_ONNX_MOST_NUMBERS)
            rest *= shape.of[d];
    }
    if (open >= 0) shape.of[open] = rest > 0 ? (int64_t)in[0]->count / rest : 0;
    wi_onnx_numbers *const made = wi_onnx_reshaped(n, in[0], shape.count, shape.of);
    return made ? made : wi_onnx_misfit(n, node, "the shape has another number of elements");
}

static wi_onnx_numbers *fold_flatten(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    int64_t flat[2] = {1, 1}, axis = wi_onnx_whole(node, "axis", 1);
    axis = axis < 0 ? axis + in[0]->rank : axis;
    if (axis < 0 || axis > in[0]->rank) return wi_onnx_misfit(n, node, "there is no such axis");
    for (int d = 0; d < in[0]->rank; d++) flat[d >= axis] *= in[0]->dims[d];
    return wi_onnx_reshaped(n, in[0], 2, flat);
}

/* Marks the axes that a list names. False: the tensor has no such axis, or the list names an axis twice. */
static bool mark(wi_onnx_import *n, wi_onnx_node *node, const wi_onnx_list *axes, int rank, bool *marked) {
    if (rank > WEFT_MAX_RANK) return wi_onnx_misfit(n, node, "it has too many dimensions");
    for (int i = 0; i < axes->count; i++) {
        const int axis = wi_onnx_axis_within(n, node, axes->of[i], rank);
        if (axis < 0) return false;
        if (marked[axis]) return wi_onnx_misfit(n, node, "an axis is named twice");
        marked[axis] = true;
    }
    return true;
}

static wi_onnx_numbers *fold_squeeze(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    bool away[WEFT_MAX_RANK] = {false};
    int64_t dims[WEFT_MAX_RANK];
    wi_onnx_list axes;
    int rank = 0;
    if (!wi_onnx_closed(node, in[1], "axes", &axes) || !mark(n, node, &axes, in[0]->rank, away)) return NULL;
    for (int d = 0; d < in[0]->rank; d++) {
        if (away[d] && in[0]->dims[d] != 1)
            return wi_onnx_misfit(n, node, "a squeezed axis does not have the size 1");
        if (!away[d] && (axes.count > 0 || in[0]->dims[d] != 1)) dims[rank++] = in[0]->dims[d];
    }
    return wi_onnx_reshaped(n, in[0], rank, dims);
}

/* The axes of the node are axes of the result. */
static wi_onnx_numbers *fold_unsqueeze(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    bool isnew[WEFT_MAX_RANK] = {false};
    int64_t dims[WEFT_MAX_RANK];
    wi_onnx_list axes;
    if (!wi_onnx_closed(node, in[1], "axes", &axes)) return NULL;
    const int rank = in[0]->rank + axes.count;
    if (!mark(n, node, &axes, rank, isnew)) return NULL;
    for (int d = 0, from = 0; d < rank; d++) dims[d] = isnew[d] ? 1 : in[0]->dims[from++];
    return wi_onnx_reshaped(n, in[0], rank, dims);
}

static wi_onnx_numbers *fold_transpose(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    const wi_onnx_numbers *const x = in[0];
    wi_onnx_list perm = wi_onnx_wholes(node, "perm");
    bool taken[WEFT_MAX_RANK] = {false};
    int64_t dims[WEFT_MAX_RANK], at[WEFT_MAX_RANK], from[WEFT_MAX_RANK] = {0};
    for (int d = 0; perm.count == 0 && d < x->rank; d++) perm.of[d] = x->rank - 1 - d;
    if (perm.count > 0 && (perm.count != x->rank || !mark(n, node, &perm, x->rank, taken)))
        return wi_onnx_misfit(n, node, "perm is not a permutation of the axes");
    for (int d = 0; d < x->rank; d++) perm.of[d] = wi_onnx_axis(perm.of[d], x->rank);
    for (int d = 0; d < x->rank; d++) dims[d] = x->dims[perm.of[d]];
    wi_onnx_numbers *const made = wi_onnx_new_like(n, x, x->rank, dims);
    for (size_t i = 0; made && i < made->count; i++) {
        wi_onnx_position(x->rank, dims, i, at);
        for (int d = 0; d < x->rank; d++) from[perm.of[d]] = at[d];
        made->data[i] = x->data[wi_onnx_source(x, x->rank, from)];
    }
    return made;
}

/* ---- repetitions ---- */

static wi_onnx_numbers *fold_expand(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    wi_onnx_list shape;
    int64_t at[WEFT_MAX_RANK];
    if (!wi_onnx_closed(node, in[1], NULL, &shape)) return NULL;
    int rank = shape.count;
    if (rank > WEFT_MAX_RANK || !wi_onnx_broadcast(in[0], &rank, shape.of))
        return wi_onnx_misfit(n, node, "it does not broadcast to the shape");
    wi_onnx_numbers *const made = wi_onnx_new_like(n, in[0], rank, shape.of);
    for (size_t i = 0; made && i < made->count; i++) {
        wi_onnx_position(rank, shape.of, i, at);
        made->data[i] = in[0]->data[wi_onnx_source(in[0], rank, at)];
    }
    return made;
}

static wi_onnx_numbers *fold_tile(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    const wi_onnx_numbers *const x = in[0];
    wi_onnx_list repeats;
    int64_t dims[WEFT_MAX_RANK], at[WEFT_MAX_RANK];
    if (in[2] || !wi_onnx_closed(node, in[1], NULL, &repeats)) return NULL; /* in[2]: of versions before 6 */
    if (repeats.count != x->rank)
        return wi_onnx_misfit(n, node, "it needs a number of repetitions for each axis");
    for (int d = 0; d < x->rank; d++) {
        const int64_t times = repeats.of[d];
        if (times < 0) return wi_onnx_misfit(n, node, "a number of repetitions is negative");
        dims[d] = times > WI_ONNX_MOST_NUMBERS ? WI_ONNX_MOST_NUMBERS + 1 : x->dims[d] * times;
    }
    wi_onnx_numbers *const made = wi_onnx_new_like(n, x, x->rank, dims);
    for (size_t i = 0; made && i < made->count; i++) {
        wi_onnx_position(x->rank, dims, i, at);
        for (int d = 0; d < x->rank; d++) at[d] %= x->dims[d];
        made->data[i] = x->data[wi_onnx_source(x, x->rank, at)];
    }
    return made;
}

/* ---- parts ---- */

/* Copies `part` to the range of `whole` that begins at index `first` of the axis; if `in` is false, copies the range to `part`. */
static void copy_part(
    const wi_onnx_numbers *part, const wi_onnx_numbers *whole, int axis, int64_t first, bool in) {
    size_t inner = 1, outer = 1;
    for (int d = 0; d < part->rank; d++) *(d < axis ? &outer : &inner) *= (size_t)part->dims[d];
    const size_t step = part->dims[axis] > 0 ? inner / (size_t)part->dims[axis] : 0;
    for (size_t o = 0; o < outer && inner > 0; o++) {
        double *const there = whole->data + o * step * (size_t)whole->dims[axis] + (size_t)first * step;
        if (in)
            memcpy(there, part->data + o * inner, inner * sizeof *there);
        else
            memcpy(part->data + o * inner, there, inner * sizeof *there);
    }
}

static wi_onnx_numbers *fold_concat(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    wi_onnx_numbers whole = *in[0];
    const int axis = wi_onnx_axis_within(n, node, wi_onnx_whole(node, "axis", 1), in[0]->rank);
    for (size_t i = 1; axis >= 0 && i < node->n_input; i++) {
        bool fits = in[i] && in[i]->rank == whole.rank && in[i]->dtype == whole.dtype;
        for (int d = 0; fits && d < whole.rank; d++) fits = d == axis || in[i]->dims[d] == whole.dims[d];
        if (!fits) return wi_onnx_misfit(n, node, "its inputs have shapes or types that do not fit");
        whole.dims[axis] += in[i]->dims[axis];
        whole.open = whole.open || in[i]->open;
    }
    wi_onnx_numbers *const made = axis < 0 ? NULL : wi_onnx_new_like(n, &whole, whole.rank, whole.dims);
    int64_t first = 0;
    for (size_t i = 0; made && i < node->n_input; first += in[i++]->dims[axis])
        copy_part(in[i], made, axis, first, true);
    return made;
}

/* If no sizes are given, the parts are equal, except that the last one may be smaller. */
static wi_onnx_numbers *fold_split(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    const wi_onnx_numbers *const x = in[0];
    const int64_t parts = (int64_t)node->n_output;
    wi_onnx_list sizes;
    wi_onnx_numbers *first = NULL;
    const int axis = wi_onnx_axis_within(n, node, wi_onnx_whole(node, "axis", 0), x->rank);
    if (axis < 0 || !wi_onnx_closed(node, in[1], "split", &sizes)) return NULL;
    int64_t dims[WEFT_MAX_RANK], begin = 0;
    const int64_t all = x->dims[axis], part = (all + parts - 1) / parts;
    if (sizes.count > 0 && sizes.count != parts)
        return wi_onnx_misfit(n, node, "it needs a size for each output");
    memcpy(dims, x->dims, sizeof dims);
    for (int64_t i = 0; i < parts; i++, begin += dims[axis]) {
        dims[axis] = sizes.count > 0 ? sizes.of[i] : part > all - begin ? all - begin : part;
        if (dims[axis] < 0 || dims[axis] > all - begin || (i + 1 == parts && begin + dims[axis] != all))
            return wi_onnx_misfit(n, node, "its sizes are not those of the axis");
        wi_onnx_numbers *const made = wi_onnx_new_like(n, x, x->rank, dims);
        if (!made) return NULL;
        copy_part(made, x, axis, begin, false);
        wi_onnx_set_numbers(n, node, (size_t)i, made);
        first = first ? first : made;
    }
    return first;
}

/* Start, step and count of a slice of an axis. */
typedef struct cut {
    int64_t start, step, count;
} cut;

static cut cut_of(int64_t start, int64_t end, int64_t step, int64_t size) {
    const int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
    start = start < -size ? low : start < 0 ? start + size : start;
    end = end < -size ? low : end < 0 ? end + size : end;
    start = start < low ? low : start > high ? high : start;
    end = end < low ? low : end > high ? high : end;
    const int64_t way = step < 0 ? start - end : end - start, pace = step < -size ? size + 1
                                                                     : step < 0   ? -step
                                                                                  : step;
    return (cut){start, step < 0 ? -pace : pace, way > 0 ? (way - 1) / pace + 1 : 0};
}

/* Starts, ends and axes are attributes up to version 9, and inputs from version 10 on. */
static wi_onnx_numbers *fold_slice(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    const wi_onnx_numbers *const x = in[0];
    wi_onnx_list starts, ends, axes, steps;
    cut cuts[WEFT_MAX_RANK];
    int64_t dims[WEFT_MAX_RANK], at[WEFT_MAX_RANK];
    bool marked[WEFT_MAX_RANK] = {false};
    if (!wi_onnx_closed(node, in[1], "starts", &starts) || !wi_onnx_closed(node, in[2], "ends", &ends) ||
        !wi_onnx_closed(node, in[3], "axes", &axes) || !wi_onnx_closed(node, in[4], NULL, &steps))
        return NULL;
    for (int d = 0; axes.count == 0 && d < starts.count; d++) axes.of[d] = d;
    axes.count = axes.count ? axes.count : starts.count;
    if (ends.count != starts.count || axes.count != starts.count ||
        (steps.count && steps.count != starts.count))
        return wi_onnx_misfit(n, node, "its axes, ends or steps do not match its starts");
    if (!mark(n, node, &axes, x->rank, marked)) return NULL;
    for (int d = 0; d < x->rank; d++) cuts[d] = (cut){0, 1, x->dims[d]};
    for (int i = 0; i < starts.count; i++) {
        const int axis = wi_onnx_axis(axes.of[i], x->rank);
        const int64_t step = steps.count ? steps.of[i] : 1;
        if (step == 0) return wi_onnx_misfit(n, node, "a step is 0");
        cuts[axis] = cut_of(starts.of[i], ends.of[i], step, x->dims[axis]);
    }
    for (int d = 0; d < x->rank; d++) dims[d] = cuts[d].count;
    wi_onnx_numbers *const made = wi_onnx_new_like(n, x, x->rank, dims);
    for (size_t i = 0; made && i < made->count; i++) {
        wi_onnx_position(x->rank, dims, i, at);
        for (int d = 0; d < x->rank; d++) at[d] = cuts[d].start + at[d] * cuts[d].step;
        made->data[i] = x->data[wi_onnx_source(x, x->rank, at)];
    }
    return made;
}

/* Does the host compute this mode of Pad? The builder reports an error for unknown modes. */
static bool knows_mode(wi_onnx_node *node) {
    return !wi_onnx_attribute(node, "mode") || wi_onnx_says(node, "mode", "constant") ||
           wi_onnx_says(node, "mode", "reflect") || wi_onnx_says(node, "mode", "edge") ||
           wi_onnx_says(node, "mode", "wrap");
}

/* The index in the original axis of the element at index `at` relative to its beginning, which may be in the padding; -1: there is none. */
static int64_t unpadded(wi_onnx_node *node, int64_t at, int64_t size) {
    const bool reflects = wi_onnx_says(node, "mode", "reflect");
    if (at >= 0 && at < size) return at;
    if (wi_onnx_says(node, "mode", "edge")) return at < 0 ? 0 : size - 1;
    if (wi_onnx_says(node, "mode", "wrap")) return ((at % size) + size) % size;
    if (!reflects) return -1;
    if (size == 1) return 0;
    const int64_t turn = 2 * (size - 1), rest = ((at % turn) + turn) % turn;
    return rest < size ? rest : turn - rest;
}

static bool find_pads(
    wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in, int64_t *before, int64_t *dims) {
    const int rank = in[0]->rank;
    bool marked[WEFT_MAX_RANK] = {false};
    wi_onnx_list pads, axes;
    if (!wi_onnx_closed(node, in[1], "pads", &pads) || !wi_onnx_closed(node, in[3], NULL, &axes))
        return false;
    for (int d = 0; !in[3] && d < rank; d++) axes.of[axes.count++] = d;
    if (pads.count != 2 * axes.count) return wi_onnx_misfit(n, node, "it needs two numbers for each axis");
    if (!mark(n, node, &axes, rank, marked)) return false;
    memcpy(dims, in[0]->dims, WEFT_MAX_RANK * sizeof *dims);
    for (int i = 0; i < axes.count; i++) {
        const int axis = wi_onnx_axis(axes.of[i], rank);
        const int64_t after = pads.of[i + axes.count];
        before[axis] = pads.of[i];
        if (pads.of[i] > WI_ONNX_MOST_NUMBERS || after > WI_ONNX_MOST_NUMBERS || pads.of[i] < -dims[axis] ||
            after < -dims[axis] || dims[axis] + before[axis] + after < 0)
            return wi_onnx_misfit(n, node, "its pads do not fit");
        dims[axis] += before[axis] + after;
    }
    return true;
}

static wi_onnx_numbers *fold_pad(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    const wi_onnx_numbers *const x = in[0];
    int64_t before[WEFT_MAX_RANK] = {0}, dims[WEFT_MAX_RANK], at[WEFT_MAX_RANK];
    const double value = in[2] && in[2]->count == 1 ? in[2]->data[0] : wi_onnx_real(node, "value", 0);
    const WiOnnx__AttributeProto *const mode = wi_onnx_attribute(node, "mode");
    if (!knows_mode(node) || !find_pads(n, node, in, before, dims)) return NULL;
    wi_onnx_numbers *const made = wi_onnx_new_like(n, x, x->rank, dims);
    if (!made || (mode && x->count == 0)) return NULL;
    for (size_t i = 0; i < made->count; i++) {
        bool inside = true;
        wi_onnx_position(x->rank, dims, i, at);
        for (int d = 0; d < x->rank; d++) {
            at[d] = unpadded(node, at[d] - before[d], x->dims[d]);
            inside = inside && at[d] >= 0;
        }
        made->data[i] = inside ? x->data[wi_onnx_source(x, x->rank, at)] : value;
    }
    made->open = x->open || (in[2] && in[2]->open);
    return made;
}

/* Keeps the elements above or below a diagonal; the others become 0. */
static wi_onnx_numbers *fold_trilu(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    const wi_onnx_numbers *const x = in[0];
    wi_onnx_list diagonal;
    if (x->rank < 2 || !wi_onnx_closed(node, in[1], NULL, &diagonal)) return NULL;
    const bool upper = wi_onnx_whole(node, "upper", 1) != 0;
    const int64_t k = diagonal.count > 0 ? diagonal.of[0] : 0, columns = x->dims[x->rank - 1],
                  rows = x->dims[x->rank - 2];
    wi_onnx_numbers *const made = wi_onnx_new_like(n, x, x->rank, x->dims);
    for (size_t i = 0; made && i < made->count; i++) {
        const int64_t over = (int64_t)i % columns - (int64_t)i / columns % rows;
        made->data[i] = (upper ? over >= k : over <= k) ? x->data[i] : 0;
    }
    return made;
}

const wi_onnx_fold_row wi_onnx_move_folds[] = {{"Reshape", .fold = fold_reshape, .least = 1},
    {"Flatten", .fold = fold_flatten, .least = 1}, {"Squeeze", .fold = fold_squeeze, .least = 1},
    {"Unsqueeze", .fold = fold_unsqueeze, .least = 1}, {"Transpose", .fold = fold_transpose, .least = 1},
    {"Expand", .fold = fold_expand, .least = 2}, {"Tile", .fold = fold_tile, .least = 2},
    {"Concat", .fold = fold_concat, .least = 1}, {"Split", .fold = fold_split, .least = 1},
    {"Slice", .fold = fold_slice, .least = 1}, {"Pad", .fold = fold_pad, .least = 1},
    {"Trilu", .fold = fold_trilu, .least = 1}, {0}};
