/* How many work-items share the work of kernels that can be cut anywhere. */
#ifndef WI_WORK_SPLIT_H
#define WI_WORK_SPLIT_H

#include "base/integers.h"
#include "cl/device_profile.h"

/* The number of work-items for `elements`. Where items walk, a few items per unit, each with enough elements to be worth it;
 * otherwise one item per element. */
static inline int64_t wi_work_items(const wi_device_profile *device, int64_t elements) {
    enum { ELEMENTS_OF_AN_ITEM = 4096 };
    if (!device->item_walks) return elements;
    return wi_max64(1, wi_min64(device->units * device->items_a_unit, elements / ELEMENTS_OF_AN_ITEM));
}

#endif
