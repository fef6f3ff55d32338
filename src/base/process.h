/* What fork() leaves of Weft in a child. It copies memory, but neither the threads of a driver nor Weft's own, and locks stay as they
 * were at that moment: calls of the driver, waits for a thread and locks may then last for ever. So a process notes when it first
 * uses a driver, and its children know from then on that the driver is lost to them. Every thread of Weft's works for a context, so
 * that the note is made before the first of them.
 *
 * A handler of pthread_atfork sets the flag. To compare getpid() would ask the system at every call of a driver, which takes longer
 * than some of these calls. Neither sees what a program does that calls clone() itself. */
#ifndef WI_PROCESS_H
#define WI_PROCESS_H

#include "base/status.h"

/* Written only by the handler, in a child that has one thread. */
extern bool wi_process_driver_is_lost;

/* An ancestor used a driver. The process then has no threads of Weft's, and takes none of its locks. */
static inline bool wi_process_lost_driver(void) {
    return wi_process_driver_is_lost;
}

/* WEFT_ERROR_STATE where the driver is lost. */
weft_status wi_process_check_driver(void);
/* Before the first use of a driver, and at any time later: as wi_process_check_driver; children lose the driver from now on. */
weft_status wi_process_begin_driver(void);

#endif
