/* weft/models.h: well-known networks, as a reference card.
 *
 * Each network takes x (N, C, H, W), f32, and returns logits (N, classes). C is arbitrary: 3 for RGB, as in the
 * papers, or 1 for grey. The comments below begin with H × W of the paper (224² is 224 × 224); other sizes work if
 * every window of the network fits. The first linear layer after a flatten is as wide as the flattened image.
 *
 * classes 0: the result is (N, width), the features that the last linear layer would read. That layer and its dropout
 * are left out, for another head or to compare images; the option `allow_extra` of weft_weights_load skips its weights
 * in a file.
 *
 * Parameters and running statistics have the names and shapes of torchvision's model of the same name
 * ("layer1.0.conv1.weight"), so that weft_weights_load can load its weights. "Sequential" means the names of an
 * nn.Sequential of the given layers, where activations, poolings and dropouts are counted, too ("0.weight").
 * "Uniform", "He", "normal" and "truncated" are the initial values of the parameters:
 *
 *   uniform    U(±1/sqrt(fan_in)) for weights and biases, PyTorch's default
 *   He         convolutions N(0, sqrt(2 / fan_out)), fan_out = filters · window; K. He et al. 2015
 *   normal     linear weights N(0, 0.01)
 *   truncated  N(0, deviation) truncated to [-2, 2]
 *
 * With He and normal, biases begin as 0. Weights of norms begin as 1, their biases as 0.
 *
 * Errors: WEFT_ERROR_SHAPE (x is not (N, C, H, W), or the image is too small; the line names the first layer whose
 * window does not fit), WEFT_ERROR_DTYPE, WEFT_ERROR_ARGUMENT (classes below 0, a prefix that is too long, or a
 * parameter name that is already in the graph: two networks in one graph need different prefixes). */
#ifndef WEFT_MODELS_H
#define WEFT_MODELS_H

#include <weft/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* prefix: the beginning of all names ("teacher."); NULL: none. */

/* 32², grey: convolutions of 6 and 16 filters of 5×5 with tanh and average pooling, linear layers of 120 and 84. Y.
 * LeCun et al. 1998, but each convolution reads all feature maps, and the output layer is linear instead of radial
 * basis functions. Sequential; uniform. */
WEFT_API weft_tensor *weft_lenet5(weft_tensor *x, int64_t classes, const char *prefix);
/* 227²: A. Krizhevsky et al. 2012 without groups and local response norms, as in the benchmark of S. Shi et al. 2016;
 * dropout 0.5. Sequential; uniform. */
WEFT_API weft_tensor *weft_alexnet_s(weft_tensor *x, int64_t classes, const char *prefix);
/* 32²: the network of cuda-convnet for CIFAR-10 with three convolutions, as in the benchmark of S. Shi et al. 2016.
 * Sequential; uniform. */
WEFT_API weft_tensor *weft_alexnet_r(weft_tensor *x, int64_t classes, const char *prefix);
/* 224²: K. Simonyan and A. Zisserman 2015, configurations A (vgg11) and D (vgg16), without norms; takes any size from
 * 32² on, as the last feature map is pooled to 7×7; dropout 0.5. Convolutions He, linear layers normal. */
WEFT_API weft_tensor *weft_vgg11(weft_tensor *x, int64_t classes, const char *prefix);
WEFT_API weft_tensor *weft_vgg16(weft_tensor *x, int64_t classes, const char *prefix); /* as weft_vgg11 */
/* 224²: C. Szegedy et al. 2015, with batch norms and with 3×3 instead of 5×5 windows, as in torchvision; without
 * auxiliary classifiers; dropout 0.2. Weights truncated with deviation 0.01; bias of the linear layer uniform. */
WEFT_API weft_tensor *weft_googlenet(weft_tensor *x, int64_t classes, const char *prefix);
/* 299²: C. Szegedy et al. 2016, without the auxiliary classifier; dropout 0.5. Weights truncated with deviation 0.1;
 * bias of the linear layer uniform. */
WEFT_API weft_tensor *weft_inception_v3(weft_tensor *x, int64_t classes, const char *prefix);
/* 224²: K. He et al. 2016; a block that halves the image does so in its first 3×3 convolution, as in torchvision.
 * Convolutions He, linear layer uniform. */
WEFT_API weft_tensor *weft_resnet18(weft_tensor *x, int64_t classes, const char *prefix);
WEFT_API weft_tensor *weft_resnet50(
    weft_tensor *x, int64_t classes, const char *prefix); /* as weft_resnet18 */
/* 32²: the networks for CIFAR-10 of K. He et al. 2016, section 4.2. Their shortcuts have no parameters: they take
 * every second pixel, and zeros for the missing channels. Sequential of convolution, norm, relu, blocks (convolutions
 * and norms c1, b1, c2, b2), pooling, flatten, linear. Convolutions He, linear layer uniform. */
WEFT_API weft_tensor *weft_resnet20(weft_tensor *x, int64_t classes, const char *prefix);
WEFT_API weft_tensor *weft_resnet56(
    weft_tensor *x, int64_t classes, const char *prefix); /* as weft_resnet20 */
/* 224²: M. Sandler et al. 2018, width 1; dropout 0.2. Convolutions He, linear layer normal. */
WEFT_API weft_tensor *weft_mobilenet_v2(weft_tensor *x, int64_t classes, const char *prefix);

typedef struct weft_model_options {
    size_t struct_size;
    const char *prefix; /* default NULL */
    bool no_dropout;    /* default false: dropout as given above */
} weft_model_options;
#define WEFT_MODEL_OPTIONS_INIT .struct_size = sizeof(weft_model_options)
/* The network of this name, for example "resnet50". options NULL means all defaults. An unknown name is
 * WEFT_ERROR_ARGUMENT. */
WEFT_API weft_tensor *weft_model(
    weft_tensor *x, const char *name, int64_t classes, const weft_model_options *options);
/* The names, in the order of this header; NULL for an index beyond the last. */
WEFT_API const char *weft_model_name(size_t index);

#ifdef __cplusplus
}
#endif
#endif
