/* How many work-items share the work of a kernel whose split depends on the device alone. */
#ifndef WI_WORK_SPLIT_H
#define WI_WORK_SPLIT_H

#include "base/integers.h"
#include "cl/device_profile.h"

/* Work-items that share `elements`: where items walk, a few for each unit, with enough elements to be worth it;
 * otherwise one an element. */
static inline int64_t wi_work_items(const wi_device_profile *device, int64_t elements) {
    enum { ELEMENTS_OF_AN_ITEM = 4096 };
    if (!device->item_walks) return elements;
    return wi_max64(1, wi_min64(device->units * device->items_a_unit, elements / ELEMENTS_OF_AN_ITEM));
}

#endif
