/* The OpenCL functions that Weft calls. Each macro first asks whether this process still has the driver. A child of
 * fork() has lost it (base/process.h), and a function of the driver could block for ever. In such a child these macros
 * call nothing and give WI_CL_LOST, for which wi_cl_check records a message. Releasing then does nothing: the objects
 * belong to the parent.
 *
 * CLBlast calls OpenCL itself, but only while a plan runs, which is an error in such a child.
 *
 * Every file that calls OpenCL includes this header, and every OpenCL function that is called has a row here; the test
 * structure.driver checks both. The question costs a load and a branch that is never taken. */
#ifndef WI_DRIVER_H
#define WI_DRIVER_H

#include "base/process.h"
#include <CL/cl.h>

/* A number that is not an error of OpenCL or of an extension. */
#define WI_CL_LOST ((cl_int)-30000)

#define WI_DRIVER_CALL(call) (wi_process_lost_driver() ? WI_CL_LOST : (call))

/* As WI_DRIVER_CALL, for functions that return an object. Their argument `error` must not be NULL here. */
static inline void *wi_driver_no_object(cl_int *error) {
    *error = WI_CL_LOST;
    return NULL;
}
#define WI_DRIVER_OBJECT(call, error) (wi_process_lost_driver() ? wi_driver_no_object(error) : (call))

#define clBuildProgram(...)                   WI_DRIVER_CALL(clBuildProgram(__VA_ARGS__))
#define clCreateSubDevices(...)               WI_DRIVER_CALL(clCreateSubDevices(__VA_ARGS__))
#define clEnqueueBarrierWithWaitList(...)     WI_DRIVER_CALL(clEnqueueBarrierWithWaitList(__VA_ARGS__))
#define clEnqueueCopyBuffer(...)              WI_DRIVER_CALL(clEnqueueCopyBuffer(__VA_ARGS__))
#define clEnqueueFillBuffer(...)              WI_DRIVER_CALL(clEnqueueFillBuffer(__VA_ARGS__))
#define clEnqueueMarkerWithWaitList(...)      WI_DRIVER_CALL(clEnqueueMarkerWithWaitList(__VA_ARGS__))
#define clEnqueueNDRangeKernel(...)           WI_DRIVER_CALL(clEnqueueNDRangeKernel(__VA_ARGS__))
#define clEnqueueReadBuffer(...)              WI_DRIVER_CALL(clEnqueueReadBuffer(__VA_ARGS__))
#define clEnqueueUnmapMemObject(...)          WI_DRIVER_CALL(clEnqueueUnmapMemObject(__VA_ARGS__))
#define clEnqueueWriteBuffer(...)             WI_DRIVER_CALL(clEnqueueWriteBuffer(__VA_ARGS__))
#define clFinish(...)                         WI_DRIVER_CALL(clFinish(__VA_ARGS__))
#define clFlush(...)                          WI_DRIVER_CALL(clFlush(__VA_ARGS__))
#define clGetCommandQueueInfo(...)            WI_DRIVER_CALL(clGetCommandQueueInfo(__VA_ARGS__))
#define clGetContextInfo(...)                 WI_DRIVER_CALL(clGetContextInfo(__VA_ARGS__))
#define clGetDeviceIDs(...)                   WI_DRIVER_CALL(clGetDeviceIDs(__VA_ARGS__))
#define clGetDeviceInfo(...)                  WI_DRIVER_CALL(clGetDeviceInfo(__VA_ARGS__))
#define clGetEventInfo(...)                   WI_DRIVER_CALL(clGetEventInfo(__VA_ARGS__))
#define clGetEventProfilingInfo(...)          WI_DRIVER_CALL(clGetEventProfilingInfo(__VA_ARGS__))
#define clGetKernelInfo(...)                  WI_DRIVER_CALL(clGetKernelInfo(__VA_ARGS__))
#define clGetMemObjectInfo(...)               WI_DRIVER_CALL(clGetMemObjectInfo(__VA_ARGS__))
#define clGetPlatformIDs(...)                 WI_DRIVER_CALL(clGetPlatformIDs(__VA_ARGS__))
#define clGetPlatformInfo(...)                WI_DRIVER_CALL(clGetPlatformInfo(__VA_ARGS__))
#define clGetProgramBuildInfo(...)            WI_DRIVER_CALL(clGetProgramBuildInfo(__VA_ARGS__))
#define clGetProgramInfo(...)                 WI_DRIVER_CALL(clGetProgramInfo(__VA_ARGS__))
#define clReleaseCommandQueue(...)            WI_DRIVER_CALL(clReleaseCommandQueue(__VA_ARGS__))
#define clReleaseContext(...)                 WI_DRIVER_CALL(clReleaseContext(__VA_ARGS__))
#define clReleaseDevice(...)                  WI_DRIVER_CALL(clReleaseDevice(__VA_ARGS__))
#define clReleaseEvent(...)                   WI_DRIVER_CALL(clReleaseEvent(__VA_ARGS__))
#define clReleaseKernel(...)                  WI_DRIVER_CALL(clReleaseKernel(__VA_ARGS__))
#define clReleaseMemObject(...)               WI_DRIVER_CALL(clReleaseMemObject(__VA_ARGS__))
#define clReleaseProgram(...)                 WI_DRIVER_CALL(clReleaseProgram(__VA_ARGS__))
#define clRetainCommandQueue(...)             WI_DRIVER_CALL(clRetainCommandQueue(__VA_ARGS__))
#define clRetainContext(...)                  WI_DRIVER_CALL(clRetainContext(__VA_ARGS__))
#define clRetainMemObject(...)                WI_DRIVER_CALL(clRetainMemObject(__VA_ARGS__))
#define clSetKernelArg(...)                   WI_DRIVER_CALL(clSetKernelArg(__VA_ARGS__))
#define clSetMemObjectDestructorCallback(...) WI_DRIVER_CALL(clSetMemObjectDestructorCallback(__VA_ARGS__))
#define clWaitForEvents(...)                  WI_DRIVER_CALL(clWaitForEvents(__VA_ARGS__))

#define clCreateBuffer(context, flags, bytes, data, error)                                                   \
    WI_DRIVER_OBJECT(clCreateBuffer(context, flags, bytes, data, error), error)
#define clCreateCommandQueue(context, device, properties, error)                                             \
    WI_DRIVER_OBJECT(clCreateCommandQueue(context, device, properties, error), error)
#define clCreateContext(properties, count, devices, notify, user, error)                                     \
    WI_DRIVER_OBJECT(clCreateContext(properties, count, devices, notify, user, error), error)
#define clCreateKernel(program, name, error) WI_DRIVER_OBJECT(clCreateKernel(program, name, error), error)
#define clCreateProgramWithBinary(context, count, devices, lengths, binaries, states, error)                 \
    WI_DRIVER_OBJECT(                                                                                        \
        clCreateProgramWithBinary(context, count, devices, lengths, binaries, states, error), error)
#define clCreateProgramWithSource(context, count, strings, lengths, error)                                   \
    WI_DRIVER_OBJECT(clCreateProgramWithSource(context, count, strings, lengths, error), error)
#define clEnqueueMapBuffer(queue, memory, blocking, flags, offset, bytes, count, events, event, error)       \
    WI_DRIVER_OBJECT(                                                                                        \
        clEnqueueMapBuffer(queue, memory, blocking, flags, offset, bytes, count, events, event, error),      \
        error)

#endif
