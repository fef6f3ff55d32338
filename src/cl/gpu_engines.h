/* The architecture and matrix engines of a GPU, from what its driver reports, and the engines that models emulate. No
 * instruction is tried here: the first product finds out whether the compiler accepts it and the results are right. */
#ifndef WI_GPU_ENGINES_H
#define WI_GPU_ENGINES_H

#include "cl/opened_device.h"

/* What the driver reports about a GPU. */
typedef struct wi_gpu_traits {
    const char *name;       /* the device's name */
    const char *extensions; /* separated by spaces */
    int capability;         /* NVIDIA's compute capability, 80 for 8.0; 0: not reported */
    cl_uint ip_version;     /* Intel's version, with several fields; 0: not reported */
    size_t sub_group;       /* the smallest sub-group that a kernel may require; 0: not reported */
    char *owned;            /* memory of `extensions`, which wi_gpu_traits_clear frees; NULL: not owned */
} wi_gpu_traits;

/* Whether `extensions`, names separated by spaces, contains the name `extension`. */
bool wi_gpu_reports(const char *extensions, const char *extension);
/* Queries the driver; wi_gpu_traits_clear frees the result. Errors: those of queries, WEFT_ERROR_MEMORY. */
weft_status wi_gpu_traits_read(wi_gpu_traits *traits, const wi_device *device);
void wi_gpu_traits_clear(wi_gpu_traits *traits, const wi_device *device);

/* Writes the architecture (wi_capabilities.architecture) to a text of `bytes` bytes; "" if it is not known. */
void wi_gpu_architecture_of(char *text, size_t bytes, const wi_gpu_traits *traits);

/* The WI_ENGINE_ bits of a GPU with these traits. */
unsigned wi_gpu_engines_of(const wi_gpu_traits *traits);
/* For tests: the WI_ENGINE_ bit of the engine that a value of WEFT_MATRIX_ENGINES emulates, such as "model-wmma"; 0: no
 * such value. "model" is NVIDIA's engine. For class cpu each of the values is AMX. */
unsigned wi_engine_modelled(const char *name, weft_device_class device_class);
/* Whether kernels may require sub-groups of 8 items, the smallest, which read local memory together
 * (cl_intel_subgroup_local_block_io): Intel's GPUs up to the Arc A-series. */
bool wi_gpu_reads_blocks(const wi_gpu_traits *traits);
/* Whether kernels can copy from global to local memory without registers, while items go on: NVIDIA's GPUs from compute
 * capability 8.0 on. */
bool wi_gpu_copies_asynchronously(const wi_gpu_traits *traits);
/* Sets engines, sub_group, block_reads and async_copies of device->caps. Errors as wi_gpu_traits_read. */
weft_status wi_gpu_engines_find(wi_device *device);

#endif
