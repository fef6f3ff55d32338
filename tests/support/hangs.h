/* Launches of kernels that do not end, by the layer of faults, for tests of what the library does about them. */
#ifndef HANGS_H
#define HANGS_H

#include "faults/fault_layer.h"

/* First of all in main: starts the program once more, with the layer. */
void hangs_open(char **argv);
/* The nth launch of a kernel from now on, from 1; all: those after it, too. 0: none. */
void hangs_arm(long nth, bool all);
/* The nth launch is dropped, and the next call that waits fails with CL_OUT_OF_RESOURCES. */
void hangs_lose(long nth);
/* Nothing that the program had is left, though the launch still hangs; then it ends. */
void hangs_assert_nothing_left(void);

#endif
