/* Reading and testing the capabilities of a device. */
#ifndef WI_CAPABILITIES_H
#define WI_CAPABILITIES_H

#include "cl/probe.h"

/* Sets caps from the driver's answers, and caps.quirks. device->id and device->info must be set. */
weft_status wi_capabilities_read(wi_device *device);
/* Sets caps.fp16, fp64 and can_build: from the values of the device, or else by a small test kernel; processors of
 * class cpu are not tested. All else of the device except what exchange.h and uploads.h set must be open. Errors: those
 * of building and running; WEFT_ERROR_UNSUPPORTED if the results are wrong. */
weft_status wi_capabilities_probe(wi_device *device);
/* The name of the result among the values of the device (device_values.h). */
void wi_capabilities_answer(char name[WI_PROBE_NAME]);

#endif
