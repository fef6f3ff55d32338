/* A context: one device, its capabilities and quirks, an in-order queue, device memory, compiled programs.
 *
 * One thread at a time may use a context and what was made from it (retain, release and weft_context_memory
 * may be called from any). The fields are read by the layers above; only src/cl writes them. */
#ifndef WI_CONTEXT_H
#define WI_CONTEXT_H

#include "base/log.h"
#include "base/memory.h"
#include "base/platform.h"
#include "cl/device_profile.h"
#include <CL/cl.h>
#include <stdatomic.h>
#include <weft/device.h>

/* What the device can do. Where drivers lie, it was found by compiling and running a kernel. */
typedef struct wi_capabilities {
    weft_device_class device_class;
    cl_device_type type;
    cl_uint compute_units;
    size_t max_work_group_size;
    size_t max_work_item_sizes[3];
    cl_ulong local_memory;       /* bytes */
    cl_ulong largest_allocation; /* bytes */
    cl_ulong global_memory;      /* bytes */
    bool fp16;                   /* half arithmetic: probed, not believed */
    bool fp64;
    bool local_memory_is_real; /* CL_LOCAL: false where local memory lies in global memory */
    bool can_build;            /* the trivial probe kernel was compiled, run, and gave the right numbers */
    unsigned quirks;           /* WI_QUIRK_ bits, see quirks.h */
} wi_capabilities;

struct weft_context {
    weft_allocator allocator_storage;
    const weft_allocator *allocator; /* NULL or &allocator_storage */
    wi_log log;
    weft_progress_function progress;
    void *progress_user;
    uint64_t seed;
    weft_device_info info;
    wi_capabilities caps;
    wi_device_profile profile;
    cl_context cl;
    cl_device_id device;
    cl_command_queue queue; /* in order */
    struct wi_disk_cache *disk;
    struct wi_tuning *tuning;
    struct wi_program_cache *programs;
    struct wi_buffer_pool *buffers;
    struct weft_graph *graph; /* the default graph, made on demand by src/graph; released first */
    void (*graph_release)(struct weft_graph *graph);
    atomic_int references;
};

/* "CL_OUT_OF_RESOURCES" for -5. */
const char *wi_cl_error_name(cl_int error);
/* WEFT_OK for CL_SUCCESS; else records "what: CL_NAME" and returns the status that fits the code
 * (CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY: WEFT_ERROR_DEVICE_MEMORY). */
weft_status wi_cl_check(cl_int error, const char *what);
#define WI_CL(call, what) WI_TRY(wi_cl_check((call), (what)))

#endif
