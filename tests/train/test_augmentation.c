/* Transforms of images beside a plain reference that copies every pixel, beside PyTorch, in their statistics,
 * and the same whatever the number of threads. */
#include "base/philox.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/golden_file.h"
#include <math.h>

enum { CHANNELS = 3, HEIGHT = 19, WIDTH = 23, EXAMPLES = 40, SEED = 77, EPOCH = 3 };

static weft_dataset *make_dataset(
    const weft_image_options *options, size_t examples, int64_t channels, int64_t height, int64_t width) {
    weft_dataset *dataset = NULL;
    const size_t bytes = examples * (size_t)(channels * height * width);
    unsigned char *const pixels = malloc(bytes);
    int32_t *const labels = malloc(examples * sizeof *labels);
    test_random random = test_random_named("pixels", (uint64_t)height);
    for (size_t i = 0; i < bytes; i++) pixels[i] = (unsigned char)test_random_bits(&random);
    for (size_t i = 0; i < examples; i++) labels[i] = (int32_t)i;
    const weft_image_block block = {.examples = examples,
        .channels = channels,
        .height = height,
        .width = width,
        .pixels = pixels,
        .labels = labels};
    assert_ok(weft_dataset_from_images(&dataset, test_context(), &block, options));
    free(pixels);
    free(labels);
    return dataset;
}

/* One epoch, example after example, into images and labels. Returns how many there were. */
static size_t load_all(weft_dataset *dataset, const weft_loader_options *options, uint64_t epoch,
    void *images, int32_t *labels) {
    weft_loader *loader = NULL;
    size_t count = 0, examples = 0;
    const void *columns[3];
    const weft_column *const column = weft_dataset_column(dataset, 0);
    size_t bytes = weft_dtype_size(column->dtype);
    for (int i = 0; i < column->rank; i++) bytes *= (size_t)column->dims[i];
    assert_null(column->data);
    assert_ok(weft_loader_create(&loader, dataset, options));
    assert_ok(weft_loader_begin(loader, epoch));
    while (assert_ok(weft_loader_next(loader, &examples, columns)), examples) {
        memcpy((char *)images + count * bytes, columns[0], examples * bytes);
        if (labels) memcpy(labels + count, columns[1], examples * sizeof *labels);
        count += examples;
    }
    weft_loader_release(loader);
    return count;
}

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

static void random_window(picture *p, const weft_transform *t, size_t example, uint32_t place) {
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
        random_window(p, t, example, place);
        resize(p, t->height, t->width);
        break;
    case WEFT_TRANSFORM_RANDOM_FLIP:
        if (words[0] / 4294967296.0 < t->probability) flip(p);
        break;
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
    weft_dataset *const plain = make_dataset(&plain_options, EXAMPLES, CHANNELS, HEIGHT, WIDTH);
    weft_dataset *const dataset = make_dataset(&options, EXAMPLES, CHANNELS, HEIGHT, WIDTH);
    const size_t pixels = CHANNELS * HEIGHT * WIDTH, results = (size_t)(CHANNELS * r->height * r->width);
    const bool last = layout == WEFT_CHANNELS_LAST;
    unsigned char *const bytes = malloc(EXAMPLES * pixels);
    float *const got = malloc(EXAMPLES * results * sizeof *got);
    assert_int_equal(weft_dataset_column(plain, 0)->dtype, WEFT_U8);
    assert_int_equal(weft_dataset_column(dataset, 0)->dims[last ? 0 : 1], r->height);
    assert_int_equal(weft_dataset_column(dataset, 0)->dims[last ? 1 : 2], r->width);
    assert_int_equal(weft_dataset_column(dataset, 0)->dims[last ? 2 : 0], CHANNELS);
    assert_int_equal(load_all(plain, &loading, EPOCH, bytes, NULL), EXAMPLES);
    assert_int_equal(load_all(dataset, &loading, EPOCH, got, NULL), EXAMPLES);
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
    assert_int_equal(load_all(dataset, NULL, 0, got, NULL), 1);
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

/* ---- channels ---- */

static void channels_are_converted(void **state) {
    (void)state;
    enum { PIXELS = HEIGHT * WIDTH };
    const weft_transform half = weft_transform_resize(9, 11);
    const weft_image_options plain = {WEFT_IMAGE_OPTIONS_INIT, .bytes = true};
    const weft_image_options grey = {WEFT_IMAGE_OPTIONS_INIT, .bytes = true, .channels = 1};
    const weft_image_options tripled = {
        WEFT_IMAGE_OPTIONS_INIT, .bytes = true, .channels = 3, .transforms = &half, .transform_count = 1};
    static unsigned char rgb[4 * 3 * PIXELS], one[4 * PIXELS], single[4 * 99], three[4 * 3 * 99];
    weft_dataset *const colour = make_dataset(&plain, 4, 3, HEIGHT, WIDTH);
    weft_dataset *made = NULL;
    load_all(colour, NULL, 0, rgb, NULL);
    assert_ok(weft_dataset_with_image_options(&made, colour, &grey));
    assert_int_equal(weft_dataset_column(made, 0)->dims[0], 1);
    load_all(made, NULL, 0, one, NULL);
    for (size_t n = 0; n < 4; n++)
        for (size_t i = 0; i < PIXELS; i++) {
            const unsigned char *const p = rgb + n * 3 * PIXELS + i;
            const double luma = 0.299 * p[0] + 0.587 * p[PIXELS] + 0.114 * p[2 * PIXELS];
            assert_true(fabs(one[n * PIXELS + i] - luma) < 0.501);
        }
    weft_dataset_release(made);
    weft_dataset_release(colour);
    const weft_image_options small = {
        WEFT_IMAGE_OPTIONS_INIT, .bytes = true, .transforms = &half, .transform_count = 1};
    weft_dataset *const mono = make_dataset(&small, 4, 1, HEIGHT, WIDTH);
    assert_ok(weft_dataset_with_image_options(&made, mono, &tripled));
    load_all(mono, NULL, 0, single, NULL);
    load_all(made, NULL, 0, three, NULL);
    for (size_t i = 0; i < sizeof three; i++) assert_int_equal(three[i], single[i / (3 * 99) * 99 + i % 99]);
    weft_dataset_release(made);
    weft_dataset_release(mono);
}

/* ---- the same for every number of threads ---- */

static void batches_do_not_depend_on_threads(void **state) {
    (void)state;
    enum { RESULT = CHANNELS * 12 * 12 };
    const weft_transform transforms[] = {weft_transform_random_crop(17, 17, 4),
        weft_transform_random_flip(0.5), weft_transform_random_resized_crop(12, 12)};
    const weft_image_options options = {
        WEFT_IMAGE_OPTIONS_INIT, .transforms = transforms, .transform_count = 3};
    weft_dataset *const dataset = make_dataset(&options, 203, CHANNELS, HEIGHT, WIDTH);
    float *const first = malloc(203 * RESULT * sizeof *first), *const other =
                                                                   malloc(203 * RESULT * sizeof *other);
    int32_t labels[203], others[203];
    weft_loader_options loading = {
        WEFT_LOADER_OPTIONS_INIT, .batch = 16, .shuffle = true, .seed = 5, .threads = 1};
    const size_t threads[] = {1, 2, 4, 13}, prefetch[] = {1, 2, 3, 7};
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        loading.threads = loading.prefetch = 1;
        assert_int_equal(load_all(dataset, &loading, epoch, first, labels), 203);
        for (size_t i = 0; i < 4; i++) {
            loading.threads = threads[i];
            loading.prefetch = prefetch[i];
            assert_int_equal(load_all(dataset, &loading, epoch, other, others), 203);
            assert_memory_equal(labels, others, sizeof labels);
            assert_memory_equal(first, other, 203 * RESULT * sizeof *first);
        }
    }
    /* without a shuffle: another epoch and another seed draw otherwise */
    loading = (weft_loader_options){WEFT_LOADER_OPTIONS_INIT, .seed = 5};
    load_all(dataset, &loading, 0, first, labels);
    load_all(dataset, &loading, 1, other, labels);
    assert_memory_not_equal(first, other, 203 * RESULT * sizeof *first);
    loading.seed = 6;
    load_all(dataset, &loading, 0, other, labels);
    assert_memory_not_equal(first, other, 203 * RESULT * sizeof *first);
    free(first);
    free(other);
    weft_dataset_release(dataset);
}

/* ---- statistics ---- */

/* Pixel (y, x) of every image is 16·y + x + 1: a crop tells where it was taken, and whether it was flipped.
 */
static weft_dataset *make_places(const weft_image_options *options, size_t examples) {
    weft_dataset *dataset = NULL;
    unsigned char *const pixels = malloc(examples * 64);
    for (size_t i = 0; i < examples * 64; i++) pixels[i] = (unsigned char)(16 * (i % 64 / 8) + i % 8 + 1);
    const weft_image_block block = {
        .examples = examples, .channels = 1, .height = 8, .width = 8, .pixels = pixels};
    assert_ok(weft_dataset_from_images(&dataset, test_context(), &block, options));
    free(pixels);
    return dataset;
}

static void crops_and_flips_are_uniform(void **state) {
    (void)state;
    enum { COUNT = 20000 };
    const weft_transform transforms[] = {
        weft_transform_random_crop(8, 8, 2), weft_transform_random_flip(0.3)};
    const weft_image_options options = {
        WEFT_IMAGE_OPTIONS_INIT, .transforms = transforms, .transform_count = 2, .bytes = true};
    weft_dataset *const dataset = make_places(&options, COUNT);
    unsigned char *const images = malloc(COUNT * 64);
    int flips = 0, offsets[2][5][5] = {{{0}}};
    load_all(dataset, NULL, 0, images, NULL);
    for (size_t i = 0; i < COUNT; i++) {
        const unsigned char *const middle = images + i * 64 + 3 * 8; /* always inside */
        const bool flipped = middle[3] > middle[4];
        const int value = middle[flipped ? 4 : 3] - 1; /* the crop's (3, 3) */
        flips += flipped;
        assert_in_range(value / 16 - 1, 0, 4);
        assert_in_range(value % 16 - 1, 0, 4);
        offsets[flipped][value / 16 - 1][value % 16 - 1]++;
    }
    assert_in_range(flips, 6000 - 325, 6000 + 325); /* five deviations of 65 */
    for (int y = 0; y < 5; y++)
        for (int x = 0; x < 5; x++) {
            assert_in_range(offsets[0][y][x], 560 - 115, 560 + 115); /* of 23 */
            assert_in_range(offsets[1][y][x], 240 - 77, 240 + 77);   /* of 15.4 */
        }
    free(images);
    weft_dataset_release(dataset);
}

/* A ramp along each axis, resized: the mean slope is the window's size. */
static void windows_have_the_areas_and_ratios_asked_for(void **state) {
    (void)state;
    enum { COUNT = 4000, SIDE = 128, OUT = 16 };
    const weft_transform transform = weft_transform_random_resized_crop(OUT, OUT);
    const weft_image_options options = {
        WEFT_IMAGE_OPTIONS_INIT, .transforms = &transform, .transform_count = 1};
    static unsigned char pixels[2 * SIDE * SIDE];
    for (size_t i = 0; i < SIDE * SIDE; i++) {
        pixels[i] = (unsigned char)(i / SIDE);
        pixels[SIDE * SIDE + i] = (unsigned char)(i % SIDE);
    }
    weft_dataset *dataset = NULL;
    const weft_image_block block = {
        .examples = 1, .channels = 2, .height = SIDE, .width = SIDE, .pixels = pixels};
    assert_ok(weft_dataset_from_images(&dataset, test_context(), &block, &options));
    double areas = 0, logs = 0, least = 2, most = 0, narrowest = 9, widest = 0;
    for (uint64_t epoch = 0; epoch < COUNT; epoch += 1) {
        static weft_loader *loader;
        size_t examples = 0;
        const void *columns[1];
        if (epoch == 0) assert_ok(weft_loader_create(&loader, dataset, NULL));
        assert_ok(weft_loader_begin(loader, epoch));
        assert_ok(weft_loader_next(loader, &examples, columns));
        const float *const image = columns[0], *const ramp = image + OUT * OUT;
        const double scale =
            255.0 * OUT / (OUT - 4) / SIDE; /* between results 2 and 13, whole pixels under both */
        const double height = (double)(image[13 * OUT] - image[2 * OUT]) * scale * (OUT - 4) / (OUT - 5);
        const double width = (double)(ramp[13] - ramp[2]) * scale * (OUT - 4) / (OUT - 5);
        const double area = height * width, ratio = width / height;
        areas += area / COUNT;
        logs += log(ratio) / COUNT;
        least = area < least ? area : least;
        most = area > most ? area : most;
        narrowest = ratio < narrowest ? ratio : narrowest;
        widest = ratio > widest ? ratio : widest;
        if (epoch + 1 == COUNT) weft_loader_release(loader);
    }
    assert_true(least > 0.07 && least < 0.1 && most > 0.93 && most < 1.03);
    assert_true(narrowest > 0.70 && narrowest < 0.78 && widest > 1.28 && widest < 1.43);
    /* Uniform in 0.08..1 but for what does not fit: an area A > 3/4 does with probability ln(1/A) / ln(4/3),
     * which makes the mean 0.4778; its deviation here is 0.0035. */
    assert_true(fabs(areas - 0.4778) < 0.018 && fabs(logs) < 0.02);
    weft_dataset_release(dataset);
}

/* ---- datasets of images in the rest of the library ---- */

static void parts_and_views_share_the_images(void **state) {
    (void)state;
    const weft_transform flip_all = weft_transform_random_flip(1);
    const weft_image_options plain = {WEFT_IMAGE_OPTIONS_INIT, .bytes = true};
    const weft_image_options flipped = {
        WEFT_IMAGE_OPTIONS_INIT, .bytes = true, .transforms = &flip_all, .transform_count = 1};
    enum { PIXELS = CHANNELS * HEIGHT * WIDTH };
    weft_dataset *const whole = make_dataset(&plain, EXAMPLES, CHANNELS, HEIGHT, WIDTH);
    weft_dataset *drawn = NULL, *others = NULL, *mirrored = NULL;
    unsigned char *const all = malloc(EXAMPLES * PIXELS), *const part = malloc(EXAMPLES * PIXELS);
    int32_t labels[EXAMPLES];
    load_all(whole, NULL, 0, all, NULL);
    assert_ok(weft_dataset_split(&drawn, &others, whole, 10, 1));
    weft_dataset_release(whole);
    assert_ok(weft_dataset_with_image_options(&mirrored, others, &flipped));
    weft_dataset_release(others);
    assert_int_equal(load_all(drawn, NULL, 0, part, labels), 10);
    for (size_t i = 0; i < 10; i++)
        assert_memory_equal(part + i * PIXELS, all + (size_t)labels[i] * PIXELS, PIXELS);
    assert_int_equal(load_all(mirrored, NULL, 0, part, labels), EXAMPLES - 10);
    for (size_t i = 0; i < EXAMPLES - 10; i++)
        for (size_t p = 0; p < PIXELS; p++)
            assert_int_equal(part[i * PIXELS + p],
                all[(size_t)labels[i] * PIXELS + p / WIDTH * WIDTH + (WIDTH - 1 - p % WIDTH)]);
    weft_dataset_release(drawn);
    weft_dataset_release(mirrored);
    free(all);
    free(part);
    weft_dataset *numbers = NULL;
    const weft_column column = {.name = "x", .dtype = WEFT_F32, .data = &(float){1}};
    assert_ok(weft_dataset_from_memory(&numbers, test_context(), 1, &column, 1));
    assert_fails(weft_dataset_with_image_options(&mirrored, numbers, NULL), WEFT_ERROR_ARGUMENT,
        "not a dataset of images");
    weft_dataset_release(numbers);
}

/* Trained on both layouts the network is the same: the input of channels-last memory is (N, C, H, W). */
static void a_trainer_takes_images(void **state) {
    (void)state;
    const weft_transform transforms[] = {
        weft_transform_random_crop(6, 5, 1), weft_transform_random_flip(0.5)};
    float losses[2][3];
    for (int layout = 0; layout < 2; layout++) {
        const weft_image_options options = {WEFT_IMAGE_OPTIONS_INIT, .transforms = transforms,
            .transform_count = 2, .layout = (weft_image_layout)layout};
        weft_dataset *const dataset = make_dataset(&options, EXAMPLES, CHANNELS, 7, 6);
        weft_graph *const graph = test_graph();
        weft_tensor *const x = layout == WEFT_CHANNELS_LAST
                                   ? weft_image_input(graph, "image", CHANNELS, 6, 5)
                                   : weft_input(graph, "image", WEFT_F32, CHANNELS, 6, 5);
        weft_tensor *const w = weft_parameter(graph, "w", weft_zeros(), CHANNELS, 6, 5);
        weft_tensor *const label = weft_cast(weft_input(graph, "label", WEFT_I32), WEFT_F32);
        weft_tensor *const difference = weft_sub(weft_sum(weft_mul(x, w), 1, 2, 3), label);
        weft_tensor *const loss = weft_mean(weft_mul(difference, difference));
        weft_trainer *trainer = NULL;
        const weft_trainer_options training = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = weft_sgd(0.01f),
            .batch = 16, .seed = 9, .loader_threads = (size_t)layout + 1};
        assert_ok(weft_trainer_create(&trainer, loss, &training));
        for (int i = 0; i < 3; i++) {
            double value = 0;
            assert_ok(weft_trainer_run(trainer, dataset));
            assert_ok(weft_trainer_evaluate(trainer, dataset, &value, NULL));
            losses[layout][i] = (float)value;
        }
        weft_trainer_release(trainer);
        weft_graph_release(graph);
        weft_dataset_release(dataset);
    }
    assert_true(losses[0][2] < losses[0][0]);
    for (int i = 0; i < 3; i++) assert_true(fabsf(losses[0][i] - losses[1][i]) < 1e-5f * losses[0][i]);
}

/* ---- misuse ---- */

static void wrong_options_are_refused(void **state) {
    (void)state;
    static const unsigned char pixels[2 * 3 * 4 * 4];
    const float nan_value = nanf("");
    weft_transform bad_window = weft_transform_random_resized_crop(2, 2), backwards = bad_window;
    bad_window.least_area = 0;
    backwards.least_ratio = 2;
    const struct {
        weft_transform transform;
        weft_image_options options;
        const char *part;
    } rows[] = {
        {{0}, {.transform_count = 1}, "transform 0 is of kind 0"},
        {weft_transform_resize(0, 4), {.transform_count = 1}, "resize: a size of 0 x 4"},
        {weft_transform_resize(4, 1 << 20), {.transform_count = 1}, "1..65536"},
        {weft_transform_random_crop(2, 2, -1), {.transform_count = 1}, "a padding of -1"},
        {weft_transform_random_flip(1.5), {.transform_count = 1}, "a probability of 1.5"},
        {weft_transform_random_flip((double)nan_value), {.transform_count = 1}, "random_flip: a probability"},
        {bad_window, {.transform_count = 1}, "areas 0..1"},
        {backwards, {.transform_count = 1}, "ratios 2..1.33"},
        {{0}, {.transform_count = 17}, "17 transforms"},
        {{0}, {.channels = 4}, "4 channels of 3"},
        {{0}, {.channels = -1}, "-1 channels of 3"},
        {{0}, {.layout = (weft_image_layout)7}, "a layout of 7"},
        {{0}, {.mean = {1}, .bytes = true}, "not bytes"},
        {{0}, {.deviation = {1, 0, 1}}, "channel 1: mean 0 and deviation 0"},
        {{0}, {.deviation = {1, 1, -2}}, "channel 2"},
        {{0}, {.mean = {nan_value}}, "channel 0: mean nan"},
    };
    const weft_image_block block = {.examples = 2, .channels = 3, .height = 4, .width = 4, .pixels = pixels};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weft_dataset *dataset = (weft_dataset *)&dataset;
        weft_image_options options = rows[i].options;
        options.struct_size = sizeof options;
        options.transforms = &rows[i].transform;
        assert_fails(weft_dataset_from_images(&dataset, test_context(), &block, &options),
            WEFT_ERROR_ARGUMENT, rows[i].part);
        assert_null(dataset);
    }
    weft_dataset *dataset = NULL;
    weft_image_options options = {.struct_size = 1};
    assert_fails(
        weft_dataset_from_images(&dataset, test_context(), &block, &options), WEFT_ERROR_ARGUMENT, "_INIT");
    options = (weft_image_options){WEFT_IMAGE_OPTIONS_INIT, .transform_count = 1};
    assert_status(weft_dataset_from_images(&dataset, test_context(), &block, &options), WEFT_ERROR_ARGUMENT);
    weft_image_block wrong = block;
    wrong.channels = 5;
    assert_fails(
        weft_dataset_from_images(&dataset, test_context(), &wrong, NULL), WEFT_ERROR_SHAPE, "5 channels");
    wrong = block;
    wrong.examples = SIZE_MAX;
    assert_fails(
        weft_dataset_from_images(&dataset, test_context(), &wrong, NULL), WEFT_ERROR_SHAPE, "overflow");
    wrong.examples = 0;
    assert_fails(
        weft_dataset_from_images(&dataset, test_context(), &wrong, NULL), WEFT_ERROR_ARGUMENT, "0 images");
    assert_status(weft_dataset_from_images(&dataset, NULL, &block, NULL), WEFT_ERROR_ARGUMENT);
    assert_status(weft_dataset_from_images(&dataset, test_context(), NULL, NULL), WEFT_ERROR_ARGUMENT);
    assert_status(weft_dataset_from_images(NULL, test_context(), &block, NULL), WEFT_ERROR_ARGUMENT);
    assert_status(weft_dataset_with_image_options(&dataset, NULL, NULL), WEFT_ERROR_ARGUMENT);
    assert_int_equal(weft_dataset_skipped(NULL), 0);
    const weft_loader_options many = {WEFT_LOADER_OPTIONS_INIT, .threads = 257};
    weft_loader *loader = NULL;
    assert_ok(weft_dataset_from_images(&dataset, test_context(), &block, NULL));
    assert_fails(weft_loader_create(&loader, dataset, &many), WEFT_ERROR_ARGUMENT, "257 threads");
    weft_dataset_release(dataset);
}

static void a_crop_larger_than_the_image_is_an_error(void **state) {
    (void)state;
    const weft_transform transform = weft_transform_random_crop(24, 8, 2);
    const weft_image_options options = {
        WEFT_IMAGE_OPTIONS_INIT, .transforms = &transform, .transform_count = 1};
    weft_dataset *const dataset = make_dataset(&options, EXAMPLES, CHANNELS, HEIGHT, WIDTH);
    const weft_loader_options loading = {WEFT_LOADER_OPTIONS_INIT, .batch = 16, .threads = 4};
    weft_loader *loader = NULL;
    size_t examples = 1;
    const void *columns[2];
    assert_ok(weft_loader_create(&loader, dataset, &loading));
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        assert_ok(weft_loader_begin(loader, epoch));
        for (int again = 0; again < 2; again++) { /* it stays an error, and always the first image is named */
            assert_fails(weft_loader_next(loader, &examples, columns), WEFT_ERROR_SHAPE,
                "'image 0': 19 x 23 pixels with a padding of 2, too small for a random_crop of 24 x 8");
            assert_int_equal(examples, 0);
        }
    }
    weft_loader_release(loader);
    weft_dataset_release(dataset);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transforms_follow_the_reference),
        cmocka_unit_test(resizing_and_normalising_follow_pytorch),
        cmocka_unit_test(channels_are_converted),
        cmocka_unit_test(batches_do_not_depend_on_threads),
        cmocka_unit_test(crops_and_flips_are_uniform),
        cmocka_unit_test(windows_have_the_areas_and_ratios_asked_for),
        cmocka_unit_test(parts_and_views_share_the_images),
        cmocka_unit_test(a_trainer_takes_images),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(a_crop_larger_than_the_image_is_an_error),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
