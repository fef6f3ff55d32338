/* Multi-head attention (A. Vaswani et al. 2017) with the parameters of torch.nn.MultiheadAttention. */
#include "nn/layer_parameters.h"
#include "ops/attention/attention.h"
#include "ops/op_table.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <weft/nn.h>

typedef struct layer {
    weft_multi_head_options options;
    char name[WI_LAYER_NAME];
    int64_t heads, width; /* width of the query and of the result */
    weft_tensor *query, *key, *value;
} layer;

static weft_tensor *parameter(
    const layer *l, const char *what, weft_initialiser initialiser, int64_t rows, int64_t columns) {
    const int64_t dims[] = {rows, columns};
    return wi_layer_parameter(
        weft_tensor_graph(l->query), l->name, what, &initialiser, columns ? 2 : 1, dims);
}

/* ---- projections ---- */

static weft_tensor *rows_of(weft_tensor *x, int part, int64_t rows) {
    return x ? weft_slice(x, 0, part * rows, (part + 1) * rows) : NULL;
}

/* (..., length, width) → (..., heads, length, width / heads), a view. */
static weft_tensor *split_heads(const layer *l, weft_tensor *x) {
    const int64_t d = l->width / l->heads, length = weft_tensor_dimension(x, -2);
    if (weft_tensor_rank(x) == 2) return weft_permute(weft_reshape(x, length, l->heads, d), 1, 0, 2);
    return weft_permute(weft_reshape(x, weft_tensor_dimension(x, 0), length, l->heads, d), 0, 2, 1, 3);
}

/* Projects query, key and value by one third each of in_proj_weight. If all three are the same tensor, one product
 * computes the three projections. */
static void project_together(const layer *l, const weft_multi_head_weights *w, weft_tensor **projected) {
    weft_tensor *const inputs[] = {l->query, l->key, l->value};
    const bool one = l->query == l->key && l->key == l->value;
    weft_tensor *all = one ? weft_linear_with(l->query, w->in_proj_weight, w->in_proj_bias) : NULL;
    for (int i = 0; i < 3; i++)
        projected[i] = one ? weft_slice(all, -1, i * l->width, (i + 1) * l->width)
                           : weft_linear_with(inputs[i], rows_of(w->in_proj_weight, i, l->width),
                                 rows_of(w->in_proj_bias, i, l->width));
}

static void project_apart(const layer *l, const weft_multi_head_weights *w, weft_tensor **projected) {
    weft_tensor *const inputs[] = {l->query, l->key, l->value};
    weft_tensor *const weights[] = {w->q_proj_weight, w->k_proj_weight, w->v_proj_weight};
    for (int i = 0; i < 3; i++)
        projected[i] = weft_linear_with(inputs[i], weights[i], rows_of(w->in_proj_bias, i, l->width));
}

/* ---- masks ---- */

/* Combines the options mask and key_mask. A key mask alone is only reshaped; the combination of both is a new
 * tensor. */
static weft_tensor *join_masks(const layer *l) {
    weft_tensor *mask = l->options.mask, *keys = l->options.key_mask;
    if (!keys) return mask;
    const int64_t length = weft_tensor_dimension(keys, -1);
    keys = weft_tensor_rank(l->query) == 2 ? weft_reshape(keys, 1, 1, length)
                                           : weft_reshape(keys, weft_tensor_dimension(keys, 0), 1, 1, length);
    if (!mask) return keys;
    weft_tensor *none = weft_constant(weft_tensor_graph(keys), WEFT_F32, 0),
                *never = weft_constant(weft_tensor_graph(keys), WEFT_F32, -INFINITY);
    if (weft_tensor_dtype(mask) == WEFT_BOOL) mask = weft_where(mask, none, never);
    return weft_where(keys, mask, never);
}

/* ---- checks ---- */

static weft_tensor *fail_inputs(const layer *l, const char *rule) {
    char text[3][WI_SHAPE_TEXT];
    return wi_graph_fail(weft_tensor_graph(l->query), WEFT_ERROR_SHAPE,
        "weft_multi_head_attention: query %s, key %s, value %s: %s",
        wi_shape_print(l->query->graph, &l->query->shape, text[0]),
        wi_shape_print(l->key->graph, &l->key->shape, text[1]),
        wi_shape_print(l->value->graph, &l->value->shape, text[2]), rule);
}

static bool check_inputs(const layer *l) {
    const weft_tensor *const inputs[] = {l->query, l->key, l->value};
    const int rank = l->query->shape.rank;
    for (int i = 0; i < 3; i++) {
        if (inputs[i]->shape.rank != rank || rank < 2 || rank > 3)
            return fail_inputs(l, "expected rank 3 (batch, length, width) for each, or rank 2 for each");
        if (weft_tensor_dimension(inputs[i], -1) < 1)
            return fail_inputs(l, "the width must be a number, not the batch");
        if (rank == 3 && inputs[i]->shape.dims[0] != l->query->shape.dims[0])
            return fail_inputs(l, "the batches differ");
    }
    if (l->key->shape.dims[rank - 2] != l->value->shape.dims[rank - 2])
        return fail_inputs(l, "the lengths of key and value differ");
    return true;
}

static bool check_key_mask(const layer *l) {
    const weft_tensor *mask = l->options.key_mask;
    wi_shape wanted = l->key->shape;
    char text_m[WI_SHAPE_TEXT], text_w[WI_SHAPE_TEXT];
    wanted.rank--;
    if (!mask || (mask->dtype == WEFT_BOOL && wi_shape_equal(&mask->shape, &wanted))) return true;
    return wi_graph_fail(weft_tensor_graph(l->query), WEFT_ERROR_SHAPE,
        "weft_multi_head_attention: key_mask is %s %s, expected bool %s", weft_dtype_name(mask->dtype),
        wi_shape_print(mask->graph, &mask->shape, text_m), wi_shape_print(mask->graph, &wanted, text_w));
}

static bool check(layer *l, const weft_multi_head_options *given) {
    static const char call[] = "weft_multi_head_attention";
    weft_tensor *const inputs[] = {l->query, l->key, l->value};
    weft_graph *graph = wi_inputs_graph(call, inputs, 3);
    if (!graph || !WI_GRAPH_OPTIONS(graph, &l->options, given, call, WEFT_MULTI_HEAD_OPTIONS_INIT))
        return false;
    if (l->options.mask && !wi_inputs_graph(call, (weft_tensor *[]){l->query, l->options.mask}, 2))
        return false;
    if (!check_inputs(l) || !check_key_mask(l)) return false;
    l->width = weft_tensor_dimension(l->query, -1);
    if (l->heads >= 1 && l->width % l->heads == 0) return true;
    return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
        "weft_multi_head_attention: %" PRId64 " heads do not divide a width of %" PRId64, l->heads, l->width);
}

/* ---- with given parameters ---- */

static bool needs_apart(const layer *l) {
    return weft_tensor_dimension(l->key, -1) != l->width || weft_tensor_dimension(l->value, -1) != l->width;
}

/* Checks that a weight has the shape (rows, columns), or (rows) if columns is 0. */
static bool check_weight(
    const layer *l, const char *what, const weft_tensor *weight, int64_t rows, int64_t columns) {
    const wi_shape wanted = {.rank = columns ? 2 : 1, .dims = {rows, columns}};
    weft_graph *const graph = weft_tensor_graph(l->query);
    char text[WI_SHAPE_TEXT], text_wanted[WI_SHAPE_TEXT];
    if (!weight)
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT, "weft_multi_head_attention_with: %s is NULL", what);
    if (!wi_inputs_graph(
            "weft_multi_head_attention_with", (weft_tensor *[]){l->query, (weft_tensor *)weight}, 2))
        return false;
    if (wi_shape_equal(&weight->shape, &wanted)) return true;
    return wi_graph_fail(graph, WEFT_ERROR_SHAPE, "weft_multi_head_attention_with: %s is %s, expected %s",
        what, wi_shape_print(weight->graph, &weight->shape, text),
        wi_shape_print(weight->graph, &wanted, text_wanted));
}

static bool check_weights(const layer *l, const weft_multi_head_weights *w) {
    const int64_t width = l->width;
    if (!check_weight(l, "out_proj_weight", w->out_proj_weight, width, width)) return false;
    if (w->in_proj_bias && !check_weight(l, "in_proj_bias", w->in_proj_bias, 3 * width, 0)) return false;
    if (w->out_proj_bias && !check_weight(l, "out_proj_bias", w->out_proj_bias, width, 0)) return false;
    if (!needs_apart(l)) return check_weight(l, "in_proj_weight", w->in_proj_weight, 3 * width, width);
    return check_weight(l, "q_proj_weight", w->q_proj_weight, width, width) &&
           check_weight(l, "k_proj_weight", w->k_proj_weight, width, weft_tensor_dimension(l->key, -1)) &&
           check_weight(l, "v_proj_weight", w->v_proj_weight, width, weft_tensor_dimension(l->value, -1));
}

static weft_tensor *attend(const layer *l, const weft_multi_head_weights *w) {
    weft_tensor *x[4] = {NULL};
    if (needs_apart(l))
        project_apart(l, w, x);
    else
        project_together(l, w, x);
    if (!x[0] || !x[1] || !x[2]) return NULL;
    for (int i = 0; i < 3; i++) x[i] = split_heads(l, x[i]);
    x[3] = join_masks(l);
    const weft_attention_options attention = {
        WEFT_ATTENTION_OPTIONS_INIT, .causal = l->options.causal, .dropout = l->options.dropout};
    weft_tensor *y = wi_attention(x, &attention, true);
    const int rank = weft_tensor_rank(l->query);
    y = rank == 2 ? weft_permute(y, 1, 0, 2) : weft_permute(y, 0, 2, 1, 3);
    return weft_linear_with(
        weft_reshape_shape(y, rank, l->query->shape.dims), w->out_proj_weight, w->out_proj_bias);
}

static weft_tensor *build_multi_head_attention_with(weft_tensor *query, weft_tensor *key, weft_tensor *value,
    int64_t heads, const weft_multi_head_weights *weights, const weft_multi_head_options *options) {
    layer l = {.heads = heads, .query = query, .key = key, .value = value};
    if (!check(&l, options)) return NULL;
    weft_graph *const graph = weft_tensor_graph(query);
    if (!weights)
        return wi_graph_fail(
            graph, WEFT_ERROR_ARGUMENT, "weft_multi_head_attention_with: weights must not be NULL");
    if (l.options.name || l.options.no_bias)
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "weft_multi_head_attention_with: the options name and no_bias must not be set when the "
            "parameters are given");
    return check_weights(&l, weights) ? attend(&l, weights) : NULL;
}

weft_tensor *weft_multi_head_attention_with(weft_tensor *query, weft_tensor *key, weft_tensor *value,
    int64_t heads, const weft_multi_head_weights *weights, const weft_multi_head_options *options) {
    return WI_CALL(query, "weft_multi_head_attention_with",
        build_multi_head_attention_with(query, key, value, heads, weights, options));
}

/* ---- the layer ---- */

static weft_multi_head_weights make_weights(const layer *l) {
    const int64_t width = l->width;
    const float bound = 1.0f / sqrtf((float)width);
    const weft_initialiser glorot = weft_glorot_uniform(), zeros = weft_zeros();
    const bool biased = !l->options.no_bias;
    weft_multi_head_weights w = {0};
    if (needs_apart(l)) {
        w.q_proj_weight = parameter(l, "q_proj_weight", glorot, width, width);
        w.k_proj_weight = parameter(l, "k_proj_weight", glorot, width, weft_tensor_dimension(l->key, -1));
        w.v_proj_weight = parameter(l, "v_proj_weight", glorot, width, weft_tensor_dimension(l->value, -1));
    } else {
        w.in_proj_weight = parameter(l, "in_proj_weight", glorot, 3 * width, width);
    }
    if (biased) w.in_proj_bias = parameter(l, "in_proj_bias", zeros, 3 * width, 0);
    w.out_proj_weight = parameter(l, "out_proj.weight", weft_init_uniform(-bound, bound), width, width);
    if (biased) w.out_proj_bias = parameter(l, "out_proj.bias", zeros, width, 0);
    return w;
}

static weft_tensor *build_multi_head_attention(weft_tensor *query, weft_tensor *key, weft_tensor *value,
    int64_t heads, const weft_multi_head_options *options) {
    layer l = {.heads = heads, .query = query, .key = key, .value = value};
    if (!check(&l, options)) return NULL;
    weft_graph *const graph = weft_tensor_graph(query);
    wi_layer_name(l.name, graph, "attention", l.options.name);
    const weft_multi_head_weights weights = make_weights(&l);
    return weft_graph_status(graph) == WEFT_OK ? attend(&l, &weights) : NULL;
}

weft_tensor *weft_multi_head_attention(weft_tensor *query, weft_tensor *key, weft_tensor *value,
    int64_t heads, const weft_multi_head_options *options) {
    return WI_CALL(
        query, "weft_multi_head_attention", build_multi_head_attention(query, key, value, heads, options));
}
