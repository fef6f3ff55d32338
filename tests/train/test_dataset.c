/* Datasets from memory and from IDX files, and every way in which those can be wrong. */
#include "support/checks.h"
#include "support/fixture.h"
#include <stdio.h>
#include <weft/train.h>
#include <zlib.h>

/* ---- from memory ---- */

static void memory_is_copied(void **state) {
    (void)state;
    float xs[6] = {1, 2, 3, 4, 5, 6};
    unsigned char bytes[3] = {7, 8, 9};
    char name[] = "xs";
    const weft_column columns[] = {
        {.name = name, .dtype = WEFT_F32, .rank = 1, .dims = {2}, .data = xs},
        {.name = "byte", .dtype = WEFT_U8, .data = bytes},
    };
    weft_dataset *dataset = NULL;
    assert_ok(weft_dataset_from_memory(&dataset, test_context(), 3, columns, 2));
    memset(xs, 0, sizeof xs);
    memset(bytes, 0, sizeof bytes);
    name[0] = '?';
    assert_int_equal(weft_dataset_size(dataset), 3);
    assert_int_equal(weft_dataset_column_count(dataset), 2);
    assert_string_equal(weft_dataset_column(dataset, 0)->name, "xs");
    assert_int_equal(weft_dataset_column(dataset, 0)->rank, 1);
    assert_int_equal(weft_dataset_column(dataset, 0)->dims[0], 2);
    assert_true(((const float *)weft_dataset_column(dataset, 0)->data)[5] == 6.0f);
    assert_int_equal(((const unsigned char *)weft_dataset_column(dataset, 1)->data)[2], 9);
    assert_null(weft_dataset_column(dataset, 2));
    weft_dataset_release(weft_dataset_retain(dataset));
    assert_int_equal(weft_dataset_size(dataset), 3);
    weft_dataset_release(dataset);
    weft_dataset_release(NULL);
    assert_int_equal(weft_dataset_size(NULL), 0);
}

static void bad_columns_are_refused(void **state) {
    (void)state;
    static const float x[4];
    const struct {
        weft_column column;
        size_t examples;
        weft_status status;
        const char *part;
    } rows[] = {
        {{.name = "x", .dtype = WEFT_F32, .data = x}, 0, WEFT_ERROR_ARGUMENT, "0 examples"},
        {{.name = NULL, .dtype = WEFT_F32, .data = x}, 2, WEFT_ERROR_ARGUMENT, "name"},
        {{.name = "", .dtype = WEFT_F32, .data = x}, 2, WEFT_ERROR_ARGUMENT, "name"},
        {{.name = "x", .dtype = WEFT_F32, .data = NULL}, 2, WEFT_ERROR_ARGUMENT, "'x', has no data"},
        {{.name = "x", .dtype = WEFT_F16, .data = x}, 2, WEFT_ERROR_DTYPE, "'x' is f16"},
        {{.name = "x", .dtype = (weft_dtype)99, .data = x}, 2, WEFT_ERROR_DTYPE, "'x'"},
        {{.name = "x", .dtype = WEFT_F32, .rank = -1, .data = x}, 2, WEFT_ERROR_SHAPE, "rank -1"},
        {{.name = "x", .dtype = WEFT_F32, .rank = 8, .data = x}, 2, WEFT_ERROR_SHAPE, "rank 8"},
        {{.name = "x", .dtype = WEFT_F32, .rank = 1, .data = x}, 2, WEFT_ERROR_SHAPE, "dimension 0 is 0"},
        {{.name = "x", .dtype = WEFT_F32, .rank = 2, .dims = {1, -4}, .data = x}, 2, WEFT_ERROR_SHAPE, "-4"},
        {{.name = "x", .dtype = WEFT_F32, .rank = 2, .dims = {INT64_MAX, 3}, .data = x}, 2, WEFT_ERROR_SHAPE,
            "too many elements"},
        {{.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {INT64_MAX / 8}, .data = x}, 64,
            WEFT_ERROR_SHAPE, "are more than memory can address"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weft_dataset *dataset = (weft_dataset *)&dataset;
        assert_fails(weft_dataset_from_memory(&dataset, test_context(), rows[i].examples, &rows[i].column, 1),
            rows[i].status, rows[i].part);
        assert_null(dataset);
    }
    const weft_column twice[] = {rows[0].column, rows[0].column};
    weft_dataset *dataset = NULL;
    assert_fails(weft_dataset_from_memory(&dataset, test_context(), 2, twice, 2), WEFT_ERROR_ARGUMENT,
        "two columns are called 'x'");
    assert_fails(
        weft_dataset_from_memory(&dataset, test_context(), 2, twice, 0), WEFT_ERROR_ARGUMENT, "columns");
    assert_status(weft_dataset_from_memory(&dataset, test_context(), 2, NULL, 1), WEFT_ERROR_ARGUMENT);
    assert_status(weft_dataset_from_memory(&dataset, NULL, 2, twice, 1), WEFT_ERROR_ARGUMENT);
    assert_status(weft_dataset_from_memory(NULL, test_context(), 2, twice, 1), WEFT_ERROR_ARGUMENT);
}

/* ---- IDX ---- */

static size_t put_header(unsigned char *bytes, uint32_t magic, size_t rank, const uint32_t *dims) {
    for (size_t i = 0; i <= rank; i++)
        for (size_t b = 0; b < 4; b++)
            bytes[4 * i + b] = (unsigned char)((i ? dims[i - 1] : magic) >> (24 - 8 * b));
    return 4 + 4 * rank;
}

/* A file of `bytes` bytes of data after its header, the k-th of them k mod 251. */
static void write_idx(
    const char *name, bool gzip, uint32_t magic, size_t rank, const uint32_t *dims, size_t bytes) {
    unsigned char content[4096];
    const size_t header = put_header(content, magic, rank, dims);
    for (size_t i = 0; i < bytes; i++) content[header + i] = (unsigned char)(i % 251);
    const gzFile file = gzopen(test_path(name), gzip ? "wb" : "wbT"); /* T: as it is */
    assert_non_null(file);
    assert_int_equal(gzwrite(file, content, (unsigned)(header + bytes)), header + bytes);
    assert_int_equal(gzclose(file), Z_OK);
}

static void write_images(const char *name, bool gzip, uint32_t count) {
    write_idx(name, gzip, 0x803, 3, (const uint32_t[]){count, 3, 2}, (size_t)count * 6);
}

static void write_labels(const char *name, bool gzip, uint32_t count) {
    write_idx(name, gzip, 0x801, 1, &count, count);
}

static void check_contents(weft_dataset *dataset, size_t examples) {
    const weft_column *const image = weft_dataset_column(dataset, 0);
    const weft_column *const label = weft_dataset_column(dataset, 1);
    assert_int_equal(weft_dataset_size(dataset), examples);
    assert_string_equal(image->name, "image");
    assert_int_equal(image->dtype, WEFT_F32);
    assert_int_equal(image->rank, 3);
    assert_int_equal(image->dims[0], 1);
    assert_int_equal(image->dims[1], 3);
    assert_int_equal(image->dims[2], 2);
    assert_string_equal(label->name, "label");
    assert_int_equal(label->dtype, WEFT_I32);
    assert_int_equal(label->rank, 0);
    for (size_t i = 0; i < examples * 6; i++)
        assert_true(((const float *)image->data)[i] == (float)(i % 251) / 255.0f);
    for (size_t i = 0; i < examples; i++) assert_int_equal(((const int32_t *)label->data)[i], i % 251);
}

static void idx_is_read_plain_and_gzipped(void **state) {
    (void)state;
    weft_dataset *dataset = NULL;
    write_images("plain-images-idx3-ubyte", false, 7);
    write_labels("plain-labels-idx1-ubyte", false, 7);
    assert_ok(weft_dataset_open_idx(&dataset, test_context(), test_folder(), "plain"));
    check_contents(dataset, 7);
    weft_dataset_release(dataset);
    write_images("zipped-images-idx3-ubyte.gz", true, 300);
    write_labels("zipped-labels-idx1-ubyte.gz", true, 300);
    assert_ok(weft_dataset_open_idx(&dataset, test_context(), test_folder(), "zipped"));
    check_contents(dataset, 300);
    weft_dataset_release(dataset);
}

/* Names of any kind, in any folders. */
static void idx_files_have_any_names(void **state) {
    (void)state;
    char images[4096], labels[4096];
    weft_dataset *dataset = NULL;
    write_images("pictures", false, 30);
    write_labels("what they show", true, 30);
    snprintf(images, sizeof images, "%s", test_path("pictures"));
    snprintf(labels, sizeof labels, "%s", test_path("what they show"));
    assert_ok(weft_dataset_open_idx_files(&dataset, test_context(), images, labels));
    check_contents(dataset, 30);
    weft_dataset_release(dataset);
    assert_fails(weft_dataset_open_idx_files(&dataset, test_context(), labels, images), WEFT_ERROR_FORMAT,
        "what they show' begins with 0x00000801, expected 0x00000803");
    assert_fails(weft_dataset_open_idx_files(&dataset, test_context(), images, test_path("none")),
        WEFT_ERROR_FILE, "none'");
    assert_null(dataset);
    assert_status(weft_dataset_open_idx_files(&dataset, test_context(), images, NULL), WEFT_ERROR_ARGUMENT);
    assert_status(weft_dataset_open_idx_files(NULL, test_context(), images, labels), WEFT_ERROR_ARGUMENT);
}

static void the_digits_are_there(void **state) {
    (void)state;
    weft_dataset *dataset = NULL;
    assert_ok(weft_dataset_open_idx(&dataset, test_context(), WEFT_SOURCE_DIR "/data/digits", "train"));
    assert_int_equal(weft_dataset_size(dataset), 1438);
    const float *const pixels = weft_dataset_column(dataset, 0)->data;
    float largest = 0.0f;
    for (size_t i = 0; i < 1438 * 64; i++) largest = pixels[i] > largest ? pixels[i] : largest;
    assert_true(largest == 1.0f);
    weft_dataset_release(dataset);
}

static void bad_idx_files_are_refused(void **state) {
    (void)state;
    const struct {
        const char *prefix;
        uint32_t magic, dims[3];
        size_t bytes;
        const char *part;
    } rows[] = {
        {"magic", 0x801, {7, 3, 2}, 42, "0x00000801, expected 0x00000803"},
        {"text", 0x3c68746d, {7, 3, 2}, 42, "0x3c68746d"},
        {"short", 0x803, {7, 3, 2}, 41, "announces 42 bytes of data, but the file has 41"},
        {"empty", 0x803, {7, 3, 2}, 0, "announces 42 bytes of data, but the file has 0"},
        {"long", 0x803, {7, 3, 2}, 43, "announces 42 bytes of data, but the file has more than 42"},
        {"zero", 0x803, {7, 0, 2}, 0, "dimension 1 is 0"},
        {"huge", 0x803, {0xffffffff, 0x7fffffff, 1}, 42, "the header announces 9223372030412324865 bytes"},
        {"overflow", 0x803, {0xffffffff, 0xffffffff, 0xffffffff}, 42, "give too many elements"},
        {"count", 0x803, {8, 3, 2}, 48, "has 8 images"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int gzip = 0; gzip < 2; gzip++) {
            char name[64];
            weft_dataset *dataset = NULL;
            snprintf(name, sizeof name, "%s%d-images-idx3-ubyte", rows[i].prefix, gzip);
            write_idx(name, gzip, rows[i].magic, 3, rows[i].dims, rows[i].bytes);
            snprintf(name, sizeof name, "%s%d-labels-idx1-ubyte", rows[i].prefix, gzip);
            write_labels(name, gzip, 7);
            snprintf(name, sizeof name, "%s%d", rows[i].prefix, gzip);
            assert_fails(weft_dataset_open_idx(&dataset, test_context(), test_folder(), name),
                WEFT_ERROR_FORMAT, rows[i].part);
            assert_non_null(strstr(weft_last_error(), rows[i].prefix)); /* the file's name */
            assert_null(dataset);
        }
}

static void write_zeros(const char *name, uint32_t magic, size_t rank, const uint32_t *dims, size_t bytes) {
    unsigned char header[16];
    static const unsigned char zeros[1 << 16];
    const gzFile file = gzopen(test_path(name), "wb9");
    assert_non_null(file);
    assert_true(gzwrite(file, header, (unsigned)put_header(header, magic, rank, dims)) > 0);
    for (size_t left = bytes, now; left; left -= now) {
        now = left < sizeof zeros ? left : sizeof zeros;
        assert_int_equal(gzwrite(file, zeros, (unsigned)now), now);
    }
    assert_int_equal(gzclose(file), Z_OK);
}

/* A small file of a great many zeros is refused before they are there, unless the context allows it. */
static void what_gzip_may_become_is_limited(void **state) {
    (void)state;
    enum { COUNT = 22000, PIXELS = 32 * 32 };
    weft_dataset *dataset = NULL;
    const uint32_t dims[] = {COUNT, 32, 32};
    write_zeros("bomb-images-idx3-ubyte.gz", 0x803, 3, dims, (size_t)COUNT * PIXELS);
    write_zeros("bomb-labels-idx1-ubyte.gz", 0x801, 1, dims, COUNT);
    assert_fails(weft_dataset_open_idx(&dataset, test_context(), test_folder(), "bomb"), WEFT_ERROR_FORMAT,
        "the header announces 22528000 bytes of data, more than the limit of ");
    assert_non_null(strstr(weft_last_error(), "(option file_limit of weft_context_options)"));
    assert_null(dataset);
    weft_context *const patient = test_context_open(
        (weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .file_limit = (size_t)COUNT * PIXELS});
    assert_ok(weft_dataset_open_idx(&dataset, patient, test_folder(), "bomb"));
    assert_int_equal(weft_dataset_size(dataset), COUNT);
    weft_dataset_release(dataset);
    weft_context_release(patient);
}

static void write_bytes(const char *name, const void *bytes, size_t count) {
    FILE *const file = fopen(test_path(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static void missing_and_damaged_files_are_refused(void **state) {
    (void)state;
    weft_dataset *dataset = NULL;
    unsigned char zipped[4096];
    assert_fails(weft_dataset_open_idx(&dataset, test_context(), test_folder(), "none"), WEFT_ERROR_FILE,
        "none-images-idx3-ubyte");
    assert_fails(weft_dataset_open_idx(&dataset, test_context(), "/no/such/folder", "train"), WEFT_ERROR_FILE,
        "/no/such/folder/train-images-idx3-ubyte");
    write_images("half-images-idx3-ubyte", false, 7);
    assert_fails(weft_dataset_open_idx(&dataset, test_context(), test_folder(), "half"), WEFT_ERROR_FILE,
        "half-labels-idx1-ubyte");
    write_bytes("half-labels-idx1-ubyte", "\0\0\010", 3);
    assert_fails(weft_dataset_open_idx(&dataset, test_context(), test_folder(), "half"), WEFT_ERROR_FORMAT,
        "has 3 bytes, too few for its header of 8");

    /* A gzip file that was cut, and one with a wrong checksum. */
    write_images("whole.gz", true, 300);
    FILE *const file = fopen(test_path("whole.gz"), "rb");
    const size_t bytes = fread(zipped, 1, sizeof zipped, file);
    fclose(file);
    write_bytes("cut-images-idx3-ubyte.gz", zipped, bytes / 2);
    assert_fails(weft_dataset_open_idx(&dataset, test_context(), test_folder(), "cut"), WEFT_ERROR_FORMAT,
        "cut-images-idx3-ubyte.gz");
    zipped[bytes - 5] ^= 1;
    write_bytes("sum-images-idx3-ubyte.gz", zipped, bytes);
    assert_fails(weft_dataset_open_idx(&dataset, test_context(), test_folder(), "sum"), WEFT_ERROR_FORMAT,
        "sum-images-idx3-ubyte.gz");
    assert_null(dataset);
    assert_status(weft_dataset_open_idx(&dataset, test_context(), NULL, "x"), WEFT_ERROR_ARGUMENT);
    assert_status(weft_dataset_open_idx(&dataset, test_context(), test_folder(), NULL), WEFT_ERROR_ARGUMENT);
    assert_status(weft_dataset_open_idx(NULL, test_context(), test_folder(), "x"), WEFT_ERROR_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_copied),
        cmocka_unit_test(bad_columns_are_refused),
        cmocka_unit_test(idx_is_read_plain_and_gzipped),
        cmocka_unit_test(idx_files_have_any_names),
        cmocka_unit_test(the_digits_are_there),
        cmocka_unit_test(bad_idx_files_are_refused),
        cmocka_unit_test(what_gzip_may_become_is_limited),
        cmocka_unit_test(missing_and_damaged_files_are_refused),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
