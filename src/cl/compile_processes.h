/* Processes that compile kernels beside this one (weft_context_options.compile_processes).
 *
 * PoCL compiles a kernel at its first launch, behind a lock, and keeps it in a folder. A process that builds the same program, which it
 * finds in that folder, and launches the same kernels, therefore compiles them for this one, whose launches find them there. This process
 * waits for nobody: it compiles the kernels of a plan in the order of their launches, the processes begin with the last one. At worst, a
 * kernel is compiled twice.
 *
 * The processes launch one work-group of each kernel, on buffers of the right sizes that are all zeros. Whatever goes wrong in them, this
 * process compiles the kernels itself. */
#ifndef WI_COMPILE_PROCESSES_H
#define WI_COMPILE_PROCESSES_H

#include "cl/launch.h"
#include "cl/opened_device.h"

/* The kernels of a plan, which are collected while their launches are created. All functions accept NULL. */
typedef struct wi_compile_request wi_compile_request;

/* Sets how many processes the device may have. */
void wi_compile_processes_open(wi_device *device, const weft_context_options *options);
/* Ends the processes that still run. */
void wi_compile_processes_close(wi_device *device);
/* Forgets the processes that have ended, so that the system can forget them, too. */
void wi_compile_processes_reap(wi_device *device);

/* NULL: no processes are wanted. */
wi_compile_request *wi_compile_request_begin(wi_device *device);
/* The next argument of the launch that is being created: a scalar, or memory, which may be NULL. */
void wi_compile_request_scalar(wi_compile_request *request, size_t bytes, const void *value);
void wi_compile_request_memory(wi_compile_request *request, cl_mem memory);
/* Adds the launch with the arguments before. is_new: its kernel was compiled for this plan; other kernels are only added if a new one is
 * of the same program. */
void wi_compile_request_launch(wi_compile_request *request, const wi_launch *launch, bool is_new);
/* Starts the processes, unless the cache folder says that processes have compiled the programs before, and releases the request. */
void wi_compile_request_start(wi_compile_request *request);
void wi_compile_request_release(wi_compile_request *request);

#endif
