/* The random transforms of pixels (contract in image_augment.h). The definitions are those of torchvision.transforms:
 * RandomRotation, ColorJitter, RandomErasing (Zhong et al. 2017) and RandAugment (Cubuk et al. 2019). */
#include "train/image_augment.h"
#include "base/philox.h"
#include "base/portable_math.h"
#include <math.h>

enum { ATTEMPTS = 10 };

void wi_example_draw(const wi_example *example, size_t transform, uint32_t block, uint32_t words[4]) {
    words[0] = (uint32_t)example->index;
    words[1] = (uint32_t)example->epoch;
    words[2] = (uint32_t)(example->epoch >> 32);
    words[3] = (uint32_t)transform << 16 | block;
    wi_philox(words, example->seed);
}

void wi_draw_rectangle(const weft_transform *t, double area, const uint32_t words[2], double *a, double *b) {
    const double wanted = area * wi_word_between(words[0], t->least_area, t->most_area);
    const double ratio =
        wi_math_exp(wi_word_between(words[1], wi_math_log(t->least_ratio), wi_math_log(t->most_ratio)));
    *a = nearbyint(sqrt(wanted * ratio));
    *b = nearbyint(sqrt(wanted / ratio));
}

static int64_t rounded(double x, double unit) {
    return (int64_t)nearbyint(x * unit);
}

/* ---- shapes ---- */

/* Rotates counter-clockwise about the centre of the image. */
static void rotate(wi_planes *p, double degrees, const unsigned char *fill) {
    const double radian = 3.14159265358979323846 / 180;
    const int64_t c = rounded(wi_math_cos(degrees * radian), 0x1p24);
    const int64_t s = rounded(wi_math_cos((90 - degrees) * radian), 0x1p24);
    const int64_t width = p->width, height = p->height;
    const int64_t m[] = {c, -s, ((width << 24) - c * width + s * height) / 2, s, c,
        ((height << 24) - s * width - c * height) / 2};
    wi_planes_warp(p, m, fill);
}

/* Each position moves by (x, y) and by along_x · y, along_y · x, all in units of 2^-24. */
static void shear(
    wi_planes *p, int64_t x, int64_t along_x, int64_t along_y, int64_t y, const unsigned char *fill) {
    const int64_t one = (int64_t)1 << 24, m[] = {one, along_x, x, along_y, one, y};
    wi_planes_warp(p, m, fill);
}

static void erase(wi_planes *p, const weft_transform *t, size_t index, const wi_example *example,
    const unsigned char *fill) {
    for (uint32_t attempt = 1; attempt <= ATTEMPTS; attempt++) {
        uint32_t words[4];
        double height, width;
        wi_example_draw(example, index, attempt, words);
        wi_draw_rectangle(t, (double)p->height * (double)p->width, words, &height, &width);
        if (!(height < (double)p->height && width < (double)p->width)) continue;
        wi_planes_erase(p, wi_word_below(words[2], p->height - (int64_t)height + 1),
            wi_word_below(words[3], p->width - (int64_t)width + 1), (int64_t)height, (int64_t)width, fill);
        return;
    }
}

/* ---- colours ---- */

/* A random number of max(0, 1 - amount) to 1 + amount, in units of 2^-16. */
static int64_t draw_factor(uint32_t word, double amount) {
    const int64_t low = amount < 1 ? rounded(1 - amount, WI_UNIT) : 0, high = rounded(1 + amount, WI_UNIT);
    return low + wi_word_below(word, high - low + 1);
}

static void jitter(wi_planes *p, const weft_transform *t, size_t index, const wi_example *example) {
    uint32_t words[4], order[4] = {0, 1, 2, 3}, swaps[4];
    wi_example_draw(example, index, 0, words);
    wi_example_draw(example, index, 1, swaps);
    for (int64_t i = 3; i > 0; i--) {
        const int64_t j = wi_word_below(swaps[i], i + 1);
        const uint32_t kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    const int64_t hue = rounded(t->hue, WI_UNIT);
    for (int i = 0; i < 4; i++) {
        if (order[i] == 0 && t->brightness > 0) wi_planes_brighten(p, draw_factor(words[0], t->brightness));
        if (order[i] == 1 && t->contrast > 0) wi_planes_contrast(p, draw_factor(words[1], t->contrast));
        if (order[i] == 2 && t->saturation > 0) wi_planes_saturate(p, draw_factor(words[2], t->saturation));
        if (order[i] == 3 && hue > 0) wi_planes_turn_hue(p, wi_word_below(words[3], 2 * hue + 1) - hue);
    }
}

/* One of RandAugment's operations. magnitude: 0 to 30, from which torchvision derives its numbers by linspace; sign: 1 or
 * -1. */
static void apply_operation(
    wi_planes *p, int64_t operation, int64_t magnitude, int64_t sign, const unsigned char *fill) {
    const int64_t one = (int64_t)1 << 24;
    const int64_t slope = sign * ((magnitude * one + 50) / 100); /* 0.3 · magnitude / 30 */
    const int64_t factor =
        WI_UNIT + sign * ((3 * magnitude * WI_UNIT + 50) / 100); /* 1 ± 0.9 · magnitude / 30 */
    switch (operation) {
    case 0: return;
    case 1: shear(p, 0, slope, 0, 0, fill); return;
    case 2: shear(p, 0, 0, slope, 0, fill); return;
    case 3: shear(p, -sign * (5 * p->width * magnitude / 331) * one, 0, 0, 0, fill); return;
    case 4: shear(p, 0, 0, 0, -sign * (5 * p->height * magnitude / 331) * one, fill); return;
    case 5: rotate(p, (double)(sign * magnitude), fill); return;
    case 6: wi_planes_brighten(p, factor); return;
    case 7: wi_planes_saturate(p, factor); return;
    case 8: wi_planes_contrast(p, factor); return;
    case 9: wi_planes_sharpen(p, factor); return;
    case 10: wi_planes_solarize(p, 512, 0xff & 0xff << (4 * magnitude + 15) / 30); return;
    case 11: wi_planes_solarize(p, 510 - 17 * magnitude, 0xff); return;
    default: wi_planes_stretch(p, operation == 13); return;
    }
}

static void rand_augment(wi_planes *p, const weft_transform *t, size_t index, const wi_example *example,
    const unsigned char *fill) {
    for (uint32_t i = 0; i < (uint32_t)t->operations; i++) {
        uint32_t words[4];
        wi_example_draw(example, index, i, words);
        apply_operation(p, wi_word_below(words[0], 14), t->magnitude, words[1] >> 31 ? -1 : 1, fill);
    }
}

void wi_planes_augment(wi_planes *p, const weft_transform *t, size_t index, const wi_example *example,
    const unsigned char *fill) {
    uint32_t words[4];
    wi_example_draw(example, index, 0, words);
    switch (t->kind) {
    case WEFT_TRANSFORM_RANDOM_GREY: wi_planes_grey(p); break;
    case WEFT_TRANSFORM_RANDOM_ROTATION: rotate(p, wi_word_between(words[0], t->least, t->most), fill); break;
    case WEFT_TRANSFORM_COLOUR_JITTER: jitter(p, t, index, example); break;
    case WEFT_TRANSFORM_RANDOM_ERASING: erase(p, t, index, example, fill); break;
    case WEFT_TRANSFORM_RAND_AUGMENT: rand_augment(p, t, index, example, fill); break;
    default: break;
    }
}
