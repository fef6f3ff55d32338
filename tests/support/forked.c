/* Children of fork() (contract in forked.h). */
#include "support/forked.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/base.h>

bool forked_run(int (*work)(void *user), void *user, unsigned seconds) {
    int status = -1;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        alarm(seconds);
        _exit(work(user));
    }
    if (child < 0 || waitpid(child, &status, 0) != child) return false;
    if (WIFSIGNALED(status)) fprintf(stderr, "the child ended by signal %d\n", WTERMSIG(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int forked_failed(const char *file, int line, const char *what) {
    fprintf(stderr, "%s:%d: in the child: %s does not hold: %s\n", file, line, what, weft_last_error());
    return 1;
}
