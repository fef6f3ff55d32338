/* The devices of this machine, and selectors that name them. */
#ifndef WI_DEVICE_LIST_H
#define WI_DEVICE_LIST_H

#include "base/memory.h"
#include <CL/cl.h>
#include <weft/device.h>

typedef struct wi_device_entry {
    cl_platform_id platform;
    cl_device_id device;
    bool usable; /* available, with a compiler, OpenCL 1.2 or newer */
    weft_device_info info;
    char platform_version[128], platform_vendor[128];
    weft_status status; /* of wi_device_describe; after an error, info and the texts are incomplete */
    char error[256];
} wi_device_entry;

typedef struct wi_device_list {
    const weft_allocator *allocator;
    wi_device_entry *entries;
    size_t count, capacity;
    weft_status status; /* of the first platform whose devices could not be listed */
    char error[256];
} wi_device_list;

/* A process-wide lock around listing, opening and closing devices: some drivers initialise themselves at the first of
 * these calls, without a lock. It is held only during OpenCL calls and allocations, and is not recursive. */
void wi_driver_lock(void);
void wi_driver_unlock(void);

/* Lists all devices; without platforms the list is empty. The caller clears the list, also after an error. Takes the
 * driver lock. A device that cannot be described is in the list with its error. A platform whose devices cannot be
 * listed is an error only if no other platform has a device. */
weft_status wi_device_list_read(wi_device_list *list, const weft_allocator *allocator);
void wi_device_list_clear(wi_device_list *list);
/* Describes one device. Errors: those of the queries; WEFT_ERROR_ARGUMENT if WEFT_DEVICE_CLASS names no kind of device. */
weft_status wi_device_describe(wi_device_entry *entry, cl_device_id device, const weft_allocator *allocator);

/* Removes the devices that the selector does not match (NULL matches all), and sorts the others, the best first. "0:1"
 * is device 1 of platform 0; "gpu" and "cpu" are types. Any other selector matches the devices whose platform's name,
 * version or vendor contains it; without such a device, those whose name contains it; otherwise those whose vendor
 * does. A device that could not be described matches all selectors but the position of another device, and is last.
 * WEFT_ERROR_NO_DEVICE if no device matches; the message lists all devices. */
weft_status wi_device_list_select(wi_device_list *list, const char *selector);

/* Whether the selector is a position in the list, such as "0:1". */
bool wi_is_device_position(const char *selector);
/* Removes a device from the list. */
void wi_device_list_remove(wi_device_list *list, cl_device_id device);

/* Whether text contains part; upper and lower case are equal. */
bool wi_contains_any_case(const char *text, const char *part);

#endif
