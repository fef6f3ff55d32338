/* Names and parameters of layers, and the linear and bilinear layers. */
#include "graph/scope.h"
#include "nn/layer_parameters.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <weft/nn.h>

void wi_layer_name(char name[WI_LAYER_NAME], weft_graph *graph, const char *layer, const char *given) {
    if (given)
        snprintf(name, WI_LAYER_NAME, "%s", given);
    else
        snprintf(name, WI_LAYER_NAME, "%s%" PRIu32, layer, wi_scope_number(graph, layer));
}

weft_tensor *wi_layer_parameter(weft_graph *graph, const char *layer, const char *what,
    const weft_initialiser *initialiser, int rank, const int64_t *dims) {
    char name[WI_LAYER_NAME + 48];
    snprintf(name, sizeof name, "%s.%s", layer, what);
    return weft_parameter_shape(graph, name, *initialiser, rank, dims);
}

typedef struct first_values {
    weft_initialiser weight, bias;
} first_values;

static first_values first_values_of(const weft_linear_options *options, int64_t in) {
    const float bound = 1.0f / sqrtf((float)in);
    const weft_initialiser uniform = weft_init_uniform(-bound, bound);
    return (first_values){options->weight_initialiser ? *options->weight_initialiser : uniform,
        options->bias_initialiser ? *options->bias_initialiser : uniform};
}

static weft_tensor *build_linear_layer(weft_tensor *x, int64_t units, const weft_linear_options *given) {
    if (!x) return NULL;
    weft_linear_options own;
    const weft_linear_options *const options = &own;
    weft_graph *const graph = weft_tensor_graph(x);
    if (!WI_GRAPH_OPTIONS(graph, &own, given, "weft_linear_layer", WEFT_LINEAR_OPTIONS_INIT)) return NULL;
    const int64_t in = weft_tensor_dimension(x, -1);
    if (weft_tensor_rank(x) < 1 || in <= 0)
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "weft_linear: the last dimension of x must be a number of features, not the batch (rank %d)",
            weft_tensor_rank(x));
    if (units <= 0)
        return wi_graph_fail(
            graph, WEFT_ERROR_ARGUMENT, "weft_linear: units is %" PRId64 ", expected 1 or more", units);

    char name[WI_LAYER_NAME];
    wi_layer_name(name, graph, "linear", options->name);
    const first_values first = first_values_of(options, in);
    weft_tensor *const weight =
        wi_layer_parameter(graph, name, "weight", &first.weight, 2, (const int64_t[]){units, in});
    weft_tensor *bias = NULL;
    if (!options->no_bias && !(bias = wi_layer_parameter(graph, name, "bias", &first.bias, 1, &units)))
        return NULL;
    return weft_linear_with(x, weight, bias);
}

weft_tensor *weft_linear_layer(weft_tensor *x, int64_t units, const weft_linear_options *given) {
    return WI_CALL(x, "weft_linear", build_linear_layer(x, units, given));
}

static weft_tensor *build_bilinear_layer(
    weft_tensor *x1, weft_tensor *x2, int64_t units, const weft_linear_options *given) {
    weft_tensor *const inputs[] = {x1, x2};
    weft_graph *const graph = wi_inputs_graph("bilinear", inputs, 2);
    weft_linear_options options;
    if (!graph || !WI_GRAPH_OPTIONS(graph, &options, given, "weft_bilinear_layer", WEFT_LINEAR_OPTIONS_INIT))
        return NULL;
    const int64_t in1 = weft_tensor_dimension(x1, -1), in2 = weft_tensor_dimension(x2, -1);
    if (in1 <= 0 || in2 <= 0)
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "weft_bilinear: the last dimensions of x1 and x2 must be numbers of features, not the batch");
    if (units <= 0)
        return wi_graph_fail(
            graph, WEFT_ERROR_ARGUMENT, "weft_bilinear: units is %" PRId64 ", expected 1 or more", units);
    char name[WI_LAYER_NAME];
    wi_layer_name(name, graph, "bilinear", options.name);
    const first_values first = first_values_of(&options, in1);
    weft_tensor *const weight =
        wi_layer_parameter(graph, name, "weight", &first.weight, 3, (const int64_t[]){units, in1, in2});
    weft_tensor *bias = NULL;
    if (!options.no_bias && !(bias = wi_layer_parameter(graph, name, "bias", &first.bias, 1, &units)))
        return NULL;
    return weft_bilinear_with(x1, x2, weight, bias);
}

weft_tensor *weft_bilinear_layer(
    weft_tensor *x1, weft_tensor *x2, int64_t units, const weft_linear_options *given) {
    return WI_CALL(x1, "weft_bilinear", build_bilinear_layer(x1, x2, units, given));
}

weft_tensor *(weft_linear)(weft_tensor *x, int64_t units) {
    return weft_linear_layer(x, units, NULL);
}
weft_tensor *(weft_bilinear)(weft_tensor *x1, weft_tensor *x2, int64_t units) {
    return weft_bilinear_layer(x1, x2, units, NULL);
}
