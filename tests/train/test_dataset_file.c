/* weft_dataset_file: the files of the examples of a folder of images, also after a split; what has no files. */
/* test once */
#include "support/checks.h"
#include "support/fixture.h"
#include "support/image_tree.h"
#include <stdio.h>
#include <weft/weft.h>

#if defined(WEFT_WITH_PNG) && defined(WEFT_WITH_JPEG)
enum { FILES = 6, PATH = 4096 };
static const char *const names[FILES] = {
    "a/1.png", "a/2.png", "a/deep/1.png", "b/1.png", "b/2.png", "c/1.png"};

/* File i has the red of i + 1, of 255. */
static weft_dataset *open_files(const char *folder) {
    static const char *const folders[] = {"a", "a/deep", "b", "c"};
    weft_dataset *dataset = NULL;
    image_tree_begin(folder);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) image_tree_folder(folders[i]);
    for (size_t i = 0; i < FILES; i++) image_tree_put(names[i], (unsigned)i + 1);
    assert_ok(weft_dataset_open_image_folder(&dataset, test_context(), image_tree_root(), NULL));
    return dataset;
}

static void is_file(const weft_dataset *dataset, size_t example, const char *name) {
    char path[PATH];
    size_t length = 0;
    assert_ok(weft_dataset_file(dataset, example, path, sizeof path, &length));
    assert_string_equal(path, image_tree_path(name));
    assert_int_equal(length, strlen(path));
}

/* The file of each example is the one that its pixels come from. */
static void have_their_files(weft_dataset *dataset) {
    weft_loader *loader = NULL;
    size_t examples = 0, seen = 0;
    const void *columns[2];
    const int64_t *const dims = weft_dataset_column(dataset, 0)->dims;
    const weft_loader_options options = {WEFT_LOADER_OPTIONS_INIT, .batch = 1};
    assert_ok(weft_loader_create(&loader, dataset, &options));
    assert_ok(weft_loader_begin(loader, 0));
    while (assert_ok(weft_loader_next(loader, &examples, columns)), examples) {
        const float red = ((const float *)columns[0])[0] * 255;
        assert_true(dims[0] > 0 && red > 0.5f);
        is_file(dataset, seen++, names[(int)(red + 0.5f) - 1]);
    }
    assert_int_equal(seen, weft_dataset_size(dataset));
    weft_loader_release(loader);
}

static void examples_have_files(void **state) {
    (void)state;
    weft_dataset *const dataset = open_files("files");
    weft_dataset *drawn = NULL, *others = NULL, *grey = NULL;
    assert_int_equal(weft_dataset_size(dataset), FILES);
    have_their_files(dataset);
    assert_ok(weft_dataset_split(&drawn, &others, dataset, 2, 7));
    assert_ok(weft_dataset_with_image_options(
        &grey, others, &(weft_image_options){WEFT_IMAGE_OPTIONS_INIT, .layout = WEFT_CHANNELS_LAST}));
    weft_dataset_release(dataset);
    have_their_files(drawn);
    have_their_files(others);
    have_their_files(grey);
    weft_dataset_release(drawn);
    weft_dataset_release(others);
    weft_dataset_release(grey);
}

static void short_buffers_and_wrong_calls(void **state) {
    (void)state;
    char path[PATH], some[5];
    size_t length = 0;
    weft_dataset *const dataset = open_files("short");
    snprintf(path, sizeof path, "%s", image_tree_path(names[1]));
    assert_ok(weft_dataset_file(dataset, 1, some, sizeof some, &length));
    assert_int_equal(length, strlen(path));
    assert_memory_equal(some, path, sizeof some - 1);
    assert_int_equal(some[sizeof some - 1], '\0');
    length = 0;
    assert_ok(weft_dataset_file(dataset, 1, NULL, 0, &length));
    assert_int_equal(length, strlen(path));
    assert_ok(weft_dataset_file(dataset, 1, path, sizeof path, NULL));
    assert_fails(weft_dataset_file(dataset, FILES, path, sizeof path, NULL), WEFT_ERROR_ARGUMENT,
        "example is 6, but the dataset has 6 examples");
    assert_fails(weft_dataset_file(dataset, 0, NULL, 1, NULL), WEFT_ERROR_ARGUMENT, "must not be NULL");
    assert_fails(
        weft_dataset_file(NULL, 0, path, sizeof path, NULL), WEFT_ERROR_ARGUMENT, "must not be NULL");
    weft_dataset_release(dataset);

    weft_dataset *memory = NULL;
    const unsigned char pixels[4] = {0};
    const weft_image_block block = {.examples = 4, .channels = 1, .height = 1, .width = 1, .pixels = pixels};
    assert_ok(weft_dataset_from_images(&memory, test_context(), &block, NULL));
    assert_fails(weft_dataset_file(memory, 0, path, sizeof path, NULL), WEFT_ERROR_ARGUMENT,
        "not one of weft_dataset_open_image_folder");
    weft_dataset_release(memory);
}

#else
static void without_images(void **state) {
    (void)state;
    print_message("skipped: this build reads no PNG and JPEG files\n");
    skip();
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
#if defined(WEFT_WITH_PNG) && defined(WEFT_WITH_JPEG)
        cmocka_unit_test(examples_have_files),
        cmocka_unit_test(short_buffers_and_wrong_calls),
#else
        cmocka_unit_test(without_images),
#endif
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
