/* Files that are missing, large, unwritable; atomic replacement; folders; clock; environment. */
#include "base/platform.h"
#include "support/checks.h"
#include "support/scratch.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void what_is_written_is_read(void **state) {
    const char *const path = scratch_path(*state, "numbers");
    enum { COUNT = 300000 };
    unsigned char *const data = malloc(COUNT);
    char *read = NULL;
    size_t bytes = 0;
    for (size_t i = 0; i < COUNT; i++) data[i] = (unsigned char)(i * i >> 3);
    assert_ok(wi_file_write_atomic(path, data, COUNT));
    assert_true(wi_file_exists(path));
    assert_ok(wi_file_read(NULL, path, &read, &bytes));
    assert_int_equal(bytes, COUNT);
    assert_memory_equal(read, data, COUNT);
    assert_int_equal(read[bytes], '\0');
    wi_release(NULL, read);
    assert_ok(wi_file_write_atomic(path, "", 0));
    assert_ok(wi_file_read(NULL, path, &read, &bytes));
    assert_int_equal(bytes, 0);
    assert_string_equal(read, "");
    wi_release(NULL, read);
    free(data);
}

static void a_file_without_a_size_is_read(void **state) {
    char *read = NULL;
    size_t bytes = 0;
    (void)state;
#if defined(_WIN32)
    skip();
#endif
    assert_ok(wi_file_read(NULL, "/proc/self/cmdline", &read, &bytes)); /* stat says 0 bytes */
    assert_non_null(strstr(read, "test_platform"));
    wi_release(NULL, read);
}

static void reading_fails_with_the_name(void **state) {
    char *read = NULL;
    size_t bytes = 0;
    assert_fails(wi_file_read(NULL, scratch_path(*state, "none"), &read, &bytes), WEFT_ERROR_FILE,
        "/none': No such file");
    assert_fails(wi_file_read(NULL, *state, &read, &bytes), WEFT_ERROR_FILE, "Is a directory");
    assert_null(read);
    scratch_allocator allocator;
    scratch_allocator_init(&allocator, 0);
    assert_status(wi_file_read(&allocator.hooks, "/proc/self/maps", &read, &bytes), WEFT_ERROR_MEMORY);
}

/* A pipe without a writer would wait, a device would give bytes for ever. */
static void only_regular_files_are_read(void **state) {
    char *read = NULL, path[PATH_MAX];
    size_t bytes = 0;
    snprintf(path, sizeof path, "%s", scratch_path(*state, "pipe"));
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_fails(
        wi_file_read(NULL, path, &read, &bytes), WEFT_ERROR_FILE, "/pipe': it is not a regular file");
    assert_fails(wi_file_read(NULL, "/dev/zero", &read, &bytes), WEFT_ERROR_FILE, "it is not a regular file");
    const wi_file_rules limited = {.any = true, .limit = 1000000};
    assert_fails(wi_file_read_by(&limited, "/dev/zero", &read, &bytes), WEFT_ERROR_FILE,
        "'/dev/zero' gives more than 1000000 bytes");
    assert_fails(wi_file_read_by(&limited, *state, &read, &bytes), WEFT_ERROR_FILE, "Is a directory");
    assert_null(read);
    assert_ok(wi_file_read_by(&limited, "/dev/null", &read, &bytes));
    assert_int_equal(bytes, 0);
    wi_release(NULL, read);
    int ends[2];
    char from[64];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "through a pipe", 14), 14);
    close(ends[1]);
    snprintf(from, sizeof from, "/dev/fd/%d", ends[0]);
    assert_ok(wi_file_read_by(&limited, from, &read, &bytes));
    assert_string_equal(read, "through a pipe");
    close(ends[0]);
    wi_release(NULL, read);
}

static void reading_survives_every_lack_of_memory(void **state) {
    static const char text[1000];
    const char *const path = scratch_path(*state, "text");
    scratch_allocator allocator;
    assert_ok(wi_file_write_atomic(path, text, sizeof text));
    weft_status status = WEFT_ERROR_MEMORY;
    for (long limit = 0; status != WEFT_OK; limit++) {
        char *read = NULL;
        size_t bytes = 0;
        assert_in_range(limit, 0, 10);
        scratch_allocator_init(&allocator, limit);
        status = wi_file_read(&allocator.hooks, path, &read, &bytes);
        if (status != WEFT_OK) assert_status(status, WEFT_ERROR_MEMORY);
        wi_release(&allocator.hooks, read);
        assert_int_equal(atomic_load(&allocator.live), 0);
    }
}

static void a_writer_replaces_only_on_commit(void **state) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", scratch_path(*state, "model"));
    wi_file_writer *writer = NULL;
    char *read = NULL;
    size_t bytes = 0;
    assert_ok(wi_file_write_atomic(path, "old", 3));
    assert_ok(wi_file_writer_begin(&writer, NULL, path));
    assert_ok(wi_file_writer_append(writer, "ne", 2));
    assert_ok(wi_file_read(NULL, path, &read, &bytes));
    assert_string_equal(read, "old");
    wi_release(NULL, read);
    assert_ok(wi_file_writer_append(writer, "w", 1));
    assert_ok(wi_file_writer_commit(writer));
    assert_ok(wi_file_read(NULL, path, &read, &bytes));
    assert_string_equal(read, "new");
    wi_release(NULL, read);
    assert_ok(wi_file_writer_begin(&writer, NULL, path));
    assert_ok(wi_file_writer_append(writer, "never", 5));
    wi_file_writer_abandon(writer);
    wi_file_writer_abandon(NULL);
    assert_ok(wi_file_read(NULL, path, &read, &bytes));
    assert_string_equal(read, "new");
    wi_release(NULL, read);
    assert_int_equal(scratch_count(*state, ".tmp", NULL), 0);
}

/* Its exit writes what streams of the C library hold, into the same place of the same file. */
static void a_child_that_exits_adds_nothing_to_a_file(void **state) {
    const char *const path = scratch_path(*state, "f");
    wi_file_writer *writer = NULL;
    wi_path_info info;
    int status = -1;
    assert_ok(wi_file_writer_begin(&writer, NULL, path));
    assert_ok(wi_file_writer_append(writer, "half", 4));
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) exit(0);
    assert_true(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    assert_ok(wi_file_writer_append(writer, "half", 4));
    assert_ok(wi_file_writer_commit(writer));
    assert_ok(wi_path_look(&info, path, NULL));
    assert_int_equal(info.bytes, 8);
}

static void a_writer_needs_a_folder_and_memory(void **state) {
    wi_file_writer *writer = NULL;
    scratch_allocator allocator;
    assert_fails(
        wi_file_writer_begin(&writer, NULL, scratch_path(*state, "no/model")), WEFT_ERROR_FILE, "no/model'");
    assert_null(writer);
    for (long limit = 0; limit < 3; limit++) {
        scratch_allocator_init(&allocator, limit);
        assert_status(wi_file_writer_begin(&writer, &allocator.hooks, scratch_path(*state, "model")),
            WEFT_ERROR_MEMORY);
        assert_int_equal(atomic_load(&allocator.live), 0);
    }
    assert_int_equal(scratch_count(*state, "", NULL), 0);
}

/* A limit on file size stands for a full disk. */
static void a_full_disk_keeps_the_old_file(void **state) {
    static const char large[65536];
    const char *const path = scratch_path(*state, "model");
    struct rlimit before, tight;
    char *read = NULL;
    size_t bytes = 0;
    assert_ok(wi_file_write_atomic(path, "old", 3));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    tight = before;
    tight.rlim_cur = 1000;
    void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &tight);
    const weft_status status = wi_file_write_atomic(path, large, sizeof large);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    assert_fails(status, WEFT_ERROR_FILE, "/model': File too large");
    assert_ok(wi_file_read(NULL, path, &read, &bytes));
    assert_string_equal(read, "old");
    wi_release(NULL, read);
    assert_int_equal(scratch_count(*state, ".tmp", NULL), 0);
}

/* Small and large appends take different ways into the file, and keep their order. */
static void large_blocks_are_written_whole(void **state) {
    enum { LARGE = (41 << 20) + 5 };
    wi_file_writer *writer = NULL;
    char *read = NULL, *const block = malloc(LARGE);
    size_t bytes = 0;
    assert_non_null(block);
    for (size_t i = 0; i < LARGE; i++) block[i] = (char)(i * 2654435761u >> 13);
    assert_ok(wi_file_writer_begin(&writer, NULL, scratch_path(*state, "large")));
    assert_ok(wi_file_writer_append(writer, "one", 3));
    assert_ok(wi_file_writer_append(writer, block, LARGE));
    assert_ok(wi_file_writer_append(writer, "two", 3));
    assert_ok(wi_file_writer_append(writer, block, LARGE));
    assert_ok(wi_file_writer_commit(writer));
    assert_ok(wi_file_read(NULL, scratch_path(*state, "large"), &read, &bytes));
    assert_int_equal(bytes, 2 * LARGE + 6);
    assert_memory_equal(read, "one", 3);
    assert_int_equal(memcmp(read + 3, block, LARGE), 0);
    assert_memory_equal(read + 3 + LARGE, "two", 3);
    assert_int_equal(memcmp(read + 6 + LARGE, block, LARGE), 0);
    wi_release(NULL, read);
    free(block);
}

static void folders_are_made_with_their_parents(void **state) {
    struct stat made;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", scratch_path(*state, "a/b//c"));
    assert_ok(wi_directory_create(path, true));
    assert_ok(wi_directory_create(path, true)); /* once more is fine */
    assert_int_equal(stat(path, &made), 0);
#if !defined(_WIN32) /* which has access lists */
    assert_int_equal(made.st_mode & 0777, 0700);
#endif
    assert_ok(wi_file_write_atomic(scratch_path(*state, "a/file"), "", 0));
    assert_fails(wi_directory_create(scratch_path(*state, "a/file/b"), true), WEFT_ERROR_FILE, "a/file'");
    assert_fails(wi_directory_create(scratch_path(*state, "a/file"), true), WEFT_ERROR_FILE, "a/file'");
    assert_status(wi_directory_create("", true), WEFT_ERROR_FILE);
}

static void the_clock_goes_on(void **state) {
    (void)state;
    const double start = wi_clock_seconds();
    while (wi_clock_seconds() < start + 0.002) {}
    assert_true(wi_clock_seconds() > start);
}

static void an_empty_variable_is_unset(void **state) {
    (void)state;
    setenv("WEFT_TEST_VARIABLE", "", 1);
    assert_null(wi_environment("WEFT_TEST_VARIABLE"));
    setenv("WEFT_TEST_VARIABLE", "x", 1);
    assert_string_equal(wi_environment("WEFT_TEST_VARIABLE"), "x");
    unsetenv("WEFT_TEST_VARIABLE");
    assert_null(wi_environment("WEFT_TEST_VARIABLE"));
}

#define WITH_SCRATCH(test) SCRATCH_TEST(test)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_SCRATCH(what_is_written_is_read),
        cmocka_unit_test(a_file_without_a_size_is_read),
        WITH_SCRATCH(reading_fails_with_the_name),
        WITH_SCRATCH(only_regular_files_are_read),
        WITH_SCRATCH(reading_survives_every_lack_of_memory),
        WITH_SCRATCH(a_writer_replaces_only_on_commit),
        WITH_SCRATCH(a_child_that_exits_adds_nothing_to_a_file),
        WITH_SCRATCH(a_writer_needs_a_folder_and_memory),
        WITH_SCRATCH(a_full_disk_keeps_the_old_file),
        WITH_SCRATCH(large_blocks_are_written_whole),
        WITH_SCRATCH(folders_are_made_with_their_parents),
        cmocka_unit_test(the_clock_goes_on),
        cmocka_unit_test(an_empty_variable_is_unset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
