/* A layer of the OpenCL loader (its file is named in OPENCL_LAYERS) through which every call passes: it makes the nth call
 * of one function fail, counts what is created and released, and knows which thread is inside the driver.
 *
 * A program that links the library controls the same copy that the loader opens. Without one, the environment does:
 * FAULT_OPENCL="clEnqueueNDRangeKernel 3 -5" lets the third call fail with CL_OUT_OF_RESOURCES. An error above 0, which
 * OpenCL has not, ends the process. */
#ifndef FAULT_LAYER_H
#define FAULT_LAYER_H

#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct fault_function {
    const char *name;
    bool enqueues;        /* a command, which may fail later, too */
    const cl_int *errors; /* that its documentation lists, ended by 0 */
} fault_function;

size_t fault_layer_functions(const fault_function **functions);
/* The nth call of the function from now on returns the error; 0: none does. later: the call returns CL_SUCCESS, its command
 * is dropped, its event (if one was asked for) has the error, and so has the next call that waits for the queue. */
void fault_layer_arm(size_t function, long nth, cl_int error, bool later);
bool fault_layer_hit(void);
/* The calls of a function since the layer was armed. */
long fault_layer_calls(size_t function);
/* Objects that are created and not released, of all kinds; NULL or a text of which kinds. */
long fault_layer_live(void);
void fault_layer_describe_live(char *text, size_t capacity);
/* This thread is inside a call of OpenCL's. */
bool fault_layer_inside(void);
/* Whether the loader opened the library. */
bool fault_layer_present(void);

/* The log of a build that was made to fail. */
#define FAULT_BUILD_LOG "fault.cl:1:1: error: this build was made to fail"

#endif
