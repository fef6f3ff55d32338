/* Long paths and names that are not ASCII; the parts of a path; locks and threads. */
#include "base/file_map.h"
#include "base/platform.h"
#include "support/checks.h"
#include "support/scratch.h"
#include <stdio.h>

enum { LEAST_LENGTH = 400, COUNT = 1000 };

/* Folders until the path has 400 characters, more than the 259 that Windows allows without a prefix. Wine 8 does not find
 * some paths of about 260 characters of which many are not ASCII. */
static void make_long(char path[WI_PATH_CAPACITY], const char *folder) {
    snprintf(path, WI_PATH_CAPACITY, "%s/gr\xc3\xb6\xc3\x9f\x65-\xe6\x95\xb0", folder);
    for (int i = 0; strlen(path) < LEAST_LENGTH; i++) {
        char next[WI_PATH_CAPACITY];
        snprintf(next, sizeof next, "%.3000s/folder-%d", path, i);
        strcpy(path, next);
    }
}

static void long_names_are_written_read_listed_and_removed(void **state) {
    char folder[WI_PATH_CAPACITY], path[WI_PATH_CAPACITY], *read = NULL;
    const char **names = NULL;
    size_t bytes = 0, count = 0;
    wi_arena arena;
    wi_file_map map;
    make_long(folder, *state);
    snprintf(path, sizeof path,
        "%.3900s/m\xc3\xb6"
        "del",
        folder);
    assert_ok(wi_directory_create(folder, false));
    assert_ok(wi_file_write_atomic(path, "old", 3));
    assert_ok(wi_file_write_atomic(path, "weights", 7));
    assert_ok(wi_file_read(NULL, path, &read, &bytes));
    assert_string_equal(read, "weights");
    wi_release(NULL, read);
    assert_ok(wi_file_map_open(&map, path));
    assert_int_equal(map.bytes, 7);
    assert_memory_equal(map.data, "weights", 7);
    wi_file_map_close(&map);
    wi_arena_init(&arena, NULL);
    assert_ok(wi_directory_list(&names, &count, &arena, folder));
    assert_int_equal(count, 1);
    assert_string_equal(names[0], "m\xc3\xb6"
                                  "del");
    wi_release(NULL, (void *)names);
    wi_arena_clear(&arena);
    assert_true(wi_path_can_be_written(path) && wi_path_can_be_written(folder));
    assert_ok(wi_file_remove(path));
    assert_false(wi_file_exists(path));
    assert_ok(wi_file_remove(path));
}

static void paths_that_are_too_long_or_empty_are_an_error(void **state) {
    static char path[3 * WI_PATH_CAPACITY];
    char *read = NULL;
    size_t bytes = 0;
    (void)state;
    memset(path, 'a', sizeof path - 1);
    assert_fails(wi_file_write_atomic(path, "x", 1), WEFT_ERROR_FILE, "cannot ");
    assert_fails(wi_file_read(NULL, path, &read, &bytes), WEFT_ERROR_FILE, "cannot open '");
    assert_status(wi_directory_create(path, false), WEFT_ERROR_FILE);
    assert_status(wi_file_write_atomic("", "x", 1), WEFT_ERROR_FILE);
    assert_status(wi_file_read(NULL, "", &read, &bytes), WEFT_ERROR_FILE);
    assert_null(read);
}

static void assert_split(const char *path, const char *folder, const char *name) {
    char found[64];
    const char *rest;
    wi_path_split(path, found, sizeof found, &rest);
    assert_string_equal(found, folder);
    assert_string_equal(rest, name);
}

static void a_path_is_split_at_its_last_separator(void **state) {
    (void)state;
    assert_split("name", ".", "name");
    assert_split("a/b/name", "a/b", "name");
    assert_split("a/b/", "a/b", "");
    assert_split("/name", "/", "name");
    assert_split("/", "/", "");
    assert_split("", ".", "");
#if defined(_WIN32)
    assert_split("a\\b\\name", "a\\b", "name");
    assert_split("C:/name", "C:/", "name");
    assert_split("C:\\data\\name", "C:\\data", "name");
    assert_split("C:name", "C:", "name");
    assert_split("//server/share/name", "//server/share/", "name");
#else
    assert_split("a/b\\c", "a", "b\\c");
#endif
}

static void a_path_without_links_is_inside_its_folder(void **state) {
    char path[WI_PATH_CAPACITY];
    assert_ok(wi_file_write_atomic(scratch_path(*state, "file"), "", 0));
    char *const folder = wi_path_resolve(*state);
    snprintf(path, sizeof path, "%s/./file", (const char *)*state);
    char *const file = wi_path_resolve(path);
    assert_non_null(folder);
    assert_non_null(file);
    assert_int_equal(strncmp(file, folder, strlen(folder)), 0);
    assert_true(wi_is_separator(file[strlen(folder)]));
    assert_string_equal(file + strlen(folder) + 1, "file");
    free(folder);
    free(file);
    assert_null(wi_path_resolve(scratch_path(*state, "none")));
}

typedef struct shared {
    wi_mutex mutex;
    wi_condition changed;
    int sum, done;
} shared;

static void *add(void *argument) {
    shared *const s = argument;
    for (int i = 0; i < COUNT; i++) {
        wi_mutex_lock(&s->mutex);
        s->sum++;
        wi_mutex_unlock(&s->mutex);
    }
    wi_mutex_lock(&s->mutex);
    s->done++;
    wi_condition_wake_all(&s->changed);
    wi_mutex_unlock(&s->mutex);
    return NULL;
}

static void threads_share_what_a_lock_guards(void **state) {
    enum { THREADS = 4 };
    wi_thread threads[THREADS] = {{0}};
    shared s = {.sum = 0};
    (void)state;
    wi_mutex_init(&s.mutex);
    wi_condition_init(&s.changed);
    for (int i = 0; i < THREADS; i++) assert_ok(wi_thread_start(&threads[i], add, &s));
    wi_mutex_lock(&s.mutex);
    while (s.done < THREADS) wi_condition_wait(&s.changed, &s.mutex);
    assert_int_equal(s.sum, THREADS * COUNT);
    wi_mutex_unlock(&s.mutex);
    for (int i = 0; i < THREADS; i++) wi_thread_join(&threads[i]);
    wi_condition_destroy(&s.changed);
    wi_mutex_destroy(&s.mutex);
}

static void a_sleep_lasts_as_long_as_it_should(void **state) {
    (void)state;
    const double begin = wi_clock_seconds();
    wi_clock_sleep(0.02);
    assert_true(wi_clock_seconds() - begin >= 0.015);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(long_names_are_written_read_listed_and_removed),
        cmocka_unit_test(paths_that_are_too_long_or_empty_are_an_error),
        cmocka_unit_test(a_path_is_split_at_its_last_separator),
        SCRATCH_TEST(a_path_without_links_is_inside_its_folder),
        cmocka_unit_test(threads_share_what_a_lock_guards),
        cmocka_unit_test(a_sleep_lasts_as_long_as_it_should),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
