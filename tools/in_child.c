/* See in_child.h. The child writes lines into a pipe; the last one counts. */
#include "in_child.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int to_parent = -1;

void in_child_say(const char *line) {
    char text[IN_CHILD_TEXT];
    if (to_parent < 0) return;
    snprintf(text, sizeof text - 1, "%s", line);
    strcat(text, "\n");
    if (write(to_parent, text, strlen(text)) < 0) to_parent = -1; /* nobody listens */
}

int in_child_written(int status) {
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    fputs("weft: cannot write to the standard output\n", stderr);
    return status == 0 ? 1 : status;
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
    int ends[2], status = 0;
    *end = (in_child_end){0};
    const pid_t process = start(ends, run, data);
    if (process < 0) {
        end->status = run(data);
        return;
    }
    listen_to(ends[0], end->said);
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
    in_child_follow(status);
    if (WIFSIGNALED(status))
        end->signal = WTERMSIG(status);
    else
        end->status = WEXITSTATUS(status);
}

void in_child_follow(int status) {
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGPIPE) return;
    (void)signal(SIGPIPE, SIG_DFL);
    (void)raise(SIGPIPE);
}
