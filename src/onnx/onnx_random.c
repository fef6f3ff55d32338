/* Operators of ONNX that draw random numbers: RandomUniform, RandomNormal, both with the shape of an input, Bernoulli and Multinomial.
 * Each run of a plan draws new numbers. They follow from the context's seed, as those of weft_uniform: ONNX does not say how they follow
 * from the attribute `seed`, which is not used. */
#include "onnx/onnx_node.h"
#include "onnx/onnx_types.h"
#include <string.h>

/* y in this type, as the node's output. */
static weft_tensor *give(wi_onnx_import *n, wi_onnx_node *node, weft_tensor *y, int type) {
    weft_tensor *const cast = wi_onnx_cast(n, node, y, type, true);
    if (cast) wi_onnx_set_type(n, node, 0, type);
    return cast;
}

/* Uniform or normal numbers of this shape, in the node's type; `otherwise`: the type if the node has none. */
static weft_tensor *draw(
    wi_onnx_import *n, wi_onnx_node *node, int rank, const int64_t *dims, int otherwise) {
    const bool uniform = strncmp(node->op_type, "RandomUniform", strlen("RandomUniform")) == 0;
    const float low = (float)wi_onnx_real(node, "low", 0), high = (float)wi_onnx_real(node, "high", 1),
                mean = (float)wi_onnx_real(node, "mean", 0), scale = (float)wi_onnx_real(node, "scale", 1);
    weft_tensor *const numbers = uniform ? weft_uniform(n->graph, low, high, rank, dims)
                                         : weft_normal(n->graph, mean, scale, rank, dims);
    return give(n, node, numbers, (int)wi_onnx_whole(node, "dtype", otherwise));
}

static weft_tensor *build_random(wi_onnx_import *n, wi_onnx_node *node) {
    const wi_onnx_list shape = wi_onnx_wholes(node, "shape");
    if (shape.count > WEFT_MAX_RANK)
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "its shape has more than %d axes", WEFT_MAX_RANK);
    return draw(n, node, shape.count, shape.of, WI_ONNX_FLOAT);
}

static weft_tensor *build_random_like(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    int64_t dims[WEFT_MAX_RANK];
    if (!x) return NULL;
    wi_onnx_dims(x, dims);
    return draw(n, node, weft_tensor_rank(x), dims, wi_onnx_get_type(n, node, 0));
}

/* 1 with the probability that x has for each element, otherwise 0. */
static weft_tensor *build_bernoulli(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    int64_t dims[WEFT_MAX_RANK];
    if (!x) return NULL;
    wi_onnx_dims(x, dims);
    weft_tensor *const drawn = weft_uniform(n->graph, 0, 1, weft_tensor_rank(x), dims);
    return give(n, node, weft_less(drawn, weft_cast(weft_stop_gradient(x), WEFT_F32)),
        (int)wi_onnx_whole(node, "dtype", wi_onnx_get_type(n, node, 0)));
}

/* x (batch, classes), logarithms of probabilities up to a summand -> classes (batch, sample_size). */
static weft_tensor *build_multinomial(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const x = wi_onnx_get(n, node, 0);
    const int64_t count = wi_onnx_whole(node, "sample_size", 1);
    if (!x) return NULL;
    if (weft_tensor_rank(x) != 2 || count < 1)
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "it needs a matrix and at least one sample");
    const int64_t dims[] = {weft_tensor_dimension(x, 0), count, weft_tensor_dimension(x, 1)};
    weft_tensor *const rows = weft_expand(weft_unsqueeze(weft_stop_gradient(x), 1), 3, dims);
    return give(n, node, weft_categorical(rows, 1, 0, 1), (int)wi_onnx_whole(node, "dtype", WI_ONNX_INT32));
}

const wi_onnx_op wi_onnx_random_ops[] = {{"RandomUniform", .build = build_random},
    {"RandomNormal", .build = build_random}, {"RandomUniformLike", .build = build_random_like},
    {"RandomNormalLike", .build = build_random_like}, {"Bernoulli", .build = build_bernoulli},
    {"Multinomial", .build = build_multinomial}, {0}};
