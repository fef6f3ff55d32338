/* weft/models.h: well-known networks, as a reference card.
 *
 * Each network takes x (N, C, H, W), f32, and returns logits (N, classes); weft_bert, at the end, reads texts. C is
 * arbitrary: 3 for RGB, as in the papers, or 1 for grey. The comments below begin with H × W of the paper (224² is 224
 * × 224); other sizes work if every window of the network fits. The first linear layer after a flatten is as wide as
 * the flattened image.
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
 *   wide       linear weights U(±1/sqrt(fan_out))
 *   Glorot     weights U(±sqrt(6 / (fan_in + fan_out)))
 *
 * With He, normal and wide, biases begin as 0. Weights of norms begin as 1, their biases as 0.
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
WEFT_API weft_tensor *weft_resnet34(
    weft_tensor *x, int64_t classes, const char *prefix); /* as weft_resnet18 */
WEFT_API weft_tensor *weft_resnet50(
    weft_tensor *x, int64_t classes, const char *prefix); /* as weft_resnet18 */
WEFT_API weft_tensor *weft_resnet101(
    weft_tensor *x, int64_t classes, const char *prefix); /* as weft_resnet18 */
/* 32²: the networks for CIFAR-10 of K. He et al. 2016, section 4.2. Their shortcuts have no parameters: they take
 * every second pixel, and zeros for the missing channels. Sequential of convolution, norm, relu, blocks (convolutions
 * and norms c1, b1, c2, b2), pooling, flatten, linear. Convolutions He, linear layer uniform. */
WEFT_API weft_tensor *weft_resnet20(weft_tensor *x, int64_t classes, const char *prefix);
WEFT_API weft_tensor *weft_resnet56(
    weft_tensor *x, int64_t classes, const char *prefix); /* as weft_resnet20 */
/* 224²: M. Sandler et al. 2018, width 1; dropout 0.2. Convolutions He, linear layer normal. */
WEFT_API weft_tensor *weft_mobilenet_v2(weft_tensor *x, int64_t classes, const char *prefix);
/* 224²: A. Howard et al. 2019, width 1; dropout 0.2; norms with epsilon 1e-3 and momentum 0.01, as in torchvision.
 * Convolutions He, linear layers normal. */
WEFT_API weft_tensor *weft_mobilenet_v3_large(weft_tensor *x, int64_t classes, const char *prefix);
WEFT_API weft_tensor *weft_mobilenet_v3_small(
    weft_tensor *x, int64_t classes, const char *prefix); /* as weft_mobilenet_v3_large */
/* 224²: M. Tan and Q. V. Le 2019; dropout 0.2. In training, example n skips the convolutions of block i of 16, if this
 * block has a shortcut, with probability p = 0.2 · i / 16; the convolutions of the other examples are scaled by 1 / (1 -
 * p) (torchvision's StochasticDepth; G. Huang et al. 2016). Convolutions He, linear layer wide. */
WEFT_API weft_tensor *weft_efficientnet_b0(weft_tensor *x, int64_t classes, const char *prefix);
/* 224²: A. Dosovitskiy et al. 2021, ViT-Base with patches of 16². H and W are multiples of 16, and the parameter
 * "encoder.pos_embedding" (1, 1 + H / 16 · W / 16, 768) has a row for each patch, so that weights belong to one size of
 * the image. Attention as weft_multi_head_attention; linear layers Glorot, with biases N(0, 1e-6); convolution N(0,
 * 1/sqrt(fan_in)) truncated to [-2, 2]; positions N(0, 0.02); class token and last layer 0. torchvision's file has the
 * names "mlp.linear_1" and "mlp.linear_2" of an older version; save the state_dict() of the module that has read it,
 * which has "mlp.0" and "mlp.3" as in Weft. */
WEFT_API weft_tensor *weft_vit_b_16(weft_tensor *x, int64_t classes, const char *prefix);

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

typedef struct weft_bert_options {
    size_t struct_size;
    const char *prefix;       /* default NULL */
    int64_t layers;           /* default 12 */
    int64_t width;            /* default 768; a multiple of heads */
    int64_t heads;            /* default 12 */
    int64_t intermediate;     /* default 3072: the width between the two linear layers of a block */
    int64_t vocabulary;       /* default 30522 */
    int64_t positions;        /* default 512: tokens of the longest text */
    int64_t types;            /* default 2 */
    weft_tensor *token_types; /* default NULL: all 0; i32 (N, length), each below types */
    weft_tensor *mask;        /* default NULL; bool (N, length), true for tokens that are attended to */
    bool no_dropout; /* default false: dropout 0.1 of embeddings, attention weights and linear layers */
} weft_bert_options;
#define WEFT_BERT_OPTIONS_INIT .struct_size = sizeof(weft_bert_options)
/* The encoder of J. Devlin et al. 2019: tokens i32 (N, length) → (N, length, width), the last hidden states. length is a
 * number or WEFT_LENGTH. *pooled is (N, width), tanh of a linear layer of the first token's state; pooled NULL: the
 * network has no such layer. options NULL means all defaults, which are those of BERT-Base. Parameters have the names
 * and shapes of Hugging Face's BertModel ("encoder.layer.0.attention.self.query.weight"); with the prefix "bert." they
 * have those of the encoder in BertForMaskedLM and similar classes. Files with "LayerNorm.gamma" and "LayerNorm.beta"
 * are older: load them in Python, and save the state_dict(). Linear and embedding weights begin as N(0, 0.02), biases
 * as 0. Token 0 is the padding: its row begins as zeros and gets no gradient, but the tokens of a text attend to it
 * unless the mask excludes it. A text that attends to no token gets 0 from each attention. NULL after an error:
 * WEFT_ERROR_SHAPE, WEFT_ERROR_DTYPE, WEFT_ERROR_ARGUMENT. A token or type that is out of range is an error of the next
 * read or wait. */
WEFT_API weft_tensor *weft_bert(weft_tensor *tokens, const weft_bert_options *options, weft_tensor **pooled);

#ifdef __cplusplus
}
#endif
#endif
