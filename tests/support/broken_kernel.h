/* Kernel files that are wrong on purpose, for tests of what the library does about them. */
#ifndef BROKEN_KERNEL_H
#define BROKEN_KERNEL_H

#include <stdbool.h>

/* Whether the embedded kernel file `name`, which must exist, contains the text `part`. */
bool kernel_has(const char *name, const char *part);
/* Writes the kernel file `name` to the folder, with the text `other` inserted before each occurrence of `part`, and makes the library read
 * its kernels from this folder (WEFT_KERNEL_DIR). */
void break_kernel(const char *folder, const char *name, const char *part, const char *other);

/* A test with its own folder in *state. The library runs its self-test even if the driver is known to pass it. */
#define SELF_TEST(test) cmocka_unit_test_setup_teardown(test, self_test_setup, self_test_teardown)
int self_test_setup(void **state);
int self_test_teardown(void **state);

#endif
