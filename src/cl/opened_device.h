/* An opened device: its queue, capabilities, profile, buffers and programs.
 *
 * A context owns its devices, which are numbered from 0. Functions for buffers, programs, launches and values of a
 * device therefore take the device and not the context. Layers above read the fields; only src/cl writes them. One
 * thread at a time may use a device. */
#ifndef WI_OPENED_DEVICE_H
#define WI_OPENED_DEVICE_H

#include "base/status.h"
#include "cl/device_profile.h"
#include <CL/cl.h>
#include <weft/device.h>

/* Asynchronous copies in kernels: the device's instructions or, for tests, functions that emulate them and copy at
 * once, or as late as the instructions are allowed to. The numbers are those of WEFT_ASYNC_MODEL. */
typedef enum wi_copy_model { WI_COPIES_OF_DEVICE, WI_COPIES_AT_ONCE, WI_COPIES_LATE } wi_copy_model;

/* What the device can do. For properties about which drivers are wrong, a kernel was compiled and run. */
typedef struct wi_capabilities {
    weft_device_class device_class;
    const wi_device_profile *kind; /* the kind that WEFT_DEVICE_CLASS names; NULL: the first that fits */
    cl_device_type type;
    const char *name, *vendor; /* those of wi_device.info */
    char board[64];            /* the board's name, if AMD's driver reports it beside the device's name */
    char architecture[16];     /* "sm_80" (NVIDIA), "gfx90a" (AMD), "ip_12.55" (Intel); "": not reported */
    cl_uint clock_mhz;         /* the highest clock rate that the driver reports */
    cl_uint compute_units;     /* as the driver counts them */
    cl_uint work_units;        /* compute units that the program chose instead; 0: none chosen */
    size_t max_work_group_size;
    size_t required_group; /* largest group that kernels may require, by AMD's driver; 0: not reported */
    size_t max_work_item_sizes[3];
    cl_ulong local_memory;       /* bytes */
    cl_ulong largest_allocation; /* bytes */
    bool large_buffers;          /* buffers may be larger than largest_allocation */
    cl_ulong global_memory;      /* bytes */
    bool fp16;                   /* half arithmetic works: tested, and false on processors of class cpu */
    bool fp64;
    bool can_build;           /* the test kernel was right; true on processors of class cpu, which skip it */
    unsigned quirks;          /* WI_QUIRK_ bits, see quirks.h */
    unsigned engines;         /* WI_ENGINE_ bits, see matrix_engine.h */
    size_t sub_group;         /* the smallest sub-group that a kernel may require (gpu_engines.h); 0: none */
    bool block_reads;         /* sub-groups can read local memory together (gpu_engines.h) */
    bool async_copies;        /* kernels can copy asynchronously (async_copies.h) */
    wi_copy_model copy_model; /* the instructions of asynchronous copies, or a model */
    bool engine_model;        /* kernels use models of the engines in OpenCL C */
    double engine_rate;       /* rate of AVX-512 BF16 (matrix_engine.h); 0: not measured */
    double longest_launch;    /* seconds, as the program set it; 0: the profile's; negative: no limit */
    bool own_memory;          /* its memory is not the host's */
    bool upload_queue;        /* data is copied to the device on a second queue (uploads.h) */
    bool sleeps;              /* the thread sleeps while it waits (waiting.h) */
    const char *exchange;     /* exchange of values in sub-groups (exchange.h); NULL: by local memory */
} wi_capabilities;

/* What a device uses of its context. */
typedef struct wi_device_host {
    const weft_allocator *allocator; /* NULL: malloc */
    const struct wi_log *log;        /* base/log.h */
    weft_progress_function progress; /* NULL: no callback */
    void *progress_user;
} wi_device_host;

/* The operation in progress (device_progress.h). */
typedef struct wi_device_progress {
    size_t done, total;
    const char *what;
    int depth; /* number of nested operations; 0: none is in progress */
} wi_device_progress;

typedef struct wi_device {
    wi_device_host host;
    int index; /* among the context's devices */
    weft_device_info info;
    wi_capabilities caps;
    wi_device_profile profile;
    cl_context cl;
    cl_device_id id;
    cl_device_id
        listed; /* the device of its platform: `id`, or the device of which `id` is a part; NULL: the embedder's */
    cl_command_queue queue; /* executes in order */
    wi_device_progress progress;
    struct wi_uploads *uploads; /* the queue for uploads; NULL: there is none */
    struct wi_disk_cache *disk;
    struct wi_device_values *values; /* numbers measured on the device */
    struct wi_choices *choices;      /* the tuner's choices */
    struct wi_findings *findings;    /* results of self-tests; created at first use */
    struct wi_program_cache *programs;
    struct wi_buffer_pool *buffers;
    struct wi_compile_processes *processes; /* compile_processes.h; NULL: none are wanted */
} wi_device;

/* The name of an error code: "CL_OUT_OF_RESOURCES" for -5. */
const char *wi_cl_error_name(cl_int error);
/* WEFT_OK for CL_SUCCESS. Otherwise records the message "WHAT: CL_NAME (CODE)" and returns WEFT_ERROR_DEVICE_MEMORY for
 * CL_MEM_OBJECT_ALLOCATION_FAILURE and CL_OUT_OF_HOST_MEMORY, WEFT_ERROR_STATE for WI_CL_LOST, WEFT_ERROR_OPENCL for
 * others. */
weft_status wi_cl_check(cl_int error, const char *what);
#define WI_CL(call, what) WI_TRY(wi_cl_check((call), (what)))

#endif
