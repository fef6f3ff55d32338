/* Kernel files that are wrong on purpose, for tests of what the library does about them. */
#ifndef BROKEN_KERNEL_H
#define BROKEN_KERNEL_H

#include <stdbool.h>

/* Does an embedded file, which there is, have the part? */
bool kernel_has(const char *name, const char *part);
/* Writes the file with another text before every place of `part`, which it has, into a folder that then takes the place of
 * cl_kernels (WEFT_KERNEL_DIR). */
void break_kernel(const char *folder, const char *name, const char *part, const char *other);

/* A test with a folder of its own in *state, and with the self-test also where the driver has passed the suite. */
#define SELF_TEST(test) cmocka_unit_test_setup_teardown(test, self_test_setup, self_test_teardown)
int self_test_setup(void **state);
int self_test_teardown(void **state);

#endif
