/* For tests of the kernels that a plan chooses on GPUs with a matrix engine. Where the device has no engine, a software model of one
 * is used. */
#ifndef ENGINE_CHOICE_H
#define ENGINE_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <weft/weft.h>

/* Opens a context with $WEFT_MATRIX_ENGINES set to `engines`, and with its own cache folder, because the results of the checks of engines
 * are cached there. */
weft_context *engine_context(const char *engines, const char *cache);
/* Whether a test must be skipped on this device, because it is not of class gpu, or has less than local_bytes bytes of local memory, which
 * the kernels with the model of an engine need. Prints the reason. */
bool engine_test_skipped(size_t local_bytes);
/* The name of the matrix engine of the test's device, or of the engine whose model it has, such as "mma". If there is none, prints a line
 * and returns NULL. */
const char *engine_of_device(void);
bool plan_has_step(const weft_plan *plan, const char *implementation);

#endif
