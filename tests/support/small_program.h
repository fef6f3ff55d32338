/* A context on a cache folder, and a small program that is built, run and checked. */
#ifndef SMALL_PROGRAM_H
#define SMALL_PROGRAM_H

#include "cl/context.h"
#include "cl/program.h"

#define SMALL_SOURCE                                                                                         \
    "__kernel void scale(__global float *x, float factor) { x[get_global_id(0)] *= factor; }\n"              \
    "__kernel void shift(__global float *x, float by) { x[get_global_id(0)] += by; }\n"

/* Runs the program's scale and shift; false when the numbers are wrong. */
weft_status small_program_run(weft_context *context, wi_program *program, bool *right);
/* Gets SMALL_SOURCE with these options and runs it. Failure of any part is WEFT_ERROR_INTERNAL or the part's.
 */
weft_status small_program_use(weft_context *context, const char *options);

#endif
