/* The table of the networks of models.h, and the checks of their arguments. */
#include "nn/model.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <weft/models.h>

/* In the order of models.h; the columns are the fields of wi_model_row. */
static const wi_model_row rows[] = {
    {"lenet5", wi_model_lenet5, WI_FIRST_UNIFORM, WI_FIRST_UNIFORM, 0, 0, 0},
    {"alexnet_s", wi_model_alexnet_s, WI_FIRST_UNIFORM, WI_FIRST_UNIFORM, 0, 0, 0},
    {"alexnet_r", wi_model_alexnet_r, WI_FIRST_UNIFORM, WI_FIRST_UNIFORM, 0, 0, 0},
    {"vgg11", wi_model_vgg11, WI_FIRST_HE, WI_FIRST_NORMAL, 0.01f, 0, 0},
    {"vgg16", wi_model_vgg16, WI_FIRST_HE, WI_FIRST_NORMAL, 0.01f, 0, 0},
    {"googlenet", wi_model_googlenet, WI_FIRST_TRUNCATED, WI_FIRST_TRUNCATED, 0.01f, 1e-3f, 0},
    {"inception_v3", wi_model_inception_v3, WI_FIRST_TRUNCATED, WI_FIRST_TRUNCATED, 0.1f, 1e-3f, 0},
    {"resnet18", wi_model_resnet18, WI_FIRST_HE, WI_FIRST_UNIFORM, 0, 0, 0},
    {"resnet34", wi_model_resnet34, WI_FIRST_HE, WI_FIRST_UNIFORM, 0, 0, 0},
    {"resnet50", wi_model_resnet50, WI_FIRST_HE, WI_FIRST_UNIFORM, 0, 0, 0},
    {"resnet101", wi_model_resnet101, WI_FIRST_HE, WI_FIRST_UNIFORM, 0, 0, 0},
    {"resnet20", wi_model_resnet20, WI_FIRST_HE, WI_FIRST_UNIFORM, 0, 0, 0},
    {"resnet56", wi_model_resnet56, WI_FIRST_HE, WI_FIRST_UNIFORM, 0, 0, 0},
    {"mobilenet_v2", wi_model_mobilenet_v2, WI_FIRST_HE, WI_FIRST_NORMAL, 0.01f, 0, 0},
    {"mobilenet_v3_large", wi_model_mobilenet_v3_large, WI_FIRST_HE, WI_FIRST_NORMAL, 0.01f, 1e-3f, 0.01f},
    {"mobilenet_v3_small", wi_model_mobilenet_v3_small, WI_FIRST_HE, WI_FIRST_NORMAL, 0.01f, 1e-3f, 0.01f},
    {"efficientnet_b0", wi_model_efficientnet_b0, WI_FIRST_HE, WI_FIRST_WIDE, 0, 0, 0},
    {"vit_b_16", wi_model_vit_b_16, WI_FIRST_PATCHES, WI_FIRST_GLOROT, 0, 1e-6f, 0},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

const char *weft_model_name(size_t index) {
    return index < ROWS ? rows[index].name : NULL;
}

static const wi_model_row *row_of(const char *name) {
    for (size_t i = 0; name && i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    return NULL;
}

/* x must be f32 (N, C, H, W), of which only N may be the batch size. */
static bool check_image(const wi_model *model, const weft_tensor *x) {
    char text[WI_SHAPE_TEXT];
    const wi_shape *const shape = &x->shape;
    if (x->dtype != WEFT_F32) {
        wi_graph_fail(model->graph, WEFT_ERROR_DTYPE, "weft_%s: x is %s, expected f32", model->row->name,
            weft_dtype_name(x->dtype));
        return false;
    }
    if (shape->rank == 4 && shape->dims[1] > 0 && shape->dims[2] > 0 && shape->dims[3] > 0) return true;
    wi_graph_fail(model->graph, WEFT_ERROR_SHAPE,
        "weft_%s: x is %s, expected (N, C, H, W) of which only N may be the batch", model->row->name,
        wi_shape_print(x->graph, shape, text));
    return false;
}

bool wi_model_set_prefix(wi_model *model, const char *prefix) {
    const size_t length = prefix ? strlen(prefix) : 0;
    snprintf(model->scope, sizeof model->scope, "%s", prefix ? prefix : "");
    if (length <= WI_MODEL_SCOPE / 2) return true;
    wi_graph_fail(model->graph, WEFT_ERROR_ARGUMENT,
        "weft_%s: the prefix has %zu characters, expected at most %d", model->row->name, length,
        WI_MODEL_SCOPE / 2);
    return false;
}

static weft_tensor *build_model(
    weft_tensor *x, const char *name, int64_t classes, const weft_model_options *given) {
    weft_model_options options;
    weft_graph *const graph = wi_inputs_graph("weft_model", &x, 1);
    if (!graph) return NULL;
    wi_model model = {.row = row_of(name), .graph = graph, .classes = classes};
    if (!model.row)
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "weft_model: there is no network '%s'; weft_model_name lists the names", name ? name : "");
    if (!WI_GRAPH_OPTIONS(graph, &options, given, "weft_model", WEFT_MODEL_OPTIONS_INIT)) return NULL;
    if (classes < 0)
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "weft_%s: classes is %" PRId64
            ", expected 1 or more, or 0 to get the features without a classifier",
            name, classes);
    if (!wi_model_set_prefix(&model, options.prefix) || !check_image(&model, x)) return NULL;
    model.no_dropout = options.no_dropout;
    return model.row->build(&model, x);
}

weft_tensor *weft_model(weft_tensor *x, const char *name, int64_t classes, const weft_model_options *given) {
    return WI_CALL(x, "weft_model", build_model(x, name, classes, given));
}

#define WI_MODEL_FUNCTION(name)                                                                              \
    weft_tensor *weft_##name(weft_tensor *x, int64_t classes, const char *prefix) {                          \
        const weft_model_options options = {WEFT_MODEL_OPTIONS_INIT, .prefix = prefix};                      \
        return WI_CALL(x, "weft_" #name, weft_model(x, #name, classes, &options));                           \
    }
WI_MODEL_FUNCTION(lenet5)
WI_MODEL_FUNCTION(alexnet_s)
WI_MODEL_FUNCTION(alexnet_r)
WI_MODEL_FUNCTION(vgg11)
WI_MODEL_FUNCTION(vgg16)
WI_MODEL_FUNCTION(googlenet)
WI_MODEL_FUNCTION(inception_v3)
WI_MODEL_FUNCTION(resnet18)
WI_MODEL_FUNCTION(resnet34)
WI_MODEL_FUNCTION(resnet50)
WI_MODEL_FUNCTION(resnet101)
WI_MODEL_FUNCTION(resnet20)
WI_MODEL_FUNCTION(resnet56)
WI_MODEL_FUNCTION(mobilenet_v2)
WI_MODEL_FUNCTION(mobilenet_v3_large)
WI_MODEL_FUNCTION(mobilenet_v3_small)
WI_MODEL_FUNCTION(efficientnet_b0)
WI_MODEL_FUNCTION(vit_b_16)
