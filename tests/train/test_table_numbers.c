/* Numbers of tables that are almost numbers: decimal commas, thousands, whole numbers that f32 rounds, byte order marks. */
#include "support/checks.h"
#include "support/fixture.h"
#include "support/table_dataset.h"
#include <stdio.h>
#include <weft/text.h>

static void refused(const char *text, weft_csv_options options, const char *part) {
    weft_dataset *dataset = NULL;
    options.struct_size = sizeof options;
    assert_fails(weft_dataset_open_csv(&dataset, test_context(), table_write("table.csv", text), &options),
        WEFT_ERROR_FORMAT, part);
    assert_null(dataset);
}

/* Each was a column of categories, and an error about i32 at the network. */
static void almost_numbers_are_no_categories(void **state) {
    (void)state;
    refused("x;y\n21,73;a\n5,1;b\n", (weft_csv_options){.separator = ';'},
        "column 'x': 0 of 2 cells are numbers, but not '21,73' (line 2), '5,1' (line 3); the option decimal "
        "= "
        "',' reads such numbers, or correct these cells, or declare the column in the option columns with "
        "the kind "
        "WEFT_CSV_CATEGORY");
    refused("x\n\"1,200\"\n7\n8.5\n", (weft_csv_options){0},
        "column 'x': 2 of 3 cells are numbers, but not '1,200' (line 2); the option thousands = ',' reads");
    refused("x\n\"1.200,5\"\n7\n", (weft_csv_options){0}, "decimal = ',' and thousands = '.' read");
    refused(
        "x\n1 200\n7,5\n", (weft_csv_options){.separator = ';'}, "decimal = ',' and thousands = ' ' read");
    refused("x\n1'200\n7.5\n", (weft_csv_options){0}, "thousands = '\\'' reads");
    refused("x\n12 %\n7 %\n", (weft_csv_options){0}, "0 of 2 cells are numbers, but not '12 %' (line 2)");
    refused("x\n\342\202\25412\n$7.5\n", (weft_csv_options){0}, "0 of 2 cells are numbers, but not");
    refused("x\n0,5\n", (weft_csv_options){.separator = ';', .thousands = ','}, "the option decimal = ','");
}

static void nine_of_ten_cells_are_enough(void **state) {
    (void)state;
    static const char most[] = "n,x\n1,1\n1,2\n1,3\n1,4\n1,NA\n1,5\n1,6\n1,7\n1,8\n1,9\n1,low\n";
    const weft_csv_column declared = {.name = "x", .kind = WEFT_CSV_CATEGORY, .first = 1};
    const weft_csv_options skip = {.missing = WEFT_MISSING_SKIP_ROW};
    refused(
        most, skip, "column 'x': 9 of 10 cells are numbers, but not 'low' (line 12); correct these cells");
    refused("x\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n1\n2\n3\n4\n5\n6\n7\n8\n9\n20\n21\n22\n23\n24\n25\n26\n27\n28"
            "\n29\n30\n"
            "31\n32\n33\n34\n35\n36\n37\n38\n39\n40\na\nb\nc\nd\n",
        (weft_csv_options){0},
        "40 of 44 cells are numbers, but not 'a' (line 42), 'b' (line 43), 'c' (line 44) "
        "and 1 more");
    weft_csv_options options = skip;
    options.columns = &declared, options.column_count = 1;
    weft_dataset *data = table_open_csv(most, options);
    assert_int_equal(weft_dataset_category_count(data, 0), 11); /* NA is a text here */
    weft_dataset_release(data);
    data = table_open_csv("x\n1\n2\n3\n4\n5\n6\n7\n8\nlow\nhigh\n", (weft_csv_options){0}); /* eight of ten */
    assert_int_equal(weft_dataset_category_count(data, 0), 10);
    weft_dataset_release(data);
    data =
        table_open_csv("x\n2024.01.02\n1.2.3\n12:30\n", (weft_csv_options){0}); /* dates, versions, times */
    assert_int_equal(weft_dataset_category_count(data, 0), 3);
    weft_dataset_release(data);
}

static void numbers_in_other_forms_are_read(void **state) {
    (void)state;
    static const struct {
        const char *text;
        char decimal, thousands;
        float values[3];
    } rows[] = {{"x\n21,73\n-5\n1e-1\n", ',', 0, {21.73f, -5, 0.1f}},
        {"x\n1.234.567,5\n1200\n+1.200\n", ',', '.', {1234567.5f, 1200, 1200}},
        {"x\n1,200\n12.5\n1,000,000.25\n", 0, ',', {1200, 12.5f, 1000000.25f}},
        {"x\n1 200\n7\n-12 345.5\n", '.', ' ', {1200, 7, -12345.5f}},
        {"x\n1'200\n7\n.5\n", 0, '\'', {1200, 7, 0.5f}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weft_dataset *const data = table_open_csv(rows[i].text,
            (weft_csv_options){.separator = ';', .decimal = rows[i].decimal, .thousands = rows[i].thousands});
        for (size_t n = 0; n < 3; n++) assert_true(table_f32(data, 0, n) == rows[i].values[n]);
        weft_dataset_release(data);
    }
    const weft_csv_column x = {.name = "x"};
    const weft_csv_options grouped = {
        .columns = &x, .column_count = 1, .separator = ';', .decimal = ',', .thousands = '.'};
    static const char *const wrong[] = {"x\n1.20\n", "x\n1.2000\n", "x\n.200\n", "x\n1..200\n", "x\n1.200.\n",
        "x\n1,200,5\n", "x\n1200.500\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) refused(wrong[i], grouped, "is not a number");
    refused("x\n\"21,73\"\n", (weft_csv_options){.columns = &x, .column_count = 1},
        "line 2 (row 1 of the data), column 'x': '21,73' is not a number; the option decimal = ',' reads "
        "such "
        "numbers");
    weft_dataset *series = NULL;
    const weft_series_options windows = {
        WEFT_SERIES_OPTIONS_INIT, .separator = ';', .decimal = ',', .keep_scale = true, .window = 1};
    assert_ok(weft_dataset_open_series(
        &series, NULL, NULL, test_context(), table_write("series.csv", "t;v\n1;0,5\n2;1,5\n"), &windows));
    assert_true(table_f32(series, 0, 0) == 0.5f && table_f32(series, 1, 0) == 1.5f);
    weft_dataset_release(series);
}

static void wrong_forms_are_refused(void **state) {
    (void)state;
    weft_dataset *dataset = NULL;
    const char *const path = table_write("table.csv", "x\n1\n");
    const weft_csv_options rows[] = {{WEFT_CSV_OPTIONS_INIT, .decimal = ';'},
        {WEFT_CSV_OPTIONS_INIT, .thousands = '_'}, {WEFT_CSV_OPTIONS_INIT, .thousands = '.'},
        {WEFT_CSV_OPTIONS_INIT, .decimal = ',', .thousands = ','}};
    static const char *const parts[] = {
        "decimal is ';'", "thousands is '_'", "'.' cannot be both", "',' cannot be"};
    for (size_t i = 0; i < 4; i++)
        assert_fails(
            weft_dataset_open_csv(&dataset, test_context(), path, &rows[i]), WEFT_ERROR_ARGUMENT, parts[i]);
}

/* 16777217 became 16777216, another one's identifier. */
static void identifiers_are_not_rounded(void **state) {
    (void)state;
    static const char ids[] = "id,v\n16777216,1\n16777217,2\n";
    refused(ids, (weft_csv_options){0},
        "line 3 (row 2 of the data), column 'id': '16777217' is a whole number that f32 would round: use the "
        "kind WEFT_CSV_INTEGER (and an i32 input)");
    weft_dataset *data = table_open_csv(ids, (weft_csv_options){.rounded = true});
    assert_true(table_f32(data, 0, 1) == 16777216.0f);
    weft_dataset_release(data);
    data = table_open_csv(
        "v\n33554436\n16777217.5\n1e10\n0.1\n", (weft_csv_options){0}); /* exact, or no identifiers */
    weft_dataset_release(data);
    const int64_t wide[] = {16777216, 16777217}, count[] = {2};
    const weft_npy_column rounds = {"id", test_path("ids.npy"), WEFT_F32},
                          keeps = {"id", rounds.path, WEFT_I32};
    assert_ok(weft_save_npy(rounds.path, WEFT_I64, wide, 1, count));
    assert_fails(weft_dataset_open_npy(&data, test_context(), &rounds, 1), WEFT_ERROR_FORMAT,
        "element 1 (in row-major order) is 16777217, which f32 would round: set .dtype = WEFT_I32 in column "
        "'id'");
    assert_ok(weft_dataset_open_npy(&data, test_context(), &keeps, 1));
    assert_int_equal(table_i32(data, 0, 1), 16777217);
    weft_dataset_release(data);
}

/* Without columns, a table has the kinds of the one that it is like, even if its cells look like others. */
static void kinds_are_those_of_like(void **state) {
    (void)state;
    weft_dataset *const first = table_open_csv("zip,v\n01067,1\nA1,2\n", (weft_csv_options){0});
    weft_dataset *const second =
        table_open_csv("zip,v\n01067,1\n01067,2\n", (weft_csv_options){.like = first});
    assert_int_equal(weft_dataset_column(second, 0)->dtype, WEFT_I32);
    assert_string_equal(weft_dataset_category(second, 0, table_i32(second, 0, 0)), "01067");
    weft_dataset_release(first);
    weft_dataset_release(second);
}

static void byte_order_marks_are_skipped(void **state) {
    (void)state;
    char path[4096];
    weft_vocabulary *vocabulary = NULL, *loaded = NULL;
    weft_dataset *dataset = NULL;
    const weft_text_options options = {WEFT_TEXT_OPTIONS_INIT, .streams = 1, .steps = 2};
    snprintf(path, sizeof path, "%s",
        table_write("marked.txt", "\xef\xbb\xbf"
                                  "abab"));
    assert_ok(weft_vocabulary_from_file(&vocabulary, test_context(), path, NULL));
    assert_int_equal(weft_vocabulary_size(vocabulary), 2);
    assert_ok(weft_dataset_open_text(&dataset, test_context(), path, vocabulary, &options));
    assert_int_equal(table_i32(dataset, 0, 0), 0);
    assert_ok(weft_vocabulary_load(&loaded, test_context(),
        table_write("marked.json", "\xef\xbb\xbf{\"weft_vocabulary\": 1, \"level\": \"characters\", "
                                   "\"unknown\": -1, \"tokens\": [\"a\"]}")));
    assert_int_equal(weft_vocabulary_size(loaded), 1);
    weft_vocabulary_release(loaded);
    loaded = NULL;
    assert_fails(weft_vocabulary_from_file(&loaded, test_context(),
                     table_write("wide.txt", "\xff\xfe"
                                             "a"),
                     NULL),
        WEFT_ERROR_FORMAT, "wide.txt' is UTF-16 text");
    weft_dataset_release(dataset);
    weft_vocabulary_release(vocabulary);
}

static void categories_are_told_where_numbers_are_wanted(void **state) {
    (void)state;
    weft_dataset *const data = table_open_csv("x\nlow\nhigh\n", (weft_csv_options){0});
    weft_graph *const graph = test_graph();
    weft_trainer *trainer = NULL;
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32);
    assert_ok(weft_trainer_create(
        &trainer, weft_mean(weft_mul(x, weft_parameter(graph, "w", weft_zeros()))), NULL));
    assert_fails(weft_trainer_run(trainer, data), WEFT_ERROR_DTYPE,
        "input 'x' is f32, but its column has 2 categories, whose numbers are i32: 'high', ...");
    weft_trainer_release(trainer);
    weft_graph_release(graph);
    weft_dataset_release(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(almost_numbers_are_no_categories),
        cmocka_unit_test(nine_of_ten_cells_are_enough),
        cmocka_unit_test(numbers_in_other_forms_are_read),
        cmocka_unit_test(wrong_forms_are_refused),
        cmocka_unit_test(identifiers_are_not_rounded),
        cmocka_unit_test(kinds_are_those_of_like),
        cmocka_unit_test(byte_order_marks_are_skipped),
        cmocka_unit_test(categories_are_told_where_numbers_are_wanted),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
