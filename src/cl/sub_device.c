/* Taking a part of a device (contract in sub_device.h). */
#include "cl/sub_device.h"
#include "cl/device_list.h"
#include "cl/device_query.h"
#include "cl/driver.h"
#include <stdio.h>
#include <string.h>

enum { MOST_SUB_DEVICES = 4096, MOST_KINDS = 16 };

/* Asked before clCreateSubDevices is called, in which Rusticl aborts the process (docs/drivers.md). */
static weft_status check_divisible(const wi_device *device, unsigned parts) {
    cl_device_partition_property kinds[MOST_KINDS] = {0};
    cl_uint most = 0, units = 0;
    bool has_equal = false;
    WI_QUERY(device->id, CL_DEVICE_PARTITION_MAX_SUB_DEVICES, &most);
    WI_QUERY(device->id, CL_DEVICE_MAX_COMPUTE_UNITS, &units);
    if (clGetDeviceInfo(device->id, CL_DEVICE_PARTITION_PROPERTIES, sizeof kinds, kinds, NULL) == CL_SUCCESS)
        for (int i = 0; i < MOST_KINDS; i++) has_equal = has_equal || kinds[i] == CL_DEVICE_PARTITION_EQUALLY;
    if (!has_equal || most < 2)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED, "%s (%s) cannot be divided into sub-devices: leave out '/%u'",
            device->info.name, device->info.platform, parts);
    if (parts > units)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "%s cannot be divided into %u sub-devices: ask for at most %u, the number of its compute units",
            device->info.name, parts, (unsigned)units);
    return WEFT_OK;
}

/* The units may make more parts than were asked for: the others are left unused. */
static weft_status divide(wi_device *device, unsigned part, unsigned parts) {
    const cl_device_partition_property kind[] = {
        CL_DEVICE_PARTITION_EQUALLY, (cl_device_partition_property)(device->info.compute_units / parts), 0};
    cl_device_id made[MOST_SUB_DEVICES];
    cl_uint count = 0;
    wi_driver_lock();
    const cl_int error = clCreateSubDevices(device->id, kind, MOST_SUB_DEVICES, made, &count);
    for (cl_uint i = 0; error == CL_SUCCESS && i < count; i++)
        if (i != part) clReleaseDevice(made[i]);
    wi_driver_unlock();
    WI_CL(error, "clCreateSubDevices");
    if (count < parts)
        WI_FAIL(WEFT_ERROR_OPENCL, "clCreateSubDevices made %u of %u sub-devices", (unsigned)count, parts);
    device->id = made[part];
    return WEFT_OK;
}

weft_status wi_sub_device_take(wi_device *device, unsigned part, unsigned parts) {
    wi_device_entry entry;
    char selector[sizeof device->info.selector];
    WI_TRY(check_divisible(device, parts));
    WI_TRY(divide(device, part, parts));
    snprintf(selector, sizeof selector, "%.10s/%u", device->info.selector, parts);
    WI_TRY(wi_device_describe(&entry, device->id, device->host.allocator));
    device->info = entry.info;
    memcpy(device->info.selector, selector, sizeof selector);
    return WEFT_OK;
}
