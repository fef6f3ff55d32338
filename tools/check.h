/* weft check: a numeric self-test of a device through the public API, and what it forgets before. */
#ifndef WEFT_CHECK_H
#define WEFT_CHECK_H

#include <stdbool.h>
#include <weft/device.h>

/* Prints one line a case to stdout; all: every recorded case instead of one an op. Returns 0 when all pass, 1
 * when one fails or the device cannot be used. */
int weft_check(const char *device, bool all);
/* Forgets which kernels did not compile, of all devices, and prints how many these were. */
weft_status weft_check_forget(void);

#endif
