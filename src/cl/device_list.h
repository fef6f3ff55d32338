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
} wi_device_entry;

typedef struct wi_device_list {
    const weft_allocator *allocator;
    wi_device_entry *entries;
    size_t count, capacity;
} wi_device_list;

/* One thread of the process at a time lists devices, opens or closes one: a driver may start up at the first of these
 * calls, and some do so without a lock. Held for OpenCL calls and allocations only. Not recursive. */
void wi_driver_lock(void);
void wi_driver_unlock(void);

/* Fills a list; no platform at all is an empty list. Clear it also after a failure. Takes the lock. */
weft_status wi_device_list_read(wi_device_list *list, const weft_allocator *allocator);
void wi_device_list_clear(wi_device_list *list);
/* Describes one device. Errors: WEFT_ERROR_OPENCL; WEFT_ERROR_ARGUMENT for a bad $WEFT_DEVICE_CLASS. */
weft_status wi_device_describe(wi_device_entry *entry, cl_device_id device);

/* Keeps only the devices that fit the selector (NULL: all), the best first. None left: WEFT_ERROR_NO_DEVICE,
 * whose line lists the devices that there are. */
weft_status wi_device_list_select(wi_device_list *list, const char *selector);

/* Whether text has part in it, whatever the case of the letters; "" is part of everything. */
bool wi_contains_any_case(const char *text, const char *part);

#endif
