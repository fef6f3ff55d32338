/* For tests of how the library handles a driver that drops launches: the fault layer (tests/faults) drops a chosen launch. */
#ifndef LOST_LAUNCHES_H
#define LOST_LAUNCHES_H

#include "faults/fault_layer.h"

/* Must be the first call in main: starts the program again, with the fault layer loaded. */
void lost_launches_open(char **argv);
/* Drops the nth launch from now on (the next one is 1); the next call that waits then fails with CL_OUT_OF_RESOURCES. 0: drops none. */
void lost_launches_lose(long nth);
/* Asserts that the program has released all OpenCL objects. */
void lost_launches_assert_nothing_left(void);

#endif
