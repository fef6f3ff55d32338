/* VGG: K. Simonyan, A. Zisserman, "Very Deep Convolutional Networks for Large-Scale Image Recognition", ICLR
 * 2015, configurations A (11 layers) and D (16). */
#include "nn/model.h"
#include <weft/images.h>
#include <weft/nn.h>

/* counts: the number of convolutions before each pooling. */
static weft_tensor *vgg(const wi_model *m, weft_tensor *x, const int counts[5]) {
    static const int64_t filters[5] = {64, 128, 256, 512, 512}, seven[] = {7, 7};
    const wi_model features = wi_model_in(m, "features"), classifier = wi_model_in(m, "classifier");
    int layer = 0; /* a convolution and its relu are two layers of the nn.Sequential */
    for (int stage = 0; stage < 5; stage++) {
        for (int i = 0; i < counts[stage]; i++, layer += 2)
            x = weft_relu(
                wi_model_conv(&features, x, wi_numbered(layer).text, filters[stage], wi_square(3, 1, 1)));
        x = wi_model_max_pool(&features, x, wi_numbered(layer++).text, wi_square(2, 2, 0));
    }
    x = weft_flatten(weft_adaptive_avg_pool(x, seven));
    x = wi_model_dropout(m, weft_relu(wi_model_linear(&classifier, x, "0", 4096)), 0.5f);
    return wi_model_head(&classifier, weft_relu(wi_model_linear(&classifier, x, "3", 4096)), 0.5f, "6");
}

weft_tensor *wi_model_vgg11(const wi_model *m, weft_tensor *x) {
    return vgg(m, x, (const int[]){1, 1, 2, 2, 2});
}

weft_tensor *wi_model_vgg16(const wi_model *m, weft_tensor *x) {
    return vgg(m, x, (const int[]){2, 2, 3, 3, 3});
}
