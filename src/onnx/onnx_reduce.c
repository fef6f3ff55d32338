/* Operators of ONNX that reduce, scan (CumSum) or sort (TopK). */
#include "onnx/onnx_types.h"
#include <string.h>

static weft_tensor *norm_of_one(weft_tensor *x, const int64_t *axes, bool keep) {
    return weft_tensor_dtype(x) == WEFT_I32 ? weft_sum_axes(weft_abs(x), axes, keep)
                                            : weft_norm_with(x, 1, axes, keep);
}

static weft_tensor *sum_of_squares(weft_tensor *x, const int64_t *axes, bool keep) {
    return weft_sum_axes(weft_square(x), axes, keep);
}

static weft_tensor *log_of_sum(weft_tensor *x, const int64_t *axes, bool keep) {
    return weft_log(weft_sum_axes(x, axes, keep));
}

static weft_tensor *maximum_of(weft_tensor *x, const int64_t *axes, bool keep) {
    return weft_tensor_dtype(x) == WEFT_BOOL ? weft_any_axes(x, axes, keep) : weft_max_axes(x, axes, keep);
}

static weft_tensor *minimum_of(weft_tensor *x, const int64_t *axes, bool keep) {
    return weft_tensor_dtype(x) == WEFT_BOOL ? weft_all_axes(x, axes, keep) : weft_min_axes(x, axes, keep);
}

/* The axes are an attribute, or in later versions an input. If there are none, all axes are reduced, or with noop_with_empty_axes none. */
weft_tensor *wi_onnx_build_reduction(wi_onnx_import *n, wi_onnx_node *node, const wi_onnx_op *op) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    wi_onnx_list axes =
        wi_onnx_has(node, 1) ? wi_onnx_get_list(n, node, 1, "axes") : wi_onnx_wholes(node, "axes");
    if (!x || n->status != WEFT_OK) return NULL;
    if (axes.count == 0 && wi_onnx_whole(node, "noop_with_empty_axes", 0)) return x;
    if (axes.count > WEFT_MAX_RANK)
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "the number of axes is %d, expected at most %d",
            axes.count, WEFT_MAX_RANK);
    axes.of[axes.count] = WEFT_END;
    return op->reduce(x, axes.count ? axes.of : NULL, wi_onnx_whole(node, "keepdims", 1) != 0);
}

/* ArgMax and ArgMin. The last of several equal extremes (select_last_index) is found as the first one of the flipped axis. */
static weft_tensor *build_extreme(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *(*const op)(weft_tensor *, const int64_t *, bool) =
        strcmp(node->op_type, "ArgMax") == 0 ? weft_argmax_axes : weft_argmin_axes;
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const int64_t axes[] = {wi_onnx_whole(node, "axis", 0), WEFT_END};
    const bool keep = wi_onnx_whole(node, "keepdims", 1) != 0;
    if (!x) return NULL;
    wi_onnx_set_type(n, node, 0, WI_ONNX_INT64);
    if (!wi_onnx_whole(node, "select_last_index", 0)) return op(x, axes, keep);
    weft_tensor *const last = weft_sub_number(weft_size(x, (int)axes[0]), 1);
    return weft_sub(last, op(weft_flip_axes(x, axes), axes, keep));
}

/* k is an attribute up to version 9, and the second input from version 10 on. With sorted = 0 any order is allowed; Weft always sorts. */
static weft_tensor *build_top_k(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const double k = wi_onnx_get_number(n, node, 1, (double)wi_onnx_whole(node, "k", 0));
    const bool largest = wi_onnx_whole(node, "largest", 1) != 0;
    if (!x || n->status != WEFT_OK) return NULL;
    const int axis = wi_onnx_axis(wi_onnx_whole(node, "axis", -1), weft_tensor_rank(x));
    if (!(k >= 1 && k <= (double)INT32_MAX))
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "it needs a constant number k of 1 or more");
    if (node->n_output > 1 && node->output[1][0]) {
        wi_onnx_set(n, node, 1, weft_topk_indices(x, (int64_t)k, axis, largest));
        wi_onnx_set_type(n, node, 1, WI_ONNX_INT64);
    }
    return weft_topk(x, (int64_t)k, axis, largest);
}

/* CumSum and CumProd. */
static weft_tensor *build_scan(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *(*const op)(weft_tensor *, int, bool, bool) =
        strcmp(node->op_type, "CumSum") == 0 ? weft_cumsum_with : weft_cumprod_with;
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const double axis = wi_onnx_get_number(n, node, 1, 0);
    if (!x || n->status != WEFT_OK) return NULL;
    if (!(axis >= -WEFT_MAX_RANK && axis < WEFT_MAX_RANK))
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "there is no axis %g", axis);
    return op(x, (int)axis, wi_onnx_whole(node, "exclusive", 0) != 0, wi_onnx_whole(node, "reverse", 0) != 0);
}

const wi_onnx_op wi_onnx_reduce_ops[] = {{"ReduceSum", .reduce = weft_sum_axes, .host = 1u << 1},
    {"ReduceMean", .reduce = weft_mean_axes, .host = 1u << 1},
    {"ReduceMax", .reduce = maximum_of, .host = 1u << 1},
    {"ReduceMin", .reduce = minimum_of, .host = 1u << 1},
    {"ReduceProd", .reduce = weft_prod_axes, .host = 1u << 1},
    {"ReduceL1", .reduce = norm_of_one, .host = 1u << 1},
    {"ReduceL2", .reduce = weft_norm_axes, .host = 1u << 1},
    {"ReduceSumSquare", .reduce = sum_of_squares, .host = 1u << 1},
    {"ReduceLogSum", .reduce = log_of_sum, .host = 1u << 1},
    {"ReduceLogSumExp", .reduce = weft_logsumexp_axes, .host = 1u << 1}, {"ArgMax", .build = build_extreme},
    {"ArgMin", .build = build_extreme}, {"TopK", .build = build_top_k, .host = 1u << 1},
    {"CumSum", .build = build_scan, .host = 1u << 1}, {"CumProd", .build = build_scan, .host = 1u << 1}, {0}};
