/* LeNet-5 (Y. LeCun, L. Bottou, Y. Bengio, P. Haffner, "Gradient-Based Learning Applied to Document
 * Recognition", Proceedings of the IEEE, 1998) and the two forms of AlexNet (A. Krizhevsky, I. Sutskever, G.
 * Hinton, "ImageNet Classification with Deep Convolutional Neural Networks", NIPS 2012; the small one is
 * cuda-convnet's for CIFAR-10) that S. Shi, Q. Wang, P. Xu, X. Chu, "Benchmarking State-of-the-Art Deep
 * Learning Software Tools", 2016, measure. Each is an nn.Sequential: the name of a layer is its number. */
#include "nn/model.h"
#include <weft/nn.h>

weft_tensor *wi_model_lenet5(const wi_model *m, weft_tensor *x) {
    x = weft_tanh(wi_model_conv(m, x, "0", 6, wi_square(5, 1, 0)));
    x = wi_model_avg_pool(m, x, "2", wi_square(2, 2, 0));
    x = weft_tanh(wi_model_conv(m, x, "3", 16, wi_square(5, 1, 0)));
    x = weft_flatten(wi_model_avg_pool(m, x, "5", wi_square(2, 2, 0)));
    x = weft_tanh(wi_model_linear(m, x, "7", 120));
    x = weft_tanh(wi_model_linear(m, x, "9", 84));
    return wi_model_head(m, x, 0, "11");
}

weft_tensor *wi_model_alexnet_s(const wi_model *m, weft_tensor *x) {
    x = weft_relu(wi_model_conv(m, x, "0", 96, wi_square(11, 4, 0)));
    x = wi_model_max_pool(m, x, "2", wi_square(3, 2, 0));
    x = weft_relu(wi_model_conv(m, x, "3", 256, wi_square(5, 1, 2)));
    x = wi_model_max_pool(m, x, "5", wi_square(3, 2, 0));
    x = weft_relu(wi_model_conv(m, x, "6", 384, wi_square(3, 1, 1)));
    x = weft_relu(wi_model_conv(m, x, "8", 384, wi_square(3, 1, 1)));
    x = weft_relu(wi_model_conv(m, x, "10", 256, wi_square(3, 1, 1)));
    x = weft_flatten(wi_model_max_pool(m, x, "12", wi_square(3, 2, 0)));
    x = wi_model_dropout(m, weft_relu(wi_model_linear(m, x, "14", 4096)), 0.5f);
    return wi_model_head(m, weft_relu(wi_model_linear(m, x, "17", 4096)), 0.5f, "20");
}

weft_tensor *wi_model_alexnet_r(const wi_model *m, weft_tensor *x) {
    x = wi_model_conv(m, x, "0", 32, wi_square(5, 1, 2));
    x = weft_relu(wi_model_max_pool(m, x, "1", wi_square(3, 2, 0)));
    x = weft_relu(wi_model_conv(m, x, "3", 32, wi_square(5, 1, 2)));
    x = wi_model_max_pool(m, x, "5", wi_square(3, 2, 0));
    x = weft_relu(wi_model_conv(m, x, "6", 64, wi_square(5, 1, 2)));
    x = wi_model_avg_pool(m, x, "8", wi_square(3, 2, 0));
    return wi_model_head(m, weft_flatten(x), 0, "10");
}
