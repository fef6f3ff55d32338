/* Values of a device: small named numbers that are measured once on it, and kept in the cache folder. Answers of probes are such
 * values (probe.h); what the tuner chose is not (choices.h). */
#ifndef WI_DEVICE_VALUES_H
#define WI_DEVICE_VALUES_H

#include "cl/opened_device.h"

typedef struct wi_device_values wi_device_values;

/* For device_open.c only. */
weft_status wi_device_values_open(wi_device *device);
void wi_device_values_close(wi_device *device);

/* Key: name + device + driver + platform + version. Returns false when there is none. */
bool wi_device_value_get(wi_device *device, const char *name, double *value);
void wi_device_value_set(wi_device *device, const char *name, double value);
/* As wi_device_value_set, for as long as the device is open. */
void wi_device_value_note(wi_device *device, const char *name, double value);

#endif
