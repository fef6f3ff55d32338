/* Architectures and matrix engines of GPUs (contract in gpu_engines.h). */
#include "cl/gpu_engines.h"
#include "cl/device_query.h"
#include "cl/driver.h"
#include "cl/matrix_engine.h"
#include <stdio.h>
#include <string.h>

/* Queries of cl_nv_device_attribute_query, cl_intel_required_subgroup_size and cl_intel_device_attribute_query. */
enum { CAPABILITY_MAJOR = 0x4000, CAPABILITY_MINOR = 0x4001, SUB_GROUP_SIZES = 0x4108, IP_VERSION = 0x4250 };

bool wi_gpu_reports(const char *extensions, const char *extension) {
    const size_t length = strlen(extension);
    for (const char *at = extensions; (at = strstr(at, extension)) != NULL; at += length) {
        const bool begins = at == extensions || at[-1] == ' ', ends = at[length] == '\0' || at[length] == ' ';
        if (begins && ends) return true;
    }
    return false;
}

/* mma.sync of bf16 and f16, 16 x 8 x 16, needs compute capability 8.0: Parallel Thread Execution ISA, "Target ISA
 * Notes" of mma. */
enum { MMA_CAPABILITY = 80 };

/* cp.async needs compute capability 8.0: "Target ISA Notes" of cp.async in the same document. */
enum { COPY_CAPABILITY = 80 };

/* AMD's own drivers name devices by their architecture, such as "gfx90a:sramecc+:xnack-". Mesa's drivers do not, and
 * their compiler has no builtins for engines. LLVM's "User Guide for AMDGPU Backend", table of processors. */
static const struct {
    const char *begins;
    unsigned engine;
} architectures[] = {{"gfx90a", WI_ENGINE_MFMA}, {"gfx94", WI_ENGINE_MFMA}, {"gfx950", WI_ENGINE_MFMA},
    {"gfx11", WI_ENGINE_WMMA}, {"gfx120", WI_ENGINE_WMMA12}};

static unsigned engine_of_amd(const char *name) {
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++) {
        if (strncmp(name, architectures[i].begins, strlen(architectures[i].begins)) == 0)
            return architectures[i].engine;
    }
    return 0;
}

/* The functions of the extension exist only for sub-groups of the smallest size, 8 or 16. */
static unsigned engine_of_intel(const wi_gpu_traits *traits) {
    if (!wi_gpu_reports(traits->extensions, "cl_intel_subgroup_matrix_multiply_accumulate")) return 0;
    return traits->sub_group == 8 ? WI_ENGINE_XMX8 : traits->sub_group == 16 ? WI_ENGINE_XMX16 : 0;
}

/* AMD's architecture is the name up to the colon. Intel's version has the architecture in its upper 10 bits, and the
 * release in the next 8. */
void wi_gpu_architecture_of(char *text, size_t bytes, const wi_gpu_traits *traits) {
    const unsigned version = traits->ip_version;
    text[0] = '\0';
    if (traits->capability > 0)
        snprintf(text, bytes, "sm_%d", traits->capability);
    else if (version > 0)
        snprintf(text, bytes, "ip_%u.%u", version >> 22, version >> 14 & 0xff);
    else if (strncmp(traits->name, "gfx", 3) == 0)
        snprintf(text, bytes, "%.*s", (int)strcspn(traits->name, ":"), traits->name);
}

unsigned wi_gpu_engines_of(const wi_gpu_traits *traits) {
    if (wi_gpu_reports(traits->extensions, "cl_nv_device_attribute_query") &&
        traits->capability >= MMA_CAPABILITY)
        return WI_ENGINE_MMA;
    return engine_of_intel(traits) | engine_of_amd(traits->name);
}

bool wi_gpu_reads_blocks(const wi_gpu_traits *traits) {
    return traits->sub_group == 8 && wi_gpu_reports(traits->extensions, "cl_intel_required_subgroup_size") &&
           wi_gpu_reports(traits->extensions, "cl_intel_subgroup_local_block_io");
}

bool wi_gpu_copies_asynchronously(const wi_gpu_traits *traits) {
    return wi_gpu_reports(traits->extensions, "cl_nv_device_attribute_query") &&
           traits->capability >= COPY_CAPABILITY;
}

/* The engine that a name means in each class of kernels; class cpu has only one. */
#define MODEL(name, engine_of_gpus)                                                                          \
    {                                                                                                        \
        (name), {                                                                                            \
            [WEFT_CLASS_CPU] = WI_ENGINE_AMX_BF16, [WEFT_CLASS_GPU] = (engine_of_gpus)                       \
        }                                                                                                    \
    }
static const struct {
    const char *name;
    unsigned engines[2];
} models[] = {MODEL("model", WI_ENGINE_MMA), MODEL("model-mma", WI_ENGINE_MMA),
    MODEL("model-wmma", WI_ENGINE_WMMA), MODEL("model-wmma12", WI_ENGINE_WMMA12),
    MODEL("model-mfma", WI_ENGINE_MFMA), MODEL("model-xmx8", WI_ENGINE_XMX8),
    MODEL("model-xmx16", WI_ENGINE_XMX16)};

unsigned wi_engine_modelled(const char *name, weft_device_class device_class) {
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        if (strcmp(name, models[i].name) == 0) return models[i].engines[device_class];
    }
    return 0;
}

static int capability_of(cl_device_id id) {
    cl_uint major = 0, minor = 0;
    if (clGetDeviceInfo(id, CAPABILITY_MAJOR, sizeof major, &major, NULL) != CL_SUCCESS) return 0;
    if (clGetDeviceInfo(id, CAPABILITY_MINOR, sizeof minor, &minor, NULL) != CL_SUCCESS) return 0;
    return (int)(10 * major + minor);
}

static cl_uint ip_version_of(cl_device_id id) {
    cl_uint version = 0;
    return clGetDeviceInfo(id, IP_VERSION, sizeof version, &version, NULL) == CL_SUCCESS ? version : 0;
}

static size_t least_sub_group(cl_device_id id) {
    size_t sizes[16] = {0}, bytes = 0, least = 0;
    if (clGetDeviceInfo(id, SUB_GROUP_SIZES, sizeof sizes, sizes, &bytes) != CL_SUCCESS) return 0;
    for (size_t i = 0; i < bytes / sizeof *sizes; i++) {
        if (least == 0 || sizes[i] < least) least = sizes[i];
    }
    return least;
}

weft_status wi_gpu_traits_read(wi_gpu_traits *traits, const wi_device *device) {
    *traits = (wi_gpu_traits){.name = device->info.name};
    WI_TRY(wi_device_query_text(
        &traits->owned, device->host.allocator, device->id, CL_DEVICE_EXTENSIONS, "CL_DEVICE_EXTENSIONS"));
    traits->extensions = traits->owned;
    if (wi_gpu_reports(traits->extensions, "cl_nv_device_attribute_query"))
        traits->capability = capability_of(device->id);
    if (wi_gpu_reports(traits->extensions, "cl_intel_required_subgroup_size"))
        traits->sub_group = least_sub_group(device->id);
    if (wi_gpu_reports(traits->extensions, "cl_intel_device_attribute_query"))
        traits->ip_version = ip_version_of(device->id);
    return WEFT_OK;
}

void wi_gpu_traits_clear(wi_gpu_traits *traits, const wi_device *device) {
    wi_release(device->host.allocator, traits->owned);
    *traits = (wi_gpu_traits){0};
}

weft_status wi_gpu_engines_find(wi_device *device) {
    wi_gpu_traits traits;
    WI_TRY(wi_gpu_traits_read(&traits, device));
    device->caps.engines = wi_gpu_engines_of(&traits);
    device->caps.sub_group = traits.sub_group;
    device->caps.block_reads = wi_gpu_reads_blocks(&traits);
    device->caps.async_copies = wi_gpu_copies_asynchronously(&traits);
    wi_gpu_traits_clear(&traits, device);
    return WEFT_OK;
}
