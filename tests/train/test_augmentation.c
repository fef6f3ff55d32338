/* Transforms of images beside a plain reference that copies every pixel, and beside PyTorch. */
#include "base/philox.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/golden_file.h"
#include "support/image_examples.h"
#include <math.h>

enum { CHANNELS = 3, HEIGHT = 19, WIDTH = 23, EXAMPLES = 40, SEED = 77, EPOCH = 3 };

/* ---- the reference: images of doubles, copied at each step ---- */

typedef struct picture {
    int64_t height, width;
    double *data; /* (CHANNELS, height, width) */
} picture;

static picture new_picture(int64_t height, int64_t width) {
    return (picture){height, width, calloc((size_t)(CHANNELS * height * width), sizeof(double))};
}

static double *at(const picture *p, int64_t c, int64_t y, int64_t x) {
    return &p->data[(c * p->height + y) * p->width + x];
}

static void replace(picture *p, picture with) {
    free(p->data);
    *p = with;
}

static void crop(picture *p, int64_t top, int64_t left, int64_t height, int64_t width) {
    const picture made = new_picture(height, width);
    for (int64_t c = 0; c < CHANNELS; c++)
        for (int64_t y = 0; y < height; y++)
            for (int64_t x = 0; x < width; x++)
                if (y + top >= 0 && y + top < p->height && x + left >= 0 && x + left < p->width)
                    *at(&made, c, y, x) = *at(p, c, y + top, x + left);
    replace(p, made);
}

static void flip(picture *p) {
    const picture made = new_picture(p->height, p->width);
    for (int64_t c = 0; c < CHANNELS; c++)
        for (int64_t y = 0; y < p->height; y++)
            for (int64_t x = 0; x < p->width; x++) *at(&made, c, y, x) = *at(p, c, y, p->width - 1 - x);
    replace(p, made);
}

static void turn(picture *p) {
    const picture made = new_picture(p->height, p->width);
    for (int64_t c = 0; c < CHANNELS; c++)
        for (int64_t y = 0; y < p->height; y++)
            for (int64_t x = 0; x < p->width; x++) *at(&made, c, y, x) = *at(p, c, p->height - 1 - y, x);
    replace(p, made);
}

/* The triangle around a result's centre, as wide as the factor if that is above 1. */
static double triangle(int64_t from, int64_t to, int64_t in, int64_t out) {
    const double scale = (double)in / (double)out, reach = scale > 1 ? scale : 1;
    const double t = fabs((double)from + 0.5 - ((double)to + 0.5) * scale) / reach;
    return t < 1 ? 1 - t : 0;
}

/* Over all pixels, both axes at once; rounded, as the result has 8 bits, but for what is as good as halfway.
 */
static void resize(picture *p, int64_t height, int64_t width) {
    const picture made = new_picture(height, width);
    for (int64_t c = 0; c < CHANNELS; c++)
        for (int64_t y = 0; y < height; y++)
            for (int64_t x = 0; x < width; x++) {
                double sum = 0, weights = 0;
                for (int64_t j = 0; j < p->height; j++)
                    for (int64_t i = 0; i < p->width; i++) {
                        const double weight =
                            triangle(j, y, p->height, height) * triangle(i, x, p->width, width);
                        sum += weight * *at(p, c, j, i);
                        weights += weight;
                    }
                const double exact = sum / weights, halfway = floor(exact) + 0.5;
                *at(&made, c, y, x) = fabs(exact - halfway) < 1e-3 ? halfway : nearbyint(exact);
            }
    replace(p, made);
}

static void words_of(uint32_t words[4], size_t example, uint32_t transform, uint32_t block) {
    const uint32_t counter[] = {(uint32_t)example, EPOCH, 0, transform << 16 | block};
    memcpy(words, counter, sizeof counter);
    wi_philox(words, SEED);
}

static int64_t below(uint32_t word, int64_t bound) {
    return (int64_t)floor((double)word / 4294967296.0 * (double)bound);
}

static void random_resized_crop(picture *p, const weft_transform *t, size_t example, uint32_t place) {
    for (uint32_t attempt = 0; attempt < 10; attempt++) {
        uint32_t words[4];
        words_of(words, example, place, attempt);
        const double share = t->least_area + (t->most_area - t->least_area) * words[0] / 4294967296.0;
        const double area = share * (double)(p->height * p->width);
        const double low = log(t->least_ratio), high = log(t->most_ratio);
        const double ratio = exp(low + (high - low) * words[1] / 4294967296.0);
        const int64_t width = (int64_t)nearbyint(sqrt(area * ratio)),
                      height = (int64_t)nearbyint(sqrt(area / ratio));
        if (width < 1 || height < 1 || width > p->width || height > p->height) continue;
        crop(
            p, below(words[2], p->height - height + 1), below(words[3], p->width - width + 1), height, width);
        return;
    }
    int64_t height = p->height, width = p->width;
    if ((double)width / (double)height < t->least_ratio)
        height = (int64_t)nearbyint((double)width / t->least_ratio);
    if ((double)width / (double)height > t->most_ratio)
        width = (int64_t)nearbyint((double)height * t->most_ratio);
    crop(p, (p->height - height) / 2, (p->width - width) / 2, height, width);
}

static void centre(picture *p, int64_t height, int64_t width) {
    const int64_t tall = p->height > height ? p->height : height, wide = p->width > width ? p->width : width;
    crop(p, -((height > p->height ? height - p->height : 0) / 2),
        -((width > p->width ? width - p->width : 0) / 2), tall, wide);
    crop(p, (int64_t)nearbyint((double)(tall - height) / 2), (int64_t)nearbyint((double)(wide - width) / 2),
        height, width);
}

static void apply(picture *p, const weft_transform *t, size_t example, uint32_t place) {
    uint32_t words[4];
    words_of(words, example, place, 0);
    switch (t->kind) {
    case WEFT_TRANSFORM_RESIZE: resize(p, t->height, t->width); break;
    case WEFT_TRANSFORM_RESIZE_SHORTER:
        if (p->height < p->width)
            resize(p, t->height, (int64_t)((double)t->height * (double)p->width / (double)p->height));
        else
            resize(p, (int64_t)((double)t->height * (double)p->height / (double)p->width), t->height);
        break;
    case WEFT_TRANSFORM_CENTRE_CROP: centre(p, t->height, t->width); break;
    case WEFT_TRANSFORM_RANDOM_CROP:
        crop(p, -t->padding, -t->padding, p->height + 2 * t->padding, p->width + 2 * t->padding);
        crop(p, below(words[0], p->height - t->height + 1), below(words[1], p->width - t->width + 1),
            t->height, t->width);
        break;
    case WEFT_TRANSFORM_RANDOM_RESIZED_CROP:
        random_resized_crop(p, t, example, place);
        resize(p, t->height, t->width);
        break;
    case WEFT_TRANSFORM_RANDOM_FLIP:
        if (words[0] / 4294967296.0 < t->probability) flip(p);
        break;
    case WEFT_TRANSFORM_RANDOM_VERTICAL_FLIP:
        if (words[0] / 4294967296.0 < t->probability) turn(p);
        break;
    default: fail_msg("kind %d", (int)t->kind);
    }
}

/* What lies halfway may be rounded either way; resized again, it may move another pixel. */
static void check_image(
    const float *got, const picture *p, const char *name, size_t example, bool last, bool twice) {
    const float mean = 0.25f, deviation[] = {0.5f, 0.25f, 2.0f};
    for (int64_t c = 0; c < CHANNELS; c++)
        for (int64_t y = 0; y < p->height; y++)
            for (int64_t x = 0; x < p->width; x++) {
                const int64_t place =
                    last ? (y * p->width + x) * CHANNELS + c : (c * p->height + y) * p->width + x;
                const double byte = ((double)got[place] * (double)deviation[c] + (double)mean) * 255;
                const double wanted = *at(p, c, y, x), slack = twice ? 1 : fabs(wanted - nearbyint(wanted));
                if (fabs(byte - wanted) > slack + 1e-3)
                    fail_msg("%s, example %zu, (%d, %d, %d): %g, expected %g", name, example, (int)c, (int)y,
                        (int)x, byte, wanted);
            }
}

typedef struct recipe {
    const char *name;
    int64_t height, width; /* of the result */
    size_t count;
    weft_transform transforms[4];
} recipe;

static void check_recipe(const recipe *r, weft_image_layout layout) {
    const weft_image_options plain_options = {WEFT_IMAGE_OPTIONS_INIT, .bytes = true};
    const weft_image_options options = {WEFT_IMAGE_OPTIONS_INIT, .transforms = r->transforms,
        .transform_count = r->count, .layout = layout, .mean = {0.25f, 0.25f, 0.25f},
        .deviation = {0.5f, 0.25f, 2.0f}};
    const weft_loader_options loading = {WEFT_LOADER_OPTIONS_INIT, .batch = 7, .seed = SEED, .threads = 2};
    weft_dataset *const plain = image_examples_make(&plain_options, EXAMPLES, CHANNELS, HEIGHT, WIDTH);
    weft_dataset *const dataset = image_examples_make(&options, EXAMPLES, CHANNELS, HEIGHT, WIDTH);
    const size_t pixels = CHANNELS * HEIGHT * WIDTH, results = (size_t)(CHANNELS * r->height * r->width);
    const bool last = layout == WEFT_CHANNELS_LAST;
    unsigned char *const bytes = malloc(EXAMPLES * pixels);
    float *const got = malloc(EXAMPLES * results * sizeof *got);
    assert_int_equal(weft_dataset_column(plain, 0)->dtype, WEFT_U8);
    assert_int_equal(weft_dataset_column(dataset, 0)->dims[last ? 0 : 1], r->height);
    assert_int_equal(weft_dataset_column(dataset, 0)->dims[last ? 1 : 2], r->width);
    assert_int_equal(weft_dataset_column(dataset, 0)->dims[last ? 2 : 0], CHANNELS);
    assert_int_equal(image_examples_load(plain, &loading, EPOCH, bytes, NULL), EXAMPLES);
    assert_int_equal(image_examples_load(dataset, &loading, EPOCH, got, NULL), EXAMPLES);
    for (size_t i = 0; i < EXAMPLES; i++) {
        picture p = new_picture(HEIGHT, WIDTH);
        for (size_t j = 0; j < pixels; j++) p.data[j] = bytes[i * pixels + j];
        for (uint32_t t = 0; t < r->count; t++) apply(&p, &r->transforms[t], i, t);
        check_image(got + i * results, &p, r->name, i, last, strstr(r->name, "twice"));
        free(p.data);
    }
    free(bytes);
    free(got);
    weft_dataset_release(plain);
    weft_dataset_release(dataset);
}

static void transforms_follow_the_reference(void **state) {
    (void)state;
    const recipe recipes[] = {
        {"nothing", HEIGHT, WIDTH, 0, {{0}}},
        {"flip", HEIGHT, WIDTH, 1, {weft_transform_random_flip(0.5)}},
        {"crop", 16, 8, 1, {weft_transform_random_crop(16, 8, 0)}},
        {"crop with padding, and flips around it", 20, 22, 3,
            {weft_transform_random_flip(0.5), weft_transform_random_crop(20, 22, 4),
                weft_transform_random_flip(0.5)}},
        {"crops between flips of both axes", 16, 15, 4,
            {weft_transform_random_vertical_flip(0.5), weft_transform_random_crop(17, 18, 3),
                weft_transform_random_vertical_flip(0.7), weft_transform_random_crop(16, 15, 0)}},
        {"crops of crops", 9, 9, 4,
            {weft_transform_random_crop(24, 25, 6), weft_transform_random_flip(1),
                weft_transform_random_crop(13, 14, 3), weft_transform_random_crop(9, 9, 0)}},
        {"larger", 30, 37, 1, {weft_transform_resize(30, 37)}},
        {"smaller", 5, 4, 1, {weft_transform_resize(5, 4)}},
        {"smaller and larger", 5, 40, 2, {weft_transform_random_flip(0.5), weft_transform_resize(5, 40)}},
        {"shorter side", 12, 14, 1, {weft_transform_resize_shorter(12)}},
        {"validation", 11, 11, 2, {weft_transform_resize_shorter(14), weft_transform_centre_crop(11, 11)}},
        {"centre, odd differences", 16, 16, 1, {weft_transform_centre_crop(16, 16)}},
        {"centre, odd differences the other way", 14, 18, 1, {weft_transform_centre_crop(14, 18)}},
        {"centre, larger", 24, 30, 1, {weft_transform_centre_crop(24, 30)}},
        {"centre, one side larger", 28, 10, 1, {weft_transform_centre_crop(28, 10)}},
        {"Inception", 8, 8, 2, {weft_transform_random_resized_crop(8, 8), weft_transform_random_flip(0.5)}},
        {"resized twice, padded", 12, 12, 4,
            {weft_transform_random_crop(21, 25, 2), weft_transform_resize(13, 13),
                weft_transform_random_flip(0.5), weft_transform_random_resized_crop(12, 12)}},
        {"resized to the size that it has, then twice", 64, 64, 3,
            {weft_transform_resize(4, 4), weft_transform_resize(4, 4), weft_transform_resize(64, 64)}},
        {"larger, as large, smaller: twice", 6, 7, 4,
            {weft_transform_resize(30, 40), weft_transform_resize_shorter(30), weft_transform_random_flip(1),
                weft_transform_resize(6, 7)}},
    };
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
        check_recipe(&recipes[i], i % 2 ? WEFT_CHANNELS_LAST : WEFT_CHANNELS_FIRST);
    recipe narrow = {"no attempt fits", 6, 6, 1, {weft_transform_random_resized_crop(6, 6)}};
    narrow.transforms[0].least_ratio = 3;
    narrow.transforms[0].most_ratio = 4;
    narrow.transforms[0].least_area = 0.9;
    check_recipe(&narrow, WEFT_CHANNELS_FIRST);
    narrow.transforms[0].least_ratio = 0.2;
    narrow.transforms[0].most_ratio = 0.25;
    check_recipe(&narrow, WEFT_CHANNELS_FIRST);
}

/* ---- PyTorch ---- */

static void read_numbers(const cJSON *object, const char *name, float *numbers) {
    const cJSON *item = NULL;
    size_t i = 0;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(object, name)) numbers[i++] =
        (float)item->valuedouble;
    assert_true(i > 0);
}

static void check_golden(const cJSON *root, const cJSON *item) {
    float from[2], to[2], pixels[1000], resized[1000], normalised[1000], got[1000];
    unsigned char bytes[1000];
    read_numbers(item, "from", from);
    read_numbers(item, "to", to);
    read_numbers(item, "pixels", pixels);
    read_numbers(item, "resized", resized);
    read_numbers(item, "normalised", normalised);
    const weft_transform transform = weft_transform_resize((int64_t)to[0], (int64_t)to[1]);
    weft_image_options options = {WEFT_IMAGE_OPTIONS_INIT, .transforms = &transform, .transform_count = 1};
    read_numbers(root, "mean", options.mean);
    read_numbers(root, "deviation", options.deviation);
    for (size_t i = 0; i < (size_t)(3 * from[0] * from[1]); i++) bytes[i] = (unsigned char)pixels[i];
    const weft_image_block block = {
        .examples = 1, .channels = 3, .height = (int64_t)from[0], .width = (int64_t)from[1], .pixels = bytes};
    weft_dataset *dataset = NULL;
    assert_ok(weft_dataset_from_images(&dataset, test_context(), &block, &options));
    assert_int_equal(weft_dataset_column_count(dataset), 1);
    assert_int_equal(image_examples_load(dataset, NULL, 0, got, NULL), 1);
    const size_t plane = (size_t)(to[0] * to[1]);
    for (size_t i = 0; i < 3 * plane; i++) {
        const float unit = 1.0f / 255.0f / options.deviation[i / plane];
        const bool halfway = fabsf(resized[i] - floorf(resized[i]) - 0.5f) < 1e-3f;
        if (fabsf(got[i] - normalised[i]) > (halfway ? 1.01f * unit : 1e-6f))
            fail_msg("%g, expected %g (%g before it was rounded)", (double)got[i], (double)normalised[i],
                (double)resized[i]);
    }
    weft_dataset_release(dataset);
}

static void resizing_and_normalising_follow_pytorch(void **state) {
    (void)state;
    cJSON *const root = golden_file("image_golden.json");
    const cJSON *item = NULL;
    int cases = 0;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(root, "cases")) {
        check_golden(root, item);
        cases++;
    }
    assert_int_equal(cases, 6);
    cJSON_Delete(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transforms_follow_the_reference),
        cmocka_unit_test(resizing_and_normalising_follow_pytorch),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
