/* A small OpenCL program that tests build and run, and whose results they check. */
#ifndef SMALL_PROGRAM_H
#define SMALL_PROGRAM_H

#include "cl/context.h"
#include "cl/program.h"

#define SMALL_SOURCE                                                                                         \
    "__kernel void scale(__global float *x, float factor) { x[get_global_id(0)] *= factor; }\n"              \
    "__kernel void shift(__global float *x, float by) { x[get_global_id(0)] += by; }\n"

/* Runs the program's kernels scale and shift. *right: whether the results are right. */
weft_status small_program_run(weft_context *context, wi_program *program, bool *right);
/* Builds SMALL_SOURCE with these compiler options, or loads it from the cache, and runs it. WEFT_ERROR_INTERNAL: a result is
 * wrong. Other errors are those of building and running. */
weft_status small_program_use(weft_context *context, const char *options);

#endif
