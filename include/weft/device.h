/* weft/device.h: the OpenCL devices of this machine, and the context that owns everything else. */
#ifndef WEFT_DEVICE_H
#define WEFT_DEVICE_H

#include <weft/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The class of kernels that a device runs: kernels of class "cpu" keep a tile in one work-item and use wide vectors;
 * kernels of class "gpu" share tiles in local memory. $WEFT_DEVICE_CLASS (cpu, gpu, or another kind of device that
 * docs/device-profiles.md lists) overrides the choice. */
typedef enum weft_device_class { WEFT_CLASS_CPU, WEFT_CLASS_GPU } weft_device_class;

typedef struct weft_device_info {
    char selector[16]; /* "platform:device", for example "0:1" */
    char name[128];
    char platform[128];
    char vendor[128];
    char driver[128]; /* the driver's version */
    char opencl[128]; /* CL_DEVICE_VERSION */
    bool is_gpu;      /* CL_DEVICE_TYPE_GPU */
    bool is_cpu;      /* CL_DEVICE_TYPE_CPU; if both are false: an accelerator */
    weft_device_class device_class;
    uint32_t compute_units;
    uint32_t clock_mhz;
    uint64_t global_memory;      /* bytes */
    uint64_t largest_allocation; /* bytes */
    uint64_t local_memory;       /* bytes per work-group */
} weft_device_info;

/* The number of devices of all platforms. If there is no platform, the result is WEFT_OK and a count of 0. */
WEFT_API weft_status weft_device_count(size_t *count);
/* Device `index`, below the count. Platforms are in the order of the OpenCL loader, devices in the order of their
 * platform. */
WEFT_API weft_status weft_device_get(size_t index, weft_device_info *info);

typedef struct weft_context weft_context;

struct _cl_context;
struct _cl_device_id;
struct _cl_command_queue;
struct _cl_mem;

typedef struct weft_context_options {
    size_t struct_size;
    /* "gpu"; "cpu"; "0:1"; or a text that is searched for in upper or lower case: first in the platform's name,
     * version and vendor and the version of OpenCL ("pocl", "rusticl"); if no device has it there, in the device's
     * name; then in the device's vendor. Of several devices the best is opened: GPUs before CPUs, then by compute
     * units × clock. NULL: $WEFT_DEVICE; if this is unset, the best device of the machine. */
    const char *device;
    /* The folder for compiled kernels. NULL: $WEFT_CACHE_DIR, otherwise $XDG_CACHE_HOME/weft, otherwise ~/.cache/weft.
     * "": nothing is cached on disk. The folder is created with the mode 0700. Folders and files that do not belong to
     * the user, or that others may write to, are not used; the log says so once. */
    const char *cache_dir;
    /* The most bytes of device memory that the context may hold; 0: no limit. A plan that would exceed it computes values
     * again (plan.h). If that does not suffice, it computes the batch in micro-batches, which changes last bits of
     * gradients (in mixed precision also which values have 16 bits), or keeps parameters and states in host memory and
     * copies what each step needs, which changes none. */
    size_t memory_limit;
    uint64_t seed;                   /* of initialisers and random ops; 0 is an ordinary seed */
    const weft_allocator *allocator; /* NULL: malloc; the struct is copied */
    weft_log_function log;           /* NULL: no messages */
    void *log_user;
    weft_progress_function progress; /* of compiling kernels, see base.h; NULL: none */
    void *progress_user;
    /* OpenCL objects of the program (retained): context and device together, and optionally an in-order queue. NULL:
     * Weft creates these objects. */
    struct _cl_context *cl_context;
    struct _cl_device_id *cl_device;
    struct _cl_command_queue *cl_queue;
    /* Default false: if the device is this processor and has Intel's AMX, Weft asks the operating system for
     * permission to use the tile registers (Linux: arch_prctl, ARCH_REQ_XCOMP_PERM). The process keeps the permission:
     * each thread that uses the registers needs 8 KiB more wherever the system saves them, including the stack of a
     * signal handler. true, or $WEFT_MATRIX_ENGINES=0: Weft does not ask, and uses neither AMX nor AVX-512 BF16. */
    bool no_matrix_engines;
    /* Default false: only regular files are read (data, weights, texts), because pipes and devices may have no end.
     * true: pipes and devices are read, too. */
    bool any_files;
    /* The largest number of bytes to read from a file whose length is not known before. 0: 1 GiB from a pipe or a
     * device, 16 MiB + 100 times the size of the file from a gzip file. */
    size_t file_limit;
    /* The most bytes of host memory that the examples of a dataset from files take. A dataset of more bytes leaves them
     * in its files, from which the threads of a loader read each example when they need it: its columns have no data
     * (weft_dataset_column). Its batches are the same. 0: 256 MiB. */
    size_t data_limit;
    /* Work is divided as for so many compute units, and partial sums are added in a fixed order: with the same number,
     * results have the same bits on any number of cores of one kind of processor. At most 4096. 0: $WEFT_WORK_UNITS,
     * otherwise the number of units of the device. */
    size_t work_units;
    /* Default false: no buffer is larger than the largest size that the driver reports. true: buffers may be as large
     * as the device's memory. Many drivers allow this (NVIDIA's report a quarter of the memory; Intel's report 4 GiB,
     * beyond which kernels are slower); with other drivers weft_plan_create fails. */
    bool large_buffers;
    /* A tuning file that is shipped with the program (`weft tune --file`): which kernels to use for which sizes, on
     * the devices, drivers and version of Weft that the file names. Entries for other devices, and a file that cannot
     * be read, are ignored; the log says so. Results of `weft tune` on this machine have priority. NULL: $WEFT_TUNING,
     * otherwise none. */
    const char *tuning_file;
    /* Default false: if the device has its own memory, inputs are copied on a second queue of the context while
     * kernels run, and plans have a second buffer for each input (plan.h). Commands that are enqueued on the queue of
     * the kernels (also on cl_queue) after a write wait for this write. Loaders keep batches in the driver's pinned
     * memory (at most 512 MiB), which does not come from `allocator`. true, or $WEFT_UPLOAD_QUEUE=0: no second queue
     * and no pinned memory. $WEFT_UPLOAD_QUEUE=1: both also on devices that share the host's memory, where they gain
     * nothing. */
    bool one_queue;
    /* The longest time of one launch in seconds, by estimate: longer launches are divided into portions, which are
     * enqueued one after the other and compute the same bits. 0: $WEFT_LONGEST_LAUNCH, otherwise half a second on GPUs
     * that may also show a display (operating systems reset a GPU that does not answer for two seconds) and no limit
     * on other devices. Negative: no limit. Kernels of class "cpu" are not divided. */
    double longest_launch;
    /* Called with release_user when the context has been destroyed, after the last call of any other function of these
     * options, so that a binding can free what these functions use. Not called if weft_context_create fails. Default
     * NULL. */
    void (*on_release)(void *user);
    void *release_user;
    /* Several devices, among which trainers and plans with an update divide each batch (docs/scale.md): selectors as for `device`, separated by
     * commas, at most 8 devices. A selector that is not a position ("0:1") takes the best device that is not in the list
     * before. SELECTOR/N stands for N sub-devices with an equal number of compute units, as "0:0/2". Devices of different
     * drivers may be in one list. Parameters and states are on the first device, where all other plans run; memory_limit
     * and work_units hold for each device. Excludes `device` and cl_context. NULL: `device`; if neither is set,
     * $WEFT_DEVICE, which may be such a list. */
    const char *devices;
    /* Default false: a device of the list that cannot be opened is an error, which names it. true: the log names it, and
     * the context has the others. */
    bool skip_failed_devices;
    /* The most processes that compile the kernels of a plan beside this process (docs/concepts.md), so that its first run
     * is earlier. At most 8 are started, and one less than the device has compute units. Only on PoCL, which compiles
     * one kernel at a time, at its first launch; without effect elsewhere, on Windows, and with POCL_KERNEL_CACHE=0. Each
     * takes about 200 MB of memory until it ends, which sends SIGCHLD. Default 0: the library starts no process.
     * $WEFT_COMPILE_PROCESSES has priority. */
    size_t compile_processes;
} weft_context_options;
#define WEFT_CONTEXT_OPTIONS_INIT .struct_size = sizeof(weft_context_options)

/* Opens a device. options NULL means all defaults. OpenCL drivers do not work in child processes that fork after the
 * first call of this function, weft_device_count or weft_device_get: in such a child, all calls that need a device or a
 * thread return WEFT_ERROR_STATE, and releasing an object only frees host memory. Fork first and create contexts in
 * the children, or start children by exec (docs/prefork.md). Errors: WEFT_ERROR_NO_DEVICE, WEFT_ERROR_OPENCL,
 * WEFT_ERROR_STATE, WEFT_ERROR_ARGUMENT, WEFT_ERROR_MEMORY. */
WEFT_API weft_status weft_context_create(weft_context **context, const weft_context_options *options);
WEFT_API weft_context *weft_context_retain(weft_context *context);
WEFT_API void weft_context_release(weft_context *context); /* NULL is allowed */

/* The device of the context; borrowed. */
WEFT_API const weft_device_info *weft_context_device(const weft_context *context);

/* The bytes of device memory that the context holds now, and the most that it has held. Either pointer may be NULL.
 * The context keeps memory of released plans for later plans. This unused memory is at most half of the largest of
 * these plans, by weft_plan_info.total_bytes: all living plans, and the last four that were released. Parameters,
 * states and snapshots do not count as unused. */
WEFT_API void weft_context_memory(const weft_context *context, size_t *bytes, size_t *peak);
/* Gives the unused memory back to the driver at once, without waiting for the device; later plans allocate again.
 * *freed (may be NULL): the number of bytes given back. Only the thread that uses the context may call this. Errors:
 * WEFT_ERROR_ARGUMENT (context is NULL). */
WEFT_API weft_status weft_context_trim(weft_context *context, size_t *freed);

/* Writes the compiled kernels of the context's first device, in memory and in its cache folder, as one file, which a
 * program can ship so that its first start compiles nothing. Call this after the plans have run. On PoCL it compiles each
 * kernel once more. The file is replaced as a whole. *programs (may be NULL): how many OpenCL programs it has. Errors:
 * WEFT_ERROR_ARGUMENT (NULL), WEFT_ERROR_STATE (there are no kernels, or no cache folder), WEFT_ERROR_FILE,
 * WEFT_ERROR_MEMORY. */
WEFT_API weft_status weft_cache_export(weft_context *context, const char *path, size_t *programs);
/* Adds the kernels of such a file to the cache folder. Call this before plans are created. The kernels are native code:
 * import only files that you trust as the program itself. Nothing is imported after WEFT_ERROR_FORMAT (another or a
 * damaged file) and WEFT_ERROR_UNSUPPORTED (exported for another device, driver or version of Weft); the program then
 * compiles its kernels as without the file. Errors also: those of weft_cache_export. */
WEFT_API weft_status weft_cache_import(weft_context *context, const char *path, size_t *programs);

#ifdef __cplusplus
}
#endif
#endif
