/* Norms and softmax of ONNX. */
#include "graph/node.h"
#include "onnx/onnx_build.h"
#include <string.h>

/* The default of the norms of sums in com.microsoft differs. */
static float epsilon_of(wi_onnx_node *node) {
    const bool sums = strncmp(node->op_type, "Skip", 4) == 0 || strncmp(node->op_type, "Embed", 5) == 0;
    return (float)wi_onnx_real(node, "epsilon", sums ? 1e-12 : 1e-5);
}

static weft_tensor *affine(weft_tensor *x, weft_tensor *weight, weft_tensor *bias) {
    if (weight) x = weft_mul(x, weight);
    return bias ? weft_add(x, bias) : x;
}

/* Reshapes values (C) to (C, 1...), which broadcasts to the images x. */
static weft_tensor *per_channel(const weft_tensor *x, weft_tensor *values) {
    int64_t dims[WEFT_MAX_RANK] = {weft_tensor_dimension(values, 0)};
    const int rank = weft_tensor_rank(x) > 1 ? weft_tensor_rank(x) - 1 : 1;
    for (int d = 1; d < rank; d++) dims[d] = 1;
    return weft_reshape_shape(values, rank, dims);
}

/* (x - mean) / sqrt(var + epsilon), where mean and var broadcast to x. */
static weft_tensor *centred(weft_tensor *x, weft_tensor *mean, weft_tensor *var, double epsilon) {
    return weft_mul(weft_sub(x, mean), weft_rsqrt(weft_add_number(var, epsilon)));
}

/* Writes the axes first .. rank - 1 except `left`, and WEFT_END behind them. */
static const int64_t *axes_from(int64_t axes[WEFT_MAX_RANK + 1], int first, int rank, int left) {
    int count = 0;
    for (int d = first; d < rank; d++)
        if (d != left) axes[count++] = d;
    axes[count] = WEFT_END;
    return axes;
}

/* ---- batch and instance norms ---- */

/* Sets an output to the new running statistic: a weighted mean of the old one and the statistic of the batch. */
static void set_running(
    wi_onnx_import *n, wi_onnx_node *node, size_t output, weft_tensor *old, weft_tensor *now) {
    const double momentum = wi_onnx_real(node, "momentum", 0.9);
    if (wi_onnx_has_output(node, output))
        wi_onnx_set(
            n, node, output, weft_add(weft_mul_number(old, momentum), weft_mul_number(now, 1 - momentum)));
}

/* Normalises by the statistics of the batch, and sets the new running statistics as outputs. The variance is the biased one. */
static weft_tensor *train_batch_norm(
    wi_onnx_import *n, wi_onnx_node *node, weft_tensor *x, weft_tensor *weight, weft_tensor *bias) {
    int64_t axes[WEFT_MAX_RANK + 1];
    weft_tensor *const mean = wi_onnx_get(n, node, 3), *const var = wi_onnx_get(n, node, 4);
    if (n->status != WEFT_OK) return NULL;
    axes_from(axes, 0, weft_tensor_rank(x), 1);
    set_running(n, node, 1, mean, weft_mean_axes(x, axes, false));
    set_running(n, node, 2, var, weft_var_with(x, 0, axes, false));
    return weft_batch_norm_with(x, weight, bias, NULL, epsilon_of(node));
}

static bool is_read(const wi_onnx_import *n, wi_onnx_node *node, size_t output) {
    const wi_onnx_value *const value =
        wi_onnx_has_output(node, output) ? wi_onnx_find(n, node->output[output]) : NULL;
    return value && value->is_used;
}

static bool is_constant(const wi_onnx_import *n, wi_onnx_node *node, size_t index) {
    const wi_onnx_value *const value = wi_onnx_has(node, index) ? wi_onnx_find(n, node->input[index]) : NULL;
    return value && value->stored;
}

/* Does the node use the statistics of the batch in every plan? Frameworks export a batch norm layer of a network in training
 * as a node with training_mode, constant running statistics, and outputs for the new ones that nothing reads. For such a node
 * the plan chooses the form for training or inference, as for dropout. Before version 14, a node with several outputs is in
 * training. */
static bool always_trains(const wi_onnx_import *n, wi_onnx_node *node) {
    const bool trains =
        n->version < 14 ? wi_onnx_has_output(node, 1) : wi_onnx_whole(node, "training_mode", 0) != 0;
    const bool is_layer = is_constant(n, node, 3) && is_constant(n, node, 4);
    return trains && (!is_layer || is_read(n, node, 1) || is_read(n, node, 2));
}

/* The running statistics of the file become states, which training updates. ONNX's momentum is the weight of the old statistics. */
static weft_tensor *build_batch_norm(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0), *const weight = wi_onnx_get(n, node, 1),
                       *const bias = wi_onnx_get(n, node, 2);
    if (n->status != WEFT_OK) return NULL;
    if (wi_onnx_whole(node, "spatial", 1) == 0 || is_read(n, node, 3) || is_read(n, node, 4))
        return wi_onnx_fail(
            n, node, WEFT_ERROR_UNSUPPORTED, "spatial 0 and saved statistics are not supported");
    if (always_trains(n, node)) return train_batch_norm(n, node, x, weight, bias);
    weft_tensor *const mean = wi_onnx_get_state(n, node, 3), *const var = wi_onnx_get_state(n, node, 4);
    if (n->status != WEFT_OK) return NULL;
    const int rank = weft_tensor_rank(x);
    if (mean->op != &wi_op_state || var->op != &wi_op_state || rank < 2 || rank > 5)
        return affine(centred(x, per_channel(x, mean), per_channel(x, var), (double)epsilon_of(node)),
            per_channel(x, weight), per_channel(x, bias));
    const weft_running running = {
        .mean = mean, .var = var, .momentum = (float)(1 - wi_onnx_real(node, "momentum", 0.9))};
    return weft_batch_norm_with(x, weight, bias, &running, epsilon_of(node));
}

/* weft_instance_norm needs 1 to 3 spatial axes with more than one element. Other shapes are computed from elementwise ops. */
static weft_tensor *build_instance_norm(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0), *const weight = wi_onnx_get(n, node, 1),
                       *const bias = wi_onnx_get(n, node, 2);
    int64_t axes[WEFT_MAX_RANK + 1], area = 1;
    if (n->status != WEFT_OK) return NULL;
    const int rank = weft_tensor_rank(x);
    if (rank < 3) return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "its rank is below 3");
    for (int d = 2; d < rank; d++) area *= weft_tensor_dimension(x, d);
    if (rank <= 5 && area != 1) return weft_instance_norm_with(x, weight, bias, NULL, epsilon_of(node));
    axes_from(axes, 2, rank, -1);
    return affine(
        centred(x, weft_mean_axes(x, axes, true), weft_var_with(x, 0, axes, true), (double)epsilon_of(node)),
        per_channel(x, weight), per_channel(x, bias));
}

/* In version 18 there is a weight for each group, in later versions for each channel. */
static weft_tensor *build_group_norm(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0), *weight = wi_onnx_get(n, node, 1),
                       *bias = wi_onnx_get(n, node, 2);
    const int64_t groups = wi_onnx_whole(node, "num_groups", 0);
    if (n->status != WEFT_OK) return NULL;
    const int64_t channels = weft_tensor_dimension(x, 1);
    if (groups < 1 || channels < 1 || channels % groups)
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "num_groups does not divide the channels");
    if (n->version < 21) {
        const int64_t dims[] = {groups, channels / groups};
        weight = weft_flatten_axes(weft_expand(weft_unsqueeze(weight, 1), 2, dims), 0, 1);
        bias = weft_flatten_axes(weft_expand(weft_unsqueeze(bias, 1), 2, dims), 0, 1);
    }
    return weft_group_norm_with(x, groups, weight, bias, epsilon_of(node));
}

/* ---- layer norms ---- */

/* Has the tensor the shape of the axes of x from `axis` on? A tensor of another shape must broadcast to it. */
static bool fits(const weft_tensor *x, int axis, const weft_tensor *tensor) {
    if (weft_tensor_rank(tensor) != weft_tensor_rank(x) - axis) return false;
    for (int d = axis; d < weft_tensor_rank(x); d++)
        if (weft_tensor_dimension(x, d) != weft_tensor_dimension(tensor, d - axis)) return false;
    return true;
}

/* Sets the outputs for the mean and for 1 / the standard deviation, if the node has them. */
static void set_statistics(wi_onnx_import *n, wi_onnx_node *node, weft_tensor *x, int axis) {
    int64_t axes[WEFT_MAX_RANK + 1];
    axes_from(axes, axis, weft_tensor_rank(x), -1);
    if (wi_onnx_has_output(node, 1)) wi_onnx_set(n, node, 1, weft_mean_axes(x, axes, true));
    if (wi_onnx_has_output(node, 2))
        wi_onnx_set(n, node, 2,
            weft_rsqrt(weft_add_number(weft_var_with(x, 0, axes, true), (double)epsilon_of(node))));
}

weft_tensor *wi_onnx_layer_norm(
    wi_onnx_import *n, wi_onnx_node *node, weft_tensor *x, weft_tensor *weight, weft_tensor *bias) {
    if (n->status != WEFT_OK) return NULL;
    const int axis = wi_onnx_axis_of(n, node, x, -1), axes = weft_tensor_rank(x) - axis;
    if (axis < 0) return NULL;
    set_statistics(n, node, x, axis);
    if ((!weight || fits(x, axis, weight)) && (!bias || fits(x, axis, bias)))
        return weft_layer_norm_with(x, axes, weight, bias, epsilon_of(node));
    return affine(weft_layer_norm_with(x, axes, NULL, NULL, epsilon_of(node)), weight, bias);
}

weft_tensor *wi_onnx_rms_norm(wi_onnx_import *n, wi_onnx_node *node, weft_tensor *x, weft_tensor *weight) {
    if (n->status != WEFT_OK) return NULL;
    const int axis = wi_onnx_axis_of(n, node, x, -1), axes = weft_tensor_rank(x) - axis;
    if (axis < 0) return NULL;
    if (fits(x, axis, weight)) return weft_rms_norm_with(x, axes, weight, epsilon_of(node));
    return affine(weft_rms_norm_with(x, axes, NULL, epsilon_of(node)), weight, NULL);
}

static weft_tensor *build_layer_norm(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0), *const weight = wi_onnx_get(n, node, 1);
    return wi_onnx_layer_norm(n, node, x, weight, wi_onnx_optional(n, node, 2));
}

static weft_tensor *build_rms_norm(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    return wi_onnx_rms_norm(n, node, x, wi_onnx_get(n, node, 1));
}

/* ---- other norms ---- */

/* Weft's window begins size / 2 channels before the channel, and ONNX's (size - 1) / 2. If the size is even, the channels are therefore
 * reversed before and after the op. */
static weft_tensor *build_local_norm(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *x = wi_onnx_get(n, node, 0);
    const int64_t size = wi_onnx_whole(node, "size", 1), channels[] = {1, WEFT_END};
    if (!x) return NULL;
    if (size % 2 == 0) x = weft_flip_axes(x, channels);
    x = weft_local_response_norm(x, size, wi_onnx_real(node, "alpha", 1e-4), wi_onnx_real(node, "beta", 0.75),
        wi_onnx_real(node, "bias", 1));
    return size % 2 == 0 ? weft_flip_axes(x, channels) : x;
}

/* x / norm, or 0 if the norm is 0. */
static weft_tensor *build_lp_normalization(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const int64_t p = wi_onnx_whole(node, "p", 2);
    const int axis = x ? wi_onnx_axis_of(n, node, x, -1) : -1;
    if (axis < 0) return NULL;
    if (p != 1 && p != 2) return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "p is not 1 or 2");
    weft_tensor *const norm = weft_norm_with(x, (double)p, (const int64_t[]){axis, WEFT_END}, true);
    return weft_div(x, weft_where(weft_equal_number(norm, 0), weft_number(norm, 1), norm));
}

static weft_tensor *build_mean_variance(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    wi_onnx_list axes = wi_onnx_wholes(node, "axes");
    if (!x) return NULL;
    if (axes.count > WEFT_MAX_RANK)
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "the number of axes is %d, expected at most %d",
            axes.count, WEFT_MAX_RANK);
    if (axes.count == 0) axes = (wi_onnx_list){3, {0, 2, 3}};
    axes.of[axes.count] = WEFT_END;
    weft_tensor *const deviation = weft_add_number(weft_std_with(x, 0, axes.of, true), 1e-9);
    return weft_div(weft_sub(x, weft_mean_axes(x, axes.of, true)), deviation);
}

/* ---- softmax ---- */

static weft_tensor *hardmax(weft_tensor *x, int axis) {
    weft_tensor *const best = weft_argmax_axes(x, (const int64_t[]){axis, WEFT_END}, false);
    const int64_t size = wi_onnx_fixed_size(x, axis);
    return size ? weft_move_axis(weft_one_hot(best, size, weft_tensor_dtype(x)), -1, axis) : NULL;
}

/* Up to version 12, the softmax is over all axes from `axis` on (default 1); later it is over one axis (default: the last). */
static weft_tensor *build_softmax(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *(*const op)(weft_tensor *, int) = node->op_type[0] == 'L'   ? weft_log_softmax
                                                   : node->op_type[0] == 'H' ? hardmax
                                                                             : weft_softmax;
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    int64_t dims[WEFT_MAX_RANK];
    const bool old = n->version < 13;
    const int axis = x ? wi_onnx_axis_of(n, node, x, old ? 1 : -1) : -1;
    if (axis < 0) return NULL;
    const int rank = weft_tensor_rank(x);
    wi_onnx_dims(x, dims);
    weft_tensor *const y = !old || axis == rank - 1
                               ? op(x, axis)
                               : weft_reshape_shape(op(weft_flatten_axes(x, axis, -1), axis), rank, dims);
    return y ? y
             : wi_onnx_fail(
                   n, node, WEFT_ERROR_UNSUPPORTED, "it is not supported along an axis of open size");
}

const wi_onnx_op wi_onnx_norm_ops[] = {
    {"BatchNormalization", .build = build_batch_norm, .weights = 1u << 1 | 1u << 2},
    {"InstanceNormalization", .build = build_instance_norm, .weights = 1u << 1 | 1u << 2},
    {"GroupNormalization", .build = build_group_norm, .weights = 1u << 1 | 1u << 2},
    {"LayerNormalization", .build = build_layer_norm, .weights = 1u << 1 | 1u << 2},
    {"RMSNormalization", .build = build_rms_norm, .weights = 1u << 1},
    {"SimplifiedLayerNormalization", .build = build_rms_norm, .weights = 1u << 1},
    {"LRN", .build = build_local_norm}, {"LpNormalization", .build = build_lp_normalization},
    {"MeanVarianceNormalization", .build = build_mean_variance}, {"Softmax", .build = build_softmax},
    {"LogSoftmax", .build = build_softmax}, {"Hardmax", .build = build_softmax}, {0}};
