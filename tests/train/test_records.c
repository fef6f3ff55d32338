/* Files of records: what is saved is loaded; damaged, cut and foreign files. */
/* test once threads */
#include "io/records.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/same_batches.h"
#include "support/scratch.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { EXAMPLES = 100, SIDE = 5, PIXELS = 3 * SIDE * SIDE };

/* Columns of each dtype, and one with categories. */
static weft_dataset *make_table(void) {
    static float points[EXAMPLES][2];
    static int32_t numbers[EXAMPLES];
    static uint8_t bytes[EXAMPLES][3];
    weft_dataset *dataset = NULL;
    for (size_t i = 0; i < EXAMPLES; i++) {
        points[i][0] = (float)i / 3.0f;
        points[i][1] = -(float)i;
        numbers[i] = (int32_t)i - 50;
        for (size_t k = 0; k < 3; k++) bytes[i][k] = (uint8_t)(i * 3 + k);
    }
    const weft_column columns[] = {
        {.name = "point \"\xff\n", .dtype = WEFT_F32, .rank = 1, .dims = {2}, .data = points},
        {.name = "number", .dtype = WEFT_I32, .data = numbers},
        {.name = "bytes", .dtype = WEFT_U8, .rank = 2, .dims = {1, 3}, .data = bytes}};
    assert_ok(weft_dataset_from_memory(&dataset, test_context(), EXAMPLES, columns, 3));
    return dataset;
}

static const char *save(weft_dataset *dataset, const char *name) {
    static char path[4096];
    snprintf(path, sizeof path, "%s", test_path(name));
    assert_ok(weft_dataset_save_records(dataset, path));
    return path;
}

static void saved_tables_are_loaded(void **state) {
    (void)state;
    weft_dataset *const table = make_table();
    weft_dataset *loaded = NULL, *again = NULL;
    assert_ok(weft_dataset_open_records(&loaded, test_context(), save(table, "table.records"), NULL));
    assert_null(weft_dataset_column(loaded, 0)->data);
    same_batches(table, loaded);
    assert_ok(weft_dataset_open_records(&again, test_context(), save(loaded, "again.records"), NULL));
    same_batches(table, again);
    weft_dataset_release(again);
    weft_dataset_release(loaded);
    weft_dataset_release(table);
}

static void categories_are_kept(void **state) {
    (void)state;
    weft_dataset *table = NULL, *loaded = NULL;
    FILE *const file = fopen(test_path("names.csv"), "wb");
    assert_non_null(file);
    fputs("x,name\n1,b\n2,\"a\nc\"\n3,\\\n", file);
    fclose(file);
    assert_ok(weft_dataset_open_csv(&table, test_context(), test_path("names.csv"), NULL));
    assert_ok(weft_dataset_open_records(&loaded, test_context(), save(table, "names.records"), NULL));
    same_batches(table, loaded);
    for (int32_t i = 0; i < 3; i++)
        assert_string_equal(weft_dataset_category(table, 1, i), weft_dataset_category(loaded, 1, i));
    weft_dataset_release(loaded);
    weft_dataset_release(table);
}

/* ---- images ---- */

static weft_dataset *make_images(const weft_image_options *options, weft_image_layout layout) {
    static unsigned char pixels[EXAMPLES][PIXELS];
    static int32_t labels[EXAMPLES];
    weft_dataset *dataset = NULL;
    for (size_t i = 0; i < EXAMPLES; i++) {
        labels[i] = (int32_t)(i % 7);
        for (size_t k = 0; k < PIXELS; k++) pixels[i][k] = (unsigned char)(i * 31 + k * 7);
    }
    const weft_image_block block = {.examples = EXAMPLES,
        .channels = 3,
        .height = SIDE,
        .width = SIDE,
        .layout = layout,
        .pixels = pixels[0],
        .labels = labels};
    assert_ok(weft_dataset_from_images(&dataset, test_context(), &block, options));
    return dataset;
}

/* Saved as bytes, and augmented when they are loaded, images are those that come from memory. */
static void images_are_augmented(void **state) {
    (void)state;
    const weft_transform transforms[] = {weft_transform_random_crop(SIDE, SIDE, 2),
        weft_transform_random_flip(0.5), weft_transform_mixup(0.4)};
    const weft_image_options augmented = {WEFT_IMAGE_OPTIONS_INIT, .transforms = transforms,
        .transform_count = 3, .mean = {0.5f}, .targets = 7};
    const weft_records_options as_images = {WEFT_RECORDS_OPTIONS_INIT, .images = &augmented};
    for (int last = 0; last < 2; last++) {
        const weft_image_options plain = {WEFT_IMAGE_OPTIONS_INIT, .bytes = true,
            .layout = last ? WEFT_CHANNELS_LAST : WEFT_CHANNELS_FIRST};
        weft_dataset *const bytes = make_images(&plain, WEFT_CHANNELS_FIRST);
        weft_dataset *const memory = make_images(&augmented, WEFT_CHANNELS_FIRST);
        weft_dataset *loaded = NULL, *raw = NULL, *other = NULL;
        const char *const path = save(bytes, "images.records");
        assert_ok(weft_dataset_open_records(&loaded, test_context(), path, &as_images));
        same_batches(memory, loaded);
        assert_ok(weft_dataset_open_records(&raw, test_context(), path, NULL));
        same_batches(bytes, raw);
        assert_ok(weft_dataset_with_image_options(&other, loaded, &plain));
        same_batches(bytes, other);
        weft_dataset_release(other);
        weft_dataset_release(raw);
        weft_dataset_release(loaded);
        weft_dataset_release(memory);
        weft_dataset_release(bytes);
    }
}

static void other_columns_are_no_images(void **state) {
    (void)state;
    const weft_image_options plain = {WEFT_IMAGE_OPTIONS_INIT};
    const weft_records_options as_images = {WEFT_RECORDS_OPTIONS_INIT, .images = &plain};
    weft_dataset *const table = make_table();
    weft_dataset *loaded = NULL;
    assert_fails(weft_dataset_open_records(&loaded, test_context(), save(table, "table.records"), &as_images),
        WEFT_ERROR_ARGUMENT, "is not u8 pixels of 1 to 4 channels");
    assert_null(loaded);
    weft_dataset_release(table);
}

/* ---- parts ---- */

static void parts_are_those_of_memory(void **state) {
    (void)state;
    weft_dataset *const table = make_table();
    weft_dataset *loaded = NULL, *drawn[2], *others[2];
    assert_ok(weft_dataset_open_records(&loaded, test_context(), save(table, "table.records"), NULL));
    assert_ok(weft_dataset_split(&drawn[0], &others[0], table, 30, 9));
    assert_ok(weft_dataset_split(&drawn[1], &others[1], loaded, 30, 9));
    same_batches(drawn[0], drawn[1]);
    same_batches(others[0], others[1]);
    for (int i = 0; i < 2; i++) {
        weft_dataset_release(drawn[i]);
        weft_dataset_release(others[i]);
    }
    weft_dataset_release(loaded);
    weft_dataset_release(table);
}

/* ---- damage ---- */

static long size_of(const char *path) {
    FILE *const file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long size = ftell(file);
    fclose(file);
    return size;
}

static void flip_byte(const char *path, long at) {
    FILE *const file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    const int byte = fgetc(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    fputc(byte ^ 16, file);
    assert_int_equal(fclose(file), 0);
}

enum { RECORD = 2 * 4 + 4 + 3 + 4 };

/* All batches, until one fails. */
static weft_status load_all(weft_dataset *dataset) {
    weft_loader *loader = NULL;
    size_t examples = 1;
    const void *columns[3];
    weft_status status = weft_loader_create(&loader, dataset, NULL);
    if (status == WEFT_OK) status = weft_loader_begin(loader, 0);
    while (status == WEFT_OK && examples) status = weft_loader_next(loader, &examples, columns);
    weft_loader_release(loader);
    return status;
}

static void damaged_records_are_named(void **state) {
    (void)state;
    const weft_records_options skip = {WEFT_RECORDS_OPTIONS_INIT, .skip_damaged = true};
    char part[128];
    weft_dataset *const table = make_table();
    weft_dataset *loaded = NULL;
    const char *const path = save(table, "damaged.records");
    const long begin = size_of(path) - (long)EXAMPLES * RECORD;
    for (int where = 0; where < 2; where++) { /* a number, then a checksum */
        const long at = begin + 41 * RECORD + (where ? RECORD - 1 : 3);
        flip_byte(path, at);
        assert_ok(weft_dataset_open_records(&loaded, test_context(), path, NULL));
        snprintf(
            part, sizeof part, "damaged.records': record 41, at byte %ld, is damaged", begin + 41 * RECORD);
        assert_fails(load_all(loaded), WEFT_ERROR_FORMAT, part);
        weft_dataset_release(loaded);
        flip_byte(path, at);
    }
    flip_byte(path, begin);
    flip_byte(path, begin + 99 * RECORD);
    scratch_log log = {0};
    weft_context *const context = test_context_open(
        (weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .log = scratch_log_line, .log_user = &log});
    assert_ok(weft_dataset_open_records(&loaded, context, path, &skip));
    assert_int_equal(weft_dataset_size(loaded), 98);
    assert_int_equal(weft_dataset_skipped(loaded), 2);
    assert_non_null(strstr(log.text, "record 99, at byte"));
    assert_ok(load_all(loaded));
    weft_dataset_release(loaded);
    weft_context_release(context);
    weft_dataset_release(table);
}

static void cut_files_are_refused(void **state) {
    (void)state;
    const weft_records_options skip = {WEFT_RECORDS_OPTIONS_INIT, .skip_damaged = true};
    char part[128];
    static scratch_log log;
    weft_context *const context = test_context_open(
        (weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .log = scratch_log_line, .log_user = &log});
    weft_dataset *const table = make_table();
    weft_dataset *loaded = NULL;
    const char *const path = save(table, "cut.records");
    const long size = size_of(path), begin = size - (long)EXAMPLES * RECORD;
    for (long bytes = size - 1; bytes >= 0; bytes = bytes > begin ? bytes - 211 : bytes - 13) {
        assert_int_equal(truncate(path, bytes), 0);
        const long whole = bytes < begin ? 0 : (bytes - begin) / RECORD;
        snprintf(part, sizeof part, "is cut at record %ld of 100, which begins at byte %ld", whole,
            begin + whole * RECORD);
        assert_fails(weft_dataset_open_records(&loaded, test_context(), path, NULL), WEFT_ERROR_FORMAT,
            bytes < begin ? "cut.records'" : part);
        assert_null(loaded);
        if (whole == 0) continue;
        assert_ok(weft_dataset_open_records(&loaded, context, path, &skip));
        assert_int_equal(weft_dataset_size(loaded), whole);
        assert_int_equal(weft_dataset_skipped(loaded), EXAMPLES - whole);
        assert_ok(load_all(loaded));
        weft_dataset_release(loaded);
    }
    assert_non_null(strstr(log.text, "cut.records' is cut: it lacks 1 of its 100 records"));
    weft_context_release(context);
    weft_dataset_release(table);
}

/* A file that shrinks while it is used gives an error, not a signal. */
static void shrinking_files_are_refused(void **state) {
    (void)state;
    weft_dataset *const table = make_table();
    weft_dataset *loaded = NULL;
    const char *const path = save(table, "shrinking.records");
    assert_ok(weft_dataset_open_records(&loaded, test_context(), path, NULL));
    assert_int_equal(truncate(path, size_of(path) - 3 * RECORD), 0);
    assert_fails(load_all(loaded), WEFT_ERROR_FORMAT, "shrinking.records' became shorter");
    weft_dataset_release(loaded);
    weft_dataset_release(table);
}

static void damaged_headers_are_refused(void **state) {
    (void)state;
    weft_dataset *const table = make_table();
    weft_dataset *loaded = NULL;
    const char *const path = save(table, "header.records");
    const long begin = size_of(path) - (long)EXAMPLES * RECORD;
    for (long at = 0; at < begin; at += at < 20 ? 1 : 9) {
        if (at >= 20 && at < 24) continue; /* the zeros */
        flip_byte(path, at);
        assert_fails(weft_dataset_open_records(&loaded, test_context(), path, NULL), WEFT_ERROR_FORMAT,
            "header.records'");
        assert_null(loaded);
        flip_byte(path, at);
    }
    weft_dataset_release(table);
}

/* A file of a header, with a right checksum, and `rest` bytes. */
static const char *write_header(const char *header, size_t rest) {
    static char path[4096];
    const size_t length = strlen(header);
    const uint32_t sum = wi_crc32(header, length);
    unsigned char preamble[24] = "WEFTREC\n";
    for (size_t i = 0; i < 8; i++) preamble[8 + i] = (unsigned char)((uint64_t)length >> 8 * i & 255);
    for (size_t i = 0; i < 4; i++) preamble[16 + i] = (unsigned char)(sum >> 8 * i & 255);
    snprintf(path, sizeof path, "%s", test_path("written.records"));
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(preamble, 1, sizeof preamble, file), sizeof preamble);
    assert_int_equal(fwrite(header, 1, length, file), length);
    while (rest-- > 0) fputc(0, file);
    assert_int_equal(fclose(file), 0);
    return path;
}

static void headers_that_say_too_much_are_refused(void **state) {
    (void)state;
#define X "[{\"name\":\"x\",\"dtype\":\"F32\",\"shape\":[2]}]"
    static const char *const rows[][2] = {{"{\"version\":1,", "is not valid JSON at byte 37"},
        {"[1]", "is not an object"},
        {"{\"version\":1,\"records\":1.5,\"columns\":" X "}", "has a number that is not whole"},
        {"{\"more\":[{}],\"version\":2,\"records\":1,\"columns\":" X "}",
            "has version 2 of the format of records, expected 1"},
        {"{\"version\":1,\"columns\":" X "}", "lacks records or columns"},
        {"{\"version\":1,\"records\":1}", "lacks records or columns"},
        {"{\"version\":1,\"records\":1,\"columns\":{}}", "does not have one list of columns"},
        {"{\"columns\":" X ",\"columns\":" X "}", "does not have one list of columns"},
        {"{\"columns\":[7]}", "has a column that is not an object"},
        {"{\"columns\":[{\"name\":\"x\",\"dtype\":\"F8\"}]}", "has a column with a wrong name, dtype, shape"},
        {"{\"columns\":[{\"name\":\"x\",\"shape\":[0]}]}", "has a column with a wrong name, dtype, shape"},
        {"{\"columns\":[{\"name\":\"x\",\"unit\":\"m\"}]}", "has a column without name or dtype"},
        {"{\"version\":1,\"records\":1,\"columns\":[{\"name\":\"x\",\"dtype\":\"U8\",\"shape\":[1073741824,2]"
         "}]}",
            "gives records of more than 1 GiB"},
        {"{\"version\":1,\"records\":9000000000000000000,\"columns\":" X "}", "gives too many records"},
        {"{\"version\":1,\"records\":1,\"columns\":" X "}", "has 8 bytes after its 1 records"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weft_dataset *loaded = NULL;
        assert_fails(weft_dataset_open_records(&loaded, test_context(), write_header(rows[i][0], 20), NULL),
            WEFT_ERROR_FORMAT, rows[i][1]);
        assert_non_null(strstr(weft_last_error(), "written.records'"));
        assert_null(loaded);
    }
    const weft_records_options skip = {WEFT_RECORDS_OPTIONS_INIT, .skip_damaged = true};
    weft_dataset *loaded = NULL;
    const char *const path = write_header("{\"version\":1,\"records\":2,\"columns\":" X "}", 24);
    for (long record = 0; record < 2; record++) flip_byte(path, size_of(path) - 1 - 12 * record);
    assert_fails(weft_dataset_open_records(&loaded, test_context(), path, &skip), WEFT_ERROR_FORMAT,
        "every record (2) is damaged");
    assert_null(loaded);
#undef X
}

static void calls_are_checked(void **state) {
    (void)state;
    weft_dataset *const table = make_table();
    weft_dataset *loaded = NULL;
    assert_status(weft_dataset_save_records(NULL, "x"), WEFT_ERROR_ARGUMENT);
    assert_status(weft_dataset_save_records(table, NULL), WEFT_ERROR_ARGUMENT);
    assert_fails(weft_dataset_save_records(table, "/no/such/folder/x"), WEFT_ERROR_FILE, "/no/such/folder");
    assert_status(weft_dataset_open_records(NULL, test_context(), "x", NULL), WEFT_ERROR_ARGUMENT);
    assert_status(weft_dataset_open_records(&loaded, NULL, "x", NULL), WEFT_ERROR_ARGUMENT);
    assert_fails(weft_dataset_open_records(&loaded, test_context(), "/no/such/file", NULL), WEFT_ERROR_FILE,
        "/no/such/file");
    weft_dataset_release(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saved_tables_are_loaded),
        cmocka_unit_test(categories_are_kept),
        cmocka_unit_test(images_are_augmented),
        cmocka_unit_test(other_columns_are_no_images),
        cmocka_unit_test(parts_are_those_of_memory),
        cmocka_unit_test(damaged_records_are_named),
        cmocka_unit_test(cut_files_are_refused),
        cmocka_unit_test(shrinking_files_are_refused),
        cmocka_unit_test(damaged_headers_are_refused),
        cmocka_unit_test(headers_that_say_too_much_are_refused),
        cmocka_unit_test(calls_are_checked),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
