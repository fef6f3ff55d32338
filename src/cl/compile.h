/* Compiling programs with the driver's compiler. */
#ifndef WI_COMPILE_H
#define WI_COMPILE_H

#include "cl/opened_device.h"

typedef struct wi_compiled {
    cl_program program; /* the caller releases it */
    cl_int error;       /* of clBuildProgram */
    bool undeclared;    /* compiled, but only without builtins.clh */
} wi_compiled;

/* Compiles a source with the kernel files that it includes. made->error says whether the build succeeded. If the call
 * itself fails (WEFT_ERROR_MEMORY, WEFT_ERROR_OPENCL, ...), there is no program.
 *
 * If the driver parses a long header of built-in functions for each program (WI_QUIRK_SLOW_HEADER), builtins.clh
 * replaces it, with the functions that Weft's kernels call. If the driver would compile each kernel several times
 * (WI_QUIRK_KERNEL_COPIES), kernels get a call that prevents this (compiled_once.h). If it optimises each kernel anyway
 * (WI_QUIRK_TWO_OPTIMISERS), an option of its compiler leaves the program as it was parsed. A source that does not compile in
 * this form is compiled once more unchanged, since it may call other functions; errors then name the lines of the
 * source. */
weft_status wi_compile(
    wi_compiled *made, const wi_device *device, const char *what, const char *source, const char *options);

#endif
