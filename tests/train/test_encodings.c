/* What numbers stand for: categories, normalisation and vocabularies of a training, and of the data that it meets later. */
#include "io/encoding.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/image_examples.h"
#include "support/table_dataset.h"
#include <math.h>
#include <stdio.h>

static const char *const training_table = "a,b,c,label\n1,0,0,cat\n0,1,0,dog\n0,0,1,fox\n";
/* Without a dog: fox is 1 here. */
static const char *const testing_table = "a,b,c,label\n0,0,1,fox\n1,0,0,cat\n0,0,1,fox\n";

static weft_dataset *open_animals(const char *text) {
    static const char *const fields[] = {"a", "b", "c", NULL}, *const label[] = {"label", NULL};
    static const weft_csv_column columns[] = {
        {.name = "x", .fields = fields}, {.name = "label", .kind = WEFT_CSV_CATEGORY, .fields = label}};
    return table_open_csv(text, (weft_csv_options){.columns = columns, .column_count = 2});
}

typedef struct judge {
    weft_graph *graph;
    weft_tensor *logits;
    weft_trainer *trainer;
} judge;

/* Says class i for x[i] = 1, from the first step on. */
static judge make_judge(weft_dataset *validation, const char *checkpoint) {
    judge j = {.graph = test_graph()};
    weft_tensor *const scale = weft_parameter(j.graph, "scale", weft_fill(10), 3);
    j.logits = weft_mul(weft_input(j.graph, "x", WEFT_F32, 3), scale);
    weft_tensor *const loss = weft_cross_entropy(j.logits, weft_input(j.graph, "label", WEFT_I32));
    const weft_metric recall = weft_metric_recall(WEFT_AVERAGE_MACRO);
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = weft_sgd(1e-3f), .batch = 2,
        .logits = j.logits, .validation = validation, .checkpoint = checkpoint, .metrics = &recall,
        .metric_count = 1};
    assert_ok(weft_trainer_create(&j.trainer, loss, &options));
    return j;
}

static void end_judge(judge *j) {
    weft_trainer_release(j->trainer);
    weft_graph_release(j->graph);
}

static double recall_of(const judge *j) {
    double value = 0;
    assert_ok(weft_metric_result(weft_trainer_metric(j->trainer, 0, false), &value));
    return value;
}

static void categories_are_mapped_by_their_names(void **state) {
    (void)state;
    double accuracy = 0;
    weft_dataset *const training = open_animals(training_table), *const testing = open_animals(testing_table);
    assert_int_equal(table_i32(testing, 1, 0), 1);
    judge j = make_judge(testing, NULL);
    assert_ok(weft_trainer_run(j.trainer, training));
    assert_true(recall_of(&j) == 1); /* the validation's, of cat and fox */
    assert_ok(weft_trainer_evaluate(j.trainer, testing, NULL, &accuracy));
    assert_true(accuracy == 1 && recall_of(&j) == 1);
    assert_int_equal(table_i32(testing, 1, 0), 1); /* the caller's is as it was */
    assert_int_equal(weft_graph_category_count(j.graph, "label"), 3);
    assert_string_equal(weft_graph_category(j.graph, "label", 2), "fox");
    assert_null(weft_graph_category(j.graph, "label", 3));
    assert_null(weft_graph_category(j.graph, "x", 0));
    assert_ok(weft_trainer_run(j.trainer, testing)); /* a second run goes on with the first one's numbers */
    assert_ok(weft_trainer_evaluate(j.trainer, training, NULL, &accuracy));
    assert_true(accuracy == 1);
    end_judge(&j);
    weft_dataset_release(training);
    weft_dataset_release(testing);
}

/* A category that no example has is no obstacle, wherever its number is. */
static void unknown_categories_are_refused(void **state) {
    (void)state;
    double accuracy = 0;
    weft_dataset *const training = open_animals(training_table), *const other = open_animals(
                                                                     "a,b,c,label\n0,1,0,dog\n1,0,0,wolf\n");
    const weft_csv_column columns[] = {{.name = "x", .count = 3},
        {.name = "label",
            .kind = WEFT_CSV_CATEGORY,
            .first = 3,
            .categories = (const char *const[]){"ape", "bear", "cow", "fox", "cat", NULL}}};
    weft_dataset *const wide =
        table_open_csv(testing_table, (weft_csv_options){.columns = columns, .column_count = 2});
    judge j = make_judge(NULL, NULL);
    assert_ok(weft_trainer_run(j.trainer, training));
    assert_fails(weft_trainer_evaluate(j.trainer, other, NULL, NULL), WEFT_ERROR_ARGUMENT,
        "column 'label': example 1 is 'wolf', which is not one of the 3 categories of the training data: "
        "'cat', "
        "'dog', 'fox'");
    assert_fails(weft_trainer_run(j.trainer, other), WEFT_ERROR_ARGUMENT, "example 1 is 'wolf'");
    assert_ok(weft_trainer_evaluate(j.trainer, wide, NULL, &accuracy));
    assert_true(accuracy == 1);
    end_judge(&j);
    judge validated = make_judge(other, NULL);
    assert_fails(weft_trainer_run(validated.trainer, training), WEFT_ERROR_ARGUMENT, "example 1 is 'wolf'");
    assert_ok(weft_trainer_evaluate(validated.trainer, training, NULL, &accuracy));
    end_judge(&validated);
    weft_dataset_release(training);
    weft_dataset_release(other);
    weft_dataset_release(wide);
}

/* In another process: the names come from the checkpoint. */
static void checkpoints_have_the_names(void **state) {
    (void)state;
    double accuracy = 0;
    bool found = false;
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", test_path("checkpoints"));
    weft_dataset *const training = open_animals(training_table), *const testing = open_animals(testing_table);
    judge first = make_judge(NULL, folder);
    assert_ok(weft_trainer_run(first.trainer, training));
    end_judge(&first);
    judge second = make_judge(NULL, folder);
    assert_int_equal(weft_graph_category_count(second.graph, "label"), 0);
    assert_ok(weft_trainer_resume(second.trainer, folder, &found));
    assert_true(found);
    assert_string_equal(weft_graph_category(second.graph, "label", 1), "dog");
    assert_ok(weft_trainer_evaluate(second.trainer, testing, NULL, &accuracy));
    assert_true(accuracy == 1);
    assert_ok(weft_trainer_run(second.trainer, testing)); /* as many examples, and its names are mapped */
    assert_ok(weft_trainer_evaluate(second.trainer, training, NULL, &accuracy));
    assert_true(accuracy == 1);
    end_judge(&second);
    weft_dataset_release(training);
    weft_dataset_release(testing);
}

/* Backslashes, line breaks, Latin-1 and nothing, in the texts and in the name of the column. */
static void names_of_any_bytes_are_saved(void **state) {
    (void)state;
    static const char *const texts[] = {"a\\nb", "a\nb", "caf\xe9", "caf\xc3\xa9", "\\", "", NULL};
    const weft_csv_column columns[] = {{.name = "x", .count = 1},
        {.name = "caf\xe9", .kind = WEFT_CSV_CATEGORY, .first = 1, .categories = texts}};
    weft_dataset *const data = table_open_csv("x,y\n1,a\\nb\n0,\"a\nb\"\n0,caf\xe9\n0,caf\xc3\xa9\n0,\\\n",
        (weft_csv_options){.columns = columns, .column_count = 2});
    const char *const path = test_path("bytes.safetensors");
    for (int pass = 0; pass < 2; pass++) {
        weft_graph *const graph = test_graph();
        weft_trainer *trainer = NULL;
        weft_tensor *const x = weft_input(graph, "x", WEFT_F32), *const y =
                                                                     weft_input(graph, "caf\xe9", WEFT_I32);
        weft_tensor *const w = weft_parameter(graph, "w", weft_fill(0.1f));
        weft_tensor *const loss = weft_mean(weft_mul(weft_mul(x, w), weft_cast(y, WEFT_F32)));
        assert_ok(weft_trainer_create(&trainer, loss, NULL));
        if (pass == 0) {
            assert_ok(weft_trainer_run(trainer, data));
            assert_ok(weft_checkpoint_save(graph, path, NULL, 0));
        } else {
            assert_ok(weft_checkpoint_load(graph, path, NULL, 0));
        }
        assert_int_equal(weft_graph_category_count(graph, "caf\xe9"), 6);
        for (int i = 0; i < 6; i++) assert_string_equal(weft_graph_category(graph, "caf\xe9", i), texts[i]);
        weft_trainer_release(trainer);
        weft_graph_release(graph);
    }
    weft_dataset_release(data);
}

/* ---- numbers that were normalised ---- */

static weft_trainer *make_mean_trainer(
    weft_graph *graph, const char *input, int64_t a, int64_t b, int64_t c) {
    weft_trainer *trainer = NULL;
    weft_tensor *const x =
        c ? weft_input(graph, input, WEFT_F32, a, b, c) : weft_input(graph, input, WEFT_F32, a, b);
    weft_tensor *const w = weft_parameter(graph, "w", weft_fill(0.1f));
    assert_ok(weft_trainer_create(&trainer, weft_mean(weft_mul(x, w)), NULL));
    return trainer;
}

static void images_of_other_statistics_are_refused(void **state) {
    (void)state;
    const weft_transform flip = weft_transform_random_flip(0.5);
    weft_image_options options = {
        WEFT_IMAGE_OPTIONS_INIT, .mean = {0.5f, 0.4f, 0.3f}, .deviation = {0.25f, 0.25f, 0.25f}};
    weft_dataset *const training = image_examples_make(&options, 4, 3, 5, 6);
    weft_dataset *flipped = NULL, *plain = NULL;
    options.transforms = &flip, options.transform_count = 1;
    assert_ok(weft_dataset_with_image_options(&flipped, training, &options));
    assert_ok(weft_dataset_with_image_options(&plain, training, NULL));
    weft_graph *const graph = test_graph();
    weft_trainer *const trainer = make_mean_trainer(graph, "image", 3, 5, 6);
    assert_ok(weft_trainer_run(trainer, training));
    assert_ok(weft_trainer_evaluate(trainer, flipped, NULL, NULL));
    assert_fails(weft_trainer_evaluate(trainer, plain, NULL, NULL), WEFT_ERROR_ARGUMENT,
        "column 'image': channel 0 is normalised by mean 0 and deviation 1, but the training data by 0.5 and "
        "0.25");
    weft_trainer_release(trainer);
    weft_graph_release(graph);
    weft_dataset_release(training);
    weft_dataset_release(flipped);
    weft_dataset_release(plain);
}

/* A network of images of any size does not see by itself that they are others than those of a checkpoint. */
static void checkpoints_have_the_size_of_images(void **state) {
    (void)state;
    const char *const path = test_path("size.safetensors");
    weft_dataset *const small = image_examples_make(NULL, 4, 3, 5, 6), *const large = image_examples_make(
                                                                           NULL, 4, 3, 9, 6);
    weft_graph *graph = test_graph();
    weft_trainer *trainer = make_mean_trainer(graph, "image", 3, 5, 6);
    assert_ok(weft_trainer_run(trainer, small));
    assert_ok(weft_checkpoint_save(graph, path, NULL, 0));
    weft_trainer_release(trainer);
    weft_graph_release(graph);
    graph = test_graph();
    trainer = make_mean_trainer(graph, "image", 3, 9, 6);
    assert_ok(weft_checkpoint_load(graph, path, NULL, 0));
    assert_fails(weft_trainer_evaluate(trainer, large, NULL, NULL), WEFT_ERROR_ARGUMENT,
        "images of 9 x 6 pixels, but the training data has images of 5 x 6");
    weft_trainer_release(trainer);
    weft_graph_release(graph);
    weft_dataset_release(small);
    weft_dataset_release(large);
}

static void series_take_the_scale_of_the_training(void **state) {
    (void)state;
    static const char *const fields[] = {"v", NULL};
    weft_series_options options = {WEFT_SERIES_OPTIONS_INIT, .fields = fields, .window = 2};
    weft_dataset *training = NULL, *own = NULL, *alike = NULL, *wrong = NULL;
    assert_ok(weft_dataset_open_series(
        &training, NULL, NULL, test_context(), table_write("first.csv", "v\n1\n3\n5\n7\n"), &options));
    const char *const later = table_write("later.csv", "v\n11\n13\n15\n19\n");
    assert_ok(weft_dataset_open_series(&own, NULL, NULL, test_context(), later, &options));
    options.like = training;
    assert_ok(weft_dataset_open_series(&alike, NULL, NULL, test_context(), later, &options));
    assert_true(fabs((double)table_f32(alike, 0, 0) - 7 / sqrt(5)) < 1e-6); /* mean 4, deviation sqrt 5 */
    options.keep_scale = true;
    assert_fails(weft_dataset_open_series(&wrong, NULL, NULL, test_context(), later, &options),
        WEFT_ERROR_ARGUMENT, "set one of them");
    weft_graph *const graph = test_graph();
    weft_trainer *const trainer = make_mean_trainer(graph, "window", 2, 1, 0);
    assert_ok(weft_trainer_run(trainer, training));
    assert_ok(weft_trainer_evaluate(trainer, alike, NULL, NULL));
    assert_fails(weft_trainer_evaluate(trainer, own, NULL, NULL), WEFT_ERROR_ARGUMENT,
        "field 0 is normalised by mean 14.5 and deviation 2.95803989, but the training data by 4 and "
        "2.23606798");
    weft_trainer_release(trainer);
    weft_graph_release(graph);
    weft_dataset_release(training);
    weft_dataset_release(own);
    weft_dataset_release(alike);
}

/* ---- vocabularies ---- */

static weft_dataset *open_text(const char *file, const char *text) {
    const weft_text_options options = {WEFT_TEXT_OPTIONS_INIT, .streams = 1, .steps = 2};
    weft_vocabulary *vocabulary = NULL;
    weft_dataset *dataset = NULL;
    const char *const path = table_write(file, text);
    assert_ok(weft_vocabulary_from_file(&vocabulary, test_context(), path, NULL));
    assert_ok(weft_dataset_open_text(&dataset, test_context(), path, vocabulary, &options));
    weft_vocabulary_release(vocabulary);
    return dataset;
}

static void tokens_are_those_of_the_training(void **state) {
    (void)state;
    double before = 0, after = 0;
    weft_dataset *const training = open_text("first.txt", "aaaabbc"),
                        *const same = open_text("second.txt", "bbbbaac"),
                        *const other = open_text("third.txt", "abcdabcd");
    assert_string_equal(weft_dataset_category(training, 0, 0), "a");
    assert_string_equal(weft_dataset_category(same, 1, 0), "b");
    weft_graph *const graph = test_graph();
    weft_tensor *const tokens = weft_cast(weft_input(graph, "tokens", WEFT_I32, 2), WEFT_F32);
    weft_tensor *const loss = weft_mean(weft_mul(tokens, weft_parameter(graph, "w", weft_fill(1))));
    weft_trainer *trainer = NULL;
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = weft_sgd(1e-9f)};
    assert_ok(weft_trainer_create(&trainer, loss, &options));
    assert_ok(weft_trainer_evaluate(trainer, same, &before, NULL));
    assert_true(fabs(before - 2.0 / 6) < 1e-6); /* bbbbaa by its own vocabulary: 0 0 0 0 1 1 */
    assert_ok(weft_trainer_run(trainer, training));
    assert_ok(weft_trainer_evaluate(trainer, same, &after, NULL));
    assert_true(fabs(after - 4.0 / 6) < 1e-6);
    assert_fails(weft_trainer_evaluate(trainer, other, NULL, NULL), WEFT_ERROR_ARGUMENT,
        "is 'd', which is not one of the 3 categories of the training");
    weft_trainer_release(trainer);
    weft_graph_release(graph);
    weft_dataset_release(training);
    weft_dataset_release(same);
    weft_dataset_release(other);
}

/* ---- prediction, and columns of one dataset in another ---- */

static void predictions_compare_too(void **state) {
    (void)state;
    float result[3];
    weft_dataset *const training = table_open_csv("colour\nblue\nred\ngreen\n", (weft_csv_options){0}),
                        *const other = table_open_csv("colour\nred\ngreen\nred\n", (weft_csv_options){0});
    weft_graph *const graph = test_graph();
    weft_tensor *const colour = weft_cast(weft_input(graph, "colour", WEFT_I32), WEFT_F32);
    weft_tensor *const output = weft_mul(colour, weft_parameter(graph, "w", weft_fill(1)));
    weft_trainer *trainer = NULL;
    assert_ok(weft_trainer_create(&trainer, weft_mean(output), NULL));
    assert_ok(weft_trainer_run(trainer, training));
    assert_ok(weft_predict(output, 3, weft_dataset_column(training, 0), 1, result, sizeof result));
    assert_fails(weft_predict(output, 3, weft_dataset_column(other, 0), 1, result, sizeof result),
        WEFT_ERROR_ARGUMENT,
        "column 'colour': category 0 is 'green', but in the training data it is 'blue' (2 categories here, 3 "
        "in the training data)");
    weft_dataset *copy = NULL; /* carries on what the column stands for */
    assert_ok(weft_dataset_from_memory(&copy, test_context(), 3, weft_dataset_column(other, 0), 1));
    assert_string_equal(weft_dataset_category(copy, 0, 1), "red");
    double loss = 0;
    assert_ok(weft_trainer_evaluate(trainer, copy, &loss, NULL));
    weft_column unknown = *weft_dataset_column(other, 0);
    unknown.encoding = NULL;
    assert_ok(weft_predict(output, 3, &unknown, 1, result, sizeof result));
    weft_trainer_release(trainer);
    weft_graph_release(graph);
    weft_dataset_release(training);
    weft_dataset_release(other);
    weft_dataset_release(copy);
}

static void kinds_of_numbers_are_compared(void **state) {
    static const double mean[3] = {0}, deviation[3] = {1, 1, 1};
    static const char *const texts[] = {"a", "b"};
    const weft_encoding pixels = {.kind = WI_PIXELS, .count = 3, .mean = mean, .deviation = deviation},
                        grey = {.kind = WI_PIXELS, .count = 1, .mean = mean, .deviation = deviation},
                        numbers = {.kind = WI_NORMALISED, .count = 3, .mean = mean, .deviation = deviation},
                        names = {.kind = WI_CATEGORIES, .count = 2, .texts = texts};
    (void)state;
    assert_ok(wi_encoding_check("x", &pixels, &pixels));
    assert_fails(wi_encoding_check("x", &pixels, &numbers), WEFT_ERROR_ARGUMENT,
        "column 'x' has pixels (3), but in the training data it has normalised numbers (3)");
    assert_fails(wi_encoding_check("x", &pixels, &grey), WEFT_ERROR_ARGUMENT, "it has pixels (1)");
    assert_fails(wi_encoding_check("x", &names, &numbers), WEFT_ERROR_ARGUMENT, "has categories (2)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(categories_are_mapped_by_their_names),
        cmocka_unit_test(unknown_categories_are_refused),
        cmocka_unit_test(checkpoints_have_the_names),
        cmocka_unit_test(names_of_any_bytes_are_saved),
        cmocka_unit_test(images_of_other_statistics_are_refused),
        cmocka_unit_test(checkpoints_have_the_size_of_images),
        cmocka_unit_test(series_take_the_scale_of_the_training),
        cmocka_unit_test(tokens_are_those_of_the_training),
        cmocka_unit_test(predictions_compare_too),
        cmocka_unit_test(kinds_of_numbers_are_compared),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
