/* For tests of which kernels of class gpu a plan has where the device has a matrix engine. A model stands for the engine. */
#ifndef ENGINE_CHOICE_H
#define ENGINE_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <weft/weft.h>

/* With $WEFT_MATRIX_ENGINES as `engines`, and an own cache, as what checks of engines find is kept there. */
weft_context *engine_context(const char *engines, const char *cache);
/* Does a test have to be left out on this device, whose class is another, or which has less local memory than so many bytes, which an
 * engine's kernels take by its model? Prints why. */
bool engine_test_skipped(size_t local_bytes);
/* The name of the engine of a GPU that the test's device has, or a model of it: "mma"; NULL: none, and says so. */
const char *engine_of_device(void);
bool plan_has_step(const weft_plan *plan, const char *implementation);

#endif
