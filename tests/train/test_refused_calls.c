/* Calls for data and trainings with arguments that are missing, do not fit together or are too large: each is an error of one line, and
 * returns no object. */
#include "support/checks.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include "support/two_classes.h"
#include <math.h>
#include <stdio.h>

/* The call is refused as a wrong argument. */
#define REFUSES(part, call) assert_fails((call), WEFT_ERROR_ARGUMENT, part)

static void missing_arguments_are_named(void **state) {
    weft_context *const context = test_context();
    weft_vocabulary *vocabulary = NULL;
    weft_dataset *data = NULL, *rest = NULL;
    int32_t token = 0;
    size_t count;
    (void)state;
    REFUSES("from_text: context and text", weft_vocabulary_from_text(&vocabulary, NULL, "a", 1, NULL));
    REFUSES("from_text: context and text", weft_vocabulary_from_text(&vocabulary, context, NULL, 1, NULL));
    REFUSES("from_file: context and path", weft_vocabulary_from_file(&vocabulary, context, NULL, NULL));
    REFUSES("load: context and path", weft_vocabulary_load(&vocabulary, NULL, "a"));
    REFUSES("vocabulary is NULL", weft_vocabulary_load(NULL, context, "a"));
    REFUSES("save: vocabulary and path", weft_vocabulary_save(NULL, "a"));
    REFUSES("check: vocabulary and table", weft_vocabulary_check(NULL, NULL));
    assert_null(vocabulary);
    assert_ok(weft_vocabulary_from_text(&vocabulary, context, "abc", 3, NULL));
    REFUSES("weft_vocabulary_encode", weft_vocabulary_encode(vocabulary, NULL, 1, &token, 1, &count));
    REFUSES("weft_vocabulary_encode", weft_vocabulary_encode(vocabulary, "a", 1, &token, 1, NULL));
    REFUSES("weft_vocabulary_encode", weft_vocabulary_encode(vocabulary, "a", 1, NULL, 1, &count));
    REFUSES("weft_vocabulary_decode", weft_vocabulary_decode(vocabulary, NULL, 1, NULL, 0, &count));
    REFUSES("weft_vocabulary_decode", weft_vocabulary_decode(NULL, &token, 1, NULL, 0, &count));
    REFUSES("from_tokens: context and tokens", weft_dataset_from_tokens(&data, context, NULL, 1, NULL));
    REFUSES("open_text: context, path and vocabulary",
        weft_dataset_open_text(&data, context, NULL, vocabulary, NULL));
    REFUSES("open_series: training, context and path",
        weft_dataset_open_series(&data, &rest, NULL, context, NULL, NULL));
    assert_null(data);
    REFUSES("evaluate: trainer and dataset", weft_trainer_evaluate(NULL, NULL, NULL, NULL));
    REFUSES("restore_best: trainer is NULL", weft_trainer_restore_best(NULL));
    bool found = true;
    REFUSES("resume: trainer and path", weft_trainer_resume(NULL, "a", &found));
    assert_false(found);
    weft_vocabulary_release(vocabulary);
}

static void without_a_trainer_there_is_no_progress(void **state) {
    weft_training_info info = {0};
    (void)state;
    weft_trainer_get_info(NULL, &info);
    assert_true(info.not_finite_step == SIZE_MAX && info.best_epoch == SIZE_MAX && isnan(info.best));
    weft_trainer_get_info(NULL, NULL);
}

static void options_of_data_are_in_range(void **state) {
    weft_context *const context = test_context();
    const weft_vocabulary_options level = {WEFT_VOCABULARY_OPTIONS_INIT, .level = (weft_text_level)7};
    const weft_series_options wide = {WEFT_SERIES_OPTIONS_INIT, .window = (size_t)INT32_MAX + 1};
    const weft_image_block images = {1, 1, 2, 2, (weft_image_layout)7, (const unsigned char *)"abcd", NULL};
    weft_vocabulary *vocabulary = NULL;
    weft_dataset *data = NULL;
    char header[1024] = "", row[1024] = "", folder[5000];
    (void)state;
    REFUSES("level is 7", weft_vocabulary_from_text(&vocabulary, context, "abc", 3, &level));
    REFUSES("layout is 7", weft_dataset_from_images(&data, context, &images, NULL));
    REFUSES("stride is above", weft_dataset_open_series(&data, NULL, NULL, context, "none.csv", &wide));
    const char *fields[WEFT_MAX_SERIES + 2] = {NULL};
    char names[WEFT_MAX_SERIES + 1][8];
    for (int i = 0; i <= WEFT_MAX_SERIES; i++) {
        snprintf(names[i], sizeof names[i], "f%d", i);
        fields[i] = names[i];
        snprintf(header + strlen(header), sizeof header - strlen(header), "%s%s", i ? "," : "", names[i]);
        snprintf(row + strlen(row), sizeof row - strlen(row), "%s%d", i ? "," : "", i);
    }
    FILE *const file = fopen(test_path("wide.csv"), "w");
    assert_non_null(file);
    assert_true(fprintf(file, "%s\n%s\n%s\n%s\n", header, row, row, row) > 0);
    assert_int_equal(fclose(file), 0);
    const weft_series_options many = {WEFT_SERIES_OPTIONS_INIT, .fields = fields, .window = 1};
    REFUSES("the file has 65 fields, expected at most 64",
        weft_dataset_open_series(&data, NULL, NULL, context, test_path("wide.csv"), &many));
    memset(folder, 'f', sizeof folder - 1);
    folder[sizeof folder - 1] = '\0';
    REFUSES("the path of the folder is too long",
        weft_dataset_open_cifar(&data, context, folder, WEFT_CIFAR_10_TRAIN, NULL));
    assert_null(data);
    assert_null(vocabulary);
}

/* A series is normalised like another one of as many fields. */
static void a_series_is_like_a_series(void **state) {
    weft_dataset *first = NULL, *second = NULL;
    const char *const both[] = {"a", "b", NULL}, *const one[] = {"a", NULL};
    (void)state;
    FILE *const file = fopen(test_path("two.csv"), "w");
    assert_non_null(file);
    assert_true(fputs("a,b\n1,2\n2,5\n4,4\n3,7\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    weft_series_options options = {WEFT_SERIES_OPTIONS_INIT, .fields = one, .window = 1};
    assert_ok(weft_dataset_open_series(&first, NULL, NULL, test_context(), test_path("two.csv"), &options));
    options.fields = both;
    options.like = first;
    REFUSES("the dataset of the option like is not a series of 2 fields",
        weft_dataset_open_series(&second, NULL, NULL, test_context(), test_path("two.csv"), &options));
    assert_null(second);
    weft_dataset_release(first);
}

/* ---- trainers ---- */

static weft_status no_step(void *user, weft_step *step) {
    (void)user;
    (void)step;
    return WEFT_OK;
}

static void options_of_a_trainer_fit_together(void **state) {
    const network net = make_network(test_context());
    static char folder[5000];
    weft_tensor *const constant = weft_state_shape(net.graph, "seen", WEFT_F32, weft_zeros(), 0, NULL);
    weft_tensor *const update = weft_assign(constant, weft_number(constant, 1));
    const struct {
        weft_trainer_options options;
        weft_status status;
        const char *part;
    } rows[] = {{{.not_finite = (weft_not_finite)7}, WEFT_ERROR_ARGUMENT, "not_finite is 7"},
        {{.batch = (size_t)INT32_MAX + 1}, WEFT_ERROR_ARGUMENT,
            "batch is 2147483648, expected at most 2^31 - 1"},
        {{.gradient_histograms = true, .step = no_step}, WEFT_ERROR_UNSUPPORTED, "gradient_histograms"},
        {{.gradient_shards = 4, .updates = &update, .update_count = 1}, WEFT_ERROR_UNSUPPORTED,
            "no assignment of the option updates changes parameters"},
        {{.gradient_shards = 4, .shard_optimizer = true, .updates = &update, .update_count = 1},
            WEFT_ERROR_UNSUPPORTED, "shard_optimizer cannot be used with the option updates"},
        {{.gradient_shards = 65, .batch = 130}, WEFT_ERROR_ARGUMENT,
            "gradient_shards is 65, expected at most 64"},
        {{.updates = &update, .update_count = 1, .schedule = weft_step_schedule(2, 0.5f)},
            WEFT_ERROR_ARGUMENT, "the rate of weft_minimize, which has not been called"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weft_trainer *trainer = NULL;
        weft_trainer_options options = rows[i].options;
        options.struct_size = sizeof options;
        assert_fails(weft_trainer_create(&trainer, net.loss, &options), rows[i].status, rows[i].part);
        assert_null(trainer);
    }
    const problem p = make_problem();
    weft_dataset *const data = make_dataset(test_context(), &p);
    for (size_t i = 0; i + 1 < sizeof folder; i++) folder[i] = i % 100 == 0 ? '/' : 'f';
    memcpy(folder, test_folder(), strlen(test_folder()));
    weft_trainer *const trainer = make_trainer(&net, (weft_trainer_options){.checkpoint = folder});
    assert_int_not_equal(weft_trainer_run(trainer, data), WEFT_OK);
    weft_trainer_release(trainer);
    weft_dataset_release(data);
    weft_graph_release(net.graph);
}

/* One schedule cannot change the rates of two optimizers. */
static void a_schedule_is_of_one_optimizer(void **state) {
    const network net = make_network(test_context());
    weft_tensor *updates[2 * WEFT_MAX_UPDATES], *const halves[] = {
                                                    net.loss, weft_mean(weft_mul(net.logits, net.logits))};
    size_t count = 0;
    weft_trainer *trainer = NULL;
    (void)state;
    for (int i = 0; i < 2; i++) {
        const weft_optimizer sgd = weft_sgd(0.1f);
        size_t made = 0;
        assert_ok(weft_minimize(halves[i], &sgd, updates + count, WEFT_MAX_UPDATES, &made));
        count += made;
    }
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .updates = updates,
        .update_count = count, .schedule = weft_step_schedule(2, 0.5f)};
    REFUSES(
        "changes one rate, but there are 2 optimizers", weft_trainer_create(&trainer, net.loss, &options));
    weft_graph_release(net.graph);
}

/* Inputs of fixed sizes take the same number of examples, and a trainer takes a limited number of columns. */
static void examples_and_columns_fit(void **state) {
    enum { COLUMNS = 33 };
    const problem p = make_problem();
    const network net = make_network(test_context());
    weft_graph *const fixed = test_graph();
    weft_tensor *const two = weft_input_shape(fixed, "two", WEFT_F32, 1, (const int64_t[]){2}),
                       *const three = weft_input_shape(fixed, "three", WEFT_F32, 1, (const int64_t[]){3});
    weft_tensor *const w = weft_parameter(fixed, "w", weft_fill(1));
    weft_tensor *const loss = weft_mul(w, weft_add(weft_mean(two), weft_mean(three)));
    weft_trainer *trainer = NULL;
    (void)state;
    assert_fails(weft_trainer_create(&trainer, loss, NULL), WEFT_ERROR_SHAPE, "but another input takes");
    weft_graph_release(fixed);
    weft_column columns[COLUMNS];
    char names[COLUMNS][16];
    for (int i = 0; i < COLUMNS; i++) {
        snprintf(names[i], sizeof names[i], "c%d", i);
        columns[i] = (weft_column){.name = names[i], .dtype = WEFT_I32, .data = p.labels};
    }
    columns[0] = (weft_column){.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {2}, .data = p.xs};
    columns[1].name = "label";
    weft_dataset *data = NULL;
    assert_ok(weft_dataset_from_memory(&data, test_context(), POINTS, columns, COLUMNS));
    trainer = make_trainer(&net, (weft_trainer_options){.epochs = 1});
    REFUSES("the dataset has 33 columns, but a trainer takes at most 32", weft_trainer_run(trainer, data));
    weft_trainer_release(trainer);
    weft_dataset_release(data);
    weft_graph_release(net.graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_arguments_are_named),
        cmocka_unit_test(without_a_trainer_there_is_no_progress),
        cmocka_unit_test(options_of_data_are_in_range),
        cmocka_unit_test(a_series_is_like_a_series),
        cmocka_unit_test(options_of_a_trainer_fit_together),
        cmocka_unit_test(a_schedule_is_of_one_optimizer),
        cmocka_unit_test(examples_and_columns_fit),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
