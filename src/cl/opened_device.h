/* An opened device: its queue, capabilities and profile, its device memory and its compiled programs.
 *
 * A context owns its devices, numbered from 0; what belongs to one of them (a buffer, a program, a launch, a
 * value that was tuned) takes the device, not the context. The fields are read by the layers above; only src/cl
 * writes them. One thread at a time may use a device. */
#ifndef WI_OPENED_DEVICE_H
#define WI_OPENED_DEVICE_H

#include "base/log.h"
#include "base/memory.h"
#include "base/platform.h"
#include "cl/device_profile.h"
#include <CL/cl.h>
#include <weft/device.h>

/* Asynchronous copies of kernels: the device's instructions, or for tests a model of them, which copies at once or as late as the
 * instructions may. The numbers are those of WEFT_ASYNC_MODEL. */
typedef enum wi_copy_model { WI_COPIES_OF_DEVICE, WI_COPIES_AT_ONCE, WI_COPIES_LATE } wi_copy_model;

/* What the device can do. Where drivers lie, it was found by compiling and running a kernel. */
typedef struct wi_capabilities {
    weft_device_class device_class;
    const wi_device_profile *kind; /* that $WEFT_DEVICE_CLASS names; NULL: the one that fits */
    cl_device_type type;
    const char *name, *vendor; /* of the device's info */
    char board[64];            /* the board's name, where AMD's driver names the device by its architecture */
    char architecture[16]; /* "sm_80", "gfx90a", "ip_12.55" (NVIDIA's, AMD's, Intel's); "": not reported */
    cl_uint clock_mhz;     /* the highest, as the driver reports it */
    cl_uint compute_units; /* as the driver counts them */
    cl_uint work_units;    /* as for how many the context wants its work cut; 0: compute_units */
    size_t max_work_group_size;
    size_t required_group; /* that kernels may require, where AMD's driver says so; 0: max_work_group_size */
    size_t max_work_item_sizes[3];
    cl_ulong local_memory;       /* bytes */
    cl_ulong largest_allocation; /* bytes */
    bool large_buffers;          /* the program asks for more than that in one buffer */
    cl_ulong global_memory;      /* bytes */
    bool fp16;                   /* half arithmetic: probed, not believed */
    bool fp64;
    bool can_build;           /* the trivial probe kernel was compiled, run, and gave the right numbers */
    unsigned quirks;          /* WI_QUIRK_ bits, see quirks.h */
    unsigned engines;         /* WI_ENGINE_ bits, see matrix_engine.h */
    size_t sub_group;         /* the least sub-group that a kernel may require, see gpu_engines.h; 0: none */
    bool block_reads;         /* see gpu_engines.h */
    bool async_copies;        /* see async_copies.h */
    wi_copy_model copy_model; /* what stands for them in kernels */
    bool engine_model;        /* kernels use a model of them, see amx_model.clh */
    double engine_rate;       /* of AVX-512 BF16, see matrix_engine.h; 0: not asked for */
    double longest_launch;    /* that the program asks for; 0: of the profile; negative: any */
    bool own_memory;          /* the host's memory is another one */
    bool upload_queue;        /* data is copied there on a queue of its own, see uploads.h */
    bool sleeps;              /* while it waits, see waiting.h */
    const char *exchange; /* how items of a sub-group exchange numbers, see exchange.h; NULL: they do not */
} wi_capabilities;

/* What a device takes from its context: where memory comes from, and where log lines go. */
typedef struct wi_device_host {
    const weft_allocator *allocator; /* NULL: malloc */
    const wi_log *log;
    weft_progress_function progress; /* NULL: none */
    void *progress_user;
} wi_device_host;

/* Of the operation in progress, see device_progress.h. */
typedef struct wi_device_progress {
    size_t done, total;
    const char *what;
    int depth; /* of operations within operations; 0: there is none */
} wi_device_progress;

typedef struct wi_device {
    wi_device_host host;
    int index; /* among the context's devices */
    weft_device_info info;
    wi_capabilities caps;
    wi_device_profile profile;
    cl_context cl;
    cl_device_id id;
    cl_command_queue queue; /* in order */
    wi_device_progress progress;
    struct wi_uploads *uploads; /* the second queue; NULL: there is none */
    struct wi_disk_cache *disk;
    struct wi_device_values *values; /* device_values.h */
    struct wi_choices *choices;      /* of the tuner */
    struct wi_findings *findings;    /* of self-tests; made when one is asked for */
    struct wi_program_cache *programs;
    struct wi_buffer_pool *buffers;
} wi_device;

/* "CL_OUT_OF_RESOURCES" for -5. */
const char *wi_cl_error_name(cl_int error);
/* WEFT_OK for CL_SUCCESS; else records "what: CL_NAME" and returns the status that fits the code
 * (CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY: WEFT_ERROR_DEVICE_MEMORY). */
weft_status wi_cl_check(cl_int error, const char *what);
#define WI_CL(call, what) WI_TRY(wi_cl_check((call), (what)))

#endif
