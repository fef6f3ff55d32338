/* Listing devices: every device of every platform, in the loader's order (contract in device_list.h).
 *
 * Platforms without devices (such as Rusticl when no driver is enabled) are skipped. So are platforms whose devices
 * cannot be listed, unless no other platform has a device: one bad driver must not hide the others.
 *
 * Why there is a driver lock: while one thread starts PoCL's devices, PoCL gives other threads no device, or one that
 * is half initialised (docs/drivers.md). */
#include "cl/device_list.h"
#include "base/platform.h"
#include "cl/device_query.h"
#include "cl/driver.h"
#include "cl/opened_device.h"
#include "cl/quirks.h"

#include <stdio.h>
#include <string.h>

enum { MOST_PLATFORMS = 64, MOST_DEVICES = 256, PLATFORM_NOT_FOUND = -1001 };

/* Copies a text to a field, without blanks at its beginning and end ("OpenCL 3.0 "); texts that are too long are
 * truncated. */
static void copy_text(char *field, size_t capacity, const char *text) {
    text += strspn(text, " ");
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == ' ') length--;
    const size_t kept = length < capacity ? length : capacity - 1;
    memcpy(field, text, kept);
    field[kept] = '\0';
}

typedef struct text_query {
    cl_device_info what;
    const char *name;
    char *field;
    size_t capacity;
} text_query;

static weft_status read_texts(weft_device_info *info, cl_device_id device, const weft_allocator *allocator) {
    const text_query queries[] = {
        {CL_DEVICE_NAME, "CL_DEVICE_NAME", info->name, sizeof info->name},
        {CL_DEVICE_VENDOR, "CL_DEVICE_VENDOR", info->vendor, sizeof info->vendor},
        {CL_DRIVER_VERSION, "CL_DRIVER_VERSION", info->driver, sizeof info->driver},
        {CL_DEVICE_VERSION, "CL_DEVICE_VERSION", info->opencl, sizeof info->opencl},
    };
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        char *text = NULL;
        WI_TRY(wi_device_query_text(&text, allocator, device, queries[i].what, queries[i].name));
        copy_text(queries[i].field, queries[i].capacity, text);
        wi_release(allocator, text);
    }
    return WEFT_OK;
}

static weft_status read_platform(wi_device_entry *entry, const weft_allocator *allocator) {
    const text_query queries[] = {
        {CL_PLATFORM_NAME, "CL_PLATFORM_NAME", entry->info.platform, sizeof entry->info.platform},
        {CL_PLATFORM_VERSION, "CL_PLATFORM_VERSION", entry->platform_version, sizeof entry->platform_version},
        {CL_PLATFORM_VENDOR, "CL_PLATFORM_VENDOR", entry->platform_vendor, sizeof entry->platform_vendor},
    };
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        char *text = NULL;
        WI_TRY(wi_platform_query_text(&text, allocator, entry->platform, queries[i].what, queries[i].name));
        copy_text(queries[i].field, queries[i].capacity, text);
        wi_release(allocator, text);
    }
    return WEFT_OK;
}

static weft_status fail_kind(const char *name) {
    char known[256] = "";
    size_t length = 0;
    const wi_device_profile *kind;
    for (int i = 0; (kind = wi_device_kind(i)) != NULL && length < sizeof known; i++)
        length += (size_t)snprintf(known + length, sizeof known - length, "%s%s", i ? ", " : "", kind->name);
    WI_FAIL(WEFT_ERROR_ARGUMENT, "WEFT_DEVICE_CLASS is '%s'; it must be one of %s", name, known);
}

static bool speaks_opencl_1_2(const char *version) {
    int major = 0, minor = 0;
    return sscanf(version, "OpenCL %d.%d", &major, &minor) == 2 && major * 10 + minor >= 12;
}

/* Class cpu is for processors whose compilers keep wide vectors. Software rasterisers also report the type CPU, but
 * compile vectors lane by lane (WI_QUIRK_SCALAR_COMPILER), and have class gpu. A device of both types (Oclgrind) has
 * class cpu if its native vectors have 4 floats; for the type CPU alone the width is not used, because PoCL on AArch64
 * reports 1. Devices whose groups are smaller than WI_LEAST_GROUP have class cpu, whose items do not cooperate. */
static weft_status read_class(weft_device_info *info, cl_device_id device) {
    const char *const forced = wi_environment("WEFT_DEVICE_CLASS");
    const bool scalar = wi_quirks_find(info) & WI_QUIRK_SCALAR_COMPILER;
    cl_uint width = 1;
    size_t group = 0;
    if (speaks_opencl_1_2(info->opencl)) WI_QUERY(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, &width);
    WI_QUERY(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, &group);
    const bool processor = info->is_cpu && !scalar && (!info->is_gpu || width >= 4);
    info->device_class = processor || group < WI_LEAST_GROUP ? WEFT_CLASS_CPU : WEFT_CLASS_GPU;
    if (!forced) return WEFT_OK;
    const wi_device_profile *const kind = wi_device_kind_named(forced);
    if (!kind) return fail_kind(forced);
    info->device_class = kind->device_class;
    return WEFT_OK;
}

static weft_status read_usable(wi_device_entry *entry, cl_device_id device) {
    cl_bool available = CL_FALSE, compiler = CL_FALSE;
    WI_QUERY(device, CL_DEVICE_AVAILABLE, &available);
    WI_QUERY(device, CL_DEVICE_COMPILER_AVAILABLE, &compiler);
    entry->usable = available && compiler && speaks_opencl_1_2(entry->info.opencl);
    return WEFT_OK;
}

static weft_status read_numbers(weft_device_info *info, cl_device_id device) {
    cl_uint units = 0, clock = 0;
    cl_ulong memory = 0, largest = 0, local = 0;
    WI_QUERY(device, CL_DEVICE_MAX_COMPUTE_UNITS, &units);
    WI_QUERY(device, CL_DEVICE_MAX_CLOCK_FREQUENCY, &clock);
    WI_QUERY(device, CL_DEVICE_GLOBAL_MEM_SIZE, &memory);
    WI_QUERY(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, &largest);
    WI_QUERY(device, CL_DEVICE_LOCAL_MEM_SIZE, &local);
    info->compute_units = units;
    info->clock_mhz = clock;
    info->global_memory = memory;
    info->largest_allocation = largest;
    info->local_memory = local;
    return WEFT_OK;
}

static weft_status read_type(weft_device_info *info, cl_device_id device) {
    cl_device_type type = 0;
    WI_QUERY(device, CL_DEVICE_TYPE, &type);
    info->is_gpu = (type & CL_DEVICE_TYPE_GPU) != 0;
    info->is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
    return WEFT_OK;
}

weft_status wi_device_describe(wi_device_entry *entry, cl_device_id device, const weft_allocator *allocator) {
    weft_device_info *const info = &entry->info;
    *entry = (wi_device_entry){.device = device};
    WI_QUERY(device, CL_DEVICE_PLATFORM, &entry->platform);
    WI_TRY(read_platform(entry, allocator));
    WI_TRY(read_texts(info, device, allocator));
    WI_TRY(read_type(info, device));
    WI_TRY(read_numbers(info, device));
    WI_TRY(read_class(info, device));
    return read_usable(entry, device);
}

/* Lack of memory and a wrong WEFT_DEVICE_CLASS are not faults of the device, but errors of the whole list. */
static weft_status add_device(wi_device_list *list, cl_device_id device, unsigned platform, unsigned number) {
    wi_device_entry *const entry = &list->entries[list->count++];
    char error[WI_ERROR_LINE];
    wi_error_save(error, sizeof error);
    const weft_status status = wi_device_describe(entry, device, list->allocator);
    snprintf(entry->info.selector, sizeof entry->info.selector, "%hu:%hu", (unsigned short)platform,
        (unsigned short)number);
    if (status == WEFT_OK || status == WEFT_ERROR_MEMORY || status == WEFT_ERROR_ARGUMENT) return status;
    entry->status = status;
    snprintf(entry->error, sizeof entry->error, "device %s: %.200s", entry->info.selector, weft_last_error());
    wi_error_restore(error);
    return WEFT_OK;
}

static void note_platform(wi_device_list *list, cl_int error, unsigned number) {
    char what[64], line[WI_ERROR_LINE];
    if (error == CL_DEVICE_NOT_FOUND || list->status != WEFT_OK) return;
    wi_error_save(line, sizeof line);
    snprintf(what, sizeof what, "listing the devices of platform %u", number);
    list->status = wi_cl_check(error, what);
    wi_error_save(list->error, sizeof list->error);
    wi_error_restore(line);
}

static weft_status add_platform(wi_device_list *list, cl_platform_id platform, unsigned number) {
    cl_device_id devices[MOST_DEVICES];
    cl_uint count = 0;
    const cl_int error = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST_DEVICES, devices, &count);
    if (error != CL_SUCCESS) {
        note_platform(list, error, number);
        return WEFT_OK;
    }
    if (count > MOST_DEVICES) count = MOST_DEVICES;
    void *entries = list->entries;
    WI_TRY(wi_grow(list->allocator, &entries, &list->capacity, list->count + count, sizeof *list->entries));
    list->entries = entries;
    for (cl_uint i = 0; i < count; i++) WI_TRY(add_device(list, devices[i], number, i));
    return WEFT_OK;
}

static wi_mutex driver_mutex = WI_MUTEX_UNLOCKED;

/* In a child of fork(), which has lost the driver, another thread may have held the lock. */
void wi_driver_lock(void) {
    if (!wi_process_lost_driver()) wi_mutex_lock(&driver_mutex);
}

void wi_driver_unlock(void) {
    if (!wi_process_lost_driver()) wi_mutex_unlock(&driver_mutex);
}

static weft_status add_platforms(wi_device_list *list) {
    cl_platform_id platforms[MOST_PLATFORMS];
    cl_uint count = 0;
    const cl_int error = clGetPlatformIDs(MOST_PLATFORMS, platforms, &count);
    if (error == PLATFORM_NOT_FOUND) return WEFT_OK;
    WI_CL(error, "listing the OpenCL platforms");
    if (count > MOST_PLATFORMS) count = MOST_PLATFORMS;
    for (cl_uint i = 0; i < count; i++) WI_TRY(add_platform(list, platforms[i], i));
    return WEFT_OK;
}

weft_status wi_device_list_read(wi_device_list *list, const weft_allocator *allocator) {
    *list = (wi_device_list){.allocator = allocator};
    WI_TRY(wi_process_begin_driver());
    wi_driver_lock();
    const weft_status status = add_platforms(list);
    wi_driver_unlock();
    if (status != WEFT_OK || list->count > 0 || list->status == WEFT_OK) return status;
    wi_error_restore(list->error);
    return list->status;
}

void wi_device_list_clear(wi_device_list *list) {
    wi_release(list->allocator, list->entries);
    *list = (wi_device_list){.allocator = list->allocator};
}

weft_status weft_device_count(size_t *count) {
    if (!count) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_device_count: count is NULL");
    wi_device_list list;
    const weft_status status = wi_device_list_read(&list, NULL);
    *count = status == WEFT_OK ? list.count : 0;
    wi_device_list_clear(&list);
    return status;
}

weft_status weft_device_get(size_t index, weft_device_info *info) {
    if (!info) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_device_get: info is NULL");
    wi_device_list list;
    weft_status status = wi_device_list_read(&list, NULL);
    if (status == WEFT_OK && index >= list.count)
        status = wi_fail(WEFT_ERROR_ARGUMENT,
            "weft_device_get: index is %zu, expected below %zu, the number of devices", index, list.count);
    if (status == WEFT_OK) *info = list.entries[index].info;
    if (status == WEFT_OK && list.entries[index].status != WEFT_OK) {
        status = list.entries[index].status;
        wi_error_restore(list.entries[index].error);
    }
    wi_device_list_clear(&list);
    return status;
}
