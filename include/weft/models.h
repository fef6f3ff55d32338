/* weft/models.h: well-known networks, as a reference card.
 *
 * Each takes x (N, C, H, W), f32, and returns logits (N, classes). C is arbitrary: 3 for RGB, as in the
 * papers, 1 for grey. H and W may differ from the sizes given here, as long as every window of the network
 * fits; the first linear layer after a flatten is as wide as the flattened image. Parameters and running
 * statistics have the names and shapes of torchvision's model of the same name ("layer1.0.conv1.weight"), so
 * that its weights can be loaded with weft_weights_load. classes 0: the features (N, width), which the last linear layer
 * would read, without it and its dropout, for another head, or to compare images; option `allow_extra` of
 * weft_weights_load skips what the file has for that layer. "Sequential" means the names of an nn.Sequential of
 * the given layers, in which activations, poolings and dropouts are counted too ("0.weight"). "Uniform",
 * "He", "normal" and "truncated" name the initial values of the parameters:
 *
 *   uniform    U(±1/sqrt(fan_in)) for weights and biases, PyTorch's default
 *   He         convolutions N(0, sqrt(2 / fan_out)), fan_out = filters · window; K. He et al. 2015
 *   normal     linear weights N(0, 0.01)
 *   truncated  N(0, deviation) truncated to [-2, 2]
 *
 * With He and normal, biases begin as 0. Weights of norms begin as 1, their biases as 0.
 *
 * Errors: WEFT_ERROR_SHAPE (x is not (N, C, H, W), or the image is too small; the message names the layer
 * that it does not fit), WEFT_ERROR_DTYPE, WEFT_ERROR_ARGUMENT (classes below 0, a prefix that is too long, a
 * name that is already in the graph: two networks in one graph need different prefixes). */
#ifndef WEFT_MODELS_H
#define WEFT_MODELS_H

#include <weft/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* prefix: prepended to all names ("teacher."); NULL for none. */

/* 32², grey: convolutions of 6 and 16 filters of 5×5 with tanh and average pooling, linear layers of 120 and
 * 84. Y. LeCun et al. 1998, with all maps connected and a linear output instead of radial basis functions.
 * Sequential; uniform. */
WEFT_API weft_tensor *weft_lenet5(weft_tensor *x, int64_t classes, const char *prefix);
/* 227²: A. Krizhevsky et al. 2012 without groups and local response norms, as S. Shi et al. 2016 benchmark
 * it; dropout 0.5. Sequential; uniform. */
WEFT_API weft_tensor *weft_alexnet_s(weft_tensor *x, int64_t classes, const char *prefix);
/* 32²: the three convolutions of cuda-convnet for CIFAR-10, as S. Shi et al. 2016 benchmark it. Sequential;
 * uniform. */
WEFT_API weft_tensor *weft_alexnet_r(weft_tensor *x, int64_t classes, const char *prefix);
/* 224²: K. Simonyan and A. Zisserman 2015, configurations A and D, without norms; any size of at least 32²,
 * pooled to 7×7; dropout 0.5. He; normal. */
WEFT_API weft_tensor *weft_vgg11(weft_tensor *x, int64_t classes, const char *prefix);
WEFT_API weft_tensor *weft_vgg16(weft_tensor *x, int64_t classes, const char *prefix); /* as weft_vgg11 */
/* 224²: C. Szegedy et al. 2015, with batch norms and 3×3 instead of 5×5 windows, as in torchvision; without
 * auxiliary classifiers; dropout 0.2. Truncated, deviation 0.01; the last bias uniform. */
WEFT_API weft_tensor *weft_googlenet(weft_tensor *x, int64_t classes, const char *prefix);
/* 299²: C. Szegedy et al. 2016, without the auxiliary classifier; dropout 0.5. Truncated, deviation 0.1; the
 * last bias uniform. */
WEFT_API weft_tensor *weft_inception_v3(weft_tensor *x, int64_t classes, const char *prefix);
/* 224²: K. He et al. 2016; the stride of a block is that of its 3×3 convolution. He; the linear layer
 * uniform. */
WEFT_API weft_tensor *weft_resnet18(weft_tensor *x, int64_t classes, const char *prefix);
WEFT_API weft_tensor *weft_resnet50(
    weft_tensor *x, int64_t classes, const char *prefix); /* as weft_resnet18 */
/* 32²: the CIFAR-10 networks of K. He et al. 2016, section 4.2, with shortcuts without parameters: every
 * second pixel, and zeros for the missing channels. Sequential of convolution, norm, relu, blocks (c1, b1,
 * c2, b2), pooling, flatten, linear. He; the linear layer uniform. */
WEFT_API weft_tensor *weft_resnet20(weft_tensor *x, int64_t classes, const char *prefix);
WEFT_API weft_tensor *weft_resnet56(
    weft_tensor *x, int64_t classes, const char *prefix); /* as weft_resnet20 */
/* 224²: M. Sandler et al. 2018, width 1; dropout 0.2. He; normal. */
WEFT_API weft_tensor *weft_mobilenet_v2(weft_tensor *x, int64_t classes, const char *prefix);

typedef struct weft_model_options {
    size_t struct_size;
    const char *prefix; /* default NULL */
    bool no_dropout;    /* default false: dropout as given above */
} weft_model_options;
#define WEFT_MODEL_OPTIONS_INIT .struct_size = sizeof(weft_model_options)
/* Any of these networks by name, for example "resnet50". options NULL means all defaults. An unknown name is
 * WEFT_ERROR_ARGUMENT. */
WEFT_API weft_tensor *weft_model(
    weft_tensor *x, const char *name, int64_t classes, const weft_model_options *options);
/* The names, in the order of this header; NULL for an index beyond the last. */
WEFT_API const char *weft_model_name(size_t index);

#ifdef __cplusplus
}
#endif
#endif
