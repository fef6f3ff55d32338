/* Random transforms of pixels beside torchvision, with the same random numbers, and on images of every size, number of
 * channels and extreme. */
#include "support/checks.h"
#include "support/fixture.h"
#include "support/golden_file.h"
#include "support/image_examples.h"
#include <math.h>

enum { MOST_BYTES = 4096, COPIES = 200 };

/* ---- torchvision ---- */

static size_t bytes_of(const cJSON *text, unsigned char *bytes) {
    const char *const digits = text->valuestring;
    const size_t count = strlen(digits) / 2;
    assert_true(count <= MOST_BYTES);
    for (size_t i = 0; i < count; i++) {
        const char pair[] = {digits[2 * i], digits[2 * i + 1], 0};
        bytes[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
    return count;
}

static weft_transform transform_of(const cJSON *t) {
    static const struct {
        const char *name;
        weft_transform_kind kind;
    } kinds[] = {{"rotation", WEFT_TRANSFORM_RANDOM_ROTATION}, {"grey", WEFT_TRANSFORM_RANDOM_GREY},
        {"jitter", WEFT_TRANSFORM_COLOUR_JITTER}, {"erasing", WEFT_TRANSFORM_RANDOM_ERASING},
        {"rand_augment", WEFT_TRANSFORM_RAND_AUGMENT}};
    weft_transform made = {.height = (int64_t)golden_number(t, "height", 0),
        .width = (int64_t)golden_number(t, "width", 0),
        .probability = golden_number(t, "probability", 0),
        .least_area = golden_number(t, "least_area", 0),
        .most_area = golden_number(t, "most_area", 0),
        .least_ratio = golden_number(t, "least_ratio", 0),
        .most_ratio = golden_number(t, "most_ratio", 0),
        .fill = golden_number(t, "fill", 0),
        .least = golden_number(t, "least", 0),
        .most = golden_number(t, "most", 0),
        .brightness = golden_number(t, "brightness", 0),
        .contrast = golden_number(t, "contrast", 0),
        .saturation = golden_number(t, "saturation", 0),
        .hue = golden_number(t, "hue", 0),
        .operations = (int64_t)golden_number(t, "operations", 0),
        .magnitude = (int64_t)golden_number(t, "magnitude", 0)};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(golden_member(t, "kind")->valuestring, kinds[i].name) == 0) made.kind = kinds[i].kind;
    assert_true(made.kind != 0);
    return made;
}

/* A dataset of `examples` copies of an image (channels, height, width). */
static weft_dataset *copies_of(const unsigned char *pixels, size_t examples, int64_t channels, int64_t height,
    int64_t width, const weft_image_options *options) {
    const size_t bytes = (size_t)(channels * height * width);
    unsigned char *const all = malloc(examples * bytes);
    weft_dataset *dataset = NULL;
    for (size_t i = 0; i < examples; i++) memcpy(all + i * bytes, pixels, bytes);
    const weft_image_block block = {
        .examples = examples, .channels = channels, .height = height, .width = width, .pixels = all};
    assert_ok(weft_dataset_from_images(&dataset, test_context(), &block, options));
    free(all);
    return dataset;
}

/* slack 1: where interpolation rounds, and Pillow truncates, half of the bytes differ, and not nearly all. */
static void check_near(const unsigned char *got, const unsigned char *wanted, size_t bytes, int slack,
    const char *name, int example) {
    size_t others = 0;
    for (size_t i = 0; i < bytes; i++) {
        const int difference = abs(got[i] - wanted[i]);
        others += difference > 0;
        if (difference > slack)
            fail_msg("%s, example %d, byte %zu: %d, expected %d", name, example, i, got[i], wanted[i]);
    }
    if (slack == 1 && others > (2 * bytes + 2) / 3)
        fail_msg("%s, example %d: %zu of %zu bytes differ", name, example, others, bytes);
}

static void check_case(const cJSON *root, const cJSON *item) {
    const weft_transform transform = transform_of(golden_member(item, "transform"));
    const weft_image_options options = {
        WEFT_IMAGE_OPTIONS_INIT, .bytes = true, .transforms = &transform, .transform_count = 1};
    const weft_loader_options loading = {
        WEFT_LOADER_OPTIONS_INIT, .batch = 9, .threads = 2, .seed = (uint64_t)golden_number(root, "seed", 0)};
    unsigned char pixels[MOST_BYTES], wanted[MOST_BYTES];
    float size[3];
    assert_int_equal(golden_numbers(golden_member(item, "size"), size, 3), 3);
    const size_t bytes = bytes_of(golden_member(item, "pixels"), pixels);
    assert_int_equal(bytes, size[0] * size[1] * size[2]);
    weft_dataset *const dataset =
        copies_of(pixels, COPIES, (int64_t)size[0], (int64_t)size[1], (int64_t)size[2], &options);
    unsigned char *const got = malloc(COPIES * bytes);
    image_examples_load(dataset, &loading, (uint64_t)golden_number(root, "epoch", 0), got, NULL);
    const cJSON *example = golden_member(item, "examples")->child, *result;
    cJSON_ArrayForEach(result, golden_member(item, "results")) {
        assert_true(example->valueint < COPIES);
        assert_int_equal(bytes_of(result, wanted), bytes);
        check_near(got + (size_t)example->valueint * bytes, wanted, bytes,
            golden_member(item, "slack")->valueint,
            golden_member(golden_member(item, "transform"), "kind")->valuestring, example->valueint);
        example = example->next;
    }
    free(got);
    weft_dataset_release(dataset);
}

static void transforms_follow_torchvision(void **state) {
    (void)state;
    cJSON *const root = golden_file("augment_golden.json");
    const cJSON *item = NULL;
    int cases = 0;
    cJSON_ArrayForEach(item, golden_member(root, "cases")) {
        check_case(root, item);
        cases++;
    }
    assert_int_equal(cases, 15);
    cJSON_Delete(root);
}

/* ---- every size, number of channels and extreme ---- */

/* What a list of transforms makes of images, with the seed 3. */
static void transform_all(const weft_transform *transforms, size_t count, const unsigned char *pixels,
    size_t examples, int64_t channels, int64_t height, int64_t width, unsigned char *results) {
    const weft_image_options options = {
        WEFT_IMAGE_OPTIONS_INIT, .bytes = true, .transforms = transforms, .transform_count = count};
    const weft_loader_options loading = {WEFT_LOADER_OPTIONS_INIT, .batch = 7, .seed = 3, .threads = 2};
    const weft_image_block block = {
        .examples = examples, .channels = channels, .height = height, .width = width, .pixels = pixels};
    weft_dataset *dataset = NULL;
    assert_ok(weft_dataset_from_images(&dataset, test_context(), &block, &options));
    assert_int_equal(image_examples_load(dataset, &loading, 0, results, NULL), examples);
    weft_dataset_release(dataset);
}

static const int64_t sizes[][2] = {{1, 1}, {1, 7}, {5, 1}, {2, 2}, {3, 3}, {31, 17}};
enum { SIZES = sizeof sizes / sizeof *sizes, LARGEST = 4 * 31 * 17, FEW = 6 };

/* What does not mix channels gives each channel what an image of this channel alone gets. */
static void channels_are_transformed_alike(void **state) {
    (void)state;
    const weft_transform rows[] = {weft_transform_random_rotation(180), weft_transform_random_erasing(1),
        weft_transform_colour_jitter(100, 0, 0, 0), weft_transform_random_vertical_flip(0.5),
        weft_transform_rand_augment(0, 30)};
    static unsigned char pixels[FEW * LARGEST], one[FEW * LARGEST], got[FEW * LARGEST], alone[FEW * LARGEST];
    test_random random = test_random_named("channels", 0);
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (unsigned char)test_random_bits(&random);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t s = 0; s < SIZES; s++)
            for (int64_t channels = 2; channels <= 4; channels++) {
                const size_t plane = (size_t)(sizes[s][0] * sizes[s][1]), all = (size_t)channels * plane;
                transform_all(&rows[r], 1, pixels, FEW, channels, sizes[s][0], sizes[s][1], got);
                for (size_t c = 0; c < (size_t)channels; c++) {
                    for (size_t i = 0; i < FEW; i++)
                        memcpy(one + i * plane, pixels + i * all + c * plane, plane);
                    transform_all(&rows[r], 1, one, FEW, 1, sizes[s][0], sizes[s][1], alone);
                    for (size_t i = 0; i < FEW; i++)
                        assert_memory_equal(got + i * all + c * plane, alone + i * plane, plane);
                }
            }
}

/* An image of one colour stays one, black and white included; only what lies outside of it is filled. */
static void one_colour_stays_one(void **state) {
    (void)state;
    weft_transform rotation = weft_transform_random_rotation(360), erasing = weft_transform_random_erasing(1);
    static unsigned char pixels[COPIES * LARGEST], got[COPIES * LARGEST];
    for (int value = 0; value <= 255; value += 255)
        for (size_t s = 0; s < SIZES; s++)
            for (int64_t channels = 1; channels <= 4; channels++) {
                rotation.fill = erasing.fill = value;
                weft_transform augment = weft_transform_rand_augment(1, 30);
                augment.fill = value;
                const weft_transform rows[] = {rotation, erasing,
                    weft_transform_colour_jitter(0, 100, 100, 0.5), weft_transform_random_grey(1), augment};
                const size_t bytes = (size_t)(channels * sizes[s][0] * sizes[s][1]);
                memset(pixels, value, COPIES * bytes);
                for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
                    const size_t examples = r == 4 ? COPIES : FEW;
                    transform_all(&rows[r], 1, pixels, examples, channels, sizes[s][0], sizes[s][1], got);
                    for (size_t i = 1; i < examples * bytes; i++)
                        assert_int_equal(got[i], r == 4 ? got[i / bytes * bytes] : value);
                }
            }
}

/* Quarter turns counter-clockwise of a square are exact. */
static void quarter_turns_are_exact(void **state) {
    (void)state;
    enum { SIDE = 7 };
    unsigned char pixels[SIDE * SIDE], got[SIDE * SIDE];
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (unsigned char)(5 * i);
    for (int turns = -4; turns <= 4; turns++) {
        weft_transform rotation = weft_transform_random_rotation(0);
        rotation.least = rotation.most = 90 * turns;
        rotation.fill = 33;
        transform_all(&rotation, 1, pixels, 1, 1, SIDE, SIDE, got);
        for (int y = 0; y < SIDE; y++)
            for (int x = 0; x < SIDE; x++) {
                int from_y = y, from_x = x;
                for (int i = 0; i < (turns + 4) % 4; i++) {
                    const int kept = from_y;
                    from_y = from_x;
                    from_x = SIDE - 1 - kept;
                }
                assert_int_equal(got[y * SIDE + x], pixels[from_y * SIDE + from_x]);
            }
    }
}

/* A list gives what its transforms give one after another, each on the images that the one before has made. */
static void a_list_is_its_transforms_in_order(void **state) {
    (void)state;
    const weft_transform list[] = {weft_transform_random_vertical_flip(0.5),
        weft_transform_random_rotation(30), weft_transform_random_crop(30, 19, 4),
        weft_transform_colour_jitter(0.4, 0.4, 0.4, 0.1), weft_transform_random_flip(0.5),
        weft_transform_rand_augment(3, 11), weft_transform_resize(24, 31), weft_transform_random_grey(0.3),
        weft_transform_random_vertical_flip(0.5), weft_transform_random_resized_crop(16, 18),
        weft_transform_random_erasing(0.8), weft_transform_centre_crop(15, 19)};
    enum { COUNT = sizeof list / sizeof *list, MOST = 3 * 31 * 31 };
    static unsigned char pixels[9 * MOST], steps[2][9 * MOST], got[9 * MOST];
    test_random random = test_random_named("list", 0);
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (unsigned char)test_random_bits(&random);
    for (int64_t channels = 1; channels <= 3; channels += 2) {
        int64_t height = 31, width = 17;
        memcpy(steps[0], pixels, sizeof pixels);
        for (size_t i = 0; i < COUNT; i++) {
            weft_transform alone[COUNT];
            for (size_t j = 0; j < i; j++) alone[j] = weft_transform_random_flip(0);
            alone[i] = list[i];
            transform_all(alone, i + 1, steps[i % 2], 9, channels, height, width, steps[(i + 1) % 2]);
            if (list[i].height) height = list[i].height, width = list[i].width;
        }
        transform_all(list, COUNT, pixels, 9, channels, 31, 17, got);
        assert_memory_equal(got, steps[COUNT % 2], (size_t)(9 * channels * height * width));
    }
}

static void wrong_numbers_are_refused(void **state) {
    (void)state;
    weft_transform wrong = weft_transform_random_rotation(1), filled = weft_transform_random_rotation(1);
    filled.fill = 256, wrong.most = (double)NAN;
    const struct {
        weft_transform transform;
        const char *part;
    } rows[] = {{wrong, "random_rotation: most is nan, expected -360 to 360"},
        {weft_transform_random_rotation(361), "least is -361, expected -360 to 360"},
        {weft_transform_random_rotation((double)NAN), "random_rotation: least is"},
        {filled, "random_rotation: fill is 256, expected -1 to 255"},
        {weft_transform_colour_jitter(-1, 0, 0, 0), "colour_jitter: brightness is -1, expected 0 to 100"},
        {weft_transform_colour_jitter(0, 101, 0, 0), "contrast is 101"},
        {weft_transform_colour_jitter(0, 0, (double)INFINITY, 0), "saturation is inf"},
        {weft_transform_colour_jitter(0, 0, 0, 0.6), "hue is 0.6, expected 0 to 0.5"},
        {weft_transform_random_erasing(2), "random_erasing: probability is 2"},
        {weft_transform_rand_augment(15, 9), "rand_augment: operations is 15, expected 0 to 14"},
        {weft_transform_rand_augment(2, 31), "magnitude is 31, expected 0 to 30"},
        {{.kind = WEFT_TRANSFORM_CUTMIX + 1}, "transform 0 is of kind 15"}};
    const weft_image_block block = {
        .examples = 1, .channels = 1, .height = 1, .width = 1, .pixels = (const unsigned char[1]){0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const weft_image_options options = {
            WEFT_IMAGE_OPTIONS_INIT, .transforms = &rows[i].transform, .transform_count = 1};
        weft_dataset *dataset = NULL;
        assert_fails(weft_dataset_from_images(&dataset, test_context(), &block, &options),
            WEFT_ERROR_ARGUMENT, rows[i].part);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transforms_follow_torchvision),
        cmocka_unit_test(channels_are_transformed_alike),
        cmocka_unit_test(one_colour_stays_one),
        cmocka_unit_test(quarter_turns_are_exact),
        cmocka_unit_test(a_list_is_its_transforms_in_order),
        cmocka_unit_test(wrong_numbers_are_refused),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
