/* Asynchronous copies: a GPU that has them brings what a kernel reads of global memory into local memory without a register, while
 * items multiply what came before. cl_kernels/product/async_copy.clh has the instructions, and the models of them for tests.
 * gpu_engines.h says by its report whether a device has them. */
#ifndef WI_ASYNC_COPIES_H
#define WI_ASYNC_COPIES_H

#include "cl/opened_device.h"

/* Does the device's compiler take the instructions, and does a kernel of them write the numbers that it should? Tried once for a
 * device and driver; the cache folder keeps the answer. Logs why not. The thread's error stays what it was. */
bool wi_async_copies_are_right(wi_device *device);

#endif
