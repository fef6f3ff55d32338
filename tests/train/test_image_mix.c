/* Mixup, cutmix and targets: beside torchvision, for every number of threads, in a training, and misuse. */
/* test threads */
#include "support/checks.h"
#include "support/fixture.h"
#include "support/golden_file.h"
#include "train/image_mix.h"
#include <math.h>

enum { MOST = 4096 };

/* Images in memory and a dataset of them. */
typedef struct examples {
    size_t count, bytes; /* bytes: of one image */
    int64_t channels, height, width;
    unsigned char pixels[MOST];
    int32_t labels[64];
} examples;

static examples random_examples(size_t count, int64_t channels, int64_t side, int32_t classes) {
    examples e = {.count = count, .channels = channels, .height = side, .width = side};
    test_random random = test_random_named("mixed", 0);
    e.bytes = (size_t)(channels * side * side);
    assert_true(count * e.bytes <= MOST && count <= 64);
    for (size_t i = 0; i < count * e.bytes; i++) e.pixels[i] = (unsigned char)test_random_bits(&random);
    for (size_t i = 0; i < count; i++) e.labels[i] = (int32_t)(test_random_bits(&random) % (uint32_t)classes);
    return e;
}

static weft_dataset *dataset_of(const examples *e, const weft_image_options *options) {
    weft_dataset *dataset = NULL;
    const weft_image_block block = {.examples = e->count,
        .channels = e->channels,
        .height = e->height,
        .width = e->width,
        .pixels = e->pixels,
        .labels = e->labels};
    assert_ok(weft_dataset_from_images(&dataset, test_context(), &block, options));
    assert_string_equal(weft_dataset_column(dataset, 2)->name, "target");
    assert_null(weft_dataset_column(dataset, 2)->data);
    return dataset;
}

/* An epoch of a dataset, example after example. */
typedef struct epoch {
    size_t count;
    unsigned char images[4 * MOST];
    int32_t labels[64];
    float targets[MOST];
} epoch;

static void load_epoch(epoch *e, weft_dataset *dataset, const weft_loader_options *loading, uint64_t number) {
    const weft_column *const image = weft_dataset_column(dataset, 0);
    const size_t bytes =
        weft_dtype_size(image->dtype) * (size_t)(image->dims[0] * image->dims[1] * image->dims[2]);
    const size_t classes = (size_t)weft_dataset_column(dataset, 2)->dims[0];
    weft_loader *loader = NULL;
    size_t count = 0;
    const void *columns[3];
    assert_ok(weft_loader_create(&loader, dataset, loading));
    assert_ok(weft_loader_begin(loader, number));
    e->count = 0;
    while (assert_ok(weft_loader_next(loader, &count, columns)), count) {
        memcpy(e->images + e->count * bytes, columns[0], count * bytes);
        memcpy(e->labels + e->count, columns[1], count * sizeof *e->labels);
        memcpy(e->targets + e->count * classes, columns[2], count * classes * sizeof *e->targets);
        e->count += count;
    }
    weft_loader_release(loader);
}

/* ---- torchvision ---- */

static examples golden_examples(const cJSON *item) {
    examples e = {0};
    float size[3], labels[64];
    assert_int_equal(golden_numbers(golden_member(item, "size"), size, 3), 3);
    e.count = golden_numbers(golden_member(item, "labels"), labels, 64);
    e.channels = (int64_t)size[0], e.height = (int64_t)size[1], e.width = (int64_t)size[2];
    e.bytes = (size_t)(e.channels * e.height * e.width);
    const char *const digits = golden_member(item, "pixels")->valuestring;
    assert_int_equal(strlen(digits), 2 * e.count * e.bytes);
    for (size_t i = 0; i < e.count * e.bytes; i++) {
        const char pair[] = {digits[2 * i], digits[2 * i + 1], 0};
        e.pixels[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
    for (size_t i = 0; i < e.count; i++) e.labels[i] = (int32_t)labels[i];
    return e;
}

static void check_numbers(const float *got, const float *wanted, size_t count, const char *what) {
    for (size_t i = 0; i < count; i++)
        if (fabsf(got[i] - wanted[i]) > 2e-7f)
            fail_msg("%s %zu: %g, expected %g", what, i, (double)got[i], (double)wanted[i]);
}

/* f32 and 8 bits, whose numbers are rounded; both orders of memory. */
static void check_mixture(const cJSON *root, const cJSON *item, bool bytes, bool last) {
    const examples e = golden_examples(item);
    const double alpha = golden_number(item, "alpha", 0);
    const bool cuts = strcmp(golden_member(item, "kind")->valuestring, "cutmix") == 0;
    const weft_transform transform = cuts ? weft_transform_cutmix(alpha) : weft_transform_mixup(alpha);
    const weft_image_options options = {WEFT_IMAGE_OPTIONS_INIT, .transforms = &transform,
        .transform_count = 1, .bytes = bytes, .targets = (int64_t)golden_number(item, "classes", 0),
        .layout = last ? WEFT_CHANNELS_LAST : WEFT_CHANNELS_FIRST};
    const weft_loader_options loading = {WEFT_LOADER_OPTIONS_INIT, .threads = 2,
        .batch = (size_t)golden_number(item, "batch", 0), .seed = (uint64_t)golden_number(root, "seed", 0)};
    const size_t plane = (size_t)(e.height * e.width), channels = (size_t)e.channels;
    static epoch got;
    weft_dataset *const dataset = dataset_of(&e, &options);
    load_epoch(&got, dataset, &loading, (uint64_t)golden_number(root, "epoch", 0));
    assert_int_equal(got.count, e.count);
    size_t example = 0;
    const cJSON *batch;
    cJSON_ArrayForEach(batch, golden_member(item, "batches")) {
        float numbers[MOST], targets[64], labels[64];
        const size_t count = golden_numbers(golden_member(batch, "labels"), labels, 64);
        golden_numbers(golden_member(batch, "numbers"), numbers, MOST);
        golden_numbers(golden_member(batch, "targets"), targets, 64);
        for (size_t i = 0; i < count * e.bytes; i++) {
            const size_t c = i % e.bytes / plane, place = i % plane;
            const size_t at = example * e.bytes + (last ? i / e.bytes * e.bytes + place * channels + c : i);
            const float value =
                bytes ? (float)got.images[at] / 255 : ((const float *)(const void *)got.images)[at];
            if (fabsf(value - numbers[i]) > (bytes ? 0.501f / 255 : 1e-6f))
                fail_msg("example %zu: %g, expected %g", example, (double)value, (double)numbers[i]);
        }
        check_numbers(got.targets + example * (size_t)options.targets, targets,
            count * (size_t)options.targets, "target");
        for (size_t i = 0; i < count; i++) assert_int_equal(got.labels[example + i], (int32_t)labels[i]);
        example += count;
    }
    weft_dataset_release(dataset);
}

static void mixtures_follow_torchvision(void **state) {
    (void)state;
    cJSON *const root = golden_file("augment_golden.json");
    const cJSON *item = NULL;
    int cases = 0;
    cJSON_ArrayForEach(item, golden_member(root, "mixtures")) {
        for (int how = 0; how < 4; how++) check_mixture(root, item, how & 1, how & 2);
        cases++;
    }
    assert_int_equal(cases, 5);
    cJSON_Delete(root);
}

/* Beta(a, a) has the mean 1/2 and the variance 1 / (8·a + 4). */
static void weights_have_the_beta_distribution(void **state) {
    (void)state;
    enum { COUNT = 40000 };
    static const double alphas[] = {0.1, 0.2, 0.4, 0.5, 0.75, 1, 2, 8, 100};
    for (size_t a = 0; a < sizeof alphas / sizeof *alphas; a++) {
        double sum = 0, squares = 0, below = 0;
        for (size_t i = 0; i < COUNT; i++) {
            const double value = wi_draw_beta(&(wi_example){.index = i, .seed = 5}, a, alphas[a]);
            assert_true(value >= 0 && value <= 1 && value * 65536 == floor(value * 65536));
            sum += value, squares += (value - 0.5) * (value - 0.5);
            below += value < 0.25;
        }
        const double variance = 1 / (8 * alphas[a] + 4);
        assert_true(fabs(sum / COUNT - 0.5) < 5 * sqrt(variance / COUNT));
        assert_true(fabs(squares / COUNT / variance - 1) < 0.04);
        if (alphas[a] == 1) assert_true(fabs(below / COUNT - 0.25) < 5 * sqrt(0.1875 / COUNT));
        if (alphas[a] == 0.5) assert_true(fabs(below / COUNT - 1.0 / 3) < 5 * sqrt(0.2222 / COUNT));
    }
}

/* ---- the same for every number of threads ---- */

static void batches_do_not_depend_on_threads(void **state) {
    (void)state;
    const weft_transform transforms[] = {weft_transform_cutmix(1), weft_transform_random_flip(0.5),
        weft_transform_mixup(0.4), weft_transform_rand_augment(2, 9)};
    const weft_image_options options = {
        WEFT_IMAGE_OPTIONS_INIT, .transforms = transforms, .transform_count = 4, .targets = 5};
    const examples e = random_examples(61, 3, 4, 5);
    weft_dataset *const dataset = dataset_of(&e, &options);
    static epoch first, other;
    const size_t threads[] = {1, 2, 4, 13}, prefetch[] = {1, 2, 3, 7};
    int kinds[2] = {0};
    for (uint64_t number = 0; number < 8; number++) {
        weft_loader_options loading = {
            WEFT_LOADER_OPTIONS_INIT, .batch = 8, .shuffle = true, .seed = 5, .threads = 1};
        load_epoch(&first, dataset, &loading, number);
        assert_int_equal(first.count, e.count);
        for (size_t i = 0; i < 4; i++) {
            loading.threads = threads[i];
            loading.prefetch = prefetch[i];
            load_epoch(&other, dataset, &loading, number);
            assert_memory_equal(first.images, other.images, e.count * e.bytes * sizeof(float));
            assert_memory_equal(first.labels, other.labels, e.count * sizeof *first.labels);
            assert_memory_equal(first.targets, other.targets, e.count * 5 * sizeof(float));
        }
        for (size_t i = 0; i < e.count; i++) {
            float sum = 0, greatest = 0;
            for (size_t c = 0; c < 5; c++) {
                const float target = first.targets[i * 5 + c];
                sum += target;
                greatest = target > greatest ? target : greatest;
            }
            assert_true(fabsf(sum - 1) < 1e-6f);
            assert_true(first.targets[i * 5 + (size_t)first.labels[i]] == greatest);
            const float sixteenths = greatest * 16; /* cutmix's weights are counts of 16 pixels */
            kinds[fabsf(sixteenths - roundf(sixteenths)) < 1e-4f && greatest < 1]++;
        }
    }
    assert_true(kinds[0] > 50 && kinds[1] > 50); /* each batch has drawn one of both */
    weft_dataset_release(dataset);
}

/* The second half of a batch, as two ranges. */
static bool load_half(const void *user, size_t whole, size_t index, size_t *first, size_t *count) {
    (void)user;
    *first = whole / 2 + index * (whole / 4);
    *count = whole / 4;
    return index < 2;
}

/* One of several processes loads two gradient shards of each batch, and none of the last one. It mixes the examples of
 * each shard with one another. */
static void parts_of_batches_are_mixed(void **state) {
    (void)state;
    const weft_transform transform = weft_transform_mixup(0.4);
    const weft_image_options options = {
        WEFT_IMAGE_OPTIONS_INIT, .transforms = &transform, .transform_count = 1, .targets = 5};
    const weft_loader_options loading = {WEFT_LOADER_OPTIONS_INIT, .batch = 8, .seed = 5, .threads = 3};
    const examples e = random_examples(41, 3, 4, 5);
    weft_dataset *const dataset = dataset_of(&e, &options);
    weft_loader *loader = NULL;
    size_t count = 0;
    const void *columns[3];
    assert_ok(wi_loader_create(&loader, dataset, &loading, load_half, NULL));
    for (uint64_t number = 0; number < 3; number++) {
        assert_ok(weft_loader_begin(loader, number));
        for (size_t batch = 0; batch < 6; batch++) {
            const wi_example draws = {.index = batch, .seed = 5, .epoch = number};
            const float weight = (float)wi_draw_beta(&draws, 0, 0.4);
            assert_ok(weft_loader_next(loader, &count, columns));
            assert_int_equal(count, batch < 5 ? 8 : 1);
            for (size_t i = 0; i < 4 && batch < 5; i++) {
                const size_t own = batch * 8 + 4 + i, other = batch * 8 + 4 + (i ^ 1);
                const float red = weight * (float)e.pixels[own * e.bytes] / 255 +
                                  (1 - weight) * (float)e.pixels[other * e.bytes] / 255;
                const float *const targets = (const float *)columns[2] + i * 5;
                const float both = e.labels[own] == e.labels[other] ? 1 : weight;
                assert_true(fabsf(((const float *)columns[0])[i * e.bytes] - red) < 1e-6f);
                assert_true(fabsf(targets[e.labels[own]] - both) < 1e-6f);
            }
        }
        assert_ok(weft_loader_next(loader, &count, columns));
        assert_int_equal(count, 0);
    }
    weft_loader_release(loader);
    weft_dataset_release(dataset);
}

/* ---- training ---- */

static weft_tensor *loss_of(weft_graph *graph, int64_t side, int64_t classes, weft_tensor **logits) {
    weft_tensor *const image = weft_input(graph, "image", WEFT_F32, 3, side, side);
    *logits = weft_linear(weft_flatten(image), classes);
    return weft_cross_entropy(*logits, weft_input(graph, "target", WEFT_F32, classes));
}

/* Without a mixture, targets are the same loss as labels; the accuracy reads the labels. */
static void a_trainer_learns_from_targets(void **state) {
    (void)state;
    const weft_transform mixes[] = {weft_transform_mixup(0.2), weft_transform_cutmix(1)};
    const weft_image_options plain = {WEFT_IMAGE_OPTIONS_INIT, .targets = 4},
                             mixed = {WEFT_IMAGE_OPTIONS_INIT, .targets = 4, .transforms = mixes,
                                 .transform_count = 2};
    const examples e = random_examples(48, 3, 3, 4);
    weft_dataset *const all = dataset_of(&e, &plain), *training = NULL, *validation = NULL, *part = NULL;
    assert_ok(weft_dataset_split(&validation, &part, all, 16, 1));
    assert_ok(weft_dataset_with_image_options(&training, part, &mixed));
    assert_int_equal(weft_dataset_column_count(training), 3);
    weft_graph *const graph = test_graph();
    weft_tensor *logits, *const loss = loss_of(graph, 3, 4, &logits);
    weft_tensor *const by_label = weft_cross_entropy(logits, weft_input(graph, "label", WEFT_I32));
    weft_trainer *trainer = NULL, *judge = NULL;
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = weft_adam(0.02f),
        .epochs = 40, .batch = 8, .logits = logits, .validation = validation};
    const weft_trainer_options judging = {WEFT_TRAINER_OPTIONS_INIT, .logits = logits};
    double before, after, hard, soft, accuracy;
    assert_ok(weft_trainer_create(&trainer, loss, &options));
    assert_ok(weft_trainer_evaluate(trainer, part, &before, NULL));
    assert_ok(weft_trainer_run(trainer, training));
    assert_ok(weft_trainer_evaluate(trainer, part, &after, &accuracy));
    assert_true(after < 0.8 * before && accuracy > 0.6);
    assert_ok(weft_trainer_create(&judge, by_label, &judging));
    assert_ok(weft_trainer_evaluate(trainer, validation, &soft, NULL));
    assert_ok(weft_trainer_evaluate(judge, validation, &hard, NULL));
    assert_true(fabs(soft - hard) < 1e-5 * hard);
    weft_trainer_release(judge);
    weft_trainer_release(trainer);
    weft_graph_release(graph);
    weft_dataset_release(training), weft_dataset_release(part);
    weft_dataset_release(validation), weft_dataset_release(all);
}

/* ---- misuse ---- */

static void wrong_options_are_refused(void **state) {
    (void)state;
    const struct {
        weft_transform transform;
        int64_t targets;
        bool labelled;
        const char *part;
    } rows[] = {
        {weft_transform_mixup(1), 0, true, "transform 0 mixes examples; set the option targets"},
        {weft_transform_cutmix(1), 0, true, "set the option targets to the number of classes"},
        {weft_transform_mixup(0), 4, true, "mixup: alpha is 0, expected 0.001 to 1000"},
        {weft_transform_cutmix((double)NAN), 4, true, "cutmix: alpha is "},
        {weft_transform_mixup(1), -1, true, "targets is -1"},
        {weft_transform_mixup(1), INT64_MAX, true, "targets is 9223372036854775807"},
        {weft_transform_mixup(1), 4, false, "needs labels"},
    };
    examples e = random_examples(6, 1, 2, 4);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weft_dataset *dataset = NULL;
        const weft_image_options options = {WEFT_IMAGE_OPTIONS_INIT, .transforms = &rows[i].transform,
            .transform_count = 1, .targets = rows[i].targets};
        const weft_image_block block = {.examples = 6,
            .channels = 1,
            .height = 2,
            .width = 2,
            .pixels = e.pixels,
            .labels = rows[i].labelled ? e.labels : NULL};
        assert_fails(weft_dataset_from_images(&dataset, test_context(), &block, &options),
            WEFT_ERROR_ARGUMENT, rows[i].part);
        assert_null(dataset);
    }
}

static void a_label_out_of_range_is_an_error(void **state) {
    (void)state;
    const weft_image_options options = {WEFT_IMAGE_OPTIONS_INIT, .targets = 4};
    examples e = random_examples(20, 1, 2, 4);
    e.labels[13] = 4;
    for (int sign = 0; sign < 2; sign++) {
        weft_dataset *const dataset = dataset_of(&e, &options);
        const weft_loader_options loading = {WEFT_LOADER_OPTIONS_INIT, .batch = 5, .threads = 3};
        weft_loader *loader = NULL;
        size_t count = 0;
        const void *columns[3];
        assert_ok(weft_loader_create(&loader, dataset, &loading));
        for (uint64_t number = 0; number < 3; number++) {
            assert_ok(weft_loader_begin(loader, number));
            for (int batch = 0; batch < 2; batch++) {
                assert_ok(weft_loader_next(loader, &count, columns));
                assert_int_equal(count, 5);
                assert_true(((const float *)columns[2])[((const int32_t *)columns[1])[0]] == 1.0f);
            }
            for (int again = 0; again < 2; again++)
                assert_fails(weft_loader_next(loader, &count, columns), WEFT_ERROR_ARGUMENT,
                    sign ? "a label is -1, expected 0 to 3"
                         : "a label is 4, expected 0 to 3 (option targets)");
        }
        weft_loader_release(loader);
        weft_dataset_release(dataset);
        e.labels[13] = -1;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mixtures_follow_torchvision),
        cmocka_unit_test(weights_have_the_beta_distribution),
        cmocka_unit_test(batches_do_not_depend_on_threads),
        cmocka_unit_test(parts_of_batches_are_mixed),
        cmocka_unit_test(a_trainer_learns_from_targets),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(a_label_out_of_range_is_an_error),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
