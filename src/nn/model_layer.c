/* The layers of the networks of models.h. The network's row gives their initial values; errors name the layer. */
#include "graph/scope.h"
#include "nn/model.h"
#include "ops/op_table.h"
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <weft/images.h>
#include <weft/nn.h>
#include <weft/normalization.h>

wi_model wi_model_in(const wi_model *model, const char *format, ...) {
    wi_model part = *model;
    char name[48];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    snprintf(
        part.scope, sizeof part.scope, "%.*s%s.", WI_MODEL_SCOPE - (int)sizeof name - 2, model->scope, name);
    return part;
}

wi_layer_number wi_numbered(int number) {
    wi_layer_number name;
    snprintf(name.text, sizeof name.text, "%d", number);
    return name;
}

wi_model_window wi_square(int64_t size, int64_t stride, int64_t padding) {
    return (wi_model_window){.size = {size, size}, .stride = stride, .padding = {padding, padding}};
}

/* ---- names and checks ---- */

void wi_model_full_name(char text[WI_MODEL_NAME], const wi_model *model, const char *name) {
    snprintf(text, WI_MODEL_NAME, "%s%s", model->scope, name);
}

/* Checks that the graph has no parameter of the layer's name yet, unless the scope shares names. */
static bool is_new(const wi_model *model, const char *layer) {
    char weight[WI_SCOPE_PREFIX + WI_MODEL_NAME + 8];
    snprintf(weight, sizeof weight, "%s%s.weight", wi_scope_prefix(model->graph), layer);
    if (wi_scope_shares(model->graph) || !weft_graph_find(model->graph, weight)) return true;
    wi_graph_fail(model->graph, WEFT_ERROR_ARGUMENT,
        "weft_%s: the graph already has a parameter '%s'; use another prefix", model->row->name, weight);
    return false;
}

static bool fits(const wi_model *model, const weft_tensor *x, const char *name, const wi_model_window *w) {
    char text[WI_SHAPE_TEXT], layer[WI_MODEL_NAME];
    if (x->shape.dims[2] + 2 * w->padding[0] >= w->size[0] &&
        x->shape.dims[3] + 2 * w->padding[1] >= w->size[1])
        return true;
    wi_model_full_name(layer, model, name);
    wi_graph_fail(model->graph, WEFT_ERROR_SHAPE,
        "weft_%s: the image is too small: layer %s has a window of %" PRId64 " x %" PRId64
        ", but its input is %s",
        model->row->name, layer, w->size[0], w->size[1], wi_shape_print(x->graph, &x->shape, text));
    return false;
}

/* ---- layers with parameters ---- */

static weft_initialiser first_weight(
    const wi_model *model, wi_first_values values, double fan_in, double fan_out) {
    const float bound = (float)(1 / sqrt(fan_in));
    switch (values) {
    case WI_FIRST_HE: return weft_init_normal(0, (float)sqrt(2 / fan_out));
    case WI_FIRST_NORMAL: return weft_init_normal(0, model->row->deviation);
    case WI_FIRST_TRUNCATED: return weft_init_truncated_normal(0, model->row->deviation, -2, 2);
    case WI_FIRST_PATCHES: return weft_init_truncated_normal(0, bound, -2, 2);
    case WI_FIRST_WIDE: return weft_init_uniform((float)(-1 / sqrt(fan_out)), (float)(1 / sqrt(fan_out)));
    case WI_FIRST_GLOROT: return weft_glorot_uniform();
    case WI_FIRST_ZERO: return weft_zeros();
    case WI_FIRST_UNIFORM: break;
    }
    return weft_init_uniform(-bound, bound);
}

/* Writes the initialiser of a bias to *own and returns `own`. NULL: the bias gets the default of the layer,
 * U(±1/sqrt(fan_in)). */
static const weft_initialiser *first_bias(wi_first_values values, weft_initialiser *own) {
    *own = values == WI_FIRST_GLOROT ? weft_init_normal(0, 1e-6f) : weft_zeros();
    return values == WI_FIRST_UNIFORM || values == WI_FIRST_TRUNCATED ? NULL : own;
}

static weft_tensor *convolution(const wi_model *model, weft_tensor *x, const char *name, int64_t filters,
    const wi_model_window *w, bool bias) {
    char layer[WI_MODEL_NAME];
    wi_model_full_name(layer, model, name);
    if (!x || !fits(model, x, name, w) || !is_new(model, layer)) return NULL;
    const int64_t groups = w->groups ? w->groups : 1;
    const double taps = (double)(w->size[0] * w->size[1]);
    const wi_first_values values = model->row->convolutions;
    const weft_initialiser weight =
        first_weight(model, values, taps * (double)(x->shape.dims[1] / groups), taps * (double)filters);
    weft_initialiser bias_values;
    return weft_conv_layer(x, filters, w->size,
        &(weft_conv_layer_options){WEFT_CONV_LAYER_OPTIONS_INIT,
            .conv = {WEFT_CONV_OPTIONS_INIT, .stride = w->stride, .paddings = {w->padding[0], w->padding[1]},
                .groups = groups},
            .name = layer, .weight_initialiser = &weight,
            .bias_initialiser = first_bias(values, &bias_values), .no_bias = !bias});
}

weft_tensor *wi_model_conv(
    const wi_model *model, weft_tensor *x, const char *name, int64_t filters, wi_model_window window) {
    return convolution(model, x, name, filters, &window, true);
}

weft_tensor *wi_model_conv_norm(const wi_model *model, weft_tensor *x, const char *conv, const char *norm,
    int64_t filters, wi_model_window window) {
    char layer[WI_MODEL_NAME];
    wi_model_full_name(layer, model, norm);
    return weft_batch_norm_layer(convolution(model, x, conv, filters, &window, false),
        &(weft_batch_norm_options){WEFT_BATCH_NORM_OPTIONS_INIT, .name = layer,
            .epsilon = model->row->epsilon, .momentum = model->row->momentum});
}

weft_tensor *wi_model_layer_norm(const wi_model *model, weft_tensor *x, const char *name) {
    char layer[WI_MODEL_NAME];
    wi_model_full_name(layer, model, name);
    return weft_layer_norm_layer(
        x, &(weft_norm_options){WEFT_NORM_OPTIONS_INIT, .name = layer, .epsilon = model->row->epsilon});
}

weft_tensor *wi_model_parameter(
    const wi_model *model, const char *name, weft_initialiser initialiser, int rank, const int64_t *dims) {
    char parameter[WI_MODEL_NAME];
    wi_model_full_name(parameter, model, name);
    return weft_parameter_shape(model->graph, parameter, initialiser, rank, dims);
}

weft_tensor *wi_model_linear(const wi_model *model, weft_tensor *x, const char *name, int64_t units) {
    char layer[WI_MODEL_NAME];
    wi_model_full_name(layer, model, name);
    if (!x || !is_new(model, layer)) return NULL;
    const wi_first_values values = model->row->linears;
    const weft_initialiser weight =
        first_weight(model, values, (double)weft_tensor_dimension(x, -1), (double)units);
    weft_initialiser bias_values;
    return weft_linear_layer(x, units,
        &(weft_linear_options){WEFT_LINEAR_OPTIONS_INIT, .name = layer, .weight_initialiser = &weight,
            .bias_initialiser = first_bias(values, &bias_values)});
}

weft_tensor *wi_model_head(const wi_model *model, weft_tensor *x, float p, const char *name) {
    if (model->classes == 0) return x;
    return wi_model_linear(model, p > 0 ? wi_model_dropout(model, x, p) : x, name, model->classes);
}

/* ---- layers without parameters ---- */

static weft_pool_options pooling(const wi_model_window *w) {
    return (weft_pool_options){WEFT_POOL_OPTIONS_INIT, .windows = {w->size[0], w->size[1]},
        .stride = w->stride, .paddings = {w->padding[0], w->padding[1]}, .ceil_mode = w->ceil_mode};
}

weft_tensor *wi_model_max_pool(
    const wi_model *model, weft_tensor *x, const char *name, wi_model_window window) {
    const weft_pool_options options = pooling(&window);
    return x && fits(model, x, name, &window) ? weft_max_pool(x, &options) : NULL;
}

weft_tensor *wi_model_avg_pool(
    const wi_model *model, weft_tensor *x, const char *name, wi_model_window window) {
    const weft_pool_options options = pooling(&window);
    return x && fits(model, x, name, &window) ? weft_avg_pool(x, &options) : NULL;
}

weft_tensor *wi_model_dropout(const wi_model *model, weft_tensor *x, float p) {
    return model->no_dropout ? x : weft_dropout(x, p);
}

weft_tensor *wi_model_drop_examples(const wi_model *model, weft_tensor *x, float p) {
    return model->no_dropout || p <= 0 ? x : wi_dropout_examples(x, p);
}

weft_tensor *wi_model_pool_all(weft_tensor *x) {
    return weft_flatten(weft_global_avg_pool(x));
}
