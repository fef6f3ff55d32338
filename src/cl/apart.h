/* Kernels that the driver compiles once.
 *
 * PoCL makes two functions of each kernel that its launches may call, with their arguments in an array each, and inlines the
 * kernel in both: LLVM then optimises and translates it three times, the kernel itself included, though one of the two is never
 * called. It does not inline what calls a function that may return twice, as setjmp does. So each kernel calls
 * one where its group has no items at all. PoCL sets the group's size as it makes the two functions, and LLVM leaves the
 * call out as soon as they are made: the code of the kernel is what it would be without. */
#ifndef WI_APART_H
#define WI_APART_H

#include "base/memory.h"

/* The source with that call in each kernel, in the same lines; what stands before it, once, is wi_apart_function. */
extern const char wi_apart_function[];
void wi_apart_append(wi_text *text, const char *source);

#endif
