/* How many work-items share the work of a kernel whose split depends on the device alone. */
#ifndef WI_WORK_SPLIT_H
#define WI_WORK_SPLIT_H

#include "base/integers.h"
#include "cl/device_profile.h"

/* Work-items that share `elements`: where items walk, a few for each unit that have at least `worth` of them;
 * otherwise one an element. */
static inline int64_t wi_work_items(const wi_device_profile *device, int64_t elements, int64_t worth) {
    if (!device->item_walks) return elements;
    return wi_max64(1, wi_min64(device->units * device->items_a_unit, elements / worth));
}

#endif
