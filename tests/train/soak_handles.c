/* Functions that count and call the loader's (contract in train/soak_handles.h). */
#define _GNU_SOURCE
#include "train/soak_handles.h"

#include <CL/cl.h>
#include <dirent.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_long handles;

long counted_handles(void) {
    return atomic_load(&handles);
}

long counted_files(void) {
    DIR *const folder = opendir("/proc/self/fd");
    long count = 0;
    while (folder && readdir(folder)) count++;
    if (folder) closedir(folder);
    return count - 3; /* the folder's own, "." and ".." */
}

long counted_resident(void) {
    long size = 0, resident = 0;
    FILE *const file = fopen("/proc/self/statm", "r");
    const int read = file ? fscanf(file, "%ld %ld", &size, &resident) : 0;
    if (file) fclose(file);
    return read == 2 ? resident * sysconf(_SC_PAGESIZE) : -1;
}

/* The function that stands behind the one of this file. */
#define BEHIND(name)                                                                                         \
    __typeof__(name) *next;                                                                                  \
    *(void **)&next = dlsym(RTLD_NEXT, #name)

#define CHANGES(name, object, by)                                                                            \
    cl_int CL_API_CALL name(object handle) {                                                                 \
        BEHIND(name);                                                                                        \
        const cl_int error = next(handle);                                                                   \
        if (error == CL_SUCCESS) atomic_fetch_add(&handles, by);                                             \
        return error;                                                                                        \
    }

CHANGES(clRetainContext, cl_context, 1)
CHANGES(clRetainCommandQueue, cl_command_queue, 1)
CHANGES(clRetainMemObject, cl_mem, 1)
CHANGES(clReleaseContext, cl_context, -1)
CHANGES(clReleaseCommandQueue, cl_command_queue, -1)
CHANGES(clReleaseMemObject, cl_mem, -1)
CHANGES(clReleaseProgram, cl_program, -1)
CHANGES(clReleaseKernel, cl_kernel, -1)
CHANGES(clReleaseEvent, cl_event, -1)

#define MAKES(name, object, parameters, ...)                                                                 \
    object CL_API_CALL name parameters {                                                                     \
        BEHIND(name);                                                                                        \
        object const made = next(__VA_ARGS__);                                                               \
        if (made) atomic_fetch_add(&handles, 1);                                                             \
        return made;                                                                                         \
    }

typedef void(CL_CALLBACK *context_notify)(const char *, const void *, size_t, void *);

MAKES(clCreateContext, cl_context,
    (const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,
        context_notify notify, void *user, cl_int *error),
    properties, count, devices, notify, user, error)
MAKES(clCreateCommandQueue, cl_command_queue,
    (cl_context context, cl_device_id device, cl_command_queue_properties properties, cl_int *error), context,
    device, properties, error)
MAKES(clCreateBuffer, cl_mem,
    (cl_context context, cl_mem_flags flags, size_t bytes, void *data, cl_int *error), context, flags, bytes,
    data, error)
MAKES(clCreateProgramWithSource, cl_program,
    (cl_context context, cl_uint count, const char **texts, const size_t *lengths, cl_int *error), context,
    count, texts, lengths, error)
MAKES(clCreateProgramWithBinary, cl_program,
    (cl_context context, cl_uint count, const cl_device_id *devices, const size_t *lengths,
        const unsigned char **binaries, cl_int *states, cl_int *error),
    context, count, devices, lengths, binaries, states, error)
MAKES(clCreateKernel, cl_kernel, (cl_program program, const char *name, cl_int *error), program, name, error)

#define ENQUEUES(name, parameters, ...)                                                                      \
    cl_int CL_API_CALL name parameters {                                                                     \
        BEHIND(name);                                                                                        \
        const cl_int error = next(__VA_ARGS__);                                                              \
        if (error == CL_SUCCESS && event) atomic_fetch_add(&handles, 1);                                     \
        return error;                                                                                        \
    }

ENQUEUES(clEnqueueNDRangeKernel,
    (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset, const size_t *global,
        const size_t *local, cl_uint waits, const cl_event *wait, cl_event *event),
    queue, kernel, dimensions, offset, global, local, waits, wait, event)
ENQUEUES(clEnqueueMarkerWithWaitList,
    (cl_command_queue queue, cl_uint waits, const cl_event *wait, cl_event *event), queue, waits, wait, event)
ENQUEUES(clEnqueueCopyBuffer,
    (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t bytes,
        cl_uint waits, const cl_event *wait, cl_event *event),
    queue, from, to, from_offset, to_offset, bytes, waits, wait, event)
ENQUEUES(clEnqueueWriteBuffer,
    (cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t offset, size_t bytes, const void *data,
        cl_uint waits, const cl_event *wait, cl_event *event),
    queue, memory, blocking, offset, bytes, data, waits, wait, event)
ENQUEUES(clEnqueueReadBuffer,
    (cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t offset, size_t bytes, void *data,
        cl_uint waits, const cl_event *wait, cl_event *event),
    queue, memory, blocking, offset, bytes, data, waits, wait, event)
