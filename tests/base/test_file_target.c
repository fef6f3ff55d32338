/* What a save replaces: links, modes, what a killed process left, and a disk that reports late that it could not write. */
#include "base/file_target.h"
#include "base/platform.h"
#include "base/trusted_file.h"
#include "support/checks.h"
#include "support/scratch.h"
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_ROOM = 4096 };

static char folder[PATH_ROOM];

static const char *path_of(const char *name) {
    return scratch_path(folder, name);
}

static void put(const char *name, const char *text) {
    FILE *const file = fopen(path_of(name), "wb");
    assert_non_null(file);
    assert_int_equal(fputs(text, file) >= 0, 1);
    assert_int_equal(fclose(file), 0);
}

static void assert_holds(const char *name, const char *text) {
    char *data = NULL;
    size_t bytes = 0;
    assert_ok(wi_file_read(NULL, path_of(name), &data, &bytes));
    assert_string_equal(data, text);
    wi_release(NULL, data);
}

static mode_t mode_of(const char *name) {
    struct stat state;
    assert_int_equal(lstat(path_of(name), &state), 0);
    return state.st_mode;
}

static weft_status save(const char *name, const char *text) {
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "%s", path_of(name));
    return wi_file_write_atomic(path, text, strlen(text));
}

/* Relative links, links to links, and one to a file that is not there yet. */
static void a_link_stays_and_leads_to_the_new_content(void **state) {
    (void)state;
    assert_int_equal(mkdir(path_of("below"), 0700), 0);
    put("below/file", "old");
    assert_int_equal(symlink("below/file", path_of("link")), 0);
    assert_int_equal(symlink("link", path_of("other")), 0);
    assert_int_equal(symlink("../fresh", path_of("below/dangling")), 0);
    assert_ok(save("other", "new"));
    assert_ok(save("below/dangling", "first"));
    assert_true(S_ISLNK(mode_of("link")) && S_ISLNK(mode_of("other")) && S_ISLNK(mode_of("below/dangling")));
    assert_true(S_ISREG(mode_of("below/file")));
    assert_holds("below/file", "new");
    assert_holds("fresh", "first");
}

static void links_without_an_end_are_an_error(void **state) {
    (void)state;
    assert_int_equal(symlink("two", path_of("one")), 0);
    assert_int_equal(symlink("one", path_of("two")), 0);
    assert_fails(save("one", "x"), WEFT_ERROR_FILE, "/one': Too many levels of symbolic links");
}

static void a_link_to_a_long_path_is_an_error(void **state) {
    char target[PATH_ROOM - 8];
    (void)state;
    memset(target, 'a', sizeof target - 1);
    target[sizeof target - 1] = '\0';
    assert_int_equal(symlink(target, path_of("far")), 0);
    assert_fails(save("far", "x"), WEFT_ERROR_FILE, "/far': File name too long");
}

static void a_file_keeps_its_mode(void **state) {
    (void)state;
    const mode_t modes[] = {0600, 0640, 0444, 0755};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        put("secret", "old");
        assert_int_equal(chmod(path_of("secret"), modes[i]), 0);
        assert_ok(save("secret", "new"));
        assert_int_equal(mode_of("secret") & 07777, modes[i]);
        assert_holds("secret", "new");
        assert_int_equal(unlink(path_of("secret")), 0);
    }
    const mode_t before = umask(027);
    assert_ok(save("made", "x"));
    umask(before);
    assert_int_equal(mode_of("made") & 07777, 0640);
}

static weft_status save_private(const char *name) {
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "%s", path_of(name));
    return wi_file_write_private(NULL, path, "kernel", 6);
}

/* Files that the library keeps for itself, beside those that users save. */
static void a_private_file_replaces_what_has_its_name(void **state) {
    (void)state;
    put("target", "the user's");
    assert_int_equal(chmod(path_of("target"), 0640), 0);
    assert_int_equal(symlink("target", path_of("entry link")), 0);
    assert_int_equal(symlink("nowhere", path_of("entry dangling")), 0);
    char target[PATH_ROOM];
    snprintf(target, sizeof target, "%s", path_of("target"));
    assert_int_equal(link(target, path_of("entry hard")), 0);
    assert_int_equal(mkfifo(path_of("entry pipe"), 0644), 0);
    const char *const names[] = {"entry link", "entry dangling", "entry hard", "entry pipe", "entry new"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const mode_t before = umask(0);
        assert_ok(save_private(names[i]));
        umask(before);
        assert_true(S_ISREG(mode_of(names[i])));
        assert_int_equal(mode_of(names[i]) & 07777, 0600);
        assert_holds(names[i], "kernel");
    }
    assert_holds("target", "the user's");
    assert_int_equal(mode_of("target") & 07777, 0640);
    assert_int_equal(scratch_count(folder, "nowhere", NULL), 0);
}

static void a_kept_file_is_no_link(void **state) {
    char path[PATH_ROOM], *data = NULL;
    size_t bytes = 0;
    bool distrusted = true;
    (void)state;
    put("kept", "x");
    assert_int_equal(symlink("kept", path_of("kept link")), 0);
    snprintf(path, sizeof path, "%s", path_of("kept link"));
    assert_fails(wi_kept_file_read(NULL, path, &data, &bytes, &distrusted), WEFT_ERROR_FILE,
        "/kept link' is a symbolic link");
    assert_true(distrusted && !data);
    snprintf(path, sizeof path, "%s", path_of("kept none"));
    assert_ok(wi_kept_file_read(NULL, path, &data, &bytes, &distrusted));
    assert_true(!distrusted && !data);
    assert_int_equal(mkdir(path_of("kept folder"), 0700), 0);
    snprintf(path, sizeof path, "%s", path_of("kept folder"));
    assert_fails(
        wi_kept_file_read(NULL, path, &data, &bytes, &distrusted), WEFT_ERROR_FILE, "is not a regular file");
    assert_true(!distrusted && !data);
}

/* In the place of the C library's, which Weft does not call on Windows. */
static bool disk_fails;
int fsync(int file) {
    if (!disk_fails) return fdatasync(file);
    errno = EIO;
    return -1;
}

/* What was written, as far as write() knows, and did not reach the disk. */
static void what_the_disk_lost_replaces_nothing(void **state) {
    (void)state;
#if defined(_WIN32)
    skip();
#endif
    put("lost", "old");
    disk_fails = true;
    const weft_status atomic = save("lost", "new"), private = save_private("lost");
    disk_fails = false;
    assert_int_equal(atomic, WEFT_ERROR_FILE);
    assert_fails(private, WEFT_ERROR_FILE, "cannot write '");
    assert_holds("lost", "old");
    assert_int_equal(scratch_count(folder, "lost", NULL), 1);
}

static void what_is_no_file_stays(void **state) {
    (void)state;
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    assert_fails(save("pipe", "x"), WEFT_ERROR_FILE, "/pipe': it is not a regular file");
    assert_true(S_ISFIFO(mode_of("pipe")));
    assert_fails(wi_file_write_atomic("/dev/null", "x", 1), WEFT_ERROR_FILE, "not a regular file");
}

static void only_our_temporaries_are_removed(void **state) {
    (void)state;
    put("words.1-2-3.tmp", "half");
    put("words.1-2.tmp", "the user's");
    put("words.backup.tmp", "the user's");
    put("words.1-2-3.tmp.tmp", "the user's");
    put("other.1-2-3.tmp", "another file's");
    assert_ok(save("words", "x"));
    assert_int_equal(scratch_count(folder, "words.1-2-3.tmp", NULL), 1);
    assert_int_equal(scratch_count(folder, ".tmp", NULL), 4);
}

static void names_of_temporaries(void **state) {
    (void)state;
    assert_true(
        wi_file_is_temporary("a.1-2-3.tmp") && wi_file_is_temporary("step-1.safetensors.77-0-12.tmp"));
    const char *const others[] = {"", ".tmp", "a.tmp", ".1-2-3.tmp", "a.1-2-.tmp", "a.-2-3.tmp", "a1-2-3.tmp",
        "a.1-2-3.tm", "1-2-3.tmp", "a.1-2.3.tmp", "a.1.2-3.tmp"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) assert_false(wi_file_is_temporary(others[i]));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_stays_and_leads_to_the_new_content),
        cmocka_unit_test(links_without_an_end_are_an_error),
        cmocka_unit_test(a_link_to_a_long_path_is_an_error),
        cmocka_unit_test(a_file_keeps_its_mode),
        cmocka_unit_test(a_private_file_replaces_what_has_its_name),
        cmocka_unit_test(a_kept_file_is_no_link),
        cmocka_unit_test(what_the_disk_lost_replaces_nothing),
        cmocka_unit_test(what_is_no_file_stays),
        cmocka_unit_test(only_our_temporaries_are_removed),
        cmocka_unit_test(names_of_temporaries),
    };
    char *const made = scratch_make();
    snprintf(folder, sizeof folder, "%s", made);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scratch_remove(made);
    return failed;
}
