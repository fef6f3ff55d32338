/* Programs that the library starts (contract in child.h). */
#define _GNU_SOURCE /* dladdr */
#include "base/child.h"
#include "base/platform.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The folder of the file with this code: libweft, or a program that is linked with the static library. The name of a program that the
 * shell found has no folder; it is not looked for in the working directory, where anybody may have put a file. */
static bool find_folder(char folder[WI_PATH_CAPACITY]) {
    Dl_info info;
    const char *name;
    static const char here;
    char path[WI_PATH_CAPACITY];
    if (!dladdr((const void *)&here, &info) || !info.dli_fname) return false;
    const bool has_folder = strchr(info.dli_fname, '/') != NULL;
    const ssize_t length = has_folder ? 0 : readlink("/proc/self/exe", path, sizeof path - 1);
    if (!has_folder && length <= 0) return false;
    path[length] = '\0';
    wi_path_split(has_folder ? info.dli_fname : path, folder, WI_PATH_CAPACITY, &name);
    return true;
}

bool wi_find_beside(char *path, size_t capacity, const char *name) {
    static const char *const places[] = {
        "%s/weft/%s", "%s/%s", "%s/../" WI_LIBRARY_FOLDER "/weft/%s", "%s/../%s"};
    char folder[WI_PATH_CAPACITY];
    if (!find_folder(folder)) return false;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, capacity, places[i], folder, name);
        if (wi_file_exists(path)) return true;
    }
    return false;
}

/* The program's signals are as if a shell had started it, whatever the caller blocks or ignores. */
static int set_signals(posix_spawnattr_t *attributes) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int error = posix_spawnattr_setsigmask(attributes, &none);
    if (error == 0) error = posix_spawnattr_setsigdefault(attributes, &all);
    return error != 0 ? error
                      : posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

static int set_files(posix_spawn_file_actions_t *actions, int input) {
    int error = posix_spawn_file_actions_adddup2(actions, input, STDIN_FILENO);
    for (int output = STDOUT_FILENO; error == 0 && output <= STDERR_FILENO; output++)
        error = posix_spawn_file_actions_addopen(actions, output, "/dev/null", O_WRONLY, 0);
    return error;
}

static int spawn(wi_child *child, const char *path, const char *const *arguments, int input) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    pid_t process = 0;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0) return error;
    error = posix_spawnattr_init(&attributes);
    if (error != 0) goto no_attributes;
    error = set_signals(&attributes);
    if (error == 0) error = set_files(&actions, input);
    if (error == 0)
        error = posix_spawn(&process, path, &actions, &attributes, (char *const *)(void *)arguments, environ);
    if (error == 0) child->process = process;
    posix_spawnattr_destroy(&attributes);
no_attributes:
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* A file and not a pipe, because nobody then has to write while the program reads. */
bool wi_child_start(
    wi_child *child, const char *path, const char *const *arguments, const void *input, size_t bytes) {
    FILE *const file = tmpfile();
    child->process = 0;
    if (!file) return false;
    if (fwrite(input, 1, bytes, file) == bytes && fflush(file) == 0 && fseek(file, 0, SEEK_SET) == 0) {
        const int error = spawn(child, path, arguments, fileno(file));
        if (error != 0) errno = error;
    }
    const int error = errno;
    fclose(file);
    errno = error;
    return child->process > 0;
}

bool wi_child_has_ended(wi_child *child, int *result) {
    int status = 0;
    *result = -1;
    if (child->process <= 0) return false;
    const pid_t ended = waitpid((pid_t)child->process, &status, WNOHANG);
    if (ended == 0) return false;
    if (ended > 0 && WIFEXITED(status)) *result = WEXITSTATUS(status);
    if (ended > 0 && WIFSIGNALED(status)) *result = -WTERMSIG(status);
    child->process = 0;
    return true;
}

/* The number of a program that somebody has waited for may belong to another one by now, which must not be ended. */
void wi_child_end(wi_child *child) {
    int result;
    if (child->process <= 0 || wi_child_has_ended(child, &result)) return;
    kill((pid_t)child->process, SIGKILL);
    while (waitpid((pid_t)child->process, NULL, 0) < 0 && errno == EINTR) {}
    child->process = 0;
}
