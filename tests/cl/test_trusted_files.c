/* Compiled kernels and kernel files are used only if nobody but the user can have written them. Tests as root have
 * files of another user; for others, root's are that. */
#include "base/platform.h"
#include "base/trusted_file.h"
#include "cl/device_values.h"
#include "cl/kernel_source.h"
#include "support/checks.h"
#include "support/scratch.h"
#include "support/small_program.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static weft_context *open_logged(const char *folder, scratch_log *log) {
    *log = (scratch_log){0};
    return scratch_context(folder, log);
}

/* Uses the small program on the folder and gives it another name to look up; whether it came from disk. */
static bool use(const char *folder, scratch_log *log) {
    double value = 0;
    weft_context *const context = open_logged(folder, log);
    assert_ok(small_program_use(context, NULL));
    (void)wi_device_value_get(wi_context_device(context), "speed", &value);
    const bool loaded = wi_programs_stats(wi_context_device(context))->loaded == 1;
    assert_int_equal(loaded, value == 2.0); /* one is refused as the other */
    wi_device_value_set(wi_context_device(context), "speed", 2.0);
    wi_programs_save(wi_context_device(context));
    weft_context_release(context);
    return loaded;
}

static void change_entries(const char *folder, mode_t mode, uid_t owner) {
    char path[PATH_MAX];
    DIR *const open = opendir(folder);
    assert_non_null(open);
    for (struct dirent *entry; (entry = readdir(open));) {
        if (!strstr(entry->d_name, ".weft")) continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        assert_int_equal(chmod(path, mode), 0);
        if (owner) assert_int_equal(chown(path, owner, owner), 0);
    }
    closedir(open);
}

static void assert_said_once(const scratch_log *log, const char *line) {
    const char *const found = strstr(log->text, line);
    if (!found) fail_msg("'%s' is not in the log:\n%s", line, log->text);
    assert_null(strstr(found + 1, line));
    assert_int_equal(log->warnings, 1);
}

static void folder_and_entries_are_private(void **state) {
    char folder[PATH_MAX], path[PATH_MAX];
    struct stat made;
    scratch_log log;
    const mode_t before = umask(0);
    snprintf(folder, sizeof folder, "%s", scratch_path(*state, "new/cache"));
    assert_false(use(folder, &log));
    umask(before);
    assert_int_equal(log.warnings, 0);
    assert_int_equal(stat(folder, &made), 0);
    assert_int_equal(made.st_mode & 0777, 0700);
    assert_true(scratch_count(folder, ".weft", path) >= 2);
    assert_int_equal(stat(path, &made), 0);
    assert_int_equal(made.st_mode & 0777, 0600);
    assert_true(use(folder, &log)); /* and so they are used again */
    assert_int_equal(log.warnings, 0);
}

static void entries_that_others_may_write_are_not_used(void **state) {
    static const mode_t modes[] = {0620, 0602, 0666};
    scratch_log log;
    assert_false(use(*state, &log));
    change_entries(*state, 0644, 0);
    assert_true(use(*state, &log));
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        change_entries(*state, modes[i], 0);
        assert_false(use(*state, &log));
        assert_said_once(&log, "such entries are not used");
        assert_non_null(strstr(log.text, "users other than the owner may write to"));
        assert_true(use(*state, &log)); /* it was replaced by a good one */
    }
}

/* Moves the entries to another folder, and leaves links in their places. */
static void replace_entries_by_links(const char *folder, const char *elsewhere) {
    char path[PATH_MAX], target[PATH_MAX];
    DIR *const open = opendir(folder);
    assert_non_null(open);
    for (struct dirent *entry; (entry = readdir(open));) {
        if (!strstr(entry->d_name, ".weft")) continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        snprintf(target, sizeof target, "%s/%s", elsewhere, entry->d_name);
        assert_int_equal(rename(path, target), 0);
        assert_int_equal(chmod(target, 0644), 0);
        assert_int_equal(symlink(target, path), 0);
    }
    closedir(open);
}

/* No entry is a link, and no file that links led to was changed. */
static int count_links(const char *folder, const char *elsewhere) {
    char path[PATH_MAX];
    struct stat state;
    int links = 0;
    DIR *const open = opendir(folder);
    assert_non_null(open);
    for (struct dirent *entry; (entry = readdir(open));) {
        if (!strstr(entry->d_name, ".weft")) continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        assert_int_equal(lstat(path, &state), 0);
        links += S_ISLNK(state.st_mode);
        snprintf(path, sizeof path, "%s/%s", elsewhere, entry->d_name);
        if (stat(path, &state) == 0) assert_int_equal(state.st_mode & 0777, 0644);
    }
    closedir(open);
    return links;
}

static void links_are_neither_used_nor_written_through(void **state) {
    char elsewhere[PATH_MAX];
    scratch_log log;
    size_t forgotten = 0;
    snprintf(elsewhere, sizeof elsewhere, "%s", scratch_path(*state, "elsewhere"));
    assert_int_equal(mkdir(elsewhere, 0700), 0);
    assert_false(use(*state, &log));
    replace_entries_by_links(*state, elsewhere);
    assert_true(count_links(*state, elsewhere) >= 2);
    assert_ok(wi_disk_cache_forget_failures(NULL, *state, &forgotten));
    assert_false(use(*state, &log));
    assert_said_once(&log, "is a symbolic link; such entries are not used");
    assert_int_equal(count_links(*state, elsewhere), 0);
    assert_true(use(*state, &log));
    assert_int_equal(log.warnings, 0);
    replace_entries_by_links(*state, elsewhere);
    assert_true(scratch_count(elsewhere, ".weft", NULL) >= 2);
    scratch_remove(strdup(elsewhere));
    assert_false(use(*state, &log)); /* links to nothing */
    assert_int_equal(scratch_count(elsewhere, "", NULL), -1);
    assert_true(use(*state, &log));
}

static void a_folder_that_others_may_write_is_not_used(void **state) {
    static const mode_t modes[] = {0770, 0707, 01777};
    scratch_log log;
    assert_false(use(*state, &log));
    const int entries = scratch_count(*state, ".weft", NULL);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod(*state, modes[i]), 0);
        assert_false(use(*state, &log));
        assert_said_once(&log, "the folder is not used");
    }
    assert_int_equal(scratch_count(*state, ".weft", NULL), entries);
    assert_int_equal(scratch_count(*state, ".tmp", NULL), 0);
    assert_int_equal(chmod(*state, 0755), 0);
    assert_true(use(*state, &log));
}

static void roots_folder_is_not_used(void) {
    scratch_log log;
    assert_fails(wi_trusted_file_check("/", NULL), WEFT_ERROR_FILE, "'/' belongs to another user");
    assert_false(use("/", &log));
    assert_said_once(&log, "belongs to another user; the folder is not used");
}

static void what_belongs_to_another_is_not_used(void **state) {
    scratch_log log;
    size_t forgotten = 0;
    if (geteuid() != 0) {
        roots_folder_is_not_used();
        return;
    }
    assert_ok(wi_trusted_file_check(*state, NULL));
    assert_false(use(*state, &log));
    change_entries(*state, 0644, NOBODY);
    assert_false(use(*state, &log));
    assert_said_once(&log, "belongs to another user; such entries are not used");
    assert_true(use(*state, &log));
    assert_int_equal(chown(*state, NOBODY, NOBODY), 0);
    assert_false(use(*state, &log));
    assert_said_once(&log, "belongs to another user; the folder is not used");
    assert_fails(wi_disk_cache_forget_failures(NULL, *state, &forgotten), WEFT_ERROR_FILE, "another user");
}

/* As with sudo: the folder would be root's, and its owner's programs could not use it. */
static void no_folder_is_made_in_the_home_of_another(void **state) {
    char home[PATH_MAX];
    scratch_log log;
    char *kept[3];
    static const char *const names[] = {"HOME", "XDG_CACHE_HOME", "WEFT_CACHE_DIR"};
    for (int i = 0; i < 3; i++) kept[i] = getenv(names[i]) ? strdup(getenv(names[i])) : NULL;
    const bool root = geteuid() == 0;
    snprintf(home, sizeof home, "%s", root ? scratch_path(*state, "home") : "/");
    if (root) assert_int_equal(mkdir(home, 0755), 0);
    if (root) assert_int_equal(chown(home, NOBODY, NOBODY), 0);
    unsetenv("WEFT_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", home, 1);
    assert_false(use(NULL, &log));
    assert_said_once(&log, "belongs to another user; nothing is kept on disk");
    if (root) assert_int_equal(rmdir(home), 0); /* it is empty */
    for (int i = 0; i < 3; i++) {
        if (kept[i]) setenv(names[i], kept[i], 1);
        if (!kept[i]) unsetenv(names[i]);
        free(kept[i]);
    }
}

static bool replaces(const char *folder, scratch_log *log) {
    wi_text source;
    const wi_log target = {.function = scratch_log_line, .user = log};
    *log = (scratch_log){0};
    setenv("WEFT_KERNEL_DIR", folder, 1);
    wi_kernel_source_check(&target);
    wi_text_init(&source, NULL);
    assert_ok(wi_kernel_source_append(&source, "copy.cl"));
    const bool own = strcmp(source.data, "mine") == 0;
    wi_text_clear(&source);
    unsetenv("WEFT_KERNEL_DIR");
    return own;
}

static const char *path_of_copy(void) {
    const wi_kernel_file *file = wi_kernel_files;
    while (strcmp(file->name, "copy.cl") != 0) file++;
    return file->path;
}

static void kernel_files_that_others_may_write_are_not_used(void **state) {
    char folder[PATH_MAX], path[PATH_MAX];
    const char *name, *const root = *state;
    scratch_log log;
    snprintf(path, sizeof path, "%s", scratch_path(root, path_of_copy()));
    wi_path_split(path, folder, sizeof folder, &name);
    assert_ok(wi_directory_create(folder, true));
    assert_ok(wi_file_write_atomic(path, "mine", 4));
    assert_int_equal(chmod(path, 0644), 0);
    assert_true(replaces(root, &log));
    assert_int_equal(log.warnings, 0);
    const char *const parts[] = {path, folder, root};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(chmod(parts[i], i == 0 ? 0664 : 0777), 0);
        assert_false(replaces(root, &log));
        assert_said_once(&log, "WEFT_KERNEL_DIR: users other than the owner may write to");
        assert_int_equal(chmod(parts[i], 0755), 0);
        assert_true(replaces(root, &log));
        if (geteuid() != 0) continue;
        assert_int_equal(chown(parts[i], NOBODY, NOBODY), 0);
        assert_false(replaces(root, &log));
        assert_said_once(&log, "belongs to another user");
        assert_int_equal(chown(parts[i], 0, 0), 0);
    }
    setenv("WEFT_KERNEL_DIR", root, 1);
    assert_int_equal(chmod(path, 0666), 0);
    weft_context *const context = open_logged("", &log); /* a context says it */
    weft_context_release(context);
    unsetenv("WEFT_KERNEL_DIR");
    assert_said_once(&log, "WEFT_KERNEL_DIR: users other than the owner may write to");
}

#define WITH_SCRATCH(test) SCRATCH_TEST(test)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_SCRATCH(folder_and_entries_are_private),
        WITH_SCRATCH(entries_that_others_may_write_are_not_used),
        WITH_SCRATCH(links_are_neither_used_nor_written_through),
        WITH_SCRATCH(a_folder_that_others_may_write_is_not_used),
        WITH_SCRATCH(what_belongs_to_another_is_not_used),
        WITH_SCRATCH(no_folder_is_made_in_the_home_of_another),
        WITH_SCRATCH(kernel_files_that_others_may_write_are_not_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
