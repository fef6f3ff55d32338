/* Norm layers: their parameters, running statistics and names. */
#include "nn/layer_parameters.h"
#include <stdio.h>
#include <weft/nn.h>
#include <weft/normalization.h>

typedef struct norm_layer {
    weft_graph *graph;
    const char *call; /* name of the public function, for errors */
    char name[WI_LAYER_NAME];
    weft_tensor *weight, *bias;
    weft_running running;
    bool failed;
} norm_layer;

static weft_tensor *parameter(
    norm_layer *layer, const char *what, float value, int rank, const int64_t *dims) {
    const weft_initialiser fill = weft_fill(value);
    weft_tensor *const made = wi_layer_parameter(layer->graph, layer->name, what, &fill, rank, dims);
    layer->failed = layer->failed || !made;
    return made;
}

static weft_tensor *state(
    norm_layer *layer, const char *what, weft_dtype dtype, float value, int rank, const int64_t *dims) {
    char text[WI_LAYER_NAME + 32];
    snprintf(text, sizeof text, "%s.%s", layer->name, what);
    weft_tensor *const made = weft_state_shape(layer->graph, text, dtype, weft_fill(value), rank, dims);
    layer->failed = layer->failed || !made;
    return made;
}

static void make_affine(norm_layer *layer, bool bias, int rank, const int64_t *dims) {
    layer->weight = parameter(layer, "weight", 1, rank, dims);
    if (bias) layer->bias = parameter(layer, "bias", 0, rank, dims);
}

static void make_running(
    norm_layer *layer, const weft_tensor *x, const int64_t *channels, float momentum, bool cumulative) {
    const weft_dtype dtype = weft_tensor_dtype(x) == WEFT_F64 ? WEFT_F64 : WEFT_F32;
    layer->running = (weft_running){.mean = state(layer, "running_mean", dtype, 0, 1, channels),
        .var = state(layer, "running_var", dtype, 1, 1, channels),
        .momentum = WI_OPTION(momentum, 0.1f)};
    if (cumulative) layer->running.batches = state(layer, "num_batches_tracked", WEFT_I32, 0, 0, NULL);
}

/* false: x is NULL, or its graph has an error. */
static bool begin(norm_layer *layer, const char *call, weft_tensor *x) {
    if (!x) return false;
    *layer = (norm_layer){.graph = weft_tensor_graph(x), .call = call};
    return weft_graph_status(layer->graph) == WEFT_OK;
}

/* Axis 1 is the size of the parameters, so that it cannot be the batch size. */
static bool has_channels(const norm_layer *layer, const weft_tensor *x) {
    if (weft_tensor_rank(x) >= 2 && weft_tensor_dimension(x, 1) > 0) return true;
    wi_graph_fail(layer->graph, WEFT_ERROR_SHAPE,
        "%s: axis 1 must be a number of channels, not the batch (rank %d)", layer->call, weft_tensor_rank(x));
    return false;
}

/* Reports a momentum out of range before parameters are created; 0 stands for the default. given_elsewise: the
 * momentum is not used, because the running mean is cumulative or there are no running statistics. */
static bool check_momentum(const norm_layer *layer, float momentum, bool given_elsewise) {
    const bool is_in_range = momentum >= 0 && (momentum <= 1 || momentum == WEFT_ZERO);
    if (is_in_range && !(momentum != 0 && given_elsewise)) return true;
    if (is_in_range)
        wi_graph_fail(layer->graph, WEFT_ERROR_ARGUMENT,
            "%s: momentum is %g, but the running mean is cumulative or there are no running statistics; "
            "leave momentum at 0",
            layer->call, (double)WI_OPTION(momentum, 0.0f));
    else
        wi_graph_fail(layer->graph, WEFT_ERROR_ARGUMENT, "%s: momentum is %g, expected 0 to 1", layer->call,
            (double)momentum);
    return false;
}

/* ---- batch and instance norm ---- */

static weft_tensor *build_batch_norm_layer(weft_tensor *x, const weft_batch_norm_options *given) {
    norm_layer layer;
    weft_batch_norm_options own;
    const weft_batch_norm_options *const options = &own;
    if (!begin(&layer, "weft_batch_norm", x) ||
        !WI_GRAPH_OPTIONS(layer.graph, &own, given, layer.call, WEFT_BATCH_NORM_OPTIONS_INIT) ||
        !has_channels(&layer, x) ||
        !check_momentum(&layer, options->momentum, options->cumulative || options->no_running))
        return NULL;
    if (options->no_running && (options->cumulative || options->fixed))
        return wi_graph_fail(layer.graph, WEFT_ERROR_ARGUMENT,
            "weft_batch_norm: the option cumulative or fixed is set, but there are no running statistics "
            "(option no_running)");
    const int64_t channels = weft_tensor_dimension(x, 1);
    wi_layer_name(layer.name, layer.graph, "batchnorm", options->name);
    if (!options->no_affine) make_affine(&layer, true, 1, &channels);
    if (!options->no_running) make_running(&layer, x, &channels, options->momentum, options->cumulative);
    layer.running.fixed = options->fixed;
    return layer.failed
               ? NULL
               : weft_batch_norm_with(x, layer.weight, layer.bias,
                     options->no_running ? NULL : &layer.running, WI_OPTION(options->epsilon, 1e-5f));
}

weft_tensor *weft_batch_norm_layer(weft_tensor *x, const weft_batch_norm_options *given) {
    return WI_CALL(x, "weft_batch_norm", build_batch_norm_layer(x, given));
}

static weft_tensor *build_instance_norm_layer(weft_tensor *x, const weft_instance_norm_options *given) {
    norm_layer layer;
    weft_instance_norm_options own;
    const weft_instance_norm_options *const options = &own;
    if (!begin(&layer, "weft_instance_norm", x) ||
        !WI_GRAPH_OPTIONS(layer.graph, &own, given, layer.call, WEFT_INSTANCE_NORM_OPTIONS_INIT) ||
        !has_channels(&layer, x) ||
        !check_momentum(&layer, options->momentum, options->cumulative || !options->running))
        return NULL;
    if (options->cumulative && !options->running)
        return wi_graph_fail(layer.graph, WEFT_ERROR_ARGUMENT,
            "weft_instance_norm: the option cumulative is set, but there are no running statistics (option "
            "running)");
    const int64_t channels = weft_tensor_dimension(x, 1);
    wi_layer_name(layer.name, layer.graph, "instancenorm", options->name);
    if (options->affine) make_affine(&layer, true, 1, &channels);
    if (options->running) make_running(&layer, x, &channels, options->momentum, options->cumulative);
    return layer.failed ? NULL
                        : weft_instance_norm_with(x, layer.weight, layer.bias,
                              options->running ? &layer.running : NULL, WI_OPTION(options->epsilon, 1e-5f));
}

weft_tensor *weft_instance_norm_layer(weft_tensor *x, const weft_instance_norm_options *given) {
    return WI_CALL(x, "weft_instance_norm", build_instance_norm_layer(x, given));
}

weft_tensor *(weft_batch_norm)(weft_tensor *x) {
    return weft_batch_norm_layer(x, NULL);
}

weft_tensor *(weft_instance_norm)(weft_tensor *x) {
    return weft_instance_norm_layer(x, NULL);
}

/* ---- group, layer and RMS norm ---- */

static weft_tensor *build_group_norm_layer(weft_tensor *x, int64_t groups, const weft_norm_options *given) {
    norm_layer layer;
    weft_norm_options own;
    const weft_norm_options *const options = &own;
    if (!begin(&layer, "weft_group_norm", x) ||
        !WI_GRAPH_OPTIONS(layer.graph, &own, given, layer.call, WEFT_NORM_OPTIONS_INIT) ||
        !has_channels(&layer, x))
        return NULL;
    if (options->axes)
        return wi_graph_fail(
            layer.graph, WEFT_ERROR_ARGUMENT, "weft_group_norm: axes is %d, expected 0", options->axes);
    const int64_t channels = weft_tensor_dimension(x, 1);
    wi_layer_name(layer.name, layer.graph, "groupnorm", options->name);
    if (!options->no_affine) make_affine(&layer, !options->no_bias, 1, &channels);
    return layer.failed ? NULL
                        : weft_group_norm_with(
                              x, groups, layer.weight, layer.bias, WI_OPTION(options->epsilon, 1e-5f));
}

weft_tensor *weft_group_norm_layer(weft_tensor *x, int64_t groups, const weft_norm_options *given) {
    return WI_CALL(x, "weft_group_norm", build_group_norm_layer(x, groups, given));
}

/* dims: the sizes of the last axes that the norm covers. Returns their number; 0: an axis is missing or is the batch,
 * and the error was recorded. */
static int last_axes(
    const norm_layer *layer, const weft_tensor *x, const weft_norm_options *options, int64_t *dims) {
    const int rank = weft_tensor_rank(x), count = options->axes ? options->axes : 1;
    bool good = count >= 1 && count <= rank;
    for (int i = 0; good && i < count; i++) {
        dims[i] = weft_tensor_dimension(x, rank - count + i);
        good = dims[i] > 0;
    }
    if (good) return count;
    wi_graph_fail(layer->graph, WEFT_ERROR_SHAPE,
        "%s: normalising the last %d axes needs axes that exist and do not depend on the batch (x has rank "
        "%d)",
        layer->call, count, rank);
    return 0;
}

static weft_tensor *build_layer_norm_layer(weft_tensor *x, const weft_norm_options *given) {
    norm_layer layer;
    int64_t dims[WEFT_MAX_RANK];
    weft_norm_options own;
    const weft_norm_options *const options = &own;
    if (!begin(&layer, "weft_layer_norm", x) ||
        !WI_GRAPH_OPTIONS(layer.graph, &own, given, layer.call, WEFT_NORM_OPTIONS_INIT))
        return NULL;
    const int axes = last_axes(&layer, x, options, dims);
    if (!axes) return NULL;
    wi_layer_name(layer.name, layer.graph, "layernorm", options->name);
    if (!options->no_affine) make_affine(&layer, !options->no_bias, axes, dims);
    return layer.failed
               ? NULL
               : weft_layer_norm_with(x, axes, layer.weight, layer.bias, WI_OPTION(options->epsilon, 1e-5f));
}

weft_tensor *weft_layer_norm_layer(weft_tensor *x, const weft_norm_options *given) {
    return WI_CALL(x, "weft_layer_norm", build_layer_norm_layer(x, given));
}

static weft_tensor *build_rms_norm_layer(weft_tensor *x, const weft_norm_options *given) {
    norm_layer layer;
    int64_t dims[WEFT_MAX_RANK];
    weft_norm_options own;
    const weft_norm_options *const options = &own;
    if (!begin(&layer, "weft_rms_norm", x) ||
        !WI_GRAPH_OPTIONS(layer.graph, &own, given, layer.call, WEFT_NORM_OPTIONS_INIT))
        return NULL;
    if (options->no_bias)
        return wi_graph_fail(layer.graph, WEFT_ERROR_ARGUMENT,
            "weft_rms_norm: the option no_bias is set, but RMS norm never has a bias");
    const int axes = last_axes(&layer, x, options, dims);
    if (!axes) return NULL;
    wi_layer_name(layer.name, layer.graph, "rmsnorm", options->name);
    if (!options->no_affine) make_affine(&layer, false, axes, dims);
    return layer.failed ? NULL
                        : weft_rms_norm_with(x, axes, layer.weight, WI_OPTION(options->epsilon, 0x1p-23f));
}

weft_tensor *weft_rms_norm_layer(weft_tensor *x, const weft_norm_options *given) {
    return WI_CALL(x, "weft_rms_norm", build_rms_norm_layer(x, given));
}

weft_tensor *(weft_group_norm)(weft_tensor *x, int64_t groups) {
    return weft_group_norm_layer(x, groups, NULL);
}

weft_tensor *(weft_layer_norm)(weft_tensor *x) {
    return weft_layer_norm_layer(x, NULL);
}

weft_tensor *(weft_rms_norm)(weft_tensor *x) {
    return weft_rms_norm_layer(x, NULL);
}
