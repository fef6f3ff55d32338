/* Operators that combine numbers along axes, on the host. */
#include "onnx/onnx_fold.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PRODUCTS = 1 << 24 };

/* ---- reductions ---- */

/* Finds the reduced axes, and the shape of the result in which these have size 1. False: an error, or the node is left to its builder. */
static bool find_kept(
    wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in, wi_onnx_numbers *kept, bool *away) {
    wi_onnx_list axes;
    *kept = *in[0];
    if (!wi_onnx_closed(node, in[1], "axes", &axes)) return false;
    if (axes.count == 0 && wi_onnx_whole(node, "noop_with_empty_axes", 0)) return false;
    for (int d = 0; d < kept->rank; d++) away[d] = axes.count == 0;
    for (int i = 0; i < axes.count; i++) {
        const int axis = wi_onnx_axis_within(n, node, axes.of[i], kept->rank);
        if (axis < 0) return false;
        away[axis] = true;
    }
    for (int d = 0; d < kept->rank; d++) kept->dims[d] = away[d] ? 1 : kept->dims[d];
    return true;
}

/* The result without axes that were reduced, if the node does not keep these. */
static wi_onnx_numbers *without_axes(wi_onnx_import *n, wi_onnx_node *node, const wi_onnx_numbers *made,
    const wi_onnx_numbers *x, const bool *away) {
    int64_t dims[WEFT_MAX_RANK];
    int rank = 0;
    const bool keeps = wi_onnx_whole(node, "keepdims", 1) != 0;
    for (int d = 0; d < x->rank; d++)
        if (keeps || !away[d]) dims[rank++] = made->dims[d];
    return wi_onnx_reshaped(n, made, rank, dims);
}

static double of_nothing(wi_onnx_rule rule) {
    return rule == WI_ONNX_MUL   ? 1
           : rule == WI_ONNX_MAX ? -(double)INFINITY
           : rule == WI_ONNX_MIN ? (double)INFINITY
                                 : 0;
}

static wi_onnx_numbers *fold_reduction(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    const wi_onnx_fold_row *const row = wi_onnx_fold_row_in(wi_onnx_reduce_folds, node);
    const wi_onnx_numbers *const x = in[0];
    const bool orders = row->rule == WI_ONNX_MAX || row->rule == WI_ONNX_MIN;
    wi_onnx_numbers kept;
    bool away[WEFT_MAX_RANK];
    int64_t at[WEFT_MAX_RANK];
    if ((x->dtype == WEFT_BOOL && !orders) ||
        (wi_onnx_is_whole(x) && (row->after != WI_ONNX_SAME || (orders && x->count == 0))) ||
        !find_kept(n, node, in, &kept, away))
        return NULL;
    wi_onnx_numbers *const made = wi_onnx_new_like(n, x, kept.rank, kept.dims);
    bool *const seen = made ? wi_arena_take(&n->arena, made->count + 1) : NULL;
    if (!seen) return NULL;
    for (size_t i = 0; i < made->count; i++) made->data[i] = of_nothing(row->rule);
    for (size_t i = 0; i < x->count; i++) {
        wi_onnx_position(x->rank, x->dims, i, at);
        const size_t to = wi_onnx_source(made, x->rank, at);
        double value;
        if (!wi_onnx_combine(n, node, x, row->before, x->data[i], 0, &value) ||
            (seen[to] && !wi_onnx_combine(n, node, x, row->rule, made->data[to], value, &value)))
            return NULL;
        made->data[to] = value;
        seen[to] = true;
    }
    const double each = made->count > 0 ? (double)x->count / (double)made->count : 0;
    for (size_t i = 0; row->after != WI_ONNX_SAME && i < made->count; i++)
        if (!wi_onnx_combine(n, node, x, row->after, made->data[i], each, &made->data[i])) return NULL;
    return wi_onnx_fit_to_type(n, node, made) ? without_axes(n, node, made, x, away) : NULL;
}

/* ---- along one axis ---- */

/* The numbers along an axis: `count` lines of `size` numbers, which are `inner` numbers apart. */
typedef struct lines {
    size_t count, size, inner;
} lines;

static lines lines_of(const wi_onnx_numbers *x, int axis) {
    lines made = {1, (size_t)x->dims[axis], 1};
    for (int d = 0; d < x->rank; d++) {
        if (d != axis) made.count *= (size_t)x->dims[d];
        if (d > axis) made.inner *= (size_t)x->dims[d];
    }
    return made;
}

/* The index at which line i begins in an array whose lines have `size` numbers. */
static size_t begin_of(const lines *of, size_t i, size_t size) {
    return i / of->inner * of->inner * size + i % of->inner;
}

typedef struct ranked {
    double value, order;
    size_t place;
} ranked;

/* Sorts by falling `order`; of equal elements the one with the lower index is first. */
static int compare(const void *a, const void *b) {
    const ranked *const p = a, *const q = b;
    if (p->order != q->order) return p->order > q->order ? -1 : 1;
    return p->place < q->place ? -1 : p->place > q->place;
}

static bool is_ordered(const wi_onnx_numbers *x) {
    bool ordered = true;
    for (size_t i = 0; i < x->count; i++)
        ordered = ordered && !isnan(x->data[i]) && !(x->open && wi_onnx_is_open(x->data[i]));
    return ordered;
}

/* Writes the first k elements of each sorted line, and their indices; values or places may be NULL. False: memory ran out. */
static bool rank_lines(wi_onnx_import *n, const wi_onnx_numbers *x, int axis, size_t k, bool largest,
    bool last, double *values, double *places) {
    const lines of = lines_of(x, axis);
    ranked *const line = wi_arena_take(&n->arena, (of.size + 1) * sizeof *line);
    for (size_t i = 0; line && i < of.count; i++) {
        for (size_t j = 0; j < of.size; j++) {
            const size_t place = last ? of.size - 1 - j : j;
            const double value = x->data[begin_of(&of, i, of.size) + place * of.inner];
            line[j] = (ranked){value, largest ? value : -value, j};
        }
        qsort(line, of.size, sizeof *line, compare);
        for (size_t j = 0; j < k; j++) {
            const size_t to = begin_of(&of, i, k) + j * of.inner;
            if (values) values[to] = line[j].value;
            places[to] = (double)(last ? of.size - 1 - line[j].place : line[j].place);
        }
    }
    return line != NULL;
}

/* ArgMax and ArgMin. */
static wi_onnx_numbers *fold_place(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    const wi_onnx_fold_row *const row = wi_onnx_fold_row_in(wi_onnx_reduce_folds, node);
    const wi_onnx_numbers *const x = in[0];
    bool away[WEFT_MAX_RANK] = {false};
    int64_t dims[WEFT_MAX_RANK];
    const int axis = wi_onnx_axis_within(n, node, wi_onnx_whole(node, "axis", 0), x->rank);
    if (axis < 0 || x->dims[axis] == 0 || !is_ordered(x)) return NULL;
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = 1;
    away[axis] = true;
    wi_onnx_numbers *const made = wi_onnx_new(n, WI_ONNX_INT64, x->rank, dims);
    const bool last = wi_onnx_whole(node, "select_last_index", 0) != 0;
    if (!made || !rank_lines(n, x, axis, 1, row->rule == WI_ONNX_MAX, last, NULL, made->data)) return NULL;
    return without_axes(n, node, made, x, away);
}

static wi_onnx_numbers *fold_topk(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    const wi_onnx_numbers *const x = in[0];
    int64_t dims[WEFT_MAX_RANK];
    wi_onnx_list k;
    const int axis = wi_onnx_axis_within(n, node, wi_onnx_whole(node, "axis", -1), x->rank);
    if (axis < 0 || !wi_onnx_closed(node, in[1], NULL, &k) || !is_ordered(x)) return NULL;
    if (!in[1]) k = (wi_onnx_list){1, {wi_onnx_whole(node, "k", -1)}};
    if (k.count != 1 || k.of[0] < 0 || k.of[0] > x->dims[axis])
        return wi_onnx_misfit(n, node, "its count is not within the axis");
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = k.of[0];
    wi_onnx_numbers *const values = wi_onnx_new_like(n, x, x->rank, dims);
    wi_onnx_numbers *const places = wi_onnx_new(n, WI_ONNX_INT64, x->rank, dims);
    const bool largest = wi_onnx_whole(node, "largest", 1) != 0;
    if (!values || !places ||
        !rank_lines(n, x, axis, (size_t)k.of[0], largest, false, values->data, places->data))
        return NULL;
    wi_onnx_set_numbers(n, node, 1, places);
    return values;
}

/* CumSum and CumProd. */
static wi_onnx_numbers *fold_running(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    const wi_onnx_fold_row *const row = wi_onnx_fold_row_in(wi_onnx_reduce_folds, node);
    const wi_onnx_numbers *const x = in[0];
    const bool exclusive = wi_onnx_whole(node, "exclusive", 0) != 0,
               back = wi_onnx_whole(node, "reverse", 0) != 0;
    wi_onnx_list axes;
    if (!wi_onnx_closed(node, in[1], NULL, &axes) || axes.count != 1) return NULL;
    const int axis = wi_onnx_axis_within(n, node, axes.of[0], x->rank);
    wi_onnx_numbers *const made = axis < 0 ? NULL : wi_onnx_new_like(n, x, x->rank, x->dims);
    if (!made) return NULL;
    const lines of = lines_of(x, axis);
    for (size_t i = 0; i < of.count; i++) {
        double sum = of_nothing(row->rule);
        for (size_t j = 0; j < of.size; j++) {
            const size_t at = begin_of(&of, i, of.size) + (back ? of.size - 1 - j : j) * of.inner;
            if (exclusive) made->data[at] = sum;
            if (!wi_onnx_combine(n, node, x, row->rule, sum, x->data[at], &sum)) return NULL;
            if (!exclusive) made->data[at] = sum;
        }
    }
    return wi_onnx_fit_to_type(n, node, made) ? made : NULL;
}

/* ---- products ---- */

/* Returns an operand of a product with rank 2 or more: a vector becomes a row if it is the first operand, otherwise a column. */
static wi_onnx_numbers *as_matrix(wi_onnx_import *n, const wi_onnx_numbers *x, bool first) {
    const int64_t row[] = {1, x->dims[0]}, column[] = {x->dims[0], 1};
    return x->rank > 1 ? wi_onnx_reshaped(n, x, x->rank, x->dims)
                       : wi_onnx_reshaped(n, x, 2, first ? row : column);
}

/* Computes the element of a matrix product at a position of the result. */
static bool multiply(wi_onnx_import *n, wi_onnx_node *node, const wi_onnx_numbers *a,
    const wi_onnx_numbers *b, int rank, const int64_t *at, double *sum) {
    int64_t left[WEFT_MAX_RANK], right[WEFT_MAX_RANK];
    memcpy(left, at, sizeof left);
    memcpy(right, at, sizeof right);
    *sum = 0;
    for (int64_t k = 0; k < a->dims[a->rank - 1]; k++) {
        double product;
        left[rank - 1] = right[rank - 2] = k;
        if (!wi_onnx_combine(n, node, a, WI_ONNX_MUL, a->data[wi_onnx_source(a, rank, left)],
                b->data[wi_onnx_source(b, rank, right)], &product) ||
            !wi_onnx_combine(n, node, a, WI_ONNX_ADD, *sum, product, sum))
            return false;
    }
    return true;
}

static wi_onnx_numbers *fold_product(wi_onnx_import *n, wi_onnx_node *node, wi_onnx_inputs in) {
    int64_t dims[WEFT_MAX_RANK], at[WEFT_MAX_RANK];
    if (in[0]->rank == 0 || in[1]->rank == 0 || in[0]->open || in[1]->open) return NULL;
    const wi_onnx_numbers *const a = as_matrix(n, in[0], true), *const b = as_matrix(n, in[1], false);
    if (!a || !b || a->dtype != b->dtype || a->dims[a->rank - 1] != b->dims[b->rank - 2]) return NULL;
    wi_onnx_numbers batches = *b;
    int rank = a->rank;
    memcpy(dims, a->dims, sizeof dims);
    batches.dims[b->rank - 1] = batches.dims[b->rank - 2] = dims[rank - 1] = 1;
    if (!wi_onnx_broadcast(&batches, &rank, dims)) return NULL;
    dims[rank - 1] = b->dims[b->rank - 1];
    wi_onnx_numbers *const made = wi_onnx_new_like(n, a, rank, dims);
    if (!made || made->count * (size_t)a->dims[a->rank - 1] > MOST_PRODUCTS) return NULL;
    n->folded += made->count * (size_t)a->dims[a->rank - 1];
    for (size_t i = 0; i < made->count; i++) {
        wi_onnx_position(rank, dims, i, at);
        if (!multiply(n, node, a, b, rank, at, &made->data[i])) return NULL;
    }
    if (!wi_onnx_fit_to_type(n, node, made)) return NULL;
    /* Removes the axes that as_matrix has added to vectors. */
    int kept = 0;
    for (int d = 0; d < rank; d++)
        if (!(d == rank - 2 && in[0]->rank == 1) && !(d == rank - 1 && in[1]->rank == 1))
            dims[kept++] = dims[d];
    return wi_onnx_reshaped(n, made, kept, dims);
}

const wi_onnx_fold_row wi_onnx_reduce_folds[] = {
    {"ReduceSum", .fold = fold_reduction, .least = 1, .rule = WI_ONNX_ADD},
    {"ReduceProd", .fold = fold_reduction, .least = 1, .rule = WI_ONNX_MUL},
    {"ReduceMax", .fold = fold_reduction, .least = 1, .rule = WI_ONNX_MAX},
    {"ReduceMin", .fold = fold_reduction, .least = 1, .rule = WI_ONNX_MIN},
    {"ReduceMean", .fold = fold_reduction, .least = 1, .rule = WI_ONNX_ADD, .after = WI_ONNX_DIV},
    {"ReduceL1", .fold = fold_reduction, .least = 1, .rule = WI_ONNX_ADD, .before = WI_ONNX_ABS},
    {"ReduceL2", .fold = fold_reduction, .least = 1, .rule = WI_ONNX_ADD, .before = WI_ONNX_SQUARE,
        .after = WI_ONNX_SQRT},
    {"ReduceSumSquare", .fold = fold_reduction, .least = 1, .rule = WI_ONNX_ADD, .before = WI_ONNX_SQUARE},
    {"ReduceLogSum", .fold = fold_reduction, .least = 1, .rule = WI_ONNX_ADD, .after = WI_ONNX_LOG},
    {"ArgMax", .fold = fold_place, .least = 1, .rule = WI_ONNX_MAX},
    {"ArgMin", .fold = fold_place, .least = 1, .rule = WI_ONNX_MIN}, {"TopK", .fold = fold_topk, .least = 1},
    {"CumSum", .fold = fold_running, .least = 2, .rule = WI_ONNX_ADD},
    {"CumProd", .fold = fold_running, .least = 2, .rule = WI_ONNX_MUL},
    {"MatMul", .fold = fold_product, .least = 2}, {0}};
