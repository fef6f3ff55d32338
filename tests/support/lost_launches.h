/* Launches of kernels that a driver drops, by the layer of faults, for tests of what the library does about them. */
#ifndef LOST_LAUNCHES_H
#define LOST_LAUNCHES_H

#include "faults/fault_layer.h"

/* First of all in main: starts the program once more, with the layer. */
void lost_launches_open(char **argv);
/* The nth launch from now on, from 1, is dropped, and the next call that waits fails with CL_OUT_OF_RESOURCES. 0: none is. */
void lost_launches_lose(long nth);
/* Nothing that the program had is left. */
void lost_launches_assert_nothing_left(void);

#endif
