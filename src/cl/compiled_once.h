/* Kernels that the driver compiles only once (WI_QUIRK_KERNEL_COPIES).
 *
 * For each kernel PoCL creates two more functions, which take the arguments in an array and into which LLVM inlines the
 * kernel. All three are optimised and compiled, although PoCL launches only one. LLVM does not inline a function that
 * calls a function that may return twice, as setjmp does. Each kernel therefore begins with such a call, in a branch
 * for work-groups without items. The pass of PoCL that creates the two functions also sets the size of the group, so
 * that LLVM then removes the branch, and the machine code is the same as without the call.
 *
 * The call must be in the kernel itself, because only the function that contains it is not inlined. */
#ifndef WI_COMPILED_ONCE_H
#define WI_COMPILED_ONCE_H

#include "base/memory.h"

/* wi_compiled_once_append appends the source with the call in each kernel; line numbers do not change. The text
 * wi_compiled_once_function defines the called function and must precede the source once. */
extern const char wi_compiled_once_function[];
void wi_compiled_once_append(wi_text *text, const char *source);

#endif
