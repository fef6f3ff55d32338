/* Convolution layers: their parameters have PyTorch's shapes and initial values. */
#include "nn/layer_parameters.h"
#include <inttypes.h>
#include <math.h>
#include <weft/nn.h>

/* dims: the shape of the weight, (F, C / groups, K...), or (C, F / groups, K...) if transposed. false: an error was
 * recorded. */
static bool weight_shape(int64_t dims[WEFT_MAX_RANK], const weft_tensor *x, int64_t filters,
    const int64_t *size, int64_t groups, bool transposed) {
    weft_graph *const graph = weft_tensor_graph(x);
    const int rank = weft_tensor_rank(x);
    if (rank < 3 || rank > 5)
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "weft_conv_layer: x has rank %d, expected (N, C, spatial...) of one to three spatial axes", rank);
    const int64_t channels = weft_tensor_dimension(x, 1);
    if (channels <= 0)
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "weft_conv_layer: axis 1 of x, the channels, must be a number, not the batch");
    if (filters <= 0)
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "weft_conv_layer: filters is %" PRId64 ", expected 1 or more", filters);
    if (groups <= 0 || channels % groups || filters % groups)
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "weft_conv_layer: %" PRId64 " groups do not divide both %" PRId64 " channels and %" PRId64
            " filters",
            groups, channels, filters);
    dims[0] = transposed ? channels : filters;
    dims[1] = (transposed ? filters : channels) / groups;
    for (int i = 2; i < rank; i++) {
        dims[i] = size[i - 2];
        if (dims[i] <= 0)
            return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
                "weft_conv_layer: the window size is %" PRId64 " along spatial axis %d, expected 1 or more",
                dims[i], i - 2);
    }
    return true;
}

/* Copies a number of the layer's options, such as stride, to the field of the same name in options->conv, unless the number is 0.
 * one: this field, which is for all axes; many: the field with a number per axis. It is an error if one of the two is set, too. */
static bool copy_number(
    weft_graph *graph, const char *what, int64_t number, int64_t *one, const int64_t *many) {
    if (!number) return true;
    if (*one || (many && (many[0] || many[1] || many[2])))
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "weft_conv_layer: the options %s = %" PRId64 " and conv.%s%s are both set: set one of them", what,
            number, what, *one ? "" : "s");
    *one = number;
    return true;
}

static bool take_numbers(weft_graph *graph, weft_conv_layer_options *own) {
    weft_conv_options *const conv = &own->conv;
    if (own->same && conv->mode != WEFT_PADDING_EQUAL && conv->mode != WEFT_PADDING_SAME)
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "weft_conv_layer: the option same is set together with a different conv.mode: set one of them");
    if (own->same && own->padding)
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "weft_conv_layer: padding = %" PRId64
            " is set together with same, which computes the padding: set one of them",
            own->padding);
    if (own->same) conv->mode = WEFT_PADDING_SAME;
    return copy_number(graph, "stride", own->stride, &conv->stride, conv->strides) &&
           copy_number(graph, "padding", own->padding, &conv->padding, conv->paddings) &&
           copy_number(graph, "dilation", own->dilation, &conv->dilation, conv->dilations) &&
           copy_number(
               graph, "output_padding", own->output_padding, &conv->output_padding, conv->output_paddings) &&
           copy_number(graph, "groups", own->groups, &conv->groups, NULL);
}

static bool read_options(
    weft_graph *graph, weft_conv_layer_options *own, const weft_conv_layer_options *given) {
    if (!WI_GRAPH_OPTIONS(graph, own, given, "weft_conv_layer", WEFT_CONV_LAYER_OPTIONS_INIT)) return false;
    weft_conv_options *const conv = &own->conv;
    if (conv->struct_size == 0) conv->struct_size = sizeof *conv;
    if (conv->struct_size == sizeof *conv) /* the fields after conv would move if conv had another size */
        return take_numbers(graph, own);
    return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
        "weft_conv_layer: the options conv have struct_size %zu, expected %zu (initialise them with "
        "WEFT_CONV_OPTIONS_INIT)",
        conv->struct_size, sizeof *conv);
}

static weft_tensor *build_conv_layer(
    weft_tensor *x, int64_t filters, const int64_t *size, const weft_conv_layer_options *given) {
    if (!x) return NULL;
    weft_graph *const graph = weft_tensor_graph(x);
    weft_conv_layer_options own;
    const weft_conv_layer_options *const options = &own;
    if (!read_options(graph, &own, given)) return NULL;
    if (size && options->size)
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "weft_conv_layer: the window size is given twice, by the argument and by the option size: give "
            "it once");
    const int64_t one_size[] = {options->size, options->size, options->size};
    if (!size) size = one_size;
    const weft_conv_options conv = own.conv;
    int64_t dims[WEFT_MAX_RANK];
    if (!weight_shape(dims, x, filters, size, conv.groups ? conv.groups : 1, options->transposed))
        return NULL;
    const int rank = weft_tensor_rank(x);
    double fan_in = (double)dims[1];
    for (int i = 2; i < rank; i++) fan_in *= (double)dims[i];
    const float bound = (float)(1.0 / sqrt(fan_in));
    const weft_initialiser uniform = weft_init_uniform(-bound, bound);
    char name[WI_LAYER_NAME];
    wi_layer_name(name, graph, options->transposed ? "convtranspose" : "conv", options->name);
    weft_tensor *const weight = wi_layer_parameter(graph, name, "weight",
        options->weight_initialiser ? options->weight_initialiser : &uniform, rank, dims);
    weft_tensor *bias = NULL;
    if (!options->no_bias) {
        bias = wi_layer_parameter(graph, name, "bias",
            options->bias_initialiser ? options->bias_initialiser : &uniform, 1, &filters);
        if (!bias) return NULL;
    }
    return options->transposed ? weft_conv_transpose_with(x, weight, bias, &conv)
                               : weft_conv_with(x, weight, bias, &conv);
}

weft_tensor *weft_conv_layer(
    weft_tensor *x, int64_t filters, const int64_t *size, const weft_conv_layer_options *given) {
    return WI_CALL(x, "weft_conv_layer", build_conv_layer(x, filters, size, given));
}

static weft_tensor *plain(weft_tensor *x, const char *op, int axes, int64_t filters, int64_t size,
    const weft_conv_layer_options *options) {
    if (!x) return NULL;
    if (weft_tensor_rank(x) != 2 + axes)
        return wi_graph_fail(weft_tensor_graph(x), WEFT_ERROR_SHAPE,
            "%s: x has rank %d, expected (N, C, spatial...) of %d spatial ax%s", op, weft_tensor_rank(x),
            axes, axes == 1 ? "is" : "es");
    return weft_conv_layer(x, filters, (const int64_t[]){size, size, size}, options);
}

#define PLAIN_FORMS(axes)                                                                                    \
    weft_tensor *weft_conv##axes##d_layer(                                                                   \
        weft_tensor *x, int64_t filters, int64_t size, const weft_conv_layer_options *options) {             \
        return WI_CALL(                                                                                      \
            x, "weft_conv" #axes "d", plain(x, "weft_conv" #axes "d", axes, filters, size, options));        \
    }                                                                                                        \
    weft_tensor *(weft_conv##axes##d)(weft_tensor * x, int64_t filters, int64_t size) {                      \
        return weft_conv##axes##d_layer(x, filters, size, NULL);                                             \
    }
PLAIN_FORMS(1)
PLAIN_FORMS(2)
PLAIN_FORMS(3)

static weft_tensor *strided(weft_tensor *x, const char *op, int64_t filters, int64_t size, int64_t stride,
    weft_conv_layer_options options) {
    if (x && stride < 1) /* as an option, 0 would mean the default stride */
        return wi_graph_fail(weft_tensor_graph(x), WEFT_ERROR_ARGUMENT,
            "%s: stride is %" PRId64 ", expected 1 or more", op, stride);
    options.stride = stride;
    return plain(x, op, 2, filters, size, &options);
}

static weft_tensor *build_conv2d_strided(
    weft_tensor *x, int64_t filters, int64_t size, int64_t stride, int64_t padding) {
    return strided(x, "weft_conv2d_strided", filters, size, stride,
        (weft_conv_layer_options){WEFT_CONV_LAYER_OPTIONS_INIT, .padding = padding});
}

weft_tensor *weft_conv2d_strided(
    weft_tensor *x, int64_t filters, int64_t size, int64_t stride, int64_t padding) {
    return WI_CALL(x, "weft_conv2d_strided", build_conv2d_strided(x, filters, size, stride, padding));
}

static weft_tensor *build_conv_transpose2d_layer(weft_tensor *x, int64_t filters, int64_t size,
    int64_t stride, int64_t padding, const weft_conv_layer_options *given) {
    static const char call[] = "weft_conv_transpose2d";
    weft_conv_layer_options own;
    if (!x || !WI_GRAPH_OPTIONS(weft_tensor_graph(x), &own, given, call, WEFT_CONV_LAYER_OPTIONS_INIT))
        return NULL;
    if ((own.stride && own.stride != stride) || (own.padding && own.padding != padding))
        return wi_graph_fail(weft_tensor_graph(x), WEFT_ERROR_ARGUMENT,
            "%s: the options stride and padding differ from the arguments of the same names: give each once",
            call);
    own.padding = padding;
    own.transposed = true;
    return strided(x, call, filters, size, stride, own);
}

weft_tensor *weft_conv_transpose2d_layer(weft_tensor *x, int64_t filters, int64_t size, int64_t stride,
    int64_t padding, const weft_conv_layer_options *given) {
    return WI_CALL(
        x, "weft_conv_transpose2d", build_conv_transpose2d_layer(x, filters, size, stride, padding, given));
}

weft_tensor *(
    weft_conv_transpose2d)(weft_tensor *x, int64_t filters, int64_t size, int64_t stride, int64_t padding) {
    return weft_conv_transpose2d_layer(x, filters, size, stride, padding, NULL);
}
