/* A list of devices, as weft_context_options.devices and $WEFT_DEVICE write it. */
#ifndef WI_DEVICE_SEQUENCE_H
#define WI_DEVICE_SEQUENCE_H

#include "cl/context.h"
#include "cl/device_open.h"

/* Opens a device as the next one of the context; place->index is the number of its devices so far. */
weft_status wi_context_open_at(
    weft_context *context, const weft_context_options *options, const wi_device_place *place);
/* Opens the devices of the list, or without a list the one device that the options select. */
weft_status wi_context_open_devices(weft_context *context, const weft_context_options *options);

#endif
