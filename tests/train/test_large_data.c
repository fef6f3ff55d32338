/* Data larger than data_limit of the context: the same batches as from memory, the same errors, and bounded memory. */
/* test once threads */
#include "support/checks.h"
#include "support/fixture.h"
#include "support/same_batches.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Both contexts read the same files; datasets of the second one keep nothing in memory. */
static weft_context *small;

static int open_small(void **state) {
    (void)state;
    small = test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .data_limit = 1});
    return 0;
}

static int close_small(void **state) {
    (void)state;
    weft_context_release(small);
    return 0;
}

static const char *write_file(const char *name, const void *bytes, size_t count) {
    static char paths[4][4096];
    static size_t next;
    char *const path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s", test_path(name));
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* Compares, and releases. */
static void compare(weft_dataset *memory, weft_dataset *file) {
    assert_non_null(weft_dataset_column(memory, weft_dataset_column_count(memory) - 1)->data);
    assert_null(weft_dataset_column(file, 0)->data);
    same_batches(memory, file);
    weft_dataset_release(memory);
    weft_dataset_release(file);
}

/* ---- IDX and NumPy ---- */

static void idx_files(void **state) {
    (void)state;
    enum { COUNT = 200, PIXELS = 7 * 5 };
    static unsigned char images[16 + COUNT * PIXELS], labels[8 + COUNT];
    static const unsigned char head[] = {0, 0, 8, 3, 0, 0, 0, COUNT, 0, 0, 0, 7, 0, 0, 0, 5};
    weft_dataset *made[2];
    memcpy(images, head, 16);
    memcpy(labels, (const unsigned char[]){0, 0, 8, 1, 0, 0, 0, COUNT}, 8);
    for (size_t i = 0; i < COUNT * PIXELS; i++) images[16 + i] = (unsigned char)(i * 37 >> 3);
    for (size_t i = 0; i < COUNT; i++) labels[8 + i] = (unsigned char)i;
    const char *const first = write_file("images", images, sizeof images);
    const char *const second = write_file("labels", labels, sizeof labels);
    for (int i = 0; i < 2; i++)
        assert_ok(weft_dataset_open_idx_files(&made[i], i ? small : test_context(), first, second));
    compare(made[0], made[1]);
}

static size_t put_npy(
    char *file, const char *dtype, const char *shape, bool fortran, const void *data, size_t bytes) {
    const int length = snprintf(file + 10, 256, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n",
        dtype, fortran ? "True" : "False", shape);
    memcpy(file, "\x93NUMPY\1\0", 8);
    file[8] = (char)length;
    file[9] = 0;
    memcpy(file + 10 + length, data, bytes);
    return 10 + (size_t)length + bytes;
}

static const char *write_npy(
    const char *name, const char *dtype, const char *shape, const void *data, size_t bytes) {
    char file[8192];
    return write_file(name, file, put_npy(file, dtype, shape, false, data, bytes));
}

enum { ROWS = 60 };

static void numpy_files(void **state) {
    (void)state;
    static float floats[ROWS][3];
    static double doubles[ROWS];
    static int64_t wide[ROWS];
    static unsigned char bytes[ROWS][2], swapped[ROWS][4];
    weft_dataset *made[2];
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t k = 0; k < 3; k++) floats[i][k] = (float)(3 * i + k) / 7.0f;
        doubles[i] = (double)i / 9.0;
        wide[i] = (int64_t)i - 30;
        bytes[i][0] = bytes[i][1] = (unsigned char)(i * 5);
        swapped[i][3] = (unsigned char)i;
    }
    char paths[5][4096];
    snprintf(paths[0], 4096, "%s", write_npy("floats.npy", "<f4", "(60, 3)", floats, sizeof floats));
    snprintf(paths[1], 4096, "%s", write_npy("doubles.npy", "<f8", "(60,)", doubles, sizeof doubles));
    snprintf(paths[2], 4096, "%s", write_npy("wide.npy", "<i8", "(60,)", wide, sizeof wide));
    snprintf(paths[3], 4096, "%s", write_npy("bytes.npy", "|u1", "(60, 2)", bytes, sizeof bytes));
    snprintf(paths[4], 4096, "%s", write_npy("swapped.npy", ">i4", "(60, 1)", swapped, sizeof swapped));
    const weft_npy_column columns[] = {{"f", paths[0], WEFT_F32}, {"d", paths[1], WEFT_F32},
        {"w", paths[2], WEFT_I32}, {"b", paths[3], WEFT_U8}, {"s", paths[4], WEFT_I32},
        {"x", paths[2], WEFT_F32}, {"i", paths[3], WEFT_I32}};
    for (int i = 0; i < 2; i++)
        assert_ok(weft_dataset_open_npy(&made[i], i ? small : test_context(), columns, 7));
    compare(made[0], made[1]);
}

/* What fails in memory fails in the same way when the file is opened. */
static void numpy_errors(void **state) {
    (void)state;
    static int64_t wide[ROWS];
    char file[8192];
    weft_dataset *made = NULL;
    wide[41] = INT64_C(1) << 40;
    wide[42] = 16777217;
    const char *const path = write_npy("wide.npy", "<i8", "(60,)", wide, sizeof wide);
    for (int i = 0; i < 2; i++) {
        weft_context *const context = i ? small : test_context();
        assert_fails(weft_dataset_open_npy(&made, context, &(weft_npy_column){"x", path, WEFT_I32}, 1),
            WEFT_ERROR_FORMAT, "element 41 (in row-major order) does not fit into i32");
        assert_fails(weft_dataset_open_npy(&made, context, &(weft_npy_column){"x", path, WEFT_F32}, 1),
            WEFT_ERROR_FORMAT, "element 42 (in row-major order) is 16777217");
        assert_fails(weft_dataset_open_npy(&made, context, &(weft_npy_column){"x", path, WEFT_F64}, 1),
            WEFT_ERROR_DTYPE, "column 'x' is f64");
    }
    const size_t bytes = put_npy(file, "<i8", "(20, 3)", true, wide, sizeof wide);
    const weft_npy_column turned = {"x", write_file("turned.npy", file, bytes), WEFT_F32};
    assert_fails(weft_dataset_open_npy(&made, small, &turned, 1), WEFT_ERROR_UNSUPPORTED,
        "turned.npy' is in Fortran order and larger than data_limit");
    assert_null(made);
}

static void files_that_shrink(void **state) {
    (void)state;
    static float floats[ROWS][3];
    weft_dataset *made = NULL;
    weft_loader *loader = NULL;
    size_t examples = 0;
    const void *columns[1];
    const char *const path = write_npy("shrinks.npy", "<f4", "(60, 3)", floats, sizeof floats);
    assert_ok(weft_dataset_open_npy(&made, small, &(weft_npy_column){"x", path, WEFT_F32}, 1));
    assert_int_equal(truncate(path, 100), 0);
    assert_ok(weft_loader_create(&loader, made, NULL));
    assert_ok(weft_loader_begin(loader, 0));
    assert_fails(
        weft_loader_next(loader, &examples, columns), WEFT_ERROR_FORMAT, "shrinks.npy' became shorter");
    weft_loader_release(loader);
    weft_dataset_release(made);
}

/* ---- CIFAR ---- */

static void cifar_files(void **state) {
    (void)state;
    enum { RECORD = 3073, RECORDS = 10000 };
    unsigned char *const bytes = calloc(RECORDS, RECORD);
    assert_non_null(bytes);
    for (size_t i = 0; i < RECORDS; i++) {
        bytes[i * RECORD] = (unsigned char)(i % 10);
        for (size_t k = 0; k < 8; k++) bytes[i * RECORD + 1 + k * 100] = (unsigned char)(i * 7 + k);
    }
    write_file("test_batch.bin", bytes, (size_t)RECORDS * RECORD);
    free(bytes);
    const weft_transform flip = weft_transform_random_flip(0.5);
    const weft_image_options options = {
        WEFT_IMAGE_OPTIONS_INIT, .bytes = true, .transforms = &flip, .transform_count = 1};
    weft_dataset *made[2], *parts[2], *others[2];
    for (int i = 0; i < 2; i++) {
        assert_ok(weft_dataset_open_cifar(
            &made[i], i ? small : test_context(), test_folder(), WEFT_CIFAR_10_TEST, &options));
        assert_ok(weft_dataset_split(&parts[i], &others[i], made[i], 500, 1));
        weft_dataset_release(others[i]);
        weft_dataset_release(made[i]);
    }
    compare(parts[0], parts[1]);
}

/* ---- CSV ---- */

static const char table[] = "x;y;name;z\r\n"
                            "1,5;-2;b;\"1.000,25\"\r\n"
                            "\r\n"
                            "2,5;?;a;2\r\n"
                            "3;7;\"c\r\nd\"\"e\";3\r\n"
                            "4;8;b;-1e3\r\n"
                            "5;9;10;0\r\n"
                            "6;10;9;0";

static void csv_tables(void **state) {
    (void)state;
    static const weft_missing missing[] = {WEFT_MISSING_SKIP_ROW, WEFT_MISSING_FILL};
    const char *const path = write_file("table.csv", table, strlen(table));
    static const char *const fields[] = {"z", "x", NULL};
    const weft_csv_column columns[] = {{.name = "p", .fields = fields},
        {.name = "y", .kind = WEFT_CSV_INTEGER, .first = 1},
        {.name = "n", .kind = WEFT_CSV_CATEGORY, .first = 2}};
    for (int all = 0; all < 2; all++)
        for (size_t m = 0; m < 2; m++) {
            weft_dataset *made[2];
            const weft_csv_options options = {WEFT_CSV_OPTIONS_INIT, .columns = all ? NULL : columns,
                .column_count = all ? 0 : 3, .separator = ';', .decimal = ',', .thousands = '.',
                .missing = missing[m], .fill = -1};
            for (int i = 0; i < 2; i++)
                assert_ok(weft_dataset_open_csv(&made[i], i ? small : test_context(), path, &options));
            assert_int_equal(weft_dataset_size(made[0]), m ? 6 : 5);
            const size_t name = all ? 2 : 2;
            assert_string_equal(weft_dataset_category(made[1], name, 0), "9"); /* whole numbers first */
            for (int32_t k = 0; k < (int32_t)weft_dataset_category_count(made[0], name); k++)
                assert_string_equal(
                    weft_dataset_category(made[0], name, k), weft_dataset_category(made[1], name, k));
            compare(made[0], made[1]);
        }
}

static void csv_errors(void **state) {
    (void)state;
    static const struct {
        const char *text, *part;
    } rows[] = {{"x\n1\n2\nNA\n", "line 4 (row 3 of the data), column 'x': 'NA' is a missing value"},
        {"x\n1\n16777217\n", "line 3 (row 2 of the data), column 'x': '16777217' is a whole number"},
        {"x\n1\n1e99\n", "line 3 (row 2 of the data), column 'x': '1e99' is out of the range"},
        {"x,y\n1,2\n3\n", "line 3: the number of cells is 1, expected 2"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int k = 0; k < 2; k++) {
            weft_dataset *made = NULL;
            const char *const path = write_file("bad.csv", rows[i].text, strlen(rows[i].text));
            assert_fails(weft_dataset_open_csv(&made, k ? small : test_context(), path, NULL),
                WEFT_ERROR_FORMAT, rows[i].part);
            assert_null(made);
        }
    weft_dataset *made = NULL;
    weft_loader *loader = NULL;
    size_t examples = 0;
    const void *columns[1];
    const char *const path = write_file("changes.csv", "x\n1\n2\n", 6);
    assert_ok(weft_dataset_open_csv(&made, small, path, NULL));
    write_file("changes.csv", "x\n1234", 6);
    assert_ok(weft_loader_create(&loader, made, NULL));
    assert_ok(weft_loader_begin(loader, 0));
    assert_fails(weft_loader_next(loader, &examples, columns), WEFT_ERROR_FORMAT, "changes.csv'");
    weft_loader_release(loader);
    weft_dataset_release(made);
}

/* ---- text ---- */

static void texts(void **state) {
    (void)state;
    static char text[6000] = "\xef\xbb\xbf";
    size_t used = 3;
    for (size_t i = 0; used + 32 < sizeof text; i++)
        used += (size_t)snprintf(
            text + used, sizeof text - used, "w%zu \xc3\xa4%s", i * i % 17, i % 5 ? " " : "\n\n");
    const char *const path = write_file("text.txt", text, used);
    const weft_text_options options = {WEFT_TEXT_OPTIONS_INIT, .streams = 3, .steps = 7};
    for (int level = WEFT_TEXT_CHARACTERS; level <= WEFT_TEXT_WORDS; level++) {
        const weft_vocabulary_options words = {WEFT_VOCABULARY_OPTIONS_INIT, .level = (weft_text_level)level};
        weft_vocabulary *vocabulary = NULL;
        weft_dataset *made[2];
        assert_ok(weft_vocabulary_from_file(&vocabulary, small, path, &words));
        for (int i = 0; i < 2; i++)
            assert_ok(
                weft_dataset_open_text(&made[i], i ? small : test_context(), path, vocabulary, &options));
        weft_vocabulary_release(vocabulary);
        compare(made[0], made[1]);
    }
}

/* ---- training ---- */

/* Weights after two epochs. data: examples with "x" f32 (3) and "label" i32. */
static void train(
    weft_context *context, weft_dataset *data, float weights[12], weft_status expected, const char *part) {
    weft_trainer *trainer = NULL;
    weft_graph *const graph = weft_context_graph(context);
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 3);
    weft_tensor *const logits = weft_linear(x, 4, .name = "layer");
    weft_tensor *const loss = weft_cross_entropy(logits, weft_input(graph, "label", WEFT_I32));
    const weft_trainer_options options = {
        WEFT_TRAINER_OPTIONS_INIT, .optimizer = weft_sgd(0.1f), .epochs = 2, .batch = 7};
    assert_ok(weft_trainer_create(&trainer, loss, &options));
    const weft_status status = weft_trainer_run(trainer, data);
    assert_int_equal(status, expected);
    if (part) assert_non_null(strstr(weft_last_error(), part));
    if (status == WEFT_OK)
        assert_ok(weft_tensor_read(weft_graph_parameter(graph, 0), weights, 12 * sizeof *weights));
    weft_trainer_release(trainer);
}

static void training(void **state) {
    (void)state;
    static float floats[ROWS][3], weights[2][12];
    static int32_t labels[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t k = 0; k < 3; k++) floats[i][k] = (float)((3 * i + k) % 11) / 7.0f;
        labels[i] = (int32_t)(i % 4);
    }
    char paths[2][4096];
    snprintf(paths[0], 4096, "%s", write_npy("x.npy", "<f4", "(60, 3)", floats, sizeof floats));
    snprintf(paths[1], 4096, "%s", write_npy("y.npy", "<i4", "(60,)", labels, sizeof labels));
    const weft_npy_column columns[] = {{"x", paths[0], WEFT_F32}, {"label", paths[1], WEFT_I32}};
    for (int i = 0; i < 2; i++) {
        weft_dataset *data = NULL;
        weft_context *const context =
            test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .data_limit = (size_t) !!i});
        assert_ok(weft_dataset_open_npy(&data, context, columns, 2));
        train(context, data, weights[i], WEFT_OK, NULL);
        weft_dataset_release(data);
        weft_context_release(context);
    }
    assert_memory_equal(weights[0], weights[1], sizeof weights[0]);
    labels[33] = 4;
    write_npy("y.npy", "<i4", "(60,)", labels, sizeof labels);
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .data_limit = 1});
    weft_dataset *data = NULL;
    assert_ok(weft_dataset_open_npy(&data, context, columns, 2));
    train(context, data, weights[0], WEFT_ERROR_ARGUMENT, "of the batch is 4, not in 0..3 (4 classes)");
    weft_dataset_release(data);
    weft_context_release(context);
}

static weft_dataset *open_colours(const char *text) {
    weft_dataset *data = NULL;
    assert_ok(weft_dataset_open_csv(&data, small, write_file("colours.csv", text, strlen(text)), NULL));
    return data;
}

/* Another table numbers its categories otherwise. */
static void categories_are_mapped(void **state) {
    (void)state;
    double loss = 0;
    weft_graph *graph = NULL;
    weft_trainer *trainer = NULL;
    assert_ok(weft_graph_create(&graph, small));
    weft_tensor *const colour = weft_cast(weft_input(graph, "colour", WEFT_I32), WEFT_F32);
    weft_tensor *const mean = weft_mean(weft_mul(colour, weft_parameter(graph, "w", weft_fill(1))));
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = weft_sgd(1e-9f)};
    assert_ok(weft_trainer_create(&trainer, mean, &options));
    weft_dataset *data = open_colours("colour\nblue\nred\ngreen\n");
    assert_ok(weft_trainer_run(trainer, data));
    weft_dataset_release(data);
    data = open_colours("colour\nred\ngreen\nred\n");
    assert_ok(weft_trainer_evaluate(trainer, data, &loss, NULL));
    assert_true(loss > 5.0 / 3 - 1e-5 && loss < 5.0 / 3 + 1e-5); /* blue is 0, green 1, red 2 */
    weft_dataset_release(data);
    data = open_colours("colour\nred\nblack\n");
    assert_fails(weft_trainer_evaluate(trainer, data, &loss, NULL), WEFT_ERROR_ARGUMENT,
        "example 1 is 'black', which is not one of the 3 categories of the training");
    weft_dataset_release(data);
    weft_trainer_release(trainer);
    weft_graph_release(graph);
}

/* ---- memory ---- */

/* Anonymous memory of the process in KiB; 0: not known. */
static long anonymous_memory(void) {
    char line[256];
    long kilobytes = 0;
    FILE *const file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "RssAnon: %ld", &kilobytes) == 1) break;
    if (file) fclose(file);
    return kilobytes;
}

enum { LARGE_COUNT = 30000, LARGE_PIXELS = 28 * 28, MOST_KILOBYTES = 6 << 10 };

static void write_large(void) {
    static unsigned char row[LARGE_PIXELS];
    FILE *const images = fopen(test_path("large-images-idx3-ubyte"), "wb");
    FILE *const labels = fopen(test_path("large-labels-idx1-ubyte"), "wb");
    const unsigned char high = LARGE_COUNT >> 8, low = LARGE_COUNT & 255;
    assert_non_null(images);
    assert_non_null(labels);
    fwrite((const unsigned char[]){0, 0, 8, 3, 0, 0, high, low, 0, 0, 0, 28, 0, 0, 0, 28}, 1, 16, images);
    fwrite((const unsigned char[]){0, 0, 8, 1, 0, 0, high, low}, 1, 8, labels);
    for (size_t i = 0; i < LARGE_COUNT; i++) {
        memset(row, (int)(i % 251), sizeof row);
        fwrite(row, 1, sizeof row, images);
        fputc((int)(i % 241), labels);
    }
    assert_int_equal(fclose(images), 0);
    assert_int_equal(fclose(labels), 0);
}

/* 94 MB of numbers, of which 1 MB may be in memory. Each example comes once an epoch. */
static void memory_is_bounded(void **state) {
    (void)state;
    static unsigned char seen[LARGE_COUNT];
    const long before = anonymous_memory();
    if (before == 0) {
        print_message("skipped: /proc/self/status does not have RssAnon\n");
        skip();
    }
    write_large();
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .data_limit = 1 << 20});
    weft_dataset *data = NULL;
    weft_loader *loader = NULL;
    size_t examples = 1, at = 0;
    const void *columns[2];
    const weft_loader_options options = {
        WEFT_LOADER_OPTIONS_INIT, .batch = 64, .shuffle = true, .threads = 2};
    assert_ok(weft_dataset_open_idx(&data, context, test_folder(), "large"));
    assert_ok(weft_loader_create(&loader, data, &options));
    const long opened = anonymous_memory();
    long most = opened;
    assert_ok(weft_loader_begin(loader, 1));
    while (assert_ok(weft_loader_next(loader, &examples, columns)), examples) {
        for (size_t i = 0; i < examples; i++, at++) {
            const float *const pixels = (const float *)columns[0] + i * LARGE_PIXELS;
            seen[at] = (unsigned char)(pixels[0] * 255.0f + 0.5f);
            assert_true(pixels[0] == pixels[LARGE_PIXELS - 1]);
        }
        const long now = anonymous_memory();
        most = now > most ? now : most;
    }
    size_t counts[251] = {0};
    for (size_t i = 0; i < LARGE_COUNT; i++) counts[seen[i]]++;
    for (size_t v = 0; v < 251; v++) assert_int_equal(counts[v], LARGE_COUNT / 251 + (v < LARGE_COUNT % 251));
#ifdef WITH_SANITIZERS
    most = before; /* sanitizers take memory of their own */
#endif
    if (most - before > MOST_KILOBYTES) fail_msg("anonymous memory grew by %ld KiB", most - before);
    weft_loader_release(loader);
    weft_dataset_release(data), weft_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idx_files),
        cmocka_unit_test(numpy_files),
        cmocka_unit_test(numpy_errors),
        cmocka_unit_test(files_that_shrink),
        cmocka_unit_test(cifar_files),
        cmocka_unit_test(csv_tables),
        cmocka_unit_test(csv_errors),
        cmocka_unit_test(texts),
        cmocka_unit_test(training),
        cmocka_unit_test(categories_are_mapped),
        cmocka_unit_test(memory_is_bounded),
    };
    return test_finish(cmocka_run_group_tests(tests, open_small, close_small));
}
