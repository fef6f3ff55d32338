/* Which architecture and which matrix engines a GPU has, by what its driver reports. No instruction is tried here: whether the driver's compiler
 * takes it and the numbers are right is found out by the first product. And which engine a model stands for. */
#ifndef WI_GPU_ENGINES_H
#define WI_GPU_ENGINES_H

#include "cl/opened_device.h"

/* What tells engines apart. */
typedef struct wi_gpu_traits {
    const char *name;       /* of the device */
    const char *extensions; /* separated by spaces */
    int capability;         /* NVIDIA's compute capability, 80 for 8.0; 0: not reported */
    cl_uint ip_version;     /* of Intel's GPUs, of several fields; 0: not reported */
    size_t sub_group;       /* the least size of a sub-group that a kernel may require; 0: not reported */
    char *owned;            /* the extensions of traits that were read */
} wi_gpu_traits;

/* Is the extension one of those, which spaces separate? */
bool wi_gpu_reports(const char *extensions, const char *extension);
/* What the device's driver reports. */
weft_status wi_gpu_traits_read(wi_gpu_traits *traits, const wi_device *device);
void wi_gpu_traits_clear(wi_gpu_traits *traits, const wi_device *device);

/* The architecture as a text of so many bytes, see wi_capabilities. */
void wi_gpu_architecture_of(char *text, size_t bytes, const wi_gpu_traits *traits);

/* WI_ENGINE_ bits. */
unsigned wi_gpu_engines_of(const wi_gpu_traits *traits);
/* For tests: the engine whose model in OpenCL C is named, as "model-wmma"; "model": NVIDIA's; 0: none is. Kernels of
 * class cpu have AMX by any of the names. */
unsigned wi_engine_modelled(const char *name, weft_device_class device_class);
/* May kernels require sub-groups of 8 items, the least, and let them read local memory together? Intel's GPUs up to Arc A-series. */
bool wi_gpu_reads_blocks(const wi_gpu_traits *traits);
/* Does it copy from global into local memory without a register, while its items go on? NVIDIA's GPUs from compute capability 8.0 on. */
bool wi_gpu_copies_asynchronously(const wi_gpu_traits *traits);
/* Sets the device's engines, the least size of a sub-group, whether it reads blocks, and whether it copies asynchronously. */
weft_status wi_gpu_engines_find(wi_device *device);

#endif
