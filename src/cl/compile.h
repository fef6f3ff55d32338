/* Programs by the driver's compiler. */
#ifndef WI_COMPILE_H
#define WI_COMPILE_H

#include "cl/opened_device.h"

typedef struct wi_compiled {
    cl_program program; /* the caller's to release */
    cl_int error;       /* of the compiler */
    bool undeclared;    /* compiled, but not with builtins.clh */
} wi_compiled;

/* Compiles a source and the kernel files that it includes; made->error says whether the compiler took it. Another error leaves no program.
 *
 * Where the driver reads a long header of declarations for each program (WI_QUIRK_SLOW_HEADER), builtins.clh stands in its
 * place: the functions that Weft's kernels call. Where it would compile each kernel several times (WI_QUIRK_KERNEL_COPIES), kernels
 * get what keeps it from that (compiled_once.h). A source that does not compile in this form, as it calls another function or is wrong, is
 * compiled once more as it is, so that errors are told with the source's own lines. */
weft_status wi_compile(
    wi_compiled *made, const wi_device *device, const char *what, const char *source, const char *options);

#endif
