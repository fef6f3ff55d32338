/* CSV and JSON-lines logs: what stands in them, when they can be read, and what a bad path does. */
#include "base/platform.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/two_classes.h"
#include <cjson/cJSON.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>

enum { EPOCHS = 3, STEPS = 13 };

static char csv_path[4096], json_path[4096];

static void set_paths(const char *name) {
    char file[64];
    snprintf(file, sizeof file, "%s.csv", name);
    snprintf(csv_path, sizeof csv_path, "%s", test_path(file));
    snprintf(file, sizeof file, "%s.jsonl", name);
    snprintf(json_path, sizeof json_path, "%s", test_path(file));
}

typedef struct history {
    weft_epoch epochs[2 * EPOCHS];
    size_t count, lines_seen;
} history;

static size_t count_lines(const char *path, bool *whole) {
    char *text = NULL;
    size_t bytes = 0, lines = 0;
    assert_ok(wi_file_read(NULL, path, &text, &bytes));
    for (size_t i = 0; i < bytes; i++) lines += text[i] == '\n';
    *whole = bytes && text[bytes - 1] == '\n';
    wi_release(NULL, text);
    return lines;
}

/* The line of an epoch is there when its callback comes. */
static bool note_epoch(void *user, const weft_epoch *state) {
    history *const it = user;
    bool whole = false;
    it->epochs[it->count++] = *state;
    it->lines_seen = count_lines(json_path, &whole);
    assert_true(whole);
    return true;
}

static void train(history *it, bool steps, bool append, size_t runs) {
    const problem p = make_problem();
    const network net = make_network(test_context());
    weft_dataset *const data = make_dataset(test_context(), &p);
    const weft_metric metrics[] = {
        {.kind = WEFT_F1, .name = "f\"1"}, {.kind = WEFT_TOP_K, .k = 2, .name = "a,\"b\\\t"}};
    weft_trainer *const trainer = make_trainer(&net, (weft_trainer_options){.epochs = EPOCHS,
                                                         .logits = net.logits,
                                                         .validation = data,
                                                         .metrics = metrics,
                                                         .metric_count = 2,
                                                         .csv_log = csv_path,
                                                         .json_log = json_path,
                                                         .log_steps = steps,
                                                         .append_logs = append,
                                                         .on_epoch = note_epoch,
                                                         .user = it});
    for (size_t i = 0; i < runs; i++) assert_ok(weft_trainer_run(trainer, data));
    weft_trainer_release(trainer);
    weft_dataset_release(data);
    weft_graph_release(net.graph);
}

static double number(const cJSON *line, const char *name) {
    const cJSON *const item = cJSON_GetObjectItemCaseSensitive(line, name);
    if (!cJSON_IsNumber(item)) print_error("no number '%s'\n", name);
    assert_true(cJSON_IsNumber(item));
    return item->valuedouble;
}

static void assert_near(double got, double expected) {
    assert_true(fabs(got - expected) <= 1e-8 * fabs(expected));
}

static void check_json_epoch(const char *text, const weft_epoch *epoch) {
    cJSON *const line = cJSON_Parse(text);
    assert_non_null(line);
    assert_string_equal(cJSON_GetObjectItem(line, "event")->valuestring, "epoch");
    assert_true(number(line, "epoch") == (double)epoch->epoch + 1);
    assert_true(number(line, "step") == (double)epoch->step);
    assert_near(number(line, "loss"), epoch->loss);
    assert_near(number(line, "accuracy"), epoch->accuracy);
    assert_near(number(line, "validation_loss"), epoch->validation_loss);
    assert_near(number(line, "validation_accuracy"), epoch->validation_accuracy);
    assert_true(number(line, "validation_f\"1") > 0.5);
    assert_true(number(line, "validation_a,\"b\\\t") == 1.0);
    assert_near(number(line, "learning_rate"), 0.1);
    assert_true(fabs(number(line, "seconds") - epoch->seconds) < 2e-3);
    assert_int_equal(cJSON_GetArraySize(line), 11);
    cJSON_Delete(line);
}

static void epochs_are_written_down(void **state) {
    (void)state;
    history it = {0};
    char *text = NULL, *rest = NULL;
    size_t bytes = 0;
    set_paths("epochs");
    train(&it, false, false, 2); /* a second run goes on in the same files */
    assert_int_equal(it.count, 2 * EPOCHS);
    assert_int_equal(it.lines_seen, 2 * EPOCHS);
    assert_ok(wi_file_read(NULL, json_path, &text, &bytes));
    char *line = strtok_r(text, "\n", &rest);
    for (size_t i = 0; i < 2 * EPOCHS; i++, line = strtok_r(NULL, "\n", &rest)) {
        assert_non_null(line);
        check_json_epoch(line, &it.epochs[i]);
    }
    assert_null(line);
    wi_release(NULL, text);

    assert_ok(wi_file_read(NULL, csv_path, &text, &bytes));
    line = strtok_r(text, "\n", &rest);
    assert_string_equal(line,
        "event,epoch,step,loss,accuracy,validation_loss,validation_accuracy,\"validation_f\"\"1\","
        "\"validation_a,\"\"b\\\t\",learning_rate,seconds");
    for (size_t i = 0; i < 2 * EPOCHS; i++) {
        const weft_epoch *const epoch = &it.epochs[i];
        size_t number_of_epoch = 0, step = 0;
        double v[8];
        line = strtok_r(NULL, "\n", &rest);
        assert_int_equal(sscanf(line, "epoch,%zu,%zu,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf", &number_of_epoch,
                             &step, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]),
            10);
        assert_int_equal(number_of_epoch, epoch->epoch + 1);
        assert_int_equal(step, epoch->step);
        assert_near(v[0], epoch->loss);
        assert_near(v[3], epoch->validation_accuracy);
        assert_near(v[6], 0.1);
    }
    assert_null(strtok_r(NULL, "\n", &rest));
    wi_release(NULL, text);
}

/* The batches' losses, weighted by their sizes, make up the epoch's. */
static void steps_are_written_down(void **state) {
    (void)state;
    history it = {0};
    char *text = NULL, *rest = NULL;
    size_t bytes = 0;
    set_paths("steps");
    train(&it, true, false, 1);
    assert_ok(wi_file_read(NULL, json_path, &text, &bytes));
    char *line = strtok_r(text, "\n", &rest);
    for (size_t epoch = 0; epoch < EPOCHS; epoch++) {
        double loss = 0.0, accuracy = 0.0;
        for (size_t step = 0; step < STEPS; step++, line = strtok_r(NULL, "\n", &rest)) {
            cJSON *const object = cJSON_Parse(line);
            assert_string_equal(cJSON_GetObjectItem(object, "event")->valuestring, "step");
            assert_true(number(object, "epoch") == (double)epoch + 1);
            assert_true(number(object, "step") == (double)(epoch * STEPS + step) + 1);
            assert_true(cJSON_IsNull(cJSON_GetObjectItem(object, "validation_loss")));
            assert_near(number(object, "learning_rate"), 0.1);
            const double examples = step + 1 < STEPS ? 8.0 : 4.0;
            loss += number(object, "loss") * examples / POINTS;
            accuracy += number(object, "accuracy") * examples / POINTS;
            cJSON_Delete(object);
        }
        assert_near(loss, it.epochs[epoch].loss);
        assert_near(accuracy, it.epochs[epoch].accuracy);
        check_json_epoch(line, &it.epochs[epoch]);
        line = strtok_r(NULL, "\n", &rest);
    }
    assert_null(line);
    wi_release(NULL, text);
    bool whole = false;
    assert_int_equal(count_lines(csv_path, &whole), 1 + EPOCHS * (STEPS + 1));
    assert_ok(wi_file_read(NULL, csv_path, &text, &bytes));
    assert_non_null(strstr(text, "\nstep,1,1,"));
    assert_non_null(strstr(text, ",,,,,0.1")); /* empty cells: a step has no validation */
    wi_release(NULL, text);
}

static void old_logs_are_replaced_or_go_on(void **state) {
    (void)state;
    history it = {0};
    bool whole = false;
    set_paths("again");
    train(&it, false, false, 1);
    it.count = 0;
    train(&it, false, true, 1);
    assert_int_equal(count_lines(csv_path, &whole), 1 + 2 * EPOCHS); /* one header */
    assert_int_equal(count_lines(json_path, &whole), 2 * EPOCHS);
    it.count = 0;
    train(&it, false, false, 1);
    assert_int_equal(count_lines(csv_path, &whole), 1 + EPOCHS);
    assert_int_equal(count_lines(json_path, &whole), EPOCHS);
}

static void bad_paths_come_before_training(void **state) {
    (void)state;
    const problem p = make_problem();
    const network net = make_network(test_context());
    weft_dataset *const data = make_dataset(test_context(), &p);
    weft_training_info info;
    set_paths("columns");
    FILE *const file = fopen(csv_path, "w");
    fputs("a,b\n1,2\n", file);
    fclose(file);
    const struct {
        weft_trainer_options options;
        weft_status status;
        const char *part;
    } rows[] = {
        {{.csv_log = "/no/such/folder/log.csv"}, WEFT_ERROR_FILE, "/no/such/folder/log.csv"},
        {{.json_log = "/no/such/folder/log"}, WEFT_ERROR_FILE, "/no/such/folder/log"},
        {{.json_log = test_folder()}, WEFT_ERROR_FILE, "directory"},
        {{.csv_log = csv_path, .append_logs = true}, WEFT_ERROR_FORMAT,
            "other columns than this training has"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weft_trainer *const trainer = make_trainer(&net, rows[i].options);
        for (int attempt = 0; attempt < 2; attempt++) {
            assert_fails(weft_trainer_run(trainer, data), rows[i].status, rows[i].part);
            weft_trainer_get_info(trainer, &info);
            assert_int_equal(info.steps, 0);
        }
        weft_trainer_release(trainer);
    }
    weft_trainer *const full = make_trainer(&net, (weft_trainer_options){.json_log = "/dev/full"});
    assert_fails(weft_trainer_run(full, data), WEFT_ERROR_FILE, "cannot write '/dev/full'");
    weft_trainer_release(full);
    weft_dataset_release(data);
    weft_graph_release(net.graph);
}

static weft_status give_strange_losses(void *user, weft_step *step) {
    (void)user;
    step->has_loss = true;
    step->loss = step->step == 0 ? NAN : step->step == 1 ? INFINITY : 0.5f;
    return WEFT_OK;
}

/* Numbers have a point in every locale, and what is not a number is no JSON number. */
static void numbers_are_readable(void **state) {
    (void)state;
    const problem p = make_problem();
    const network net = make_network(test_context());
    weft_dataset *const data = make_dataset(test_context(), &p);
    char *text = NULL;
    size_t bytes = 0;
    static const char *const commas[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    bool comma = false;
    for (size_t i = 0; i < 4 && !comma; i++) comma = setlocale(LC_NUMERIC, commas[i]);
    if (!comma) print_message("no locale with a decimal comma is installed; checked with a point only\n");
    set_paths("strange");
    weft_trainer *const trainer = make_trainer(&net, (weft_trainer_options){.csv_log = csv_path,
                                                         .json_log = json_path,
                                                         .log_steps = true,
                                                         .step = give_strange_losses,
                                                         .not_finite = WEFT_NOT_FINITE_CONTINUE});
    assert_ok(weft_trainer_run(trainer, data));
    assert_ok(wi_file_read(NULL, json_path, &text, &bytes));
    assert_ptr_equal(
        strstr(text, "{\"event\":\"step\",\"epoch\":1,\"step\":1,\"loss\":null,\"learning_rate\":0.1"), text);
    assert_non_null(strstr(text, "\"step\":2,\"loss\":null,"));
    assert_non_null(strstr(text, "\"step\":3,\"loss\":0.5,"));
    wi_release(NULL, text);
    assert_ok(wi_file_read(NULL, csv_path, &text, &bytes));
    assert_non_null(strstr(text, "\nstep,1,1,,0.1"));
    assert_non_null(strstr(text, "\nstep,1,2,inf,0.1"));
    assert_non_null(strstr(text, "\nstep,1,3,0.5,0.1"));
    assert_non_null(strstr(text, "\nepoch,1,13,nan,0.1"));
    wi_release(NULL, text);
    setlocale(LC_NUMERIC, "C");
    weft_trainer_release(trainer);
    weft_dataset_release(data);
    weft_graph_release(net.graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(epochs_are_written_down),
        cmocka_unit_test(steps_are_written_down),
        cmocka_unit_test(old_logs_are_replaced_or_go_on),
        cmocka_unit_test(bad_paths_come_before_training),
        cmocka_unit_test(numbers_are_readable),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
