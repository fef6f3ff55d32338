/* Datasets from CSV tables and NumPy arrays, and a dataset in two parts. */
#include "support/checks.h"
#include "support/fixture.h"
#include "support/mutate.h"
#include "support/scratch.h"
#include "support/table_dataset.h"
#include <stdio.h>
#include <weft/io.h>

static const char table[] = "age,city,height,kind,weight\r\n"
                            "31,\"Ulm, Donau\",1.75,b,70\r\n"
                            "4,Bern,0.98,a,15.5\r\n"
                            "77,\"Ulm, Donau\",1.6,b,61\r\n";

static void columns_are_chosen_by_name_and_by_position(void **state) {
    (void)state;
    const weft_csv_column columns[] = {
        {.name = "x", .fields = (const char *const[]){"weight", "height", NULL}},
        {.name = "age", .kind = WEFT_CSV_INTEGER, .rank = 1, .dims = {1}},
        {.name = "kind", .kind = WEFT_CSV_CATEGORY, .first = 3},
        {.name = "city", .kind = WEFT_CSV_CATEGORY, .fields = (const char *const[]){"city", NULL}},
        {.name = "four", .first = 2, .count = 1},
    };
    weft_dataset *const data =
        table_open_csv(table, (weft_csv_options){.columns = columns, .column_count = 5});
    assert_int_equal(weft_dataset_size(data), 3);
    assert_int_equal(weft_dataset_column_count(data), 5);
    const weft_column *const x = weft_dataset_column(data, 0);
    assert_true(x->rank == 1 && x->dims[0] == 2);
    assert_true(table_f32(data, 0, 0) == 70.0f && table_f32(data, 0, 1) == 1.75f);
    assert_true(table_f32(data, 0, 4) == 61.0f && table_f32(data, 0, 5) == 1.6f);
    assert_int_equal(weft_dataset_column(data, 1)->rank, 1);
    assert_int_equal(table_i32(data, 1, 2), 77);
    assert_int_equal(weft_dataset_column(data, 2)->rank, 0);
    assert_true(table_i32(data, 2, 0) == 1 && table_i32(data, 2, 1) == 0 && table_i32(data, 2, 2) == 1);
    assert_int_equal(weft_dataset_category_count(data, 3), 2);
    assert_string_equal(weft_dataset_category(data, 3, 0), "Bern");
    assert_string_equal(weft_dataset_category(data, 3, table_i32(data, 3, 0)), "Ulm, Donau");
    assert_null(weft_dataset_category(data, 3, 2));
    assert_null(weft_dataset_category(data, 3, -1));
    assert_null(weft_dataset_category(data, 0, 0));
    assert_null(weft_dataset_category(data, 9, 0));
    assert_int_equal(weft_dataset_category_count(NULL, 0), 0);
    assert_true(table_f32(data, 4, 1) == 0.98f);
    weft_dataset_release(data);
}

static void without_columns_all_are_taken(void **state) {
    (void)state;
    weft_dataset *data = table_open_csv(table, (weft_csv_options){0});
    static const char *const names[] = {"age", "city", "height", "kind", "weight"};
    assert_int_equal(weft_dataset_column_count(data), 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(weft_dataset_column(data, i)->name, names[i]);
        assert_int_equal(weft_dataset_column(data, i)->dtype, i == 1 || i == 3 ? WEFT_I32 : WEFT_F32);
    }
    weft_dataset_release(data);
    data = table_open_csv("1;a\n2;b\n", (weft_csv_options){.separator = ';', .no_header = true});
    assert_string_equal(weft_dataset_column(data, 0)->name, "column1");
    assert_string_equal(weft_dataset_column(data, 1)->name, "column2");
    assert_int_equal(weft_dataset_size(data), 2);
    weft_dataset_release(data);
}

static void images_have_a_shape(void **state) {
    (void)state;
    const weft_csv_column columns[] = {
        {.name = "image", .first = 1, .count = 4, .rank = 3, .dims = {1, 2, 2}},
        {.name = "label", .kind = WEFT_CSV_INTEGER},
    };
    weft_dataset *const data = table_open_csv("3,0,1,2,3\n5.0,4,5,6,7\n",
        (weft_csv_options){.columns = columns, .column_count = 2, .no_header = true});
    const weft_column *const image = weft_dataset_column(data, 0);
    assert_true(image->rank == 3 && image->dims[0] == 1 && image->dims[1] == 2 && image->dims[2] == 2);
    for (size_t i = 0; i < 8; i++) assert_true(table_f32(data, 0, i) == (float)i);
    assert_true(table_i32(data, 1, 0) == 3 && table_i32(data, 1, 1) == 5);
    weft_dataset_release(data);
}

static void categories_are_sorted_shared_and_given(void **state) {
    (void)state;
    weft_csv_column column = {.name = "c", .kind = WEFT_CSV_CATEGORY};
    const weft_csv_options options = {.columns = &column, .column_count = 1, .no_header = true};
    weft_dataset *const first = table_open_csv("10\n9\nb\n-1\na\n9\n", options);
    static const char *const sorted[] = {"-1", "9", "10", "a", "b"};
    static const int32_t codes[] = {2, 1, 4, 0, 3, 1};
    assert_int_equal(weft_dataset_category_count(first, 0), 5);
    for (int32_t i = 0; i < 5; i++) assert_string_equal(weft_dataset_category(first, 0, i), sorted[i]);
    for (size_t i = 0; i < 6; i++) assert_int_equal(table_i32(first, 0, i), codes[i]);

    weft_csv_options like = options;
    like.struct_size = sizeof like;
    like.like = first;
    weft_dataset *second = table_open_csv("b\n10\n", like);
    assert_true(table_i32(second, 0, 0) == 4 && table_i32(second, 0, 1) == 2);
    assert_int_equal(weft_dataset_category_count(second, 0), 5);
    weft_dataset_release(second);
    assert_fails(weft_dataset_open_csv(&second, test_context(), table_write("other.csv", "b\nc\n"), &like),
        WEFT_ERROR_FORMAT, "line 2 (row 2 of the data), column 0 (from 0): 'c' is not one of the categories");
    assert_null(second);
    weft_dataset_release(first);

    column.categories = (const char *const[]){"no", "maybe", "yes", NULL};
    second = table_open_csv("yes\nno\n", options);
    assert_true(table_i32(second, 0, 0) == 2 && table_i32(second, 0, 1) == 0);
    assert_string_equal(weft_dataset_category(second, 0, 1), "maybe");
    weft_dataset_release(second);

    column =
        (weft_csv_column){.name = "c", .kind = WEFT_CSV_CATEGORY, .count = 2}; /* two fields, one mapping */
    second = table_open_csv("x,z\nz,y\n", options);
    assert_int_equal(weft_dataset_category_count(second, 0), 3);
    assert_true(table_i32(second, 0, 0) == 0 && table_i32(second, 0, 1) == 2 && table_i32(second, 0, 3) == 1);
    weft_dataset_release(second);
}

static void missing_values(void **state) {
    (void)state;
    static const char holes[] = "a,b,c\n1,x,3\n,y,4\n5,,6\n7,w,NA\n8,z,9\n";
    const weft_csv_column columns[] = {{.name = "n", .fields = (const char *const[]){"a", "c", NULL}},
        {.name = "t", .kind = WEFT_CSV_CATEGORY, .first = 1}};
    weft_csv_options options = {WEFT_CSV_OPTIONS_INIT, .columns = columns, .column_count = 2};
    weft_dataset *data = NULL;
    const char *const path = table_write("holes.csv", holes);
    assert_fails(weft_dataset_open_csv(&data, test_context(), path, &options), WEFT_ERROR_FORMAT,
        "line 3 (row 2 of the data), column 'a': '' is a missing value");
    options.missing = WEFT_MISSING_SKIP_ROW;
    data = table_open_csv(holes, options);
    assert_int_equal(weft_dataset_size(data), 2);
    assert_true(
        table_f32(data, 0, 0) == 1.0f && table_f32(data, 0, 2) == 8.0f && table_f32(data, 0, 3) == 9.0f);
    assert_int_equal(weft_dataset_category_count(data, 1), 2); /* x and z: the others' rows are not there */
    weft_dataset_release(data);
    options.missing = WEFT_MISSING_FILL;
    options.fill = -1.5;
    assert_fails(weft_dataset_open_csv(&data, test_context(), table_write("holes.csv", holes), &options),
        WEFT_ERROR_FORMAT, "line 4 (row 3 of the data), column 'b': '' is a missing value");
    options.column_count = 1;
    data = table_open_csv(holes, options);
    assert_int_equal(weft_dataset_size(data), 5);
    assert_true(
        table_f32(data, 0, 2) == -1.5f && table_f32(data, 0, 3) == 4.0f && table_f32(data, 0, 7) == -1.5f);
    weft_dataset_release(data);
    options.missing = WEFT_MISSING_SKIP_ROW;
    assert_fails(
        weft_dataset_open_csv(&data, test_context(), table_write("none.csv", "a,b,c\n,,\nNA,,\n"), &options),
        WEFT_ERROR_FORMAT, "every row has missing values");
}

static void bad_cells_and_columns_are_named(void **state) {
    (void)state;
    const char *const by_name[] = {"c", NULL}, *const twice[] = {"b", NULL}, *const none[] = {NULL};
    const char *const same[] = {"p", "q", "p", NULL};
    const struct {
        weft_csv_column column;
        bool no_header;
        weft_status status;
        const char *part;
    } rows[] = {
        {{.name = "x"}, false, WEFT_ERROR_FORMAT,
            "line 3 (row 2 of the data), column 'a': 'two' is not a number"},
        {{.name = "x", .first = 1}, false, WEFT_ERROR_FORMAT, "'1e39' is out of the range of f32"},
        {{.name = "x", .first = 1, .kind = WEFT_CSV_INTEGER}, false, WEFT_ERROR_FORMAT,
            "row 1 of the data), column 'b': '2.5' is not a whole number that fits into an i32"},
        {{.name = "x", .first = 2, .kind = WEFT_CSV_INTEGER}, false, WEFT_ERROR_FORMAT,
            "'3000000000' is not a whole"},
        {{.name = "x"}, true, WEFT_ERROR_FORMAT,
            "line 1 (row 1 of the data), column 0 (from 0): 'a' is not a number"},
        {{.name = "x", .fields = by_name}, false, WEFT_ERROR_ARGUMENT,
            "names the field 'c', which is not in the header"},
        {{.name = "x", .fields = twice}, false, WEFT_ERROR_ARGUMENT,
            "field 'b', which is in the header twice"},
        {{.name = "x", .fields = twice}, true, WEFT_ERROR_ARGUMENT, "the table has no header"},
        {{.name = "x", .fields = none}, false, WEFT_ERROR_ARGUMENT, "count is 0 and first is 0"},
        {{.name = "x", .first = 3}, false, WEFT_ERROR_ARGUMENT,
            "count is 1 and first is 3, but the number of the table's fields is 3"},
        {{.name = "x", .first = 1, .count = SIZE_MAX}, false, WEFT_ERROR_ARGUMENT,
            "first is 1, but the number of the table's fields is 3"},
        {{.name = "x", .count = 2, .rank = 2, .dims = {2, 2}}, false, WEFT_ERROR_SHAPE,
            "do not multiply to the number of its fields, 2"},
        {{.name = "x", .rank = 1}, false, WEFT_ERROR_SHAPE, "do not multiply to the number of its fields, 1"},
        {{.name = "x", .rank = 8}, false, WEFT_ERROR_SHAPE, "do not multiply to"},
        {{.name = "x", .rank = 3, .dims = {INT64_MAX, INT64_MAX, 4}}, false, WEFT_ERROR_SHAPE,
            "do not multiply to"},
        {{.name = "x", .kind = (weft_csv_kind)5}, false, WEFT_ERROR_ARGUMENT, "kind is 5"},
        {{.name = NULL}, false, WEFT_ERROR_ARGUMENT, "column 0 has no name"},
        {{.name = "x", .kind = WEFT_CSV_CATEGORY, .categories = same}, false, WEFT_ERROR_ARGUMENT,
            "'p' twice"},
    };
    const char *const path = table_write("bad.csv", "a,b,b\n1,2.5,3000000000\ntwo,1e39,1\n");
    weft_dataset *data = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const weft_csv_options options = {WEFT_CSV_OPTIONS_INIT, .columns = &rows[i].column,
            .column_count = 1, .no_header = rows[i].no_header};
        assert_fails(
            weft_dataset_open_csv(&data, test_context(), path, &options), rows[i].status, rows[i].part);
        assert_null(data);
    }
    assert_fails(weft_dataset_open_csv(&data, test_context(), path, NULL), WEFT_ERROR_ARGUMENT,
        "two columns are called 'b'");
    const struct {
        weft_csv_options options;
        const char *part;
    } misuse[] = {{{.struct_size = 3}, "_INIT"},
        {{WEFT_CSV_OPTIONS_INIT, .missing = (weft_missing)9}, "missing is 9"},
        {{WEFT_CSV_OPTIONS_INIT, .separator = '"'}, "separator"},
        {{WEFT_CSV_OPTIONS_INIT, .separator = '\n'}, "separator"},
        {{WEFT_CSV_OPTIONS_INIT, .column_count = 1}, "column_count is 1, but columns is NULL"}};
    for (size_t i = 0; i < sizeof misuse / sizeof *misuse; i++)
        assert_fails(weft_dataset_open_csv(&data, test_context(), path, &misuse[i].options),
            WEFT_ERROR_ARGUMENT, misuse[i].part);
    assert_fails(
        weft_dataset_open_csv(&data, test_context(), "/no/such.csv", NULL), WEFT_ERROR_FILE, "/no/such.csv");
    assert_status(weft_dataset_open_csv(NULL, test_context(), path, NULL), WEFT_ERROR_ARGUMENT);
    assert_status(weft_dataset_open_csv(&data, NULL, path, NULL), WEFT_ERROR_ARGUMENT);
    assert_status(weft_dataset_open_csv(&data, test_context(), NULL, NULL), WEFT_ERROR_ARGUMENT);
}

static bool open_mutated(void *user, const char *bytes, size_t size) {
    const char *const path = user;
    weft_dataset *data = NULL;
    remove(path); /* truncating a file would wait for the disk */
    FILE *const file = fopen(path, "wb");
    fwrite(bytes, 1, size, file);
    fclose(file);
    const weft_csv_options options = {WEFT_CSV_OPTIONS_INIT, .missing = WEFT_MISSING_SKIP_ROW};
    if (weft_dataset_open_csv(&data, test_context(), path, &options) != WEFT_OK) return false;
    for (size_t c = 0; c < weft_dataset_column_count(data); c++)
        for (size_t i = 0; i < weft_dataset_size(data); i++)
            if (weft_dataset_column(data, c)->dtype == WEFT_I32)
                assert_non_null(weft_dataset_category(data, c, table_i32(data, c, i)));
    weft_dataset_release(data);
    return true;
}

static void mutated_tables_do_no_harm(void **state) {
    (void)state;
    char path[4096];
    snprintf(path, sizeof path, "%s", test_path("mutated.csv"));
    const mutate_counts counts = mutate_all(table, sizeof table - 1, 2000, open_mutated, path);
    assert_true(counts.refused > counts.tries / 20 && counts.refused < counts.tries);
}

/* Every allocation fails once: an error each time, and nothing is left behind. */
static void a_lack_of_memory_is_an_error(void **state) {
    (void)state;
    scratch_allocator allocator;
    scratch_allocator_init(&allocator, -1);
    weft_context *const own =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .allocator = &allocator.hooks});
    const long live = atomic_load(&allocator.live);
    const char *const path = table_write("memory.csv", table);
    weft_status status = WEFT_ERROR_MEMORY;
    long failures = 0;
    for (; status != WEFT_OK && failures < 100; failures++) {
        weft_dataset *data = NULL, *one = NULL, *two = NULL;
        atomic_store(&allocator.fail_after, atomic_load(&allocator.made) + failures);
        status = weft_dataset_open_csv(&data, own, path, NULL);
        if (status == WEFT_OK) status = weft_dataset_split(&one, &two, data, 1, 0);
        atomic_store(&allocator.fail_after, -1);
        weft_dataset_release(data);
        weft_dataset_release(one);
        weft_dataset_release(two);
        assert_true(status == WEFT_OK || status == WEFT_ERROR_MEMORY);
        assert_int_equal(atomic_load(&allocator.live), live);
    }
    assert_int_equal(status, WEFT_OK);
    assert_true(failures > 15);
    weft_context_release(own);
}

/* ---- NumPy ---- */

enum { PATH = 4096 };

static void save(const char *name, weft_dtype dtype, const void *data, int rank, const int64_t *dims) {
    assert_ok(weft_save_npy(test_path(name), dtype, data, rank, dims));
}

/* A column from a file of the test's folder, or from an absolute path; path has PATH bytes. */
static weft_npy_column npy(const char *name, const char *file, weft_dtype dtype, char *path) {
    snprintf(path, PATH, "%s", file && *file != '/' ? test_path(file) : file ? file : "");
    return (weft_npy_column){name, file ? path : NULL, dtype};
}

static void save_arrays(void) {
    const float xs[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    const int64_t labels[3] = {7, 8, -9}, large[3] = {0, INT64_MAX, 0};
    const uint8_t pixels[3] = {0, 128, 255};
    const int64_t dims[3] = {3, 2, 2}, two = 2, empty[2] = {0, 2};
    save("x.npy", WEFT_F32, xs, 3, dims);
    save("label.npy", WEFT_I64, labels, 1, dims);
    save("pixel.npy", WEFT_U8, pixels, 1, dims);
    save("two.npy", WEFT_F32, xs, 1, &two);
    save("number.npy", WEFT_F32, xs, 0, NULL);
    save("large.npy", WEFT_I64, large, 1, dims);
    save("empty.npy", WEFT_F32, NULL, 2, empty);
}

static void arrays_become_columns(void **state) {
    (void)state;
    char paths[4][PATH];
    weft_dataset *data = NULL;
    save_arrays();
    const weft_npy_column columns[] = {npy("x", "x.npy", WEFT_F32, paths[0]),
        npy("label", "label.npy", WEFT_I32, paths[1]), npy("pixel", "pixel.npy", WEFT_U8, paths[2]),
        npy("grey", "pixel.npy", WEFT_F32, paths[3])};
    assert_ok(weft_dataset_open_npy(&data, test_context(), columns, 4));
    assert_int_equal(weft_dataset_size(data), 3);
    const weft_column *const x = weft_dataset_column(data, 0);
    assert_true(x->rank == 2 && x->dims[0] == 2 && x->dims[1] == 2 && x->dtype == WEFT_F32);
    for (size_t i = 0; i < 12; i++) assert_true(table_f32(data, 0, i) == (float)i);
    assert_int_equal(table_i32(data, 1, 2), -9);
    assert_int_equal(weft_dataset_column(data, 1)->rank, 0);
    assert_int_equal(((const uint8_t *)weft_dataset_column(data, 2)->data)[1], 128);
    assert_true(table_f32(data, 3, 2) == 255.0f);
    weft_dataset_release(data);
}

static void arrays_that_do_not_fit_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *name, *file;
        weft_dtype dtype;
        weft_status status;
        const char *part;
    } rows[] = {
        {"y", "two.npy", WEFT_F32, WEFT_ERROR_SHAPE, "has 3 examples"},
        {"y", "number.npy", WEFT_F32, WEFT_ERROR_SHAPE, "a single number"},
        {"y", "large.npy", WEFT_I32, WEFT_ERROR_FORMAT, "element 1"},
        {"y", "x.npy", WEFT_I32, WEFT_ERROR_DTYPE, "cannot be read as i32"},
        {"y", "label.npy", WEFT_I64, WEFT_ERROR_DTYPE, "'y' is i64"},
        {"y", "/no/such.npy", WEFT_F32, WEFT_ERROR_FILE, "/no/such.npy"},
        {"x", "x.npy", WEFT_F32, WEFT_ERROR_ARGUMENT, "two columns are called 'x'"},
        {NULL, "x.npy", WEFT_F32, WEFT_ERROR_ARGUMENT, "column 1 has no name"},
        {"y", NULL, WEFT_F32, WEFT_ERROR_ARGUMENT, "column 1 has no name or no path"},
    };
    char paths[2][PATH];
    weft_dataset *data = NULL;
    save_arrays();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const weft_npy_column both[2] = {
            npy("x", "x.npy", WEFT_F32, paths[0]), npy(rows[i].name, rows[i].file, rows[i].dtype, paths[1])};
        assert_fails(weft_dataset_open_npy(&data, test_context(), both, 2), rows[i].status, rows[i].part);
        assert_null(data);
    }
    const weft_npy_column nothing = npy("x", "empty.npy", WEFT_F32, paths[0]);
    assert_fails(
        weft_dataset_open_npy(&data, test_context(), &nothing, 1), WEFT_ERROR_ARGUMENT, "0 examples");
    assert_status(weft_dataset_open_npy(&data, test_context(), &nothing, 0), WEFT_ERROR_ARGUMENT);
    assert_status(weft_dataset_open_npy(&data, test_context(), NULL, 1), WEFT_ERROR_ARGUMENT);
    assert_status(weft_dataset_open_npy(&data, NULL, &nothing, 1), WEFT_ERROR_ARGUMENT);
    assert_status(weft_dataset_open_npy(NULL, test_context(), &nothing, 1), WEFT_ERROR_ARGUMENT);
}

/* ---- parts ---- */

static void a_split_takes_each_example_once(void **state) {
    (void)state;
    enum { ROWS = 50, DRAWN = 20 };
    char text[ROWS * 16] = "number,kind\n";
    for (size_t i = 0, used = strlen(text); i < ROWS; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%zu,k%zu\n", i, i % 3);
    weft_dataset *const data = table_open_csv(text, (weft_csv_options){0});
    int32_t hits[ROWS] = {0}, moved = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        weft_dataset *parts[2], *again[2];
        bool seen[ROWS] = {false};
        assert_ok(weft_dataset_split(&parts[0], &parts[1], data, DRAWN, seed));
        assert_ok(weft_dataset_split(&again[0], &again[1], data, DRAWN, seed));
        assert_int_equal(weft_dataset_size(parts[0]), DRAWN);
        assert_int_equal(weft_dataset_size(parts[1]), ROWS - DRAWN);
        for (size_t p = 0; p < 2; p++)
            for (size_t i = 0; i < weft_dataset_size(parts[p]); i++) {
                const size_t number = (size_t)table_f32(parts[p], 0, i);
                assert_false(seen[number]);
                seen[number] = true;
                hits[number] += p == 0;
                assert_true(i == 0 || table_f32(parts[p], 0, i - 1) < table_f32(parts[p], 0, i));
                assert_int_equal(table_i32(parts[p], 1, i), number % 3);
                assert_true(table_f32(again[p], 0, i) == table_f32(parts[p], 0, i));
            }
        moved += table_f32(parts[0], 0, 0) > 0.0f;
        assert_string_equal(weft_dataset_category(parts[1], 1, 2), "k2");
        for (size_t p = 0; p < 2; p++) weft_dataset_release(parts[p]), weft_dataset_release(again[p]);
    }
    assert_true(moved > 60 && moved < 180);                              /* 120 expected */
    for (size_t i = 0; i < ROWS; i++) assert_in_range(hits[i], 45, 115); /* 80 expected, deviation 7 */
    weft_dataset *one = NULL, *two = NULL;
    assert_fails(weft_dataset_split(&one, &two, data, 0, 0), WEFT_ERROR_ARGUMENT, "0 of 50");
    assert_fails(weft_dataset_split(&one, &two, data, ROWS, 0), WEFT_ERROR_ARGUMENT, "50 of 50");
    assert_status(weft_dataset_split(&one, NULL, data, 5, 0), WEFT_ERROR_ARGUMENT);
    assert_status(weft_dataset_split(NULL, &two, data, 5, 0), WEFT_ERROR_ARGUMENT);
    assert_status(weft_dataset_split(&one, &two, NULL, 5, 0), WEFT_ERROR_ARGUMENT);
    assert_true(!one && !two);
    weft_dataset_release(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_chosen_by_name_and_by_position),
        cmocka_unit_test(without_columns_all_are_taken),
        cmocka_unit_test(images_have_a_shape),
        cmocka_unit_test(categories_are_sorted_shared_and_given),
        cmocka_unit_test(missing_values),
        cmocka_unit_test(bad_cells_and_columns_are_named),
        cmocka_unit_test(mutated_tables_do_no_harm),
        cmocka_unit_test(a_lack_of_memory_is_an_error),
        cmocka_unit_test(arrays_become_columns),
        cmocka_unit_test(arrays_that_do_not_fit_are_refused),
        cmocka_unit_test(a_split_takes_each_example_once),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
