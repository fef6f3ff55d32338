/* Mixup and cutmix (contract in image_mix.h).
 *
 * The mixture of a batch is drawn with the number of the batch in place of the example, so that it does not depend on
 * which threads made the examples. Example i is mixed with example i - 1, and the first with the last, as by
 * torchvision's MixUp and CutMix. The last example is mixed first, in place; a copy of it is kept for the first. */
#include "train/image_mix.h"
#include "base/integers.h"
#include "base/portable_math.h"
#include "train/image_augment.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { ATTEMPTS = 64, BLOCK_OF_CHOICE = 0xffff };

/* How two examples are combined: the pixels in rows top .. bottom - 1 and columns left .. right - 1 are those of the other example, or
 * if `blends` is true, all pixels are blended. */
typedef struct mixture {
    bool blends;
    float weight; /* of the example itself, in [0, 1] */
    int64_t top, bottom, left, right;
} mixture;

/* For alpha >= 1/2, 1/2 + cos(2·pi·v)·sqrt(1 - u^(2 / (2·alpha - 1))) / 2 (Ulrich 1984). For a smaller alpha, x / (x + y)
 * with x = u^(1/alpha) and y = v^(1/alpha), if x + y <= 1 (Jöhnk 1964), of which at least 78 % of all attempts are
 * accepted. Both are in Devroye, "Non-Uniform Random Variate Generation", 1986, chapter 9. */
static bool try_beta(const uint32_t words[4], double alpha, double *value) {
    const double u = ((double)words[0] + 0.5) * 0x1p-32, v = ((double)words[1] + 0.5) * 0x1p-32;
    if (alpha >= 0.5) {
        const double inner = alpha > 0.5 ? wi_math_exp(wi_math_log(u) * 2 / (2 * alpha - 1)) : 0;
        *value = 0.5 + 0.5 * wi_math_cos(6.28318530717958647692 * v) * sqrt(1 - inner);
        return true;
    }
    const double log_x = wi_math_log(u) / alpha, log_y = wi_math_log(v) / alpha, larger = fmax(log_x, log_y);
    const double log_sum = larger + wi_math_log(wi_math_exp(log_x - larger) + wi_math_exp(log_y - larger));
    *value = wi_math_exp(log_x - log_sum);
    return log_sum <= 0;
}

double wi_draw_beta(const wi_example *example, size_t transform, double alpha) {
    double value = 0.5;
    bool accepted = false;
    for (uint32_t attempt = 0; attempt < ATTEMPTS && !accepted; attempt++) {
        uint32_t words[4];
        wi_example_draw(example, transform, attempt, words);
        accepted = try_beta(words, alpha, &value);
    }
    return nearbyint(value * 0x1p16) * 0x1p-16;
}

/* A rectangle of 1 - weight of the image around a random pixel, cut at the border. */
static mixture draw_rectangle(
    const wi_image_pipeline *p, const wi_example *batch, size_t transform, double weight) {
    uint32_t words[4];
    wi_example_draw(batch, transform, ATTEMPTS, words);
    const double half = 0.5 * sqrt(1 - weight);
    const int64_t x = wi_word_below(words[0], p->width), y = wi_word_below(words[1], p->height);
    const int64_t half_width = (int64_t)(half * (double)p->width),
                  half_height = (int64_t)(half * (double)p->height);
    mixture m = {.top = wi_max64(y - half_height, 0),
        .bottom = wi_min64(y + half_height, p->height),
        .left = wi_max64(x - half_width, 0),
        .right = wi_min64(x + half_width, p->width)};
    const double part = (double)((m.bottom - m.top) * (m.right - m.left)) / (double)(p->height * p->width);
    m.weight = (float)(1 - part);
    return m;
}

/* Chooses one of the pipeline's mixtures and draws its numbers. If there are no mixtures, examples do not change (weight 1). */
static mixture draw_mixture(const wi_image_pipeline *p, const wi_example *batch) {
    size_t count = 0, chosen = 0;
    for (size_t i = 0; i < p->count; i++) count += wi_transform_mixes(&p->transforms[i]);
    if (count == 0) return (mixture){.weight = 1};
    uint32_t words[4];
    wi_example_draw(batch, 0, BLOCK_OF_CHOICE, words);
    size_t left = (size_t)wi_word_below(words[0], (int64_t)count);
    while (!wi_transform_mixes(&p->transforms[chosen]) || left-- > 0) chosen++;
    const weft_transform *const t = &p->transforms[chosen];
    const double weight = wi_draw_beta(batch, chosen, t->alpha);
    if (t->kind == WEFT_TRANSFORM_CUTMIX) return draw_rectangle(p, batch, chosen, weight);
    return (mixture){.blends = true, .weight = (float)weight};
}

/* The products are in separate statements, so that no compiler fuses a multiplication and an addition, and all machines round alike. */
static void blend_floats(float *to, const float *other, size_t count, float weight) {
    const float rest = 1.0f - weight;
    for (size_t i = 0; i < count; i++) {
        const float own = weight * to[i];
        const float foreign = rest * other[i];
        to[i] = own + foreign;
    }
}

static void blend_bytes(unsigned char *to, const unsigned char *other, size_t count, float weight) {
    const uint32_t own = (uint32_t)(weight * 65536.0f), rest = 65536 - own;
    for (size_t i = 0; i < count; i++) to[i] = (unsigned char)((own * to[i] + rest * other[i] + 32768) >> 16);
}

static void copy_rectangle(
    const wi_image_pipeline *p, const mixture *m, unsigned char *to, const unsigned char *other) {
    const int64_t planes = p->channels_last ? 1 : p->channels, each = p->channels_last ? p->channels : 1;
    const size_t unit = (size_t)each * (p->bytes ? 1 : sizeof(float));
    if (m->left >= m->right) return;
    for (int64_t c = 0; c < planes; c++)
        for (int64_t y = m->top; y < m->bottom; y++) {
            const size_t at = (size_t)((c * p->height + y) * p->width + m->left) * unit;
            memcpy(to + at, other + at, (size_t)(m->right - m->left) * unit);
        }
}

static void mix_example(const wi_image_pipeline *p, const mixture *m, void *to, const void *other) {
    const size_t numbers = (size_t)(p->channels * p->height * p->width);
    if (!m->blends)
        copy_rectangle(p, m, to, other);
    else if (p->bytes)
        blend_bytes(to, other, numbers, m->weight);
    else
        blend_floats(to, other, numbers, m->weight);
}

static weft_status mix_images(
    const wi_image_pipeline *p, const mixture *m, const wi_batch *batch, wi_workspace *workspace) {
    const size_t bytes = wi_pipeline_bytes(p), last = batch->examples - 1;
    unsigned char *const images = batch->image;
    if (m->weight == 1.0f || last == 0) return WEFT_OK;
    unsigned char *const kept = wi_workspace_take(workspace, WI_BLOCK_PICTURE, bytes);
    if (!kept) return WEFT_ERROR_MEMORY;
    memcpy(kept, images + last * bytes, bytes);
    for (size_t i = last; i > 0; i--) mix_example(p, m, images + i * bytes, images + (i - 1) * bytes);
    mix_example(p, m, images, kept);
    return WEFT_OK;
}

/* Writes the targets, and gives each example the label of the greater part. */
static weft_status write_targets(const wi_image_pipeline *p, float weight, const wi_batch *batch) {
    const int64_t classes = p->targets;
    int32_t *const labels = batch->labels;
    const int32_t last = labels[batch->examples - 1];
    memset(batch->targets, 0, batch->examples * (size_t)classes * sizeof(float));
    for (size_t i = 0; i < batch->examples; i++)
        if (labels[i] < 0 || labels[i] >= classes)
            WI_FAIL(WEFT_ERROR_ARGUMENT,
                "images: a label is %" PRId32 ", expected 0 to %" PRId64 " (option targets)", labels[i],
                classes - 1);
    for (size_t i = batch->examples; i-- > 0;) {
        const int32_t other = i > 0 ? labels[i - 1] : last;
        float *const targets = batch->targets + i * (size_t)classes;
        targets[labels[i]] += weight;
        targets[other] += 1.0f - weight;
        if (weight < 0.5f) labels[i] = other;
    }
    return WEFT_OK;
}

weft_status wi_batch_mix(const wi_image_pipeline *pipeline, const wi_batch *batch, wi_workspace *workspace) {
    const mixture m = draw_mixture(pipeline, &batch->draws);
    if (batch->examples == 0) return WEFT_OK; /* a part of a batch for one of several processes */
    WI_TRY(mix_images(pipeline, &m, batch, workspace));
    return write_targets(pipeline, m.weight, batch);
}
