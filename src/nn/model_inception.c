/* GoogLeNet (C. Szegedy et al., "Going Deeper with Convolutions", CVPR 2015) and Inception-v3 (C. Szegedy, V.
 * Vanhoucke, S. Ioffe, J. Shlens, Z. Wojna, "Rethinking the Inception Architecture for Computer Vision", CVPR
 * 2016), with batch norms and names as in torchvision, without the auxiliary classifiers. */
#include "nn/model.h"
#include <weft/nn.h>

/* Convolution "name.conv", batch norm "name.bn", and relu. */
static weft_tensor *basic(
    const wi_model *m, weft_tensor *x, const char *name, int64_t filters, wi_model_window window) {
    const wi_model part = wi_model_in(m, "%s", name);
    return weft_relu(wi_model_conv_norm(&part, x, "conv", "bn", filters, window));
}

static weft_tensor *join(weft_tensor *const *branches, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!branches[i]) return NULL;
    return weft_concat(branches, count, 1);
}

/* ---- GoogLeNet ---- */

static wi_model_window ceiling(wi_model_window window) {
    window.ceil_mode = true;
    return window;
}

typedef struct inception {
    const char *name;
    int64_t one, three_in, three, five_in, five, pooled; /* numbers of filters */
} inception;

static weft_tensor *google_block(const wi_model *m, weft_tensor *x, const inception *f) {
    const wi_model in = wi_model_in(m, "%s", f->name);
    const wi_model_window one = wi_square(1, 1, 0), three = wi_square(3, 1, 1);
    weft_tensor *const branch1 = basic(&in, x, "branch1", f->one, one);
    weft_tensor *const branch2 = basic(&in, x, "branch2.0", f->three_in, one);
    weft_tensor *const wide2 = basic(&in, branch2, "branch2.1", f->three, three);
    weft_tensor *const branch3 = basic(&in, x, "branch3.0", f->five_in, one);
    weft_tensor *const wide3 = basic(&in, branch3, "branch3.1", f->five, three);
    weft_tensor *const pooled = wi_model_max_pool(&in, x, "branch4.0", ceiling(three));
    weft_tensor *const branch4 = basic(&in, pooled, "branch4.1", f->pooled, one);
    return join((weft_tensor *const[]){branch1, wide2, wide3, branch4}, 4);
}

static weft_tensor *google_blocks(const wi_model *m, weft_tensor *x, const inception *blocks, size_t count) {
    for (size_t i = 0; i < count; i++) x = google_block(m, x, &blocks[i]);
    return x;
}

weft_tensor *wi_model_googlenet(const wi_model *m, weft_tensor *x) {
    static const inception three[] = {
        {"inception3a", 64, 96, 128, 16, 32, 32}, {"inception3b", 128, 128, 192, 32, 96, 64}};
    static const inception four[] = {{"inception4a", 192, 96, 208, 16, 48, 64},
        {"inception4b", 160, 112, 224, 24, 64, 64}, {"inception4c", 128, 128, 256, 24, 64, 64},
        {"inception4d", 112, 144, 288, 32, 64, 64}, {"inception4e", 256, 160, 320, 32, 128, 128}};
    static const inception five[] = {
        {"inception5a", 256, 160, 320, 32, 128, 128}, {"inception5b", 384, 192, 384, 48, 128, 128}};
    const wi_model_window halves = ceiling(wi_square(3, 2, 0));
    x = basic(m, x, "conv1", 64, wi_square(7, 2, 3));
    x = wi_model_max_pool(m, x, "maxpool1", halves);
    x = basic(m, x, "conv2", 64, wi_square(1, 1, 0));
    x = basic(m, x, "conv3", 192, wi_square(3, 1, 1));
    x = google_blocks(m, wi_model_max_pool(m, x, "maxpool2", halves), three, 2);
    x = google_blocks(m, wi_model_max_pool(m, x, "maxpool3", halves), four, 5);
    x = google_blocks(m, wi_model_max_pool(m, x, "maxpool4", ceiling(wi_square(2, 2, 0))), five, 2);
    return wi_model_head(m, wi_model_pool_all(x), 0.2f, "fc");
}

/* ---- Inception-v3: blocks A to E of torchvision, figures 5, 10, 6, 10 and 7 of the paper ---- */

/* A window of height × width, both odd, with the padding that keeps the size of the image. */
static wi_model_window same(int64_t height, int64_t width) {
    return (wi_model_window){.size = {height, width}, .stride = 1, .padding = {height / 2, width / 2}};
}

static weft_tensor *pool_branch(const wi_model *in, weft_tensor *x, int64_t filters) {
    weft_tensor *const pooled = wi_model_avg_pool(in, x, "branch_pool", same(3, 3));
    return basic(in, pooled, "branch_pool", filters, same(1, 1));
}

static weft_tensor *block_a(const wi_model *in, weft_tensor *x, int64_t pooled) {
    weft_tensor *const one = basic(in, x, "branch1x1", 64, same(1, 1));
    weft_tensor *five = basic(in, x, "branch5x5_1", 48, same(1, 1));
    five = basic(in, five, "branch5x5_2", 64, same(5, 5));
    weft_tensor *twice = basic(in, x, "branch3x3dbl_1", 64, same(1, 1));
    twice = basic(in, twice, "branch3x3dbl_2", 96, same(3, 3));
    twice = basic(in, twice, "branch3x3dbl_3", 96, same(3, 3));
    return join((weft_tensor *const[]){one, five, twice, pool_branch(in, x, pooled)}, 4);
}

static weft_tensor *block_b(const wi_model *in, weft_tensor *x, int64_t unused) {
    (void)unused;
    const wi_model_window halves = wi_square(3, 2, 0);
    weft_tensor *const three = basic(in, x, "branch3x3", 384, halves);
    weft_tensor *twice = basic(in, x, "branch3x3dbl_1", 64, same(1, 1));
    twice = basic(in, twice, "branch3x3dbl_2", 96, same(3, 3));
    twice = basic(in, twice, "branch3x3dbl_3", 96, halves);
    return join((weft_tensor *const[]){three, twice, wi_model_max_pool(in, x, "branch_pool", halves)}, 3);
}

static weft_tensor *block_c(const wi_model *in, weft_tensor *x, int64_t narrow) {
    weft_tensor *const one = basic(in, x, "branch1x1", 192, same(1, 1));
    weft_tensor *seven = basic(in, x, "branch7x7_1", narrow, same(1, 1));
    seven = basic(in, seven, "branch7x7_2", narrow, same(1, 7));
    seven = basic(in, seven, "branch7x7_3", 192, same(7, 1));
    weft_tensor *twice = basic(in, x, "branch7x7dbl_1", narrow, same(1, 1));
    twice = basic(in, twice, "branch7x7dbl_2", narrow, same(7, 1));
    twice = basic(in, twice, "branch7x7dbl_3", narrow, same(1, 7));
    twice = basic(in, twice, "branch7x7dbl_4", narrow, same(7, 1));
    twice = basic(in, twice, "branch7x7dbl_5", 192, same(1, 7));
    return join((weft_tensor *const[]){one, seven, twice, pool_branch(in, x, 192)}, 4);
}

static weft_tensor *block_d(const wi_model *in, weft_tensor *x, int64_t unused) {
    (void)unused;
    const wi_model_window halves = wi_square(3, 2, 0);
    weft_tensor *three = basic(in, x, "branch3x3_1", 192, same(1, 1));
    three = basic(in, three, "branch3x3_2", 320, halves);
    weft_tensor *seven = basic(in, x, "branch7x7x3_1", 192, same(1, 1));
    seven = basic(in, seven, "branch7x7x3_2", 192, same(1, 7));
    seven = basic(in, seven, "branch7x7x3_3", 192, same(7, 1));
    seven = basic(in, seven, "branch7x7x3_4", 192, halves);
    return join((weft_tensor *const[]){three, seven, wi_model_max_pool(in, x, "branch_pool", halves)}, 3);
}

static weft_tensor *block_e(const wi_model *in, weft_tensor *x, int64_t unused) {
    (void)unused;
    weft_tensor *const one = basic(in, x, "branch1x1", 320, same(1, 1));
    weft_tensor *const three = basic(in, x, "branch3x3_1", 384, same(1, 1));
    weft_tensor *const three_a = basic(in, three, "branch3x3_2a", 384, same(1, 3));
    weft_tensor *const three_b = basic(in, three, "branch3x3_2b", 384, same(3, 1));
    weft_tensor *twice = basic(in, x, "branch3x3dbl_1", 448, same(1, 1));
    twice = basic(in, twice, "branch3x3dbl_2", 384, same(3, 3));
    weft_tensor *const twice_a = basic(in, twice, "branch3x3dbl_3a", 384, same(1, 3));
    weft_tensor *const twice_b = basic(in, twice, "branch3x3dbl_3b", 384, same(3, 1));
    return join((weft_tensor *const[]){one, three_a, three_b, twice_a, twice_b, pool_branch(in, x, 192)}, 6);
}

typedef struct mixed {
    const char *name;
    weft_tensor *(*block)(const wi_model *in, weft_tensor *x, int64_t filters);
    int64_t filters;
} mixed;

weft_tensor *wi_model_inception_v3(const wi_model *m, weft_tensor *x) {
    static const mixed blocks[] = {{"Mixed_5b", block_a, 32}, {"Mixed_5c", block_a, 64},
        {"Mixed_5d", block_a, 64}, {"Mixed_6a", block_b, 0}, {"Mixed_6b", block_c, 128},
        {"Mixed_6c", block_c, 160}, {"Mixed_6d", block_c, 160}, {"Mixed_6e", block_c, 192},
        {"Mixed_7a", block_d, 0}, {"Mixed_7b", block_e, 0}, {"Mixed_7c", block_e, 0}};
    x = basic(m, x, "Conv2d_1a_3x3", 32, wi_square(3, 2, 0));
    x = basic(m, x, "Conv2d_2a_3x3", 32, wi_square(3, 1, 0));
    x = basic(m, x, "Conv2d_2b_3x3", 64, wi_square(3, 1, 1));
    x = wi_model_max_pool(m, x, "maxpool1", wi_square(3, 2, 0));
    x = basic(m, x, "Conv2d_3b_1x1", 80, wi_square(1, 1, 0));
    x = basic(m, x, "Conv2d_4a_3x3", 192, wi_square(3, 1, 0));
    x = wi_model_max_pool(m, x, "maxpool2", wi_square(3, 2, 0));
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        const wi_model in = wi_model_in(m, "%s", blocks[i].name);
        x = blocks[i].block(&in, x, blocks[i].filters);
    }
    return wi_model_head(m, wi_model_pool_all(x), 0.5f, "fc");
}
