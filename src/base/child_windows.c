/* Programs that the library starts (contract in child.h): none on Windows, where no driver that Weft knows gains by it. */
#include "base/child.h"
#include <errno.h>

bool wi_find_beside(char *path, size_t capacity, const char *name) {
    (void)name;
    if (capacity > 0) *path = '\0';
    return false;
}

bool wi_child_start(
    wi_child *child, const char *path, const char *const *arguments, const void *input, size_t bytes) {
    (void)path, (void)arguments, (void)input, (void)bytes;
    child->process = 0;
    errno = ENOSYS;
    return false;
}

bool wi_child_has_ended(wi_child *child, int *result) {
    (void)child;
    *result = -1;
    return false;
}

void wi_child_end(wi_child *child) {
    (void)child;
}
