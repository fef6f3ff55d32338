/* See in_child.h. */
#include "in_child.h"

int in_child_written(int status) {
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    fputs("weft: cannot write to the standard output\n", stderr);
    return status == 0 ? 1 : status;
}
