/* Folders, allocators and logs for tests (contract in scratch.h). */
#include "support/scratch.h"
#include "support/checks.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *scratch_make(void) {
    const char *const base = getenv("TMPDIR");
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/weft-test-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(path)) abort();
    return strdup(path);
}

static void remove_tree(const char *path) {
    struct stat state;
    if (lstat(path, &state) != 0) return;
    if (!S_ISDIR(state.st_mode)) {
        unlink(path);
        return;
    }
    chmod(path, 0700);
    DIR *const folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char child[PATH_MAX];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (snprintf(child, sizeof child, "%s/%s", path, entry->d_name) < (int)sizeof child)
            remove_tree(child);
    }
    if (folder) closedir(folder);
    rmdir(path);
}

void scratch_remove(char *folder) {
    if (!folder) return;
    remove_tree(folder);
    free(folder);
}

int scratch_setup(void **state) {
    *state = scratch_make();
    return 0;
}

int scratch_teardown(void **state) {
    scratch_remove(*state);
    return 0;
}

const char *scratch_path(const char *folder, const char *name) {
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

int scratch_count(const char *folder, const char *part, char *path) {
    DIR *const open = opendir(folder);
    if (!open) return -1;
    int count = 0;
    for (struct dirent *entry; (entry = readdir(open));) {
        if (entry->d_name[0] == '.' || !strstr(entry->d_name, part)) continue;
        if (path) snprintf(path, PATH_MAX, "%s/%s", folder, entry->d_name);
        count++;
    }
    closedir(open);
    return count;
}

static bool may_allocate(scratch_allocator *allocator) {
    const long limit = atomic_load(&allocator->fail_after);
    const long before = atomic_fetch_add(&allocator->made, 1);
    return before < limit || limit < 0 || (before > limit && atomic_load(&allocator->once));
}

static void *scratch_allocate(void *user, size_t bytes) {
    scratch_allocator *const allocator = user;
    void *const block = may_allocate(allocator) ? malloc(bytes) : NULL;
    if (block) memset(block, 0xA5, bytes); /* the library must not expect zeros from the allocator */
    if (block) atomic_fetch_add(&allocator->live, 1);
    return block;
}

static void *scratch_reallocate(void *user, void *block, size_t bytes) {
    scratch_allocator *const allocator = user;
    void *const grown = may_allocate(allocator) ? realloc(block, bytes) : NULL;
    if (grown && !block) atomic_fetch_add(&allocator->live, 1);
    return grown;
}

static void scratch_release(void *user, void *block) {
    scratch_allocator *const allocator = user;
    if (block) atomic_fetch_sub(&allocator->live, 1);
    free(block);
}

void scratch_allocator_init(scratch_allocator *allocator, long fail_after) {
    atomic_init(&allocator->made, 0);
    atomic_init(&allocator->live, 0);
    atomic_init(&allocator->fail_after, fail_after);
    atomic_init(&allocator->once, false);
    allocator->hooks = (weft_allocator){scratch_allocate, scratch_reallocate, scratch_release, allocator};
}

void scratch_log_line(void *user, weft_log_level level, const char *line) {
    scratch_log *const log = user;
    const size_t used = strlen(log->text);
    snprintf(log->text + used, sizeof log->text - used, "%s\n", line);
    log->warnings += level == WEFT_LOG_WARNING;
}

weft_context *scratch_context(const char *folder, scratch_log *log) {
    const weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = folder,
        .log = log ? scratch_log_line : NULL, .log_user = log};
    weft_context *context = NULL;
    assert_ok(weft_context_create(&context, &options));
    return context;
}
