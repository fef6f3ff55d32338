/* What remains usable in a child after fork(). fork() copies memory, but neither the driver's threads nor those of
 * Weft, and locks stay as they were. In the child, calls of the driver, waits for a thread, and locks may therefore
 * block for ever. Before its first use of a driver, a process registers a handler (wi_process_begin_driver); in all its
 * later children this handler sets a flag: the child has lost the driver. All of Weft's threads belong to a context, so
 * that the handler is registered before they start.
 *
 * Comparing getpid() instead would cost a system call at each call of the driver, more than some of these calls take.
 * Neither way notices a program that calls clone() itself. */
#ifndef WI_PROCESS_H
#define WI_PROCESS_H

#include "base/status.h"

/* Only the handler writes this flag, in a child that has a single thread. */
extern bool wi_process_driver_is_lost;

/* True if the driver was used in a parent process. This process then has no threads of Weft, and must not take its
 * locks. */
static inline bool wi_process_lost_driver(void) {
    return wi_process_driver_is_lost;
}

/* WEFT_ERROR_STATE if the driver is lost. */
weft_status wi_process_check_driver(void);
/* Call this before the first use of a driver; later calls only check. From now on, children lose the driver. Errors:
 * those of wi_process_check_driver, WEFT_ERROR_MEMORY. */
weft_status wi_process_begin_driver(void);

#endif
