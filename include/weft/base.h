/* weft/base.h: status codes, the last error, versions, allocator and log hooks. */
#ifndef WEFT_BASE_H
#define WEFT_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && defined(WEFT_EXPORTS) /* while the library itself is compiled */
#define WEFT_API __declspec(dllexport)
#elif defined(_WIN32)
#define WEFT_API
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

/* A struct of options begins with struct_size, which its WEFT_..._INIT macro sets. A field that is zero has its
 * default; NULL instead of a struct means all defaults. Where the default is another number, and 0 would be useful, the
 * field's comment names WEFT_ZERO, which means the number 0: {WEFT_BATCH_NORM_OPTIONS_INIT, .momentum = WEFT_ZERO}. If
 * the program's header is newer than the library, fields that the library does not know must be zero, otherwise the
 * call is WEFT_ERROR_UNSUPPORTED. A struct_size that no header has (above 1024 bytes, ...) is WEFT_ERROR_ARGUMENT. */

/* Stands for the number 0 in integer and float fields whose comments name WEFT_ZERO. No field needs this value
 * itself. */
#define WEFT_ZERO 0x5a455200

/* Functions that can fail return one of these codes; a function that returns a tensor returns NULL instead (graph.h).
 * After a failure, weft_last_error() says in one line what failed and where; comments call this text the line. */
typedef enum weft_status {
    WEFT_OK = 0,
    WEFT_ERROR_ARGUMENT,      /* an argument is NULL or out of range, or options contradict each other */
    WEFT_ERROR_SHAPE,         /* an op does not take these shapes; a dimension is 0 or overflows */
    WEFT_ERROR_DTYPE,         /* an op does not take this dtype */
    WEFT_ERROR_STATE,         /* the call is valid, but not in this state of the object or process */
    WEFT_ERROR_MEMORY,        /* the host allocator returned NULL */
    WEFT_ERROR_DEVICE_MEMORY, /* the device has too little memory */
    WEFT_ERROR_MEMORY_LIMIT,  /* a memory_limit would be exceeded; nothing was allocated */
    WEFT_ERROR_NO_DEVICE,     /* no OpenCL platform, or no device matches the selector */
    WEFT_ERROR_OPENCL,        /* an OpenCL call failed (the line names the error) */
    WEFT_ERROR_BUILD,         /* a kernel did not compile; the line contains the start of the build log */
    WEFT_ERROR_FILE,          /* a file could not be opened, read or written */
    WEFT_ERROR_FORMAT,        /* a file's content does not follow its format */
    WEFT_ERROR_NOT_FINITE,    /* the loss became NaN or infinite */
    WEFT_ERROR_CANCELLED,     /* the program cancelled the call */
    WEFT_ERROR_UNSUPPORTED,   /* this build or this device does not support the call */
    WEFT_ERROR_INTERNAL,      /* a defect in Weft: please report it */
    WEFT_ERROR_PEER /* another process of the job failed, left, or does not answer (distributed.h) */
} weft_status;

/* The name of the code, for example "WEFT_ERROR_SHAPE"; "unknown status" for any other number. */
WEFT_API const char *weft_status_name(weft_status status);

/* The last error of this thread in one line, "" if there was none. Valid until this thread's next failing call. */
WEFT_API const char *weft_last_error(void);

/* The version of the library, such as "0.1.0". */
WEFT_API const char *weft_version(void);

/* The options that the library was built with, for example "clblast=yes png=yes jpeg=no". */
WEFT_API const char *weft_build_options(void);

/* Functions that allocate host memory: set all three or none. Weft may call them from several threads at once; they
 * must not call Weft. user is their first argument. */
typedef struct weft_allocator {
    void *(*allocate)(void *user, size_t bytes); /* NULL when out of memory */
    void *(*reallocate)(void *user, void *block, size_t bytes);
    void (*release)(void *user, void *block); /* block may be NULL */
    void *user;
} weft_allocator;

typedef enum weft_log_level { WEFT_LOG_DEBUG, WEFT_LOG_INFO, WEFT_LOG_WARNING } weft_log_level;

/* Receives one line of the log, without a newline. Any thread that uses the context may call it. */
typedef void (*weft_log_function)(void *user, weft_log_level level, const char *line);

/* Receives the progress of an operation that may take long, such as compiling the kernels of a plan: `done` of `total`
 * items are finished. `what` names the items ("kernels"), or the program if a single program is compiled to
 * test a device. The first call of an operation has done == 0; the last one has done == total, also after an error. The
 * function is called by the thread that uses the context, and must not call Weft.
 *
 * weft_plan_create compiles the kernels of a plan, but some drivers compile them only in the plan's first run. Both are
 * reported, as two operations with the same number of items. With a progress function, the first run waits for each new
 * kernel. */
typedef void (*weft_progress_function)(void *user, size_t done, size_t total, const char *what);

#ifdef __cplusplus
}
#endif
#endif
