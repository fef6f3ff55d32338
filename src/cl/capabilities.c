/* What the driver reports, and whether double and half really work (contract in capabilities.h).
 *
 * One kernel, compiled and run once for a device and driver, computes with float, and with double and half if the
 * driver reports them. If it does not compile or its results are wrong, it is tried without half, and then without
 * double; if float fails, the device is not used. Processors with kernels of class cpu are not tested, because that
 * would lengthen each first start: they have double if the driver reports it, and no half arithmetic. */
#include "cl/capabilities.h"
#include "base/log.h"
#include "base/platform.h"

#include "cl/device_list.h"
#include "cl/device_query.h"
#include "cl/device_values.h"
#include "cl/driver.h"
#include "cl/gpu_engines.h"
#include "cl/probe.h"
#include "cl/program_cache.h"
#include "cl/quirks.h"

#include <stdio.h>
#include <string.h>

/* Queries of cl_amd_device_attribute_query. */
enum { BOARD_NAME = 0x4038, MAX_WORK_GROUP_SIZE_OF_AMD = 0x4031 };

/* Reads the board's name and the largest group that a kernel may require. On AMD's driver CL_DEVICE_MAX_WORK_GROUP_SIZE
 * is only the largest group of kernels that require no size. */
static void read_facts_of_amd(wi_device *device) {
    wi_capabilities *const caps = &device->caps;
    char board[1024] = "";
    size_t group = 0;
    if (clGetDeviceInfo(device->id, BOARD_NAME, sizeof board - 1, board, NULL) == CL_SUCCESS)
        snprintf(caps->board, sizeof caps->board, "%.*s", (int)sizeof caps->board - 1, board);
    if (clGetDeviceInfo(device->id, MAX_WORK_GROUP_SIZE_OF_AMD, sizeof group, &group, NULL) == CL_SUCCESS)
        caps->required_group = group;
}

/* Reads what, besides the device's name, selects rows of the table of known devices. */
static weft_status read_identity(wi_device *device) {
    wi_capabilities *const caps = &device->caps;
    wi_gpu_traits traits;
    WI_TRY(wi_gpu_traits_read(&traits, device));
    wi_gpu_architecture_of(caps->architecture, sizeof caps->architecture, &traits);
    const bool is_of_amd = wi_gpu_reports(traits.extensions, "cl_amd_device_attribute_query");
    wi_gpu_traits_clear(&traits, device);
    if (is_of_amd) read_facts_of_amd(device);
    return WEFT_OK;
}

weft_status wi_capabilities_read(wi_device *device) {
    wi_capabilities *const caps = &device->caps;
    cl_device_id const id = device->id;
    cl_bool shared_memory = CL_TRUE;
    size_t sizes[16] = {0};
    const char *const forced = wi_environment("WEFT_DEVICE_CLASS");
    *caps = (wi_capabilities){
        .kind = forced ? wi_device_kind_named(forced) : NULL,
        .device_class = device->info.device_class,
        .name = device->info.name,
        .vendor = device->info.vendor,
        .compute_units = device->info.compute_units,
        .clock_mhz = device->info.clock_mhz,
        .local_memory = device->info.local_memory,
        .largest_allocation = device->info.largest_allocation,
        .global_memory = device->info.global_memory,
        .quirks = wi_quirks_find(&device->info),
    };
    WI_QUERY(id, CL_DEVICE_TYPE, &caps->type);
    WI_QUERY(id, CL_DEVICE_MAX_WORK_GROUP_SIZE, &caps->max_work_group_size);
    WI_QUERY(id, CL_DEVICE_MAX_WORK_ITEM_SIZES, &sizes);
    memcpy(caps->max_work_item_sizes, sizes, sizeof caps->max_work_item_sizes);
    WI_QUERY(id, CL_DEVICE_HOST_UNIFIED_MEMORY, &shared_memory);
    caps->own_memory = !shared_memory;
    return caps->type & CL_DEVICE_TYPE_GPU ? read_identity(device) : WEFT_OK;
}

/* Every result is exact in each of the three formats, so that it can be compared for equality. */
static const char probe_source[] =
    "#ifdef PROBE_FP64\n"
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    "#endif\n"
    "#ifdef PROBE_FP16\n"
    "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
    "#endif\n"
    "__kernel void weft_probe(__global const float *in, __global float *out) {\n"
    "    const int i = (int)get_global_id(0);\n"
    "    const float a = in[i], b = in[i + 4];\n"
    "    out[i] = (a * b + 3.0f) / 4.0f + (float)((int)a % 3);\n"
    "#ifdef PROBE_FP64\n"
    "    const double c = a, d = b;\n"
    "    out[i + 4] = (float)((c * d + 3.0) / 4.0 - 0.25 * c);\n"
    "#endif\n"
    "#ifdef PROBE_FP16\n"
    "    const half e = (half)a, f = (half)b;\n"
    "    out[i + 8] = (float)((e * f + (half)3.0f) / (half)4.0f + e);\n"
    "#endif\n"
    "}\n";

enum { PROBE_ITEMS = 4, PROBE_INPUTS = 8, PROBE_OUTPUTS = 12 };

static const float probe_inputs[PROBE_INPUTS] = {1.0f, 2.0f, 5.0f, 10.0f, 4.0f, -8.0f, 12.0f, 0.5f};

static bool numbers_are_right(const float *out, bool fp64, bool fp16) {
    for (int i = 0; i < PROBE_ITEMS; i++) {
        const float a = probe_inputs[i], b = probe_inputs[i + PROBE_ITEMS];
        const float base = (a * b + 3.0f) / 4.0f;
        if (out[i] != base + (float)((int)a % 3)) return false;
        if (fp64 && out[i + PROBE_ITEMS] != base - 0.25f * a) return false;
        if (fp16 && out[i + 2 * PROBE_ITEMS] != base + a) return false;
    }
    return true;
}

static weft_status probe(wi_device *device, bool fp64, bool fp16) {
    static const char *const options[2][2] = {
        {"", "-D PROBE_FP16"}, {"-D PROBE_FP64", "-D PROBE_FP64 -D PROBE_FP16"}};
    float out[PROBE_OUTPUTS] = {0};
    wi_program *program = NULL;
    WI_TRY(wi_program_get(&program, device, "the probe kernel", probe_source, options[fp64][fp16]));
    const weft_status status = wi_probe_run(&(wi_probe){.kernel = "weft_probe",
                                                .inputs = probe_inputs,
                                                .input_bytes = sizeof probe_inputs,
                                                .results = out,
                                                .result_bytes = sizeof out,
                                                .items = PROBE_ITEMS,
                                                .group = 1},
        device, program);
    wi_program_forget(device, program);
    if (status != WEFT_OK) return status;
    if (!numbers_are_right(out, fp64, fp16))
        WI_FAIL(WEFT_ERROR_UNSUPPORTED,
            "%s (%s %s) cannot be used: it computes wrong numbers in a test kernel", device->info.name,
            device->info.platform, device->info.driver);
    return WEFT_OK;
}

enum { FOUND_FLOAT = 1, FOUND_FP64 = 2, FOUND_FP16 = 4, FOUND_ALL = 7 };

static void apply(wi_capabilities *caps, unsigned found) {
    caps->can_build = (found & FOUND_FLOAT) != 0;
    caps->fp64 = (found & FOUND_FP64) != 0;
    caps->fp16 = (found & FOUND_FP16) != 0;
}

/* Whether the failure may be that of a format, so that fewer formats may work. */
static bool is_for_format(weft_status status) {
    return status != WEFT_OK && status != WEFT_ERROR_MEMORY && status != WEFT_ERROR_DEVICE_MEMORY;
}

/* The formats that the driver reports, before they are tested. */
static weft_status read_formats(const wi_device *device, bool *fp64, bool *fp16) {
    char *extensions = NULL;
    WI_TRY(wi_device_query_text(
        &extensions, device->host.allocator, device->id, CL_DEVICE_EXTENSIONS, "CL_DEVICE_EXTENSIONS"));
    *fp64 = strstr(extensions, "cl_khr_fp64") != NULL;
    /* NVIDIA's driver supports half without reporting cl_khr_fp16: github.com/CNugteren/CLBlast/issues/570 */
    *fp16 = strstr(extensions, "cl_khr_fp16") || wi_contains_any_case(device->info.vendor, "nvidia");
    wi_release(device->host.allocator, extensions);
    return WEFT_OK;
}

static weft_status probe_formats(wi_device *device, const char *name, bool fp64, bool fp16) {
    char error[WI_ERROR_LINE];
    wi_error_save(error, sizeof error);
    weft_status status = probe(device, fp64, fp16);
    if (is_for_format(status) && fp16) status = probe(device, fp64, fp16 = false);
    if (is_for_format(status) && fp64) status = probe(device, fp64 = false, fp16);
    if (status != WEFT_OK) return status;
    wi_error_restore(error);
    const unsigned found = FOUND_FLOAT | (fp64 ? FOUND_FP64 : 0u) | (fp16 ? FOUND_FP16 : 0u);
    apply(&device->caps, found);
    /* A build that was interrupted says nothing about the device, which is then tested again by the next context. */
    if (wi_programs_stats(device)->interrupted == 0) wi_device_value_set(device, name, found);
    return WEFT_OK;
}

void wi_capabilities_answer(char name[WI_PROBE_NAME]) {
    wi_probe_name(name, "formats", probe_source);
}

static bool find_formats(wi_device *device, const char *name, unsigned *found) {
    double known = 0;
    if (!wi_device_value_get(device, name, &known)) return false;
    *found = known >= FOUND_FLOAT && known <= FOUND_ALL ? (unsigned)known : 0;
    if (*found & FOUND_FLOAT) return true;
    wi_log_line(device->host.log, WEFT_LOG_WARNING,
        "cache folder: the entry '%s' is not a valid test result and is ignored", name);
    return false;
}

weft_status wi_capabilities_probe(wi_device *device) {
    char name[WI_PROBE_NAME];
    unsigned found = 0;
    bool fp64 = false, fp16 = false;
    wi_capabilities_answer(name);
    if (find_formats(device, name, &found)) {
        apply(&device->caps, found);
        return WEFT_OK;
    }
    WI_TRY(read_formats(device, &fp64, &fp16));
    if (device->caps.device_class == WEFT_CLASS_CPU && (device->caps.type & CL_DEVICE_TYPE_CPU)) {
        apply(&device->caps, FOUND_FLOAT | (fp64 ? FOUND_FP64 : 0u));
        return WEFT_OK;
    }
    return probe_formats(device, name, fp64, fp16);
}
