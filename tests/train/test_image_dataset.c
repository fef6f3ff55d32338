/* Datasets of images: channels, the same batches for every number of threads, the statistics of random transforms,
 * images in the rest of the library, and misuse. */
/* test threads */
#include "support/checks.h"
#include "support/fixture.h"
#include "support/image_examples.h"
#include <math.h>

enum { CHANNELS = 3, HEIGHT = 19, WIDTH = 23, EXAMPLES = 40, SEED = 77, EPOCH = 3 };

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
    weft_dataset *const colour = image_examples_make(&plain, 4, 3, HEIGHT, WIDTH);
    weft_dataset *made = NULL;
    image_examples_load(colour, NULL, 0, rgb, NULL);
    assert_ok(weft_dataset_with_image_options(&made, colour, &grey));
    assert_int_equal(weft_dataset_column(made, 0)->dims[0], 1);
    image_examples_load(made, NULL, 0, one, NULL);
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
    weft_dataset *const mono = image_examples_make(&small, 4, 1, HEIGHT, WIDTH);
    assert_ok(weft_dataset_with_image_options(&made, mono, &tripled));
    image_examples_load(mono, NULL, 0, single, NULL);
    image_examples_load(made, NULL, 0, three, NULL);
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
    weft_dataset *const dataset = image_examples_make(&options, 203, CHANNELS, HEIGHT, WIDTH);
    float *const first = malloc(203 * RESULT * sizeof *first), *const other =
                                                                   malloc(203 * RESULT * sizeof *other);
    int32_t labels[203], others[203];
    weft_loader_options loading = {
        WEFT_LOADER_OPTIONS_INIT, .batch = 16, .shuffle = true, .seed = 5, .threads = 1};
    const size_t threads[] = {1, 2, 4, 13}, prefetch[] = {1, 2, 3, 7};
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        loading.threads = loading.prefetch = 1;
        assert_int_equal(image_examples_load(dataset, &loading, epoch, first, labels), 203);
        for (size_t i = 0; i < 4; i++) {
            loading.threads = threads[i];
            loading.prefetch = prefetch[i];
            assert_int_equal(image_examples_load(dataset, &loading, epoch, other, others), 203);
            assert_memory_equal(labels, others, sizeof labels);
            assert_memory_equal(first, other, 203 * RESULT * sizeof *first);
        }
    }
    /* without a shuffle: another epoch and another seed draw otherwise */
    loading = (weft_loader_options){WEFT_LOADER_OPTIONS_INIT, .seed = 5};
    image_examples_load(dataset, &loading, 0, first, labels);
    image_examples_load(dataset, &loading, 1, other, labels);
    assert_memory_not_equal(first, other, 203 * RESULT * sizeof *first);
    loading.seed = 6;
    image_examples_load(dataset, &loading, 0, other, labels);
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
    image_examples_load(dataset, NULL, 0, images, NULL);
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
    weft_dataset *const whole = image_examples_make(&plain, EXAMPLES, CHANNELS, HEIGHT, WIDTH);
    weft_dataset *drawn = NULL, *others = NULL, *mirrored = NULL;
    unsigned char *const all = malloc(EXAMPLES * PIXELS), *const part = malloc(EXAMPLES * PIXELS);
    int32_t labels[EXAMPLES];
    image_examples_load(whole, NULL, 0, all, NULL);
    assert_ok(weft_dataset_split(&drawn, &others, whole, 10, 1));
    weft_dataset_release(whole);
    assert_ok(weft_dataset_with_image_options(&mirrored, others, &flipped));
    weft_dataset_release(others);
    assert_int_equal(image_examples_load(drawn, NULL, 0, part, labels), 10);
    for (size_t i = 0; i < 10; i++)
        assert_memory_equal(part + i * PIXELS, all + (size_t)labels[i] * PIXELS, PIXELS);
    assert_int_equal(image_examples_load(mirrored, NULL, 0, part, labels), EXAMPLES - 10);
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
        "the dataset is not one of images");
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
        weft_dataset *const dataset = image_examples_make(&options, EXAMPLES, CHANNELS, 7, 6);
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

/* ---- numbers for channels ---- */

/* The loaded numbers of one white RGB pixel. */
static void load_white_pixel(weft_image_options options, float got[3]) {
    static const unsigned char pixels[3] = {255, 255, 255};
    const weft_image_block block = {.examples = 1, .channels = 3, .height = 1, .width = 1, .pixels = pixels};
    const weft_loader_options loading = {WEFT_LOADER_OPTIONS_INIT, .batch = 1};
    weft_dataset *dataset = NULL;
    options.struct_size = sizeof options;
    assert_ok(weft_dataset_from_images(&dataset, test_context(), &block, &options));
    assert_int_equal(image_examples_load(dataset, &loading, 0, got, NULL), 1);
    weft_dataset_release(dataset);
}

static void one_number_holds_for_all_channels(void **state) {
    (void)state;
    const struct {
        weft_image_options options;
        float expected[3];
    } rows[] = {
        {{.mean = {0.5f}, .deviation = {0.25f}}, {2, 2, 2}},
        {{.mean = {0.5f}}, {0.5f, 0.5f, 0.5f}},
        {{.mean = {0.5f, 0.25f}}, {0.5f, 0.75f, 1}},
        {{.mean = {0.5f, WEFT_ZERO}}, {0.5f, 1, 1}},
        {{.mean = {0, 0.5f}, .deviation = {2}}, {0.5f, 0.25f, 0.5f}},
        {{.deviation = {0.5f, 1, 2}}, {2, 1, 0.5f}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        float got[3] = {0};
        load_white_pixel(rows[i].options, got);
        assert_memory_equal(got, rows[i].expected, sizeof got);
    }
}

/* ---- misuse ---- */

static void wrong_options_are_refused(void **state) {
    (void)state;
    static const unsigned char pixels[2 * 3 * 4 * 4];
    const float nan_value = nanf("");
    weft_transform bad_crop = weft_transform_random_resized_crop(2, 2), backwards = bad_crop;
    bad_crop.least_area = 0;
    backwards.least_ratio = 2;
    const struct {
        weft_transform transform;
        weft_image_options options;
        const char *part;
    } rows[] = {
        {{0}, {.transform_count = 1}, "transform 0 is of kind 0"},
        {weft_transform_resize(0, 4), {.transform_count = 1}, "resize: height is 0, expected 1 to 65536"},
        {weft_transform_resize(4, 1 << 20), {.transform_count = 1},
            "resize: width is 1.04858e+06, expected 1 to 65536"},
        {weft_transform_random_crop(2, 2, -1), {.transform_count = 1}, "padding is -1"},
        {weft_transform_random_flip(1.5), {.transform_count = 1}, "probability is 1.5"},
        {weft_transform_random_flip((double)nan_value), {.transform_count = 1}, "random_flip: probability"},
        {bad_crop, {.transform_count = 1}, "the areas are 0 to 1"},
        {backwards, {.transform_count = 1}, "the ratios 2 to 1.33"},
        {{0}, {.transform_count = 17}, "transform_count is 17"},
        {{0}, {.channels = 4}, "channels is 4, but the images have 3"},
        {{0}, {.channels = -1}, "channels is -1, but the images have 3"},
        {{0}, {.layout = (weft_image_layout)7}, "layout is 7"},
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
    assert_fails(weft_dataset_from_images(&dataset, test_context(), &wrong, NULL), WEFT_ERROR_SHAPE,
        "are more than memory can address");
    wrong.examples = 0;
    assert_fails(weft_dataset_from_images(&dataset, test_context(), &wrong, NULL), WEFT_ERROR_ARGUMENT,
        "examples is 0");
    assert_status(weft_dataset_from_images(&dataset, NULL, &block, NULL), WEFT_ERROR_ARGUMENT);
    assert_status(weft_dataset_from_images(&dataset, test_context(), NULL, NULL), WEFT_ERROR_ARGUMENT);
    assert_status(weft_dataset_from_images(NULL, test_context(), &block, NULL), WEFT_ERROR_ARGUMENT);
    assert_status(weft_dataset_with_image_options(&dataset, NULL, NULL), WEFT_ERROR_ARGUMENT);
    assert_int_equal(weft_dataset_skipped(NULL), 0);
    const weft_loader_options many = {WEFT_LOADER_OPTIONS_INIT, .threads = 257};
    weft_loader *loader = NULL;
    assert_ok(weft_dataset_from_images(&dataset, test_context(), &block, NULL));
    assert_fails(weft_loader_create(&loader, dataset, &many), WEFT_ERROR_ARGUMENT, "threads is 257");
    weft_dataset_release(dataset);
}

static void a_crop_larger_than_the_image_is_an_error(void **state) {
    (void)state;
    const weft_transform transform = weft_transform_random_crop(24, 8, 2);
    const weft_image_options options = {
        WEFT_IMAGE_OPTIONS_INIT, .transforms = &transform, .transform_count = 1};
    weft_dataset *const dataset = image_examples_make(&options, EXAMPLES, CHANNELS, HEIGHT, WIDTH);
    const weft_loader_options loading = {WEFT_LOADER_OPTIONS_INIT, .batch = 16, .threads = 4};
    weft_loader *loader = NULL;
    size_t examples = 1;
    const void *columns[2];
    assert_ok(weft_loader_create(&loader, dataset, &loading));
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        assert_ok(weft_loader_begin(loader, epoch));
        for (int again = 0; again < 2; again++) { /* it stays an error, and always the first image is named */
            assert_fails(weft_loader_next(loader, &examples, columns), WEFT_ERROR_SHAPE,
                "'image 0' has 19 x 23 pixels, which with a padding of 2 is too small for a random_crop of "
                "24 x 8");
            assert_int_equal(examples, 0);
        }
    }
    weft_loader_release(loader);
    weft_dataset_release(dataset);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_are_converted),
        cmocka_unit_test(batches_do_not_depend_on_threads),
        cmocka_unit_test(crops_and_flips_are_uniform),
        cmocka_unit_test(windows_have_the_areas_and_ratios_asked_for),
        cmocka_unit_test(parts_and_views_share_the_images),
        cmocka_unit_test(a_trainer_takes_images),
        cmocka_unit_test(one_number_holds_for_all_channels),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(a_crop_larger_than_the_image_is_an_error),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
