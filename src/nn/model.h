/* What the builders of models.h share: a row a network, and layers that name themselves.
 *
 * A builder is called with arguments that model.c has checked. A layer's name is the scope's and its own.
 * As with every expression, an error makes the result NULL, and NULL flows through. */
#ifndef WI_MODEL_H
#define WI_MODEL_H

#include "graph/nodes.h"

enum { WI_MODEL_SCOPE = 192 };

/* How convolutions and linear layers begin; models.h has the words. */
typedef enum wi_first_values {
    WI_FIRST_UNIFORM,
    WI_FIRST_HE,
    WI_FIRST_NORMAL,
    WI_FIRST_TRUNCATED
} wi_first_values;

struct wi_model;
typedef weft_tensor *wi_model_builder(const struct wi_model *model, weft_tensor *x);

typedef struct wi_model_row {
    const char *name;
    wi_model_builder *build;
    wi_first_values convolutions, linears;
    float deviation; /* of the truncated ones */
    float epsilon;   /* of norms; 0: 1e-5 */
} wi_model_row;

typedef struct wi_model {
    const wi_model_row *row;
    weft_graph *graph;
    int64_t classes; /* 0: it ends with the features */
    bool no_dropout;
    char scope[WI_MODEL_SCOPE]; /* "teacher.layer1.0." */
} wi_model;

wi_model_builder wi_model_lenet5, wi_model_alexnet_s, wi_model_alexnet_r, wi_model_vgg11, wi_model_vgg16,
    wi_model_googlenet, wi_model_inception_v3, wi_model_resnet18, wi_model_resnet50, wi_model_resnet20,
    wi_model_resnet56, wi_model_mobilenet_v2;

/* The same model within a part of it: "layer%d.%d" puts "layer1.0." behind the scope. */
wi_model wi_model_in(const wi_model *model, const char *format, ...) WI_PRINTF(2, 3);

/* A layer's name is a number in an nn.Sequential. */
typedef struct wi_layer_number {
    char text[16];
} wi_layer_number;
wi_layer_number wi_numbered(int number);

typedef struct wi_model_window {
    int64_t size[2], stride, padding[2]; /* along height and width */
    bool ceil_mode;                      /* pooling */
    int64_t groups;                      /* convolution; 0: 1 */
} wi_model_window;
/* size × size. */
wi_model_window wi_square(int64_t size, int64_t stride, int64_t padding);

weft_tensor *wi_model_conv(const wi_model *model, weft_tensor *x, const char *name, int64_t filters,
    wi_model_window window); /* with a bias */
weft_tensor *wi_model_conv_norm(const wi_model *model, weft_tensor *x, const char *conv, const char *norm,
    int64_t filters, wi_model_window window); /* without one, and a batch norm */
weft_tensor *wi_model_linear(const wi_model *model, weft_tensor *x, const char *name, int64_t units);
/* The logits, from features that drop out with probability p (0: never); of a model without classes the features. */
weft_tensor *wi_model_head(const wi_model *model, weft_tensor *x, float p, const char *name);
/* name: for error lines. */
weft_tensor *wi_model_max_pool(
    const wi_model *model, weft_tensor *x, const char *name, wi_model_window window);
weft_tensor *wi_model_avg_pool(
    const wi_model *model, weft_tensor *x, const char *name, wi_model_window window);
weft_tensor *wi_model_dropout(const wi_model *model, weft_tensor *x, float p);
/* (N, C, H, W) → (N, C), the mean of each map. */
weft_tensor *wi_model_pool_all(weft_tensor *x);

#endif
