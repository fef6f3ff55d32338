/* The devices of this machine, and which of them a selector means. */
#ifndef WI_DEVICE_LIST_H
#define WI_DEVICE_LIST_H

#include "base/memory.h"
#include <CL/cl.h>
#include <weft/device.h>

typedef struct wi_device_entry {
    cl_platform_id platform;
    cl_device_id device;
    bool usable; /* the driver says that it is available, has a compiler, and speaks OpenCL 1.2 */
    weft_device_info info;
    char platform_version[128], platform_vendor[128];
    weft_status status; /* of describing it; info is not complete unless it is WEFT_OK */
    char error[256];
} wi_device_entry;

typedef struct wi_device_list {
    const weft_allocator *allocator;
    wi_device_entry *entries;
    size_t count, capacity;
    weft_status status; /* of the first platform that did not list its devices */
    char error[256];
} wi_device_list;

/* One thread of the process at a time lists devices, opens or closes one: a driver may start up at the first of these
 * calls, and some do so without a lock. Held for OpenCL calls and allocations only. Not recursive. */
void wi_driver_lock(void);
void wi_driver_unlock(void);

/* Fills a list; no platform at all is an empty list. Clear it also after a failure. Takes the lock. A device that cannot
 * be described is in the list with its error, as one bad driver must not hide the others; a platform that does not list
 * its devices is an error only if there are no others. */
weft_status wi_device_list_read(wi_device_list *list, const weft_allocator *allocator);
void wi_device_list_clear(wi_device_list *list);
/* Describes one device. Errors: those of the queries; WEFT_ERROR_ARGUMENT for a bad $WEFT_DEVICE_CLASS. */
weft_status wi_device_describe(wi_device_entry *entry, cl_device_id device, const weft_allocator *allocator);

/* Keeps only the devices that fit the selector (NULL: all), the best first. Where it is part of the name, version or
 * vendor of a platform, devices that only have it in their own name are not kept; then come names of devices, then
 * their vendors. One that could not be described fits any selector but a place, and is last. None left: WEFT_ERROR_NO_DEVICE,
 * whose line lists the devices that there are. */
weft_status wi_device_list_select(wi_device_list *list, const char *selector);

/* Whether text has part in it, whatever the case of the letters; "" is part of everything. */
bool wi_contains_any_case(const char *text, const char *part);

#endif
