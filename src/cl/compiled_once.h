/* Kernels that the driver compiles once (WI_QUIRK_KERNEL_COPIES).
 *
 * PoCL makes two more functions of each kernel, which take its arguments in an array, and has LLVM inline the kernel in both. All three
 * are then optimised and translated, though it launches only one. LLVM does not inline a function that calls one that may return
 * twice, as setjmp does. So each kernel begins with such a call, in a branch for groups of no items. PoCL sets the group's size in the
 * same pass that makes the two functions, and LLVM drops the branch in the next one: the kernel's code is what it would be without.
 *
 * The call must stand in the kernel itself: it keeps any function from being inlined that has it. */
#ifndef WI_COMPILED_ONCE_H
#define WI_COMPILED_ONCE_H

#include "base/memory.h"

/* The source with that call in each kernel, in the same lines; what stands before it, once, is wi_compiled_once_function. */
extern const char wi_compiled_once_function[];
void wi_compiled_once_append(wi_text *text, const char *source);

#endif
