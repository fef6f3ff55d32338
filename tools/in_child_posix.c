/* See in_child.h. The child writes lines into a pipe; the last one counts. */
#define _GNU_SOURCE /* environ */
#include "in_child.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

static int to_parent = -1;

void in_child_say(const char *line) {
    char text[IN_CHILD_TEXT];
    if (to_parent < 0) return;
    const int length = snprintf(text, sizeof text, "%.*s\n", IN_CHILD_TEXT - 2, line);
    if (write(to_parent, text, (size_t)length) < 0) to_parent = -1; /* nobody listens */
}

/* Until the child has ended, and all that it started. */
static void listen_to(int from, char said[IN_CHILD_TEXT]) {
    FILE *const lines = fdopen(from, "r");
    char line[IN_CHILD_TEXT];
    while (lines && fgets(line, sizeof line, lines)) {
        line[strcspn(line, "\n")] = '\0';
        memcpy(said, line, sizeof line);
    }
    if (lines)
        fclose(lines);
    else
        close(from);
}

/* Where a child ended since nobody reads what it prints (`weft check | head`), this process ends in the same way, without a word. */
static void follow(int status) {
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGPIPE) return;
    (void)signal(SIGPIPE, SIG_DFL);
    (void)raise(SIGPIPE);
}

static void wait_for(in_child_end *end, pid_t process) {
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFSIGNALED(status))
        end->signal = WTERMSIG(status);
    else
        end->status = WEXITSTATUS(status);
    follow(status);
}

static pid_t start(int ends[2], int (*run)(const void *data), const void *data) {
    fflush(NULL);
    if (pipe(ends) != 0) return -1;
    const pid_t process = fork();
    if (process == 0) {
        close(ends[0]);
        to_parent = ends[1];
        exit(in_child_written(run(data)));
    }
    close(ends[1]);
    if (process < 0) close(ends[0]);
    return process;
}

void in_child(in_child_end *end, int (*run)(const void *data), const void *data) {
    int ends[2];
    *end = (in_child_end){0};
    const pid_t process = start(ends, run, data);
    if (process < 0) {
        end->status = run(data);
        return;
    }
    listen_to(ends[0], end->said);
    wait_for(end, process);
}

/* Until the child has ended, or hangs. */
static void watch_pipe(in_child_watch *watch, int from) {
    struct pollfd waits = {.fd = from, .events = POLLIN};
    char byte;
    for (;;) {
        const int ready = poll(&waits, 1, (int)(1e3 * watch->patience(watch->watched)));
        if (ready < 0 && errno == EINTR) continue;
        watch->hangs = ready == 0;
        if (ready <= 0 || read(from, &byte, 1) <= 0) return;
        watch->take(watch->watched, byte);
    }
}

void in_child_watched(
    in_child_end *end, int (*run)(const void *data, int file), const void *data, in_child_watch *watch) {
    int ends[2];
    *end = (in_child_end){.status = 1};
    fflush(stdout);
    if (pipe(ends) != 0) return;
    const pid_t process = fork();
    if (process == 0) {
        close(ends[0]);
        _exit(in_child_written(run(data, ends[1])));
    }
    close(ends[1]);
    if (process > 0) {
        watch_pipe(watch, ends[0]);
        if (watch->hangs) kill(process, SIGKILL);
    }
    close(ends[0]);
    if (process > 0) wait_for(end, process);
}

/* ---- other programs ---- */

static bool is_named(const char *variable, const char *name) {
    const size_t length = strlen(name);
    return strncmp(variable, name, length) == 0 && variable[length] == '=';
}

static bool is_replaced(const char *variable, const char *const *variables, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (is_named(variable, variables[2 * i])) return true;
    return false;
}

/* The environment with the variables; freed with free(), the texts of the variables first. NULL: no memory. */
static char **make_environment(const char *const *variables, size_t count) {
    size_t all = 0, kept = count;
    while (environ[all]) all++;
    char **const made = calloc(all + count + 1, sizeof *made);
    for (size_t i = 0; made && i < count; i++) {
        const size_t bytes = strlen(variables[2 * i]) + strlen(variables[2 * i + 1]) + 2;
        if ((made[i] = malloc(bytes)))
            snprintf(made[i], bytes, "%s=%s", variables[2 * i], variables[2 * i + 1]);
    }
    for (size_t i = 0; made && i < all; i++)
        if (!is_replaced(environ[i], variables, count)) made[kept++] = environ[i];
    return made;
}

static int spawn(pid_t *process, const int ends[2], char *const *arguments, char *const *variables) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    fflush(NULL);
    const int error = posix_spawn(process, "/proc/self/exe", &actions, NULL, arguments, variables);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

bool in_child_start(
    in_child_program *program, char *const *arguments, const char *const *variables, size_t count) {
    int ends[2];
    pid_t process = -1;
    char **const all = make_environment(variables, count);
    int error = all ? 0 : ENOMEM;
    if (error == 0 && pipe(ends) != 0) error = errno;
    if (error == 0) {
        error = spawn(&process, ends, arguments, all);
        close(ends[1]);
        if (!error && !(program->output = fdopen(ends[0], "r"))) error = errno;
        if (error) close(ends[0]);
    }
    for (size_t i = 0; all && i < count; i++) free(all[i]);
    free(all);
    program->process = process;
    errno = error;
    return error == 0;
}

bool in_child_shell(in_child_program *program, const char *command) {
    fflush(NULL);
    program->process = -1;
    program->output = popen(command, "r");
    return program->output != NULL;
}

void in_child_wait(in_child_end *end, const in_child_program *program) {
    *end = (in_child_end){0};
    if (program->process >= 0) {
        fclose(program->output);
        wait_for(end, (pid_t)program->process);
        return;
    }
    const int status = pclose(program->output);
    if (WIFEXITED(status))
        end->status = WEXITSTATUS(status);
    else
        end->signal = WTERMSIG(status);
}

void in_child_system(char *text, size_t capacity) {
    struct utsname system = {0};
    (void)uname(&system);
    snprintf(text, capacity, "%s %s, %s", system.sysname, system.release, system.machine);
}
