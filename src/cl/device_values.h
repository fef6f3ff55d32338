/* Values of a device: named numbers that are measured once and kept in the cache folder, for this device, driver,
 * platform and version of Weft. Results of probes are such values (probe.h); the tuner's choices are not (choices.h). */
#ifndef WI_DEVICE_VALUES_H
#define WI_DEVICE_VALUES_H

#include "cl/opened_device.h"

typedef struct wi_device_values wi_device_values;

/* Only device_open.c calls these. */
weft_status wi_device_values_open(wi_device *device);
void wi_device_values_close(wi_device *device);

/* False: the value is not known. */
bool wi_device_value_get(wi_device *device, const char *name, double *value);
void wi_device_value_set(wi_device *device, const char *name, double value);
/* As wi_device_value_set, but only until the device is closed. */
void wi_device_value_note(wi_device *device, const char *name, double value);

#endif
