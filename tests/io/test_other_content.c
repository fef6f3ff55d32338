/* A pointer of Git LFS, or the page of a server, in place of a file: every reader says so. */
#include "support/checks.h"
#include "support/fixture.h"
#include <math.h>
#include <stdio.h>

static const char pointer[] = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n",
                  page[] = "\n <!DOCTYPE html>\n<html><head><title>404</title></head></html>\n",
                  xml[] = "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>";
static const char *const said[] = {"is only a Git LFS pointer", "is an HTML page", "is an XML document"};

static weft_status load_weights(const char *path) {
    weft_graph *const graph = test_graph();
    const weft_status status = weft_weights_load(graph, path, NULL);
    weft_graph_release(graph);
    return status;
}

static weft_status load_checkpoint(const char *path) {
    weft_graph *const graph = test_graph();
    const weft_status status = weft_checkpoint_load(graph, path, NULL, 0);
    weft_graph_release(graph);
    return status;
}

static weft_status begin_parameter(const char *path) {
    weft_graph *const graph = test_graph();
    (void)weft_parameter(graph, "w", weft_init_from_file(path, NULL), 2);
    const weft_status status = weft_graph_status(graph);
    weft_graph_release(graph);
    return status;
}

static weft_status load_npy(const char *path) {
    weft_npy_array array;
    return weft_load_npy(&array, NULL, path, WEFT_F32);
}

static weft_status load_image(const char *path) {
    float pixels[3];
    return weft_load_image(test_context(), path, NULL, pixels, sizeof pixels);
}

static weft_status open_idx(const char *path) {
    weft_dataset *dataset = NULL;
    return weft_dataset_open_idx_files(&dataset, test_context(), path, path);
}

static weft_status open_csv(const char *path) {
    weft_dataset *dataset = NULL;
    return weft_dataset_open_csv(&dataset, test_context(), path, NULL);
}

static weft_status load_vocabulary(const char *path) {
    weft_vocabulary *vocabulary = NULL;
    return weft_vocabulary_load(&vocabulary, test_context(), path);
}

static weft_status read_words(const char *path) {
    weft_vocabulary *vocabulary = NULL;
    const weft_status status = weft_vocabulary_from_file(&vocabulary, test_context(), path, NULL);
    weft_vocabulary_release(vocabulary);
    return status;
}

static weft_status open_cifar(const char *path) {
    weft_dataset *dataset = NULL;
    char folder[4096];
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    return weft_dataset_open_cifar(&dataset, test_context(), folder, WEFT_CIFAR_10_TEST, NULL);
}

static const struct {
    const char *name;
    weft_status (*read)(const char *path);
    bool takes_pages; /* a page is a text, too */
} readers[] = {{"weights", load_weights, false}, {"checkpoint", load_checkpoint, false},
    {"initialiser", begin_parameter, false}, {"npy", load_npy, false}, {"image", load_image, false},
    {"idx", open_idx, false}, {"csv", open_csv, false}, {"vocabulary", load_vocabulary, false},
    {"words", read_words, true}, {"cifar", open_cifar, false}};

static void other_content_is_named(void **state) {
    (void)state;
    static const char *const contents[] = {pointer, page, xml};
    const char *const path = test_path("test_batch.bin");
    for (size_t c = 0; c < 3; c++) {
        FILE *const file = fopen(path, "w");
        assert_non_null(file);
        assert_true(fputs(contents[c], file) >= 0);
        assert_int_equal(fclose(file), 0);
        for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
            if (c > 0 && readers[i].takes_pages) {
                assert_ok(readers[i].read(path));
                continue;
            }
            assert_fails(readers[i].read(path), WEFT_ERROR_FORMAT, said[c]);
            assert_non_null(strstr(weft_last_error(), "test_batch.bin"));
        }
    }
}

/* As f32 they were infinite without a word. */
static void numbers_that_f32_cannot_hold_are_named(void **state) {
    (void)state;
    const double values[] = {1, 1e39}, infinite[] = {1, (double)INFINITY};
    const int64_t two = 2;
    char path[4096];
    weft_npy_array array;
    weft_dataset *dataset = NULL;
    snprintf(path, sizeof path, "%s", test_path("wide.npy"));
    assert_ok(weft_save_npy(path, WEFT_F64, values, 1, &two));
    assert_fails(weft_load_npy(&array, NULL, path, WEFT_F32), WEFT_ERROR_FORMAT,
        "element 1 (in row-major order) does not fit into f32");
    const weft_npy_column column = {"x", path, WEFT_F32};
    assert_fails(weft_dataset_open_npy(&dataset, test_context(), &column, 1), WEFT_ERROR_FORMAT,
        "does not fit into f32");
    assert_ok(weft_save_npy(path, WEFT_F64, infinite, 1, &two));
    assert_ok(weft_load_npy(&array, NULL, path, WEFT_F32));
    assert_true(isinf(((const float *)array.data)[1]));
    weft_npy_array_release(&array);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_content_is_named),
        cmocka_unit_test(numbers_that_f32_cannot_hold_are_named),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
