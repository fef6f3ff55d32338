/* Counts the OpenCL objects that a program holds. The functions that soak_handles.c defines come before those of the
 * loader for all that is linked into the program. */
#ifndef SOAK_HANDLES_H
#define SOAK_HANDLES_H

/* Contexts, queues, buffers, programs, kernels and events: references made less those released. From any thread. */
long counted_handles(void);

/* What the process holds: files that are open, and bytes of memory that are resident. */
long counted_files(void);
long counted_resident(void);

#endif
