/* The functions of OpenCL that Weft calls, and the errors that their documentation lists. */
#ifndef FAULT_FUNCTIONS_H
#define FAULT_FUNCTIONS_H

#include <CL/cl.h>

#define RESOURCES CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY
/* No documentation lists it for commands; drivers return it where a device was lost. */
#define LOST CL_DEVICE_NOT_AVAILABLE
#define COMMAND                                                                                              \
    CL_INVALID_COMMAND_QUEUE, CL_INVALID_CONTEXT, CL_INVALID_MEM_OBJECT, CL_INVALID_VALUE,                   \
        CL_INVALID_EVENT_WAIT_LIST, CL_MISALIGNED_SUB_BUFFER_OFFSET, CL_MEM_OBJECT_ALLOCATION_FAILURE, LOST

/* row(name, enqueues, errors...), one a line */
/* clang-format off */
#define FUNCTIONS(row) \
    row(clGetPlatformIDs, false, CL_INVALID_VALUE, CL_OUT_OF_HOST_MEMORY) \
    row(clGetPlatformInfo, false, CL_INVALID_PLATFORM, CL_INVALID_VALUE, CL_OUT_OF_HOST_MEMORY) \
    row(clGetDeviceIDs, false, CL_INVALID_PLATFORM, CL_INVALID_DEVICE_TYPE, CL_INVALID_VALUE, \
        CL_DEVICE_NOT_FOUND, RESOURCES) \
    row(clGetDeviceInfo, false, CL_INVALID_DEVICE, CL_INVALID_VALUE, RESOURCES) \
    row(clCreateSubDevices, false, CL_INVALID_DEVICE, CL_INVALID_VALUE, CL_DEVICE_PARTITION_FAILED, \
        CL_INVALID_DEVICE_PARTITION_COUNT, RESOURCES) \
    row(clReleaseDevice, false, CL_INVALID_DEVICE, RESOURCES) \
    row(clCreateContext, false, CL_INVALID_PLATFORM, CL_INVALID_PROPERTY, CL_INVALID_VALUE, CL_INVALID_DEVICE, \
        CL_DEVICE_NOT_AVAILABLE, RESOURCES) \
    row(clRetainContext, false, CL_INVALID_CONTEXT, RESOURCES) \
    row(clReleaseContext, false, CL_INVALID_CONTEXT, RESOURCES) \
    row(clGetContextInfo, false, CL_INVALID_CONTEXT, CL_INVALID_VALUE, RESOURCES) \
    row(clCreateCommandQueue, false, CL_INVALID_CONTEXT, CL_INVALID_DEVICE, CL_INVALID_VALUE, \
        CL_INVALID_QUEUE_PROPERTIES, RESOURCES) \
    row(clRetainCommandQueue, false, CL_INVALID_COMMAND_QUEUE, RESOURCES) \
    row(clReleaseCommandQueue, false, CL_INVALID_COMMAND_QUEUE, RESOURCES) \
    row(clGetCommandQueueInfo, false, CL_INVALID_COMMAND_QUEUE, CL_INVALID_VALUE, RESOURCES) \
    row(clCreateBuffer, false, CL_INVALID_CONTEXT, CL_INVALID_VALUE, CL_INVALID_BUFFER_SIZE, \
        CL_INVALID_HOST_PTR, CL_MEM_OBJECT_ALLOCATION_FAILURE, RESOURCES) \
    row(clRetainMemObject, false, CL_INVALID_MEM_OBJECT, RESOURCES) \
    row(clReleaseMemObject, false, CL_INVALID_MEM_OBJECT, RESOURCES) \
    row(clSetMemObjectDestructorCallback, false, CL_INVALID_MEM_OBJECT, CL_INVALID_VALUE, RESOURCES) \
    row(clGetMemObjectInfo, false, CL_INVALID_MEM_OBJECT, CL_INVALID_VALUE, RESOURCES) \
    row(clCreateProgramWithSource, false, CL_INVALID_CONTEXT, CL_INVALID_VALUE, RESOURCES) \
    row(clCreateProgramWithBinary, false, CL_INVALID_CONTEXT, CL_INVALID_VALUE, CL_INVALID_DEVICE, \
        CL_INVALID_BINARY, RESOURCES) \
    row(clReleaseProgram, false, CL_INVALID_PROGRAM, RESOURCES) \
    row(clBuildProgram, false, CL_INVALID_PROGRAM, CL_INVALID_VALUE, CL_INVALID_DEVICE, CL_INVALID_BINARY, \
        CL_INVALID_BUILD_OPTIONS, CL_COMPILER_NOT_AVAILABLE, CL_BUILD_PROGRAM_FAILURE, CL_INVALID_OPERATION, \
        RESOURCES) \
    row(clGetProgramInfo, false, CL_INVALID_PROGRAM, CL_INVALID_VALUE, CL_INVALID_PROGRAM_EXECUTABLE, RESOURCES) \
    row(clGetProgramBuildInfo, false, CL_INVALID_PROGRAM, CL_INVALID_VALUE, CL_INVALID_DEVICE, RESOURCES) \
    row(clCreateKernel, false, CL_INVALID_PROGRAM, CL_INVALID_PROGRAM_EXECUTABLE, CL_INVALID_KERNEL_NAME, \
        CL_INVALID_KERNEL_DEFINITION, CL_INVALID_VALUE, RESOURCES) \
    row(clReleaseKernel, false, CL_INVALID_KERNEL, RESOURCES) \
    row(clSetKernelArg, false, CL_INVALID_KERNEL, CL_INVALID_ARG_INDEX, CL_INVALID_ARG_VALUE, \
        CL_INVALID_MEM_OBJECT, CL_INVALID_ARG_SIZE, RESOURCES) \
    row(clGetKernelInfo, false, CL_INVALID_KERNEL, CL_INVALID_VALUE, RESOURCES) \
    row(clWaitForEvents, false, CL_INVALID_VALUE, CL_INVALID_CONTEXT, CL_INVALID_EVENT, \
        CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, LOST, RESOURCES) \
    row(clGetEventInfo, false, CL_INVALID_VALUE, CL_INVALID_EVENT, LOST, RESOURCES) \
    row(clReleaseEvent, false, CL_INVALID_EVENT, RESOURCES) \
    row(clGetEventProfilingInfo, false, CL_PROFILING_INFO_NOT_AVAILABLE, CL_INVALID_VALUE, CL_INVALID_EVENT, \
        RESOURCES) \
    row(clFlush, false, CL_INVALID_COMMAND_QUEUE, LOST, RESOURCES) \
    row(clFinish, false, CL_INVALID_COMMAND_QUEUE, LOST, RESOURCES) \
    row(clEnqueueReadBuffer, true, COMMAND, CL_INVALID_OPERATION, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, \
        RESOURCES) \
    row(clEnqueueWriteBuffer, true, COMMAND, CL_INVALID_OPERATION, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, \
        RESOURCES) \
    row(clEnqueueFillBuffer, true, COMMAND, RESOURCES) \
    row(clEnqueueCopyBuffer, true, COMMAND, CL_MEM_COPY_OVERLAP, RESOURCES) \
    row(clEnqueueMapBuffer, false, COMMAND, CL_MAP_FAILURE, CL_INVALID_OPERATION, RESOURCES) \
    row(clEnqueueUnmapMemObject, true, COMMAND, RESOURCES) \
    row(clEnqueueNDRangeKernel, true, COMMAND, CL_INVALID_PROGRAM_EXECUTABLE, CL_INVALID_KERNEL, \
        CL_INVALID_KERNEL_ARGS, CL_INVALID_WORK_DIMENSION, CL_INVALID_GLOBAL_WORK_SIZE, \
        CL_INVALID_GLOBAL_OFFSET, CL_INVALID_WORK_GROUP_SIZE, CL_INVALID_WORK_ITEM_SIZE, RESOURCES) \
    row(clEnqueueMarkerWithWaitList, true, COMMAND, RESOURCES) \
    row(clEnqueueBarrierWithWaitList, true, COMMAND, RESOURCES)
/* clang-format on */

#endif
