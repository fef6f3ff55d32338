/* weft/base.h: status codes, the last error, versions, allocator and log hooks. */
#ifndef WEFT_BASE_H
#define WEFT_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define WEFT_API __declspec(dllexport)
#elif defined(__GNUC__)
#define WEFT_API __attribute__((visibility("default")))
#else
#define WEFT_API
#endif

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* Structs of options begin with struct_size, which WEFT_..._INIT sets; NULL instead of a struct, and fields that
 * are zero, mean the defaults. Where a default is another number, and 0 would be of use, the field's comment says that
 * WEFT_ZERO means the number 0: {WEFT_BATCH_NORM_OPTIONS_INIT, .momentum = WEFT_ZERO}. Weft reads struct_size bytes (at most 1024): known fields are taken, and fields of
 * newer headers must be zero, else WEFT_ERROR_UNSUPPORTED. Any other struct_size is WEFT_ERROR_ARGUMENT. */

/* Stands for the number 0 in fields whose comment names it, integers and floats: a number that nobody means. */
#define WEFT_ZERO 0x5a455200

/* Every function that can fail returns one of these. After a failure weft_last_error() describes in one line
 * what failed and where. */
typedef enum weft_status {
    WEFT_OK = 0,
    WEFT_ERROR_ARGUMENT,      /* NULL, out of range, or options that contradict each other */
    WEFT_ERROR_SHAPE,         /* the op does not take these shapes; a dimension is 0 or overflows */
    WEFT_ERROR_DTYPE,         /* an op does not take this dtype */
    WEFT_ERROR_STATE,         /* the call is valid, but not at this time */
    WEFT_ERROR_MEMORY,        /* the host allocator returned NULL */
    WEFT_ERROR_DEVICE_MEMORY, /* the device has too little memory */
    WEFT_ERROR_MEMORY_LIMIT,  /* a memory_limit would be exceeded; nothing was allocated */
    WEFT_ERROR_NO_DEVICE,     /* no OpenCL platform, or no device matches the selector */
    WEFT_ERROR_OPENCL,        /* an OpenCL call failed (the line names the error), or a launch did not end */
    WEFT_ERROR_BUILD,         /* a kernel did not compile; the line contains the start of the build log */
    WEFT_ERROR_FILE,          /* a file could not be opened, read or written */
    WEFT_ERROR_FORMAT,        /* a file's content does not follow its format */
    WEFT_ERROR_NOT_FINITE,    /* the loss became NaN or infinite */
    WEFT_ERROR_CANCELLED,     /* cancelled by the program */
    WEFT_ERROR_UNSUPPORTED,   /* this build or this device does not support it */
    WEFT_ERROR_INTERNAL       /* a defect in Weft: please report it */
} weft_status;

/* The name of the code, for example "WEFT_ERROR_SHAPE"; "unknown status" for any other number. */
WEFT_API const char *weft_status_name(weft_status status);

/* The last error of this thread in one line, "" if there was none. Valid until the next call of this thread
 * that fails. */
WEFT_API const char *weft_last_error(void);

/* "0.1.0" */
WEFT_API const char *weft_version(void);

/* What the library was built with, for example "clblast=yes png=yes jpeg=no". */
WEFT_API const char *weft_build_options(void);

/* Host memory hooks: set all three functions or none. They may be called from several threads at once, and must not
 * call Weft. */
typedef struct weft_allocator {
    void *(*allocate)(void *user, size_t bytes); /* NULL when out of memory */
    void *(*reallocate)(void *user, void *block, size_t bytes);
    void (*release)(void *user, void *block); /* block may be NULL */
    void *user;
} weft_allocator;

typedef enum weft_log_level { WEFT_LOG_DEBUG, WEFT_LOG_INFO, WEFT_LOG_WARNING } weft_log_level;

/* Receives one line without a newline. May be called from any thread that uses the context. */
typedef void (*weft_log_function)(void *user, weft_log_level level, const char *line);

/* Receives the progress of what takes long the first time: `done` of `total` items are finished, such as 12 of 31 "kernels" of a plan;
 * `what` names them, or the one program that a device is tested by. The first call of an operation has done == 0 and the last
 * one done == total, also after an error. It is called by the thread that uses the context, and must not call Weft.
 *
 * weft_plan_create compiles the kernels of a plan, and some drivers do so as late as in its first run, which are two operations of the
 * same number of items. Where a function receives progress, that first run waits for each new kernel. */
typedef void (*weft_progress_function)(void *user, size_t done, size_t total, const char *what);

#ifdef __cplusplus
}
#endif
#endif
