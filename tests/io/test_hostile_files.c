/* Every reader and every writer before what is no file, a file that shrinks meanwhile, a full disk. */
#include "support/checks.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOM = 4096, VALUES = 60000 };

static weft_graph *make_graph(float value) {
    weft_graph *graph = NULL;
    const int64_t dims[] = {VALUES};
    assert_ok(weft_graph_create(&graph, test_context()));
    assert_non_null(weft_state_shape(graph, "w", WEFT_F32, weft_fill(value), 1, dims));
    return graph;
}

static float first_value(weft_graph *graph) {
    static float values[VALUES];
    assert_ok(weft_tensor_read(weft_graph_find(graph, "w"), values, sizeof values));
    return values[0];
}

/* ---- readers ---- */

static weft_status read_weights(const char *path) {
    weft_graph *const graph = make_graph(1);
    const weft_status status = weft_weights_load(graph, path, NULL);
    weft_graph_release(graph);
    return status;
}

static weft_status read_checkpoint(const char *path) {
    weft_graph *const graph = make_graph(1);
    const weft_status status = weft_checkpoint_load(graph, path, NULL, 0);
    weft_graph_release(graph);
    return status;
}

static weft_status read_npy(const char *path) {
    weft_npy_array array;
    const weft_status status = weft_load_npy(&array, test_context(), path, WEFT_F32);
    weft_npy_array_release(&array);
    return status;
}

static weft_status read_columns(const char *path) {
    weft_dataset *dataset = NULL;
    const weft_npy_column column = {.name = "x", .path = path};
    const weft_status status = weft_dataset_open_npy(&dataset, test_context(), &column, 1);
    weft_dataset_release(dataset);
    return status;
}

static weft_status read_csv(const char *path) {
    weft_dataset *dataset = NULL;
    const weft_status status = weft_dataset_open_csv(&dataset, test_context(), path, NULL);
    weft_dataset_release(dataset);
    return status;
}

static weft_status read_series(const char *path) {
    weft_dataset *dataset = NULL;
    const weft_status status = weft_dataset_open_series(&dataset, NULL, NULL, test_context(), path, NULL);
    weft_dataset_release(dataset);
    return status;
}

static weft_status read_text(const char *path) {
    weft_vocabulary *vocabulary = NULL;
    const weft_status status = weft_vocabulary_from_file(&vocabulary, test_context(), path, NULL);
    weft_vocabulary_release(vocabulary);
    return status;
}

static weft_status read_vocabulary(const char *path) {
    weft_vocabulary *vocabulary = NULL;
    const weft_status status = weft_vocabulary_load(&vocabulary, test_context(), path);
    weft_vocabulary_release(vocabulary);
    return status;
}

static weft_status read_image(const char *path) {
    float pixels[3];
    return weft_load_image(test_context(), path, NULL, pixels, sizeof pixels);
}

/* path ends in the name of MNIST's images, whose prefix is "p". */
static weft_status read_idx(const char *path) {
    (void)path;
    weft_dataset *dataset = NULL;
    const weft_status status = weft_dataset_open_idx(&dataset, test_context(), test_folder(), "p");
    weft_dataset_release(dataset);
    return status;
}

static weft_status (*const readers[])(const char *path) = {read_weights, read_checkpoint, read_npy,
    read_columns, read_csv, read_series, read_text, read_vocabulary, read_image, read_idx};
enum { READERS = sizeof readers / sizeof *readers };

static void what_is_no_file_is_refused_by_every_reader(void **state) {
    (void)state;
    char path[ROOM];
    snprintf(path, sizeof path, "%s", test_path("p-images-idx3-ubyte"));
    assert_int_equal(mkfifo(path, 0600), 0);
    for (size_t i = 0; i < READERS; i++) assert_fails(readers[i](path), WEFT_ERROR_FILE, path);
    assert_int_equal(unlink(path), 0);
    for (size_t i = 0; i + 1 < READERS; i++) {
        assert_fails(readers[i]("/dev/zero"), WEFT_ERROR_FILE, "/dev/zero");
        assert_fails(readers[i](test_folder()), WEFT_ERROR_FILE, test_folder());
    }
}

/* ---- a file that shrinks and grows while it is read ---- */

typedef struct changing {
    const char *path;
    off_t bytes;
    atomic_bool stop;
    bool failed; /* to change it; read when the thread has ended */
} changing;

static void *change(void *argument) {
    changing *const c = argument;
    for (off_t i = 1; !atomic_load(&c->stop); i++) {
        if (truncate(c->path, i * 7919 % c->bytes) != 0 || truncate(c->path, c->bytes) != 0) c->failed = true;
    }
    return NULL;
}

static void a_file_that_shrinks_is_an_error_at_worst(void **state) {
    (void)state;
    char path[ROOM];
    snprintf(path, sizeof path, "%s", test_path("changing"));
    weft_graph *const graph = make_graph(3);
    for (size_t i = 0; i < 4; i++) { /* safetensors and NumPy */
        const float values[VALUES] = {0};
        const int64_t dims[] = {VALUES};
        if (i < 2)
            assert_ok(weft_weights_save(graph, path));
        else
            assert_ok(weft_save_npy(path, WEFT_F32, values, 1, dims));
        struct stat file;
        pthread_t thread;
        assert_int_equal(stat(path, &file), 0);
        assert_int_equal(truncate(path, file.st_size), 0); /* skips the test where there is no truncate() */
        changing c = {.path = path, .bytes = file.st_size};
        assert_int_equal(pthread_create(&thread, NULL, change, &c), 0);
        for (int times = 0; times < 50; times++) {
            const weft_status status = readers[i](path);
            assert_true(status == WEFT_OK || status == WEFT_ERROR_FORMAT);
        }
        atomic_store(&c.stop, true);
        pthread_join(thread, NULL);
        assert_false(c.failed);
    }
    weft_graph_release(graph);
}

/* ---- writers ---- */

static weft_graph *saved;
static weft_vocabulary *spoken;

static weft_status write_weights(const char *path) {
    return weft_weights_save(saved, path);
}

static weft_status write_checkpoint(const char *path) {
    return weft_checkpoint_save(saved, path, NULL, 0);
}

static weft_status write_npy(const char *path) {
    static const float values[VALUES];
    return weft_save_npy(path, WEFT_F32, values, 1, (const int64_t[]){VALUES});
}

static weft_status write_vocabulary(const char *path) {
    return weft_vocabulary_save(spoken, path);
}

static weft_status with_a_full_disk(weft_status (*write)(const char *), const char *path) {
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 100;
    void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const weft_status status = write(path);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    return status;
}

static void a_full_disk_leaves_every_old_file(void **state) {
    (void)state;
    static weft_status (*const writers[])(const char *) = {
        write_weights, write_checkpoint, write_npy, write_vocabulary};
    static char text[2000];
    for (size_t i = 0; i < sizeof text; i++) text[i] = (char)('!' + i % 90);
    saved = make_graph(7);
    assert_ok(weft_vocabulary_from_text(&spoken, test_context(), text, sizeof text, NULL));
    for (size_t i = 0; i < 4; i++) {
        char *const folder = scratch_make();
        char path[ROOM];
        struct stat before, after;
        snprintf(path, sizeof path, "%s", scratch_path(folder, "full"));
        assert_ok(writers[i](path));
        assert_int_equal(stat(path, &before), 0);
        assert_fails(with_a_full_disk(writers[i], path), WEFT_ERROR_FILE, "/full': File too large");
        assert_int_equal(stat(path, &after), 0);
        assert_true(after.st_ino == before.st_ino && after.st_size == before.st_size);
        assert_int_equal(scratch_count(folder, ".tmp", NULL), 0);
        assert_fails(writers[i]("/no/such/folder/x"), WEFT_ERROR_FILE, "/no/such/folder");
        assert_fails(writers[i]("/proc/self/x"), WEFT_ERROR_FILE, "/proc/self/x");
        scratch_remove(folder);
    }
    assert_true(first_value(saved) == 7);
    weft_graph_release(saved);
    weft_vocabulary_release(spoken);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_file_is_refused_by_every_reader),
        cmocka_unit_test(a_file_that_shrinks_is_an_error_at_worst),
        cmocka_unit_test(a_full_disk_leaves_every_old_file),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
