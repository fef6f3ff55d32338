/* The table of quirks, and the drivers that are trusted (contract in quirks.h). */
#include "cl/quirks.h"

#include "cl/device_list.h"

#include <string.h>

typedef struct quirk_row {
    const char *platform, *device, *driver; /* parts of the reported texts, in any case; "" matches all */
    unsigned quirks;
} quirk_row;

static const quirk_row quirk_rows[] = {
    /* PoCL compiles a kernel at its first launch, again for each local size, and again for any local size when its
     * binary is fetched; $POCL_CACHE_DIR keeps compiled kernels */
    {"portable computing language", "", "",
        WI_QUIRK_BINARY_LATE | WI_QUIRK_NO_CLBLAST | WI_QUIRK_OWN_CACHE | WI_QUIRK_GROUP_SIZES |
            WI_QUIRK_SLOW_HEADER},
    /* compiled_once.h prevents the copies, compile.c the first optimiser; other versions were not tried */
    {"portable computing language", "", "3.1", WI_QUIRK_KERNEL_COPIES | WI_QUIRK_TWO_OPTIMISERS},
    /* without optimisation PoCL 6.0 compiles vload_half to an aligned load, which ends the process at other
     * addresses */
    {"portable computing language", "", "6.0", WI_QUIRK_UNOPTIMISED_HALF},
    {"rusticl", "llvmpipe", "", WI_QUIRK_NO_CLBLAST | WI_QUIRK_SCALAR_COMPILER},
    /* found by the self-test of recurrent scans; the cause is not known, and other versions were not tried */
    {"rusticl", "llvmpipe", "22.3", WI_QUIRK_SINGLE_ITEMS},
    {"rusticl", "softpipe", "", WI_QUIRK_NO_CLBLAST | WI_QUIRK_SCALAR_COMPILER},
    /* Mesa 22.3 compiles OpenCL C without NIR's preservation of signed zeros, infinities and NaN. Its clFinish waits
     * only for work that it flushes itself; waiting for an event also waits for work that was flushed before */
    {"rusticl", "", "", WI_QUIRK_LOOSE_EDGES | WI_QUIRK_EARLY_FINISH},
    {"oclgrind", "", "", WI_QUIRK_NO_CLBLAST},
    /* github.com/intel/compute-runtime/issues/627; Intel's runtime for processors does not need it */
    {"intel(r) opencl graphics", "", "", WI_QUIRK_LARGE_FLAG},
    {"intel(r) opencl hd graphics", "", "", WI_QUIRK_LARGE_FLAG},
    /* a thread of 8 or 16 items has 128 registers of 32 bytes: tools/gpu-proofs shows which kernels spill */
    {"intel(r) opencl graphics", "", "", WI_QUIRK_FEW_REGISTERS},
    {"intel(r) opencl hd graphics", "", "", WI_QUIRK_FEW_REGISTERS},
    {"rusticl", "intel", "", WI_QUIRK_FEW_REGISTERS},
    /* 22.43 is the version of Debian 12; the version of Debian 14 keeps the operands in registers */
    {"intel(r) opencl graphics", "", "22.43", WI_QUIRK_PRIVATE_FRAGMENTS},
    /* github.com/openmm/openmm/issues/1541; github.com/intel/compute-runtime/issues/343 */
    {"nvidia cuda", "", "", WI_QUIRK_TURNING_WAIT},
    {"intel(r) opencl graphics", "", "", WI_QUIRK_TURNING_WAIT},
    {"intel(r) opencl hd graphics", "", "", WI_QUIRK_TURNING_WAIT},
    /* github.com/viennacl/viennacl-dev/issues/225: AMD's driver compiles when the kernel object is created */
    {"amd accelerated parallel processing", "", "", WI_QUIRK_BINARY_LATE},
};

unsigned wi_quirks_find(const weft_device_info *info) {
    unsigned quirks = 0;
    for (size_t i = 0; i < sizeof quirk_rows / sizeof *quirk_rows; i++) {
        const quirk_row *const row = &quirk_rows[i];
        if (wi_contains_any_case(info->platform, row->platform) &&
            wi_contains_any_case(info->name, row->device) && wi_contains_any_case(info->driver, row->driver))
            quirks |= row->quirks;
    }
    return quirks;
}

bool wi_quirks_need_optimisation(unsigned quirks, const char *source) {
    return (quirks & WI_QUIRK_UNOPTIMISED_HALF) && strstr(source, "vload_half");
}

/* The drivers that docs/drivers.md says are tested; other versions are not trusted. "3.1+debian" is version 3.1, "3.10"
 * is not. */
static const struct {
    const char *platform, *driver; /* a part of the platform's name; the version */
} proven_rows[] = {{"portable computing language", "3.1"}};

static bool is_version(const char *driver, const char *version) {
    const size_t length = strlen(version);
    if (strncmp(driver, version, length) != 0) return false;
    return driver[length] == '\0' || !strchr(".0123456789", driver[length]);
}

bool wi_driver_is_proven(const weft_device_info *info) {
    for (size_t i = 0; i < sizeof proven_rows / sizeof *proven_rows; i++) {
        if (wi_contains_any_case(info->platform, proven_rows[i].platform) &&
            is_version(info->driver, proven_rows[i].driver))
            return true;
    }
    return false;
}

const char *wi_quirk_text(unsigned quirk) {
    switch (quirk) {
    case WI_QUIRK_LARGE_FLAG:
        return "allows buffers above its stated largest if a flag and a compiler option are given";
    case WI_QUIRK_PRIVATE_FRAGMENTS:
        return "keeps the operands of attention's matrix instructions in slow private memory: multiply-adds "
               "are used";
    case WI_QUIRK_TURNING_WAIT: return "waits by polling, which keeps a core busy: Weft sleeps first";
    case WI_QUIRK_FEW_REGISTERS: return "has registers for 32 accumulators per work-item, not for 64";
    case WI_QUIRK_BINARY_LATE: return "program binaries are complete only after the kernels have run";
    case WI_QUIRK_NO_CLBLAST: return "CLBlast takes too long to build here";
    case WI_QUIRK_SCALAR_COMPILER: return "takes minutes to compile large kernels of wide vectors";
    case WI_QUIRK_LOOSE_EDGES: return "loses the sign of zeros and the infinity of a division by zero";
    case WI_QUIRK_OWN_CACHE:
        return "caches compiled kernels itself, and compiles each again to return its binary";
    case WI_QUIRK_GROUP_SIZES: return "compiles a kernel again for each work-group size";
    case WI_QUIRK_SLOW_HEADER: return "parses a header of all built-in functions for each program";
    case WI_QUIRK_KERNEL_COPIES: return "would compile each kernel three times: Weft prevents this";
    case WI_QUIRK_TWO_OPTIMISERS:
        return "would optimise each program before it optimises its kernels: Weft prevents this";
    case WI_QUIRK_SINGLE_ITEMS: return "computes loops with barriers wrongly in work-groups of one work-item";
    case WI_QUIRK_EARLY_FINISH: return "returns from clFinish before the flushed work has finished";
    case WI_QUIRK_UNOPTIMISED_HALF:
        return "reads f16 wrongly where kernels are compiled with " WI_OPTION_UNOPTIMISED;
    default: return "unknown quirk";
    }
}
