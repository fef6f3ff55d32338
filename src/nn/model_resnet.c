/* ResNets: K. He, X. Zhang, S. Ren, J. Sun, "Deep Residual Learning for Image Recognition", CVPR 2016. */
#include "nn/model.h"
#include <weft/nn.h>

/* ---- for ImageNet: as in torchvision, also in names and in the stride of the 3×3 convolution ---- */

/* The input of a block, passed through a 1×1 convolution if the block changes its shape. */
static weft_tensor *shortcut(const wi_model *block, weft_tensor *x, int64_t filters, int64_t stride) {
    const wi_model downsample = wi_model_in(block, "downsample");
    if (!x || (stride == 1 && weft_tensor_dimension(x, 1) == filters)) return x;
    return wi_model_conv_norm(&downsample, x, "0", "1", filters, wi_square(1, stride, 0));
}

typedef weft_tensor *residual_block(const wi_model *block, weft_tensor *x, int64_t filters, int64_t stride);

static weft_tensor *basic(const wi_model *block, weft_tensor *x, int64_t filters, int64_t stride) {
    weft_tensor *y =
        weft_relu(wi_model_conv_norm(block, x, "conv1", "bn1", filters, wi_square(3, stride, 1)));
    y = wi_model_conv_norm(block, y, "conv2", "bn2", filters, wi_square(3, 1, 1));
    weft_tensor *const passed = shortcut(block, x, filters, stride);
    return weft_relu(weft_add(y, passed));
}

static weft_tensor *bottleneck(const wi_model *block, weft_tensor *x, int64_t filters, int64_t stride) {
    weft_tensor *y = weft_relu(wi_model_conv_norm(block, x, "conv1", "bn1", filters, wi_square(1, 1, 0)));
    y = weft_relu(wi_model_conv_norm(block, y, "conv2", "bn2", filters, wi_square(3, stride, 1)));
    y = wi_model_conv_norm(block, y, "conv3", "bn3", 4 * filters, wi_square(1, 1, 0));
    weft_tensor *const passed = shortcut(block, x, 4 * filters, stride);
    return weft_relu(weft_add(y, passed));
}

static weft_tensor *resnet(const wi_model *m, weft_tensor *x, residual_block *block, const int counts[4]) {
    x = weft_relu(wi_model_conv_norm(m, x, "conv1", "bn1", 64, wi_square(7, 2, 3)));
    x = wi_model_max_pool(m, x, "maxpool", wi_square(3, 2, 1));
    for (int stage = 0; stage < 4; stage++) {
        for (int i = 0; i < counts[stage]; i++) {
            const wi_model part = wi_model_in(m, "layer%d.%d", stage + 1, i);
            x = block(&part, x, INT64_C(64) << stage, stage > 0 && i == 0 ? 2 : 1);
        }
    }
    return wi_model_head(m, wi_model_pool_all(x), 0, "fc");
}

weft_tensor *wi_model_resnet18(const wi_model *m, weft_tensor *x) {
    return resnet(m, x, basic, (const int[]){2, 2, 2, 2});
}

weft_tensor *wi_model_resnet34(const wi_model *m, weft_tensor *x) {
    return resnet(m, x, basic, (const int[]){3, 4, 6, 3});
}

weft_tensor *wi_model_resnet50(const wi_model *m, weft_tensor *x) {
    return resnet(m, x, bottleneck, (const int[]){3, 4, 6, 3});
}

weft_tensor *wi_model_resnet101(const wi_model *m, weft_tensor *x) {
    return resnet(m, x, bottleneck, (const int[]){3, 4, 23, 3});
}

/* ---- for CIFAR-10: an nn.Sequential of convolution, norm, relu, blocks, pooling, flatten, linear ---- */

/* The input of a block in the shape of its result: every stride-th pixel, and zeros for the missing channels. */
static weft_tensor *plain_shortcut(weft_tensor *x, int64_t filters, int64_t stride) {
    if (!x) return NULL;
    const int64_t missing = filters - weft_tensor_dimension(x, 1);
    for (int axis = 2; axis < 4 && stride > 1; axis++) x = weft_slice_step(x, axis, 0, WEFT_END, stride);
    const int64_t none[] = {0, 0, 0, 0}, after[] = {0, missing, 0, 0};
    return missing > 0 ? weft_pad(x, none, after, WEFT_PAD_CONSTANT, 0) : x;
}

static weft_tensor *cifar_block(const wi_model *block, weft_tensor *x, int64_t filters, int64_t stride) {
    weft_tensor *y = weft_relu(wi_model_conv_norm(block, x, "c1", "b1", filters, wi_square(3, stride, 1)));
    y = wi_model_conv_norm(block, y, "c2", "b2", filters, wi_square(3, 1, 1));
    return weft_relu(weft_add(y, plain_shortcut(x, filters, stride)));
}

static weft_tensor *cifar_resnet(const wi_model *m, weft_tensor *x, int blocks) {
    int layer = 3;
    x = weft_relu(wi_model_conv_norm(m, x, "0", "1", 16, wi_square(3, 1, 1)));
    for (int stage = 0; stage < 3; stage++) {
        for (int i = 0; i < blocks; i++) {
            const wi_model part = wi_model_in(m, "%d", layer++);
            x = cifar_block(&part, x, INT64_C(16) << stage, stage > 0 && i == 0 ? 2 : 1);
        }
    }
    return wi_model_head(m, wi_model_pool_all(x), 0, wi_numbered(layer + 2).text);
}

weft_tensor *wi_model_resnet20(const wi_model *m, weft_tensor *x) {
    return cifar_resnet(m, x, 3);
}

weft_tensor *wi_model_resnet56(const wi_model *m, weft_tensor *x) {
    return cifar_resnet(m, x, 9);
}
