/* Networks of inverted residual blocks, with width 1 and names as in torchvision:
 *
 *   MobileNet-v2    M. Sandler, A. Howard, M. Zhu, A. Zhmoginov, L.-C. Chen, "MobileNetV2: Inverted Residuals and
 *                   Linear Bottlenecks", CVPR 2018, table 2
 *   MobileNet-v3    A. Howard et al., "Searching for MobileNetV3", ICCV 2019, tables 1 and 2
 *   EfficientNet-B0 M. Tan, Q. V. Le, "EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks", ICML
 *                   2019, table 1, with the stochastic depth of G. Huang et al., "Deep Networks with Stochastic
 *                   Depth", ECCV 2016 */
#include "nn/model.h"
#include <weft/images.h>
#include <weft/nn.h>

typedef weft_tensor *activation(weft_tensor *x);

/* An nn.Sequential `name` of convolution, batch norm and activation (NULL: none). */
static weft_tensor *basic(const wi_model *m, weft_tensor *x, const char *name, int64_t filters,
    wi_model_window window, activation *activate) {
    const wi_model part = wi_model_in(m, "%s", name);
    x = wi_model_conv_norm(&part, x, "0", "1", filters, window);
    return activate ? activate(x) : x;
}

/* ---- the block ---- */

typedef struct inverted {
    int64_t hidden, size, stride, filters;
    activation *activate;
    /* The inner channels of the squeeze and excitation (J. Hu, L. Shen, G. Sun, "Squeeze-and-Excitation Networks", CVPR
     * 2018), and its activations. 0: the block has none. */
    int64_t squeezed;
    activation *squeeze, *excite;
    float drop; /* the probability with which an example passes only the shortcut */
    bool
        flat; /* the last convolution and its norm are layers of the block itself, without an nn.Sequential */
} inverted;

/* x times a factor for each channel, which two 1×1 convolutions compute from the channels' means. */
static weft_tensor *excited(const wi_model *m, weft_tensor *x, const inverted *b) {
    const wi_model_window one = wi_square(1, 1, 0);
    weft_tensor *const means = weft_global_avg_pool(x);
    weft_tensor *const inner = b->squeeze(wi_model_conv(m, means, "fc1", b->squeezed, one));
    return weft_mul(x, b->excite(wi_model_conv(m, inner, "fc2", b->hidden, one)));
}

/* A 1×1 convolution to `hidden` channels, unless x has as many; a depthwise convolution; squeeze and excitation; a 1×1
 * convolution to `filters` channels; and x added, if its shape is that of the result. */
static weft_tensor *inverted_block(const wi_model *m, weft_tensor *x, const inverted *b) {
    if (!x) return NULL;
    const int64_t channels = weft_tensor_dimension(x, 1);
    const wi_model_window one = wi_square(1, 1, 0);
    wi_model_window depthwise = wi_square(b->size, b->stride, b->size / 2);
    depthwise.groups = b->hidden;
    int layer = 0;
    weft_tensor *y = x;
    if (b->hidden != channels) y = basic(m, y, wi_numbered(layer++).text, b->hidden, one, b->activate);
    y = basic(m, y, wi_numbered(layer++).text, b->hidden, depthwise, b->activate);
    if (b->squeezed) {
        const wi_model part = wi_model_in(m, "%d", layer++);
        y = excited(&part, y, b);
    }
    const wi_layer_number last = wi_numbered(layer), norm = wi_numbered(layer + 1);
    y = b->flat ? wi_model_conv_norm(m, y, last.text, norm.text, b->filters, one)
                : basic(m, y, last.text, b->filters, one, NULL);
    if (b->stride > 1 || channels != b->filters) return y;
    return weft_add(x, wi_model_drop_examples(m, y, b->drop));
}

/* ---- MobileNet-v2 and EfficientNet: stages of equal blocks, of which the first may halve the image ---- */

typedef struct stage {
    int64_t wider, size, stride, filters,
        count; /* wider: hidden channels of a block for each channel of its input */
} stage;

weft_tensor *wi_model_mobilenet_v2(const wi_model *m, weft_tensor *x) {
    static const stage stages[] = {{1, 3, 1, 16, 1}, {6, 3, 2, 24, 2}, {6, 3, 2, 32, 3}, {6, 3, 2, 64, 4},
        {6, 3, 1, 96, 3}, {6, 3, 2, 160, 3}, {6, 3, 1, 320, 1}};
    const wi_model features = wi_model_in(m, "features"), classifier = wi_model_in(m, "classifier");
    int layer = 1;
    x = basic(&features, x, "0", 32, wi_square(3, 2, 1), weft_relu6);
    for (size_t s = 0; s < sizeof stages / sizeof stages[0]; s++) {
        for (int64_t i = 0; x && i < stages[s].count; i++) {
            const wi_model in = wi_model_in(&features, "%d.conv", layer++);
            x = inverted_block(&in, x,
                &(inverted){.hidden = stages[s].wider * weft_tensor_dimension(x, 1),
                    .size = stages[s].size,
                    .stride = i == 0 ? stages[s].stride : 1,
                    .filters = stages[s].filters,
                    .activate = weft_relu6,
                    .flat = true});
        }
    }
    x = basic(&features, x, wi_numbered(layer).text, 1280, wi_square(1, 1, 0), weft_relu6);
    return wi_model_head(&classifier, wi_model_pool_all(x), 0.2f, "1");
}

weft_tensor *wi_model_efficientnet_b0(const wi_model *m, weft_tensor *x) {
    static const stage stages[] = {{1, 3, 1, 16, 1}, {6, 3, 2, 24, 2}, {6, 5, 2, 40, 2}, {6, 3, 2, 80, 3},
        {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4}, {6, 3, 1, 320, 1}};
    enum { STAGES = sizeof stages / sizeof stages[0], BLOCKS = 16 };
    const wi_model features = wi_model_in(m, "features"), classifier = wi_model_in(m, "classifier");
    int block = 0;
    x = basic(&features, x, "0", 32, wi_square(3, 2, 1), weft_silu);
    for (int s = 0; s < STAGES; s++) {
        for (int i = 0; x && i < stages[s].count; i++, block++) {
            const wi_model in = wi_model_in(&features, "%d.%d.block", s + 1, i);
            const int64_t channels = weft_tensor_dimension(x, 1);
            x = inverted_block(&in, x,
                &(inverted){.hidden = stages[s].wider * channels,
                    .size = stages[s].size,
                    .stride = i == 0 ? stages[s].stride : 1,
                    .filters = stages[s].filters,
                    .activate = weft_silu,
                    .squeezed = channels / 4,
                    .squeeze = weft_silu,
                    .excite = weft_sigmoid,
                    .drop = 0.2f * (float)block / BLOCKS});
        }
    }
    x = basic(&features, x, wi_numbered(STAGES + 1).text, 1280, wi_square(1, 1, 0), weft_silu);
    return wi_model_head(&classifier, wi_model_pool_all(x), 0.2f, "1");
}

/* ---- MobileNet-v3: a row for each block ---- */

typedef struct row {
    int64_t size, hidden, filters;
    bool squeezes, smooth; /* smooth: hardswish instead of relu */
    int64_t stride;
} row;

/* A quarter of the hidden channels, rounded to a multiple of 8, but not to less than 0.9 times. */
static int64_t squeezed_channels(int64_t hidden) {
    const int64_t quarter = hidden / 4, rounded = (quarter + 4) / 8 * 8;
    if (rounded < 8) return 8;
    return 10 * rounded < 9 * quarter ? rounded + 8 : rounded;
}

static weft_tensor *mobilenet_v3(
    const wi_model *m, weft_tensor *x, const row *rows, int count, int64_t units) {
    const wi_model features = wi_model_in(m, "features"), classifier = wi_model_in(m, "classifier");
    x = basic(&features, x, "0", 16, wi_square(3, 2, 1), weft_hardswish);
    for (int i = 0; i < count; i++) {
        const wi_model in = wi_model_in(&features, "%d.block", i + 1);
        x = inverted_block(&in, x,
            &(inverted){.hidden = rows[i].hidden,
                .size = rows[i].size,
                .stride = rows[i].stride,
                .filters = rows[i].filters,
                .activate = rows[i].smooth ? weft_hardswish : weft_relu,
                .squeezed = rows[i].squeezes ? squeezed_channels(rows[i].hidden) : 0,
                .squeeze = weft_relu,
                .excite = weft_hardsigmoid});
    }
    x = basic(&features, x, wi_numbered(count + 1).text, 6 * rows[count - 1].filters, wi_square(1, 1, 0),
        weft_hardswish);
    x = weft_hardswish(wi_model_linear(&classifier, wi_model_pool_all(x), "0", units));
    return wi_model_head(&classifier, x, 0.2f, "3");
}

weft_tensor *wi_model_mobilenet_v3_large(const wi_model *m, weft_tensor *x) {
    static const row rows[] = {{3, 16, 16, false, false, 1}, {3, 64, 24, false, false, 2},
        {3, 72, 24, false, false, 1}, {5, 72, 40, true, false, 2}, {5, 120, 40, true, false, 1},
        {5, 120, 40, true, false, 1}, {3, 240, 80, false, true, 2}, {3, 200, 80, false, true, 1},
        {3, 184, 80, false, true, 1}, {3, 184, 80, false, true, 1}, {3, 480, 112, true, true, 1},
        {3, 672, 112, true, true, 1}, {5, 672, 160, true, true, 2}, {5, 960, 160, true, true, 1},
        {5, 960, 160, true, true, 1}};
    return mobilenet_v3(m, x, rows, sizeof rows / sizeof rows[0], 1280);
}

weft_tensor *wi_model_mobilenet_v3_small(const wi_model *m, weft_tensor *x) {
    static const row rows[] = {{3, 16, 16, true, false, 2}, {3, 72, 24, false, false, 2},
        {3, 88, 24, false, false, 1}, {5, 96, 40, true, true, 2}, {5, 240, 40, true, true, 1},
        {5, 240, 40, true, true, 1}, {5, 120, 48, true, true, 1}, {5, 144, 48, true, true, 1},
        {5, 288, 96, true, true, 2}, {5, 576, 96, true, true, 1}, {5, 576, 96, true, true, 1}};
    return mobilenet_v3(m, x, rows, sizeof rows / sizeof rows[0], 1024);
}
