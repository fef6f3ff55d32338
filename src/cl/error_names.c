/* The names of OpenCL's error codes, and the status for each of them (contract in opened_device.h). */
#include "cl/driver.h"
#include "cl/opened_device.h"

#define ERROR_ROWS(row)                                                                                      \
    row(CL_SUCCESS) row(CL_DEVICE_NOT_FOUND) row(CL_DEVICE_NOT_AVAILABLE) row(CL_COMPILER_NOT_AVAILABLE)     \
        row(CL_MEM_OBJECT_ALLOCATION_FAILURE) row(CL_OUT_OF_RESOURCES) row(CL_OUT_OF_HOST_MEMORY)            \
            row(CL_PROFILING_INFO_NOT_AVAILABLE) row(CL_MEM_COPY_OVERLAP) row(CL_IMAGE_FORMAT_MISMATCH) row( \
                CL_IMAGE_FORMAT_NOT_SUPPORTED) row(CL_BUILD_PROGRAM_FAILURE) row(CL_MAP_FAILURE)             \
                row(CL_MISALIGNED_SUB_BUFFER_OFFSET) row(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) row(  \
                    CL_COMPILE_PROGRAM_FAILURE) row(CL_LINKER_NOT_AVAILABLE) row(CL_LINK_PROGRAM_FAILURE)    \
                    row(CL_DEVICE_PARTITION_FAILED) row(CL_KERNEL_ARG_INFO_NOT_AVAILABLE) row(               \
                        CL_INVALID_VALUE) row(CL_INVALID_DEVICE_TYPE) row(CL_INVALID_PLATFORM)               \
                        row(CL_INVALID_DEVICE) row(CL_INVALID_CONTEXT) row(CL_INVALID_QUEUE_PROPERTIES) row( \
                            CL_INVALID_COMMAND_QUEUE) row(CL_INVALID_HOST_PTR) row(CL_INVALID_MEM_OBJECT)    \
                            row(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR) row(CL_INVALID_IMAGE_SIZE) row(          \
                                CL_INVALID_SAMPLER) row(CL_INVALID_BINARY) row(CL_INVALID_BUILD_OPTIONS)     \
                                row(CL_INVALID_PROGRAM) row(CL_INVALID_PROGRAM_EXECUTABLE) row(              \
                                    CL_INVALID_KERNEL_NAME) row(CL_INVALID_KERNEL_DEFINITION)                \
                                    row(CL_INVALID_KERNEL) row(CL_INVALID_ARG_INDEX) row(                    \
                                        CL_INVALID_ARG_VALUE) row(CL_INVALID_ARG_SIZE)                       \
                                        row(CL_INVALID_KERNEL_ARGS) row(CL_INVALID_WORK_DIMENSION) row(      \
                                            CL_INVALID_WORK_GROUP_SIZE) row(CL_INVALID_WORK_ITEM_SIZE)       \
                                            row(CL_INVALID_GLOBAL_OFFSET) row(CL_INVALID_EVENT_WAIT_LIST)    \
                                                row(CL_INVALID_EVENT) row(CL_INVALID_OPERATION)              \
                                                    row(CL_INVALID_GL_OBJECT) row(CL_INVALID_BUFFER_SIZE)    \
                                                        row(CL_INVALID_MIP_LEVEL)                            \
                                                            row(CL_INVALID_GLOBAL_WORK_SIZE) row(            \
                                                                CL_INVALID_PROPERTY)                         \
                                                                row(CL_INVALID_IMAGE_DESCRIPTOR) row(        \
                                                                    CL_INVALID_COMPILER_OPTIONS)             \
                                                                    row(CL_INVALID_LINKER_OPTIONS) row(      \
                                                                        CL_INVALID_DEVICE_PARTITION_COUNT)

enum { PLATFORM_NOT_FOUND = -1001 }; /* CL_PLATFORM_NOT_FOUND_KHR of cl_khr_icd */

const char *wi_cl_error_name(cl_int error) {
#define ERROR_CASE(name)                                                                                     \
    case name: return #name;
    switch (error) {
        ERROR_ROWS(ERROR_CASE)
    case PLATFORM_NOT_FOUND: return "CL_PLATFORM_NOT_FOUND_KHR";
    case WI_CL_LOST: return "the driver is not used in a forked process";
    default: return "an OpenCL error without a name";
    }
#undef ERROR_CASE
}

weft_status wi_cl_check(cl_int error, const char *what) {
    switch (error) {
    case CL_SUCCESS: return WEFT_OK;
    case WI_CL_LOST: return wi_process_check_driver();
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_HOST_MEMORY:
        return wi_fail(WEFT_ERROR_DEVICE_MEMORY, "%s: %s (%d)", what, wi_cl_error_name(error), error);
    default: return wi_fail(WEFT_ERROR_OPENCL, "%s: %s (%d)", what, wi_cl_error_name(error), error);
    }
}
