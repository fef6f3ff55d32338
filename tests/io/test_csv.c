/* The CSV reader: what is a cell, a row, a number, a missing value; what is refused; mutated files do no
 * harm. */
#include "base/platform.h"
#include "io/csv.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/mutate.h"
#include <math.h>
#include <stdio.h>

static const char *write_file(const char *text, size_t size) {
    const char *const path = test_path("table.csv");
    remove(path); /* truncating a file would wait for the disk */
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    return path;
}

static const wi_file_rules files = {NULL, false, 0};

#define PLAIN                                                                                                \
    { ',', false, false }
#define TRIM                                                                                                 \
    { ',', false, true }
#define HEADER                                                                                               \
    { ',', true, false }

/* The table as one text: cells between bars, rows with their lines. */
static void show(const wi_csv *table, char text[512]) {
    wi_csv_walk walk;
    bool more = true;
    size_t used = 0;
    text[0] = '\0';
    assert_ok(wi_csv_walk_begin(&walk, table));
    while (assert_ok(wi_csv_walk_next(&walk, &more)), more) {
        used += (size_t)snprintf(text + used, 512 - used, "%zu:", walk.row.line);
        for (size_t i = 0; i < table->fields; i++)
            used += (size_t)snprintf(text + used, 512 - used, "%s|", walk.cells[i]);
    }
    assert_int_equal(walk.index + 1, table->rows);
    wi_csv_walk_clear(&walk);
}

static void tables_are_read(void **state) {
    (void)state;
    static const struct {
        const char *text;
        wi_csv_options options;
        const char *expected;
    } rows[] = {
        {"1,2\n3,4\n", PLAIN, "1:1|2|2:3|4|"},
        {"1,2\n3,4", PLAIN, "1:1|2|2:3|4|"},
        {"1,2\r\n3,4\r\n", PLAIN, "1:1|2|2:3|4|"},
        {"1,2\r3,4\r", PLAIN, "1:1|2|2:3|4|"},
        {"\n\n1,2\n\r\n\n3,4\n\n", PLAIN, "3:1|2|6:3|4|"},
        {"\xef\xbb\xbf"
         "1,2\n",
            PLAIN, "1:1|2|"},
        {"\xef\xbb\xbf\"1\",2\n", PLAIN, "1:1|2|"},
        {",\n,", PLAIN, "1:||2:||"},
        {"a,\nb,", PLAIN, "1:a||2:b||"},
        {"\"a,b\",\"c\"\"d\"\n", PLAIN, "1:a,b|c\"d|"},
        {"\"\",\"\"\"\"\n", PLAIN, "1:|\"|"},
        {"\"a\nb\",c\r\n\"d\r\ne\",f\n", PLAIN, "1:a\nb|c|3:d\r\ne|f|"},
        {"a\"b,c\n", PLAIN, "1:a\"b|c|"},
        {" a , b\n", PLAIN, "1: a | b|"},
        {" a , \"b \" \n", TRIM, "1:a|b |"},
        {"\t\"a\", \n", TRIM, "1:a||"},
        {"a;b,c;d\n", {';', false, false}, "1:a|b,c|d|"},
        {"a\t b\t\n", {'\t', false, true}, "1:a|b||"},
        {"x,y\n1,2\n", HEADER, "2:1|2|"},
        {"\"x\ny\",z\r\n1,2\r\n", HEADER, "3:1|2|"},
        {"\xc3\xa4,\xe2\x82\xac\n", PLAIN, "1:\xc3\xa4|\xe2\x82\xac|"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512];
        wi_csv table;
        assert_ok(
            wi_csv_open(&table, &files, write_file(rows[i].text, strlen(rows[i].text)), &rows[i].options));
        show(&table, text);
        assert_string_equal(text, rows[i].expected);
        wi_csv_clear(&table);
    }
}

static void headers_have_names(void **state) {
    (void)state;
    const wi_csv_options options = HEADER;
    static const char text[] = "a,\"b \"\"c\"\"\",a,\n1,2,3,4\n";
    wi_csv table;
    assert_ok(wi_csv_open(&table, &files, write_file(text, strlen(text)), &options));
    assert_int_equal(table.fields, 4);
    assert_string_equal(table.names[1], "b \"c\"");
    assert_string_equal(table.names[3], "");
    assert_int_equal(wi_csv_field(&table, "b \"c\""), 1);
    assert_true(wi_csv_field(&table, "a") == SIZE_MAX - 1);
    assert_true(wi_csv_field(&table, "d") == SIZE_MAX);
    wi_csv_clear(&table);
}

static void a_line_may_be_huge(void **state) {
    (void)state;
    enum { CELLS = 200000, LONG = 3000000 };
    const wi_csv_options options = PLAIN;
    wi_csv table;
    char *const text = malloc(2 * CELLS + LONG + 16);
    for (size_t i = 0; i < CELLS; i++) memcpy(text + 2 * i, "7,", 2);
    memset(text + 2 * CELLS, 'x', LONG);
    assert_ok(wi_csv_open(&table, &files, write_file(text, 2 * CELLS + LONG), &options));
    wi_csv_walk walk;
    bool more = false;
    assert_int_equal(table.fields, CELLS + 1);
    assert_ok(wi_csv_walk_begin(&walk, &table));
    assert_ok(wi_csv_walk_next(&walk, &more));
    assert_string_equal(walk.cells[CELLS - 1], "7");
    assert_int_equal(strlen(walk.cells[CELLS]), LONG);
    wi_csv_walk_clear(&walk);
    free(text);
    wi_csv_clear(&table);
}

static void bad_tables_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t size; /* 0: as long as it is */
        wi_csv_options options;
        const char *part;
    } rows[] = {
        {"", 0, PLAIN, "no rows of data"},
        {"\n\r\n", 0, PLAIN, "no rows of data"},
        {"\xef\xbb\xbf", 0, PLAIN, "no rows of data"},
        {"a,b\n", 0, HEADER, "no rows of data"},
        {"1,2\n3\n", 0, PLAIN, "line 2: the number of cells is 1, expected 2"},
        {"1,2\n\n3,4,5\n", 0, PLAIN, "line 3: the number of cells is 3, expected 2"},
        {"a,b\n1\n", 0, HEADER, "line 2: the number of cells is 1"},
        {"1,2\n3,\"4\n5\n", 0, PLAIN, "line 2: a quoted cell is never closed"},
        {"\"", 0, PLAIN, "line 1: a quoted cell is never closed"},
        {"\"a\"b,2\n", 0, PLAIN, "line 1: there is text between"},
        {"\"a\" ,2\n", 0, PLAIN, "line 1: there is text between"},
        {"\xff\xfe"
         "1\0,\0",
            6, PLAIN, "UTF-16"},
        {"\xfe\xff\0"
         "1\0,",
            6, PLAIN, "UTF-16"},
        {"1,2\n3,\0004\n", 9, PLAIN, "byte 6 is 0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        wi_csv table;
        const char *const path = write_file(rows[i].text, rows[i].size ? rows[i].size : strlen(rows[i].text));
        assert_fails(wi_csv_open(&table, &files, path, &rows[i].options), WEFT_ERROR_FORMAT, rows[i].part);
        assert_non_null(strstr(weft_last_error(), "table.csv"));
        assert_null(table.file.path);
    }
    wi_csv table;
    assert_fails(
        wi_csv_open(&table, &files, "/no/such/table", &rows[0].options), WEFT_ERROR_FILE, "/no/such/table");
}

/* Rows that lie across the end of a window of each size are read as by a large window. */
static void windows_do_not_matter(void **state) {
    (void)state;
    static const char text[] = "a,b\r\n\"x\"\"y\",2\r\n\r\n\r\r\n\"p\r\nq\",\"\"\n3,\"4\"\r";
    const wi_csv_options options = PLAIN;
    wi_csv table;
    char all[512];
    assert_ok(wi_csv_open(&table, &files, write_file(text, strlen(text)), &options));
    show(&table, all);
    assert_string_equal(all, "1:a|b|2:x\"y|2|6:p\r\nq||8:3|4|");
    for (size_t step = 1; step < 40; step++) {
        char shown[512] = "";
        uint64_t offsets[8];
        wi_csv_walk walk;
        bool more = true;
        size_t used = 0;
        assert_ok(wi_csv_walk_begin(&walk, &table));
        walk.step = step;
        while (assert_ok(wi_csv_walk_next(&walk, &more)), more) {
            offsets[walk.index] = walk.row.offset;
            used += (size_t)snprintf(
                shown + used, sizeof shown - used, "%zu:%s|%s|", walk.row.line, walk.cells[0], walk.cells[1]);
        }
        assert_string_equal(shown, all);
        assert_ok(wi_csv_walk_to(&walk, offsets[2]));
        assert_string_equal(walk.cells[0], "p\r\nq");
        assert_ok(wi_csv_walk_to(&walk, offsets[0]));
        assert_string_equal(walk.cells[1], "b");
        assert_fails(wi_csv_walk_to(&walk, strlen(text)), WEFT_ERROR_FORMAT, "has changed");
        wi_csv_walk_clear(&walk);
    }
    wi_csv_clear(&table);
}

static const wi_csv_form plain_form = {0};

static void numbers_and_missing_values(void **state) {
    (void)state;
    static const struct {
        const char *cell;
        double value;
    } good[] = {{"1", 1}, {" -2.5\t", -2.5}, {"+.5", 0.5}, {"5.", 5}, {"1e3", 1000}, {"-1.5E-2", -0.015},
        {"007", 7}, {"inf", (double)INFINITY}, {"-Infinity", -(double)INFINITY}, {"0.1", 0.1},
        {"1e400", (double)INFINITY}};
    static const char *const bad[] = {"", " ", "abc", "1,5", "1 2", "0x10", "nan", "NaN(1)", ".", "-", "e5",
        "1e", "1e+", "--1", "1.2.3", "12a", "\342\210\2221", /* U+2212, a minus sign */
        "1_000"};
    static const char *const missing[] = {
        "", "  ", "\t", "NA", "n/a", "NaN", "nan", "NULL", "None", "?", " na "};
    static const char *const there[] = {"0", "NAM", "naan", "nothing", "-", "inf", "??"};
    double value = 0.0;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(wi_csv_number(&plain_form, good[i].cell, &value));
        assert_true(value == good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(wi_csv_number(&plain_form, bad[i], &value));
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) assert_true(wi_csv_is_missing(missing[i]));
    for (size_t i = 0; i < sizeof there / sizeof *there; i++) assert_false(wi_csv_is_missing(there[i]));
    static char longest[4096];
    memset(longest, '1', sizeof longest - 1);
    assert_false(wi_csv_number(&plain_form, longest, &value)); /* no number of ours has 4,095 digits */
}

typedef struct target {
    const char *path;
    wi_csv_options options;
} target;

/* A table, or an error of the format; every cell lies within the table's memory. */
static bool read_mutated(void *user, const char *bytes, size_t size) {
    const target *const it = user;
    wi_csv table;
    remove(it->path); /* truncating a file would wait for the disk */
    FILE *const file = fopen(it->path, "wb");
    fwrite(bytes, 1, size, file);
    fclose(file);
    const weft_status status = wi_csv_open(&table, &files, it->path, &it->options);
    if (status != WEFT_OK) {
        assert_int_equal(status, WEFT_ERROR_FORMAT);
        return false;
    }
    wi_csv_walk walk;
    bool more = true;
    size_t length = 0;
    assert_true(table.fields <= 64 && table.rows <= size);
    assert_ok(wi_csv_walk_begin(&walk, &table));
    while (assert_ok(wi_csv_walk_next(&walk, &more)), more)
        for (size_t i = 0; i < table.fields; i++) length += strlen(walk.cells[i]) + 1;
    assert_true(walk.index + 1 == table.rows && length <= size + 1);
    wi_csv_walk_clear(&walk);
    wi_csv_clear(&table);
    return true;
}

static void mutated_files_do_no_harm(void **state) {
    (void)state;
    static const char text[] = "\xef\xbb\xbf"
                               "a,\"b\"\"c\",d\r\n1, \"x\ny\" ,3\r\n\"\",,\"4\"\"\"\n\n5,6,7";
    char path[4096];
    snprintf(path, sizeof path, "%s", test_path("mutated.csv"));
    for (int trim = 0; trim < 2; trim++) {
        target it = {path, {',', true, trim}};
        const mutate_counts counts = mutate_all(text, sizeof text - 1, 2000, read_mutated, &it);
        assert_true(counts.refused > counts.tries / 20 && counts.refused < counts.tries);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_read),
        cmocka_unit_test(headers_have_names),
        cmocka_unit_test(a_line_may_be_huge),
        cmocka_unit_test(windows_do_not_matter),
        cmocka_unit_test(bad_tables_are_refused),
        cmocka_unit_test(numbers_and_missing_values),
        cmocka_unit_test(mutated_files_do_no_harm),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
