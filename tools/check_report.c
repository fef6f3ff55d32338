/* See check_report.h. */
#include "check_report.h"
#include "cl/choices.h"
#include "cl/context.h"
#include "cl/device_list.h"
#include "cl/device_query.h"
#include "console.h"
#include "in_child.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>

static FILE *report;            /* NULL: none */
static const char *report_path; /* for its errors */
static int write_error;         /* the first; 0: none */

void check_line(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    if (!report) return;
    va_start(arguments, format);
    if (vfprintf(report, format, arguments) < 0 && write_error == 0) write_error = errno;
    va_end(arguments);
}

static void describe_text(cl_device_id device, cl_device_info what, const char *name) {
    char *text = NULL;
    if (wi_device_query_text(&text, NULL, device, what, name) != WEFT_OK)
        fprintf(report, "  %s: %s\n", name, weft_last_error());
    else
        fprintf(report, "  %s: %s\n", name, text);
    wi_release(NULL, text);
}

static void describe_number(cl_device_id device, cl_device_info what, const char *name, size_t bytes) {
    cl_ulong number = 0;
    cl_uint small = 0;
    const bool is_small = bytes == sizeof small;
    if (wi_device_query(device, what, name, is_small ? (void *)&small : (void *)&number, bytes) != WEFT_OK)
        fprintf(report, "  %s: %s\n", name, weft_last_error());
    else
        fprintf(
            report, "  %s: %llu\n", name, is_small ? (unsigned long long)small : (unsigned long long)number);
}

#define TEXT(what)         describe_text(device, what, #what)
#define NUMBER(what, type) describe_number(device, what, #what, sizeof(type))

static void describe_limits(cl_device_id device) {
    TEXT(CL_DEVICE_EXTENSIONS);
    NUMBER(CL_DEVICE_VENDOR_ID, cl_uint);
    NUMBER(CL_DEVICE_MAX_WORK_GROUP_SIZE, size_t);
    NUMBER(CL_DEVICE_LOCAL_MEM_TYPE, cl_uint);
    NUMBER(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, cl_ulong);
    NUMBER(CL_DEVICE_MEM_BASE_ADDR_ALIGN, cl_uint);
    NUMBER(CL_DEVICE_ADDRESS_BITS, cl_uint);
    NUMBER(CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, cl_uint);
    NUMBER(CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, cl_uint);
}

static void describe_device(const wi_device_entry *entry) {
    const weft_device_info *const info = &entry->info;
    fprintf(report, "\ndevice %s: %s\n  platform %s, vendor %s, %s, driver %s\n", info->selector, info->name,
        info->platform, info->vendor, info->opencl, info->driver);
    fprintf(report, "  %s, %u compute units at %u MHz, %llu bytes, largest block %llu, local memory %llu\n",
        info->is_gpu   ? "GPU"
        : info->is_cpu ? "CPU"
                       : "accelerator",
        info->compute_units, info->clock_mhz, (unsigned long long)info->global_memory,
        (unsigned long long)info->largest_allocation, (unsigned long long)info->local_memory);
    if (entry->device) describe_limits(entry->device);
}

static weft_status describe_devices(void) {
    wi_device_list list;
    WI_TRY(wi_device_list_read(&list, NULL));
    for (size_t i = 0; i < list.count; i++) describe_device(&list.entries[i]);
    wi_device_list_clear(&list);
    fprintf(report, "\n");
    return WEFT_OK;
}

weft_status check_report_begin(const char *path) {
    char system[256];
    report = console_open(path, "wb");
    report_path = path;
    if (!report) WI_FAIL(WEFT_ERROR_FILE, "cannot write '%s': %s", path, strerror(errno));
    in_child_system(system, sizeof system);
    (void)setvbuf(report, NULL, _IOLBF, 0); /* a driver may end the process */
    fprintf(report, "weft %s on %s\n", weft_version(), system);
    return describe_devices();
}

/* What the library expects of the device, and by which row of its table. */
static void describe_expected(const wi_device *device) {
    static const char *const levels[] = {[WI_KNOWN_DEVICE] = "its name",
        [WI_KNOWN_ARCHITECTURE] = "its architecture",
        [WI_KNOWN_VENDOR] = "its vendor",
        [WI_KNOWN_NOT] = "only its kind"};
    const wi_device_profile *const profile = &device->profile;
    fprintf(report, "\nknown by %s: architecture '%s', board '%s', %lld units, %.4g f32 GFLOP/s, %.4g GB/s\n",
        levels[profile->known], device->caps.architecture, device->caps.board, (long long)profile->units,
        1e-9 * wi_device_peak(profile, sizeof(float)), 1e-9 * profile->bandwidth);
}

void check_report_tuning(weft_context *context) {
    wi_text text;
    describe_expected(wi_context_device(context));
    wi_text_init(&text, NULL);
    wi_choices_append(wi_context_device(context), &text);
    if (text.data) fprintf(report, "\ntuning\n%s", text.data);
    wi_text_clear(&text);
}

weft_status check_report_end(void) {
    const int result = fclose(report);
    if (write_error == 0 && result != 0) write_error = errno;
    report = NULL;
    if (write_error != 0)
        WI_FAIL(WEFT_ERROR_FILE, "cannot write '%s': %s", report_path, strerror(write_error));
    return WEFT_OK;
}
