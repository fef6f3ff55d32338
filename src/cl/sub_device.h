/* Sub-devices: equal parts of a device. */
#ifndef WI_SUB_DEVICE_H
#define WI_SUB_DEVICE_H

#include "cl/opened_device.h"

/* Replaces device->id by its part number `part` of `parts`, with an equal number of compute units, and describes it. The caller
 * releases the part if it is not device->listed, also after an error. WEFT_ERROR_UNSUPPORTED: the device has no parts;
 * WEFT_ERROR_ARGUMENT: it has fewer compute units. */
weft_status wi_sub_device_take(wi_device *device, unsigned part, unsigned parts);

#endif
