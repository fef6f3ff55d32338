/* How many work-items share the work of kernels whose work can be divided at any element. */
#ifndef WI_WORK_SPLIT_H
#define WI_WORK_SPLIT_H

#include "base/integers.h"
#include "cl/device_profile.h"

/* The number of work-items for `elements`: one per element, or, on devices whose items walk (wi_device_profile.item_walks), at
 * most a few per unit, each with at least ELEMENTS_OF_AN_ITEM elements. */
static inline int64_t wi_work_items(const wi_device_profile *device, int64_t elements) {
    enum { ELEMENTS_OF_AN_ITEM = 4096 };
    if (!device->item_walks) return elements;
    return wi_max64(1, wi_min64(device->units * device->items_a_unit, elements / ELEMENTS_OF_AN_ITEM));
}

#endif
