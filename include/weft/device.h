/* weft/device.h: the OpenCL devices of this machine, and the context that owns everything else. */
#ifndef WEFT_DEVICE_H
#define WEFT_DEVICE_H

#include <weft/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The class of kernels that a device runs: "cpu" kernels keep a tile in one work-item and use wide vectors,
 * "gpu" kernels share tiles in local memory. $WEFT_DEVICE_CLASS (cpu, gpu, or another kind of
 * device that docs/device-profiles.md lists) overrides the choice. */
typedef enum weft_device_class { WEFT_CLASS_CPU, WEFT_CLASS_GPU } weft_device_class;

typedef struct weft_device_info {
    char selector[16]; /* "platform:device", for example "0:1" */
    char name[128];
    char platform[128];
    char vendor[128];
    char driver[128]; /* the driver's version */
    char opencl[128]; /* CL_DEVICE_VERSION */
    bool is_gpu;      /* CL_DEVICE_TYPE_GPU; if neither this nor is_cpu is set: an accelerator */
    bool is_cpu;
    weft_device_class device_class;
    uint32_t compute_units;
    uint32_t clock_mhz;
    uint64_t global_memory;      /* bytes */
    uint64_t largest_allocation; /* bytes */
    uint64_t local_memory;       /* bytes per work-group */
} weft_device_info;

/* The number of devices of all platforms. Without any platform the result is WEFT_OK and a count of 0. */
WEFT_API weft_status weft_device_count(size_t *count);
/* index < count. Platforms are in the order of the OpenCL loader, devices in the order of their platform. */
WEFT_API weft_status weft_device_get(size_t index, weft_device_info *info);

typedef struct weft_context weft_context;

struct _cl_context;
struct _cl_device_id;
struct _cl_command_queue;
struct _cl_mem;

typedef struct weft_context_options {
    size_t struct_size;
    /* "gpu", "cpu", "0:1", or a part of a text in any case: of a platform's name, version or vendor or of the version of
     * OpenCL ("pocl", "rusticl"); else, if no device has it there, of a device's name; else of its vendor. The best one
     * that fits is opened: a GPU before a CPU, then by compute units × clock. NULL: $WEFT_DEVICE, else the best device
     * of this machine. */
    const char *device;
    /* The folder for compiled kernels. NULL: $WEFT_CACHE_DIR, else $XDG_CACHE_HOME/weft, else ~/.cache/weft.
     * "": nothing is cached on disk. A folder or file that is not the user's own, or that others may write to, is
     * not used, which the log says once; the folder is made with the mode 0700. */
    const char *cache_dir;
    size_t memory_limit; /* bytes of device memory that the context may hold, see plan.h; 0: no limit */
    uint64_t seed;       /* of initialisers and random ops; 0 is an ordinary seed */
    const weft_allocator *allocator; /* NULL: malloc; the struct is copied */
    weft_log_function log;           /* NULL: no messages */
    void *log_user;
    weft_progress_function progress; /* of compiling kernels, see base.h; NULL: none */
    void *progress_user;
    /* OpenCL objects of the embedding program (retained): context and device together, and optionally an
     * in-order queue. NULL: Weft creates its own. */
    struct _cl_context *cl_context;
    struct _cl_device_id *cl_device;
    struct _cl_command_queue *cl_queue;
    /* Default false. If the device is this processor and has Intel's AMX, Weft asks the operating system for the use of its
     * tile registers (Linux: arch_prctl, ARCH_REQ_XCOMP_PERM). The process keeps the permission: each thread that uses
     * them needs 8 KiB more wherever the system saves its registers, on the stack of a signal handler, too. true, or
     * $WEFT_MATRIX_ENGINES=0: Weft does not ask, and multiplies without them, and without AVX-512 BF16. */
    bool no_matrix_engines;
    /* What reads files (of data, weights, texts) takes regular files alone, which end. true: pipes and devices, too. */
    bool any_files;
    /* The most bytes that are taken from a file that does not tell how many there are. 0: 1 GiB from a pipe or a device,
     * 16 MiB + 100 times its size from a gzip file. */
    size_t file_limit;
    /* Work is cut into pieces as for so many compute units, and what pieces add up is added in their order: with the same
     * number, results have the same bits on any number of cores of one kind of processor. At most 4096. 0:
     * $WEFT_WORK_UNITS, else as many as the device has. */
    size_t work_units;
    /* Default false: no buffer is larger than what the driver reports as the largest. true: up to the device's memory, which
     * many drivers grant (NVIDIA's report a quarter of it, Intel's 4 GiB, beyond which their kernels are slower); those
     * that do not fail when a plan is made. */
    bool large_buffers;
    /* A tuning file that is shipped with the program (`weft tune --file`): which kernels serve which sizes, for the devices,
     * drivers and version of Weft that it names. What it says of others, and a file that cannot be read, is ignored, which
     * the log says. What `weft tune` found on this machine comes first. NULL: $WEFT_TUNING, else none. */
    const char *tuning_file;
    /* Default false: a device with memory of its own gets inputs on a second queue of the context, while its kernels are at
     * work, and each plan has a second buffer for each of its inputs (plan.h). What is enqueued on the queue of the kernels
     * after a write waits for it, on cl_queue, too. Loaders keep their batches in pinned memory of the driver's (at most
     * 512 MiB), beside what `allocator` gives. true: Weft makes no second queue and no pinned memory. $WEFT_UPLOAD_QUEUE=0
     * does the same for all contexts, =1 makes them on devices that share the host's memory, too, where they gain nothing. */
    bool one_queue;
    /* Seconds that one launch of a kernel should not exceed, by estimate: longer ones are cut into portions that compute the same
     * bits. 0: $WEFT_LONGEST_LAUNCH, else half a second on GPUs that may show a display, too (systems reset one that does not
     * answer for two seconds), and no limit on others. Negative: no limit. Kernels of class "cpu" are never cut. */
    double longest_launch;
    /* The share of the time between runs of a plan that may go into measuring kernels of its products and convolutions, as
     * `weft tune` does: 0.05 for one twentieth, at most 0.5. Such a weft_plan_run waits for what is enqueued. Running plans
     * keep their kernels and the bits of their results; what is found is kept in the cache folder, and serves plans that are
     * made later. A kernel that hangs is left behind, and ends the tuning; one that ends the process does so here, while
     * `weft tune` measures in a process of its own.
     * 0: $WEFT_TUNING_SHARE, else none. Negative: none. */
    double tuning_share;
    /* For long trainings on drivers that may hang: seconds that a launch of a plan may take while the program waits for the device
     * (weft_plan_read, weft_plan_wait, weft_plan_write, and weft_plan_run once thousands of launches are ahead of the device). After them
     * the call is WEFT_ERROR_OPENCL, and names the step and its kernel; the cache folder remembers a kernel of a product or
     * convolution, and plans of later starts take another. All calls that need the device fail from then on; everything can be
     * released. Memory that was given to weft_plan_write_async or weft_plan_read_async must stay where it is until the process ends. Time in
     * which the process is stopped does not count. What others put into cl_queue counts. Some drivers do not say how far a run is: give
     * it many times the longest run. A call of the driver's that does not return itself has no limit.
     * 0: $WEFT_LONGEST_WAIT, else any time. Negative: any time. */
    double longest_wait;
    /* Where longest_wait is set: seconds for what drivers compile at its first use, which are a plan's first run, and kernels that are
     * tested before they are used (when a context or a plan is made); and for all that is no launch of a plan. A kernel that does not
     * end in its test is not used, and remembered; the program goes on, if the device computes anything besides.
     * 0: $WEFT_LONGEST_FIRST_WAIT, else ten times longest_wait, but at least 300. Negative: any time. */
    double longest_first_wait;
} weft_context_options;
#define WEFT_CONTEXT_OPTIONS_INIT .struct_size = sizeof(weft_context_options)

/* Opens a device. options NULL means all defaults. From the first call on, and from the first list of devices, drivers are in use, which
 * do not work in children that are forked later: there this is WEFT_ERROR_STATE, as are all calls that need a device or a thread, while
 * releasing only frees host memory. Fork first and create contexts in the children, or start children by exec (docs/prefork.md).
 * Errors: WEFT_ERROR_NO_DEVICE, WEFT_ERROR_OPENCL, WEFT_ERROR_STATE, WEFT_ERROR_ARGUMENT, WEFT_ERROR_MEMORY. */
WEFT_API weft_status weft_context_create(weft_context **context, const weft_context_options *options);
WEFT_API weft_context *weft_context_retain(weft_context *context);
WEFT_API void weft_context_release(weft_context *context); /* NULL is allowed */

/* The device of the context; borrowed. */
WEFT_API const weft_device_info *weft_context_device(const weft_context *context);

/* The bytes of device memory that the context holds now, and the most that it has held. Either pointer may be
 * NULL. What a released plan held is kept for the next plans, within a bound: the memory that is held and unused is
 * never more than half of the larger of the largest plan that lives and the largest of the last four plans that were
 * released, each counted as its weft_plan_info.total_bytes. Parameters, states and snapshots are not unused. */
WEFT_API void weft_context_memory(const weft_context *context, size_t *bytes, size_t *peak);
/* Gives the unused memory back to the driver at once; later plans allocate anew. *freed (may be NULL) is set to how
 * many bytes were given back. It does not wait for the device. Only the thread that uses the context may call it.
 * Errors: WEFT_ERROR_ARGUMENT (context is NULL). */
WEFT_API weft_status weft_context_trim(weft_context *context, size_t *freed);

#ifdef __cplusplus
}
#endif
#endif
