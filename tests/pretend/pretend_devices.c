/* The devices that the layer knows, and what they answer. */
#include "pretend_devices.h"
#include "support/opencl_layer.h"
#include <stdio.h>

enum { MIB = 1 << 20, KIB = 1 << 10 };

/* Of cl_intel_required_subgroup_size, cl_nv_device_attribute_query, cl_amd_device_attribute_query and
 * cl_intel_device_attribute_query. */
enum {
    SUB_GROUP_SIZES = 0x4108,
    CAPABILITY_MAJOR = 0x4000,
    CAPABILITY_MINOR = 0x4001,
    BOARD_NAME = 0x4038,
    MAX_WORK_GROUP_SIZE_OF_AMD = 0x4031,
    IP_VERSION = 0x4250
};

/* 1024 bytes of arguments are what the standard grants. */
#define GPU .type = CL_DEVICE_TYPE_GPU, .vendor = "A vendor"
static const pretend_device devices[] = {
    {.name = "groups64", GPU, .units = 16, .group = 64},
    {.name = "card", GPU, .units = 16, .group = 64, .apart = true},
    {.name = "slow", GPU, .units = 1, .group = 256},
    {.name = "H100", GPU, .units = 1, .group = 256}, /* a name of cards without a display */
    {.name = "local16", GPU, .units = 16, .group = 256, .local = 16 * KIB},
    {.name = "units48", GPU, .units = 48, .group = 1024, .local = 48 * KIB},
    {.name = "units108", GPU, .units = 108, .group = 1024, .local = 48 * KIB},
    {.name = "roomy48", GPU, .units = 48, .group = 1024}, /* with the host's local memory */
    {.name = "A100-48",
        GPU,
        .units = 48,
        .group = 1024,
        .local = 48 * KIB}, /* whose matrix engines are fast */
    {.name = "A100-108", GPU, .units = 108, .group = 1024, .local = 48 * KIB},
    {.name = "units132", GPU, .units = 132, .group = 1024, .local = 48 * KIB},
    {.name = "units512",
        .type = CL_DEVICE_TYPE_GPU,
        .vendor = "Intel(R) Corporation",
        .units = 512,
        .clock = 2100,
        .group = 1024,
        .local = 64 * KIB},
    {.name = "largest256", GPU, .units = 16, .group = 256, .largest = 256 * MIB},
    {.name = "tiny", GPU, .units = 16, .group = 256, .largest = MIB, .global = 64 * MIB},
    {.name = "buffers128", GPU, .units = 16, .group = 256, .largest = 128 * KIB, .global = 64 * MIB},
    {.name = "narrow", GPU, .units = 1, .group = 256, .largest = 256 * KIB, .global = 64 * MIB},
    {.name = "flagged",
        .type = CL_DEVICE_TYPE_GPU,
        .vendor = "Intel(R) Corporation",
        .platform = "Intel(R) OpenCL Graphics",
        .clock = 2100,
        .units = 16,
        .group = 256,
        .largest = MIB,
        .global = 64 * MIB,
        .flagged = true},
    {.name = "eights",
        .type = CL_DEVICE_TYPE_GPU,
        .vendor = "Intel(R) Corporation",
        .platform = "Intel(R) OpenCL Graphics",
        .clock = 2100,
        .units = 64,
        .group = 256,
        .local = 64 * KIB,
        .extensions = "cl_intel_required_subgroup_size cl_intel_subgroup_local_block_io",
        .eights = true},
    /* As the drivers of these report them. */
    {.name = "A100",
        .type = CL_DEVICE_TYPE_GPU,
        .vendor = "NVIDIA Corporation",
        .reported = "NVIDIA A100-PCIE-40GB",
        .extensions = "cl_nv_device_attribute_query",
        .capability = 80,
        .clock = 1410,
        .units = 108,
        .group = 1024,
        .local = 48 * KIB},
    {.name = "H100-SXM",
        .type = CL_DEVICE_TYPE_GPU,
        .vendor = "NVIDIA Corporation",
        .reported = "NVIDIA H100 80GB HBM3",
        .extensions = "cl_nv_device_attribute_query",
        .capability = 90,
        .clock = 1980,
        .units = 132,
        .group = 1024,
        .local = 48 * KIB},
    {.name = "RX-7900",
        .type = CL_DEVICE_TYPE_GPU,
        .vendor = "Advanced Micro Devices, Inc.",
        .reported = "gfx1100",
        .extensions = "cl_amd_device_attribute_query",
        .board = "AMD Radeon RX 7900 XTX",
        .clock = 2498,
        .units = 48,
        .group = 256,
        .required = 1024,
        .local = 64 * KIB},
    {.name = "MI210",
        .type = CL_DEVICE_TYPE_GPU,
        .vendor = "Advanced Micro Devices, Inc.",
        .reported = "gfx90a:sramecc+:xnack-",
        .extensions = "cl_amd_device_attribute_query",
        .board = "AMD Instinct MI210",
        .clock = 1700,
        .units = 104,
        .group = 256,
        .required = 1024,
        .local = 64 * KIB},
    /* On the machine's platform: on Intel's a library would be tried, which takes long to compile. */
    {.name = "A770",
        .type = CL_DEVICE_TYPE_GPU,
        .vendor = "Intel(R) Corporation",
        .reported = "Intel(R) Arc(TM) A770 Graphics",
        .extensions = "cl_intel_required_subgroup_size cl_intel_subgroup_local_block_io "
                      "cl_intel_device_attribute_query",
        .eights = true,
        .ip_version = 12u << 22 | 55u << 14,
        .clock = 2100,
        .units = 512,
        .group = 1024,
        .local = 64 * KIB},
    {.name = "plain", GPU, .units = 16, .group = 256, .local = 32 * KIB, .parameter = 1024, .plain = true},
    {.name = "least",
        GPU,
        .units = 2,
        .group = 64,
        .local = 16 * KIB,
        .largest = 256 * MIB,
        .parameter = 1024,
        .plain = true},
    /* Groups that hold eight items, and a single one. */
    {.name = "group8", GPU, .units = 4, .group = 8, .local = 16 * KIB},
    {.name = "group1", GPU, .units = 4, .group = 1, .local = 16 * KIB},
    {.name = "processor",
        .group = 64,
        .local = 16 * KIB,
        .largest = 256 * MIB,
        .parameter = 1024,
        .plain = true},
    {.name = "narrow_processor", .group = 64, .largest = 256 * KIB, .global = 64 * MIB},
    {.name = "tiny_processor", .group = 64, .largest = MIB, .global = 64 * MIB},
};
enum { DEVICES = sizeof devices / sizeof *devices };

LAYER_EXPORT const pretend_device *pretend_layer_device(int index) {
    return index < DEVICES ? &devices[index] : NULL;
}

size_t pretend_most_items(const pretend_device *d, bool required) {
    return required && d->required > d->group ? d->required : d->group;
}

const char pretend_no_extensions[] =
    "#undef cl_khr_fp64\n#undef cl_khr_fp16\n#undef cl_khr_subgroups\n"
    "#undef cl_khr_int64_base_atomics\n#undef cl_khr_int64_extended_atomics\n"
    "#line 1\n";

#define ANSWER_NUMBER(type, number)                                                                          \
    do {                                                                                                     \
        const type value_of = (type)(number);                                                                \
        return layer_answer(&value_of, sizeof value_of, size, value, size_ret);                              \
    } while (0)
#define ANSWER_TEXT(text) return layer_answer((text), strlen(text) + 1, size, value, size_ret)

static cl_int answer_name(const pretend_device *d, size_t size, void *value, size_t *size_ret) {
    char text[64];
    if (d->reported) ANSWER_TEXT(d->reported);
    snprintf(text, sizeof text, "Pretended %s", d->name);
    ANSWER_TEXT(text);
}

static cl_int answer_plain(cl_device_info what, size_t size, void *value, size_t *size_ret) {
    switch (what) {
    case CL_DEVICE_VERSION: ANSWER_TEXT("OpenCL 1.2 Pretended "); /* as some drivers end it */
    case CL_DEVICE_OPENCL_C_VERSION: ANSWER_TEXT("OpenCL C 1.2 ");
    default: ANSWER_NUMBER(cl_device_fp_config, 0);
    }
}

static cl_int answer_group(
    const pretend_device *d, cl_device_info what, size_t size, void *value, size_t *size_ret) {
    const size_t most = pretend_most_items(d, true), sizes[3] = {most, most, most};
    if (what == CL_DEVICE_MAX_WORK_GROUP_SIZE) ANSWER_NUMBER(size_t, d->group);
    return layer_answer(sizes, sizeof sizes, size, value, size_ret);
}

static cl_int answer_sub_groups(size_t size, void *value, size_t *size_ret) {
    const size_t sizes[] = {8, 16, 32};
    return layer_answer(sizes, sizeof sizes, size, value, size_ret);
}

bool pretend_answers(const pretend_device *d, cl_device_info what) {
    switch (what) {
    case CL_DEVICE_NAME: return true;
    case CL_DEVICE_VENDOR: return d->vendor != NULL;
    case CL_DEVICE_TYPE: return d->type != 0;
    case CL_DEVICE_MAX_COMPUTE_UNITS: return d->units > 0;
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
    case CL_DEVICE_MAX_WORK_ITEM_SIZES: return d->group > 0;
    case CL_DEVICE_LOCAL_MEM_SIZE: return d->local > 0;
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE: return d->largest > 0;
    case CL_DEVICE_GLOBAL_MEM_SIZE: return d->global > 0;
    case CL_DEVICE_MAX_PARAMETER_SIZE: return d->parameter > 0;
    case CL_DEVICE_HOST_UNIFIED_MEMORY: return d->apart;
    case CL_DEVICE_MAX_CLOCK_FREQUENCY: return d->clock > 0;
    case SUB_GROUP_SIZES: return d->eights;
    case CAPABILITY_MAJOR:
    case CAPABILITY_MINOR: return d->capability > 0;
    case BOARD_NAME: return d->board != NULL;
    case MAX_WORK_GROUP_SIZE_OF_AMD: return d->required > 0;
    case IP_VERSION: return d->ip_version > 0;
    case CL_DEVICE_EXTENSIONS: return d->plain || d->extensions;
    case CL_DEVICE_VERSION:
    case CL_DEVICE_OPENCL_C_VERSION:
    case CL_DEVICE_DOUBLE_FP_CONFIG:
    case CL_DEVICE_HALF_FP_CONFIG: return d->plain;
    default: return false;
    }
}

cl_int pretend_answer(
    const pretend_device *d, cl_device_info what, size_t size, void *value, size_t *size_ret) {
    switch (what) {
    case CL_DEVICE_NAME: return answer_name(d, size, value, size_ret);
    case CL_DEVICE_VENDOR: ANSWER_TEXT(d->vendor);
    case CL_DEVICE_TYPE: ANSWER_NUMBER(cl_device_type, d->type);
    case CL_DEVICE_MAX_COMPUTE_UNITS: ANSWER_NUMBER(cl_uint, d->units);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
    case CL_DEVICE_MAX_WORK_ITEM_SIZES: return answer_group(d, what, size, value, size_ret);
    case CL_DEVICE_LOCAL_MEM_SIZE: ANSWER_NUMBER(cl_ulong, d->local);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE: ANSWER_NUMBER(cl_ulong, d->largest);
    case CL_DEVICE_GLOBAL_MEM_SIZE: ANSWER_NUMBER(cl_ulong, d->global);
    case CL_DEVICE_MAX_PARAMETER_SIZE: ANSWER_NUMBER(size_t, d->parameter);
    case CL_DEVICE_HOST_UNIFIED_MEMORY: ANSWER_NUMBER(cl_bool, CL_FALSE);
    case CL_DEVICE_MAX_CLOCK_FREQUENCY: ANSWER_NUMBER(cl_uint, d->clock);
    case SUB_GROUP_SIZES: return answer_sub_groups(size, value, size_ret);
    case CAPABILITY_MAJOR: ANSWER_NUMBER(cl_uint, d->capability / 10);
    case CAPABILITY_MINOR: ANSWER_NUMBER(cl_uint, d->capability % 10);
    case BOARD_NAME: ANSWER_TEXT(d->board);
    case MAX_WORK_GROUP_SIZE_OF_AMD: ANSWER_NUMBER(size_t, d->required);
    case IP_VERSION: ANSWER_NUMBER(cl_uint, d->ip_version);
    case CL_DEVICE_EXTENSIONS: ANSWER_TEXT(d->extensions ? d->extensions : "");
    default: return answer_plain(what, size, value, size_ret);
    }
}
