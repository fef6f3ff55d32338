/* Asynchronous copies: instructions of a GPU that copy from global to local memory without registers, while the
 * work-items compute with data that was copied before. cl_kernels/product/async_copy.clh has the instructions, and
 * models of them for tests. gpu_engines.h decides from what the driver reports whether a device has them. */
#ifndef WI_ASYNC_COPIES_H
#define WI_ASYNC_COPIES_H

#include "cl/opened_device.h"

/* Whether a kernel with the instructions compiles and writes the right numbers. The kernel runs once for a device and
 * driver, and the cache folder keeps the result; the log says why not. The thread's error message does not change. */
bool wi_async_copies_are_right(wi_device *device);

#endif
