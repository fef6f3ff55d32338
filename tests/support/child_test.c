/* Contract in child_test.h. */
#include "support/child_test.h"
#include "support/scratch.h"
#include <sys/wait.h>
#include <unistd.h>

int child_test(int (*test)(const char *folder), unsigned seconds) {
    char *const folder = scratch_make();
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        alarm(seconds);
        _exit(test(folder));
    }
    const bool ended = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status);
    scratch_remove(folder);
    return ended ? WEXITSTATUS(status) : -1;
}
