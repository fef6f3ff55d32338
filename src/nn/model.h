/* For the builders of the networks of models.h: the row of a network in the table, and layers with names.
 *
 * model.c checks the arguments before it calls a builder. The full name of a layer is the model's scope followed by
 * the given name. A layer returns NULL after an error, and for x NULL. */
#ifndef WI_MODEL_H
#define WI_MODEL_H

#include "graph/weft_graph.h"

enum { WI_MODEL_SCOPE = 192, WI_MODEL_NAME = WI_MODEL_SCOPE + 32 };

/* The initial values of convolutions and linear layers, as models.h defines them. */
typedef enum wi_first_values {
    WI_FIRST_UNIFORM,
    WI_FIRST_HE,
    WI_FIRST_NORMAL,
    WI_FIRST_TRUNCATED,
    WI_FIRST_PATCHES, /* truncated, with deviation 1/sqrt(fan_in); biases 0 */
    WI_FIRST_WIDE,
    WI_FIRST_GLOROT, /* biases N(0, 1e-6) */
    WI_FIRST_ZERO    /* also biases */
} wi_first_values;

struct wi_model;
typedef weft_tensor *wi_model_builder(const struct wi_model *model, weft_tensor *x);

typedef struct wi_model_row {
    const char *name;
    wi_model_builder *build;
    wi_first_values convolutions, linears;
    float deviation; /* of WI_FIRST_NORMAL and WI_FIRST_TRUNCATED */
    float epsilon;   /* of norms; 0: 1e-5 */
    float momentum;  /* of batch norms; 0: 0.1 */
} wi_model_row;

typedef struct wi_model {
    const wi_model_row *row;
    weft_graph *graph;
    int64_t classes; /* 0: the network ends with the features */
    bool no_dropout;
    char scope[WI_MODEL_SCOPE]; /* such as "teacher.layer1.0." */
} wi_model;

wi_model_builder wi_model_lenet5, wi_model_alexnet_s, wi_model_alexnet_r, wi_model_vgg11, wi_model_vgg16,
    wi_model_googlenet, wi_model_inception_v3, wi_model_resnet18, wi_model_resnet34, wi_model_resnet50,
    wi_model_resnet101, wi_model_resnet20, wi_model_resnet56, wi_model_mobilenet_v2,
    wi_model_mobilenet_v3_large, wi_model_mobilenet_v3_small, wi_model_efficientnet_b0, wi_model_vit_b_16;

/* Begins the scope with the prefix, which may be NULL. False: it is too long, and the error is recorded. */
bool wi_model_set_prefix(wi_model *model, const char *prefix);
/* A copy of the model with a longer scope: "layer%d.%d" appends "layer1.0.". */
wi_model wi_model_in(const wi_model *model, const char *format, ...) WI_PRINTF(2, 3);

/* The full name of a layer or parameter. */
void wi_model_full_name(char text[WI_MODEL_NAME], const wi_model *model, const char *name);
/* Creates the parameter of this name, or finds it if the scope shares names. */
weft_tensor *wi_model_parameter(
    const wi_model *model, const char *name, weft_initialiser initialiser, int rank, const int64_t *dims);

/* The name of a layer in an nn.Sequential, a number. */
typedef struct wi_layer_number {
    char text[16];
} wi_layer_number;
wi_layer_number wi_numbered(int number);

typedef struct wi_model_window {
    int64_t size[2], stride, padding[2]; /* along height and width */
    bool ceil_mode;                      /* of poolings */
    int64_t groups;                      /* of convolutions; 0: 1 */
} wi_model_window;
/* A window of size × size. */
wi_model_window wi_square(int64_t size, int64_t stride, int64_t padding);

weft_tensor *wi_model_conv(const wi_model *model, weft_tensor *x, const char *name, int64_t filters,
    wi_model_window window); /* with a bias */
weft_tensor *wi_model_conv_norm(const wi_model *model, weft_tensor *x, const char *conv, const char *norm,
    int64_t filters, wi_model_window window); /* without a bias, followed by a batch norm */
weft_tensor *wi_model_linear(const wi_model *model, weft_tensor *x, const char *name, int64_t units);
/* Over the last axis. */
weft_tensor *wi_model_layer_norm(const wi_model *model, weft_tensor *x, const char *name);
/* Dropout with probability p (0: none), then the linear layer of the logits; if classes is 0, x itself. */
weft_tensor *wi_model_head(const wi_model *model, weft_tensor *x, float p, const char *name);
/* name: of the layer, for errors. */
weft_tensor *wi_model_max_pool(
    const wi_model *model, weft_tensor *x, const char *name, wi_model_window window);
weft_tensor *wi_model_avg_pool(
    const wi_model *model, weft_tensor *x, const char *name, wi_model_window window);
weft_tensor *wi_model_dropout(const wi_model *model, weft_tensor *x, float p);
/* Dropout of whole examples, one random number for each. */
weft_tensor *wi_model_drop_examples(const wi_model *model, weft_tensor *x, float p);
/* (N, C, H, W) → (N, C), the mean of each channel. */
weft_tensor *wi_model_pool_all(weft_tensor *x);

#endif
