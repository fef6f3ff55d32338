/* weft_find_mistakes against a search in float64: which examples are wrong, their order, and their picture; refused arguments. */
#include "base/platform.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include <math.h>
#include <stdio.h>

enum { EXAMPLES = 203, SIDE = 4, CLASSES = SIDE * SIDE, WORST = WEFT_MAX_MISTAKES, ZOOM = 24 };

typedef struct task {
    weft_graph *graph;
    weft_tensor *logits;
    weft_dataset *data;
    float images[EXAMPLES][CLASSES];
    int32_t labels[EXAMPLES];
} task;

/* The pixels of an image are the logits. Few labels are right; every 50th example has none. */
static task *begin(float scale) {
    task *const t = calloc(1, sizeof *t);
    test_random random = test_random_named("mistakes", 1);
    for (int i = 0; i < EXAMPLES; i++) {
        for (int c = 0; c < CLASSES; c++)
            t->images[i][c] = scale * (float)test_random_between(&random, 0.0, 1.0);
        t->labels[i] = i % 50 == 7 ? -1 : (int32_t)test_random_below(&random, CLASSES);
    }
    const weft_column columns[] = {{.name = "other", .dtype = WEFT_I32, .data = t->labels},
        {.name = "image", .dtype = WEFT_F32, .rank = 3, .dims = {1, SIDE, SIDE}, .data = t->images},
        {.name = "label", .dtype = WEFT_I32, .data = t->labels}};
    assert_ok(weft_graph_create(&t->graph, test_context()));
    t->logits = weft_flatten(weft_input(t->graph, "image", WEFT_F32, 1, SIDE, SIDE));
    assert_ok(weft_dataset_from_memory(&t->data, test_context(), EXAMPLES, columns, 3));
    return t;
}

static void end(task *t) {
    weft_dataset_release(t->data);
    weft_graph_release(t->graph);
    free(t);
}

/* The loss of logits, of which x[0] may be the only one. */
static weft_mistake judge(const float *x, size_t width, int32_t label, size_t example) {
    const double zero_and_x[2] = {0.0, (double)x[0]};
    double logits[CLASSES], sum = 0.0;
    const size_t classes = width == 1 ? 2 : width;
    weft_mistake one = {.example = example, .label = label};
    for (size_t c = 0; c < classes; c++) logits[c] = width == 1 ? zero_and_x[c] : (double)x[c];
    for (size_t c = 1; c < classes; c++)
        if (logits[c] > logits[one.predicted]) one.predicted = (int32_t)c;
    for (size_t c = 0; c < classes; c++) sum += exp(logits[c] - logits[one.predicted]);
    one.probability = 1.0 / sum;
    one.loss = log(sum) + logits[one.predicted] - logits[label];
    return one;
}

static void check_found(const weft_mistakes *found, const task *t, size_t width) {
    size_t examples = 0, wrong = 0;
    for (size_t i = 0; i < EXAMPLES; i++) {
        if (t->labels[i] < 0) continue;
        const weft_mistake one = judge(t->images[i], width, t->labels[i], i);
        size_t at = 0;
        examples++;
        if (one.predicted == one.label) continue;
        wrong++;
        while (at < found->count && found->worst[at].example != i) at++;
        if (at == found->count) {
            assert_true(one.loss <= found->worst[WORST - 1].loss + 1e-6);
            continue;
        }
        assert_int_equal(found->worst[at].label, one.label);
        assert_int_equal(found->worst[at].predicted, one.predicted);
        assert_true(fabs(found->worst[at].probability - one.probability) < 1e-6);
        assert_true(fabs(found->worst[at].loss - one.loss) < 1e-5);
    }
    assert_int_equal(found->examples, examples);
    assert_int_equal(found->wrong, wrong);
    assert_int_equal(found->count, wrong < WORST ? wrong : WORST);
    for (size_t i = 1; i < found->count; i++) assert_true(found->worst[i].loss <= found->worst[i - 1].loss);
}

static void the_worst_examples_come_first(void **state) {
    (void)state;
    task *const t = begin(5.0f);
    weft_mistakes found;
    assert_ok(weft_find_mistakes(&found, t->logits, t->data, NULL, NULL));
    check_found(&found, t, CLASSES);
    end(t);
}

static void one_logit_has_two_classes(void **state) {
    (void)state;
    task *const t = begin(-3.0f);
    weft_mistakes found;
    for (int i = 0; i < EXAMPLES; i++) t->labels[i] = i % 2;
    const weft_column columns[] = {
        {.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {CLASSES}, .data = t->images},
        {.name = "class", .dtype = WEFT_I32, .data = t->labels}};
    weft_dataset *data = NULL;
    assert_ok(weft_dataset_from_memory(&data, test_context(), EXAMPLES, columns, 2));
    weft_tensor *const x = weft_input(t->graph, "x", WEFT_F32, CLASSES);
    assert_ok(weft_find_mistakes(&found, weft_slice(x, 1, 0, 1), data, "class", NULL));
    check_found(&found, t, 1);
    weft_dataset_release(data);
    end(t);
}

enum { STEP = SIDE * ZOOM + 2, WIDTH = 6 * STEP - 2, HEIGHT = 4 * STEP - 2 };

/* The pixels of a picture of WORST mistakes; false: this build reads no PNG files. */
static bool read_picture(const char *path, unsigned char *pixels) {
    const weft_image_options bytes = {WEFT_IMAGE_OPTIONS_INIT, .channels = 1, .bytes = true};
    const weft_status status = weft_load_image(test_context(), path, &bytes, pixels, (size_t)WIDTH * HEIGHT);
    if (status != WEFT_ERROR_UNSUPPORTED) assert_ok(status);
    return status == WEFT_OK;
}

/* Pixel p of mistake i. */
static int pixel_of(const unsigned char *pixels, size_t i, int p) {
    return pixels[((i / 6) * STEP + (size_t)(p / SIDE * ZOOM)) * WIDTH + (i % 6) * STEP +
                  (size_t)(p % SIDE * ZOOM)];
}

static void the_picture_has_them_in_this_order(void **state) {
    task *const t = begin(1.0f);
    weft_mistakes found;
    const char *const path = scratch_path(*state, "wrong.png");
    assert_ok(weft_find_mistakes(&found, t->logits, t->data, "other", path));
    unsigned char *const pixels = malloc((size_t)WIDTH * HEIGHT);
    if (read_picture(path, pixels))
        for (size_t i = 0; i < WORST; i++)
            for (int p = 0; p < CLASSES; p++)
                assert_int_equal(
                    pixel_of(pixels, i, p), (int)(255.0f * t->images[found.worst[i].example][p] + 0.5f));
    free(pixels);
    end(t);
}

/* A picture shows images as they were before they were normalised. */
static void normalised_images_are_shown_as_they_were(void **state) {
    static unsigned char images[WORST][CLASSES];
    static const int32_t labels[WORST] = {0};
    const weft_image_options normalised = {WEFT_IMAGE_OPTIONS_INIT, .mean = {0.25f}, .deviation = {0.5f}};
    const weft_image_block block = {WORST, 1, SIDE, SIDE, WEFT_CHANNELS_FIRST, &images[0][0], labels};
    for (int i = 0; i < WORST; i++)
        for (int p = 0; p < CLASSES; p++) images[i][p] = (unsigned char)(60 + 9 * p);
    task *const t = begin(1.0f);
    weft_dataset *data = NULL;
    weft_mistakes found;
    assert_ok(weft_dataset_from_images(&data, test_context(), &block, &normalised));
    const char *const path = scratch_path(*state, "plain.png");
    assert_ok(weft_find_mistakes(&found, t->logits, data, NULL, path));
    assert_int_equal(found.wrong, WORST);
    unsigned char *const pixels = malloc((size_t)WIDTH * HEIGHT);
    if (read_picture(path, pixels))
        for (size_t i = 0; i < WORST; i++)
            for (int p = 0; p < CLASSES; p++) assert_int_equal(pixel_of(pixels, i, p), images[0][p]);
    free(pixels);
    weft_dataset_release(data);
    end(t);
}

/* Nothing is wrong: no file. */
static void without_mistakes_there_is_no_picture(void **state) {
    task *const t = begin(1.0f);
    weft_mistakes found;
    for (int i = 0; i < EXAMPLES; i++) t->labels[i] = judge(t->images[i], CLASSES, 0, 0).predicted;
    const weft_column columns[] = {
        {.name = "image", .dtype = WEFT_F32, .rank = 3, .dims = {1, SIDE, SIDE}, .data = t->images},
        {.name = "label", .dtype = WEFT_I32, .data = t->labels}};
    weft_dataset *data = NULL;
    assert_ok(weft_dataset_from_memory(&data, test_context(), EXAMPLES, columns, 2));
    const char *const path = scratch_path(*state, "none.png");
    assert_ok(weft_find_mistakes(&found, t->logits, data, NULL, path));
    assert_int_equal(found.examples, EXAMPLES);
    assert_int_equal(found.wrong + found.count, 0);
    FILE *const file = fopen(path, "rb");
    assert_null(file);
    weft_dataset_release(data);
    end(t);
}

static void wrong_arguments_are_refused(void **state) {
    (void)state;
    task *const t = begin(1.0f);
    weft_mistakes found;
    weft_tensor *const sums = weft_sum(t->logits, 1), *const few = weft_slice(t->logits, 1, 0, 3);
    weft_tensor *const row = weft_input(t->graph, "row", WEFT_F32, 3);
    const weft_column columns[] = {
        {.name = "row", .dtype = WEFT_F32, .rank = 1, .dims = {3}, .data = t->images},
        {.name = "label", .dtype = WEFT_F32, .data = t->images},
        {.name = "class", .dtype = WEFT_I32, .data = t->labels}};
    weft_dataset *rows = NULL;
    assert_ok(weft_dataset_from_memory(&rows, test_context(), 2, columns, 3));
    assert_fails(
        weft_find_mistakes(NULL, t->logits, t->data, NULL, NULL), WEFT_ERROR_ARGUMENT, "found is NULL");
    assert_fails(
        weft_find_mistakes(&found, NULL, t->data, NULL, NULL), WEFT_ERROR_ARGUMENT, "logits is NULL");
    assert_fails(
        weft_find_mistakes(&found, t->logits, NULL, NULL, NULL), WEFT_ERROR_ARGUMENT, "dataset is NULL");
    assert_fails(weft_find_mistakes(&found, t->logits, t->data, "class", NULL), WEFT_ERROR_ARGUMENT,
        "the dataset has no column 'class'");
    assert_fails(weft_find_mistakes(&found, sums, t->data, NULL, NULL), WEFT_ERROR_SHAPE, "(batch, classes)");
    assert_fails(
        weft_find_mistakes(&found, row, rows, NULL, NULL), WEFT_ERROR_DTYPE, "'label' is not one i32");
    assert_fails(weft_find_mistakes(&found, few, t->data, NULL, NULL), WEFT_ERROR_ARGUMENT,
        "expected one below 3, the number of classes");
    assert_fails(
        weft_find_mistakes(&found, row, rows, "class", "x.png"), WEFT_ERROR_ARGUMENT, "no input has images");
    weft_dataset_release(rows);
    end(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worst_examples_come_first),
        cmocka_unit_test(one_logit_has_two_classes),
        SCRATCH_TEST(the_picture_has_them_in_this_order),
        SCRATCH_TEST(normalised_images_are_shown_as_they_were),
        SCRATCH_TEST(without_mistakes_there_is_no_picture),
        cmocka_unit_test(wrong_arguments_are_refused),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
