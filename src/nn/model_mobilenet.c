/* MobileNet-v2: M. Sandler, A. Howard, M. Zhu, A. Zhmoginov, L.-C. Chen, "MobileNetV2: Inverted Residuals and
 * Linear Bottlenecks", CVPR 2018, table 2, with width 1. */
#include "nn/model.h"
#include <weft/nn.h>

/* An nn.Sequential `name` of convolution, batch norm and relu6. */
static weft_tensor *basic(
    const wi_model *m, weft_tensor *x, const char *name, int64_t filters, wi_model_window window) {
    const wi_model part = wi_model_in(m, "%s", name);
    return weft_relu6(wi_model_conv_norm(&part, x, "0", "1", filters, window));
}

/* An inverted residual block: a 1×1 convolution to `wider` times the channels, a depthwise 3×3 convolution, a 1×1
 * convolution to `filters` channels, and x added if its shape is that of the result. */
static weft_tensor *inverted(
    const wi_model *m, weft_tensor *x, int64_t wider, int64_t filters, int64_t stride) {
    if (!x) return NULL;
    const wi_model conv = wi_model_in(m, "conv");
    const int64_t channels = weft_tensor_dimension(x, 1), hidden = channels * wider;
    int layer = 0;
    weft_tensor *y = x;
    if (wider > 1) y = basic(&conv, y, wi_numbered(layer++).text, hidden, wi_square(1, 1, 0));
    wi_model_window depthwise = wi_square(3, stride, 1);
    depthwise.groups = hidden;
    y = basic(&conv, y, wi_numbered(layer).text, hidden, depthwise);
    y = wi_model_conv_norm(
        &conv, y, wi_numbered(layer + 1).text, wi_numbered(layer + 2).text, filters, wi_square(1, 1, 0));
    return stride == 1 && channels == filters ? weft_add(x, y) : y;
}

weft_tensor *wi_model_mobilenet_v2(const wi_model *m, weft_tensor *x) {
    static const struct {
        int64_t wider, filters, count, stride;
    } stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2},
        {6, 320, 1, 1}};
    const wi_model features = wi_model_in(m, "features"), classifier = wi_model_in(m, "classifier");
    int layer = 1;
    x = basic(&features, x, "0", 32, wi_square(3, 2, 1));
    for (size_t s = 0; s < sizeof stages / sizeof stages[0]; s++) {
        for (int64_t i = 0; i < stages[s].count; i++) {
            const wi_model block = wi_model_in(&features, "%d", layer++);
            x = inverted(&block, x, stages[s].wider, stages[s].filters, i == 0 ? stages[s].stride : 1);
        }
    }
    x = basic(&features, x, wi_numbered(layer).text, 1280, wi_square(1, 1, 0));
    return wi_model_head(&classifier, wi_model_pool_all(x), 0.2f, "1");
}
