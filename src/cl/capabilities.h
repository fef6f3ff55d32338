/* Finding out what a device can do. */
#ifndef WI_CAPABILITIES_H
#define WI_CAPABILITIES_H

#include "cl/probe.h"

/* Fills caps with what the driver says, and quirks. Needs the context's device and info. */
weft_status wi_capabilities_read(wi_device *device);
/* Fills fp16, fp64 and can_build by compiling and running one small kernel, or from the values of the device.
 * Needs everything else of the context. Errors: those of building and running; WEFT_ERROR_UNSUPPORTED for
 * wrong numbers. */
weft_status wi_capabilities_probe(wi_device *device);
/* Runs that kernel again, in f32, whatever is known of it: does the device compute? */
weft_status wi_capabilities_check(wi_device *device);
/* The name of its answer among the values of the device. */
void wi_capabilities_answer(char name[WI_PROBE_NAME]);

#endif
