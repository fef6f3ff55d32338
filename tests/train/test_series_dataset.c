/* Series of numbers: which rows a window holds, what is normalised by what, and series with gaps or text. */
#include "support/fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *write_table(const char *text) {
    const char *const path = test_path("series.csv");
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return path;
}

#define OPTIONS(...) (&(weft_series_options){WEFT_SERIES_OPTIONS_INIT, __VA_ARGS__})

static float number(const weft_dataset *dataset, size_t column, size_t index) {
    return ((const float *)weft_dataset_column(dataset, column)->data)[index];
}

static const char *const table =
    "month,load,heat\n1,10,0\n2,20,1\n3,30,2\n4,40,3\n5,50,4\n6,60,5\n7,70,6\n8,80,7\n";

/* Without scaling: rows as they are. 8 rows, the last 2 to validate with. */
static void test_windows(void **state) {
    (void)state;
    weft_dataset *training = NULL, *validation = NULL;
    assert_weft_ok(weft_dataset_open_series(&training, &validation, NULL, test_context(), write_table(table),
        OPTIONS(.fields = (const char *const[]){"heat", "load", NULL}, .window = 2, .stride = 2,
            .validation = 0.25, .keep_scale = true)));
    assert_int_equal(weft_dataset_size(training), 2); /* rows 0-2 and 2-4; 4-6 would reach into validation */
    assert_string_equal(weft_dataset_column(training, 0)->name, "window");
    assert_string_equal(weft_dataset_column(training, 1)->name, "target");
    assert_int_equal(weft_dataset_column(training, 0)->rank, 2);
    assert_int_equal(weft_dataset_column(training, 0)->dims[0], 2);
    assert_int_equal(weft_dataset_column(training, 0)->dims[1], 2);
    static const float windows[] = {0, 10, 1, 20, 2, 30, 3, 40}, targets[] = {2, 30, 4, 50};
    assert_memory_equal(weft_dataset_column(training, 0)->data, windows, sizeof windows);
    assert_memory_equal(weft_dataset_column(training, 1)->data, targets, sizeof targets);
    assert_int_equal(weft_dataset_size(validation), 1); /* sees rows 4 and 5, forecasts 6 */
    assert_true(
        number(validation, 0, 0) == 4 && number(validation, 1, 0) == 6 && number(validation, 1, 1) == 70);
    weft_dataset_release(training);
    weft_dataset_release(validation);
}

/* The last column by default; mean and deviation are the training rows' alone. */
static void test_normalised(void **state) {
    (void)state;
    weft_dataset *training = NULL, *validation = NULL;
    weft_series_scale scale;
    assert_weft_ok(weft_dataset_open_series(&training, &validation, &scale, test_context(),
        write_table(table), OPTIONS(.window = 3, .horizon = 2, .validation = 0.25)));
    assert_int_equal(scale.count, 1);
    assert_true(fabs(scale.mean[0] - 2.5) < 1e-12 && fabs(scale.deviation[0] - sqrt(35.0 / 12)) < 1e-12);
    assert_int_equal(weft_dataset_size(training), 2);
    assert_int_equal(weft_dataset_size(validation), 1);
    assert_true(fabs((double)number(training, 0, 0) + 2.5 / scale.deviation[0]) < 1e-6);
    assert_true(fabs((double)number(validation, 1, 1) - 4.5 / scale.deviation[0]) < 1e-6);
    weft_dataset_release(training);
    weft_dataset_release(validation);
    assert_weft_ok(weft_dataset_open_series(
        &training, NULL, &scale, test_context(), write_table("x\n5\n5\n5\n"), OPTIONS(.window = 1)));
    assert_true(scale.deviation[0] == 1 && number(training, 0, 0) == 0);
    assert_int_equal(weft_dataset_size(training), 2);
    weft_dataset_release(training);
}

static void assert_refused(weft_status status, const char *text, const weft_series_options *options,
    const char *line, const char *place) {
    weft_dataset *training = NULL, *validation = NULL;
    assert_weft_fails(status,
        weft_dataset_open_series(&training, &validation, NULL, test_context(), write_table(text), options),
        line, place);
    assert_null(training);
    assert_null(validation);
}

static void test_bad_series(void **state) {
    (void)state;
    const weft_status format = WEFT_ERROR_FORMAT, argument = WEFT_ERROR_ARGUMENT;
    const weft_series_options *const two = OPTIONS(.window = 2);
    assert_refused(
        format, "t,x\n1,2\n2,\n3,4\n4,5\n", two, "line 3 (row 2 of the data), column 'x'", "missing");
    assert_refused(
        format, "t,x\n1,2\n2,3\n3,n/a\n", two, "line 4 (row 3 of the data), column 'x'", "missing");
    assert_refused(format, "t,x\n1,2\n2,up\n3,4\n", two, "line 3 (row 2 of the data), column 'x'",
        "'up' is not a number");
    assert_refused(format, "x\n1\n2\ninf\n4\n", two, "row 3 of the data", "has a number that is not finite");
    assert_refused(format, "x\n1\n2\n", two, "rows for training is 2, too small for window 2", "horizon 1");
    assert_refused(format, "x\n1\n2\n3\n4\n5\n6\n", OPTIONS(.window = 1, .horizon = 2, .validation = 0.2),
        "rows for validation is 1, too small for horizon 2", "");
    assert_refused(argument, "x\n1\n2\n", OPTIONS(.fields = (const char *const[]){"y", NULL}), "'y'",
        "not in the header");
    assert_refused(argument, "x\n1\n2\n", OPTIONS(.validation = 1), "validation is 1", "below 1");
    assert_refused(argument, "x\n1\n2\n", &(weft_series_options){.struct_size = 4},
        "the options have struct_size 4", "");
    assert_refused(format, "", two, "series.csv'", "");
    weft_dataset *training = NULL;
    assert_weft_fails(WEFT_ERROR_FILE,
        weft_dataset_open_series(&training, NULL, NULL, test_context(), test_path("none.csv"), NULL),
        "none.csv");
}

/* The series that the project ships. */
static void test_shipped_series(void **state) {
    (void)state;
    weft_dataset *training = NULL, *validation = NULL;
    weft_series_scale scale;
    assert_weft_ok(weft_dataset_open_series(&training, &validation, &scale, test_context(),
        WEFT_SOURCE_DIR "/data/series/passengers.csv", OPTIONS(.window = 12, .validation = 0.25)));
    assert_int_equal(weft_dataset_size(training), 96);
    assert_int_equal(weft_dataset_size(validation), 36);
    const double first = (double)number(training, 0, 0) * scale.deviation[0] + scale.mean[0];
    const double last = (double)number(validation, 1, 35) * scale.deviation[0] + scale.mean[0];
    assert_true(fabs(first - 112) < 1e-3 && fabs(last - 432) < 1e-3);
    weft_dataset_release(training);
    weft_dataset_release(validation);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_normalised),
        cmocka_unit_test(test_bad_series),
        cmocka_unit_test(test_shipped_series),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
