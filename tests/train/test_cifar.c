/* CIFAR's binary files: what is read from them, and every way in which they can be wrong. The files are as
 * long as the real ones, with a few records written and holes for the others. */
#include "support/checks.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIXELS = 3 * 32 * 32, RECORD_10 = 1 + PIXELS, RECORD_100 = 2 + PIXELS };

static unsigned char pixel_of(size_t example, size_t index) {
    return (unsigned char)(example * 31 + index * 7 + index / 1024);
}

/* A file of zeros of the right length. */
static const char *make_file(const char *name, size_t records, size_t record) {
    const char *const path = test_path(name);
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(truncate(path, (off_t)(records * record)), 0);
    return path;
}

/* Writes one record; number: what its pixels are made of. */
static void put_record(const char *name, size_t index, int coarse, int label, size_t number) {
    unsigned char record[RECORD_100];
    const size_t labels = coarse < 0 ? 1 : 2;
    FILE *const file = fopen(test_path(name), "r+b");
    assert_non_null(file);
    record[0] = (unsigned char)(coarse < 0 ? label : coarse);
    record[labels - 1] = (unsigned char)label;
    for (size_t i = 0; i < PIXELS; i++) record[labels + i] = pixel_of(number, i);
    assert_int_equal(fseek(file, (long)(index * (labels + PIXELS)), SEEK_SET), 0);
    assert_int_equal(fwrite(record, 1, labels + PIXELS, file), labels + PIXELS);
    fclose(file);
}

static void put_text(const char *name, const char *text) {
    FILE *const file = fopen(test_path(name), "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void make_cifar10(void) {
    for (int i = 1; i <= 5; i++) {
        char name[32];
        snprintf(name, sizeof name, "data_batch_%d.bin", i);
        make_file(name, 10000, RECORD_10);
        put_record(name, 0, -1, i, (size_t)i);
        put_record(name, 9999, -1, 9, (size_t)(10 + i));
    }
    make_file("test_batch.bin", 10000, RECORD_10);
    put_record("test_batch.bin", 17, -1, 3, 99);
    put_text("batches.meta.txt", "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n");
}

/* Loads one epoch in order and keeps the wanted example. */
static void load_one(weft_dataset *dataset, size_t wanted, void *image, size_t bytes, int32_t *labels) {
    weft_loader *loader = NULL;
    size_t examples = 0, count = 0;
    const void *columns[3];
    const weft_loader_options options = {WEFT_LOADER_OPTIONS_INIT, .batch = 500, .threads = 2};
    assert_ok(weft_loader_create(&loader, dataset, &options));
    assert_ok(weft_loader_begin(loader, 0));
    while (assert_ok(weft_loader_next(loader, &examples, columns)), examples) {
        if (wanted >= count && wanted < count + examples) {
            memcpy(image, (const char *)columns[0] + (wanted - count) * bytes, bytes);
            for (size_t c = 1; c < weft_dataset_column_count(dataset); c++)
                labels[c - 1] = ((const int32_t *)columns[c])[wanted - count];
        }
        count += examples;
    }
    assert_int_equal(count, weft_dataset_size(dataset));
    weft_loader_release(loader);
}

static void cifar10_is_read(void **state) {
    (void)state;
    static const struct {
        size_t example, number;
        int32_t label;
    } rows[] = {{0, 1, 1}, {9999, 11, 9}, {10000, 2, 2}, {40000, 5, 5}, {49999, 15, 9}};
    make_cifar10();
    weft_dataset *dataset = NULL;
    assert_ok(weft_dataset_open_cifar(&dataset, test_context(), test_folder(), WEFT_CIFAR_10_TRAIN, NULL));
    assert_int_equal(weft_dataset_size(dataset), 50000);
    assert_int_equal(weft_dataset_column_count(dataset), 2);
    const weft_column *const image = weft_dataset_column(dataset, 0);
    assert_string_equal(image->name, "image");
    assert_int_equal(image->dtype, WEFT_F32);
    assert_int_equal(image->dims[0], 3);
    assert_int_equal(image->dims[1], 32);
    assert_int_equal(image->dims[2], 32);
    assert_string_equal(weft_dataset_column(dataset, 1)->name, "label");
    assert_int_equal(weft_dataset_category_count(dataset, 1), 10);
    assert_string_equal(weft_dataset_category(dataset, 1, 0), "airplane");
    assert_string_equal(weft_dataset_category(dataset, 1, 9), "truck");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static float pixels[PIXELS];
        int32_t label = -1;
        load_one(dataset, rows[i].example, pixels, sizeof pixels, &label);
        assert_int_equal(label, rows[i].label);
        for (size_t p = 0; p < PIXELS; p++)
            assert_true(pixels[p] == (float)pixel_of(rows[i].number, p) / 255.0f);
    }
    weft_dataset_release(dataset);
    /* the test file, channels last and as bytes; without names there are none */
    const weft_image_options options = {WEFT_IMAGE_OPTIONS_INIT, .layout = WEFT_CHANNELS_LAST, .bytes = true};
    unlink(test_path("batches.meta.txt"));
    assert_ok(weft_dataset_open_cifar(&dataset, test_context(), test_folder(), WEFT_CIFAR_10_TEST, &options));
    assert_int_equal(weft_dataset_size(dataset), 10000);
    assert_int_equal(weft_dataset_column(dataset, 0)->dims[2], 3);
    assert_int_equal(weft_dataset_category_count(dataset, 1), 0);
    unsigned char bytes[PIXELS];
    int32_t label = -1;
    load_one(dataset, 17, bytes, sizeof bytes, &label);
    assert_int_equal(label, 3);
    for (size_t p = 0; p < PIXELS; p++) assert_int_equal(bytes[p], pixel_of(99, p % 3 * 1024 + p / 3));
    weft_dataset_release(dataset);
}

static void cifar100_is_read(void **state) {
    (void)state;
    char fine[1000] = "", coarse[200] = "";
    for (int i = 0; i < 100; i++) snprintf(fine + strlen(fine), sizeof fine - strlen(fine), "fine%d\r\n", i);
    for (int i = 0; i < 20; i++)
        snprintf(coarse + strlen(coarse), sizeof coarse - strlen(coarse), "coarse%d\n", i);
    put_text("fine_label_names.txt", fine);
    put_text("coarse_label_names.txt", coarse);
    make_file("train.bin", 50000, RECORD_100);
    make_file("test.bin", 10000, RECORD_100);
    put_record("train.bin", 49999, 19, 99, 5);
    put_record("test.bin", 1, 4, 42, 6);
    for (int part = 0; part < 2; part++) {
        static float pixels[PIXELS];
        int32_t labels[2] = {-1, -1};
        weft_dataset *dataset = NULL;
        assert_ok(weft_dataset_open_cifar(&dataset, test_context(), test_folder(),
            part ? WEFT_CIFAR_100_TEST : WEFT_CIFAR_100_TRAIN, NULL));
        assert_int_equal(weft_dataset_size(dataset), part ? 10000 : 50000);
        assert_string_equal(weft_dataset_column(dataset, 1)->name, "label");
        assert_string_equal(weft_dataset_column(dataset, 2)->name, "coarse_label");
        assert_string_equal(weft_dataset_category(dataset, 1, 42), "fine42");
        assert_string_equal(weft_dataset_category(dataset, 2, 19), "coarse19");
        assert_null(weft_dataset_category(dataset, 2, 20));
        load_one(dataset, part ? 1 : 49999, pixels, sizeof pixels, labels);
        assert_int_equal(labels[0], part ? 42 : 99);
        assert_int_equal(labels[1], part ? 4 : 19);
        for (size_t p = 0; p < PIXELS; p++)
            assert_true(pixels[p] == (float)pixel_of(part ? 6 : 5, p) / 255.0f);
        weft_dataset_release(dataset);
    }
    unlink(test_path("train.bin"));
}

static void fails(weft_context *context, weft_cifar which, weft_status status, const char *part) {
    weft_dataset *dataset = (weft_dataset *)&dataset;
    assert_fails(weft_dataset_open_cifar(&dataset, context, test_folder(), which, NULL), status, part);
    assert_null(dataset);
}

static void wrong_files_are_refused(void **state) {
    (void)state;
    scratch_allocator allocator;
    scratch_allocator_init(&allocator, -1);
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .allocator = &allocator.hooks});
    const long live = allocator.live;
    make_cifar10();
    unlink(test_path("data_batch_4.bin"));
    fails(context, WEFT_CIFAR_10_TRAIN, WEFT_ERROR_FILE, "data_batch_4.bin");
    make_file("data_batch_4.bin", 9999, RECORD_10);
    fails(context, WEFT_CIFAR_10_TRAIN, WEFT_ERROR_FORMAT,
        "data_batch_4.bin' has 30726927 bytes, expected 30730000 (10000 records of 3073 bytes)");
    make_file("data_batch_4.bin", 10000, RECORD_100);
    fails(context, WEFT_CIFAR_10_TRAIN, WEFT_ERROR_FORMAT, "30740000 bytes, expected 30730000");
    make_file("test.bin", 1, 1);
    fails(context, WEFT_CIFAR_100_TEST, WEFT_ERROR_FORMAT,
        "test.bin' has 1 bytes, expected 30740000 (10000 records of 3074 bytes)");
    put_record("test_batch.bin", 9998, -1, 10, 0);
    fails(context, WEFT_CIFAR_10_TEST, WEFT_ERROR_FORMAT,
        "test_batch.bin': the label of record 9998 is 10, not in 0..9");
    make_file("test_batch.bin", 10000, RECORD_10);
    put_text("batches.meta.txt", "one\ntwo\n");
    fails(context, WEFT_CIFAR_10_TEST, WEFT_ERROR_FORMAT,
        "batches.meta.txt' has 2 names of classes, expected 10");
    unlink(test_path("test_batch.bin"));
    assert_int_equal(mkdir(test_path("test_batch.bin"), 0700), 0);
    fails(context, WEFT_CIFAR_10_TEST, WEFT_ERROR_FILE, "it is not a regular file");
    make_file("test.bin", 10000, RECORD_100);
    put_record("test.bin", 3, 20, 1, 0);
    fails(
        context, WEFT_CIFAR_100_TEST, WEFT_ERROR_FORMAT, "the coarse_label of record 3 is 20, not in 0..19");
    put_record("test.bin", 3, 2, 100, 0);
    fails(context, WEFT_CIFAR_100_TEST, WEFT_ERROR_FORMAT, "the label of record 3 is 100, not in 0..99");
    fails(context, (weft_cifar)0, WEFT_ERROR_ARGUMENT, "which is 0");
    fails(context, (weft_cifar)5, WEFT_ERROR_ARGUMENT, "which is 5");
    fails(NULL, WEFT_CIFAR_10_TEST, WEFT_ERROR_ARGUMENT, "context");
    weft_dataset *dataset = NULL;
    assert_status(
        weft_dataset_open_cifar(&dataset, context, NULL, WEFT_CIFAR_10_TEST, NULL), WEFT_ERROR_ARGUMENT);
    assert_status(
        weft_dataset_open_cifar(NULL, context, test_folder(), WEFT_CIFAR_10_TEST, NULL), WEFT_ERROR_ARGUMENT);
    assert_int_equal(allocator.live, live);
    weft_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cifar10_is_read),
        cmocka_unit_test(cifar100_is_read),
        cmocka_unit_test(wrong_files_are_refused),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
