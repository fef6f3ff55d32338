/* Ops of ONNX whose result has as many elements as the data decide. A plan has fixed sizes, so the result has the largest size, its first
 * elements are those that ONNX defines, and the value "<name of the first output>.count" has their number. */
#include "onnx/onnx_build.h"
#include "onnx/onnx_types.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Names the number of elements, an i32 of rank 0, after the first output. */
static void set_count(wi_onnx_import *n, wi_onnx_node *node, weft_tensor *count) {
    static const char suffix[] = ".count";
    const size_t length = strlen(node->output[0]), bytes = length + sizeof suffix;
    char *const name = wi_arena_take(&n->arena, bytes);
    if (name) snprintf(name, bytes, "%s%s", node->output[0], suffix);
    wi_onnx_value *const value = name ? wi_onnx_add(n, name) : NULL;
    if (value)
        value->tensor = count;
    else
        wi_onnx_fail(n, node, WEFT_ERROR_MEMORY, "out of memory");
}

static weft_tensor *expanded_like(weft_tensor *x, const weft_tensor *like) {
    int64_t dims[WEFT_MAX_RANK];
    if (!x || !like) return NULL;
    wi_onnx_dims(like, dims);
    return weft_expand(x, weft_tensor_rank(like), dims);
}

/* ---- non-maximum suppression ---- */

/* One side of boxes (..., 4), as (..., 1). */
static weft_tensor *side(weft_tensor *boxes, int which) {
    return weft_slice(boxes, 2, which, which + 1);
}

/* Boxes as corners (B, N, 4): least y and x, largest y and x. */
static weft_tensor *corners_of(weft_tensor *boxes, bool centred) {
    weft_tensor *const first = weft_slice(boxes, 2, 0, 2), *const second = weft_slice(boxes, 2, 2, 4);
    weft_tensor *const half = weft_mul_number(second, 0.5);
    weft_tensor *const ends[] = {centred ? weft_sub(first, half) : weft_minimum(first, second),
        centred ? weft_add(first, half) : weft_maximum(first, second)};
    return weft_concat(ends, 2, 2);
}

static weft_tensor *area_of(weft_tensor *boxes) {
    return weft_mul(weft_sub(side(boxes, 2), side(boxes, 0)), weft_sub(side(boxes, 3), side(boxes, 1)));
}

/* The part of the union of each chosen box (B, C, 4) and each box (B, N, 4) that is their intersection: (B, C, N). 0 / 0 is NaN, which is
 * above no threshold. */
static weft_tensor *overlap(weft_tensor *chosen, weft_tensor *boxes) {
    weft_tensor *inner = NULL;
    for (int axis = 0; axis < 2; axis++) {
        weft_tensor *const low = weft_maximum(side(chosen, axis), weft_transpose(side(boxes, axis)));
        weft_tensor *const high = weft_minimum(side(chosen, axis + 2), weft_transpose(side(boxes, axis + 2)));
        weft_tensor *const extent = weft_maximum_number(weft_sub(high, low), 0);
        inner = inner ? weft_mul(inner, extent) : extent;
    }
    weft_tensor *const both = weft_add(area_of(chosen), weft_transpose(area_of(boxes)));
    return weft_div(inner, weft_sub(both, inner));
}

typedef struct suppression {
    weft_tensor *boxes,
        *live;    /* (B, N, 4); the scores (B, C, N) of the boxes that are left, otherwise -inf */
    double limit; /* of the overlap */
} suppression;

/* Takes the best box of each image and class. Returns its index (B, C, 1), or -1 if none is left. */
static weft_tensor *take_best(wi_onnx_import *n, suppression *s) {
    weft_tensor *const best = weft_max_keep(s->live, 2), *const index = weft_argmax_keep(s->live, 2);
    int64_t dims[3];
    if (!index) return NULL;
    wi_onnx_dims(index, dims);
    dims[2] = 4;
    weft_tensor *const chosen = weft_gather(s->boxes, 1, weft_expand(index, 3, dims));
    weft_tensor *const covered = weft_greater_number(overlap(chosen, s->boxes), s->limit);
    weft_tensor *const taken = weft_equal(wi_onnx_iota(n, s->live, 2, 3), index);
    s->live = weft_where(weft_logical_or(covered, taken), weft_number(s->live, -(double)INFINITY), s->live);
    return weft_where(weft_greater_number(best, -(double)INFINITY), index, weft_number(index, -1));
}

/* Rows (image, class, box) of the taken boxes (B, C, most), those of -1 last. */
static weft_tensor *rows_of(wi_onnx_import *n, wi_onnx_node *node, weft_tensor *taken) {
    weft_tensor *const none = weft_less_number(taken, 0);
    weft_tensor *const columns[] = {
        weft_masked_fill(expanded_like(wi_onnx_iota(n, taken, 0, 3), taken), none, -1),
        weft_masked_fill(expanded_like(wi_onnx_iota(n, taken, 1, 3), taken), none, -1), taken};
    weft_tensor *const rows = weft_flatten_axes(weft_stack(columns, 3, 3), 0, 2);
    weft_tensor *const last = weft_cast(weft_flatten_axes(none, 0, 2), WEFT_I32);
    set_count(n, node, weft_sum(weft_cast(weft_logical_not(none), WEFT_I32)));
    wi_onnx_set_type(n, node, 0, WI_ONNX_INT64);
    return weft_index_select(rows, 0, weft_argsort(last, 0, false));
}

static weft_tensor *build_suppression(wi_onnx_import *n, wi_onnx_node *node) {
    enum { MOST = 1024 };
    weft_tensor *const boxes = wi_onnx_get(n, node, 0), *const scores = wi_onnx_get(n, node, 1);
    const double most = wi_onnx_get_number(n, node, 2, 0), limit = wi_onnx_get_number(n, node, 3, 0);
    if (!boxes || !scores || n->status != WEFT_OK) return NULL;
    if (weft_tensor_rank(boxes) != 3 || weft_tensor_rank(scores) != 3 ||
        weft_tensor_dimension(boxes, 2) != 4 ||
        weft_tensor_dimension(boxes, 1) != weft_tensor_dimension(scores, 2))
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "it takes boxes (B, N, 4) and scores (B, C, N)");
    const int64_t count = wi_onnx_fixed_size(boxes, 1);
    const double fewer = count > 0 && most > (double)count ? (double)count : most;
    if (!(fewer >= 1 && fewer <= MOST))
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED,
            "it selects at most %g boxes of each class; 1 to %d are supported", fewer, MOST);
    suppression s = {corners_of(boxes, wi_onnx_whole(node, "center_point_box", 0) != 0), scores, limit};
    if (wi_onnx_has(node, 4))
        s.live = weft_where(weft_greater_number(scores, wi_onnx_get_number(n, node, 4, 0)), scores,
            weft_number(scores, -(double)INFINITY));
    weft_tensor *taken[MOST];
    for (int i = 0; i < (int)fewer; i++) taken[i] = take_best(n, &s);
    weft_tensor *const all = weft_concat(taken, (size_t)fewer, 2);
    return all && n->status == WEFT_OK ? rows_of(n, node, all) : NULL;
}

/* ---- unique elements ---- */

typedef struct unique {
    weft_tensor *values, *first, *number, *counts; /* number: of the unique element that each element is */
    weft_tensor *count;
} unique;

/* The unique elements of x (n) in ascending order, and behind them zeros. */
static unique unique_of(wi_onnx_import *n, weft_tensor *x) {
    const int64_t size = weft_tensor_dimension(x, 0);
    weft_tensor *const order = weft_argsort(x, 0, false), *const sorted = weft_sort(x, 0, false);
    weft_tensor *const before = weft_roll(sorted, 0, 1), *const zeros =
                                                             weft_full(n->graph, WEFT_I32, 0, 1, &size);
    weft_tensor *const begins =
        weft_logical_or(weft_not_equal(sorted, before), weft_equal_number(wi_onnx_iota(n, x, 0, 1), 0));
    weft_tensor *const rank = weft_sub_number(weft_cumsum(weft_cast(begins, WEFT_I32), 0), 1);
    return (unique){weft_index_copy(weft_mul_number(x, 0), 0, rank, sorted),
        weft_index_reduce(zeros, 0, rank, order, WEFT_SCATTER_MIN, false),
        weft_index_copy(zeros, 0, order, rank), weft_index_sum(weft_add_number(zeros, 1), 0, rank, size),
        weft_add_number(weft_max(rank), 1)};
}

/* The same in the order in which they are found in x. */
static unique in_order_found(wi_onnx_import *n, const unique *u) {
    weft_tensor *const place = wi_onnx_iota(n, u->first, 0, 1);
    weft_tensor *const key = weft_where(weft_less(place, u->count), u->first, weft_number(place, INT32_MAX));
    weft_tensor *const order = weft_argsort(key, 0, false);
    return (unique){weft_index_select(u->values, 0, order), weft_index_select(u->first, 0, order),
        weft_index_select(weft_index_copy(place, 0, order, place), 0, u->number),
        weft_index_select(u->counts, 0, order), u->count};
}

static weft_tensor *build_unique(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *x = wi_onnx_get(n, node, 0);
    if (!x) return NULL;
    const int rank = weft_tensor_rank(x);
    if (wi_onnx_attribute(node, "axis") && rank != 1)
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED,
            "it is supported for elements, without an axis, but not for slices");
    if (rank != 1) x = rank ? weft_flatten_axes(x, 0, rank - 1) : weft_unsqueeze(x, 0);
    if (!x) return NULL;
    unique u = unique_of(n, x);
    if (!wi_onnx_whole(node, "sorted", 1)) u = in_order_found(n, &u);
    weft_tensor *const others[] = {u.first, u.number, u.counts};
    for (size_t i = 1; i < 4; i++) {
        if (!wi_onnx_has_output(node, i)) continue;
        wi_onnx_set(n, node, i, others[i - 1]);
        wi_onnx_set_type(n, node, i, WI_ONNX_INT64);
    }
    set_count(n, node, u.count);
    return u.values;
}

const wi_onnx_op wi_onnx_select_ops[] = {
    {"NonMaxSuppression", .build = build_suppression, .host = 1u << 2 | 1u << 3 | 1u << 4},
    {"Unique", .build = build_unique}, {0}};
